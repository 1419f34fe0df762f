"""The language server, asked over its standard streams; whatever is typed, it answers."""

import asyncio
import random
import sys
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from importlib import import_module
from pathlib import Path
from typing import Any

import pytest
from hostile_names import typed
from on_demand import OnDemand, needs

import regularize as rg

pytestmark = [needs("pygls"), pytest.mark.slow]
lsp: Any = OnDemand("lsprotocol.types")
ASSETS = Path(__file__).resolve().parents[3] / "assets"
XACRO = Path(__file__).with_name("window.xacro").read_text()


class Editor:
    """What an editor does, as far as it is needed here."""

    def __init__(self, client: Any) -> None:
        self.client, self.version, self.text = client, 0, dict[str, str]()
        self.published: asyncio.Queue[Any] = asyncio.Queue()

        @client.feature("textDocument/publishDiagnostics")
        def published(answer: Any) -> None:
            self.published.put_nowait(answer)

    async def found(self, uri: str) -> list[Any]:
        """The findings of the version sent last."""
        while True:
            answer = await asyncio.wait_for(self.published.get(), 120)
            if (answer.uri, answer.version) == (uri, self.version):
                return list(answer.diagnostics)

    async def opened(self, path: Path, text: str | None = None) -> tuple[str, list[Any]]:
        uri, self.version = path.as_uri(), self.version + 1
        self.text[uri] = path.read_text() if text is None else text
        item = lsp.TextDocumentItem(uri, path.suffix[1:], self.version, self.text[uri])
        self.client.text_document_did_open(lsp.DidOpenTextDocumentParams(item))
        return uri, await self.found(uri)

    def send(self, uri: str, start: int, end: int, new: str) -> None:
        """Replace a piece of text, as an incremental change."""
        text, self.version = self.text[uri], self.version + 1
        span = lsp.Range(position(text, start), position(text, end))
        change = lsp.TextDocumentContentChangePartial(range=span, text=new)
        self.text[uri] = text[:start] + new + text[end:]
        named = lsp.VersionedTextDocumentIdentifier(self.version, uri)
        self.client.text_document_did_change(lsp.DidChangeTextDocumentParams(named, [change]))

    async def typed(self, uri: str, start: int, end: int, new: str) -> list[Any]:
        self.send(uri, start, end, new)
        return await self.found(uri)

    async def actions(self, uri: str, finding: Any) -> list[Any]:
        context = lsp.CodeActionContext([finding])
        named = lsp.TextDocumentIdentifier(uri)
        asked = lsp.CodeActionParams(named, finding.range, context)
        return list(await self.client.text_document_code_action_async(asked) or [])

    async def hover(self, uri: str, line: int) -> str:
        asked = lsp.HoverParams(lsp.TextDocumentIdentifier(uri), lsp.Position(line, 3))
        answer = await self.client.text_document_hover_async(asked)
        return "" if answer is None else str(answer.contents.value)

    async def lenses(self, uri: str) -> list[tuple[int, str]]:
        asked = lsp.CodeLensParams(lsp.TextDocumentIdentifier(uri))
        answer = await self.client.text_document_code_lens_async(asked)
        return [(each.range.start.line, each.command.title) for each in answer or []]

    async def applied(self, uri: str, action: Any) -> list[Any]:
        """The findings after an action's edits, the last one first so that places stay."""
        edits = action.edit.changes[uri]
        spans = [
            (offset(self.text[uri], e.range.start), offset(self.text[uri], e.range.end))
            for e in edits
        ]
        found: list[Any] = []
        for (start, end), edit in sorted(
            zip(spans, edits, strict=True), key=lambda x: x[0], reverse=True
        ):
            found = await self.typed(uri, start, end, edit.new_text)
        return found


