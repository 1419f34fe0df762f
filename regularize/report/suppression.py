"""Findings that somebody accepts with a reason: by comments, a configuration, or a baseline."""

from __future__ import annotations

import glob
import hashlib
import json
import re
import sys
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from fnmatch import fnmatch
from pathlib import Path
from typing import Any

from regularize.adapters.common.input_files import read_bytes
from regularize.errors import ReadError
from regularize.mechanism.diagnostic import Diagnostic, Source
from regularize.mechanism.mechanism import Mechanism

_COMMENT = re.compile(
    r"regularize:\s*(?P<scope>ignore-file|ignore)\s+(?P<codes>REG\d+(?:\s*,\s*REG\d+)*)"
    r"(?P<reason>[^\n]*)"
)
_END = re.compile(r"\s*(-->|\*/)?\s*$")
#: Entries of the configuration: severities that may fail, its own entries, those of ``suppress``.
_FAIL_ON = ("error", "warning", "never")
_KEYS = ("select", "ignore", "fail-on", "baseline", "suppress")
_SUPPRESS = ("codes", "files", "joints", "reason")


@dataclass(frozen=True)
class Suppression:
    """A finding, or a kind of finding, that somebody accepts, and the reason."""

    codes: tuple[str, ...]
    by: str
    reason: str
    files: str | None = None
    line: int | None = None
    joints: tuple[str, ...] = ()
    fingerprint: str | None = None
    source: Source | None = None

    def covers(self, finding: Diagnostic, mechanism: Mechanism) -> bool:
        """Return whether this accepts a finding of a mechanism."""
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
    """An accepted finding, and the suppression that accepts it."""

    finding: Diagnostic
    suppression: Suppression

    def as_dict(self) -> dict[str, object]:
        """Return the entry of ``suppressed`` in the JSON report."""
        return {
            **self.finding.as_dict(),
            "by": self.suppression.by,
            "reason": self.suppression.reason,
        }


def divided(
    findings: Sequence[Diagnostic], mechanism: Mechanism, suppressions: Sequence[Suppression]
) -> tuple[tuple[Diagnostic, ...], tuple[Suppressed, ...]]:
    """Separate findings that stay from those that are accepted."""
    covering = [next((s for s in suppressions if s.covers(f, mechanism)), None) for f in findings]
    pairs = [*zip(findings, covering, strict=True)]
    stay = tuple(finding for finding, by in pairs if by is None)
    return stay, tuple(Suppressed(finding, by) for finding, by in pairs if by is not None)


def in_comments(mechanism: Mechanism) -> tuple[Suppression, ...]:
    """Collect the findings that comments in the model's own files accept."""
    paths = filter(None, (mechanism.path, *mechanism.files))
    return tuple(suppression for path in paths for suppression in _comments(path))


def unexplained(suppressions: Sequence[Suppression]) -> Iterator[Diagnostic]:
    """Yield a warning for every comment that gives no reason."""
    for suppression in suppressions:
        if not suppression.reason:
            text = (
                f"{', '.join(suppression.codes)} is to be ignored here without a reason; it is not"
            )
            source, help = suppression.source, ("write why behind the code",)
            yield Diagnostic("REG020", "warning", text, source=source, help=help)


def _comments(path: str) -> Iterator[Suppression]:
    """Yield a suppression for each comment ``regularize: ignore[CODE] reason`` of a file."""
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


@dataclass(frozen=True)
class Configuration:
    """The options that a project has set in its file, or nothing where there is no file."""

    select: tuple[str, ...] = ()
    ignore: tuple[str, ...] = ()
    fail_on: str = "warning"
    baseline: Path | None = None
    suppressions: tuple[Suppression, ...] = ()


def configuration(path: Path | None = None) -> Configuration:
    """Read the configuration from a file, or from the nearest one upwards."""
    if path is not None:
        return _validated(path, _load(path))
    for folder in (Path.cwd(), *Path.cwd().parents):
        for name in ("regularize.toml", "pyproject.toml"):
            candidate = folder / name
            if candidate.exists():
                loaded = _load(candidate)
                if name == "regularize.toml" or _section(loaded) is not None:
                    return _validated(candidate, loaded)
    return Configuration()


def _load(path: Path) -> dict[str, Any]:
    """Read a TOML file."""
    if sys.version_info >= (3, 11):
        import tomllib
    else:
        import tomli as tomllib
    try:
        loaded: dict[str, Any] = tomllib.loads(read_bytes(str(path)).decode())
    except (tomllib.TOMLDecodeError, UnicodeDecodeError) as error:
        raise ReadError(str(path), f"is not TOML ({error}); correct it there") from error
    return loaded


