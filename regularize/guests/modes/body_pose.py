"""How a body can move, and its pose as coordinates in the place of joints' coordinates.

A chain of massless bodies from the ground to the body leaves it the motion that it has anyway, so
nothing of the mechanism changes; the coordinates of the chain are those of the pose. Once they are
given, every leg of a platform is a loop of its own.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np
from numpy.typing import ArrayLike

from regularize.errors import ModelError
from regularize.escape import did_you_mean
from regularize.guests.modes.grouping import frames_of, node_of
from regularize.guests.modes.inputs import clearest
from regularize.lie import screw
from regularize.lie.arrays import Coordinates, Jacobian, Point, Rotation, Transform
from regularize.lie.subalgebra import lie_closure
from regularize.loops.kinematics import LoopKinematics, State, sized_loops
from regularize.loops.projection import clearest_columns, project
from regularize.mechanism.body import Body
from regularize.mechanism.graph import Graph
from regularize.mechanism.graph_building import as_graph, build
from regularize.mechanism.joint import Joint
from regularize.mechanism.joint_kinds import joint_screws
from regularize.mechanism.mechanism import Mechanism, Model
from regularize.mechanism.named_columns import ShortRepr
from regularize.reduction.mobility import generic_configurations
from regularize.tolerances import EXACT, Tolerances

#: Names of the coordinates of a pose: the place in metres, turns about fixed axes in radians.
COORDINATES = ("x", "y", "z", "roll", "pitch", "yaw")
#: Their order along the chain: turns about fixed axes X, Y, Z are turns about moving Z, Y, X.
_CHAIN = ("x", "y", "z", "yaw", "pitch", "roll")
_AXES = {"yaw": "Z", "pitch": "Y", "roll": "X"}


@dataclass(frozen=True, eq=False, repr=False)
class BodyPose(ShortRepr):
    """A body whose pose is the input, and the coordinates of the pose that vary.

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
    frame = MovingFrame(graph, pose)
    if not frame.freedoms:
        raise ModelError(f"body {pose.body!r} does not move: its pose is no input")
    vary = frame.varying
    given = frame.independent if pose.coordinates is None else _named(pose, vary)
    if len(given) > frame.freedoms:
        raise ModelError(
            f"body {pose.body!r} has {frame.freedoms} of the freedoms {', '.join(vary)}; give "
            f"{frame.freedoms} of them, not {', '.join(given)}"
        )
    names = [name for name in _CHAIN if name in vary]
    chain = _chain(mechanism, pose.body, names, *frame.placed)
    bodies = [Body(joint.child) for joint in chain[:-1]]
    whole = replace(
        mechanism, bodies=(*mechanism.bodies, *bodies), joints=(*mechanism.joints, *chain)
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


def _chain(
    mechanism: Mechanism, body: str, names: Sequence[str], placed: Transform, on_body: Transform
) -> list[Joint]:
    """Make the chain of slides and hinges from ground to body, one for each coordinate."""
    from scipy.spatial.transform import Rotation as SpatialRotation  # slow to load

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
    from scipy.spatial.transform import Rotation as SpatialRotation  # slow to load

    if len(names) == 1:
        turn = SpatialRotation.from_matrix(R)
        angles = {"yaw": turn.as_euler("ZYX"), "pitch": turn.as_euler("YXZ")}
        return {names[0]: float(angles.get(names[0], turn.as_euler("XYZ"))[0])}
    return dict(zip(names, SpatialRotation.from_matrix(R).as_euler("ZYX").tolist(), strict=False))


def body_jacobian(graph: Graph, loops: LoopKinematics, state: State, body: str) -> Jacobian:
    """Return twists of a body about the centre of the loops, lengths scaled, shape (N, 6, n)."""
    signs = np.zeros(loops.freedoms)
    for edge, sign in loops.path_to_root(graph.node_of[body]):
        signs[loops.local(edge)] = sign
    return np.swapaxes(loops.scaled(state.screws), -1, -2) * signs


def generic_samples(loops: LoopKinematics) -> Coordinates:
    """Return closed configurations met on walks, the stored one first."""
    stored = project(loops, loops.graph.position[None], steps=30).q
    rng = np.random.default_rng(0)
    walked = generic_configurations(loops, stored[0], Tolerances.of(), rng=rng)
    return np.concatenate([stored, walked.reshape(-1, loops.freedoms)])


class MovingFrame:
    """The frame of a pose, with samples of how it moves on walks from the stored configuration."""

    def __init__(self, graph: Graph, pose: BodyPose) -> None:
        self._point, loops = pose.point, sized_loops(graph, graph.position)
        samples = generic_samples(loops)
        state = loops.state(samples)
        self._frames, self._length = frames_of(graph, loops, state, pose.body), loops.length
        _, motions = clearest(loops, samples, EXACT.same)
        _, _, vectors = np.linalg.svd(loops.jacobian(state) * loops.units)
        free = np.swapaxes(vectors[:, loops.freedoms - motions.shape[1] :], 1, 2)
        twists = body_jacobian(graph, loops, state, pose.body) * loops.units @ free
        v, w = (np.swapaxes(part, 1, 2) for part in np.split(twists, 2, axis=1))
        arm = (self._frames[:, :3, 3] - loops.center) / loops.length
        #: Linear and angular velocities of the body's frame that span all, lengths scaled,
        #: shape (N, k, 3) each.
        self._linear, self._angular = v + screw.cross(w, arm[:, None]), w
        twists = np.concatenate([self._linear, w], axis=2)
        sizes = np.linalg.svd(twists, compute_uv=False)
        #: Number of independent velocities of the body at a generic configuration.
        self.freedoms = int(np.max(np.sum(sizes > EXACT.same, axis=1)))
        self._clearest = twists[int(np.argmax(sizes[:, self.freedoms - 1]))] if sizes.size else None
        # Whether it moves along X, Y, Z of the ground and turns about X, Y, Z.
        self._moves = np.max(np.abs(twists), axis=(0, 1), initial=0.0) > EXACT.same
        if np.sum(self._moves[3:]) > 1:  # about slanting or several axes: about all three
            self._moves[3:] = True

    @cached_property
    def varying(self) -> tuple[str, ...]:
        """Coordinates of the pose that vary."""
        moves, turns = self._moves[:3], self._moves[3:]
        if self._point is None and self._center is not None:
            moves = np.zeros(3, dtype=bool)
        elif self._point is not None and turns.any():
            # Another point of a body that turns moves across the axes of its turns.
            moves = moves | ~turns if np.sum(turns) == 1 else turns
        every = zip(COORDINATES, [*moves, *turns], strict=True)
        return tuple(name for name, varies in every if varies)

    @property
    def independent(self) -> tuple[str, ...]:
        """The most independent of the varying coordinates, as many as the body has freedoms."""
        vary = self.varying
        if len(vary) <= self.freedoms or self._clearest is None:
            return vary
        columns = [COORDINATES.index(name) for name in vary]
        order = clearest_columns(self._clearest[:, columns], self.freedoms)
        return tuple(vary[k] for k in sorted(order))

    @cached_property
    def placed(self) -> tuple[Transform, Transform]:
        """The pose at the stored configuration, and the same frame seen from the body."""
        T = self._frames[0]
        if self._point is not None:
            placed = screw.transform(None, np.asarray(self._point, dtype=np.float64))
        else:
            placed = T if self._center is None else screw.transform(T[:3, :3], self._center)
        return placed, screw.inverse(T) @ placed

    @cached_property
    def _center(self) -> Point | None:
        """The point about which the body turns, if it does nothing else; ground's frame."""
        if self.freedoms > 3 or not self._moves[3:].any() or not self._moves[:3].any():
            return None
        # Twists about one origin for all samples; v + c x w vanishes for the centre c.
        origins = self._frames[:, None, :3, 3] / self._length
        v = (self._linear - screw.cross(self._angular, origins)).reshape(-1, 3)
        w = self._angular.reshape(-1, 3)
        algebra = lie_closure(np.concatenate([v, w], axis=1).T)
        if algebra.shape[1] != 3 or np.linalg.matrix_rank(algebra[3:], tol=EXACT.same) < 3:
            return None
        rows = np.concatenate([screw.cross_matrix(axis) for axis in w])
        center, *_ = np.linalg.lstsq(rows, -v.reshape(-1), rcond=None)
        return np.asarray(center * self._length)
