"""What the tests of the simulation formats share."""

from pathlib import Path
from typing import Any

import regularize as rg
from regularize import adapters

#: Tests pass plain lists and look into what may be None, so these are loosely typed.
read: Any = adapters.read
Body: Any = rg.Body
Inertia: Any = rg.Inertia
Joint: Any = rg.Joint
Mechanism: Any = rg.Mechanism
with_density: Any = rg.with_density

CORPUS = Path(__file__).resolve().parents[3] / "shared" / "corpus"


def assert_one_redundant_loop(model: Any) -> None:
    """The known answer of all three mechanisms: one loop, mobility 1, two of five rows matter."""
    reduction = rg.reduce(model)
    assert len(model.bodies) == len(model.joints) == 4
    assert (reduction.equations, reduction.rank, reduction.redundant) == (6, 3, 3)
    assert (reduction.mobility, reduction.finite_mobility) == (1, 1)
    assert (reduction.kept, reduction.removed) == (2, 3)
    assert max(reduction.assembly.worst_before) < 1e-6
