"""SDF files in libsdformat, the parser of Gazebo: it reads them, and says nothing."""

from __future__ import annotations

import shutil
import subprocess
from pathlib import Path

import pytest

import regularize as rg

ASSETS = Path(__file__).resolve().parents[2] / "assets"
PROGRAM = """
#include <iostream>
#include <sdf/sdf.hh>
int main(int, char **argv) {
  sdf::Root root;
  const auto errors = root.Load(argv[1]);
  for (const auto &error : errors) std::cout << error << std::endl;
  const auto *model = root.Model();
  if (model != nullptr) std::cout << "model " << model->LinkCount() << " " << model->JointCount();
  return errors.empty() && model != nullptr ? 0 : 1;
}
"""


@pytest.fixture(scope="module")
def parser(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A program that loads one file and prints what libsdformat says of it."""
    if shutil.which("c++") is None or shutil.which("pkg-config") is None:
        pytest.skip("no C++ compiler, or no pkg-config")
    listed = subprocess.run(["pkg-config", "--list-all"], capture_output=True, text=True).stdout
    libraries = sorted(line.split()[0] for line in listed.splitlines() if line[:8] == "sdformat")
    if not libraries:
        pytest.skip("no libsdformat")
    command = ["pkg-config", "--cflags", "--libs", libraries[-1]]
    flags = subprocess.run(command, capture_output=True, text=True, check=True).stdout.split()
    folder = tmp_path_factory.mktemp("parser")
    (folder / "load.cc").write_text(PROGRAM)
    made = ["c++", "-std=c++17", str(folder / "load.cc"), "-o", str(folder / "load"), *flags]
    subprocess.run(made, check=True)
    return folder / "load"


MODELS = ("planar_fourbar", "gripper", "stewart_6ups", "slider_crank", "walker", "delta_universal")


@pytest.mark.parametrize("name", MODELS)
def test_exported_files_are_read_without_a_message(name: str, tmp_path: Path, parser: Path) -> None:
    rg.save(rg.load(ASSETS / f"{name}.urdf"), tmp_path / "model.sdf")
    run = subprocess.run([parser, tmp_path / "model.sdf"], capture_output=True, text=True)
    assert run.returncode == 0 and run.stderr == "", run.stdout + run.stderr
    assert run.stdout.startswith("model ")


def test_colours_and_capsules_are_where_the_specification_has_them(
    tmp_path: Path, parser: Path
) -> None:
    path = tmp_path / "pendulum.xml"
    path.write_text(
        '<mujoco><worldbody><body name="bob"><joint name="pin" axis="0 1 0"/>'
        '<geom type="capsule" size=".1 .2" rgba="1 0 0 1"/></body></worldbody></mujoco>'
    )
    machine = rg.load(path)
    assert rg.save(machine, tmp_path / "model.sdf") == ()
    run = subprocess.run([parser, tmp_path / "model.sdf"], capture_output=True, text=True)
    assert (run.returncode, run.stdout, run.stderr) == (0, "model 1 1", "")
    (shape,) = rg.load(tmp_path / "model.sdf").body("bob").geometry
    assert shape.collision and shape.color == (1.0, 0.0, 0.0, 1.0)
