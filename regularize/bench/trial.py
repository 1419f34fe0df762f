"""A trial: a model with some joints made other kinds, as its file can hold it or in thought."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any

from regularize.checking import Report, check
from regularize.errors import ModelError, RegularizeError
from regularize.fixing.fix import Fix, fix
from regularize.fixing.plan import named_kinds
from regularize.model.diagnostic import Diagnostic
from regularize.model.mechanism import Mechanism
from regularize.reduction.reduce import Reduction


@dataclass(frozen=True, eq=False)
class Trial:
    """What follows from other kinds of joints.

    Attributes:
        joints: New kinds by the names of joints; None for the smallest changes that make the model
            isostatic.
        report: Of the changed model.
        change: The change of the files; None where there is none, or they cannot hold it.
        refused: Why the files cannot hold it; empty where they can.
    """

    joints: Mapping[str, str] | None
    report: Report
    change: Fix | None = None
    refused: str = ""

    @property
    def diff(self) -> str:
        """What changes in the files."""
        return "" if self.change is None else self.change.diff

    @property
    def findings(self) -> tuple[Diagnostic, ...]:
        """What the new kinds cannot hold, and what to know."""
        return () if self.change is None else self.change.findings

    @property
    def kinds(self) -> dict[str, str]:
        """The new kind of every joint that changes."""
        if self.change is None:
            return {name: words.partition(":")[0] for name, words in (self.joints or {}).items()}
        return {each.joint.name: each.kind for each in self.change.changes}


def trial(
    path: str, written: Report, joints: Mapping[str, str] | None, options: Mapping[str, Any]
) -> Trial:
    """Try other kinds of joints.

    Args:
        path: The model file.
        written: Report of the model as it is written.
        joints: New kinds, as in ``fix``.
        options: Of the reader.

    Raises:
        RegularizeError: A joint is unknown or cannot be such a kind; nothing makes the model
            isostatic, where that is asked for.
    """
    if joints is not None and not joints:
        return Trial(joints, written)
    try:
        change = fix(path, joints, **options)
    except RegularizeError as error:
        if joints is None:
            raise
        return Trial(joints, check(_thought(written.reduction, joints)), None, str(error))
    return Trial(joints, check(change.mechanism), change)


def _thought(written: Reduction, joints: Mapping[str, str]) -> Mechanism:
    """The changed model where no file holds it; raises ``ModelError`` where it makes no sense."""
    mechanism = written.mechanism
    unknown = [name for name in joints if all(each.name != name for each in mechanism.joints)]
    if unknown:
        raise ModelError(f"there is no joint {unknown[0]!r}")
    changed = {each.joint.name: each.replacement for each in named_kinds(written, joints)}
    joints_now = tuple(changed.get(joint.name, joint) for joint in mechanism.joints)
    return replace(mechanism, joints=joints_now)
