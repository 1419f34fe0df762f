"""Singular configurations in minimal coordinates: motions that cross, and such that all but do."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

import regularize as rg

pytestmark = pytest.mark.slow
Y = (0, 1, 0)
#: Both ways of integration.
WAYS = ["all", "minimal"]


def massive(mechanism: rg.Mechanism, centres: dict[str, np.ndarray]) -> rg.Mechanism:
    """The same with a mass of 1 kg at a point of every body that has one."""
    bodies = [
        rg.Body(b.name, rg.Inertia(1.0, centres[b.name], 0.01 * np.eye(3)))
        if b.name in centres
        else b
        for b in mechanism.bodies
    ]
    return replace(mechanism, bodies=tuple(bodies))


def bars(
    crank: float, coupler: float, rocker: float, ground: float, angle: float, carriage: bool = False
) -> rg.Mechanism:
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
        rg.Joint.in_world("A", base, "crank", "revolute", Y, A),
        rg.Joint.in_world("B", "crank", "coupler", "revolute", Y, B),
        rg.Joint.in_world("C", "coupler", "rocker", "revolute", Y, C),
        rg.Joint.in_world("D", base, "rocker", "revolute", Y, D, closure=True),
    ]
    centres = {"crank": (A + B) / 2, "coupler": (B + C) / 2, "rocker": (C + D) / 2}
    if carriage:
        joints.insert(0, rg.Joint.in_world("P", "ground", "carriage", "prismatic", (1, 0, 0), A))
        centres["carriage"] = D / 2
    return massive(rg.Mechanism.of_joints("bars", joints), centres)


def slider(length: float, angle: float) -> rg.Mechanism:
    """A slider-crank whose rod is as long as its crank: it can fold and stay on its pivot."""
    B = length * np.array([np.cos(angle), 0, np.sin(angle)])
    C = np.array([2 * B[0], 0, 0])
    joints = [
        rg.Joint.in_world("A", "ground", "crank", "revolute", Y, (0, 0, 0)),
        rg.Joint.in_world("B", "crank", "rod", "revolute", Y, B),
        rg.Joint.in_world("C", "rod", "piston", "revolute", Y, C),
        rg.Joint.in_world("P", "ground", "piston", "prismatic", (1, 0, 0), C, closure=True),
    ]
    return massive(
        rg.Mechanism.of_joints("slider", joints), {"crank": B / 2, "rod": (B + C) / 2, "piston": C}
    )


CROSSING = {
    "change point": bars(0.2, 0.5, 0.6, 0.3, 1.0),
    "small change point": bars(0.1, 0.4, 0.5, 0.2, 1.2),
    "kite": bars(0.3, 0.3, 0.5, 0.5, 0.8),
    "parallelogram": bars(0.2, 0.4, 0.2, 0.4, 1.0),
    "equal slider-crank": slider(0.3, 1.0),
    "on a carriage": bars(0.2, 0.5, 0.6, 0.3, 1.0, carriage=True),
}


@pytest.mark.parametrize("name", list(CROSSING))
@pytest.mark.parametrize("rate", [15.0, -16.7])
def test_the_motion_goes_straight_on_where_motions_cross(name: str, rate: float) -> None:
    """As in all coordinates, which need no choice; energy is kept, and it is said."""
    reduction = rg.reduce(CROSSING[name])
    rates = {"A": rate, "P": 0.5} if name == "on a carriage" else {"A": rate}
    minimal = rg.simulate(
        reduction, duration=1.0, rates=rates, solver=rg.Solver("minimal"), rtol=1e-9
    )
    reference = rg.simulate(reduction, duration=1.0, rates=rates, rtol=1e-11)
    assert minimal.energy_drift < 1e-5
    assert minimal.closure_drift < 1e-11
    np.testing.assert_allclose(minimal.coordinates, reference.coordinates, atol=1e-5)
    codes = [finding.code for finding in minimal.findings]
    assert codes == ["REG313"]
    assert "more time" in minimal.findings[0].message


def test_a_step_over_a_crossing_that_keeps_the_tolerance_leaves_nothing_to_rounding() -> None:
    """Its stages come near the singular configuration, but its error is known and small."""
    motion = rg.simulate(CROSSING["kite"], duration=1.0, rates={"A": -16.7}, rtol=1e-11)
    assert motion.leaps == 0 and motion.findings == ()


def undisturbed(mechanism: rg.Mechanism, duration: float, rate: float, way: str) -> rg.Simulation:
    solver = rg.Solver(way)
    motion = rg.simulate(mechanism, duration=duration, rates={"A": rate}, solver=solver, rtol=1e-8)
    assert motion.findings == () and motion.energy_drift < 1e-8
    return motion


@pytest.mark.parametrize("way", WAYS)
@pytest.mark.parametrize("rate", [15.0, 16.7])
def test_motions_that_do_not_cross_are_kept_apart(rate: float, way: str) -> None:
    """A tenth of a millimetre off the change point the rocker turns sharply, never beyond."""
    mechanism = bars(0.2, 0.5, 0.2001, 0.5, 1.0)
    motion = undisturbed(mechanism, 0.6, rate, way)
    crank = motion.coordinates[:, motion.names.index("A")]
    assert np.ptp(crank) > 2 * np.pi
    # Coupler and rocker never come into line, so the sine of their angle keeps its sign.
    sine = np.sin(angle_at_C(mechanism) - motion.coordinates[:, motion.names.index("C")])
    assert len(set(np.sign(sine))) == 1


@pytest.mark.parametrize("way", WAYS)
@pytest.mark.parametrize("rate", [15.0, 16.7])
def test_a_crank_that_almost_turns_around_turns_back(rate: float, way: str) -> None:
    """The shortest and the longest bar are together longer than the others by 0.1 mm."""
    mechanism = bars(0.2, 0.5, 0.6001, 0.3, 1.0)
    motion = undisturbed(mechanism, 1.0, rate, way)
    assert 4.0 < np.ptp(motion.coordinates[:, motion.names.index("A")]) < 2 * np.pi


def angle_at_C(mechanism: rg.Mechanism) -> float:
    """From the coupler's direction to the rocker's, about -Y, at the reference."""
    centres = {b.name: b.inertia.center for b in mechanism.bodies if b.inertia is not None}
    B = 2 * centres["crank"]
    C = 2 * centres["coupler"] - B
    D = 2 * centres["rocker"] - C
    first, second = C - B, D - C
    return float(np.arctan2(second[2], second[0]) - np.arctan2(first[2], first[0]))


@pytest.mark.parametrize(("way", "off"), [("all", 1e-9), ("minimal", 2e-9)])
def test_lengths_that_are_special_but_for_their_last_digits(way: str, off: float) -> None:
    """Where the tolerance does not tell whether motions cross, it is said that rounding did.

    Where the energy shows that it told wrongly, a finer one tells.
    """
    mechanism = bars(0.2, 0.5, 0.2 + off, 0.5, 1.0)
    solver = rg.Solver(way)
    motion = rg.simulate(mechanism, duration=0.6, rates={"A": 15.0}, rtol=1e-7, solver=solver)
    assert "REG314" in [finding.code for finding in motion.findings]
    assert motion.leaps > 0


@pytest.mark.parametrize("way", WAYS)
def test_a_prescribed_motion_goes_straight_on(way: str) -> None:
    """A parallelogram's coupler does not turn, through both flat poses and for two turns."""
    motion = rg.simulate(
        CROSSING["parallelogram"], duration=4 * np.pi / 3, drive={"A": "3*t"}, solver=rg.Solver(way)
    )
    A, B = (motion.coordinates[:, motion.names.index(name)] for name in "AB")
    np.testing.assert_allclose(A, 3.0 * motion.time, atol=1e-12)
    np.testing.assert_allclose(A + B, 0.0, atol=1e-10)
    assert motion.energy_drift < 1e-7
    assert [finding.code for finding in motion.findings] == ["REG313"] * (way == "minimal")
    for finding in motion.findings:
        assert finding.message.endswith("and 3 more times")


@pytest.mark.parametrize("way", WAYS)
def test_a_motion_to_and_fro_through_the_singular_configuration(way: str) -> None:
    """A parallelogram swings about its flat pose, and never becomes a crossed one."""
    hanging = replace(bars(0.2, 0.4, 0.2, 0.4, 0.2), gravity=np.array([9.81, 0.0, 0.0]))
    motion = rg.simulate(hanging, duration=2.0, solver=rg.Solver(way), rtol=1e-9)
    A, B = (motion.coordinates[:, motion.names.index(name)] for name in "AB")
    np.testing.assert_allclose(A + B, 0.0, atol=1e-9)
    assert motion.energy_drift < 1e-8
    assert np.ptp(A) == pytest.approx(0.4, rel=1e-3)
    assert [finding.code for finding in motion.findings] == ["REG313"] * (way == "minimal")
