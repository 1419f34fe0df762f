"""`fix`: the user's own model file with the smallest changes that make it isostatic, or as told."""

from __future__ import annotations

import tempfile
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from functools import partial
from os import PathLike, fspath
from pathlib import Path
from typing import Any

from regularize.adapters import Adapter, adapters, read
from regularize.adapters.common.edits import Edit, MovedJoint, Patch, WantedKind, WantedSlack
from regularize.adapters.common.input_files import replaced_content
from regularize.adapters.common.output_files import write_all
from regularize.adapters.common.patching import Patcher
from regularize.adapters.reading import read_object
from regularize.adapters.registry import adapter_of, objects
from regularize.adapters.sniffers import is_text
from regularize.errors import ModelError, RegularizeError, UnsupportedExport
from regularize.mechanism.diagnostic import Diagnostic, Source
from regularize.mechanism.mechanism import Mechanism, Model, not_taken
from regularize.reduction.reduce import Reduction, reduce
from regularize.repair.fix.comparison import other_counts, unwanted
from regularize.repair.fix.moving import closed_in_file, designed_places, moving_edits, other_places
from regularize.repair.fix.placing import Placing
from regularize.repair.fix.plan import FixPlan, plan, wanted_kinds
from regularize.repair.fix.proposals import Advice
from regularize.repair.nominal.absorb import Absorbed
from regularize.repair.nominal.idealise import idealise
from regularize.repair.statics.cure import Cure, left_here
from regularize.repair.statics.cures import TRIES, freeing
from regularize.repair.verification.writing import replaceable, try_engine
from regularize.validation import FLAG, TEXT, instance, named, validated

#: Formats that are exports of CAD systems: what is edited there is overwritten by the next one.
EXPORTS = {"onshape": "Onshape", "simscape": "the CAD system"}
#: Formats whose readers take all text from ``read_bytes``, so that no file is needed to try one.
IN_MEMORY = ("urdf", "sdf", "mjcf", "json", "freecad", "asmt")
#: Joint by which the root of a URDF file floats where its reader is asked to let it.
FLOATING = "floating_base"


