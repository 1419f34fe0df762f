"""SDF joints: axes in the frames of each version, limits, mimics and gearboxes."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from dataclasses import replace
from itertools import pairwise
from typing import Any

import numpy as np

from regularize.adapters.common.draft import WORLD
from regularize.adapters.common.xml import Node
from regularize.adapters.sdf.draft import FoundJoint, SdfDraft
from regularize.lie.arrays import Array
from regularize.lie.screw import inverse, log
from regularize.mechanism.joint import joint_position, joint_screws, motion
from regularize.mechanism.mechanism import Joint, JointDynamics, JointLimits

KINDS = {
    "revolute": "revolute",
    "continuous": "revolute",
    "prismatic": "prismatic",
    "ball": "spherical",
    "universal": "universal",
    "revolute2": "universal",
    "screw": "helical",
    "fixed": "fixed",
}
TYPES = {**KINDS, "gearbox": "gearbox"}
PARALLEL = 1e-6
CLOSED = 1e-6  # metres between two frames that coincide
ALIGNED = 1e-3  # radians: beyond the rounding of angles such as 1.5708
#: Bounds of this size mean that there is none.
UNBOUNDED = 1e16
#: Element of each value of a joint's dynamics.
DYNAMICS = {
    "damping": "damping",
    "friction": "friction",
    "stiffness": "spring_stiffness",
    "rest_position": "spring_reference",
}


def read_joints(draft: SdfDraft) -> None:
    """Add all joints, then what couples them."""
    gearboxes = []
    for found in draft.found:
        if kind_of(found.node, TYPES) == "gearbox":
            gearboxes.append(found)
        else:
            draft.add_joint(_joint(found, draft), found.node)
    for found in draft.found:
        mimics = [found.node.find(tag, "mimic") for tag in ("axis", "axis2")]
        for freedom, mimic in enumerate(mimics):
            if mimic is not None:
                leading = 1 if mimic.get("axis") == "axis2" else 0
                factor = mimic.value("multiplier", 1.0)
                offset = mimic.value("offset", 0.0) - factor * mimic.value("reference", 0.0)
                _mimic(found, freedom, (mimic, leading, factor, offset), draft)
        own = found.node.child("drake:mimic")  # the one that Drake reads; files have both for all
        if own is not None and mimics == [None, None]:
            given = own.number("multiplier", 1.0), own.number("offset", 0.0)
            _mimic(found, 0, (own, 0, *given), draft)
    for found in gearboxes:
        _gearbox(found, draft)


def kind_of(node: Node, types: Mapping[str, str]) -> str:
    """Kind of a joint by its attribute ``type``; raises ``ReadError`` for an unknown one."""
    return types[node.one_of(node.text("type"), types)]


def screws(node: Node, kind: str, direction: Callable[[str], Array]) -> Array:
    """Freedoms of a joint in its own frame, where its axes have directions, shape (6, f)."""
    if kind in ("fixed", "spherical"):
        return joint_screws(kind)
    first = direction("axis")
    if kind == "universal":
        second = direction("axis2")
        if np.linalg.norm(np.cross(first, second)) < PARALLEL:
            raise node.error(
                "the two axes are parallel, which makes one freedom of two; turn <axis2> (it is "
                "0 0 1 where it is not given)"
            )
        return joint_screws(kind, first, second)
    return joint_screws(kind, first, pitch=thread_pitch(node) if kind == "helical" else 0.0)


def _ends(found: FoundJoint, draft: SdfDraft) -> list[str]:
    return [draft.carrier(found.node.need(tag), found.scope) for tag in ("parent", "child")]


def _joint(found: FoundJoint, draft: SdfDraft) -> Joint:
    node, frames = found.node, draft.frames
    parent, child = _ends(found, draft)
    kind = kind_of(node, KINDS)
    bounds = limits(node, kind)
    if kind == "revolute" and bounds is not None and not np.any(bounds):
        draft.note(
            "REG015",
            f"joint `{found.name}` is revolute with both limits 0: read as a fixed joint",
            node.source,
            joints=(found.name,),
        )
        kind, bounds = "fixed", None
    joint = Joint(
        found.name,
        parent,
        child,
        kind,
        screws(node, kind, lambda tag: axis(found, tag, draft)),
        frames.relative(parent, found.name),
        frames.relative(child, found.name),
        limits=bounds,
        source=node.source,
        dynamics=dynamics(node, kind),
    )
    return _opened(joint, found, draft)


def _opened(joint: Joint, found: FoundJoint, draft: SdfDraft) -> Joint:
    """The joint with the frame on its parent that the file names, where that lies elsewhere."""
    node, frames = found.node, draft.frames
    name = found.scope.full(node.need("parent").text())
    if node.child("pose") is not None or name == WORLD or frames.entries[name].node.tag != "frame":
        return joint
    T = frames.relative(name, found.name)
    left = inverse(motion(joint, joint_position(joint, T))) @ T
    apart, turned = float(np.linalg.norm(left[:3, 3])), float(np.linalg.norm(log(left)[3:]))
    if apart <= CLOSED and turned <= ALIGNED:
        return joint
    draft.warn(
        "REG015",
        f"joint `{joint.name}`: the frame `{name}` of its parent is {1e3 * apart:.4g} mm and "
        f"{math.degrees(turned):.3g}° away from its child's: read as an open model, in which the "
        "joint brings the two frames together",
        node.source,
        "give the joint a <pose> if the file's pose is the assembled one, which is what SDF says",
        joints=(joint.name,),
    )
    return replace(joint, T_parent_joint=frames.relative(joint.parent, name))


def axis(found: FoundJoint, tag: str, draft: SdfDraft) -> Array:
    """Unit vector of an axis in the joint frame, whatever frame the version gives it in."""
    node, xyz = found.node.child(tag), found.node.find(tag, "xyz")
    direction = np.array([0.0, 0.0, 1.0]) if xyz is None else xyz.direction(xyz.numbers(None, 3))
    base = _expressed_in(found, node, xyz, draft.version)
    if base is None:
        return direction
    draft.frames.known(base, xyz or found.node)
    return draft.frames.relative(found.name, base)[:3, :3] @ direction


def _expressed_in(
    found: FoundJoint, node: Node | None, xyz: Node | None, version: tuple[int, int]
) -> str | None:
    """Full name of the frame of an axis; None for the joint frame."""
    if version >= (1, 7):
        name = None if xyz is None else xyz.get("expressed_in")
        return found.scope.full(name) if name else None
    if version <= (1, 4):
        return found.scope.frame
    in_model = node is not None and node.says("use_parent_model_frame")
    return found.scope.frame if in_model else None


def thread_pitch(node: Node) -> float:
    """Metres per radian; the old element counts radians per metre of a left-handed thread."""
    new, old = node.child("screw_thread_pitch"), node.child("thread_pitch")
    if new is not None:
        return new.number(None) / (2 * math.pi)
    if old is None:
        return 1.0 / (2 * math.pi)
    value = old.number(None)
    if value == 0.0:
        raise old.error("a thread pitch of 0 is infinitely steep; give the pitch")
    return -1.0 / value


def _mimic(
    found: FoundJoint, freedom: int, stated: tuple[Node, int, float, float], draft: SdfDraft
) -> None:
    """Follower = multiplier * leader + offset; stated are where, the leader's axis, and both."""
    node, leading, multiplier, offset = stated
    follower = draft.joint_named(found.name, node)
    leader = draft.joint_named(found.scope.full(node.text("joint")), node)
    for joint, index in ((follower, freedom), (leader, leading)):
        if index >= joint.freedoms or joint.group:
            raise node.error(f"joint `{joint.name}` is {joint.kind}: it has no such axis to couple")
    terms = ((follower.name, freedom, 1.0), (leader.name, leading, -multiplier))
    draft.couple(found.name, "mimic", terms, offset, node.source)


