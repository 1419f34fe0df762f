r"""Joints between two bodies, and how they move.

A joint has a frame on its parent body and a frame on its child body. Its freedoms move the second
frame against the first:

.. math:: T_{parent,child} = T_{parent,joint} \; J(q) \; T_{child,joint}^{-1}

where :math:`J(q)` is a product of exponentials of the joint's screws, taken in order, or for
``spherical`` and ``free`` joints one exponential of their combination (``Joint.group``). The
velocity of a group joint is its twist in the moving frame, as in Pinocchio.
"""

from __future__ import annotations

from dataclasses import dataclass, field, fields, replace
from typing import TYPE_CHECKING, Any, Protocol

import numpy as np
from numpy.typing import ArrayLike

from regularize.errors import ModelError
from regularize.lie import screw
from regularize.lie.arrays import Array, Coordinates, Direction, Point, Space, Transform, read_only
from regularize.lie.screw import IDENTITY, adjoint, exp, inverse, log, log_rotation
from regularize.mechanism.diagnostic import Source
from regularize.mechanism.joint_kinds import GROUP_KINDS, HIGHER_PAIRS, KINDS, joint_screws
from regularize.mechanism.named_columns import Frozen
from regularize.mechanism.quantity import TOLERANCE
from regularize.tolerances import ROUNDING, UNBOUNDED

if TYPE_CHECKING:
    from typing_extensions import Self


@dataclass(frozen=True, eq=False)
class PerFreedom(Frozen):
    """Values of a joint, one per freedom in each field; None where the model is silent."""

    def __post_init__(self) -> None:
        for name, value in self.stated().items():
            object.__setattr__(self, name, read_only(value).reshape(-1))

    def stated(self) -> dict[str, Array]:
        """Return the fields that the model states, by name."""
        values = {field.name: getattr(self, field.name) for field in fields(self)}
        return {name: value for name, value in values.items() if value is not None}

    def taken(self, order: Any) -> Self:
        """Return the values of chosen freedoms, in the order of ``order``."""
        return replace(self, **{name: value[order] for name, value in self.stated().items()})


@dataclass(frozen=True, eq=False)
class JointLimits(PerFreedom):
    """Bounds of a joint, one value per freedom; infinite where there is none.

    As an array it is its positions' bounds, shape (freedoms, 2).

    Attributes:
        lower: Smallest coordinates, rad or m, shape (freedoms,). None together with ``upper`` where
            a URDF ``<limit>`` leaves both out, which bounds nothing here; Pinocchio and ROS read 0.
        upper: Largest coordinates, rad or m, shape (freedoms,), or None.
        velocity: Largest rates, rad/s or m/s, shape (freedoms,), or None where the model is silent.
        effort: Largest torques or forces of the motor, N m or N, shape (freedoms,), or None.
    """

    lower: Array | None
    upper: Array | None
    velocity: Array | None = None
    effort: Array | None = None

    def __post_init__(self) -> None:
        super().__post_init__()
        if (self.lower is None) != (self.upper is None) or not self.stated():
            raise ModelError(
                "limits state both position bounds or none, and at least one bound of any sort; "
                "write inf for a bound that there is not, and no limits for none at all"
            )

    @classmethod
    def of(cls, bounds: ArrayLike, **others: Any) -> JointLimits:
        """Limits with the given lower and upper bounds, shape (freedoms, 2)."""
        lower, upper = np.asarray(bounds, dtype=np.float64).reshape(-1, 2).T
        return cls(lower, upper, **others)

    @property
    def shape(self) -> tuple[int, int]:
        """(freedoms, 2)."""
        return len(next(iter(self.stated().values()))), 2

    def meant(self) -> JointLimits | None:
        """Return the limits, infinite where numbers are too large to be some; None without any."""
        stated = self.stated()
        huge = {k: (np.abs(x) >= UNBOUNDED) & np.isfinite(x) for k, x in stated.items()}
        if not any(map(np.any, huge.values())):
            return self
        values = {k: np.where(huge[k], np.copysign(np.inf, x), x) for k, x in stated.items()}
        holding = any(np.isfinite(x).any() for x in values.values())
        return replace(self, **values) if holding else None

    @property
    def bounded(self) -> bool:
        """Whether any position is bounded."""
        return bool(np.any(np.isfinite(np.asarray(self))))

    def __array__(self, dtype: Any = None, copy: bool | None = None) -> Array:
        """Lower and upper bounds, shape (freedoms, 2)."""
        bounds = np.full(self.shape, np.inf) * [-1.0, 1.0]
        if self.lower is not None and self.upper is not None:
            bounds = np.column_stack([self.lower, self.upper])
        return bounds.astype(dtype or np.float64)

    def __getitem__(self, index: Any) -> Any:
        """An entry of the bounds, as of an array of shape (freedoms, 2)."""
        return np.asarray(self)[index]

    def tolist(self) -> list[list[float]]:
        """The bounds as pairs of numbers."""
        return [[float(low), float(high)] for low, high in np.asarray(self)]

    def widened(self, freedoms: int, own: int) -> JointLimits:
        """The limits of a single freedom for one of several freedoms, none for the others."""
        here = np.arange(freedoms) == own
        rated = {"velocity": self.velocity, "effort": self.effort}
        kept = {k: np.where(here, v[0], np.inf) for k, v in rated.items() if v is not None}
        (low, high), *_ = np.asarray(self)
        return JointLimits(np.where(here, low, -np.inf), np.where(here, high, np.inf), **kept)


