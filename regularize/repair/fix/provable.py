"""Changes that take away what is proved to be redundant, not what dimensions make so.

Joints become other kinds, and closing joints that others make superfluous go.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping, Sequence, Set
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from regularize.lie.arrays import Array
from regularize.lie.subalgebra import decide_rank
from regularize.loops.assembly import with_coordinates
from regularize.loops.kinematics import sized_loops
from regularize.loops.projection import clearest_columns
from regularize.mechanism.graph import EdgeId
from regularize.mechanism.graph_building import build
from regularize.mechanism.mechanism import Joint, Mechanism
from regularize.reduction.mobility import CellMobility
from regularize.reduction.reduce import Reduction, reduce
from regularize.repair.statics.cure import changed
from regularize.repair.statics.joint_changes import EQUATIONS, JointChange, Stressed

#: States of self-stress of a region: of an even number of loops, of which planar ones have three.
REGION = 396


def provable_changes(
    reduction: Reduction, kinds: Mapping[str, Collection[str]]
) -> tuple[JointChange, ...] | None:
    """Changes after which no more is redundant than what special dimensions make so.

    The closing joints that gain most among their kinds are taken first, as long as every new
    freedom takes a state of self-stress away. None where they do not do it.
    """
    found = gaining_changes(reduction, kinds)
    if not 0 < sum(change.gain for change in found) <= reduction.redundant:
        return None
    after = reduce(changed(reduction, found), rtol=reduction.rtol, seed=reduction.seed)
    same = same_motion(after, reduction)
    return tuple(found) if same and after.redundant <= reduction.remaining else None


def gaining_changes(
    reduction: Reduction, kinds: Mapping[str, Collection[str]]
) -> list[JointChange]:
    """Changes each of whose new freedoms takes a state of self-stress away."""
    stressed, edges = Stressed.of(reduction), reduction.graph.edges
    options = [
        [
            option
            for e in reversed(cell.edges if cell.redundant else ())
            for option in stressed.of_joint(e, kinds.get(edges[e].joint.name, ()))
        ]
        for cell in reduction.cells
    ]
    ordered = [sorted(own, key=lambda option: -option.gain) for own in options]
    return [change for own in taking(stressed, reduction.cells, ordered) for change in own]


def taking(
    stressed: Stressed, cells: Sequence[CellMobility], options: Sequence[Sequence[JointChange]]
) -> list[list[JointChange]]:
    """Of each cell one change per joint at most, whose freedoms all take self-stress away.

    Args:
        stressed: The mechanism's self-stress.
        cells: The loops concerned.
        options: Changes of their joints, the preferred ones first.
    """
    found: list[list[JointChange]] = [[] for _ in cells]
    alike: dict[object, list[_Taking]] = {}
    for taken, cell, own in zip(found, cells, options, strict=True):
        if own:
            each = _Taking(own, taken, *stressed.seen(cell.edges, own))
            if each.states > EQUATIONS:
                each = _across(each, stressed, cell.edges)
            alike.setdefault(each.shape, []).append(each)
    for together in alike.values():
        _take(together, stressed.reduction.rtol)
    return found


@dataclass(frozen=True, eq=False)
class _Taking:
    """Changes of the joints of one cell, and which of them are taken.

    Attributes:
        options: All of them, the preferred ones first.
        found: Those that are taken.
        block: What the states of self-stress see of its new freedoms, shape (states, gain).
        states: How many there are.
    """

    options: Sequence[JointChange]
    found: list[JointChange]
    block: Callable[[JointChange], Array]
    states: int

    @property
    def shape(self) -> tuple[Any, ...]:
        """States, and of each option the place of its joint and its gain: asked for in turn."""
        joints = {option.joint: k for k, option in enumerate(self.options)}
        return (self.states, *((joints[each.joint], each.gain) for each in self.options))


def _across(every: _Taking, stressed: Stressed, edges: Sequence[EdgeId]) -> _Taking:
    """Take what regions of many states have by themselves, so that no matrix is of all states.

    Returns:
        What joints see that lie across regions, of the states that are left of each.
    """
    held, joints = stressed.states(edges).held, stressed.reduction.graph.edges
    regions = {
        joints[e].joint.name: {
            place // REGION for r, _ in held[e] for place in (r.start, r.stop - 1)
        }
        for e in edges
    }
    inside: dict[int, list[JointChange]] = {}
    for option in every.options:
        own = regions[option.joint]
        inside.setdefault(next(iter(own)) if len(own) == 1 else -1, []).append(option)
    across, spaces = inside.pop(-1, []), list[Array]()
    if not inside:
        return every
    for i, first in enumerate(range(0, every.states, REGION)):
        count = min(REGION, every.states - first)

        def part(option: JointChange, first: int = first) -> Array:
            return every.block(option)[first : first + REGION]

        free = np.eye(count)[None]
        if i in inside:
            _take([_Taking(inside[i], every.found, part, count)], stressed.reduction.rtol, free)
        left = clearest_columns(free[0], round(float(np.trace(free[0]))))
        spaces.append(np.linalg.qr(free[0][:, left])[0])
    ends = np.cumsum([0, *(space.shape[1] for space in spaces)])

    def block(option: JointChange) -> Array:
        seen, found = every.block(option), np.zeros((ends[-1], option.gain))
        for i in regions[option.joint]:
            found[ends[i] : ends[i + 1]] = spaces[i].T @ seen[i * REGION : (i + 1) * REGION]
        return found

    return _Taking(across, every.found, block, int(ends[-1]))


def _take(
    cells: Sequence[_Taking],
    rtol: float,
    free: Array | None = None,
    first: int = 0,
    taken: Set[int] = frozenset(),
) -> None:
    """Take what cells of one shape have independent of what they took before, all of them at once.

    They took the same options so far, and go on with the ``first``. What is left of their states
    is ``free``, as projectors that are changed in place, (cells, states, states); by default all.
    """
    (states, *places), taken = cells[0].shape, {*taken}
    free = np.tile(np.eye(states), (len(cells), 1, 1)) if free is None else free
    left = round(float(np.trace(free[0])))
    for k, (place, gain) in enumerate(places[first:], start=first):
        if not left:
            return
        if place in taken or gain > left:
            continue
        seen = np.array([cell.block(cell.options[k]) for cell in cells])
        # Of many loops' states a joint sees few, and so do most of those that are taken.
        rows = np.flatnonzero(seen.any(axis=(0, 2)))
        rest = np.swapaxes(np.swapaxes(seen[:, rows], 1, 2) @ free[:, rows], 1, 2)
        u, s, _ = np.linalg.svd(rest, full_matrices=False)
        good = np.sum(s > rtol, axis=1) == gain
        for cell, goes in zip(cells, good, strict=True):
            cell.found.extend([cell.options[k]] if goes else [])
        if good.any():
            more, new = (free, u) if good.all() else (free[good], u[good])
            at = np.flatnonzero(new.any(axis=(0, 2)))
            more[:, at[:, None], at] -= new[:, at] @ np.swapaxes(new[:, at], 1, 2)
            if not good.all():
                some = [cell for cell, goes in zip(cells, good, strict=True) if goes]
                _take(some, rtol, more, k + 1, taken | {place})
                cells = [cell for cell, goes in zip(cells, good, strict=True) if not goes]
                free = free[~good]
            else:
                left, taken = left - gain, taken | {place}


def without_implied(
    reduction: Reduction,
    kinds: Mapping[str, Collection[str]],
    removable: Callable[[Joint], bool],
) -> tuple[Reduction, tuple[Joint, ...]]:
    """The model without closing joints all of whose equations provably follow from others.

    Of closing joints that do the same, one stays that can become most other kinds, the first of
    these. A joint that the file does not let go stays as well. ``slack_plan`` chooses rows, and
    which of two equal rows it keeps is up to rounding.

    Returns:
        Analysis of what is left, and the joints that can go.
    """
    removed: list[Joint] = []
    q = np.array(reduction.q)
    for cell in reduction.cells:
        q[reduction.graph.columns(cell.edges)] = cell.configurations[-1]
    placed = with_coordinates(reduction.mechanism, q)
    free = _freedoms(placed, reduction.rtol)
    joints = reduction.mechanism.joints[::-1]
    for joint in sorted(joints, key=lambda joint: len(kinds[joint.name])):
        count = 6 - joint.freedoms
        mechanism = reduction.mechanism
        if not joint.closure or reduction.removed < count or referred(mechanism, joint):
            continue
        without = _without(placed, joint)
        if not removable(joint) or _freedoms(without, reduction.rtol) > free:
            continue
        less = reduce(_without(mechanism, joint), rtol=reduction.rtol, seed=reduction.seed)
        if same_motion(less, reduction) and less.removed == reduction.removed - count:
            reduction, placed = less, without
            removed.append(joint)
    return reduction, tuple(removed)


def _without(mechanism: Mechanism, joint: Joint) -> Mechanism:
    joints = tuple(other for other in mechanism.joints if other.name != joint.name)
    return replace(mechanism, joints=joints)


def _freedoms(mechanism: Mechanism, rtol: float) -> int:
    """How many velocities are possible where a mechanism is stored."""
    graph = build(mechanism)
    freedoms = graph.freedoms
    for cell in graph.cells:
        loops = sized_loops(graph, graph.position, cell)
        jacobian = loops.jacobian(loops.state(graph.position[loops.columns]))[0] * loops.units
        freedoms -= decide_rank(np.linalg.svd(jacobian, compute_uv=False), rtol).rank
    return freedoms


def same_motion(one: Reduction, other: Reduction) -> bool:
    """Whether two reductions find the same mobility."""
    return (one.mobility, one.finite_mobility) == (other.mobility, other.finite_mobility)


def referred(mechanism: Mechanism, joint: Joint) -> bool:
    """Whether anything else in the model names a joint."""
    named = [name for coupling in mechanism.couplings for name, _, _ in coupling.terms]
    named += [each.joint for each in mechanism.actuators]
    named += [each.joint for each in mechanism.motions]
    return joint.name in named
