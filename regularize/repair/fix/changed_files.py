"""Edited files: where they go, how they are read again, and what must not differ in them then."""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from os import PathLike, fspath
from pathlib import Path
from typing import Any

import numpy as np

from regularize.adapters import read
from regularize.adapters.common.edits import Edit, WantedKind
from regularize.adapters.common.patching import Patcher, led_back
from regularize.errors import ModelError, RegularizeError
from regularize.lie import screw, subalgebra
from regularize.lie.arrays import Array
from regularize.mechanism.diagnostic import Source
from regularize.mechanism.joint import Joint
from regularize.mechanism.mechanism import Mechanism
from regularize.output_files import write_aside
from regularize.reduction.reduce import Reduction
from regularize.repair.fix.plan import FixPlan
from regularize.repair.verification.comparison import SAME
from regularize.repair.verification.differences import differences
from regularize.repair.verification.writing import refusal, try_engine
from regularize.words import is_slack


@dataclass(frozen=True, eq=False)
class Placing:
    """The files of a model with edits, and where each of them is to be written."""

    patcher: Patcher
    edits: Sequence[Edit]

    @property
    def main(self) -> str:
        """The model file as it was read."""
        return str(self.patcher.mechanism.path)

    def diff(self) -> str:
        """Return the changes of the files as a unified diff."""
        texts = ((self.patcher.text(path), self._of(path)) for path in self._edited)
        return "".join(text.diff(text.with_edits(edits)) for text, edits in texts)

    @property
    def _edited(self) -> list[str]:  # the paths of the files with edits, each once
        return list(dict.fromkeys(edit.path for edit in self.edits))

    def _of(self, path: str) -> list[Edit]:
        """Return the edits of one file."""
        return [edit for edit in self.edits if edit.path == path]

    def files(self, target: Path) -> dict[Path, bytes]:
        """Return what to write: in its own place what was edited, else all, the model file last."""
        if _same(target, Path(self.main)):
            return {Path(path): self._bytes(path, {}, None) for path in self._edited}
        moved = {self.main: target}
        for path in dict.fromkeys((*self.patcher.mechanism.files, *self._edited)):
            place = self._beside(path, target)
            if place is not None and path != self.main:
                moved[path] = place
        kept = {path: place for path, place in moved.items() if not _same(place, Path(path))}
        twice = [path for path in moved if path not in kept and self._of(path)]
        if twice:
            raise RegularizeError(
                f"{twice[0]}: would have to change in its own place; write the model to "
                "another folder, or edit it in place"
            )
        order = [*(path for path in kept if path != self.main), self.main]
        return {kept[path]: self._bytes(path, moved, target) for path in order}

    def write(self, folder: Path) -> dict[Path, bytes]:
        """Write the files into a folder."""
        files = self.files(folder / Path(self.main).name)
        for place, data in files.items():
            write_aside(place, data)
        return files

    def _beside(self, path: str, target: Path) -> Path | None:
        """Return the place of a further file; None if the model finds it where it is."""
        main, source = Path(self.main), Path(path)
        if path in self.patcher.found_by_name():
            follows = source.stem == main.stem
            return target.with_name(target.stem + source.suffix if follows else source.name)
        if not self._of(path):
            return None
        if _same(target.parent, main.parent):
            return target.with_name(f"{target.stem}_{source.name}")
        return target.with_name(source.name)

    def _bytes(self, path: str, moved: Mapping[str, Path], target: Path | None) -> bytes:
        """Return a file with its edits, its references rewritten for the place of the model."""
        text, edits = self.patcher.text(path), self._of(path)
        if target is not None:
            central = self.patcher.central
            old = Path(self.main if central else path).parent
            new = (target if central else moved[path]).parent
            places = {Path(source).resolve(): place.resolve() for source, place in moved.items()}
            edits += led_back(text, self.patcher.references(text), old, new, places)
        return self.patcher.packed(path, text.with_edits(edits))


def _same(a: Path, b: Path) -> bool:
    """Say whether two paths lead to the same file."""
    return a.resolve() == b.resolve()


@contextmanager
def placed(patcher: Patcher, edits: Sequence[Edit]) -> Iterator[str]:
    """Write the edited model into a temporary folder and yield the path of its main file."""
    import tempfile  # takes a while

    with tempfile.TemporaryDirectory(prefix="regularize-") as folder:
        yield str([*Placing(patcher, edits).write(Path(folder))][-1])


@contextmanager
def read_changed(placing: Placing, options: Mapping[str, Any]) -> Iterator[Mechanism]:
    """Read the edited model from a temporary folder; sources name the user's files."""
    import tempfile  # and here

    from regularize.adapters.objects import placed as relocated

    before = placing.patcher.mechanism
    with tempfile.TemporaryDirectory(prefix="regularize-") as folder:
        files = placing.write(Path(folder))
        target = Path(folder) / Path(placing.main).name
        reading = {**options, "format": before.format}
        if isinstance(reading.get("loops"), (str, PathLike)):
            own = Path(fspath(reading["loops"]))
            reading["loops"] = str(next((p for p in files if p.name == own.name), own.resolve()))
        try:
            after = read(target, **reading)
            if not refusal(Path(placing.main), before.format):
                try_engine(target, before.format)
        except RegularizeError as error:
            words = f"{placing.main}: the changed file does not read: {error}; nothing is written"
            raise ModelError(words) from error
        paths = {Path(path).name: path for path in (*before.files[::-1], placing.main)}
        origins = {str(place): paths.get(place.name, placing.main) for place in files}

        def named(source: Source | None) -> Source | None:
            """Return a source with the user's file in place of its temporary copy."""
            return source and replace(source, path=origins.get(source.path, source.path))

        yield replace(relocated(after, named), path=after.path)


