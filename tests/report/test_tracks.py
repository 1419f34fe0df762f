"""Following one way of moving along a path, through the places where branches meet."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from closed_form_cases import CASES, Z, ring

import regularize as rg
from regularize.guests.modes.closed_form.solver import ClosedForm
from regularize.loops.kinematics import LoopKinematics
from regularize.mechanism.graph import coordinate_names, spanning_tree

ASSETS = Path(__file__).resolve().parents[2] / "assets"


def rhombus(source: str = "drawn") -> ClosedForm:
    """Four links of equal length, by the crank."""
    if source == "file":
        return rg.closed_form(rg.load(ASSETS / "n_fourbar_1.urdf"), ["A0"])
    points = {"A": (0, 0, 0), "B": (0, 1, 0), "C": (1, 1, 0), "D": (1, 0, 0)}
    return rg.closed_form(
        ring("rhombus", *((n, "revolute", Z, p) for n, p in points.items())), ["A"]
    )


def closure(solution: ClosedForm, q: np.ndarray) -> float:
    graph = solution.graph
    loops = LoopKinematics(graph, range(len(graph.edges)), spanning_tree(graph))
    return float(np.max(np.abs(loops.residual(loops.state(q)))))


@pytest.mark.slow
@pytest.mark.parametrize("samples", [20, 57, 101, 1000, 30001])
@pytest.mark.parametrize("source", ["drawn", "file"])
def test_a_rhombus_goes_on_smoothly_through_its_folded_positions(samples, source):
    """Opposite sides stay parallel over several turns: every angle is plus or minus the crank's."""
    solution = rhombus(source)
    path = np.linspace(-7.0, 7.0, samples)
    for branch in (0, 1):
        track = solution.track(path, branch)
        assert track.assembled.all()
        # Along the path the smooth motion is linear in the crank's angle.
        slopes = np.diff(track.q, axis=0) / np.diff(path)[:, None]
        assert np.max(np.abs(slopes - slopes[0])) < 1e-3
        assert closure(solution, track.q) < 1e-9
        crossed = [m for m in track.meetings if m.crosses]
        assert len(crossed) == 4 and not any(m.ends for m in track.meetings)
        folded = path[0] + np.array([m.position for m in crossed]) * (path[1] - path[0])
        assert np.allclose(np.abs(folded), np.pi * np.array([1.5, 0.5, 0.5, 1.5]), atol=1e-3)
        for meeting in crossed:
            behind = min(int(meeting.position) + 1, samples - 1)
            assert track.branches[int(meeting.position)] == meeting.branches[0]
            assert track.branches[behind] == meeting.branches[1]
        assert track.branch is None


S = np.linspace(0.0, 1.0, 401)
PATHS = {
    "back and forth": 2.5 * np.sin(6 * S),
    "steps": np.repeat(np.linspace(-2.0, 2.0, 101), 4),
    "long steps": np.linspace(-6.0, 6.0, 20),
    "two samples": np.linspace(1.0, 2.0, 2),
    "uneven": -2.0 + 4.0 * np.sort(np.random.default_rng(0).uniform(size=50)),
    "stops when folded": np.minimum(np.pi / 2, 3 * S),
    "turns round when folded": np.pi / 2 - (2 * S - 1) ** 2,
}


@pytest.mark.slow
@pytest.mark.parametrize("name", PATHS)
def test_a_rhombus_on_any_path(name):
    """Opposite sides stay parallel, whatever the speed is at which positions are passed."""
    path, solution = PATHS[name], rhombus()
    parallel = path[0] * np.array([1.0, -1.0, 1.0, -1.0])
    apart = solution.solve(path[0]).q - parallel
    apart -= 2 * np.pi * np.round(apart / (2 * np.pi))
    track = solution.track(path, int(np.abs(apart).max(axis=1).argmin()))
    assert track.assembled.all()
    apart = track.q - np.outer(path, [1.0, -1.0, 1.0, -1.0])
    assert np.max(np.abs(apart - 2 * np.pi * np.round(apart / (2 * np.pi)))) < 1e-6