def _gearbox(found: FoundJoint, draft: SdfDraft) -> None:
    r"""Add a gearbox: :math:`\theta_2 = -r\,\theta_1`."""
    node = found.node
    named = node.child("gearbox_reference_body")
    if named is None or not named.content:
        raise node.error("a gearbox needs a <gearbox_reference_body>; name the gear case")
    reference = draft.carrier(named, found.scope)
    ratio = node.value("gearbox_ratio", 1.0)
    terms: dict[str, float] = {}
    for body, tag, factor in zip(_ends(found, draft), ("axis", "axis2"), (ratio, 1.0), strict=True):
        R = draft.frames.pose(found.name)[:3, :3]
        turns = _angle(reference, body, R @ axis(found, tag, draft), draft)
        if turns is None:
            draft.warn(
                "REG302",
                f"gearbox `{found.name}`: no hinges parallel to its <{tag}> lead from "
                f"`{reference}` to `{body}`: not read",
                node.source,
                "add the hinges that carry the gears",
                joints=(found.name,),
            )
            return
        for joint, sign in turns:
            terms[joint] = terms.get(joint, 0.0) + factor * sign
    kept = tuple((name, 0, value) for name, value in terms.items() if value != 0.0)
    draft.couple(found.name, "gear", kept, 0.0, node.source)


