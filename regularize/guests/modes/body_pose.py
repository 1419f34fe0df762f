"""The pose of a body as coordinates, which may be given in the place of joints' coordinates.

A chain of massless bodies from the ground to the body leaves it the motion that it has anyway, so
nothing of the mechanism changes; the coordinates of the chain are those of the pose. Once they are
given, every leg of a platform is a loop of its own.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import ArrayLike
from scipy.linalg import qr
from scipy.spatial.transform import Rotation as SpatialRotation

from regularize.errors import ModelError
from regularize.escape import did_you_mean
from regularize.guests.modes.frame_motion import FrameMotion, frames_of
from regularize.guests.modes.inputs import node_of
from regularize.lie import screw
from regularize.lie.arrays import Point, Rotation, Transform
from regularize.lie.subalgebra import lie_closure
from regularize.mechanism.body import Body
from regularize.mechanism.graph import Graph
from regularize.mechanism.graph_building import as_graph, build
from regularize.mechanism.joint import Joint
from regularize.mechanism.joint_kinds import joint_screws
from regularize.mechanism.mechanism import Mechanism, Model
from regularize.mechanism.named_columns import ShortRepr
from regularize.tolerances import EXACT

#: Names of the coordinates of a pose: the place in metres, turns about fixed axes in radians.
COORDINATES = ("x", "y", "z", "roll", "pitch", "yaw")
#: Their order along the chain: turns about fixed axes X, Y, Z are turns about moving Z, Y, X.
_CHAIN = ("x", "y", "z", "yaw", "pitch", "roll")
_AXES = {"yaw": "Z", "pitch": "Y", "roll": "X"}


@dataclass(frozen=True, eq=False, repr=False)
class BodyPose(ShortRepr):
    """A body whose pose is given, and by which coordinates.

    The pose is that of the body's frame in the file, expressed in the ground's frame: ``x``, ``y``,
    ``z`` of its origin and ``roll``, ``pitch``, ``yaw`` about the fixed axes X, Y, Z, as in URDF.

    Attributes:
        body: Name of the body.
        coordinates: Those that are given; by default as many as the body has freedoms, those that
            tell its motion best.
        point: A point of the body, as coordinates in the ground's frame at the stored
            configuration, in metres. The pose is then that of a frame there whose axes are
            parallel to the ground's at that configuration.
    """

    body: str
    coordinates: Sequence[str] | None = None
    point: ArrayLike | None = None


def posed(mechanism: Mechanism, pose: BodyPose | str) -> tuple[Mechanism, tuple[str, ...]]:
    """Add the coordinates of a body's pose to a mechanism, and name those that are given."""
    pose = BodyPose(pose) if isinstance(pose, str) else pose
    graph = build(mechanism)
    node_of(graph, pose.body)
    motion = FrameMotion(graph, pose.body)
    if not motion.freedoms:
        raise ModelError(f"body {pose.body!r} does not move: its pose is no input")
    placed, on_body = _frame(motion, pose)
    vary = [COORDINATES[i] for i, varies in enumerate(_varying(motion, pose)) if varies]
    given = tuple(_chosen(motion, vary)) if pose.coordinates is None else _named(pose, vary)
    if len(given) > motion.freedoms:
        raise ModelError(
            f"body {pose.body!r} has {motion.freedoms} of the freedoms {', '.join(vary)}; give "
            f"{motion.freedoms} of them, not {', '.join(given)}"
        )
    names = [name for name in _CHAIN if name in vary]
    chain = _chain(mechanism, pose.body, names, placed, on_body)
    bodies = [Body(joint.child) for joint in chain[:-1]]
    whole = replace(
        mechanism,
        bodies=(*mechanism.bodies, *bodies),
        joints=(*mechanism.joints, *chain),
    )
    return whole, tuple(f"{pose.body}.{name}" for name in given)


def with_pose(
    model: Model | Graph, inputs: Sequence[str], pose: BodyPose | str | None
) -> tuple[Graph, Sequence[str]]:
    """Return the graph and all inputs, those of the pose last."""
    graph = as_graph(model)
    if pose is None:
        return graph, inputs
    whole, given = posed(graph.mechanism, pose)
    return build(whole), [*inputs, *given]


def _named(pose: BodyPose, vary: Sequence[str]) -> tuple[str, ...]:
    """Check the coordinates that are named."""
    given = tuple(name.removeprefix(f"{pose.body}.") for name in pose.coordinates or ())
    for name in given:
        if name not in COORDINATES:
            raise ModelError(f"a pose has no coordinate {name!r}{did_you_mean(name, COORDINATES)}")
        if name not in vary:
            raise ModelError(
                f"{pose.body}.{name} is the same in all configurations; {pose.body!r} moves in "
                f"{', '.join(vary)}"
            )
    return given


