"""A branch along a path of inputs, and the places where it meets others."""

from __future__ import annotations

from dataclasses import dataclass

from numpy import bool_, intp
from numpy.typing import NDArray

from regularize.lie.screw import Array
from regularize.model.short_repr import ShortRepr


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
        """Protect the arrays."""
        for array in (self.q, self.branches, self.assembled):
            array.setflags(write=False)

    @property
    def branch(self) -> int | None:
        """Index of the branch, if it is the same at all samples; else None."""
        same = len(self.branches) > 0 and bool((self.branches == self.branches[0]).all())
        return int(self.branches[0]) if same else None
