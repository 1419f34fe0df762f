"""Cures: smallest sets of joint changes that make a mechanism isostatic."""

import re
from dataclasses import replace
from functools import cache
from pathlib import Path
from typing import Any

import mechanisms
import numpy as np
import pytest
from test_advice import CASES, changed, kinds_of
from test_reactions import four_bar

import regularize as rg
from regularize.commands.writing import KINDS
from regularize.mechanism import joint_kinds as joint
from regularize.repair.fix import proposals
from regularize.repair.fix.advice import advise
from regularize.repair.statics import joint_changes, stress_search

pytestmark = pytest.mark.slow
ASSETS = Path(__file__).resolve().parents[3] / "assets"
CORPUS = Path(__file__).resolve().parents[4] / "shared" / "corpus"
Y = (0, 1, 0)


def isostatic(found: Any, before: rg.Reduction) -> bool:
    """What a cure promises, looked at on the changed model itself."""
    after = found.reduction
    return (
        after.redundant == 0
        and after.assembly.closed
        and after.mobility - before.mobility == len(found.idle)
        and all(reaction.unique for reaction in rg.reactions(after))
    )


def test_planar_four_bar_is_cured_by_a_ball_and_a_cylinder() -> None:
    reduction = rg.reduce(four_bar())
    found = rg.cures(reduction, limit=100)
    assert {"C": "spherical", "D": "cylindrical"} in [c.kinds for c in found]
    assert all(isostatic(c, reduction) for c in found)
    assert all(len(c.changes) == 2 and not c.idle for c in found[:12])
    keys = [(len(c.idle), len(c.changes), sum(change.cost for change in c.changes)) for c in found]
    assert keys == sorted(keys)
    assert str(found[0]) == "C: revolute to spherical; D: revolute to cylindrical"
    assert rg.cures(found[0].reduction) == ()
    # Every ordered pair of hinges can be the ball and the cylinder.
    pairs = [c.kinds for c in found if set(c.kinds.values()) == {"spherical", "cylindrical"}]
    assert len(pairs) == 12


def test_idle_freedoms_are_named() -> None:
    reduction = rg.reduce(four_bar())
    two_balls = rg.cure(reduction, {"B": "spherical", "C": "spherical"})
    assert two_balls
    assert two_balls.idle == ("coupler",)
    assert two_balls.mobility == 2
    assert str(two_balls).endswith("(idle: coupler)")
    offered = rg.cures(reduction, limit=100, idle=True)
    assert {"B": "spherical", "C": "spherical"} in [c.kinds for c in offered]
    assert {"B": "spherical", "C": "spherical"} not in [
        c.kinds for c in rg.cures(reduction, limit=100)
    ]


def test_changes_that_are_no_cure_are_told_apart() -> None:
    reduction = rg.reduce(four_bar())
    ball = rg.cure(reduction, {"D": "spherical"})
    assert not ball
    assert str(ball) == "D: revolute to spherical: 1 of 3 redundant equations stays"
    assert not rg.cure(reduction, {"C": "cylindrical", "D": "cylindrical"})
    with pytest.raises(rg.ModelError, match="universal along 0,1,0; possible is D=universal:0,0,1"):
        rg.cure(reduction, {"D": "universal:0,1,0"})
    assert str(rg.cure(reduction, {"D": "universal:0,0,1"})).endswith(
        "2 of 3 redundant equations stay"
    )
    with pytest.raises(rg.ModelError, match="'A' is revolute and cannot be made planar"):
        rg.cure(reduction, {"A": "planar"})


def test_a_ball_that_is_named_becomes_a_point_in_a_plane() -> None:
    plate = rg.assembly("plate on three balls")
    plate.body("plate")
    for name, at in (("a", (0, 0, 0)), ("b", (1, 0, 0)), ("c", (0, 1, 0))):
        plate.ball(name, "ground", "plate", at=at)
    reduction = rg.reduce(plate.mechanism())
    found = rg.cure(reduction, {"b": "point_on_line", "c": "point_on_plane"})
    assert found
    assert reduction.redundant == 3
    assert str(found).endswith("plane normal to Z)")
    assert isostatic(found, reduction)


