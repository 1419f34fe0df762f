"""Values of YAML files; a module of its own, for to load a YAML parser takes as long as a model."""

from __future__ import annotations

from contextlib import suppress
from typing import Any

import yaml

from regularize._io.input_files import read_bytes
from regularize.adapters.common.values import Value
from regularize.errors import ReadError
from regularize.mechanism.diagnostic import Source

#: Largest file that is read, in bytes: the parser takes some seconds for a million.
LARGEST = 2 * 1024 * 1024


class YamlValue(Value):
    """A value of a YAML file; ``raw`` is its node."""

    @property
    def source(self) -> Source:
        """Where it stands."""
        return Source(self.path, self.raw.start_mark.line + 1, self.where or None)

    @property
    def data(self) -> Any:
        """A mapping or a list of what is inside, or plain data; None for null."""
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
        return str(self.raw.value) if isinstance(self.raw, yaml.ScalarNode) else None

    @property
    def _numeral(self) -> Any:
        # YAML 1.1 takes numbers such as 1e-3 for words.
        data = self.data
        with suppress(ValueError):
            return float(data) if isinstance(data, str) else data
        return None


def read_yaml(path: str, expected: str) -> YamlValue:
    """The mapping that a YAML file holds.

    Raises:
        ReadError: The file is not YAML, or holds something else than is expected, in words.
    """
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