def test_samples_where_any_angle_solves_lie_on_the_way():
    """At a right angle two joints of the rhombus coincide and the links between turn freely."""
    solution = rhombus()
    path = np.linspace(-np.pi, np.pi, 101)
    assert np.any(np.abs(path - np.pi / 2) < 1e-12)
    track = solution.track(path)
    assert np.max(np.abs(np.diff(track.q, axis=0))) < 0.07
    for path in (np.linspace(np.pi / 2, 2.0, 10), np.linspace(1.0, np.pi / 2, 10)):
        track = solution.track(path)
        assert np.max(np.abs(np.diff(track.q, 2, axis=0))) < 1e-6
        assert [m.position for m in track.meetings] == [0.0 if path[0] > 1.5 else 9.0]


@pytest.mark.slow
@pytest.mark.parametrize("windows", [2, 3])
def test_several_windows_fold_at_once(windows):
    """Side by side, all their steps touch at the same place; all cranks stay parallel."""
    joints = []
    for k in range(windows + 1):
        joints.append(rg.Joint.in_world(f"A{k}", "ground", f"crank{k}", "revolute", Z, (k, 0, 0)))
        for side, m in (("B", k), ("C", k - 1)):
            if 0 <= m < windows:
                name, bar = f"{side}{m}", f"bar{m}"
                joints.append(rg.Joint.in_world(name, f"crank{k}", bar, "revolute", Z, (k, 1, 0)))
    solution = rg.closed_form(rg.Mechanism.of_joints("windows", joints), ["A0"])
    assert len(solution.branches) == 2**windows
    names = coordinate_names(solution.graph.mechanism)
    cranks = [names.index(f"A{k}") for k in range(windows + 1)]
    reference = solution.solve(0.0)
    branch = int(np.argmin(np.nan_to_num(np.abs(reference.q).max(axis=1), nan=9.0)))
    for samples in (101, 222):  # with and without a sample where everything is folded
        path = np.linspace(-np.pi, np.pi, samples)
        start = solution.track(np.linspace(0.0, -np.pi, samples), branch)
        track = solution.track(path, int(start.branches[-1]))
        apart = track.q[:, cranks] - path[:, None]
        assert np.max(np.abs(apart - np.round(apart / (2 * np.pi)) * 2 * np.pi)) < 1e-9
        assert np.max(np.abs(np.diff(track.q, axis=0))) < 0.07
        assert closure(solution, track.q) < 1e-9
        assert sum(m.crosses for m in track.meetings) == 2 * windows


def test_branches_that_come_near_do_not_cross():
    """A four-bar linkage that misses its folded position by a hair stays on its branch."""
    for lengths, meets in (((1.0, 2.0, 1.0, 2.0), True), ((1.0, 2.0, 1.01, 2.005), False)):
        crank, coupler, rocker, base = lengths
        # Drawn with the crank upright.
        far = np.hypot(base, crank)
        angle = np.arccos((far**2 + coupler**2 - rocker**2) / (2 * far * coupler))
        angle -= np.arctan2(crank, base)
        C = (coupler * np.cos(angle), crank + coupler * np.sin(angle), 0)
        points = {"A": (0, 0, 0), "B": (0, crank, 0), "C": C, "D": (base, 0, 0)}
        joints = [(name, "revolute", Z, point) for name, point in points.items()]
        solution = rg.closed_form(ring("four-bar", *joints), ["A"])
        path = np.linspace(-3.0, 3.0, 200)
        track = solution.track(path)
        assert track.assembled.all()
        assert bool(track.meetings) == meets
        steps = np.diff(track.q[:, 1:], axis=0)
        assert np.max(np.abs(steps)) < (0.05 if meets else 0.5)


