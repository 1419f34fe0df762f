"""The one model that every reader produces: bodies, joints, couplings, motors."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, fields, replace
from functools import cached_property
from os import PathLike
from typing import Any, TypeAlias, TypeVar

import numpy as np

from regularize.errors import ModelError, NoInertia, NotTaken
from regularize.escape import did_you_mean, displayed_name, listed, named
from regularize.lie.arrays import Array, read_only
from regularize.lie.curve import TERMS, Curve
from regularize.mechanism.body import Body, Geometry, Inertia
from regularize.mechanism.diagnostic import Diagnostic, Source
from regularize.mechanism.joint import Joint, JointDynamics, JointLimits
from regularize.mechanism.named_columns import Frozen, table_html
from regularize.mechanism.reading import Reading
from regularize.services import loader
from regularize.tolerances import UNBOUNDED


@dataclass(frozen=True)
class ActuatorGains:
    """Coefficients of a motor's force, before its gear; None where the model is silent.

    The force is ``control * u - position * gear * q - velocity * gear * v`` for the control u, the
    joint's coordinate q and its rate v; of a shared motor, gear q and gear v are sums over its
    coordinates.

    Attributes:
        control: Force per unit of control.
        position: Force per unit of position, of a servo.
        velocity: Force per unit of rate, of a servo, or the motor's own damping.
    """

    control: float | None = None
    position: float | None = None
    velocity: float | None = None


@dataclass(frozen=True)
class Actuator:
    """A motor; the mechanism's own analysis does not use it, simulations are given torques.

    Attributes:
        name: Name in the user's model.
        joint: Name of the joint that it moves.
        freedom: Which of the joint's freedoms, counted from 0.
        kind: What it is controlled by: ``motor`` (a force), ``position``, ``velocity``, or
            ``general``.
        gear: Joint force per force of the motor.
        control_range: Least and largest control, or None.
        force_range: Least and largest force of the motor before its gear, N m or N, or None.
        gains: Coefficients of its force, or None.
        source: Where it stands in the user's files.
        motor: Name of the shared motor that this is one coordinate of, where one motor moves
            several, by a tendon or by the gear of a ball; None for a motor of its own.
    """

    name: str
    joint: str
    freedom: int = 0
    kind: str = "motor"
    gear: float = 1.0
    control_range: tuple[float, float] | None = None
    force_range: tuple[float, float] | None = None
    gains: ActuatorGains | None = None
    source: Source | None = None
    motor: str | None = None

    def __post_init__(self) -> None:
        for name in ("control_range", "force_range"):
            bounds = getattr(self, name)
            if bounds is not None and min(map(abs, bounds)) >= UNBOUNDED:
                object.__setattr__(self, name, None)


@dataclass(frozen=True)
class PrescribedMotion:
    """A motion of a joint with one freedom over time; it is offered to simulations by its name.

    Attributes:
        name: Name in the user's model.
        joint: Name of the joint.
        expression: Its coordinate in rad or m, an arithmetic expression of the time t in seconds.
        source: Where it stands in the user's files.
    """

    name: str
    joint: str
    expression: str
    source: Source | None = None


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
    """A relation between joint coordinates: sum of coefficient times coordinate = offset.

    It is linear, or it has a polynomial or a table p: then the last coordinate x counts as p(x), so
    that the terms ``(("y", 0, 1.0), ("x", 0, -1.0))`` say y = p(x).

    Attributes:
        name: Name in the user's model.
        kind: ``mimic``, ``gear``, ``rack``, ``screw`` or ``rolling``.
        terms: One triple (joint name, freedom counted from 0, coefficient) per coordinate.
        offset: Right-hand side; radians or metres.
        source: Where it stands in the user's files.
        coefficients: Of a polynomial, that of the power 0 first, five at most; empty where there is
            none.
        table: Of a function pairs (argument, value), arguments increasing; between them it is the
            natural cubic spline, beyond them straight. Empty where there is none.
    """

    name: str
    kind: str
    terms: tuple[tuple[str, int, float], ...]
    offset: float = 0.0
    source: Source | None = None
    coefficients: tuple[float, ...] = ()
    table: tuple[tuple[float, float], ...] = ()

    def __post_init__(self) -> None:
        object.__setattr__(self, "coefficients", tuple(float(c) for c in self.coefficients))
        object.__setattr__(self, "table", tuple((float(x), float(y)) for x, y in self.table))
        if self.curved:
            if not self.terms:
                raise ModelError(f"coupling {self.name!r} has a function, and names no joint")
            if len(self.coefficients) > TERMS or not np.isfinite(self.coefficients).all():
                raise ModelError(
                    f"coupling {self.name!r}: a polynomial has at most {TERMS} coefficients, which "
                    f"are finite numbers; got {self.coefficients!r:.60}"
                )
            x = np.array([x for x, _ in self.table])
            steps = np.diff(x).min(initial=np.inf)
            if self.table and not (len(x) > 1 and steps > 0.0 and np.isfinite(self.table).all()):
                raise ModelError(
                    f"coupling {self.name!r}: a table has at least two points, which are finite "
                    "numbers, and their arguments increase"
                )
            if len({term[:2] for term in self.terms}) < len(self.terms):
                raise ModelError(f"coupling {self.name!r} has a function and a coordinate twice")
            if self.coefficients and self.table:
                raise ModelError(f"coupling {self.name!r} has a polynomial and a table")

    @property
    def curved(self) -> bool:
        """Whether it has a polynomial or a table."""
        return bool(self.coefficients or self.table)

    @property
    def curve(self) -> Curve | None:
        """What the last coordinate counts as, times its coefficient; None where it is linear."""
        if self.coefficients:
            return Curve.polynomial(self.coefficients).along(1.0, 0.0, self.terms[-1][2])
        return Curve.spline(self.table).along(1.0, 0.0, self.terms[-1][2]) if self.table else None


@dataclass(frozen=True, eq=False)
class Mechanism(Frozen):
    """Bodies, joints and couplings, with one body as ground.

    Attributes:
        name: Name of the model.
        bodies: All bodies, ground included.
        joints: All joints, the loop closures included.
        couplings: Relations between joint coordinates.
        ground: Name of the body that does not move.
        gravity: Acceleration of free fall in the ground frame, m/s², shape (3,).
        findings: What the reader noticed.
        path: The file as the user named it, or None.
        format: Name of the format that it was read from.
        files: Further files that were read, such as a sidecar.
        motions: Motions that the file prescribes for joints; they are offered, not imposed.
        actuators: Motors; they are listed, and never act by themselves.
        reading: What the numbers of the file were taken for; None for what came from no file.
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
    reading: Reading | None = None

    def __post_init__(self) -> None:
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
        for coupling in self.couplings:
            if coupling.curved and self.joints[joints[name := coupling.terms[-1][0]]].group:
                raise ModelError(
                    f"coupling {coupling.name!r}: the freedoms of joint {name!r} have no "
                    "coordinates of their own, so that none can be the argument of a function"
                )

    @classmethod
    def of_joints(cls, name: str, joints: Iterable[Joint], **attributes: Any) -> Mechanism:
        """A mechanism whose bodies are those that its joints name; the first parent is the ground.

        Args:
            name: Name of the model.
            joints: At least one joint.
            attributes: Further attributes of the mechanism.
        """
        joints = tuple(joints)
        names = dict.fromkeys(body for joint in joints for body in (joint.parent, joint.child))
        attributes.setdefault("ground", joints[0].parent)
        return cls(name, tuple(Body(body) for body in names), joints, **attributes)

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
    def complete(self) -> bool:
        """Whether every joint, closure and coupling of the model was read."""
        return not any(finding.unread for finding in self.findings)

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


