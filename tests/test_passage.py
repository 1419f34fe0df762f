"""Singular configurations in minimal coordinates: motions that cross, and such that all but do."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

import regularize as rg
from regularize.dynamics.minimal.crossing import Crossings, Walk, crossing
from regularize.dynamics.minimal.dynamics import MinimalDynamics, minimal_dynamics
from regularize.dynamics.minimal.engine import Passage
from regularize.dynamics.minimal.findings import jumps, passed
from regularize.dynamics.minimal.polynomial import Polynomial
from regularize.dynamics.minimal.pose import Pose
from regularize.lie.screw import Array
from regularize.model.mechanism import (
    Body,
    Inertia,
    Mechanism,
    joint_in_world,
    mechanism_of,
)

Y = (0, 1, 0)


def massive(mechanism: Mechanism, centres: dict[str, Array]) -> Mechanism:
    """The same with a mass of 1 kg at a point of every body that has one."""
    bodies = [
        Body(b.name, Inertia(1.0, centres[b.name], 0.01 * np.eye(3))) if b.name in centres else b
        for b in mechanism.bodies
    ]
    return replace(mechanism, bodies=tuple(bodies))


def bars(
    crank: float, coupler: float, rocker: float, ground: float, angle: float, carriage: bool = False
) -> Mechanism:
    """A planar four-bar in the X-Z plane, on the ground or on a carriage that slides along X."""
    A, D = np.zeros(3), np.array([ground, 0, 0])
    B = crank * np.array([np.cos(angle), 0, np.sin(angle)])
    to_D = D - B
    distance = float(np.linalg.norm(to_D))
    along = (coupler**2 - rocker**2 + distance**2) / (2 * distance)
    e = to_D / distance
    normal = np.array([-e[2], 0, e[0]])
    height = np.sqrt(coupler**2 - along**2)
    C = B + along * e + height * np.sign(normal[2]) * normal
    base = "carriage" if carriage else "ground"
    joints = [
        joint_in_world("A", base, "crank", "revolute", Y, A),
        joint_in_world("B", "crank", "coupler", "revolute", Y, B),
        joint_in_world("C", "coupler", "rocker", "revolute", Y, C),
        joint_in_world("D", base, "rocker", "revolute", Y, D, closure=True),
    ]
    centres = {"crank": (A + B) / 2, "coupler": (B + C) / 2, "rocker": (C + D) / 2}
    if carriage:
        joints.insert(0, joint_in_world("P", "ground", "carriage", "prismatic", (1, 0, 0), A))
        centres["carriage"] = D / 2
    return massive(mechanism_of("bars", joints), centres)


def slider(length: float, angle: float) -> Mechanism:
    """A slider-crank whose rod is as long as its crank: it can fold and stay on its pivot."""
    B = length * np.array([np.cos(angle), 0, np.sin(angle)])
    C = np.array([2 * B[0], 0, 0])
    joints = [
        joint_in_world("A", "ground", "crank", "revolute", Y, (0, 0, 0)),
        joint_in_world("B", "crank", "rod", "revolute", Y, B),
        joint_in_world("C", "rod", "piston", "revolute", Y, C),
        joint_in_world("P", "ground", "piston", "prismatic", (1, 0, 0), C, closure=True),
    ]
    return massive(
        mechanism_of("slider", joints), {"crank": B / 2, "rod": (B + C) / 2, "piston": C}
    )


CROSSING = {
    "change point": bars(0.2, 0.5, 0.6, 0.3, 1.0),
    "small change point": bars(0.1, 0.4, 0.5, 0.2, 1.2),
    "kite": bars(0.3, 0.3, 0.5, 0.5, 0.8),
    "parallelogram": bars(0.2, 0.4, 0.2, 0.4, 1.0),
    "equal slider-crank": slider(0.3, 1.0),
    "on a carriage": bars(0.2, 0.5, 0.6, 0.3, 1.0, carriage=True),
}


@pytest.mark.slow
@pytest.mark.parametrize("name", list(CROSSING))
@pytest.mark.parametrize("rate", [15.0, -16.7])
def test_the_motion_goes_straight_on_where_motions_cross(name: str, rate: float) -> None:
    """As in all coordinates, which need no choice; energy is kept, and it is said."""
    reduction = rg.reduce(CROSSING[name])
    rates = {"A": rate, "P": 0.5} if name == "on a carriage" else {"A": rate}
    minimal = rg.simulate(reduction, duration=1.0, rates=rates, coordinates="minimal", rtol=1e-9)
    reference = rg.simulate(reduction, duration=1.0, rates=rates, rtol=1e-11)
    assert minimal.energy_drift < 1e-5
    assert minimal.closure_drift < 1e-11
    np.testing.assert_allclose(minimal.coordinates, reference.coordinates, atol=1e-5)
    codes = [finding.code for finding in minimal.findings]
    assert codes == ["REG313"]
    assert "more time" in minimal.findings[0].message


@pytest.mark.slow
@pytest.mark.parametrize("rate", [15.0, 16.7])
def test_motions_that_do_not_cross_are_kept_apart(rate: float) -> None:
    """A tenth of a millimetre off the change point the rocker turns sharply, never beyond."""
    mechanism = bars(0.2, 0.5, 0.2001, 0.5, 1.0)
    motion = rg.simulate(
        mechanism, duration=0.6, rates={"A": rate}, coordinates="minimal", rtol=1e-8
    )
    assert motion.findings == ()
    assert motion.energy_drift < 1e-4
    crank = motion.coordinates[:, motion.names.index("A")]
    assert np.ptp(crank) > 2 * np.pi
    # Coupler and rocker never come into line, so the sine of their angle keeps its sign.
    sine = np.sin(angle_at_C(mechanism) - motion.coordinates[:, motion.names.index("C")])
    assert len(set(np.sign(sine))) == 1


@pytest.mark.slow
@pytest.mark.parametrize("rate", [15.0, 16.7])
def test_a_crank_that_almost_turns_around_turns_back(rate: float) -> None:
    """The shortest and the longest bar are together longer than the others by 0.1 mm."""
    mechanism = bars(0.2, 0.5, 0.6001, 0.3, 1.0)
    motion = rg.simulate(
        mechanism, duration=1.0, rates={"A": rate}, coordinates="minimal", rtol=1e-8
    )
    assert motion.findings == ()
    assert motion.energy_drift < 1e-4
    assert 4.0 < np.ptp(motion.coordinates[:, motion.names.index("A")]) < 2 * np.pi


def angle_at_C(mechanism: Mechanism) -> float:
    """From the coupler's direction to the rocker's, about -Y, at the reference."""
    centres = {b.name: b.inertia.center for b in mechanism.bodies if b.inertia is not None}
    B = 2 * centres["crank"]
    C = 2 * centres["coupler"] - B
    D = 2 * centres["rocker"] - C
    first, second = C - B, D - C
    return float(np.arctan2(second[2], second[0]) - np.arctan2(first[2], first[0]))


@pytest.mark.slow
def test_lengths_that_are_special_but_for_their_last_digits() -> None:
    """The motion goes straight on, and it is said that rounding decided so."""
    motion = rg.simulate(
        bars(0.2, 0.5, 0.200000001, 0.5, 1.0),
        duration=0.6,
        rates={"A": 15.0},
        coordinates="minimal",
        rtol=1e-7,
    )
    exact = rg.simulate(
        bars(0.2, 0.5, 0.2, 0.5, 1.0),
        duration=0.6,
        rates={"A": 15.0},
        coordinates="minimal",
        rtol=1e-9,
    )
    assert [finding.code for finding in motion.findings] == ["REG314"]
    assert motion.energy_drift < 1e-2
    np.testing.assert_allclose(motion.coordinates, exact.coordinates, atol=1e-2)


def test_a_prescribed_motion_goes_straight_on() -> None:
    """A parallelogram's coupler does not turn, through both flat poses and for two turns."""
    motion = rg.simulate(
        CROSSING["parallelogram"],
        duration=4 * np.pi / 3,
        drive={"A": "3*t"},
        coordinates="minimal",
    )
    A, B = (motion.coordinates[:, motion.names.index(name)] for name in "AB")
    np.testing.assert_allclose(A, 3.0 * motion.time, atol=1e-12)
    np.testing.assert_allclose(A + B, 0.0, atol=1e-10)
    assert motion.energy_drift < 1e-7
    (finding,) = motion.findings
    assert finding.code == "REG313" and finding.message.endswith("and 3 more times")