def test_branches_that_end_are_reported_on_both_sides_of_the_gap():
    (mechanism, _), _ = CASES["planar RRRP"]
    solution = rg.closed_form(mechanism, ["P3"])
    path = np.linspace(-3.0, 3.0, 1001)
    track = solution.track(path)
    assert track.assembled.any() and not track.assembled.all()
    assert np.array_equal(np.isnan(track.q).any(axis=1), ~track.assembled)
    changes = np.flatnonzero(track.assembled[1:] != track.assembled[:-1])
    ends = [m for m in track.meetings if m.ends]
    assert len(ends) == len(changes) > 0
    for meeting, change in zip(ends, changes, strict=True):
        assert change <= meeting.position <= change + 1
        assert not meeting.crosses and meeting.branches == (0, 1)


@pytest.mark.slow
def test_every_case_moves_without_jumps():
    """Wherever all samples can be assembled, no step is longer than the path accounts for."""
    rng = np.random.default_rng(0)
    for case, ((mechanism, inputs), _) in CASES.items():
        solution = rg.closed_form(mechanism, inputs)
        s = np.linspace(0.0, 1.0, 400)[:, None]
        end = rng.uniform(-0.3, 0.3, size=len(solution.inputs))
        track = solution.track(s * end, int(solution.solve(0.5 * end[None]).assembled[0].argmax()))
        if not track.assembled.all() or np.max(np.abs(track.q)) > 20.0:
            continue  # slides of nearly parallel axes
        second = np.abs(np.diff(track.q, 2, axis=0)).max(axis=0)
        first = np.abs(np.diff(track.q, axis=0)).max(axis=0)
        assert np.all(second <= 0.2 * first + 1e-3), case


def test_the_path_is_looked_at_in_blocks_without_a_seam():
    """Every branch along thirty thousand samples is what solving them one by one gives."""
    (mechanism, inputs), _ = CASES["planar 4R"]
    solution = rg.closed_form(mechanism, inputs)
    path = 0.4 * np.sin(np.linspace(0.0, 60.0, 30_000))
    track = solution.track(path, 1)
    assert track.branch == 1
    found = solution.solve(path, 1)
    assert np.array_equal(track.assembled, found.assembled[:, 0])
    difference = track.q - found.q[:, 0]
    assert np.nanmax(np.abs(difference - 2 * np.pi * np.round(difference / (2 * np.pi)))) < 1e-12


@pytest.mark.slow
def test_a_track_that_begins_where_branches_meet_is_closed_there() -> None:
    """The sample is exact; where the path leads, as a square root does, does not replace it."""
    hinges = {
        "J0": ("ground", "b1", 1.0804, -0.988),
        "J1": ("b1", "b2", 0.0857, -0.8853),
        "J2": ("b2", "b3", -0.6089, -0.166),
        "J3": ("ground", "b3", 0.3858, -0.2687),
        "J4": ("b3", "b4", 1.5777, -1.0394),
        "J5": ("b4", "b5", 0.0857, -0.8853),
        "J6": ("b5", "ground", 1.0804, -0.988),
        "J8": ("b6", "b7", -0.4117, -0.834),
        "J9": ("b7", "b5", 0.5831, -0.9367),
    }
    joints = [
        rg.Joint.in_world(name, a, b, "revolute", Z, (x, y, 0))
        for name, (a, b, x, y) in hinges.items()
    ]
    slide = rg.Joint.in_world("J7", "b2", "b6", "prismatic", (-0.6307, 0.776, 0), (-0.6, -0.2, 0))
    solution = rg.closed_form(
        rg.Mechanism.of_joints("dyads", [*joints, slide], ground="ground"), ["J0"]
    )
    path = 0.25 * np.sin(np.linspace(0.0, 2 * np.pi, 400))
    exact = solution.solve(path[0])
    assert exact.assembled.any()
    for branch in np.flatnonzero(exact.assembled):
        track = solution.track(path, int(branch))
        assert np.allclose(track.q[0], exact.q[branch], rtol=0.0, atol=1e-9)
