"""Things that know where they stand in the user's files, so that every fault names the place."""

from __future__ import annotations

import json
import math
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Mapping
from contextlib import suppress
from dataclasses import dataclass
from typing import Any, TypeVar, overload

import numpy as np
from numpy.typing import ArrayLike

from regularize.adapters.common.input_files import read_bytes
from regularize.adapters.common.quantities import rotation_quaternion
from regularize.errors import ModelError, ReadError
from regularize.escape import FileText, suggestion
from regularize.lie.arrays import Array
from regularize.lie.screw import unit
from regularize.mechanism.diagnostic import Source
from regularize.mechanism.quantity import TOLERANCE

#: A rotation is as written up to the rounding of three decimals.
ROUNDED = 1e-3


class Located(ABC):
    """A piece of a file that raises errors with file, line and element."""

    @property
    @abstractmethod
    def source(self) -> Source:
        """File, line and element, for messages."""

    def error(self, reason: str) -> ReadError:
        """Return the error with a reason and this place."""
        source = self.source
        return ReadError(source.path, reason, line=source.line, element=source.element)

    def one_of(self, word: str, expected: Iterable[str], what: str = "type") -> str:
        """Return a word if it is one of those expected; raises ``ReadError`` otherwise."""
        expected = [*expected]
        if word not in expected:
            raise self.error(f"{what} {word!r} is unknown; expected one of {', '.join(expected)}")
        return word

    def direction(self, axis: ArrayLike, example: str = "0 0 1") -> Array:
        """Return the unit vector of an axis; raises ``ReadError`` for one without length."""
        try:
            return unit(axis)
        except ValueError:
            raise self.error(
                f"the axis has no length; give a direction such as {example}"
            ) from None

    def rotation(self, R: Array) -> Array:
        """Return the rotation nearest to a matrix that is nearly one, shape (3, 3)."""
        u, s, vt = np.linalg.svd(R)
        if np.max(np.abs(s - 1.0)) > ROUNDED or np.linalg.det(R) < 0.0:
            raise self.error("is no rotation: its axes are not perpendicular unit vectors")
        return np.asarray(u @ vt)

    def quaternion(
        self, x: float, y: float, z: float, w: float, *, name: str = "the quaternion"
    ) -> Array:
        """Return the rotation of a quaternion, shape (3, 3); ``ReadError`` for zero."""
        try:
            return rotation_quaternion(x, y, z, w)
        except ValueError:
            raise self.error(f"{name} is zero; give a unit quaternion") from None


class FilePlace(Located):
    """A place in a file that another library reads, such as a prim of a stage."""

    def __init__(self, path: str, element: str | None = None, line: int | None = None) -> None:
        self._source = Source(path, line, FileText(element or "") or None)

    @property
    def source(self) -> Source:
        """File, line and element."""
        return self._source


T = TypeVar("T")


@dataclass(frozen=True, eq=False, repr=False)
class Value(Located):
    """A value in a JSON or YAML file."""

    raw: Any  # data of JSON; in a subclass what another parser makes of a file
    path: str
    where: str = ""  # such as ``joints[2]/position``; empty at the top

    @property
    def source(self) -> Source:
        """Place of the value in its file, for messages."""
        return Source(self.path, None, FileText(self.where) or None)

    @property
    def data(self) -> Any:
        """Content as a mapping or a list of nodes, or as plain data; None for null."""
        return self.raw

    def _expected(self, what: str) -> ReadError:
        data = self.data
        if isinstance(data, dict | list):
            shown = "a mapping" if isinstance(data, dict) else "a list"
        else:
            shown = f"{data!r:.40}"
        return self.error(f"expected {what}, found {shown}")

    def _at(self, key: str, raw: Any) -> Value:
        return type(self)(raw, self.path, f"{self.where}/{key}" if self.where else key)

    def _members(self) -> Mapping[str, Any]:
        members = self.data
        if not isinstance(members, dict):
            raise self.error("expected an object in { }, of keys and values")
        return members

    def __getitem__(self, key: str) -> Value:
        """Return a member of a mapping; raises ``ReadError`` where it is absent or null."""
        member = self.get(key)
        if member is None:
            others = [name for name in self._members() if name != key]
            raise self.error(f"has no {key!r}{suggestion(key, others)}")
        return member

    def get(self, key: str) -> Value | None:
        """Return a member of a mapping, or None where it is absent or null."""
        raw = self._members().get(key)
        member = None if raw is None else self._at(key, raw)
        return None if member is None or member.data is None else member

    @overload
    def maybe(self, key: str, read: Callable[[Value], T]) -> T | None: ...

    @overload
    def maybe(self, key: str, read: Callable[[Value], T], default: T) -> T: ...

    def maybe(self, key: str, read: Callable[[Value], T], default: T | None = None) -> T | None:
        """Read a member by a function; the default where it is absent or null."""
        member = self.get(key)
        return default if member is None else read(member)

    def members(self, key: str) -> dict[str, Value]:
        """Return keys and values of a mapping that is a member; none where it is absent."""
        member = self.get(key)
        if member is None:
            return {}
        return {name: member._at(name, raw) for name, raw in member._members().items()}

    def items(self) -> list[Value]:
        """Return the entries of a list."""
        entries = self.data
        if not isinstance(entries, list):
            raise self.error("expected a list in [ ]")
        kind = type(self)
        return [kind(raw, self.path, f"{self.where}[{i}]") for i, raw in enumerate(entries)]

    def each(self, key: str) -> list[Value]:
        """Return the entries of a list that is a member of a mapping; none where it is absent."""
        return self.maybe(key, Value.items) or []

    @property
    def _numeral(self) -> Any:
        """The data that ``number`` converts."""
        return self.raw

    @property
    def _word(self) -> str | None:
        """The data if it is a string, else None."""
        return self.raw if isinstance(self.raw, str) else None

    def text(self) -> str:
        """Return a string; in YAML any word."""
        word = self._word
        if word is None:
            raise self._expected("a string")
        return word

    def texts(self) -> list[str]:
        """Return a list of strings."""
        return [entry.text() for entry in self.items()]

    def flag(self) -> bool:
        """Return true or false."""
        data = self.data
        if not isinstance(data, bool):
            raise self._expected("true or false")
        return data

    def number(self) -> float:
        """Return a finite number."""
        data = self._numeral
        try:
            number = float(data) if isinstance(data, int | float) else math.nan
        except OverflowError:
            number = math.nan
        if isinstance(data, bool) or not math.isfinite(number):
            raise self._expected("a finite number")
        return number

    def integer(self) -> int:
        """Return a whole number."""
        data = self.data
        if not isinstance(data, int) or isinstance(data, bool):
            raise self._expected("a whole number")
        return data

    def numbers(self, *shape: int) -> Array:
        """Return nested numbers of a shape; -1 stands for any count."""
        if not shape:
            return np.array(self.number())
        if len(shape) == 1 and isinstance(self.raw, list) and {*map(type, self.raw)} == {float}:
            row = np.array(self.raw)
            if shape[0] in (-1, len(row)) and np.isfinite(row).all():
                return row  # the way of most rows; any other is looked at one by one
        entries = self.items()
        if shape[0] >= 0 and len(entries) != shape[0]:
            raise self.error(f"expected {shape[0]} entries, found {len(entries)}")
        return np.array([entry.numbers(*shape[1:]) for entry in entries], dtype=np.float64)


