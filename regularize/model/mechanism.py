"""The one model that every reader produces: bodies, joints, couplings."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, fields, replace
from functools import cached_property
from typing import Any, TypeVar

import numpy as np
from numpy.typing import ArrayLike

from regularize.displayed import did_you_mean, displayed_name, named
from regularize.errors import ModelError
from regularize.lie import screw
from regularize.lie.screw import Array, read_only
from regularize.model.actuator import Actuator, ActuatorGains
from regularize.model.body import Body, Geometry, Inertia
from regularize.model.diagnostic import Diagnostic, Source
from regularize.model.joint import Joint, joint_screws
from regularize.model.joint_dynamics import JointDynamics
from regularize.model.joint_limits import JointLimits
from regularize.model.named_columns import table_html
from regularize.model.prescribed_motion import PrescribedMotion

#: A reader finds here all that a model consists of.
__all__ = [
    "STANDARD_GRAVITY",
    "Actuator",
    "ActuatorGains",
    "Body",
    "Coupling",
    "Geometry",
    "Inertia",
    "Joint",
    "JointDynamics",
    "JointLimits",
    "Mechanism",
    "PrescribedMotion",
    "joint_in_world",
    "mechanism_of",
]

STANDARD_GRAVITY = read_only([0.0, 0.0, -9.81])


@dataclass(frozen=True)
class Coupling:
    """A linear relation between joint coordinates: sum of coefficient times coordinate = offset.

    Attributes:
        name: Name in the user's model.
        kind: ``mimic``, ``gear``, ``rack``, ``screw`` or ``rolling``.
        terms: One triple (joint name, freedom counted from 0, coefficient) per coordinate.
        offset: Right-hand side; radians or metres.
        source: Where it stands in the user's files.
    """

    name: str
    kind: str
    terms: tuple[tuple[str, int, float], ...]
    offset: float = 0.0
    source: Source | None = None


@dataclass(frozen=True, eq=False)
class Mechanism:
    """Bodies, joints and couplings, with one body as ground.

    Attributes:
        name: Name of the model.
        bodies: All bodies, ground included.
        joints: All joints, the loop closures included.
        couplings: Linear relations between joint coordinates.
        ground: Name of the body that does not move.
        gravity: Acceleration of free fall in the ground frame, m/s², shape (3,).
        findings: What the reader noticed.
        path: The file as the user named it, or None.
        format: Name of the format that it was read from.
        files: Further files that were read, such as a sidecar.
        motions: Motions that the file prescribes for joints; they are offered, not imposed.
        actuators: Motors; they are listed, and never act by themselves.
        digits: Significant digits of the numbers in the file; None where these are written in full.
    """

    name: str
    bodies: tuple[Body, ...]
    joints: tuple[Joint, ...]
    couplings: tuple[Coupling, ...] = ()
    ground: str = "ground"
    gravity: Array = field(default_factory=lambda: STANDARD_GRAVITY)
    findings: tuple[Diagnostic, ...] = ()
    path: str | None = None
    format: str = "python"
    files: tuple[str, ...] = ()
    motions: tuple[PrescribedMotion, ...] = ()
    actuators: tuple[Actuator, ...] = ()
    digits: int | None = None

    def __post_init__(self) -> None:
        """Check that every name is unique and every reference resolves."""
        for each in fields(self):
            if isinstance(each.default, tuple) or each.name in ("bodies", "joints"):
                object.__setattr__(self, each.name, tuple(getattr(self, each.name)))
        object.__setattr__(self, "gravity", read_only(self.gravity).reshape(3))
        bodies = unique_names("body", [body.name for body in self.bodies])
        joints = unique_names("joint", [joint.name for joint in self.joints])
        if self.ground not in bodies:
            raise ModelError(f"the ground {self.ground!r} is not one of the bodies {[*bodies]}")
        for joint in self.joints:
            for end in (joint.parent, joint.child):
                if end not in bodies:
                    raise ModelError(f"joint {joint.name!r} names the unknown body {end!r}")
            if joint.parent == joint.child:
                raise ModelError(f"joint {joint.name!r} connects body {joint.child!r} to itself")
        named = [
            (f"coupling {coupling.name!r}", name, freedom)
            for coupling in self.couplings
            for name, freedom, _ in coupling.terms
        ]
        named += [(f"actuator {a.name!r}", a.joint, a.freedom) for a in self.actuators]
        for what, name, freedom in named:
            if name not in joints:
                raise ModelError(f"{what} names unknown joint {name!r}")
            if not 0 <= freedom < self.joints[joints[name]].freedoms:
                raise ModelError(f"{what}: joint {name!r} has no freedom {freedom}")

    def __repr__(self) -> str:
        """The mechanism in one line."""
        return (
            f"<Mechanism {shortened(self.name)!r}: {len(self.bodies)} bodies, "
            f"{len(self.joints)} joints, {len(self.couplings)} couplings, {self.format}>"
        )

    def _repr_html_(self) -> str:
        """A small table for notebooks."""
        counts = [f"{len(self.bodies)} bodies", f"{len(self.joints)} joints"]
        return table_html(
            f"Mechanism {shortened(self.name)}",
            {
                "holds": ", ".join([*counts, f"{len(self.couplings)} couplings"]),
                "joints": named(joint.name for joint in self.joints),
                "motors": named(joint.name for joint in self.joints if joint.actuated),
                "ground": self.ground,
                "file": self.path or "none",
            },
        )

    def body(self, name: str) -> Body:
        """The body of that name; raises ``ModelError`` naming the bodies there are."""
        return _find("body", name, self._bodies)

    def joint(self, name: str) -> Joint:
        """The joint of that name; raises ``ModelError`` naming the joints there are."""
        return _find("joint", name, self._joints)

    def motion(self, name: str) -> PrescribedMotion:
        """The motion of that name; raises ``ModelError`` naming the motions there are."""
        return _find("motion", name, {motion.name: motion for motion in reversed(self.motions)})

    @cached_property
    def _bodies(self) -> dict[str, Body]:
        return {body.name: body for body in self.bodies}

    @cached_property
    def _joints(self) -> dict[str, Joint]:
        return {joint.name: joint for joint in self.joints}

    @property
    def freedoms(self) -> int:
        """Sum of the freedoms of all joints."""
        return sum(joint.freedoms for joint in self.joints)

    def with_positions(self, positions: dict[str, Array]) -> Mechanism:
        """The same mechanism with other stored joint coordinates."""
        if not isinstance(positions, dict):
            raise TypeError(f"positions are arrays by the names of joints; got {positions!r:.60}")
        joints = [
            replace(j, position=positions[j.name])
            if not np.array_equal(positions.get(j.name, j.position), j.position)
            else j
            for j in self.joints
        ]
        same = all(new is old for new, old in zip(joints, self.joints, strict=True))
        return self if same else replace(self, joints=tuple(joints))


def joint_in_world(
    name: str,
    parent: str,
    child: str,
    kind: str,
    axis: ArrayLike = (0, 0, 1),
    point: ArrayLike = (0, 0, 0),
    *,
    axis2: ArrayLike = (0, 1, 0),
    pitch: float = 0.0,
    actuated: bool | None = None,
    closure: bool = False,
) -> Joint:
    """A joint of bodies whose frames all coincide with the world at the reference pose.

    This is the shortest way to write a mechanism down from its joint axes. Arguments as of
    ``joint_screws``; ``point`` is a point of the axis, or the centre, in metres.
    """
    frame = screw.transform(None, point)
    screws = joint_screws(kind, axis, axis2, pitch)
    return Joint(
        name, parent, child, kind, screws, frame, frame, actuated=actuated, closure=closure
    )


def mechanism_of(name: str, joints: Iterable[Joint], **attributes: Any) -> Mechanism:
    """A mechanism whose bodies are those that its joints name; the first parent is the ground."""
    joints = tuple(joints)
    names = dict.fromkeys(body for joint in joints for body in (joint.parent, joint.child))
    attributes.setdefault("ground", joints[0].parent)
    return Mechanism(name, tuple(Body(body) for body in names), joints, **attributes)


def shortened(text: str, most: int = 60) -> str:
    """A text that fits a line, its middle left out where it is long."""
    return text if len(text) <= most else f"{text[: most // 2]}…{text[-most // 2 + 1 :]}"


def unique_names(what: str, names: Sequence[str]) -> dict[str, int]:
    """Index of each name; raises ``ModelError`` for a repeated one."""
    index: dict[str, int] = {}
    for i, name in enumerate(names):
        if name in index:
            raise ModelError(f"two {what} entries are named {name!r}")
        index[name] = i
    return index


Named = TypeVar("Named", Body, Joint, PrescribedMotion)


def _find(what: str, name: str, entries: Mapping[str, Named]) -> Named:
    if not isinstance(name, str):
        raise TypeError(f"the name of a {what} is a string; got {name!r:.60}")
    if name in entries:
        return entries[name]
    if (displayed := displayed_name(name)) in entries:
        return entries[displayed]
    known = did_you_mean(name, [*entries])
    raise ModelError(f"there is no {what} {name!r}{known}")
