r"""Equations of motion in minimal coordinates, on Pinocchio's terms and the reduced rows.

With the coupling matrix B and the accelerations b of ``partitioned`` (Paul 2020):

.. math::
    (M_{uu} + M_{uv} B + B^T M_{vu} + B^T M_{vv} B)\, \ddot q_u + (M_{uv} + B^T M_{vv})\, b
    + c_u + B^T c_v - Q_u - B^T Q_v = 0 \quad\text{(eq. 20)}

The text prints the rate of :math:`q_v` for b in the second term.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass

import numpy as np

from regularize.dynamics.pinocchio.exporting import to_pinocchio
from regularize.dynamics.pinocchio.robot import Robot
from regularize.dynamics.pinocchio.split import massless_velocity
from regularize.dynamics.simulation.partitioned import GOOD, PartitionedKinematics, Pose, choice_at
from regularize.dynamics.simulation.partitioning import Choice, NotIndependent
from regularize.dynamics.simulation.prescribed import Prescribed
from regularize.errors import ModelError, NotClosed, SingularConfiguration
from regularize.lie.arrays import Array, read_only
from regularize.loops.kinematics import sized_loops
from regularize.mechanism.diagnostic import Diagnostic
from regularize.mechanism.graph import actuated_coordinates, columns_of, coordinate_names
from regularize.mechanism.mechanism import Model, no_inertia
from regularize.mechanism.named_columns import ShortRepr
from regularize.reduction.reduce import Reduction, as_reduction
from regularize.tolerances import TINY, UNNOTICED
from regularize.validation import ARRAY, FUNCTION, NAMES, NUMBER, POSITIVE, TEXT, named, validated


@dataclass(frozen=True, eq=False, repr=False)
class MinimalDynamics(ShortRepr, PartitionedKinematics):
    """Dynamics of a closed-loop mechanism in independent coordinates.

    Damping, friction and springs within the joints are part of the equations.

    Attributes:
        slip: Rate in rad/s and m/s below which dry friction falls off; None for 1e-3.
    """

    slip: float | None = None

    @property
    def findings(self) -> tuple[Diagnostic, ...]:
        """That the coordinates are not those of the motors, where nobody wanted others."""
        if self.locked or self.forced:
            return ()
        motors = {*actuated_coordinates(self.robot.reduction.mechanism)}
        chosen = self.independent
        if motors <= {*chosen} or {*chosen} <= motors:
            return ()
        cut = sorted(motors.difference(self.names))
        reason = (
            f"at {_quoted(cut)} loops are cut, so that no coordinate is there"
            if cut
            else "at the start these do not determine the others well"
        )
        return (
            Diagnostic(
                "REG331",
                "note",
                f"the independent coordinates are {_quoted(chosen)} and not those of the motors "
                f"{_quoted(sorted(motors))}: {reason}",
                joints=chosen,
            ),
        )

    def mass_matrix(self, pose: Pose) -> Array:
        """Reduced mass matrix of the known coordinates (eq. 20), shape (known, known)."""
        M = self.robot.states.terms(pose.q, np.zeros(self.robot.nv)).M
        return np.asarray(pose.transmission.T @ M @ pose.transmission)

    def forces(self, pose: Pose, v: Array, tau: Array) -> Array:
        """Reduced forces :math:`F_r` (eq. 20 and 21), shape (known,).

        ``M_r @ acceleration + F_r = 0`` holds for the independent coordinates.
        """
        return self._forces(pose, v, tau, self.bias(pose, v))

    def _forces(self, pose: Pose, v: Array, tau: Array, bias: Array) -> Array:
        terms = self.robot.states.terms(pose.q, v)
        needed = terms.M @ bias + terms.needed
        within = self.robot.passive.springs(pose.q) + self.dissipative(pose, v)
        return np.asarray(pose.transmission.T @ (needed - tau - within))

    def dissipative(self, pose: Pose, v: Array) -> Array:
        """Joint forces of damping and friction, shape (nv,)."""
        return self.robot.passive.dissipative(pose.q, v, self.slip)

    def acceleration(
        self, pose: Pose, v: Array, tau: Array, prescribed: Array | None = None
    ) -> tuple[Array, Array]:
        """Accelerations and the forces that the prescribed motions need.

        Args:
            pose: From ``pose`` or ``close``.
            v: Velocities of all coordinates, shape (nv,).
            tau: Joint forces, shape (nv,).
            prescribed: Accelerations of the forced coordinates, shape (forced,).

        Returns:
            Accelerations of all coordinates, shape (nv,), and generalised forces at the forced
            joints beyond those in ``tau``, shape (forced,).

        Raises:
            NoInertia: The reduced mass matrix is singular.
        """
        bias = self.bias(pose, v)
        M, F = self.mass_matrix(pose), self._forces(pose, v, tau, bias)
        free, driven = self.free, self.driven
        known: Array = np.zeros(len(self.known))
        known[driven] = 0.0 if prescribed is None else prescribed
        idle = massless_velocity(M, np.eye(len(M))[:, free])
        if idle is not None:
            moving = [self.names[self.known[k]] for k in np.flatnonzero(idle)]
            raise no_inertia(self.robot.reduction.mechanism, moving)
        if driven:
            rest = F[free] + M[np.ix_(free, driven)] @ known[driven]
            known[free] = np.linalg.solve(M[np.ix_(free, free)], -rest)
        else:
            known = np.asarray(np.linalg.solve(M, -F))
        needed = (M @ known + F)[driven] if driven else np.zeros(0)
        return pose.transmission @ known + bias, needed

    def inverse_dynamics(
        self, pose: Pose, v: Array, known: Array, actuated: Iterable[str] | None = None
    ) -> Array:
        """Joint forces for given accelerations.

        Args:
            pose: From ``pose`` or ``close``.
            v: Velocities of all coordinates, shape (nv,).
            known: Accelerations of the known coordinates, shape (known,).
            actuated: Names of the joints that have a motor; by default the known ones. With more
                motors than freedoms, the forces with the smallest sum of squares.

        Returns:
            Joint forces, zero where there is no motor, shape (nv,).

        Raises:
            ModelError: The motors cannot produce the motion.
        """
        columns = self.known if actuated is None else columns_of(self.names, tuple(actuated))
        nothing = np.zeros(self.robot.nv)
        needed = self.mass_matrix(pose) @ known + self.forces(pose, v, nothing)
        by_motors = pose.transmission[columns].T
        tau = nothing.copy()
        tau[columns] = np.linalg.lstsq(by_motors, needed, rcond=self.rtol)[0]
        missing = by_motors @ tau[columns] - needed
        if np.max(np.abs(missing), initial=0.0) > UNNOTICED * np.max(np.abs(needed), initial=TINY):
            raise ModelError(
                f"motors at {[self.names[c] for c in columns]} cannot produce the motion: the "
                f"mechanism has {len(self.known)} freedoms, and they act on "
                f"{np.linalg.matrix_rank(by_motors, tol=self.rtol)}"
            )
        return tau


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
    forced: Mapping[str, Prescribed] | None = None,
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
    forced: Mapping[str, Prescribed],
    q: Array | None = None,
    time: float = 0.0,
    rtol: float | None = None,
    slip: float | None = None,
) -> MinimalDynamics:
    """Equations of motion of a robot in minimal coordinates; see ``minimal_dynamics``."""
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
    units = _units(reduction, names)
    choice = choice_at(robot, start, names, units, (*locked, *motions), tolerance)
    if not (locked or motions):
        choice = _by_motors(robot, start, names, units, tolerance) or choice
    dynamics = MinimalDynamics(
        robot, names, choice, dict(motions), start, locked, tolerance, units, slip
    )
    if motions:
        dynamics = dynamics.repartitioned(dynamics.moved(start, time).q)
    return dynamics


def _by_motors(
    robot: Robot, q: Array, names: tuple[str, ...], units: Array, rtol: float
) -> Choice | None:
    """The choice of the motors' coordinates; None where they do not determine the others well."""
    motors = [n for n in actuated_coordinates(robot.reduction.mechanism) if n in names]
    try:
        found = choice_at(robot, q, names, units, motors, rtol)
    except (NotIndependent, SingularConfiguration):
        return None
    return found if motors and found.condition < GOOD else None