def test_motors_couplings_and_what_is_to_be_kept_stay() -> None:
    mechanism = four_bar()
    joints = tuple(replace(j, actuated=j.name == "A") for j in mechanism.joints)
    for found in rg.cures(rg.reduce(replace(mechanism, joints=joints)), limit=50, keep=["B"]):
        assert set(found.kinds) <= {"C", "D"}
    coupled = replace(
        mechanism, couplings=(rg.Coupling("pair", "gear", (("A", 0, 1.0), ("B", 0, 0.5)), 0.0),)
    )
    for found in rg.cures(rg.reduce(coupled), limit=10):
        assert set(found.kinds) <= {"C", "D"}
    asked = rg.cures(rg.reduce(mechanism), limit=50, kinds=("cylindrical", "universal"))
    assert asked and {k for c in asked for k in c.kinds.values()} <= {"cylindrical", "universal"}


def test_a_weld_becomes_a_point() -> None:
    joints = [
        rg.Joint.in_world("A", "ground", "a", "revolute", (0, 1, 0.2), (0, 0, 0)),
        rg.Joint.in_world("B", "a", "b", "revolute", (0.3, 0, 1), (0, 0, 1)),
        rg.Joint.in_world("C", "b", "c", "revolute", (1, 0.1, 0), (1, 0.5, 1)),
        rg.Joint.in_world("W", "c", "ground", "fixed", point=(0.4, -0.3, 0.2), closure=True),
    ]
    reduction = rg.reduce(rg.Mechanism.of_joints("welded", joints))
    assert (reduction.mobility, reduction.redundant) == (0, 3)
    (found,) = rg.cures(reduction, limit=1)
    assert found.kinds == {"W": "spherical"}
    assert isostatic(found, reduction)


def test_slots_are_proposed_only_where_standard_joints_do_not_help() -> None:
    without_file = replace(rg.load(ASSETS / "three_cranks.urdf"), path=None)
    reduction = rg.reduce(without_file)
    assert rg.cures(reduction, kinds=("cylindrical", "universal", "spherical")) == ()
    found = rg.cures(reduction, limit=3)
    assert all(list(c.kinds.values()).count("slotted") == 1 for c in found)
    assert all("slotted" not in c.kinds.values() for c in rg.cures(asset("planar_fourbar")))


def test_a_mechanism_stored_in_a_singular_pose_is_cured_where_it_is_not() -> None:
    flat = rg.load(str(ASSETS / "spherical_fourbar_flat.urdf"))
    reduction = rg.reduce(flat)
    assert any(cell.here.rank < cell.generic.rank for cell in reduction.cells)
    found = rg.cures(reduction, limit=2)
    assert found
    assert all(c.reduction.redundant == 0 for c in found)


@cache
def asset(name: str) -> rg.Reduction:
    return rg.reduce(rg.load(str(ASSETS / f"{name}.urdf")))


CURABLE = (
    *("planar_fourbar", "slider_crank", "three_cranks", "n_fourbar_1", "n_fourbar_5", "bennett"),
    *("spherical_fourbar", "goldberg_5r", "goldberg_6r", "bricard", "schatz", "sarrus"),
    *("three_leg_sarrus", "double_sarrus", "waldron_6r", "three_prrr", "spherical_9r"),
    *("braced_fourbar", "roberval_balance", "delta_parallelograms", "orthoglide", "three_upu"),
    *("quadrupteron", "thesis/redundant_four_bar", "thesis/agile_eye"),
)


@pytest.mark.parametrize("name", CURABLE)
def test_every_proposal_for_the_assets_holds(name: str) -> None:
    reduction = asset(name)
    found = rg.cures(reduction, limit=3)
    if reduction.redundant and reduction.assembly.closed:
        assert found, f"{name}: {reduction.redundant} redundant and no cure"
    for proposal in found:
        assert isostatic(proposal, reduction)
        # The changed model is assembled in the same pose.
        np.testing.assert_allclose(proposal.reduction.assembly.residual_after, 0.0, atol=1e-8)


