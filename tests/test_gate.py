"""Files of strangers: what is let in, and under which names it is shown."""

from __future__ import annotations

import json
import os
from pathlib import Path

import pytest

import regularize as rg
from regularize.adapters import read
from regularize.displayed import LONGEST_NAME, displayed, displayed_name
from regularize.errors import ReadError
from regularize.input_files import LARGEST
from regularize.render import concise, github, html, sarif, text

ASSETS = Path(__file__).resolve().parents[1] / "assets"
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
        with pytest.raises(ReadError, match="pipe, socket or device"):
            rg.load(path)
    with pytest.raises(ReadError, match="pipe, socket or device"):
        rg.load(ASSETS / "planar_fourbar.urdf", loops=str(pipe))


def test_names_that_no_system_has_are_errors() -> None:
    for path in ("nul\0.urdf", "x" * 5000):
        with pytest.raises(ReadError):
            rg.load(path)


def test_a_file_beyond_the_budget_is_not_read(tmp_path: Path) -> None:
    path = tmp_path / "huge.urdf"
    with open(path, "wb") as file:
        file.write(b"<robot name='r'>")
        file.truncate(LARGEST + 1)
    with pytest.raises(ReadError, match="more than the"):
        rg.load(path)


def test_names_are_shown_safely_and_found_as_written(tmp_path: Path) -> None:
    mechanism = rg.load(native(tmp_path / "m.json", HOSTILE))
    shown = displayed_name(HOSTILE)
    assert shown == "b\\x1b[31m\\x0a::error::\\u202e\\ud800"
    assert mechanism.body(shown) is mechanism.body(HOSTILE)
    report = rg.check(mechanism)
    outputs = [text.render(report), concise.render(report), github.render(report)]
    outputs += [html.render(report), json.dumps(sarif.as_sarif([report]), ensure_ascii=False)]
    outputs.append(json.dumps(report.as_dict(), ensure_ascii=False))
    for output in outputs:
        assert not set(output) & set("\x1b\u202e\ud800")
        output.encode()
    assert all(line.startswith("::") for line in outputs[2].splitlines())
    assert not any(line.startswith("::error::") for line in outputs[2].splitlines())


def test_names_of_any_length_stay_apart(tmp_path: Path) -> None:
    one, other = "x" * 100_000 + "1", "x" * 100_000 + "2"
    assert displayed_name(one) != displayed_name(other)
    assert len(displayed_name(one)) == LONGEST_NAME
    mechanism = rg.load(native(tmp_path / "m.json", one))
    assert mechanism.body(one).name == displayed_name(one)
    assert len(text.render(rg.check(mechanism))) < 20_000


def test_ordinary_names_stay_as_they_are() -> None:
    for name in ("crank", "Größe 2", "关节", "a/b:c.d-e", ""):
        assert displayed(name) == name == displayed_name(name)


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
    with pytest.raises(ReadError, match="cannot be shown"):
        rg.load(tmp_path / "m.json")


@pytest.mark.parametrize("number", ["1e400", "1e300", "-1e200", "9" * 400, "nan"])
def test_numbers_that_no_machine_has_are_errors(tmp_path: Path, number: str) -> None:
    path = tmp_path / "m.urdf"
    source = (ASSETS / "planar_fourbar.urdf").read_text()
    before, _, after = source.partition('<joint name="B"')
    head, _, rest = after.partition('xyz="')
    path.write_text(f'{before}<joint name="B"{head}xyz="{number} {rest.partition(" ")[2]}')
    with pytest.raises(ReadError, match="finite") as caught:
        rg.load(path)
    assert caught.value.line is not None


@pytest.mark.parametrize("format", ["sdf", "mjcf", "urdf", "json"])
def test_impossible_bodies_are_found_in_every_format(tmp_path: Path, format: str) -> None:
    source = {
        "urdf": "<robot name='r'><link name='a'><inertial><mass value='-2'/><inertia ixx='1' "
        "iyy='1' izz='1' ixy='0' ixz='0' iyz='0'/></inertial></link></robot>",
        "sdf": "<sdf version='1.9'><model name='r'><link name='a'><inertial><mass>-2</mass>"
        "<inertia><ixx>1</ixx><iyy>1</iyy><izz>1</izz><ixy>0</ixy><ixz>0</ixz><iyz>0</iyz>"
        "</inertia></inertial></link></model></sdf>",
        "mjcf": "<mujoco><worldbody><body name='a'><freejoint/><inertial pos='0 0 0' mass='-2' "
        "diaginertia='1 1 1'/></body></worldbody></mujoco>",
    }
    path = tmp_path / f"m.{'xml' if format == 'mjcf' else format}"
    if format == "json":
        rg.save(rg.load(ASSETS / "knee_leg.urdf"), path)
        data = json.loads(path.read_text())
        inertia = next(body["inertia"] for body in data["bodies"] if body.get("inertia"))
        inertia["mass"] = -2.0
        path.write_text(json.dumps(data))
    else:
        path.write_text(source[format])
    if format == "mjcf":  # MuJoCo itself refuses
        with pytest.raises(ReadError, match="mass"):
            read(path)
        return
    assert any(d.code == "REG014" and "negative mass" in d.message for d in rg.load(path).findings)


def test_an_exception_of_a_reader_is_a_fault_of_the_file(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    from regularize.adapters.urdf import read as urdf

    def stumble(*_: object, **__: object) -> None:
        raise ZeroDivisionError("float\ndivision")

    monkeypatch.setattr(urdf, "read_links", stumble)
    with pytest.raises(ReadError, match=r"ZeroDivisionError: float\\x0adivision"):
        rg.load(ASSETS / "planar_fourbar.urdf")
