"""What ``<gazebo>`` elements of a URDF file join: joints of SDF, and welds of plugins."""

from __future__ import annotations

from dataclasses import replace
from functools import partial

from regularize.adapters.common.draft import WORLD
from regularize.adapters.common.loops import Attachment
from regularize.adapters.common.xml import Node
from regularize.adapters.urdf.draft import UrdfDraft
from regularize.lie.screw import IDENTITY


def read_gazebo(node: Node, draft: UrdfDraft) -> None:
    """Add the joints and welds of all ``<gazebo>`` elements, where the first one stands."""
    blocks = draft.root.children("gazebo")
    if node is not blocks[0]:
        return
    if any(block.child("joint") for block in blocks):
        _read_joints(blocks, draft)
    for plugin in (plugin for block in blocks for plugin in block.children("plugin")):
        if _is_mimic(plugin, draft):
            continue
        attachment = Attachment.of(plugin, draft)
        if attachment is not None:
            between = partial(draft.between, at=plugin)
            attachment.close(draft, [attachment.first], [attachment.second], between)


def _is_mimic(node: Node, draft: UrdfDraft) -> bool:
    """Whether a plugin lets one joint follow another, which is added unless <mimic> says it."""
    ends = (node.filled(tag) for tag in ("mimicJoint", "joint"))
    follower, leader = (None if end is None else draft.joints.get(end.content) for end in ends)
    if follower is None or leader is None or follower.freedoms != 1 or leader.freedoms != 1:
        return False
    own = (j for j in draft.root.children("joint") if j.get("name") == follower.name)
    if not any(joint.child("mimic") for joint in own):
        factor, offset = node.value("multiplier", 1.0), node.value("offset", 0.0)
        terms = ((follower.name, 0, 1.0), (leader.name, 0, -factor))
        draft.couple(follower.name, "mimic", terms, offset, node.source)
    return True


def _read_joints(blocks: list[Node], draft: UrdfDraft) -> None:
    """Add closing joints as an SDF model has them whose links stand at zero coordinates."""
    # Loaded where there is SDF in a URDF file.
    from regularize.adapters.sdf.draft import MODEL, Frame, Scope, SdfDraft
    from regularize.adapters.sdf.joint import read_joints

    joints = [joint for block in blocks for joint in block.children("joint")]
    for end in (end for joint in joints for end in joint.children("parent", "child")):
        if end.content == WORLD:
            draft.link(WORLD, end)
    # Axes in the frame of the model are written as before version 1.7 or as since then.
    model, scope = SdfDraft(draft.path, version=(1, 6)), Scope("", MODEL)
    model.bodies, model.joints, model.couplings = draft.bodies, draft.joints, draft.couplings
    model.findings, frames = draft.findings, model.frames
    frames.entries[MODEL] = Frame(IDENTITY, None, None, draft.root)
    for placed in draft.joints.values():
        if not placed.closure:
            frames.entries[placed.name] = Frame(
                placed.T_child_joint, placed.child, placed.child, draft.root
            )
    for name in draft.bodies:
        frames.entries[name] = Frame(draft.rest_pose(name)[1], None, None, draft.root)
    if WORLD in draft.bodies:
        frames.poses[WORLD] = draft.rest_pose(WORLD)[1]
    for frame in (frame for block in blocks for frame in block.children("frame")):
        model.add_frame(frame, scope)
    for joint in joints:
        model.declare(joint, scope)
    read_joints(model)
    for element in model.elements:
        added = draft.joints.get(element.name)
        if added is not None:
            if not draft.implicit_world:  # which stands at the origin of the model
                draft.rest_poses(added.parent, added.child, element.node)
            draft.joints[added.name] = replace(added, closure=True)
