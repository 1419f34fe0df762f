"""The macro for FreeCAD, with a document that does what FreeCAD's documentation says of one."""

from __future__ import annotations

import runpy
import shutil
import sys
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

import regularize as rg

ROOT = Path(__file__).resolve().parents[2]
MACRO = ROOT / "assets" / "editors" / "freecad" / "CheckLoops.FCMacro"
MODEL = ROOT / "assets" / "crank_slider.FCStd"
pytestmark = [pytest.mark.formats("freecad"), pytest.mark.guests("page")]


@pytest.fixture
def freecad(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Any:
    said: list[str] = []
    selected: list[Any] = []
    opened: list[str] = []
    joints = [
        SimpleNamespace(Name=f"Joint{k}", Label=j.name) for k, j in enumerate(rg.load(MODEL).joints)
    ]
    document = SimpleNamespace(
        Name="assembly",
        Objects=[*joints, SimpleNamespace(Name="Body", Label="Body")],
        saveCopy=lambda path: shutil.copy(MODEL, path),
    )
    selection = SimpleNamespace(clearSelection=selected.clear, addSelection=selected.append)
    console = SimpleNamespace(PrintMessage=said.append, PrintError=said.append)
    app = SimpleNamespace(ActiveDocument=document, Console=console, GuiUp=True)
    monkeypatch.setitem(sys.modules, "FreeCAD", app)
    monkeypatch.setitem(sys.modules, "FreeCADGui", SimpleNamespace(Selection=selection))
    monkeypatch.setattr("webbrowser.open", opened.append)
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path))
    return SimpleNamespace(app=app, said=said, selected=selected, opened=opened)


@pytest.mark.slow
def test_findings_are_said_and_their_joints_selected(freecad: Any) -> None:
    report = runpy.run_path(str(MACRO))["main"]()
    expected = rg.check(MODEL)
    assert report.reduction.redundant == expected.reduction.redundant
    assert f"{report.reduction.redundant} redundant" in "".join(freecad.said)
    named = {name for d in expected.diagnostics for name in d.joints}
    assert {each.Label for each in freecad.selected} == named
    (page,) = freecad.opened
    assert page.startswith("file:") and page.endswith("assembly.html")


def test_without_a_document_or_a_model_it_says_so(freecad: Any, tmp_path: Path) -> None:
    empty = tmp_path / "empty.FCStd"
    empty.write_bytes(b"nothing")
    freecad.app.ActiveDocument.saveCopy = lambda path: shutil.copy(empty, path)
    macro = runpy.run_path(str(MACRO))
    assert macro["main"]() is None and "regularize:" in freecad.said[-1]
    freecad.app.ActiveDocument = None
    assert macro["main"]() is None and "open an assembly" in freecad.said[-1]
