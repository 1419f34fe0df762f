"""The terminal: widths from 60 to 160 columns, slips of the keyboard, snippets, first steps."""

from __future__ import annotations

import contextlib
import io
import json
import shlex
from pathlib import Path
from xml.etree import ElementTree

import pytest
from test_readme import blocks

from regularize.cli import VERBS, main, parser
from regularize.report.rules import TITLES, all_rules, in_dialect

ASSETS = Path(__file__).resolve().parents[2] / "assets"
FOUR_BAR = str(ASSETS / "planar_fourbar.urdf")
DELTA = str(ASSETS / "delta_universal.urdf")
WIDTHS = (60, 80, 120, 160)
DIALECTS = ("urdf", "sdf", "mjcf", "usd", "cad", "json")


def said(capsys: pytest.CaptureFixture[str], *arguments: str) -> list[str]:
    """Lines of what a command prints."""
    capsys.readouterr()
    with contextlib.suppress(SystemExit):
        main(arguments)
    return capsys.readouterr().out.splitlines()


@pytest.mark.slow
@pytest.mark.parametrize("width", WIDTHS)
def test_no_line_is_longer_than_the_terminal(
    width: int, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("COLUMNS", str(width))
    commands = [
        [],
        ["formats"],
        ["explain"],
        ["explain", "REG201"],
        ["explain", "REG205", "--in", "mjcf"],
        ["check", FOUR_BAR],
        *([verb, "--help"] for verb in VERBS),
    ]
    if width == min(WIDTHS):
        commands += [
            ["solve", FOUR_BAR, "--at", "A=30deg"],
            ["solve", DELTA, "--pose", "platform=60mm,0,-0.42"],
            ["workspace", DELTA, "--pose", "platform", "--over", "x=0:0.1:3", "y=0:0.1:3"],
            ["simulate", FOUR_BAR, "--duration", "10ms"],
        ]
    long = {}
    for command in commands:
        lines = said(capsys, *command)
        assert lines, command
        # A command to copy stays on one line, and so does a word.
        prose = [line for line in lines if not line.strip().startswith("regularize ")]
        wrong = [line for line in prose if len(line) > width and len(line.split()) > 1]
        if wrong:
            long[" ".join(command)] = wrong[0]
    assert long == {}


@pytest.mark.slow
@pytest.mark.parametrize("command", [["formats"], ["explain", "REG205"], []])
def test_nothing_is_left_out_where_it_is_narrow(
    command: list[str], capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    words = []
    for width in (60, 160):
        monkeypatch.setenv("COLUMNS", str(width))
        words.append([word for line in said(capsys, *command) for word in line.split()])
    assert words[0] == words[1]


def wrong(capsys: pytest.CaptureFixture[str], *arguments: str) -> str:
    """The one line that a slip of the keyboard is answered with."""
    with pytest.raises(SystemExit) as stop:
        main(arguments)
    assert stop.value.code == 2
    error = capsys.readouterr().err
    assert error.count("\n") == 1
    return error


@pytest.mark.slow
def test_slips_of_the_keyboard(capsys: pytest.CaptureFixture[str]) -> None:
    assert "no verb 'chek' (did you mean 'check'?); known are check" in wrong(capsys, "chek", "x")
    assert "no option '--ouput' (did you mean '--output'?)" in wrong(
        capsys, "check", "x.urdf", "--ouput", "json"
    )
    assert "(did you mean 'json'?)" in wrong(capsys, "check", "x.urdf", "--output", "jsn")
    assert "no place for 'y'" in wrong(capsys, "formats", "y")
    assert main(["solve", FOUR_BAR, "--at", "AA=1"]) == 2
    assert "did you mean 'A'?" in capsys.readouterr().err
    assert main(["explain", "redundant-subgrup"]) == 2
    assert "did you mean 'redundant-subgroup'?" in capsys.readouterr().err


def test_without_arguments_the_first_steps_are_shown(capsys: pytest.CaptureFixture[str]) -> None:
    text = "\n".join(said(capsys))
    assert "regularize check MODEL" in text
    assert all(verb in text for verb in VERBS)
    short, whole = ("\n".join(said(capsys, option)) for option in ("--help", "--help-all"))
    assert "\n    motors" in short and "\n    twin" not in short and "\n    twin" in whole
    assert "--keyframe" not in "\n".join(said(capsys, "fix", "--help"))
    assert "--keyframe" in "\n".join(said(capsys, "fix", "--help-all"))


@pytest.mark.slow
def test_models_are_piped_in_and_names_stand_apart(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    stdin = io.TextIOWrapper(io.BytesIO(Path(FOUR_BAR).read_bytes()))
    monkeypatch.setattr("sys.stdin", stdin)
    assert json.loads("\n".join(said(capsys, "check", "-", "--json")))["mobility"]["actual"] == 1
    monkeypatch.setenv("FORCE_COLOR", "1")
    assert any("\x1b[" in line for line in said(capsys, "check", FOUR_BAR, "--quiet"))
    for names in (["M1", "M2", "M3"], ["M1,M2,M3"]):
        assert said(capsys, "solve", "--inputs", *names, DELTA)[0].count("M") == 3
    assert said(capsys, "export", FOUR_BAR, "--to", "json", "-o", str(tmp_path / "m"), "-q") == []


def test_every_code_has_a_bad_and_a_good_snippet() -> None:
    for rule in all_rules():
        for dialect in DIALECTS:
            bad, used = in_dialect(rule.bad, dialect)
            good, _ = in_dialect(rule.good, dialect)
            assert bad.strip(), rule.code
            assert good.strip(), rule.code
            assert bad != good, (rule.code, dialect)
            assert used in TITLES


@pytest.mark.parametrize("dialect", ["urdf", "sdf", "mjcf"])
def test_snippets_are_well_formed(dialect: str) -> None:
    for rule in all_rules():
        for pieces in (rule.bad, rule.good):
            text, used = in_dialect(pieces, dialect)
            if used == dialect:
                try:
                    ElementTree.fromstring(f"<x>{text}</x>")
                except ElementTree.ParseError as error:
                    pytest.fail(f"{rule.code}: {error}: {text}")


@pytest.mark.slow
def test_commands_of_snippets_are_those_that_there_are() -> None:
    for rule in all_rules():
        for pieces in (rule.bad, rule.good):
            for line in pieces.get("shell", "").splitlines():
                parser().parse_args(line.split()[1:])


def test_commands_of_the_readme_are_those_that_there_are() -> None:
    lines = [line for code in blocks("bash") for line in code.splitlines()]
    commands = [shlex.split(line, comments=True) for line in lines]
    ours = [command[1:] for command in commands if command[:1] == ["regularize"]]
    assert ours
    for command in ours:
        assert hasattr(parser().parse_args(command), "run")


@pytest.mark.slow
@pytest.mark.formats("freecad")
def test_snippets_are_in_the_dialect_of_the_file(capsys: pytest.CaptureFixture[str]) -> None:
    assert "Bad, in URDF" in said(capsys, "explain", "REG201", FOUR_BAR)
    assert "Good, in MJCF" in said(capsys, "explain", "REG201", "--in", "mjcf")
    assert "Bad, in the CAD assembly" in said(
        capsys, "explain", "REG201", str(ASSETS / "crank_slider.FCStd")
    )
    assert "Bad, in the terminal" in said(capsys, "explain", "REG302")
    assert "Bad, in USD" in said(capsys, "explain", "REG201", "--in", "usd")
    assert main(["explain", "REG201", "no/such/file"]) == 2
