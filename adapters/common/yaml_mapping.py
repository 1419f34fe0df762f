"""A mapping of a YAML file that knows where it stands, for readers of loop descriptions."""

from __future__ import annotations

import math
from pathlib import Path

import numpy as np
import yaml

from regularize.adapters.common.draft import Draft
from regularize.adapters.common.names import suggestion
from regularize.adapters.common.pose import rotation_between
from regularize.errors import ReadError
from regularize.lie.screw import Array, unit
from regularize.model.diagnostic import Source


class YamlMapping:
    """Keys and values of one mapping, with the line of each.

    Attributes:
        path: The file.
        line: Line on which the mapping starts, counted from 1.
        element: Where the mapping stands, such as ``closures[0]``; empty at the top.
    """

    def __init__(self, node: yaml.MappingNode, path: str, element: str = "") -> None:
        """Wrap a node of the file's tree."""
        self.path, self.line, self.element = path, node.start_mark.line + 1, element
        self._values = {str(key.value): value for key, value in node.value}

    @property
    def source(self) -> Source:
        """Where the mapping stands."""
        return Source(self.path, self.line, self.element or None)

    def source_of(self, key: str) -> Source:
        """Where the value of a key stands; the mapping where there is none."""
        node = self._values.get(key)
        line = self.line if node is None else node.start_mark.line + 1
        return Source(self.path, line, "/".join(filter(None, (self.element, key))))

    def error(self, reason: str, key: str | None = None) -> ReadError:
        """The error to raise about this mapping, or about one of its keys."""
        source = self.source if key is None else self.source_of(key)
        return ReadError(self.path, reason, line=source.line, element=self.element or None)

    def value(self, key: str) -> object:
        """The value of a key as plain Python data; None where there is none."""
        node = self._values.get(key)
        if node is None:
            return None
        try:
            value: object = yaml.SafeLoader("").construct_document(node)
        except (yaml.YAMLError, ValueError, RecursionError) as error:
            raise self.error(f"`{key}` holds a value that plain YAML does not have", key) from error
        return value

    def entries(self, key: str) -> list[YamlMapping]:
        """The mappings of a list; none where the key is missing or its value is empty."""
        node = self._values.get(key)
        if node is None or not node.value or (isinstance(node, yaml.ScalarNode) and _is_null(node)):
            return []
        if not isinstance(node, yaml.SequenceNode):
            raise self.error(f"`{key}` is not a list of mappings; start each with `- `", key)
        found = []
        for i, each in enumerate(node.value):
            if not isinstance(each, yaml.MappingNode):
                raise self.error(f"`{key}[{i}]` is no mapping; write `key: value` pairs", key)
            found.append(YamlMapping(each, self.path, f"{key}[{i}]"))
        return found

    def child(self, key: str) -> YamlMapping | None:
        """The mapping that is the value of a key; None where there is none."""
        node = self._values.get(key)
        if not isinstance(node, yaml.MappingNode):
            return None
        return YamlMapping(node, self.path, "/".join(filter(None, (self.element, key))))

    def named(self, key: str) -> dict[str, YamlMapping]:
        """The mappings of a mapping, by name; others are left out."""
        parent = self.child(key)
        if parent is None:
            return {}
        found = {name: parent.child(name) for name in parent._values}
        return {name: each for name, each in found.items() if each is not None}

    def words(self, key: str) -> list[str]:
        """The words of a list; none where the key is missing."""
        values = self.value(key)
        return [str(each) for each in values] if isinstance(values, list) else []

    def text(self, key: str) -> str | None:
        """A value as text; None where there is none."""
        value = self.value(key)
        return None if value is None or value == "" else str(value)

    def need(self, key: str) -> str:
        """A value as text; raises ``ReadError`` where there is none."""
        value = self.text(key)
        if value is None:
            raise self.error(f"`{key}` is missing; add it")
        return value

    def link(self, key: str, draft: Draft) -> str:
        """Name of a link of the model; raises ``ReadError`` for another one."""
        name = self.need(key)
        if name not in draft.bodies:
            way_out = suggestion(name, draft.bodies)
            raise self.error(
                f"`{key}` names {name!r}, which is no link of the URDF file{way_out}", key
            )
        return name

    def vector(self, key: str, default: tuple[float, float, float] | None = None) -> Array:
        """Three numbers, shape (3,); raises ``ReadError`` for anything else."""
        values = self.value(key)
        if values is None and default is not None:
            return np.array(default)
        if values is None:
            raise self.error(f"`{key}` is missing; give a list of three numbers")
        numbers = [_number(each) for each in values] if isinstance(values, list) else []
        found = [each for each in numbers if each is not None]
        if len(numbers) != 3 or len(found) != 3:
            raise self.error(f"`{key}` is not a list of three numbers: {values!r:.60}", key)
        return np.array(found)

    def number(self, key: str) -> float | None:
        """A finite number; None where there is none, ``ReadError`` for anything else."""
        value = self.value(key)
        number = _number(value)
        if value is not None and number is None:
            raise self.error(f"`{key}` is not a number: {value!r:.60}", key)
        return number

    def turn(self, key: str) -> Array:
        """The rotation that turns Z into an axis of the file, shape (3, 3)."""
        axis = self.vector(key)
        try:
            return rotation_between(np.array([0.0, 0.0, 1.0]), unit(axis))
        except ValueError:
            reason = f"`{key}` has no length; give a direction such as [0, 0, 1]"
            raise self.error(reason, key) from None


def _is_null(node: yaml.ScalarNode) -> bool:
    return str(node.tag).endswith(":null")


def _number(value: object) -> float | None:
    """A finite number, also one such as ``1e-3`` that YAML 1.1 takes for a word."""
    if isinstance(value, bool) or not isinstance(value, int | float | str):
        return None
    try:
        number = float(value)
    except ValueError:
        return None
    return number if math.isfinite(number) else None


def read_yaml(file: str, expected: str) -> YamlMapping:
    """The mapping at the top of a YAML file.

    Args:
        file: The file.
        expected: What the file should hold, for the error message.

    Raises:
        ReadError: The file cannot be read, or holds something else.
    """
    try:
        root = yaml.compose(Path(file).read_bytes(), Loader=yaml.SafeLoader)
    except (OSError, yaml.YAMLError, RecursionError) as error:
        mark = getattr(error, "problem_mark", None)
        line = None if mark is None else mark.line + 1
        raise ReadError(file, "not YAML that can be read; correct it there", line=line) from error
    if not isinstance(root, yaml.MappingNode):
        raise ReadError(file, f"expected {expected}")
    return YamlMapping(root, file)
