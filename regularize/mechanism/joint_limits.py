"""Limits and dynamics of a joint: where it may be, how fast, and what acts within it."""

from __future__ import annotations

from dataclasses import dataclass, fields, replace
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import ArrayLike

from regularize.errors import ModelError
from regularize.lie.arrays import Array, read_only
from regularize.mechanism.named_columns import Frozen

if TYPE_CHECKING:
    from typing_extensions import Self


@dataclass(frozen=True, eq=False)
class PerFreedom(Frozen):
    """Values of a joint, one per freedom in each field; None where the model is silent."""

    def __post_init__(self) -> None:
        for name, value in self.stated().items():
            object.__setattr__(self, name, read_only(value).reshape(-1))

    def stated(self) -> dict[str, Array]:
        """Return what the model states, by name."""
        values = {field.name: getattr(self, field.name) for field in fields(self)}
        return {name: value for name, value in values.items() if value is not None}

    def taken(self, order: Any) -> Self:
        """Return the values of some of the freedoms, or of all in another order."""
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
