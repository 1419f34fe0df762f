"""A session at the bench: the model in its file, what is tried, and what was tried before."""

from __future__ import annotations

import os
from collections.abc import Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from regularize.adapters.common.input_files import stamps
from regularize.adapters.common.output_files import write_all
from regularize.checking import Report, check
from regularize.errors import ModelError, RegularizeError
from regularize.files import load
from regularize.mechanism.diagnostic import Diagnostic
from regularize.mechanism.mechanism import Mechanism
from regularize.reduction.reduce import Reduction
from regularize.repair.fix.fix import Fix, fix
from regularize.repair.fix.plan import named_kinds
from regularize.repair.fix.proposals import Advice

#: Kinds that a joint can be tried as.
TRIED = ("fixed", "revolute", "prismatic", "cylindrical", "universal", "spherical", "planar")


@dataclass(frozen=True, eq=False)
class Trial:
    """The report of a model with other kinds of joints, and the change of its files, if any."""

    joints: Mapping[str, str] | None
    report: Report
    change: Fix | None = None
    refused: str = ""

    @property
    def diff(self) -> str:
        """Return the difference of the files."""
        return "" if self.change is None else self.change.diff

    @property
    def findings(self) -> tuple[Diagnostic, ...]:
        """Return findings about data that the joints lose with their new kinds."""
        return () if self.change is None else self.change.findings

    @property
    def kinds(self) -> dict[str, str]:
        """Return the new kind of every joint that changes."""
        if self.change is None:
            return {name: words.partition(":")[0] for name, words in (self.joints or {}).items()}
        return {each.joint.name: each.kind for each in self.change.changes}


def trial(
    path: str, written: Report, joints: Mapping[str, str] | None, options: Mapping[str, Any]
) -> Trial:
    """Try other kinds of joints; None asks for the smallest changes that make it isostatic."""
    if joints is not None and not joints:
        return Trial(joints, written)
    try:
        change = fix(path, joints, **options)
    except RegularizeError as error:
        if joints is None:
            raise
        return Trial(joints, check(_changed_mechanism(written.reduction, joints)), None, str(error))
    return Trial(joints, check(change.mechanism), change)


def _changed_mechanism(written: Reduction, joints: Mapping[str, str]) -> Mechanism:
    """Return the changed model where no file holds it; raises ``ModelError`` if it is invalid."""
    mechanism = written.mechanism
    unknown = [name for name in joints if all(each.name != name for each in mechanism.joints)]
    if unknown:
        raise ModelError(f"there is no joint {unknown[0]!r}")
    changed = {each.joint.name: each.replacement for each in named_kinds(written, joints)}
    joints_now = tuple(changed.get(joint.name, joint) for joint in mechanism.joints)
    return replace(mechanism, joints=joints_now)


