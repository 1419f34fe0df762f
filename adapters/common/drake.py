"""Loop constraints of Drake, which it writes into URDF as attributes and into SDF as text.

A ``ball_constraint`` joins two points, a ``weld_constraint`` two frames, and a
``distance_constraint`` keeps two points at a distance.
"""

from __future__ import annotations

from collections.abc import Callable

from regularize.adapters.common.distance import distance_joint
from regularize.adapters.common.draft import Draft, Side
from regularize.adapters.common.xml import Node
from regularize.lie.screw import Array, transform

PREFIX = "drake:"
READ = tuple(f"{PREFIX}{kind}_constraint" for kind in ("ball", "weld", "distance"))
POINTS = (("body_A", "p_AP"), ("body_B", "p_BQ"))


def read_constraint(
    node: Node,
    draft: Draft,
    named: Callable[[Node], Side],
    between: Callable[[str, str, Node], Array],
    attribute: str | None,
) -> None:
    """Add the closing joint of one of the elements ``READ``.

    Args:
        node: The element.
        draft: The model.
        named: Body and frame that an element names.
        between: The second of two bodies seen from the first one in the pose of the file.
        attribute: Attribute that holds numbers; None where they are text.
    """
    if node.tag == READ[1]:
        first, second = (named(_end(node, tag)) for tag in ("parent", "child"))
        draft.close(node, node.get("name"), "fixed", first, second)
        return
    ends = []
    for body, point in POINTS:
        link, T = named(node.need(f"{node.tag}_{body}"))
        place = node.need(f"{node.tag}_{point}").numbers(attribute, 3)
        ends.append((link, T @ transform(translation=place)))
    first, second = ends
    if node.tag == READ[0]:
        draft.close(node, node.get("name"), "spherical", first, second)
        return
    length = node.need(f"{node.tag}_distance").number(attribute)
    T = between(first[0], second[0], node)
    name = node.get("name") or draft.joint_name(f"{first[0]}-{second[0]}")
    draft.add_joint(distance_joint(name, first, second, T, length, node.source), node)


def _end(node: Node, tag: str) -> Node:
    found = node.child(tag, f"{PREFIX}{tag}")
    if found is None:
        raise node.error(f"<{node.tag}> has no <{tag}>; name the two frames that it welds")
    return found
