"""Actuation maps: closure, inverses, derivatives, power, domains, languages, twins, states."""

from __future__ import annotations

import ast
import ctypes
import importlib.util
import json
import re
import shutil
import subprocess
import warnings
from collections.abc import Sequence
from dataclasses import replace
from functools import cache
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

import numpy as np
import pytest
from drive_linkages import DRIVES, Drive, seven_hinges

import regularize as rg
from regularize.cli import main

pytestmark = pytest.mark.guests("modes", "actuation", "design")

NAMES = sorted(DRIVES)
PIECES = [("six_bar", 1e-4, False), ("spu_ankle", 1e-3, False), ("four_bar_knee", 1e-2, True)]
PAGES = [("four_bar_knee", 0.7, True), ("rsu_ankle", 2.0, True), ("rsu_ankle", 0.3, False)]


@cache
def made(name: str) -> tuple[Drive, Any]:
    """A drive and its map."""
    drive = {**DRIVES, "seven_hinges": seven_hinges}[name]()
    return drive, rg.actuation_map(drive.mechanism, drive.motors, drive.joints)


@pytest.mark.slow
@pytest.mark.parametrize("name", NAMES)
def test_maps_invert_each_other_hold_in_nine_tenths_and_keep_power(name: str) -> None:
    _, m = made(name)
    theta = m.samples(1000)
    q = m.joints(theta)
    assert np.abs(m.motors(q) - theta).max() < 1e-11
    least = {"planar_platform": 0.4, "lever_ankle": 0.8}.get(name, 0.9)
    assert m.domain.share > least and m.domain.contains(theta).all()
    assert m.domain.proved
    corners = np.concatenate([m.domain.lower, m.domain.upper])
    assert np.isfinite(m.joints(corners)).all()
    rng, theta = np.random.default_rng(0), m.samples(100)
    rate, tau = rng.normal(size=(2, *theta.shape))
    joint_rate = np.einsum("nij,nj->ni", m.jacobian(theta), rate)
    tau_q = m.joint_torque(theta, tau)
    power = np.einsum("ni,ni->n", tau, rate)
    size = np.einsum("ni,ni->n", np.abs(tau_q), np.abs(joint_rate)) + 1.0
    assert np.all(np.abs(np.einsum("ni,ni->n", tau_q, joint_rate) - power) < 1e-12 * size)
    assert np.allclose(m.motor_torque(theta, tau_q), tau, atol=1e-10)
    rotors = rng.uniform(0.5, 1.0, theta.shape[1])
    energy = np.einsum("ni,nij,nj->n", joint_rate, m.reflected_inertia(theta, rotors), joint_rate)
    assert np.allclose(energy, np.einsum("ni,i,ni->n", rate, rotors, rate), rtol=1e-9)


@pytest.mark.slow
@pytest.mark.parametrize("name", [*NAMES, "seven_hinges"])
def test_derivatives_are_those_of_differences(name: str) -> None:
    _, m = made(name)
    theta = m.samples(200, seed=1)
    clear = m.margin(theta) > 0.15 * np.nanmax(m.margin(theta))
    theta, h = theta[clear], 1e-5
    J, H = m.jacobian(theta), m.hessian(theta)
    for i, e in enumerate(np.eye(theta.shape[1])):
        x = [m.joints(theta + s * h * e, strict=False) for s in (-2, -1, 1, 2)]
        slope = (x[0] - 8 * x[1] + 8 * x[2] - x[3]) / (12 * h)
        scale = 1.0 + np.abs(H).max()
        assert np.nanmax(np.abs(slope - J[..., i])) < 1e-7 * scale
        x = [m.jacobian(theta + s * h * e, strict=False) for s in (-2, -1, 1, 2)]
        bend = (x[0] - 8 * x[1] + 8 * x[2] - x[3]) / (12 * h)
        assert np.nanmax(np.abs(bend - H[..., i])) < 1e-6 * scale**2


@pytest.mark.slow
def test_outside_there_is_an_error_or_nothing() -> None:
    _, m = made("rsu_ankle")
    beyond = np.array([0.0, 5.0])
    for values in (m.joints, m.jacobian, m.hessian):
        with pytest.raises(rg.ModelError, match=r"m2 = 5 is outside of the map's domain"):
            values(beyond)
        assert np.isnan(values(beyond, strict=False)).all()
    with pytest.raises(rg.ModelError, match="pitch = 3"):
        m.motors([3.0, 0.0])
    assert np.isnan(m.margin(beyond))
    with pytest.raises(rg.ModelError, match="domain"):
        m.joint_torque(beyond, [1.0, 1.0])
    assert np.isnan(m.reflected_inertia(beyond, [1.0, 1.0], strict=False)).all()
    assert np.isnan(m.motor_torque(beyond, [1.0, 1.0], strict=False)).all()


