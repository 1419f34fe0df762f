"""Kinds of joints changed in the project's own JSON: entries that tell a joint's motion."""

from __future__ import annotations

import json
from collections.abc import Collection, Iterator, Sequence
from dataclasses import replace
from typing import Any

import yaml

from regularize.adapters.common.edits import Edit, EditedText, MovedJoint, Patch, WantedKind, tidy
from regularize.adapters.common.patching import Patcher
from regularize.adapters.native.native import plain
from regularize.errors import ModelError
from regularize.model.higher_pairs import HIGHER_PAIRS
from regularize.model.joint import KINDS
from regularize.model.mechanism import Joint

#: Entries that change with the kind.
ENTRIES = (
    *("kind", "screws", "T_parent_joint", "T_child_joint", "position", "limits", "dynamics"),
)


class NativePatcher(Patcher):
    """Edits a file of the project's own format, which holds every kind."""

    def kinds(self, joint: Joint) -> Collection[str]:
        """Every kind in the place of a closing joint or of a passive one."""
        return (*KINDS, *HIGHER_PAIRS, "slotted")

    def patch(self, wanted: Sequence[WantedKind]) -> Patch:
        """The entries of each joint that its kind decides."""
        text = self.text(self.path)
        # JSON is YAML, and PyYAML knows where every value stands.
        root: Any = yaml.compose(text.text, Loader=yaml.SafeLoader)
        joints = _members(root)["joints"].value
        named = {_members(node)["name"].value: node for node in joints}
        found = Patch()
        for each in wanted:
            if each.joint.name not in named:
                raise ModelError(f"{self.path}: joint {each.joint.name!r} is not found again")
            found.edits += _edits(text, named[each.joint.name], each)
        return found

    def movable(self, joint: Joint) -> tuple[bool, bool]:
        """Both frames."""
        return True, True

    def frame_edits(self, wanted: MovedJoint) -> list[Edit]:
        """The entries of the frames."""
        frames = [tidy(T) for T in (wanted.after.T_parent_joint, wanted.after.T_child_joint)]
        after = replace(wanted.before, T_parent_joint=frames[0], T_child_joint=frames[1])
        return self.patch([WantedKind(wanted.before, after.kind, after)]).edits


def _members(node: Any) -> dict[str, Any]:
    return {key.value: value for key, value in node.value}


def _edits(text: EditedText, node: yaml.Node, wanted: WantedKind) -> Iterator[Edit]:
    new, old = plain(wanted.replacement), plain(wanted.joint)
    for key, value in _members(node).items():
        if key in ENTRIES and new.get(key, {}) != old[key]:
            start, end = value.start_mark.index, value.end_mark.index
            line = text.text[:start].rsplit("\n", 1)[-1]
            margin = text.newline + line[: len(line) - len(line.lstrip())]
            written = json.dumps(new.get(key, {}), indent=1, ensure_ascii=False, allow_nan=False)
            yield Edit(text.path, start, end, written.replace("\n", margin))
