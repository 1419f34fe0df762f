"""Closed states: many configurations of one assembly branch, for resets of simulated robots.

States grow from the stored one: each step leaves a state that is known along a random tangent, is
projected back, and counts only where it cannot have left the branch. States that are known double
with each round, so that a state costs about one step.
"""

from __future__ import annotations

from contextlib import suppress
from dataclasses import dataclass

import numpy as np

from regularize import validation
from regularize.dynamics.pinocchio.constraints import CHANGED, STEPS
from regularize.dynamics.pinocchio.exporting import to_pinocchio
from regularize.dynamics.pinocchio.robot import Robot
from regularize.errors import ModelError
from regularize.guests.actuation.chart import stored_configuration
from regularize.lie.arrays import Array, Indices, read_only
from regularize.loops.continuation import Continuation
from regularize.loops.kinematics import LoopKinematics, sized_loops
from regularize.mechanism.graph import Graph, coordinate_names
from regularize.mechanism.mechanism import Mechanism, Model
from regularize.reduction.reduce import as_reduction
from regularize.repair.statics.passive_joints import ranges_of
from regularize.tolerances import VANISHING

#: Longest step, radians or sizes of the mechanism.
STRIDE = 0.6
#: By which part of a step the compiled projection may go back.
BACK = 0.25
#: Condition up to which rows are clearly independent.
REGULAR = 1e6
#: States at a time.
CHUNK = 1024
#: Rounds without a new state that end the search.
PATIENCE = 200
#: States beyond limits that are known at a time.
NEAREST = 32


@dataclass(frozen=True, eq=False)
class ClosedStates:
    """Random configurations with closed loops.

    Attributes:
        q: Those of ``rg.to_pinocchio(model)``, shape (n, nq); quaternions are (x, y, z, w).
        coordinates: Those of all of the model's joints, the closing ones included, (n, joints):
            radians and metres; of ball joints the rotation vector, of free ones the screw (v, ω)
            from the pose in the file.
        names: Their names.
        qpos: The same states as MuJoCo's ``qpos``, (n, nq), quaternions (w, x, y, z); None for
            models that are not MJCF.
        joint_names: Names of the coordinates of joints that close no loop, in the file's order,
            which is the stage's for USD; ``joint_positions`` are their values.
    """

    q: Array
    coordinates: Array
    names: tuple[str, ...]
    qpos: Array | None = None
    joint_names: tuple[str, ...] = ()

    @property
    def joint_positions(self) -> Array:
        """Values of ``joint_names``, shape (n, k)."""
        return np.asarray(self.coordinates[:, [self.names.index(n) for n in self.joint_names]])

    def __repr__(self) -> str:
        return f"<ClosedStates: {len(self.q)} states of {self.q.shape[1]} coordinates>"


@validation.validated(n=validation.WHOLE, seed=validation.WHOLE, limits=validation.FLAG)
def closed_states(model: Model, n: int, *, seed: int = 0, limits: bool = True) -> ClosedStates:
    """Random configurations with closed loops, all on the branch of the stored pose.

    No two are the same. A floating base stays where it is. The further a state is from the stored
    pose, the rarer it is: states are not uniform.

    Args:
        model: The model.
        n: How many.
        seed: Seed of the random steps.
        limits: Whether all joints stay within their limits.

    Raises:
        ModelError: The loops do not close, nothing moves, or no state within limits is found.
    """
    reduction = as_reduction(model)
    robot, graph = to_pinocchio(reduction), reduction.graph
    if not graph.freedoms:
        raise ModelError("the mechanism has no joint that could move, so it has one state alone")
    rng, loops = np.random.default_rng(seed), sized_loops(reduction.graph, reduction.graph.position)
    make = _CompiledGrower if _CompiledGrower.takes(robot) else _Grower
    found, q = make(robot, graph, loops, limits, rng).states(stored_configuration(graph), n)
    mechanism, names = graph.mechanism, coordinate_names(graph.mechanism)
    closing = {j.name for j in mechanism.joints if j.closure}
    tree = tuple(name for name in names if name.partition("[")[0] not in closing)
    return ClosedStates(read_only(q), read_only(found), names, _qpos(model, mechanism, found), tree)


