"""The joints of a loop as turns and slides, in the order in which the loop passes them.

Joints of several freedoms are taken apart into turns and slides, ball joints into three turns about
axes at right angles. A rod between two ball joints that touches nothing else may spin about its
line: the second of them keeps the two turns across the line only.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import TypeAlias

import numpy as np

from regularize.lie import screw
from regularize.lie.screw import Array
from regularize.model.cycles import Cycle
from regularize.model.graph import Edge, Graph

#: Pitches below this, in metres per radian, are rounding.
PITCH = 1e-14

#: A motion, (N, 4, 4) or (4, 4), by the coordinates of all joints, (N, n).
Part: TypeAlias = Callable[[Array], Array]


class NotElementary(Exception):
    """The unknown motions of a loop are not one to six turns and slides."""


@dataclass(frozen=True, eq=False)
class Unknown:
    """An unknown elementary motion.

    Attributes:
        kind: ``R`` or ``P``.
        frame: Frame whose z axis is that of the motion, in the frame in front of it, (4, 4).
        edge: Its joint; None for an auxiliary turn.
        forward: Whether the loop passes the joint from parent to child.
        column: Its coordinate; the first one of a group joint.
        scale: Variable by coordinate; zero where it is one of several of a group joint.
    """

    kind: str
    frame: Array
    edge: Edge | None = None
    forward: bool = True
    column: int = -1
    scale: float = 0.0


def along(direction: Array, point: Array) -> Array:
    """A frame at a point with its z axis along a direction."""
    z = screw.unit(direction)
    x = screw.unit(np.cross(np.eye(3)[int(np.argmin(np.abs(z)))], z))
    return screw.transform(np.column_stack([x, np.cross(z, x), z]), point)


def steps_of(
    edge: Edge,
    forward: bool,
    known: frozenset[int],
    rods: Mapping[int, Array],
    exchanged: frozenset[int],
) -> list[Unknown | Part]:
    """The motions of a joint in the order in which the loop passes them.

    Args:
        edge: The joint.
        forward: Whether the loop passes it from parent to child.
        known: Columns whose values are known.
        rods: Directions of rods in front of ball joints, by the index of the joint.
        exchanged: Indices of joints whose two motions are passed in the other order.

    Raises:
        NotElementary: A helical joint, or one that is known in part and cannot be taken apart.
    """
    missing = [c for c in edge.columns if c not in known]
    if edge.group:
        if missing and len(missing) < edge.freedoms:
            raise NotElementary(f"joint {edge.joint.name!r} is known in part only")
        if not missing:
            return [_of_group(edge, forward)]
        return _taken_apart(edge, forward, rods.get(edge.index))
    steps: list[Unknown | Part] = []
    ahead = forward != (edge.index in exchanged)
    for k in range(edge.freedoms) if ahead else reversed(range(edge.freedoms)):
        twist = edge.screws[:, k] if forward else -edge.screws[:, k]
        column = edge.columns[k]
        if column in known:
            steps.append(_of_twist(twist, column))
            continue
        direction, point, pitch = screw.axis_of(twist)
        if pitch is not None and abs(pitch) > PITCH:
            raise NotElementary(f"the helical joint {edge.joint.name!r} is not algebraic")
        kind, part = ("P", twist[:3]) if point is None else ("R", twist[3:])
        frame = along(direction, np.zeros(3) if point is None else point)
        scale = float(np.linalg.norm(part))
        steps.append(Unknown(kind, frame, edge, forward, column, scale))
    return steps


def _of_twist(twist: Array, column: int) -> Part:
    return lambda q: screw.exp(q[:, column, None] * twist)


def _of_group(edge: Edge, forward: bool) -> Part:
    """Motion of a known ball or free joint."""
    screws = edge.screws if forward else -edge.screws
    return lambda q: screw.exp(q[:, list(edge.columns)] @ screws.T)


def _taken_apart(edge: Edge, forward: bool, rod: Array | None) -> list[Unknown | Part]:
    """A ball or free joint as slides along and turns about axes in general position."""
    # The axes are those of no drawing, so that no drawn configuration is singular for them.
    axes, _ = np.linalg.qr(np.random.default_rng(3).normal(size=(3, 3)))
    kinds, center = ("PPPRRR", np.zeros(3)) if edge.freedoms == 6 else ("RRR", _center(edge))
    if rod is not None:
        kinds, axes = "RR", np.linalg.qr(np.column_stack([rod, axes[:, :2]]))[0][:, [1, 2, 0]]
    return [
        Unknown(kind, along(axes[:, k % 3], center), edge, forward, edge.columns[0])
        for k, kind in enumerate(kinds)
    ]


def _center(edge: Edge) -> Array:
    """The point about which a ball joint turns, in its frame: v + w x p = 0 of every screw."""
    stacked = np.vstack([screw.cross_matrix(w) for w in edge.screws[3:].T])
    return np.asarray(np.linalg.pinv(stacked) @ -edge.screws[:3].T.ravel())


def cylinders_of(graph: Graph, cycle: Cycle) -> list[int]:
    """Indices of the joints that turn about and slide along one axis, in any order."""
    return [
        e
        for e in cycle.edges
        if graph.edges[e].freedoms == 2
        and not np.any(screw.bracket(*graph.edges[e].screws.T))
        and np.any(graph.edges[e].screws[3:])
    ]


def _is_ball(edge: Edge, known: frozenset[int]) -> bool:
    return edge.group and edge.freedoms == 3 and not known & set(edge.columns)


def rods_of(graph: Graph, cycle: Cycle, known: frozenset[int]) -> dict[int, Array]:
    """Rods between two unknown ball joints that touch nothing else.

    Returns:
        By the index of the second joint, the direction of the rod in that joint's frame.
    """
    rods: dict[int, Array] = {}
    for k, node in enumerate(cycle.nodes):
        first, second = (graph.edges[cycle.edges[i]] for i in (k - 1, k))
        if first.index == second.index or first.index in rods:
            continue
        balls = _is_ball(first, known) and _is_ball(second, known)
        if not balls or len(graph.adjacency[node]) != 2:
            continue
        out = first.T_child if first.child == node else first.T_parent
        into = second.T_parent if second.parent == node else second.T_child
        start = screw.inverse(into) @ out @ [*_center(first), 1.0]
        direction = start[:3] - _center(second)
        if np.linalg.norm(direction) > 0.0:
            rods[second.index] = screw.unit(direction)
    return rods