@dataclass(frozen=True, eq=False, repr=False)
class Fix:
    """A model with some joints changed, verified, and not yet written.

    Attributes:
        path: The model file as it was read.
        mechanism: The changed model, read again from the changed files.
        changes: The joints that change, with their new kinds.
        findings: What the new kinds cannot hold, and what to know.
        reduction: Analysis of the changed model.
        placing: The files and their edits; None for objects that are changed themselves.
        slack: Links that are put in and closing joints that are taken out, where other kinds of
            joints do not suffice.
        moves: By how many metres and radians frames of joints are moved to absorb gaps.
        object: Where the model is an object in memory: a new one of the same type.
    """

    path: str
    mechanism: Mechanism
    changes: tuple[WantedKind, ...]
    findings: tuple[Diagnostic, ...]
    reduction: Reduction = field(repr=False)
    placing: Placing | None = field(repr=False)
    slack: WantedSlack = field(default_factory=WantedSlack, repr=False)
    moves: Mapping[str, tuple[float, float]] = field(default_factory=dict)
    object: Any = field(default=None, repr=False)

    def __repr__(self) -> str:
        """One line: the file, how many joints change, what is redundant then."""
        count = len(self.changes)
        return (
            f"<Fix of {Path(self.path).name[-60:]}: {count} joint{'s' * (count != 1)} changed, "
            f"{self.reduction.redundant} redundant, mobility {self.reduction.mobility}>"
        )

    @property
    def diff(self) -> str:
        """Unified difference of the texts that change; empty where there is nothing to do."""
        if self.placing is None:
            changed = (f"{w.joint.name}: {w.joint.kind} becomes {w.kind}\n" for w in self.changes)
            return "".join(changed)
        return self.placing.diff().replace(self.placing.main, self.path)

    def write(self, path: str | PathLike[str]) -> Path:
        """Write the model: in its own place only what changes, elsewhere with what belongs to it.

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
        given = Path(path)
        folder = Path(self.path).is_dir()
        main = self.placing.main
        inside = folder or given.is_dir() or fspath(path).endswith("/")
        target = given / Path(main).name if inside else given
        files = self.placing.files(target)
        known = self.placing.patcher.unchanged() if self.object is None else {}
        places = {replaceable(place): data for place, data in files.items()}
        try:
            target.parent.mkdir(parents=True, exist_ok=True)
        except OSError as error:
            raise RegularizeError(
                f"{target}: cannot be written: {target.parent} is no folder; name another place"
            ) from error
        write_all(places, {replaceable(place): data for place, data in known.items()})
        return given if folder else target


@validated(
    joints=named(TEXT) | instance(Cure),
    absorb_gaps=FLAG,
    as_designed=FLAG,
    remove=FLAG,
    slack=FLAG,
    as_is=FLAG,
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
        as_is: Leave the softness of an MJCF's loops alone; by default connects that lose others
            beside them become as much stiffer as both were together, which is measured.
        options: Of the reader, such as ``loops``; ``format``.

    Raises:
        ModelError: A joint cannot become what it should, or the changed files do not read as meant.
        UnsupportedExport: The file cannot hold what would be needed.
        NotTaken: It is nothing that can be a model.
    """
    source = getattr(source, "mechanism", source)
    if not isinstance(source, (Mechanism, PathLike, str)) or is_text(source):
        adapter = adapter_of(source)
        if adapter is None:
            raise not_taken(source, objects())
        document = adapter.load_document()
        if document is None:
            return _changed(source, adapter, joints, absorb_gaps or as_designed or slack, options)
        given = {"format": options.pop("format")} if options.get("format") else {}
        held = document(source, **given)
        again = partial(fix, joints=joints, absorb_gaps=absorb_gaps, as_designed=as_designed)
        again = partial(again, as_is=as_is)
        with held.written() as path:
            options_of_file = {"format": held.format, **options}
            found: Fix = again(path, remove=remove, slack=slack, **options_of_file)
            made = held.parse(found.write(path.with_stem("fixed")))
        given_again = read_object(made, adapter, **given, **options)
        wrong = other_counts(found.reduction, reduce(given_again))
        if wrong:
            raise ModelError(f"{held.label}: the new {adapter.title} is another model: {wrong}")
        placed = held.placed(replace(found.mechanism, findings=found.findings))
        mechanism = held.placed(found.mechanism)
        return replace(
            found, path=held.label, mechanism=mechanism, findings=placed.findings, object=made
        )
    before, named, options = _loaded(source, options)
    patcher = _patcher(before, joints)
    closed = closed_in_file(before, patcher) if absorb_gaps else Absorbed(before)
    before = closed.mechanism
    if as_designed:
        if joints is not None or absorb_gaps:
            raise ModelError("places and kinds are changed one after the other: call fix twice")
        planned = _designed(before)
        moved = [MovedJoint(each.joint, each.replacement) for each in planned.wanted]
        patch = Patch(patcher.moved(moved))
    else:
        planned = plan(before, patcher, joints, remove=remove, slack=slack)
        placed = partial(_placed, patcher, str(before.path))
        wanted = planned.wanted
        patch = patcher.patch(wanted) if as_is else patcher.as_stiff(wanted, placed)
    if planned.slack is not None:
        put = patcher.slack(planned.slack)
        patch = Patch(patch.edits + put.edits, patch.findings + put.findings)
    patch.edits += moving_edits(patcher, closed, patch.edits)
    placing = Placing(patcher, patch.edits, str(before.path))
    after, reduction = before, planned.reduction
    if patch.edits:
        after, reduction = _verified(placing, before, planned, options)
    findings = (
        *planned.findings,
        *patch.findings,
        *closed.findings(),
        *_locked(reduction, planned),
    )
    more = planned.slack or WantedSlack()
    return Fix(named, after, planned.wanted, findings, reduction, placing, more, closed.moves)


def _changed(
    source: Any,
    adapter: Adapter,
    joints: Mapping[str, str] | Cure | None,
    more: bool,
    options: Mapping[str, Any],
) -> Fix:
    """An object in memory that is changed itself, in a copy."""
    before, made = read_object(source, adapter, **options), adapter.load_patcher()
    if made is None or more:
        what = "is compiled or finished and" if made is None else "takes other kinds of joints;"
        raise UnsupportedExport(
            f"a {adapter.title} {what} cannot be changed in this way: fix the model that it was "
            "made of, which may be a file"
        )
    patcher = made(before, source)
    planned = plan(before, patcher, joints)
    changed = patcher.changed(planned.wanted)
    after, reduction = before, planned.reduction
    if planned.wanted:
        after = read_object(changed, adapter, **options)
        reduction = reduce(after)
        wrong = unwanted(before, after, planned, reduction)
        if wrong:
            raise ModelError(f"the new {adapter.title} is another model: {'; '.join(wrong[:3])}")
    findings = (*planned.findings, *_locked(reduction, planned))
    named = f"<{adapter.name} {before.name}>"
    return Fix(named, after, planned.wanted, findings, reduction, None, object=changed)


