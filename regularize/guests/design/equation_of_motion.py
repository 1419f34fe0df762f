r"""The equation of motion in actuator coordinates, from its coefficients.

.. math::
    H(\theta)\,\ddot\theta + D(\theta)\,[\dot\theta\dot\theta] + C(\theta)\,\dot\theta - p(\theta)
    = \tau

(Brüls 2003, eq. 1 and 3) with the products
:math:`[\dot\theta\dot\theta] = [\dot\theta_1^2\;\dot\theta_1\dot\theta_2\;\dots\;\dot\theta_s^2]`.
All coefficients of one configuration form one row of t numbers (eq. 29): the upper triangle of H
row by row, D row by row, p; then, where joints have viscous damping, which the text leaves out, the
upper triangle of the damping matrix C. Where the motors are not the inputs, C stands there anyhow,
and the influence matrix A of the motors row by row: of their efforts u,
:math:`\tau = A(\theta)\,u`.

Interpolations of these rows over a workspace, its bounds, coverage and errors, are here as well.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass
from functools import lru_cache
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from regularize.errors import ModelError, NoInertia, OutsideWorkspace
from regularize.lie.arrays import Array, Indices, Mask
from regularize.loops.projection import CHUNK
from regularize.mechanism.diagnostic import Diagnostic
from regularize.mechanism.named_columns import ShortRepr
from regularize.validation import numbers


@lru_cache(maxsize=32)
def pairs(s: int) -> tuple[Indices, Indices]:
    """Return the two factors of every product and of every entry of H's upper triangle."""
    first, second = np.triu_indices(s)
    return first, second


@lru_cache(maxsize=32)
def mirror(s: int) -> Indices:
    """Return the position in the upper triangle of every entry of a symmetric matrix, (s, s)."""
    index = np.zeros((s, s), dtype=int)
    first, second = pairs(s)
    index[first, second] = index[second, first] = np.arange(len(first))
    return index


def products(rates: Array) -> Array:
    r"""Return the products :math:`[\dot\theta\dot\theta]`, shape (..., s (s + 1) / 2)."""
    first, second = pairs(rates.shape[-1])
    return np.asarray(rates[..., first] * rates[..., second])


def symmetric_products(values: Array) -> Array:
    """Return (..., s (s + 1) / 2) coefficients of the products of rates from (..., s, s) ones."""
    first, second = pairs(values.shape[-1])
    both = values[..., first, second] + values[..., second, first]
    return np.asarray(np.where(first == second, 0.5, 1.0) * both)


def count(s: int, *, damped: bool = False, motors: int = 0) -> int:
    """Return the number t of coefficients (eq. 29)."""
    P = s * (s + 1) // 2
    return P + s * P + s + (damped or motors > 0) * P + s * motors


def pack(H: Array, D: Array, p: Array, C: Array | None = None, A: Array | None = None) -> Array:
    """Put H (N, s, s), D (N, s, P), p (N, s), C (N, s, s) and A (N, s, motors) in rows."""
    first, second = pairs(p.shape[-1])
    more = [] if C is None else [C[:, first, second]]
    more += [] if A is None else [A.reshape(len(A), -1)]
    return np.concatenate([H[:, first, second], D.reshape(len(D), -1), p, *more], axis=1)


def groups(s: int, t: int | None = None) -> dict[str, slice]:
    """Return where H, D, p, and maybe C and A, lie in a row of t coefficients."""
    P, plain = s * (s + 1) // 2, count(s)
    found = {"H": slice(0, P), "D": slice(P, P + s * P), "p": slice(P + s * P, plain)}
    if t is not None and t > plain:
        found["C"] = slice(plain, plain + P)
        if t > plain + P:
            found["A"] = slice(plain + P, t)
    return found


def unpack(rows: Array, s: int) -> tuple[Array, Array, Array, Array]:
    """Return H (N, s, s), D (N, s, P), p (N, s) and C (N, s, s), zero without damping."""
    square, place = mirror(s), groups(s, rows.shape[1])
    D = rows[:, place["D"]].reshape(len(rows), s, -1)
    C = rows[:, place["C"]][:, square] if "C" in place else np.zeros((len(rows), s, s))
    return rows[:, place["H"]][:, square], D, rows[:, place["p"]], C


