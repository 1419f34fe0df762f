"""Options that make no sense: one line says which and what would, and nothing is computed."""

from __future__ import annotations

import random
import shutil
import zipfile
from pathlib import Path

import numpy as np
import pytest
import yaml

import regularize as rg
from regularize.cli import main

REFUSED = yaml.safe_load(Path(__file__).with_name("refused.yaml").read_bytes())
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
@pytest.mark.parametrize(("command", "words"), REFUSED["nonsense"])
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