def trial_file(mechanism: Mechanism) -> tuple[Patcher, dict[str, Any]]:
    """Read the file of a mechanism as a command would, ready to be edited; and the options used."""
    _, path, options = _loaded(mechanism, {})
    return _patcher(read(path, **options), {}), options


def tried(patcher: Patcher, options: Mapping[str, Any], entry: Advice, *, engine: bool) -> None:
    """Make the changes of an entry in the text of a file, read it back, and compare.

    With ``engine`` the text goes through a temporary file, which the format's own program reads
    too; without, it stays in memory. Raises ``RegularizeError`` where the file cannot hold it.
    """
    before, reduction, left = patcher.mechanism, entry.reduction, entry.left
    wanted = wanted_kinds(before, entry.changes)
    planned = FixPlan(reduction, wanted, isostatic=reduction.finite_mobility != 0, left=left)
    patch = patcher.patch(wanted)
    for finding in patch.findings:
        if finding.severity != "note":
            raise UnsupportedExport(f"{before.path}: {finding.message}")
    placing = Placing(patcher, patch.edits, str(before.path))

    def check(after: Mechanism) -> None:
        # Ranks tell most of them; nobody asks here which rows go.
        counted = left_here(reduction, after) if engine or not entry.verified else left
        known = counted is not None and counted <= left
        _refuse(placing, unwanted(before, after, planned, None if known else reduce(after)))

    if engine:
        with _read_again(placing, before, options) as (after, _):
            check(after)
    elif before.format in IN_MEMORY:
        with replaced_content(placing.files(Path(placing.main))):
            after = read(placing.main, **{**options, "format": before.format})
        check(after)


def _designed(before: Mechanism) -> FixPlan:
    """The places of the nearest mechanism that moves more freely."""
    meant = idealise(before)
    wanted = designed_places(before, meant) if meant.changed else ()
    return FixPlan(meant.reduction, wanted, isostatic=False, findings=meant.findings, placed=True)


def _loaded(
    source: str | PathLike[str] | Mechanism, options: Mapping[str, Any]
) -> tuple[Mechanism, str, dict[str, Any]]:
    """The model, its name, and the options to read it again."""
    if not isinstance(source, Mechanism):
        given = dict(options)
        mechanism = read(source, **given)
        return mechanism, fspath(source), given
    if source.path is None or source.format not in adapters():
        raise ModelError(
            f"the mechanism {source.name!r} was read from no file; write it with `rg.save`"
        )
    known = dict(options)
    if source.format in ("urdf", "xacro"):
        known.setdefault("loops", source.files[0] if source.files else False)
        known.setdefault("floating", any(joint.name == FLOATING for joint in source.joints))
    return source, source.path, known


def _patcher(mechanism: Mechanism, joints: Mapping[str, str] | Cure | None) -> Patcher:
    made = adapters()[mechanism.format].load_patcher()
    if made is not None:
        patcher: Patcher = made(mechanism)
        return patcher
    title = adapters()[mechanism.format].title
    where = EXPORTS.get(mechanism.format)
    if where is None:
        raise UnsupportedExport(
            f"{mechanism.path}: {title} cannot be edited in place; write it anew with `regularize "
            "reduce`"
        )
    raise UnsupportedExport(
        f"{mechanism.path}: is an export of {where}, which would not read it back; "
        f"{_by_hand(mechanism, joints)} in {where} and export it again"
    )


def _locked(after: Reduction, planned: FixPlan) -> tuple[Diagnostic, ...]:
    """Say so where the result cannot move, and what frees the model as it was."""
    if not after.cells or after.finite_mobility != 0:
        return ()
    words = "LOCKED: the loops allow no motion, mobility 0"
    if planned.reduction.finite_mobility == 0:
        for cure in freeing(planned.reduction, limit=1, tries=TRIES):
            words += f"; the model moves with {' '.join(cure.arguments)} alone"
    return (Diagnostic("REG209", "warning", words),)


