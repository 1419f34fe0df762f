"""What to change in the user's own file, tried there: joints, and equations that can go."""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import Any, NamedTuple

from regularize.adapters import adapter_named, adapters, read
from regularize.adapters.common.edits import WantedSlack
from regularize.adapters.common.input_files import read_bytes
from regularize.adapters.common.patching import Patcher
from regularize.adapters.common.write import spanning
from regularize.errors import ModelError, RegularizeError
from regularize.escape import displayed
from regularize.mechanism.diagnostic import Diagnostic
from regularize.mechanism.mechanism import Mechanism, Model
from regularize.reduction.reduce import Reduction, as_reduction, reduce
from regularize.repair.engines.table import engine_for
from regularize.repair.fix.moved import hold_in
from regularize.repair.fix.proposals import Advice, designed, equations_of, proposals, ranked
from regularize.repair.nominal.other_lengths import with_other_lengths
from regularize.repair.nominal.reading import as_written
from regularize.repair.statics import cures as statics
from regularize.repair.statics.cure import Cure
from regularize.repair.statics.isostatic import Isostatic, isostatic
from regularize.repair.statics.joint_changes import CLEARANCE
from regularize.repair.statics.lack_of_fit import LackOfFit
from regularize.words import LISTED, pasted


def reading_words(mechanism: Mechanism) -> list[str] | None:
    """Return command-line arguments that read a mechanism's file as it was read; None without."""
    if mechanism.path is None or adapter_named(mechanism.format) is None:
        return None
    tries: list[tuple[list[str], dict[str, Any]]] = [([], {})]
    if mechanism.format in ("urdf", "xacro"):
        tries.append((["--floating"], {"floating": True}))
        for file in mechanism.files[:1]:
            tries += [(["--loops", file, *words], {"loops": file} | o) for words, o in tries]
    for arguments, options in tries:
        try:
            again = read(mechanism.path, **options)
        except RegularizeError:  # the file is another one by now
            continue
        if _stated(again) == _stated(as_written(mechanism)):
            return [mechanism.path, *arguments]
    return None


def _stated(mechanism: Mechanism) -> list[list[object]]:
    """Return names, ends, frames and coordinates of all joints, to compare them."""
    joints = [(j, (j.T_parent_joint, j.T_child_joint, j.position)) for j in mechanism.joints]
    return [[j.name, j.kind, j.parent, j.child, *(T.tolist() for T in own)] for j, own in joints]


#: Entries of a list of advice.
MOST = 5
#: Joint changes that take all redundancy away are looked for in models of at most so many redundant
#: equations and joints, for the number of combinations grows fast; so many are proposed.
MOST_REDUNDANT, MOST_JOINTS, CURES = LISTED, 30, 3
#: Changed files that are written elsewhere, read and analysed; of models of so many equations one,
#: and of larger ones none.
FILES, LARGE, LARGEST = 3, 100, 3000


def verified_cures(reduction: Reduction) -> tuple[Cure, ...]:
    """Find joint changes after which nothing is redundant, or that free a locked mechanism."""
    few = reduction.redundant <= MOST_REDUNDANT and len(reduction.graph.edges) <= MOST_JOINTS
    search = statics.cures if few else statics.freeing
    return search(reduction, limit=CURES, tries=statics.TRIES)


def numbered(mechanism: Mechanism, advice: int | str, engine: str | None = None) -> Cure:
    """Return the joint changes of an entry of advice, by its number or by number and hash."""
    number, _, key = str(advice).partition("@")
    # With tolerances a report has another order, and other entries among the first.
    reduction, entries = advised(mechanism, engine, 1000 if key else MOST)
    found = [e for e in entries if (e.key == key if key else str(e.number) == number)]
    if not found:
        listed = "; ".join(f"{entry.id}: {entry.words}" for entry in entries) or "there is none"
        why = "the model was changed since, or read otherwise" if key else f"no number {number}"
        raise ModelError(f"advice {advice}: {why}; `regularize check` gives {listed}")
    return Cure(found[0].changes, found[0].mobility, (), reduction)


def advised(
    mechanism: Mechanism, engine: str | None, most: int = MOST
) -> tuple[Reduction, tuple[Advice, ...]]:
    """Return the reduction of a model, and the advice on it."""
    reduction = with_other_lengths(reduce(mechanism))
    return reduction, advise(reduction, verified_cures(reduction), most=most, engine=engine)


