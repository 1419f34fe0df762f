"""Shaky loops: velocities that no motion follows, and the row that only looks redundant.

Two spherical chains and a hinge, with both centres and the hinge's axis in one plane: of the five
rows at the hinge, the one along the line of the centres vanishes at the pose, but it is what keeps
the hinge from turning.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

import mechanisms
import numpy as np
import pytest

import regularize as rg
from regularize.lie import subalgebra
from regularize.lie.screw import Array
from regularize.manifold.continuation import Continuation, random_walks
from regularize.model.mechanism import Mechanism, joint_in_world, mechanism_of
from regularize.reduction.cuts import Cut, ReducedLoops
from regularize.reduction.motion_spaces import MotionSpaces
from regularize.reduction.reduce import Reduction


def shaky_balls() -> Mechanism:
    """The same with a ball joint for each spherical chain."""
    return mechanism_of(
        "shaky with ball joints",
        [
            joint_in_world("A", "ground", "near", "spherical", point=(0, 0, 0)),
            joint_in_world("D", "near", "far", "revolute", (0.6, 0, 0.8), (0.25, 0, 0.3)),
            joint_in_world("E", "far", "ground", "spherical", point=(0.6, 0, 0)),
        ],
    )


BUILDERS = {"hinges": mechanisms.shaky_7r, "balls": shaky_balls}
each = pytest.mark.parametrize("build", BUILDERS.values(), ids=[*BUILDERS])
Build = Callable[[], Mechanism]


def screws_of(reduction: Reduction) -> Array:
    """Scaled screws of all joints at the reference pose, one column each."""
    (part,) = reduction.parts
    return np.hstack([part.screws[e] for e in part.edges])


@each
def test_velocities_and_motions_are_counted_apart(build: Build) -> None:
    report = rg.check(build()).as_dict()
    mobility = report["mobility"]
    assert (mobility["gruebler"], mobility["actual"], mobility["finite"]) == (1, 2, 1)
    assert mobility["redundant"] == 1
    assert report["redundancy"]["paradoxical"] == 1
    assert "REG208" in {d["code"] for d in report["diagnostics"]}


@each
def test_the_false_reduction_is_refused(build: Build) -> None:
    reduction = rg.reduce(build(), cuts=["D"])
    assert (reduction.constraints, reduction.kept, reduction.rank) == (5, 5, 5)
    assert reduction.certificate.holds and reduction.certificate.configurations >= 50
    # Without saturation the space of relative twists is a sum of five dimensions.
    assert subalgebra.span(screws_of(reduction)).shape[1] == 5


def false_cut(reduction: Reduction) -> Cut:
    """The cut without the row that no screw of the pose feels."""
    (cut,) = reduction.cuts
    tempting = subalgebra.complement(subalgebra.span(screws_of(reduction)))
    assert tempting.shape == (6, 1)
    rows = subalgebra.complement(np.hstack([cut.freedoms, tempting]))
    return replace(cut, rows=rows, removed=tempting)


@each
def test_the_loop_opens_without_the_row(build: Build) -> None:
    reduction = rg.reduce(build(), cuts=["D"])
    loops = reduction.loops
    visited = random_walks(
        Continuation(ReducedLoops(loops, [false_cut(reduction)])),
        reduction.q,
        walkers=20,
        steps=2,
        rng=np.random.default_rng(0),
    )
    gaps = np.abs(loops.residual(loops.state(visited.reshape(-1, loops.freedoms)))).max(axis=1)
    assert np.median(gaps) > 1e-3


@each
def test_the_hinge_stands_still_with_the_row(build: Build) -> None:
    reduction = rg.reduce(build(), cuts=["D"])
    loops = reduction.loops
    visited = random_walks(
        Continuation(ReducedLoops(loops, reduction.cuts)),
        reduction.q,
        walkers=20,
        steps=5,
        rng=np.random.default_rng(0),
    )
    (hinge,) = reduction.graph.edges[reduction.cuts[0].edge.index].columns
    others = [k for k in range(loops.freedoms) if k != hinge]
    assert np.ptp(visited[..., others], axis=(0, 1)).max() > 0.5
    # Closed to 1e-12 means turned by no more than about its square root.
    assert np.max(np.abs(visited[..., hinge] - reduction.q[hinge])) < 1e-5


@pytest.mark.slow
@each
def test_the_certificate_catches_what_saturation_would_have(
    build: Build, monkeypatch: pytest.MonkeyPatch
) -> None:
    def unchanged(self: MotionSpaces, space: int, freedoms: int) -> int:
        return space

    monkeypatch.setattr(MotionSpaces, "saturate", unchanged)
    report = rg.check(build())
    reduction = report.reduction
    assert (reduction.removed, reduction.kept) == (0, reduction.constraints)
    assert not any(part.proved for part in reduction.parts)
    assert "REG215" in {d.code for d in report.diagnostics}
    assert report.as_dict()["reduction"]["certified_configurations"] == 0


def test_saturation_costs_nothing_where_nothing_is_shaky(monkeypatch: pytest.MonkeyPatch) -> None:
    builders = (mechanisms.sarrus, mechanisms.three_prrr, mechanisms.spherical_9r)
    with_it = [rg.reduce(build()).kept for build in builders]
    monkeypatch.setattr(MotionSpaces, "saturate", lambda self, space, freedoms: space)
    assert [rg.reduce(build()).kept for build in builders] == with_it == [4, 7, 4]
