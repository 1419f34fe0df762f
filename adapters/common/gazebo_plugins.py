"""Plugins of Gazebo that join two links when a simulation starts.

Gazebo lets no link have two parents, so loops are closed by them: ``DetachableJoint``, which comes
with it, and ``AttachLinks`` of the package gz_attach_links. Both hold the links together rigidly
as they stand when the simulation starts.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass

from regularize.adapters.common.draft import Draft
from regularize.adapters.common.xml import Node
from regularize.lie.screw import IDENTITY, Array
from regularize.model.connections import DisjointSets

#: Elements that name the two links and the model of the second one, by plugin; and how it works.
PLUGINS = {
    "DetachableJoint": (
        ("parent_link", "child_link", "child_model"),
        "until a message on its detach topic",
    ),
    "AttachLinks": (("parent", "child", None), "for good"),
}


@dataclass(frozen=True, eq=False)
class Attachment:
    """A plugin that joins two links.

    Attributes:
        node: The ``<plugin>``.
        kind: A key of ``PLUGINS``.
        first: Name of one link, in the model that has the plugin.
        second: Name of the other link.
        model: Name of the model of the other link; None for the same one.
    """

    node: Node
    kind: str
    first: str
    second: str
    model: str | None

    @classmethod
    def of(cls, node: Node) -> Attachment | None:
        """What a ``<plugin>`` joins; None for any other plugin."""
        words = f"{node.get('name') or ''} {node.get('filename') or ''}"
        plain = words.replace("-", "").replace("_", "").lower()
        kind = next((kind for kind in PLUGINS if kind.lower() in plain), None)
        if kind is None:
            return None
        (first, second, model), _ = PLUGINS[kind]
        named = node.child(model) if model else None
        return cls(
            node,
            kind,
            node.need(first).text().strip(),
            node.need(second).text().strip(),
            None if named is None else named.text().strip(),
        )

    def close(
        self,
        draft: Draft,
        first: Iterable[str],
        second: Iterable[str],
        between: Callable[[str, str], Array],
    ) -> None:
        """Add the weld, as a closing joint if other joints connect the two links already.

        Args:
            draft: The model.
            first: Full names that the first link may have, the likeliest one first.
            second: The same of the second link.
            between: Pose of the second of two links seen from the first one, as the file has it.
        """
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
        connected = DisjointSets(draft.bodies)
        for joint in draft.joints.values():
            connected.union(joint.parent, joint.child)
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
