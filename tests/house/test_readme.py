"""What the README shows runs as it stands, and its pictures exist."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from regularize.cli import main

ROOT = Path(__file__).resolve().parents[2]
TEXT = (ROOT / "README.md").read_text(encoding="utf-8")


def blocks(language: str) -> list[str]:
    return re.findall(rf"^```{language}\n(.*?)^```$", TEXT, re.S | re.M)


@pytest.mark.slow
def test_the_python_examples_run(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(ROOT)
    namespace: dict[str, object] = {}
    for code in blocks("python"):
        exec(code, namespace)
    assert "3 redundant constraint equations" in capsys.readouterr().out
    assert namespace["reduction"].kept == 2  # type: ignore[attr-defined]
    assert len(namespace["acceleration"]) == namespace["robot"].model.nv  # type: ignore[attr-defined, arg-type]


@pytest.mark.slow
def test_the_report_shown_is_the_report_printed(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(ROOT)
    monkeypatch.setenv("COLUMNS", "120")
    assert main(["check", "assets/slider_crank.urdf", "--fail-on", "error"]) == 0
    printed = capsys.readouterr().out
    (shown,) = blocks("text")
    for line in shown.splitlines():
        assert line.strip(" …") in printed


def test_the_line_of_trust_has_the_lines_of_the_checker() -> None:
    lines = len((ROOT / "regularize/proofs/verifier.py").read_text("utf-8").splitlines())
    assert f"of {lines} lines of Python" in TEXT, "run: python assets/trust.py --write"


def test_the_pictures_exist() -> None:
    for picture in re.findall(r'<img src="([^"]+)"', TEXT):
        assert (ROOT / picture).stat().st_size > 1000
