"""Polynomials in place of a map, with a bound of their error all over the domain.

The bound is one of affine arithmetic on the boxes of the proof: at each, the error in the middle
and what its derivative makes of it, which is small where the fit is good. Boxes are halved until
the bound is met.

Polynomials of maps in the forms of robot descriptions: MJCF equalities, URDF mimic joints.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import product as combined
from xml.sax.saxutils import quoteattr

import numpy as np

from regularize.dynamics.tape.derivatives import copied, derivatives
from regularize.dynamics.tape.languages import columns
from regularize.dynamics.tape.program import Number
from regularize.errors import ModelError
from regularize.guests.actuation.boxes import bounds_of
from regularize.guests.actuation.conversion import PolynomialFit
from regularize.guests.actuation.prover import FoundDomain
from regularize.guests.actuation.subsystems import SubsystemMap
from regularize.lie.arrays import Array, Indices, Mask
from regularize.tolerances import NEGLIGIBLE

#: Degree of MuJoCo's polynomials of joints.
QUARTIC = 4


def single(fit: PolynomialFit, joint: int, names: tuple[str, str]) -> Array:
    """Return coefficients (5,) of a joint by powers of its only motor, for MJCF `polycoef`."""
    weights = fit.weights[:, joint]
    polynomial = np.polynomial.Polynomial(weights)(
        np.polynomial.Polynomial([-fit.center[0] / fit.scale[0], 1.0 / fit.scale[0]])
    )
    coefficients = np.atleast_1d(polynomial.coef)
    if len(coefficients) > QUARTIC + 1:
        raise ModelError(
            f"{names[1]} by {names[0]} is a polynomial of degree {len(coefficients) - 1}, and MJCF "
            f"holds degree {QUARTIC}; ask for a larger tolerance, or narrow the motors' limits"
        )
    return np.asarray(np.pad(coefficients, (0, QUARTIC + 1 - len(coefficients))))


def linear(fit: PolynomialFit, joint: int, motors: Sequence[str], name: str) -> tuple[float, Array]:
    """Return the offset and the multipliers (k,) of a joint that is linear in its motors."""
    degree = max(sum(p) for p in fit.powers)
    if degree > 1:
        raise ModelError(
            f"{name} by {', '.join(motors)} is a polynomial of degree {degree}, which is not "
            "linear; ask for a larger tolerance, or narrow the motors' limits"
        )
    table = {p: float(w) for p, w in zip(fit.powers, fit.weights[:, joint], strict=True)}
    units = [tuple(int(i == j) for i in range(len(motors))) for j in range(len(motors))]
    slopes = np.array([table.get(unit, 0.0) for unit in units]) / fit.scale
    offset = table.get((0,) * len(motors), 0.0) - float(slopes @ fit.center)
    return offset, np.asarray(slopes)


def _quoted(value: float) -> str:
    return f'"{float(value)!r}"'


def _numbers(values: Sequence[float] | Array) -> str:
    return " ".join(repr(float(x)) for x in values)


#: Degrees that are tried, in order.
DEGREES = (1, 2, 3, 4, 5, 6, 7, 8, 10, 12, 14)
#: How often the domain is halved where one polynomial does not do, by the number of motors.
HALVINGS = {1: 6, 2: 3}
#: Boxes that are bounded at most, and at a time.
BOXES, CHUNK = 60_000, 2000


@dataclass(frozen=True, eq=False)
class DrivePolynomial:
    """Polynomials of one subsystem; ``pieces`` has the polynomial of each proved box."""

    motors: tuple[int, ...]
    joints: tuple[int, ...]
    fits: tuple[PolynomialFit, ...]
    error: float
    found: FoundDomain
    pieces: Indices

    def __call__(self, x: Array) -> Array:
        """Return joint values (N, k) of motor values; NaN outside of several pieces."""
        if len(self.fits) == 1:
            return self.fits[0](x)
        leaf, q = self.found.box_of(x), np.full_like(x, np.nan)
        for i, fit in enumerate(self.fits):
            own = (leaf >= 0) & (self.pieces[leaf] == i)
            q[own] = fit(x[own])
        return q

    @property
    def fit(self) -> PolynomialFit:
        """The polynomial of a subsystem with one piece; ``ModelError`` for several."""
        if len(self.fits) > 1:
            raise ModelError(
                f"the polynomials have {len(self.fits)} pieces, and MJCF and URDF hold one: ask "
                "for a larger tolerance, or narrow the motors' limits"
            )
        return self.fits[0]


@dataclass(frozen=True, eq=False)
class MapPolynomial:
    """Polynomials of the motors that are nearly the joints.

    Attributes:
        parts: Those of each subsystem.
        error: Bound of the error of each joint all over the domain, rad or m.
        motor_names: Names of the motors.
        joint_names: Names of the joints.
    """

    parts: tuple[DrivePolynomial, ...]
    error: float
    motor_names: tuple[str, ...]
    joint_names: tuple[str, ...]

    @property
    def coefficients(self) -> Array | tuple[Array, ...]:
        """Coefficients (monomials, k), or a tuple of them for several pieces."""
        every = tuple(fit.weights for part in self.parts for fit in part.fits)
        return every[0] if len(every) == 1 else every

    def __call__(self, theta: Array) -> Array:
        """Return joint values of motor values, (k,) or (N, k); meaningless beyond the domain."""
        x = np.atleast_2d(np.asarray(theta, dtype=np.float64))
        q = np.empty_like(x)
        for part in self.parts:
            q[:, part.joints] = part(x[:, part.motors])
        return q[0] if np.ndim(theta) == 1 else q

    def to_mjcf(self) -> str:
        """``<tendon>`` and ``<equality>`` for MJCF: each joint held to its motors within ``error``.

        One motor is a ``polycoef``, several are a fixed tendon. MuJoCo counts joints from the
        model's ``qpos0``, which has to be zero for them.

        Raises:
            ModelError: The degree is above four, or above one for several motors.
        """
        tendons, rows = list[str](), list[str]()
        for fit, motors, joints in self._whole_joints("MJCF"):
            for i, name in enumerate(joints):
                if len(motors) == 1:
                    numbers = _numbers(single(fit, i, (motors[0], name)))
                    pair = f"joint1={quoteattr(name)} joint2={quoteattr(motors[0])}"
                    rows.append(f'  <joint {pair} polycoef="{numbers}"/>')
                    continue
                offset, slopes = linear(fit, i, motors, name)
                own = quoteattr(f"{name}_of_motors")
                parts = [(name, 1.0), *zip(motors, (-slopes).tolist(), strict=True)]
                terms = (f"<joint joint={quoteattr(n)} coef={_quoted(c)}/>" for n, c in parts)
                tendons.append(f"  <fixed name={own}>{''.join(terms)}</fixed>")
                numbers = _numbers([offset, 0, 0, 0, 0])
                rows.append(f'  <tendon tendon1={own} polycoef="{numbers}"/>')
        lines = ["<tendon>", *tendons, "</tendon>"] if tendons else []
        return "\n".join([*lines, "<equality>", *rows, "</equality>", ""])

    def to_urdf(self) -> dict[str, str]:
        """``<mimic>`` elements for URDF by joint, where the joints are linear within ``error``.

        Raises:
            ModelError: They are not, or follow several motors.
        """
        elements = {}
        for fit, motors, joints in self._whole_joints("URDF"):
            if len(motors) != 1:
                raise ModelError(
                    f"a URDF mimic joint follows one other; {', '.join(joints)} follow "
                    f"{', '.join(motors)}"
                )
            for i, name in enumerate(joints):
                offset, (slope,) = linear(fit, i, motors, name)
                told = f"multiplier={_quoted(float(slope))} offset={_quoted(offset)}"
                elements[name] = f"<mimic joint={quoteattr(motors[0])} {told}/>"
        return elements

    def _whole_joints(self, form: str) -> Iterator[tuple[PolynomialFit, list[str], list[str]]]:
        """Yield fits, motors and joints of subsystems, refused where the format cannot name one."""
        for part in self.parts:
            motors = [self.motor_names[i] for i in part.motors]
            joints = [self.joint_names[i] for i in part.joints]
            for name in (*motors, *joints):
                if name.endswith("]"):
                    raise ModelError(
                        f"{form} names whole joints: {name!r} is one coordinate of several"
                    )
            yield part.fit, motors, joints


def polynomial_of(drive: SubsystemMap, tolerance: float) -> DrivePolynomial:
    """Return polynomials of least degree within a tolerance, by pieces if need be."""
    if not tolerance > 0.0:
        raise ModelError(f"a tolerance is a positive number, in rad or m; got {tolerance!r}")
    domain, best = drive.found, np.inf
    most = min(HALVINGS.get(domain.prover.k, 1), domain.prover.depth)
    for halvings in range(most + 1):
        blocks = domain.boxes.corner >> (domain.prover.depth - halvings)
        pieces = np.unique(blocks, axis=0, return_inverse=True)[1].ravel()
        theta, z = domain.samples(4000 * 2**halvings, np.random.default_rng(2))
        k, n = theta.shape[1], z.shape[1]
        q, piece_of = columns(drive.chart.values, z)[:, n : n + k], pieces[domain.box_of(theta)]
        fitted, best = list[tuple[PolynomialFit, float]](), 0.0
        for i in range(int(pieces.max()) + 1):
            own = piece_of == i
            fit, error = _least(drive, theta[own], q[own], pieces == i, tolerance)
            best = max(best, error)
            if fit is None:
                break
            fitted.append((fit, error))
        else:
            fits = tuple(fit for fit, _ in fitted)
            return DrivePolynomial(drive.motors, drive.joints, fits, best, domain, pieces)
    raise ModelError(
        f"no polynomial of degree {DEGREES[-1]} or less can be shown to be within {tolerance:.3g}, "
        f"nor pieces of 1/{2**most} of the range; the best was off by {best:.3g} at samples"
    )


def _least(
    drive: SubsystemMap, theta: Array, q: Array, boxes: Mask, tolerance: float
) -> tuple[PolynomialFit | None, float]:
    """Return the fit of least degree on some boxes and its bound; else None and the error."""
    best = np.inf
    for degree in DEGREES:
        if len(theta) < 2 * math.comb(degree + theta.shape[1], degree):
            break
        fit = PolynomialFit.of(theta, q, degree)
        error_seen = float(np.abs(fit(theta) - q).max())
        best = min(best, error_seen)
        if error_seen <= 0.9 * tolerance:
            error = _bound(drive, fit, tolerance, boxes)
            if error <= tolerance:
                return fit, error
    return None, best


def _bound(drive: SubsystemMap, fit: PolynomialFit, tolerance: float, chosen: Mask) -> float:
    """Return a bound of a fit's error over the boxes ``own``, infinite if not within reach."""
    chart, boxes = drive.chart, drive.found.boxes
    k, names = len(chart.parameters), dict(zip(chart.given, chart.parameters, strict=True))
    approximate = copied(fit.lines(chart.motors), chart.code, names)
    errors = [a - b for a, b in zip(approximate, chart.joints, strict=True)]
    slopes = [x for row in derivatives(errors, chart.parameters) for x in row]
    low, high = boxes.low[chosen], boxes.high[chosen]
    z, r = 0.5 * (low + high), 0.5 * (high - low) * (1.0 + NEGLIGIBLE)
    ways, largest, count = np.array([*combined((-0.5, 0.5), repeat=k)]), 0.0, 0
    while len(z):
        count += len(z)
        if count > BOXES:
            return np.inf
        parts = (slice(i, i + CHUNK) for i in range(0, len(z), CHUNK))
        bounds = [_at(errors, slopes, chart.given, z[part], r[part]) for part in parts]
        bound = np.concatenate(bounds)
        good = bound <= tolerance
        largest = max(largest, float(bound[good].max(initial=0.0)))
        z, r = z[~good], r[~good]
        z = (z[:, None] + ways * r[:, None]).reshape(-1, k)
        r = np.repeat(0.5 * r, len(ways), axis=0) * (1.0 + NEGLIGIBLE)
    return largest + 1e-13  # rounding of what evaluates it


def _at(
    errors: Sequence[Number], slopes: Sequence[Number], names: Sequence[str], z: Array, r: Array
) -> Array:
    """Return the largest bound of errors over each box, shape (N,)."""
    middle = np.abs(bounds_of(errors, names, z, np.zeros_like(z))).max(axis=0)
    rates = np.abs(bounds_of(slopes, names, z, r)).max(axis=0).reshape(len(z), -1, z.shape[1])
    bound = middle + np.einsum("nij,nj->ni", rates, r)
    return np.asarray(np.where(np.isfinite(bound), bound * (1.0 + NEGLIGIBLE), np.inf).max(axis=1))
