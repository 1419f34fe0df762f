"""Kinds of closing joints changed in the YAML files that lie beside a URDF file."""

from __future__ import annotations

from collections.abc import Collection, Iterator

import yaml

from regularize.adapters.common.edits import Edit, EditedText, WantedKind
from regularize.adapters.common.names import listed
from regularize.errors import ModelError
from regularize.model.mechanism import Joint

#: Kinds that a file holds, by the element that a closing joint was read from.
GEPETTO = {"spherical": "3d", "fixed": "6d"}
ROBOT_DATA = {
    **{kind: kind for kind in ("revolute", "prismatic", "fixed", "planar", "spherical")},
    **{kind: kind for kind in ("cylindrical", "point_on_line", "parallel")},
}


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
    root = yaml.compose(text.text, Loader=yaml.SafeLoader)
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
    yield Edit(
        text.path, node.start_mark.index, node.end_mark.index, f"{quote}{word}{quote}"
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
