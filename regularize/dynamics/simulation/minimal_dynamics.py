"""Equations of motion in minimal coordinates: how they are chosen, and how they are integrated.

The dependent coordinates are those that close the loops, so nothing drifts. Where they become badly
conditioned another choice is made (Paul 2020, step 8); where no choice is good, two motions cross
or come near to each other, and all coordinates are integrated until one is.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping

import numpy as np

from regularize.dynamics.pinocchio.exporting import to_pinocchio
from regularize.dynamics.pinocchio.robot import Robot
from regularize.dynamics.simulation.all_coordinates import AllCoordinates
from regularize.dynamics.simulation.loads import Loads
from regularize.dynamics.simulation.partitioned import MinimalDynamics, Pose, choice_at
from regularize.dynamics.simulation.partitioning import Choice, NotIndependent
from regularize.dynamics.simulation.prescribed import Drives, PrescribedMotion
from regularize.errors import ClosureLost, ModelError, NotClosed, SingularConfiguration
from regularize.lie.arrays import Acceleration, Array, Configuration, Velocity, read_only
from regularize.loops.kinematics import sized_loops
from regularize.mechanism.graph import actuated_coordinates, columns_of, coordinate_names
from regularize.mechanism.source import Model
from regularize.reduction.reduce import as_reduction
from regularize.validation import ARRAY, FUNCTION, NAMES, NUMBER, POSITIVE, TEXT, named, validated

#: Condition number up to which velocities of dependent coordinates keep all but two digits.
GOOD = 50.0
#: Growth of the condition number at which another choice is looked for, and what that choice has
#: to bring it to.
DEGRADATION, BETTER = 10.0, 0.7


@validated(
    independent=NAMES,
    forced=named(FUNCTION),
    q=ARRAY,
    time=NUMBER,
    rtol=POSITIVE,
    slip=POSITIVE,
    style=TEXT,
)
def minimal_dynamics(
    model: Model,
    independent: Iterable[str] = (),
    *,
    forced: Mapping[str, PrescribedMotion] | None = None,
    q: Array | None = None,
    time: float = 0.0,
    rtol: float | None = None,
    slip: float | None = None,
    style: str = "rows",
) -> MinimalDynamics:
    """Equations of motion in minimal coordinates.

    Args:
        model: From ``regularize.reduce``.
        independent: Joints whose coordinates have to be independent; the others are chosen: those
            of the motors where they determine the rest well at the start, else the best ones.
            Where the coordinates get bad on the way, the best ones there take their place.
        forced: Prescribed motions by joint name: time to position, velocity and acceleration.
        q: Configuration of the Pinocchio model to start from, shape (nq,); by default the assembled
            one. Forced joints are moved to where they have to be.
        time: Time at which the forced joints are looked up.
        rtol: Relative tolerance of ranks; by default the reduction's.
        slip: Rate in rad/s and m/s below which dry friction falls off; by default 1e-3.
        style: Export style of the robot; in ``anchors`` all joints have coordinates.

    Raises:
        NotClosed: The loops are open.
        NotIndependent: The coordinates asked for depend on each other.
        SingularConfiguration: More coordinates could move at the start than elsewhere.
        ModelError: A name is unknown, or its joint is one of the cuts.
    """
    reduction = as_reduction(model)
    assembly = reduction.assembly
    if not assembly.closed:
        worst = max(assembly.after, key=lambda gap: gap.translation + gap.rotation)
        raise NotClosed(worst.joint, worst.translation, worst.rotation)
    robot = to_pinocchio(reduction, style)
    return dynamics_of(
        robot, independent, forced=forced or {}, q=q, time=time, rtol=rtol, slip=slip
    )


def dynamics_of(
    robot: Robot,
    independent: Iterable[str],
    *,
    forced: Mapping[str, PrescribedMotion],
    q: Configuration | None = None,
    time: float = 0.0,
    rtol: float | None = None,
    slip: float | None = None,
) -> MinimalDynamics:
    """Return equations of motion of a robot in minimal coordinates; see ``minimal_dynamics``."""
    reduction, names = robot.reduction, velocity_names(robot)
    motions, locked = dict(forced), tuple(independent)
    cut = {c.edge.joint.name for c in reduction.cuts}
    for name in (*locked, *motions):
        if name.partition("[")[0] in cut and name not in names:
            raise ModelError(
                f"joint {name!r} closes a loop and has no coordinate of its own; choose other "
                "cuts: reduce(mechanism, cuts=[...])"
            )
    columns_of(names, (*locked, *motions))
    start = read_only(robot.q0 if q is None else q)
    tolerance = reduction.rtol if rtol is None else rtol
    known = coordinate_names(reduction.mechanism)
    sizes = sized_loops(reduction.loops.graph, reduction.q, tree=reduction.tree).units
    units = np.array([sizes[known.index(n)] if n in known else 1.0 for n in names])
    choice = choice_at(robot, start, names, units, (*locked, *motions), tolerance)
    if not (locked or motions):
        choice = _by_motors(robot, start, names, units, tolerance) or choice
    dynamics = MinimalDynamics(robot, names, choice, motions, start, locked, tolerance, units, slip)
    return dynamics.begun(start, time) if motions else dynamics


def _by_motors(
    robot: Robot, q: Configuration, names: tuple[str, ...], units: Array, rtol: float
) -> Choice | None:
    """Return the choice of the motors' coordinates, if they determine the others well."""
    motors = [n for n in actuated_coordinates(robot.reduction.mechanism) if n in names]
    try:
        choice = choice_at(robot, q, names, units, motors, rtol)
    except (NotIndependent, SingularConfiguration):
        return None
    return choice if motors and choice.condition < GOOD else None