#: Numbers that are the same but for being written and read.
READ = 1e-12


def unwanted(
    before: Mechanism, after: Mechanism, planned: FixPlan, reduction: Reduction | None
) -> list[str]:
    """List unplanned differences of a changed model, and wrong counts where it was reduced."""
    if planned.expected is not None:
        before = planned.expected
        after = _named(after, before)
    names = {joint.name for joint in before.joints}
    changed = {wanted.joint.name for wanted in planned.wanted}
    concerned = changed | {
        joint.name
        for joint in after.joints
        if joint.name not in names and joint.name.startswith(tuple(f"{name}_" for name in changed))
    }
    # Mobility, masses and places are compared below, places in the frames of bodies: another joint
    # may lead to them now. MuJoCo names meshes without the folder of its compiler.
    ignored = {"REG320", "REG322", "REG323", *(["REG328"] if before.format == "mjcf" else [])}
    wrong = [
        finding.message.removeprefix("the file: ")
        for finding in differences(before, after, motions=False)
        if finding.severity != "note"
        and finding.code not in ignored
        and not (finding.joints and {*finding.joints} <= concerned)
    ]
    wrong += _elsewhere(before, after, changed)
    freedoms = Counter[str]()
    for joint in after.joints:
        freedoms[joint.name] += joint.freedoms
    for wanted in planned.wanted:
        name = wanted.joint.name
        # A body may get two joints for one.
        count = sum(freedoms[part] for part in (name, f"{name}_slide", f"{name}_turn"))
        if count != wanted.replacement.freedoms:
            wrong.append(f"joint `{name}` has {count} freedoms and is not {wanted.kind}")
    old = planned.reduction
    if planned.isostatic and reduction is not None:
        if reduction.redundant > planned.left:
            wrong.append(f"{reduction.redundant} constraint equations stay redundant")
        if reduction.mobility != old.mobility:
            wrong.append(f"the mobility is {reduction.mobility} instead of {old.mobility}")
        elif reduction.finite_mobility != old.finite_mobility and old.finite_mobility is not None:
            finite = f"{reduction.finite_mobility} instead of {old.finite_mobility}"
            wrong.append(f"the mobility by finite motions is {finite}")
    return wrong


def other_counts(one: Reduction, other: Reduction) -> str:
    """Name the counts in which two analyses of one model differ; empty if they agree."""
    counts = ("mobility", "redundant", "remaining")
    pairs = ((count, getattr(one, count), getattr(other, count)) for count in counts)
    return "; ".join(f"{count} is {b} instead of {a}" for count, a, b in pairs if a != b)


def _named(after: Mechanism, expected: Mechanism) -> Mechanism:
    """Return a model whose unnamed closing joints have the names of the expected model."""
    names = {joint.name for joint in after.joints}
    missing = {(j.parent, j.child): j.name for j in expected.joints if j.name not in names}
    joints = (replace(j, name=missing.get((j.parent, j.child), j.name)) for j in after.joints)
    return replace(after, joints=tuple(joints))


def _elsewhere(before: Mechanism, after: Mechanism, changed: Collection[str]) -> list[str]:
    """List bodies and joints outside the plan whose masses, kinds or frames have changed."""
    wrong = []
    bodies = {body.name: body.inertia for body in after.bodies}
    # Their frames are where the joint between them is, in files that have them so.
    slack = {name for j in before.joints if is_slack(j.name) for name in (j.parent, j.child)}
    for body in before.bodies:
        old, new = body.inertia, bodies.get(body.name)
        if old is None or new is None:
            if old is not new:
                wrong.append(f"body `{body.name}` gained or lost its mass properties")
        elif not all(
            _close(np.asarray(getattr(old, key)), np.asarray(getattr(new, key)))
            for key in ("mass", "center", "matrix")
        ) and (body.name not in slack or not np.isclose(old.mass, new.mass)):
            wrong.append(f"body `{body.name}` has other mass properties")
    joints = {joint.name: joint for joint in after.joints}
    for joint in before.joints:
        same = joints.get(joint.name)
        if same is None or joint.name in changed or slack & {joint.parent, joint.child}:
            continue
        if (same.kind, same.parent, same.child) != (joint.kind, joint.parent, joint.child):
            wrong.append(f"joint `{joint.name}` is {same.kind} between other bodies")
        elif not all(
            _close(getattr(joint, key), getattr(same, key))
            for key in ("screws", "T_parent_joint", "T_child_joint", "position")
        ):
            wrong.append(f"joint `{joint.name}` stands or points elsewhere")
    return wrong


def _close(a: Array, b: Array, within: float = SAME) -> bool:
    """Say whether two arrays have one shape and agree within a tolerance."""
    return a.shape == b.shape and bool(np.allclose(a, b, rtol=within, atol=within))


def other_places(after: Mechanism, wanted: Sequence[WantedKind]) -> list[str]:
    """Name the joints of a changed model that do not lie where they should."""
    joints = {joint.name: joint for joint in after.joints}
    return [
        f"joint `{change.joint.name}` is not where it was meant to be"
        for change in wanted
        if change.joint.name not in joints
        or not _lies_as_meant(joints[change.joint.name], change.replacement)
    ]


def _lies_as_meant(now: Joint, meant: Joint) -> bool:
    """Say whether a joint has the planned axes; both its frames may move along its freedoms."""
    on_parent = screw.inverse(now.T_parent_joint) @ meant.T_parent_joint
    on_child = screw.inverse(now.T_child_joint) @ meant.T_child_joint
    freedoms, moved = subalgebra.span(now.screws), screw.adjoint(on_parent) @ meant.screws
    return _close(on_parent, on_child, READ) and subalgebra.contains(freedoms, moved, 10 * READ)
