"""The joints that a model, or the file beside it, calls actuated are the inputs by default."""

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

import regularize as rg

ASSETS = Path(__file__).resolve().parents[2] / "assets"
CORPUS = Path(__file__).resolve().parents[3] / "shared" / "corpus" / "gepetto_yaml"


def driven(*names: str, asset: str = "planar_fourbar") -> rg.Mechanism:
    mechanism = rg.load(ASSETS / f"{asset}.urdf")
    joints = tuple(replace(j, actuated=j.name in names) for j in mechanism.joints)
    return replace(mechanism, joints=joints)


@pytest.mark.slow
@pytest.mark.parametrize("name", ["A", "B", "C"])
def test_the_driven_joint_is_the_independent_one(name: str) -> None:
    mechanism = driven(name)
    assert rg.partition(mechanism).independent == (name,)
    reduction = rg.reduce(mechanism)
    assert rg.reduced_model(reduction).inputs == (name,)


def test_a_choice_of_ones_own_comes_first() -> None:
    mechanism = driven("A")
    assert rg.partition(mechanism, independent=["C"]).independent == ("C",)
    assert rg.reduced_model(mechanism, ["C"]).inputs == ("C",)


@pytest.mark.slow
def test_more_motors_than_freedoms_are_no_fault() -> None:
    """Redundantly actuated: as many as are independent are taken, the first ones first."""
    assert rg.partition(driven("A", "B", "C", "D")).independent == ("A",)
    with pytest.raises(rg.ModelError, match="1 freedoms, and 4 inputs"):
        rg.reduced_model(driven("A", "B", "C", "D"))
    with pytest.raises(rg.ModelError, match="does not say which joints are actuated"):
        rg.reduced_model(driven())


def test_motors_of_a_sidecar() -> None:
    """``name_mot`` of a Gepetto file names the inputs of a five-bar."""
    folder = CORPUS / "5bar_linkage"
    if not folder.exists():
        pytest.skip("no corpus")
    mechanism = rg.load(folder)
    motors = tuple(joint.name for joint in mechanism.joints if joint.actuated)
    assert len(motors) == 2
    found = rg.partition(mechanism).independent
    assert set(motors) <= set(found)


@pytest.mark.slow
@pytest.mark.parametrize("name", ["A", "B", "C"])
def test_motors_are_the_minimal_coordinates_where_they_determine_the_others_well(name: str) -> None:
    reduction = rg.reduce(driven(name))
    assert rg.minimal_dynamics(reduction).independent == (name,)
    best = rg.minimal_dynamics(rg.reduce(driven())).independent
    assert rg.minimal_dynamics(rg.reduce(driven("A", "B"))).independent == best


@pytest.mark.slow
def test_motors_that_hardly_move_the_rest_are_no_minimal_coordinates() -> None:
    """Near where crank and coupler are in line, the rocker says next to nothing of them."""
    reduction = rg.reduce(driven("D"), cuts=["B"])
    assert rg.minimal_dynamics(reduction).independent == ("D",)
    run = rg.simulate(reduction, duration=1.0, rates={"A": 8.0})
    crank, rocker = (run.coordinates[:, run.names.index(name)] for name in "AD")
    dead = np.argmin(np.abs(np.gradient(rocker, crank)))
    assert not rg.minimal_dynamics(reduction).findings
    there = rg.minimal_dynamics(reduction, q=run.q[dead])
    assert there.independent != ("D",)
    [finding] = there.findings
    assert finding.code == "REG331"
    assert "not those of the motors `D`: at the start" in finding.message


def test_motors_where_loops_are_cut_are_said_to_have_no_coordinate() -> None:
    dynamics = rg.minimal_dynamics(rg.reduce(driven("D"), cuts=["D"]))
    assert "at `D` loops are cut" in dynamics.findings[0].message
    assert not rg.minimal_dynamics(dynamics.robot.reduction, dynamics.independent).findings
