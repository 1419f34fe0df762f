"""What a project has agreed on: ``regularize.toml``, or a section of ``pyproject.toml``.

::

    [tool.regularize]
    ignore = ["REG204"]
    fail-on = "error"
    baseline = "regularize-baseline.json"

    [[tool.regularize.suppress]]
    codes = ["REG201"]
    files = "robots/gripper*.urdf"
    reason = "the linkage is meant to be stiff"
"""

from __future__ import annotations

import json
import sys
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from regularize.adapters.common.input_files import read_bytes
from regularize.errors import ReadError

if TYPE_CHECKING:
    from regularize.report.report import Report
    from regularize.report.suppression import Suppression

SEVERITIES = ("error", "warning", "never")
KEYS = ("select", "ignore", "fail-on", "baseline", "suppress")
ENTRY = ("codes", "files", "joints", "reason")


@dataclass(frozen=True)
class Configuration:
    """The options that a project has set in its file, or nothing where there is no file."""

    path: Path | None = None
    select: tuple[str, ...] = ()
    ignore: tuple[str, ...] = ()
    fail_on: str = "warning"
    baseline: Path | None = None
    suppress: tuple[Mapping[str, Any], ...] = ()

    def suppressions(self) -> tuple[Suppression, ...]:
        """Return the findings that the file accepts."""
        from regularize.report.suppression import Suppression

        return tuple(
            Suppression(
                tuple(entry["codes"]),
                "configuration",
                entry["reason"],
                entry.get("files"),
                joints=tuple(entry.get("joints", ())),
            )
            for entry in self.suppress
        )


def configuration(path: Path | None = None) -> Configuration:
    """Read the configuration from a file, or from the nearest one upwards."""
    if path is not None:
        return _validated(path, _entries(path))
    for folder in (Path.cwd(), *Path.cwd().parents):
        for name in ("regularize.toml", "pyproject.toml"):
            candidate = folder / name
            if not candidate.exists():
                continue
            if name == "regularize.toml" or _section(_load(candidate)) is not None:
                return _validated(candidate, _entries(candidate))
    return Configuration()


def known_before(path: Path) -> tuple[Suppression, ...]:
    """Read a baseline of ``--write-baseline`` as suppressions."""
    from regularize.report.suppression import Suppression

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


def entries_of(report: Report) -> tuple[dict[str, str], ...]:
    """Return the findings of a report as entries of a baseline."""
    from regularize.report.suppression import fingerprint

    model = report.mechanism.name
    return tuple(
        {"model": model, "code": finding.code, "fingerprint": fingerprint(model, finding)}
        for finding in report.diagnostics
    )


def baseline(entries: Iterable[Mapping[str, str]]) -> str:
    """Return the text of a baseline; the same findings give the same text."""
    ordered = sorted(entries, key=lambda entry: tuple(entry.values()))
    return json.dumps({"schema_version": 1, "findings": ordered}, indent=1) + "\n"


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


def _entries(path: Path) -> Mapping[str, Any]:
    """Return the entries of a file: its top, but for another tool's file, and its section."""
    loaded = _load(path)
    section = _section(loaded)
    if path.name == "pyproject.toml" or section is not None:
        others = {} if path.name == "pyproject.toml" else loaded
        loaded = {key: value for key, value in others.items() if key != "tool"}
        if not isinstance(section, dict | None):
            raise ReadError(str(path), f"tool.regularize = {section!r}: expected a section")
        loaded |= section or {}
    return loaded


def _section(loaded: Mapping[str, Any]) -> Any:
    """Return what stands under ``[tool.regularize]``, or None."""
    tool = loaded.get("tool")
    return tool.get("regularize") if isinstance(tool, dict) else None


def _validated(path: Path, table: Mapping[str, Any]) -> Configuration:
    """Validate the entries of a file."""
    _refuse_unknown(path, "the configuration", table, KEYS)
    fail_on = table.get("fail-on", "warning")
    if fail_on not in SEVERITIES:
        raise ReadError(str(path), f"fail-on = {fail_on!r}: expected one of {SEVERITIES}")
    baseline = table.get("baseline")
    if not isinstance(baseline, str | None):
        raise ReadError(str(path), f"baseline = {baseline!r}: expected the name of a file")
    suppress = table.get("suppress", [])
    if not isinstance(suppress, list) or not all(isinstance(entry, dict) for entry in suppress):
        raise ReadError(str(path), "suppress: expected entries [[tool.regularize.suppress]]")
    for entry in suppress:
        _refuse_unknown(path, "suppress", entry, ENTRY)
        if not _strings(path, "codes", entry.get("codes", [])) or not entry.get("reason"):
            raise ReadError(str(path), "an entry of suppress needs codes and a reason")
        _strings(path, "joints", entry.get("joints", []))
        if not isinstance(entry.get("files", ""), str):
            raise ReadError(str(path), "files of suppress: expected one pattern")
    return Configuration(
        path,
        _strings(path, "select", table.get("select", [])),
        _strings(path, "ignore", table.get("ignore", [])),
        fail_on,
        None if baseline is None else path.parent / baseline,
        tuple(suppress),
    )


def _strings(path: Path, key: str, value: object) -> tuple[str, ...]:
    """Return an entry as strings, or raise ``ReadError``."""
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
