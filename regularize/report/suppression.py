"""Findings that somebody has looked at and accepts, with the reason that was given.

They are accepted where they stand, by a comment in the model::

    <!-- regularize: ignore REG201 the linkage is meant to be stiff -->   on that line or the next
    <!-- regularize: ignore-file REG220 reactions are not used -->        anywhere in the file

or in the configuration, or by a baseline of what was known before.
"""

from __future__ import annotations

import glob
import hashlib
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from fnmatch import fnmatch

from regularize.adapters.common.input_files import read_bytes
from regularize.errors import ReadError
from regularize.mechanism.diagnostic import Diagnostic, Source
from regularize.mechanism.mechanism import Mechanism

_COMMENT = re.compile(
    r"regularize:\s*(?P<scope>ignore-file|ignore)\s+(?P<codes>REG\d+(?:\s*,\s*REG\d+)*)"
    r"(?P<reason>[^\n]*)"
)
_END = re.compile(r"\s*(-->|\*/)?\s*$")


@dataclass(frozen=True)
class Suppression:
    """A finding, or a kind of finding, that is accepted, by whom and why."""

    codes: tuple[str, ...]
    by: str
    reason: str
    files: str | None = None
    line: int | None = None
    joints: tuple[str, ...] = ()
    fingerprint: str | None = None
    source: Source | None = None

    def covers(self, finding: Diagnostic, mechanism: Mechanism) -> bool:
        """Whether this accepts a finding."""
        path = (finding.source.path if finding.source else None) or mechanism.path or ""
        line = finding.source.line if finding.source else None
        return (
            finding.code.startswith(self.codes)
            and (self.files is None or fnmatch(path, self.files))
            and (self.line is None or line in (self.line, self.line + 1))
            and set(self.joints) <= set(finding.joints)
            and self.fingerprint in (None, fingerprint(mechanism.name, finding))
        )


@dataclass(frozen=True)
class Suppressed:
    """A finding that is accepted, and by what."""

    finding: Diagnostic
    suppression: Suppression

    def as_dict(self) -> dict[str, object]:
        """The entry of ``suppressed`` in the JSON report."""
        return {
            **self.finding.as_dict(),
            "by": self.suppression.by,
            "reason": self.suppression.reason,
        }


def divided(
    findings: Sequence[Diagnostic], mechanism: Mechanism, suppressions: Sequence[Suppression]
) -> tuple[tuple[Diagnostic, ...], tuple[Suppressed, ...]]:
    """Separate findings that stay from those that are accepted."""
    stay, accepted = [], []
    for finding in findings:
        found = next((s for s in suppressions if s.covers(finding, mechanism)), None)
        if found is None:
            stay.append(finding)
        else:
            accepted.append(Suppressed(finding, found))
    return tuple(stay), tuple(accepted)


def in_comments(mechanism: Mechanism) -> tuple[Suppression, ...]:
    """Return what comments in the model's own files accept."""
    paths = filter(None, (mechanism.path, *mechanism.files))
    return tuple(found for path in paths for found in _comments(path))


def unexplained(suppressions: Sequence[Suppression]) -> Iterator[Diagnostic]:
    """Yield a warning for every comment that gives no reason."""
    for each in suppressions:
        if not each.reason:
            yield Diagnostic(
                "REG020",
                "warning",
                f"{', '.join(each.codes)} is to be ignored here without a reason; it is not",
                source=each.source,
                help=("write why behind the code",),
            )


def _comments(path: str) -> Iterator[Suppression]:
    try:
        data = read_bytes(path)
    except ReadError:
        return  # a folder, or a file that is gone by now
    if b"regularize:" not in data or b"\0" in data[:1024]:
        return
    text = data.decode("utf-8", "replace")
    for match in _COMMENT.finditer(text):
        line = text.count("\n", 0, match.start()) + 1
        codes = tuple(re.findall(r"REG\d+", match["codes"]))
        whole = match["scope"] == "ignore-file"
        reason = _END.sub("", match["reason"]).strip(" :-")
        yield Suppression(
            codes,
            "comment",
            reason,
            None if whole else glob.escape(path),
            None if whole else line,
            source=Source(path, line),
        )


def fingerprint(model: str, finding: Diagnostic) -> str:
    """Return a hash of code and joints, so that moving a line leaves a finding the same."""
    parts = [model, finding.code, *sorted(finding.joints)]
    if not finding.joints:
        parts.append(finding.message)
    return hashlib.sha256("\0".join(parts).encode()).hexdigest()[:32]
