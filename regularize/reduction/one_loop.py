r"""Müller (2014), sections 5 and 6: the constraints of one loop that its joint screws leave.

Joint α, with screws Z between bodies k and l, closes a loop. Any body b of the rest splits the
other joints into the chains from b to k and to l. With the algebras of their screws (eq. 25)

.. math:: \bar D = Lie(Y_1, \dots, Y_i) = span(Y_j, [Y_j, Y_k], [Y_j, [Y_k, Y_l]], \dots)

the twists of l relative to k are always in the space (eq. 27)

.. math:: \Delta = \bar D_k + Sat_Z(\bar D_l) + span Z

in a frame fixed on k. The text has :math:`\bar D_l` itself. It has to stand still while the joint
moves: :math:`Sat_Z` is the smallest superspace with :math:`[Z, Sat_Z] \subseteq Sat_Z`. For the
same reason a chain's algebra may give way to the smaller

.. math:: P_i = Sat_{Y_i}(P_{i-1}) + span Y_i,

which holds the twists of its last body as seen from there: in a linkage of Bennett it leaves a row
out that the algebras keep. Of all bodies b the intersection holds. With W, which takes the joint's
own freedoms away, the decomposition of a basis of Δ (eq. 28)

.. math:: W B_\Delta = U^T \Sigma V

leaves the rows :math:`\bar U W` (eq. 29) of the nonzero singular values. All others can never
matter, wherever the loop moves.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import NamedTuple

import numpy as np

from regularize.lie import subalgebra
from regularize.lie.arrays import Screw, Space


class LoopCut(NamedTuple):
    """Where a loop is cut, and what the cut sees."""

    joint: int  # its place in the loop
    end: int  # body in whose frame the space does not move: 0 before the joint, 1 behind it
    space: Space  # Δ


def best_cut(screws: Sequence[Screw], cuts: Iterable[int], rtol: float) -> LoopCut:
    """Return the cut that keeps the fewest rows, the first of several.

    Screws are those of the joints around the loop at one pose, lengths of order one, shape (6, f).
    """
    # While the loop is open, all joints move freely: no space is smaller than what they span. Where
    # that is a subalgebra, none is larger either, whatever is cut.
    every = np.hstack(screws)
    algebra, least = subalgebra.lie_closure(every, rtol), subalgebra.span(every, rtol).shape[1]
    if algebra.shape[1] == least:
        return LoopCut(next(iter(cuts)), 0, algebra)
    tried, chains = list[LoopCut](), Chains(screws, rtol)
    for joint in cuts:
        for end in (0, 1):
            tried.append(LoopCut(joint, end, relative_twists(chains, joint, end, least)))
            if tried[-1].space.shape[1] == least:
                return tried[-1]
    return min(tried, key=lambda cut: cut.space.shape[1])


class Chains:
    """The chains P_i of a loop's joints, each of them followed once."""

    def __init__(self, screws: Sequence[Screw], rtol: float) -> None:
        self.freedoms, self.rtol = [subalgebra.span(each) for each in screws], rtol
        self._spaces: dict[tuple[int, int], list[Space]] = {}

    def walked(self, first: int, count: int, step: int) -> Space:
        """Return all twists of the last body of a chain relative to the first, seen from the last.

        Joints are counted around the loop; the step is 1 along it, -1 against it.
        """
        places = len(self.freedoms)
        spaces = self._spaces.setdefault((first % places, step), [subalgebra.ZERO])
        while len(spaces) <= count and spaces[-1].shape[1] < 6:
            Z = self.freedoms[(first + step * (len(spaces) - 1)) % places]
            moved = subalgebra.saturation(spaces[-1], Z, self.rtol)
            spaces.append(subalgebra.sum_(moved, Z, self.rtol))
        return spaces[count] if count < len(spaces) else subalgebra.FULL


def relative_twists(chains: Chains, joint: int, end: int, least: int = 0) -> Space:
    """Return the space Δ (eq. 27) of a cut as seen from one of its bodies.

    Bodies of the rest of the loop are looked at until the space has the least dimension.
    """
    Z, rtol, others = chains.freedoms[joint], chains.rtol, len(chains.freedoms) - 1
    space = subalgebra.FULL
    for b in range(others + 1):
        sides = chains.walked(joint + 1 + b, others - b, 1), chains.walked(joint + b, b, -1)
        near, far = sides if end == 0 else sides[::-1]
        moving = subalgebra.sum_(subalgebra.saturation(far, Z, rtol), Z, rtol)
        space = subalgebra.intersection(space, subalgebra.sum_(near, moving, rtol), rtol)
        if space.shape[1] <= least:
            break
    return space


def kept_rows(space: Space, freedoms: Space) -> Space:
    """Return the covectors that are kept (eqs. 28 and 29), orthonormal, as columns.

    The cut joint's own screws are orthonormal and in the space Δ.
    """
    U, _, _ = np.linalg.svd(subalgebra.residual(freedoms, space), full_matrices=False)
    return np.asarray(U[:, : space.shape[1] - freedoms.shape[1]])
