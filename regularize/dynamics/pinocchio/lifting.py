r"""Universal joints that close loops of the caller's model, which has no coordinates for them.

A universal joint is two hinges with a cross between them, and it is cut at one of them. A second
tree has the cross, without mass, and the other hinge's coordinate behind those of the model. Its
rows :math:`\bar J = (J_1, J_2)` on both velocities give the model's: with the rows' combinations U
that do not see the own velocities, :math:`U^T J_2 = 0`, they are :math:`U^T J_1`, and

.. math:: \bar v = P v, \qquad P = (1; -J_2^+ J_1).

Along the loops then, with :math:`P_2 = (0; J_2^+)`,

.. math::

    \delta \bar q = P \, \delta q, \qquad
    \delta \bar v = P \, \delta v - P_2 \, \partial_{\bar q}(\bar J \bar v) \, \delta \bar q,
    \qquad
    \delta \bar a = P \, \delta a - P_2 \, \delta(\bar J \bar a + \bar\gamma).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np

from regularize.dynamics.pinocchio.actuation import Actuation
from regularize.dynamics.pinocchio.closure_rows import ConstraintRows
from regularize.dynamics.pinocchio.coordinates import ModelCoordinates
from regularize.dynamics.pinocchio.dense import DenseState
from regularize.dynamics.pinocchio.derivatives import (
    AccelerationDerivatives,
    DenseMotionForces,
    InverseDynamicsDerivatives,
    acceleration_derivatives,
    actuator_derivatives,
)
from regularize.dynamics.pinocchio.multibody_reading import multibody_tree_of, tree_of
from regularize.dynamics.pinocchio.spanning_tree import SpanningTree, motions_of
from regularize.dynamics.pinocchio.split import Stabilization, TreeTerms
from regularize.dynamics.pinocchio.tree_states import TreeStates
from regularize.lie import screw
from regularize.lie.arrays import Array, read_only
from regularize.mechanism.graph import Edge, Graph, NodeId
from regularize.mechanism.joint import Joint, joint_position
from regularize.reduction.cuts import Cut
from regularize.tolerances import VANISHING

#: Where the body of each node is: the joint that carries it, and its frame in that joint's.
Places = dict[NodeId, tuple[int, Array]]


@dataclass(frozen=True, eq=False, repr=False)
class OwnFreedoms:
    """Freedoms of a closing joint that have coordinates in the second tree alone.

    Attributes:
        joint: The joint.
        ends: Joint of the tree and frame there, of its parent and of its child.
        freedoms: Which of its freedoms, in the order of the tree.
        columns: Their coordinates among those of the mechanism.
    """

    joint: Joint
    ends: tuple[tuple[int, Array], tuple[int, Array]]
    freedoms: list[int]
    columns: list[int]


def hang(tree: SpanningTree, place: Places, graph: Graph, cut: Cut) -> OwnFreedoms:
    """Add what a cut leaves of a joint to a tree, on both sides of the cut."""
    series = [edge for edge in graph.edges if edge.joint is cut.edge.joint]
    at = [edge.index for edge in series].index(cut.edge.index)
    first, last = series[0], series[-1]
    one, two = place[first.parent], place[last.child]
    ends = (one[0], one[1] @ first.T_parent), (two[0], two[1] @ last.T_child)
    for edge in series[:at]:
        place[edge.child] = _hang(tree, place[edge.parent], edge, backwards=False)
    for edge in series[:at:-1]:
        place[edge.parent] = _hang(tree, place[edge.child], edge, backwards=True)
    freedoms = [*range(at), *range(len(series) - 1, at, -1)]
    columns = [series[k].columns[0] for k in freedoms]
    return OwnFreedoms(cut.edge.joint, ends, freedoms, columns)


def _hang(
    tree: SpanningTree, place: tuple[int, Array], edge: Edge, *, backwards: bool
) -> tuple[int, Array]:
    """Add one freedom; the place of the body behind it."""
    begin, end = (edge.T_child, edge.T_parent) if backwards else (edge.T_parent, edge.T_child)
    motions, before = motions_of(edge, backwards, place[1] @ begin)
    return tree.add_joint(place[0], motions, edge.name), before @ screw.inverse(end)


def lifted_states(
    model: Any,
    rows: ConstraintRows,
    rank: int,
    *,
    places: Places,
    graph: Graph,
    cuts: Sequence[Cut],
) -> TreeStates:
    """The model with its rows, by the second tree.

    Args:
        model: The caller's ``pinocchio.Model``.
        rows: The rows of the second tree.
        rank: Number of independent rows of the model.
        places: Where the model's bodies are.
        graph: The mechanism's graph.
        cuts: Those through joints of several freedoms.
    """
    tree, place = tree_of(model), dict(places)
    own = [hang(tree, place, graph, cut) for cut in cuts]
    return LiftedStates(tree, rows, rank, own)


class Lift(NamedTuple):
    """A state of the model in the second tree.

    Attributes:
        at: The second tree's equations there.
        along: Its velocities by those of the model, P, shape (N, nv).
        across: Its velocities by values of its rows, P_2, shape (N, m).
        kept: Combinations of its rows that are the model's, U, shape (m, rows).
    """

    at: DenseState
    along: Array
    across: Array
    kept: Array


class LiftedStates(TreeStates):
    """The model at states, by the second tree.

    Args:
        tree: The second tree.
        rows: Its rows.
        rank: Number of independent rows of the model.
        own: Freedoms that the model has not.
    """

    def __init__(
        self, tree: SpanningTree, rows: ConstraintRows, rank: int, own: Sequence[OwnFreedoms]
    ) -> None:
        self._own, self._count = own, sum(len(each.freedoms) for each in own)
        coupling = np.hstack([rows.coupling, np.zeros((len(rows.coupling), self._count))])
        whole = ConstraintRows(rows.closures, coupling, rows.targets, rows.curves)
        super().__init__(*multibody_tree_of(tree, whole, rank + self._count, False), whole, None)

    def _configuration(self, q: Array) -> Array:
        """The configuration of the second tree, shape (nq + k,)."""
        poses, values = super().poses(self._padded(q)), [q]
        for own in self._own:
            parent, child = (poses[joint] @ T for joint, T in own.ends)
            values.append(joint_position(own.joint, screw.inverse(parent) @ child)[own.freedoms])
        return np.concatenate(values)

    def _padded(self, x: Array) -> Array:
        """Zeros for what the model has not, shape (..., n + k)."""
        return np.concatenate([x, np.zeros((*np.shape(x)[:-1], self._count))], axis=-1)

    def lift(self, q: Array, v: Array | None = None) -> Lift:
        """The state in the second tree."""
        whole = self._configuration(q)
        nv = self.multibody.nv - self._count
        rest = self.dense(whole)
        first, second = np.split(rest.jacobian, [nv], axis=1)
        inverse = np.linalg.pinv(second, rcond=VANISHING)
        along = np.vstack([np.eye(nv), -inverse @ first])
        across = np.vstack([np.zeros((nv, len(first))), inverse])
        loops = len(first) - len(self.rows.coupling)
        kept = np.zeros((len(first), len(first) - self._count))
        kept[:loops, : loops - self._count] = np.linalg.svd(second[:loops])[0][:, self._count :]
        kept[loops:, loops - self._count :] = np.eye(len(self.rows.coupling))
        return Lift(rest if v is None else self.dense(whole, along @ v), along, across, kept)

    def poses(self, q: Array) -> Array:
        """Poses of the bodies at a configuration, the cross behind those of the model."""
        return super().poses(self._configuration(q))

    def between(self, q: Array, first: int, second: int) -> Array:
        """Twist of a body against another by velocities of the model, shape (6, nv)."""
        return super().between(self._configuration(q), first, second) @ self.lift(q).along

    def terms(self, q: Array, v: Array) -> TreeTerms:
        """What the model's equations of motion consist of."""
        at, _, _, kept = self.lift(q, v)
        nv, rows = len(v), kept.T @ at.jacobian
        return TreeTerms(at.mass_matrix[:nv, :nv], at.needed[:nv], rows[:, :nv], kept.T @ at.bias)

    def jacobian(self, q: Array) -> Array:
        """Rows on the model's velocities, shape (rows, nv)."""
        at, along, _, kept = self.lift(q)
        return np.asarray(kept.T @ at.jacobian[:, : along.shape[1]])

    def bias(self, q: Array, v: Array) -> Array:
        """Rates of the rows at zero acceleration, shape (rows,)."""
        at, _, _, kept = self.lift(q, v)
        return np.asarray(kept.T @ at.bias)

    def errors(self, q: Array) -> Array:
        """Errors of the closures' rows, shape (rows of closures,)."""
        errors, kept = super().errors(q), self.lift(q).kept
        return np.asarray(kept[: len(errors), : len(errors) - self._count].T @ errors)

    def wrenches(self, q: Array, multipliers: Array) -> list[Array]:
        """What multipliers of the model's rows are at each closure."""
        return super().wrenches(q, self.lift(q).kept @ multipliers)

    def coordinates(self, map_: ModelCoordinates, q: Array, step: Array | None = None) -> Array:
        """The mechanism's joint coordinates, shape (N, n)."""
        result = super().coordinates(map_, q, step)
        for row, each in zip(result, q, strict=True):
            self.fill_own(row, each)
        return result

    @property
    def _own_columns(self) -> list[int]:
        """Coordinates of the mechanism that the second tree has alone."""
        return [column for own in self._own for column in own.columns]

    def fill_own(self, coordinates: Array, q: Array) -> None:
        """Write coordinates that the second tree has alone among the mechanism's, (n,)."""
        coordinates[self._own_columns] = self._configuration(q)[len(q) :]

    def fill_own_rates(self, rates: Array, q: Array) -> None:
        """Write their rates by velocities of the model among those of all coordinates, (n, nv)."""
        rates[self._own_columns] = self.lift(q).along[rates.shape[1] :]

    def moments(self, q: Array) -> Array:
        """Mass times centre of mass: what the model has not carries none."""
        return super().moments(self._padded(q))

    def _twists(self, q: Array, v: Array) -> Array:
        return super()._twists(self._padded(q), self._padded(v))

    def acceleration_derivatives(
        self, q: Array, v: Array, tau: Array, rank: int, terms: Stabilization | None
    ) -> AccelerationDerivatives:
        """Derivatives of the model's acceleration under its joint forces; see ``derivatives``."""
        at, along, across, kept = self.lift(q, v)
        if terms is not None:
            terms = Stabilization(kept @ terms.residual, terms.frequency, terms.damping)
        forces = self._padded(tau)
        found = acceleration_derivatives(at, rank + self._count, along @ v, forces, terms)
        by_q = found.ddq_dq @ along + found.ddq_dv @ (-across @ at.values_by_q() @ along)
        nv = len(v)
        by_v = found.ddq_dv @ along
        return AccelerationDerivatives.of(
            [found.a[:nv].copy(), by_q[:nv], by_v[:nv], found.ddq_dtau[:nv, :nv].copy()]
        )

    def actuator_derivatives(
        self, q: Array, v: Array, a: Array, rank: int, actuation: Actuation
    ) -> InverseDynamicsDerivatives:
        """Derivatives of the actuator forces for an acceleration of the model, shape (nv,)."""
        at, along, across, _ = self.lift(q, v)
        whole = along @ a - across @ at.bias
        motion = DenseMotionForces(at, lambda u: self.dense(self._configuration(q), u), whole)
        found = actuator_derivatives(motion, rank + self._count, actuation)
        changes = at.changes(whole, np.zeros(len(at.bias)))[1]
        by_q, by_v = -across @ changes[:, : len(whole)], -across @ changes[:, len(whole) :]
        velocity_by_q = -across @ at.values_by_q() @ along
        return InverseDynamicsDerivatives(
            found.tau,
            read_only(
                found.dtau_dq @ along
                + found.dtau_dv @ velocity_by_q
                + found.dtau_da @ (by_q @ along + by_v @ velocity_by_q)
            ),
            read_only(found.dtau_dv @ along + found.dtau_da @ (by_v @ along)),
            read_only(found.dtau_da @ along),
        )