def _with_ids(mechanism: Mechanism, entries: Iterable[Advice]) -> tuple[Advice, ...]:
    """Number entries from 1, with four digits of a hash of the model's files and the changes."""
    files = hashlib.sha256()
    for path in filter(None, (mechanism.path, *mechanism.files)):
        with suppress(RegularizeError):  # the file is gone by now
            files.update(read_bytes(path))
    result = []
    for number, entry in enumerate(entries, start=1):
        digest = files.copy()
        digest.update(" ".join(entry.arguments).encode("utf-8", "surrogatepass"))
        result.append(replace(entry, number=number, key=digest.hexdigest()[:4]))
    return tuple(result)


def advise(
    reduction: Reduction,
    known: Sequence[Cure] = (),
    *,
    by_program: bool = False,
    engine: str | None = None,
    fit: LackOfFit | None = None,
    most: int = MOST,
) -> tuple[Advice, ...]:
    """Propose at most so many sets of joint changes, tried on the file's text, the best first."""
    if not reduction.assembly.closed or not (reduction.redundant or known):
        return ()
    held = held_kinds(reduction.mechanism, engine)
    free = [cure for cure in known if cure.freed]
    entries = [
        Advice(c.changes, r.redundant - left, left, c.mobility, False, r)
        for c in free[:MOST]
        for r, left in [(c.written, c.reduction.redundant)]
    ]
    if not entries:
        entries = ranked(reduction, proposals(reduction, known, held), held, fit)
    if engine is not None and (holder := engine_for(reduction.mechanism.format, engine)):
        for entry in tuple(entries):
            after = ((reduction.mechanism.joint(c.joint), c.after) for c in entry.changes)
            if not all(holder.held(joint, [kind]) for joint, kind in after):
                entries.remove(entry)
    found: list[Advice] = []
    trials = FILES if equations_of(reduction.cells) < LARGE else 1
    holdable = [all(c.after in held.get(c.joint, ()) for c in entry.changes) for entry in entries]
    small = any(holdable) and not untried_files(reduction)
    in_file = _trial(reduction, by_program) if small else None
    for entry, holds in zip(entries, holdable, strict=True):
        if not holds or in_file is None:
            found.append(entry)
        elif trials:  # of those beyond the trials, nobody knows whether the file can hold them
            found.append(in_file(entry))
            trials -= 1
    if in_file is not None and not free and not any(entry.in_file for entry in found):
        # What `fix` does by itself, which lets joints with limits be.
        limited = {j.name for j in reduction.mechanism.joints if j.limits is not None}
        search = partial(statics.cures, limit=1, kinds=held, tries=statics.TRIES)
        for cure in search(reduction, keep=limited):
            whole = reduction.redundant, 0, cure.mobility  # goes, stays, and moves then
            entry = in_file(Advice(cure.changes, *whole, False, reduction))
            found = [*[entry] * entry.in_file, *found]
    first = next((i for i, entry in enumerate(found) if entry.in_file), 0)
    last = [found.pop(first)] if first >= most else []
    listed = (*found[: most - len(last)], *last)
    return _with_ids(reduction.mechanism, (replace(entry, engine=engine) for entry in listed))


def unheld_closures(mechanism: Mechanism, engine: str | None) -> Iterator[Diagnostic]:
    """Say which joints close loops in a way that an engine that is named does not hold."""
    holder = None if engine is None else engine_for(mechanism.format, engine)
    if holder is None or not holder.articulated:
        return
    for joint in spanning(mechanism).closures:
        if joint.kind not in holder.loops:
            words = f"{holder.title} holds no {joint.kind} joint that closes a loop: `{joint.name}`"
            help = f"`regularize export MODEL --to usd --for {holder.name}` closes it elsewhere"
            yield Diagnostic("REG348", "note", words, None, (joint.name,), joint.source, (help,))


def _trial(reduction: Reduction, by_program: bool) -> Callable[[Advice], Advice]:
    """Return a function that tries an entry of advice on the model's file."""
    # What edits files is loaded where one is tried.
    from regularize.repair.fix.trial import IN_MEMORY, trial_file, tried

    mechanism = reduction.mechanism
    arguments = reading_words(mechanism) if mechanism.format in ("urdf", "xacro") else None
    model = tuple(arguments or [mechanism.path or "MODEL"])
    try:
        patcher, options = trial_file(mechanism)
    except RegularizeError:  # the file is another one by now
        return lambda entry: entry

    def in_file(entry: Advice) -> Advice:
        """Return the entry, marked ``in_file`` if the edited file reads back as planned."""
        try:
            tried(patcher, options, entry, by_program=by_program)
        except RegularizeError:
            return entry
        analysed = by_program or patcher.mechanism.format in IN_MEMORY
        return replace(entry, in_file=True, model=model, verified=entry.verified or analysed)

    return in_file


