"""What acts within a joint: damping, dry friction, springs, and the inertia of its rotor."""

from __future__ import annotations

from dataclasses import dataclass, fields
from typing import Any

import numpy as np

from regularize.lie.screw import Array, read_only


@dataclass(frozen=True, eq=False)
class JointDynamics:
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
