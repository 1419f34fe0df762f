"""Where frames lie, how large a model is and how its numbers are rounded changes no statement."""

from contextlib import nullcontext
from dataclasses import replace
from functools import cache
from itertools import product
from pathlib import Path
from typing import Any

import mechanisms
import noise_table
import numpy as np
import pytest
import rounding_table
from numpy.typing import ArrayLike
from pinocchio_cases import massive

import regularize as rg
from regularize.cli import main

ASSETS = Path(__file__).resolve().parents[3] / "assets"
SLID = (
    *("planar_fourbar", "spherical_fourbar", "slider_crank", "bennett", "bricard", "sarrus"),
    *("three_prrr", "three_cranks", "delta_parallelograms", "agile_eye"),
)


@cache
def made(name: str) -> rg.Mechanism:
    return noise_table.MECHANISMS[name]()


@cache
def said_of(name: str) -> tuple[Any, ...]:
    return said(made(name))


def said(mechanism: rg.Mechanism) -> tuple[Any, ...]:
    """What is said of a mechanism, without lengths."""
    reduction = rg.reduce(mechanism, configurations=2)
    counts = (reduction.kept, reduction.removed, reduction.redundant, reduction.assembly.closed)
    nearly = [(special.joint, special.family.name) for special in noise_table.nearly(reduction)]
    mobility = reduction.mobility, reduction.finite_mobility, reduction.finite_evidence
    return *counts, *mobility, nearly


def with_last_off(
    mechanism: rg.Mechanism, shift: ArrayLike, side: str = "T_child_joint"
) -> rg.Mechanism:
    """One frame of the last joint moved, in its own axes of the body."""
    *others, last = mechanism.joints
    T = np.array(getattr(last, side))
    T[:3, 3] += shift
    return replace(mechanism, joints=(*others, replace(last, **{side: T})))


def slid(mechanism: rg.Mechanism, sizes: float, seed: int) -> rg.Mechanism:
    """Every hinge's frame moved along its axis, and every slide's anywhere."""
    rng, far = np.random.default_rng(seed), sizes * noise_table.size(mechanism)
    joints = []
    for joint in mechanism.joints:
        turning, way = joint.screws[3:], far * rng.uniform(-1, 1, size=3)
        if joint.kind in ("revolute", "cylindrical", "helical"):
            way = far * rng.choice([-1.0, 1.0]) * turning.sum(axis=1)
        T = np.eye(4)
        T[:3, 3] = 0.0 if joint.kind in ("spherical", "universal", "fixed") else way
        places = joint.T_parent_joint @ T, joint.T_child_joint @ T
        joints.append(replace(joint, T_parent_joint=places[0], T_child_joint=places[1]))
    return replace(mechanism, joints=tuple(joints))


def far_off(mechanism: rg.Mechanism, sizes: float) -> rg.Mechanism:
    T = np.eye(4)
    T[:3, 3] = sizes * np.array([1.0, 0.3, -0.7])
    return mechanisms.moved(mechanism, T)


SAME = [
    *((slid, name, (1000.0, 1)) for name in SLID),
    *((mechanisms.scaled, name, (1e-6,)) for name in ("slider_crank", "three_prrr")),
    *((mechanisms.scaled, name, (1e6,)) for name in ("bennett", "three_cranks")),
    *((far_off, name, (1e5,)) for name in ("spherical_fourbar", "bennett")),
    (far_off, "delta_parallelograms", (1e3,)),
]


@pytest.mark.slow
@pytest.mark.parametrize(("change", "name", "given"), SAME)
def test_places_of_frames_and_size_change_nothing(change: Any, name: str, given: Any) -> None:
    assert said(change(made(name), *given)) == said_of(name)


@pytest.mark.parametrize("seed", [0, 3])
def test_the_frame_of_a_slide_may_lie_anywhere(seed: int) -> None:
    rng = np.random.default_rng(seed)
    points, axes = 0.006 * rng.uniform(-0.5, 0.5, (7, 3)), rng.normal(size=(7, 3))
    points[6] += 600.0 * axes[6] / np.linalg.norm(axes[6])
    report = rg.check(mechanisms.single_loop("far", "RRRRRRP", axes, points), configurations=2)
    assert said(report.mechanism)[2:6] == (0, True, 1, 1)
    assert report.diagnostics == ()


