"""Elements of MJCF that its writer makes: places, sites, shapes and linear relations."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

import numpy as np

from regularize.adapters.common.kinds import JointKind, KindTable
from regularize.adapters.common.write import WrittenCoordinate, add, quaternion
from regularize.escape import unique
from regularize.lie.arrays import Array
from regularize.mechanism.mechanism import Actuator, ActuatorGains, Geometry, Joint


def place(T: Array) -> dict[str, Any]:
    """Position and quaternion of a body, a site or a shape, where there is something to say."""
    attributes: dict[str, Any] = {}
    if np.any(T[:3, 3]):
        attributes["pos"] = T[:3, 3]
    if not np.array_equal(T[:3, :3], np.eye(3)):
        attributes["quat"] = wxyz(T[:3, :3])
    return attributes


def wxyz(R: Array) -> list[float]:
    """Quaternion of a rotation in MuJoCo's order."""
    x, y, z, w = quaternion(R)
    return [w, x, y, z]


def add_geom(element: Any, shape: Geometry, mesh: str | None) -> None:
    """Add a shape to a body; ``mesh`` is the name of its asset if it is one."""
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
    """Attributes for the bounds of a joint whose coordinate is ``size`` times the model's."""
    if joint.limits is None:
        return {}
    found: dict[str, Any] = {}
    if joint.limits.bounded:
        # MuJoCo wants both; the largest number there is bounds nothing.
        found["range"] = np.clip(np.asarray(joint.limits)[0] * size, -LARGEST, LARGEST)
    effort = joint.limits.effort
    if effort is not None and np.isfinite(effort[0]):
        found["actuatorfrcrange"] = [-effort[0] / size, effort[0] / size]
    return found


def forces(joint: Joint, size: float) -> dict[str, Any]:
    """Attributes for the forces within a joint whose coordinate is ``size`` times the model's."""
    stated = {key: float(value[0]) for key, value in joint.dynamics.stated().items()}
    found = {
        tag: stated[key] / size ** (1 if key == "friction" else 2)
        for key, tag in FORCES.items()
        if key in stated
    }
    if stated.get("stiffness"):
        found["stiffness"] = stated["stiffness"] / size**2
        found["springref"] = stated.get("rest_position", 0.0) * size
    return found


def add_actuator(
    root: Any, shared: Sequence[Actuator], written: Sequence[WrittenCoordinate], ball: bool
) -> None:
    """Add a motor of a coordinate of the file, of several by a fixed tendon, or of a ball."""
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
    values: dict[str, Any] = {
        **acts,
        "ctrlrange": actuator.control_range,
        "forcerange": actuator.force_range,
    }
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
    """One linear relation: between two joints directly, else by a fixed tendon."""
    if len(terms) <= 2 and terms[0][1] != 0.0:
        (first, a), rest = terms[0], terms[1:]
        leader, slope = (rest[0][0], -rest[0][1] / a) if rest else (None, 0.0)
        row = [offset / a, slope, 0, 0, 0]
        add(group, "joint", name=name, joint1=first, joint2=leader, polycoef=row)
        return
    _add_tendon(root, name, terms)
    add(group, "tendon", name=name, tendon1=name, polycoef=[offset, 0, 0, 0, 0])


def _add_tendon(root: Any, name: str, terms: Iterable[tuple[str, float]]) -> None:
    fixed = add(find_or_add(root, "tendon"), "fixed", name=name)
    for joint, coefficient in terms:
        add(fixed, "joint", joint=joint, coef=coefficient)


def find_or_add(root: Any, tag: str) -> Any:
    """The section of a file, which is there from now on."""
    found = root.find(tag)
    return add(root, tag) if found is None else found
