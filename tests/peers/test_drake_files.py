"""Files for Drake, which reads closures of MJCF by body and anchor alone."""

from pathlib import Path
from typing import Any
from xml.etree import ElementTree

import numpy as np
import pytest
from test_patching import BARS

import regularize as rg
from regularize.cli import main

parsing = pytest.importorskip("pydrake.multibody.parsing")
plants = pytest.importorskip("pydrake.multibody.plant")
ASSETS = Path(__file__).resolve().parents[2] / "assets"


def plant_of(path: Path) -> Any:
    """A finished plant that takes constraints, and what a file holds."""
    plant = plants.MultibodyPlant(0.001)
    plant.set_discrete_contact_approximation(plants.DiscreteContactApproximation.kSap)
    parsing.Parser(plant).AddModels(str(path))
    plant.Finalize()
    return plant


def test_a_loop_of_sites_is_closed_in_drake_after_fix(tmp_path: Path) -> None:
    path = tmp_path / "sites.xml"
    path.write_text(BARS.replace("<mujoco>", '<mujoco model="m">'))
    fixed = rg.fix(path, as_is=True).write(tmp_path / "fixed.xml")  # softness is not at issue
    before, after = plant_of(path), plant_of(fixed)
    assert (before.num_constraints(), before.num_velocities()) == (0, 3)
    assert (after.num_constraints(), after.num_velocities()) == (1, 4)


@pytest.mark.parametrize("name", ["planar_fourbar", "gripper"])
def test_every_loop_is_one_constraint_in_drake(name: str, tmp_path: Path) -> None:
    main(["reduce", str(ASSETS / f"{name}.urdf"), "--to", "mjcf", "-o", str(tmp_path)])
    plant = plant_of(tmp_path / f"{name}.xml")
    loops = rg.reduce(rg.load(ASSETS / f"{name}.urdf")).graph.loops
    mobility = rg.reduce(rg.load(tmp_path / f"{name}.xml")).mobility
    assert plant.num_constraints() == loops
    assert plant.num_velocities() - 3 * loops == mobility  # three rows each, none redundant


@pytest.mark.parametrize(
    "name", ["planar_fourbar", "slider_crank", "rssr", "walker", "stewart_6ups"]
)
def test_files_for_drake_keep_their_loops_there(name: str, tmp_path: Path) -> None:
    model = ASSETS / f"{name}.urdf"
    path = tmp_path / f"{name}.xml"
    assert main(["export", str(model), "--to", "drake", "-o", str(path), "--fail-on", "never"]) == 0
    plant = plant_of(path)
    connects = ElementTree.parse(path).findall("equality/connect")
    assert plant.num_constraints() == len(connects) > 0
    assert rg.reduce(path).mobility == rg.reduce(model).mobility
    freedoms = sum(joint.freedoms for joint in rg.load(path).joints if not joint.closure)
    assert plant.num_velocities() == freedoms
    masses = plant.CalcMassMatrix(plant.CreateDefaultContext())
    assert np.linalg.eigvalsh(masses).min() > 0.0  # no massless ends


def test_followers_of_sdf_files_follow_in_drake(tmp_path: Path) -> None:
    made = rg.assembly("belt")
    for name, x in (("A", 0.0), ("B", 1.0)):
        made.body(f"wheel_{name}", mass=1.0, com=(x, 0, 0), inertia=0.01 * np.eye(3))
        made.hinge(name, "ground", f"wheel_{name}", at=(x, 0, 0), axis=(0, 0, 1))
    made.coupling("belt", {"B": 1.0, "A": -2.0}, 0.1)
    rg.save(made.mechanism(), tmp_path / "belt.sdf")
    plant = plant_of(tmp_path / "belt.sdf")
    assert (plant.num_velocities(), plant.num_constraints()) == (2, 1)
