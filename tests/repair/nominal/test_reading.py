"""What numbers of files were rounded from is what every verb reads, within their rounding alone."""

from __future__ import annotations

import json
import re
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
import rounding_table
import screws
from pinocchio_cases import massive

import regularize as rg
from regularize.cli import main


def model(tmp_path: Path, seed: int, format: str, style: str, deviation: int = -1) -> Path:
    """A file of a special mechanism in general attitude, whose numbers are rounded."""
    rng = np.random.default_rng(seed)
    exact = massive(rounding_table.turned(rounding_table.drawn(seed), rng))
    if deviation >= 0:
        exact = rounding_table.deviating(exact, rounding_table.DEVIATIONS[deviation], rng)
    path = tmp_path / f"model{rounding_table.FORMATS[format]}"
    return rounding_table.write(exact, path, format, style)


@pytest.mark.parametrize("format", [*rounding_table.FORMATS])
def test_a_fourbar_of_four_decimals_moves_in_every_format(format: str, tmp_path: Path) -> None:
    path = model(tmp_path, 0, format, "4f")
    report = rg.check(path)
    said = report.as_dict()
    assert said["assembly"]["closed"] and said["reading"]["as"] == "meant"
    assert (said["mobility"]["actual"], said["mobility"]["redundant"]) == (1, 3)
    assert 0.0 < said["reading"]["moved"]["share"] <= 0.5
    assert said["reading"]["letter"] is not None
    assert {p["digits"] for p in said["reading"]["precision"]} <= {4, None}
    assert "by the letter:" in " ".join(str(report).split())
    assert not re.search("contradict|locked|never move", f"{report}", re.IGNORECASE)
    letter = rg.check(rg.load(path, reading="written"))
    assert not letter.reduction.assembly.closed or letter.reduction.mobility == 0
    assert "taken by the letter" in str(letter)


