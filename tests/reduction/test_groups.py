"""Bodies that legs hold in a group only together, and parallelograms."""

from __future__ import annotations

import json
from dataclasses import replace
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
import pinocchio as pin
import pytest
from noise_table import noisy
from parallel_robots import ASSETS, ROBOTS

import regularize as rg
from regularize.cli import main


@cache
def reduced(name: str) -> rg.Reduction:
    return rg.reduce(ROBOTS[name][0]())


@cache
def report(name: str) -> Any:
    return rg.check(reduced(name))


@pytest.mark.slow
@pytest.mark.parametrize("name", ROBOTS)
def test_nothing_is_left_over_but_what_lengths_make(name: str) -> None:
    _, mobility, redundant, by_lengths = ROBOTS[name]
    found = reduced(name)
    assert (found.mobility, found.finite_mobility) == (mobility, mobility)
    assert (found.redundant, found.remaining) == (redundant, by_lengths)
    assert found.kept + found.removed == found.constraints
    assert found.certificate.holds


@pytest.mark.slow
@pytest.mark.parametrize("name", ["4-RUU", "4-PRRRR", "Quadrupteron"])
def test_one_row_on_the_joints_of_one_leg_holds_the_platform(name: str) -> None:
    (held,) = reduced(name).held
    (row,) = held.rows
    assert held.space.shape[1] == 4 and set(row.coefficients) == {1.0}
    leg = {c for e in held.over for c in reduced(name).graph.edges[e].columns}
    assert set(row.columns) < leg
    # All legs that are cut lose one row each, and the sums of angles are one row for these three.
    assert sorted(cut.constraints - cut.kept for cut in reduced(name).cuts) == [1, 1, 1]


@pytest.mark.slow
@pytest.mark.parametrize(("name", "geared"), [("4-RUU", "A"), ("Orthoglide", "M")])
def test_gears_take_nothing_from_what_legs_prove(name: str, geared: str) -> None:
    """Couplings stop some motions of the loops: what is proved of all of them stays proved."""
    mechanism = ROBOTS[name][0]()
    terms = ((f"{geared}1", 0, 1.0), (f"{geared}2", 0, -1.0))
    offset = sum(k * float(mechanism.joint(j).position[c]) for j, c, k in terms)
    gear = rg.Coupling("gear", "gear", terms, offset)
    free, found = reduced(name), rg.reduce(replace(mechanism, couplings=(gear,)))
    assert (found.mobility, found.redundant) == (free.mobility - 1, free.redundant)
    assert (found.removed, found.remaining) == (free.removed, 0)
    assert len(found.held) == len(free.held) and found.certificate.holds
    assert rg.verify(rg.prove(found)).holds


@pytest.mark.slow
def test_what_noise_keeps_from_being_tried_is_said() -> None:
    for name in ("4-RUU", "Quadrupteron"):
        found = rg.reduce(noisy(ROBOTS[name][0](), 1e-6), configurations=10)
        (part,) = found.parts
        told = [d.code for d in rg.check(found).diagnostics]
        assert part.ungrouped == "noise" and told.count("REG234") == 1
    assert "REG234" not in [d.code for d in report("4-RUU").diagnostics]


@pytest.mark.slow
def test_numerical_reductions_say_where_rows_are_missed() -> None:
    """Bricard's linkage: no four fixed rows will do everywhere on its way round."""
    mechanism = rg.load(ASSETS / "bricard.urdf")
    reduction = rg.reduce(mechanism, numerical="anyway")
    assert reduction.certificate.nearest is not None and reduction.certificate.nearest.missing
    rows = rg.to_pinocchio(reduction)
    (finding,) = [f for f in rows.findings if f.code == "REG233"]
    assert "near A = " in finding.message
    assert rg.reduce(mechanism, numerical=True).remaining == 1


@pytest.mark.slow
def test_every_removed_row_names_its_claim(tmp_path: Path) -> None:
    found = report("Orthoglide")
    document = rg.prove(found.reduction)
    steps = [s for part in document["parts"] for s in part["steps"]]
    known = {f"{s['because']} {s.get('joint', '')}" for s in steps}
    for loop in found.as_dict()["loops"]:
        claims = [row["claim"] for row in loop["removed_directions"]]
        assert set(claims) <= known and len(claims) == loop["removed"]
        assert loop["claims"][0] == claims[0]
        assert [c.split()[0] for c in loop["claims"][1:]] == ["parallelogram"] * 3
    model, sarif = tmp_path / "orthoglide.json", tmp_path / "found.sarif"
    rg.save(found.mechanism, model)
    main(["check", str(model), "--output", "sarif", "-o", str(sarif)])
    results = json.loads(sarif.read_text())["runs"][0]["results"]
    told = [r["properties"]["claims"][0] for r in results if r["ruleId"] == "REG201"]
    assert told == [loop.claims[0] for loop in found.loops]


