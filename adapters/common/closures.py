"""Loops that URDF and SDF close in the same words, and those that they seem to mark.

Drake's ``ball_constraint`` joins two points, a ``weld_constraint`` two frames, and a
``distance_constraint`` keeps two points at a distance; it writes them into URDF as attributes and
into SDF as text.

Gazebo lets no link have two parents, so loops are closed by plugins: ``DetachableJoint``, which
comes with it, and ``AttachLinks`` of the package gz_attach_links. Both hold the links together
rigidly as they stand when the simulation starts.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass

from regularize.adapters.common.draft import Draft, Side
from regularize.adapters.common.xml import Node
from regularize.lie.arrays import Array
from regularize.lie.screw import IDENTITY, transform

PREFIX = "drake:"
DRAKE = tuple(f"{PREFIX}{kind}_constraint" for kind in ("ball", "weld", "distance"))
POINTS = (("body_A", "p_AP"), ("body_B", "p_BQ"))
#: Elements that name the two links and the model of the second one, by plugin; and how it works.
PLUGINS = {
    "DetachableJoint": (
        ("parent_link", "child_link", "child_model"),
        "until a message on its detach topic",
    ),
    "AttachLinks": (("parent", "child", None), "for good"),
}


def read_drake(
    node: Node,
    draft: Draft,
    named: Callable[[Node], Side],
    between: Callable[[str, str, Node], Array],
    attribute: str | None,
) -> None:
    """Add the closing joint of an element of ``DRAKE``, whose numbers are an attribute or text.

    ``between`` sees the second of two bodies from the first one in the pose of the file.
    """
    if node.tag == DRAKE[1]:
        first, second = (named(_end(node, tag)) for tag in ("parent", "child"))
        draft.close(node, node.get("name"), "fixed", first, second)
        return
    ends = []
    for body, point in POINTS:
        link, T = named(node.need(f"{node.tag}_{body}"))
        place = node.need(f"{node.tag}_{point}").numbers(attribute, 3)
        ends.append((link, T @ transform(translation=place)))
    first, second = ends
    if node.tag == DRAKE[0]:
        draft.close(node, node.get("name"), "spherical", first, second)
        return
    from regularize.adapters.common.pairs import distance_joint  # the last kind, which few write

    length = node.need(f"{node.tag}_distance").number(attribute)
    T = between(first[0], second[0], node)
    name = node.get("name") or draft.joint_name(f"{first[0]}-{second[0]}")
    draft.add_joint(distance_joint(name, first, second, T, length, node.source), node)


def _end(node: Node, tag: str) -> Node:
    end = node.child(tag, f"{PREFIX}{tag}")
    if end is None:
        raise node.error(f"<{node.tag}> has no <{tag}>; name the two frames that it welds")
    return end


@dataclass(frozen=True, eq=False)
class Attachment:
    """A plugin that joins two links."""

    node: Node
    kind: str  # a key of ``PLUGINS``
    first: str  # name of one link, in the model that has the plugin
    second: str  # name of the other link
    model: str | None  # of the other link; None for the same one

    @classmethod
    def of(cls, node: Node) -> Attachment | None:
        """Read a ``<plugin>`` that joins links; None for any other plugin."""
        words = f"{node.get('name') or ''} {node.get('filename') or ''}"
        plain = words.replace("-", "").replace("_", "").lower()
        kind = next((kind for kind in PLUGINS if kind.lower() in plain), None)
        if kind is None:
            return None
        (one, other, model), _ = PLUGINS[kind]
        named = node.child(model) if model else None
        first, second = node.need(one).text(), node.need(other).text()
        return cls(node, kind, first, second, None if named is None else named.text())

    def close(
        self,
        draft: Draft,
        first: Iterable[str],
        second: Iterable[str],
        between: Callable[[str, str], Array],
    ) -> None:
        """Weld two links, each by its likeliest full name; the weld closes a loop if need be."""
        one = next((name for name in first if name in draft.bodies), None)
        other = next((name for name in second if name in draft.bodies), None)
        if one is None or other is None:
            absent = self.first if one is None else self.second
            of = f" of the model `{self.model}`" if self.model and one is not None else ""
            draft.unread(
                f"the plugin {self.kind} joins the link `{absent}`{of}, which is not in the file: "
                "not read",
                self.node.source,
            )
            return
        connected = draft.connected()
        loop = connected[one] == connected[other]
        name = draft.joint_name(f"{one}-{other}")
        ends = (one, between(one, other)), (other, IDENTITY)
        draft.close(self.node, name, "fixed", *ends, closure=loop)
        how, help = PLUGINS[self.kind][1], list[str]()
        if self.model:
            help = [f"start the model under the name `{self.model}`, which the plugin looks for"]
        draft.note(
            "REG015",
            f"the plugin {self.kind} welds `{one}` and `{other}` together when a simulation "
            f"starts, as they stand then, {how}: read as the "
            f"{'closure' if loop else 'fixed joint'} `{name}`",
            self.node.source,
            *help,
            joints=(name,),
        )
