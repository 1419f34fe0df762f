"""What the tests of the simulation formats share."""

from pathlib import Path

from regularize.analysis import reduce

CORPUS = Path(__file__).resolve().parents[2] / "shared" / "corpus"


def assert_one_redundant_loop(mechanism):
    """The known answer of all three mechanisms: one loop, mobility 1, two of five rows matter."""
    reduction = reduce(mechanism)
    assert len(mechanism.bodies) == len(mechanism.joints) == 4
    assert (reduction.equations, reduction.rank, reduction.redundant) == (6, 3, 3)
    assert (reduction.mobility, reduction.finite_mobility) == (1, 1)
    assert (reduction.kept, reduction.removed) == (2, 3)
    assert max(reduction.assembly.worst_before) < 1e-6
