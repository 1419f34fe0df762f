"""Guests can be deleted one by one: what is left stands, and says what it does without.

``python test_guests.py`` runs every test that is not theirs without each of them, and
without all; as part of the suite, what is left is imported, and a daily round done.
"""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
PACKAGES = sorted(path.parent.name for path in (ROOT / "regularize/guests").glob("*/__init__.py"))
FORMATS = ["asmt", "cad", "freecad", "mbdyn", "onshape", "simscape"]
GUESTS = [
    *(f"regularize/guests/{name}" for name in PACKAGES),
    *(f"adapters/{name}" for name in FORMATS),
]
#: Imports every module, and does what owners of robots do each day.
DAILY = """
import contextlib, importlib, pkgutil
import regularize as rg
from regularize.adapters.registry import BUILTIN, GUESTS
from regularize.cli import main
from regularize.services import absent as missing

absent = {*GUESTS} - {adapter.name for adapter in BUILTIN}  # all of them where "cad" is gone
absent |= missing()  # of guests those, too, that are made of one that is gone
for module in pkgutil.walk_packages(rg.__path__, "regularize."):
    passed_over = module.name in ("regularize.__main__", "regularize.dynamics.step.build")
    if not passed_over and not absent & {*module.name.split(".")}:
        with contextlib.suppress(rg.MissingExtra):
            importlib.import_module(module.name)
for name in rg.__all__:
    getattr(rg, name)
assert main(["check", "assets/planar_fourbar.urdf"]) == 1
assert main(["reduce", "assets/planar_fourbar.urdf", "-o", "reduced"]) == 0
assert rg.prove("assets/planar_fourbar.urdf")["format"]
assert main(["fix", "assets/planar_fourbar.urdf", "-o", "fixed"]) in (0, 1)
assert rg.simulate("assets/slider_crank.urdf", duration=0.1).q.shape[1] > 0
"""


def house_without(guests: list[str], folder: Path) -> Path:
    """A copy of the project without some guests."""
    left_out = shutil.ignore_patterns(".git", ".tox", ".venv", "__pycache__", ".*_cache", "build")
    house = folder / "house"
    shutil.copytree(ROOT, house, symlinks=True, ignore=left_out)
    for guest in guests:
        shutil.rmtree(house / guest)
    return house


def run(house: Path, *command: str) -> subprocess.CompletedProcess[str]:
    """A Python command inside a copy of the project, which is what it imports."""
    environment = {**os.environ, "PYTHONPATH": str(house), "PYTHONDONTWRITEBYTECODE": "1"}
    return subprocess.run(
        [sys.executable, *command], cwd=house, env=environment, capture_output=True, text=True
    )


@pytest.mark.slow
@pytest.mark.parametrize("guest", [*GUESTS, "all"])
def test_the_house_stands_without_a_guest(guest: str, tmp_path: Path) -> None:
    house = house_without(GUESTS if guest == "all" else [guest], tmp_path)
    done = run(house, "-c", DAILY)
    assert done.returncode == 0, done.stdout + done.stderr


@pytest.mark.slow
def test_no_test_needs_a_guest_to_be_collected(tmp_path: Path) -> None:
    done = run(house_without(GUESTS, tmp_path), "-m", "pytest", "-q", "--collect-only")
    assert done.returncode == 0, done.stdout[-2000:] + done.stderr


def main() -> int:
    """Run all tests without each guest, and without all of them; the number of red runs."""
    import tempfile

    red = 0
    for guests in [*([guest] for guest in GUESTS), GUESTS]:
        with tempfile.TemporaryDirectory() as folder:
            house = house_without(guests, Path(folder))
            done = run(house, "-m", "pytest", "-q", "-n", "auto", *sys.argv[1:])
        red += done.returncode != 0
        print(", ".join(guests), "\n", done.stdout[-3000:], flush=True)
    return red


if __name__ == "__main__":
    sys.exit(main())