@pytest.mark.skipif(not CORPUS.exists(), reason="corpus not at hand")
def test_five_bar_is_cured_as_its_authors_did_by_hand() -> None:
    """They made a closing hinge a ball and gave one hinge of a rod a second, crossed axis."""
    path = CORPUS / "gepetto_yaml" / "5bar_linkage" / "robot.urdf"
    reduction = rg.reduce(rg.load(str(path)))
    found = [c.kinds for c in rg.cures(reduction, limit=1000)]
    closing = ("closedloop1_A", "closedloop1_B")
    assert any(
        sorted(kinds.values()) == ["spherical", "universal"]
        and any(kinds.get(name) == "spherical" for name in closing)
        and any(kinds.get(name) == "universal" for name in ("free1", "free2"))
        for kinds in found
    )


def test_advice_on_parts_that_are_too_large_for_all_their_self_stress(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    for module in (stress_search, proposals):
        monkeypatch.setattr(module, "EQUATIONS", 10)
    monkeypatch.setattr(proposals, "WORK", 0.0)
    for name in ("double wishbone", "four-column press", "gear train", "driven crankshaft"):
        mechanism, textbook = CASES[name]
        before = rg.reduce(mechanism)
        found = advise(before)
        kinds = kinds_of([entry.as_dict() for entry in found])
        assert any(textbook.items() <= each.items() for each in kinds[:3]), kinds
        for entry in found:
            after = rg.reduce(changed(mechanism, entry))
            assert (after.redundant, after.mobility) == (entry.left, before.mobility)


def test_help_names_kinds_in_words_that_are_understood() -> None:
    words = re.findall(r"\w+", KINDS)
    kinds = {joint.kind_of(word) for word in words}
    assert kinds == {word for word in words if joint.kind_of(word) == word}
    assert {*joint_changes.COST, *joint_changes.COST_OF_PAIRS} <= kinds
    assert kinds <= {*joint.KINDS, *joint.HIGHER_PAIRS, "slotted"} - {"free", "composite"}


def test_cures_of_a_loop_in_a_leg_do_not_hang_on_how_the_leg_stands() -> None:
    leg = rg.assembly("leg")
    for name in ("thigh", "crank", "rod", "foot"):
        leg.body(name)
    leg.hinge("hip", "ground", "thigh", at=(0, 0, 1), axis=(1, 0, 0))
    leg.hinge("A", "thigh", "crank", at=(0, 0, 0.8), axis=Y)
    leg.hinge("B", "crank", "rod", at=(0.1, 0, 0.8), axis=Y)
    leg.hinge("D", "thigh", "foot", at=(0.05, 0, 0.2), axis=Y)
    leg.ball("C", "rod", "foot", at=(0.2, 0, 0.25))
    found = []
    for angle in (0.0, 1.0):
        reduction = rg.reduce(leg.mechanism().with_positions({"hip": [angle]}))
        found.append([cure.kinds for cure in rg.cures(reduction)])
        (ball,) = rg.cures(reduction, kinds={"C": ["point_on_line"]}, limit=1)
        assert np.allclose(np.abs(ball.changes[0].choice), (0, np.cos(angle), np.sin(angle)))
    assert found[0] == found[1] and found[0][0] == {"D": "cylindrical"}


def test_a_loop_of_welds_has_no_ranks_to_ask_for() -> None:
    weld = [
        rg.Joint("one", "ground", "plate", "fixed", np.zeros((6, 0))),
        rg.Joint("two", "ground", "plate", "fixed", np.zeros((6, 0)), closure=True),
    ]
    joints = [*mechanisms.planar_fourbar().joints, *weld]
    cure = rg.cure(rg.Mechanism.of_joints("welded", joints), {joints[1].name: "spherical"})
    assert cure is not None
