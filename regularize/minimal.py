r"""Equations of motion in minimal coordinates, on Pinocchio's terms and the reduced rows.

The thesis (Paul 2020, section 3.2) splits the coordinates into independent ones u and dependent
ones v. With the kept rows J, the coupling matrix :math:`B = -J_v^{-1} J_u` gives

.. math::
    \dot q_v = B \dot q_u, \quad \ddot q_v = B \ddot q_u + b, \quad b = -J_v^{-1} \dot J \dot q
    \quad\text{(eq. 17 to 19)} \\
    (M_{uu} + M_{uv} B + B^T M_{vu} + B^T M_{vv} B)\, \ddot q_u + (M_{uv} + B^T M_{vv})\, b
    + c_u + B^T c_v - Q_u - B^T Q_v = 0 \quad\text{(eq. 20)}

(the text prints the rate of :math:`q_v` for b in the second term). The dependent positions follow
by Newton's method (eq. 16). Coordinates are displacements from a reference configuration, so that
quaternions need no treatment of their own.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field, replace
from types import MappingProxyType
from typing import Any

import numpy as np
import pinocchio as pin

from regularize.analysis import Reduction
from regularize.errors import ModelError, NotClosed
from regularize.kinematics import LoopKinematics
from regularize.partition import Choice, choose, columns_of
from regularize.pinocchio_ import Robot, to_pinocchio
from regularize.screw import Array, read_only
from regularize.solving import center_and_length
from regularize.topology import coordinate_names

#: Closure errors to which Newton's method goes, lengths scaled, and those that are accepted.
EXACT, CLOSED = 1e-14, 1e-12
NEWTON_STEPS = 25

#: A prescribed motion: time to position, velocity and acceleration.
Prescribed = Callable[[float], tuple[float, float, float]]


class ClosureLost(ModelError):
    """The dependent coordinates cannot follow the independent ones: there is no such pose."""


class NoInertia(ModelError):
    """The mechanism can move without moving any mass, so its accelerations are not determined."""


class SingularConfiguration(ModelError):
    """More coordinates could move than elsewhere, so none can be chosen."""


@dataclass(frozen=True, eq=False)
class Pose:
    """A closed configuration with what follows from it.

    Attributes:
        q: Configuration of the Pinocchio model, shape (nq,).
        transmission: Velocities of all coordinates by those of the known ones, shape (nv, known).
        condition: Condition number of the Jacobian of the dependent coordinates.
        matrix: Jacobian of the dependent coordinates in the rows that tie them, shape (m, m).
    """

    q: Array
    transmission: Array
    condition: float
    matrix: Array


@dataclass(frozen=True, eq=False)
class MinimalDynamics:
    """Dynamics of a closed-loop mechanism in independent coordinates.

    Attributes:
        robot: The Pinocchio model with the kept rows.
        names: Name of every velocity of the model.
        choice: Which columns are known and dependent, and which rows tie them.
        forced: Prescribed motions by name; their coordinates are known, not independent.
        reference: Configuration from which displacements are measured, shape (nq,).
        locked: Names that the user wants to be independent.
        rtol: Relative tolerance of ranks.
    """

    robot: Robot
    names: tuple[str, ...]
    choice: Choice
    forced: Mapping[str, Prescribed]
    reference: Array
    locked: tuple[str, ...]
    rtol: float
    _units: Array = field(repr=False)
    _data: Any = field(repr=False)

    @property
    def known(self) -> list[int]:
        """Columns of the independent and the forced coordinates, increasing."""
        return list(self.choice.independent)

    @property
    def independent(self) -> tuple[str, ...]:
        """Names of the independent coordinates."""
        return tuple(self.names[c] for c in self.known if self.names[c] not in self.forced)

    @property
    def dependent(self) -> tuple[str, ...]:
        """Names of the dependent coordinates."""
        return tuple(self.names[c] for c in self.choice.dependent)

    @property
    def free(self) -> list[int]:
        """Positions of the independent coordinates among the known ones."""
        return [i for i, c in enumerate(self.known) if self.names[c] not in self.forced]

    @property
    def driven(self) -> list[int]:
        """Positions of the forced coordinates among the known ones."""
        return [i for i, c in enumerate(self.known) if self.names[c] in self.forced]

    def repartitioned(self, q: Array) -> MinimalDynamics:
        """The same with the best choice of the other coordinates at a closed configuration."""
        return self._chosen(q, self.locked)

    def released(self, q: Array) -> MinimalDynamics:
        """The same with the best choice whatever the user wanted; forced coordinates stay."""
        return self._chosen(q, ())

    def at(self, q: Array) -> MinimalDynamics:
        """The same choice with displacements measured from a closed configuration."""
        return replace(self, reference=read_only(q))

    def _chosen(self, q: Array, locked: tuple[str, ...]) -> MinimalDynamics:
        names = (*locked, *(name for name in self.forced if name not in locked))
        choice = _choice(self.robot, q, self.names, self._units, names, self.rtol)
        return replace(self, choice=choice, reference=read_only(q), locked=locked)

    def displacement(self, q: Array) -> Array:
        """Displacement from the reference configuration, shape (nv,)."""
        return np.asarray(pin.difference(self.robot.model, self.reference, q))

    def close(self, displacement: Array) -> Pose:
        """Solve for the dependent coordinates by Newton's method (eq. 16).

        Args:
            displacement: From the reference, shape (nv,); the dependent entries are a first guess.

        Raises:
            ClosureLost: The guess is too far away, or there is no such configuration.
        """
        model = self.robot.model
        x = np.array(displacement)
        rows, dependent = list(self.choice.rows), list(self.choice.dependent)
        previous = np.inf
        for _ in range(NEWTON_STEPS):
            q = pin.integrate(model, self.reference, x)
            jacobian = self.robot.jacobian(q)
            error = self.robot.residual(q)[rows]
            worst = float(np.max(np.abs(error), initial=0.0))
            if not np.isfinite(worst):
                break
            # Beyond the last digits Newton's steps get no better: that is where it stops.
            if worst <= EXACT or (worst <= CLOSED and worst >= 0.5 * previous):
                return self._pose(q, jacobian)
            previous = worst
            by_displacement = jacobian[rows] @ self.rates(x)[:, dependent]
            step = np.linalg.lstsq(by_displacement, error, rcond=1e-10)[0]
            x[dependent] -= step / max(1.0, float(np.max(np.abs(step))))
        raise ClosureLost(
            f"the loops do not close for the given {', '.join(self.independent) or 'coordinates'}: "
            "the mechanism is at a limit of its motion, or the step was too large"
        )

    def rates(self, displacement: Array) -> Array:
        """Velocities by rates of the displacement, shape (nv, nv): one but for group joints."""
        model = self.robot.model
        if model.nq == model.nv:
            return np.eye(model.nv)
        first = pin.ArgumentPosition.ARG1
        return np.asarray(pin.dIntegrate(model, self.reference, displacement, first))

    def _pose(self, q: Array, jacobian: Array) -> Pose:
        rows, dependent = list(self.choice.rows), list(self.choice.dependent)
        transmission = np.zeros((self.robot.model.nv, len(self.known)))
        transmission[self.known, range(len(self.known))] = 1.0
        if not rows:
            return Pose(np.asarray(q), transmission, 1.0, np.zeros((0, 0)))
        matrix = jacobian[np.ix_(rows, dependent)]
        transmission[dependent] = -np.linalg.solve(matrix, jacobian[np.ix_(rows, self.known)])
        condition = float(np.linalg.cond(matrix * self._units[dependent]))
        return Pose(np.asarray(q), transmission, condition, matrix)

    def moved(self, q: Array, time: float) -> Pose:
        """The closed configuration near ``q`` in which the forced joints are where they have to be.

        They are moved there in small steps.
        """
        x = self.displacement(q)
        columns = [self.known[i] for i in self.driven]
        target = np.array([self.forced[self.names[c]](time)[0] for c in columns])
        change = target - self.positions(self.reference, columns) - x[columns]
        steps = max(1, int(np.ceil(10 * float(np.max(np.abs(change), initial=0.0)))))
        for _ in range(steps):
            x[columns] += change / steps
            pose = self.close(x)
            x = self.displacement(pose.q)
        return pose

    def positions(self, q: Array, columns: list[int]) -> Array:
        """Positions of coordinates that are one number each, shape (columns,)."""
        model = self.robot.model
        result = []
        for column in columns:
            j = next(
                j for j in range(1, model.njoints) if 0 <= column - model.idx_vs[j] < model.nvs[j]
            )
            if model.nqs[j] != model.nvs[j]:
                raise ModelError(
                    f"the motion of {self.names[column]!r} cannot be prescribed: the joint's "
                    "coordinates are no separate numbers; model it by hinges in series"
                )
            result.append(q[model.idx_qs[j] + column - model.idx_vs[j]])
        return np.array(result)

    def pose(self, q: Array) -> Pose:
        """The closed configuration with the known coordinates of ``q``, shape (nq,)."""
        return self.close(self.displacement(q))

    def bias(self, pose: Pose, v: Array) -> Array:
        """Accelerations of all coordinates where the known ones are zero (eq. 19), shape (nv,)."""
        b = np.zeros(self.robot.model.nv)
        rows = list(self.choice.rows)
        rates = self.robot.bias(pose.q, v)[rows]
        b[list(self.choice.dependent)] = -np.linalg.solve(pose.matrix, rates)
        return b

    def velocity(self, pose: Pose, known: Array) -> Array:
        """Velocities of all coordinates from those of the known ones (eq. 17), shape (nv,)."""
        return np.asarray(pose.transmission @ known)

    def mass_matrix(self, pose: Pose) -> Array:
        """Reduced mass matrix of the known coordinates (eq. 20), shape (known, known)."""
        M = pin.crba(self.robot.model, self._data, pose.q)
        M = np.triu(M) + np.triu(M, 1).T
        return np.asarray(pose.transmission.T @ M @ pose.transmission)

    def forces(self, pose: Pose, v: Array, tau: Array) -> Array:
        """Reduced forces :math:`F_r` (eq. 20 and 21), shape (known,).

        ``M_r @ acceleration + F_r = 0`` holds for the independent coordinates.
        """
        return self._forces(pose, v, tau, self.bias(pose, v))

    def _forces(self, pose: Pose, v: Array, tau: Array, bias: Array) -> Array:
        terms = pin.rnea(self.robot.model, self._data, pose.q, v, bias)
        return np.asarray(pose.transmission.T @ (terms - tau))

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
        known = np.zeros(len(self.known))
        known[driven] = 0.0 if prescribed is None else prescribed
        try:
            known[free] = np.linalg.solve(
                M[np.ix_(free, free)], -F[free] - M[np.ix_(free, driven)] @ known[driven]
            )
        except np.linalg.LinAlgError as error:
            raise NoInertia(
                f"the mass matrix of {', '.join(self.independent)} is singular: they can move "
                "without moving any mass; give the bodies mass properties"
            ) from error
        needed = (M @ known + F)[driven]
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
        nothing = np.zeros(self.robot.model.nv)
        needed = self.mass_matrix(pose) @ known + self.forces(pose, v, nothing)
        by_motors = pose.transmission[columns].T
        tau = nothing.copy()
        tau[columns] = np.linalg.lstsq(by_motors, needed, rcond=self.rtol)[0]
        missing = by_motors @ tau[columns] - needed
        if np.max(np.abs(missing), initial=0.0) > 1e-6 * np.max(np.abs(needed), initial=1e-300):
            raise ModelError(
                f"motors at {[self.names[c] for c in columns]} cannot produce the motion: the "
                f"mechanism has {len(self.known)} freedoms, and they act on "
                f"{np.linalg.matrix_rank(by_motors, tol=self.rtol)}"
            )
        return tau


def minimal_dynamics(
    reduction: Reduction,
    independent: Iterable[str] = (),
    *,
    forced: Mapping[str, Prescribed] | None = None,
    q: Array | None = None,
    time: float = 0.0,
    rtol: float | None = None,
) -> MinimalDynamics:
    """Equations of motion in minimal coordinates.

    Args:
        reduction: From ``regularize.reduce``.
        independent: Joints whose coordinates have to be independent; the others are chosen.
        forced: Prescribed motions by joint name: time to position, velocity and acceleration.
        q: Configuration of the Pinocchio model to start from, shape (nq,); by default the assembled
            one. Forced joints are moved to where they have to be.
        time: Time at which the forced joints are looked up.
        rtol: Relative tolerance of ranks; by default the reduction's.

    Raises:
        NotClosed: The loops are open.
        NotIndependent: The coordinates asked for depend on each other.
        SingularConfiguration: More coordinates could move at the start than elsewhere.
        ModelError: A name is unknown, or its joint is one of the cuts.
    """
    assembly = reduction.assembly
    if not assembly.closed:
        worst = max(assembly.after, key=lambda gap: gap.translation + gap.rotation)
        raise NotClosed(worst.joint, worst.translation, worst.rotation)
    robot = to_pinocchio(reduction)
    names = velocity_names(robot)
    motions = dict(forced or {})
    locked = tuple(independent)
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
    choice = _choice(robot, start, names, units, (*locked, *motions), tolerance)
    dynamics = MinimalDynamics(
        robot,
        names,
        choice,
        MappingProxyType(motions),
        start,
        locked,
        tolerance,
        units,
        robot.model.createData(),
    )
    if motions:
        dynamics = dynamics.repartitioned(dynamics.moved(start, time).q)
    return dynamics


def velocity_names(robot: Robot) -> tuple[str, ...]:
    """Name of the joint coordinate that every velocity of the model belongs to."""
    mechanism = robot.reduction.mechanism
    cut = {c.edge.joint.name for c in robot.reduction.cuts}
    names = [""] * robot.model.nv
    every = iter(coordinate_names(mechanism))
    for joint in mechanism.joints:
        for freedom in range(joint.freedoms):
            name = next(every)
            if joint.name not in cut:
                names[robot.velocity_index(joint.name, freedom)] = name
    # Parts of a joint that is cut in the middle keep the model's own names.
    for j in range(1, robot.model.njoints):
        start = robot.model.idx_vs[j]
        for k in range(robot.model.nvs[j]):
            names[start + k] = names[start + k] or f"{robot.model.names[j]}[{k}]"
    return tuple(names)


def _units(reduction: Reduction, names: tuple[str, ...]) -> Array:
    """One unit of every velocity: 1 for angles, the size of the mechanism for lengths, (nv,)."""
    loops = reduction.loops
    _, length = center_and_length(loops, reduction.q)
    units = LoopKinematics(loops.graph, loops.edges, reduction.tree, length=length).units
    known = coordinate_names(reduction.mechanism)
    return np.array([units[known.index(n)] if n in known else 1.0 for n in names])


def _choice(
    robot: Robot, q: Array, names: tuple[str, ...], units: Array, locked: Iterable[str], rtol: float
) -> Choice:
    """The best choice at a closed configuration.

    Raises:
        SingularConfiguration: Coordinates chosen there would not do elsewhere.
    """
    expected = robot.model.nv - robot.reduction.mobility
    choice = choose(robot.jacobian(q) * units, names, columns_of(names, locked), rtol)
    if len(choice.dependent) < expected:
        raise SingularConfiguration(
            f"the configuration is singular: {len(choice.independent)} coordinates could move, "
            f"{robot.reduction.mobility} elsewhere; start from another one"
        )
    return choice
