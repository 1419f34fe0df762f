"""Where edited files go, and how the references between files are kept."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from regularize.adapters.common.edits import Edit, EditedText
from regularize.adapters.common.patching import Patcher
from regularize.errors import RegularizeError


@dataclass(frozen=True, eq=False)
class Placing:
    """Files of a model on their way to a place."""

    patcher: Patcher
    edits: Sequence[Edit]
    main: str

    @property
    def edited(self) -> list[str]:
        """The files that change, the model file first if it does."""
        return list(dict.fromkeys(edit.path for edit in self.edits))

    def diff(self) -> str:
        """What changes, as a unified difference of texts."""
        parts = []
        for path in self.edited:
            before = self.patcher.text(path)
            parts.append(before.diff(before.with_edits(self._of(path))))
        return "".join(parts)

    def _of(self, path: str) -> list[Edit]:
        return [edit for edit in self.edits if edit.path == path]

    def files(self, target: Path) -> dict[Path, bytes]:
        """The files to write so that the model stands at a target, the model file last.

        In its own place that is what was edited. Elsewhere it is the model file with its references
        led back to where they led, and with it the files that were edited or that belong to it by
        their names.
        """
        if _same(target, Path(self.main)):
            return {Path(path): self._bytes(path, {}, None) for path in self.edited}
        moved = {self.main: target}
        for path in dict.fromkeys((*self.patcher.mechanism.files, *self.edited)):
            place = self._beside(path, target)
            if place is not None and path != self.main:
                moved[path] = place
        kept = {path: place for path, place in moved.items() if not _same(place, Path(path))}
        if len(kept) < len(moved):
            twice = [path for path in moved if path not in kept and self._of(path)]
            if twice:
                raise RegularizeError(
                    f"{twice[0]}: would have to change in its own place; write the model to "
                    "another folder, or edit it in place"
                )
        order = [*(path for path in kept if path != self.main), self.main]
        return {kept[path]: self._bytes(path, moved, target) for path in order}

    def _beside(self, path: str, target: Path) -> Path | None:
        """Where a further file goes; None for one that the model can refer to where it is."""
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
        """A file with its edits, its references rewritten for the place of the model."""
        text = self.patcher.text(path)
        edits = self._of(path)
        if target is not None:
            edits += self._led_back(text, path, moved, target)
        return self.patcher.packed(path, text.with_edits(edits))

    def _led_back(
        self, text: EditedText, path: str, moved: Mapping[str, Path], target: Path
    ) -> list[Edit]:
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
