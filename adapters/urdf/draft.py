"""A URDF model while it is being read: a tree of links, joints of the table ``KINDS``, motors."""

from __future__ import annotations

import math
from dataclasses import dataclass, field, replace

import numpy as np

from regularize.adapters.common.draft import WORLD, Draft, Side
from regularize.adapters.common.quantities import rotation_between, rotation_rpy
from regularize.adapters.common.serial import JointKind, KindTable
from regularize.adapters.common.values import Located
from regularize.adapters.common.xml import Node
from regularize.escape import listed, unique
from regularize.lie.arrays import Direction, Space, Transform
from regularize.lie.screw import IDENTITY, inverse, transform
from regularize.mechanism.body import Body
from regularize.mechanism.graph import DisjointSets
from regularize.mechanism.joint import Joint, JointDynamics, JointLimits, relative_pose
from regularize.mechanism.joint_kinds import joint_screws
from regularize.mechanism.mechanism import Actuator, ActuatorGains


@dataclass(eq=False)
class UrdfDraft(Draft):
    """A URDF model under construction; joints marked as closures are no part of its tree."""

    root: Node = field(kw_only=True)  # the ``<robot>`` element
    implicit_world: bool = False  # whether the file names ``world`` without having such a link

    @property
    def roots(self) -> list[str]:
        """Links that are no child of a joint, in file order."""
        children = {joint.child for joint in self.joints.values()}
        return [name for name in self.bodies if name not in children]

    def link(self, name: str, at: Located) -> str:
        """Return the name of a link; ``world`` becomes one when it is first named, as in Drake."""
        if name == WORLD and name not in self.bodies:
            self.implicit_world = True
            self.bodies[name] = Body(name, source=at.source)
            self.note(
                "REG102",
                "`world` is not a link of the file: read as the ground, as Drake does",
                at.source,
            )
        return self.body_named(name, at)

    def named_frame(self, name: str, at: Node) -> Side:
        """Return link and pose of a link's own frame or of a Drake ``<frame>``."""
        frame = self.frames.get(name)
        if frame is None or name in self.bodies:
            return self.link(name, at), IDENTITY
        return self.link(frame.text("link"), frame), pose(frame)

    @property
    def frames(self) -> dict[str, Node]:
        """The elements of Drake's frames by their names."""
        return {f.get("name") or "": f for f in self.root.children("frame", "drake:frame")}

    def marks(self) -> dict[str, Side]:
        """Return link and pose there of each Drake ``<frame>`` that no element of Drake's names."""
        elements = (
            e for top in self.root.nodes if top.tag.startswith("drake:") for e in top.walk()
        )
        named = {
            e.get(key) for e in elements if e.tag != "drake:frame" for key in ("name", "frame")
        }
        return {n: self.named_frame(n, f) for n, f in self.frames.items() if n and n not in named}

    def chain(self, link: str) -> list[Joint]:
        """Return the tree joints from a link up to its root."""
        incoming = {joint.child: joint for joint in self.joints.values() if not joint.closure}
        chain = []
        while link in incoming:
            chain.append(incoming[link])
            link = incoming[link].parent
        return chain

    def rest_pose(self, link: str) -> Side:
        """Return the root of a link's tree, and the link's pose in it at zero coordinates."""
        T = np.eye(4)
        for joint in self.chain(link):
            T = relative_pose(joint, np.zeros(joint.freedoms)) @ T
            link = joint.parent
        return link, T

    def rest_poses(self, first: str, second: str, at: Located) -> tuple[Transform, Transform]:
        """Return poses of two links in their common root at zero coordinates."""
        (root, T_first), (other, T_second) = self.rest_pose(first), self.rest_pose(second)
        if root != other:
            raise at.error(
                f"links `{first}` and `{second}` hang on different roots, so their frames have no "
                "relation; join their trees by a fixed joint"
            )
        return T_first, T_second

    def between(self, first: str, second: str, at: Located) -> Transform:
        """Return the pose of the second link in the first one at zero coordinates."""
        T_first, T_second = self.rest_poses(first, second, at)
        return inverse(T_first) @ T_second


