"""Changes of joint types that make a mechanism isostatic without adding mobility, each verified."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping, Sequence
from itertools import islice, product

import numpy as np

from regularize.errors import ModelError
from regularize.escape import did_you_mean
from regularize.mechanism.joint_kinds import HIGHER_PAIRS, KINDS, kind_of
from regularize.mechanism.mechanism import Model
from regularize.reduction.reduce import Reduction, as_reduction
from regularize.repair.statics.cure import Cure, NoCure, freed, verified
from regularize.repair.statics.joint_changes import (
    CLEARANCE,
    COST,
    COST_OF_PAIRS,
    STANDARD,
    JointChange,
    direction_in,
)
from regularize.repair.statics.releases import named_releases, releases
from regularize.repair.statics.stress_search import MechanismStress, complete_sets
from regularize.validation import FLAG, NAMES, TEXT, WHOLE, named, validated
from regularize.words import SLIGHT

#: Candidates that are analysed where an answer is wanted at once.
TRIES = 12
#: Kinds that a user can ask for.
PARTS = (kind for kind in KINDS if kind not in ("free", "composite"))
KNOWN = (*PARTS, "slotted", CLEARANCE, *HIGHER_PAIRS)


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
        kinds = {name: _proposable(wanted) for name, wanted in kinds.items()}
    elif kinds is not None:
        kinds = _proposable(kinds)
    elif free := freeing(reduction, limit=limit, keep=keep):
        return free
    shaky = reduction.finite_mobility != reduction.mobility
    cells = reduction.curable
    if not cells or not reduction.assembly.closed or shaky:
        return ()
    whole, per_cell = MechanismStress.of(reduction), []
    for cell in cells:
        stress, candidates = whole.cell(cell), list[tuple[JointChange, ...]]()
        if stress.count > cell.redundant and not idle:
            return ()  # one freedom for each would be more than what is redundant elsewhere
        for allowed in (STANDARD, tuple(COST)) if kinds is None else (kinds,):
            every = whole.changes(cell.edges, allowed)
            options = [option for option in every if option.joint not in keep]
            candidates = candidates or complete_sets(stress, options, idle, 6 * limit)
        if not candidates:
            return ()
        per_cell.append(candidates)
    found: list[Cure] = []
    for changes in islice(_combined(per_cell), tries):
        if changes not in whole.verified:
            whole.verified[changes] = verified(reduction, changes)
        cure = whole.verified[changes]
        found += [cure] if isinstance(cure, Cure) else []
        if len(found) == limit:
            break
    return tuple(found)


def freeing(
    reduction: Reduction, *, limit: int = 5, keep: Collection[str] = (), tries: int = 20
) -> tuple[Cure, ...]:
    """Find smallest changes of closures that free a mechanism which they lock, the best first."""
    found: list[Cure] = []
    for changes in islice(releases(reduction), tries):
        if not {change.joint for change in changes} & set(keep):
            cure = freed(reduction, changes)
            found += [cure] if cure else []
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
    for changes in product(*loose):
        free = freed(reduction, changes) if changes else None
        if free is not None:
            return free
    chosen = [changes_to(reduction, name, kind) for name, kind in kinds.items()]
    refused = NoCure((), "nothing is changed")
    for k, changes in enumerate(_combined([[(option,) for option in ways] for ways in chosen])):
        result = verified(reduction, changes)
        if isinstance(result, Cure):
            return result
        refused = result if k == 0 else refused
    return refused


def _proposable(kinds: Collection[str]) -> tuple[str, ...]:
    """Return the named kinds without free and composite joints, by their own names."""
    return tuple(in_kinds(kind) for kind in kinds if kind_of(kind) not in ("free", "composite"))


def in_kinds(words: str) -> str:
    """Return ``KIND`` or ``KIND:DIRECTION`` with the kind's own name; raises ``ModelError``."""
    word, colon, direction = words.partition(":")
    kind = kind_of(word)
    if kind not in KNOWN:
        raise ModelError(f"joint kind {kind!r} is unknown{did_you_mean(kind, KNOWN, most=20)}")
    return f"{kind}{colon}{direction}"


def changes_to(reduction: Reduction, name: str, words: str) -> list[JointChange]:
    """List the ways to give a joint another kind; raises ``ModelError`` where there is none."""
    stress, joint = MechanismStress.of(reduction), reduction.mechanism.joint(name)
    kind, _, direction = words.partition(":")
    edges = [e.index for e in reduction.graph.edges if e.joint.name == name]
    options = stress.changes(edges, (kind,), motors=True, arranged=True)
    if not options:
        every = stress.changes(edges, (*COST, *COST_OF_PAIRS), motors=True, arranged=True)
        ways = ", ".join(dict.fromkeys(option.after for option in every)) or "nothing else"
        raise ModelError(
            f"joint {name!r} is {joint.kind} and cannot be made {kind}; possible is {ways}"
        )
    if not direction:
        return options
    axis = direction_in(name, direction)
    along = [
        option
        for option in options
        if option.choice is not None and np.linalg.norm(np.cross(option.choice, axis)) < SLIGHT
    ]
    if not along:
        ways = " or ".join(dict.fromkeys(option.argument for option in options))
        raise ModelError(
            f"joint {name!r} cannot be made {kind} along {direction}; possible is {ways}"
        )
    return along


def _combined(
    per_cell: Sequence[Sequence[tuple[JointChange, ...]]],
) -> Iterator[tuple[JointChange, ...]]:
    """Combine candidates of all components: the best of each, then one component varied."""
    best = [candidates[0] for candidates in per_cell]
    yield tuple(change for candidate in best for change in candidate)
    for rank in range(1, max(map(len, per_cell), default=0)):
        for i, candidates in enumerate(per_cell):
            if rank < len(candidates):
                mixed = [*best[:i], candidates[rank], *best[i + 1 :]]
                yield tuple(change for candidate in mixed for change in candidate)
