"""Joint changes that take away what is proved to be redundant, not what dimensions make so."""

from __future__ import annotations

from collections.abc import Collection, Mapping

import numpy as np

from regularize.reduction.mobility import CellMobility
from regularize.reduction.reduce import Reduction, reduce
from regularize.statics.cure import changed
from regularize.statics.joint_changes import JointChange, Stressed


def provable_changes(
    reduction: Reduction, kinds: Mapping[str, Collection[str]]
) -> tuple[JointChange, ...] | None:
    """Changes after which no more is redundant than what special dimensions make so.

    The closing joints that gain most are taken first, as long as every new freedom takes a state of
    self-stress away.

    Args:
        reduction: Of the mechanism.
        kinds: Kinds that each joint can become.

    Returns:
        The changes; None where they do not do it.
    """
    found = gaining_changes(reduction, kinds)
    after = reduce(changed(reduction, found), rtol=reduction.rtol, seed=reduction.seed)
    same = (after.mobility, after.finite_mobility) == (
        reduction.mobility,
        reduction.finite_mobility,
    )
    return tuple(found) if same and after.redundant <= reduction.remaining else None


def gaining_changes(
    reduction: Reduction, kinds: Mapping[str, Collection[str]]
) -> list[JointChange]:
    """Changes each of whose new freedoms takes a state of self-stress away."""
    stressed = Stressed.of(reduction)
    return [
        change
        for cell in reduction.cells
        if cell.redundant
        for change in _of_cell(stressed, cell, kinds)
    ]


def _of_cell(
    stressed: Stressed, cell: CellMobility, kinds: Mapping[str, Collection[str]]
) -> list[JointChange]:
    """One change per joint at most, all of whose freedoms take states of self-stress away."""
    options = [
        option
        for e in reversed(cell.edges)
        for option in stressed.of_joint(e, kinds.get(_name(stressed, e), ()))
    ]
    blocks, states = stressed.seen(cell.edges, options)
    space, found, taken = np.zeros((states, 0)), [], set()
    for i in sorted(range(len(options)), key=lambda i: -options[i].gain):
        rest = blocks[i] - space @ (space.T @ blocks[i])
        u, s, _ = np.linalg.svd(rest, full_matrices=False)
        new = u[:, s > stressed.reduction.rtol]
        if options[i].joint not in taken and new.shape[1] == options[i].gain:
            space = np.hstack([space, new])
            found.append(options[i])
            taken.add(options[i].joint)
    return found


def _name(stressed: Stressed, edge: int) -> str:
    return stressed.reduction.graph.edges[edge].joint.name
