"""Every part of a model needs a path to ground: parts without one get a free joint."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

import numpy as np

from regularize.adapters.common.names import listed, unique
from regularize.model.diagnostic import Diagnostic
from regularize.model.mechanism import Body, Joint


def parts(bodies: Iterable[Body], joints: Iterable[Joint]) -> list[list[Body]]:
    """Bodies that hang together, whatever the joints between them; in file order."""
    bodies = list(bodies)
    leader = {body.name: body.name for body in bodies}

    def find(name: str) -> str:
        while leader[name] != name:
            leader[name] = leader[leader[name]]
            name = leader[name]
        return name

    for joint in joints:
        leader[find(joint.child)] = find(joint.parent)
    grouped: dict[str, list[Body]] = {}
    for body in bodies:
        grouped.setdefault(find(body.name), []).append(body)
    return list(grouped.values())


def free_joint(name: str, parent: str, child: Body) -> Joint:
    """A joint of six freedoms, of which the user's model says nothing."""
    return Joint(name, parent, child.name, "free", np.eye(6), source=child.source)


def connect(
    bodies: Sequence[Body], joints: Sequence[Joint], ground: str
) -> tuple[list[Joint], list[Diagnostic]]:
    """Base joints for the parts that have no path to ground.

    The joint moves the first body of the part: the first one that is no child of a joint of the
    tree, or the first one of all.

    Returns:
        The base joints, and one warning (REG103) for each.
    """
    children = {joint.child for joint in joints if not joint.closure}
    taken = {joint.name for joint in joints}
    added: list[Joint] = []
    findings: list[Diagnostic] = []
    for part in parts(bodies, joints):
        names = [body.name for body in part]
        if ground in names:
            continue
        first = next((body for body in part if body.name not in children), part[0])
        joint = free_joint(unique(f"floating_base_{first.name}", taken), ground, first)
        taken.add(joint.name)
        added.append(joint)
        many = "body" if len(part) == 1 else f"part of {len(part)} bodies"
        findings.append(
            Diagnostic(
                "REG103",
                "warning",
                f"the {many} {listed(names, 3)} is not connected to the ground `{ground}`: it gets "
                f"the 6-freedom base joint `{joint.name}`",
                joints=(joint.name,),
                source=first.source,
                help=(
                    f"join `{first.name}` to the rest of the model by a joint, or delete it",
                    "leave it if the part is meant to move freely",
                ),
            )
        )
    return added, findings