def _qpos(model: Model, mechanism: Mechanism, coordinates: Array) -> Array | None:
    """Return configurations as MuJoCo's ``qpos``; None where the model is not MJCF."""
    if mechanism.format != "mjcf":
        return None
    from regularize.adapters.mjcf.read import compiled_model, qpos  # with MuJoCo

    m = compiled_model(model, mechanism)
    return None if m is None else read_only(qpos(m, mechanism, coordinates))


class _Grower:
    """Search for closed states by random steps, as coordinates of all joints."""

    def __init__(
        self,
        robot: Robot,
        graph: Graph,
        loops: LoopKinematics,
        limits: bool,
        rng: np.random.Generator,
    ) -> None:
        held, bounds = np.zeros(graph.freedoms, dtype=bool), ranges_of(graph.mechanism)
        for edge in graph.edges:
            held[list(edge.columns)] = edge.joint.kind in ("free", "floating")
            if edge.group or not limits:
                bounds[list(edge.columns)] = [-np.inf, np.inf]
        self.names = coordinate_names(graph.mechanism)
        self.low, self.high, self.rng, self.loops, self.robot = *bounds.T, rng, loops, robot
        self.along = Continuation(loops, held=held)
        self._ranks: Indices | None = None

    def states(self, start: Array, n: int) -> tuple[Array, Array]:
        """Return coordinates of all joints, (n, joints), and configurations, (n, nq)."""
        found = self.grown(start, n)
        q = np.array([self.robot.configuration(x) for x in found])
        return found, q.reshape(n, self.robot.nq)

    def coordinates(self, q: Array) -> Array:
        """Return coordinates of all joints, (N, joints)."""
        return q

    def beyond(self, q: Array) -> Array:
        """Return the sum of joint values beyond their limits, (N,); zero within them."""
        x = self.coordinates(q)
        return np.asarray(np.maximum(np.maximum(self.low - x, x - self.high), 0.0).sum(axis=1))

    def stepped(self, q: Array) -> Array:
        """Return the ends of random steps that stay on the branch."""
        way = self.along.tangents(q, self.rng.normal(size=(len(q), len(self.loops.units))))
        way *= STRIDE * self.rng.uniform(0.1, 1.0, size=(len(q), 1))
        if self._ranks is None:
            self._ranks = self.along.ranks(q[:1])
        reached = self.along.step(q, way, np.repeat(self._ranks, len(q)))
        return np.asarray(reached.q[reached.good & np.any(reached.q != q, axis=1)])

    def grown(self, start: Array, n: int) -> Array:
        """Return n closed states (n, joints) grown from a start by random steps."""
        states, idle = start[None], 0
        beyond = self.beyond(states)
        while len(states) < n or beyond[0] > 0.0:
            if idle > PATIENCE:
                raise ModelError(self._stuck(start, 0 if beyond[0] > 0.0 else len(states), n))
            count = min(CHUNK, max(8, 2 * len(states)), 8 + 2 * max(0, n - len(states)))
            new = self.stepped(states[self.rng.integers(len(states), size=count)])
            new_beyond = self.beyond(new)
            if beyond[0] > 0.0:  # nearer and nearer, until there is a state within limits
                every, states = np.concatenate([beyond, new_beyond]), np.concatenate([states, new])
                order = np.argsort(every, kind="stable")[: 1 if every.min() == 0.0 else NEAREST]
                idle = 0 if every[order[0]] < beyond[0] else idle + 1
                states, beyond = states[order], every[order]
            else:
                new = new[new_beyond == 0.0]
                idle = 0 if len(new) else idle + 1
                states = np.concatenate([states, new])
        return np.asarray(states[:n])

    def _stuck(self, start: Array, count: int, n: int) -> str:
        """Return the message that too few states were found."""
        if count == 1:
            return "nothing moves within limits: there is no state but the stored one"
        x = self.coordinates(start[None])[0]
        beyond = np.array(self.names)[~((self.low <= x) & (x <= self.high))].tolist()
        where = f"; the stored pose is beyond the limits of {', '.join(beyond)}" if beyond else ""
        return f"only {count} of {n} states within limits were found{where}; try limits=False"


