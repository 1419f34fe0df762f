"""What is written is compared with what was meant: every difference is named, and nothing else."""

from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from mechanisms import planar_fourbar
from screws import exp, inverse, joint_screws, transform

import regularize as rg
from regularize.adapters import adapters
from regularize.adapters.common.validation import renamed
from regularize.adapters.registry import BUILTIN
from regularize.mechanism.body import Geometry
from regularize.mechanism.diagnostic import Diagnostic
from regularize.mechanism.joint import JointDynamics, JointLimits, reversed_joint
from regularize.mechanism.mechanism import Actuator, ActuatorGains, PrescribedMotion
from regularize.repair.verification import writing
from regularize.repair.verification.comparison import Comparison
from regularize.repair.verification.differences import differences, motion_differences
from regularize.repair.verification.writing import _reference, prepared

pytestmark = pytest.mark.slow
ASSETS = Path(__file__).resolve().parents[3] / "assets"


@pytest.fixture(scope="module")
def gripper() -> rg.Mechanism:
    return rg.load(ASSETS / "gripper.urdf")


def with_joint(mechanism: rg.Mechanism, name: str, **changes: Any) -> rg.Mechanism:
    joints = [replace(j, **changes) if j.name == name else j for j in mechanism.joints]
    return replace(mechanism, joints=tuple(joints))


def with_body(mechanism: rg.Mechanism, name: str, **changes: Any) -> rg.Mechanism:
    bodies = [replace(b, **changes) if b.name == name else b for b in mechanism.bodies]
    return replace(mechanism, bodies=tuple(bodies))


def in_other_frames(mechanism: rg.Mechanism) -> rg.Mechanism:
    """The same machine with the frames of bodies and joints put elsewhere."""
    rng = np.random.default_rng(1)
    moved = {b.name: exp(rng.normal(size=6)) for b in mechanism.bodies}
    moved[mechanism.ground] = np.eye(4)
    bodies = []
    for body in mechanism.bodies:
        T, mass = moved[body.name], body.inertia
        shapes = tuple(replace(g, T_body_geometry=T @ g.T_body_geometry) for g in body.geometry)
        bodies.append(replace(body, inertia=mass and mass.transformed(T), geometry=shapes))
    joints = []
    for joint in mechanism.joints:
        turn = exp(np.concatenate([np.zeros(3), rng.normal(size=3)]))
        screws = np.kron(np.eye(2), inverse(turn)[:3, :3]) @ joint.screws
        parent, child = moved[joint.parent], moved[joint.child]
        T_parent, T_child = parent @ joint.T_parent_joint @ turn, child @ joint.T_child_joint @ turn
        places = {"T_parent_joint": T_parent, "T_child_joint": T_child}
        joints.append(replace(joint, screws=screws, **places))
    return replace(mechanism, bodies=tuple(bodies), joints=tuple(joints))