@pytest.mark.slow
def test_a_motion_to_and_fro_through_the_singular_configuration() -> None:
    """A parallelogram swings about its flat pose, and never becomes a crossed one."""
    hanging = replace(bars(0.2, 0.4, 0.2, 0.4, 0.2), gravity=np.array([9.81, 0.0, 0.0]))
    motion = rg.simulate(hanging, duration=2.0, coordinates="minimal", rtol=1e-9)
    A, B = (motion.coordinates[:, motion.names.index(name)] for name in "AB")
    np.testing.assert_allclose(A + B, 0.0, atol=1e-9)
    assert motion.energy_drift < 1e-8
    assert np.ptp(A) == pytest.approx(0.4, rel=1e-3)
    (finding,) = motion.findings
    assert finding.code == "REG313"


def kinematics_near(lengths: tuple[float, float, float, float, float]) -> MinimalDynamics:
    return minimal_dynamics(rg.reduce(bars(*lengths)), ["A"])


def walk_of(dynamics: MinimalDynamics) -> Walk:
    """Newton's method in steps of 0.01."""

    def walk(pose: Pose, known: Array) -> Pose:
        columns = dynamics.known
        start = pose.x[columns].copy()
        steps = max(1, int(np.ceil(np.max(np.abs(known - start)) / 0.01)))
        for k in range(1, steps + 1):
            target = start + k / steps * (known - start)
            pose = dynamics.close(pose.x + pose.transmission @ (target - pose.x[columns]))
        return pose

    return walk


