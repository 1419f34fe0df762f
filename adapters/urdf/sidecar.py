"""The YAML file that describes the loops of a Gepetto robot, with the line of every word."""

from __future__ import annotations

import re
from dataclasses import dataclass

from regularize.adapters.common.values import Value, read_yaml

#: The key that tells such a file from other YAML files beside a model, at the top level.
KEY = re.compile(rb"^(?:\{\s*)?[\"']?closed_loop[\"']?\s*:", re.M)
CLOSURES = {"3d": "spherical", "6d": "fixed"}
UNIVERSAL = tuple(f"UJOINT_{a}{b}" for a in "XYZ" for b in "XYZ" if a != b)
TYPES = ("SPHERICAL", "FIXED", "CARDAN", *UNIVERSAL)


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
    closures: tuple[tuple[Value, Value, str], ...]
    types: tuple[tuple[Value, Value], ...]
    motors: tuple[Value, ...] | None


def parse(path: str) -> Sidecar:
    """Content of a file; raises ``ReadError`` if it is no such description."""
    root = read_yaml(path, "`closed_loop: [[frame, frame], ...]` and the like")
    if root.get("closed_loop") is None:
        raise root.error(
            "has no `closed_loop`, nor `closures`, `ball_loops`, `pin_loops` or `closing_joints`; "
            "list the pairs of frames that close loops"
        )
    pairs = [_pair(entry) for entry in root["closed_loop"].items()]
    kinds = [entry.one_of(entry.text().lower(), CLOSURES) for entry in _words(root, "type") or ()]
    if root.get("type") is None:
        kinds = ["6d"] * len(pairs)
    joints, types = _words(root, "joint_name") or (), _words(root, "joint_type") or ()
    for one, ones, other, others in (
        ("closed_loop", pairs, "type", kinds),
        ("joint_name", joints, "joint_type", types),
    ):
        if len(ones) != len(others):
            raise root.error(
                f"`{one}` has {len(ones)} entries and `{other}` {len(others)}; give one for one"
            )
    for entry in types:
        entry.one_of(entry.text(), TYPES)
    closures = tuple((*pair, CLOSURES[kind]) for pair, kind in zip(pairs, kinds, strict=True))
    motors = _words(root, "name_mot")
    return Sidecar(path, closures, tuple(zip(joints, types, strict=True)), motors)


def _words(root: Value, key: str) -> tuple[Value, ...] | None:
    """The names in a list; None where there is no such list."""
    found = root.get(key)
    if found is None:
        return None
    for entry in found.items():
        entry.text()
    return tuple(found.items())


def _pair(value: Value) -> tuple[Value, Value]:
    words = value.texts()
    if len(words) != 2:
        raise value.error(f"expected a pair of frames, found {len(words)}; write [frame, frame]")
    first, second = value.items()
    return first, second
