"""A mechanism as a Python script for EXUDYN, in absolute coordinates and without redundant rows.

A ``GenericJoint`` constrains axes of a frame on its first body. The rows that a reduction keeps of
a cut have a complement in the rows that follow from the others, and any such rows along the axes of
a frame serve as well as they do, wherever the body moves (see ``absolute_rows``). So joints that
keep all rows become what they are, and those of cuts lose axes.
"""

from __future__ import annotations

import itertools
import os
from collections.abc import Iterable, Iterator

import numpy as np

from regularize.adapters.common.output_files import write_text
from regularize.errors import UnsupportedExport
from regularize.lie import screw
from regularize.lie.arrays import Array
from regularize.mechanism.diagnostic import Diagnostic
from regularize.mechanism.joint import Joint
from regularize.mechanism.joint_kinds import perpendiculars
from regularize.mechanism.mechanism import Model, no_inertia
from regularize.reduction.reduce import as_reduction, reduce
from regularize.repair.statics.absolute_rows import PlacedJoints, with_cuts_alone

HEAD = '''"""{name}: written for EXUDYN by pin-regularize; `mbs` is assembled, and not solved."""

import exudyn as exu
from exudyn.utilities import *
import numpy as np

SC = exu.SystemContainer()
mbs = SC.AddSystem()
gravity = {gravity}
bodies = {{{ground}: mbs.AddObject(ObjectGround(name={ground}))}}


def body(name, position, rotation, mass, inertia, center):
    """A rigid body; inertia about its reference point, which is the origin of the link's frame."""
    bodies[name] = mbs.CreateRigidBody(
        name=name, referencePosition=position, referenceRotationMatrix=rotation, gravity=gravity,
        inertia=RigidBodyInertia(mass=mass, inertiaTensor=np.array(inertia), com=np.array(center)))


def marker(name, at, turned):
    """A frame on a body: of the marker, or of what it is given to where markers have none."""
    if "localHT" in MarkerBodyRigid.__init__.__code__.co_varnames:
        frame = np.eye(4)
        frame[:3, :3], frame[:3, 3] = turned, at
        return mbs.AddMarker(MarkerBodyRigid(bodyNumber=bodies[name], localHT=frame)), None
    return mbs.AddMarker(MarkerBodyRigid(bodyNumber=bodies[name], localPosition=at)), turned


def joint(name, first, second, axes, at, turned, at_second, turned_second):
    """A joint that holds some axes of a frame on its first body."""
    (one, a), (two, b) = marker(first, at, turned), marker(second, at_second, turned_second)
    ends = dict(markerNumbers=[one, two])
    if a is not None:
        ends.update(rotationMarker0=a, rotationMarker1=b)
    if any(axes):
        mbs.AddObject(GenericJoint(name=name, constrainedAxes=axes,
                                   visualization=VObjectJointGeneric(show=False), **ends))
    return ends


def torsion(ends, stiffness, damping, rest):
    """A spring and a damper about the axis z of a joint."""
    turns = mbs.AddNode(NodeGenericData(initialCoordinates=[0], numberOfDataCoordinates=1))
    mbs.AddObject(TorsionalSpringDamper(
        nodeNumber=turns, stiffness=stiffness, damping=damping, offset=rest, **ends))


def linear(ends, stiffness, damping, rest):
    """A spring and a damper along the axis z of a joint."""
    axis = np.array(ends.get("rotationMarker0", np.eye(3)))[:, 2]
    mbs.AddObject(LinearSpringDamper(
        markerNumbers=ends["markerNumbers"], stiffness=stiffness, damping=damping, offset=rest,
        axisMarker0=list(axis)))


'''
#: Rows that a joint may hold in a frame whose axis z is its own.
HELD = {
    "fixed": (0, 1, 2, 3, 4, 5),
    "revolute": (0, 1, 2, 3, 4),
    "prismatic": (0, 1, 3, 4, 5),
    "cylindrical": (0, 1, 3, 4),
    "spherical": (0, 1, 2),
    "planar": (2, 3, 4),
    "universal": (0, 1, 2, 5),
    "free": (),
}