@pytest.mark.parametrize("name", ["four_bar_knee", "rsu_ankle"])
def test_a_turn_more_is_outside(name: str) -> None:
    """Motors are periodic formulas of joints: an angle and a turn is not what they stand at."""
    _, m = made(name)
    q = m.joints(m.samples(20))
    for turned in (q + 2 * np.pi, q - 6 * np.pi):
        assert np.isnan(m.motors(turned, strict=False)).all()
        with pytest.raises(rg.ModelError, match="domain"):
            m.motors(turned)


@pytest.mark.slow
def test_three_hinges_with_nothing_between_them_are_a_ball() -> None:
    """As formats without balls write them; the map is the same, and its gimbals lock nowhere."""
    drive, m = made("rsu_ankle")
    a = rg.assembly("2-RSU ankle of hinges")
    for body in drive.mechanism.bodies:
        if body.name != drive.mechanism.ground:
            a.body(body.name)
    for joint in drive.mechanism.joints:
        at, ends = joint.T_parent_joint[:3, 3], [joint.parent, joint.child]
        if joint.kind == "revolute":
            a.hinge(joint.name, *ends, at=at, axis=joint.screws[3:, 0], limits=joint.limits)
            continue
        if joint.kind == "universal":
            a.universal(joint.name, *ends, at=at, axes=joint.screws[3:].T)
            continue
        frames = [f"{joint.name}_{i}" for i in range(2)]
        for frame in frames:
            a.body(frame)
        chain = [ends[0], *frames, ends[1]]
        for i, axis in enumerate(np.eye(3)[[1, 0, 2]]):
            a.hinge(f"{joint.name}_{i}", chain[i], chain[i + 1], at=at, axis=axis)
    other = rg.actuation_map(a.mechanism(), drive.motors, drive.joints)
    theta = m.samples(100)
    assert other.domain.proved and other.domain.share == m.domain.share
    assert np.abs(other.joints(theta) - m.joints(theta)).max() < 1e-12


@pytest.mark.slow
def test_motors_that_are_too_few_and_what_cannot_move_are_told() -> None:
    drive = DRIVES["five_bar"]()
    held = r"with the motors held knee still moves, and .* most of all"
    with pytest.raises(rg.ModelError, match=held):
        rg.actuation_map(drive.mechanism, ["m1"], ["knee"])
    with pytest.raises(rg.ModelError, match="as many"):
        rg.actuation_map(drive.mechanism, ["m1"], ["m1", "knee"])
    assert rg.actuation_map(DRIVES["rsu_ankle"]().mechanism).joint_names == ("pitch", "roll")
    a = rg.assembly("a triangle")
    a.body("b1"), a.body("b2")
    for i, ends in enumerate((("ground", "b1"), ("b1", "b2"), ("b2", "ground"))):
        a.hinge(f"h{i}", *ends, at=(np.cos(2.0 * i), 0, np.sin(2.0 * i)), axis=(0, 1, 0))
    gear = rg.assembly("gear")
    for i in (1, 2):
        gear.body(f"b{i}", mass=1.0)
        gear.hinge(f"h{i}", "ground", f"b{i}", at=(i, 0, 0), axis=(0, 0, 1), actuated=i == 1)
    gear.coupling("mesh", {"h1": 2.0, "h2": -1.0})
    with pytest.raises(rg.ModelError, match="no motor within a loop or a differential"):
        rg.actuation_map(gear.mechanism())
    with pytest.raises(rg.ModelError, match=r"has 0 freedoms as it is written.*as-designed"):
        rg.actuation_map(a.mechanism(), ["h0"], ["h1"])


ROBOTS = Path(__file__).parents[3] / "assets" / "robots"
CORPUS = Path(__file__).parents[3].parent / "shared" / "corpus"
KANGAROO = "mjcf/pal_kangaroo/src/pal_mjlab/robots/pal_kangaroo/xmls/kangaroo_lower_body.xml"
REAL = [f"gepetto_yaml/{name}_like/robot.urdf" for name in ("cassie", "digit")]
REAL += ["mjcf/menagerie_agility_cassie/cassie.xml", KANGAROO]


