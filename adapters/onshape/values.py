"""JSON of Onshape, with the place of every fault."""

from __future__ import annotations

import json
import math
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from regularize.errors import ReadError
from regularize.lie.screw import Array, transform
from regularize.model.diagnostic import Source

#: Largest file that is read, in bytes.
LARGEST = 256 * 1024 * 1024


@dataclass(frozen=True)
class Value:
    """A value of the file that knows where it stands.

    Attributes:
        path: The file as the user named it.
        where: Place in the file, such as ``rootAssembly/features[3]``.
        raw: The value.
    """

    path: str
    where: str
    raw: Any

    @property
    def source(self) -> Source:
        """Where the value stands."""
        return Source(self.path, None, self.where)

    def error(self, reason: str) -> ReadError:
        """The error to raise about this value."""
        return ReadError(self.path, reason, element=self.where or None)

    def get(self, key: str) -> Value:
        """The entry of an object; its ``raw`` is None where there is none."""
        if not isinstance(self.raw, dict):
            raise self.error(f"is no object, so it has no {key!r}; export the assembly again")
        return Value(self.path, f"{self.where}/{key}".lstrip("/"), self.raw.get(key))

    def each(self, key: str) -> Iterator[Value]:
        """Entries of a list; none where it is absent."""
        found = self.get(key)
        if found.raw is None:
            return
        if not isinstance(found.raw, list):
            raise found.error("is no list; export the assembly again")
        for k, entry in enumerate(found.raw):
            yield Value(self.path, f"{found.where}[{k}]", entry)

    def text(self, key: str, default: str | None = None) -> str:
        """A string; raises ``ReadError`` if it is absent and has no default."""
        found = self.get(key)
        if isinstance(found.raw, str):
            return found.raw
        if default is None:
            raise found.error("is absent or no text; export the assembly again")
        return default

    def names(self, key: str) -> tuple[str, ...]:
        """A list of strings, such as the path of an occurrence."""
        found = self.get(key)
        if not isinstance(found.raw, list) or not all(isinstance(n, str) for n in found.raw):
            raise found.error("is no list of names; export the assembly again")
        return tuple(found.raw)

    def number(self, key: str) -> float:
        """A finite number."""
        found = self.get(key)
        if isinstance(found.raw, bool) or not isinstance(found.raw, (int, float)):
            raise found.error("is absent or no number; correct it")
        if not math.isfinite(found.raw):
            raise found.error("is not finite; correct it")
        return float(found.raw)

    def numbers(self, key: str, count: int) -> Array:
        """A list of finite numbers, shape (count,)."""
        found = self.get(key)
        values = found.raw
        if not isinstance(values, list) or len(values) != count:
            raise found.error(f"is no list of {count} numbers; export the assembly again")
        if not all(isinstance(v, (int, float)) and math.isfinite(v) for v in values):
            raise found.error("holds something that is no finite number; correct it")
        return np.array(values, dtype=np.float64)

    def flag(self, key: str) -> bool:
        """Whether an entry is true."""
        return self.get(key).raw is True

    def rigid(self, R: Array, p: Array) -> Array:
        """Transform of a rotation as written, made exactly orthogonal, and a translation."""
        u, s, vt = np.linalg.svd(R)
        if np.max(np.abs(s - 1.0)) > 1e-3 or np.linalg.det(R) < 0.0:
            raise self.error("is no rotation: its axes are not perpendicular unit vectors")
        return transform(u @ vt, p)


def load(path: str) -> Value:
    """The value that a JSON file holds.

    Raises:
        ReadError: The file cannot be read, is no JSON, is too large or too deeply nested.
    """
    try:
        size = Path(path).stat().st_size
        if size > LARGEST:
            raise ReadError(path, f"has {size} bytes, more than the {LARGEST} that are read")
        return Value(path, "", json.loads(Path(path).read_bytes()))
    except OSError as error:
        raise ReadError(path, f"cannot be opened: {error.strerror}; check the path") from error
    except json.JSONDecodeError as error:
        reason = f"is no JSON ({error.msg}); the file may be cut off"
        raise ReadError(path, reason, line=error.lineno) from error
    except UnicodeDecodeError as error:
        raise ReadError(path, f"byte {error.start} is not UTF-8; export it again") from error
    except RecursionError:
        raise ReadError(path, "is nested too deeply to be read safely") from None