@pytest.mark.slow
@pytest.mark.parametrize("name", ["bennett", "bricard", "three_cranks"])
def test_what_noisy_frames_were_meant_to_be_does_not_change_where_they_are_slid(name: str) -> None:
    noisy = noise_table.noisy(made(name), 1e-4, 2)
    here, there = (rg.idealise(each) for each in (noisy, slid(noisy, 1000.0, 3)))
    for found in (here, there):
        assert (found.written.finite_mobility, found.reduction.finite_mobility) == (0, 1)
    length = noise_table.size(made(name))
    distances = [max(f.distance[0] / length, f.distance[1]) for f in (here, there)]
    assert distances[1] == pytest.approx(distances[0], rel=0.25)


def test_a_rigid_loop_stays_rigid_wherever_its_frames_lie() -> None:
    axes, points = (np.random.default_rng(seed).normal(size=(6, 3)) for seed in (5, 6))
    rigid = mechanisms.single_loop("rigid", "RRRRRR", axes, points)
    report = rg.check(slid(rigid, 1000.0, 7), configurations=4)
    assert report.as_dict()["mobility"]["finite"] == 0
    assert not {d.code for d in report.diagnostics} & {"REG204", "REG219"}


@pytest.mark.parametrize("wrong", [0.0, -1e-5, float("nan"), float("inf"), "1e-5", None])
def test_tolerances_are_positive_numbers(wrong: Any) -> None:
    error = rg.ModelError if isinstance(wrong, float) else TypeError
    calls = [*product((rg.reduce, rg.check, rg.idealise), ("rtol",))]
    calls += [(rg.check, "near"), (rg.idealise, "near")]
    calls += [] if wrong is None else [(rg.reduce, "length_scale")]
    for call, argument in calls:
        with pytest.raises(error, match=argument):
            call(made("bennett"), **{argument: wrong})


def test_what_closes_but_for_noise_moves_and_is_simulated() -> None:
    noisy = noise_table.noisy(noise_table.schmidt(), 5e-7)
    report = rg.check(replace(massive(noisy), gravity=np.zeros(3)), configurations=2)
    assert "of the size are noise of the numbers" in str(report)
    assert 1e-6 < report.as_dict()["assembly"]["noise"] < 1e-4
    assert rg.check(made("bennett"), configurations=2).as_dict()["assembly"]["noise"] < 1e-11
    reduction = report.reduction
    assert reduction.assembly.closed
    assert 1e-8 < reduction.assembly.worst_after[1] < 1e-5
    assert (reduction.mobility, reduction.finite_mobility) == (1, 1)
    motion = rg.simulate(reduction, duration=1.1, rates={"in": 6.0})
    assert np.ptp(motion.q, axis=0).max() > 2 * np.pi
    assert motion.as_dict()["closure_drift"] < 1e-4


@pytest.mark.slow
@pytest.mark.parametrize("axis", [0, 1])
def test_one_of_three_cranks_is_off(axis: int) -> None:
    for off in (1e-7, 1e-6, 1e-5, 1e-4)[2 * axis :]:
        moved = with_last_off(mechanisms.three_cranks(), off * np.eye(3)[axis], "T_parent_joint")
        report = rg.check(moved, configurations=2)
        assert report.reduction.assembly.closed or report.meant is not None
        found = report.reduction
        if report.meant is not None:
            found = report.meant.reduction
            assert found.mobility == 1 and off / 10 < report.meant.distance[0] < off
        assert found.finite_mobility == 1, off


@pytest.mark.slow
@pytest.mark.parametrize("gap", [1e-9, 1e-6, 8e-6, 1e-3])
def test_check_and_simulate_agree_on_what_is_closed(gap: float) -> None:
    fourbar = massive(mechanisms.planar_fourbar())
    off = with_last_off(fourbar, (0, 0, gap * noise_table.size(fourbar)))
    report = rg.check(off, configurations=0)
    closed = gap < 1e-5
    assert report.as_dict()["assembly"]["closed"] is closed
    with nullcontext() if closed else pytest.raises(rg.NotClosed):
        rg.simulate(off, duration=0.01)