def write_exudyn(model: Model, path: str | os.PathLike[str]) -> tuple[Diagnostic, ...]:
    """Write a script that makes the global ``mbs``, assembled and not solved.

    Bodies have the names of links, reference points at their frames, and the pose as assembled;
    gravity is that of the model. Springs and dampers of hinges and slides are written.

    Args:
        model: The mechanism, or its reduction; rows that it leaves redundant are left out on
            numerical evidence.
        path: The script.

    Returns:
        What is not written.

    Raises:
        UnsupportedExport: EXUDYN has no such joint, or the mechanism has couplings.
        NoInertia: A body states no mass properties.
    """
    given = as_reduction(model)
    reduction = with_cuts_alone(given)
    findings = []
    if reduction.remaining:
        reduction = reduce(given.graph, numerical="anyway", groups=False, seed=given.seed)
    if sum(cut.numerical.shape[1] for cut in reduction.cuts):
        words = "EXUDYN: rows are left out that depend on the others where the mechanism was looked"
        findings.append(Diagnostic("REG302", "note", f"{words} at, not provably everywhere"))
    placed = PlacedJoints.of(reduction)
    mechanism = reduction.mechanism
    if mechanism.couplings:
        names = ", ".join(f"`{coupling.name}`" for coupling in mechanism.couplings)
        raise UnsupportedExport(f"{path}: EXUDYN's joints have no coordinates to couple: {names}")
    text = HEAD.format(
        name=mechanism.name.replace("\\", " ")
        .replace('"', "'")
        .encode("ascii", "replace")
        .decode(),
        gravity=_list(mechanism.gravity),
        ground=ascii(mechanism.ground),
    )
    lines = [*_bodies(placed)]
    for joint in mechanism.joints:
        lines += _joint(placed, joint)
        findings += _lost(joint)
    write_text(path, text + "\n".join([*lines, "", "mbs.Assemble()"]) + "\n")
    return tuple(findings)


def _list(values: Array) -> str:
    return repr(np.asarray(values + 0.0).tolist())


def _bodies(placed: PlacedJoints) -> Iterator[str]:
    mechanism = placed.reduction.mechanism
    moving = [body for body in mechanism.bodies if body.name != mechanism.ground]
    if any(body.inertia is None for body in moving):
        raise no_inertia(mechanism, ())
    for body in moving:
        inertia, T = body.inertia, placed.body(body.name)
        assert inertia is not None
        yield (
            f"body({body.name!a}, {_list(T[:3, 3])}, {_list(T[:3, :3])}, "
            f"{float(inertia.mass)!r}, {_list(inertia.spatial[3:, 3:])}, {_list(inertia.center)})"
        )


def _joint(placed: PlacedJoints, joint: Joint) -> Iterator[str]:
    if joint.kind not in HELD:
        raise UnsupportedExport(
            f"EXUDYN has no joint of the kind {joint.kind!r}, as {joint.name!r} is; make it a "
            "series of hinges and slides"
        )
    cut = placed.cut(joint.name)
    first, second = joint.parent, joint.child
    if cut is not None and cut.on_child and joint.kind != "universal":
        first, second = second, first
    frame, held = _held(placed, joint)
    axes = [int(k in held) for k in range(6)]
    ends = [screw.inverse(placed.body(name)) @ frame for name in (first, second)]
    places = ", ".join(f"{_list(T[:3, 3])}, {_list(T[:3, :3])}" for T in ends)
    call = f"joint({joint.name!a}, {first!a}, {second!a}, {axes}, {places})"
    passive = joint.dynamics
    acts = any(np.any(x) for x in (passive.stiffness, passive.damping) if x is not None)
    if not acts or joint.kind not in ("revolute", "prismatic"):
        yield call
        return
    stiffness, damping, rest = (
        0.0 if x is None else float(x[0])
        for x in (passive.stiffness, passive.damping, passive.rest_position)
    )
    column = placed.parts(joint.name)[0].columns[0]
    rest -= float(placed.reduction.q[column])
    # Seen from the child the joint goes the other way; so does its axis in the frame.
    sign = 1.0 if first == joint.parent else -1.0
    if placed.freedoms(joint)[:, 0] @ _along(placed, joint, frame) < 0.0:
        sign = -sign
    kind = "torsion" if joint.kind == "revolute" else "linear"
    yield f"{kind}({call}, {stiffness!r}, {damping!r}, {float(sign * rest)!r})"


