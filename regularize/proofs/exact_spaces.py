"""Subspaces of se(3) in exact arithmetic, with the interface of the store of numerical ones."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from regularize.lie import subalgebra
from regularize.proofs import verifier
from regularize.proofs.verifier import Space
from regularize.reduction import motion_spaces
from regularize.reduction.motion_spaces import MotionSpaces, Operation, SpaceId

FULL: Space = tuple(tuple(int(i == j) for j in range(6)) for i in range(6))


class ExactSpaces(MotionSpaces):
    """Numbered subspaces, each a canonical set of integer rows."""

    def __init__(self) -> None:
        """Start with the two improper subspaces."""
        super().__init__(0.0)
        self._spaces: list[Space] = [(), FULL]
        self._known: dict[Space, SpaceId] = {(): self.ZERO, FULL: self.FULL}

    def exact(self, number: SpaceId) -> Space:
        """The canonical rows of a subspace."""
        return self._spaces[number]

    def of(self, space: Space) -> SpaceId:
        """Number of a subspace."""
        if space not in self._known:
            self._known[space] = SpaceId(len(self._spaces))
            self._spaces.append(space)
        return self._known[space]

    def dimension(self, number: SpaceId) -> int:
        """Dimension of a numbered subspace."""
        return len(self._spaces[number])

    def contains(self, space: SpaceId, other: SpaceId) -> bool:
        """Whether ``other`` lies in ``space``."""
        return self.add(space, other) == space

    def parallelogram(self, hinges: Sequence[SpaceId]) -> SpaceId | None:
        """Translations in the plane of four parallel hinges in a loop with parallel bars."""
        try:
            return self.of(verifier.arcs([self._spaces[h] for h in hinges]))
        except ValueError:
            return None

    def _remembered(self, operation: Operation, a: SpaceId, b: SpaceId) -> SpaceId:
        key = (operation, a, b)
        if key not in self._memory:
            one, two = self._spaces[a], self._spaces[b]
            self._memory[key] = self.of(_EXACT[operation](one, two))
        return self._memory[key]


_EXACT: dict[Operation, Any] = {
    subalgebra.sum_: lambda a, b: verifier.reduced([*a, *b]),
    subalgebra.intersection: verifier.meet,
    subalgebra.saturation: verifier.saturated,
    motion_spaces.brackets: lambda a, b: verifier.reduced(
        [verifier.bracket(z, x) for z in b for x in a]
    ),
    motion_spaces.closure_of_sum: lambda a, b: verifier.saturated(verifier.reduced([*a, *b])),
}
