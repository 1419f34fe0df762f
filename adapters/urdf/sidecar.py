"""The YAML file that describes the loops of a Gepetto robot, with the line of every word."""

from __future__ import annotations

import os
import re
from collections.abc import Sized
from dataclasses import dataclass
from pathlib import Path

import yaml

from regularize.errors import ReadError
from regularize.model.diagnostic import Source

#: The key that tells such a file from other YAML files beside a model, at the top level.
KEY = re.compile(rb"^(?:\{\s*)?[\"']?closed_loop[\"']?\s*:", re.M)
CLOSURES = {"3d": "spherical", "6d": "fixed"}
UNIVERSAL = tuple(f"UJOINT_{a}{b}" for a in "XYZ" for b in "XYZ" if a != b)
TYPES = ("SPHERICAL", "FIXED", "CARDAN", *UNIVERSAL)


@dataclass(frozen=True)
class Entry:
    """One word of the YAML file and where it stands."""

    text: str
    source: Source

    def error(self, reason: str) -> ReadError:
        """The error to raise about this word."""
        return ReadError(
            self.source.path, reason, line=self.source.line, element=self.source.element
        )


@dataclass(frozen=True)
class Sidecar:
    """Content of the YAML file.

    Attributes:
        path: The file.
        closures: The two frames and the kind of each closing joint.
        types: Joints with the types that replace those of the URDF file.
        motors: Actuated joints; None where the file does not list them.
    """

    path: str
    closures: tuple[tuple[Entry, Entry, str], ...]
    types: tuple[tuple[Entry, Entry], ...]
    motors: tuple[Entry, ...] | None


def find(path: str, loops: str | os.PathLike[str] | bool | None) -> Sidecar | None:
    """The YAML file that describes the loops of a URDF file.

    Args:
        path: The URDF file.
        loops: The YAML file; None or True to look beside the URDF file for one of the same name,
            or for ``robot.yaml`` if the directory has no ``robot.urdf`` that it belongs to;
            False for none.

    Raises:
        ReadError: The file cannot be read.
    """
    if loops is False:
        return None
    if not isinstance(loops, bool) and loops is not None:
        return _parse(os.fspath(loops))
    model = Path(path)
    names = [model.stem + suffix for suffix in (".yaml", ".yml")]
    if not model.with_name("robot.urdf").exists():
        names += ["robot.yaml", "robot.yml"]
    for name in names:
        candidate = model.with_name(name)
        if candidate.is_file() and KEY.search(candidate.read_bytes()):
            return _parse(os.path.join(os.path.dirname(path), name))
    if loops:
        raise ReadError(path, f"no loop description {' or '.join(names)} beside it; name the file")
    return None


def _parse(path: str) -> Sidecar:
    try:
        root = yaml.compose(Path(path).read_bytes(), Loader=yaml.SafeLoader)
    except OSError as error:
        raise ReadError(path, f"cannot be opened: {error.strerror}; check the path") from error
    except (yaml.YAMLError, RecursionError) as error:
        mark = getattr(error, "problem_mark", None)
        reason = getattr(error, "problem", None) or "unreadable characters"
        line = None if mark is None else mark.line + 1
        raise ReadError(path, f"not YAML ({reason}); correct it there", line=line) from error
    if not isinstance(root, yaml.MappingNode):
        raise ReadError(path, "expected `closed_loop: [[frame, frame], ...]` and the like")
    values = {str(key.value): value for key, value in root.value}
    if "closed_loop" not in values:
        raise ReadError(
            path,
            "has no `closed_loop`, nor `closures`, `ball_loops`, `pin_loops` or `closing_joints`; "
            "list the pairs of frames that close loops",
        )
    pairs = [
        _pair(node, f"closed_loop[{i}]", path)
        for i, node in enumerate(_items(values["closed_loop"], "closed_loop", path))
    ]
    kinds = [_kind(entry) for entry in _words(values.get("type"), "type", path) or ()]
    if "type" not in values:
        kinds = ["fixed"] * len(pairs)
    _same_length("closed_loop", pairs, "type", kinds, path)
    joints = _words(values.get("joint_name"), "joint_name", path) or ()
    types = _words(values.get("joint_type"), "joint_type", path) or ()
    _same_length("joint_name", joints, "joint_type", types, path)
    for entry in types:
        if entry.text not in TYPES:
            raise entry.error(f"type {entry.text!r} is unknown; expected one of {', '.join(TYPES)}")
    return Sidecar(
        path,
        tuple((*pair, kind) for pair, kind in zip(pairs, kinds, strict=True)),
        tuple(zip(joints, types, strict=True)),
        _words(values.get("name_mot"), "name_mot", path),
    )


def _items(node: yaml.Node, element: str, path: str) -> list[yaml.Node]:
    if not isinstance(node, yaml.SequenceNode):
        line = node.start_mark.line + 1
        raise ReadError(path, "expected a list in [ ]", line=line, element=element)
    return list(node.value)


def _words(node: yaml.Node | None, element: str, path: str) -> tuple[Entry, ...] | None:
    if node is None:
        return None
    words = []
    for i, item in enumerate(_items(node, element, path)):
        source = Source(path, item.start_mark.line + 1, f"{element}[{i}]")
        if not isinstance(item, yaml.ScalarNode):
            raise Entry("", source).error("expected a name, found a list or a mapping")
        words.append(Entry(str(item.value), source))
    return tuple(words)


def _pair(node: yaml.Node, element: str, path: str) -> tuple[Entry, Entry]:
    words = _words(node, element, path) or ()
    if len(words) != 2:
        line = node.start_mark.line + 1
        reason = f"expected a pair of frames, found {len(words)}; write [frame, frame]"
        raise ReadError(path, reason, line=line, element=element)
    return words[0], words[1]


def _kind(entry: Entry) -> str:
    if entry.text.lower() not in CLOSURES:
        raise entry.error(f"type {entry.text!r} is unknown; expected one of {', '.join(CLOSURES)}")
    return CLOSURES[entry.text.lower()]


def _same_length(one: str, ones: Sized, other: str, others: Sized, path: str) -> None:
    if len(ones) != len(others):
        reason = f"`{one}` has {len(ones)} entries and `{other}` {len(others)}; give one for one"
        raise ReadError(path, reason)
