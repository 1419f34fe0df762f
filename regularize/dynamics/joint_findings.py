"""What a simulation makes of its joints' limits, dry friction and rotors, in words."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from regularize.lie.screw import Array
from regularize.model.diagnostic import Diagnostic
from regularize.model.graph import coordinate_names
from regularize.model.joint import Joint
from regularize.model.joint_values import limits_of
from regularize.pinocchio_model.robot import Robot

#: Findings about what the arrays of a Pinocchio model lack, which simulations count by themselves.
COUNTED = ("REG324", "REG325")


def joint_findings(robot: Robot, coordinates: Array, v: Array) -> tuple[Diagnostic, ...]:
    """Findings about limits that are not enforced, friction that is regularised, rotors left out.

    Args:
        robot: The robot that was simulated.
        coordinates: The mechanism's joint coordinates, shape (N, n).
        v: Velocities of the model, shape (N, nv).
    """
    joints = robot.reduction.mechanism.joints
    found = [*_limits(robot, coordinates, v)]
    rough = [joint for joint in joints if np.any(joint.dynamics.friction)]
    if rough:
        found.append(
            Diagnostic(
                "REG317",
                "note",
                f"dry friction of {_listed(rough)} is regularised: it falls off at low rates, so "
                "that joints creep where they would stick",
                joints=tuple(joint.name for joint in rough),
                source=rough[0].source,
                help=("ask for a lower rate of slipping (slip=)",),
            )
        )
    cut = [c.edge.joint for c in robot.constraints.closures if c.edge is not None]
    heavy = [joint for joint in cut if np.any(joint.dynamics.armature)]
    if heavy:
        found.append(
            Diagnostic(
                "REG325",
                "warning",
                f"rotors of {_listed(heavy)} are left out, since these joints close loops",
                joints=tuple(joint.name for joint in heavy),
                source=heavy[0].source,
                help=("use the engine 'anchors', which has all joints in its tree",),
            )
        )
    return tuple(found)


def _limits(robot: Robot, coordinates: Array, v: Array) -> list[Diagnostic]:
    mechanism = robot.reduction.mechanism
    limited = [j for j in mechanism.joints if j.limits is not None]
    if not limited:
        return []
    names, beyond = coordinate_names(mechanism), []
    rates = v @ robot.passive.coordinates.rates.T
    speed = np.max(np.abs(rates), axis=0) - limits_of(mechanism, "velocity")
    over = np.max(coordinates, axis=0) - limits_of(mechanism, "upper")
    under = limits_of(mechanism, "lower") - np.min(coordinates, axis=0)
    # What an integration's error adds to a bound that is met is not worth a word.
    slack = 1e-6
    for name, passed, fast in zip(names, np.maximum(over, under), speed, strict=True):
        if passed > slack:
            beyond.append(f"`{name}` goes {passed:.3g} beyond its bounds")
        if fast > slack:
            beyond.append(f"`{name}` is {fast:.3g} faster than it may")
    what = f"limits of {_listed(limited)} are not enforced"
    ending = "the motion keeps to those of positions and rates" if not beyond else ""
    return [
        Diagnostic(
            "REG316",
            "warning" if beyond else "note",
            f"{what}: {ending or ', '.join(beyond[:8]) + (' …' if len(beyond) > 8 else '')}",
            joints=tuple(joint.name for joint in limited),
            source=limited[0].source,
            help=("stop or drive these joints by forces, or prescribe their motion",),
        )
    ]


def _listed(joints: Sequence[Joint], most: int = 8) -> str:
    names = ", ".join(f"`{joint.name}`" for joint in joints[:most])
    return names if len(joints) <= most else f"{names} and {len(joints) - most} more"