@pytest.mark.slow
def test_as_designed_everywhere(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = ASSETS / "nearly_planar_fourbar.urdf"
    assert rg.reduce(rg.load(path)).finite_mobility == 0
    meant = rg.load(path, as_designed=True)
    assert "REG224" in {finding.code for finding in meant.findings}
    assert rg.reduce(meant).finite_mobility == 1
    for command in (
        ["check", str(path), "--as-designed", "--fail-on", "error"],
        ["reduce", str(path), "--as-designed", "-o", str(tmp_path / "reduced"), "--fail-on=error"],
        ["simulate", str(path), "--as-designed", "--duration", "0.01"],
        ["fix", str(path), "--as-designed", "-o", str(tmp_path / "fixed.urdf")],
    ):
        assert main(command) == 0, capsys.readouterr()
    assert rg.reduce(rg.load(tmp_path / "fixed.urdf")).finite_mobility == 1


@pytest.mark.slow
def test_fix_writes_what_was_meant(tmp_path: Path) -> None:
    source = tmp_path / "model.json"
    rg.save(noise_table.noisy(mechanisms.bennett(), 1e-4), source)
    fix = rg.fix(source, as_designed=True)
    assert [change.joint.name for change in fix.changes] == ["A", "B", "C", "D"]
    assert rg.reduce(rg.load(fix.write(tmp_path / "meant.json"))).finite_mobility == 1
    with pytest.raises(rg.ModelError, match="one after the other"):
        rg.fix(source, {"A": "spherical"}, as_designed=True)


@pytest.mark.slow
@pytest.mark.parametrize("name", ["model.sdf", "model.xml"])
def test_fix_writes_places_into_other_formats(name: str, tmp_path: Path) -> None:
    if name.endswith("xml"):
        pytest.importorskip("mujoco")
    source = tmp_path / name
    rg.save(rg.load(ASSETS / "nearly_planar_fourbar.urdf"), source)
    fix = rg.fix(source, as_designed=True)
    before, after = source.read_text().splitlines(), fix.write(tmp_path / f"new_{name}")
    assert rg.reduce(rg.load(after)).finite_mobility == 1
    changed = set(after.read_text().splitlines()) - set(before)
    assert 0 < len(changed) <= 5


@pytest.mark.slow
def test_files_that_do_not_say_where_joints_are(tmp_path: Path) -> None:
    source = tmp_path / "model.usda"
    pytest.importorskip("pxr")
    rg.save(noise_table.noisy(mechanisms.planar_fourbar(), 1e-4), source)
    with pytest.raises(rg.UnsupportedExport, match="export MODEL --as-designed"):
        rg.fix(source, as_designed=True)


@pytest.mark.slow
@pytest.mark.parametrize("name", ["spherical_fourbar", "spherical_9r"])
@pytest.mark.parametrize("off", [1e-17, 1e-15, 1e-12, 1e-9, 1e-7, 1e-6])
def test_what_axes_miss_their_centre_by_is_no_length(name: str, off: float) -> None:
    exact = rg.load(ASSETS / f"{name}.urdf")
    written = noise_table.in_one_centre(exact, off)
    assert said(written)[:6] == said(exact)[:6]
    found = {d.code for d in rg.check(written, configurations=2).diagnostics}
    assert not found & {"REG101", "REG205", "REG206", "REG209", "REG223"}


@pytest.mark.slow
def test_axes_alone_tell_no_length_from_rounding() -> None:
    exact = made("spherical_fourbar")
    bare = replace(exact, bodies=tuple(rg.Body(body.name) for body in exact.bodies))
    for off in (1e-17, 1e-9, 1e-7):
        assert said(noise_table.in_one_centre(bare, off))[:6] == said(exact)[:6]
    centred = noise_table.in_one_centre(bare, 0.0)
    for joint, off in ((1, 1e-17), (2, 1e-9), (2, 1e-6), (3, 1e-6)):
        joints = list(centred.joints)
        T = np.array(joints[joint].T_child_joint)
        T[joint - 1, 3] += off
        joints[joint] = replace(joints[joint], T_child_joint=T)
        assert said(replace(centred, joints=tuple(joints)))[:6] == said(exact)[:6]
    elsewhere = rounding_table.drawn(5002)
    off_once = rounding_table.one_off(elsewhere, 1e-17, np.random.default_rng(5002))
    assert said(off_once)[:6] == said(elsewhere)[:6]
    for off in (1e-7, 1e-6):  # nearly along the axis
        off_along = with_last_off(rounding_table.drawn(5191), (off, 0, 0))
        assert said(off_along)[:6] == said(rounding_table.drawn(5191))[:6]


def rounded_delta() -> rg.Mechanism:
    """A Delta with parallelograms as a program wrote it: places to 1e-6, 120° as 2.0944."""
    joints = []
    legs = (  # yaw, two axes, and places of the motor, the elbow, two hinges and the foot
        (0.0, (1, 0, 0), (0, 0.860271, 0.509838),
         (0, -0.08585), (0, -0.28585), (0.03, -0.28585), (-0.02, -0.28585), (0.03, -0.025833)),
        (-2.0944, (-0.5, -0.866025, 0), (0.745016, -0.430135, 0.509838), (-0.075, 0.047925),
         (-0.248205, 0.147925), (-0.263205, 0.121944), (-0.238205, 0.165246),
         (-0.038024, -0.008064)),
        (2.0944, (-0.5, 0.866025, 0), (-0.745016, -0.430135, 0.509838), (0.075, 0.042925),
         (0.248205, 0.142925), (0.233205, 0.168906), (0.258205, 0.125604), (0.008023, 0.038897)),
    )  # fmt: skip
    for leg, (yaw, u, w, *places) in enumerate(legs, 1):
        motor, elbow, near, far = (np.array([*place, 1.359]) for place in places[:4])
        foot = np.array([*places[4], 0.920262])
        x = np.array([np.cos(yaw), np.sin(yaw), 0.0])
        y = np.cos(0.534996) * np.array([-x[1], x[0], 0.0]) + [0.0, 0.0, np.sin(0.534996)]
        for name, parent, child, axis, point in (
            ("M", "ground", "arm", u, motor),
            ("E", "arm", "upper", u, elbow),
            ("A", "upper", "near", w, near),
            ("B", "near", "lower", w, foot),
            ("C", "upper", "far", w, far),
            ("D", "far", "lower", y, foot - 0.05 * x),
            ("P", "lower", "platform", u if leg == 1 else x, foot),
        ):
            ends = [b if b in ("ground", "platform") else f"{b}{leg}" for b in (parent, child)]
            joints.append(rg.Joint.in_world(f"{name}{leg}", *ends, "revolute", axis, point))
    return rg.Mechanism.of_joints("Delta", joints)


@pytest.mark.slow
@pytest.mark.parametrize(("suffix", "format"), [(".urdf", "urdf+"), (".sdf", "sdf")])
def test_one_level_says_everything_of_a_rounded_delta(
    suffix: str, format: str, tmp_path: Path
) -> None:
    path = rounding_table.write(rounded_delta(), tmp_path / f"delta{suffix}", format, "6f")
    report = rg.check(path, configurations=10)
    said, codes = report.as_dict(), {d.code for d in report.diagnostics}
    assert (said["mobility"]["actual"], said["mobility"]["finite"]) == (3, 3)
    assert not codes & {"REG204", "REG206", "REG209", "REG217"}
    assert not any(loop["locked"] for loop in said["loops"])
    planar = [loop for loop in said["loops"] if loop["motion_algebra"]["type"] == "planar"]
    assert [loop["class"] for loop in planar] == ["trivial"] * 3
    assert report.meant is not None  # with bars that are equal
    assert (report.meant.reduction.finite_mobility, report.meant.reduction.removed) == (3, 12)
    assert report.meant.distance[0] < 1e-6
    exact = rg.check(report.meant.mechanism, configurations=10)
    assert exact.meant is None
    assert "--as-designed" not in str(exact)


@pytest.mark.parametrize("off", [1e-6, 1e-5])
@pytest.mark.parametrize("axis", [0, 1, 2])
def test_closing_stays_near(off: float, axis: int) -> None:
    cranks = with_last_off(mechanisms.three_cranks(), off * np.eye(3)[axis], "T_parent_joint")
    assembly = rg.assemble(cranks)
    assert np.abs(assembly.q - np.concatenate([j.position for j in cranks.joints])).max() < 0.02
    assert assembly.worst_after[0] <= 1.01 * off
    if assembly.elsewhere:
        found = [d for d in rg.check(cranks, configurations=0).diagnostics if d.code == "REG101"]
        assert all("near the pose as given" in d.message for d in found) and found


@pytest.mark.slow
def test_open_loops_say_what_to_do_and_are_of_no_class() -> None:
    gap = with_last_off(mechanisms.planar_fourbar(), (0, 0, 0.0105))
    report = rg.check(gap)
    text, said = str(report), report.as_dict()
    (loop,) = said["loops"]
    assert loop["class"] is None
    assert np.allclose(np.abs(loop["gap"]["translation_m"]), [0, 0, 0.0105], atol=1e-6)
    assert sum(said["redundancy"].values()) == said["mobility"]["redundant"]
    assert said["redundancy"]["paradoxical"] == 0
    words = " ".join(text.split())
    assert "REG205" in words and "Redundant:" not in words and "paradoxical" not in words
    assert "the two frames of `D` miss each other by 10.5 mm along Z" in words
    assert "move that on `link 3` by (0, 0, 10.5) mm" in words
    assert rg.assemble(with_last_off(gap, (0, 0, 0.0105), "T_parent_joint")).closed


@pytest.mark.slow
@pytest.mark.parametrize("ratio", [-1.0, -0.5])
def test_a_redundant_gear_is_named(ratio: float) -> None:
    points = [(0, 0, 0), (0.2, 0.5, 0), (1.2, 0.5, 0), (1.0, 0, 0)]
    bodies = ["ground", "a", "b", "c", "ground"]
    joints = [
        rg.Joint.in_world(name, bodies[k], bodies[k + 1], "revolute", [0, 0, 1], points[k])
        for k, name in enumerate("ABCD")
    ]
    gear = rg.Coupling("gear", "gear", (("A", 0, 1.0), ("D", 0, -ratio)))
    report = rg.check(rg.Mechanism.of_joints("cranks", joints, couplings=(gear,)), configurations=4)
    found = [d for d in report.diagnostics if d.code == "REG202"]
    assert report.reduction.mobility == int(ratio == -1.0)
    assert len(found) == int(ratio == -1.0)
    assert all("coupling `gear` of `A` and `D` says" in d.message for d in found)


@pytest.mark.parametrize("ratio", [-1.0, 1.0])
def test_a_gear_beside_a_double_cardan_joint_is_named(ratio: float) -> None:
    shafts = rg.assembly("double Cardan")
    for name in ("in", "mid", "out"):
        shafts.body(name)
    shafts.hinge("J1", "ground", "in", at=(-1, -0.4, 0), axis=(1, 0.4, 0))
    shafts.universal("J2", "in", "mid", at=(0, 0, 0), axes=((0, 0, 1), (0, 1, 0)))
    shafts.universal("J3", "mid", "out", at=(1.5, 0, 0), axes=((0, 1, 0), (0, 0, 1)))
    shafts.hinge("J4", "out", "ground", at=(2.5, -0.4, 0), axis=(1, -0.4, 0))
    gear = rg.Coupling("gear", "gear", (("J1", 0, 1.0), ("J4", 0, -ratio)))
    report = rg.check(replace(shafts.mechanism(), couplings=(gear,)), configurations=4)
    found = [d.message for d in report.diagnostics if d.code == "REG202"]
    redundant = ratio == -1.0
    assert report.reduction.finite_mobility == int(redundant)
    assert report.redundancy["paradoxical"] == int(redundant) == len(found)
    assert all("coupling `gear` of `J1` and `J4` says what the loops say" in each for each in found)


@pytest.mark.slow
def test_a_spatial_loop_that_stays_open_has_one_gap_and_no_idle_direction() -> None:
    shafts = rg.assembly("shafts")
    shafts.body("driver")
    shafts.body("driven")
    shafts.hinge("input", "ground", "driver", at=(0, 0, 0), axis=(0, 0, 1))
    shafts.universal("cross", "driver", "driven", at=(0, 0.1, 2), axes=((1, 0, 0), (0, 1, 0)))
    shafts.cylindrical("output", "driven", "ground", at=(3, 0, 4), axis=(1, 0, 1))
    report = rg.check(with_last_off(shafts.mechanism(), (0.5, 0.0, -0.5)))
    (error,) = [d for d in report.diagnostics if d.severity == "error"]
    assert error.code == "REG205" and "does not matter" not in error.help[0]
    amount = error.message.split("; ")[1].split(" stay open")[0].split(" and ")[0]
    assert f"miss each other by {amount} " in error.help[0]


@pytest.mark.slow
@pytest.mark.parametrize(("seed", "decimals"), [(5084, 5), (5074, 4)])
def test_few_decimals_leave_a_family_proved_and_bodies_their_motions(
    seed: int, decimals: int
) -> None:
    """A Bennett linkage, whose relations add up errors; a Schmidt coupling, whose cranks swing."""
    mechanism = rounding_table.rounded(rounding_table.drawn(seed), decimals, ".json")
    report = rg.check(mechanism, configurations=4)
    codes = {finding.code for finding in report.diagnostics}
    assert "REG230" in codes and "REG202" not in codes
    if seed == 5084:
        (found,) = report.special
        assert found.family == "Bennett" and 1e-8 < found.distance < 1e-4
    kinds = {body.body: body.motion.name for body in report.moving}
    assert all(kinds[name] == "translations in a plane" for name in kinds if "crank" in name)
    proof = rg.prove(rg.reduce(mechanism, numerical=True))
    assert proof["undecided"] == [] and rg.verify(proof).holds


def test_walks_leave_the_pose_of_loops_that_just_close() -> None:
    mechanism, rng = rounding_table.drawn(5112), np.random.default_rng(5112)
    off = {amount: rounding_table.one_off(mechanism, amount, rng) for amount in rounding_table.OFF}
    for amount in (1e-13, 1e-12):
        reduction = rg.reduce(off[amount], configurations=4)
        assert np.ptp(reduction.cells[0].configurations[:, 0]) > 0.1
