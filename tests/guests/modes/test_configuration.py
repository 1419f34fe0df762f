"""What a project agrees on: configuration, accepted findings, baselines, hooks."""

from __future__ import annotations

import json
import re
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
import yaml

import regularize as rg
from regularize.cli import main

ROOT = Path(__file__).resolve().parents[3]
FOURBAR = ROOT / "assets" / "planar_fourbar.urdf"


@pytest.fixture
def model(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A four-bar in a folder of its own, which is the current one."""
    monkeypatch.chdir(tmp_path)
    shutil.copy(FOURBAR, tmp_path / "fourbar.urdf")
    return tmp_path / "fourbar.urdf"


def commented(model: Path, comment: str, before: str = '<loop name="D"') -> Path:
    """The model with a comment on the line before an element."""
    text = model.read_text()
    assert before in text
    model.write_text(text.replace(before, f"<!-- {comment} -->\n  {before}"))
    return model


def said(capsys: pytest.CaptureFixture[str], *arguments: str) -> tuple[int, dict[str, Any]]:
    status = main(["check", *arguments, "--output", "json"])
    out = capsys.readouterr().out
    return status, json.loads(out)


@pytest.mark.slow
@pytest.mark.parametrize(
    ("comment", "before", "accepted"),
    [
        ("ignore REG201 meant so", '<loop name="D"', {"REG201"}),
        ("ignore REG201 meant so", '<link name="crank"', set()),
        ("ignore REG999 meant so", '<loop name="D"', set()),
        ("ignore-file REG201, REG220 meant so", '<link name="crank"', {"REG201", "REG220"}),
        ("ignore REG201", '<loop name="D"', set()),  # without a reason it is not followed
    ],
)
def test_a_comment_accepts_what_stands_below_it(
    model: Path, capsys: pytest.CaptureFixture[str], comment: str, before: str, accepted: set[str]
) -> None:
    commented(model, f"regularize: {comment}", before)
    status, report = said(capsys, str(model))
    assert status == (not accepted)
    codes = {d["code"] for d in report["diagnostics"]}
    assert ("REG201" in codes) == (not accepted)
    assert ("REG020" in codes) == (not comment.endswith("so"))
    assert {entry["code"] for entry in report["suppressed"]} == accepted
    told = {(entry["by"], entry["reason"]) for entry in report["suppressed"]}
    assert told <= {("comment", "meant so")}


@pytest.mark.slow
def test_sarif_has_accepted_findings_with_their_reason(
    model: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    commented(model, "regularize: ignore REG201 meant so")
    main(["check", str(model), "--output", "sarif"])
    results = json.loads(capsys.readouterr().out)["runs"][0]["results"]
    found = {r["ruleId"]: r.get("suppressions") for r in results}
    assert found["REG201"] == [
        {"kind": "inSource", "status": "accepted", "justification": "meant so"}
    ]
    assert found["REG220"] is None


@pytest.mark.slow
def test_the_configuration_counts_where_the_command_line_is_silent(model: Path) -> None:
    config = model.parent / "pyproject.toml"
    config.write_text("[tool.other]\n")
    assert main(["check", str(model), "-q"]) == 1
    config.write_text('[tool.regularize]\nfail-on = "error"\n')
    assert main(["check", str(model), "-q"]) == 0
    assert main(["check", str(model), "-q", "--fail-on", "warning"]) == 1
    config.write_text('[tool.regularize]\nignore = ["REG201"]\n')
    assert main(["check", str(model), "-q"]) == 0
    assert main(["check", str(FOURBAR), "-q", "--config", str(config)]) == 0


@pytest.mark.slow
def test_the_configuration_accepts_by_files_and_joints(model: Path) -> None:
    entry = '[[suppress]]\ncodes = ["REG2"]\nreason = "meant so"\n'
    config = model.parent / "regularize.toml"
    for more, status in (
        ("", 0),
        ('files = "*fourbar.urdf"\n', 0),
        ('files = "other*.urdf"\n', 1),
        ('joints = ["D"]\n', 0),
        ('joints = ["none"]\n', 1),
    ):
        config.write_text(entry + more)
        assert main(["check", str(model), "-q"]) == status, more


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("ignor = []", "did you mean 'ignore'?"),
        ('fail-on = "fatal"', "expected one of"),
        ('select = "REG2"', "expected a list of strings"),
        ('[[suppress]]\ncodes = ["REG201"]', "needs codes and a reason"),
        ('[[suppress]]\ncode = ["REG201"]', "did you mean 'codes'?"),
        (
            '[[suppress]]\ncodes = ["REG2"]\nreason = "so"\nfiles = 3',
            "files of suppress: expected one pattern",
        ),
        ("suppress = 3", "expected entries"),
        ("baseline = 3", "expected the name of a file"),
        ("a = ", "is not TOML"),
    ],
)
def test_a_faulty_configuration_is_an_error(
    model: Path, capsys: pytest.CaptureFixture[str], text: str, words: str
) -> None:
    (model.parent / "regularize.toml").write_text(text)
    assert main(["check", str(model)]) == 2
    error = capsys.readouterr().err
    assert words in error
    assert "regularize.toml" in error


@pytest.mark.slow
def test_a_baseline_leaves_out_what_was_known(
    model: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["check", str(model), "-q", "--write-baseline", "known.json"]) == 1
    first = Path("known.json").read_bytes()
    assert main(["check", str(model), "-q", "--baseline", "known.json"]) == 0
    commented(model, "another line")
    assert main(["check", str(model), "-q", "--baseline", "known.json"]) == 0
    assert main(["check", str(model), "-q", "--write-baseline", "known.json"]) == 1
    assert Path("known.json").read_bytes() == first
    assert main(["check", str(ROOT / "assets/sarrus.urdf"), "-q", "--baseline", "known.json"]) == 1
    Path("known.json").write_text("[]")
    capsys.readouterr()
    assert main(["check", str(model), "--baseline", "known.json"]) == 2
    assert "--write-baseline" in capsys.readouterr().err


@pytest.mark.slow
def test_a_suppression_names_one_finding_by_its_mark(model: Path) -> None:
    assert main(["check", str(model), "-q", "--write-baseline", "known.json"]) == 1
    assert main(["check", str(model), "-q", "--baseline", "known.json"]) == 0
    text = Path("known.json").read_text()
    Path("known.json").write_text(re.sub(r"\b[0-9a-f]{32}\b", "0" * 32, text))
    assert Path("known.json").read_text() != text
    assert main(["check", str(model), "-q", "--baseline", "known.json"]) == 1


@pytest.mark.slow
def test_json_has_one_shape_for_one_model_and_for_many(
    model: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    _, one = said(capsys, str(model))
    _, many = said(capsys, str(model), str(FOURBAR))
    assert set(many) <= set(one)
    assert [len(each["reports"]) for each in (one, many)] == [1, 2]
    assert set(one["reports"][0]) == set(many["reports"][1])
    assert main(["check", str(model), str(FOURBAR), "--output", "jsonl"]) == 1
    lines = capsys.readouterr().out.splitlines()
    assert [json.loads(line)["mobility"] for line in lines] == [
        report["mobility"] for report in many["reports"]
    ]


@pytest.mark.parametrize("shell", ["bash", "zsh"])
def test_completion_knows_the_verbs(shell: str, capsys: pytest.CaptureFixture[str]) -> None:
    pytest.importorskip("shtab")
    assert main(["completion", shell]) == 0
    script = capsys.readouterr().out
    assert "simulate" in script
    assert "--fail-on" in script


@pytest.mark.slow
def test_hooks_run_as_they_stand(model: Path) -> None:
    hooks = {
        hook["id"]: hook for hook in yaml.safe_load((ROOT / ".pre-commit-hooks.yaml").read_text())
    }
    command = [sys.executable, "-m", *hooks["regularize"]["entry"].split(), str(model)]
    found = subprocess.run(command, capture_output=True, text=True, check=False)
    assert found.returncode == 1
    assert "REG201" in found.stdout
    pytest.importorskip("mujoco")
    redundant, part = model.with_suffix(".xml"), model.with_name("package.xml")
    rg.save(rg.load(model), redundant, format="mjcf")
    part.write_text("<package/>")
    command = [sys.executable, "-m", *hooks["regularize-mjcf"]["entry"].split()]
    found = subprocess.run([*command, str(part), str(redundant)], capture_output=True, text=True)
    assert (found.returncode, found.stderr) == (1, "") and str(redundant) in found.stdout
    assert subprocess.run([*command, str(part)], check=False).returncode == 0


@pytest.mark.slow
@pytest.mark.skipif(shutil.which("bash") is None, reason="needs bash")
def test_the_action_checks_patterns(model: Path, tmp_path: Path) -> None:
    action = yaml.safe_load((ROOT / ".github/actions/check/action.yml").read_text())
    step = action["runs"]["steps"][1]
    assert set(step["env"]) == {"FILES", "FAIL_ON", "ARGUMENTS", "SARIF"}
    program = tmp_path / "regularize" / "bin" / "regularize"
    program.parent.mkdir(parents=True)
    program.write_text(f'#!/bin/sh\nexec "{sys.executable}" -m regularize "$@"\n')
    program.chmod(0o755)
    environment = {
        "RUNNER_TEMP": str(tmp_path),
        "FILES": "*.urdf $(touch stolen)",
        "FAIL_ON": "error",
        "ARGUMENTS": "",
        "SARIF": "",
        "PATH": "/usr/bin:/bin",
        "PYTHONPATH": str(ROOT),
    }
    command = ["bash", "-c", step["run"]]
    found = subprocess.run(command, capture_output=True, text=True, check=False, env=environment)
    assert found.returncode == 2  # there is no file of that name
    assert not (model.parent / "stolen").exists()
    environment["FILES"] = "*.urdf"
    found = subprocess.run(command, capture_output=True, text=True, check=False, env=environment)
    assert found.returncode == 0
    assert found.stdout.startswith("::warning ")


@pytest.mark.slow
@pytest.mark.parametrize(
    "text",
    [
        'ignore = ["REG2"]',
        '[tool.regularize]\nignore = ["REG2"]',
        'ignore = ["REG2"]\n[tool.regularize]\nfail-on = "error"\n[tool.other]\nx = 1',
    ],
)
def test_entries_stand_at_the_top_of_a_file_or_in_their_section(
    text: str, model: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    Path("c.toml").write_text(text)
    main(["check", str(model), "--output", "concise"])
    assert "REG201" in capsys.readouterr().out
    assert main(["check", str(model), "--output", "concise", "--config", "c.toml"]) == 0
    assert "REG2" not in capsys.readouterr().out


@pytest.mark.parametrize("name", ["regularize.toml", "pyproject.toml"])
def test_a_folder_is_no_configuration(
    name: str, model: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    Path(name).unlink(missing_ok=True)
    Path(name).mkdir()
    assert main(["check", str(model)]) == 2
    assert "is a folder" in capsys.readouterr().err
