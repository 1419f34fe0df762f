r"""Equations of motion in independent coordinates, and how these are chosen (Paul 2020, 3.2).

The coordinates are split into independent ones u and dependent ones v. With the kept rows J, the
coupling matrix :math:`B = -J_v^{-1} J_u` gives

.. math::
    \dot q_v = B \dot q_u, \quad \ddot q_v = B \ddot q_u + b, \quad b = -J_v^{-1} \dot J \dot q
    \quad\text{(eq. 17 to 19)},

the dependent positions follow by Newton's method (eq. 16), and

.. math::
    (M_{uu} + M_{uv} B + B^T M_{vu} + B^T M_{vv} B)\, \ddot q_u + (M_{uv} + B^T M_{vv})\, b
    + c_u + B^T c_v - Q_u - B^T Q_v = 0 \quad\text{(eq. 20)}.

The text prints the rate of :math:`q_v` for b in the second term. Coordinates are displacements from
a reference configuration, so that quaternions need no treatment of their own.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from contextlib import suppress
from dataclasses import dataclass, field, replace
from functools import cached_property

import numpy as np

from regularize.dynamics.pinocchio.constraints import RobotConstraints
from regularize.dynamics.pinocchio.exporting import to_pinocchio
from regularize.dynamics.pinocchio.robot import Robot
from regularize.dynamics.pinocchio.tree_states import massless_velocity
from regularize.dynamics.simulation.partitioning import Choice, NotIndependent, choose
from regularize.dynamics.simulation.prescribed import PrescribedMotion
from regularize.errors import ClosureLost, ModelError, NotClosed, SingularConfiguration
from regularize.lie.arrays import (
    Acceleration,
    Array,
    Configuration,
    MassMatrix,
    Torque,
    Velocity,
    read_only,
)
from regularize.loops.continuation import Continuation, drive
from regularize.loops.kinematics import sized_loops
from regularize.loops.projection import ConstraintSet, View, project
from regularize.mechanism.diagnostic import Diagnostic
from regularize.mechanism.graph import actuated_coordinates, columns_of, coordinate_names
from regularize.mechanism.mechanism import Model, no_inertia
from regularize.mechanism.named_columns import ShortRepr
from regularize.reduction.reduce import as_reduction
from regularize.tolerances import ROUNDING, TINY, UNNOTICED
from regularize.validation import ARRAY, FUNCTION, NAMES, NUMBER, POSITIVE, TEXT, named, validated

#: Condition number up to which velocities of dependent coordinates keep all but two digits.
GOOD = 50.0


@dataclass(frozen=True, eq=False)
class Pose:
    """A closed configuration with what follows from it.

    The condition number is that of the Jacobian of the dependent coordinates, lengths scaled, in
    the Frobenius norm over their number, so that it is 1 at best; ``inverse`` is its inverse.
    """

    x: Velocity  #: displacement from the reference
    q: Configuration
    transmission: Array  #: velocities of all coordinates by the known ones, shape (nv, known)
    condition: float
    inverse: Array


@dataclass(frozen=True, eq=False, repr=False)
class MinimalDynamics(ShortRepr):
    """Motion and dynamics of a closed-loop mechanism by independent coordinates.

    Damping, friction and springs within the joints are part of the equations. The known coordinates
    are the independent and the forced ones, which follow prescribed motions. Displacements are
    tangent steps from the reference configuration. Configurations, velocities and forces are those
    of ``robot``, shape (nq,) and (nv,), in radians, metres, N and N m; matrices and forces of the k
    known coordinates have the shapes (k, k) and (k,).

    Example:
        >>> dynamics = rg.minimal_dynamics("assets/planar_fourbar.urdf", ["A"])
        >>> pose = dynamics.pose(dynamics.reference)
        >>> print(dynamics.independent, dynamics.dependent, dynamics.mass_matrix(pose))

    Attributes:
        robot: Pinocchio's model of the mechanism, whose loops are closed by rows.
        names: The coordinate of every velocity of the model.
        choice: Columns and rows that separate dependent from independent coordinates.
        forced: Prescribed motions by coordinate.
        reference: Configuration from which displacements are measured, shape (nq,).
        locked: Coordinates that were asked to be independent.
        rtol: Relative tolerance of ranks.
        units: Size of every velocity, the size of the mechanism for lengths, shape (nv,).
        slip: Rate below which dry friction falls off, or None.
    """

    robot: Robot
    names: tuple[str, ...]  #: of every velocity of the model
    choice: Choice
    forced: Mapping[str, PrescribedMotion]
    reference: Configuration
    locked: tuple[str, ...]  #: names that the user wants to be independent
    rtol: float  #: relative tolerance of ranks
    units: Array = field(repr=False)  #: of every velocity, the size of the mechanism for lengths
    slip: float | None = None  #: rate below which dry friction falls off

    @cached_property
    def known(self) -> list[int]:
        """Columns of the independent and the forced coordinates, increasing."""
        return list(self.choice.independent)

    @cached_property
    def driven(self) -> list[int]:
        """Positions of the forced coordinates among the known ones."""
        return [i for i, c in enumerate(self.known) if self.names[c] in self.forced]

    @cached_property
    def free(self) -> list[int]:
        """Positions of the independent coordinates among the known ones."""
        return [i for i in range(len(self.known)) if i not in self.driven]

    @property
    def independent(self) -> tuple[str, ...]:
        """Names of the independent coordinates."""
        return tuple(self.names[self.known[i]] for i in self.free)

    @property
    def dependent(self) -> tuple[str, ...]:
        """Names of the dependent coordinates."""
        return tuple(self.names[c] for c in self.choice.dependent)

    @cached_property
    def _loops(self) -> RobotConstraints:
        """The closed loops, in displacements."""
        return RobotConstraints(self.robot, self.units, self.reference)

    @cached_property
    def _constraints(self) -> ConstraintSet:
        """The rows that tie the dependent coordinates."""
        return View(self._loops, np.array(self.choice.rows, dtype=np.intp))

    @property
    def findings(self) -> tuple[Diagnostic, ...]:
        """Findings: a note if the coordinates are not those of the motors, unasked for."""
        if self.locked or self.forced:
            return ()
        motors = {*actuated_coordinates(self.robot.reduction.mechanism)}
        chosen = self.independent
        if motors <= {*chosen} or {*chosen} <= motors:
            return ()
        cut = sorted(motors.difference(self.names))
        reason = "at the start these do not determine the others well"
        if cut:
            reason = f"at {_quoted(cut)} loops are cut, so that no coordinate is there"
        message = f"the independent coordinates are {_quoted(chosen)} and not those of the motors "
        message += f"{_quoted(sorted(motors))}: {reason}"
        return (Diagnostic("REG331", "note", message, joints=chosen),)

    def chosen(self, q: Configuration, locked: tuple[str, ...]) -> MinimalDynamics:
        """Return the best choice of coordinates at a closed configuration, some being locked."""
        names = (*locked, *(name for name in self.forced if name not in locked))
        choice = choice_at(self.robot, q, self.names, self.units, names, self.rtol)
        return replace(self, choice=choice, reference=read_only(q), locked=locked)

    def at(self, q: Configuration) -> MinimalDynamics:
        """Return the same choice with displacements from a closed configuration."""
        return replace(self, reference=read_only(q))

    def close(self, displacement: Velocity) -> Pose:
        """Close the loops by Newton's method with the known coordinates held (eq. 16)."""
        end = project(
            self._constraints,
            displacement[None],
            held=np.isin(np.arange(self.robot.nv), self.known),
            tolerances=self.robot.tolerances,
            until=ROUNDING,
        )
        if not end.closed[0]:
            raise ClosureLost(
                f"the loops do not close for the given {self._listed}: the mechanism is at a limit "
                "of its motion, or the step was too large"
            )
        return self.pose_of(end.q[0])

    @property
    def _listed(self) -> str:
        """Names of the independent coordinates as a text for messages."""
        return ", ".join(self.independent) or "coordinates"

    def pose_of(self, x: Velocity) -> Pose:
        """Return configuration and transmission at a displacement that closes the loops."""
        q, rows = self._loops.configuration(x), list(self.choice.rows)
        dependent, transmission = list(self.choice.dependent), np.eye(self.robot.nv)[:, self.known]
        if not rows:
            return Pose(x, q, transmission, 1.0, np.zeros((0, 0)))
        jacobian, units = self.robot.jacobian(q)[rows], self.units[dependent]
        matrix = jacobian[:, dependent]
        try:
            inverse = np.asarray(np.linalg.inv(matrix), dtype=np.float64)
        except np.linalg.LinAlgError:
            inverse = np.full_like(matrix, np.inf)
        condition = np.linalg.norm(matrix * units) * np.linalg.norm(inverse / units[:, None])
        if not np.isfinite(condition):
            raise ClosureLost(
                f"{self._listed} do not determine the others at a singular configuration"
            )
        transmission[dependent] = -inverse @ jacobian[:, self.known]
        return Pose(x, q, transmission, float(condition) / len(units), inverse)

    def begun(self, q: Configuration, time: float) -> MinimalDynamics:
        """Return a choice of coordinates near ``q``, driven joints at their first position."""
        columns = [self.known[i] for i in self.driven]
        target = np.array([self.forced[self.names[c]](time)[0] for c in columns])
        places = [self.robot.position_index(column) for column in columns]
        followers = [self.known[i] for i in self.free]
        held, start = np.isin(np.arange(self.robot.nv), followers), self.pose(q).x[None]
        continuation = Continuation(self._constraints, self.robot.tolerances, held)
        path = drive(continuation, start, columns, (target - self.reference[places])[None])
        if not path.reached[0]:
            raise ClosureLost(
                f"{', '.join(self.forced)} cannot be moved to where their motions begin: the "
                "mechanism comes to a limit of its motion or to a singularity before"
            )
        return self.chosen(self.close(path.q[0]).q, self.locked)

    def pose(self, q: Configuration) -> Pose:
        """The closed configuration with the known coordinates of ``q``."""
        return self.close(self.robot.tree.space.difference(self.reference, q))

    def bias(self, pose: Pose, v: Velocity) -> Acceleration:
        """Accelerations of all coordinates where the known ones are zero (eq. 19)."""
        b = np.zeros(self.robot.nv)
        rates = self.robot.bias(pose.q, v)[list(self.choice.rows)]
        b[list(self.choice.dependent)] = -pose.inverse @ rates
        return b

    def velocity(self, pose: Pose, known: Array) -> Velocity:
        """Velocities of all coordinates from those of the known ones (eq. 17)."""
        return np.asarray(pose.transmission @ known)

    def mass_matrix(self, pose: Pose) -> MassMatrix:
        """Reduced mass matrix of the known coordinates (eq. 20), shape (known, known)."""
        return self._reduced(pose, *np.zeros((2, self.robot.nv)))[0]

    def forces(self, pose: Pose, v: Velocity, tau: Torque) -> Array:
        """Reduced forces :math:`F_r` (eq. 20 and 21), shape (known,).

        ``M_r @ acceleration + F_r = 0`` holds for the independent coordinates.
        """
        return self._reduced(pose, v, tau)[1]

    def _reduced(
        self, pose: Pose, v: Velocity, tau: Torque
    ) -> tuple[MassMatrix, Array, Acceleration]:
        """Return the reduced mass matrix and forces, and the accelerations of ``bias``."""
        terms, bias, T = self.robot.states.terms(pose.q, v), self.bias(pose, v), pose.transmission
        passive = self.robot.passive
        within = passive.springs(pose.q) + passive.dissipative(pose.q, v, self.slip)
        needed = terms.M @ bias + terms.needed - tau - within
        return T.T @ terms.M @ T, T.T @ needed, bias

    def acceleration(
        self, pose: Pose, v: Velocity, tau: Torque, prescribed: Array | None = None
    ) -> tuple[Acceleration, Array]:
        """Accelerations of all coordinates, and forces of prescribed motions beyond ``tau``.

        The motions are given by their accelerations.
        """
        M, F, bias = self._reduced(pose, v, tau)
        free, driven = self.free, self.driven
        known: Array = np.zeros(len(self.known))
        known[driven] = 0.0 if prescribed is None else prescribed
        idle = massless_velocity(M, np.eye(len(M))[:, free])
        if idle is not None:
            moving = [self.names[self.known[k]] for k in np.flatnonzero(idle)]
            raise no_inertia(self.robot.reduction.mechanism, moving)
        forces = F[free] + M[np.ix_(free, driven)] @ known[driven]
        known[free] = np.linalg.solve(M[np.ix_(free, free)], -forces)
        needed = (M @ known + F)[driven]
        return pose.transmission @ known + bias, needed

    def inverse_dynamics(
        self, pose: Pose, v: Velocity, known: Array, actuated: Iterable[str] | None = None
    ) -> Torque:
        """Joint forces of motors for accelerations of the known coordinates.

        Motors are at the joints named, by default the known ones; of more motors than freedoms the
        forces have the smallest sum of squares.
        """
        columns = self.known if actuated is None else columns_of(self.names, tuple(actuated))
        tau = np.zeros(self.robot.nv)
        M, F, _ = self._reduced(pose, v, tau)
        needed = M @ known + F
        by_motors = pose.transmission[columns].T
        tau[columns] = np.linalg.lstsq(by_motors, needed, rcond=self.rtol)[0]
        missing = by_motors @ tau[columns] - needed
        if np.max(np.abs(missing), initial=0.0) > UNNOTICED * np.max(np.abs(needed), initial=TINY):
            raise ModelError(
                f"motors at {[self.names[c] for c in columns]} cannot produce the motion: the "
                f"mechanism has {len(self.known)} freedoms, and they act on "
                f"{np.linalg.matrix_rank(by_motors, tol=self.rtol)}"
            )
        return tau


