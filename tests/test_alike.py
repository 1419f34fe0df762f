"""Cells that are alike are walked once, and what is said of each is what it would be told alone."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

import mechanisms
import numpy as np
import pytest
from scipy.spatial.transform import Rotation

import regularize as rg
from regularize.lie import screw
from regularize.manifold.extent import sized_loops
from regularize.model.mechanism import Mechanism, joint_in_world, mechanism_of
from regularize.reduction import certificate


def beside(*cells: Mechanism) -> Mechanism:
    """Mechanisms on one ground."""
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


def displaced(mechanism: Mechanism, seed: int, factor: float = 1.0) -> Mechanism:
    """The mechanism somewhere else, turned at random."""
    turn = Rotation.random(random_state=seed).as_matrix()
    place = np.random.default_rng(seed).normal(size=3)
    return mechanisms.moved(mechanisms.scaled(mechanism, factor), screw.transform(turn, place))


def helical(pitch: float = 0.1) -> Mechanism:
    """A screw, a slide and a hinge about one line."""
    axis = (0.0, 0.0, 1.0)
    return mechanism_of(
        "screw",
        [
            joint_in_world("S", "ground", "nut", "helical", axis, (0, 0, 0), pitch=pitch),
            joint_in_world("P", "nut", "rod", "prismatic", axis, (0, 0, 0)),
            joint_in_world("R", "rod", "ground", "revolute", axis, (0, 0, 0)),
        ],
    )


KINDS: dict[str, Callable[[], Mechanism]] = {
    "hinges in a plane": mechanisms.planar_fourbar,
    "hinges about a point": mechanisms.spherical_fourbar,
    "a slide": mechanisms.slider_crank,
    "special lengths": mechanisms.bennett,
    "balls": mechanisms.rssr,
    "a screw": helical,
    "motions that meet": mechanisms.spherical_fourbar_flat,
    "shaky": mechanisms.shaky_7r,
}


def walks(monkeypatch: pytest.MonkeyPatch, mechanism: Mechanism) -> tuple[rg.Reduction, int]:
    """A reduction, and the number of walks that it took."""
    taken = []

    def counted(*arguments: object, **options: object) -> object:
        taken.append(1)
        return walk(*arguments, **options)  # type: ignore[arg-type]

    walk = certificate.random_walks
    monkeypatch.setattr(certificate, "random_walks", counted)
    return rg.reduce(mechanism, configurations=10), len(taken)


@pytest.mark.parametrize("kind", sorted(KINDS))
def test_alike_cells_are_told_what_they_are_told_alone(
    kind: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    cell = KINDS[kind]()
    cells = [cell, displaced(cell, 1), mechanisms.moved(cell, screw.transform(None, (3, -2, 1)))]
    alone = [rg.reduce(each, configurations=10) for each in cells]
    together, taken = walks(monkeypatch, beside(*cells))
    # What forbids velocities of the second order is said in the axes of the ground.
    assert (taken == 3) if kind == "shaky" else (taken < 3)
    assert len(together.cells) == len(cells)
    for found, single in zip(together.cells, alone, strict=True):
        (own,) = single.cells
        assert (found.generic.rank, found.here.rank) == (own.generic.rank, own.here.rank)
        assert (found.finite, found.local.evidence) == (own.finite, own.local.evidence)
        assert found.components == own.components
        loops = sized_loops(together.graph, together.q, found.edges)
        ends = [end for branch in found.branches for end in (*branch.ends, branch.local.q)]
        closed = np.array([*found.configurations, found.local.q, *ends])
        assert np.abs(loops.residual(loops.state(closed))).max() < 1e-9
        velocities = loops.units[:, None] * found.local.followed
        rates = loops.jacobian(loops.state(found.local.q))[0] @ velocities
        assert np.abs(rates).max(initial=0.0) < 1e-9 * loops.length
    assert together.kept == sum(single.kept for single in alone)
    assert together.certificate.holds
    assert together.certificate.worst < 1e-9
    least = min(s.certificate.distinct for s in alone)
    assert together.certificate.distinct == least


def test_scaled_cells_are_alike(monkeypatch: pytest.MonkeyPatch) -> None:
    cell = mechanisms.planar_fourbar()
    together, taken = walks(monkeypatch, beside(cell, displaced(cell, 1, 7.0)))
    assert taken == 1
    alone = rg.reduce(displaced(cell, 1, 7.0), configurations=10)
    assert together.certificate.travelled == pytest.approx(alone.certificate.travelled, rel=0.3)


def test_slides_of_scaled_cells_go_further(monkeypatch: pytest.MonkeyPatch) -> None:
    cell = mechanisms.slider_crank()
    large = mechanisms.moved(mechanisms.scaled(cell, 7.0), screw.transform(None, (3, -2, 1)))
    together, taken = walks(monkeypatch, beside(cell, large))
    assert taken == 1 and together.certificate.worst < 1e-9
    one, other = together.cells
    slides = [together.graph.edges[e].joint.kind == "prismatic" for e in one.edges]
    spread = np.ptp(other.configurations, axis=0) / np.ptp(one.configurations, axis=0)
    np.testing.assert_allclose(spread, np.where(slides, 7.0, 1.0), rtol=1e-9)


@pytest.mark.parametrize("off", [1e-9, 1e-4])
def test_cells_that_differ_are_walked_each(off: float, monkeypatch: pytest.MonkeyPatch) -> None:
    cell = mechanisms.bennett()
    other = mechanisms.bennett(turn=0.7 + off)
    together, taken = walks(monkeypatch, beside(cell, other))
    assert taken == 2 and together.kept == 2 * rg.reduce(cell).kept


def test_mirror_images_of_screws_are_not_alike(monkeypatch: pytest.MonkeyPatch) -> None:
    _, taken = walks(monkeypatch, beside(helical(), helical(-0.1)))
    assert taken == 2


def test_other_rows_are_walked_anew(monkeypatch: pytest.MonkeyPatch) -> None:
    cell = mechanisms.planar_fourbar()
    joints = [replace(joint, actuated=k == 3) for k, joint in enumerate(cell.joints)]
    driven = replace(cell, joints=tuple(joints))
    together, taken = walks(monkeypatch, beside(cell, driven))
    assert [cut.edge.joint.name for cut in together.cuts] == ["D 0", "C 1"]
    assert taken == 2
