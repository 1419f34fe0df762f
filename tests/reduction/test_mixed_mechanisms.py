"""Mechanisms whose loops need different means: formulas, eigenvalues and iteration in one plan.

A planar four-bar shares one joint, ``S``, with a general loop of seven joints. Driven at the
four-bar's crank ``A``, the four-bar is solved first; driven at the other end, ``j6``, the loop is.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest
import screws

import regularize as rg
from regularize.guests.modes.configurations import AssemblyModes, ConfigurationFinder
from regularize.guests.modes.loop_system import Multistart, searched

pytestmark = pytest.mark.slow
FOURBAR, LOOP = ("A", "B", "C", "S"), ("S", *(f"j{i}" for i in range(1, 7)))


def joints_of(seed: int, helical: str = "") -> dict[str, rg.Joint]:
    """The joints by name."""
    rng = np.random.default_rng(seed)
    axes, points = rng.normal(size=(2, 7, 3))
    bodies = ["ground", "rocker", *(f"b{i}" for i in range(5)), "ground"]
    joints = []
    for i, name in enumerate(LOOP):
        kind = "helical" if name == helical else "revolute"
        ends, place = bodies[i : i + 2], (axes[i], points[i])
        joints.append(rg.Joint.in_world(name, *ends, kind, *place, pitch=0.1 if helical else 0.0))
    u = screws.unit(np.cross(axes[0], [1.0, 0.0, 0.0]))
    v = screws.unit(np.cross(axes[0], u))
    corners = {"A": 1.2 * u, "B": 1.3 * u + 0.4 * v, "C": 0.2 * u + 0.6 * v}
    links = {"A": ("ground", "crank"), "B": ("crank", "coupler"), "C": ("coupler", "rocker")}
    for name, corner in corners.items():
        point = points[0] + corner
        joints.append(rg.Joint.in_world(name, *links[name], "revolute", axes[0], point))
    return {joint.name: joint for joint in joints}


def mechanism_with(
    joints: dict[str, rg.Joint], names: tuple[str, ...] | None = None
) -> rg.Mechanism:
    chosen = [joint for name, joint in joints.items() if names is None or name in names]
    return rg.Mechanism.of_joints("four-bar and loop", chosen, ground="ground")


def composed(
    joints: dict[str, rg.Joint], order: tuple[tuple[str, ...], ...], x: float
) -> np.ndarray:
    """All configurations at one input from those of each loop alone, columns by name, sorted."""
    first, second = (ConfigurationFinder(mechanism_with(joints, n), [n[0]]) for n in order)
    rows = []
    names = list(joints)
    for q in solutions(first.find(x, starts=STARTS)):
        own = dict(zip(by_order(joints, order[0]), q, strict=True))
        for p in solutions(second.find(own[order[1][0]], starts=STARTS)):
            own.update(zip(by_order(joints, order[1]), p, strict=True))
            rows.append([own[name] for name in names])
    return np.array(rows).reshape(len(rows), len(names))


def by_order(joints: dict[str, rg.Joint], names: tuple[str, ...]) -> list[str]:
    return [name for name in joints if name in names]


def solutions(found: AssemblyModes) -> np.ndarray:
    return found.q[found.found]


def apart(a: np.ndarray, b: np.ndarray) -> np.ndarray:
    """Largest difference of angles, every row of one with every row of the other."""
    return np.max(np.abs(np.exp(1j * a[:, None]) - np.exp(1j * b[None])), axis=2)


#: Random starts of iteration, here and there.
STARTS = 200
#: Input, and the loops in the order in which they follow from it, their own inputs first.
ORDERS = {"A": (FOURBAR, LOOP), "j6": (LOOP[::-1], FOURBAR[::-1])}


@pytest.mark.parametrize("seed", [3, 5])
@pytest.mark.parametrize("crank", ORDERS)
def test_a_fourbar_and_a_general_loop(crank: str, seed: int) -> None:
    """All configurations of the one at all of the other, proved, none more by a dense search."""
    joints = joints_of(seed)
    finder = ConfigurationFinder(mechanism_with(joints), [crank])
    assert not finder._form.solved
    assert finder.method == "eigenvalues"
    told = " | ".join(finder._plan.sentences)
    assert "eigenvalues" in told and "distance between points" in told
    assert ("eigenvalues" in finder._plan.sentences[0]) == (crank == "j6")
    x = np.linspace(-0.3, 0.3, 5)
    found = finder.find(x)
    assert found.complete.all() and found.counts.max() >= 4
    assert np.nanmax(found.residual) < 1e-12
    assert np.nanmax(found.evidence.certificate) <= 0.5
    assert np.all(found.evidence.regularity > 1e-11) and not found.evidence.starts.any()
    for n, value in enumerate(x):
        ours, theirs = solutions_at(found, n), composed(joints, ORDERS[crank], float(value))
        assert len(ours) == len(theirs)
        assert np.max(apart(theirs, ours).min(axis=1), initial=0.0) < 1e-8
    # The drawing is one of the configurations at zero.
    assert np.min(np.max(np.abs(solutions_at(found, 2)), axis=1)) < 1e-9
    q = np.zeros((1, len(joints)))
    q[0, list(joints).index(crank)] = x[1]
    ours = solutions_at(found, 1)
    known = np.zeros(len(ours), dtype=np.intp), ours
    rows, _, used = searched(finder._system, q, known, Multistart(starts=400, patience=4))
    assert len(rows) == len(ours) and used[0] == 1600


def solutions_at(found: AssemblyModes, n: int) -> np.ndarray:
    return found.q[n][found.found[n]]


@pytest.mark.parametrize("crank", ORDERS)
def test_a_fourbar_and_a_loop_with_a_screw(crank: str) -> None:
    """A loop that is not algebraic is iterated alone, the four-bar solved for each of its ways."""
    joints = joints_of(3, helical="j3")
    finder = ConfigurationFinder(mechanism_with(joints), [crank])
    assert finder.method == "iteration"
    assert [step.method for step in finder._plan.steps] == (
        ["closed form", "iteration"] if crank == "A" else ["iteration", "closed form"]
    )
    found = finder.find(0.1, starts=STARTS)
    assert not found.complete and found.evidence.starts >= 3 * STARTS
    assert any("helical" in told and "by iteration" in told for told in found.evidence.loops)
    assert np.isnan(found.evidence.certificate).all()
    assert found.residual.max() < 1e-12
    # A screw may turn many times; its solutions within one turn are compared.
    screwed = list(joints).index("j3")
    ours, theirs = (
        q[np.abs(q[:, screwed]) < np.pi]
        for q in (solutions(found), composed(joints, ORDERS[crank], 0.1))
    )
    assert len(ours) == len(theirs) >= 2
    assert np.max(apart(theirs, ours).min(axis=1)) < 1e-7
    # Driven from the drawing, the drawing is found again.
    assert np.min(np.max(np.abs(solutions(finder.find(0.0))), axis=1)) < 1e-9


def ends_of_the_fourbar(joints: dict[str, rg.Joint]) -> tuple[float, float]:
    """Angles of joint S just inside and well outside its range."""
    form = rg.closed_form(mechanism_with(joints, FOURBAR), ["S"])
    angles = sorted(np.linspace(-np.pi, np.pi, 101), key=abs)
    inside, outside = 0.0, next(x for x in angles if not form.solve(x).assembled.any())
    far = 1.02 * outside
    for _ in range(100):
        middle = 0.5 * (inside + outside)
        if form.solve(middle).assembled.all():
            inside = middle
        else:
            outside = middle
    return inside, float(far)


def test_what_the_four_bar_does_not_reach_is_known_to_be_empty() -> None:
    joints = joints_of(3)
    _, far = ends_of_the_fourbar(joints)
    found = rg.configurations(mechanism_with(joints), ["S"], far)
    assert found.method == "eigenvalues"
    assert found.complete and not found.counts


def test_where_the_four_bar_is_stretched_the_list_is_not_called_complete() -> None:
    joints = joints_of(3)
    end, _ = ends_of_the_fourbar(joints)
    found = rg.configurations(mechanism_with(joints), ["S"], [end, 0.0], rounds=3)
    assert found.complete.tolist() == [False, True]
    assert found.evidence.starts[0] > 0 == found.evidence.starts[1]


def chain(rng: np.random.Generator, tag: str, first: str, last: str, count: int) -> list[rg.Joint]:
    """Turns in general position between two bodies; the bodies between are tag0, tag1, …"""
    bodies = [first, *(f"{tag}{i}" for i in range(count - 1)), last]
    axes, points = rng.normal(size=(2, count, 3))
    return [
        rg.Joint.in_world(f"{tag}j{i}", *bodies[i : i + 2], "revolute", axes[i], points[i])
        for i in range(count)
    ]


def planar(tag: str, *links: tuple[str, str, float, float]) -> list[rg.Joint]:
    """Turns about parallel axes."""
    return [
        rg.Joint.in_world(f"{tag}{i}", a, b, "revolute", (0, 0, 1), (x, y, 0))
        for i, (a, b, x, y) in enumerate(links)
    ]


BAR = planar(
    "p",
    ("ground", "crank", 0.0, 0.0),
    ("crank", "coupler", 0.3, 0.1),
    ("coupler", "rocker", 0.9, 0.7),
    ("rocker", "ground", 1.0, 0.0),
)


def rod(rng: np.random.Generator, first: str, last: str) -> list[rg.Joint]:
    """A rod between ball joints to a lever at the ground."""
    ends, pivot = rng.normal(size=(2, 3)), rng.normal(size=3)
    return [
        rg.Joint.in_world("o", "ground", last, "revolute", (0, 1, 0), pivot),
        rg.Joint.in_world("s1", first, "rod", "spherical", point=ends[0]),
        rg.Joint.in_world("s2", "rod", last, "spherical", point=ends[1]),
    ]


@pytest.mark.parametrize(
    ("crank", "methods", "build"),
    [
        # Both general loops hang on the four-bar, and close a loop of known joints with it.
        (
            "p0",
            ["closed form", "eigenvalues", "eigenvalues"],
            lambda rng: [
                *BAR,
                *chain(rng, "x", "coupler", "ground", 6),
                *chain(rng, "y", "rocker", "crank", 6),
            ],
        ),
        # The rod spins idly; what comes before it does not matter.
        (
            "xj0",
            ["eigenvalues", "closed form"],
            lambda rng: [*chain(rng, "x", "ground", "ground", 7), *rod(rng, "x3", "lever")],
        ),
        # The same rod held by a chain: its spin is no idle one, and loops hang together.
        (
            "p0",
            ["closed form", "iteration"],
            lambda rng: [*BAR, *rod(rng, "coupler", "lever"), *chain(rng, "w", "rod", "ground", 5)],
        ),
        # Driven at the far end, four-bar and loop have to be solved together.
        ("xj5", ["iteration"], lambda rng: [*BAR, *chain(rng, "x", "coupler", "ground", 6)]),
    ],
)
def test_whatever_is_mixed_a_dense_search_finds_the_same(
    crank: str, methods: list[str], build: Callable[[np.random.Generator], list[rg.Joint]]
) -> None:
    mechanism = rg.Mechanism.of_joints("mixed", build(np.random.default_rng(0)), ground="ground")
    finder = ConfigurationFinder(mechanism, [crank])
    assert [step.method for step in finder._plan.steps] == methods
    found = finder.find(0.07, rounds=10)
    assert found.complete == ("iteration" not in methods)
    q = np.zeros((1, finder.graph.freedoms))
    q[0, list(finder._form.columns)] = 0.07
    ours = solutions(found)
    known = np.zeros(len(ours), dtype=np.intp), ours
    rows, _, _ = searched(finder._system, q, known, Multistart(starts=200, rounds=6, seed=1))
    assert len(rows) == len(ours) >= 2
    assert found.residual.max() < 1e-12