@pytest.mark.parametrize("style", ["4f", "5f", "6g", "17g"])
def test_every_verb_reads_alike(
    style: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = model(tmp_path, 0, "urdf+", style)
    kinds = rg.fix(path)
    assert (kinds.reduction.mobility, kinds.reduction.redundant) == (1, 0)
    assert all(line.count("xyz") < 2 for line in kinds.diff.splitlines() if line[0] == "+")
    robot = rg.to_pinocchio(rg.reduce(path))
    assert np.abs(robot.residual(robot.q0)).max() < 1e-9
    assert main(["reduce", str(path), "-o", f"{tmp_path}/reduced/"]) == 0
    assert main(["check", str(path), "--proof", f"{tmp_path}/proof.json"]) == 1
    verify = ["verify", f"{tmp_path}/proof.json", "--model", str(path)]
    assert main(verify) == 0
    rounded = style != "17g"
    assert ("each joint lies within its box of the file" in capsys.readouterr().out) == rounded
    assert main([*verify, "--as-written"]) == rounded
    for other in ("3f", "7f"):
        assert main([*verify[:-1], str(model(tmp_path, 0, "sdf", other))]) != 0


def test_what_is_written_in_full_is_read_literally(tmp_path: Path) -> None:
    mechanism = rg.load(model(tmp_path, 0, "urdf+", ""))
    assert mechanism.reading is not None and not mechanism.reading.levels
    assert rg.check(mechanism).as_dict()["reading"]["as"] == "written"


@pytest.mark.parametrize("deviation", range(4))
def test_what_is_off_on_purpose_stays_off(deviation: int, tmp_path: Path) -> None:
    path = model(tmp_path, 0, "sdf", "5f", deviation)
    report = rg.check(path)
    exact = rg.check(model(tmp_path, 0, "sdf", "", deviation))
    assert report.reduction.mobility == exact.reduction.mobility
    assert report.reduction.redundant == exact.reduction.redundant


@pytest.mark.parametrize("seed", [5, 19])
def test_what_is_off_closes_as_rounded(seed: int, tmp_path: Path) -> None:
    rng = np.random.default_rng(seed)
    sarrus = massive(rounding_table.turned(rounding_table.drawn(seed), rng))
    off = rounding_table.deviating(sarrus, rounding_table.DEVIATIONS[1], rng)
    assert rounding_table.judged(off, "usd", "4f", tmp_path)[0] == "right"


@pytest.mark.slow
def test_advice_on_what_is_off_is_true(tmp_path: Path) -> None:
    rng = np.random.default_rng(51002)
    families = (*rounding_table.FAMILIES, *rounding_table.OTHERS)
    bennett = massive(rounding_table.turned(rounding_table.drawn(51002, families), rng))
    off = [rounding_table.deviating(bennett, by, rng) for by in rounding_table.DEVIATIONS]
    assert rounding_table.judged(off[2], "sdf", "4f", tmp_path)[0] == "right"


def test_levels_are_what_numbers_do_one_by_one(tmp_path: Path) -> None:
    path = model(tmp_path, 0, "sdf", "4f")
    text, levels = path.read_text("utf-8"), rg.load(path).reading.levels
    written = rg.load(path, reading="written").joints
    square = np.zeros((len(written), 2, 2))
    for number in re.finditer(r"(?<=[ >])-?[0-9][.][0-9]{4}(?=[ <])", text):
        one = f"{text[: number.start()]}{float(number[0]) + 5e-5:.17g}{text[number.end() :]}"
        path.write_text(one, "utf-8")
        for k, (old, new) in enumerate(
            zip(written, rg.load(path, reading="written").joints, strict=True)
        ):
            across = np.eye(6) - old.screws @ np.linalg.pinv(old.screws)
            for i, key in enumerate(("T_parent_joint", "T_child_joint")):
                away = screws.inverse(getattr(old, key)) @ getattr(new, key)
                off = (across @ screws.log(away)).reshape(2, 3)
                square[k, i] += np.sum(off**2, axis=1) / 3.0 * [1.0, 1.5]
    found = np.reshape([levels[joint.name] for joint in written], square.shape)
    moved = square > 1e-20
    assert np.abs(found[~moved]).max(initial=0.0) < 1e-9
    ratios = found[moved] / np.sqrt(square[moved])
    assert abs(np.median(ratios) - 1.0) < 0.25 and ratios.min() > 0.4 and ratios.max() < 2.0


def test_the_undecided_is_said_with_the_digits_that_would_tell(tmp_path: Path) -> None:
    reading = rg.load(model(tmp_path, 0, "urdf+", "4f")).reading
    assert reading is not None and reading.letter is not None
    mechanism = rg.load(model(tmp_path, 0, "urdf+", "4f"), reading="written")
    open_ = replace(reading, as_="undecided", share=0.8, possible=reading.letter)
    report = rg.check(replace(mechanism, reading=open_))
    words = " ".join(str(report).split())
    assert "Undecided: 4 decimals cannot tell" in words
    assert "Write 6 of them" in words and report.advice == ()
    assert "REG205" not in {d.code for d in report.diagnostics}


@pytest.mark.parametrize("program", ["xacro", "usdc"])
def test_what_programs_make_of_numbers_keeps_their_places(program: str, tmp_path: Path) -> None:
    path = model(tmp_path, 0, "usd" if program == "usdc" else "urdf+", "4f")
    if program == "usdc":
        pytest.importorskip("pxr.Usd").Stage.Open(str(path)).Export(f"{tmp_path}/binary.usdc")
        path = tmp_path / "binary.usdc"
    else:
        text = path.read_text("utf-8").replace(
            "<robot", '<robot xmlns:xacro="http://ros.org/wiki/xacro"'
        )
        text = re.sub(r'(xyz|rpy)="(\S+) (\S+) (\S+)"', r'\1="${\2} ${\3} ${\4/3*3}"', text)
        path = tmp_path / "model.urdf.xacro"
        path.write_text(text, "utf-8")
    reading = rg.load(path).reading
    assert reading is not None and reading.as_ == "meant"
    assert (rg.reduce(path).mobility, rg.reduce(rg.load(path, reading="written")).mobility) == (
        1,
        0,
    )


def loop_of(first: str, second: str) -> str:
    """A URDF of two links that a joint and a closure join, their origins as told."""
    text = '<robot name="m"><link name="a"/><link name="b"/><joint name="J" type="continuous">'
    text += f'<parent link="a"/><child link="b"/><origin {first}/><axis xyz="0 0 1"/></joint>'
    text += f'<loop name="L" type="spherical"><predecessor link="a"><origin {first}/></predecessor>'
    return f'{text}<successor link="b"><origin {second}/></successor></loop></robot>'


@pytest.mark.parametrize(
    ("numbers", "convention", "digits"),
    [
        ("0.1000 0.2535 1.2346", "decimals", 4),
        ("0.1 0.2535 1.2346", "decimals", 4),
        ("0.123457 12.3457 0.00123457", "significant", 6),
        ("0.1234567890123456 1 0", "exact", None),
        ("0.1 0.25 1.5", "chosen", None),
    ],
)
def test_habits_of_writers(numbers: str, convention: str, digits: int | None) -> None:
    report = rg.check(loop_of(f'xyz="{numbers}"', 'xyz="0 0 0"'), configurations=1)
    habits = {each["group"]: each for each in report.as_dict()["reading"]["precision"]}
    assert (habits["xyz"]["convention"], habits["xyz"]["digits"]) == (convention, digits)


@pytest.mark.parametrize("angle", ["1.57", "1.571", "1.5708"])
def test_constants_in_few_digits_are_constants(angle: str) -> None:
    mechanism = rg.load(loop_of(f'rpy="{angle} 0 0"', f'rpy="0 {angle} 0"'), reading="meant")
    assert mechanism.reading is not None and mechanism.reading.base is not None
    exact = mechanism.reading.base[0].T_parent_joint[:3, :3]
    assert np.abs(exact).round(15).sum() == 3.0
    assert rg.load(loop_of(f'xyz="{angle} 0 0"', 'xyz="0 0 0"')).reading.base is None


def test_the_command_line_gives_the_letter(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = model(tmp_path, 0, "mjcf", "4f")
    main(["check", str(path), "--output", "json", "--as-written"])
    assert json.loads(capsys.readouterr().out)["mobility"]["actual"] == 0
    assert main(["simulate", str(path), "--duration", "0.05"]) == 0
