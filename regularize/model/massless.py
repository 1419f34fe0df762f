"""Bodies of which no mass is known, and what to say where the dynamics would need it."""

from __future__ import annotations

from collections.abc import Iterable

import numpy as np

from regularize.errors import NoInertia
from regularize.model.mechanism import Mechanism


def massless(mechanism: Mechanism) -> list[str]:
    """Bodies that state no mass properties; where all state some, those without any mass."""
    bodies = [body for body in mechanism.bodies if body.name != mechanism.ground]
    unknown = [body.name for body in bodies if body.inertia is None]
    return unknown or [
        body.name
        for body in bodies
        if body.inertia is not None and body.inertia.mass == 0.0 and not np.any(body.inertia.matrix)
    ]


def no_inertia(mechanism: Mechanism, moving: Iterable[str]) -> NoInertia:
    """The error where freedoms can move without moving any mass.

    Args:
        mechanism: The mechanism.
        moving: Names of the coordinates that move.
    """
    names, bodies = list(moving), massless(mechanism)
    freedoms = f"{_listed(names)} can move" if names else "the mechanism can move"
    if not bodies:
        return NoInertia(
            f"{freedoms} without moving any mass: inertias of zero; state them in the model"
        )
    return NoInertia(
        f"{freedoms} without moving any mass: no mass properties are known of {_listed(bodies)}; "
        "write them into the model, or give a density of its shapes: --density 7850, or "
        "with_density(mechanism, 7850)"
    )


def _listed(names: list[str], most: int = 5) -> str:
    shown = ", ".join(f"`{name}`" for name in names[:most])
    return f"{shown} and {len(names) - most} more" if len(names) > most else shown
