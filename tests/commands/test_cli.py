"""The command line: verbs, exit status, streams and batch."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

import regularize as rg
from regularize.adapters import adapters
from regularize.adapters.common import console
from regularize.cli import main

BROKEN = '<?xml version="1.0"?>\n<robot name="r">\n  <joint name="j" type="revolute">\n'


@pytest.fixture
def fourbar(assets: Path) -> str:
    return str(assets / "planar_fourbar.urdf")


@pytest.fixture
def clean(assets: Path) -> str:
    return str(assets / "three_upu.urdf")


@pytest.fixture
def broken(tmp_path: Path) -> str:
    path = tmp_path / "broken.urdf"
    path.write_text(BROKEN)
    return str(path)


@pytest.mark.slow
def test_exit_status_follows_fail_on(fourbar: str, clean: str) -> None:
    assert main(["check", clean]) == 0
    assert main(["check", fourbar]) == 1
    assert main(["check", fourbar, "--fail-on", "error"]) == 0
    assert main(["check", fourbar, "--fail-on", "never"]) == 0


def test_unreadable_input_is_one_line_on_standard_error(
    broken: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["check", broken]) == 2
    out, err = capsys.readouterr()
    assert out == ""
    assert err.startswith(f"regularize: {broken}") and err.count("\n") == 1


def test_what_ci_reads_has_models_that_cannot_be_read(
    broken: str, fourbar: str, capsys: pytest.CaptureFixture[str]
) -> None:
    def said(*arguments: str) -> str:
        assert main(["check", broken, *arguments]) == 2
        return capsys.readouterr().out

    for more in ([], [fourbar]):
        title = "::error title=REG000 unreadable-model,file=" + broken + ",line=4::"
        assert said(*more, "--output", "github").startswith(title)
        assert said(*more, "--output", "concise").startswith(f"{broken}:4: REG000 ")
        (run,) = json.loads(said(*more, "--output", "sarif"))["runs"]
        result = next(r for r in run["results"] if r["ruleId"] == "REG000")
        place = result["locations"][0]["physicalLocation"]
        assert place["region"]["startLine"] == 4 and place["artifactLocation"]["uri"][-3:] == "rdf"
        (invocation,) = run["invocations"]
        assert not invocation["executionSuccessful"] and invocation["toolExecutionNotifications"]
        lines = map(json.loads, said(*more, "--output", "jsonl").splitlines())
        assert [line["model"]["path"] for line in lines if "unreadable" in line] == [broken]
        assert json.loads(said(*more, "--output", "json"))["unreadable"][0]["path"] == broken


@pytest.mark.parametrize(
    "arguments",
    [
        ["check"],
        ["check", "x.urdf", "--output", "yaml"],
        ["check", "x.urdf", "--select", "XYZ"],
        ["check", "x.urdf", "--rtol", "-1"],
        ["no-such-verb"],
    ],
)
def test_wrong_usage_is_exit_status_2(arguments: list[str]) -> None:
    with pytest.raises(SystemExit) as stop:
        main(arguments)
    assert stop.value.code == 2


def test_missing_file_and_empty_pattern(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["check", "no/such/file.urdf"]) == 2
    assert main(["check", "no/such/*.urdf"]) == 2
    err = capsys.readouterr().err
    assert "no file matches the pattern" in err and "Traceback" not in err


@pytest.mark.slow
def test_select_and_ignore_decide_what_is_found(
    fourbar: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["check", fourbar, "--output", "concise", "--ignore", "reg201"]) == 0
    assert "REG201" not in capsys.readouterr().out
    assert main(["check", fourbar, "--output", "concise", "--select", "REG1,REG201"]) == 1
    lines = capsys.readouterr().out.splitlines()
    assert len(lines) == 1 and "REG201" in lines[0]


@pytest.mark.slow
def test_concise_lines_name_file_and_line(fourbar: str, capsys: pytest.CaptureFixture[str]) -> None:
    main(["check", fourbar, "--output", "concise"])
    first = capsys.readouterr().out.splitlines()[0]
    path, line, rest = first.split(":", 2)
    assert path == fourbar and rest.startswith(" REG201 ")
    assert 'name="D"' in Path(path).read_text().splitlines()[int(line) - 1]


@pytest.mark.slow
def test_output_file_is_written_whole(
    fourbar: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    out = tmp_path / "new" / "report.json"
    assert main(["check", fourbar, "--output", "json", "-o", str(out)]) == 1
    assert json.loads(out.read_text())["mobility"]["actual"] == 1
    assert capsys.readouterr().out == ""
    assert [path.name for path in out.parent.iterdir()] == ["report.json"]


@pytest.mark.slow
def test_plain_when_piped_and_when_colour_is_unwanted(
    fourbar: str, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    main(["check", fourbar])
    assert "\x1b" not in capsys.readouterr().out
    main(["check", fourbar, "--color", "always"])
    assert "\x1b[" in capsys.readouterr().out
    monkeypatch.setenv("NO_COLOR", "1")
    monkeypatch.setattr("sys.stdout.isatty", lambda: True, raising=False)
    main(["check", fourbar])
    assert "\x1b" not in capsys.readouterr().out


@pytest.mark.slow
@pytest.mark.parametrize(
    "verb", [["check", "--output=concise"], ["fix", "--diff"], ["reduce", "-o", "{}"]]
)
def test_what_takes_long_is_shown_on_a_terminal_and_changes_no_output(
    verb: list[str],
    fourbar: str,
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    words = [verb[0], fourbar, *(x.format(tmp_path / "out") for x in verb[1:])]
    main(words)
    piped = capsys.readouterr()
    monkeypatch.setattr(console, "SHOWN", -1.0)
    monkeypatch.setattr(console, "EVERY", 1e-3)
    monkeypatch.setattr("sys.stderr.isatty", lambda: True, raising=False)
    main(words)
    shown = capsys.readouterr()
    assert shown.out == piped.out
    assert "checking" in shown.err or f"regularize {verb[0]} " in shown.err
    assert shown.err.rsplit("\r", 1)[-1] in ("", piped.err)  # what was drawn is wiped


@pytest.mark.slow
def test_batch_gives_one_table_and_one_exit_status(
    fourbar: str,
    clean: str,
    broken: str,
    capsys: pytest.CaptureFixture[str],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setenv("COLUMNS", "120")
    assert main(["check", clean, clean.replace("three_upu", "delta_universal")]) == 0
    capsys.readouterr()
    assert main(["check", fourbar, clean]) == 1
    assert main(["check", fourbar, broken, clean]) == 2
    out, err = capsys.readouterr()
    assert "unreadable" in out and "2 models checked" in out
    assert "1 could not be read" in " ".join(out.split())
    assert err.count("\n") == 1 and broken in err


@pytest.mark.slow
def test_batch_in_parallel_gives_the_same_as_one_by_one(
    assets: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    names = ("planar_fourbar", "sarrus", "bennett", "rssr", "slider_crank")
    files = [str(assets / f"{name}.urdf") for name in names]
    results = []
    for jobs in ("1", "2"):
        main(["check", *files, "--output", "json", "-j", jobs])
        results.append(json.loads(capsys.readouterr().out))
    assert results[0] == results[1]
    assert [entry["model"]["path"] for entry in results[0]["reports"]] == files


@pytest.mark.slow
def test_batch_of_a_pattern(assets: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["check", str(assets / "**" / "spherical_*.urdf"), "-j", "1"]) == 1
    assert "3 models checked" in capsys.readouterr().out


@pytest.mark.slow
def test_a_parser_that_kills_its_process_costs_one_model(fourbar: str, tmp_path: Path) -> None:
    (tmp_path / "crashing.py").write_text(
        "import os\n"
        "from regularize.adapters import Adapter\n"
        "FORMAT = Adapter('crashing', 'Crashing', ('.crashing',), reader='crashing:read',\n"
        "                 sniff=lambda head: head == b'crash')\n"
        "def read(path):\n"
        "    os._exit(9)\n"
    )
    package = tmp_path / "crashing-1.0.dist-info"
    package.mkdir()
    (package / "METADATA").write_text("Metadata-Version: 2.1\nName: crashing\nVersion: 1.0\n")
    (package / "entry_points.txt").write_text("[regularize.adapters]\nodd = crashing:FORMAT\n")
    crash = tmp_path / "m.crashing"
    crash.write_text("crash")
    others = [Path(fourbar).with_name(f"{name}.urdf") for name in ("sarrus", "bennett")]
    command = [sys.executable, "-m", "regularize", "check", "-j", "2", "--output", "concise"]
    paths = os.pathsep.join([str(tmp_path), str(Path(__file__).parents[2])])
    done = subprocess.run(
        [*command, fourbar, str(crash), *map(str, others)],
        env={**os.environ, "PYTHONPATH": paths},
        capture_output=True,
        text=True,
    )
    assert done.returncode == 2
    assert f"{crash}: the parser crashed on this file" in " ".join(done.stderr.split())
    assert all(Path(each).name in done.stdout for each in (fourbar, *others))


@pytest.mark.slow
def test_html_of_several_models(fourbar: str, clean: str, tmp_path: Path) -> None:
    assert main(["check", fourbar, clean, "--output", "html"]) == 2
    assert main(["check", fourbar, clean, "--output", "html", "-o", str(tmp_path / "out")]) == 1
    pages = sorted(path.name for path in (tmp_path / "out").iterdir())
    assert pages == ["index.html", "planar_fourbar.html", "three_upu.html"]
    assert 'href="planar_fourbar.html"' in (tmp_path / "out" / "index.html").read_text()


def test_explain(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["explain", "reg202"]) == 0
    out = capsys.readouterr().out
    for title in ("What it is", "Why it matters", "Example", "What to do", "Reference"):
        assert f"\n{title}\n" in out
    assert main(["explain", "REG999"]) == 2
    assert main(["explain"]) == 0
    assert "REG201" in capsys.readouterr().out


def test_formats_names_every_format_and_what_computes_dynamics(
    fourbar: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["formats"]) == 0
    out = capsys.readouterr().out
    assert all(name in out for name in adapters())
    robot = rg.to_pinocchio(fourbar)
    computed = f"dynamics: {'Python' if robot.kernel is None else 'compiled'}"
    assert out.splitlines()[-1].startswith(computed)


@pytest.mark.slow
@pytest.mark.parametrize("suffix", ["glb", "svg", "html"])
def test_show_writes_what_the_ending_says(fourbar: str, tmp_path: Path, suffix: str) -> None:
    if suffix == "svg":
        pytest.importorskip("matplotlib")
    out = tmp_path / f"picture.{suffix}"
    assert main(["show", fourbar, "-o", str(out)]) == 0
    start = {"glb": b"glTF", "svg": b"<?xml", "html": b"<!DOCTYPE html>"}[suffix]
    assert out.read_bytes().startswith(start)


@pytest.mark.slow
def test_show_opens_the_report_where_there_is_no_viewer(
    fourbar: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    opened: list[str] = []
    monkeypatch.setattr("webbrowser.open", opened.append)
    assert main(["show", fourbar, "--html"]) == 0
    path = Path(opened[0].removeprefix("file://"))
    assert "<canvas" not in path.read_text() and 'id="scene"' in path.read_text()
    shutil.rmtree(path.parent)


@pytest.mark.slow
@pytest.mark.parametrize(
    ("verb", "status"),
    [("check", 1), ("reduce", 0), ("fix", 0), ("simulate", 0), ("explain", 0), ("--help", 0)],
)
def test_python_without_docstrings_and_assertions(
    assets: Path, tmp_path: Path, verb: str, status: int
) -> None:
    model = str(shutil.copy(assets / "slider_crank.urdf", tmp_path / "m.urdf"))
    options = {
        "check": [model, "-v", "--proof", str(tmp_path / "proof.json")],
        "simulate": [model, "--duration", "0.01"],
        "reduce": [model, "-o", str(tmp_path / "out.urdf")],
        "fix": [model, "--in-place"],
        "explain": ["REG201", model],
    }
    outputs = []
    for python in (["-OO"], []):
        shutil.copy(assets / "slider_crank.urdf", model)
        command = [sys.executable, *python, "-m", "regularize", verb, *options.get(verb, [])]
        done = subprocess.run(command, capture_output=True, text=True)
        assert (done.returncode, done.stderr) == (status, "")
        outputs.append(done.stdout.partition("Found 1")[0])
    assert outputs[0] == outputs[1] != ""