def _by_hand(mechanism: Mechanism, joints: Mapping[str, str] | Cure | None) -> str:
    """What to change in the CAD system."""
    kinds = joints.kinds if isinstance(joints, Cure) else joints
    if kinds is None:
        from regularize.repair.statics.cures import cures

        found = cures(reduce(mechanism), limit=1)
        kinds = found[0].kinds if found else None
    if not kinds:
        return "change the joints"
    return "make " + " and ".join(f"joint `{name}` {kind}" for name, kind in kinds.items())


def _verified(
    placing: Placing, before: Mechanism, planned: FixPlan, options: Mapping[str, Any]
) -> tuple[Mechanism, Reduction]:
    """The changed model, read from a place of its own, and its analysis.

    Raises:
        ModelError: It does not read, its own program refuses it, or it is not what was meant.
    """
    with _read_again(placing, before, options) as (after, files):
        reduction = reduce(after)
        if planned.placed:
            wrong = other_places(after, planned.wanted)
            if reduction.finite_mobility != planned.reduction.finite_mobility:
                wrong.append(f"the mobility is {reduction.finite_mobility}")
        else:
            wrong = unwanted(before, after, planned, reduction)
        _refuse(placing, wrong)
        names = {str(place): _origin(placing, place) for place in files}
        return _named_as_before(after, before, names), reduction


def _refuse(placing: Placing, wrong: Sequence[str]) -> None:
    if wrong:
        raise ModelError(
            f"{placing.main}: the changed files do not read as meant: {'; '.join(wrong[:3])}; "
            "nothing is written"
        )


@contextmanager
def _read_again(
    placing: Placing, before: Mechanism, options: Mapping[str, Any]
) -> Iterator[tuple[Mechanism, dict[Path, bytes]]]:
    """The changed model, read from a place of its own, by its own program too, and its files."""
    with tempfile.TemporaryDirectory(prefix="regularize-") as folder:
        files = _written(placing, Path(folder))
        target = Path(folder) / Path(placing.main).name
        again = {**options, "format": before.format}
        if isinstance(again.get("loops"), (str, PathLike)):
            sidecar = Path(fspath(again["loops"]))
            moved = [place for place in files if place.name == sidecar.name]
            again["loops"] = str(moved[0] if moved else sidecar.resolve())
        try:
            after = read(target, **again)
            _try_engine(before, target)
        except RegularizeError as error:
            raise ModelError(
                f"{placing.main}: the changed file does not read: {error}; nothing is written"
            ) from error
        yield after, files


@contextmanager
def _placed(patcher: Patcher, main: str, edits: Sequence[Edit]) -> Iterator[str]:
    """The path of the model with some edits, written elsewhere."""
    with tempfile.TemporaryDirectory(prefix="regularize-") as folder:
        _written(Placing(patcher, edits, main), Path(folder))
        yield str(Path(folder) / Path(main).name)


def _written(placing: Placing, folder: Path) -> dict[Path, bytes]:
    """The files of a model, written into a folder."""
    files = placing.files(folder / Path(placing.main).name)
    for place, data in files.items():
        place.write_bytes(data)
    return files


def _try_engine(before: Mechanism, target: Path) -> None:
    """Let the program of the format read the changed file, if it takes the one before."""
    try:
        try_engine(Path(str(before.path)), before.format)
    except UnsupportedExport:
        return
    try_engine(target, before.format)


def _origin(placing: Placing, place: Path) -> str:
    """The user's file that a file of the changed model stands for."""
    known = (placing.main, *placing.patcher.mechanism.files)
    return next((path for path in known if Path(path).name == place.name), placing.main)


def _named_as_before(after: Mechanism, before: Mechanism, names: Mapping[str, str]) -> Mechanism:
    """The model with the names of the user's files in the places of those that were read."""

    def named(source: Source | None) -> Source | None:
        return None if source is None else replace(source, path=names.get(source.path, source.path))

    return replace(
        after,
        path=before.path,
        files=before.files,
        bodies=tuple(replace(body, source=named(body.source)) for body in after.bodies),
        joints=tuple(replace(joint, source=named(joint.source)) for joint in after.joints),
        findings=tuple(replace(each, source=named(each.source)) for each in after.findings),
    )
