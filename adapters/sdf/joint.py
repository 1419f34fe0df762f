"""SDF joints: the table of their kinds; axes in the frames of each version, limits, couplings."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import replace
from itertools import pairwise
from typing import Any

import numpy as np

from regularize.adapters.common.draft import WORLD, joint_between
from regularize.adapters.common.serial import JointKind, KindTable
from regularize.adapters.common.xml import Node
from regularize.adapters.sdf.draft import JointElement, Scope, SdfDraft
from regularize.lie.arrays import Array, Direction, Space
from regularize.lie.screw import inverse, log
from regularize.mechanism.joint import Joint, JointDynamics, JointLimits, joint_position, motion
from regularize.mechanism.joint_kinds import joint_screws

#: Every kind of SDF; where a hinge may become another kind, physics engines simulate that one.
KINDS = KindTable(
    JointKind("revolute", ("revolute", "continuous"), 1, becomes=("universal", "spherical")),
    JointKind("prismatic", ("prismatic",), 1),
    JointKind("helical", ("screw",), 1),
    JointKind("universal", ("universal", "revolute2"), 2),
    JointKind("spherical", ("ball",)),
    JointKind("fixed", ("fixed",)),
)
#: Elements of the axes of a joint, in their order.
AXES, ENDS = ("axis", "axis2"), ("parent", "child")
GEARBOX = "gearbox"  # a type that couples two joints
PARALLEL = 1e-6
CLOSED = 1e-6  # metres between two frames that coincide
ALIGNED = 1e-3  # radians: beyond the rounding of angles such as 1.5708
#: Bounds of this size mean that there is none.
UNBOUNDED = 1e16
#: Element of each value of a joint's dynamics.
DYNAMICS = {
    "damping": "damping",
    "friction": "friction",
    "rest_position": "spring_reference",
    "stiffness": "spring_stiffness",
}


def read_joints(draft: SdfDraft) -> None:
    """Add all joints, then the couplings between them."""
    gearboxes = []
    for element in draft.elements:
        node = element.node
        if node.one_of(node.text("type"), (*KINDS.read, GEARBOX)) == GEARBOX:
            gearboxes.append(element)
        else:
            draft.add_joint(_joint(element, draft), node)
        draft.report_repeated(node, element.name, "pose", *ENDS, *AXES)
    for element in draft.elements:
        mimics = [element.node.find(tag, "mimic") for tag in AXES]
        for freedom, mimic in enumerate(mimics):
            if mimic is not None:
                leading = 1 if mimic.get("axis") == AXES[1] else 0
                factor = mimic.value("multiplier", 1.0)
                offset = mimic.value("offset", 0.0) - factor * mimic.value("reference", 0.0)
                _couple(element, mimic, (freedom, leading), factor, offset, draft)
        # Drake reads an element of its own; files for all programs have both.
        mimic = element.node.child("drake:mimic")
        if mimic is not None and mimics == [None, None]:
            factor, offset = mimic.number("multiplier", 1.0), mimic.number("offset", 0.0)
            _couple(element, mimic, (0, 0), factor, offset, draft)
    for element in gearboxes:
        _gearbox(element, draft)


def read_planar(draft: SdfDraft, node: Node, scope: Scope) -> None:
    """Add a joint of Drake's: planar, in the plane of two frames that meet at its zero."""
    node.one_of(node.text("type"), ("planar",))
    if node.child("pose") is not None:
        raise node.error("Drake reads no <pose> there; name a <frame> in <drake:parent>")
    damping, name = node.filled("drake:damping"), scope.full(node.text("name"))
    dynamics = JointDynamics(damping=None if damping is None else damping.numbers(None, 3))
    one, other = (draft.side(node.need(f"drake:{end}"), scope) for end in ENDS)
    along = np.eye(6)[:, [0, 1, 5]]  # X and Y, about Z
    joint = joint_between(
        *(name, "planar", one, other), along, source=node.source, dynamics=dynamics
    )
    draft.add_joint(joint, node)


