"""`fix`: the user's own model file with the smallest changes that make it isostatic, or as told."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from os import PathLike, fspath
from pathlib import Path
from typing import Any

import numpy as np

from regularize.adapters import Adapter, adapters, read
from regularize.adapters.common.edits import Edit, MovedJoint, Patch, WantedKind, WantedSlack
from regularize.adapters.common.input_files import replaced_content
from regularize.adapters.common.output_files import write_all
from regularize.adapters.common.patching import Patcher
from regularize.adapters.reading import read_object
from regularize.adapters.registry import adapter_of, objects
from regularize.adapters.sniffers import is_text
from regularize.errors import ModelError, RegularizeError, UnsupportedExport
from regularize.lie import screw
from regularize.lie.arrays import Transform
from regularize.lie.screw import IDENTITY
from regularize.mechanism.diagnostic import Diagnostic
from regularize.mechanism.mechanism import Mechanism, Model, not_taken
from regularize.reduction.reduce import Reduction, reduce
from regularize.repair.engines.table import engine_for
from regularize.repair.engines.trial import EngineTest, Handed
from regularize.repair.fix.changed_files import (
    Placing,
    other_counts,
    other_places,
    read_changed,
    unwanted,
)
from regularize.repair.fix.moved import (
    holdable,
    is_articulated,
    moved_there,
    refuse_unheld,
    stiffest,
    trial_of,
)
from regularize.repair.fix.plan import FixPlan, plan, wanted_kinds
from regularize.repair.fix.proposals import Advice
from regularize.repair.nominal.absorb import Absorbed, absorb_gaps
from regularize.repair.nominal.idealise import Idealised, idealise
from regularize.repair.statics.cure import Cure, left_here
from regularize.repair.statics.cures import TRIES, cures, freeing
from regularize.repair.verification.writing import replaceable
from regularize.validation import FLAG, TEXT, instance, named, validated
from regularize.words import gap_words, names

#: Formats that are exports of CAD systems: what is edited there is overwritten by the next one.
EXPORTS = {"onshape": "Onshape", "simscape": "the CAD system"}
#: Formats whose readers take all text from ``read_bytes``, so that no file is needed to try one.
IN_MEMORY = ("urdf", "sdf", "mjcf", "json", "freecad", "asmt")
#: Joint by which the root of a URDF file floats where its reader is asked to let it.
FLOATING = "floating_base"
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
        options: Of the reader, such as ``loops``; ``format``.

    Raises:
        ModelError: A joint cannot become what it should, or the changed files do not read as
            meant, or move otherwise in their engine.
        UnsupportedExport: The file cannot hold what would be needed.
        NotTaken: It is nothing that can be a model.
    """
    source = getattr(source, "mechanism", source)
    more = {"absorb_gaps": absorb_gaps, "as_designed": as_designed, "slack": slack}
    if not isinstance(source, (Mechanism, PathLike, str)) or is_text(source):
        adapter = adapter_of(source)
        if adapter is None:
            raise not_taken(source, objects())
        if adapter.load_document() is None:
            others = any(more.values())
            return _changed_object(source, adapter, joints, others, engine, options)
        again = partial(fix, joints=joints, remove=remove, as_is=as_is, engine=engine, **more)
        return _changed_document(source, adapter, again, options)
    before, label, options = _loaded(source, options)
    patcher, holder = _patcher(before, joints), engine_for(before.format, engine)
    absorbed = closed_in_file(before, patcher) if absorb_gaps else Absorbed(before)
    before = absorbed.mechanism
    if as_designed:
        if joints is not None or absorb_gaps:
            raise ModelError("places and kinds are changed one after the other: call fix twice")
        meant = idealise(before)
        wanted = designed_places(before, meant) if meant.changed else ()
        planned = FixPlan(
            meant.reduction, wanted, isostatic=False, findings=meant.findings, placed=True
        )
        moved = [MovedJoint(change.joint, change.replacement) for change in wanted]
        patch, trial = Patch(patcher.moved(moved)), trial_of(patcher, holder, wanted)
    else:
        kinds = holdable(before, patcher, holder)
        allowed = {"remove": remove, "slack": slack, "closures_first": is_articulated(holder)}
        planned = plan(before, patcher, joints, kinds, **allowed)
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
    if patch.edits:
        after, reduction = _verified(placing, before, planned, options)
        more_freedoms = reduction.mobility - planned.reduction.mobility
        tested = moved_there(trial, placing, after, more_freedoms, as_is)
    findings = (
        *planned.findings,
        *patch.findings,
        *absorbed.findings(),
        *_locked(reduction, planned),
    )
    links = planned.slack or WantedSlack()
    moves = absorbed.moves
    return Fix(label, after, wanted, findings, reduction, placing, links, moves, tested=tested)


