"""The branches of a solution: what they are called, and their values at some inputs."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import TypeVar, overload

import numpy as np
from numpy import bool_, intp
from numpy.typing import NDArray

from regularize.errors import ModelError
from regularize.guests.modes.closed_form.planner import Step
from regularize.guests.modes.grouping import Configurations
from regularize.lie.arrays import Array
from regularize.mechanism.graph import Graph
from regularize.mechanism.named_columns import ShortRepr

Entries = TypeVar("Entries", Array, NDArray[np.bool_])

#: Branches that are computed at once at most, and steps whose combinations have numbers.
MOST_AT_ONCE, MOST_STEPS = 2**16, 62
#: What the two solutions of a step are called where nothing tells up from down.
WORDS = {
    "elbow": ("bent to the positive side", "bent to the negative side"),
    "shoulder": ("left", "right"),
    "wrist": ("plain", "flipped"),
    "stroke": ("far", "near"),
}


@dataclass(frozen=True)
class Branch:
    """One way to assemble the mechanism.

    Attributes:
        index: Position in the results.
        name: What tells it from the others, such as ``elbow J3 up, wrist J5 flipped``.
        signs: +1 or -1 for every step with two solutions, in order of the steps.
    """

    index: int
    name: str
    signs: tuple[int, ...]

    @cached_property
    def choices(self) -> tuple[tuple[int], ...]:
        """The signs to try at every step: one each."""
        return tuple((sign,) for sign in self.signs)


class Branches(Sequence[Branch]):
    """All combinations of both solutions of steps, the last of which changes first."""

    def __init__(self, steps: Sequence[Step]) -> None:
        if len(steps) > MOST_STEPS:
            raise ModelError(
                f"{len(steps)} steps with two solutions each have more combinations than can be "
                "numbered: ask for the loops in parts"
            )
        self._steps = tuple(steps)

    def __len__(self) -> int:
        return int(2 ** len(self._steps))

    @overload
    def __getitem__(self, index: int) -> Branch: ...
    @overload
    def __getitem__(self, index: slice) -> tuple[Branch, ...]: ...
    def __getitem__(self, index: int | slice) -> Branch | tuple[Branch, ...]:
        if isinstance(index, slice):
            return tuple(self[k] for k in range(len(self))[index])
        index = range(len(self))[index]
        bits = f"{index:b}".zfill(len(self._steps))[: len(self._steps)]
        parts = [
            f"{step.role} {step.joint} {WORDS[step.role][int(bit)]}"
            for step, bit in zip(self._steps, bits, strict=True)
        ]
        signs = tuple(1 - 2 * int(bit) for bit in bits)
        return Branch(index, ", ".join(parts) or "the only one", signs)


def branch_words(steps: Sequence[Step], few: int = 8) -> Iterator[str]:
    """Yield what the index of a branch means, line by line: names of few, bits of many."""
    if 2 ** len(steps) <= few:
        for branch in Branches(steps):
            yield f"branch {branch.index}: {branch.name}"
        return
    for k, step in enumerate(steps):
        first, second = WORDS[step.role]
        bit = 1 << (len(steps) - 1 - k)
        yield f"branch & {bit}: {step.role} {step.joint}, 0 or {bit}: {first}, {second}"


@dataclass(frozen=True, eq=False)
class Solutions(Configurations):
    """Branches at some inputs; leading axes are those of the inputs.

    Attributes:
        graph: The mechanism's graph.
        q: Coordinates of all joints, NaN where not assembled, shape (..., branches, n).
        assembled: Which branches can be assembled, shape (..., branches).
        margin: Scaled discriminant of every step with two solutions; it is zero where the two
            branches meet and negative beyond, shape (..., branches, steps).
    """

    graph: Graph
    q: Array
    assembled: NDArray[np.bool_]
    margin: Array

    def __repr__(self) -> str:
        return f"<Solutions: {int(np.sum(self.assembled))} of {self.assembled.size} assembled>"


def spread(array: Entries, shape: tuple[int, ...]) -> Entries:
    """Return an array whose first axis is spread over several, read-only."""
    result = array.reshape(*shape, *array.shape[1:])
    result.setflags(write=False)
    return result


@dataclass(frozen=True, eq=False)
class Meeting:
    """A place on a path where two branches come together.

    Attributes:
        sample: Index of the sample of the path that is nearest to it.
        position: Where on the path, in samples: 3.5 is halfway between samples 3 and 4.
        branches: The branches that meet; the one followed up to there comes first.
        joint: The joint whose two solutions become one.
        ends: Whether the branches end there: behind it they cannot be assembled.
        crosses: Whether the branches cross: what goes on smoothly has the other sign of this step
            behind the meeting.
    """

    sample: int
    position: float
    branches: tuple[int, int]
    joint: str
    ends: bool
    crosses: bool


@dataclass(frozen=True, eq=False, repr=False)
class Track(ShortRepr):
    """One way of moving along a path; where branches touch and cross, it goes on smoothly.

    Along stretches on which links may turn freely about joints that coincide, they do not turn.

    Attributes:
        q: Coordinates without jumps by whole turns, NaN where not assembled, shape (N, n).
        branches: Index of the branch at each sample: it changes at meetings that are crossed, and
            stays the same across samples that cannot be assembled, shape (N,). Velocities along
            the track are ``solution.velocities(path, rates)[np.arange(N), track.branches]``.
        assembled: Whether each sample can be assembled, shape (N,).
        meetings: Where branches come together, in order.
    """

    q: Array
    branches: NDArray[intp]
    assembled: NDArray[bool_]
    meetings: tuple[Meeting, ...]

    def __post_init__(self) -> None:
        for array in (self.q, self.branches, self.assembled):
            array.setflags(write=False)

    @property
    def branch(self) -> int | None:
        """Index of the branch, if it is the same at all samples; else None."""
        same = len(self.branches) > 0 and bool((self.branches == self.branches[0]).all())
        return int(self.branches[0]) if same else None