def _along(placed: PlacedJoints, joint: Joint, frame: Array) -> Array:
    """Axis z of a frame as a screw of a joint's kind, in the joint's frame, shape (6,)."""
    z = (screw.inverse(placed.frame(joint)) @ frame)[:3, 2]
    parts = (np.zeros(3), z) if joint.kind == "revolute" else (z, np.zeros(3))
    return np.concatenate(parts)


def _held(placed: PlacedJoints, joint: Joint) -> tuple[Array, tuple[int, ...]]:
    """The frame of a joint in the ground, and which axes are held: all of its kind, or enough."""
    T, every = placed.frame(joint), HELD[joint.kind]
    own = placed.freedoms(joint)
    R = np.eye(3)
    if joint.kind == "universal":
        a, b = own[3:].T
        if abs(a @ b) > 1e-9:
            raise UnsupportedExport(
                f"EXUDYN's universal joints have axes at right angles, {joint.name!r} has not"
            )
        R = np.column_stack([a, b, np.cross(a, b)])
    elif joint.kind in ("revolute", "prismatic", "cylindrical", "planar"):
        axis = own[3:, -1] if joint.kind != "prismatic" else own[:3, 0]
        x, y = perpendiculars(axis)
        R = np.column_stack([x, y, axis / np.linalg.norm(axis)])
    point = np.zeros(3)
    if joint.kind in ("revolute", "cylindrical"):
        moment = own[:3, -1] if joint.kind == "revolute" else np.zeros(3)
        point = np.cross(own[3:, -1], moment) / (own[3:, -1] @ own[3:, -1])
    frame = T @ screw.transform(R, point)
    keep = placed.rows(joint.name).shape[1]
    if keep == len(every):
        return frame, every
    implied = placed.rows(joint.name, implied=True)
    tried = [] if not keep else [*_turned(joint, frame)]
    found = max(
        ((_independence(T, f, axes, implied), k, axes) for k, f in enumerate(tried)
         for axes in itertools.combinations(every, keep)),
        default=(1.0, 0, ()),
    )  # fmt: skip
    if found[0] < 1e-6:
        raise UnsupportedExport(
            f"EXUDYN: no axes of joint {joint.name!r} stand for the rows that are kept; choose "
            "another cut"
        )
    return tried[found[1]] if tried else frame, found[2]


def _turned(joint: Joint, frame: Array) -> Iterator[Array]:
    """A joint's frame and others about its axis; all axes of a frame where the joint has none."""
    yield frame
    if joint.kind == "universal":
        return
    for angle in np.pi * np.array([0.5, 0.25, 0.1, 0.37, 0.71, 0.83]):
        yield frame @ screw.exp(np.array([0, 0, 0, 0, 0, angle]))


def _independence(T: Array, frame: Array, axes: Iterable[int], implied: Array) -> float:
    """How well axes of a frame complete the implied rows: the least singular value of both."""
    chosen = screw.adjoint(screw.inverse(frame) @ T).T[:, [*axes]]
    chosen = chosen / np.linalg.norm(chosen, axis=0)
    size = np.linalg.norm(implied, axis=0)
    s = np.linalg.svd(np.hstack([chosen, implied / np.where(size, size, 1.0)]), compute_uv=False)
    return float(s[-1])


def _lost(joint: Joint) -> Iterator[Diagnostic]:
    """Findings about what the script does not say of a joint."""
    stated = {name for name, value in joint.dynamics.stated().items() if np.any(value)}
    written = {"stiffness", "damping", "rest_position"}
    lost = stated - (written if joint.kind in ("revolute", "prismatic") else set())
    if lost:
        words = ", ".join(sorted(lost)).replace("_", " ")
        message = f"EXUDYN: {words} of joint `{joint.name}` is not written"
        yield Diagnostic("REG302", "warning", message, joints=(joint.name,))