@pytest.mark.slow
@pytest.mark.skipif(not CORPUS.exists(), reason="corpus not at hand")
@pytest.mark.parametrize("file", REAL)
def test_robots_as_they_are_published(file: str) -> None:
    model, named = rg.load(str(CORPUS / file)), list[list[str]]()
    if file == KANGAROO:  # stored folded, beyond its limits
        pose = {"femur": 0.7, "knee": 1.4, "length": 0.42}
        sides = [(f"leg_{s}_{n}_joint", [x]) for n, x in pose.items() for s in ("left", "right")]
        model, named = model.with_positions(dict(sides)), [[sides[4][0]], [sides[2][0]]]
    m = rg.actuation_map(model, *named)
    theta = m.samples(500)
    assert m.domain.proved
    assert np.abs(m.motors(m.joints(theta)) - theta).max() < 1e-11


def test_where_there_are_no_formulas_newtons_method_follows_one_branch() -> None:
    """A general 7R loop against the projection of all its joints, followed in small steps."""
    drive, m = made("seven_hinges")
    assert m.domain.proved and m.domain.share > 0.4
    robot = rg.to_pinocchio(drive.mechanism)
    for end in (float(m.domain.lower.min()), float(m.domain.upper.max())):
        q = robot.q0
        for value in np.linspace(0.0, 0.99 * end, 9)[1:]:
            q = robot.follow(q, {"j0": float(value)})
            found = m.joints([value])
            assert abs(np.sin(0.5 * (robot.coordinates(q)[6] - found[0]))) < 1e-11
    theta = m.samples(200)
    assert np.abs(m.motors(m.joints(theta)) - theta).max() < 1e-11


def hinged(name: str, *points: Any, **motor: Any) -> rg.Mechanism:
    """A planar four-bar: motor, two pins and the output, at points in the plane of x and z."""
    a, bodies = rg.assembly(name), ("ground", "crank", "rod", "rocker", "ground")
    for body in bodies[1:4]:
        a.body(body, mass=1.0)
    ends = (("m", 0, 1), ("b", 1, 2), ("c", 2, 3), ("out", 4, 3))
    for (joint, i, j), (x, z) in zip(ends, points, strict=True):
        more = motor if joint == "m" else {}
        a.hinge(joint, bodies[i], bodies[j], at=(x, 0, z), axis=(0, 1, 0), **more)
    return a.mechanism()


def limited(
    mechanism: rg.Mechanism, low: float, high: float, motors: Sequence[str] = ("m",)
) -> rg.Mechanism:
    """The mechanism with other limits of its motors, and no ratings."""
    joints = (
        replace(j, limits=type(j.limits)([low], [high])) if j.name in motors else j
        for j in mechanism.joints
    )
    return replace(mechanism, joints=tuple(joints))


@pytest.mark.slow
def test_what_is_led_moves_alone() -> None:
    """One leg is led at a time, in one step of the compiled kernel; base and other leg stay."""
    robot = rg.to_pinocchio(rg.load(ROBOTS / "humanoid_rods.xml"))
    led = ("left_ankle_m1", "left_ankle_m2")
    still = ["right_ankle_m1", "right_ankle_pitch", "right_ankle_roll", "right_hip_pitch"]
    q = robot.follow(robot.q0, dict(zip(led, (0.2, -0.1), strict=True)))
    assert np.abs(robot.residual(q)).max() < 1e-12
    own, rest = (
        [robot.position_index(int(k)) for k in robot.velocity_indices(n)] for n in (led, still)
    )
    assert q[own].tolist() == [0.2, -0.1]
    assert np.abs((q - robot.q0)[rest]).max() < 1e-12 and np.abs((q - robot.q0)[:7]).max() < 1e-12


