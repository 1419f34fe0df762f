"""A model that is being typed, as a file: its text, with links to all that lies around its place.

Readers and the programs behind them open files. What is not saved yet stands in a folder of its
own, from which sidecars, meshes and included files are found by the same relative names; nothing
is put into the user's folder.
"""

from __future__ import annotations

import contextlib
import os
import tempfile
from pathlib import Path

#: Entries of a folder that are linked; of larger ones only these, and the rest is not found.
MOST = 2000


class Mirror:
    """The place of one document.

    Args:
        path: Where the document is, or will be, saved.
    """

    def __init__(self, path: Path) -> None:
        self.path = path
        self._folder = tempfile.TemporaryDirectory(prefix="regularize-editor-")
        top = Path(self._folder.name)
        self._place = top / "folder" / path.name
        self._place.parent.mkdir()
        self._link(path.parent.parent, top, path.parent.name)
        self._link(path.parent, self._place.parent, path.name)

    @staticmethod
    def _link(source: Path, target: Path, left_out: str) -> None:
        with contextlib.suppress(OSError):  # folders that are not there, or cannot be read
            for entry in sorted(os.listdir(source))[:MOST]:
                if entry != left_out and not (target / entry).exists():
                    (target / entry).symlink_to(source / entry)

    def put(self, text: str) -> Path:
        """The file with a text."""
        self._link(self.path.parent, self._place.parent, self.path.name)  # what has come since
        self._place.write_text(text, encoding="utf-8", newline="")
        return self._place

    def real(self, path: str) -> Path:
        """The user's own file that a path in the mirror leads to."""
        place = Path(path)
        return self.path if place == self._place else place.resolve()

    def named(self, text: str) -> str:
        """A message with the user's names of files."""
        words = text.replace(str(self._place), self.path.name)
        return words.replace(f"{self._place.parent}{os.sep}", "")

    def close(self) -> None:
        """Take it away."""
        self._folder.cleanup()
