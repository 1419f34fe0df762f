"""Certificates: walked where they are few, solved in closed form where they are many."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import regularize as rg
from regularize.assembly_modes.sampling import spread_configurations
from regularize.cli import main
from regularize.errors import ModelError
from regularize.manifold.kinematics import LoopKinematics
from regularize.model.graph_part import part_of
from regularize.model.mechanism import Coupling, joint_in_world, mechanism_of
from regularize.reduction.certificate import CONFIGURATIONS, MANY, Certifier
from regularize.reduction.reduce import Reduction
from regularize.reduction.setting import Setting
from regularize.render.view import evidence

ASSETS = Path(__file__).resolve().parents[1] / "assets"

#: Models whose loops have a closed form, and their loops.
SOLVED = {"planar_fourbar": 1, "bennett": 1, "sarrus": 1, "three_cranks": 2, "gripper": 4}


def model(name: str) -> rg.Mechanism:
    return rg.load(ASSETS / f"{name}.urdf")


def certifier(reduction: Reduction, configurations: int) -> Certifier:
    """What certifies the only cell of a mechanism."""
    setting = Setting(
        reduction.graph,
        reduction.assembly,
        None,
        reduction.rtol,
        None,
        0,
        spread_configurations,
    )
    (cell,) = reduction.cells
    return Certifier(setting, cell.edges, configurations)


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
    assert certify(reduction.cuts)[1].holds
    monkeypatch.setattr(
        "regularize.reduction.certificate._errors", lambda _, state: 0.0 * state.q[:, 0]
    )
    (cut,) = reduction.cuts
    fewer = replace(cut, rows=cut.rows[:, 1:])
    _, certificate = certify([fewer])
    assert certificate.solved > 0
    assert not certificate.holds
    assert certificate.worst > 0.1


def test_a_cell_is_solved_for_among_others() -> None:
    """The other cells of the mechanism have inputs of their own, which do not matter."""
    reduction = rg.reduce(model("double_sarrus"), configurations=MANY)
    assert len(reduction.cells) == 2
    assert reduction.certificate.solved == MANY - CONFIGURATIONS


@pytest.mark.parametrize("lacking", [0, 1])
def test_what_is_not_solved_for_is_walked_to(lacking: int, monkeypatch: pytest.MonkeyPatch) -> None:
    def found(*arguments: Any) -> np.ndarray:
        return spread_configurations(*arguments)[lacking:]

    monkeypatch.setattr("regularize.assembly_modes.sampling.spread_configurations", found)
    certificate = rg.reduce(model("planar_fourbar"), configurations=MANY).certificate
    assert certificate.holds and certificate.solved == MANY - CONFIGURATIONS - lacking
    assert certificate.configurations >= MANY
    assert (certificate.configurations == MANY) == (lacking == 0)


def test_part_of_a_graph() -> None:
    graph = rg.reduce(model("double_sarrus")).graph
    for cell in graph.cells:
        part = part_of(graph, cell)
        assert part is not None
        assert [e.name for e in part.edges] == [graph.edges[e].name for e in cell]
        assert part.cells == (tuple(range(len(cell))),)
        assert part.freedoms == len(graph.columns(cell)) == len(part.position)
        assert [e.columns[0] for e in part.edges] == list(range(len(cell)))


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
    """Nothing depends on how many configurations fit into memory."""
    whole = rg.reduce(model(name), configurations=900)
    monkeypatch.setattr("regularize.manifold.batches.CHUNK", 70)
    monkeypatch.setattr("regularize.reduction.certificate.CHUNK", 70)
    parts = rg.reduce(model(name), configurations=900)
    assert parts.certificate.holds
    assert parts.certificate.configurations == whole.certificate.configurations == 900
    assert (parts.mobility, parts.kept) == (whole.mobility, whole.kept)


def test_a_negative_number_of_configurations() -> None:
    with pytest.raises(ModelError, match="configurations is a whole number"):
        rg.reduce(model("planar_fourbar"), configurations=-1)
    with pytest.raises(SystemExit) as left:
        main(["check", str(ASSETS / "planar_fourbar.urdf"), "--configurations", "-1"])
    assert left.value.code == 2


def test_loops_of_nothing_but_fixed_joints() -> None:
    welds = [("one", "ground", "a"), ("two", "a", "b"), ("three", "b", "ground")]
    joints = [joint_in_world(name, a, b, "fixed", closure=name == "three") for name, a, b in welds]
    mechanism = mechanism_of("welded", joints, ground="ground")
    for count in (50, 1000):
        certificate = rg.reduce(mechanism, configurations=count).certificate
        assert certificate.holds
        assert certificate.configurations == count


def test_cells_with_and_without_a_closed_form() -> None:
    """What is said to be walked to was walked to in every cell."""
    one, other = (model(name) for name in ("planar_fourbar", "bricard"))
    bodies = {body.name: replace(body, name=f"b {body.name}") for body in other.bodies}
    ground = one.body(one.ground)
    joints = [
        replace(
            joint,
            name=f"b {joint.name}",
            **{
                end: ground.name if getattr(joint, end) == other.ground else bodies[name].name
                for end, name in (("parent", joint.parent), ("child", joint.child))
            },
        )
        for joint in other.joints
    ]
    moving = [body for name, body in bodies.items() if name != other.ground]
    both = replace(one, bodies=(*one.bodies, *moving), joints=(*one.joints, *joints))
    certificate = rg.reduce(both, configurations=1000).certificate
    assert certificate.holds
    assert certificate.configurations == 1000
    assert certificate.solved == 1000 - CONFIGURATIONS


def test_couplings_without_loops_are_not_solved_for(monkeypatch: pytest.MonkeyPatch) -> None:
    """A cell of coupled joints has no loop, and few configurations are few for it too."""
    asked: list[int] = []

    def watched(loops: LoopKinematics, *_: object, **__: object) -> np.ndarray:
        asked.append(len(loops.chords))
        return np.zeros((0, loops.freedoms))

    monkeypatch.setattr("regularize.assembly_modes.sampling.spread_configurations", watched)
    joints = [
        joint_in_world("one", "ground", "a", "revolute", (0, 0, 1)),
        joint_in_world("two", "a", "b", "revolute", (0, 0, 1), (1, 0, 0)),
    ]
    arm = mechanism_of("arm", joints, ground="ground")
    geared = replace(arm, couplings=(Coupling("gear", "gear", (("one", 0, 1.0), ("two", 0, 2.0))),))
    assert rg.reduce(geared).mobility == 1
    assert not asked
    assert rg.reduce(geared, configurations=MANY).mobility == 1
    assert asked == [0]