@dataclass(frozen=True, eq=False)
class JointDynamics(PerFreedom):
    """Forces within a joint, one value per freedom; None where the model is silent.

    The joint force is ``-damping * v - friction * sign(v) - stiffness * (q - rest_position)``, and
    ``armature`` adds to the diagonal of the mass matrix. Of ball joints and free ones the springs
    have the energy of the twist from rest, and the force is its slope.

    Attributes:
        damping: Viscous damping, N m s/rad or N s/m, shape (freedoms,).
        friction: Dry friction, N m or N, shape (freedoms,).
        stiffness: Of the joint's spring, N m/rad or N/m, shape (freedoms,).
        rest_position: Where the spring has no force, rad or m, shape (freedoms,).
        armature: Inertia of rotors, seen at the joint, kg m² or kg, shape (freedoms,).
    """

    damping: Array | None = None
    friction: Array | None = None
    stiffness: Array | None = None
    rest_position: Array | None = None
    armature: Array | None = None

    def __bool__(self) -> bool:
        """Whether the model states anything."""
        return bool(self.stated())

    def spread(self, freedoms: int) -> JointDynamics:
        """Repeat single values for every freedom."""
        if freedoms == 0:
            return JointDynamics()
        single = {k: np.repeat(v, freedoms) for k, v in self.stated().items() if len(v) == 1}
        return replace(self, **single) if single else self

    def widened(self, freedoms: int, own: int) -> JointDynamics:
        """The values of a single freedom for one of several freedoms, zero for the others."""
        place = np.eye(freedoms)[own]
        return JointDynamics(**{key: value[0] * place for key, value in self.stated().items()})


@dataclass(frozen=True, eq=False, repr=False)
class Joint(Frozen):
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
        limits: Bounds of positions, rates and forces, or None where the model states none; bounds
            of positions may be given as an array of shape (freedoms, 2).
        source: Where it stands in the user's files.
        dynamics: Damping, friction, springs and rotor inertia.
        tolerance: How far it may be off in every direction, metres and radians, or None where the
            model states nothing; texts with units are taken too.
        repeated: Equations that the model states for it more than once, as several mates do.
    """

    name: str
    parent: str
    child: str
    kind: str
    screws: Space
    T_parent_joint: Transform = field(default_factory=lambda: IDENTITY)
    T_child_joint: Transform = field(default_factory=lambda: IDENTITY)
    position: Coordinates = field(default_factory=lambda: np.zeros(0))
    actuated: bool | None = None
    closure: bool = False
    limits: JointLimits | None = None
    source: Source | None = None
    dynamics: JointDynamics = field(default_factory=JointDynamics)
    tolerance: tuple[float, float] | None = None
    repeated: int = 0

    def __post_init__(self) -> None:
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
        object.__setattr__(self, "position", position)
        for name in ("screws", "position", "T_parent_joint", "T_child_joint"):
            object.__setattr__(self, name, read_only(getattr(self, name)))
            if not np.isfinite(getattr(self, name)).all():
                raise ModelError(f"joint {self.name!r}: {name} must consist of finite numbers")
        if self.limits is not None and not isinstance(self.limits, JointLimits):
            object.__setattr__(self, "limits", JointLimits.of(self.limits))
        if self.limits is not None:
            object.__setattr__(self, "limits", self.limits.meant())
        object.__setattr__(self, "dynamics", self.dynamics.spread(self.freedoms))
        if self.tolerance is not None:
            object.__setattr__(self, "tolerance", TOLERANCE.pair(self.tolerance))
        stated = self.dynamics.stated() | ({} if self.limits is None else self.limits.stated())
        for name, value in stated.items():
            if len(value) != self.freedoms:
                raise ModelError(
                    f"joint {self.name!r}: {name} has {len(value)} values for "
                    f"{self.freedoms} freedoms"
                )

    @classmethod
    def in_world(
        cls,
        name: str,
        parent: str,
        child: str,
        kind: str,
        axis: ArrayLike = (0, 0, 1),
        point: ArrayLike = (0, 0, 0),
        *,
        axis2: ArrayLike | None = None,
        pitch: float = 0.0,
        **attributes: Any,
    ) -> Joint:
        """A joint of bodies whose frames all coincide with the world at the reference pose.

        Args:
            name: Name of the joint.
            parent: Name of the parent body.
            child: Name of the child body.
            kind: One of ``KINDS`` but ``composite``, or of ``HIGHER_PAIRS``.
            axis: As of ``joint_screws``, in world axes.
            point: A point of the axis, or the centre, in metres, shape (3,).
            axis2: As of ``joint_screws``, in world axes.
            pitch: Of a helical joint, metres per radian.
            attributes: Further attributes of the joint.
        """
        frame = screw.transform(None, point)
        screws = joint_screws(kind, axis, axis2, pitch)
        held = "composite" if kind in HIGHER_PAIRS else kind
        return cls(name, parent, child, held, screws, frame, frame, **attributes)

    @property
    def freedoms(self) -> int:
        """Number of freedoms, 0 to 6."""
        return int(self.screws.shape[1])

    @property
    def group(self) -> bool:
        """Whether the coordinates are exponential coordinates of one subgroup."""
        return self.kind in GROUP_KINDS


class Moving(Protocol):
    """A joint, or one of the edges that it is split into."""

    @property
    def screws(self) -> Space: ...  # noqa: D102
    @property
    def group(self) -> bool: ...  # noqa: D102
    @property
    def freedoms(self) -> int: ...  # noqa: D102


#: Newton's method on a joint's coordinates takes a few steps, or has no solution to find.
STEPS = 30


def motion(joint: Moving, q: Coordinates, count: int | None = None) -> Transform:
    """Return the child's joint frame in the parent's at ``q``, if only the first ``count`` move."""
    T = np.eye(4)
    if not np.any(q):
        return T
    if joint.group and count is None:
        return exp(joint.screws @ q)
    for column, value in zip(joint.screws.T[:count], q[:count], strict=True):
        T = T @ exp(column * value)
    return T


def relative_pose(joint: Joint, q: Coordinates) -> Transform:
    """Return the pose of the child body in the parent body at coordinates ``q``."""
    return joint.T_parent_joint @ motion(joint, q) @ inverse(joint.T_child_joint)


def changed_joint(
    joint: Joint, kind: str, screws: Space, shift: Transform = IDENTITY, own: int | None = None
) -> Joint:
    """Return a joint of another kind in its place; its freedom ``own`` is the old single one."""
    f = screws.shape[1]
    limits = None if own is None or joint.limits is None else joint.limits.widened(f, own)
    changed = replace(
        joint,
        kind=kind,
        screws=screws,
        position=np.zeros(f),
        T_parent_joint=joint.T_parent_joint @ shift,
        T_child_joint=joint.T_child_joint @ shift,
        limits=limits,
        dynamics=JointDynamics() if own is None else joint.dynamics.widened(f, own),
    )
    if not np.any(joint.position):
        return changed
    moved = inverse(shift) @ motion(joint, joint.position) @ shift
    near = own_coordinates(f, own, joint.position)
    return replace(changed, position=joint_position(changed, moved, near))


def axis_and_point(joint: Joint) -> tuple[Direction, Point]:
    """Return a joint's axis, or its first slide, and a point there, in the joint's frame."""
    turning = [column for column in joint.screws.T if np.any(column[3:])]
    axis, point, _ = screw.axis_of((turning or [joint.screws[:, 0]])[0])
    return axis, np.zeros(3) if point is None else point


def own_coordinates(freedoms: int, own: int | None, value: Coordinates) -> Coordinates:
    """Return coordinates of which one is an old joint's only one, and the others are zero."""
    q = np.zeros(freedoms)
    if own is not None and len(value) == 1:
        q[own] = value[0]
    return q