class EquationOfMotion(ABC):
    """Inverse and forward dynamics from the coefficients of the equation of motion.

    Inputs may be one state, shape (s,), or any number of them, shape (..., s).

    Attributes:
        inputs: Names of the actuated coordinates.
    """

    inputs: tuple[str, ...]

    @abstractmethod
    def coefficients(self, theta: Array) -> Array:
        """Rows of coefficients at inputs of shape (N, s), shape (N, t)."""

    def _parts(self, theta: ArrayLike) -> list[Array]:
        """H, D, p and C, with the leading axes of the inputs."""
        rows = self.coefficients(self._table(theta))
        return [self._like(theta, part) for part in unpack(rows, len(self.inputs))]

    def _like(self, theta: ArrayLike, table: NDArray[Any]) -> NDArray[Any]:
        """Give results (N, ...) the leading axes of the inputs."""
        return table.reshape((*np.shape(theta)[:-1], *table.shape[1:]))

    def _table(self, values: ArrayLike) -> Array:
        """Inputs, rates and so on in one table, shape (N, s)."""
        array, s = numbers(values), len(self.inputs)
        if array.ndim == 0 or array.shape[-1] != s:
            raise ModelError(
                f"the inputs {list(self.inputs)} need a last axis of length {s}, got {array.shape=}"
            )
        return array.reshape(-1, s)

    def H(self, theta: ArrayLike) -> Array:
        """Inertia matrix (eq. 18), shape (..., s, s)."""
        return self._parts(theta)[0]

    def D(self, theta: ArrayLike) -> Array:
        """Centrifugal and Coriolis matrix of the products (eq. 28), (..., s, s (s + 1) / 2)."""
        return self._parts(theta)[1]

    def p(self, theta: ArrayLike) -> Array:
        """External forces on the inputs (eq. 16), N or N m, shape (..., s).

        They are those of gravity, of joint springs, and of wrenches on the bodies.
        """
        return self._parts(theta)[2]

    def C(self, theta: ArrayLike) -> Array:
        """Viscous damping matrix of the joints, N s/m or N m s/rad, shape (..., s, s)."""
        return self._parts(theta)[3]

    def A(self, theta: ArrayLike) -> Array:
        """Influence of the motors on the inputs (eq. 5), shape (..., s, motors).

        The identity where the motors are the inputs.
        """
        s = len(self.inputs)
        rows = self.coefficients(self._table(theta))
        place = groups(s, rows.shape[1]).get("A")
        if place is None:
            return self._like(theta, np.broadcast_to(np.eye(s), (len(rows), s, s)))
        return self._like(theta, rows[:, place].reshape(len(rows), s, -1))

    def motor_efforts(
        self,
        theta: ArrayLike,
        rate: ArrayLike,
        acceleration: ArrayLike,
        weights: ArrayLike | None = None,
    ) -> tuple[Array, Array]:
        """Efforts of the motors that make a motion, however many motors there are.

        Of more motors than freedoms the smallest efforts are taken; with fewer there may be
        something left that no motor can do.

        Args:
            theta: Inputs, shape (..., s).
            rate: Their rates.
            acceleration: Their accelerations.
            weights: What the square of each motor's effort counts, positive, shape (motors,).

        Returns:
            Efforts in N or N m, shape (..., motors), and what is left of ``inverse_dynamics``,
            shape (..., s).

        Raises:
            ModelError: There are not as many weights as motors, or one is not positive.
        """
        tau, A = self.inverse_dynamics(theta, rate, acceleration), self.A(theta)
        scale: Array = np.ones(A.shape[-1]) if weights is None else numbers(weights)
        if scale.shape != A.shape[-1:] or not np.all(scale > 0.0):
            raise ModelError(f"weights are {A.shape[-1]} positive numbers, one for each motor")
        scale = scale**-0.5
        efforts = scale * (np.linalg.pinv(A * scale) @ tau[..., None])[..., 0]
        return efforts, tau - (A @ efforts[..., None])[..., 0]

    def inverse_dynamics(self, theta: ArrayLike, rate: ArrayLike, acceleration: ArrayLike) -> Array:
        """Actuator efforts of a motion (eq. 1), N or N m, shape (..., s)."""
        shape, tables = self._states(theta, rate, acceleration)
        efforts = np.zeros_like(tables[0])
        for i in range(0, len(efforts), CHUNK):  # as many at once as fit into the cache
            x, dx, ddx = (table[i : i + CHUNK] for table in tables)
            H, D, p, C = unpack(self.coefficients(x), len(self.inputs))
            moved = H @ ddx[..., None] + D @ products(dx)[..., None] + C @ dx[..., None]
            efforts[i : i + CHUNK] = moved[..., 0] - p
        return efforts.reshape(shape)

    def forward_dynamics(self, theta: ArrayLike, rate: ArrayLike, effort: ArrayLike) -> Array:
        """Accelerations of the inputs under actuator efforts, shape (..., s).

        Raises:
            NoInertia: The inputs can move without moving any mass.
        """
        shape, (x, dx, tau) = self._states(theta, rate, effort)
        H, D, p, C = unpack(self.coefficients(x), len(self.inputs))
        lost = D @ products(dx)[..., None] + C @ dx[..., None]
        forces = tau + p - lost[..., 0]
        try:
            return np.asarray(np.linalg.solve(H, forces[..., None])).reshape(shape)
        except np.linalg.LinAlgError as error:
            raise self.no_inertia() from error

    def no_inertia(self) -> NoInertia:
        """The error where the inertia matrix is singular."""
        return NoInertia(
            f"{', '.join(self.inputs)} can move without moving any mass: state the mass properties "
            "of the mechanism, and compute its dynamics again"
        )

    def _states(self, *values: ArrayLike) -> tuple[tuple[int, ...], list[Array]]:
        """Inputs, rates and so on broadcast against each other: their shape, and tables (N, s)."""
        given = [numbers(value) for value in values]
        try:
            arrays = np.broadcast_arrays(*given)
        except ValueError:
            shapes = ", ".join(str(array.shape) for array in given)
            raise ModelError(f"states of different shapes do not go together: {shapes}") from None
        return arrays[0].shape, [self._table(array) for array in arrays]


