"""Scripts for EXUDYN: no redundant equation by its own count, and the same motion."""

from __future__ import annotations

import runpy
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from on_demand import OnDemand, needs

import regularize as rg
from regularize.cli import main

pytestmark = needs("exudyn")
exudyn: Any = OnDemand("exudyn")
ASSETS = Path(__file__).parents[3] / "assets"
NAMES = (
    *("planar_fourbar", "slider_crank", "spherical_fourbar", "spherical_9r", "sarrus", "rssr"),
    *("three_prrr", "three_leg_sarrus", "delta_universal", "stewart_6ups", "double_sarrus"),
    *("orthoglide", "gripper", "walker", "bennett"),
)


def system(model, tmp_path):
    """The assembled system that a script makes."""
    path = tmp_path / "model.py"
    rg.save(model, path, format="exudyn")
    return runpy.run_path(str(path))["mbs"]


@pytest.mark.slow
@pytest.mark.parametrize("name", NAMES)
def test_no_redundant_equation(name, tmp_path):
    reduction = rg.reduce(ASSETS / f"{name}.urdf", configurations=5)
    counted = system(reduction, tmp_path).ComputeSystemDegreeOfFreedom()
    assert counted["redundantConstraints"] == 0
    assert counted["degreeOfFreedom"] == reduction.mobility


def solved(mbs, duration, steps):
    """Positions of the links' frames at the end."""
    settings = exudyn.SimulationSettings()
    settings.timeIntegration.numberOfSteps = steps
    settings.timeIntegration.endTime = duration
    settings.timeIntegration.verboseMode = 0
    settings.solution.file.write = False
    settings.timeIntegration.newton.relativeTolerance = 1e-10
    settings.timeIntegration.generalizedAlpha.spectralRadius = 0.95
    assert mbs.SolveDynamic(settings)


def with_springs(mechanism):
    """The mechanism with a spring and a damper in every joint of one freedom."""
    dynamics = type(mechanism.joints[0].dynamics)(
        damping=[0.02], stiffness=[0.7], rest_position=[0.2]
    )
    joints = [replace(j, dynamics=dynamics) if j.freedoms == 1 else j for j in mechanism.joints]
    return replace(mechanism, joints=tuple(joints))


@pytest.mark.slow
@pytest.mark.parametrize("springs", [False, True])
@pytest.mark.parametrize(
    "name", ["planar_fourbar", "slider_crank", "sarrus", "spherical_fourbar", "delta_universal"]
)
def test_same_motion(name, springs, tmp_path):
    mechanism = rg.load(ASSETS / f"{name}.urdf")
    mechanism = with_springs(mechanism) if springs else mechanism
    duration = 0.3
    mbs = system(mechanism, tmp_path)
    solved(mbs, duration, 3000)
    motion = rg.simulate(mechanism, duration=duration, times=[0.0, duration])
    for body in mechanism.bodies:
        if body.name == mechanism.ground:
            continue
        there = mbs.GetObjectOutputBody(
            mbs.GetObjectNumber(body.name), exudyn.OutputVariableType.Position, [0, 0, 0]
        )
        joint, place = motion.robot.places[body.name]
        ours = (motion.robot.states.poses(motion.q[-1])[joint] @ place)[:3, 3]
        np.testing.assert_allclose(there, ours, atol=1e-4)


def test_command_and_names_that_are_no_identifiers(tmp_path, capsys):
    a = rg.assembly("a \"name\" 'of' \\ mine")
    a.body('ra"m', mass=1.0, com=(0.1, 0, 0), inertia=np.eye(3))
    a.hinge("J'1\n", "ground", 'ra"m', at=(0, 0, 0), axis=(0, 1, 0))
    mbs = system(a.mechanism(), tmp_path)
    assert mbs.GetObject(mbs.GetObjectNumber('ra"m'))["name"] == 'ra"m'
    out = tmp_path / "bar.py"
    arguments = ["export", str(ASSETS / "planar_fourbar.urdf"), "--to", "exudyn", "-o", str(out)]
    assert main(arguments) == 0
    assert "wrote" in capsys.readouterr().out
    assert "mbs.Assemble()" in out.read_text()


def test_what_exudyn_has_not_is_refused_by_name(tmp_path):
    a = rg.assembly("screw")
    a.body("nut", mass=1.0, com=(0, 0, 0), inertia=np.eye(3))
    a.screw("spindle", "ground", "nut", at=(0, 0, 0), axis=(0, 0, 1), pitch=0.1)
    with pytest.raises(rg.UnsupportedExport, match="spindle"):
        rg.save(a.mechanism(), tmp_path / "screw.py", format="exudyn")
