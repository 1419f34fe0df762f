"""What another machine does in MuJoCo, so that it does not take a model's place."""

from pathlib import Path

import pytest

import regularize as rg
from regularize.repair.engines.table import engines
from regularize.repair.engines.trial import Handed, MotionTrial

pytest.importorskip("mujoco")
ASSETS = Path(__file__).resolve().parents[2] / "assets"


def test_what_no_gravity_moves_is_moved(tmp_path: Path) -> None:
    rg.save(ASSETS / "roberval_balance.urdf", tmp_path / "scales.xml")
    text = (tmp_path / "scales.xml").read_text()
    bare = text[: text.index("<actuator>")] + text[text.index("</actuator>") + 11 :]
    (tmp_path / "scales.xml").write_text(bare)
    scales = rg.load(tmp_path / "scales.xml")
    trial = MotionTrial(engines()["mujoco"], Handed(scales, scales.path))
    assert trial.recorded is not None and trial.drive[0] == "loads"
    assert trial.recorded.travel(trial.size) > 0.1 * trial.size


@pytest.mark.parametrize(
    ("old", "new", "words"),
    [
        ('<connect name="pin_left', '<connect active="false" name="pin_left', "loops open by"),
        ("</worldbody>", '<geom type="plane" size="1 1 1"/></worldbody>', ""),
        ("</actuator>", '<motor joint="plunger"/></actuator>', "motors: 1 before, 2 after"),
        ("<equality>", '<equality><weld body1="slider"/>', "freedoms: 1 before, 0 after"),
    ],
)
def test_another_machine_is_refused_by_name(old: str, new: str, words: str, tmp_path: Path) -> None:
    gripper = tmp_path / "gripper.xml"
    rg.save(ASSETS / "gripper.urdf", gripper)
    trial = MotionTrial(engines()["mujoco"], Handed(rg.load(gripper), str(gripper)))
    other = tmp_path / "other.xml"
    other.write_text(gripper.read_text().replace(old, new))
    after = Handed(rg.load(gripper), str(other))
    if not words:
        assert trial.compare(after).moved
        return
    with pytest.raises(rg.ModelError, match=words):
        trial.compare(after)
