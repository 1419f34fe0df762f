"""Motions that move no mass, which leave accelerations undetermined: found, and named."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

import numpy as np

from regularize.lie.screw import Array
from regularize.model.massless import no_inertia
from regularize.pinocchio_model.coordinates import ModelCoordinates
from regularize.reduction.reduce import Reduction


class MasslessMotion(np.linalg.LinAlgError):
    """The mechanism can move without moving any mass.

    Attributes:
        velocity: Such a motion, shape (nv,).
    """

    def __init__(self, velocity: Array) -> None:
        """Keep the motion."""
        self.velocity = velocity
        super().__init__("a free motion moves no mass")


def require_mass(M: Array, free: Array) -> None:
    """Raise ``MasslessMotion`` where a free velocity moves no mass; see ``idle_motion``."""
    idle = idle_motion(M, free)
    if idle is not None:
        raise MasslessMotion(idle)


def idle_motion(M: Array, free: Array) -> Array | None:
    """A velocity among the free ones that moves no mass, shape (nv,); None if each moves some.

    The mass that a velocity moves is compared with the sum of what its entries would move one by
    one, so that neither units nor light bodies beside heavy ones matter.

    Args:
        M: Mass matrix, shape (nv, nv).
        free: A basis of the velocities, shape (nv, k).
    """
    scale = np.sqrt(np.einsum("ik,i,ik->k", free, np.diag(M), free))
    if not np.all(scale > 0.0):
        return np.asarray(free[:, int(np.argmin(scale))])
    # In units in which every velocity of the basis alone moves a mass of one.
    basis = free / scale
    values, vectors = np.linalg.eigh(basis.T @ M @ basis)
    # Below this, masses have cancelled to rounding.
    return np.asarray(basis @ vectors[:, 0]) if len(values) and values[0] <= 1e-13 else None


@contextmanager
def naming(reduction: Reduction, coordinates: ModelCoordinates) -> Iterator[None]:
    """Name joints and bodies where a motion moves no mass: ``NoInertia`` for ``MasslessMotion``."""
    try:
        yield
    except MasslessMotion as error:
        moved = _moved(reduction, coordinates, np.abs(error.velocity))
        raise no_inertia(reduction.mechanism, moved) from error


def _moved(reduction: Reduction, coordinates: ModelCoordinates, rates: Array) -> list[str]:
    """Names of the joints with coordinates of their own that a velocity moves."""
    cut = {cut.edge.joint.name for cut in reduction.cuts}
    names = []
    for joint in reduction.mechanism.joints:
        freedoms = range(0 if joint.name in cut else joint.freedoms)
        own = [rates[coordinates.velocity_index(joint.name, k)] for k in freedoms]
        if own and max(own) > 1e-6 * np.max(rates):
            names.append(joint.name)
    return names
