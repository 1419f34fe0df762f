"""ROS packages elsewhere: named on the command line, or to `load`."""

from pathlib import Path

import pytest
import trimesh

import regularize as rg
from regularize.cli import main

pytest.importorskip("xacrodoc")
XACRO = "xmlns:xacro='http://www.ros.org/wiki/xacro'"
ROBOT = f"<robot {XACRO} name='r'><xacro:include filename='$(find arm_parts)/arm.xacro'/></robot>"
ARM = f"""<robot {XACRO}><link name="base"/><link name="arm"><visual><geometry>
<mesh filename="package://arm_parts/meshes/box.stl"/></geometry></visual></link>
<joint name="j" type="continuous"><parent link="base"/><child link="arm"/><axis xyz="0 1 0"/>
</joint></robot>"""


@pytest.mark.slow
def test_packages_are_found_where_the_user_says(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    model, package = tmp_path / "here" / "robot.xacro", tmp_path / "elsewhere" / "arm_parts"
    model.parent.mkdir()
    (package / "meshes").mkdir(parents=True)
    model.write_text(ROBOT)
    (package / "arm.xacro").write_text(ARM)
    box = trimesh.creation.box((1, 1, 1))
    box.apply_translation((1, 0, 0))
    box.export(package / "meshes" / "box.stl")
    assert main(["check", str(model)]) == 2
    assert "--package NAME=PATH" in capsys.readouterr().err
    here = ["--package", f"arm_parts={package}"]
    assert main(["check", str(model), *here]) == 0
    simulate = ["simulate", str(model), "--duration", "0.1", "--density", "arm=500"]
    assert main([*simulate, *here]) == 0
    mechanism = rg.load(model, packages={"arm_parts": package})
    inertia = rg.with_density(mechanism, 500.0).body("arm").inertia
    assert inertia is not None
    assert inertia.mass == pytest.approx(500)
    assert inertia.center[0] == pytest.approx(1)
    assert main(["check", str(model), "--package", "arm_parts=nowhere"]) == 2
