"""Limits and dynamics of a joint: where it may be, how fast, and what acts within it."""

from __future__ import annotations

from dataclasses import dataclass, fields
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from regularize.errors import ModelError
from regularize.lie.arrays import Array, read_only
from regularize.mechanism.named_columns import Frozen


@dataclass(frozen=True, eq=False)
class JointLimits(Frozen):
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
        """Freeze the arrays."""
        for each in fields(self):
            value = getattr(self, each.name)
            if value is not None:
                object.__setattr__(self, each.name, read_only(value).reshape(-1))
        if (self.lower is None) != (self.upper is None) or not self._stated():
            raise ModelError(
                "limits state both position bounds or none, and at least one bound of any sort; "
                "write inf for a bound that there is not, and no limits for none at all"
            )

    def _stated(self) -> list[Array]:
        return [each for f in fields(self) if (each := getattr(self, f.name)) is not None]

    @classmethod
    def of(cls, bounds: ArrayLike, **others: ArrayLike | None) -> JointLimits:
        """Limits with the given lower and upper bounds, shape (freedoms, 2)."""
        lower, upper = np.asarray(bounds, dtype=np.float64).reshape(-1, 2).T
        return cls(
            lower,
            upper,
            **{
                key: None if value is None else np.asarray(value, dtype=np.float64)
                for key, value in others.items()
            },
        )

    @property
    def shape(self) -> tuple[int, int]:
        """(freedoms, 2)."""
        return len(self._stated()[0]), 2

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

    def taken(self, order: Any) -> JointLimits:
        """Limits of some of the freedoms, or of all in another order."""
        stated = {f.name: getattr(self, f.name) for f in fields(self)}
        return JointLimits(**{k: None if v is None else v[order] for k, v in stated.items()})


@dataclass(frozen=True, eq=False)
class JointDynamics(Frozen):
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

    def __post_init__(self) -> None:
        """Freeze the arrays."""
        for each in fields(self):
            value = getattr(self, each.name)
            if value is not None:
                object.__setattr__(self, each.name, read_only(value).reshape(-1))

    def __bool__(self) -> bool:
        """Whether the model states anything."""
        return any(getattr(self, each.name) is not None for each in fields(self))

    def spread(self, freedoms: int) -> JointDynamics:
        """The same with single values repeated for every freedom."""
        if freedoms == 0:
            return JointDynamics()
        return JointDynamics(
            **{
                key: np.repeat(value, freedoms) if len(value) == 1 else value
                for key, value in self.stated().items()
            }
        )

    def stated(self) -> dict[str, Array]:
        """What the model states, by name."""
        values = {each.name: getattr(self, each.name) for each in fields(self)}
        return {key: value for key, value in values.items() if value is not None}

    def widened(self, freedoms: int, own: int) -> JointDynamics:
        """The values of a single freedom for one of several freedoms, zero for the others."""
        place = np.eye(freedoms)[own]
        return JointDynamics(**{key: value[0] * place for key, value in self.stated().items()})

    def taken(self, order: Any) -> JointDynamics:
        """Values of some of the freedoms, or of all in another order."""
        return JointDynamics(**{key: value[order] for key, value in self.stated().items()})
