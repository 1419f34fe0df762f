r"""Which joint binds when a mechanism moves as designed and is built as it is written.

At every configuration q of the designed motion the written joints leave :math:`r(q)` open. What no
coordinate can take up lies in the redundant directions :math:`U`, and joints have to give way for
it. With compliances :math:`S_j` in the directions that they hold, the state of least energy is

.. math:: w_j = B_j^T \lambda, \quad (\sum_j B_j S_j B_j^T) \lambda = U^T r, \quad B_j = U^T A_j,

with :math:`A_j` the closure errors by displacements in joint j (Castigliano, as in ``misfit``).
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from regularize.as_designed.idealise import Idealised
from regularize.as_designed.places import JointPlaces
from regularize.lie.screw import Array
from regularize.manifold.extent import sized_loops
from regularize.manifold.tolerances import EXACT
from regularize.model.graph_building import build
from regularize.model.quantity import STIFFNESS
from regularize.reduction.mobility import CellMobility
from regularize.statics.per_joint import PerJoint, per_joint


@dataclass(frozen=True)
class BindingJoint:
    """What a joint that is built as it is written takes up when the mechanism moves.

    Attributes:
        joint: Its name.
        share: Its part of the elastic energy, on average over the configurations visited.
        translation: By how much it gives way at most, metres.
        rotation: The same in radians.
        force: What it transmits for that at most, in newtons; None where no stiffness is given.
        moment: The same about the joint's place in newton metres.
    """

    joint: str
    share: float
    translation: float
    rotation: float
    force: float | None = None
    moment: float | None = None

    def as_dict(self) -> dict[str, Any]:
        """The entry of the JSON report."""
        return {
            "joint": self.joint,
            "share": self.share,
            "gives_way": {"translation_m": self.translation, "rotation_rad": self.rotation},
            "force": self.force,
            "moment": self.moment,
        }


def binding_joints(
    meant: Idealised, stiffness: PerJoint | Iterable[PerJoint] | None = None
) -> list[BindingJoint]:
    """The joints of a mechanism that moves as designed alone, the most strained first.

    Args:
        meant: The mechanism as it was designed.
        stiffness: Of joints, as in ``misfit``; joints without one are rigid. By default, and for
            loops that these leave rigid, all joints are equally stiff, and a turn by one radian
            takes as much energy as a displacement by the size of the loops.
    """
    if not meant.changed:
        return []
    springs = None
    if stiffness is not None:
        springs = per_joint(stiffness, STIFFNESS, meant.written.mechanism)
    found: list[BindingJoint] = []
    for cell in meant.reduction.cells:
        names = {meant.reduction.graph.edges[e].joint.name for e in cell.edges}
        if cell.redundant and names & set(meant.moves):
            found += _of_cell(meant, cell, springs)
    return sorted(found, key=lambda each: -each.share)


def _of_cell(
    meant: Idealised, cell: CellMobility, stiffness: Mapping[str, tuple[float, float]] | None
) -> list[BindingJoint]:
    visited, edges = cell.configurations, cell.edges
    # Frames lie where the file has them in both, so that errors are taken at the same points.
    graphs = [build(each, as_placed=True) for each in (meant.mechanism, meant.written.mechanism)]
    moving = sized_loops(graphs[0], visited[0], edges)
    built = sized_loops(graphs[1], visited[0], edges, graphs[0].tree)
    built = built.measured(moving.length, moving.center)
    state = moving.state(visited)
    u, _, _ = np.linalg.svd(moving.residual_jacobian(state) * moving.units)
    left = np.swapaxes(u[:, :, cell.generic.rank :], 1, 2)
    misfit = left @ built.residual(built.state(visited))[..., None]
    places = JointPlaces(moving, moving.state(visited[:1]), at_origins=True)
    by_places = left[..., : 6 * len(moving.chords)] @ places.derivative(state)
    # What is done to a joint's frame on its parent is undone by that on its child.
    own = by_places.reshape(*by_places.shape[:2], len(places.joints), 2, 6)[..., 0, :]
    soft = _compliances([joint.name for joint in places.joints], stiffness, moving.length)
    compliance = np.einsum("naji,ji,nbji->nab", own, soft, own)
    forces = np.linalg.pinv(compliance, rcond=EXACT.singular, hermitian=True) @ misfit
    if not np.allclose(compliance @ forces, misfit, rtol=0.0, atol=0.1 * np.abs(misfit).max()):
        return _of_cell(meant, cell, None)  # what is given leaves directions rigid
    wrenches = np.einsum("naji,na->nji", own, forces[..., 0])
    energies = np.sum(wrenches * soft * wrenches, axis=2)
    if not np.any(energies):
        return []
    shares = energies.sum(axis=0) / energies.sum()
    ways = _sizes(wrenches * soft)
    loads = _sizes(wrenches)
    return [
        BindingJoint(
            joint.name,
            float(share),
            float(way[0] * moving.length),
            float(way[1]),
            None if stiffness is None else float(load[0] / moving.length),
            None if stiffness is None else float(load[1]),
        )
        for joint, share, way, load in zip(places.joints, shares, ways, loads, strict=True)
    ]


def _compliances(
    names: list[str], stiffness: Mapping[str, tuple[float, float]] | None, length: float
) -> Array:
    """Of joints by scaled wrenches, shape (joints, 6)."""
    if stiffness is None:
        return np.ones((len(names), 6))
    pairs = [stiffness.get(name, (np.inf, np.inf)) for name in names]
    scaled = [(translation * length**2, rotation) for translation, rotation in pairs]
    return 1.0 / np.repeat(scaled, 3, axis=1)


def _sizes(twists: Array) -> Array:
    """Largest linear and angular part of every joint's twist or wrench, shape (joints, 2)."""
    return np.asarray(np.linalg.norm(twists.reshape(*twists.shape[:2], 2, 3), axis=3).max(axis=0))