def mark_closures(draft: Draft) -> None:
    """Mark joints that give a link a second parent or close a cycle, and warn of them."""
    trees, children = DisjointSets(draft.bodies), set[str]()
    for joint in [*draft.joints.values()]:
        if joint.child in children or trees[joint.parent] == trees[joint.child]:
            draft.joints[joint.name] = replace(joint, closure=True)
        else:
            children.add(joint.child)
            trees.union(joint.parent, joint.child)
    incoming: dict[str, list[Joint]] = {}
    for joint in draft.joints.values():
        incoming.setdefault(joint.child, []).append(joint)
    for link, joints in incoming.items():
        first = next((joint for joint in joints if not joint.closure), joints[0])
        for other in (joint for joint in joints if joint is not first):
            one, two = (joint.name for joint in joints if joint in (first, other))
            draft.warn(
                "REG010",
                f"link `{link}` has two parent joints `{one}` and `{two}`: plain URDF cannot "
                f"express loops; read as a loop closed by `{other.name}`",
                other.source,
                f"write `{other.name}` as a URDF+ <loop>, so that other tools know it closes "
                "a loop",
                joints=(one, two),
            )


def pose(node: Node | None) -> Transform:
    """Read a transform from ``xyz`` and ``rpy`` or ``quat_xyzw``; identity for None."""
    if node is None:
        return IDENTITY
    translation = node.numbers("xyz", 3, np.zeros(3))
    if node.get("quat_xyzw") is None:
        return transform(rotation_rpy(*node.numbers("rpy", 3, np.zeros(3))), translation)
    if node.get("rpy") is not None:
        raise node.error("gives rpy and quat_xyzw; keep one of them")
    return transform(node.quaternion(*node.numbers("quat_xyzw", 4), name="quat_xyzw"), translation)


#: Every kind of URDF and its dialects. Places are ``tree``, a joint of plain URDF; ``extended``, a
#: joint of the tree that plain URDF does not know; ``drake``, a ``<drake:joint>``; ``loop``, a
#: closing element; ``plus``, one that is written; ``data``, an entry of ``robot_data.yaml``.
KINDS = KindTable(
    JointKind("revolute", ("revolute", "continuous"), 1, ("tree", "loop", "plus", "data")),
    JointKind("prismatic", ("prismatic",), 1, ("tree", "loop", "plus", "data")),
    JointKind("fixed", ("fixed",), 0, ("tree", "loop", "plus", "data")),
    JointKind("planar", ("planar",), 1, ("tree", "drake", "loop", "data")),
    JointKind("free", ("floating",), 0, ("tree",)),
    JointKind("spherical", ("spherical", "ball"), 0, ("extended", "drake", "loop", "plus", "data")),
    JointKind("universal", ("universal",), 2, ("drake", "loop", "plus")),
    JointKind("helical", ("screw",), 1, ("drake",)),
    JointKind("cylindrical", ("cylindrical",), 1, ("extended", "loop", "plus", "data")),
    JointKind("point_on_line", ("point_on_line",), 1, ("loop", "data")),
    JointKind("line_in_plane", ("line_in_plane",), 2, ("loop",)),
    JointKind("parallel", ("parallel",), 1, ("loop", "data")),
    JointKind("point_on_plane", ("point_on_plane",), 1, ("loop",)),
)
#: Closures of Gepetto YAML.
GEPETTO = {"spherical": "3d", "fixed": "6d"}
TREE, LOOP = KINDS.at("tree", "extended"), KINDS.at("loop")
#: Joints of the tree, plain ones and Drake's own, with the kinds that each can be.
JOINTS = {"joint": TREE, "drake:joint": KINDS.at("drake")}
DEFAULT_AXIS = (1.0, 0.0, 0.0)
BOUNDS = ("lower", "upper", "velocity", "effort")
#: What command interfaces of ros_control and ros2_control command.
COMMANDS = {"effort": "motor", "position": "position", "velocity": "velocity"}


def read_joints(draft: UrdfDraft) -> None:
    """Add every ``<joint>``, then the motors that transmissions name."""
    nodes = draft.root.children(*JOINTS)
    for node in nodes:
        draft.add_joint(_joint(node, draft), node)
        draft.report_repeated(node, node.text("name"), *IN_JOINTS)
        for element in node.children():
            if element.tag not in IN_JOINTS and element.tag != "drake:screw_thread_pitch":
                draft.ignore(element.tag, element)
            elif element.get("drake:acceleration"):
                draft.ignore("limit drake:acceleration", element)
    _report_silent_limits(draft, nodes)
    read_motors(draft)


#: What stands in a joint and is read.
IN_JOINTS = ("parent", "child", "origin", "axis", "limit", "dynamics", "mimic", "tolerance")


def _report_silent_limits(draft: UrdfDraft, nodes: list[Node]) -> None:
    """Report joints unbounded here that URDF's default limits would lock at zero."""
    silent = []
    for node in nodes:
        limit = node.child("limit") if node.get("type") in ("revolute", "prismatic") else None
        if limit is not None and not limit.get("lower") and not limit.get("upper"):
            silent.append(node)
    if silent:
        names = [node.text("name") for node in silent]
        draft.skip(
            f"the <limit> of {listed(names)} gives neither lower nor upper: it bounds nothing "
            "here, but `robot.model` has URDF's defaults 0 and 0, as Pinocchio and ROS read it, "
            "which lock the joint there",
            silent[0].source,
            'write lower and upper, or type="continuous" for a hinge without bounds',
            joints=names,
        )