class _CompiledGrower(_Grower):
    """Search for closed states by the compiled kernel, with the step test of ``following``."""

    @staticmethod
    def takes(robot: Robot) -> bool:
        """Return whether rows are clearly independent and joints have single coordinates."""
        if robot.kernel is None or not 0 < robot.rows == robot.rank:
            return False
        based = _based(robot)
        numbers = all(robot.counted(k) for k in range(robot.nv) if k not in based)
        return numbers and bool(np.linalg.cond(robot.jacobian(robot.q0)) < REGULAR)

    def states(self, start: Array, n: int) -> tuple[Array, Array]:
        """Return coordinates of all joints, (n, joints), and configurations, (n, nq)."""
        robot, based = self.robot, _based(self.robot)
        self._free = np.array([k for k in range(robot.nv) if k not in based], dtype=np.intp)
        self._places = np.array([robot.position_index(int(k)) for k in self._free], dtype=np.intp)
        self._stride = STRIDE
        self._held = np.isin(np.arange(robot.nv), [*based]).astype(float)
        self._units = (np.abs(robot.joint_map) @ self.loops.units)[self._free]
        ways, own = np.abs(robot.joint_map[self._free]), np.arange(len(self._free))
        held = ways[own, ways.argmax(axis=1)] > 0.0  # closing joints are in no tree
        self._ends = np.array([self.low, self.high])[:, ways.argmax(axis=1)]
        self._ends[:, ~held] = [[-np.inf], [np.inf]]
        q = self.grown(robot.configuration(start), n)
        return robot.coordinates(q), q

    def coordinates(self, q: Array) -> Array:
        """Return coordinates of all joints, (N, joints)."""
        return self.robot.coordinates(q)

    def stepped(self, q: Array) -> Array:
        """Return the ends of random steps that stay on the branch."""
        kernel, units, places = self.robot.kernel, self._units, self._places
        rows = kernel.jacobian(q)[..., self._free] * units
        across = np.swapaxes(rows, 1, 2)
        with suppress(np.linalg.LinAlgError):
            inverse = across @ np.linalg.inv(rows @ across)
            normal = inverse @ rows
            way = self.rng.normal(size=(len(q), len(units), 1))
            way = (way - normal @ way)[..., 0]
            size = np.abs(way).max(axis=1, keepdims=True)
            moving = size[:, 0] > VANISHING
            way *= units / np.where(size > VANISHING, size, 1.0)
            length = np.fmin(self._stride, self._room(q[:, places], way))
            length *= self.rng.uniform(0.1, 1.0, size=(len(q), 1))
            trial = q.copy()
            trial[:, places] += length * way
            end = self._projected(trial)
            end = np.where(np.isfinite(end).all(axis=1, keepdims=True), end, q)
            back = np.abs((end - trial)[:, places] / units).max(axis=1)
            change = inverse @ (kernel.jacobian(end)[..., self._free] * units - rows) @ normal
            turned = np.abs(change).sum(axis=2).max(axis=1)
            good = np.asarray(moving & (back <= BACK * length[:, 0]) & (turned <= CHANGED))
            part = good.mean()
            change_of_stride = 0.8 if part < 0.6 else 1.2 if part > 0.8 else 1.0
            self._stride = min(STRIDE, self._stride * change_of_stride)
            return np.asarray(end[good])
        return q[:0]

    def _room(self, x: Array, way: Array) -> Array:
        """Return steps along ``way`` to the nearest limits, (N, 1); infinite from beyond limits."""
        with np.errstate(divide="ignore", invalid="ignore"):
            room = (np.where(way > 0.0, self._ends[1], self._ends[0]) - x) / way
        return np.asarray(np.where(room > 0.0, room, np.inf).min(axis=1, keepdims=True))

    def _projected(self, q: Array) -> Array:
        """Return configurations projected onto closed loops, NaN where that fails."""
        end = self.robot.kernel.project(q, self._held, STEPS)
        if end is not None or len(q) < 2:
            return np.full_like(q, np.nan) if end is None else np.asarray(end)
        half = len(q) // 2
        return np.concatenate([self._projected(q[:half]), self._projected(q[half:])])


def _based(robot: Robot) -> set[int]:
    """Return velocity indices of floating bases, which are held."""
    free = {j.name for j in robot.mechanism.joints if j.kind in ("free", "floating")}
    return {int(k) for n in free & {*robot.tree.names} for k in robot.velocity_indices([n])}