def untried_files(reduction: Reduction) -> bool:
    """Say whether a model has so many equations that no changed file of it is tried."""
    return equations_of(reduction.cells) > LARGEST


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
    chosen = statics.cures(reduction, limit=limit, kinds=kinds, **options)
    held = held_kinds(reduction.mechanism) if chosen and kinds is None else {}
    if not any(held.values()) or any(cure.freed for cure in chosen):
        return chosen

    def foreign(cure: Cure) -> bool:
        """Say whether the model's file cannot hold one of the new kinds."""
        return any(change.after not in held[change.joint] for change in cure.changes)

    if all(map(foreign, chosen)):
        chosen = statics.cures(reduction, limit=limit, kinds=held, **options) + chosen
    return tuple(sorted(chosen, key=foreign)[:limit])


def held_kinds(mechanism: Mechanism, engine: str | None = None) -> dict[str, Collection[str]]:
    """Return by joint the kinds that the mechanism's file, and its engine, hold; empty without."""
    adapter = adapter_named(mechanism.format)
    if mechanism.path is None or adapter is None or not adapter.installed:
        return {}
    try:
        if (make := adapter.load_patcher()) is None:
            return {}
        patcher: Patcher = make(mechanism)
        hold_in(patcher, engine_for(mechanism.format, engine))
        return {
            joint.name: (*patcher.possible(joint), *[CLEARANCE] * patcher.removable(joint))
            for joint in mechanism.joints
        }
    except RegularizeError:  # the file is another one by now, or its package is not installed
        return {}


#: Closure equations up to which a model is written to see whether it can be: seconds beyond. Those
#: that dimensions make redundant are looked for at many places, which takes longer.
EQUATIONS, SPECIAL = 150, 24
#: Of formats that are dialects of others.
SUFFIXES = {"urdf+": ".urdf", "mjcf": ".xml", "drake": ".xml"}


@dataclass(frozen=True)
class TriedReduction:
    """Result of trying to drop redundant equations of a model."""

    #: What does it, with exit status 0; empty where nothing does, or was tried.
    command: str = ""
    #: Warnings of what the new file does not hold, or what is not proved.
    lost: int = 0
    #: Equations that go.
    dropped: int = 0
    #: Why it cannot be done; empty where it can, and where it was not tried.
    reason: str = ""


class Trials(NamedTuple):
    """Results of trying all proposals of a report on copies of the model's file."""

    advice: tuple[Advice, ...]
    #: Dropping the equations that are proved redundant.
    proved: TriedReduction
    #: Dropping more on numerical evidence.
    numerical: TriedReduction
    #: Taking out of the file what other joints of it say.
    taken_out: TriedReduction


def tried_all(
    reduction: Reduction,
    verified_cures: Sequence[Cure],
    fit: LackOfFit | None = None,
    engine: str | None = None,
) -> Trials:
    """Try joint changes and reductions, so that a report prints no command that refuses."""
    r = reduction
    # Larger ones would take longer than a reader waits.
    most = SPECIAL if r.remaining else EQUATIONS
    small = not r.numerical and equations_of(r.cells) <= most
    undecided = r.remaining > 0 and r.assembly.closed and bool(r.followed)
    return Trials(
        advise(r, verified_cures, by_program=True, engine=engine, fit=fit),
        tried_reduction(r) if small and r.removed else TriedReduction(),
        tried_numerically(r) if small and undecided else TriedReduction(),
        tried_without(r) if small and r.idle_rows else TriedReduction(),
    )


def written_as(mechanism: Mechanism) -> str:
    """Return the format to write a model in: its own where that can be written, else JSON."""
    name = mechanism.format
    if name == "urdf" and not mechanism.files and any(j.closure for j in mechanism.joints):
        return "urdf+"
    adapter = adapter_named(name)
    return name if adapter is not None and adapter.writer is not None else "json"


