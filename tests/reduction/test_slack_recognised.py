"""What `reduce` writes is read without a word about the slack joints that never move."""

from pathlib import Path

import numpy as np
import pytest

from regularize.cli import main

ASSETS = Path(__file__).resolve().parents[2] / "assets"


@pytest.mark.slow
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


@pytest.mark.slow
@pytest.mark.parametrize(
    "name",
    [
        "planar_fourbar.urdf",
        pytest.param("crank_slider.FCStd", marks=pytest.mark.formats("freecad")),
    ],
)
def test_slack_joints_close_without_a_redundant_row_in_mjcf(
    name: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    mujoco = pytest.importorskip("mujoco")
    if name.endswith(".FCStd"):
        pytest.importorskip("OCP")
    assert main(["reduce", str(ASSETS / name), "-o", str(tmp_path), "--to", "mjcf"]) in (0, 1)
    [written] = tmp_path.glob("*.xml")
    capsys.readouterr()
    assert main(["check", str(written)]) == 0
    assert not {"REG206", "REG211"} & {*capsys.readouterr().out.replace("]", "[").split("[")}
    model = mujoco.MjModel.from_xml_path(str(written))
    data = mujoco.MjData(model)
    mujoco.mj_forward(model, data)
    rows = data.efc_J.reshape(data.nefc, model.nv)
    assert np.linalg.matrix_rank(rows, tol=1e-6) == data.nefc == model.nv - 1