def test_a_crossing_leads_through_a_change_point() -> None:
    """Crank at 0: velocities and accelerations on it are those of a finer and finer difference."""
    dynamics = kinematics_near((0.2, 0.5, 0.6, 0.3, 1.0))
    walk = walk_of(dynamics)
    start = walk(dynamics.pose(dynamics.reference), np.array([0.85]))
    found = crossing(dynamics, start, np.ones(1), walk)
    assert found is not None
    assert found.singular and found.decided
    # The crank's angle decreases with its coordinate about Y: flat after the first radian.
    assert found.centre[0] == pytest.approx(1.0, abs=1e-3)
    h = 1e-4
    before, here, after = (found(np.array([1.0 + s])) for s in (-h, 0.0, h))
    slope, second = (after.x - before.x) / (2 * h), (after.x - 2 * here.x + before.x) / h**2
    np.testing.assert_allclose(here.transmission[:, 0], slope, atol=1e-7)
    assert here.bend is not None
    np.testing.assert_allclose(here.bend[:, 0, 0], second, atol=1e-5)
    error = np.abs(dynamics.robot.residual(here.q))
    assert np.max(error) < 1e-13
    far = dynamics.close(found.ends[1].x)
    np.testing.assert_allclose(far.q, found.ends[1].q, atol=1e-12)
    assert found.ends[0].side == -found.ends[1].side


def test_all_coordinates_lead_past_a_crossing_that_is_not_found(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """No choice of independent ones does there; which way it went on, rounding has decided."""
    monkeypatch.setattr(Crossings, "ahead", lambda *_: None)
    reduction = rg.reduce(CROSSING["change point"])
    rates = {"A": 30.0}
    motion = rg.simulate(reduction, duration=0.14, rates=rates, coordinates="minimal", rtol=1e-6)
    assert [finding.code for finding in motion.findings] == ["REG314"]
    reference = rg.simulate(reduction, duration=0.14, rates=rates, rtol=1e-9)
    np.testing.assert_allclose(motion.coordinates, reference.coordinates, atol=1e-4)
    assert motion.closure_drift < 1e-9


def test_no_crossing_where_motions_do_not_cross_or_nothing_is_singular() -> None:
    dynamics = kinematics_near((0.2, 0.5, 0.6001, 0.3, 1.0))
    walk = walk_of(dynamics)
    start = walk(dynamics.pose(dynamics.reference), np.array([0.85]))
    assert crossing(dynamics, start, np.ones(1), walk) is None
    assert crossing(dynamics, dynamics.pose(dynamics.reference), -np.ones(1), walk) is None


def test_polynomial_is_exact_for_its_degree() -> None:
    s = np.array([-1.0, -0.7, -0.4, 0.4, 0.7, 1.0])
    values = np.column_stack([s**5 - s, 3 * s**2])
    polynomial = Polynomial(s, values)
    for at in (-0.4, 0.0, 0.15, 1.3):
        np.testing.assert_allclose(polynomial(at), [at**5 - at, 3 * at**2], atol=1e-13)


def test_findings_name_times_and_jumps() -> None:
    several = [Passage(0.25, True), Passage(0.5, True), Passage(0.75, True), Passage(0.8, False)]
    straight, open_ = passed(several)
    assert straight.code == "REG313"
    assert straight.message.endswith("at 0.25 s and 2 more times")
    assert open_.code == "REG314"
    assert open_.message.endswith("at 0.8 s")
    assert passed(()) == ()
    time, kinetic = np.linspace(0, 1, 5), np.full(5, 10.0)
    even = np.array([1.0, 1.0 + 1e-6, 1.0, 1.0, 1.0])
    assert jumps(time, even, kinetic, 1e-9) == ()
    (jump,) = jumps(time, np.array([1.0, 1.0, 9.2, 9.2, 9.2]), kinetic, 1e-9)
    assert jump.code == "REG315"
    assert "jumps by 8.2 J before 0.5 s" in jump.message
    assert jumps(time, even, kinetic, 1e-12) != ()
    at_rest = np.array([0.0, 3e-15, 0.0, 3e-15, 0.0])
    assert jumps(time, at_rest, np.zeros(5), 1e-9) == ()
