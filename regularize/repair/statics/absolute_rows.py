"""Rows that keep a mechanism together in codes with six coordinates a body, such as EXUDYN.

There every joint is a constraint between two bodies, and the loops close by themselves. The joints
of the spanning tree keep all their rows, and the cut joints those that the reduction keeps. EXUDYN
constrains axes of a frame on the first body of a joint: any axes complete the rows of a cut that
follow from the others, wherever the body moves, if they do once.
"""

from __future__ import annotations

import itertools
import os
from collections.abc import Iterable, Iterator
from dataclasses import dataclass

import numpy as np

from regularize.errors import ModelError, UnsupportedExport
from regularize.lie import screw
from regularize.lie.arrays import Array, Coordinates, Space, Transform, read_only
from regularize.mechanism.diagnostic import Diagnostic
from regularize.mechanism.graph import Edge, EdgeId
from regularize.mechanism.joint import Joint
from regularize.mechanism.joint_kinds import perpendiculars
from regularize.mechanism.mechanism import Model, no_inertia
from regularize.output_files import write_file
from regularize.reduction.cuts import Cut
from regularize.reduction.reduce import Reduction, as_reduction, reduce
from regularize.tolerances import VANISHING
from regularize.validation import ARRAY, numbers, validated


@validated(q=ARRAY)
def absolute_rows(model: Model, q: Array | None = None) -> dict[str, Array]:
    """The rows of every joint that a code with absolute coordinates has to keep.

    A row w says that w · (v, ω) = 0 for the velocity of the child against the parent, in metres.
    The rows of all joints together are as many as are independent, where the reduction leaves
    nothing redundant, and everything that they leave out follows from them. Couplings of joints are
    rows of their own, and not among these. Where such rows hold bodies in groups
    (``reduction.held``), the cuts alone have more rows than are independent, and the surplus is
    left out as ``reduce(…, numerical="anyway")`` does: at single configurations a row may be missed
    then.

    Rows of a cut are constant in a frame on one of its two bodies. Where that is the child, and of
    joints whose freedoms form no group (a universal joint's torque stands across both its axes),
    they turn with the joint in the frame that is asked for: these are the rows at ``q``.

    Args:
        model: The mechanism, or its reduction.
        q: Coordinates of all joints with the loops closed, shape (n,); by default as assembled.

    Returns:
        Covectors (v, ω) in the joint's frame on its parent, orthonormal in metres, shape (6, m), by
        the names of all joints; m is 0 where nothing is to be kept.

    Raises:
        ModelError: The coordinates have another shape.
    """
    placed = PlacedJoints.of(with_cuts_alone(as_reduction(model)), q)
    names = (joint.name for joint in placed.reduction.mechanism.joints)
    return {name: read_only(placed.rows(name)) for name in names}


def with_cuts_alone(reduction: Reduction) -> Reduction:
    """Return the reduction with rows of cuts alone, as few as it has with rows of groups."""
    if not reduction.held:
        return reduction
    return reduce(reduction.graph, numerical="anyway", groups=False, seed=reduction.seed)


