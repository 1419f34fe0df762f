"""Kinds of closing joints changed in the YAML files that lie beside a URDF file."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Sequence
from typing import Any

import yaml

from regularize.adapters.common.edits import Edit, EditedText, WantedKind
from regularize.adapters.common.freedoms import axis_letter
from regularize.adapters.common.names import listed
from regularize.errors import ModelError, UnsupportedExport
from regularize.model.mechanism import Joint

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
    """The edits that give a closing joint its new kind.

    Raises:
        ModelError: The file has no word for that kind.
    """
    table = _table(wanted.joint)
    if wanted.kind not in table:
        raise ModelError(
            f"{wanted.joint.source}: joint {wanted.joint.name!r} cannot become {wanted.kind}: this "
            f"file knows {listed(table) or 'no other kind'}; describe the loop by a URDF+ <loop>"
        )
    root: Any = yaml.compose(text.text, Loader=yaml.SafeLoader)
    element = wanted.joint.source.element or "" if wanted.joint.source else ""
    key, _, index = element.partition("[")
    entry = int(index.partition("]")[0])
    if key == "closed_loop":
        node = _member(root, "type").value[entry]
    else:
        node = _member(_member(root, key).value[entry], "type")
    written = text.text[node.start_mark.index : node.end_mark.index]
    quote = written[0] if written[0] in "'\"" else ""
    word = table[wanted.kind]
    yield Edit(text.path, node.start_mark.index, node.end_mark.index, f"{quote}{word}{quote}")


def hung(joint: Joint, text: EditedText, old: str, new: str, at_root: bool) -> Edit:
    """The edit that names another link in the entry of a closing joint.

    Args:
        joint: The joint.
        text: Of the file.
        old: The link.
        new: The other link.
        at_root: Whether the frames of the two coincide; entries that give points in the frame of
            the root do not mind.

    Raises:
        UnsupportedExport: The entry does not name the link, or gives its points in its frame.
    """
    root: Any = yaml.compose(text.text, Loader=yaml.SafeLoader)
    element = joint.source.element or "" if joint.source else ""
    key, _, index = element.partition("[")
    lists = {name.value: value for name, value in root.value}
    entry = lists[key].value[int(index.partition("]")[0])] if key in OF_LINKS else None
    for _, value in () if entry is None or not (at_root or key == "closures") else entry.value:
        if value.value == old:
            return Edit(text.path, value.start_mark.index, value.end_mark.index, new)
    raise UnsupportedExport(
        f"{joint.source}: the entry of joint `{joint.name}` names no link that a slack link could "
        "take the place of; describe the loop by a URDF+ <loop>"
    )


def _table(joint: Joint) -> dict[str, str]:
    element = "" if joint.source is None else joint.source.element or ""
    if element.startswith("closed_loop"):
        return GEPETTO
    return ROBOT_DATA if element.startswith("closing_joints") else {}


def _member(node: yaml.Node, key: str) -> yaml.Node:
    for name, value in node.value:
        if name.value == key:
            found: yaml.Node = value
            return found
    raise ModelError(f"has no {key!r}; add it")


def retyped(wanted: Sequence[WantedKind], text: EditedText) -> Iterator[Edit]:
    """The edits of a Gepetto file that give joints of the tree their new kinds.

    Raises:
        ModelError: The file has no word for a kind, or gives the joint another one already.
    """
    root: Any = yaml.compose(text.text, Loader=yaml.SafeLoader)
    lists = {name.value: value for name, value in root.value}
    words: dict[str, list[str]] = {"joint_name": [], "joint_type": []}
    given = [entry.value for entry in lists["joint_name"].value] if "joint_name" in lists else []
    for each in wanted:
        word = retype_word(each)
        if word is None or each.joint.name in given:
            raise ModelError(
                f"{text.path}: joint {each.joint.name!r} cannot become {each.kind}: this file "
                "makes hinges along X, Y or Z spherical or universal, each once"
            )
        words["joint_name"].append(each.joint.name)
        words["joint_type"].append(word)
    for key, added in words.items():
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