def _quoted(names: Iterable[str]) -> str:
    return ", ".join(f"`{name}`" for name in names)


def velocity_names(robot: Robot) -> tuple[str, ...]:
    """Name of the joint coordinate that every velocity of the model belongs to."""
    mechanism = robot.reduction.mechanism
    present = np.any(robot.passive.coordinates.rates, axis=1).tolist()
    names = [""] * robot.nv
    every, start = coordinate_names(mechanism), 0
    for joint in mechanism.joints:
        if all(present[start : start + joint.freedoms]):
            for freedom in range(joint.freedoms):
                names[robot.velocity_index(joint.name, freedom)] = every[start + freedom]
        start += joint.freedoms
    # Parts of a joint that is cut in the middle keep the model's own names.
    for j in range(1, robot.tree.njoints):
        start = robot.tree.idx_vs[j]
        for k in range(robot.tree.nvs[j]):
            names[start + k] = names[start + k] or f"{robot.tree.names[j]}[{k}]"
    return tuple(names)


def _units(reduction: Reduction, names: tuple[str, ...]) -> Array:
    """One unit of every velocity: 1 for angles, the size of the mechanism for lengths, (nv,)."""
    loops = reduction.loops
    units = sized_loops(loops.graph, reduction.q, tree=reduction.tree).units
    known = coordinate_names(reduction.mechanism)
    return np.array([units[known.index(n)] if n in known else 1.0 for n in names])
