"""Analysis of the text of a model: findings at their lines, tables of loops, the edit of `fix`.

Readers and the programs behind them open files. What is not saved yet stands in a folder of its
own, from which sidecars, meshes and included files are found by the same relative names; nothing
is put into the user's folder.
"""

from __future__ import annotations

import contextlib
import os
import pickle
import re
import tempfile
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from functools import cached_property
from pathlib import Path
from typing import Any, NamedTuple

from regularize.adapters import adapter_named, adapters, root_tag
from regularize.checking import Report, check
from regularize.errors import ReadError, RegularizeError
from regularize.escape import displayed
from regularize.files import load
from regularize.mechanism.body import Body
from regularize.mechanism.diagnostic import Diagnostic, Severity, Source
from regularize.mechanism.joint import Joint
from regularize.mechanism.mechanism import Coupling, Mechanism
from regularize.output_files import write_aside
from regularize.repair.fix.fix import Fix, fix
from regularize.report.loop_view import motion
from regularize.report.view import counts, verdict
from regularize.words import counted

#: Entries of a folder that are linked; of larger ones only these, and the rest is not found.
MOST = 2000


class Mirror:
    """A temporary copy of a document being typed, with links to the files around it."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self._folder = tempfile.TemporaryDirectory(prefix="regularize-editor-")
        top = Path(self._folder.name)
        self._place = top / "folder" / path.name
        self._place.parent.mkdir()
        self._link(path.parent.parent, top, path.parent.name)
        self._link(path.parent, self._place.parent, path.name)

    @staticmethod
    def _link(source: Path, target: Path, left_out: str) -> None:
        """Link the entries of a folder into another one, all but one name."""
        with contextlib.suppress(OSError):  # folders that are not there, or cannot be read
            for entry in sorted(os.listdir(source))[:MOST]:
                if entry != left_out and not (target / entry).exists():
                    (target / entry).symlink_to(source / entry)

    def put(self, text: str) -> Path:
        """Write a text into the copy and return its path."""
        self._link(self.path.parent, self._place.parent, self.path.name)  # what has come since
        write_aside(self._place, text)
        return self._place

    def real(self, path: str) -> Path:
        """Return the user's own file for a path in the mirror."""
        place = Path(path)
        return self.path if place == self._place else place.resolve()

    def named(self, text: str) -> str:
        """Replace paths in the mirror by the user's in a message."""
        words = text.replace(str(self._place), self.path.name)
        return words.replace(f"{self._place.parent}{os.sep}", "")

    def close(self) -> None:
        """Remove the copy."""
        self._folder.cleanup()


#: Formats that are typed, the first ones by root elements and the last by its first words.
TYPED = ("xacro", "urdf", "sdf", "mjcf", "usd")
#: Configurations for the certificate while somebody types; the counts do not depend on them.
CONFIGURATIONS = 8
_PRIM = re.compile(r'\s*(?:def|over|class)\b[^"#]*"([^"]+)"')
_NAME = re.compile(r"@name='([^']*)'")


@dataclass(frozen=True)
class Problem:
    """A finding at a line, counted from 0."""

    line: int
    code: str
    severity: Severity
    message: str


class Repair(NamedTuple):
    """The edits of `fix` as (file, start, end, text), and the codes of findings that go away."""

    title: str
    edits: list[tuple[Path, int, int, str]]
    gone: frozenset[str]


def format_of(text: str, path: Path, before: str | None = None) -> str | None:
    """Return the format of a text that is typed, or None; ``before`` is the last known one."""
    head = text[:4096].encode()
    for name in TYPED:
        adapter = adapter_named(name)
        if adapter is not None and adapter.sniff is not None and adapter.sniff(head):
            return name
    if root_tag(head) is not None:
        return None  # some other XML
    suffix = path.suffix.lower()
    by_suffix = (n for n in TYPED if suffix in adapters()[n].suffixes and suffix != ".xml")
    return before or next(by_suffix, None)


