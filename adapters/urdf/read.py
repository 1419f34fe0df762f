"""URDF files, with the loops that its dialects add to the tree."""

from __future__ import annotations

import os
from pathlib import Path

from regularize.adapters.common.draft import WORLD
from regularize.adapters.common.offers import offer_closures
from regularize.adapters.common.xml import Node, parse
from regularize.adapters.urdf import loop_files, tolerances
from regularize.adapters.urdf.draft import UrdfDraft, mark_closures
from regularize.adapters.urdf.joint import read_joints, read_mimics
from regularize.adapters.urdf.link import read_links
from regularize.adapters.urdf.loops import DIALECTS as LOOPS
from regularize.adapters.urdf.more_loops import DIALECTS as MORE
from regularize.adapters.urdf.more_loops import closing_lines, read_closing_frames
from regularize.model.mechanism import Mechanism

DIALECTS = {**LOOPS, **MORE}
#: Elements under ``<robot>`` that are read elsewhere, or say nothing about the mechanism.
QUIET = frozenset(
    {
        *("link", "joint", "material", "transmission", "gazebo", "ros2_control", "frame"),
        *("sensor", "fixed_frame", "mujoco", "xacro:property", "xacro:arg", "plugin"),
        *("drake:collision_filter_group", "collision_filter_group", "disable_collisions"),
        *("group", "group_state", "end_effector", "virtual_joint", "passive_joint"),
    }
)
#: Elements under ``<robot>`` that join links in a way that is not read.
UNREAD = frozenset({"drake:joint", "drake:tendon_constraint"})


def read(
    path: str, *, floating: bool = False, loops: str | os.PathLike[str] | bool | None = None
) -> Mechanism:
    """Read a URDF file.

    The ground is the link without a parent; where there are several, the first one, and every
    part without a path to it gets a free joint. Mass properties are never invented.

    Args:
        path: The file.
        floating: Whether the ground link of the file moves freely in a new ground.
        loops: File that describes the loops (Gepetto YAML, ``loop_closures.yaml`` or
            ``robot_data.yaml``); None to take one that lies beside the model, False to read none.

    Raises:
        ReadError: The file is not URDF, or contradicts itself.
    """
    return read_root(parse(path), path, format="urdf", floating=floating, loops=loops)


def read_root(
    root: Node,
    path: str,
    *,
    format: str,
    floating: bool,
    loops: str | os.PathLike[str] | bool | None,
) -> Mechanism:
    """Read the root element of a URDF model; see ``read``."""
    for node in root.of_tag("robot").walk():
        if node.tag.startswith("xacro:") and node.tag not in QUIET:
            raise node.error(f"<{node.tag}> is not expanded; run xacro on the file first")
    if not root.children("link"):
        raise root.error("has no <link>; a model needs at least one")
    draft = UrdfDraft(path, root.get("name") or Path(path).stem, root=root)
    read_links(draft)
    read_joints(draft)
    files = loop_files.find(path, loops)
    for file in files[:1]:
        file.retype(draft)
    mark_closures(draft)
    roots = draft.roots
    for node in root.children():
        if node.tag in DIALECTS:
            DIALECTS[node.tag](node, draft)
        else:
            _pass_over(node, draft)
    read_mimics(draft)
    for file in files[:1]:
        file.close(draft)
        tolerances.add(file.path, draft)
        draft.files.append(file.path)
    loop_files.report_unread(files, draft)
    read_closing_frames(draft)
    offer_closures(draft, lambda name: draft.rest_pose(name)[1], closing_lines)
    draft.report_ignored(": it is not a part of URDF")
    _set_ground(draft, roots, floating)
    return draft.mechanism(format)


def _pass_over(node: Node, draft: UrdfDraft) -> None:
    """Decide what an element means that no dialect reads."""
    if node.tag in UNREAD:
        draft.unread(
            f"<{node.tag}> joins links but is not read: the mechanism has fewer joints than the "
            "file",
            node.source,
            "describe the loop by a URDF+ <loop> or a Gepetto YAML file",
        )
    elif node.tag not in QUIET:
        draft.ignore(node.tag, node)


def _set_ground(draft: UrdfDraft, roots: list[str], floating: bool) -> None:
    """Choose the ground body; add the base joints that the model lacks."""
    if draft.implicit_world:
        draft.ground = WORLD
    elif roots:
        draft.ground = roots[0]
    else:
        draft.ground = next(iter(draft.bodies))
        draft.warn(
            "REG102",
            f"every link has a parent joint, so none is the ground: `{draft.ground}` is taken, "
            "the first one of the file",
            draft.bodies[draft.ground].source,
            "leave out the joint that leads into the link that stands still, or write it as a "
            "URDF+ <loop>",
        )
    if floating and draft.implicit_world:
        raise draft.root.error(
            f"the file joins itself to `{WORLD}`, so it cannot float; read it without `floating`"
        )
    if floating:
        draft.let_float()
    draft.ground_parts()
