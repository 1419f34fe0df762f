"""Motions of all joints of some loops by their coordinates, vectorised over configurations."""

from __future__ import annotations

import numpy as np

from regularize.lie import screw
from regularize.lie.arrays import Array, Coordinates, Indices, Rates, Screw, Transform
from regularize.mechanism.loop_tree import LoopTree


class JointMotions:
    """The motions of all edges of some loops, vectorised over configurations."""

    geometry = ("_screws",)  # what motions of one shape differ by

    def __init__(self, loops: LoopTree) -> None:

        edges = [loops.graph.edges[index] for index in loops.edges]
        first = np.searchsorted(loops.edge_of_column, np.arange(len(edges)))
        self._count, self._freedoms = len(edges), loops.freedoms
        #: Coordinates and edges of the single motions that come k-th in a joint, and their screws.
        self._rows: list[tuple[Indices, Indices]] = []
        self._screws: list[OneScrew] = []
        for k in range(6):
            alike = [i for i, edge in enumerate(edges) if not edge.group and edge.freedoms > k]
            if not alike:
                break
            self._rows.append((first[alike] + k, np.array(alike)))
            self._screws.append(OneScrew(np.array([edges[i].screws[:, k] for i in alike])))
        #: Coordinates (G, f), screws (G, 6, f) and edges of group joints with equal freedoms.
        self._groups: list[tuple[Indices, Array, Indices]] = []
        for f in sorted({edge.freedoms for edge in edges if edge.group}):
            alike = [i for i, edge in enumerate(edges) if edge.group and edge.freedoms == f]
            basis = np.array([edges[i].screws for i in alike])
            self._groups.append((first[alike, None] + np.arange(f), basis, np.array(alike)))
        # Whether each edge has one coordinate, in their order.
        single = len(self._rows[0][0]) if len(self._rows) == 1 else 0
        self._alone = 0 < single == self._count == self._freedoms

    @property
    def shape(self) -> tuple[object, ...] | None:
        """What motions that differ in ``geometry`` alone have in common; None for group joints."""
        indices = [(columns.tobytes(), places.tobytes()) for columns, places in self._rows]
        return None if self._groups else (*indices, *(screws.shape for screws in self._screws))

    def poses(self, q: Coordinates) -> tuple[Transform, Transform | None]:
        """Return how far edges move, (N, edges, 4, 4), and where coordinates act, (N, n, 4, 4).

        The latter are the frames in which the coordinates' screws are constant; None where each
        edge has one coordinate, which acts where the edge begins.
        """
        if self._alone:
            return self._screws[0].motions(q), None
        moved = np.zeros((len(q), self._count, 4, 4))
        moved[..., range(4), range(4)] = 1.0
        carried = np.zeros((len(q), self._freedoms, 4, 4))
        for k, (columns, places) in enumerate(self._rows):
            step = self._screws[k].motions(q[:, columns])
            before = screw.IDENTITY if k == 0 else moved[:, places]
            carried[:, columns] = before
            moved[:, places] = step if k == 0 else before @ step
        for columns, basis, places in self._groups:
            step = _group_pose(basis, q[:, columns])
            moved[:, places] = step
            carried[:, columns] = step[:, :, None]
        return moved, carried

    def integrate(self, q: Coordinates, velocity: Rates) -> Coordinates:
        """Return where a unit of time at constant joint velocity leads from q."""
        result = q + velocity
        for columns, basis, _ in self._groups:
            start, step = (_group_pose(basis, values[:, columns]) for values in (q, velocity))
            result[:, columns] = np.einsum("gij,ngi->ngj", basis, screw.log(start @ step))
        return result

    def difference(self, start: Coordinates, end: Coordinates) -> Rates:
        """Return the constant joint velocity that leads from start to end in a unit of time."""
        result = end - start
        for columns, basis, _ in self._groups:
            before, after = (_group_pose(basis, values[:, columns]) for values in (start, end))
            twists = screw.log(screw.inverse(before) @ after)
            result[:, columns] = np.einsum("gij,ngi->ngj", basis, twists)
        return result


def _group_pose(basis: Array, q: Coordinates) -> Transform:
    """Return the poses of group joints with screws (G, 6, f) at coordinates (N, G, f)."""
    return screw.exp(np.einsum("gij,ngj->ngi", basis, q))


class OneScrew:
    r"""Motions about one screw each, by how far.

    With :math:`\omega = 1` the exponential is
    :math:`I + \sin q\, \hat S + (1 - \cos q) \hat S^2 + (q - \sin q) (\hat S + \hat S^3)`. What
    the last term holds is along the axis: it turns nothing, however far a joint has turned.
    """

    geometry = ("_rate", "_powers")

    def __init__(self, screws: Screw) -> None:
        rate = np.sqrt(np.add.reduce(screws[:, 3:] ** 2, axis=1))
        self._rate = np.where(rate > 0.0, rate, 1.0)
        unit = screws / self._rate[:, None]
        v, w = unit[:, :3], unit[:, 3:]
        first, along = screw.hat(unit), np.zeros((len(screws), 4, 4))
        pitch = np.add.reduce(v * w, axis=1)[:, None]
        along[:, :3, 3] = np.where(rate[:, None] > 0.0, pitch * w, v)
        self._powers = first, first @ first, along if along.any() else None

    @property
    def shape(self) -> bool:
        """Whether any of them goes along its axis."""
        return self._powers[2] is not None

    def motions(self, q: Coordinates) -> Transform:
        """Return the transforms (N, k, 4, 4) of coordinates (N, k)."""
        angle = (q * self._rate)[..., None, None]
        first, second, along = self._powers
        sine = np.sin(angle)
        result = sine * first
        result += (1.0 - np.cos(angle)) * second
        if along is not None:
            result += (angle - sine) * along
        result += screw.IDENTITY
        return result
