"""Elements of an MJCF file; its bodies are nested as the spanning tree of a mechanism has them."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any

import numpy as np

from regularize.adapters.common.quantities import six
from regularize.adapters.common.serial import (
    ROUNDING,
    JointKind,
    KindTable,
    pitch_of,
    serial,
    slide_name,
    twin_name,
)
from regularize.adapters.common.write import Spanning, Writing, WrittenCoordinate, add, quaternion
from regularize.errors import UnsupportedExport
from regularize.escape import listed, unique
from regularize.lie.arrays import Array
from regularize.lie.screw import adjoint, inverse
from regularize.mechanism.body import Body, Geometry, Inertia
from regularize.mechanism.joint import Joint, motion, relative_pose, reversed_joint
from regularize.mechanism.mechanism import Actuator, ActuatorGains
from regularize.words import is_slack


def place(T: Array) -> dict[str, Any]:
    """Return `pos` and `quat` of a body, site or geom placed at T; nothing for the identity."""
    attributes: dict[str, Any] = {}
    if np.any(T[:3, 3]):
        attributes["pos"] = T[:3, 3]
    if not np.array_equal(T[:3, :3], np.eye(3)):
        attributes["quat"] = wxyz(T[:3, :3])
    return attributes


def wxyz(R: Array) -> list[float]:
    """Return the quaternion (w, x, y, z) of a rotation matrix, MuJoCo's order."""
    x, y, z, w = quaternion(R)
    return [w, x, y, z]


def add_geom(element: Any, shape: Geometry, mesh: str | None) -> None:
    """Add a <geom> for a shape to a body element; ``mesh`` names the asset of a mesh shape."""
    size = shape.size / 2 if shape.kind == "box" else shape.size.copy()
    if shape.kind in ("cylinder", "capsule"):
        size[1] /= 2
    untouched = {} if shape.collision else {"contype": "0", "conaffinity": "0"}
    add(
        element,
        "geom",
        type=shape.kind,
        mass="0",
        **place(shape.T_body_geometry),
        mesh=mesh,
        size=size if mesh is None else None,
        rgba=shape.color,
        friction=None if shape.friction in (None, 1.0) else [shape.friction],
        **untouched,
    )


#: Every kind of MJCF: further joints in a body make others of those in the tree, and equality
#: constraints make others of those that close loops.
KINDS = KindTable(
    JointKind(
        *("revolute", ("hinge",), 1, ("tree", "closure")),
        becomes=("cylindrical", "universal", "slotted"),
        closing_becomes=("spherical",),
    ),
    JointKind("prismatic", ("slide",), 1, ("tree",), becomes=("cylindrical",)),
    JointKind("spherical", ("ball",), 0, ("tree", "closure")),
    JointKind("free", ("free",), 0, ("tree",)),
    JointKind("fixed", (), 0, ("closure",), closing_becomes=("spherical", "revolute")),
)
#: Attributes of a joint by what the mechanism calls its forces.
FORCES = {"damping": "damping", "friction": "frictionloss", "armature": "armature"}
LARGEST = float(np.finfo(np.float64).max)


def limits(joint: Joint, size: float) -> dict[str, Any]:
    """Return limit attributes of a joint whose MJCF coordinate is ``size`` times the model's."""
    if joint.limits is None:
        return {}
    attributes: dict[str, Any] = {}
    if joint.limits.bounded:
        # MuJoCo wants both; the largest number there is bounds nothing.
        attributes["range"] = np.clip(np.asarray(joint.limits)[0] * size, -LARGEST, LARGEST)
    effort = joint.limits.effort
    if effort is not None and np.isfinite(effort[0]):
        attributes["actuatorfrcrange"] = [-effort[0] / size, effort[0] / size]
    return attributes


def forces(joint: Joint, size: float) -> dict[str, Any]:
    """Return damping, friction, armature and spring of a joint; coordinates as in ``limits``."""
    stated = {key: float(value[0]) for key, value in joint.dynamics.stated().items()}
    attributes = {
        tag: stated[key] / size ** (1 if key == "friction" else 2)
        for key, tag in FORCES.items()
        if key in stated
    }
    if stated.get("stiffness"):
        attributes["stiffness"] = stated["stiffness"] / size**2
        attributes["springref"] = stated.get("rest_position", 0.0) * size
    return attributes


