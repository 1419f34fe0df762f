"""Every block of code in the handbook runs as it stands, page by page."""

from __future__ import annotations

import re
import shlex
from importlib.util import find_spec
from pathlib import Path

import pytest

from regularize.cli import main

ROOT = Path(__file__).resolve().parents[2]
PAGES = sorted((ROOT / "assets" / "handbook").glob("*.md"))
#: What the extras bring that pages need.
MODULES = {
    "jit": "llvmlite",
    "brep": "OCP",
    "drake": "pydrake",
    "urdfpy": "urchin",
    "usd": "pxr",
    "viz": "matplotlib",
}


#: Pages that are run as the notebooks that they are too; see ``test_notebooks.py``.
AS_NOTEBOOKS = {"first-hour", "four-bar-in-pinocchio", "parallel-robots"}


def text_of(page: Path) -> str:
    return page.read_text(encoding="utf-8")


def blocks(page: Path) -> list[tuple[str, str]]:
    """Language and code of every block, in the order of the page."""
    return re.findall(r"^```(python|bash)\n(.*?)^```$", text_of(page), re.S | re.M)


def missing(page: Path) -> list[str]:
    """Extras that the page states and that are not installed here."""
    stated = re.findall(r"pip install '\.\[([\w,-]+)\]'", text_of(page))
    stated += re.findall(r"pip install (newton|drake)\b", text_of(page))
    extras = {extra for names in stated for extra in names.split(",")} - {"all"}
    return sorted(extra for extra in extras if find_spec(MODULES.get(extra, extra)) is None)


@pytest.mark.slow
@pytest.mark.parametrize(
    "page",
    [
        pytest.param(page, marks=[pytest.mark.formats("freecad")] * ("FCStd" in text_of(page)))
        for page in PAGES
        if page.stem not in AS_NOTEBOOKS
    ],
    ids=lambda page: page.stem,
)
def test_the_code_of_a_page_runs(
    page: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    if missing(page):
        pytest.skip(f"needs the extras {missing(page)}")
    (tmp_path / "assets").symlink_to(ROOT / "assets")
    monkeypatch.chdir(tmp_path)
    namespace: dict[str, object] = {}
    for language, code in blocks(page):
        if language == "python":
            exec(compile(code, str(page), "exec"), namespace)
        for line in code.splitlines() if language == "bash" else ():
            command = shlex.split(line, comments=True)
            if command and command[:2] != ["pip", "install"]:
                assert command[0] == "regularize", line
                assert main(command[1:]) == 0, line


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.stem)
def test_links_lead_somewhere(page: Path) -> None:
    for link in re.findall(r"\]\(([^)#:]+)\)", text_of(page)):
        assert (page.parent / link).exists(), link


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.stem)
def test_every_chapter_has_a_picture(page: Path) -> None:
    assert "](../pictures/" in text_of(page) or page.stem.startswith("api-")


def test_the_readme_names_every_page() -> None:
    readme = (ROOT / "README.md").read_text(encoding="utf-8")
    assert [page.name for page in PAGES if f"assets/handbook/{page.name}" not in readme] == []


@pytest.mark.slow
def test_what_the_page_on_locked_loops_says_is_said(capsys: pytest.CaptureFixture[str]) -> None:
    page = ROOT / "assets" / "handbook" / "four-bar-in-pinocchio.md"
    namespace: dict[str, object] = {}
    for _, code in [b for b in blocks(page) if b[0] == "python"][:2]:
        exec(code, namespace)
    (shown,) = re.findall(r"^```text\n(.*?)^```$", text_of(page), re.S | re.M)
    assert capsys.readouterr().out == shown
