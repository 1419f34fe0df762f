"""Options that make no sense: one line says which and what would, and nothing is computed."""

from __future__ import annotations

import random
import shutil
import zipfile
from pathlib import Path

import numpy as np
import pytest

import regularize as rg
from regularize.cli import main

BOUNDS = ["--inputs", "A", "--bounds", "-1", "1", "-o", "m.npz"]


@pytest.fixture
def here(assets: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    shutil.copy(assets / "slider_crank.urdf", "m.urdf")
    Path("random.urdf").write_bytes(random.Random(0).randbytes(2000))
    Path("random.npz").write_bytes(random.Random(1).randbytes(2000))
    Path("nul.csv").write_bytes(b"time_s\n\0\n")
    np.savez("objects.npz", names=np.array([{}], dtype=object))
    with zipfile.ZipFile("torn.npz", "w") as file:
        file.writestr("names.npy", b"1" * 100)
    Path("torn.npz").write_bytes(Path("torn.npz").read_bytes().replace(b"1111", b"1112"))
    Path("folder.csv").mkdir()
    Path("tool.toml").write_text("tool.regularize = 3")
    return tmp_path


@pytest.mark.slow
@pytest.mark.parametrize(
    ("command", "words"),
    [
        ("check m.urdf --seed -1", "argument --seed: -1 is below zero"),
        ("reduce m.urdf -o out --seed -1", "argument --seed: -1 is below zero"),
        ("metamodel m.urdf --seed -1", "argument --seed: -1 is below zero"),
        ("check m.urdf --rtol 1e300", "rtol has to be below 1, not 1e+300"),
        ("check m.urdf --near 1e10", "near has to be below 1"),
        ("check m.urdf --top -1", "argument --top: -1 is below zero"),
        ("check m.urdf -j 0", "argument -j/--jobs: 0: one or more are needed"),
        ("check m.urdf -j -3", "argument -j/--jobs: -3 is below zero"),
        ("check m.urdf -v -q", "argument -q/--quiet: not allowed with argument -v"),
        ("metamodel m.urdf --jobs 0", "argument --jobs: 0: one or more are needed"),
        ("metamodel m.urdf --smallest 5", "smallest is a fraction of the bounds, above 0"),
        ("metamodel m.urdf --clearance nan", "clearance is a distance of at least zero, not nan"),
        ("show m.urdf --ghosts -3", "argument --ghosts: -3 is below zero"),
        ("show m.urdf --motion random.npz", "random.npz: holds no motion that was simulated (no"),
        ("show m.urdf --motion objects.npz", "(no archive of arrays of numbers)"),
        ("show m.urdf --motion torn.npz", "(no archive of arrays of numbers)"),
        ("show m.urdf --motion nul.csv", "nul.csv: "),
        ("workspace m.urdf --over A=-1:1:²", "--over A=-1:1:²: '²' is no number of samples"),
        ("workspace m.urdf --over A=1:-1", "--over A=1:-1: the lower bound comes first"),
        ("workspace m.urdf --over A=1:1:3", "--over A=1:1:3: the lower bound comes first"),
        ("workspace m.urdf --over A,A", "--over A: 'A' is varied already; name it once"),
        ("workspace m.urdf --over A=-1:1 --at A=3", "'A' is varied, and held at a value too"),
        ("workspace m.urdf --over A=-1:1 --point 0,0,0", "--point 0,0,0: of which body?"),
        ("workspace m.urdf --over x", "is a coordinate of a body's pose: name the body, as in"),
        ("workspace m.urdf --over A --samples 0", "argument --samples: 0: one or more are needed"),
        ("workspace m.urdf --over A=-1:1:100000000", "a map of 100000000 points is larger than"),
        ("workspace m.urdf --over A=-1:1:2000 D=0:1:2000", "a map of 4000000 points is larger"),
        ("solve m.urdf --at A=1 A=2", "--at A=2: 'A' is given already; give it once"),
        ("solve m.urdf --pose slider=0.3 --at slider.x=1", "--pose slider=0.3 gives it already"),
        ("workspace m.urdf --over A --limits A=0:1 A=0:2", "--limits A=0:2: 'A' is given already"),
        ("solve m.urdf --point 0,0,0", "--point 0,0,0: of which body?"),
        ("simulate m.urdf --rate A=1 --rate A=2", "--rate A=2: 'A' is given already"),
        ("simulate m.urdf --actuate A=1 --actuate A=2", "--actuate A=2: 'A' is given already"),
        (
            "simulate m.urdf --drive A=t --actuate A=3",
            "--actuate A: the joint is driven, with whatever",
        ),
        ("simulate m.urdf --drive A=t --rate A=3", "'A' is driven, so its rate is given already"),
        ("simulate m.urdf --drive A=none.csv", "none.csv: there is no such file; check the path"),
        ("simulate m.urdf --drive A=folder.csv", "folder.csv: is a folder; name a file in it"),
        ("simulate m.urdf --drive A=nul.csv", "nul.csv: expected lines of two numbers"),
        (
            "simulate m.urdf --branch 2",
            "branch 2 of the motions at the assembled pose: there is one",
        ),
        ("verify p.json --floating", "go with --model MODEL; name it"),
        ("verify p.json --density 1", "go with --model MODEL; name it"),
        ("explain REG201 random.urdf", "random.urdf: does not begin as URDF"),
        ("explain REG201 --in mjcf m.urdf", "--in mjcf and m.urdf both name the format"),
        ("check m.urdf --outptu json", "see regularize check --help"),
        ("formats x", "no place for 'x'; see regularize formats --help"),
        ("check m.urdf --config tool.toml", "tool.toml: tool.regularize = 3: expected a section"),
    ],
)
def test_nonsense_is_refused_in_one_line(
    command: str, words: str, here: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    more = BOUNDS if command.startswith("metamodel") else []
    before = {*here.iterdir()}
    try:
        assert main([*command.split(), *more]) == 2
    except SystemExit as left:
        assert left.code == 2
    out, err = capsys.readouterr()
    assert words in err and err.count("\n") == 1 and "internal error" not in err
    assert (out, {*here.iterdir()}) == ("", before)


@pytest.mark.parametrize("name", ["rtol", "near"])
def test_tolerances_lie_below_1(name: str, assets: Path) -> None:
    with pytest.raises(rg.ModelError, match=f"{name} has to be below 1"):
        rg.check(assets / "slider_crank.urdf", **{name: 1e300})


def test_a_map_has_no_more_points_than_can_be_waited_for(assets: Path) -> None:
    path = assets / "slider_crank.urdf"
    for over in ({"A": (-1.0, 1.0, 10**7)}, {"A": None, "D": (0.0, 1.0)}):
        with pytest.raises(rg.ModelError, match="larger than the 1000000"):
            rg.workspace(path, over, samples=1001)
    with pytest.raises(rg.ModelError, match="a range goes up"):
        rg.workspace(path, {"A": (1.0, 1.0, 3)})


@pytest.mark.slow
def test_files_stand_before_options_behind_and_between(
    here: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    shutil.copy("m.urdf", "n.urdf")
    assert main(["check", "m.urdf", "--output", "concise", "n.urdf", "--fail-on", "never"]) == 0
    assert capsys.readouterr().out.count("REG201") == 2


def test_a_unit_apart_from_its_number_is_a_file_that_is_not_there(
    here: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["check", "m.urdf", "--length-scale", "5", "lightyears"]) == 2
    assert "lightyears: there is no such file" in capsys.readouterr().err
