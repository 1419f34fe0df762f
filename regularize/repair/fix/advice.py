"""Advice: which joints to change first, and what the user's own file can hold, which is tried."""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import replace
from typing import Any

from regularize.adapters import adapter_named
from regularize.adapters.common.patching import Patcher
from regularize.errors import RegularizeError
from regularize.mechanism.mechanism import Mechanism, Model
from regularize.reduction.reduce import Reduction, as_reduction
from regularize.repair.fix.proposals import Advice, proposals, ranked
from regularize.repair.fix.reading import reading_words
from regularize.repair.statics import cures as statics
from regularize.repair.statics.cure import Cure

#: Entries of a list of advice.
MOST = 5
#: Changed files that are written elsewhere, read and analysed; of models of so many equations one,
#: and of larger ones none.
FILES, LARGE, LARGEST = 3, 100, 3000


def advise(
    reduction: Reduction, known: Sequence[Cure] = (), *, engine: bool = False
) -> tuple[Advice, ...]:
    """Propose at most five ways to change joints, the best first; cures that free come first.

    Whether the model's own file can hold a way is tried on its text in memory, and with ``engine``
    on a temporary file that the format's own program reads too.
    """
    if not reduction.assembly.closed or not (reduction.redundant or known):
        return ()
    held = held_kinds(reduction.mechanism)
    free = [cure for cure in known if cure.freed]
    entries = [_freed(cure) for cure in free[:MOST]]
    if not entries:
        entries = ranked(reduction, proposals(reduction, known, held), held)
    found: list[Advice] = []
    trials = FILES if sum(cell.equations for cell in reduction.cells) < LARGE else 1
    holdable = [all(c.after in held.get(c.joint, ()) for c in entry.changes) for entry in entries]
    small = any(holdable) and not untried_files(reduction)
    in_file = _trial(reduction, engine) if small else None
    for entry, may in zip(entries, holdable, strict=True):
        if not may or in_file is None:
            found.append(entry)
        elif trials:  # of those beyond the trials, nobody knows whether the file can hold them
            found.append(in_file(entry))
            trials -= 1
    first = next((i for i, entry in enumerate(found) if entry.in_file), 0)
    last = [found.pop(first)] if first >= MOST else []
    return (*found[: MOST - len(last)], *last)


def _trial(reduction: Reduction, engine: bool) -> Callable[[Advice], Advice]:
    """Return a function that tries an entry on the model's file and marks it if it holds."""
    # What edits files is loaded where one is tried.
    from regularize.repair.fix.fix import IN_MEMORY, trial_file, tried

    model = tuple(reading_words(reduction.mechanism))
    try:
        patcher, options = trial_file(reduction.mechanism)
    except RegularizeError:  # the file is another one by now
        return lambda entry: entry

    def in_file(entry: Advice) -> Advice:
        try:
            tried(patcher, options, entry, engine=engine)
        except RegularizeError:
            return entry
        analysed = engine or patcher.mechanism.format in IN_MEMORY
        return replace(entry, in_file=True, model=model, verified=entry.verified or analysed)

    return in_file


def untried_files(reduction: Reduction) -> bool:
    """Whether a model is so large that no changed file of it is tried."""
    return sum(cell.equations for cell in reduction.cells) > LARGEST


def _freed(cure: Cure) -> Advice:
    """Return a cure of a locked mechanism as advice."""
    left = cure.reduction.redundant
    removes = cure.written.redundant - left
    return Advice(cure.changes, removes, left, cure.mobility, False, cure.written)


def cures(
    model: Model,
    *,
    limit: int = 5,
    keep: Collection[str] = (),
    idle: bool = False,
    kinds: Collection[str] | Mapping[str, Collection[str]] | None = None,
    tries: int = 100,
) -> tuple[Cure, ...]:
    """Propose smallest sets of joint changes that take all redundancy away; see ``statics.cures``.

    Those come first that the file of the mechanism can hold.
    """
    options: dict[str, Any] = {"keep": keep, "idle": idle, "tries": tries}
    reduction = as_reduction(model)
    found = statics.cures(reduction, limit=limit, kinds=kinds, **options)
    held = held_kinds(reduction.mechanism) if found and kinds is None else {}
    if not any(held.values()) or any(cure.freed for cure in found):
        return found

    def foreign(cure: Cure) -> bool:
        return any(change.after not in held[change.joint] for change in cure.changes)

    if all(map(foreign, found)):
        found = statics.cures(reduction, limit=limit, kinds=held, **options) + found
    return tuple(sorted(found, key=foreign)[:limit])


def held_kinds(mechanism: Mechanism) -> dict[str, Collection[str]]:
    """Return the kinds that the file of a mechanism can hold for each joint, or nothing."""
    try:
        patcher = _patcher(mechanism)
        return {} if patcher is None else {j.name: patcher.kinds(j) for j in mechanism.joints}
    except RegularizeError:  # the file is another one by now, or its package is not installed
        return {}


def _patcher(mechanism: Mechanism) -> Patcher | None:
    """Return the patcher for the file of a mechanism, if there is a file and a patcher."""
    adapter = adapter_named(mechanism.format)
    if mechanism.path is None or adapter is None or not adapter.installed:
        return None
    made = adapter.load_patcher()
    return None if made is None else made(mechanism)