def choice_at(
    robot: Robot,
    q: Configuration,
    names: tuple[str, ...],
    units: Array,
    locked: Iterable[str],
    rtol: float,
) -> Choice:
    """Return the best choice at a closed configuration; raise where it fails elsewhere."""
    mobility = robot.reduction.mobility
    choice = choose(robot.jacobian(q) * units, names, columns_of(names, locked), rtol)
    if len(choice.dependent) < robot.nv - mobility:
        raise SingularConfiguration(
            f"the configuration is singular: {len(choice.independent)} coordinates could move, "
            f"{mobility} elsewhere; start from another one"
        )
    return choice


def _quoted(names: Iterable[str]) -> str:
    return ", ".join(f"`{name}`" for name in names)


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
    wanted = (*locked, *motions)
    choice = choice_at(robot, start, names, units, wanted, tolerance)
    if not wanted:  # motors, where they determine the other coordinates well
        motors = [n for n in actuated_coordinates(reduction.mechanism) if n in names]
        with suppress(NotIndependent, SingularConfiguration):
            by_motors = choice_at(robot, start, names, units, motors, tolerance)
            choice = by_motors if motors and by_motors.condition < GOOD else choice
    dynamics = MinimalDynamics(robot, names, choice, motions, start, locked, tolerance, units, slip)
    return dynamics.begun(start, time) if motions else dynamics


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