@pytest.mark.slow
@pytest.mark.skipif(shutil.which("gcc") is None, reason="no C compiler")
@pytest.mark.parametrize("name", ["rsu_ankle", "five_bar", "gripper", "seven_hinges"])
def test_c_and_python_give_the_same(name: str, tmp_path: Path) -> None:
    _, m = made(name)
    m.to_c(tmp_path / "drive.c")
    m.to_python(tmp_path / "drive.py")
    flags = ["-std=c99", "-Wall", "-Wextra", "-Werror", "-shared", "-fPIC"]
    files = ["-o", str(tmp_path / "drive.so"), str(tmp_path / "drive.c"), "-lm"]
    subprocess.run(["gcc", *flags, *files], check=True)
    library = ctypes.CDLL(str(tmp_path / "drive.so"))
    spec = importlib.util.spec_from_file_location("drive", tmp_path / "drive.py")
    assert spec is not None and spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    theta = m.samples(50)
    theta[:3] += 9.0
    q, k = m.joints(theta, strict=False), theta.shape[1]
    J = m.jacobian(theta, strict=False)
    assert np.allclose(module.joints(theta), q, atol=1e-13, equal_nan=True)
    assert np.allclose(module.motors(q)[3:], theta[3:], atol=1e-11)
    assert np.allclose(module.jacobian(theta), J, atol=1e-10, equal_nan=True)

    def called(function: str, given: np.ndarray, count: int) -> tuple[int, np.ndarray]:
        out = np.zeros(count)
        pointers = (x.ctypes.data_as(ctypes.c_void_p) for x in (given.copy(), out))
        return getattr(library, f"drive_{function}")(*pointers), out

    for x, y, slope in zip(theta, q, J, strict=True):
        inside = bool(np.isfinite(y).all())
        status, found = called("joints", x, k)
        assert status == (not inside) and np.allclose(found, y, atol=1e-13, equal_nan=True)
        status, found = called("jacobian", x, k * k)
        assert status == (not inside)
        assert np.allclose(found, slope.ravel(), atol=1e-10, equal_nan=True)
        if inside:
            assert np.allclose(called("motors", y, k)[1], x, atol=1e-11)


@pytest.mark.slow
@pytest.mark.skipif(shutil.which("g++") is None, reason="no C++ compiler")
@pytest.mark.parametrize("name", ["rsu_ankle", "four_bar_knee"])
def test_a_package_of_ros_carries_power_and_limits(name: str, tmp_path: Path) -> None:
    """Compiled against a copy of the interfaces; nothing is allocated while it works."""
    drive, m = made(name)
    package, here = tmp_path / "my_ankle", Path(__file__).parents[2] / "support" / "ros2"
    rg.save(drive.mechanism, tmp_path / "model.json")
    named = ["--motors", ",".join(drive.motors), "--joints", ",".join(drive.joints)]
    command = ["actuate", str(tmp_path / "model.json"), *named, "--to", "ros2", "-o", str(package)]
    assert main(command) == 0
    flags = ["-Wall", "-Wextra", "-Werror", f"-I{here}", f"-I{package}/include"]
    source = package / "src" / "transmission.cpp"
    own = ["-DPACKAGE=my_ankle", f'-DPACKAGE_SOURCE="{source}"']
    steps = [["gcc", "-std=c99", *flags, "-c", f"{package}/src/my_ankle.c", "-o", "map.o"]]
    steps += [["g++", *flags, "-c", f"{package}/src/passive_joints.cpp", "-o", "node.o"]]
    steps += [["g++", *flags, *own, f"{here}/drive.cpp", "map.o", "-o", "drive", "-lm"]]
    for step in steps:
        subprocess.run(step, check=True, cwd=tmp_path)
    theta, rng = m.samples(200), np.random.default_rng(0)
    rates, torques = rng.uniform(-1.0, 1.0, (2, *theta.shape))
    torques[100:] *= 1e4
    lines = np.hstack([theta, rates, torques])
    text = "\n".join(" ".join(map(repr, row)) for row in lines.tolist())
    done = subprocess.run([tmp_path / "drive"], input=text, capture_output=True, text=True)
    found = np.array([line.split() for line in done.stdout.splitlines()], dtype=float)
    q, dq, tau, theta2, rates2, torques2 = np.split(found[:, :-1], 6, axis=1)
    assert not found[:, -1].any() and np.allclose(q, m.joints(theta), atol=1e-13)
    power = [np.sum(a * b, axis=1)[:100] for a, b in ((tau, dq), (torques, rates))]
    size = np.abs(tau * dq).sum(axis=1)[:100] + 1.0
    assert np.max(np.abs(power[0] - power[1]) / size) < 1e-12
    assert np.allclose(theta2, theta, atol=1e-11) and np.allclose(rates2, rates, atol=1e-9)
    assert np.allclose(torques2[:100], torques[:100], atol=1e-9)
    share = np.abs(torques2[100:] / m.effort).max(axis=1)
    assert np.allclose(share, 1.0) or not np.isfinite(m.effort).all()
    ends = ElementTree.parse(package / "ros2_control.xml").getroot()[1:]
    assert len({(end.tag, end.get("role")) for end in ends}) == 2 * len(drive.motors)
    assert main([*command[:-1], str(tmp_path / "No-Package")]) == 2


