"""Where masses are missing, one line names the joints that move and the bodies without mass."""

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import regularize as rg
from regularize.cli import main

ASSETS = Path(__file__).resolve().parents[3] / "assets"
FOUR_BAR = ASSETS / "planar_fourbar.urdf"
BODIES = r"no mass properties are known of `crank`, `coupler`, `rocker`"


def bare(name: str = "planar_fourbar") -> rg.Mechanism:
    mechanism = rg.load(ASSETS / f"{name}.urdf")
    return replace(mechanism, bodies=tuple(replace(b, inertia=None) for b in mechanism.bodies))


def dynamics(style: str) -> Callable[[rg.Mechanism], Any]:
    def solve(mechanism: rg.Mechanism) -> Any:
        robot = rg.to_pinocchio(rg.reduce(mechanism), style=style)
        zero = np.zeros(robot.model.nv)
        return robot.forward_dynamics(robot.q0, zero, zero)

    return solve


def of_robot(what: str, *arguments: Any, **options: Any) -> Callable[[rg.Mechanism], Any]:
    def solve(mechanism: rg.Mechanism) -> Any:
        robot = rg.to_pinocchio(rg.reduce(mechanism))
        zero = np.zeros(robot.model.nv)
        values = [robot.q0, zero + 1.0, zero][: arguments[0]]
        return getattr(robot, what)(*values, **options)

    return solve


def simulated(**options: Any) -> Callable[[rg.Mechanism], Any]:
    return lambda mechanism: rg.simulate(mechanism, duration=0.1, **options)


WAYS: dict[str, Callable[[rg.Mechanism], Any]] = {
    **{style: dynamics(style) for style in ("rows", "anchors", "slack", "legacy")},
    "stabilized": of_robot("stabilized_dynamics", 3, frequency=1.0),
    "projected": of_robot("project_velocity", 2),
    "derivatives": of_robot("dynamics_derivatives", 3),
    "constraint forces": of_robot("constraint_forces", 3),
    "all coordinates": simulated(),
    "minimal coordinates": simulated(solver=rg.Solver("minimal")),
    "MuJoCo": simulated(solver=rg.MuJoCo()),
    "reduced": lambda m: rg.reduced_model(m, ["A"]).forward_dynamics([0.0], [0.0], [0.0]),
}


@pytest.mark.slow
@pytest.mark.parametrize("way", WAYS)
def test_bodies_without_mass_are_named(way: str) -> None:
    with pytest.raises(rg.NoInertia, match=BODIES):
        WAYS[way](bare())


@pytest.mark.slow
def test_a_drive_leaves_the_other_freedoms_without_mass() -> None:
    with pytest.raises(rg.NoInertia, match=r"`foot_1`, `tube_1`, .* and 14 more"):
        rg.simulate(bare("stewart_6ups"), duration=0.1, drive={"A1": "0.1*t"})


def test_a_chain_without_loops_and_without_mass_is_named_on_the_command_line(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    box = replace(rg.load(FOUR_BAR).body("crank").geometry[0], size=(1.0, 0.1, 0.1))
    assert box.kind == "box"
    joint = rg.load(ASSETS / "planar_fourbar.urdf").joint("A")
    arm = rg.Mechanism("arm", bare().bodies[:1], (), ground=bare().ground)
    bodies = (*arm.bodies, replace(bare().body(joint.child), geometry=(box,)))
    rg.save(replace(arm, bodies=bodies, joints=(joint,)), tmp_path / "arm.json")
    assert main(["simulate", str(tmp_path / "arm.json"), "--duration", "0.1"]) == 2
    (line,) = capsys.readouterr().err.splitlines()
    assert "`A` can move without moving any mass" in line and "--density" in line
    for density in ("7850", "crank=7850"):
        arguments = ["simulate", str(tmp_path / "arm.json"), "--duration", "0.1"]
        assert main([*arguments, "--density", density]) == 0
    assert main([*arguments, "--density", "no=1"]) == 2
    assert main([*arguments, "--density", "crank=-1"]) == 2


def test_inertias_of_zero_are_named_where_all_bodies_have_some() -> None:
    a = rg.assembly("slide")
    a.body("carriage", mass=0.0, inertia=np.eye(3))
    a.slider("A", "ground", "carriage", axis=(1, 0, 0))
    with pytest.raises(rg.NoInertia) as caught:
        rg.simulate(a.mechanism(), duration=0.1)
    assert str(caught.value) == (
        "`A` can move without moving any mass: inertias of zero; state them in the model"
    )


def test_light_bodies_beside_heavy_ones_move() -> None:
    """A mass of a microgram beside a ton is a mass: the four-bar falls as its model says."""
    mechanism = rg.load(ASSETS / "planar_fourbar.urdf")
    inertia = mechanism.body("coupler").inertia
    light = replace(inertia, mass=1e-9, matrix=1e-12 * np.eye(3))
    heavy = replace(mechanism.body("crank").inertia, mass=1e3)
    changed = {"coupler": light, "crank": heavy, "rocker": light}
    bodies = [replace(b, inertia=changed.get(b.name, b.inertia)) for b in mechanism.bodies]
    robot = rg.to_pinocchio(rg.reduce(replace(mechanism, bodies=tuple(bodies))))
    zero = np.zeros(robot.model.nv)
    assert np.isfinite(robot.forward_dynamics(robot.q0, zero, zero)).all()