def screws(node: Node, kind: str, direction: Callable[[str], Direction]) -> Space:
    """Return a joint's screws in its own frame; ``direction`` maps ``axis`` or ``axis2`` to it."""
    axes = KINDS[kind].axes
    if not axes:
        return joint_screws(kind)
    first, second = direction(AXES[0]), direction(AXES[1]) if axes == 2 else None
    if second is not None and np.linalg.norm(np.cross(first, second)) < PARALLEL:
        raise node.error(
            "the two axes are parallel, which makes one freedom of two; turn <axis2> (it is "
            "0 0 1 where it is not given)"
        )
    return joint_screws(kind, first, second, thread_pitch(node) if kind == "helical" else 0.0)


def _ends(element: JointElement, draft: SdfDraft) -> list[str]:
    ends = (element.node.need(tag) for tag in ENDS)
    return [draft.side(end, element.scope)[0] for end in ends]


def _joint(element: JointElement, draft: SdfDraft) -> Joint:
    node, frames = element.node, draft.frames
    first, second = ((body, frames.relative(body, element.name)) for body in _ends(element, draft))
    kind = KINDS.read[node.text("type")]
    bounds = limits(node, kind)
    if kind == "revolute" and bounds is not None and not np.any(bounds):
        draft.note(
            "REG015",
            f"joint `{element.name}` is revolute with both limits 0: read as a fixed joint",
            node.source,
            joints=(element.name,),
        )
        kind, bounds = "fixed", None
    joint = joint_between(
        *(element.name, kind, first, second),
        screws(node, kind, lambda tag: axis(element, tag, draft)),
        limits=bounds,
        source=node.source,
        dynamics=dynamics(node, kind),
    )
    return _opened(joint, element, draft)


def _opened(joint: Joint, element: JointElement, draft: SdfDraft) -> Joint:
    """Move the joint's frame on its parent to a frame elsewhere that <parent> names (Drake)."""
    node, frames = element.node, draft.frames
    name = element.scope.full(node.need("parent").text())
    if node.child("pose") is not None or name == WORLD or frames.entries[name].node.tag != "frame":
        return joint
    T = frames.relative(name, element.name)
    gap = inverse(motion(joint, joint_position(joint, T))) @ T
    apart, turned = float(np.linalg.norm(gap[:3, 3])), float(np.linalg.norm(log(gap)[3:]))
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


def axis(element: JointElement, tag: str, draft: SdfDraft) -> Direction:
    """Return an axis as a unit vector in the joint frame, whatever frame the file gives it in."""
    node, xyz = element.node.child(tag), element.node.filled(tag, "xyz")
    direction = np.array([0.0, 0.0, 1.0]) if xyz is None else xyz.direction(xyz.numbers(None, 3))
    name = None if xyz is None else xyz.get("expressed_in")
    in_model = draft.version <= (1, 4) or (node and node.says("use_parent_model_frame"))
    if name:
        base = element.scope.full(name)
    elif draft.version < (1, 7) and in_model:
        base = element.scope.frame
    else:  # the joint frame
        return direction
    draft.frames.known(base, xyz or element.node)
    return draft.frames.relative(element.name, base)[:3, :3] @ direction


def thread_pitch(node: Node) -> float:
    """Return metres per radian; the old element counts radians per metre, left-handed."""
    new, old = node.filled("screw_thread_pitch"), node.filled("thread_pitch")
    if new is not None:
        return new.number(None) / (2 * math.pi)
    if old is None:
        return 1.0 / (2 * math.pi)
    value = old.number(None)
    if value == 0.0:
        raise old.error("a thread pitch of 0 is infinitely steep; give the pitch")
    return -1.0 / value