@pytest.mark.parametrize("library", ["jax", "torch", "casadi"])
def test_functions_of_other_libraries_give_the_same(library: str) -> None:
    module = pytest.importorskip(library)
    _, m = made("rsu_ankle")
    theta = m.samples(20)
    theta[:2] += 9.0
    q = m.joints(theta, strict=False)
    if library == "jax":
        module.config.update("jax_enable_x64", True)
        found, back = m.to_jax()(theta), m.to_jax(back=True)(q)
        slopes = module.vmap(module.jacfwd(m.to_jax()))(theta[2:])
        assert np.allclose(slopes, m.jacobian(theta[2:]), atol=1e-9)
    elif library == "torch":
        found = m.to_torch()(module.tensor(theta)).numpy()
        back = m.to_torch(back=True)(module.tensor(q)).numpy()
    else:
        found = np.array([m.to_casadi()(x).full().ravel() for x in theta])
        back = np.array([m.to_casadi(back=True)(x).full().ravel() for x in q])
    assert np.allclose(found, q, atol=1e-12, equal_nan=True)
    assert np.allclose(back[2:], theta[2:], atol=1e-11)


@pytest.mark.slow
@pytest.mark.parametrize(("name", "tolerance", "pieces"), PIECES)
def test_polynomials_are_as_good_as_they_say(name: str, tolerance: float, pieces: bool) -> None:
    _, m = made(name)
    polynomial, theta = m.polynomial(tolerance), m.samples(5000, seed=5)
    assert np.abs(polynomial(theta) - m.joints(theta)).max() <= polynomial.error <= tolerance
    assert polynomial(theta[0]).shape == theta[0].shape
    assert isinstance(polynomial.coefficients, tuple) == pieces
    if pieces:
        with pytest.raises(rg.ModelError, match="pieces, and MJCF and URDF hold one"):
            polynomial.to_mjcf()
        return
    with pytest.raises(rg.ModelError, match="no polynomial of degree"):
        m.polynomial(1e-15)


@pytest.mark.slow
@pytest.mark.guests("page")
@pytest.mark.parametrize(("name", "limit", "singular"), PAGES)
def test_pages_draw_maps_up_to_where_they_are_singular(
    name: str, limit: float, singular: bool, tmp_path: Path
) -> None:
    drive = DRIVES[name]()
    rg.save(limited(drive.mechanism, -limit, limit, drive.motors), tmp_path / "model.urdf")
    page = tmp_path / "model.html"
    main(["check", str(tmp_path / "model.urdf"), "--output", "html", "-o", str(page)])
    (figure,) = re.findall(r'<figure class="map">.*?</figure>', page.read_text("utf-8"))
    pictures = [ElementTree.fromstring(x) for x in re.findall("<svg.*?</svg>", figure)]
    assert len(pictures) == len(drive.motors)
    for picture in pictures:
        paths: dict[str, list[str]] = {}
        for path in picture.iter("path"):
            paths.setdefault(path.get("class", ""), []).append(path.get("d", ""))
        assert {"domain", "joint" if len(pictures) == 1 else "face"} <= {*paths}
        assert ("singular" in paths) == singular == ("Red: singularities" in figure)
        if len(pictures) == 1:  # the dead centre is where the domain ends
            edge, line = (float(paths[kind][0][1:].split()[0]) for kind in ("domain", "singular"))
            assert abs(edge - line) < 5.0


EQUALITIES = (
    """<mujoco><compiler autolimits="true"/><worldbody>{bodies}</worldbody>{more}</mujoco>"""
)
BODY = '<body><joint name="{}" type="hinge" axis="0 0 1"/><geom size="0.1"/></body>'


@pytest.mark.parametrize(("name", "tolerance"), [("nut_knee", 1e-2), ("differential", 1e-9)])
def test_mujoco_holds_joints_to_motors_by_the_polynomial(name: str, tolerance: float) -> None:
    mujoco = pytest.importorskip("mujoco")
    drive, m = made(name)
    bodies = "".join(BODY.format(n) for n in (*drive.motors, *drive.joints))
    polynomial = m.polynomial(tolerance)
    text = EQUALITIES.format(bodies=bodies, more=polynomial.to_mjcf())
    model = mujoco.MjModel.from_xml_string(text)
    data, k = mujoco.MjData(model), len(drive.motors)
    assert model.neq == k
    for theta in m.samples(20):
        for q, bound in ((polynomial(theta), 1e-12), (m.joints(theta), polynomial.error)):
            data.qpos[:] = [*theta, *q]
            mujoco.mj_forward(model, data)
            assert np.abs(data.efc_pos[:k]).max() <= bound + 1e-15


