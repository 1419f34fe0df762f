"""The macro and the example assembly inside of FreeCAD 1.0, where it is installed."""

from __future__ import annotations

import os
import shutil
import subprocess
from pathlib import Path

import pytest

import regularize as rg

ROOT = Path(__file__).resolve().parents[2]
ASSET = ROOT / "assets" / "crank_slider.FCStd"
SCRIPT = """
import runpy, sys
sys.path[:0] = [{root!r}, FreeCAD.getHomePath() + "Mod/Assembly"]
document = FreeCAD.openDocument({path!r})
print("SOLVED", document.getObject("Assembly").solve())
print("TYPES", *[each.JointType for each in document.Objects if hasattr(each, "JointType")])
report = runpy.run_path({macro!r})["main"]()
print("REPORT", report.reduction.redundant, report.reduction.mobility)
"""


def inside(path: Path, folder: Path) -> str:
    """What FreeCAD and the macro say of a document."""
    program = shutil.which("freecadcmd")
    if program is None:
        pytest.skip("FreeCAD is not installed")
    macro = ROOT / "assets" / "editors" / "freecad" / "CheckLoops.FCMacro"
    script = folder / "script.py"
    script.write_text(
        "import FreeCAD" + SCRIPT.format(root=str(ROOT), path=str(path), macro=str(macro))
    )
    kept = {name: value for name, value in os.environ.items() if not name.startswith("PYTHON")}
    run = subprocess.run([program, str(script)], capture_output=True, env=kept, timeout=600)
    return run.stdout.decode(errors="replace")


def test_the_macro_names_three_equations_of_an_assembly_of_freecad(tmp_path: Path) -> None:
    path = tmp_path / "model.FCStd"
    path.write_bytes(ASSET.read_bytes())
    said = inside(path, tmp_path)
    assert "SOLVED 0" in said and "TYPES Revolute Revolute Revolute Slider" in said
    assert "REPORT 3 1" in said


def test_freecad_opens_and_solves_what_is_fixed(tmp_path: Path) -> None:
    path = rg.fix(ASSET).write(tmp_path / "fixed.FCStd")
    said = inside(path, tmp_path)
    assert "SOLVED 0" in said and "TYPES Revolute Ball Revolute Cylindrical" in said
    assert "REPORT 0 1" in said