class Session:
    """A model on the bench: as written and as tried, with undo; ``version`` counts changes."""

    def __init__(self, path: str, **options: Any) -> None:
        self.path, self._options = path, options
        self.version, self.error = 0, ""
        self._before: list[Mapping[str, str] | None] = []
        self._saved: list[dict[Path, bytes]] = []
        self._read()
        self.trial = Trial({}, self.written)

    @property
    def files(self) -> tuple[str, ...]:
        """Return all files that the model was read from."""
        mechanism = self.written.mechanism
        return tuple(dict.fromkeys([str(mechanism.path or self.path), *mechanism.files]))

    @property
    def current(self) -> bool:
        """Return whether the files are unchanged since they were read."""
        return stamps(self.files) == self._stamps

    @property
    def undoable(self) -> bool:
        """Return whether something was tried or saved before."""
        return bool(self._before or self._saved)

    @property
    def proposals(self) -> tuple[Advice, ...]:
        """Return joint changes that the files can hold, each tried; the best first."""
        return tuple(entry for entry in self.written.advice if entry.in_file)

    def change(self, name: str, kind: str) -> None:
        """Try a joint as another kind; its own kind takes that back."""
        joints = {**(self.trial.kinds if self.trial.joints is None else self.trial.joints)}
        joint = next((each for each in self.written.mechanism.joints if each.name == name), None)
        if joint is None:
            raise ModelError(f"there is no joint {name!r}")
        joints.pop(name, None)
        if kind != joint.kind:
            joints[name] = kind
        self._try(joints)

    def cure(self, number: int) -> None:
        """Try the changes of a proposal, the first being 0."""
        found = self.proposals
        if not 0 <= number < len(found):
            raise ModelError(f"there is no proposal {number}: there are {len(found)}")
        self._try(dict(change.argument.rpartition("=")[::2] for change in found[number].changes))

    def isostatic(self) -> None:
        """Try the smallest changes that the file can hold and that leave nothing redundant."""
        self._try(None)

    def undo(self) -> None:
        """Go back to what was tried before, or to the files as they were before they were saved."""
        if not self._before and self._saved:
            self._restore()
            return
        if not self._before:
            raise ModelError("nothing was tried before")
        joints = self._before[-1]
        self.trial = trial(self.path, self.written, joints, self._options)
        self._before.pop()
        self.version += 1

    def reset(self) -> None:
        """Take all changes back."""
        self._try({})

    def save(self, path: str | None = None) -> str:
        """Write what is tried, into its own place or elsewhere; returns the file or folder written.

        Elsewhere is below the folder of the model or the one that this program was started in: the
        name may come from a page, which has no say about other files.

        Raises:
            RegularizeError: Nothing is tried, the file cannot hold it, or cannot be written.
        """
        change = self.trial.change
        if change is None:
            raise RegularizeError(
                self.trial.refused or "nothing is tried: there is nothing to save"
            )
        if path is not None:
            self._check_place(path)
        before = {place: place.read_bytes() for place in map(Path, self.files) if place.is_file()}
        written = str(change.write(self.path if path is None else path))
        if path is None:
            self._saved.append(before)
            self._before.clear()
            self.trial = Trial({}, self.written)
            self.read_again()
        return written

    def read_again(self) -> None:
        """Read the files again, and keep what is tried where its joints still exist."""
        self.version += 1
        try:
            self._read()
            names = {joint.name for joint in self.written.mechanism.joints}
            joints = self.trial.joints
            if joints is not None:
                joints = {name: kind for name, kind in joints.items() if name in names}
            self.trial = trial(self.path, self.written, joints, self._options)
            self.error = ""
        except RegularizeError as error:
            self.error = str(error)

    def _check_place(self, path: str) -> None:
        """Refuse paths that the bench does not write to; raises ``RegularizeError``."""
        model = Path(self.written.mechanism.path or self.path)
        if not path.strip() or path.startswith("~"):
            raise RegularizeError(f"{path or 'save as'}: name a file, with its folder written out")
        try:
            place = Path(os.path.realpath(path))
            folder = place.is_dir() or path.endswith("/")
        except (OSError, ValueError) as error:
            raise RegularizeError(f"{path[:60]}: is no name of a file: {error}"[:200]) from error
        bases = (os.path.realpath(model.parent), os.path.realpath("."))
        if not any(place.is_relative_to(base) for base in bases):
            raise RegularizeError(
                f"{path}: the bench writes below the folders {' and '.join(dict.fromkeys(bases))}; "
                "`regularize fix` writes anywhere"
            )
        if not folder and place.suffix.lower() != model.suffix.lower():
            raise RegularizeError(f"{path}: the name of a model like this ends in {model.suffix}")

    def _restore(self) -> None:
        """Write the files as they were before the last time they were saved."""
        if not self.current:
            raise RegularizeError(
                "the files were changed since they were saved: they stay as they are"
            )
        known = {place: place.read_bytes() for place in self._saved[-1]}
        write_all(self._saved[-1], known)
        self._saved.pop()
        self.trial = Trial({}, self.written)
        self.read_again()

    def _try(self, joints: Mapping[str, str] | None) -> None:
        """Replace the trial, and remember the one before."""
        found = trial(self.path, self.written, joints, self._options)
        was = self.trial
        if joints != was.joints and not (found.diff and found.diff == was.diff):
            self._before.append(was.joints)
        self.trial = found
        self.version += 1

    def _read(self) -> None:
        """Read and check the model as it is written."""
        self.written = check(load(self.path, **self._options), trials=True)
        self._stamps = stamps(self.files)