@pytest.mark.slow
def test_urdf_mimics_where_the_map_is_linear_enough() -> None:
    _, m = made("gripper")
    polynomial = m.polynomial(0.02)
    mimic = ElementTree.fromstring(polynomial.to_urdf()["right_c"])
    assert mimic.get("joint") == "left_a"
    slope, offset = float(mimic.get("multiplier", "nan")), float(mimic.get("offset", "nan"))
    theta = m.samples(50)
    assert np.abs(slope * theta + offset - m.joints(theta)).max() <= polynomial.error <= 0.02
    with pytest.raises(rg.ModelError, match="follows one other"):
        made("differential")[1].polynomial(1e-9).to_urdf()
    with pytest.raises(rg.ModelError, match="not linear"):
        made("rsu_ankle")[1].polynomial(1e-2).to_mjcf()


@pytest.mark.slow
def test_a_whole_turn_holds_up_to_where_the_knee_turns_back() -> None:
    """Where nothing limits the crank, the domain ends short of the two dead centres."""
    model = hinged("crank and rocker", (0, 0), (0, 0.1), (0.4, 0.3), (0.4, 0))
    m = rg.actuation_map(model, ["m"], ["out"])
    assert m.domain.proved and len(m.domain.lower) == 1
    width = float(m.domain.upper[0, 0] - m.domain.lower[0, 0])
    assert 0.4 * 2 * np.pi < width < 0.6 * 2 * np.pi
    theta = np.linspace(m.domain.lower[0, 0], m.domain.upper[0, 0], 1001)[1:-1, None]
    q = m.joints(theta)
    assert np.all(np.diff(q[:, 0]) > 0.0) or np.all(np.diff(q[:, 0]) < 0.0)
    assert np.abs(m.motors(q) - theta).max() < 1e-9


@pytest.mark.slow
def test_a_singular_stored_pose_is_refused_with_a_way_out() -> None:
    points = (0, 0), (0.1, 0), (0.4, 0), (0.4, -0.2)
    model = hinged("dead centre", *points, limits=[-1.0, 1.0])
    with pytest.raises(rg.ModelError, match=r"pose is singular; .*with_positions\(\{'m': \[0.2\]"):
        rg.actuation_map(model, ["m"], ["out"])
    m = rg.actuation_map(model.with_positions({"m": [0.2]}), ["m"], ["out"])
    assert m.domain.proved and m.domain.share > 0.2
    beyond = limited(model.with_positions({"m": [0.2]}), 0.4, 1.0)
    with pytest.raises(rg.ModelError, match=r"outside of limits \(m is at 0\.") as told:
        rg.actuation_map(beyond, ["m"], ["out"])
    pose = ast.literal_eval(str(told.value).rpartition("with_positions(")[2][:-1])
    assert rg.actuation_map(beyond.with_positions(pose), ["m"], ["out"]).domain.share > 0.2


@pytest.mark.slow
def test_a_joint_that_goes_round_does_not_jump_by_a_turn() -> None:
    """Both cranks of a drag link turn for ever; the domain ends where counting begins anew."""
    points = (0, 0), (0, 0.3), (0.25, 0.25980762113533157), (0.1, 0)
    m = rg.actuation_map(hinged("drag link", *points), ["m"], ["out"])
    assert m.domain.proved and 0.8 < m.domain.share < 1.0
    theta = np.linspace(m.domain.lower[0, 0], m.domain.upper[0, 0], 2001)[1:-1]
    assert np.abs(np.diff(m.joints(theta), axis=0)).max() < 0.05


@pytest.mark.slow
@pytest.mark.parametrize("name", ["rsu_ankle", "nut_knee", "spherical_wrist", "differential"])
def test_twins_have_no_loop_and_the_error_that_they_say(name: str) -> None:
    drive, m = made(name)
    twin = rg.serial_twin(drive.mechanism, drive.motors, drive.joints)
    assert len(twin.mechanism.joints) == len(drive.joints)
    assert rg.check(twin.mechanism).as_dict()["model"]["loops"] == 0
    q = m.joints(m.samples(100, seed=7))
    whole = rg.reduced_model(drive.mechanism, drive.joints).H(q)
    tree = rg.reduced_model(twin.mechanism, drive.joints).H(q)
    off = np.linalg.norm(tree - whole, 2, axis=(1, 2)) / np.linalg.norm(whole, 2, axis=(1, 2))
    assert off.max() <= twin.error < 0.05
    mass = sum(b.inertia.mass for b in twin.mechanism.bodies if b.inertia is not None)
    assert mass > 0.0


