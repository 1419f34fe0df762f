r"""Joints between two bodies.

A joint has a frame on its parent body and a frame on its child body. Its freedoms move the second
frame against the first:

.. math:: T_{parent,child} = T_{parent,joint} \; J(q) \; T_{child,joint}^{-1}

where :math:`J(q)` is a product of exponentials of the joint's screws, taken in order, or for
``spherical`` and ``free`` joints one exponential of their combination (``Joint.group``). The
velocity of a group joint is its twist in the moving frame, as in Pinocchio.
"""

from __future__ import annotations

from dataclasses import dataclass, field, fields

import numpy as np
from numpy.typing import ArrayLike

from regularize.errors import ModelError
from regularize.lie import screw
from regularize.lie.screw import IDENTITY, Array, read_only
from regularize.model.diagnostic import Source
from regularize.model.joint_dynamics import JointDynamics
from regularize.model.joint_limits import JointLimits
from regularize.model.quantity import TOLERANCE
from regularize.model.short_repr import ShortRepr

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


@dataclass(frozen=True, eq=False, repr=False)
class Joint(ShortRepr):
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
    limits: JointLimits | None = None
    source: Source | None = None
    dynamics: JointDynamics = field(default_factory=JointDynamics)
    tolerance: tuple[float, float] | None = None

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
        if self.limits is not None and not isinstance(self.limits, JointLimits):
            object.__setattr__(self, "limits", JointLimits.of(self.limits))
        object.__setattr__(self, "dynamics", self.dynamics.spread(self.freedoms))
        if self.tolerance is not None:
            object.__setattr__(self, "tolerance", TOLERANCE.pair(self.tolerance))
        self._check_sizes()

    def _check_sizes(self) -> None:
        """Raise ``ModelError`` unless limits and dynamics have one value per freedom."""
        values = self.dynamics.stated()
        if self.limits is not None:
            values |= {f.name: getattr(self.limits, f.name) for f in fields(self.limits)}
        for name, value in values.items():
            if value is not None and len(value) != self.freedoms:
                raise ModelError(
                    f"joint {self.name!r}: {name} has {len(value)} values for "
                    f"{self.freedoms} freedoms"
                )

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
    first = screw.unit(screw.cross(helper, e))
    return first, screw.cross(e, first)
