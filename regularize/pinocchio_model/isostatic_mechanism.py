"""A mechanism whose constraints were made independent, and the changes that did it."""

from __future__ import annotations

from dataclasses import dataclass

from regularize.model.diagnostic import Diagnostic
from regularize.model.mechanism import Mechanism
from regularize.model.short_repr import ShortRepr
from regularize.reduction.reduce import Reduction


@dataclass(frozen=True)
class ClosureChange:
    """One change of the mechanism.

    Attributes:
        joint: The joint that closes the loop.
        kind: ``lowered`` or ``slack``.
        before: Kind of the joint, or the body on which the slack joints are put.
        after: Kind that it becomes, or the body that they carry.
        added: Names of the slack joints.
    """

    joint: str
    kind: str
    before: str
    after: str
    added: tuple[str, ...] = ()

    def __str__(self) -> str:
        """One sentence, starting in lower case."""
        if self.kind == "lowered":
            return f"joint `{self.joint}` becomes {self.after} instead of {self.before}"
        return (
            f"joint `{self.joint}` holds `{self.after}`, which slack joints "
            f"{', '.join(f'`{name}`' for name in self.added)} tie to `{self.before}`"
        )


@dataclass(frozen=True, eq=False, repr=False)
class Isostatic(ShortRepr):
    """A mechanism with independent constraints and the motion of another.

    Attributes:
        mechanism: The changed mechanism.
        reduction: The reduction of the original from which the changes follow.
        changes: What was changed.
        result: The reduction of the changed mechanism: the proof that nothing is redundant.
        findings: What to know.
    """

    mechanism: Mechanism
    reduction: Reduction
    changes: tuple[ClosureChange, ...]
    result: Reduction
    findings: tuple[Diagnostic, ...]

    @property
    def proved(self) -> bool:
        """Whether every removed constraint follows from joint geometry alone."""
        return not self.reduction.numerical and all(p.proved for p in self.reduction.parts)

    @property
    def equivalent(self) -> bool:
        """Whether nothing is redundant any more and the mobility is the same."""
        return (
            self.result.redundant == 0
            and self.result.mobility == self.reduction.mobility
            and self.result.finite_mobility == self.reduction.finite_mobility
        )