@dataclass(frozen=True, eq=False)
class PlacedJoints:
    """The joints of a reduced mechanism at a configuration, each in its frame on its parent."""

    #: With rows of cuts alone.
    reduction: Reduction
    #: Poses of the nodes, shape (nodes, 4, 4).
    nodes: Transform
    #: Screws of all coordinates.
    screws: Space

    @classmethod
    def of(cls, reduction: Reduction, q: Coordinates | None = None) -> PlacedJoints:
        """Place the joints at coordinates, by default the assembled ones."""
        at = reduction.q if q is None else numbers(q)
        if at.shape != reduction.q.shape:
            raise ModelError(f"q has shape {at.shape}; pass ({len(reduction.q)},)")
        loops = reduction.loops
        state = loops.state(at)
        nodes = np.stack([state.T_world_node[0, loops.row(n)] for n in reduction.graph.every_node])
        return cls(reduction, nodes, state.screws[0].T)

    def body(self, name: str) -> Transform:
        """Return the world pose of a body by its name."""
        graph = self.reduction.graph
        return np.asarray(self.nodes[graph.node_of[name]] @ graph.T_node_body[name])

    def frame(self, joint: Joint) -> Transform:
        """Return the frame of a joint on its parent."""
        return np.asarray(self.body(joint.parent) @ joint.T_parent_joint)

    def parts(self, name: str) -> list[Edge]:
        """Return the elementary joints of a joint; none for a fixed joint that is not cut."""
        return [edge for edge in self.reduction.graph.edges if edge.joint.name == name]

    def cut(self, name: str) -> Cut | None:
        """Return the place of a joint's cut, or None if it is not cut."""
        return next((cut for cut in self.reduction.cuts if cut.edge.joint.name == name), None)

    def freedoms(self, joint: Joint, leaving: EdgeId | None = None) -> Space:
        """Return the screws of a joint's parts without the one left out, in its frame."""
        parts = [edge for edge in self.parts(joint.name) if edge.index != leaving]
        columns = [c for edge in parts for c in edge.columns]
        to_joint = screw.adjoint(screw.inverse(self.frame(joint)))
        return np.asarray(to_joint @ self.screws[:, columns])

    def rows(self, name: str, implied: bool = False) -> Space:
        """Return a joint's kept, or implied, covectors in its frame on its parent, as columns."""
        joint, cut = self.reduction.mechanism.joint(name), self.cut(name)
        if cut is None:
            return np.zeros((6, 0)) if implied else complement(self.freedoms(joint))
        left_out = np.hstack([cut.removed, cut.thinned, cut.numerical])
        own = (left_out if implied else cut.rows).copy()
        own[:3] /= cut.length
        T_cut_joint = screw.inverse(self.nodes[cut.node] @ cut.T_node_frame) @ self.frame(joint)
        there = np.linalg.qr(screw.adjoint(T_cut_joint).T @ own)[0]
        # Rates of the joint's other parts are no velocities of bodies: what they change cannot say.
        others = self.freedoms(joint, cut.edge.index)
        return np.asarray(there @ complement((others.T @ there).T)) if others.size else there


def complement(columns: Array) -> Array:
    """Return an orthonormal basis of vectors orthogonal to all columns, shape (k, k - rank)."""
    u, s, _ = np.linalg.svd(columns)
    return np.asarray(u[:, int(np.sum(s > VANISHING * s.max(initial=0.0))) :])


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
    """Write an EXUDYN script of the global ``mbs``, assembled, not solved; return its losses."""
    given = as_reduction(model)
    reduction = with_cuts_alone(given)
    findings = []
    if reduction.remaining:
        reduction = reduce(given.graph, numerical="anyway", groups=False, seed=given.seed)
    if sum(cut.numerical.shape[1] for cut in reduction.cuts):
        words = "EXUDYN: rows are left out that depend on the others where the mechanism was looked"
        findings.append(Diagnostic("REG302", "note", f"{words} at, not provably everywhere"))
    placed, mechanism = PlacedJoints.of(reduction), reduction.mechanism
    if mechanism.couplings:
        names = ", ".join(f"`{coupling.name}`" for coupling in mechanism.couplings)
        raise UnsupportedExport(f"{path}: EXUDYN's joints have no coordinates to couple: {names}")
    name = mechanism.name.replace("\\", " ").replace('"', "'").encode("ascii", "replace").decode()
    text = HEAD.format(name=name, gravity=_list(mechanism.gravity), ground=ascii(mechanism.ground))
    lines = []
    for body in (each for each in mechanism.bodies if each.name != mechanism.ground):
        inertia, T = body.inertia, placed.body(body.name)
        if inertia is None:
            raise no_inertia(mechanism, ())
        lines.append(
            f"body({body.name!a}, {_list(T[:3, 3])}, {_list(T[:3, :3])}, {float(inertia.mass)!r}, "
            f"{_list(inertia.spatial[3:, 3:])}, {_list(inertia.center)})"
        )
    for joint in mechanism.joints:
        lines.append(_joint(placed, joint))
        findings += _lost(joint)
    write_file(path, text + "\n".join([*lines, "", "mbs.Assemble()"]) + "\n")
    return tuple(findings)