def read_json(path: str) -> Value:
    """Parse a JSON file; raises ``ReadError`` if it is not well-formed."""
    try:
        return Value(json.loads(read_bytes(path).decode("utf-8-sig")), path)
    except json.JSONDecodeError as error:
        reason = f"not well-formed JSON ({error.msg.lower()}); the file may be cut off"
        raise ReadError(path, reason, line=error.lineno) from error
    except UnicodeDecodeError as error:
        raise ReadError(path, f"byte {error.start} is not UTF-8; save the file so") from error
    except RecursionError as error:
        raise ReadError(path, "is nested too deeply (more than about 1000 levels)") from error


def read_tolerance(value: Value) -> tuple[float, float]:
    """Read a length and an angle in metres and radians from a list, a mapping or a text."""
    data = value.data
    if isinstance(data, list):
        data = [entry.data for entry in value.items()]
    elif isinstance(data, dict):
        data = {key: value[key].data for key in data}
    try:
        return TOLERANCE.pair(data)
    except ModelError as error:
        raise value.error(str(error)) from error


#: Largest file that is read, in bytes: the parser takes some seconds for a million.
LARGEST = 2 * 1024 * 1024


class YamlValue(Value):
    """A value of a YAML file; ``raw`` is its node."""

    @property
    def source(self) -> Source:
        """Place of the value in its file, for messages."""
        return Source(self.path, self.raw.start_mark.line + 1, FileText(self.where) or None)

    @property
    def data(self) -> Any:
        """Content as a mapping or a list of nodes, or as plain data; None for null."""
        import yaml  # where there is such a file: to load it takes as long as a model

        node = self.raw
        if isinstance(node, yaml.MappingNode):
            return {str(key.value): value for key, value in node.value}
        if isinstance(node, yaml.SequenceNode):
            return node.value
        try:
            return yaml.SafeLoader("").construct_document(node)
        except (yaml.YAMLError, ValueError) as error:
            raise self.error("holds a value that plain YAML does not have") from error

    @property
    def _word(self) -> str | None:
        return str(self.raw.value) if self.raw.id == "scalar" else None

    @property
    def _numeral(self) -> Any:
        # YAML 1.1 takes numbers such as 1e-3 for words.
        data = self.data
        with suppress(ValueError):
            return float(data) if isinstance(data, str) else data
        return None


def read_yaml(path: str, expected: str) -> YamlValue:
    """Parse a YAML file that holds a mapping."""
    import yaml  # as above

    data = read_bytes(path)
    if len(data) > LARGEST:
        raise ReadError(path, f"has {len(data)} bytes, more than the {LARGEST} read of YAML")
    try:
        root = yaml.compose(data, Loader=yaml.SafeLoader)
    except (yaml.YAMLError, RecursionError) as error:
        mark = getattr(error, "problem_mark", None)
        reason = getattr(error, "problem", None) or "unreadable characters"
        line = None if mark is None else mark.line + 1
        raise ReadError(path, f"not YAML ({reason}); correct it there", line=line) from error
    if not isinstance(root, yaml.MappingNode):
        raise ReadError(path, f"expected {expected}")
    return YamlValue(root, path)