joint_in_world, mechanism_of = Joint.in_world, Mechanism.of_joints


def shortened(text: str, most: int = 60) -> str:
    """Fit a text to a line, its middle left out where it is long."""
    return text if len(text) <= most else f"{text[: most // 2]}…{text[-most // 2 + 1 :]}"


def unique_names(what: str, names: Sequence[str]) -> dict[str, int]:
    """Return the index of each name; raise ``ModelError`` for a repeated one."""
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


def massless(mechanism: Mechanism) -> list[str]:
    """Name the bodies that state no mass properties, or if all state some, those of zero mass."""
    bodies = [body for body in mechanism.bodies if body.name != mechanism.ground]
    unknown = [body.name for body in bodies if body.inertia is None]
    return unknown or [
        body.name
        for body in bodies
        if body.inertia is not None and body.inertia.mass == 0.0 and not np.any(body.inertia.matrix)
    ]


def no_inertia(mechanism: Mechanism, moving: Iterable[str]) -> NoInertia:
    """Return the error where coordinates of these names can move without moving any mass."""
    names, bodies = list(moving), massless(mechanism)
    freedoms = f"{listed(names)} can move" if names else "the mechanism can move"
    if not bodies:
        return NoInertia(
            f"{freedoms} without moving any mass: inertias of zero; state them in the model"
        )
    return NoInertia(
        f"{freedoms} without moving any mass: no mass properties are known of {listed(bodies)}; "
        "write them into the model, or give a density of its shapes: --density 7850, or "
        "with_density(mechanism, 7850)"
    )


#: A mechanism, or what was made of one and has it as ``mechanism``: a reduction, a report, a robot.
#: A path is read, with the reader that its content asks for, and so are objects of other libraries.
Model: TypeAlias = str | PathLike[str] | bytes | Mechanism | Any


def as_mechanism(model: Model, format: str | None = None) -> Mechanism:
    """Return the mechanism itself, the one that a result was made of, or that of a file."""
    mechanism = model if isinstance(model, Mechanism) else getattr(model, "mechanism", None)
    if isinstance(mechanism, Mechanism):
        return mechanism
    read: Mechanism = loader()(model, format=format)
    return read


def not_taken(model: Any, objects: Iterable[str] = ()) -> NotTaken:
    """Return the error for a value that is no model; ``objects`` describes what is accepted too."""
    known = "; ".join(["a model is a path, a Mechanism, or what was made of one", *objects])
    return NotTaken(f"{known}; got an object of type {type(model).__name__!r}")


def has_elastic(mechanism: Mechanism) -> list[str]:
    """Name the bodies that are elastic."""
    return [body.name for body in mechanism.bodies if body.elastic is not None]


def refuse_elastic(mechanism: Mechanism) -> None:
    """Raise ``ModelError`` where some body is elastic."""
    if names := has_elastic(mechanism):
        raise ModelError(
            f"body {names[0]!r} is elastic, and would be taken for rigid here: pass "
            "rg.segments(model), rigid bodies with springs; check, simulate, reduced_model "
            "and metamodel make it themselves"
        )
