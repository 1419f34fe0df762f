"""Every command that a report prints runs, ends with 0 and makes the model better."""

from __future__ import annotations

import re
import shlex
from pathlib import Path

import mechanisms
import numpy as np
import pytest
from simulation_cases import CORPUS

import regularize as rg
from regularize.cli import main

pytestmark = pytest.mark.slow
COMMAND = re.compile(r"regularize (?:check|export|fix|reduce|show|simulate|solve) [^`]+")
CALL = re.compile(r"regularize\.\w+\([^)]*\)")
FOREIGN = (
    *("asmt/ondsel_testapp/crank_slider.asmt", "asmt/ondsel_testapp/fixplnplnpln.asmt"),
    *("gepetto_yaml/5bar_linkage/robot.urdf", "gepetto_yaml/digit_like/robot.urdf"),
    *("mjcf/kayra/mujoco/fourBars.xml", "sdf/drake_four_bar/four_bar.sdf"),
    *("mjcf/mujoco_tests/test__engine__testdata__core_constraint__dofless_weld.xml",),
    *("urdf_plus/four_bar/four_bar.urdf", "traps/locked_1232.urdf"),
)
ASSETS = Path(__file__).resolve().parents[2] / "assets"
OURS = ("slider_crank", "planar_fourbar", "walker", "bennett", "gripper", "sarrus")
MODELS = [CORPUS / name for name in FOREIGN] + [ASSETS / f"{name}.urdf" for name in OURS]
#: Lines that somebody reads of a report before asking for more.
LINES = 59


def printed(report: rg.Report) -> list[str]:
    """Commands and calls of a report's text and of the help of its findings."""
    lines = [*str(report).splitlines(), *(line for d in report.diagnostics for line in d.help)]
    kinds = (COMMAND, CALL)
    return [m[0].strip() for line in lines for kind in kinds for m in kind.finditer(line)]


def check_commands(report: rg.Report, folder: Path, monkeypatch: pytest.MonkeyPatch) -> int:
    """Run what is printed of a model; returns how many commands there were."""
    monkeypatch.chdir(folder)
    before, name = report.reduction, Path(report.mechanism.path or "").stem
    commands = dict.fromkeys(printed(report))
    for number, command in enumerate(commands):
        if command.startswith("regularize."):
            after = eval(command, {"regularize": rg, "mechanism": report.mechanism})
            assert after.remaining < before.remaining, command
            continue
        words = shlex.split(command)
        words[words.index("-o") + 1] = f"{number}/"
        assert main(words[1:]) == 0, command
        out = Path(words[words.index("-o") + 1])
        made = [file for file in out.iterdir() if file.stem == name]
        after = rg.reduce(made[0])
        # Less is redundant with the same motion, or what was locked moves.
        moves = after.finite_mobility or 0
        if moves == (before.finite_mobility or 0):
            assert after.redundant < before.redundant, command
        else:
            assert before.finite_mobility == 0 < moves, command
    return len(commands)


