"""Loops that share bodies, in the report."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from regularize.reduction.part import Part
from regularize.report.loop_report import LoopReport


@dataclass(frozen=True, eq=False)
class Component:
    """A biconnected part: loops that share bodies, so that their equations interact.

    Attributes:
        name: ``component 1``, ``component 2``, ….
        part: The part with its numbers.
        loops: Its loops.
    """

    name: str
    part: Part
    loops: tuple[LoopReport, ...]

    @property
    def constraints(self) -> int:
        """Constraint rows at its cuts."""
        return self.part.constraints

    @property
    def kept(self) -> int:
        """Rows kept of them."""
        return self.part.kept

    @property
    def redundant(self) -> int:
        """Redundant equations, removed or not."""
        return 6 * len(self.part.cuts) - self.part.rank

    def as_dict(self) -> dict[str, Any]:
        """The entry of ``components`` in the JSON report."""
        return {
            "name": self.name,
            "loops": [loop.name for loop in self.loops],
            "constraints": self.constraints,
            "kept": self.kept,
            "removed": self.constraints - self.kept,
            "redundant": self.redundant,
        }
