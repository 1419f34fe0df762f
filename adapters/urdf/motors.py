"""Motors of URDF: its transmissions, and the hardware that ros2_control commands.

A joint that both name has one motor: the gear is the transmission's, and what it is commanded by is
the first command interface.
"""

from __future__ import annotations

from dataclasses import replace

from regularize.adapters.common.names import listed, unique
from regularize.adapters.common.xml import Node
from regularize.adapters.urdf.draft import UrdfDraft
from regularize.model.mechanism import Actuator

#: What command interfaces of ros_control and ros2_control command.
COMMANDS = {"effort": "motor", "position": "position", "velocity": "velocity"}


def read_motors(draft: UrdfDraft) -> None:
    """Add the motors, and mark the joints that they move."""
    motors: dict[str, Actuator] = {}
    controls = draft.root.children("ros2_control")
    transmissions = [t for top in (draft.root, *controls) for t in top.children("transmission")]
    for transmission in transmissions:
        _report_passive(transmission, draft)
        _read_transmission(transmission, draft, motors)
    for control in controls:
        for node in control.children("joint"):
            _read_control(node, draft, motors)
    for joint, motor in motors.items():
        name = unique(motor.name, {a.name for a in draft.actuators})
        draft.actuators.append(replace(motor, name=name))
        draft.joints[joint] = replace(draft.joints[joint], actuated=True)


def _read_transmission(node: Node, draft: UrdfDraft, motors: dict[str, Actuator]) -> None:
    """The motors of one transmission; its n-th joint is moved by its n-th actuator."""
    actuators, joints = node.children("actuator"), node.children("joint")
    for k, joint in enumerate(joints):
        # Transmissions of joints that the file does not have are common, and harmless here.
        name = joint.get("name") or ""
        if name not in draft.joints or draft.joints[name].freedoms == 0 or name in motors:
            continue
        actuator = actuators[k] if k < len(actuators) else None
        interface = joint.child("hardwareInterface")
        written = "" if interface is None else (interface.text(None) or "").lower()
        motors[name] = Actuator(
            (None if actuator is None else actuator.get("name")) or name,
            name,
            kind=commanded(written),
            gear=_reduction(node, joint, actuator),
            source=(actuator or joint).source,
        )


def commanded(interface: str) -> str:
    """Kind of a motor by the name of its hardware interface, in lower case."""
    return next((kind for what, kind in COMMANDS.items() if what in interface), "motor")


def _reduction(node: Node, joint: Node, actuator: Node | None) -> float:
    """Turns of the motor per turn of the joint; 1 where the file gives none."""
    reduction = 1.0
    for place in (joint, actuator, node):
        for tag in ("mechanicalReduction", "mechanical_reduction"):
            found = None if place is None else place.child(tag)
            if found is not None:
                reduction *= found.number(None)
    return reduction


def _read_control(node: Node, draft: UrdfDraft, motors: dict[str, Actuator]) -> None:
    """The motor of a joint that ros2_control commands."""
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
    """Whether a parameter is a bound with a number; many are left to xacro or to a launch file."""
    if node.get("name") not in ("min", "max"):
        return False
    try:
        float(node.text(None))
    except ValueError:
        return False
    return True


def _report_passive(node: Node, draft: UrdfDraft) -> None:
    """Warn of joints that a transmission moves together, which is no part of the kinematics."""
    passive = [joint.get("name") or "?" for joint in node.children("passive_joint")]
    if passive:
        draft.unread(
            f"transmission `{node.get('name')}` couples {listed(passive)} to its motor, which is "
            "not read: the mobility may be counted too high",
            node.source,
            "write the coupling as <mimic> of these joints, or the loop as a URDF+ <loop>",
            joints=tuple(passive),
        )
