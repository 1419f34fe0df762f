"""An object in memory as a file of its own format: how it is read and changed.

Where the object's library writes and reads a format that is known here, the object goes through
it: the names are the same, and the edits are those of files.
"""

from __future__ import annotations

import tempfile
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from typing import Any

from regularize.adapters.reading import read
from regularize.errors import ReadError, RegularizeError
from regularize.mechanism.diagnostic import Source
from regularize.mechanism.mechanism import Mechanism

#: Parts of a mechanism that say where they come from.
PLACED = ("bodies", "joints", "couplings", "actuators", "findings")


def placed(mechanism: Mechanism, place: Callable[[Source | None], Source | None]) -> Mechanism:
    """A mechanism whose parts stand in an object, and in no file."""
    named: dict[str, Any] = {
        part: tuple(replace(x, source=place(x.source)) for x in getattr(mechanism, part))
        for part in PLACED
    }
    return replace(mechanism, path=None, **named)


class ObjectDocument(ABC):
    """An object that is written to a file, and made of one again.

    Attributes:
        format: Name of the file's format.
        label: What messages call the object in the place of a file name.
    """

    format: str
    label: str

    @abstractmethod
    def write(self, folder: Path) -> Path:
        """Write the object to a file in a folder; returns the file."""

    @abstractmethod
    def parse(self, path: Path) -> Any:
        """A new object of the same type from a file."""

    def line(self, line: int | None) -> int | None:
        """The line of the user's own text that a line of the file is; None where there is none."""
        return None

    def source(self, source: Source | None) -> Source | None:
        """Where something stands in the object."""
        return source and Source(self.label, self.line(source.line), source.element)

    def placed(self, mechanism: Mechanism) -> Mechanism:
        """A mechanism whose parts stand in the object."""
        return placed(mechanism, self.source)

    @contextmanager
    def written(self) -> Iterator[Path]:
        """The object as a file for a while; errors name the object in its place."""
        with tempfile.TemporaryDirectory(prefix="regularize-") as folder:
            path = str(self.write(Path(folder)))
            try:
                yield Path(path)
            except ReadError as error:
                line, reason = self.line(error.line), error.reason.replace(path, self.label)
                raise ReadError(self.label, reason, line=line, element=error.element) from None
            except RegularizeError as error:
                error.args = tuple(str(each).replace(path, self.label) for each in error.args)
                raise

    def read(self, **options: Any) -> Mechanism:
        """The mechanism of the object."""
        with self.written() as path:
            return self.placed(read(path, format=self.format, **options))
