"""Shaky loops: velocities that no motion follows, and the row that only looks redundant.

Two spherical chains and a hinge, with both centres and the hinge's axis in one plane: of the five
rows at the hinge, the one along the line of the centres vanishes at the pose, but it is what keeps
the hinge from turning.
"""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import mechanisms
import numpy as np
import pytest
from walks import walked

import regularize as rg
from regularize.cli import main


def shaky_balls() -> rg.Mechanism:
    """The same with a ball joint for each spherical chain."""
    return rg.Mechanism.of_joints(
        "shaky with ball joints",
        [
            rg.Joint.in_world("A", "ground", "near", "spherical", point=(0, 0, 0)),
            rg.Joint.in_world("D", "near", "far", "revolute", (0.6, 0, 0.8), (0.25, 0, 0.3)),
            rg.Joint.in_world("E", "far", "ground", "spherical", point=(0.6, 0, 0)),
        ],
    )


BUILDERS = {"hinges": mechanisms.shaky_7r, "balls": shaky_balls}
each = pytest.mark.parametrize("build", BUILDERS.values(), ids=[*BUILDERS])
Build = Callable[[], rg.Mechanism]


def screws_of(reduction: rg.Reduction) -> np.ndarray:
    """Scaled screws of all joints at the reference pose, one column each."""
    (part,) = reduction.parts
    return np.hstack([part.screws[e] for e in part.edges])


@pytest.mark.slow
@each
def test_velocities_and_motions_are_counted_apart(build: Build) -> None:
    report = rg.check(build()).as_dict()
    mobility = report["mobility"]
    assert (mobility["gruebler"], mobility["actual"], mobility["finite"]) == (1, 2, 1)
    assert mobility["redundant"] == 1
    assert report["redundancy"]["paradoxical"] == 1
    codes = {d["code"] for d in report["diagnostics"]}
    assert {"REG208", "REG235"} <= codes and "REG202" not in codes
    assert report["needed_at_second_order"] == 1
    words = str(rg.check(build()))
    assert "No redundant constraints: 1 equation dependent at first order, and needed" in words
    # Its class in words is its own: nothing that can be left out, and nothing paradoxical.
    assert "  shaky  " in words and "paradoxical" not in words and "Redundant:" not in words


@pytest.mark.slow
def test_what_can_go_and_what_is_needed_are_counted_apart(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(Path(__file__).parents[2] / "assets")
    words = str(rg.check("mobility/flat_guides_apart.urdf")).replace("\n", " ")
    assert "9 redundant constraint equations, consistent: all can be dropped" in words
    assert "Besides 1 equation dependent at first order, and needed" in words
    assert main(["check", "mobility/flat_guides_apart.urdf", "shaky_7r.urdf"]) == 1
    lines = capsys.readouterr().out.split("\n")
    assert [line.split()[4:6] for line in lines[1:3]] == [["9", "9"], ["0", "0"]]


@pytest.mark.slow
@each
def test_the_false_reduction_is_refused(build: Build) -> None:
    reduction = rg.reduce(build(), cuts=["D"])
    assert (reduction.constraints, reduction.kept, reduction.rank) == (5, 5, 5)
    assert reduction.certificate.holds and reduction.certificate.configurations >= 50
    # Without saturation the space of relative twists is a sum of five dimensions.
    assert np.linalg.matrix_rank(screws_of(reduction), tol=1e-9) == 5


@pytest.mark.slow
@each
def test_the_hinge_stands_still_with_the_row(build: Build) -> None:
    reduction = rg.reduce(build(), cuts=["D"])
    loops = reduction.loops
    visited = walked(reduction, walkers=20, steps=5, seed=0)
    (hinge,) = reduction.graph.edges[reduction.cuts[0].edge.index].columns
    others = [k for k in range(loops.freedoms) if k != hinge]
    assert np.ptp(visited[:, others], axis=0).max() > 0.5
    # Closed to 1e-12 means turned by no more than about its square root.
    assert np.max(np.abs(visited[..., hinge] - reduction.q[hinge])) < 1e-5