def _joint(node: Node, draft: UrdfDraft) -> Joint:
    name, kinds = node.text("name"), JOINTS[node.tag]
    kind = kinds.read[node.one_of(node.text("type"), kinds.read)]
    if node.tag == "joint" and "extended" in KINDS[kind].places:
        what = "a ball joint of 3 freedoms" if kind == "spherical" else f"{kind} all the same"
        draft.skip(
            f"joint `{name}` is of type {node.get('type')}, which plain URDF does not know: read "
            f"as {what}",
            node.source,
            joints=(name,),
        )
    parent, child = node.need("parent"), node.need("child")
    independent = node.get("independent")
    return Joint(
        name,
        draft.link(parent.text("link"), parent),
        draft.link(child.text("link"), child),
        kind,
        _screws(node, kind),
        pose(node.child("origin")),
        actuated=None if independent is None else independent in ("true", "True", "1"),
        limits=limits(node, kind),
        source=node.source,
        dynamics=dynamics(node, kind),
    )


def _screws(node: Node, kind: str) -> Space:
    """Return a joint's screws; Drake's universal joint turns about X of parent and Y of child."""
    turn = node.need("drake:screw_thread_pitch").number("value") if kind == "helical" else 0.0
    direction = axis(node.child("axis")) if KINDS[kind].axes == 1 else DEFAULT_AXIS
    return joint_screws(kind, direction, pitch=turn / (2 * np.pi))


def axis(node: Node | None) -> Direction:
    """Read the unit vector of an ``<axis>``, by default X; raises ``ReadError`` for zero."""
    if node is None:
        return np.array(DEFAULT_AXIS)
    return node.direction(node.numbers("xyz", 3, DEFAULT_AXIS))


def limits(node: Node, kind: str) -> JointLimits | None:
    """Read the limits of a joint of one freedom; None where the file gives none."""
    limit = node.child("limit")
    if limit is None or kind not in ("revolute", "prismatic"):
        return None
    numbers = {key: limit.number(key, 0.0, finite=False) for key in BOUNDS if limit.get(key)}
    rated = {key: np.array(numbers[key]) for key in ("velocity", "effort") if key in numbers}
    if node.get("type") == "continuous":
        return JointLimits.of([-np.inf, np.inf], **rated) if rated else None
    if "lower" in numbers or "upper" in numbers:
        return JointLimits.of([numbers.get("lower", 0.0), numbers.get("upper", 0.0)], **rated)
    return JointLimits(None, None, **rated) if rated else None


def dynamics(node: Node, kind: str) -> JointDynamics:
    """Read damping and friction of a joint of one freedom, and damping of any joint of Drake's."""
    element = node.child("dynamics")
    if element is not None and node.tag == "drake:joint" and element.get("damping"):
        damping = element.numbers("damping", 3 if kind == "planar" else 1)
        screws = _screws(node, kind)
        if kind == "planar":  # Drake counts along X and Y of the plane that Z is turned out of
            R = rotation_between(np.eye(3)[2], screws[3:, 2])
            damping[:2] = np.square(screws[:3, :2].T @ R[:, :2]) @ damping[:2]
        return JointDynamics(damping=np.broadcast_to(damping, screws.shape[1]))
    if element is None or kind not in ("revolute", "prismatic"):
        return JointDynamics()
    keys = [key for key in ("damping", "friction") if element.get(key)]
    return JointDynamics(**{key: np.array(element.number(key)) for key in keys})


def read_mimics(draft: UrdfDraft) -> None:
    """Add ``q - multiplier * q_other = offset`` for every ``<mimic>``."""
    for node in draft.root.children(*JOINTS):
        mimic = node.child("mimic")
        if mimic is None:
            continue
        joint = draft.joints[node.text("name")]
        other = draft.joint_named(mimic.text("joint"), mimic)
        if joint is other:
            raise mimic.error("the joint mimics itself; name the joint that it follows")
        check_scalar(joint, mimic)
        check_scalar(other, mimic)
        terms = ((joint.name, 0, 1.0), (other.name, 0, -mimic.number("multiplier", 1.0)))
        draft.couple(joint.name, "mimic", terms, mimic.number("offset", 0.0), mimic.source)


