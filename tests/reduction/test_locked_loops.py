"""Loops that lock themselves keep what locks them, whatever moves beside them."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from descent_table import lowest, missing
from random_mechanisms import random_network
from walks import kept_rows

import regularize as rg

TRAPS = sorted((Path(__file__).resolve().parents[3] / "shared/corpus/traps").glob("*.urdf"))


def ring_beside_a_loose_one(seed: int) -> rg.Mechanism:
    """Five freedoms in a ring lock themselves; a second ring with nine passes over one hinge."""
    rng = np.random.default_rng(seed)

    def joint(name: str, parent: str, child: str, kind: str) -> object:
        axis, other, point = rng.normal(size=(3, 3))
        other -= axis * (axis @ other) / (axis @ axis)
        return rg.Joint.in_world(name, parent, child, kind, axis, point, axis2=other)

    ends = [("U1", "ground", "a", "universal"), ("R", "a", "b", "revolute")]
    ends += [("U2", "b", "ground", "universal"), ("S1", "a", "c", "spherical")]
    ends += [
        ("T", "c", "d", "revolute"),
        ("S2", "d", "e", "spherical"),
        ("V", "e", "b", "universal"),
    ]
    return rg.Mechanism.of_joints("beside", [joint(*end) for end in ends])  # type: ignore[arg-type]


def locked_coordinates_without_rows(reduction: rg.Reduction) -> int:
    """How many locked coordinates the rows that see nothing else leave free, in the tree."""
    loops = reduction.loops
    locked = np.zeros(loops.freedoms, dtype=bool)
    for part in reduction.parts:
        locked[[c for e in part.locked for c in loops.local(e)]] = True
    rows = kept_rows(reduction)
    jacobian = rows.residual_jacobian(loops.state(reduction.q))[0] * loops.units
    cuts = [np.any(loops.incidence[i, ~locked] != 0.0) for i in range(len(reduction.cuts))]
    sizes = [cut.kept + cut.edge.freedoms for cut in reduction.cuts]
    still = ~np.repeat(np.array(cuts, dtype=bool), sizes)
    seen = np.any(loops.incidence[~np.array(cuts, dtype=bool)] != 0.0, axis=0)
    own = jacobian[: len(still)][still][:, seen]
    return int(seen.sum()) - int(np.linalg.matrix_rank(own, tol=1e-6)) if seen.any() else 0


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(5))
def test_moving_loops_are_no_help(seed: int) -> None:
    """Else the rows fail where the moving loop says something else than at the pose."""
    reduction = rg.reduce(ring_beside_a_loose_one(seed))
    assert {reduction.graph.edges[e].joint.name for e in reduction.parts[0].locked} == {
        "U1",
        "R",
        "U2",
    }
    assert reduction.mobility == reduction.finite_mobility == 3
    assert locked_coordinates_without_rows(reduction) == 0


@pytest.mark.slow
@pytest.mark.parametrize("path", TRAPS, ids=lambda path: path.stem)
def test_traps(path: Path) -> None:
    reduction = rg.reduce(rg.load(path))
    assert any(part.locked for part in reduction.parts)
    assert locked_coordinates_without_rows(reduction) == 0
    assert not missing(lowest(reduction), reduction)


@pytest.mark.slow
@pytest.mark.parametrize("first", range(0, 60, 20))
def test_random_networks(first: int) -> None:
    """As many coordinates as the loops lock by themselves before thinning stay locked after it."""
    for seed in range(first, first + 20):
        reduction = rg.reduce(random_network(np.random.default_rng(seed)))
        if any(cut.thinned.shape[1] for cut in reduction.cuts):
            assert locked_coordinates_without_rows(reduction) == 0, seed