def _angle(
    start: str, end: str, direction: Array, draft: SdfDraft
) -> list[tuple[str, float]] | None:
    """Joints and signs whose coordinates add up to the angle between two bodies about an axis."""
    import networkx as nx  # needed by gears alone

    graph: Any = nx.DiGraph()
    graph.add_node(start)
    for joint in draft.joints.values():
        sign = 0.0
        if joint.kind == "revolute":
            R = draft.frames.pose(joint.parent)[:3, :3] @ joint.T_parent_joint[:3, :3]
            sign = float(R @ joint.screws[3:, 0] @ direction)
            if abs(sign) < 1 - PARALLEL:
                continue
        elif joint.kind != "fixed":
            continue
        if not graph.has_edge(joint.parent, joint.child):
            graph.add_edge(joint.parent, joint.child, joint=joint.name, sign=float(np.sign(sign)))
            graph.add_edge(joint.child, joint.parent, joint=joint.name, sign=-float(np.sign(sign)))
    path = nx.single_source_shortest_path(graph, start).get(end)
    if path is None:
        return None
    steps = (graph.edges[edge] for edge in pairwise(path))
    return [(step["joint"], step["sign"]) for step in steps if step["sign"]]


def limits(node: Node, kind: str) -> JointLimits | None:
    """Bounds of the coordinates, rates and forces of a joint; None where the file gives none."""
    given = {
        name: _values(node, kind, ("limit", name))
        for name in ("lower", "upper", "velocity", "effort")
    }
    if all(values is None for values in given.values()):
        return None
    bounds = {name: _bounds(name, values, node, kind) for name, values in given.items()}
    rated = {
        name: bounds[name] for name in ("velocity", "effort") if np.any(np.isfinite(bounds[name]))
    }
    limits = JointLimits(bounds["lower"], bounds["upper"], **rated)
    return limits if rated or given["lower"] is not None or given["upper"] is not None else None


def dynamics(node: Node, kind: str) -> JointDynamics:
    """Forces within a joint, as far as the file gives them; zero on axes that are silent."""
    given = {key: _values(node, kind, ("dynamics", tag)) for key, tag in DYNAMICS.items()}
    stated = {key: values for key, values in given.items() if values is not None}
    return JointDynamics(**{key: np.nan_to_num(values) for key, values in stated.items()})


def _values(node: Node, kind: str, path: tuple[str, str]) -> Array | None:
    """A number of every axis of a joint, not a number where it is not given; None without any."""
    tags = {"universal": ("axis", "axis2"), "spherical": (), "fixed": ()}.get(kind, ("axis",))
    found = [node.find(tag, *path) for tag in tags]
    if not any(found):
        return None
    return np.array([math.nan if f is None else f.number(None, finite=False) for f in found])


def _bounds(name: str, values: Array | None, node: Node, kind: str) -> Array:
    """Bounds with infinity where there is none; a negative rate or effort means none, too."""
    freedoms = 2 if kind == "universal" else 1
    values = np.full(freedoms, math.nan) if values is None else values
    none = ~(np.abs(values) < UNBOUNDED)
    if name in ("velocity", "effort"):
        none |= values < 0.0
    return np.where(none, -math.inf if name == "lower" else math.inf, values)