@pytest.mark.slow
@pytest.mark.parametrize("code", ["REG201", "REG227"])
def test_the_words_of_the_theorem_are_explained(
    code: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["explain", code]) == 0
    told = capsys.readouterr().out
    assert "The theorem" in told and "By induction over the cuts" in " ".join(told.split())


@pytest.mark.slow
def test_the_file_s_own_closures_lose_as_many_rows() -> None:
    mechanism = ROBOTS["Quadrupteron"][0]()
    found = rg.reduce(mechanism, keep_cuts=True)
    assert {c.edge.joint.name for c in found.cuts} == {
        j.name for j in mechanism.joints if j.closure
    }
    assert (found.removed, found.remaining) == (2, 0)


def test_accelerations_are_those_on_all_rows() -> None:
    """The kept rows and the one that holds the platform say what all equations say."""
    rows, every = (rg.to_pinocchio(reduced("4-RUU"), style) for style in ("rows", "legacy"))
    assert rows.rows == rows.rank == 13 and every.rank == 16
    rng = np.random.default_rng(1)
    q = rows.q0
    v = rows.split(q).free @ rng.normal(size=4)
    tau = rng.normal(size=rows.model.nv)
    same = every.joint_map @ rows.joint_map.T
    ours = rows.forward_dynamics(q, v, tau)
    theirs = every.forward_dynamics(
        every.q0,
        every.split(every.q0).free
        @ np.linalg.lstsq(
            rows.joint_map @ every.joint_map.T @ every.split(every.q0).free, v, rcond=None
        )[0],
        same @ tau,
    )
    assert np.allclose(rows.joint_map @ every.joint_map.T @ theirs, ours, rtol=1e-6, atol=1e-6)


@pytest.mark.parametrize("style", ["anchors", "slack", "legacy"])
def test_constraint_models_keep_the_rows_of_all_legs(style: str) -> None:
    robot = rg.to_pinocchio(reduced("4-RUU"), style)
    assert robot.rank == 16 and not len(robot.constraints.coupling)
    assert style == "legacy" or [f.code for f in robot.findings] == ["REG304"]


@pytest.mark.slow
def test_the_report_names_the_group_its_row_and_its_end() -> None:
    found = report("4-RUU")
    (finding,) = [d for d in found.diagnostics if d.code == "REG227"]
    assert "Schoenflies, axis along Z" in finding.message
    assert "`C1` + `D1` = const" in finding.message and "below 16" in finding.message
    (held,) = found.as_dict()["reduction"]["held"]
    assert held["motion_algebra"]["type"] == "Schoenflies" and held["rank"] == 16
    loops = report("Orthoglide").as_dict()["reduction"]["parallelograms"]
    assert sorted(map(sorted, loops))[0] == ["G1", "H1", "J1", "K1"]
    text = " ".join(str(report("Orthoglide")).split())
    assert "in every configuration, up to flat parallelograms (REG227)" in text
    assert "as firmly as all equations, short of flat parallelograms (REG227)" in text
    whole = rg.reduce(ROBOTS["Orthoglide"][0](), groups=False, configurations=0)
    assert 0 < whole.removed < report("Orthoglide").reduction.removed
    claims = rg.verify(rg.prove(whole)).claims
    assert sum("never needed" in claim for claim in claims) == len(whole.cuts)
    assert not any("flat" in claim for claim in claims)
    assert "in every configuration, up to singular poses (REG227)" in " ".join(str(found).split())


@pytest.mark.slow
def test_check_everywhere_keeps_what_ends_at_singular_poses(
    capsys: pytest.CaptureFixture[str],
) -> None:
    path = str(ASSETS / "mobility" / "four_ruu.urdf")
    removed = []
    for more in ([], ["--everywhere"]):
        main(["check", path, "--output", "json", "--configurations", "5", *more])
        found = json.loads(capsys.readouterr().out)
        codes = {finding["code"] for finding in found["diagnostics"]}
        assert ("REG227" in codes) == bool(found["reduction"]["held"]) == (not more)
        removed.append(found["mobility"]["components"][0]["removed"])
    assert removed == [2, 0]


@pytest.mark.slow
def test_a_model_of_the_caller_is_held_by_its_own_joints() -> None:
    """Continuous joints about oblique axes, whose axes Pinocchio does not show."""
    mechanism = ROBOTS["4-RUU"][0]()
    model = pin.buildModelFromUrdf(str(ASSETS / "mobility" / "four_ruu.urdf"))
    closures = [
        rg.Closure(
            j.parent,
            pin.SE3(j.T_parent_joint),
            j.child,
            pin.SE3(j.T_child_joint),
            kind="revolute",
            axis=tuple(j.screws[3:, 0]),
        )
        for j in mechanism.joints
        if j.closure
    ]
    robot = rg.augment(model, closures)
    assert robot.model is model and (robot.rows, robot.rank) == (13, 13)
    assert np.linalg.matrix_rank(robot.jacobian(robot.q0)) == 13
    assert np.max(np.abs(robot.residual(robot.q0))) < 1e-12