def test_every_datum_that_differs_is_named_once(gripper: rg.Mechanism) -> None:
    joint = gripper.joint("plunger")
    body = next(b for b in gripper.bodies if b.inertia is not None and b.inertia.mass)
    inertia, limits = body.inertia, joint.limits
    assert limits is not None and inertia is not None
    nudge = transform(translation=[1e-5, 0, 0])
    mass = rg.Inertia(2 * inertia.mass, inertia.center, inertia.matrix)
    centre = rg.Inertia(inertia.mass, inertia.center + np.array([1e-4, 0, 0]), inertia.matrix)
    matrix = rg.Inertia(inertia.mass, inertia.center, 1.001 * inertia.matrix)
    coupled = rg.Coupling("pair", "gear", (("plunger", 0, 1.0), (gripper.joints[1].name, 0, 2.0)))
    cases: list[tuple[str, str, rg.Mechanism]] = [
        *(
            ("REG322", body.name, with_body(gripper, body.name, inertia=other))
            for other in (mass, centre, matrix, None)
        ),
        *(
            ("REG324", "plunger", with_joint(gripper, "plunger", limits=replace(limits, **bound)))
            for bound in ({"upper": [9.0]}, {"velocity": [0.1]}, {"effort": [7.0]})
        ),
        *(
            ("REG325", "plunger", with_joint(gripper, "plunger", dynamics=JointDynamics(**force)))
            for force in ({k: [0.5]} for k in ("damping", "friction", "stiffness", "armature"))
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


def tree() -> rg.Mechanism:
    """Every kind of joint once, with bounds, forces, springs, motors and a gear."""
    kinds = ["prismatic", "revolute", "helical", "universal", "cylindrical", "spherical", "planar"]
    rng = np.random.default_rng(5)
    joints, bodies = [], [rg.Body("ground")]
    for k, kind in enumerate(kinds):
        screws = joint_screws(kind, pitch=0.2)
        n = screws.shape[1]
        joints.append(
            rg.Joint(
                kind,
                bodies[-1].name,
                f"b{k}",
                kind,
                screws,
                exp(rng.normal(size=6)),
                exp(rng.normal(size=6)),
                rng.normal(size=n) * (kind != "spherical"),
                limits=JointLimits(-np.full(n, 2.0), np.full(n, 3.0), np.full(n, 4.0), np.ones(n)),
                dynamics=JointDynamics(*rng.uniform(1, 2, size=(5, n))),
                tolerance=(1e-4, 1e-3),
            )
        )
        root = rng.normal(size=(3, 3))
        inertia = rg.Inertia(1.0 + k, rng.normal(size=3), root @ root.T + 9 * np.eye(3))
        shape = Geometry("box", np.array([1.0, 2.0, 3.0]), exp(rng.normal(size=6)))
        bodies.append(rg.Body(f"b{k}", inertia, (shape,)))
    terms = (("prismatic", 0, 3.0), ("revolute", 0, -1.0), ("universal", 1, 0.5))
    gains = ActuatorGains(1.0, 2.0, 3.0)
    motors = [
        Actuator("pusher", "prismatic", 0, "position", 5.0, (-1.0, 1.0), (-7.0, 8.0), gains),
        Actuator("turner", "universal", 1, "motor", 2.0),
    ]
    gear = rg.Coupling("gear", "gear", terms, 0.7)
    more = {"couplings": (gear,), "actuators": tuple(motors), "ground": "ground"}
    return rg.Mechanism("tree", tuple(bodies), tuple(joints), **more)


def counted(mechanism: rg.Mechanism, name: str, unit: float, zero: float) -> rg.Mechanism:
    """The same machine with coordinates of a joint in another unit, and from another zero.

    One of the new units is so many old ones, and zero is where there were so many old ones. Power
    is the same: what forces lose the rates gain.
    """
    joint = mechanism.joint(name)
    limits, force = joint.limits, joint.dynamics
    assert limits is not None and force.rest_position is not None
    there = exp(joint.screws @ np.full(joint.freedoms, zero)) if zero else np.eye(4)
    new = replace(
        joint,
        screws=unit * joint.screws,
        T_parent_joint=joint.T_parent_joint @ there,
        position=(joint.position - zero) / unit,
        limits=JointLimits(
            (limits.lower - zero) / unit,
            (limits.upper - zero) / unit,
            limits.velocity / unit,
            limits.effort * unit,
        ),
        dynamics=JointDynamics(
            force.damping * unit**2,
            force.friction * unit,
            force.stiffness * unit**2,
            (force.rest_position - zero) / unit,
            force.armature * unit**2,
        ),
    )
    couplings = []
    for coupling in mechanism.couplings:
        offset = sum(c * zero for joint, _, c in coupling.terms if joint == name)
        terms = [(j, k, c * unit if j == name else c) for j, k, c in coupling.terms]
        couplings.append(replace(coupling, terms=tuple(terms), offset=coupling.offset - offset))
    return replace(
        mechanism,
        joints=tuple(new if j is joint else j for j in mechanism.joints),
        couplings=tuple(couplings),
        actuators=tuple(
            replace(a, gear=a.gear * unit) if a.joint == name else a for a in mechanism.actuators
        ),
    )


def test_frames_and_the_sense_in_which_joints_are_named_make_no_difference() -> None:
    machine = tree()
    assert differences(machine, machine) == []
    assert differences(machine, in_other_frames(machine)) == []
    for name in ("prismatic", "revolute", "helical", "spherical", "cylindrical"):
        joints = [reversed_joint(j) if j.name == name else j for j in machine.joints]
        assert differences(machine, replace(machine, joints=tuple(joints))) == [], name


@pytest.mark.parametrize("name", ["prismatic", "revolute", "helical", "universal", "cylindrical"])
def test_units_of_coordinates_make_no_difference_and_their_zeros_one(name: str) -> None:
    machine = tree()
    for unit in (0.01, 3.0):
        assert differences(machine, counted(machine, name, unit, 0.0)) == []
    if machine.joint(name).freedoms == 1:
        (found,) = differences(machine, counted(machine, name, 2.0, 0.25))
        assert found.code == "REG323" and found.joints == (name,)
        assert f"zero of `{name}` is where the model counts 0.25" in found.message


@pytest.mark.parametrize("index", range(7))
def test_a_joint_that_stands_or_points_elsewhere_is_named(index: int) -> None:
    machine = tree()
    joint = machine.joints[index]
    for way in ([0.02, 0.01, 0.015, 0.0, 0.0, 0.0], [0.0, 0.0, 0.0, 0.01, 0.02, -0.01]):
        step = joint.T_parent_joint @ exp(np.array(way))
        found = differences(machine, with_joint(machine, joint.name, T_parent_joint=step))
        named = {f.joints for f in found if f.code == "REG323"}
        same = joint.kind in (("spherical",) if any(way[3:]) else ("prismatic", "planar"))
        assert ((joint.name,) in named) != same
        assert f"body `{joint.child}` has its centre of mass" in "".join(f.message for f in found)
        assert all(f.code != "REG320" for f in found)
    back = with_joint(machine, joint.name, screws=-joint.screws)
    named = {f.joints for f in differences(machine, back) if "points elsewhere" in f.message}
    assert ((joint.name,) in named) != (joint.kind in ("spherical", "planar"))


MOTOR = {
    "joint": ("moves `revolute` instead of `prismatic`", "revolute"),
    "kind": ("became a motor instead of a position", "motor"),
    "gear": ("has gear 6 instead of 5", 6.0),
    "control_range": ("has control range None instead of (-1.0, 1.0)", None),
    "force_range": ("has force range (-7.0, 8.1) instead of (-7.0, 8.0)", (-7.0, 8.1)),
    "gains": ("has velocity gain None instead of 3", ActuatorGains(1.0, 2.0)),
}


@pytest.mark.parametrize("what", MOTOR)
def test_what_became_of_a_motor_is_said(what: str) -> None:
    machine = tree()
    words, value = MOTOR[what]
    motor = replace(machine.actuators[0], **{what: value})
    other = replace(machine, actuators=(motor, *machine.actuators[1:]))
    (found,) = differences(machine, other)
    assert found.code == "REG326" and found.message.endswith(f"actuator `pusher` {words}")
    back = differences(other, machine)
    assert what == "gains" or "actuator `pusher` " in back[0].message
    (lost,) = differences(machine, replace(machine, actuators=machine.actuators[1:]))
    assert "actuator `pusher` of `prismatic` is lost" in lost.message


def test_couplings_are_the_same_relation_or_named() -> None:
    machine = tree()
    (gear,) = machine.couplings

    def other(*terms: tuple[str, int, float], offset: float) -> list[str]:
        changed = replace(machine, couplings=(replace(gear, terms=terms, offset=offset),))
        return [f.message for f in differences(machine, changed) if f.code == "REG327"]

    p, r, u = gear.terms
    for factor in (1.0, -2.0, 1e-3):
        scaled = [(name, k, factor * c) for name, k, c in (u, p, r)]
        assert other(*scaled, offset=factor * gear.offset) == []
    halves = [("prismatic", 0, 1.0), ("prismatic", 0, 2.0)]
    assert other(*halves, r, u, offset=0.7) == []
    wrong: list[tuple[list[tuple[str, int, float]], float]] = [
        ([p, r, u], 0.8),
        ([p, r, ("universal", 0, 0.5)], 0.7),
        ([p, r], 0.7),
        ([p, ("revolute", 0, 1.0), u], 0.7),
    ]
    for terms, offset in wrong:
        lost, added = other(*terms, offset=offset)
        assert "coupling `gear` is lost" in lost
        assert "couples `prismatic` and `revolute`" in added
    drive = PrescribedMotion("turn", "prismatic", "2*t")
    (gone,) = differences(replace(machine, motions=(drive,)), machine)
    assert gone.code == "REG327" and "prescribed motion `turn` is lost" in gone.message


def test_a_bare_link_that_is_welded_to_a_body_is_a_frame_on_it() -> None:
    machine = tree()
    weld = rg.Joint("mount", "frame", "b2", "fixed", joint_screws("fixed"))
    shape = Geometry("sphere", np.array([1.0]))
    nothing = rg.Inertia(0.0, np.zeros(3), np.zeros((3, 3)))
    mass = replace(nothing, mass=1.0)
    own = [(None, ()), (nothing, ()), (mass, ()), (None, (shape,))]
    for k, frame in enumerate(rg.Body("frame", *each) for each in own):
        bare = k < 2
        joints, bodies = (*machine.joints, weld), (*machine.bodies, frame)
        found = differences(machine, replace(machine, bodies=bodies, joints=joints))
        assert [f.code for f in found] == ([] if bare else ["REG321", "REG321"])
        if not bare:
            said = " ".join(f.message for f in found)
            assert "`frame` is there as well" in said and "`mount` is there as well" in said


def test_names_of_bodies_and_of_joints_stand_for_themselves() -> None:
    machine = tree()
    names = {joint.name: f"{joint.name} 2" for joint in machine.joints}
    bodies = {body.name: f"{body.name} 2" for body in machine.bodies}
    same = {name: name for name in (*names, *bodies)}
    for own, others, what, lost in (
        (same, names, "joint", [f"joint `{n}` is not there" for n in names]),
        (bodies, same, "body", [f"body `{a}` is called `{b}`" for a, b in [*bodies.items()][1:]]),
    ):
        found = differences(machine, renamed(machine, own.__getitem__, others.__getitem__))
        said = [f.message.removeprefix("the file: ") for f in found if f.code == "REG321"]
        assert {*lost} <= {*said} and all(what in words or "ground" in words for words in said)
        assert len(said) == (2 * len(names) if what == "joint" else len(bodies))


@pytest.mark.parametrize("pitch", [0.2, -0.05])
def test_a_screw_in_urdf_is_a_hinge_that_a_slide_follows(pitch: float, tmp_path: Path) -> None:
    nut = rg.Joint("nut", "ground", "a", "helical", joint_screws("helical", pitch=pitch))
    ball = rg.Inertia(1.0, np.zeros(3), np.eye(3))
    bodies = (rg.Body("ground"), rg.Body("a", ball))
    for joint in (nut, reversed_joint(nut)):
        machine = rg.Mechanism("nut", bodies, (joint,), ground="ground")
        found = rg.save(machine, tmp_path / "nut.urdf")
        assert {f.code for f in found if f.severity != "note"} <= {"REG321"}
        (row,) = rg.load(tmp_path / "nut.urdf").couplings
        assert len(row.terms) == 2


def test_a_weld_counts_as_a_loop_whether_its_file_marks_it_or_not() -> None:
    welds = [
        rg.Joint(name, "ground", "a", "fixed", joint_screws("fixed")) for name in ("one", "two")
    ]
    hinge = rg.Joint("hinge", "a", "b", "revolute", joint_screws("revolute"))
    bodies = tuple(rg.Body(name) for name in ("ground", "a", "b"))
    plain = rg.Mechanism("welds", bodies, (*welds, hinge), ground="ground")
    marked = with_joint(plain, "two", closure=True)
    for one, two in ((plain, marked), (marked, plain)):
        assert [f for f in differences(one, two) if f.code == "REG320"] == []
        serious = [Diagnostic("REG323", "warning", "forced")]
        assert list(motion_differences(Comparison(one, two), one, serious)) == []
    single = replace(plain, joints=(welds[0], hinge))
    found = motion_differences(Comparison(plain, single, "there"), plain, serious)
    assert [f.message for f in found] == [
        "there: independent loops 0 instead of 1: this is another machine",
        "there: redundant constraint equations 0 instead of 6: this is another machine",
    ]


def test_bodies_that_come_and_go_and_change_their_color(gripper: rg.Mechanism) -> None:
    arm = rg.Joint.in_world("arm", gripper.ground, "more", "revolute", (0, 1, 0))
    body = rg.Body("more", rg.Inertia(1.0, np.zeros(3), np.eye(3)))
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


@pytest.mark.parametrize(("target", "name"), [("json", "../m.usda#/Part"), ("urdf", None)])
def test_meshes_of_a_stage_stay_inside_it(target: str, name: str | None, tmp_path: Path) -> None:
    stage = replace(tree(), format="usd", path=str(tmp_path / "m.usda"))
    shape = Geometry("mesh", np.ones(3), np.eye(4), uri="/Part")
    assert _reference(shape, stage, adapters()[target], tmp_path / "new") == name


@pytest.mark.parametrize("asked", ["differences", "try_engine"])
def test_what_reads_as_another_machine_is_not_written(
    asked: str, gripper: rg.Mechanism, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def refuse(*_: Any, **__: Any) -> list[Diagnostic]:
        if asked == "differences":
            return [Diagnostic("REG320", "error", "URDF: it is another machine")]
        raise rg.UnsupportedExport("URDF: it is another machine")

    monkeypatch.setattr(writing, asked, refuse)
    with pytest.raises(rg.UnsupportedExport, match="it is another machine"):
        rg.save(gripper, tmp_path / "gripper.urdf")
    assert not list(tmp_path.iterdir())


def test_another_machine_is_an_error(gripper: rg.Mechanism) -> None:
    closing = next(joint for joint in gripper.joints if joint.closure)
    rest = tuple(joint for joint in gripper.joints if joint is not closing)
    found = differences(gripper, replace(gripper, joints=rest), reduction=rg.reduce(gripper))
    assert {"REG320", "REG321"} <= {f.code for f in found}
    assert any(closing.name in f.message for f in found if f.code == "REG321")
    free = {"screws": joint_screws("spherical"), "position": np.zeros(3), "limits": None}
    ball = with_joint(gripper, closing.name, kind="spherical", **free)
    assert {"REG320", "REG323"} <= {f.code for f in differences(gripper, ball)}
    driven = replace(gripper, actuators=(Actuator("motor", closing.name),))
    found = differences(driven, replace(driven, joints=rest, actuators=()))
    assert "is lost" in next(f.message for f in found if f.code == "REG326")


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


def test_open_loops_are_closed_or_refused_where_a_format_holds_none(tmp_path: Path) -> None:
    (adapter,) = [each for each in BUILTIN if each.closed and each.of_files]
    for offset in ([0.01, 0.0, 0.0], [0.0, 0.0, 0.00999]):
        whole = planar_fourbar()
        last = replace(
            whole.joints[-1],
            T_child_joint=whole.joints[-1].T_child_joint @ transform(None, offset),
            closure=True,
        )
        machine = replace(whole, joints=(*whole.joints[:-1], last))
        same, nothing = prepared(whole, adapter, tmp_path)
        assert same.joints == whole.joints and nothing == []
        if offset[2]:
            with pytest.raises(rg.UnsupportedExport, match=r"closed: 9\.99 mm and 0 rad stay open"):
                prepared(machine, adapter, tmp_path)
            continue
        closed, findings = prepared(machine, adapter, tmp_path)
        assert max(rg.assemble(closed).worst_before) < 1e-9
        assert [f.joints for f in findings] == [("A",), ("B",), ("C",)]
        assert {f.code for f in findings} == {"REG323"}