@pytest.mark.slow
def test_armature_is_what_a_joint_has_where_it_is_used() -> None:
    """Near a dead centre a rotor weighs 6000 kg m², which is no armature for the rest."""
    a = rg.assembly("four-bar knee with a curved gear")
    for body, mass in (("rotor", 1.0), ("crank", 0.1), ("rod", 0.1), ("shank", 2.0)):
        a.body(body, mass=mass, inertia=0.1 * mass * np.eye(3))
    y = (0, 1, 0)
    a.hinge("m", "ground", "rotor", at=(0, 0, 0.1), axis=y, actuated=True, limits=[-0.7, 0.7])
    a.hinge("pin", "ground", "crank", at=(0, 0, 0), axis=y)
    a.hinge("crank_rod", "crank", "rod", at=(0.1, 0, 0.02), axis=y)
    a.hinge("rod_shank", "rod", "shank", at=(0.08, 0, -0.38), axis=y)
    a.hinge("knee", "ground", "shank", at=(0, 0, -0.4), axis=y)
    a.coupling("gear", {"pin": 1.0, "m": -1.0}, coefficients=(0.0, 0.1, 0.5))
    twin = rg.serial_twin(a.mechanism(), ["m"], ["knee"])
    theta = twin.map.samples(500)
    have = rg.reduced_model(a.mechanism(), ["knee"]).H(twin.map.joints(theta))[:, 0, 0]
    assert have.max() > 1000.0 * np.median(have) / 20.0 and have.max() > 1000.0
    dynamics = twin.mechanism.joint("knee").dynamics
    assert float(np.ravel(dynamics.armature)[0]) < 2.0 * have.min()
    assert twin.error < 1.1


@pytest.mark.slow
def test_a_twin_needs_a_chain_of_joints_that_carries_all_bodies() -> None:
    drive = DRIVES["gripper"]()
    with pytest.raises(rg.ModelError, match="not carried by the base"):
        rg.serial_twin(drive.mechanism, drive.motors, drive.joints)
    drive = DRIVES["four_bar_knee"]()
    toe = rg.Joint.in_world("toe_joint", "rod", "toe", "revolute")
    model = replace(
        drive.mechanism,
        bodies=(*drive.mechanism.bodies, rg.Body("toe")),
        joints=(*drive.mechanism.joints, toe),
    )
    with pytest.raises(rg.ModelError, match="'toe_joint' hangs on 'rod', which more joints move"):
        rg.serial_twin(model, ["m"], ["knee"])


def test_a_motor_without_ratings_leaves_those_of_other_subsystems() -> None:
    silent = limited(rg.load(ROBOTS / "leg_struts.urdf"), -0.03, 0.03, ["left_motor"])
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        twin = rg.serial_twin(silent)
    rated = {j.name: j.limits.effort for j in twin.mechanism.joints if j.limits is not None}
    assert rated["ankle_pitch"] is None and (np.asarray(rated["knee"]) > 0.0).all()


@pytest.mark.slow
@pytest.mark.parametrize("name", NAMES)
def test_closed_states_are_closed_distinct_and_on_the_branch(name: str) -> None:
    drive, m = made(name)
    robot = rg.to_pinocchio(drive.mechanism)
    states = rg.closed_states(drive.mechanism, 300, seed=4)
    assert states.q.shape == (300, robot.nq)
    assert max(np.abs(robot.residual(q)).max() for q in states.q) < 1e-9
    assert len(np.unique(states.q.round(9), axis=0)) == 300
    named = dict(zip(states.names, states.coordinates.T, strict=True))
    theta = np.stack([named[n] for n in drive.motors], axis=-1)
    q = np.stack([named[n] for n in drive.joints], axis=-1)
    low, high = np.array([drive.mechanism.joint(n).limits[0] for n in drive.motors]).T
    assert ((theta >= low) & (theta <= high)).all()
    inside = m.domain.contains(theta)
    away = m.joints(theta[inside]) - q[inside]
    assert inside.mean() > 0.8 and np.abs(away - 2 * np.pi * np.round(away / 6.28)).max() < 1e-8
    again = rg.closed_states(drive.mechanism, 300, seed=4)
    assert np.array_equal(again.q, states.q)