def reversed_joint(joint: Joint) -> Joint:
    """Return the joint seen from its child; its coordinates keep their values."""
    screws = -joint.screws if joint.group else -joint.screws[:, ::-1]
    order = slice(None) if joint.group else slice(None, None, -1)
    return replace(
        joint,
        parent=joint.child,
        child=joint.parent,
        screws=screws,
        T_parent_joint=joint.T_child_joint,
        T_child_joint=joint.T_parent_joint,
        position=joint.position[order],
        limits=None if joint.limits is None else joint.limits.taken(order),
        dynamics=joint.dynamics.taken(order),
    )


def body_jacobian(joint: Moving, q: Coordinates) -> Space:
    """Return the twists of the child's frame, seen from itself, by the joint's velocities."""
    if joint.group or not np.any(q):
        return joint.screws
    columns, T = [np.zeros((6, 0))], np.eye(4)
    for column, value in zip(joint.screws.T[::-1], q[::-1], strict=True):
        columns.insert(1, (adjoint(inverse(T)) @ column)[:, None])
        T = exp(column * value) @ T
    return np.hstack(columns)


def joint_position(
    joint: Moving, T_parent_child: Transform, near: Coordinates | None = None
) -> Coordinates:
    """Return the coordinates, next to ``near``, that bring the child frame nearest to a pose."""
    if joint.freedoms == 0:
        return np.zeros(0)
    if joint.group:
        whole = joint.freedoms == 6
        twist = log(T_parent_child) if whole else log_rotation(T_parent_child[:3, :3])
        return np.asarray(joint.screws[-joint.freedoms :].T @ twist)
    q = np.zeros(joint.freedoms) if near is None else near
    for _ in range(STEPS):
        # Newton on the twist that is still missing, seen from the moved frame.
        error = log(inverse(motion(joint, q)) @ T_parent_child)
        step = np.linalg.lstsq(body_jacobian(joint, q), error, rcond=None)[0]
        q = q + step
        if float(np.max(np.abs(step))) < ROUNDING:
            break
    return q