class Analysed:
    """The analysis of a text; reuses that of ``before`` where only places changed."""

    def __init__(
        self,
        text: str,
        format: str,
        mirror: Mirror,
        before: Analysed | None = None,
        progress: Callable[[float], None] | None = None,
    ) -> None:
        self.text, self.format, self._mirror = text, format, mirror
        self.lines = text.splitlines() or [""]
        self.report: Report | None = None
        self.problems: list[Problem] = []
        try:
            self.mechanism = load(str(mirror.put(text)), format=format)
            self._content = _content(self.mechanism)
            if before is not None and before.report and before._content == self._content:
                self.report = before.report
                diagnostics = [*self.mechanism.findings, *_relocated(self.report, self.mechanism)]
            else:
                self.report = check(
                    self.mechanism, configurations=CONFIGURATIONS, progress=progress
                )
                diagnostics = [*self.report.diagnostics]
        except RegularizeError as error:
            source = None
            reason = str(error)
            if isinstance(error, ReadError):
                source, reason = Source(error.path, error.line, error.element), error.reason
            self.problems = [Problem(self._line(source), "", "error", mirror.named(reason))]
            return
        for found in diagnostics:
            words = "\n".join([found.message, *(f"→ {each}" for each in found.help)])
            line = self._line(found.source)
            self.problems.append(Problem(line, found.code, found.severity, mirror.named(words)))

    def _line(self, source: Source | None) -> int:
        """Return the line of a finding, or of the root where it has none."""
        if source is None or self._mirror.real(source.path) != self._mirror.path:
            return self.root
        if self.format == "usd":
            return self._prims.get(source.element or "", self.root)
        named = _NAME.findall(source.element or "")
        if self.format == "xacro":  # lines are those of what it expands to
            return self._xacro_line(named[-1]) if named else self.root
        return min(max((source.line or self.root + 1) - 1, 0), len(self.lines) - 1)

    @cached_property
    def root(self) -> int:
        """Return the line of the root element, or of the first prim."""
        start = re.compile(r"\s*(<(robot|sdf|mujoco)\b|def\b)")
        return next((k for k, line in enumerate(self.lines) if start.match(line)), 0)

    @cached_property
    def _prims(self) -> dict[str, int]:
        """Return the line of every prim of a USD text by its path."""
        line_of, path, depth = dict[str, int](), list[tuple[str, int]](), 0
        for k, line in enumerate(self.lines):
            bare = re.sub(r'"[^"]*"', "", line).partition("#")[0]
            match = _PRIM.match(line)
            if match:
                path = [ancestor for ancestor in path if ancestor[1] < depth]
                path.append((match[1], depth))
                line_of["/" + "/".join(name for name, _ in path)] = k
            depth += bare.count("{") - bare.count("}")
            path = [ancestor for ancestor in path if ancestor[1] <= depth]
        return line_of

    def _xacro_line(self, name: str) -> int:
        """Return the line of a xacro text that an element with this name is expanded from."""
        for k, line in enumerate(self.lines):
            for pattern in re.findall(r'\bname\s*=\s*"([^"]*)"', line):
                parts = re.split(r"\$\{[^}]*\}|\$\([^)]*\)", pattern)
                if any(parts) and re.fullmatch(".*".join(map(re.escape, parts)), name):
                    return k
        return self.root

    @property
    def lens(self) -> str:
        """Return mobility and redundancy in a few words; empty where the text is unreadable."""
        if self.report is None:
            return ""
        r = self.report.reduction
        mobility = r.mobility if r.finite_mobility is None else r.finite_mobility
        return f"mobility {mobility}, {r.redundant} redundant"

    def hover(self, line: int) -> str:
        """Return the loops through the element at a line as Markdown, or nothing."""
        if self.report is None:
            return ""
        mechanism, named = self.mechanism, self._names_at(self.mechanism, line)
        loops = [
            loop
            for loop in self.report.loops
            if named & {*loop.joints}.union(*loop.parts) or line == self.root
        ]
        if not loops:
            return ""
        parts = [f"**{_cell(verdict(self.report)[1])}**", _cell(counts(self.report)), ""]
        parts += [
            "| loop | joints | motion | class | equations | kept | redundant |",
            "|---" * 7 + "|",
        ]
        for loop in loops[:20]:
            numbers = map(str, (loop.cut.constraints, loop.cut.kept, loop.redundant))
            words = loop.name, ", ".join(loop.joints), motion(loop), self.report.kinds[loop.name]
            parts.append(f"| {' | '.join(map(_cell, (*words, *numbers)))} |")
        for loop in loops[:20]:
            if loop.removed:
                labels = ", ".join(equation.label for equation in loop.removed)
                parts += ["", _cell(f"{loop.name}: at {loop.closing} can go: {labels}")]
        for name in sorted(named & {joint.name for joint in mechanism.joints}):
            shaky = [r for r in self.report.reactions if r.joint == name and not r.unique]
            if shaky:
                parts += ["", _cell(f"{name}: its reactions depend on stiffness and play")]
        return "\n".join(parts)

    def _names_at(self, mechanism: Mechanism, line: int) -> set[str]:
        """Return names of the joints and bodies whose element contains a line."""
        elements: tuple[Joint | Body, ...] = (*mechanism.joints, *mechanism.bodies)
        starts = [
            (self._line(entry.source), entry.name)
            for entry in elements
            if entry.source is not None
            and self._mirror.real(entry.source.path) == self._mirror.path
        ]
        above = [start for start, _ in starts if start <= line]
        if not above or line <= self.root:
            return set()
        at = max(above)
        if self.format != "usd":  # not behind the end of that element
            tag = re.match(r"\s*<([\w:.-]+)", self.lines[at])
            between = self.lines[at:line]
            if tag and any(f"</{tag[1]}>" in entry for entry in between):
                return set()
            if tag and between and re.search(r"/>\s*$", self.lines[at]):
                return set()
        return {name for start, name in starts if start == at}

    @property
    def redundant(self) -> int:
        """Count the redundant equations; 0 where the text cannot be read."""
        return 0 if self.report is None else self.report.reduction.redundant

    @cached_property
    def fixed(self) -> Repair | None:
        """Return the repair, or None if nothing is redundant or the file cannot hold it."""
        if self.report is None or not self.redundant:
            return None
        try:
            fixed = fix(str(self._mirror.put(self.text)), format=self.format)
        except RegularizeError:
            return None
        if fixed.placing is None or not fixed.placing.edits:
            return None
        rest = {d.code for d in check(fixed.mechanism, configurations=CONFIGURATIONS).diagnostics}
        edits = [(self._mirror.real(e.path), e.start, e.end, e.text) for e in fixed.placing.edits]
        solved = {d.code for d in self.report.diagnostics} - rest
        return Repair(_title(fixed), edits, frozenset(solved)) if solved else None