@dataclass(frozen=True)
class Scale:
    """Sizes that errors of H, D and p are compared with: median norms over the workspace."""

    median: dict[str, float]

    def relative(self, errors: Array, values: Array, s: int) -> Array:
        """Return relative errors of H, D, p and C (..., groups), by norms or larger medians."""
        parts = []
        for name, place in groups(s, values.shape[-1]).items():
            size = np.linalg.norm(values[..., place], axis=-1)
            missed = np.linalg.norm(errors[..., place], axis=-1)
            floor = self.median[name]
            parts.append(missed / np.maximum(size, floor if floor > 0.0 else np.inf))
        return np.stack(parts, axis=-1)


@dataclass(frozen=True)
class Accuracy:
    """Relative errors at random points that no fit has seen.

    Errors of H, D and p are relative to their norm at the point, or to their median norm over the
    workspace where they are smaller than that.

    Attributes:
        points: Number of points inside the workspace.
        covered: Fraction of them that the metamodel covers.
        maximal: Largest relative error of H, D and p, by name.
        mean: Mean relative error, by name.
    """

    points: int
    covered: float
    maximal: dict[str, float]
    mean: dict[str, float]

    @property
    def worst(self) -> float:
        """Largest relative error of all."""
        return max(self.maximal.values())


@dataclass(frozen=True, eq=False, repr=False)
class Interpolation(ShortRepr, EquationOfMotion):
    """An interpolation of the coefficients over a workspace: the base of all metamodels.

    Attributes:
        inputs: Names of the actuated coordinates, in the order of the inputs.
        lower: Lower bounds of the inputs, radians or metres, shape (s,).
        upper: Upper bounds, shape (s,).
        samples: Number of samples of the reduced model that the fit uses.
        scale: Sizes that errors are relative to.
        accuracy: Errors at points that the fit has not seen.
        findings: What should be known about the metamodel.
    """

    inputs: tuple[str, ...]
    lower: Array
    upper: Array
    samples: int
    scale: Scale
    accuracy: Accuracy
    findings: tuple[Diagnostic, ...]

    def covers(self, theta: ArrayLike) -> Mask:
        """Whether the metamodel answers at inputs of shape (..., s), shape (...)."""
        return self._like(theta, self._covered(self._table(theta)))

    def relative_errors(self, theta: Array, truth: Array) -> Array:
        """Relative errors of H, D, p and C at inputs (N, s), shape (N, groups).

        The truth, shape (N, t), is NaN outside the workspace; errors are NaN where nothing is
        known.
        """
        known = np.isfinite(truth[:, 0]) & self._covered(theta)
        places = groups(theta.shape[1], truth.shape[1])
        result = np.full((len(theta), len(places)), np.nan)
        if known.any():
            missed = self.coefficients(theta[known]) - truth[known]
            result[known] = self.scale.relative(missed, truth[known], theta.shape[1])
        return result

    def _covered(self, theta: Array) -> Mask:
        """Tell whether inputs (N, s) lie within the bounds."""
        return np.asarray(np.all((theta >= self.lower) & (theta <= self.upper), axis=1))

    def _outside(self, theta: Array) -> OutsideWorkspace:
        """Make the error that says which inputs are not covered."""
        values = ", ".join(
            f"{name} = {value:.6g}" for name, value in zip(self.inputs, theta, strict=True)
        )
        return OutsideWorkspace(
            f"the metamodel does not cover {values}; its bounds are {self.lower.tolist()} to "
            f"{self.upper.tolist()}, without what cannot be reached"
        )