def file_name(mechanism: Mechanism, format: str) -> str:
    """Return the file name of a model in a format: its stem with the format's suffix."""
    stem = Path(mechanism.path).stem if mechanism.path else mechanism.name.replace("/", "_")
    suffix = SUFFIXES.get(format) or (adapter_named(format) or adapters()[format]).suffixes[0]
    return f"{stem or 'model'}{suffix}"


def isostatic_in(model: Model, format: str, seed: int = 0) -> Isostatic:
    """Return the isostatic form of a model by closures that the format can write."""
    adapter = adapter_named(format)
    coupled = None if adapter is None else adapter.coupled
    return isostatic(model, seed=seed, points=format == "mjcf", coupled=coupled)


def write_isostatic(
    report: Isostatic,
    path: Path,
    format: str,
    engine: str | None = None,
    beside: Mapping[Path, str] | None = None,
) -> tuple[Diagnostic, ...]:
    """Write an isostatic model, moved if an engine is named; return findings on what is lost."""
    from regularize.repair.engines.trial import mover
    from regularize.repair.verification.writing import write_verified  # few reports write

    model, moved = report.mechanism, None
    if engine:
        model, moved = mover(report.result, model, format, engine, report.reduction.mechanism)
    how: dict[str, Any] = {"reduction": report.result, "moved": moved, "beside": beside}
    losses = write_verified(model, path, format, **how)
    return (*report.findings, *losses)


def tried_reduction(reduction: Reduction) -> TriedReduction:
    """Write the isostatic model into a temporary folder, as ``regularize reduce`` would."""
    mechanism, arguments = reduction.mechanism, reading_words(reduction.mechanism)
    if arguments is None:
        return TriedReduction()
    format = written_as(mechanism)
    try:
        report = isostatic_in(reduction, format)
        findings, after = report.findings, report.result
        is_better = after.redundant < reduction.redundant
        is_better &= after.finite_mobility == reduction.finite_mobility
        if is_better and not any(each.severity == "error" for each in findings):
            import tempfile  # and here

            with tempfile.TemporaryDirectory(prefix="regularize-") as folder:
                path = Path(folder) / file_name(mechanism, format)
                findings = write_isostatic(report, path, format)
    except RegularizeError as error:
        return TriedReduction(reason=str(error))
    errors = [each.message for each in findings if each.severity == "error"]
    if errors or not is_better:
        return TriedReduction(reason=(*errors, "it would be no better")[0])
    lost = sum(each.severity == "warning" for each in findings)
    command = pasted(["regularize", "reduce", *arguments, "-o", "reduced/"])
    dropped = reduction.redundant - after.redundant
    return TriedReduction(f"{command} --fail-on error" if lost else command, lost, dropped)


def tried_without(reduction: Reduction) -> TriedReduction:
    """Take idle joints and superfluous mates out of a copy of the file, as ``fix`` would."""
    # What edits files is loaded where one is tried.
    from regularize.repair.fix.changed_files import Placing, read_changed
    from regularize.repair.fix.superfluous import without_idle
    from regularize.repair.fix.trial import trial_file

    mechanism = reduction.mechanism
    arguments, remove = reading_words(mechanism), ["--remove"] * (not designed(mechanism))
    try:
        patcher, options = trial_file(mechanism)
        smaller, out = without_idle(reduction, patcher, welds=not remove)
        edits = patcher.slack(WantedSlack(removed=out)).edits
        with read_changed(Placing(patcher, edits), options) as after:
            left = reduce(after).redundant
    except RegularizeError as error:
        return TriedReduction(reason=str(error))
    if arguments is None or smaller.redundant or left:
        return TriedReduction(reason="more would change")
    command = pasted(["regularize", "fix", *arguments, "-o", "fixed/", *remove])
    return TriedReduction(command, dropped=len(out))


def tried_numerically(reduction: Reduction) -> TriedReduction:
    """Try whether numerical evidence removes more rows than proofs, and return the command."""
    arguments = reading_words(reduction.mechanism) or []
    model = repr(displayed(arguments[0])) if len(arguments) == 1 else "mechanism"
    after = reduce(reduction.mechanism, rtol=reduction.rtol, seed=reduction.seed, numerical=True)
    if after.remaining >= reduction.remaining:
        return TriedReduction(reason="it would keep as many")
    dropped = reduction.remaining - after.remaining
    return TriedReduction(f"regularize.reduce({model}, numerical=True)", dropped=dropped)