def velocity_names(robot: Robot) -> tuple[str, ...]:
    """Return the name of the joint coordinate that every velocity of the model belongs to."""
    mechanism = robot.reduction.mechanism
    in_tree = np.any(robot.passive.coordinates.rates, axis=1).tolist()
    names = [""] * robot.nv
    every, start = coordinate_names(mechanism), 0
    for joint in mechanism.joints:
        if all(in_tree[start : start + joint.freedoms]):
            for freedom in range(joint.freedoms):
                names[robot.velocity_index(joint.name, freedom)] = every[start + freedom]
        start += joint.freedoms
    # Parts of a joint that is cut in the middle keep the model's own names.
    for j in range(1, robot.tree.njoints):
        start = robot.tree.idx_vs[j]
        for k in range(robot.tree.nvs[j]):
            names[start + k] = names[start + k] or f"{robot.tree.names[j]}[{k}]"
    return tuple(names)


class IndependentCoordinates(AllCoordinates):
    """Equations of motion in independent coordinates, some of which may be named."""

    compiled = False

    def __init__(
        self,
        robot: Robot,
        independent: Iterable[str],
        loads: Loads,
        drives: Drives,
        q: Configuration,
    ) -> None:
        super().__init__(robot, loads, drives)
        self.name = "minimal coordinates"
        forced = dict(zip(drives.names, drives.motions, strict=True))
        self._dynamics = dynamics_of(robot, independent, forced=forced, q=q, slip=loads.slip)
        self._limit = 0.0
        self._pose: Pose | None = None
        self._before: tuple[Array, Array] | None = None
        self._good = False
        # Driven coordinates in the order of the user and in that of the columns.
        self._order = np.argsort(drives.velocities)

    def look(self, t: float, q: Configuration, v: Velocity) -> bool:
        """Choose the coordinates for the neighbourhood of a configuration."""
        super().look(t, q, v)
        self._dynamics = self._dynamics.at(q)
        condition = self._condition(self._dynamics)
        if condition > self._limit:
            try:
                chosen = self._dynamics.chosen(q, ()) if self._limit else self._dynamics
                reached = self._condition(chosen)
                if reached < BETTER * condition or not self._limit:
                    self._dynamics, condition = chosen, reached
                    self._limit = DEGRADATION * min(reached, GOOD)
            except SingularConfiguration:
                pass  # until there is a choice
        self._good = condition <= GOOD
        self.careful = self._good or self.careful
        return self._crossed(q, v)

    def _condition(self, dynamics: MinimalDynamics) -> float:
        """Return the condition number of the dependent coordinates at the reference."""
        try:
            return dynamics.pose_of(np.zeros(self.robot.nv)).condition
        except ClosureLost:
            return np.inf

    def _crossed(self, q: Configuration, v: Velocity) -> bool:
        """Whether two motions crossed since the last look, and this one went straight on."""
        # There all minors of the rows change their sign at once, and so does the determinant of
        # the products of rows before and behind it (Binet and Cauchy).
        rows, last = self.robot.jacobian(q), self._before
        self._before = rows, v
        if last is None or not 0 < len(rows) == self.robot.rank:
            return False
        return bool(np.linalg.slogdet(last[0] @ rows.T)[0] < 0.0 and last[1] @ v > 0.0)

    def project(self, t: float, q: Configuration, v: Velocity) -> tuple[Configuration, Velocity]:
        """Return the closed configuration with these coordinates, and its velocity."""
        if not self._good or self._leaping or not (np.isfinite(q).all() and np.isfinite(v).all()):
            return super().project(t, q, v)
        q, v = self.with_drives(t, q, v)
        try:
            pose = self._pose = self._dynamics.pose(q)
        except ClosureLost:  # a step that went much too far
            return super().project(t, q, v)
        return pose.q, self._dynamics.velocity(pose, v[self._dynamics.known])

    def acceleration(self, t: float, q: Configuration, v: Velocity) -> tuple[Acceleration, float]:
        """Return the acceleration by equation 20, and the power of joint forces and drives in W."""
        pose, dynamics = self._pose, self._dynamics
        if not self._good or pose is None or pose.q is not q:
            return super().acceleration(t, q, v)
        working, order = self.loads.working(t, q, v), self._order
        tau = working - dynamics.dissipative(pose, v)
        a, needed = dynamics.acceleration(pose, v, tau, self.drives.at(t)[2][order])
        return a, float(working @ v + needed @ v[self.drives.velocities[order]])
