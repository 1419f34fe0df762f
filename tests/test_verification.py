"""What is written is compared with what was meant: every difference is named, and nothing else."""

import re
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import regularize as rg
from regularize.lie.screw import exp, inverse, transform
from regularize.model.body import Inertia
from regularize.model.joint import joint_screws
from regularize.model.mechanism import (
    Actuator,
    ActuatorGains,
    Body,
    Coupling,
    Geometry,
    JointDynamics,
    Mechanism,
    joint_in_world,
)
from regularize.model.prescribed_motion import PrescribedMotion
from regularize.reduction.reduce import reduce
from regularize.verification.differences import differences

ASSETS = Path(__file__).resolve().parents[1] / "assets"


@pytest.fixture(scope="module")
def gripper() -> Mechanism:
    return rg.load(ASSETS / "gripper.urdf")


def with_joint(mechanism: Mechanism, name: str, **changes: Any) -> Mechanism:
    joints = [replace(j, **changes) if j.name == name else j for j in mechanism.joints]
    return replace(mechanism, joints=tuple(joints))


def with_body(mechanism: Mechanism, name: str, **changes: Any) -> Mechanism:
    bodies = [replace(b, **changes) if b.name == name else b for b in mechanism.bodies]
    return replace(mechanism, bodies=tuple(bodies))


def in_other_frames(mechanism: Mechanism) -> Mechanism:
    """The same machine with the frames of bodies and joints put elsewhere."""
    rng = np.random.default_rng(1)
    moved = {b.name: exp(rng.normal(size=6)) for b in mechanism.bodies}
    moved[mechanism.ground] = np.eye(4)
    bodies = [
        replace(
            body,
            inertia=None if body.inertia is None else body.inertia.transformed(moved[body.name]),
            geometry=tuple(
                replace(g, T_body_geometry=moved[body.name] @ g.T_body_geometry)
                for g in body.geometry
            ),
        )
        for body in mechanism.bodies
    ]
    joints = []
    for joint in mechanism.joints:
        turn = exp(np.concatenate([np.zeros(3), rng.normal(size=3)]))
        screws = np.kron(np.eye(2), inverse(turn)[:3, :3]) @ joint.screws
        parent, child = moved[joint.parent], moved[joint.child]
        joints.append(
            replace(
                joint,
                screws=screws,
                T_parent_joint=parent @ joint.T_parent_joint @ turn,
                T_child_joint=child @ joint.T_child_joint @ turn,
            )
        )
    return replace(mechanism, bodies=tuple(bodies), joints=tuple(joints))


def test_the_same_machine_in_other_frames_has_no_differences(gripper: Mechanism) -> None:
    assert differences(gripper, gripper) == []
    assert differences(gripper, in_other_frames(gripper)) == []


def test_every_datum_that_differs_is_named_once(gripper: Mechanism) -> None:
    joint = gripper.joint("plunger")
    body = next(b for b in gripper.bodies if b.inertia is not None and b.inertia.mass)
    inertia, limits = body.inertia, joint.limits
    assert limits is not None
    assert inertia is not None
    nudge = transform(translation=[1e-5, 0, 0])
    mass = Inertia(2 * inertia.mass, inertia.center, inertia.matrix)
    centre = Inertia(inertia.mass, inertia.center + np.array([1e-4, 0, 0]), inertia.matrix)
    matrix = Inertia(inertia.mass, inertia.center, 1.001 * inertia.matrix)
    coupled = Coupling("pair", "gear", (("plunger", 0, 1.0), (gripper.joints[1].name, 0, 2.0)))
    cases: list[tuple[str, str, Mechanism]] = [
        ("REG322", body.name, with_body(gripper, body.name, inertia=mass)),
        ("REG322", body.name, with_body(gripper, body.name, inertia=centre)),
        ("REG322", body.name, with_body(gripper, body.name, inertia=matrix)),
        ("REG322", body.name, with_body(gripper, body.name, inertia=None)),
        *(
            ("REG324", "plunger", with_joint(gripper, "plunger", limits=replace(limits, **bound)))
            for bound in ({"upper": [9.0]}, {"velocity": [0.1]}, {"effort": [7.0]})
        ),
        *(
            ("REG325", "plunger", with_joint(gripper, "plunger", dynamics=JointDynamics(**force)))
            for force in (
                {"damping": [0.5]},
                {"friction": [0.2]},
                {"stiffness": [3.0]},
                {"armature": [0.01]},
            )
        ),
        ("REG326", "motor", replace(gripper, actuators=(Actuator("motor", "pin_left"),))),
        ("REG326", "plunger", with_joint(gripper, "plunger", actuated=not joint.actuated)),
        ("REG329", "gravity", replace(gripper, gravity=[0.0, 0.0, -1.62])),
    ]
    for code, name, changed in cases:
        found = differences(gripper, changed, target="there")
        assert [f.code for f in found] == [code], name
        assert name in found[0].message and found[0].message.startswith("there: ")
    moved = with_joint(gripper, "plunger", T_parent_joint=joint.T_parent_joint @ nudge)
    assert "REG323" in {f.code for f in differences(gripper, moved)}
    both = replace(gripper, couplings=(*gripper.couplings, coupled))
    assert "`pair`" in next(f.message for f in differences(both, gripper) if f.code == "REG327")


