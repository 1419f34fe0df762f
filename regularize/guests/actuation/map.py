"""Maps from motors to joints: positions, rates, torques and inertia, both ways."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from itertools import product as combined
from os import PathLike
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from regularize import validation
from regularize.dynamics.tape.languages import columns
from regularize.errors import ModelError
from regularize.guests.actuation.boxes import Domain
from regularize.guests.actuation.chart import MORE, chart_by, chart_of
from regularize.guests.actuation.polynomial import MapPolynomial, polynomial_of
from regularize.guests.actuation.source import (
    array_function,
    c_source,
    casadi_function,
    python_source,
    written,
)
from regularize.guests.actuation.subsystems import (
    SubsystemMap,
    SubsystemMaps,
    driven_joints,
    limits_of_motors,
    motors_of,
    subsystem_map,
    subsystems,
    undecided,
    with_balls,
)
from regularize.guests.modes.inputs import inputs_of, numbers
from regularize.lie.arrays import Array, Mask, read_only
from regularize.mechanism.graph_building import build
from regularize.mechanism.mechanism import Model, as_mechanism

#: Boxes of the domain of several subsystems together.
BOXES = 20_000
#: States at which bounds over the domain are taken, and motors of a polygon at most.
SAMPLES, CORNERS = 2000, 12


@dataclass(frozen=True, eq=False)
class ActuationMap(SubsystemMaps):
    """Map between motors and the joints that they drive through loops, on one branch.

    Motor values theta and joint values q are in rad and m, counted from the zeros of the model's
    joints; arrays have the shape (k,) or (N, k). Outside of the domain every method raises
    ``ModelError``, or gives NaN where ``strict=False``.

    Attributes:
        motor_names: Names of the motors' coordinates, the order of theta.
        joint_names: Names of the joints' coordinates, the order of q.
        drives: The subsystems, each a map of its own.
        effort: Largest torque or force of each motor in both directions, N m or N, infinite where
            the model states none, shape (k,).
        speed: Largest rate of each motor, rad/s or m/s, likewise.
    """

    def __repr__(self) -> str:
        way = ", ".join(self.motor_names), ", ".join(self.joint_names)
        return f"<ActuationMap {way[0]:.60} to {way[1]:.60}: {self.domain!r}>"

    def joints(self, theta: ArrayLike, *, strict: bool = True) -> Array:
        """Return joint values of motor values, (k,) or (N, k)."""
        return self._other(theta, back=False, strict=strict)

    def motors(self, q: ArrayLike, *, strict: bool = True) -> Array:
        """Return motor values of joint values, (k,) or (N, k)."""
        return self._other(q, back=True, strict=strict)

    def _other(self, given: ArrayLike, *, back: bool, strict: bool) -> Array:
        """Return joints of motors, or (``back``) motors of joints."""
        x, single = self._values(given, "q" if back else "theta")
        result = np.empty_like(x)
        for subsystem in self.drives:
            known, wanted = (subsystem.motors, subsystem.joints)[:: -1 if back else 1]
            result[:, wanted] = subsystem.solved(x[:, known], back)[0]
        if strict and not np.isfinite(result).all():
            self._refuse(x, result, back)
        return result[0] if single else result

    def _refuse(self, x: Array, result: Array, back: bool) -> None:
        """Raise ``ModelError`` for the first values that are outside of the domain."""
        worst = x[int(np.flatnonzero(~np.isfinite(result).all(axis=1))[0])]
        names = self.joint_names if back else self.motor_names
        values = ", ".join(f"{n} = {v:.6g}" for n, v in zip(names, worst, strict=True))
        raise ModelError(
            f"{values} is outside of the map's domain (limits, a singularity, or where nothing is "
            "proved); see .domain, or ask with strict=False for NaN"
        )

    def jacobian(self, theta: ArrayLike, *, strict: bool = True) -> Array:
        """Return derivatives of joints by motors dq/dtheta, shape (k, k) or (N, k, k)."""
        return self._blocks(theta, 2, lambda each, z: each.jacobian(z), strict)

    def hessian(self, theta: ArrayLike, *, strict: bool = True) -> Array:
        """Return second derivatives of joints by motors, shape (k, k, k) or (N, k, k, k)."""
        return self._blocks(theta, 3, lambda each, z: each.hessian(z), strict)

    def _blocks(
        self, given: ArrayLike, axes: int, of: Callable[[SubsystemMap, Array], Array], strict: bool
    ) -> Array:
        """Return derivatives ``of`` all subsystems, put together along ``axes`` axes of size k."""
        x, single = self._values(given, "theta")
        k = len(self.motor_names)
        result = np.zeros((len(x), *(k,) * axes))
        bad = np.zeros(len(x), dtype=bool)
        for subsystem in self.drives:
            z = subsystem.solved(x[:, subsystem.motors], back=False)[1]
            bad |= ~np.isfinite(z).all(axis=1)
            places = np.ix_(range(len(x)), subsystem.joints, *[subsystem.motors] * (axes - 1))
            result[places] = of(subsystem, z)
        result[bad] = np.nan
        if strict and bad.any():
            self._refuse(x, np.where(bad[:, None], np.nan, x), back=False)
        return result[0] if single else result

    def joint_torque(self, theta: ArrayLike, tau_m: ArrayLike, *, strict: bool = True) -> Array:
        """Return joint torques of motor torques, J^-T tau_m, in N m and N, (k,) or (N, k)."""
        inverse, tau = np.linalg.inv(self.jacobian(theta, strict=strict)), numbers(tau_m, "tau_m")
        return np.asarray(np.einsum("...ji,...j->...i", inverse, tau))

    def motor_torque(self, theta: ArrayLike, tau_q: ArrayLike, *, strict: bool = True) -> Array:
        """Return motor torques of joint torques, J^T tau_q, in N m and N, (k,) or (N, k)."""
        J, tau = self.jacobian(theta, strict=strict), numbers(tau_q, "tau_q")
        return np.asarray(np.einsum("...ji,...j->...i", J, tau))

    def torque_polygon(self, theta: ArrayLike, *, strict: bool = True) -> Array:
        """Return all joint torques that the motors allow: the image of the box of their torques.

        Rows are the corners of a segment, a polygon in order around it, or, for more than two
        joints, a body of 2^k corners; N m and N, shape (2^k, k) or (N, 2^k, k).

        Raises:
            ModelError: The model states no largest torque of a motor.
        """
        return self._corners(self.effort, "torque", theta, strict)

    def speed_polygon(self, theta: ArrayLike, *, strict: bool = True) -> Array:
        """Return all joint rates that the motors allow, as of ``torque_polygon``; rad/s and m/s."""
        return self._corners(self.speed, "speed", theta, strict)

    def _corners(self, bounds: Array, what: str, theta: ArrayLike, strict: bool) -> Array:
        """Return joint torques, or speeds, at the corners of the motors' box."""
        silent = [n for n, b in zip(self.motor_names, bounds, strict=True) if not np.isfinite(b)]
        if silent or len(bounds) > CORNERS:
            why = f"the model states no largest {what} of {', '.join(silent)}"
            why = why if silent else f"a body of 2^{len(bounds)} corners is no picture"
            raise ModelError(f"{why}; see .effort and .speed, or map fewer motors")
        signs = np.array([*combined((-1.0, 1.0), repeat=len(bounds))])
        if len(bounds) == 2:
            signs = signs[[0, 2, 3, 1]]  # around it
        J = self.jacobian(theta, strict=strict)
        A = np.swapaxes(np.linalg.inv(J), -1, -2) if what == "torque" else J
        return np.asarray((signs * bounds) @ np.swapaxes(A, -1, -2))

    def peaks(self, theta: ArrayLike, *, strict: bool = True) -> tuple[Array, Array]:
        """Return the largest torque and rate that each joint can have, (k,) or (N, k) each."""
        J = self.jacobian(theta, strict=strict)
        inverse = np.linalg.inv(np.swapaxes(J, -1, -2))
        with np.errstate(invalid="ignore"):  # what moves a motor by nothing needs none of it
            torque, rate = (
                np.where(A != 0.0, np.abs(A) * most, 0.0).sum(axis=-1)
                for A, most in ((inverse, self.effort), (J, self.speed))
            )
        return torque, rate

    def torque_box(self, samples: int = SAMPLES) -> Array:
        """Return joint torques that are allowed all over the domain, whatever their signs, (k,).

        Every combination up to these is within ``torque_polygon`` at all samples of the domain;
        N m and N, infinite where no motor has a bound.
        """
        J = np.abs(self.jacobian(self.samples(samples)))  # motors have J^T times joint torques
        with np.errstate(divide="ignore", invalid="ignore"):
            alone = np.nanmin(self.effort / J, axis=(0, 2))
            used = np.where(np.isfinite(alone), alone, 0.0) @ J
            share = np.nanmin(np.where(used > 0.0, self.effort / used, np.inf))
        return np.asarray(alone * min(1.0, float(share)))

    def motor_gains(
        self, theta: ArrayLike, K: ArrayLike, D: ArrayLike, *, strict: bool = True
    ) -> tuple[Array, Array]:
        """Return stiffness and damping of the motors that are those of the joints: J^T K J.

        Motors with them, at targets that the map leads joint targets to, pull on the joints as
        springs and dampers there would, to first order in what they are off by.

        Args:
            theta: Motor values.
            K: Stiffness of each joint, N m/rad or N/m, shape (k,), or all of them, shape (k, k).
            D: Damping of each joint, N m s/rad or N s/m, likewise.
            strict: As of ``joints``.
        """
        J = self.jacobian(theta, strict=strict)
        return self._seen_through(J, K, "K"), self._seen_through(J, D, "D")

    def joint_gains(
        self, theta: ArrayLike, K: ArrayLike, D: ArrayLike, *, strict: bool = True
    ) -> tuple[Array, Array]:
        """Return stiffness and damping of the joints that are those of the motors; see above."""
        inverse = np.asarray(np.linalg.inv(self.jacobian(theta, strict=strict)), np.float64)
        return self._seen_through(inverse, K, "K"), self._seen_through(inverse, D, "D")

    def gain_bounds(
        self, K: ArrayLike, D: ArrayLike, samples: int = SAMPLES
    ) -> tuple[Array, Array]:
        """Return what constant motor gains come to at the joints all over the domain.

        Least and largest diagonal entries of ``joint_gains`` at samples of the domain, for
        stiffness and for damping, shape (2, k) each.
        """
        ends = [x.diagonal(axis1=1, axis2=2) for x in self.joint_gains(self.samples(samples), K, D)]
        stiffness, damping = (np.stack([x.min(axis=0), x.max(axis=0)]) for x in ends)
        return stiffness, damping

    def _seen_through(self, A: Array, given: ArrayLike, name: str) -> Array:
        """Return A^T X A of values X of each coordinate (k,), or of all of them (k, k)."""
        x, k = numbers(given, name), len(self.motor_names)
        matrix = np.diag(x) if x.ndim == 1 else x
        if matrix.shape != (k, k):
            raise ModelError(f"{name} has the shape {x.shape}; it needs ({k},) or ({k}, {k})")
        return np.asarray(np.swapaxes(A, -1, -2) @ matrix @ A)

    def reflected_friction(self, theta: ArrayLike, f: ArrayLike, *, strict: bool = True) -> Array:
        """Return the most that dry friction of the motors (k,) can hold at each joint, (k,)."""
        inverse = np.linalg.inv(self.jacobian(theta, strict=strict))
        return np.asarray(np.abs(np.swapaxes(inverse, -1, -2)) @ numbers(f, "f"))

    def reflected_inertia(self, theta: ArrayLike, J_m: ArrayLike, *, strict: bool = True) -> Array:
        """Return the rotors' inertia at the joints, J^-T J_m J^-1, shape (k, k) or (N, k, k).

        Args:
            theta: Motor values.
            J_m: Inertia of each motor, kg m² or kg, shape (k,), or all of them, shape (k, k).
            strict: As of ``joints``.
        """
        inverse = np.asarray(np.linalg.inv(self.jacobian(theta, strict=strict)), np.float64)
        return self._seen_through(inverse, J_m, "J_m")

    def margin(self, theta: ArrayLike) -> Array:
        """Return the distance from singularities: 0 at one, NaN outside of the domain, () or (N,).

        The least of the scaled discriminants of the branch, and of the reciprocal conditions of
        the derivatives of motors and joints by the parameters that they are formulas of.
        """
        x, single = self._values(theta, "theta")
        least = np.full(len(x), np.inf)
        for subsystem in self.drives:
            z = subsystem.solved(x[:, subsystem.motors], back=False)[1]
            good = np.flatnonzero(np.isfinite(z).all(axis=1))
            n, margins = z.shape[1], np.full(len(x), np.nan)
            values = columns(subsystem.chart.values, z[good])[:, 2 * n :]
            sizes = np.linalg.svd(subsystem.chart.rates(z[good]), compute_uv=False)
            ratios = sizes[..., -1] / np.maximum(sizes[..., 0], 1e-300)
            margins[good] = np.min([values.min(axis=1, initial=np.inf), *ratios], axis=0)
            least = np.minimum(least, margins)
        return least[0] if single else least

    @cached_property
    def stored(self) -> Array:
        """Motor values of the stored pose, shape (k,)."""
        theta = np.empty(len(self.motor_names))
        for each in self.drives:
            values = columns(each.chart.values, each.chart.start[None])[0]
            theta[list(each.motors)] = values[: len(each.motors)]
        return theta

    @cached_property
    def domain(self) -> Domain:
        """Boxes of motor values on which the map is single-valued and regular, (boxes, k)."""
        if len(self.drives) == 1 and self.drives[0].motors == tuple(range(len(self.motor_names))):
            return self.drives[0].domain
        parts = [each.domain for each in self.drives]
        while np.prod([float(len(p.lower)) for p in parts]) > BOXES:
            largest = max(range(len(parts)), key=lambda i: len(parts[i].lower))
            part = parts[largest]
            by_volume = np.argsort(-np.prod(part.upper - part.lower, axis=1))
            half = by_volume[: len(by_volume) // 2]
            parts[largest] = replace(part, lower=part.lower[half], upper=part.upper[half])
        k, chosen = len(self.motor_names), [*combined(*(range(len(p.lower)) for p in parts))]
        corners = np.empty((2, len(chosen), k))
        order = [m for each in self.drives for m in each.motors]
        for i, part in enumerate(parts):
            rows, own = [c[i] for c in chosen], list(self.drives[i].motors)
            corners[0][:, own], corners[1][:, own] = part.lower[rows], part.upper[rows]
        bounds = np.empty((k, 2))
        bounds[order] = np.concatenate([p.bounds for p in parts])
        lower, upper = map(read_only, corners)
        whole = np.ones(1, dtype=bool)
        pairs = tuple((each.motors, each.domain) for each in self.drives)
        return ProductDomain(lower, upper, self.proved, bounds, whole, self.share, pairs)

    def samples(self, count: int, seed: int = 0) -> Array:
        """Return random motor values in the domain, shape (count, k)."""
        return self.domain.samples(count, np.random.default_rng(seed))

    def to_c(self, path: str | PathLike[str] | None = None, name: str | None = None) -> str:
        """Return C99 source that needs ``math.h`` alone; write it to a path where one is given.

        ``int NAME_joints(const double *theta, double *q)``, ``int NAME_motors(const double *q,
        double *theta)`` and ``int NAME_jacobian(const double *theta, double *J)`` return 0, or 1
        outside of the domain, with NaN. NAME is by default the file's.
        """
        return written(c_source, self, path, name)

    def to_python(self, path: str | PathLike[str] | None = None) -> str:
        """Return a numpy module of ``joints(theta)``, ``motors(q)`` and ``jacobian(theta)``.

        Arrays have the shape (..., k); outside of the domain there is NaN.
        """
        return written(python_source, self, path, None)

    def to_jax(self, *, back: bool = False) -> Callable[[Any], Any]:
        """Return a JAX function (..., k) of motors to joints, or back; use 64 bit."""
        return array_function(self, back, "jax.numpy")

    def to_torch(self, *, back: bool = False) -> Callable[[Any], Any]:
        """Return a PyTorch function (..., k) of motors to joints, or back."""
        return array_function(self, back, "torch")

    def to_casadi(self, *, back: bool = False) -> Any:
        """Return a CasADi ``Function`` (k,) of motors to joints, or back."""
        return casadi_function(self, back)

    def polynomial(self, tolerance: float) -> MapPolynomial:
        """Return polynomials of the motors that are the joints within a tolerance, rad and m.

        Their error is bounded by affine arithmetic all over the domain. Where one polynomial is not
        as good, the domain is cut in pieces with one each.

        Raises:
            ModelError: No polynomials that are tried can be shown to be as good.
        """
        parts = [polynomial_of(each, tolerance) for each in self.drives]
        error = max(part.error for part in parts)
        return MapPolynomial(tuple(parts), error, self.motor_names, self.joint_names)

    def _values(self, given: ArrayLike, what: str) -> tuple[Array, bool]:
        """Return motor (``theta``) or joint (``q``) values as (N, k), and whether N was missing."""
        x, k = numbers(given, what), len(self.motor_names)
        if k == 1 and (x.ndim == 0 or (x.ndim == 1 and len(x) != 1)):
            return x.reshape(-1, 1), x.ndim == 0
        if x.ndim not in (1, 2) or x.shape[-1] != k:
            names = self.joint_names if what == "q" else self.motor_names
            raise ModelError(f"{what} has the shape {x.shape}; it needs (N, {k}): {[*names]}")
        return np.atleast_2d(x), x.ndim == 1


@dataclass(frozen=True, eq=False, repr=False)
class ProductDomain(Domain):
    """Domain of several subsystems: products of their boxes."""

    #: Places of each subsystem's motors, and its domain.
    factors: tuple[tuple[tuple[int, ...], Domain], ...] = ()

    def contains(self, theta: Array) -> Mask:
        """Return which motor values (N, k) lie in the domain, (N,)."""
        parts = [domain.contains(theta[:, motors]) for motors, domain in self.factors]
        return np.asarray(np.logical_and.reduce(parts))

    def samples(self, count: int, rng: np.random.Generator) -> Array:
        """Return random motor values in the domain, shape (count, k)."""
        theta = np.empty((count, len(self.bounds)))
        for motors, domain in self.factors:
            theta[:, motors] = domain.samples(count, rng)
        return theta


@validation.validated(motors=validation.NAMES, joints=validation.NAMES)
def actuation_map(
    model: Model,
    motors: Sequence[str] | None = None,
    joints: Sequence[str] | None = None,
    *,
    branch: int | None = None,
) -> ActuationMap:
    """Return the map between motors and the joints that they drive through closed loops.

    Every subsystem (the loops that share bodies, or that couplings tie) is found by its motors and
    is a map of its own, whatever else the model has. It is made of closed forms: of joints by
    motors, of motors by joints, or of both by others; Newton's steps, written out, do the rest.
    Where there are none, formulas of a few coordinates more leave closure equations to those steps.

    Args:
        model: The model.
        motors: Joints with motors, or single coordinates such as ``wrist[1]``; by default those
            within loops that the model says are actuated.
        joints: Joints that they drive, as many coordinates in every subsystem as motors; by default
            a chain from its base to the body that carries what comes after it, or to the heaviest.
        branch: Branch of ``rg.closed_form`` of the subsystem; by default the one of the stored
            pose.

    Raises:
        ModelError: A name is unknown, motors and joints do not fit, or there are no such formulas.
    """
    mechanism = as_mechanism(model)
    graph = build(replace(mechanism, actuators=(), motions=()))
    motors = motors_of(graph) if motors is None else motors
    kept = [*inputs_of(graph, motors).columns, *inputs_of(graph, joints or ()).columns]
    graph = with_balls(graph, kept)
    joints = driven_joints(graph, motors) if joints is None else joints
    given = inputs_of(graph, motors), inputs_of(graph, joints)
    if len(given[0].names) != len(given[1].names):
        raise ModelError(
            f"{len(given[0].names)} motor coordinates and {len(given[1].names)} of joints: a map "
            "that can be inverted needs as many"
        )
    drives = []
    for part, own in subsystems(graph, *(each.columns for each in given)):
        names = [[each.names[i] for i in places] for each, places in zip(given, own, strict=True)]
        why = undecided(part, names[0], names[1])
        chart = None if why else chart_of(part, names[0], names[1], branch)
        if chart is None:
            most = len(names[0]) + MORE
            why = why or f"no formulas by the same {len(names[0])} to {most} coordinates are found"
            raise ModelError(f"no map of {', '.join(names[0])} and {', '.join(names[1])}: {why}")
        by_motors = chart.names == tuple(names[0])
        inverse = chart_by(part, names[0], names[1], names[1]) if by_motors else None
        drives.append(subsystem_map(own, chart, inverse, part, names))
    rated = limits_of_motors(mechanism, given[0].names)
    return ActuationMap(given[0].names, given[1].names, tuple(drives), *rated)
