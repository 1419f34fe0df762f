"""Files of strangers: what is let in, and under which names it is shown."""

from __future__ import annotations

import json
import os
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import regularize as rg
from regularize.adapters import adapters
from regularize.cli import main

ASSETS = Path(__file__).resolve().parents[2] / "assets"
HOSTILE = "b\x1b[31m\n::error::\u202e\ud800"


def native(path: Path, name: str, **changes: object) -> Path:
    """A hinge between two bodies as the project's own JSON, with one name of a stranger's."""
    rg.save(rg.load(ASSETS / "planar_fourbar.urdf"), path)
    data = json.loads(path.read_text())
    data = json.loads(json.dumps(data).replace('"crank"', json.dumps(name)))
    data.update(changes)
    path.write_text(json.dumps(data))
    return path


@pytest.mark.skipif(os.name != "posix", reason="has no pipes in folders")
def test_what_is_no_file_is_never_opened(tmp_path: Path) -> None:
    pipe = tmp_path / "pipe.urdf"
    os.mkfifo(pipe)
    for path in (pipe, Path("/dev/zero"), Path("/dev/null")):
        with pytest.raises(rg.ReadError, match="pipe, socket or device"):
            rg.load(path)
    with pytest.raises(rg.ReadError, match="pipe, socket or device"):
        rg.load(ASSETS / "planar_fourbar.urdf", loops=str(pipe))


def test_names_that_no_system_has_are_errors() -> None:
    for path in ("nul\0.urdf", "x" * 5000):
        with pytest.raises(rg.ReadError):
            rg.load(path)


def test_a_file_beyond_the_budget_is_not_read(tmp_path: Path) -> None:
    path = tmp_path / "huge.urdf"
    with open(path, "wb") as file:
        file.write(b"<robot name='r'>")
        file.truncate(2**29)
    with pytest.raises(rg.ReadError, match="more than the"):
        rg.load(path)


def test_names_are_shown_safely_and_found_as_written(tmp_path: Path) -> None:
    path = native(tmp_path / "m.json", HOSTILE)
    mechanism = rg.load(path)
    assert mechanism.body("b\\x1b[31m\\x0a::error::\\u202e\\ud800") is mechanism.body(HOSTILE)
    assert main(["check", str(path), "--output", "github", "-o", str(tmp_path / "said")]) == 1
    told = (tmp_path / "said").read_text("utf-8").splitlines()
    assert told and all(re.match("::(?!error::)", line) for line in told)


@pytest.mark.slow
def test_names_of_any_length_stay_apart(tmp_path: Path) -> None:
    one, other = "x" * 100_000 + "1", "x" * 100_000 + "2"
    names = []
    for name in (one, other):
        mechanism = rg.load(native(tmp_path / "m.json", name))
        names.append(mechanism.body(name).name)
        assert len(str(rg.check(mechanism))) < 20_000
    assert names[0] != names[1]
    assert len(names[0]) == len(names[1]) <= 200


@pytest.mark.slow
def test_ordinary_names_stay_as_they_are(tmp_path: Path) -> None:
    for name in ("crank", "Größe 2", "关节", "a/b:c.d-e", ""):
        mechanism = rg.load(native(tmp_path / "m.json", name))
        assert name in [body.name for body in mechanism.bodies]


def test_names_that_would_fall_together_are_refused(tmp_path: Path) -> None:
    path = tmp_path / "m.urdf"
    path.write_text(
        "<robot name='r'><link name='a&#10;'/><link name='a\\x0a'/>"
        "<joint name='j' type='fixed'><parent link='a&#10;'/><child link='a\\x0a'/></joint></robot>"
    )
    mechanism = rg.load(path)  # XML attributes lose the line break
    assert len(mechanism.bodies) == 2
    data = json.loads(native(tmp_path / "m.json", "a\n").read_text())
    renamed = json.dumps(data).replace('"rocker"', json.dumps("a\\x0a"))
    (tmp_path / "m.json").write_text(renamed)
    with pytest.raises(rg.ReadError, match="cannot be shown"):
        rg.load(tmp_path / "m.json")


@pytest.mark.parametrize("number", ["1e400", "1e300", "-1e200", "9" * 400, "nan"])
def test_numbers_that_no_machine_has_are_errors(tmp_path: Path, number: str) -> None:
    path = tmp_path / "m.urdf"
    source = (ASSETS / "planar_fourbar.urdf").read_text()
    before, _, after = source.partition('<joint name="B"')
    head, _, rest = after.partition('xyz="')
    path.write_text(f'{before}<joint name="B"{head}xyz="{number} {rest.partition(" ")[2]}')
    with pytest.raises(rg.ReadError, match="finite") as caught:
        rg.load(path)
    assert caught.value.line is not None


@pytest.mark.parametrize("given", [{"point": (np.nan, 0, 0)}, {"position": [np.inf]}])
def test_joints_in_memory_consist_of_finite_numbers(given: dict[str, Any]) -> None:
    with pytest.raises(rg.ModelError, match=r"joint 'A': \w+ must consist of finite numbers"):
        rg.Joint.in_world("A", "ground", "crank", "revolute", **given)


@pytest.fixture
def stumbling(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """A file whose format is of another package, and its reader has a fault."""
    (tmp_path / "stumbling.py").write_text(
        "from regularize.adapters import Adapter\n"
        "FORMAT = Adapter('stumbling', 'Stumbling', reader='stumbling:read')\n"
        "def read(path):\n"
        "    raise ZeroDivisionError('float\\ndivision')\n"
    )
    package = tmp_path / "stumbling-1.0.dist-info"
    package.mkdir()
    (package / "METADATA").write_text("Metadata-Version: 2.1\nName: stumbling\nVersion: 1.0\n")
    (package / "entry_points.txt").write_text("[regularize.adapters]\nodd = stumbling:FORMAT\n")
    (tmp_path / "a.stumbling").write_text("anything")
    monkeypatch.syspath_prepend(tmp_path)
    adapters.cache_clear()
    yield tmp_path / "a.stumbling"
    adapters.cache_clear()


def test_an_exception_of_a_reader_is_a_fault_of_the_file(
    stumbling: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("REGULARIZE_DEBUG", raising=False)
    said = r"a\.stumbling: the reader cannot make sense of it \(ZeroDivisionError: float\\x0adivi"
    with pytest.raises(rg.ReadError, match=said):
        rg.load(stumbling, format="stumbling")
    monkeypatch.setenv("REGULARIZE_DEBUG", "1")
    with pytest.raises(ZeroDivisionError, match="float\ndivision"):
        rg.load(stumbling, format="stumbling")
