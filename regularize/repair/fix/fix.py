"""`fix`: the user's own model file with the smallest changes that make it isostatic, or as told."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from os import PathLike, fspath
from pathlib import Path
from typing import Any, Literal

import numpy as np

from regularize.adapters import Adapter, read
from regularize.adapters.common.edits import Edit, MovedJoint, Patch, WantedKind, WantedSlack
from regularize.adapters.common.patching import Patcher
from regularize.adapters.reading import read_object
from regularize.adapters.registry import adapter_of, objects
from regularize.adapters.sniffers import is_text
from regularize.errors import ModelError, RegularizeError, UnsupportedExport
from regularize.lie import screw
from regularize.lie.arrays import Transform
from regularize.lie.screw import IDENTITY
from regularize.mechanism.diagnostic import Diagnostic
from regularize.mechanism.mechanism import Mechanism, Model, as_mechanism, not_taken
from regularize.output_files import write_all
from regularize.reduction.reduce import Reduction, reduce
from regularize.repair.engines.table import engine_for
from regularize.repair.engines.trial import EngineTest, Handed
from regularize.repair.fix.advice import advised, numbered, unheld_closures
from regularize.repair.fix.changed_files import (
    Placing,
    other_counts,
    other_places,
    read_changed,
    unwanted,
)
from regularize.repair.fix.moved import hold_in, moved_there, refuse_unheld, stiffest, trial_of
from regularize.repair.fix.plan import FixPlan, plan
from regularize.repair.fix.trial import loaded, patcher_of, refuse
from regularize.repair.nominal.absorb import Absorbed, absorb_gaps
from regularize.repair.nominal.idealise import Idealised, idealise
from regularize.repair.nominal.reading import as_read, as_written, read_alike
from regularize.repair.statics.cure import Cure
from regularize.repair.statics.cures import TRIES, freeing
from regularize.repair.verification.writing import replaceable
from regularize.validation import FLAG, READING, TEXT, WHOLE, instance, named, validated
from regularize.words import gap_words, names

#: Numbers that are the same but for the last digit.
EXACT = 1e-15


@dataclass(frozen=True, eq=False, repr=False)
class Fix:
    """A model with some joints changed, verified, and not yet written."""

    #: The model file as it was read.
    path: str
    #: The changed model, read again from the changed files, and its analysis below.
    mechanism: Mechanism
    changes: tuple[WantedKind, ...]
    #: What the new kinds cannot hold, and what to know.
    findings: tuple[Diagnostic, ...]
    reduction: Reduction = field(repr=False)
    #: The files and their edits; None for objects that are changed themselves.
    placing: Placing | None = field(repr=False)
    #: Links that are put in and closing joints that are taken out.
    slack: WantedSlack = field(default_factory=WantedSlack, repr=False)
    #: By how many metres and radians frames of joints are moved to absorb gaps.
    moves: Mapping[str, tuple[float, float]] = field(default_factory=dict)
    #: Where the model is an object in memory: a new one of the same type.
    object: Any = field(default=None, repr=False)
    #: What the engine showed of the model before and after; None where no engine is known.
    tested: EngineTest | None = field(default=None, repr=False)

    def __repr__(self) -> str:
        """One line: the file, how many joints change, what is redundant then."""
        count = len(self.changes)
        return (
            f"<Fix of {Path(self.path).name[-60:]}: {count} joint{'s' * (count != 1)} changed, "
            f"{self.reduction.redundant} redundant, mobility {self.reduction.mobility}>"
        )

    @property
    def engine(self) -> dict[str, Any] | None:
        """What the engine showed, before and after: freedoms, motors, largest gap in metres."""
        return None if self.tested is None else self.tested.as_dict()

    @property
    def diff(self) -> str:
        """Unified difference of the texts that change; empty where there is nothing to do."""
        if self.placing is None:
            changed = (f"{w.joint.name}: {w.joint.kind} becomes {w.kind}\n" for w in self.changes)
            return "".join(changed)
        return self.placing.diff().replace(self.placing.main, self.path)

    def write(self, path: str | PathLike[str]) -> Path:
        """Write the model: in its own place only what changes, elsewhere what belongs to it too.

        Args:
            path: The file; or a folder, for a file of the same name in it. A folder as the source
                gives a folder.

        Returns:
            The file or folder written.

        Raises:
            RegularizeError: A file cannot be written, or was changed since it was read.
        """
        if self.placing is None:
            raise ModelError(f"{self.path} is an object, which stands in no file: take `.object`")
        destination = Path(path)
        folder = Path(self.path).is_dir()
        inside = folder or destination.is_dir() or fspath(path).endswith("/")
        target = destination / Path(self.placing.main).name if inside else destination
        files = self.placing.files(target)
        unchanged = self.placing.patcher.unchanged() if self.object is None else {}
        places = {replaceable(place): data for place, data in files.items()}
        try:
            target.parent.mkdir(parents=True, exist_ok=True)
        except OSError as error:
            raise RegularizeError(
                f"{target}: cannot be written: {target.parent} is no folder; name another place"
            ) from error
        write_all(places, {replaceable(place): data for place, data in unchanged.items()})
        return destination if folder else target


@validated(
    joints=named(TEXT) | instance(Cure),
    absorb_gaps=FLAG,
    as_designed=FLAG,
    remove=FLAG,
    slack=FLAG,
    as_is=FLAG,
    engine=TEXT,
    advice=WHOLE | TEXT,
    reading=READING,
)
def fix(
    source: Model,
    joints: Mapping[str, str] | Cure | None = None,
    absorb_gaps: bool = False,
    as_designed: bool = False,
    *,
    remove: bool = False,
    slack: bool = False,
    as_is: bool = False,
    engine: str | None = None,
    advice: int | str | None = None,
    reading: Literal["written", "meant", "designed"] = "meant",
    **options: Any,
) -> Fix:
    """Change joints in the user's own model files, and nothing else in them.

    Args:
        source: A model file or its folder, or a mechanism that was loaded from one; or an object
            that ``load`` takes, but for what has been compiled: ``fix(source).object`` is then a
            new one of the same type.
        joints: New kind of each joint to change, as in ``{"C": "spherical"}``, or a cure; None for
            the smallest changes after which nothing is redundant and the motion is the same.
        absorb_gaps: Also close loops that contradict themselves in redundant directions, by the
            least change of the joint frames that the file can hold.
        as_designed: Write the places and axes of the nearest mechanism that moves more freely, see
            ``idealise``, and change no kinds.
        remove: Let closing joints be taken out that others make superfluous.
        slack: Let links be put in where other kinds of joints do not suffice.
        as_is: Leave the softness of an MJCF's loops alone; by default it changes where loops would
            open wider, which is measured in MuJoCo.
        engine: Whose kinds of joints are taken, and where the model is moved before it counts:
            ``mujoco``, ``mjlab``, ``newton``, ``kamino``, ``steel``, ``drake``, ``pinocchio``,
            ``gazebo``, ``isaac``; by default the first one of the format that is installed.
        advice: Do this entry of ``check(source).advice`` instead: its number, or its ``id``, such
            as ``"1@3fa2"``, which is refused where the file was changed since.
        reading: ``written`` takes the numbers of a file literally; ``designed``: ``as_designed``.
        options: Of the reader, such as ``loops``; ``format``.

    Raises:
        ModelError: A joint cannot become what it should, the changed files do not read as meant or
            move otherwise in their engine, or there is no such advice.
        UnsupportedExport: The file cannot hold what would be needed.
        NotTaken: It is nothing that can be a model.
    """
    source = getattr(source, "mechanism", source)
    as_designed = as_designed or reading == "designed"
    more = {"absorb_gaps": absorb_gaps, "as_designed": as_designed, "slack": slack}
    if advice is not None:
        if joints is not None or remove or any(more.values()):
            raise ModelError("advice says what changes: leave joints and other changes out")
        if isinstance(source, PathLike) or (isinstance(source, str) and not is_text(source)):
            joints = numbered(as_read(read(source, **options), reading), advice, engine)
        else:
            joints = numbered(as_mechanism(source), advice, engine)
    if not isinstance(source, (Mechanism, PathLike, str)) or is_text(source):
        adapter = adapter_of(source)
        if adapter is None:
            raise not_taken(source, objects())
        if adapter.load_document() is None:
            return _changed_object(source, adapter, joints, any(more.values()), engine, options)
        again = partial(
            fix, joints=joints, remove=remove, as_is=as_is, engine=engine, reading=reading, **more
        )
        return _changed_document(source, adapter, again, options)
    before, label, options = loaded(source, options, reading)
    written = as_written(before)
    before = written if as_designed or absorb_gaps else before
    patcher, holder = patcher_of(written, joints), engine_for(before.format, engine)
    hold_in(patcher, holder)
    absorbed = closed_in_file(before, patcher) if absorb_gaps else Absorbed(before)
    before, written = absorbed.mechanism, absorbed.mechanism if absorbed.moves else written
    if as_designed:
        if joints is not None or absorb_gaps:
            raise ModelError("places and kinds are changed one after the other: call fix twice")
        design = idealise(before)
        wanted = designed_places(before, design) if design.changed else ()
        planned = FixPlan(design.reduction, wanted, False, design.findings, placed=True)
        moved = [MovedJoint(change.joint, change.replacement) for change in wanted]
        patch, trial = Patch(patcher.moved(moved)), trial_of(patcher, holder, wanted)
    else:
        planned = plan(before, patcher, joints, remove=remove, slack=slack).in_file(before, written)
        wanted = planned.wanted
        refuse_unheld(holder, patcher, wanted)
        trial = trial_of(patcher, holder, wanted, planned.slack, absorbed.moves)
        patch = patcher.patch(wanted) if as_is else stiffest(patcher, trial, before, wanted)
    if planned.slack is not None:
        slack_patch = patcher.slack(planned.slack)
        patch = Patch(patch.edits + slack_patch.edits, patch.findings + slack_patch.findings)
    patch.edits += moving_edits(patcher, absorbed, patch.edits)
    placing = Placing(patcher, patch.edits)
    after, reduction, tested = before, planned.reduction, None
    first = design.written if as_designed else planned.reduction  # engines see either
    if patch.edits:
        after, reduction = _verified(placing, before, written, planned, options)
        least, most = (reduction.mobility - each.mobility for each in (planned.reduction, first))
        try:
            tested = moved_there(trial, placing, after, range(least, most + 1), as_is)
        except ModelError as error:
            others = remove or slack or as_designed or absorb_gaps or isinstance(joints, Cure)
            if holder is None or (others and advice is None):
                raise
            again = partial(fix, source, as_is=as_is, engine=engine, reading=reading, **options)
            return _otherwise(error, before, holder.name, again, joints is None)
    findings = (
        *(finding for finding in before.findings if finding.unread),
        *planned.findings,
        *patch.findings,
        *absorbed.findings(),
        *_locked(reduction, planned),
    )
    links, moves = planned.slack or WantedSlack(), absorbed.moves
    return Fix(label, after, wanted, findings, reduction, placing, links, moves, tested=tested)


def _otherwise(
    error: ModelError, before: Mechanism, engine: str, again: partial[Fix], free: bool
) -> Fix:
    """Return the first of the advice that an engine holds; named in the error if not ``free``."""
    reduction, entries = advised(before, engine)
    for entry in entries:
        try:
            fixed = again(Cure(entry.changes, entry.mobility, (), reduction))
        except RegularizeError:
            continue
        if free and not fixed.reduction.redundant:
            words = f"not the smallest change, which its engine does not hold: {error}"
            note = Diagnostic("REG348", "note", words)
            return replace(fixed, findings=(*fixed.findings, note))
        raise ModelError(
            f"{error}; the nearest that it holds is {entry.words}, with {fixed.reduction.redundant}"
            f" redundant: --advice {entry.number} --for {engine}"
        ) from error
    why = [finding.message for finding in unheld_closures(before, engine)]
    why = why or ["it holds none of what `check` advises either"]
    raise ModelError(f"{error}; {'; '.join(why)}") from error


def _changed_document(
    source: Any, adapter: Adapter, again: partial[Fix], options: dict[str, Any]
) -> Fix:
    """Fix the file that an object in memory was written to, and parse a new object from it."""
    from regularize.adapters.objects import placed as relocated

    document = adapter.load_document()
    assert document is not None
    format = {"format": options.pop("format")} if options.get("format") else {}
    held = document(source, **format)
    with held.written() as path:
        fixed = again(path, **{"format": held.format, **options})
        copy = held.parse(fixed.write(path.with_stem("fixed")))
    again_read = read_alike(read_object(copy, adapter, **format, **options), fixed.mechanism)
    if wrong := other_counts(fixed.reduction, reduce(again_read)):
        raise ModelError(f"{held.label}: the new {adapter.title} is another model: {wrong}")
    findings = tuple(replace(each, source=held.source(each.source)) for each in fixed.findings)
    mechanism = relocated(fixed.mechanism, held.source)
    return replace(fixed, path=held.label, mechanism=mechanism, findings=findings, object=copy)


def _changed_object(
    source: Any,
    adapter: Adapter,
    joints: Mapping[str, str] | Cure | None,
    others: bool,
    engine: str | None,
    options: Mapping[str, Any],
) -> Fix:
    """Return the fix of an object in memory that stands in no file: a changed copy."""
    before, make = read_object(source, adapter, **options), adapter.load_patcher()
    if make is None or others:
        why = "is compiled or finished and" if make is None else "takes other kinds of joints;"
        words = f"a {adapter.title} {why} cannot be changed in this way: "
        raise UnsupportedExport(f"{words}fix the model that it was made of, which may be a file")
    patcher, holder = make(before, source), engine_for(before.format, engine)
    hold_in(patcher, holder)
    planned = plan(before, patcher, joints)
    refuse_unheld(holder, patcher, planned.wanted)
    changed = patcher.changed(planned.wanted)
    after, reduction, tested = before, planned.reduction, None
    if planned.wanted:
        after = read_object(changed, adapter, **options)
        reduction = reduce(after)
        wrong = unwanted(before, after, planned, reduction)
        if wrong:
            raise ModelError(f"the new {adapter.title} is another model: {'; '.join(wrong[:3])}")
        trial = trial_of(patcher, holder, source)
        more = range((d := reduction.mobility - planned.reduction.mobility), d + 1)
        tested = None if trial is None else trial.compare(Handed(after, changed), more)
    unread = (finding for finding in before.findings if finding.unread)
    findings = (*unread, *planned.findings, *_locked(reduction, planned))
    label = f"<{adapter.name} {before.name}>"
    parts = (label, after, planned.wanted, findings, reduction, None)
    return Fix(*parts, object=changed, tested=tested)


def _locked(after: Reduction, planned: FixPlan) -> tuple[Diagnostic, ...]:
    """Warn if the changed model cannot move, and name a change that frees the original model."""
    if not after.cells or after.finite_mobility != 0:
        return ()
    words = "LOCKED: the loops allow no motion, mobility 0"
    if planned.reduction.finite_mobility == 0:
        for cure in freeing(planned.reduction, limit=1, tries=TRIES):
            words += f"; the model moves with {' '.join(cure.arguments)} alone"
    return (Diagnostic("REG209", "warning", words),)


def _verified(
    placing: Placing,
    before: Mechanism,
    written: Mechanism,
    planned: FixPlan,
    options: Mapping[str, Any],
) -> tuple[Mechanism, Reduction]:
    """Read the edited model and reduce it; raises ``ModelError`` where it is not as planned."""
    with read_changed(placing, options) as after:
        reduction = reduce(read_alike(after, before))
        if planned.placed:
            wrong = other_places(after, planned.wanted)
            if reduction.finite_mobility != planned.reduction.finite_mobility:
                wrong.append(f"the mobility is {reduction.finite_mobility}")
        else:
            wrong = unwanted(written, after, planned, reduction)
        refuse(placing, wrong)
        return replace(reduction.mechanism, path=before.path, files=before.files), reduction


def closed_in_file(mechanism: Mechanism, patcher: Patcher) -> Absorbed:
    """Close gaps by joint frames of the file; raises ``UnsupportedExport`` if one stays."""
    found = absorb_gaps(mechanism, movable=patcher.movable)
    if not found.left:
        return found
    gap = found.left[0]
    if absorb_gaps(mechanism).left:
        why = "no change of joint frames as small as the gap closes it"
    else:
        held = [joint.name for joint in mechanism.joints if any(patcher.movable(joint))]
        which = f"only frames of {names(held)}" if held else "no joint frame"
        why = f"{which} can be moved in this {mechanism.format} file"
    raise UnsupportedExport(
        f"{mechanism.path}: {gap_words(gap.translation, gap.rotation)} stay open at joint "
        f"{gap.joint!r}, and {why}; correct it in the CAD system, or write the closed model anew "
        "with `regularize export --absorb-gaps`"
    )


def moving_edits(patcher: Patcher, closed: Absorbed, others: Sequence[Edit]) -> list[Edit]:
    """Return the edits that move joint frames, except in texts that other edits replace."""
    taken = [(edit.path, edit.start, edit.end) for edit in others if edit.end > edit.start]
    wanted = [
        MovedJoint(patcher.mechanism.joint(name), closed.mechanism.joint(name))
        for name in closed.moves
    ]
    return [
        new
        for new in patcher.moved(wanted)
        if not any(p == new.path and a <= new.start and new.end <= b for p, a, b in taken)
    ]


def designed_places(before: Mechanism, meant: Idealised) -> tuple[WantedKind, ...]:
    """Return the joints that move to their designed places, each with its new frames."""
    moved: dict[str, Transform] = {}
    pairs = [*zip(before.joints, meant.mechanism.joints, strict=True)]
    for old, new in pairs:
        # Files have the frames of links where the joints to them are, which stay there.
        if not old.closure and old.child != before.ground and old.child not in moved:
            moved[old.child] = new.T_child_joint @ screw.inverse(old.T_child_joint)

    def seen_from(body: str, new: Transform, old: Transform) -> Transform:
        """Return a new frame on a body that has moved itself; the old one if it is equal."""
        frame = screw.inverse(moved.get(body, IDENTITY)) @ new
        return old if np.allclose(frame, old, rtol=EXACT, atol=EXACT) else frame

    wanted = []
    for old, new in pairs:
        on_parent = seen_from(new.parent, new.T_parent_joint, old.T_parent_joint)
        on_child = seen_from(new.child, new.T_child_joint, old.T_child_joint)
        if on_parent is not old.T_parent_joint or on_child is not old.T_child_joint:
            changed = replace(old, T_parent_joint=on_parent, T_child_joint=on_child)
            wanted.append(WantedKind(old, old.kind, changed))
    return tuple(wanted)
