"""The add-on inside of FreeCAD, headless and in its window, where FreeCAD is installed."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
from pathlib import Path
from typing import Any

import pytest

import regularize as rg

ROOT = Path(__file__).resolve().parents[2]
ASSET = ROOT / "assets" / "crank_slider.FCStd"
ADDON = ROOT / "assets" / "editors" / "freecad" / "Regularize"
HEAD = """
import json, os, sys, time, traceback
import FreeCAD
sys.path[:0] = [{root!r}, {addon!r}, FreeCAD.getHomePath() + "Mod/Assembly"]
said = []
def types():
    return [each.JointType for each in document.Objects if hasattr(each, "JointType")]
def solved():
    return document.getObject("Assembly").solve()
document = FreeCAD.openDocument({path!r})
document.UndoMode = 1
"""
HEADLESS = """
import regularize_panel as p
shown = p.analyse(document)
said += [shown.redundant, types(), solved()]
change = next(change for change in shown.changes if change.possible)
p.apply(document, change)
said += [p.analyse(document).redundant, types(), solved()]
document.undo()
said += [types()]
p.apply(document, change)
document.saveAs({path!r})
document = FreeCAD.openDocument({path!r})
said += [p.analyse(document).redundant, solved(), sorted(name for name, _ in p.motions(shown))]
json.dump(said, open({out!r}, "w"))
"""
WINDOW = """
import FreeCADGui as Gui
from PySide import QtCore
def spin(seconds):
    end = time.time() + seconds
    while time.time() < end:
        Gui.updateGui()
        time.sleep(0.02)
def settled(task):
    end = time.time() + 120
    while task.analysis is not None and time.time() < end:
        spin(0.1)
    return task.head.text()
def run():
    try:
        import regularize_task
        Gui.activateWorkbench("AssemblyWorkbench")
        said.append("Regularize_Check" in Gui.listCommands())
        task = regularize_task.Task(document)
        Gui.Control.showDialog(task)
        said.append(settled(task))
        row = next(
            row for k in range(task.tree.topLevelItem(0).childCount())
            if (row := task.tree.topLevelItem(0).child(k)).data(0, QtCore.Qt.UserRole).possible
        )
        row.setSelected(True)
        said.append([each.ObjectName for each in Gui.Selection.getSelectionEx()])
        task.watch()
        spin(0.5)
        Gui.getMainWindow().grab().save({out!r} + ".png")
        task.watch()
        task.apply_change()
        said.append(settled(task))
        document.undo()
        document.recompute()
        spin(1.0)
        said.append(settled(task))
        task.reject()
        said.append(bool(Gui.Control.activeDialog()))
    except BaseException:
        said.append(traceback.format_exc())
    json.dump(said, open({out!r}, "w"))
    os._exit(0)
QtCore.QTimer.singleShot(3000, run)
"""


def inside(program: str, script: str, path: Path) -> list[Any]:
    """What a script says that runs inside of FreeCAD on a document."""
    found = shutil.which(program)
    if found is None:
        pytest.skip("FreeCAD is not installed")
    out, file = path.with_suffix(".json"), path.with_suffix(".py")
    names = {"root": str(ROOT), "addon": str(ADDON), "path": str(path), "out": str(out)}
    file.write_text((HEAD + script).format(**names))
    kept = {name: value for name, value in os.environ.items() if not name.startswith("PYTHON")}
    run = subprocess.run([found, str(file)], capture_output=True, env=kept, timeout=600)
    assert out.exists(), (run.stdout + run.stderr).decode(errors="replace")[-3000:]
    said: list[Any] = json.loads(out.read_text())
    return said


def test_a_change_is_made_solved_undone_saved_and_opened_again(tmp_path: Path) -> None:
    path = tmp_path / "model.FCStd"
    path.write_bytes(ASSET.read_bytes())
    before, old, first, after, new, second, undone, kept, third, motions = inside(
        "freecadcmd", HEADLESS, path
    )
    assert (before, after, kept) == (3, 0, 0) and first == second == third == 0
    assert old == undone == ["Revolute", "Revolute", "Revolute", "Slider"] != new
    assert len(motions) == 1 and rg.check(path).reduction.redundant == 0


def test_the_panel_selects_shows_motions_applies_and_follows_undo(tmp_path: Path) -> None:
    path = tmp_path / "model.FCStd"
    path.write_bytes(ASSET.read_bytes())
    listed, before, selected, after, undone, open_still = inside("freecad", WINDOW, path)
    assert listed and not open_still
    assert before == undone == rg.check(ASSET).verdict
    assert after.startswith("No redundant constraints")
    assert set(selected) >= {"B", "D"}
    assert (tmp_path / "model.json.png").stat().st_size > 10_000


def test_freecad_opens_and_solves_what_is_fixed(tmp_path: Path) -> None:
    path = rg.fix(ASSET).write(tmp_path / "fixed.FCStd")
    script = 'said += [types(), solved()]\njson.dump(said, open({out!r}, "w"))\n'
    kinds, solved = inside("freecadcmd", script, path)
    assert solved == 0 and sorted(kinds) != ["Revolute", "Revolute", "Revolute", "Slider"]
