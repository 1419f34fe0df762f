r"""The one model that every reader produces: bodies, joints, couplings.

A joint has a frame on its parent body and a frame on its child body. Its freedoms move the second
frame against the first:

.. math:: T_{parent,child} = T_{parent,joint} \; J(q) \; T_{child,joint}^{-1}

where :math:`J(q)` is a product of exponentials of the joint's screws, taken in order, or for
``spherical`` and ``free`` joints one exponential of their combination (``Joint.group``). The
velocity of a group joint is its twist in the moving frame, as in Pinocchio.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, TypeVar

import numpy as np
from numpy.typing import ArrayLike

from regularize import screw
from regularize.diagnostic import Diagnostic, Source
from regularize.errors import ModelError
from regularize.screw import Array, read_only

IDENTITY = read_only(np.eye(4))
STANDARD_GRAVITY = read_only([0.0, 0.0, -9.81])

#: Joint kinds and their numbers of freedoms (None: any number, given by the screws).
KINDS: dict[str, int | None] = {
    "fixed": 0,
    "revolute": 1,
    "prismatic": 1,
    "helical": 1,
    "universal": 2,
    "cylindrical": 2,
    "spherical": 3,
    "planar": 3,
    "free": 6,
    "composite": None,
}
GROUP_KINDS = frozenset({"spherical", "free"})


@dataclass(frozen=True, eq=False)
class Inertia:
    """Mass properties of a body.

    Attributes:
        mass: Mass in kilograms.
        center: Centre of mass in the body frame in metres, shape (3,).
        matrix: Rotational inertia about the centre of mass, body axes, kg m², shape (3, 3).
    """

    mass: float
    center: Array
    matrix: Array

    def __post_init__(self) -> None:
        """Freeze the arrays."""
        object.__setattr__(self, "center", read_only(self.center).reshape(3))
        object.__setattr__(self, "matrix", read_only(self.matrix).reshape(3, 3))

    def transformed(self, T: Array) -> Inertia:
        """The same mass properties seen from frame a, given ``T_a_body``."""
        R = T[:3, :3]
        return Inertia(self.mass, R @ self.center + T[:3, 3], R @ self.matrix @ R.T)

    @staticmethod
    def total(parts: Iterable[Inertia]) -> Inertia:
        """Mass properties of several parts that move as one; all in one frame."""
        parts = list(parts)
        mass = sum(part.mass for part in parts)
        if mass == 0.0:
            return Inertia(0.0, np.zeros(3), np.sum([p.matrix for p in parts], axis=0))
        center = np.sum([part.mass * part.center for part in parts], axis=0) / mass
        matrix = np.zeros((3, 3))
        for part in parts:
            d = part.center - center
            matrix += part.matrix + part.mass * (d @ d * np.eye(3) - np.outer(d, d))
        return Inertia(mass, center, matrix)


@dataclass(frozen=True, eq=False)
class Geometry:
    """What a body looks like. Meshes are named, never opened by a reader.

    Attributes:
        kind: ``box``, ``cylinder``, ``sphere``, ``capsule`` or ``mesh``.
        size: Box edges; radius and length; radius; or mesh scale, in metres, shape (1 to 3,).
        T_body_geometry: Frame of the shape in the body frame.
        uri: The mesh file as written in the model.
        color: Red, green, blue, opacity between 0 and 1.
        collision: True for collision shapes, False for visual ones.
    """

    kind: str
    size: Array
    T_body_geometry: Array = field(default_factory=lambda: IDENTITY)
    uri: str | None = None
    color: tuple[float, float, float, float] | None = None
    collision: bool = False

    def __post_init__(self) -> None:
        """Freeze the arrays."""
        object.__setattr__(self, "size", read_only(self.size))
        object.__setattr__(self, "T_body_geometry", read_only(self.T_body_geometry))


@dataclass(frozen=True, eq=False)
class Body:
    """A rigid body.

    Attributes:
        name: Name in the user's model.
        inertia: Mass properties, or None where the model states none.
        geometry: Shapes, in the body frame.
        source: Where it stands in the user's files.
    """

    name: str
    inertia: Inertia | None = None
    geometry: tuple[Geometry, ...] = ()
    source: Source | None = None


@dataclass(frozen=True, eq=False)
class Joint:
    """A joint between two bodies.

    Attributes:
        name: Name in the user's model.
        parent: Name of the parent body.
        child: Name of the child body.
        kind: One of ``KINDS``.
        screws: Freedoms in the joint frame, one column each, shape (6, freedoms); [m] and [-].
        T_parent_joint: Joint frame on the parent body, shape (4, 4).
        T_child_joint: Joint frame on the child body, shape (4, 4).
        position: Stored joint coordinates, shape (freedoms,); radians and metres.
        actuated: True or False where the model says so, else None.
        closure: True where the file itself marks the joint as closing a loop.
        limits: Lower and upper bounds, shape (freedoms, 2), or None.
        source: Where it stands in the user's files.
    """

    name: str
    parent: str
    child: str
    kind: str
    screws: Array
    T_parent_joint: Array = field(default_factory=lambda: IDENTITY)
    T_child_joint: Array = field(default_factory=lambda: IDENTITY)
    position: Array = field(default_factory=lambda: np.zeros(0))
    actuated: bool | None = None
    closure: bool = False
    limits: Array | None = None
    source: Source | None = None

    def __post_init__(self) -> None:
        """Check shapes and freeze the arrays."""
        if self.kind not in KINDS:
            raise ModelError(f"joint {self.name!r}: unknown kind {self.kind!r}, not in {[*KINDS]}")
        screws = read_only(np.asarray(self.screws, dtype=np.float64).reshape(6, -1))
        expected = KINDS[self.kind]
        if expected is not None and screws.shape[1] != expected:
            raise ModelError(
                f"joint {self.name!r}: {self.kind} needs {expected} screws, got {screws.shape[1]}"
            )
        position = self.position if np.size(self.position) else np.zeros(screws.shape[1])
        if np.shape(position) != (screws.shape[1],):
            raise ModelError(f"joint {self.name!r}: {np.shape(position)=} fits not {screws.shape=}")
        object.__setattr__(self, "screws", screws)
        object.__setattr__(self, "position", read_only(position))
        object.__setattr__(self, "T_parent_joint", read_only(self.T_parent_joint))
        object.__setattr__(self, "T_child_joint", read_only(self.T_child_joint))
        if self.limits is not None:
            object.__setattr__(self, "limits", read_only(self.limits).reshape(-1, 2))

    @property
    def freedoms(self) -> int:
        """Number of freedoms, 0 to 6."""
        return int(self.screws.shape[1])

    @property
    def group(self) -> bool:
        """Whether the coordinates are exponential coordinates of one subgroup."""
        return self.kind in GROUP_KINDS


def joint_screws(
    kind: str, axis: ArrayLike = (0, 0, 1), axis2: ArrayLike = (0, 1, 0), pitch: float = 0.0
) -> Array:
    """Screws of a standard joint in its own frame, through the frame's origin, shape (6, f).

    Args:
        kind: One of ``KINDS`` but ``composite``.
        axis: The axis; of a planar joint the normal; of a universal joint the first axis.
        axis2: Second axis of a universal joint.
        pitch: Of a helical joint, metres per radian.

    Raises:
        ValueError: An axis has no length, or the kind has no standard screws.
    """
    if kind == "fixed":
        return np.zeros((6, 0))
    if kind == "revolute":
        return screw.revolute(axis)[:, None]
    if kind == "prismatic":
        return screw.prismatic(axis)[:, None]
    if kind == "helical":
        return screw.helical(axis, np.zeros(3), pitch)[:, None]
    if kind == "cylindrical":
        return np.column_stack([screw.prismatic(axis), screw.revolute(axis)])
    if kind == "universal":
        return np.column_stack([screw.revolute(axis), screw.revolute(axis2)])
    if kind == "spherical":
        return np.vstack([np.zeros((3, 3)), np.eye(3)])
    if kind == "planar":
        first, second = perpendiculars(axis)
        return np.column_stack(
            [screw.prismatic(first), screw.prismatic(second), screw.revolute(axis)]
        )
    if kind == "free":
        return np.eye(6)
    raise ValueError(f"joint kind {kind!r} has no standard screws")


def perpendiculars(axis: ArrayLike) -> tuple[Array, Array]:
    """Two unit vectors that complete ``axis`` to a right-handed orthogonal frame."""
    e = screw.unit(axis)
    helper = np.eye(3)[int(np.argmin(np.abs(e)))]
    first = screw.unit(np.cross(helper, e))
    return first, np.cross(e, first)


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

    def __post_init__(self) -> None:
        """Check that every name is unique and every reference resolves."""
        for field_name in ("bodies", "joints", "couplings", "findings", "files"):
            object.__setattr__(self, field_name, tuple(getattr(self, field_name)))
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
        for coupling in self.couplings:
            for name, freedom, _ in coupling.terms:
                if name not in joints:
                    raise ModelError(f"coupling {coupling.name!r} names unknown joint {name!r}")
                if not 0 <= freedom < self.joints[joints[name]].freedoms:
                    raise ModelError(
                        f"coupling {coupling.name!r}: joint {name!r} has no freedom {freedom}"
                    )

    def body(self, name: str) -> Body:
        """The body of that name; raises ``ModelError`` naming the bodies there are."""
        return _find("body", name, self.bodies)

    def joint(self, name: str) -> Joint:
        """The joint of that name; raises ``ModelError`` naming the joints there are."""
        return _find("joint", name, self.joints)

    @property
    def freedoms(self) -> int:
        """Sum of the freedoms of all joints."""
        return sum(joint.freedoms for joint in self.joints)

    def with_positions(self, positions: dict[str, Array]) -> Mechanism:
        """The same mechanism with other stored joint coordinates."""
        joints = [
            replace(j, position=positions[j.name]) if j.name in positions else j
            for j in self.joints
        ]
        return replace(self, joints=tuple(joints))


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


def unique_names(what: str, names: Sequence[str]) -> dict[str, int]:
    """Index of each name; raises ``ModelError`` for a repeated one."""
    index: dict[str, int] = {}
    for i, name in enumerate(names):
        if name in index:
            raise ModelError(f"two {what} entries are named {name!r}")
        index[name] = i
    return index


Named = TypeVar("Named", Body, Joint)


def _find(what: str, name: str, entries: Sequence[Named]) -> Named:
    for entry in entries:
        if entry.name == name:
            return entry
    raise ModelError(f"there is no {what} {name!r} in {[entry.name for entry in entries]}")
