"""Kinds of closing joints changed in the YAML files that lie beside a URDF file."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Sequence
from typing import Any

import numpy as np

from regularize.adapters.common.edits import Edit, EditedText, WantedKind
from regularize.adapters.common.serial import axis_letter
from regularize.adapters.common.write import number
from regularize.errors import ModelError, UnsupportedExport
from regularize.escape import listed
from regularize.lie.arrays import Array
from regularize.mechanism.mechanism import Joint

#: Kinds that a file holds, by the element that a closing joint was read from.
GEPETTO = {"spherical": "3d", "fixed": "6d"}
ROBOT_DATA = {
    **{kind: kind for kind in ("revolute", "prismatic", "fixed", "planar", "spherical")},
    **{kind: kind for kind in ("cylindrical", "point_on_line", "parallel")},
}

#: Lists whose entries name links.
OF_LINKS = ("closures", "ball_loops", "pin_loops")


def kinds(joint: Joint) -> Collection[str]:
    """Kinds that the file of a closing joint can hold in its place."""
    return tuple(_table(joint))


def edits(wanted: WantedKind, text: EditedText) -> Iterator[Edit]:
    """The edits that give a closing joint its new kind."""
    table = _table(wanted.joint)
    if wanted.kind not in table:
        raise ModelError(
            f"{wanted.joint.source}: joint {wanted.joint.name!r} cannot become {wanted.kind}: this "
            f"file knows {listed(table) or 'no other kind'}; describe the loop by a URDF+ <loop>"
        )
    key, _, entries = _entries(wanted.joint, text)
    entry = _index(wanted.joint)
    if key == "closed_loop":
        root = _composed(text)
        node = _member(root, "type").value[entry]
    else:
        node = _member(entries.value[entry], "type")
    written = text.text[node.start_mark.index : node.end_mark.index]
    quote = written[0] if written[0] in "'\"" else ""
    word = table[wanted.kind]
    yield Edit(text.path, node.start_mark.index, node.end_mark.index, f"{quote}{word}{quote}")


def hung(joint: Joint, text: EditedText, old: str, new: str, last: Array) -> Iterator[Edit]:
    """The edits that name another link in the entry of a closing joint."""
    key, _, entries = _entries(joint, text)
    entry = entries.value[_index(joint)] if key in OF_LINKS else None
    members = {} if entry is None else {name.value: value for name, value in entry.value}
    for name, value in members.items():
        if value.value != old:
            continue
        yield Edit(text.path, value.start_mark.index, value.end_mark.index, new)
        point = members.get(f"{name}_xyz")
        if point is not None and np.any(last):
            moved = [float(word.value) for word in point.value] - last
            start, end = point.value[0].start_mark.index, point.value[-1].end_mark.index
            if not point.flow_style:
                break
            yield Edit(text.path, start, end, ", ".join(map(number, moved)))
        return
    raise UnsupportedExport(
        f"{joint.source}: the entry of joint `{joint.name}` names no link that a slack link could "
        "take the place of; describe the loop by a URDF+ <loop>"
    )


def taken_out(joint: Joint, text: EditedText) -> Edit:
    """The edit that takes the entry of a closing joint away, with its lines."""
    key, name, entries = _entries(joint, text)
    if key == "closed_loop" or entries.flow_style:
        raise UnsupportedExport(
            f"{joint.source}: closing joint `{joint.name}` is written on a line with others; take "
            "it out by hand, for others do what it does"
        )
    entry = entries.value[_index(joint)]
    end = _end(entry)
    if len(entries.value) == 1:
        return Edit(text.path, name.end_mark.index, end, ": []")
    start = text.text.rindex("-", 0, entry.start_mark.index)
    start = text.text.rfind("\n", 0, start) + 1
    newline = text.text.find("\n", end)
    return Edit(text.path, start, len(text.text) if newline < 0 else newline + 1, "")


def _end(node: Any) -> int:
    """Where the last word of a node ends; nodes in lines of their own end at the next word."""
    if node.id == "scalar" or node.flow_style or not node.value:
        return int(node.end_mark.index)
    last = node.value[-1]
    return _end(last[1] if isinstance(last, tuple) else last)


def _composed(text: EditedText) -> Any:
    """The node of a whole file."""
    import yaml  # what a file could hold is known without its nodes

    return yaml.compose(text.text, Loader=yaml.SafeLoader)


def _entries(joint: Joint, text: EditedText) -> tuple[str, Any, Any]:
    """The list that a closing joint is an entry of: its name, the node of that, and its own."""
    root = _composed(text)
    key = (joint.source.element or "" if joint.source else "").partition("[")[0]
    return next((name.value, name, value) for name, value in root.value if name.value == key)


def _index(joint: Joint) -> int:
    element = joint.source.element or "" if joint.source else ""
    return int(element.partition("[")[2].partition("]")[0])


def _table(joint: Joint) -> dict[str, str]:
    element = "" if joint.source is None else joint.source.element or ""
    if element.startswith("closed_loop"):
        return GEPETTO
    return ROBOT_DATA if element.startswith("closing_joints") else {}


def _member(node: Any, key: str) -> Any:
    for name, value in node.value:
        if name.value == key:
            return value
    raise ModelError(f"has no {key!r}; add it")


def retyped(wanted: Sequence[WantedKind], text: EditedText) -> Iterator[Edit]:
    """The edits of a Gepetto file that give hinges of the tree kinds that it has words for."""
    lists = {name.value: value for name, value in _composed(text).value}
    names, words = [w.joint.name for w in wanted], [str(retype_word(w)) for w in wanted]
    for key, added in (("joint_name", names), ("joint_type", words)):
        yield _extended(text, key, lists.get(key), added)


def retype_word(wanted: WantedKind) -> str | None:
    """What a Gepetto file calls the new kind of a hinge; None where it has no word."""
    if wanted.joint.kind != "revolute":
        return None
    if wanted.kind == "spherical":
        return "SPHERICAL"
    letters = [axis_letter(column[3:]) for column in wanted.replacement.screws.T]
    if wanted.kind != "universal" or None in letters:
        return None
    return "UJOINT_" + "".join(str(letter) for letter in letters)


def _extended(text: EditedText, key: str, node: Any, added: Sequence[str]) -> Edit:
    """The edit that adds words to a list, or the list where there is none."""
    quoted = [f"'{word}'" for word in added]
    end = len(text.text)
    if node is None:
        start = "" if text.text.endswith(("\n", "\r")) else text.newline
        return Edit(text.path, end, end, f"{start}{key}: [{', '.join(quoted)}]{text.newline}")
    if node.flow_style:
        close = node.end_mark.index - 1
        comma = ", " if node.value else ""
        return Edit(text.path, close, close, comma + ", ".join(quoted))
    last = node.value[-1]
    line = text.text[: last.start_mark.index].rsplit("\n", 1)[-1]
    lines = "".join(f"{text.newline}{line}{word}" for word in quoted)
    return Edit(text.path, last.end_mark.index, last.end_mark.index, lines)
