"""Loop constraints that Drake adds to SDF: ball, weld and distance."""

from __future__ import annotations

from regularize.adapters.common.distance import distance_joint
from regularize.adapters.common.names import unique
from regularize.adapters.common.xml import Node
from regularize.adapters.sdf.frames import Scope
from regularize.adapters.sdf.joint import Reading
from regularize.lie.screw import Array, inverse, transform
from regularize.model.joint import joint_screws
from regularize.model.mechanism import Joint

READ = ("drake:ball_constraint", "drake:weld_constraint", "drake:distance_constraint")
UNREAD = ("drake:joint", "drake:linear_bushing_rpy", "drake:tendon_constraint")


def read_constraint(node: Node, scope: Scope, reading: Reading) -> None:
    """Add the closing joint of one of the elements ``READ``."""
    if node.tag == "drake:weld_constraint":
        ends = [_frame(_either(node, tag), scope, reading) for tag in ("parent", "child")]
        _add("fixed", ends[0], ends[1], node, reading)
    elif node.tag == "drake:ball_constraint":
        ends = [_point(node, body, place, scope, reading) for body, place in _ENDS]
        _add("spherical", ends[0], ends[1], node, reading)
    else:
        ends = [_point(node, body, place, scope, reading) for body, place in _ENDS]
        length = node.need(f"{node.tag}_distance").number(None)
        (parent, T_parent), (child, T_child) = ends
        other = inverse(reading.frames.pose(parent)) @ reading.frames.pose(child) @ T_child
        name = unique(f"{parent}-{child}", reading.draft.joints)
        joint = distance_joint(
            name, parent, child, T_parent[:3, 3], T_child[:3, 3], other[:3, 3], length, node.source
        )
        reading.draft.add_joint(joint, node)


_ENDS = (("body_A", "p_AP"), ("body_B", "p_BQ"))


def _either(node: Node, tag: str) -> Node:
    found = node.child(tag, f"drake:{tag}")
    if found is None:
        raise node.error(f"<{node.tag}> has no <{tag}>; name the two frames that it welds")
    return found


def _frame(node: Node, scope: Scope, reading: Reading) -> tuple[str, Array]:
    """Body and transform of a named frame."""
    name = reading.frames.known(scope.full(node.text()), node)
    body = reading.frames.body(name)
    return body, reading.frames.relative(body, name)


def _point(node: Node, body: str, place: str, scope: Scope, reading: Reading) -> tuple[str, Array]:
    named = node.need(f"{node.tag}_{body}")
    link, T = _frame(named, scope, reading)
    point = node.need(f"{node.tag}_{place}").numbers(None, 3)
    return link, T @ transform(translation=point)


def _add(
    kind: str, first: tuple[str, Array], second: tuple[str, Array], node: Node, reading: Reading
) -> None:
    name = unique(f"{first[0]}-{second[0]}", reading.draft.joints)
    joint = Joint(
        name,
        first[0],
        second[0],
        kind,
        joint_screws(kind),
        first[1],
        second[1],
        closure=True,
        source=node.source,
    )
    reading.draft.add_joint(joint, node)