@pytest.mark.parametrize("path", MODELS, ids=lambda path: path.stem)
def test_commands_of_reports_run(
    path: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    if not path.exists():
        pytest.skip("the model collection is not here")
    report = rg.check(path, trials=True)
    assert check_commands(report, tmp_path, monkeypatch) > 0 or path.is_relative_to(CORPUS)
    assert len(str(report).splitlines()) <= LINES


def test_advice_is_made_by_its_number_while_the_file_stays(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    rg.save(mechanisms.n_fourbar(4), "windows.urdf")
    report = rg.check("windows.urdf")
    (first, *_) = report.as_dict()["advice"]
    assert len(first["command"]) <= 120 and first["command"] in str(report)
    assert main(["fix", "windows.urdf", "--advice", "1"]) == 0
    out, err = capsys.readouterr()
    made = rg.fix(rg.load("windows.urdf"), advice=first["id"])
    assert out == made.diff != "" and "nothing is written" in err
    assert made.reduction.redundant == first["left"]
    Path("windows.urdf").write_text(Path("windows.urdf").read_text() + " ")
    for advice in (first["id"], "99"):
        assert main(["fix", "windows.urdf", "--advice", advice, "--in-place"]) == 2
        assert f"advice {advice}: " in (err := capsys.readouterr().err) and "1@" in err


def test_commands_are_short_enough_to_paste_however_deep_the_model_lies(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    folder = tmp_path / "folders of somebody who likes long names" / ("a" * 60) / ("b" * 60)
    (folder / "below").mkdir(parents=True)
    model = folder / "four-bar.urdf"
    model.write_bytes((ASSETS / "planar_fourbar.urdf").read_bytes())
    (folder.parent / f"{'b' * 61}").mkdir()  # begins alike
    for place in (folder.parent, folder / "below"):
        monkeypatch.chdir(place)
        report = rg.check(model, trials=True)
        commands = printed(report)
        assert commands and all(len(command) <= 120 for command in commands), commands
        assert check_commands(report, place, monkeypatch) == len(commands)
    model.with_name("five-bar.urdf").write_bytes(model.read_bytes())
    assert main(["fix", f"{folder}/f*r.urdf", "--diff"]) == 2  # two files
    assert main(["fix", f"{folder}/fou*.urdf", "--diff"]) == 0


def test_what_dimensions_make_redundant_is_tried_where_it_is_quick(
    assets: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = assets / "bennett.urdf"
    assert any(each.command for each in rg.check(path, trials=True).trials[1:])
    monkeypatch.setattr("regularize.repair.fix.advice.SPECIAL", 5)
    trials = rg.check(path, trials=True).trials[1:]
    assert not any(each.command or each.reason for each in trials)


EXPLAINED = re.compile(r"regularize (?:check|export|fix|metamodel|reduce|show|simulate)\b[^`\n;]*")
#: Models that have what a command of an explanation asks for; others are about a four-bar.
OF_CODE = {"REG016": "keyframe.xml", "REG213": "flat.urdf", "REG221": "flat.urdf"}
KEYFRAME = """<mujoco><worldbody><body><joint name="A"/><geom size="0.1"/></body></worldbody>
<keyframe><key name="home" qpos="0.1"/></keyframe></mujoco>"""


@pytest.mark.parametrize("codes", ["REG10.", "REG..."])
def test_commands_of_explanations_run(
    codes: str, assets: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Those of `explain` are about any model: they end with 0, or with findings."""
    monkeypatch.chdir(tmp_path)
    for name, made in (("planar_fourbar", "MODEL"), ("mobility/parallelogram_flat", "flat")):
        Path(f"{made}.urdf").write_bytes((assets / f"{name}.urdf").read_bytes())
    Path("keyframe.xml").write_text(KEYFRAME)
    assert main(["export", "MODEL.urdf", "--to", "mjcf", "-o", "MODEL.xml"]) in (0, 1)
    ran = 0
    known = sorted((Path(rg.__file__).parent / "report" / "rules").glob("REG*.md"))
    for each in (page for page in known if re.fullmatch(codes, page.stem)):
        for text in dict.fromkeys(m[0] for m in EXPLAINED.finditer(each.read_text())):
            command = re.split(r"(?<=[\w/])[.:,](?:\s|$)| writes", text)[0]
            if "MODEL" not in command:  # the name of a verb
                continue
            model = OF_CODE.get(each.stem, "MODEL.urdf")
            words = re.sub(r"MODEL(?!\.)", model, command).replace("--branch N", "--branch 1")
            assert main(shlex.split(words)[1:]) in (0, 1), command
            ran += 1
    assert ran >= 3


def test_commands_read_the_model_as_it_was_read(
    assets: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Loops in a file of another name are named; a pose that no option gives has no command."""
    monkeypatch.chdir(tmp_path)
    model, loops = tmp_path / "leg.urdf", tmp_path / "loops of the leg.yaml"
    model.write_text(CHAIN)
    loops.write_text(LOOPS)
    report = rg.check(rg.load(model, loops=loops), trials=True)
    assert report.reduction.redundant == 3
    commands = printed(report)
    assert commands and all(f"--loops '{loops.name}'" in c and len(c) <= 120 for c in commands)
    for command in commands:
        assert main(shlex.split(command)[1:]) == 0, command
    moved = rg.load(model, loops=loops)
    posed = moved.with_positions({"A": np.array([0.1])})
    assert not [c for c in printed(rg.check(posed, trials=True)) if " reduce " in c]


LINKS = "".join(
    f'<link name="{name}"><inertial><mass value="1"/><inertia ixx="1" iyy="1" izz="1" ixy="0" '
    'ixz="0" iyz="0"/></inertial></link>'
    for name in ("base", "crank", "coupler", "tip", "rocker", "end")
)
JOINTS = "".join(
    f'<joint name="{name}" type="{kind}"><parent link="{parent}"/><child link="{child}"/>'
    f'<origin xyz="{at}"/><axis xyz="0 1 0"/></joint>'
    for name, kind, parent, child, at in (
        ("A", "continuous", "base", "crank", "0 0 0"),
        ("B", "continuous", "crank", "coupler", "0 0 0.2"),
        ("C", "continuous", "coupler", "tip", "0.5 0 0.1"),
        ("D", "continuous", "base", "rocker", "0.6 0 0"),
        ("E", "fixed", "rocker", "end", "-0.1 0 0.3"),
    )
)
CHAIN = f'<robot name="leg">{LINKS}{JOINTS}</robot>'
LOOPS = """closed_loop: [["tip", "end"]]
type: ["6d"]
"""