def check_scalar(joint: Joint, node: Node) -> None:
    """Raise ``ReadError`` unless the joint has one coordinate."""
    if joint.freedoms != 1:
        raise node.error(
            f"joint `{joint.name}` is {joint.kind} and has {joint.freedoms} freedoms, not the one "
            "that a coupling needs; name a revolute or prismatic joint"
        )


def read_motors(draft: UrdfDraft) -> None:
    """Add one motor per joint, geared by transmissions and commanded by ros2_control."""
    motors: dict[str, Actuator] = {}
    controls = draft.root.children("ros2_control")
    transmissions = [t for top in (draft.root, *controls) for t in top.children("transmission")]
    for transmission in transmissions:
        _read_transmission(transmission, draft, motors)
    for control in controls:
        for node in control.children("joint"):
            _read_control(node, draft, motors)
    for joint, motor in motors.items():
        name = unique(motor.name, {a.name for a in draft.actuators})
        draft.actuators.append(replace(motor, name=name))
        draft.joints[joint] = replace(draft.joints[joint], actuated=True)


def _read_transmission(node: Node, draft: UrdfDraft, motors: dict[str, Actuator]) -> None:
    """Read the motors of a transmission; its n-th actuator moves its n-th joint."""
    passive = [joint.get("name") or "?" for joint in node.children("passive_joint")]
    if passive:
        draft.unread(
            f"transmission `{node.get('name')}` couples {listed(passive)} to its motor, which is "
            "not read: the mobility may be counted too high",
            node.source,
            "write the coupling as <mimic> of these joints, or the loop as a URDF+ <loop>",
            joints=tuple(passive),
        )
    actuators, joints = node.children("actuator"), node.children("joint")
    for k, joint in enumerate(joints):
        # Transmissions of joints that the file does not have are common, and harmless here.
        name = joint.get("name") or ""
        if name not in draft.joints or draft.joints[name].freedoms == 0 or name in motors:
            continue
        actuator = actuators[k] if k < len(actuators) else None
        interface = joint.child("hardwareInterface")
        written = "" if interface is None else (interface.text(None) or "").lower()
        motor = Actuator(
            (None if actuator is None else actuator.get("name")) or name,
            name,
            kind=commanded(written),
            gear=_reduction(node, joint, actuator),
            source=(actuator or joint).source,
        )
        motors[name] = motor if actuator is None else _of_drake(actuator, motor, draft)


def _of_drake(node: Node, motor: Actuator, draft: UrdfDraft) -> Actuator:
    """Return a motor with the gains that Drake's elements give it; its rotor goes to the joint."""
    gear, rotor, pd = (
        node.child(f"drake:{tag}") for tag in ("gear_ratio", "rotor_inertia", "controller_gains")
    )
    if rotor is not None:
        joint, turns = draft.joints[motor.joint], 1.0 if gear is None else gear.number("value")
        armature = np.full(joint.freedoms, rotor.number("value") * turns**2)
        joint = replace(joint, dynamics=replace(joint.dynamics, armature=armature))
        draft.joints[joint.name] = joint
    if pd is None:
        return motor
    p, d = pd.number("p"), pd.number("d")
    return replace(motor, kind="position", gains=ActuatorGains(p, p, d))


def commanded(interface: str) -> str:
    """Return the kind of motor that a hardware interface, in lower case, commands."""
    return next((kind for what, kind in COMMANDS.items() if what in interface), "motor")


def _reduction(node: Node, joint: Node, actuator: Node | None) -> float:
    """Return turns of the motor per turn of the joint; 1 where the file gives none."""
    tags = "mechanicalReduction", "mechanical_reduction"
    stated = [place.child(tag) for place in (joint, actuator, node) if place for tag in tags]
    return math.prod((each.number(None) for each in stated if each), start=1.0)


def _read_control(node: Node, draft: UrdfDraft, motors: dict[str, Actuator]) -> None:
    """Read the motor of a joint that ros2_control commands."""
    name, interfaces = node.get("name") or "", node.children("command_interface")
    if not interfaces or name not in draft.joints or draft.joints[name].freedoms == 0:
        return
    first = interfaces[0]
    bounds = {p.get("name"): p.number(None) for p in first.children("param") if _bound(p)}
    low, high = bounds.get("min"), bounds.get("max")
    motor = motors.get(name) or Actuator(name, name, source=node.source)
    motors[name] = replace(
        motor,
        kind=COMMANDS.get(first.get("name") or "", "general"),
        control_range=None if low is None or high is None else (low, high),
    )


def _bound(node: Node) -> bool:
    """Return whether a parameter is a bound with a number, not left to xacro or a launch file."""
    if node.get("name") not in ("min", "max"):
        return False
    try:
        float(node.text(None))
    except ValueError:
        return False
    return True
