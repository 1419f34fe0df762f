"""Where edited files go, how references between files are kept, and how they are read again."""

from __future__ import annotations

import os
import tempfile
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from os import PathLike, fspath
from pathlib import Path
from typing import Any

from regularize.adapters import read
from regularize.adapters.common.edits import Edit, EditedText
from regularize.adapters.common.patching import Patcher
from regularize.errors import ModelError, RegularizeError, UnsupportedExport
from regularize.mechanism.diagnostic import Source
from regularize.mechanism.mechanism import Mechanism
from regularize.repair.verification.writing import try_engine


@dataclass(frozen=True, eq=False)
class Placing:
    """The files of a model with some edits, on their way to a place."""

    patcher: Patcher
    edits: Sequence[Edit]
    #: The model file as it was read.
    main: str

    def diff(self) -> str:
        """Return what changes, as a unified difference of texts."""
        parts = []
        for path in self._edited:
            before = self.patcher.text(path)
            parts.append(before.diff(before.with_edits(self._of(path))))
        return "".join(parts)

    @property
    def _edited(self) -> list[str]:
        return list(dict.fromkeys(edit.path for edit in self.edits))

    def _of(self, path: str) -> list[Edit]:
        return [edit for edit in self.edits if edit.path == path]

    def files(self, target: Path) -> dict[Path, bytes]:
        """Return the files to write so that the model stands at a target, the model file last.

        In its own place that is what was edited. Elsewhere it is the model file with its references
        led back to where they led, and with it the files that were edited or that belong to it by
        their names.
        """
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
            place.write_bytes(data)
        return files

    def _beside(self, path: str, target: Path) -> Path | None:
        """Return where a further file goes; None for one that the model finds where it is."""
        main, source = Path(self.main), Path(path)
        if path in self.patcher.found_by_name():
            name = source.name
            if source.stem == main.stem:
                name = target.stem + source.suffix
            return target.with_name(name)
        if not self._of(path):
            return None
        if _same(target.parent, main.parent):
            return target.with_name(f"{target.stem}_{source.name}")
        return target.with_name(source.name)

    def _bytes(self, path: str, moved: Mapping[str, Path], target: Path | None) -> bytes:
        """Return a file with its edits, its references rewritten for the place of the model."""
        text = self.patcher.text(path)
        edits = self._of(path)
        if target is not None:
            edits += self._led_back(text, path, moved, target)
        return self.patcher.packed(path, text.with_edits(edits))

    def _led_back(
        self, text: EditedText, path: str, moved: Mapping[str, Path], target: Path
    ) -> list[Edit]:
        """Return edits after which references lead from the new place to where they led."""
        central = self.patcher.central
        old = Path(self.main if central else path).parent.resolve()
        new = (target if central else moved[path]).parent.resolve()
        places = {Path(source).resolve(): place.resolve() for source, place in moved.items()}
        found = []
        for start, end, reference in self.patcher.references(text):
            aim = (old / reference).resolve()
            led = os.path.relpath(places.get(aim, aim), new).replace(os.sep, "/")
            if reference.endswith("/"):
                led += "/"
            if os.path.normpath(reference) != os.path.normpath(led):
                found.append(Edit(text.path, start, end, led))
        return found


def _same(one: Path, other: Path) -> bool:
    return one.resolve() == other.resolve()


@contextmanager
def placed(patcher: Patcher, main: str, edits: Sequence[Edit]) -> Iterator[str]:
    """Write the model with some edits into a folder that is thrown away; its path there."""
    with tempfile.TemporaryDirectory(prefix="regularize-") as folder:
        Placing(patcher, edits, main).write(Path(folder))
        yield str(Path(folder) / Path(main).name)


@contextmanager
def read_changed(
    placing: Placing, before: Mechanism, options: Mapping[str, Any]
) -> Iterator[Mechanism]:
    """Read the changed model elsewhere, with the user's files as sources; raises ``ModelError``."""
    with tempfile.TemporaryDirectory(prefix="regularize-") as folder:
        files = placing.write(Path(folder))
        target = Path(folder) / Path(placing.main).name
        again = {**options, "format": before.format}
        if isinstance(again.get("loops"), (str, PathLike)):
            sidecar = Path(fspath(again["loops"]))
            moved = [place for place in files if place.name == sidecar.name]
            again["loops"] = str(moved[0] if moved else sidecar.resolve())
        try:
            after = read(target, **again)
            if _reads(Path(str(before.path)), before.format):
                try_engine(target, before.format)
        except RegularizeError as error:
            raise ModelError(
                f"{placing.main}: the changed file does not read: {error}; nothing is written"
            ) from error
        known = {
            Path(path).name: path for path in (*placing.patcher.mechanism.files[::-1], placing.main)
        }
        origins = {str(place): known.get(place.name, placing.main) for place in files}

        def named(source: Source | None) -> Source | None:
            if source is None:
                return None
            return replace(source, path=origins.get(source.path, source.path))

        yield replace(
            after,
            bodies=tuple(replace(body, source=named(body.source)) for body in after.bodies),
            joints=tuple(replace(joint, source=named(joint.source)) for joint in after.joints),
            findings=tuple(replace(each, source=named(each.source)) for each in after.findings),
        )


def _reads(path: Path, format: str) -> bool:
    """Say whether the program of a format reads a file."""
    try:
        try_engine(path, format)
    except UnsupportedExport:
        return False
    return True
