"""JSON values that know where they stand, so that faults can be named."""

from __future__ import annotations

import json
import sys
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from regularize.adapters.common.names import suggestion
from regularize.errors import ReadError
from regularize.lie.screw import Array


@dataclass(frozen=True)
class Value:
    """A value of the file that knows where it stands, such as ``joints[2]/position``."""

    data: Any
    path: str
    where: str

    def error(self, reason: str) -> ReadError:
        """The error to raise about this value."""
        return ReadError(self.path, reason, element=self.where or None)

    def __getitem__(self, key: str) -> Value:
        """A member of an object; raises ``ReadError`` without it."""
        entries = self._entries()
        if key not in entries:
            raise self.error(f"has no {key!r}{suggestion(key, entries)}")
        return self._at(key, entries[key])

    def _at(self, key: str, data: Any) -> Value:
        return Value(data, self.path, f"{self.where}/{key}" if self.where else key)

    def _entries(self) -> Mapping[str, Any]:
        if not isinstance(self.data, dict):
            raise self.error("expected an object in { }")
        return self.data

    def get(self, key: str) -> Value | None:
        """A member of an object, or None where it is absent or null."""
        data = self._entries().get(key)
        return None if data is None else self._at(key, data)

    def items(self) -> list[Value]:
        """The entries of a list."""
        if not isinstance(self.data, list):
            raise self.error("expected a list in [ ]")
        return [Value(d, self.path, f"{self.where}[{i}]") for i, d in enumerate(self.data)]

    def text(self) -> str:
        """A string."""
        if not isinstance(self.data, str):
            raise self.error(f"expected a string, found {self.data!r:.40}")
        return self.data

    def flag(self) -> bool:
        """True or false."""
        if not isinstance(self.data, bool):
            raise self.error(f"expected true or false, found {self.data!r:.40}")
        return self.data

    def number(self) -> float:
        """A finite number."""
        good = isinstance(self.data, int | float) and not isinstance(self.data, bool)
        if not good or not abs(self.data) <= sys.float_info.max:
            raise self.error(f"expected a finite number, found {self.data!r:.40}")
        return float(self.data)

    def integer(self) -> int:
        """A whole number."""
        if not isinstance(self.data, int) or isinstance(self.data, bool):
            raise self.error(f"expected a whole number, found {self.data!r:.40}")
        return self.data

    def numbers(self, *shape: int) -> Array:
        """Numbers nested as the shape says; -1 stands for any count."""
        if not shape:
            return np.array(self.number())
        entries = self.items()
        if shape[0] >= 0 and len(entries) != shape[0]:
            raise self.error(f"expected {shape[0]} entries, found {len(entries)}")
        return np.array([entry.numbers(*shape[1:]) for entry in entries], dtype=np.float64)


def load(path: str) -> Value:
    """The root of a JSON file; raises ``ReadError`` if it is not well-formed."""
    try:
        with open(path, encoding="utf-8-sig") as file:
            data = json.load(file)
    except OSError as error:
        raise ReadError(path, f"cannot be opened: {error.strerror}; check the path") from error
    except json.JSONDecodeError as error:
        reason = f"not well-formed JSON ({error.msg.lower()}); the file may be cut off"
        raise ReadError(path, reason, line=error.lineno) from error
    except UnicodeDecodeError as error:
        raise ReadError(path, "is not UTF-8; save it so") from error
    except RecursionError as error:
        raise ReadError(path, "is nested too deeply (more than about 1000 levels)") from error
    return Value(data, path, "")