@pytest.mark.parametrize(
    ("changes", "words"),
    [
        ({"joint": "pin_right"}, "moves `pin_right` instead of `plunger`"),
        ({"kind": "position"}, "became a position instead of a motor"),
        ({"gear": 3.0}, "has gear 3 instead of 2"),
        ({"force_range": None}, "has force range None instead of"),
        ({"control_range": (0.0, 1.0)}, "has control range .* instead of None"),
        ({"gains": ActuatorGains(2.0, None, 0.5)}, "has control gain 2.0 instead of 1"),
        ({"gains": ActuatorGains(1.0)}, "has velocity gain None instead of 0.5"),
    ],
)
def test_motors_that_changed(changes: Any, words: str, gripper: Mechanism) -> None:
    gains = ActuatorGains(1.0, None, 0.5)
    motor = Actuator("motor", "plunger", gear=2.0, force_range=(-9.0, 9.0), gains=gains)
    before = replace(gripper, actuators=(motor,))
    assert differences(before, before) == []
    found = differences(before, replace(gripper, actuators=(replace(motor, **changes),)))
    (first, *_) = [f for f in found if f.code == "REG326"]
    assert re.search(f"actuator `motor` {words}", first.message)


def test_a_motor_of_a_joint_that_is_lost_is_named_by_its_joint(gripper: Mechanism) -> None:
    closing = next(joint for joint in gripper.joints if joint.closure)
    before = replace(gripper, actuators=(Actuator("motor", closing.name),))
    rest = tuple(joint for joint in before.joints if joint is not closing)
    found = differences(before, replace(before, joints=rest, actuators=()))
    assert "is lost" in next(f.message for f in found if f.code == "REG326")


def test_bodies_that_come_and_go_and_change_their_color(gripper: Mechanism) -> None:
    """A body on a joint of its own changes the mobility as well."""
    arm = joint_in_world("arm", gripper.ground, "more", "revolute", (0, 1, 0))
    body = Body("more", Inertia(1.0, np.zeros(3), np.eye(3)))
    more = replace(gripper, bodies=(*gripper.bodies, body), joints=(*gripper.joints, arm))
    there = [f.message for f in differences(gripper, more) if f.code == "REG321"]
    assert any("body `more` is there as well" in message for message in there)
    gone = [f.message for f in differences(more, gripper) if f.code == "REG321"]
    assert any("body `more` is not there" in message for message in gone)
    massless = with_body(more, "more", inertia=None)
    (made_up,) = differences(massless, more)
    assert made_up.code == "REG322" and "that nobody stated (mass 1 kg)" in made_up.message
    red, blue = (
        with_body(more, "more", geometry=(Geometry("sphere", [0.1], color=color),))
        for color in ((1.0, 0.0, 0.0, 1.0), (0.0, 0.0, 1.0, 1.0))
    )
    (color,) = differences(red, blue)
    assert (color.code, color.severity) == ("REG328", "note")
    assert "the color of shape 1 of body `more` differs" in color.message


def test_couplings_and_motions_that_come_and_go(gripper: Mechanism) -> None:
    other = next(joint.name for joint in gripper.joints if joint.name != "plunger")
    row = Coupling("pair", "gear", (("plunger", 0, 1.0), (other, 0, 2.0)))
    both = replace(gripper, couplings=(*gripper.couplings, row))
    (added,) = [f for f in differences(gripper, both) if f.code == "REG327"]
    assert "which the model does not" in added.message
    factor = replace(row, terms=(("plunger", 0, 1.0), (other, 0, 3.0)))
    changed = replace(gripper, couplings=(*gripper.couplings, factor))
    found = [f.message for f in differences(both, changed) if f.code == "REG327"]
    assert len(found) == 2
    drive = PrescribedMotion("turn", "plunger", "2*t")
    (lost,) = differences(replace(gripper, motions=(drive,)), gripper)
    assert lost.code == "REG327" and "prescribed motion `turn` is lost" in lost.message


def test_another_machine_is_an_error(gripper: Mechanism) -> None:
    closing = next(joint for joint in gripper.joints if joint.closure)
    rest = tuple(joint for joint in gripper.joints if joint is not closing)
    found = differences(gripper, replace(gripper, joints=rest), reduction=reduce(gripper))
    assert {"REG320", "REG321"} <= {f.code for f in found}
    assert any(closing.name in f.message for f in found if f.code == "REG321")
    free = {"screws": joint_screws("spherical"), "position": np.zeros(3), "limits": None}
    ball = with_joint(gripper, closing.name, kind="spherical", **free)
    assert {"REG320", "REG323"} <= {f.code for f in differences(gripper, ball)}


def test_a_weld_that_closes_a_loop_of_welds_is_the_same_machine_in_sdf(tmp_path: Path) -> None:
    pytest.importorskip("mujoco")
    source = tmp_path / "welds.xml"
    bodies = "".join(
        f'<body name="{name}">{free}<geom size="1"/></body>'
        for name, free in (("a", "<freejoint/>"), ("b", "<freejoint/>"), ("c", ""), ("d", ""))
    )
    source.write_text(
        f"<mujoco><worldbody>{bodies}</worldbody><equality>"
        '<weld body1="a" body2="b"/><weld body1="c" body2="d"/></equality></mujoco>'
    )
    found = rg.save(rg.load(source), tmp_path / "welds.sdf")
    assert {f.severity for f in found} <= {"note"}