def position(text: str, at: int) -> Any:
    """Line and column in UTF-16 units, which is what editors count."""
    head = text[:at]
    line = head.count("\n")
    column = head[head.rfind("\n") + 1 :]
    return lsp.Position(line, len(column.encode("utf-16-le")) // 2)


def offset(text: str, at: Any) -> int:
    lines = text.split("\n")
    start = sum(len(line) + 1 for line in lines[: at.line])
    units = lines[at.line].encode("utf-16-le")[: 2 * at.character]
    return start + len(units.decode("utf-16-le"))


@asynccontextmanager
async def editor() -> AsyncIterator[Editor]:
    client = import_module("pygls.lsp.client").BaseLanguageClient("tests", "1")
    found = Editor(client)
    await client.start_io(sys.executable, "-m", "regularize", "lsp")
    await client.initialize_async(lsp.InitializeParams(capabilities=lsp.ClientCapabilities()))
    client.initialized(lsp.InitializedParams())
    yield found
    await asyncio.wait_for(client.shutdown_async(None), 60)
    client.exit(None)
    await client.stop()


def in_editor(work: Callable[[Editor], Awaitable[None]]) -> None:
    async def whole() -> None:
        async with editor() as found:
            await work(found)

    asyncio.run(whole())


def saved(name: str, suffix: str, folder: Path) -> Path:
    """A model in a format; URDF as it is in the assets."""
    path, source = folder / f"{name}{suffix}", ASSETS / f"{name}.urdf"
    if suffix == ".urdf":
        path.write_bytes(source.read_bytes())
    elif suffix == ".xacro":
        pytest.importorskip("xacrodoc")
        path.write_text(XACRO)
    else:
        pytest.importorskip({".xml": "mujoco", ".usda": "pxr"}.get(suffix, "lxml"))
        rg.save(rg.load(source), path)
    return path


def codes(found: list[Any]) -> set[str]:
    return {str(each.code) for each in found}


def test_a_typed_model_has_findings_tables_and_a_repair(tmp_path: Path) -> None:
    shown = {what: text for what, _, text in typed(ASSETS / "slider_crank.urdf", tmp_path)}
    assert "3 of the 5 constraint equations" in shown["problems"]
    assert shown["lens"] == "mobility 1, 3 redundant" and "| L1 |" in shown["hover prismatic"]
    assert shown["repair"] == "Make isostatic: D line_in_plane"
    (tmp_path / "repaired.urdf").write_text(shown["repaired"])
    assert rg.reduce(tmp_path / "repaired.urdf").redundant == 0


@pytest.mark.parametrize("suffix", [".urdf", ".xacro", ".sdf", ".xml", ".usda"])
def test_findings_table_counts_and_quick_fix(suffix: str, tmp_path: Path) -> None:
    path = saved("planar_fourbar", suffix, tmp_path)

    @in_editor
    async def work(e: Editor) -> None:
        uri, found = await e.opened(path)
        report = rg.check(path)
        assert sorted(str(f.code) for f in found) == sorted(d.code for d in report.diagnostics)
        (finding,) = [f for f in found if f.code == "REG201"]
        line = e.text[uri].splitlines()[finding.range.start.line]
        assert report.loops[0].closing in line, line
        ((_, words),) = await e.lenses(uri)
        assert words == "mobility 1, 3 redundant"
        table = await e.hover(uri, finding.range.start.line)
        assert "| 5 | 2 | 3 |" in table and "planar" in table
        (action,) = await e.actions(uri, finding)
        assert "REG201" in {d.code for d in action.diagnostics}
        gone = {str(d.code) for d in action.diagnostics}
        after = await e.applied(uri, action)
        assert not codes(after) & gone
        ((_, words),) = await e.lenses(uri)
        assert words == "mobility 1, 0 redundant"
        fixed = path.with_stem("fixed")
        fixed.write_text(e.text[uri])
        assert rg.reduce(fixed).redundant == 0
        assert path.read_text() != e.text[uri]  # what is not saved stays the editor's
        assert {each.name for each in tmp_path.iterdir()} == {path.name, fixed.name}


def test_what_is_wrong_is_marked_where_it_stands_and_what_is_none_is_left_alone(
    tmp_path: Path,
) -> None:
    path = saved("slider_crank", ".urdf", tmp_path)

    @in_editor
    async def work(e: Editor) -> None:
        uri, first = await e.opened(path)
        at = e.text[uri].index('type="prismatic"')
        found = await e.typed(uri, at, at + 16, 'type="prismatc"')
        assert [(f.code, f.severity.name) for f in found] == [(None, "Error")]
        assert found[0].range.start.line == e.text[uri][:at].count("\n")
        assert "prismatc" in found[0].message and str(tmp_path) not in found[0].message
        assert await e.lenses(uri) == [] and await e.actions(uri, found[0]) == []
        assert await e.hover(uri, 5) == ""
        again = await e.typed(uri, at, at + 15, 'type="prismatic"')
        assert codes(again) == codes(first)
        name = e.text[uri].index('name="slider"') + 6  # beyond the plane that UTF-16 has units for
        assert await e.typed(uri, name, name, "𝄞ü") is not None
        other = tmp_path / "notes.xml"
        other.write_text("<html><body/></html>")
        assert (await e.opened(other))[1] == []
        e.client.text_document_did_close(
            lsp.DidCloseTextDocumentParams(lsp.TextDocumentIdentifier(uri))
        )
        closed = await asyncio.wait_for(e.published.get(), 60)
        assert closed.uri == uri and not closed.diagnostics


def test_only_the_last_of_many_changes_is_answered(tmp_path: Path) -> None:
    path = saved("slider_crank", ".urdf", tmp_path)

    @in_editor
    async def work(e: Editor) -> None:
        uri, first = await e.opened(path)
        for _ in range(20):
            e.send(uri, len(e.text[uri]), len(e.text[uri]), "\n")
        assert codes(await e.found(uri)) == codes(first)
        assert e.published.empty()


@pytest.mark.parametrize("suffix", [".urdf", ".sdf", ".usda"])
def test_what_says_the_same_is_found_at_its_new_lines(suffix: str, tmp_path: Path) -> None:
    path = saved("gripper", suffix, tmp_path)

    @in_editor
    async def work(e: Editor) -> None:
        uri, first = await e.opened(path)
        lines = e.text[uri].splitlines(keepends=True)
        start = len(lines[0])  # below the declaration
        comment = "# nothing\n" if suffix == ".usda" else "<!-- nothing -->\n"
        moved = await e.typed(uri, start, start, 3 * comment)
        said = [[(f.code, f.message) for f in found] for found in (first, moved)]
        assert sorted(said[0]) == sorted(said[1])
        at = [sorted((f.code, f.range.start.line) for f in found) for found in (first, moved)]
        assert [(code, line + 3) for code, line in at[0]] == at[1]
        finding = next(f for f in moved if f.code == "REG201")
        assert "| 5 | 2 | 3 |" in await e.hover(uri, finding.range.start.line)
        (action,) = await e.actions(uri, finding)
        assert "REG201" not in codes(await e.applied(uri, action))


def test_files_beside_an_unsaved_text_are_found(tmp_path: Path) -> None:
    pytest.importorskip("mujoco")
    path = saved("planar_fourbar", ".xml", tmp_path)
    (tmp_path / "part.xml").write_text("<mujoco><worldbody/></mujoco>")
    text = path.read_text().replace("<worldbody>", '<include file="part.xml"/><worldbody>', 1)

    @in_editor
    async def work(e: Editor) -> None:
        _, found = await e.opened(path, text)
        assert "REG201" in codes(found)


def edit_of(text: str, rng: random.Random) -> tuple[int, int, str]:
    """A random piece of text and what takes its place."""
    start = rng.randrange(len(text) + 1)
    end = min(len(text), start + rng.choice([0, 0, 1, 1, 2, 7, 40]))
    words = [*'<>"09-. \nü𝄞{}', "", "e9", "nan", "/>"]
    piece = rng.randrange(len(text) + 1)
    return start, end, rng.choice([*words, text[piece : piece + rng.randrange(60)]])


async def type_at_random(e: Editor, path: Path, edits: int, seed: int) -> None:
    """Make random edits, most of which are undone; what is there at last is found again."""
    rng = random.Random(seed)
    uri, first = await e.opened(path)
    original = e.text[uri]
    for _ in range(edits):
        start, end, new = edit_of(e.text[uri], rng)
        old = e.text[uri][start:end]
        found = await e.typed(uri, start, end, new)
        count = len(e.text[uri].splitlines())
        assert all(f.range.end.line <= count for f in found)
        if rng.random() < 0.8:  # as people do, or nothing would be readable ever after
            await e.typed(uri, start, start + len(new), old)
    last = await e.typed(uri, 0, len(e.text[uri]), original)
    assert codes(last) == codes(first)


MODELS = [
    ("slider_crank", ".urdf"),
    ("planar_fourbar", ".xacro"),
    ("gripper", ".sdf"),
    ("planar_fourbar", ".xml"),
    ("planar_fourbar", ".usda"),
]


@pytest.mark.parametrize(("name", "suffix"), MODELS)
def test_random_edits_never_end_it(name: str, suffix: str, tmp_path: Path) -> None:
    path = saved(name, suffix, tmp_path)

    @in_editor
    async def work(e: Editor) -> None:
        await type_at_random(e, path, 12, seed=1)