def _section(loaded: Mapping[str, Any]) -> Any:
    """Return the content of the section ``[tool.regularize]``, or None."""
    tool = loaded.get("tool")
    return tool.get("regularize") if isinstance(tool, dict) else None


def _validated(path: Path, loaded: Mapping[str, Any]) -> Configuration:
    """Validate the entries of a file: its section, and its top unless other tools share it."""
    table, section = dict(loaded), _section(loaded)
    if path.name == "pyproject.toml" or section is not None:
        if not isinstance(section, dict | None):
            raise ReadError(str(path), f"tool.regularize = {section!r}: expected a section")
        table = {} if path.name == "pyproject.toml" else table
        table.pop("tool", None)
        table |= section or {}
    _refuse_unknown(path, "the configuration", table, _KEYS)
    fail_on = table.get("fail-on", "warning")
    if fail_on not in _FAIL_ON:
        raise ReadError(str(path), f"fail-on = {fail_on!r}: expected one of {_FAIL_ON}")
    baseline = table.get("baseline")
    if not isinstance(baseline, str | None):
        raise ReadError(str(path), f"baseline = {baseline!r}: expected the name of a file")
    suppress = table.get("suppress", [])
    if not isinstance(suppress, list) or not all(isinstance(entry, dict) for entry in suppress):
        raise ReadError(str(path), "suppress: expected entries [[tool.regularize.suppress]]")
    accepted = []
    for entry in suppress:
        _refuse_unknown(path, "suppress", entry, _SUPPRESS)
        codes, reason = _strings(path, "codes", entry), entry.get("reason")
        if not codes or not reason:
            raise ReadError(str(path), "an entry of suppress needs codes and a reason")
        joints, files = _strings(path, "joints", entry), entry.get("files")
        if not isinstance(files, str | None):
            raise ReadError(str(path), "files of suppress: expected one pattern")
        accepted.append(Suppression(codes, "configuration", reason, files, joints=joints))
    return Configuration(
        _strings(path, "select", table),
        _strings(path, "ignore", table),
        fail_on,
        None if baseline is None else path.parent / baseline,
        tuple(accepted),
    )


def _strings(path: Path, key: str, table: Mapping[str, Any]) -> tuple[str, ...]:
    """Return an entry as strings, or raise ``ReadError``."""
    value = table.get(key, [])
    if not isinstance(value, list) or not all(isinstance(entry, str) for entry in value):
        raise ReadError(str(path), f"{key} = {value!r}: expected a list of strings")
    return tuple(value)


def _refuse_unknown(path: Path, what: str, table: Mapping[str, Any], keys: Sequence[str]) -> None:
    """Refuse entries that are not known, and guess what was meant."""
    for key in table:
        if key not in keys:
            from difflib import get_close_matches  # only where something is wrong

            close = get_close_matches(key, keys, n=1)
            meant = f"did you mean {close[0]!r}?" if close else f"there are {', '.join(keys)}"
            raise ReadError(str(path), f"{what} has no entry {key!r}; {meant}")


def known_before(path: Path) -> tuple[Suppression, ...]:
    """Read a baseline of ``--write-baseline`` as suppressions."""
    try:
        data = json.loads(read_bytes(str(path)))
        entries = [(str(e["code"]), str(e["fingerprint"])) for e in data["findings"]]
    except (ValueError, KeyError, TypeError, RecursionError) as error:
        raise ReadError(
            str(path), "is no baseline; write one with `regularize check … --write-baseline FILE`"
        ) from error
    return tuple(
        Suppression((code,), "baseline", f"known before ({path})", fingerprint=mark)
        for code, mark in entries
    )


def baseline_entries(model: str, findings: Iterable[Diagnostic]) -> tuple[dict[str, str], ...]:
    """Return the findings of a model as entries of a baseline."""
    return tuple(
        {"model": model, "code": finding.code, "fingerprint": fingerprint(model, finding)}
        for finding in findings
    )


def baseline(entries: Iterable[Mapping[str, str]]) -> str:
    """Return the text of a baseline; the same findings give the same text."""
    ordered = sorted(entries, key=lambda entry: tuple(entry.values()))
    return json.dumps({"schema_version": 1, "findings": ordered}, indent=1) + "\n"
