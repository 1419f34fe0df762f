"""The language server: texts that change, and what is asked about them."""

from __future__ import annotations

import asyncio
import contextlib
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, BinaryIO
from urllib.parse import unquote, urlparse
from urllib.request import url2pathname

from regularize.errors import MissingExtra
from regularize.guests.editor.analysed import Analysed, Mirror, Problem, format_of
from regularize.version import __version__

try:
    from lsprotocol import types as lsp
    from pygls.lsp.server import LanguageServer
except ModuleNotFoundError as error:
    raise MissingExtra("the language server", "pygls", "lsp") from error

#: Seconds that nothing is typed before a text is analysed.
PAUSE = 0.05
#: Texts of a document whose analyses are kept, for undo and redo.
KEPT = 8
SEVERITIES = {
    "error": lsp.DiagnosticSeverity.Error,
    "warning": lsp.DiagnosticSeverity.Warning,
    "note": lsp.DiagnosticSeverity.Information,
}


class Superseded(Exception):
    """Raised within an analysis that nobody waits for any more."""


@dataclass
class OpenText:
    """A document that is open in the editor."""

    path: Path
    mirror: Mirror
    format: str | None = None
    waiting: asyncio.Future[None] | None = None
    latest: tuple[str, asyncio.Future[None]] | None = None
    known: dict[str, Analysed] = field(default_factory=dict)


class ModelServer:
    """The open documents of one editor, analysed by one thread."""

    def __init__(self, editor: Any) -> None:
        self._editor = editor
        self._documents: dict[str, OpenText] = {}
        self._thread = ThreadPoolExecutor(1)

    def changed(self, uri: str, pause: float) -> None:
        """Analyse a document after a pause in typing, and publish its findings."""
        if uri not in self._documents:
            path = path_of(uri)
            self._documents[uri] = OpenText(path, Mirror(path))
        held = self._documents[uri]
        if held.waiting is not None:
            held.waiting.cancel()
        held.waiting = asyncio.ensure_future(self._publish(uri, pause))

    def closed(self, uri: str) -> None:
        """Forget a document."""
        held = self._documents.pop(uri, None)
        if held is not None:
            if held.waiting is not None:
                held.waiting.cancel()
            held.latest = None
            self._thread.submit(held.mirror.close)
            self._send(uri, None, [])

    async def analysed(self, uri: str) -> Analysed | None:
        """What is known of a document as it stands; None where it is no model."""
        held = self._documents.get(uri)
        if held is None:
            return None
        text = self._editor.workspace.get_text_document(uri).source
        if text not in held.known:
            if held.latest is None or held.latest[0] != text:
                held.latest = text, asyncio.ensure_future(self._analyse(held, text))
            await asyncio.shield(held.latest[1])
        return held.known.get(text)

    async def _analyse(self, held: OpenText, text: str) -> None:
        """Analyse a text of a document, unless a newer one comes before it is done."""
        format = held.format = format_of(text, held.path, held.format)
        if format is None:
            return
        before = next((each for each in reversed(held.known.values()) if each.report), None)

        def go_on(_: float = 0.0) -> None:
            if held.latest is None or held.latest[0] != text:
                raise Superseded

        def work() -> Analysed:
            go_on()
            return Analysed(text, format, held.mirror, before, go_on)

        with contextlib.suppress(Superseded):
            found = await asyncio.get_running_loop().run_in_executor(self._thread, work)
            held.known[text] = found
            for old in [*held.known][:-KEPT]:
                del held.known[old]

    async def actions(self, uri: str, asked: lsp.CodeActionParams) -> list[lsp.CodeAction]:
        """The repair, where a finding that it takes away is asked about."""
        found = await self.analysed(uri)
        if found is None or not found.redundant:
            return []
        lines = range(asked.range.start.line, asked.range.end.line + 1)
        own = [p for p in found.problems if p.line in lines or _is_in(p, asked.context.diagnostics)]
        if not own:
            return []
        loop = asyncio.get_running_loop()
        fixed = await loop.run_in_executor(self._thread, lambda: found.fixed)
        if fixed is None or not any(p.code in fixed.gone for p in own):
            return []
        edits: dict[str, list[lsp.TextEdit]] = {}
        for path, start, end, text in fixed.edits:
            place = uri if path == self._documents[uri].path else path.as_uri()
            there = self._editor.workspace.get_text_document(place)
            span = lsp.Range(_position(there.source, start), _position(there.source, end))
            span = there.position_codec.range_to_client_units(there.lines, span)
            edits.setdefault(place, []).append(lsp.TextEdit(span, text))
        solved = [self._shown(uri, found, p) for p in found.problems if p.code in fixed.gone]
        return [
            lsp.CodeAction(
                title=fixed.title,
                kind=lsp.CodeActionKind.QuickFix,
                diagnostics=solved,
                is_preferred=True,
                edit=lsp.WorkspaceEdit(changes=edits),
            )
        ]

    async def hover(self, uri: str, position: lsp.Position) -> lsp.Hover | None:
        """The table of the loops through what stands at a position."""
        found = await self.analysed(uri)
        words = "" if found is None else found.hover(position.line)
        content = lsp.MarkupContent(kind=lsp.MarkupKind.Markdown, value=words)
        return lsp.Hover(contents=content) if words else None

    async def lenses(self, uri: str) -> list[lsp.CodeLens]:
        """Mobility and redundancy above the root element."""
        found = await self.analysed(uri)
        if found is None or not found.lens:
            return []
        span = self._range(uri, found.root)
        return [lsp.CodeLens(span, command=lsp.Command(title=found.lens, command=""))]

    async def _publish(self, uri: str, pause: float) -> None:
        await asyncio.sleep(pause)
        version = self._editor.workspace.get_text_document(uri).version
        found = await self.analysed(uri)
        if uri not in self._documents:
            return
        problems = [] if found is None else found.problems
        self._send(uri, version, [self._shown(uri, found, each) for each in problems])
        abilities = self._editor.client_capabilities.workspace
        if abilities and abilities.code_lens and abilities.code_lens.refresh_support:
            self._editor.workspace_code_lens_refresh(None)

    def _send(self, uri: str, version: int | None, shown: list[lsp.Diagnostic]) -> None:
        found = lsp.PublishDiagnosticsParams(uri=uri, version=version, diagnostics=shown)
        self._editor.text_document_publish_diagnostics(found)

    def _shown(self, uri: str, found: Analysed | None, problem: Problem) -> lsp.Diagnostic:
        return lsp.Diagnostic(
            range=self._range(uri, problem.line),
            message=problem.message,
            code=problem.code or None,
            severity=SEVERITIES[problem.severity],
            source="regularize",
        )

    def _range(self, uri: str, line: int) -> lsp.Range:
        """A line without the white space around it, in the editor's units."""
        document = self._editor.workspace.get_text_document(uri)
        lines = document.lines or [""]
        line = min(line, len(lines) - 1)
        text = lines[line].rstrip()
        start = len(text) - len(text.lstrip())
        span = lsp.Range(lsp.Position(line, start), lsp.Position(line, len(text)))
        return document.position_codec.range_to_client_units(lines, span)


