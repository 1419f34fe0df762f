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
    """Raised within the analysis of a text that has changed since."""


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
    """The open documents of one editor; one thread analyses them."""

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
        """Return the analysis of a document's present text; None where it is no model."""
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
        before = next((old for old in reversed(held.known.values()) if old.report), None)

        def go_on(_: float = 0.0) -> None:
            if held.latest is None or held.latest[0] != text:
                raise Superseded

        def work() -> Analysed:
            go_on()
            return Analysed(text, format, held.mirror, before, go_on)

        with contextlib.suppress(Superseded):
            result = await asyncio.get_running_loop().run_in_executor(self._thread, work)
            held.known[text] = result
            for old in [*held.known][:-KEPT]:
                del held.known[old]

    async def actions(self, uri: str, asked: lsp.CodeActionParams) -> list[lsp.CodeAction]:
        """Return the repair as a quick fix, where it solves a finding that is asked about."""
        analysis = await self.analysed(uri)
        if analysis is None or not analysis.redundant:
            return []
        lines = range(asked.range.start.line, asked.range.end.line + 1)
        marked = {(d.code, d.range.start.line) for d in asked.context.diagnostics}
        asked_about = [
            p for p in analysis.problems if p.line in lines or (p.code, p.line) in marked
        ]
        if not asked_about:
            return []
        loop = asyncio.get_running_loop()
        fixed = await loop.run_in_executor(self._thread, lambda: analysis.fixed)
        if fixed is None or not any(p.code in fixed.gone for p in asked_about):
            return []
        edits: dict[str, list[lsp.TextEdit]] = {}
        for path, start, end, text in fixed.edits:
            place = uri if path == self._documents[uri].path else path.as_uri()
            document = self._editor.workspace.get_text_document(place)
            span = lsp.Range(_position(document.source, start), _position(document.source, end))
            span = document.position_codec.range_to_client_units(document.lines, span)
            edits.setdefault(place, []).append(lsp.TextEdit(span, text))
        solved = [self._shown(uri, analysis, p) for p in analysis.problems if p.code in fixed.gone]
        quick, edit = lsp.CodeActionKind.QuickFix, lsp.WorkspaceEdit(changes=edits)
        return [lsp.CodeAction(fixed.title, quick, solved, is_preferred=True, edit=edit)]

    async def hover(self, uri: str, position: lsp.Position) -> lsp.Hover | None:
        """Return the table of the loops through the element at a position."""
        analysis = await self.analysed(uri)
        words = "" if analysis is None else analysis.hover(position.line)
        content = lsp.MarkupContent(kind=lsp.MarkupKind.Markdown, value=words)
        return lsp.Hover(contents=content) if words else None

    async def lenses(self, uri: str) -> list[lsp.CodeLens]:
        """Return mobility and redundancy above the root element."""
        analysis = await self.analysed(uri)
        if analysis is None or not analysis.lens:
            return []
        span = self._range(uri, analysis.root)
        return [lsp.CodeLens(span, command=lsp.Command(title=analysis.lens, command=""))]

    async def _publish(self, uri: str, pause: float) -> None:
        """Analyse a document after a pause, and send its findings to the editor."""
        await asyncio.sleep(pause)
        version = self._editor.workspace.get_text_document(uri).version
        analysis = await self.analysed(uri)
        if uri not in self._documents:
            return
        problems = [] if analysis is None else analysis.problems
        self._send(uri, version, [self._shown(uri, analysis, problem) for problem in problems])
        abilities = self._editor.client_capabilities.workspace
        if abilities and abilities.code_lens and abilities.code_lens.refresh_support:
            self._editor.workspace_code_lens_refresh(None)

    def _send(self, uri: str, version: int | None, shown: list[lsp.Diagnostic]) -> None:
        """Send findings of a document to the editor."""
        message = lsp.PublishDiagnosticsParams(uri=uri, version=version, diagnostics=shown)
        self._editor.text_document_publish_diagnostics(message)

    def _shown(self, uri: str, analysis: Analysed | None, problem: Problem) -> lsp.Diagnostic:
        """Return a finding as the editor's protocol has it."""
        span, severity = self._range(uri, problem.line), SEVERITIES[problem.severity]
        code = problem.code or None
        return lsp.Diagnostic(span, problem.message, severity, code=code, source="regularize")

    def _range(self, uri: str, line: int) -> lsp.Range:
        """Return the range of a line without its margins, in the units of the editor."""
        document = self._editor.workspace.get_text_document(uri)
        lines = document.lines or [""]
        line = min(line, len(lines) - 1)
        text = lines[line].rstrip()
        start = len(text) - len(text.lstrip())
        span = lsp.Range(lsp.Position(line, start), lsp.Position(line, len(text)))
        return document.position_codec.range_to_client_units(lines, span)


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
