"""Motions of all joints of some loops by their coordinates, vectorised over configurations."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from regularize.lie import screw
from regularize.lie.arrays import Array
from regularize.mechanism.loop_tree import LoopTree


class JointMotions:
    """The motions of all edges of some loops, vectorised over configurations.

    Args:
        loops: The loops; their coordinates, in order, are those of every configuration.
    """

    geometry = ("_screws",)  # what motions of one shape differ by

    def __init__(self, loops: LoopTree) -> None:
        """Sort the edges by how they move."""
        edges = [loops.graph.edges[index] for index in loops.edges]
        first = np.searchsorted(loops.edge_of_column, np.arange(len(edges)))
        self._count, self._freedoms = len(edges), loops.freedoms
        #: Coordinates and edges of the single motions that come k-th in a row, and their screws.
        self._rows: list[tuple[NDArray[np.intp], NDArray[np.intp]]] = []
        self._screws: list[OneScrew] = []
        for k in range(6):
            alike = [i for i, edge in enumerate(edges) if not edge.group and edge.freedoms > k]
            if not alike:
                break
            self._rows.append((first[alike] + k, np.array(alike)))
            self._screws.append(OneScrew(np.array([edges[i].screws[:, k] for i in alike])))
        #: Coordinates (G, f), screws (G, 6, f) and edges of group joints with equal freedoms.
        self._groups: list[tuple[NDArray[np.intp], Array, NDArray[np.intp]]] = []
        for f in sorted({edge.freedoms for edge in edges if edge.group}):
            alike = [i for i, edge in enumerate(edges) if edge.group and edge.freedoms == f]
            basis = np.array([edges[i].screws for i in alike])
            self._groups.append((first[alike, None] + np.arange(f), basis, np.array(alike)))
        #: Whether each edge has one coordinate, in their order.
        single = len(self._rows[0][0]) if len(self._rows) == 1 else 0
        self._alone = 0 < single == self._count == self._freedoms

    @property
    def shape(self) -> tuple[object, ...] | None:
        """What motions that differ in ``geometry`` alone have in common; None for group joints."""
        indices = [(columns.tobytes(), places.tobytes()) for columns, places in self._rows]
        return None if self._groups else (*indices, *(screws.shape for screws in self._screws))

    def poses(self, q: Array) -> tuple[Array, Array | None]:
        """How far every edge moves, and how far it has moved where each coordinate acts.

        Args:
            q: Configurations, shape (N, n).

        Returns:
            Motion of the child's joint frame in the parent's, shape (N, edges, 4, 4); and of the
            frame in which each coordinate's screw is constant, shape (N, n, 4, 4); None where no
            joint has more than one coordinate, and all are where their edges begin.
        """
        if self._alone:
            return self._screws[0].motions(q), None
        moved = np.zeros((len(q), self._count, 4, 4))
        moved[..., range(4), range(4)] = 1.0
        carried = np.zeros((len(q), self._freedoms, 4, 4))
        for k, (columns, places) in enumerate(self._rows):
            own = self._screws[k].motions(q[:, columns])
            before = screw.IDENTITY if k == 0 else moved[:, places]
            carried[:, columns] = before
            moved[:, places] = own if k == 0 else before @ own
        for columns, basis, places in self._groups:
            own = screw.exp(np.einsum("gij,ngj->ngi", basis, q[:, columns]))
            moved[:, places] = own
            carried[:, columns] = own[:, :, None]
        return moved, carried

    def integrate(self, q: Array, velocity: Array) -> Array:
        """Configuration reached from q by a unit of time at constant joint velocity, (N, n)."""
        result = q + velocity
        for columns, basis, _ in self._groups:
            start, step = (
                screw.exp(np.einsum("gij,ngj->ngi", basis, values[:, columns]))
                for values in (q, velocity)
            )
            result[:, columns] = np.einsum("gij,ngi->ngj", basis, screw.log(start @ step))
        return result

    def difference(self, start: Array, end: Array) -> Array:
        """Constant joint velocity that leads from one configuration to another in a unit of time.

        Args:
            start: Configurations, shape (N, n).
            end: Others, shape (N, n).
        """
        result = end - start
        for columns, basis, _ in self._groups:
            before, after = (
                screw.exp(np.einsum("gij,ngj->ngi", basis, values[:, columns]))
                for values in (start, end)
            )
            twists = screw.log(screw.inverse(before) @ after)
            result[:, columns] = np.einsum("gij,ngi->ngj", basis, twists)
        return result


class OneScrew:
    r"""Motions about one screw each, by how far.

    With :math:`\omega = 1` the exponential is
    :math:`I + \sin q\, \hat S + (1 - \cos q) \hat S^2 + (q - \sin q) (\hat S + \hat S^3)`. What
    the last term holds is along the axis: it turns nothing, however far a joint has turned.

    Args:
        screws: Those of k joints, shape (k, 6).
    """

    geometry = ("_rate", "_powers")

    def __init__(self, screws: Array) -> None:
        """Take their powers, those of turns by one radian."""
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

    def motions(self, q: Array) -> Array:
        """Transforms for coordinates (N, k), shape (N, k, 4, 4)."""
        angle = (q * self._rate)[..., None, None]
        first, second, along = self._powers
        sine = np.sin(angle)
        result = sine * first
        result += (1.0 - np.cos(angle)) * second
        if along is not None:
            result += (angle - sine) * along
        result += screw.IDENTITY
        return result
