"""Kinds of closing joints changed in the YAML files that lie beside a URDF file."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping, Sequence
from typing import Any

import numpy as np

from regularize.adapters.common.edits import Edit, EditedText, WantedKind
from regularize.adapters.common.serial import axis_letter
from regularize.adapters.common.write import number
from regularize.adapters.urdf.draft import GEPETTO, KINDS
from regularize.errors import ModelError, UnsupportedExport
from regularize.escape import listed
from regularize.lie.arrays import Point
from regularize.mechanism.joint import Joint

#: Words for kinds of closing joints, by the list of the file that they stand in.
WORDS: Mapping[str, Mapping[str, str]] = {
    "closed_loop": GEPETTO,
    "closing_joints": KINDS.at("data").written,
}
#: Lists whose entries name links.
OF_LINKS = ("closures", "ball_loops", "pin_loops")


def _place(joint: Joint) -> tuple[str, int]:
    """Return the key of the list that a closing joint was read from, and its index there."""
    element = joint.source.element or "" if joint.source else ""
    key, _, rest = element.partition("[")
    number = rest.partition("]")[0]
    return key, int(number) if number.isdigit() else 0


def kinds(joint: Joint) -> Collection[str]:
    """Return the kinds that a closing joint can become in the file that lists it."""
    return tuple(WORDS.get(_place(joint)[0], ()))


def edits(change: WantedKind, text: EditedText) -> Iterator[Edit]:
    """Return the edits of a closing joint's kind; raises ``ModelError`` without a word for it."""
    key, entry = _place(change.joint)
    words = WORDS.get(key, {})
    if change.kind not in words:
        raise ModelError(
            f"{change.joint.source}: joint {change.joint.name!r} cannot become {change.kind}: this "
            f"file knows {listed(words) or 'no other kind'}; describe the loop by a URDF+ <loop>"
        )
    root = _composed(text)
    if key == "closed_loop":
        node = _member(root, "type")[1].value[entry]
    else:
        node = _member(_member(root, key)[1].value[entry], "type")[1]
    start, end = node.start_mark.index, node.end_mark.index
    quote = text.text[start] if text.text[start] in "'\"" else ""
    yield Edit(text.path, start, end, f"{quote}{words[change.kind]}{quote}")


def hung(joint: Joint, text: EditedText, old: str, new: str, last: Point) -> Iterator[Edit]:
    """Yield edits that rename a link in a joint's entry and move its point there by ``-last``."""
    key, entry = _place(joint)
    node = _member(_composed(text), key)[1].value[entry] if key in OF_LINKS else None
    members = {} if node is None else {name.value: value for name, value in node.value}
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
    """Return the edit that deletes the entry of a closing joint with all of its lines."""
    key, entry = _place(joint)
    name, entries = _member(_composed(text), key)
    if key == "closed_loop" or entries.flow_style:
        raise UnsupportedExport(
            f"{joint.source}: closing joint `{joint.name}` is written on a line with others; take "
            "it out by hand, for others do what it does"
        )
    node = entries.value[entry]
    end = _end(node)
    if len(entries.value) == 1:
        return Edit(text.path, name.end_mark.index, end, ": []")
    start = text.text.rindex("-", 0, node.start_mark.index)
    start = text.text.rfind("\n", 0, start) + 1
    newline = text.text.find("\n", end)
    return Edit(text.path, start, len(text.text) if newline < 0 else newline + 1, "")


def _end(node: Any) -> int:
    """Return the index behind the last word of a node; block nodes end only at the next word."""
    if node.id == "scalar" or node.flow_style or not node.value:
        return int(node.end_mark.index)
    last = node.value[-1]
    return _end(last[1] if isinstance(last, tuple) else last)


def _composed(text: EditedText) -> Any:
    """Return the root node of a YAML text."""
    import yaml  # what a file could hold is known without its nodes

    return yaml.compose(text.text, Loader=yaml.SafeLoader)


def _member(node: Any, key: str) -> tuple[Any, Any]:
    """Return the key node and the value node of a key of a mapping."""
    for name, value in node.value:
        if name.value == key:
            return name, value
    raise ModelError(f"has no {key!r}; add it")


def retyped(wanted: Sequence[WantedKind], text: EditedText) -> Iterator[Edit]:
    """Yield the edits of a Gepetto file that retype hinges of the tree."""
    lists = {name.value: value for name, value in _composed(text).value}
    names = [change.joint.name for change in wanted]
    for key, added in (("joint_name", names), ("joint_type", map(retype_word, wanted))):
        yield _extended(text, key, lists.get(key), [f"'{word}'" for word in added])


def retype_word(wanted: WantedKind) -> str | None:
    """Return the word of a Gepetto file for the new kind of a hinge, or None."""
    if wanted.joint.kind != "revolute":
        return None
    if wanted.kind == "spherical":
        return "SPHERICAL"
    letters = [axis_letter(column[3:]) for column in wanted.replacement.screws.T]
    if wanted.kind != "universal" or None in letters:
        return None
    return "UJOINT_" + "".join(str(letter) for letter in letters)


def _extended(text: EditedText, key: str, node: Any, added: Sequence[str]) -> Edit:
    """Return the edit that adds quoted words to a list, or adds the list."""
    if node is None:
        end = len(text.text)
        start = "" if text.text.endswith(("\n", "\r")) else text.newline
        return Edit(text.path, end, end, f"{start}{key}: [{', '.join(added)}]{text.newline}")
    if node.flow_style:
        close = node.end_mark.index - 1
        comma = ", " if node.value else ""
        return Edit(text.path, close, close, comma + ", ".join(added))
    last = node.value[-1]
    line = text.text[: last.start_mark.index].rsplit("\n", 1)[-1]
    lines = "".join(f"{text.newline}{line}{word}" for word in added)
    return Edit(text.path, last.end_mark.index, last.end_mark.index, lines)
