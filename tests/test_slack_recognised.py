"""What `reduce` writes is read without a word about the slack joints that never move."""

from pathlib import Path

import pytest

from regularize.cli import main

ASSETS = Path(__file__).resolve().parents[1] / "assets"


@pytest.mark.parametrize("format", ["urdf", "urdf+", "sdf", "json"])
def test_reduced_models_check_clean(
    format: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    model = str(ASSETS / "planar_fourbar.urdf")
    # What the format cannot hold of the motors is another matter.
    assert main(["reduce", model, "-o", str(tmp_path), "--to", format]) in (0, 1)
    suffix = format.rstrip("+") if format != "json" else "json"
    capsys.readouterr()
    assert main(["check", str(tmp_path / f"planar_fourbar.{suffix}")]) == 0
    assert "REG206" not in capsys.readouterr().out
