"""The metamodel of the text, with its ways into files and onto controllers."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from regularize.arguments import checked
from regularize.metamodels.c_source import to_c
from regularize.metamodels.file import read, to_bytes
from regularize.metamodels.polynomials import BoxPolynomials


@dataclass(frozen=True, eq=False, repr=False)
class Metamodel(BoxPolynomials):
    """Quadratic polynomials on boxes, for files and controllers; see ``BoxPolynomials``."""

    @checked
    def save(self, path: str | Path) -> None:
        """Write a NumPy archive that ``Metamodel.load`` reads."""
        Path(path).write_bytes(to_bytes(self))

    @classmethod
    def load(cls, path: str | Path) -> Metamodel:
        """Read what ``save`` has written; raises ``ReadError`` for other files."""
        return cls(**read(path))

    @checked
    def to_c(self, name: str = "metamodel") -> str:
        """C99 source for a controller; see ``c_source``."""
        return to_c(self, name)