def _is_in(problem: Problem, shown: list[lsp.Diagnostic]) -> bool:
    """Whether the editor asks about a finding."""
    return any(d.code == problem.code and d.range.start.line == problem.line for d in shown)


def _position(text: str, offset: int) -> lsp.Position:
    """Return line and column of a character, as editors count them."""
    above = text[:offset].splitlines(keepends=True) or [""]
    whole = above[-1].endswith(("\n", "\r"))
    return lsp.Position(len(above) - (not whole), 0 if whole else len(above[-1]))


def path_of(uri: str) -> Path:
    """Return the file of a URI; a text without a file counts as one in the current folder."""
    parsed = urlparse(uri)
    if parsed.scheme == "file":
        return Path(url2pathname(parsed.path))
    return Path.cwd() / (Path(unquote(parsed.path)).name or "untitled")


def serve(given: BinaryIO, answers: BinaryIO) -> None:
    """Serve one editor until it says that it ends."""
    editor = LanguageServer("regularize", __version__)
    server = ModelServer(editor)

    def uri(asked: Any) -> str:
        return str(asked.text_document.uri)

    async def actions(asked: lsp.CodeActionParams) -> list[lsp.CodeAction]:
        return await server.actions(uri(asked), asked)

    async def hover(asked: lsp.HoverParams) -> lsp.Hover | None:
        return await server.hover(uri(asked), asked.position)

    async def lenses(asked: lsp.CodeLensParams) -> list[lsp.CodeLens]:
        return await server.lenses(uri(asked))

    kinds = lsp.CodeActionOptions(code_action_kinds=[lsp.CodeActionKind.QuickFix])
    editor.feature(lsp.TEXT_DOCUMENT_DID_OPEN)(lambda asked: server.changed(uri(asked), 0.0))
    editor.feature(lsp.TEXT_DOCUMENT_DID_CHANGE)(lambda asked: server.changed(uri(asked), PAUSE))
    editor.feature(lsp.TEXT_DOCUMENT_DID_CLOSE)(lambda asked: server.closed(uri(asked)))
    editor.feature(lsp.TEXT_DOCUMENT_CODE_ACTION, kinds)(actions)
    editor.feature(lsp.TEXT_DOCUMENT_HOVER)(hover)
    editor.feature(lsp.TEXT_DOCUMENT_CODE_LENS)(lenses)
    editor.start_io(given, answers)