def add_actuator(
    root: Any, shared: Sequence[Actuator], written: Sequence[WrittenCoordinate], ball: bool
) -> None:
    """Add an actuator on one written coordinate, on several by a fixed tendon, or on a ball."""
    actuator, name = shared[0], shared[0].motor or shared[0].name
    gains, group = actuator.gains or ActuatorGains(), find_or_add(root, "actuator")
    gears = [each.gear / w.factor for each, w in zip(shared, written, strict=True)]
    acts: dict[str, Any] = {"joint": written[0].joint, "gear": gears}
    if ball:
        along = {w.axis: gear for w, gear in zip(written, gears, strict=True)}
        acts["gear"] = [along.get(k, 0.0) for k in range(3)]
    elif len(shared) > 1:
        taken = {each.get("name") for each in root.iterfind("tendon/fixed")}
        acts = {"tendon": unique(name, taken)}
        _add_tendon(root, acts["tendon"], zip((w.joint for w in written), gears, strict=True))
    ranges = {"ctrlrange": actuator.control_range, "forcerange": actuator.force_range}
    values: dict[str, Any] = {**acts, **ranges}
    control = 1.0 if gains.control is None else gains.control
    position, velocity = gains.position or 0.0, gains.velocity or 0.0
    if control == 1.0 and not position and not velocity:
        add(group, "motor", name=name, **values)
        return
    values |= {"gainprm": control}
    if position or velocity:
        values |= {"biastype": "affine", "biasprm": [0.0, -position, -velocity]}
    add(group, "general", name=name, **values)


def add_row(
    root: Any, group: Any, name: str, terms: Sequence[tuple[str, float]], offset: float
) -> None:
    """Add a linear equation of joints: one <joint> equality for two of them, else a tendon."""
    if len(terms) <= 2 and terms[0][1] != 0.0:
        (first, a), rest = terms[0], terms[1:]
        leader, slope = (rest[0][0], -rest[0][1] / a) if rest else (None, 0.0)
        row = [offset / a, slope, 0, 0, 0]
        add(group, "joint", name=name, joint1=first, joint2=leader, polycoef=row)
        return
    _add_tendon(root, name, terms)
    add(group, "tendon", name=name, tendon1=name, polycoef=[offset, 0, 0, 0, 0])


def _add_tendon(root: Any, name: str, terms: Iterable[tuple[str, float]]) -> None:
    """Add a fixed tendon of (joint, coefficient) pairs."""
    fixed = add(find_or_add(root, "tendon"), "fixed", name=name)
    for joint, coefficient in terms:
        add(fixed, "joint", joint=joint, coef=coefficient)


def find_or_add(root: Any, tag: str) -> Any:
    """Return the first child with a tag, added at the end where there is none."""
    section = root.find(tag)
    return add(root, tag) if section is None else section


