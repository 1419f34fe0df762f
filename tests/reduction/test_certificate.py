"""What a walk on the kept rows alone finds, in one component and in several side by side."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import mechanisms
import numpy as np
import pytest
import screws
from scipy.spatial.transform import Rotation

import regularize as rg
from regularize.guests.modes.sampling import spread_configurations
from regularize.loops.kinematics import LoopKinematics
from regularize.reduction.context import Context
from regularize.reduction.coupled import CONFIGURATIONS, MANY, Certifier
from regularize.repair.statics.cure import changed
from regularize.report.view import evidence
from regularize.services import service

ASSETS = Path(__file__).resolve().parents[2] / "assets"


#: Models whose loops have a closed form, and their loops.
SOLVED = {"planar_fourbar": 1, "bennett": 1, "sarrus": 1, "three_cranks": 2, "gripper": 4}


def model(name: str) -> rg.Mechanism:
    return rg.load(ASSETS / f"{name}.urdf")


def certifier(reduction: rg.Reduction, configurations: int) -> Certifier:
    """What certifies the only cell of a mechanism."""
    context = Context(reduction.graph, reduction.assembly, rtol=reduction.rtol)
    (cell,) = reduction.cells
    return Certifier(context, cell.edges, configurations)


@pytest.mark.slow
@pytest.mark.parametrize("name", SOLVED)
def test_many_configurations_are_solved_for(name: str) -> None:
    count = MANY * SOLVED[name] ** 2
    many, few = (rg.reduce(model(name), configurations=n).certificate for n in (count, count - 1))
    assert many.holds and few.holds
    assert many.configurations == count
    assert many.solved == count - CONFIGURATIONS
    assert few.solved == 0
    assert many.worst < 1e-10
    # The same reduction comes of both.
    again = rg.reduce(model(name), configurations=count)
    assert again.certificate == many


@pytest.mark.slow
@pytest.mark.parametrize("name", ["bricard", "rssr", "goldberg_5r"])
def test_without_a_closed_form_all_are_walked_to(name: str) -> None:
    certificate = rg.reduce(model(name), configurations=600).certificate
    assert certificate.solved == 0
    assert certificate.configurations == 600
    assert certificate.holds


@pytest.mark.slow
@pytest.mark.parametrize("name", ["planar_fourbar", "sarrus", "gripper"])
def test_configurations_that_are_solved_for_are_closed_and_far_apart(name: str) -> None:
    reduction = rg.reduce(model(name))
    (cell,) = reduction.cells
    cuts = {cut.edge.index for cut in reduction.cuts}
    loops = LoopKinematics(reduction.graph, cell.edges, [e for e in cell.edges if e not in cuts])
    rng = np.random.default_rng(1)
    q = spread_configurations(loops, cell.configurations[:5], 500, 1e-5, rng)
    assert q.shape == (500, loops.freedoms)
    assert np.max(np.abs(loops.residual(loops.state(q)))) < 1e-12
    assert len(np.unique(np.round(q, 9), axis=0)) == 500
    # Walkers take a few short steps; these go as far as the mechanism does.
    walked = np.ptp(cell.configurations, axis=0).max()
    assert np.ptp(q, axis=0).max() > walked


@pytest.mark.slow
@pytest.mark.parametrize("name", ["planar_fourbar", "sarrus", "knee_leg"])
def test_rows_that_matter_are_missed(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """A row too many removed shows in the velocities alone, where the walk looks at nothing."""
    reduction = rg.reduce(model(name))
    certify = certifier(reduction, 1000)
    assert certify(certify.rows(reduction.cuts))[1].holds
    monkeypatch.setattr(Certifier, "_largest", lambda *_: np.zeros(3))
    (cut,) = reduction.cuts
    fewer = replace(cut, rows=cut.rows[:, 1:])
    _, certificate = certify(certify.rows([fewer]))
    assert certificate.solved > 0
    assert not certificate.holds
    assert certificate.worst > 0.1


@pytest.fixture
def fresh_services() -> Iterator[None]:
    """Services are asked for anew: those of the test, and afterwards our own."""
    service.cache_clear()
    yield
    service.cache_clear()


@pytest.mark.slow
@pytest.mark.usefixtures("fresh_services")
@pytest.mark.parametrize("lacking", [0, 1])
def test_what_is_not_solved_for_is_walked_to(lacking: int, monkeypatch: pytest.MonkeyPatch) -> None:
    def found(*arguments: Any) -> np.ndarray:
        return spread_configurations(*arguments)[lacking:]

    monkeypatch.setattr("regularize.guests.modes.sampling.spread_configurations", found)
    certificate = rg.reduce(model("planar_fourbar"), configurations=MANY).certificate
    assert certificate.holds and certificate.solved == MANY - CONFIGURATIONS - lacking
    assert certificate.configurations >= MANY
    assert (certificate.configurations == MANY) == (lacking == 0)


@pytest.mark.slow
def test_what_was_checked_is_told_apart() -> None:
    words = evidence(rg.check(model("planar_fourbar"), configurations=1000))
    assert (
        f"stayed closed at {CONFIGURATIONS} configurations, and at {1000 - CONFIGURATIONS} more"
        in words
    )
    assert "more" not in evidence(rg.check(model("planar_fourbar")))
    data = rg.check(model("planar_fourbar"), configurations=1000).as_dict()
    assert data["reduction"]["certified_configurations"] == 1000
    assert data["reduction"]["solved_configurations"] == 1000 - CONFIGURATIONS


@pytest.mark.slow
@pytest.mark.parametrize("name", ["bricard", "planar_fourbar"])
def test_a_few_at_a_time(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    whole = rg.reduce(model(name), configurations=900)
    monkeypatch.setattr("regularize.reduction.coupled.CHUNK", 70)
    parts = rg.reduce(model(name), configurations=900)
    assert parts.certificate.holds
    assert parts.certificate.configurations == whole.certificate.configurations == 900
    assert (parts.mobility, parts.kept) == (whole.mobility, whole.kept)


def test_loops_of_nothing_but_fixed_joints() -> None:
    welds = [("one", "ground", "a"), ("two", "a", "b"), ("three", "b", "ground")]
    joints = [
        rg.Joint.in_world(name, a, b, "fixed", closure=name == "three") for name, a, b in welds
    ]
    mechanism = rg.Mechanism.of_joints("welded", joints, ground="ground")
    for count in (50, 1000):
        certificate = rg.reduce(mechanism, configurations=count).certificate
        assert certificate.holds
        assert certificate.configurations == count


@pytest.mark.slow
def test_cells_with_and_without_a_closed_form() -> None:
    both = beside(model("planar_fourbar"), model("bricard"))
    certificate = rg.reduce(both, configurations=1000).certificate
    assert certificate.holds
    assert certificate.configurations == 1000
    assert certificate.solved == 1000 - CONFIGURATIONS


@pytest.mark.usefixtures("fresh_services")
def test_couplings_without_loops_are_not_solved_for(monkeypatch: pytest.MonkeyPatch) -> None:
    """A cell of coupled joints has no loop, and few configurations are few for it too."""
    asked: list[int] = []

    def watched(loops: LoopKinematics, *_: object, **__: object) -> np.ndarray:
        asked.append(len(loops.chords))
        return np.zeros((0, loops.freedoms))

    monkeypatch.setattr("regularize.guests.modes.sampling.spread_configurations", watched)
    joints = [
        rg.Joint.in_world("one", "ground", "a", "revolute", (0, 0, 1)),
        rg.Joint.in_world("two", "a", "b", "revolute", (0, 0, 1), (1, 0, 0)),
    ]
    arm = rg.Mechanism.of_joints("arm", joints, ground="ground")
    geared = replace(
        arm, couplings=(rg.Coupling("gear", "gear", (("one", 0, 1.0), ("two", 0, 2.0))),)
    )
    assert rg.reduce(geared).mobility == 1
    assert not asked
    assert rg.reduce(geared, configurations=MANY).mobility == 1
    assert asked == [0]


def beside(*cells: rg.Mechanism) -> rg.Mechanism:
    joints, bodies = [], []
    for k, cell in enumerate(cells):
        names = {b.name: b.name if b.name == cell.ground else f"{b.name} {k}" for b in cell.bodies}
        bodies += [
            replace(b, name=names[b.name]) for b in cell.bodies if k == 0 or b.name != cell.ground
        ]
        joints += [
            replace(
                j, name=f"{j.name} {k}", parent=names[j.parent], child=names[j.child], closure=False
            )
            for j in cell.joints
        ]
    return replace(cells[0], bodies=tuple(bodies), joints=tuple(joints))


def displaced(mechanism: rg.Mechanism, seed: int, factor: float = 1.0) -> rg.Mechanism:
    """The mechanism somewhere else, turned at random."""
    turn = Rotation.random(random_state=seed).as_matrix()
    place = np.random.default_rng(seed).normal(size=3)
    return mechanisms.moved(mechanisms.scaled(mechanism, factor), screws.transform(turn, place))


#: Joints and their points of loops in a plane, of which each has the shape of the others.
SHAPES = {
    "RRRR": [(0.0, 0.0), (0.1, 0.3), (0.9, 0.5), (1.0, 0.0)],
    "RRRP": [(0.0, 0.0), (0.3, 0.1), (1.0, 0.0), (1.0, 0.0)],
}


def different(shape: str) -> list[rg.Mechanism]:
    axes = [(1, 0, 0) if kind == "P" else (0, 0, 1) for kind in shape]
    cells = []
    for k, size in enumerate((1.0, 2.0, 0.5)):
        points = np.column_stack([size * np.array(SHAPES[shape]), np.zeros(4)])
        points[1, 0] += 0.02 * k * size
        cells.append(mechanisms.single_loop("loop", shape, axes, list(points)))
    return cells


@pytest.fixture(scope="module")
def loops_side_by_side() -> Any:
    return rg.check(beside(*different("RRRR"), *different("RRRP")))


def test_advice_for_many_loops_is_what_the_changed_mechanism_is_analysed_to_be(
    loops_side_by_side: Any,
) -> None:
    advice = loops_side_by_side.advice
    assert {len(entry.changes) > 1 for entry in advice} == {True, False}
    for entry in advice:
        after = rg.reduce(changed(loops_side_by_side.reduction, entry.changes))
        assert (after.redundant, after.mobility) == (entry.left, entry.mobility)


def test_the_place_where_rows_are_weakest_is_that_of_one_loop(loops_side_by_side: Any) -> None:
    every = loops_side_by_side.reduction.certificate.descents
    places = [down.lowest for down in every]
    lowest = loops_side_by_side.reduction.certificate.nearest
    assert lowest is not None and len(every) == 6
    assert lowest.ratio == min(place.ratio for place in places if place is not None)


@pytest.mark.slow
def test_components_side_by_side_are_told_what_they_are_told_alone() -> None:
    cells = [
        mechanisms.planar_fourbar(),
        mechanisms.shaky_7r(),
        mechanisms.spherical_fourbar_flat(),
    ]
    cells.append(displaced(cells[0], 1))
    alone = [rg.reduce(each, configurations=10) for each in cells]
    together = rg.reduce(beside(*cells), configurations=10)
    for component, single in zip(together.cells, alone, strict=True):
        (own,) = single.cells
        assert (component.generic.rank, component.here.rank) == (own.generic.rank, own.here.rank)
        assert component.local.evidence == own.local.evidence
        assert component.components == own.components
    assert together.kept == sum(single.kept for single in alone)
    assert together.certificate.holds and together.certificate.worst < 1e-9
    assert together.certificate.distinct == min(s.certificate.distinct for s in alone)
