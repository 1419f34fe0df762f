"""Robots that stand: ground, joint limits and dry friction beside closed loops, in one step."""

from __future__ import annotations

from dataclasses import dataclass

from regularize.errors import ModelError
from regularize.validation import NUMBER, validate


@dataclass(frozen=True)
class Ground:
    """The plane z = 0 of the world, which holds up what comes from above.

    Attributes:
        friction: Coefficient of Coulomb's friction. Where a shape of the model has one of its own,
            the smaller of the two holds.
        restitution: Part of the speed of approach with which a body leaves the ground after an
            impact (Newton's law), 0 to 1; by default it does not bounce.

    Raises:
        ModelError: A number makes no sense.
    """

    friction: float = 1.0
    restitution: float = 0.0

    def __post_init__(self) -> None:
        for name in ("friction", "restitution"):
            validate("Ground", name, NUMBER, getattr(self, name))
        if not self.friction >= 0:
            raise ModelError(f"the friction of ground is 0 or more; got {self.friction!r:.60}")
        if not 0 <= self.restitution <= 1:
            raise ModelError(f"restitution lies between 0 and 1; got {self.restitution!r:.60}")