@dataclass(eq=False)
class BodyTree(Writing):
    """Writer of nested bodies; the rest of the file looks up its elements and coordinates."""

    spanning: Spanning = field(kw_only=True)  # tree and closures of the mechanism
    qpos: list[float] = field(default_factory=list)  # coordinates of the pose, in MuJoCo's order
    pitches: list[tuple[str, str, float]] = field(default_factory=list)
    meshes: dict[tuple[str, tuple[float, ...]], str] = field(default_factory=dict)
    elements: dict[str, Any] = field(default_factory=dict)
    parts: dict[str, int] = field(default_factory=dict)

    @cached_property
    def cuts(self) -> tuple[Joint, ...]:
        """Closing joints without an MJCF equality, turned so that the child, cut in two, moves."""
        cut_joints, connected, ground = [], set(), self.mechanism.ground
        for joint in self.spanning.closures:
            ends = frozenset((joint.parent, joint.child))
            # Connects of the same two bodies are one closure to every reader.
            # MJCF has no equality for others, so that their children are cut in two.
            held = joint.kind in ("spherical", "fixed", "revolute")
            held &= joint.kind != "revolute" or not is_slack(joint.name)
            if not held or (joint.kind != "fixed" and ends in connected):
                cut_joints.append(joint)
            elif joint.kind != "fixed":
                connected.add(ends)
        return tuple(reversed_joint(j) if j.child == ground else j for j in cut_joints)

    def add_bodies(self, world: Any) -> None:
        """Add everything below ``<worldbody>``, depth first, which is MuJoCo's order."""
        ground = self.mechanism.ground
        for joint in self.cuts:
            self.parts[joint.child] = self.parts.get(joint.child, 1) + 1
        self._shapes(world, self.mechanism.body(ground))
        self.elements[ground] = world
        pending = [(world, joint) for joint in reversed(self._hanging(ground))]
        while pending:
            above, joint = pending.pop()
            row = [joint]
            while self._between(row[-1]):
                row += self._hanging(row[-1].child)
            child = row[-1].child
            body = self._body(above, row, self.mechanism.body(child), child)
            self.elements[child] = body
            pending += [(body, joint_below) for joint_below in reversed(self._hanging(child))]
            for cut in self.cuts:
                if cut.parent == child:
                    self._cut_body(body, cut)
        for cut in self.cuts:
            if cut.parent == ground:
                self._cut_body(world, cut)

    def _hanging(self, name: str) -> list[Joint]:
        """Return the tree joints whose parent is a body."""
        return [joint for joint in self.spanning.tree if joint.parent == name]

    def _between(self, joint: Joint) -> bool:
        """Return whether a joint and the only one behind it can be two joints of one MJCF body."""
        body, after = self.mechanism.body(joint.child), self._hanging(joint.child)
        closing = {end for j in self.spanning.closures for end in (j.parent, j.child)}
        empty = body.inertia is None or not (body.inertia.mass or np.any(body.inertia.matrix))
        return (
            len(after) == 1
            and empty
            and not body.geometry
            and body.name not in closing
            and not {joint.kind, after[0].kind} & {"free", "fixed", "spherical"}
        )

    def _cut_body(self, above: Any, joint: Joint) -> None:
        """Add the half of a cut closure's child that hangs on the closure's parent."""
        half = Body(joint.child, self.mechanism.body(joint.child).inertia)
        self.elements[twin_name(joint)] = self._body(above, [joint], half, twin_name(joint))

    def _body(self, above: Any, row: Sequence[Joint], body: Body, name: str) -> Any:
        """Add a body that hangs on ``above`` by a chain of joints; return its element."""
        steps = [joint.T_parent_joint @ inverse(joint.T_child_joint) for joint in row]
        kept = row[0].kind != "free" or above.tag == "worldbody"
        base = np.linalg.multi_dot([np.eye(4), *steps]) if len(steps) > 1 else steps[0]
        element = add(above, "body", name=name, **(place(base) if kept else {}))
        for k, joint in enumerate(row):
            if joint.kind == "free":
                self._free(element, kept, joint)
                continue
            carry = np.eye(4)  # from the link that the joint leads to, to the body
            for step in steps[k + 1 :]:
                carry = inverse(step) @ carry
            self._joints(element, replace(joint, T_child_joint=carry @ joint.T_child_joint))
        self._inertial(element, body.inertia, self.parts.get(body.name, 1))
        self._shapes(element, body)
        return element

    def _inertial(self, element: Any, inertia: Inertia | None, parts: int) -> None:
        """Add the <inertial> of a body, divided by the number of its parts."""
        if inertia is None or not (inertia.mass or np.any(inertia.matrix)):
            return
        mass, matrix = inertia.mass / parts, inertia.matrix / parts
        moments, axes = replace(inertia, matrix=matrix).principal
        if moments[0] > 0.0:
            add(element, "inertial", pos=inertia.center, mass=mass, fullinertia=six(matrix))
            return
        # Of full matrices MuJoCo takes definite ones only, of principal moments all.
        quat = wxyz(axes) if np.any(moments) else None
        add(element, "inertial", pos=inertia.center, quat=quat, mass=mass, diaginertia=moments)

    def refuse_massless(self) -> None:
        """Raise ``UnsupportedExport`` for moving bodies that MuJoCo would refuse for their mass."""
        moving = [e for e in self.root.iter("body") if e.find("joint") is not None]
        bare = [e.get("name") for e in moving if not _has_mass(e)]
        if bare:
            raise UnsupportedExport(
                f"MuJoCo moves no bodies without mass and rotational inertia, such as "
                f"{listed(bare)}; write mass properties into the model, or give --density"
            )

    # -- joints

    def _free(self, element: Any, kept: bool, joint: Joint) -> None:
        """Add a free joint; a free body below another body is left out and reported."""
        if not kept:
            self.lose(
                f"has free bodies below the world only: `{joint.name}` moves with "
                f"`{joint.parent}`, and is left out",
                joints=[joint.name],
            )
            return
        values = self._even_forces(joint)
        # Only the long form has room for damping and the like.
        tag, form = ("joint", {"type": "free"}) if values else ("freejoint", {})
        add(element, tag, name=joint.name, **form, **values)
        now = relative_pose(joint, joint.position)
        self.qpos += [*now[:3, 3], *wxyz(now[:3, :3])]

    def _joints(self, element: Any, joint: Joint) -> None:
        """Add the MJCF joints of a joint, one for each freedom, and register their coordinates."""
        if joint.kind == "spherical":
            R, p = joint.T_child_joint[:3, :3], joint.T_child_joint[:3, 3]
            values = self._even_forces(joint)
            add(element, "joint", name=joint.name, type="ball", pos=p, **values)
            self.qpos += wxyz(R @ motion(joint, joint.position)[:3, :3] @ R.T)
            for k in range(3):
                self.call(joint, k, WrittenCoordinate(joint.name, k))
            return
        carried = adjoint(joint.T_child_joint)
        before = joint.T_child_joint @ inverse(joint.T_parent_joint)
        for k, part in enumerate(serial(joint) if joint.freedoms else []):
            # The screw in the frame of the body, as it stands where all coordinates are zero.
            frame = before @ part.T_parent_joint
            column = carried @ joint.screws[:, k]
            self._joint(element, part, frame[:3, 3], column, joint, k)
            before = frame @ inverse(part.T_child_joint)

    def _joint(
        self, element: Any, part: Joint, point: Array, column: Array, joint: Joint, k: int
    ) -> None:
        """Add one hinge or slide at a point along a screw in the frame of the body."""
        kind = KINDS.written["prismatic" if part.kind == "prismatic" else "revolute"]
        direction = column[:3] if kind == "slide" else column[3:]
        size = float(np.linalg.norm(direction))
        if abs(size - 1.0) < ROUNDING:
            size = 1.0  # a unit axis, but for rounding
        axis, values = direction / size, {**limits(part, size), **forces(part, size)}
        add(element, "joint", name=part.name, type=kind, pos=point, axis=axis, **values)
        self.call(joint, k, WrittenCoordinate(part.name, factor=size))
        self.qpos.append(float(part.position[0]) * size)
        if part.kind == "helical":
            slide, pitch = slide_name(part.name), pitch_of(part)
            add(element, "joint", name=slide, type="slide", axis=axis)
            self.qpos.append(float(part.position[0]) * size * pitch)
            self.pitches.append((slide, part.name, pitch))

    def _even_forces(self, joint: Joint) -> dict[str, Any]:
        """Return force attributes of a joint of several freedoms, for which MJCF has one value."""
        even = {k: v for k, v in joint.dynamics.stated().items() if np.ptp(v) == 0.0}
        found = {tag: even[key][0] for key, tag in FORCES.items() if key in even}
        if joint.kind == "spherical" and "stiffness" in even:
            found["stiffness"] = even["stiffness"][0]
        return found

    def _shapes(self, element: Any, body: Body) -> None:
        """Add the geoms of a body."""
        for shape in body.geometry:
            mesh = None
            if shape.kind == "mesh":
                key = (shape.uri or "", tuple(float(value) for value in shape.size))
                mesh = self.meshes.setdefault(key, f"mesh_{len(self.meshes) + 1}")
            add_geom(element, shape, mesh)


def _has_mass(element: Any) -> bool:
    """Return whether a body element, with those fixed to it, has mass and rotational inertia."""
    inertial = element.find("inertial")
    if inertial is not None and float(inertial.get("mass")) > 0.0:
        moments = inertial.get("fullinertia") or inertial.get("diaginertia")
        if inertial.get("fullinertia") or all(float(m) > 0.0 for m in moments.split()):
            return True
    fixed = [e for e in element.findall("body") if e.find("joint") is None]
    return any(_has_mass(each) for each in fixed)