@pytest.mark.slow
def test_states_beyond_limits_are_led_within_them_or_told() -> None:
    knee = DRIVES["four_bar_knee"]().mechanism
    states = rg.closed_states(limited(knee, 0.3, 0.5), 50)
    m = states.coordinates[:, states.names.index("m")]
    assert ((m >= 0.3) & (m <= 0.5)).all()
    with pytest.raises(rg.ModelError, match=r"only 0 of 5 .* beyond the limits of m; try limits"):
        rg.closed_states(limited(knee, 3.0, 3.1), 5)


@pytest.mark.slow
def test_states_are_put_into_mujoco_as_they_are(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    mujoco = pytest.importorskip("mujoco")
    path = Path(__file__).with_name("ankle.xml")
    assert main(["check", str(path)]) == 0
    assert f"regularize motors map {path}" in capsys.readouterr().out
    assert main(["motors", "states", str(path), "-n", "20", "-o", str(tmp_path / "s.npz")]) == 0
    table, m = np.load(tmp_path / "s.npz"), mujoco.MjModel.from_xml_path(str(path))
    d, names = mujoco.MjData(m), [*table["joint_names"]]
    assert not {"connect_rod_foot"} & {*names} and "ball[0]" in names
    for q, values in zip(table["qpos"], table["joint_positions"], strict=True):
        d.qpos[:] = q
        mujoco.mj_forward(m, d)
        assert np.abs(d.efc_pos[: d.ne]).max() < 1e-9 and np.allclose(d.xpos[1], (0, 0.1, 1))
        assert d.joint("m").qpos == values[names.index("m")]
    states = rg.closed_states(m, 20)
    assert states.qpos is not None and np.allclose(states.qpos, table["qpos"], atol=1e-9)


@pytest.mark.slow
def test_command_line(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    drive, m = made("four_bar_knee")
    model = str(tmp_path / "knee.urdf")
    rg.save(drive.mechanism, model)
    for ending in ("c", "py", "npz", "json"):
        named = ["--motors", "m", "--joints", "knee", "-o", str(tmp_path / f"map.{ending}")]
        assert main(["actuate", model, *named]) == 0
    table = np.load(tmp_path / "map.npz")
    assert np.allclose(m.joints(table["theta"]), table["q"], atol=1e-9)
    told = json.loads((tmp_path / "map.json").read_text())
    assert np.allclose(m.joints(told["theta"]), told["q"], atol=1e-9)
    assert main(["twin", model, "-o", str(tmp_path / "twin.xml"), "--fail-on", "error"]) == 0
    crank = str(Path(__file__).parents[3] / "assets" / "slider_crank.urdf")
    assert main(["twin", crank, "-o", str(tmp_path / "far.json")]) == 1
    assert "REG342" in capsys.readouterr().err
    assert rg.check(str(tmp_path / "twin.xml")).as_dict()["model"]["loops"] == 0
    assert main(["states", model, "-n", "50", "-o", str(tmp_path / "s.npz")]) == 0
    assert len(np.load(tmp_path / "s.npz")["q"]) == 50
    main(["check", model, "--output", "html", "-o", str(tmp_path / "page.html")])
    page = (tmp_path / "page.html").read_text("utf-8")
    (peaks,) = re.findall(r'<figure class="map peaks">.*?</figure>', page)
    most = np.abs(m.torque_polygon(m.samples(2000))).max()
    told = re.findall(r">knee ±([\d.]+) N m<", peaks)
    assert peaks.count("<svg") == 2 and abs(float(told[0]) / most - 1.0) < 0.02
    gains = ["motors", "gains", model, "--stiffness", "300", "-o", str(tmp_path / "gains.npz")]
    assert main(gains) == 0 and "knee: " in capsys.readouterr().out
    told = np.load(tmp_path / "gains.npz")
    assert told["joint_stiffness"][0, 0] <= 300.0 <= told["joint_stiffness"][1, 0]
    assert np.allclose(m.motor_gains(told["theta"], [300.0], [0.0])[0], told["stiffness"])
    torque = np.abs(m.torque_polygon(m.samples(50)))
    assert (torque >= told["torque"][0] - 0.5).all() and (torque <= told["torque"][1] + 0.5).all()
    assert main(["motors", "gains", model, "--damping", "1,2"]) == 2
    assert main(["actuate", model, "--motors", "nothing"]) == 2
    assert "there is no joint or coordinate 'nothing'" in capsys.readouterr().err