def _list(values: Array) -> str:
    """Format an array as a Python list."""
    return repr(np.asarray(values + 0.0).tolist())


def _joint(placed: PlacedJoints, joint: Joint) -> str:
    """Write a joint with its spring and damper; raises ``UnsupportedExport``."""
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
    passive, turns = joint.dynamics, joint.kind == "revolute"
    acts = any(np.any(x) for x in (passive.stiffness, passive.damping) if x is not None)
    if not acts or joint.kind not in ("revolute", "prismatic"):
        return call
    stiffness, damping, rest = (
        0.0 if x is None else float(x[0])
        for x in (passive.stiffness, passive.damping, passive.rest_position)
    )
    rest -= float(placed.reduction.q[placed.parts(joint.name)[0].columns[0]])
    # Seen from the child the joint goes the other way; so does its axis in the frame.
    z = (screw.inverse(placed.frame(joint)) @ frame)[:3, 2]
    way = placed.freedoms(joint)[3:, 0] if turns else placed.freedoms(joint)[:3, 0]
    sign = -1.0 if (first == joint.parent) != bool(way @ z >= 0.0) else 1.0
    kind = "torsion" if turns else "linear"
    return f"{kind}({call}, {stiffness!r}, {damping!r}, {float(sign * rest)!r})"


def _held(placed: PlacedJoints, joint: Joint) -> tuple[Transform, tuple[int, ...]]:
    """Return a joint's frame in the ground, and which axes are held: all of its kind, or enough."""
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
    if joint.kind == "revolute":
        point = np.cross(own[3:, -1], own[:3, -1]) / (own[3:, -1] @ own[3:, -1])
    frame = T @ screw.transform(R, point)
    keep = placed.rows(joint.name).shape[1]
    if keep == len(every) or not keep:
        return frame, every if keep else ()
    # The frame of the joint and others about its axis.
    angles = np.pi * np.array([0.5, 0.25, 0.1, 0.37, 0.71, 0.83])
    turned = [frame @ screw.exp(np.array([0, 0, 0, 0, 0, angle])) for angle in angles]
    frames = [frame, *(turned if joint.kind != "universal" else ())]
    implied = placed.rows(joint.name, implied=True)
    best, k, axes = max(
        (_independence(T, f, axes, implied), k, axes)
        for k, f in enumerate(frames)
        for axes in itertools.combinations(every, keep)
    )
    if best < 1e-6:
        raise UnsupportedExport(
            f"EXUDYN: no axes of joint {joint.name!r} stand for the rows that are kept; choose "
            "another cut"
        )
    return frames[k], axes


def _independence(T: Array, frame: Array, axes: Iterable[int], implied: Array) -> float:
    """Return the least singular value of axes of a frame together with the implied rows."""
    chosen = screw.adjoint(screw.inverse(frame) @ T).T[:, [*axes]]
    chosen = chosen / np.linalg.norm(chosen, axis=0)
    size = np.linalg.norm(implied, axis=0)
    s = np.linalg.svd(np.hstack([chosen, implied / np.where(size, size, 1.0)]), compute_uv=False)
    return float(s[-1])


def _lost(joint: Joint) -> Iterator[Diagnostic]:
    """Report properties of a joint that are not written to the script."""
    stated = {name for name, value in joint.dynamics.stated().items() if np.any(value)}
    written = {"stiffness", "damping", "rest_position"}
    lost = stated - (written if joint.kind in ("revolute", "prismatic") else set())
    if lost:
        words = ", ".join(sorted(lost)).replace("_", " ")
        message = f"EXUDYN: {words} of joint `{joint.name}` is not written"
        yield Diagnostic("REG302", "warning", message, joints=(joint.name,))
