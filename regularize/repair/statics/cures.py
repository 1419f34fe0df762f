r"""Changes of joint types that make a mechanism isostatic without adding mobility.

Every redundant equation is a state of self-stress; a joint that gives way along it takes it away. A
set of changes cures the mechanism where its new freedoms, seen by the self-stress states N, form a
matrix :math:`N^T A` of full rank. Every proposal is verified by analysing the changed model.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping, Sequence
from itertools import islice, product

import numpy as np

from regularize.errors import ModelError
from regularize.escape import did_you_mean
from regularize.lie.arrays import Array
from regularize.mechanism.graph import EdgeId
from regularize.mechanism.joint_kinds import HIGHER_PAIRS, KINDS, kind_of
from regularize.mechanism.mechanism import Model
from regularize.reduction.reduce import Reduction, as_reduction
from regularize.repair.statics.cure import Cure, NoCure, freed, verified
from regularize.repair.statics.joint_changes import (
    COST,
    COST_OF_PAIRS,
    STANDARD,
    JointChange,
    Stressed,
    direction_in,
)
from regularize.repair.statics.releases import named_releases, releases
from regularize.validation import FLAG, NAMES, TEXT, WHOLE, named, validated
from regularize.words import SLIGHT

#: Combinations looked at per cell before the search settles for what it has.
NODES = 40_000
#: Candidates that are analysed where an answer is wanted at once.
TRIES = 12
#: Kinds that a user can ask for.
KNOWN = (*(kind for kind in KINDS if kind not in ("free", "composite")), "slotted", *HIGHER_PAIRS)


@validated(limit=WHOLE, keep=NAMES, idle=FLAG, kinds=NAMES | named(NAMES), tries=WHOLE)
def cures(
    model: Model,
    *,
    limit: int = 5,
    keep: Collection[str] = (),
    idle: bool = False,
    kinds: Collection[str] | Mapping[str, Collection[str]] | None = None,
    tries: int = 100,
) -> tuple[Cure, ...]:
    """Smallest sets of joint changes that take all redundancy away, the best first.

    Where closures lock the mechanism, such as a weld where a hinge belongs, that would not help:
    then the cures are the smallest changes of closures that free it.

    They are ranked by the number of idle freedoms, by the number of changes, and by how far the new
    joints are from the old ones; among equals, those that change the last joints come first. Motors
    and coupled joints are not touched. ``regularize.cures`` puts those first that the file which
    the mechanism was read from can hold, where ``regularize.fix`` edits its format.

    Args:
        model: From ``regularize.reduce``.
        limit: Number of proposals.
        keep: Names of joints that must stay as they are.
        idle: Also propose changes that leave a body free to spin about its own line.
        kinds: Kinds of joints that may be proposed, for all joints or for each of some:
            ``cylindrical``, ``universal``, ``spherical``, ``slotted`` (a pin in a slot) and those
            of ``HIGHER_PAIRS``; by default the first three, and a slot only where it is needed.
        tries: Largest number of candidates that are analysed to verify them.

    Returns:
        Verified proposals; empty where nothing is redundant or none was found. Shaky mechanisms
        have none: freedoms enough to take all redundancy away make motions of velocities.
    """
    reduction = as_reduction(model)
    if isinstance(kinds, Mapping):
        kinds = {name: _proposable(each) for name, each in kinds.items()}
    elif kinds is not None:
        kinds = _proposable(kinds)
    if kinds is None and (free := freeing(reduction, limit=limit, keep=keep)):
        return free
    shaky = reduction.finite_mobility != reduction.mobility
    if not reduction.redundant or not reduction.assembly.closed or shaky:
        return ()
    per_cell = []
    stressed = Stressed.of(reduction)
    for cell in reduction.cells:
        if not cell.redundant:
            continue
        candidates: list[tuple[JointChange, ...]] = []
        for allowed in (STANDARD, tuple(COST)) if kinds is None else (kinds,):
            options = _allowed(stressed, cell.edges, set(keep), allowed)
            block, states = stressed.seen(cell.edges, options)
            if states > cell.redundant and not idle:
                return ()  # one freedom for each would be more than what is redundant elsewhere
            small = reduction.tolerances.rank
            seen = [*map(block, options)]
            candidates = _candidates(options, seen, states, idle, 6 * limit, small)
            if candidates:
                break
        if not candidates:
            return ()
        per_cell.append(candidates)
    found: list[Cure] = []
    for changes in islice(_combined(per_cell), tries):
        if changes not in stressed.known:
            stressed.known[changes] = verified(reduction, changes)
        cure = stressed.known[changes]
        if isinstance(cure, Cure):
            found.append(cure)
        if len(found) == limit:
            break
    return tuple(found)


def freeing(
    reduction: Reduction, *, limit: int = 5, keep: Collection[str] = (), tries: int = 20
) -> tuple[Cure, ...]:
    """Smallest changes of closures that free a mechanism which they lock, the best first.

    Args:
        reduction: From ``regularize.reduce``.
        limit: Number of proposals.
        keep: Names of closures that must stay as they are.
        tries: Largest number of candidates that are analysed to verify them.
    """
    found: list[Cure] = []
    for changes in islice(releases(reduction), tries):
        if not {change.joint for change in changes} & set(keep):
            cure = freed(reduction, changes)
            found += [] if cure is None else [cure]
        if len(found) == limit:
            break
    return tuple(found)


@validated(kinds=named(TEXT))
def cure(model: Model, kinds: Mapping[str, str]) -> Cure | NoCure:
    """Verify changes of one's own: the cure that they are, or why they are none.

    Args:
        model: From ``regularize.reduce``.
        kinds: New kind of every joint to change; where there is a choice with the ground direction
            that is meant, at the assembled pose: the axis of a closure that locks the mechanism, as
            in ``revolute:0,1,0``, or a second axis, as in ``universal:0,1,0``. Of several ways the
            first one that is a cure is taken.

    Raises:
        ModelError: A joint cannot be made what it should be.
    """
    reduction = as_reduction(model)
    kinds = {name: in_kinds(words) for name, words in kinds.items()}
    loose = [named_releases(reduction, name, words) for name, words in kinds.items()]
    if all(loose):
        for changes in product(*loose):
            free = freed(reduction, changes)
            if free is not None:
                return free
    stressed = Stressed.of(reduction)
    chosen = [of_kind(stressed, name, kind) for name, kind in kinds.items()]
    refused: Cure | NoCure = NoCure((), "nothing is changed")
    for k, changes in enumerate(_combined([[(option,) for option in each] for each in chosen])):
        result = verified(reduction, changes)
        if isinstance(result, Cure):
            return result
        refused = result if k == 0 else refused
    return refused


def _proposable(kinds: Collection[str]) -> tuple[str, ...]:
    """Kinds by their own names; files that hold free joints and composite ones may say so."""
    return tuple(in_kinds(kind) for kind in kinds if kind_of(kind) not in ("free", "composite"))


def in_kinds(words: str) -> str:
    """``KIND`` or ``KIND:DIRECTION`` with the kind by its own name, whatever the user calls it.

    Raises:
        ModelError: There is no such kind.
    """
    word, colon, more = words.partition(":")
    kind = kind_of(word)
    if kind not in KNOWN:
        raise ModelError(f"joint kind {kind!r} is unknown{did_you_mean(kind, KNOWN, most=20)}")
    return f"{kind}{colon}{more}"


def of_kind(stressed: Stressed, name: str, kind: str) -> list[JointChange]:
    """Every way to make a joint what it should be; raises ``ModelError`` where there is none."""
    joint = stressed.reduction.mechanism.joint(name)
    kind, _, words = kind.partition(":")
    edges = [e.index for e in stressed.reduction.graph.edges if e.joint.name == name]
    options = stressed.options(edges, set(), (kind,), motors=True)
    if not options:
        every = stressed.options(edges, set(), (*COST, *COST_OF_PAIRS), motors=True)
        ways = ", ".join(dict.fromkeys(option.after for option in every)) or "nothing else"
        raise ModelError(
            f"joint {name!r} is {joint.kind} and cannot be made {kind}; possible is {ways}"
        )
    if not words:
        return options
    axis = direction_in(name, words)
    along = [
        option
        for option in options
        if option.choice is not None and np.linalg.norm(np.cross(option.choice, axis)) < SLIGHT
    ]
    if not along:
        ways = " or ".join(dict.fromkeys(option.argument for option in options))
        raise ModelError(f"joint {name!r} cannot be made {kind} along {words}; possible is {ways}")
    return along


def _allowed(
    stressed: Stressed,
    edges: Sequence[EdgeId],
    keep: set[str],
    kinds: Collection[str] | Mapping[str, Collection[str]],
) -> list[JointChange]:
    """Every change of the kinds that are allowed, for all joints alike or for each."""
    if not isinstance(kinds, Mapping):
        return stressed.options(edges, keep, kinds)
    named = [(e, stressed.reduction.graph.edges[e].joint.name) for e in edges]
    return [
        option
        for e, name in named
        if name not in keep
        for option in stressed.of_joint(e, kinds.get(name, ()))
    ]


def _combined(
    per_cell: Sequence[Sequence[tuple[JointChange, ...]]],
) -> Iterator[tuple[JointChange, ...]]:
    """One candidate per cell; the best together, then one cell varied at a time."""
    best = [candidates[0] for candidates in per_cell]
    yield tuple(change for candidate in best for change in candidate)
    for rank in range(1, max(len(candidates) for candidates in per_cell)):
        for i, candidates in enumerate(per_cell):
            if rank < len(candidates):
                mixed = [*best[:i], candidates[rank], *best[i + 1 :]]
                yield tuple(change for candidate in mixed for change in candidate)


def _candidates(
    options: Sequence[JointChange],
    blocks: Sequence[Array],
    redundant: int,
    idle: bool,
    wanted: int,
    small: float,
) -> list[tuple[JointChange, ...]]:
    """Sets of changes of full rank on the self-stress of one cell, the best first."""
    by_joint: dict[str, list[int]] = {}
    for i, option in enumerate(options):
        if np.linalg.matrix_rank(blocks[i], tol=small) >= option.gain - int(idle):
            by_joint.setdefault(option.joint, []).append(i)
    # The last joints first: they close the loops, while the first ones tend to be driven.
    joints = list(reversed(by_joint))
    most = max((options[i].gain for ids in by_joint.values() for i in ids), default=0)
    if most == 0:
        return []
    found: list[tuple[tuple[int, int, int], tuple[int, ...]]] = []
    budget = NODES

    def extend(start: int, chosen: tuple[int, ...], left: int, spare: int, space: Array) -> None:
        nonlocal budget
        need = redundant - space.shape[1]
        if left == 0:
            if need == 0:
                gained = sum(options[i].gain for i in chosen) - redundant
                found.append(((gained, len(chosen), sum(options[i].cost for i in chosen)), chosen))
            return
        if need > left * most or need <= 0:
            return
        for j in range(start, len(joints) - left + 1):
            for i in by_joint[joints[j]]:
                if budget == 0:
                    return
                budget -= 1
                rest = blocks[i] - space @ (space.T @ blocks[i])
                u, s, _ = np.linalg.svd(rest, full_matrices=False)
                new = u[:, s > small]
                wasted = options[i].gain - new.shape[1]
                if wasted <= spare and new.shape[1]:
                    extend(j + 1, (*chosen, i), left - 1, spare - wasted, np.hstack([space, new]))

    for size in range(-(-redundant // most), len(joints) + 1):
        extend(0, (), size, int(idle), np.zeros((redundant, 0)))
        if len(found) >= wanted or budget == 0:
            break
    found.sort(key=lambda entry: entry[0])
    return [tuple(options[i] for i in chosen) for _, chosen in found]
