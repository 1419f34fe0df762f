"""Reduced MJCF files in Drake, which reads closures by body and anchor alone."""

from pathlib import Path
from xml.etree import ElementTree

import numpy as np
import pytest

import regularize as rg
from regularize.cli import main

parsing = pytest.importorskip("pydrake.multibody.parsing")
plants = pytest.importorskip("pydrake.multibody.plant")
ASSETS = Path(__file__).resolve().parents[2] / "assets"


@pytest.mark.parametrize("name", ["planar_fourbar", "gripper"])
def test_every_loop_is_one_constraint_in_drake(name: str, tmp_path: Path) -> None:
    main(["reduce", str(ASSETS / f"{name}.urdf"), "--to", "mjcf", "-o", str(tmp_path)])
    plant = plants.MultibodyPlant(0.001)
    plant.set_discrete_contact_approximation(plants.DiscreteContactApproximation.kSap)
    parsing.Parser(plant).AddModels(str(tmp_path / f"{name}.xml"))
    plant.Finalize()
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
    plant = plants.MultibodyPlant(0.001)
    plant.set_discrete_contact_approximation(plants.DiscreteContactApproximation.kSap)
    parsing.Parser(plant).AddModels(str(path))
    plant.Finalize()
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
    plant = plants.MultibodyPlant(0.001)
    parsing.Parser(plant).AddModels(str(tmp_path / "belt.sdf"))
    plant.Finalize()
    assert (plant.num_velocities(), plant.num_constraints()) == (2, 1)
