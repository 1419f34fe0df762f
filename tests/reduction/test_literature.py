"""Redundancy by similar triangles, by motions of several parameters and by lasting stresses."""

from __future__ import annotations

import copy
import json
from typing import Any

import numpy as np
import pytest
from literature import MECHANISMS, cardan_lines, cognates, legs, on_conics, peaucellier
from noise_table import noisy
from test_proofs import fingerprint

import regularize as rg

FAMILIES = {
    "peaucellier": "similar triangles",
    "cardan_lines": "similar triangles",
    "cognates": "similar triangles",
    "coincident_arms": "none with a name",
    "six legs on conics": "legs between projective conics",
    "seven legs on conics": "legs between projective conics",
}


def document_of(mechanism: rg.Mechanism) -> Any:
    return json.loads(json.dumps(rg.prove(rg.reduce(mechanism, numerical="anyway"))))


def signed(document: Any) -> Any:
    return document | {"fingerprint": fingerprint(document)}


@pytest.mark.slow
@pytest.mark.parametrize("noise", [0.0, 1e-10])
@pytest.mark.parametrize("name", MECHANISMS)
def test_all_redundant_rows_are_proved(name: str, noise: float) -> None:
    mechanism = noisy(MECHANISMS[name](), noise, seed=1) if noise else MECHANISMS[name]()
    document = document_of(mechanism)
    verdict = rg.verify(document)
    assert verdict.holds and document["undecided"] == []
    assert any("lose their rank" in claim for claim in verdict.claims)
    (step,) = (step for step in document["parts"][0]["steps"] if "family" in step)
    assert step["family"] == FAMILIES[name]


@pytest.mark.slow
@pytest.mark.parametrize(
    "mechanism",
    [peaucellier(1e-3), cardan_lines(1e-3), cognates(1e-3), on_conics(0, 6, 1e-3)],
    ids=["peaucellier", "cardan_lines", "cognates", "legs"],
)
def test_of_other_lengths_nothing_is_proved(mechanism: rg.Mechanism) -> None:
    document = document_of(mechanism)
    steps = [step for part in document["parts"] for step in part["steps"]]
    assert not any("family" in step for step in steps)


def test_forces_that_depend_at_the_pose_alone_are_no_stress() -> None:
    """Six legs that meet a line: shaky, and rigid."""
    rng = np.random.default_rng(3)
    base = rng.normal(size=(6, 3))
    aims = np.column_stack([rng.uniform(-1, 1, (6, 1)), np.full((6, 2), (0, 2))])
    document = document_of(legs(base, base + rng.uniform(0.4, 0.7, (6, 1)) * (aims - base)))
    steps = [step for part in document["parts"] for step in part["steps"]]
    assert not any(step["because"] == "stress" for step in steps)


@pytest.mark.slow
def test_a_motion_of_two_parameters_is_of_two_joints() -> None:
    """Both parameters stand for joints; one of them alone would leave the other free."""
    document = document_of(MECHANISMS["coincident_arms"]())
    (step,) = (step for step in document["parts"][0]["steps"] if "family" in step)
    assert step["curve"] == []
    for change in ("x for y", "a relation", "longer"):
        changed = copy.deepcopy(document)
        (own,) = (step for step in changed["parts"][0]["steps"] if "family" in step)
        if change == "x for y":
            for pair in own["moves"].values():
                pair[1] = {"1 0": next(iter(pair[1].values()))}
        elif change == "a relation":
            own["curve"] = [{"1 0": "1", "0 1": "-1"}]
        else:
            for pair in own["moves"].values():
                pair[0] = {"0 0": "1", "1 1": "1"}
        assert not rg.verify(signed(changed)).holds, change