def _content(mechanism: Mechanism) -> bytes:
    """Return a model without source places as bytes, to tell whether it changed."""
    parts: dict[str, Any] = {
        part: tuple(replace(element, source=None) for element in getattr(mechanism, part))
        for part in ("bodies", "joints", "couplings", "actuators", "motions")
    }
    return pickle.dumps(replace(mechanism, findings=(), **parts))


def _relocated(report: Report, mechanism: Mechanism) -> Iterator[Diagnostic]:
    """Yield findings of an analysis at the lines where their elements are now."""
    parts: tuple[Body | Joint | Coupling, ...]
    parts = (*mechanism.bodies, *mechanism.joints, *mechanism.couplings)
    places = {part.source.element: part.source for part in parts if part.source is not None}
    read = {*report.mechanism.findings}
    for finding in report.diagnostics:
        if finding not in read:
            old = finding.source
            yield replace(finding, source=old and places.get(old.element, old))


def _title(found: Fix) -> str:
    """Describe a repair in one line."""
    changes = [f"{change.joint.name} {change.kind}" for change in found.changes]
    words = ", ".join(changes[:3]) + (f" and {len(changes) - 3} more" if changes[3:] else "")
    remaining = found.reduction.redundant
    head = f"leave {counted(remaining, 'redundant equation')}" if remaining else "make isostatic"
    return displayed(f"{head.capitalize()}: {words}" if words else head.capitalize())


def _cell(text: str) -> str:
    """Escape text for Markdown, whatever a model's names hold."""
    return re.sub(r"([\\`*_{}\[\]<>|#!])", r"\\\1", displayed(text))
