"""Assembly and reduction with formulas at hand.

Both stand on their own. Here they are offered what ``assembly_modes`` knows of loops that have a
closed form: all configurations with given coordinates, or many all over a branch.
"""

from __future__ import annotations

from functools import wraps
from typing import Any

from regularize.lie.screw import Array
from regularize.manifold import assembly
from regularize.manifold.kinematics import LoopKinematics
from regularize.manifold.projection import Mask
from regularize.reduction import partitioning
from regularize.reduction import reduce as reduction
from regularize.reduction.reduce import Reduction


@wraps(assembly.assemble)
def assemble(*arguments: Any, **options: Any) -> assembly.Assembly:
    """Close all loops of a mechanism."""
    return assembly.assemble(*arguments, **{"candidates": _modes, **options})


@wraps(partitioning.partition)
def partition(*arguments: Any, **options: Any) -> partitioning.Partition:
    """Choose independent coordinates."""
    return partitioning.partition(*arguments, **{"candidates": _modes, **options})


@wraps(reduction.reduce)
def reduce(*arguments: Any, **options: Any) -> Reduction:
    """Find the loop constraints that can never matter and keep the others."""
    return reduction.reduce(*arguments, **{"sampler": _spread, **options})


def _modes(loops: LoopKinematics, start: Array, held: Mask) -> Array | None:
    from regularize.assembly_modes import sampling  # formulas are loaded where they are asked for

    return sampling.nearest_modes(loops, start, held)


def _spread(loops: LoopKinematics, starts: Array, count: int, rtol: float, rng: Any) -> Array:
    from regularize.assembly_modes import sampling

    return sampling.spread_configurations(loops, starts, count, rtol, rng)