def _couple(
    element: JointElement,
    mimic: Node,
    axes: tuple[int, int],
    multiplier: float,
    offset: float,
    draft: SdfDraft,
) -> None:
    """Add ``follower = multiplier * leader + offset`` for one axis of each joint."""
    follower = draft.joint_named(element.name, mimic)
    leader = draft.joint_named(element.scope.full(mimic.text("joint")), mimic)
    for joint, index in zip((follower, leader), axes, strict=True):
        if index >= joint.freedoms or joint.group:
            words = f"joint `{joint.name}` is {joint.kind}: it has no such axis to couple"
            raise mimic.error(words)
    terms = ((follower.name, axes[0], 1.0), (leader.name, axes[1], -multiplier))
    draft.couple(element.name, "mimic", terms, offset, mimic.source)


def _gearbox(element: JointElement, draft: SdfDraft) -> None:
    """Add a gearbox: seen from its reference body the child turns by -ratio of the parent."""
    node = element.node
    named = node.child("gearbox_reference_body")
    if named is None or not named.content:
        raise node.error("a gearbox needs a <gearbox_reference_body>; name the gear case")
    reference, _ = draft.side(named, element.scope)
    factors = (node.value("gearbox_ratio", 1.0), 1.0)
    terms: dict[str, float] = {}
    for body, tag, factor in zip(_ends(element, draft), AXES, factors, strict=True):
        R = draft.frames.pose(element.name)[:3, :3]
        turns = _angle(reference, body, R @ axis(element, tag, draft), draft)
        if turns is None:
            draft.warn(
                "REG302",
                f"gearbox `{element.name}`: no hinges parallel to its <{tag}> lead from "
                f"`{reference}` to `{body}`: not read",
                node.source,
                "add the hinges that carry the gears",
                joints=(element.name,),
            )
            return
        for joint, sign in turns:
            terms[joint] = terms.get(joint, 0.0) + factor * sign
    kept = tuple((name, 0, value) for name, value in terms.items() if value != 0.0)
    draft.couple(element.name, "gear", kept, 0.0, node.source)


def _angle(
    start: str, end: str, direction: Direction, draft: SdfDraft
) -> list[tuple[str, float]] | None:
    """Find hinges whose signed coordinates add up to the angle from one body to another."""
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
    """Return bounds, rates and forces of a joint; None where the file gives none."""
    names = ("lower", "upper", "velocity", "effort")
    numbers = {name: _per_axis(node, kind, "limit", name) for name in names}
    bounds = {name: _bounds(name, values, kind) for name, values in numbers.items()}
    rated = {k: bounds[k] for k in ("velocity", "effort") if np.any(np.isfinite(bounds[k]))}
    if not rated and numbers["lower"] is None and numbers["upper"] is None:
        return None
    return JointLimits(bounds["lower"], bounds["upper"], **rated)


def dynamics(node: Node, kind: str) -> JointDynamics:
    """Return a joint's damping, friction and spring as stated; zero on axes without them."""
    rows = {key: _per_axis(node, kind, "dynamics", tag) for key, tag in DYNAMICS.items()}
    stated = {key: np.nan_to_num(row) for key, row in rows.items() if row is not None}
    return JointDynamics(**stated)


def _per_axis(node: Node, kind: str, *path: str) -> Array | None:
    """Return a number of every axis, shape (axes,), NaN where it is not given; None without any."""
    numbers = [node.filled(tag, *path) for tag in AXES[: KINDS[kind].axes]]
    if not any(numbers):
        return None
    return np.array([math.nan if n is None else n.number(None, finite=False) for n in numbers])


def _bounds(name: str, values: Array | None, kind: str) -> Array:
    """Return bounds, infinite where there is none, and so for a negative rate or effort."""
    values = np.full(KINDS[kind].axes, math.nan) if values is None else values
    none = ~(np.abs(values) < UNBOUNDED)
    if name in ("velocity", "effort"):
        none |= values < 0.0
    return np.where(none, -math.inf if name == "lower" else math.inf, values)