def _turns_about(motion: FrameMotion) -> Point | None:
    """Return the point about which the body turns, if it does nothing else; ground's frame."""
    if motion.freedoms > 3 or not any(motion.varying[3:]) or not any(motion.varying[:3]):
        return None
    scaled, length = motion.twists, motion.loops.length
    states = motion.loops.state(motion.samples)
    origins = frames_of(motion.graph, motion.loops, states, motion.body)[:, :3, 3] / length
    v = np.swapaxes(scaled[:, :3], 1, 2)
    w = np.swapaxes(scaled[:, 3:], 1, 2)
    # Twists about one origin for all samples; v + c x w vanishes for the centre c.
    v = (v - screw.cross(w, origins[:, None])).reshape(-1, 3)
    w = w.reshape(-1, 3)
    algebra = lie_closure(np.concatenate([v, w], axis=1).T)
    if algebra.shape[1] != 3 or np.linalg.matrix_rank(algebra[3:], tol=EXACT.same) < 3:
        return None
    rows = np.concatenate([screw.cross_matrix(axis) for axis in w])
    center, *_ = np.linalg.lstsq(rows, -v.reshape(-1), rcond=None)
    return np.asarray(center * length)


def _frame(motion: FrameMotion, pose: BodyPose) -> tuple[Transform, Transform]:
    """Return the pose at the stored configuration, and the same frame seen from the body."""
    state = motion.loops.state(motion.samples[:1])
    T = frames_of(motion.graph, motion.loops, state, pose.body)[0]
    if pose.point is None:
        center = _turns_about(motion)
        placed = T if center is None else screw.transform(T[:3, :3], center)
    else:
        placed = screw.transform(None, np.asarray(pose.point, dtype=np.float64))
    return placed, screw.inverse(T) @ placed


def _varying(motion: FrameMotion, pose: BodyPose) -> tuple[bool, ...]:
    """Tell which of the six coordinates of the pose vary."""
    if pose.point is None and _turns_about(motion) is not None:
        return (False, False, False, True, True, True)
    if pose.point is None or not any(motion.varying[3:]):
        return motion.varying
    # Another point of a body that turns moves across the axes of its turns.
    moves, turns = motion.varying[:3], motion.varying[3:]
    if sum(turns) == 1:
        return (*(moves[i] or not turns[i] for i in range(3)), *turns)
    return (True,) * 6


def _chosen(motion: FrameMotion, vary: Sequence[str]) -> list[str]:
    """Choose as many of the coordinates as there are freedoms, the most independent ones."""
    if len(vary) <= motion.freedoms:
        return list(vary)
    rows = [COORDINATES.index(name) for name in vary]
    _, _, order = qr(motion.clearest_twists[rows].T, mode="economic", pivoting=True)
    return [vary[k] for k in sorted(order[: motion.freedoms])]


def _chain(
    mechanism: Mechanism, body: str, names: Sequence[str], placed: Transform, on_body: Transform
) -> list[Joint]:
    """Make slides along and hinges about the ground's axes, each named by its coordinate."""
    values = _turns(placed[:3, :3], [name for name in names if name in _AXES])
    turned = np.eye(3)
    for name, angle in values.items():
        turned = turned @ SpatialRotation.from_euler(_AXES[name], angle).as_matrix()
    place = dict(zip("xyz", placed[:3, 3], strict=True))
    values |= {axis: place[axis] for axis in place if axis in names}
    start = screw.transform(None, [0.0 if axis in names else place[axis] for axis in place])
    # What does not vary of the turn stays between the last frame of the chain and the body.
    end = on_body @ screw.transform(placed[:3, :3].T @ turned)
    joints, parent = [], mechanism.ground
    for name in names:
        kind = "prismatic" if name in place else "revolute"
        last = name == names[-1]
        joint = Joint(
            f"{body}.{name}",
            parent,
            body if last else f"{body}.{name}",
            kind,
            joint_screws(kind, np.eye(3)[COORDINATES.index(name) % 3]),
            start if parent == mechanism.ground else screw.IDENTITY,
            end if last else screw.IDENTITY,
            np.array([values[name]]),
        )
        joints.append(joint)
        parent = joint.child
    return joints


def _turns(R: Rotation, names: Sequence[str]) -> dict[str, float]:
    """Return the angles of the turns that vary, in order of the chain: all three, one or none."""
    if len(names) == 1:
        turn = SpatialRotation.from_matrix(R)
        angles = {"yaw": turn.as_euler("ZYX"), "pitch": turn.as_euler("YXZ")}
        return {names[0]: float(angles.get(names[0], turn.as_euler("XYZ"))[0])}
    return dict(zip(names, SpatialRotation.from_matrix(R).as_euler("ZYX").tolist(), strict=False))
