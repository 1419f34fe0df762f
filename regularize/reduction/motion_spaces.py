"""A store of subspaces of se(3) in which equal ones are one and no operation is done twice.

Mechanisms repeat themselves: the links of a planar loop all share one algebra. Every subspace gets
a number, and sums, intersections, Lie closures and saturations of numbers are remembered.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import NewType, TypeAlias

import numpy as np

from regularize.lie import screw, subalgebra
from regularize.lie.arrays import Space, read_only
from regularize.tolerances import EXACT

#: The number of a subspace in the store.
SpaceId = NewType("SpaceId", int)
#: A subspace made of two others, to a tolerance.
Operation: TypeAlias = Callable[[Space, Space, float], Space]


class MotionSpaces:
    """Numbered subspaces, compared to a tolerance; 0 is the zero space and 1 is se(3)."""

    ZERO = SpaceId(0)
    FULL = SpaceId(1)

    def __init__(self, rtol: float) -> None:
        self.rtol = rtol
        self._bases: list[Space] = [subalgebra.ZERO, subalgebra.FULL]
        self._numbers: dict[bytes, SpaceId] = {}
        self._memory: dict[tuple[Operation, SpaceId, SpaceId], SpaceId] = {}

    def number(self, basis: Space) -> SpaceId:
        """Return the number of the subspace with an orthonormal basis."""
        if basis.shape[1] in (0, 6):
            return self.ZERO if basis.shape[1] == 0 else self.FULL
        # Adding zero turns -0.0 into 0.0, which has other bytes.
        key = (np.round(basis @ basis.T, 6) + 0.0).tobytes()
        number = self._numbers.get(key)
        if number is None:
            number = self._numbers[key] = SpaceId(len(self._bases))
            self._bases.append(read_only(basis))
        return number

    def basis(self, number: SpaceId) -> Space:
        """Return an orthonormal basis."""
        return self._bases[number]

    def dimension(self, number: SpaceId) -> int:
        """Return the dimension of a subspace."""
        return int(self._bases[number].shape[1])

    def join(self, a: SpaceId, b: SpaceId) -> SpaceId:
        """Return the Lie closure of the sum of two subalgebras."""
        return self._larger(closure_of_sum, a, b)

    def add(self, a: SpaceId, b: SpaceId) -> SpaceId:
        """Return the sum of two subspaces, not closed under the bracket."""
        return self._larger(subalgebra.sum_, a, b)

    def meet(self, a: SpaceId, b: SpaceId) -> SpaceId:
        """Return the intersection of two subspaces."""
        if a == b or b == self.FULL or a == self.ZERO:
            return a
        if a == self.FULL or b == self.ZERO:
            return b
        return self._remembered(subalgebra.intersection, a, b)

    def saturate(self, space: SpaceId, freedoms: SpaceId) -> SpaceId:
        """Return the smallest superspace that is invariant under brackets with freedoms."""
        if space in (self.ZERO, self.FULL) or freedoms == self.ZERO or space == freedoms:
            return space
        return self._remembered(subalgebra.saturation, space, freedoms)

    def carried(self, space: SpaceId, group: SpaceId) -> SpaceId:
        """Return all by which displacements of a group change the elements of a space."""
        if MotionSpaces.ZERO in (space, group):
            return MotionSpaces.ZERO
        return self.saturate(self._remembered(brackets, space, group), group)

    def _larger(self, operation: Operation, a: SpaceId, b: SpaceId) -> SpaceId:
        """Return what two subspaces make together by ``join`` or ``add``."""
        if a == b or b == self.ZERO or a == self.FULL:
            return a
        if a == self.ZERO or b == self.FULL:
            return b
        return self._remembered(operation, a, b)

    def _within(self, a: SpaceId, b: SpaceId) -> bool:
        """Say whether one space lies in another but for rounding."""
        one, other = self._bases[a], self._bases[b]
        outside = subalgebra.residual(other, one) if one.shape[1] <= other.shape[1] else one
        return bool(np.linalg.norm(outside) <= EXACT.closed)

    def _done(self, operation: Operation, a: SpaceId, b: SpaceId) -> SpaceId:
        """Return the result of an operation, the larger or smaller space where one is in both."""
        if operation in (closure_of_sum, subalgebra.sum_, subalgebra.intersection):
            smaller = operation is subalgebra.intersection
            if self._within(a, b):
                return a if smaller else b
            if self._within(b, a):
                return b if smaller else a
        return self.number(operation(self._bases[a], self._bases[b], self.rtol))

    def _remembered(self, operation: Operation, a: SpaceId, b: SpaceId) -> SpaceId:
        symmetric = operation not in (subalgebra.saturation, brackets)
        key = (operation, b, a) if symmetric and a > b else (operation, a, b)
        if key not in self._memory:
            self._memory[key] = self._done(operation, a, b)
        return self._memory[key]

    def parallelogram(self, hinges: Sequence[SpaceId]) -> SpaceId | None:
        """Return translations in the plane of four parallel hinges in a loop with parallel bars.

        None where they are no such loop, or it lies flat.
        """
        screws = np.hstack([self._bases[h] for h in hinges])
        if screws.shape[1] != 4 or np.min(np.linalg.norm(screws[3:], axis=0)) < self.rtol:
            return None
        screws = screws / np.linalg.norm(screws[3:], axis=0)
        screws *= np.sign(screws[3:].T @ screws[3:, 0])
        bars = screws - np.roll(screws, 1, axis=1)
        turning = float(np.max(np.abs(np.sum(screws[:3] * screws[3:], axis=0))))
        off = max(float(np.max(np.abs(bars[3:]))), float(np.max(np.abs(bars[:, 0] + bars[:, 2]))))
        moves = subalgebra.span(bars, self.rtol)
        return self.number(moves) if max(turning, off) < self.rtol and moves.shape[1] == 2 else None

    def contains(self, space: SpaceId, other: SpaceId) -> bool:
        """Say whether a space contains another one."""
        return self.meet(space, other) == other or (
            subalgebra.contains(self._bases[space], self._bases[other], self.rtol)
        )


def closure_of_sum(a: Space, b: Space, rtol: float) -> Space:
    """Return the Lie closure of the sum of two subalgebras."""
    return subalgebra.lie_closure(np.hstack([a, b]), rtol)


def brackets(space: Space, group: Space, rtol: float) -> Space:
    """Return the span of the brackets of two spaces' elements."""
    pairs = [screw.bracket(a, b) for a in group.T for b in space.T]
    return subalgebra.span(np.array(pairs).T, rtol)