def _changed_document(
    source: Any, adapter: Adapter, again: partial[Fix], options: dict[str, Any]
) -> Fix:
    """Fix the file that an object in memory was written to, and parse a new object from it."""
    document = adapter.load_document()
    assert document is not None
    format = {"format": options.pop("format")} if options.get("format") else {}
    held = document(source, **format)
    with held.written() as path:
        fixed = again(path, **{"format": held.format, **options})
        copy = held.parse(fixed.write(path.with_stem("fixed")))
    wrong = other_counts(fixed.reduction, reduce(read_object(copy, adapter, **format, **options)))
    if wrong:
        raise ModelError(f"{held.label}: the new {adapter.title} is another model: {wrong}")
    findings = held.placed(replace(fixed.mechanism, findings=fixed.findings)).findings
    mechanism = held.placed(fixed.mechanism)
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
        raise UnsupportedExport(
            f"a {adapter.title} {why} cannot be changed in this way: fix the model that it was "
            "made of, which may be a file"
        )
    patcher, holder = make(before, source), engine_for(before.format, engine)
    kinds = holdable(before, patcher, holder)
    planned = plan(before, patcher, joints, kinds, closures_first=is_articulated(holder))
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
        more = reduction.mobility - planned.reduction.mobility
        tested = None if trial is None else trial.compare(Handed(after, changed), more)
    findings = (*planned.findings, *_locked(reduction, planned))
    label = f"<{adapter.name} {before.name}>"
    parts = (label, after, planned.wanted, findings, reduction, None)
    return Fix(*parts, object=changed, tested=tested)


def trial_file(mechanism: Mechanism) -> tuple[Patcher, dict[str, Any]]:
    """Read a mechanism's file anew; return its patcher and the options of the reader."""
    _, path, options = _loaded(mechanism, {})
    return _patcher(read(path, **options), {}), options


def tried(patcher: Patcher, options: Mapping[str, Any], entry: Advice, *, by_program: bool) -> None:
    """Edit a copy of the file as an entry of advice says, read it back, and compare.

    With ``by_program`` the text goes through a temporary file, which the format's own program reads
    too; without, it stays in memory. Raises ``RegularizeError`` where the file cannot hold it.
    """
    before, reduction, expected = patcher.mechanism, entry.reduction, entry.left
    wanted = wanted_kinds(before, entry.changes)
    planned = FixPlan(reduction, wanted, isostatic=reduction.finite_mobility != 0, left=expected)
    patch = patcher.patch(wanted)
    for finding in patch.findings:
        if finding.severity != "note":
            raise UnsupportedExport(f"{before.path}: {finding.message}")
    placing = Placing(patcher, patch.edits)

    def check(after: Mechanism) -> None:
        # Ranks tell most of them; nobody asks here which rows go.
        """Raise ``ModelError`` where the changed model differs from the plan."""
        sure = entry.verified and entry.mobility == reduction.mobility and not by_program
        counted = expected if sure else left_here(reduction, after)
        is_known = counted is not None and counted <= expected
        _refuse(placing, unwanted(before, after, planned, None if is_known else reduce(after)))

    if by_program:
        with read_changed(placing, options) as after:
            check(after)
    elif before.format in IN_MEMORY:
        with replaced_content(placing.files(Path(placing.main))):
            after = read(placing.main, **{**options, "format": before.format})
        check(after)


def _loaded(
    source: str | PathLike[str] | Mechanism, options: Mapping[str, Any]
) -> tuple[Mechanism, str, dict[str, Any]]:
    """Return the mechanism of a source, its path, and the options that read it again."""
    reading = dict(options)
    if not isinstance(source, Mechanism):
        return read(source, **reading), fspath(source), reading
    if source.path is None or source.format not in adapters():
        raise ModelError(
            f"the mechanism {source.name!r} was read from no file; write it with `rg.save`"
        )
    if source.format in ("urdf", "xacro"):
        reading.setdefault("loops", source.files[0] if source.files else False)
        reading.setdefault("floating", any(joint.name == FLOATING for joint in source.joints))
    return source, source.path, reading


def _patcher(mechanism: Mechanism, joints: Mapping[str, str] | Cure | None) -> Patcher:
    """Return the patcher of a mechanism's file; raises an error that names another way."""
    adapter = adapters()[mechanism.format]
    make = adapter.load_patcher()
    if make is not None:
        patcher: Patcher = make(mechanism)
        return patcher
    where = EXPORTS.get(mechanism.format)
    if where is None:
        raise UnsupportedExport(
            f"{mechanism.path}: {adapter.title} cannot be edited in place; write it anew with "
            "`regularize reduce`"
        )
    kinds = joints.kinds if isinstance(joints, Cure) else joints
    if kinds is None:
        kinds = next((cure.kinds for cure in cures(reduce(mechanism), limit=1)), None)
    by_hand = " and ".join(f"joint `{name}` {kind}" for name, kind in (kinds or {}).items())
    raise UnsupportedExport(
        f"{mechanism.path}: is an export of {where}, which would not read it back; "
        f"{f'make {by_hand}' if by_hand else 'change the joints'} in {where} and export it again"
    )


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
    placing: Placing, before: Mechanism, planned: FixPlan, options: Mapping[str, Any]
) -> tuple[Mechanism, Reduction]:
    """Read the edited model and reduce it; raises ``ModelError`` where it is not as planned."""
    with read_changed(placing, options) as after:
        reduction = reduce(after)
        if planned.placed:
            wrong = other_places(after, planned.wanted)
            if reduction.finite_mobility != planned.reduction.finite_mobility:
                wrong.append(f"the mobility is {reduction.finite_mobility}")
        else:
            wrong = unwanted(before, after, planned, reduction)
        _refuse(placing, wrong)
        return replace(after, path=before.path, files=before.files), reduction


def _refuse(placing: Placing, wrong: Sequence[str]) -> None:
    """Raise ``ModelError`` that lists differences, if there are any."""
    if wrong:
        raise ModelError(
            f"{placing.main}: the changed files do not read as meant: {'; '.join(wrong[:3])}; "
            "nothing is written"
        )


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
        edit
        for edit in patcher.moved(wanted)
        if not any(
            path == edit.path and start <= edit.start and edit.end <= end
            for path, start, end in taken
        )
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
