"""Limits, damping, friction and springs of SDF joints, each axis with its own."""

from __future__ import annotations

import math

import numpy as np

from regularize.adapters.common.xml import Node
from regularize.lie.screw import Array
from regularize.model.mechanism import JointDynamics, JointLimits

#: Bounds of this size mean that there is none.
UNBOUNDED = 1e16
#: Element of each value of a joint's dynamics.
DYNAMICS = {
    "damping": "damping",
    "friction": "friction",
    "stiffness": "spring_stiffness",
    "rest_position": "spring_reference",
}


def limits(node: Node, kind: str) -> JointLimits | None:
    """Bounds of the coordinates, rates and forces of a joint; None where the file gives none."""
    given = {
        name: _values(node, kind, ("limit", name))
        for name in ("lower", "upper", "velocity", "effort")
    }
    if all(values is None for values in given.values()):
        return None
    bounds = {name: _bounds(name, values, node, kind) for name, values in given.items()}
    rated = {
        name: bounds[name] for name in ("velocity", "effort") if np.any(np.isfinite(bounds[name]))
    }
    limits = JointLimits(bounds["lower"], bounds["upper"], **rated)
    return limits if rated or given["lower"] is not None or given["upper"] is not None else None


def dynamics(node: Node, kind: str) -> JointDynamics:
    """Forces within a joint, as far as the file gives them; zero on axes that are silent."""
    given = {key: _values(node, kind, ("dynamics", tag)) for key, tag in DYNAMICS.items()}
    stated = {key: values for key, values in given.items() if values is not None}
    return JointDynamics(**{key: np.nan_to_num(values) for key, values in stated.items()})


def _values(node: Node, kind: str, path: tuple[str, str]) -> Array | None:
    """A number of every axis of a joint, not a number where it is not given; None without any."""
    tags = {"universal": ("axis", "axis2"), "spherical": (), "fixed": ()}.get(kind, ("axis",))
    found = [node.find(tag, *path) for tag in tags]
    if not any(found):
        return None
    return np.array([math.nan if f is None else f.number(None, finite=False) for f in found])


def _bounds(name: str, values: Array | None, node: Node, kind: str) -> Array:
    """Bounds with infinity where there is none; a negative rate or effort means none, too."""
    freedoms = 2 if kind == "universal" else 1
    values = np.full(freedoms, math.nan) if values is None else values
    none = ~(np.abs(values) < UNBOUNDED)
    if name in ("velocity", "effort"):
        none |= values < 0.0
    return np.where(none, -math.inf if name == "lower" else math.inf, values)
