#!/usr/bin/env python3
"""Motions of the benchmark problems to twelve digits, which ``references.json`` holds.

    python tests/benchmarks/references.py [--write]

Gragg's method with extrapolation, in extended precision (64 bits of mantissa), has to agree with
itself at twice as many steps. Bodies are affine frames with constant mass matrices (natural
coordinates): their axes and joints are the unknowns, and that they are rigid and meet are quadratic
equations. Nothing of the package is used but the files' numbers. The windows are pendulums as long
as they are parallelograms.
"""

from __future__ import annotations

import json
import sys
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from measuring import ASSETS
from numpy.typing import NDArray

import regularize as rg

Extended = NDArray[Any]
LONG = np.longdouble
FOLDER = ASSETS / "benchmarks"
SQUEEZER = json.loads((FOLDER / "andrews_data.json").read_text(encoding="utf-8"))


def zeros(*shape: int) -> Extended:
    """Zeros in extended precision."""
    return np.zeros(shape, dtype=LONG)


def solved(matrix: Extended, right: Extended) -> Extended:
    """Solutions of linear equations for the columns of ``right``, by elimination with pivots."""
    n = len(matrix)
    a = np.concatenate([matrix, right.reshape(n, -1)], axis=1)
    for k in range(n):
        p = k + int(np.argmax(np.abs(a[k:, k])))
        a[[k, p]] = a[[p, k]]
        a[k, k:] /= a[k, k]
        factors = a[:, k].copy()
        factors[k] = 0
        a[:, k:] -= factors[:, None] * a[k, k:]
    return a[:, n:].reshape(right.shape)


@dataclass
class Problem:
    """Unknowns x with M x'' + C'(x)^T l = f(x), C(x) = 0, quadratic C, and f linear but a spring.

    ``curvature`` and ``slope`` are derivatives of C at x = 0, (r, n, n) and (r, n); ``constant``
    and ``linear`` are f. A spring has stiffness, rest length, and the vector that it spans.
    """

    mass: Extended
    curvature: Extended
    slope: Extended
    constant: Extended
    linear: Extended
    spring: tuple[float, float, Extended, Extended] | None = None
    rows: list[int] = field(default_factory=list)

    def choose(self, x: Extended) -> None:
        """Choose independent equations, by the pivots of their gradients."""
        J = (self.slope + self.curvature @ x).astype(float)
        self.rows = []
        for _ in range(len(J)):
            sizes = np.linalg.norm(J, axis=1)
            row = int(np.argmax(sizes))
            if sizes[row] < 1e-6:
                break
            self.rows.append(row)
            axis = J[row] / sizes[row]
            J = J - np.outer(J @ axis, axis)

    def saddle(self, x: Extended) -> Extended:
        """The matrix of accelerations and multipliers."""
        J = self.slope[self.rows] + self.curvature[self.rows] @ x
        n, r = J.shape[1], len(J)
        whole = zeros(n + r, n + r)
        whole[:n, :n], whole[:n, n:], whole[n:, :n] = self.mass, J.T, J
        return whole

    def force(self, x: Extended) -> Extended:
        """Forces of a state."""
        found = self.constant + self.linear @ x
        if self.spring is not None:
            stiffness, rest, origin, rates = self.spring
            span = origin + rates @ x
            found = found - LONG(stiffness) * (1 - LONG(rest) / np.sqrt(span @ span)) * (
                rates.T @ span
            )
        return found

    def acceleration(self, x: Extended, v: Extended) -> Extended:
        """Second derivative of x."""
        bend = -np.einsum("i,rij,j->r", v, self.curvature[self.rows], v)
        return solved(self.saddle(x), np.concatenate([self.force(x), bend]))[: len(x)]


def by_extrapolation(
    problem: Problem, x: Extended, v: Extended, end: float, steps: int
) -> Extended:
    """Unknowns at the end by Gragg's method, extrapolated over 2 to 16 parts of equal steps."""
    h, n = LONG(end) / steps, len(x)
    for _ in range(steps):
        problem.choose(x)

        def slope(y: Extended) -> Extended:
            return np.concatenate([y[n:], problem.acceleration(y[:n], y[n:])])

        begun = np.concatenate([x, v])
        first, table = slope(begun), []
        for k in range(1, 9):
            parts = 2 * k
            tiny = h / parts
            before, now = begun, begun + tiny * first
            for _ in range(parts - 1):
                before, now = now, before + 2 * tiny * slope(now)
            row = [(before + now + tiny * slope(now)) / 2]
            for j in range(1, k):
                ratio = (LONG(k) / LONG(k - j)) ** 2 - 1
                row.append(row[j - 1] + (row[j - 1] - table[-1][j - 1]) / ratio)
            table.append(row)
        x, v = table[-1][-1][:n], table[-1][-1][n:]
    return x


@dataclass
class Affine:
    """Vectors that depend on the unknowns linearly: constant part and rates."""

    constant: Extended
    rates: Extended

    def __add__(self, other: Affine) -> Affine:
        return Affine(self.constant + other.constant, self.rates + other.rates)

    def __sub__(self, other: Affine) -> Affine:
        return self + other.times(np.eye(len(other.constant)) * -1)

    def times(self, matrix: Any) -> Affine:
        """A constant matrix times the vector."""
        m = np.asarray(matrix, dtype=LONG)
        return Affine(m @ self.constant, m @ self.rates)


@dataclass
class Builder:
    """Collects masses, forces and equations over n unknowns."""

    n: int
    mass: Extended = field(init=False)
    constant: Extended = field(init=False)
    linear: Extended = field(init=False)
    products: list[tuple[Affine, Affine]] = field(default_factory=list)
    zeros: list[Affine] = field(default_factory=list)

    def __post_init__(self) -> None:
        self.mass, self.constant = zeros(self.n, self.n), zeros(self.n)
        self.linear = zeros(self.n, self.n)

    def unknown(self, first: int, size: int) -> Affine:
        """A vector of unknowns."""
        rates = zeros(size, self.n)
        rates[:, first : first + size] = np.eye(size)
        return Affine(zeros(size), rates)

    def known(self, vector: Any) -> Affine:
        """A constant vector."""
        return Affine(np.asarray(vector, dtype=LONG), zeros(len(vector), self.n))

    def weigh(self, mass: Any, vector: Affine, gravity: Any = None) -> None:
        """A mass that moves as a vector does, in a gravity field."""
        self.mass += LONG(mass) * vector.rates.T @ vector.rates
        if gravity is not None:
            self.constant += LONG(mass) * vector.rates.T @ np.asarray(gravity, dtype=LONG)

    def problem(self) -> Problem:
        """The equations: products of vectors stay as they are, and differences zero."""
        A = [a.rates.T @ b.rates + b.rates.T @ a.rates for a, b in self.products]
        B = [a.constant @ b.rates + b.constant @ a.rates for a, b in self.products]
        straight = [row for vector in self.zeros for row in vector.rates]
        curvature = np.array([*A, *(zeros(self.n, self.n) for _ in straight)])
        return Problem(self.mass, curvature, np.array([*B, *straight]), self.constant, self.linear)


def bricard() -> tuple[Problem, Extended, Extended]:
    """Five rods between four moving hinges and two fixed ones, whose axes are unknowns as well."""
    mechanism = rg.load(FOLDER / "bricard.json")
    points = [joint.T_parent_joint[:3, 3] for joint in mechanism.joints]
    axes = [joint.screws[3:, 0] for joint in mechanism.joints]
    build = Builder(24)
    P = [build.known(p) for p in points]
    U = [build.known(u) for u in axes]
    start = zeros(24)
    for k in range(1, 5):
        P[k], U[k] = build.unknown(3 * k - 3, 3), build.unknown(3 * k + 9, 3)
        start[3 * k - 3 : 3 * k], start[3 * k + 9 : 3 * k + 12] = points[k], axes[k]
    for k in range(1, 6):
        inertia = mechanism.body(f"rod_{k}").inertia
        assert inertia is not None
        rod = P[k] - P[k - 1]
        second = 0.5 * np.trace(inertia.matrix) * np.eye(3) - inertia.matrix
        along = (points[k] - points[k - 1]) / np.linalg.norm(points[k] - points[k - 1])
        centre = (P[k] + P[k - 1]).times(0.5 * np.eye(3))
        build.weigh(inertia.mass, centre, mechanism.gravity)
        for vector, axis in ((rod, along), (U[k - 1], axes[k - 1]), (U[k], axes[k])):
            build.weigh(axis @ second @ axis, vector)
        build.products += [(rod, rod), (rod, U[k - 1]), (rod, U[k]), (U[k - 1], U[k])]
    build.products += [(U[k], U[k]) for k in range(1, 5)]
    return build.problem(), start, zeros(24)


def squeezer() -> tuple[Problem, Extended, Extended]:
    """Seven bodies in a plane, each with a unit vector; joints are sums of turned lengths."""
    data = SQUEEZER
    s, angle = data["lengths"], data["start"]
    build, names = Builder(14), [f"K{k}" for k in range(1, 8)]
    Z = {name: build.unknown(2 * k, 2) for k, name in enumerate(names)}
    turns = {
        "K1": angle["beta"],
        "K2": angle["beta"] + angle["theta"],
        "K3": angle["gamma"] - np.pi / 2,
        "K4": angle["phi"] + angle["delta"] - np.pi / 2,
        "K5": angle["delta"],
        "K6": angle["omega"] + angle["epsilon"],
        "K7": angle["epsilon"] - np.pi / 2,
    }
    start = np.concatenate([[np.cos(LONG(a)), np.sin(LONG(a))] for a in turns.values()])

    def turned(name: str, x: float, y: float) -> Affine:
        return Z[name].times([[x, -y], [y, x]])

    at = {name: build.known(data[name]) for name in "ABC"}
    F = turned("K1", s["rr"], 0.0)
    E = F - turned("K2", s["d"], 0.0)
    D = at["B"] + turned("K3", s["sc"], s["sd"])
    # The angles of K4, K5 and K6, K7 are those of the literature's drawing.
    G = at["A"] + turned("K5", s["zt"], 0.0)
    H = at["A"] + turned("K7", s["u"], 0.0)
    centres = {
        "K1": turned("K1", s["ra"], 0.0),
        "K2": F - turned("K2", s["da"], 0.0),
        "K3": at["B"] + turned("K3", s["sa"], s["sb"]),
        "K4": G + turned("K4", s["e"] - s["ea"], 0.0),
        "K5": at["A"] + turned("K5", s["ta"], s["tb"]),
        "K6": H + turned("K6", s["zf"] - s["fa"], 0.0),
        "K7": at["A"] + turned("K7", s["ua"], -s["ub"]),
    }
    for name, mass, inertia in zip(names, data["masses"], data["inertias"], strict=True):
        build.weigh(mass, centres[name])
        build.weigh(inertia, Z[name])
        build.products.append((Z[name], Z[name]))
    build.zeros += [
        at["B"] + turned("K3", s["ss"], 0.0) - E,
        G + turned("K4", s["e"], 0.0) - E,
        H + turned("K6", s["zf"], 0.0) - E,
    ]
    build.linear[:2, :2] = LONG(data["torque"]) * np.array([[0, -1], [1, 0]])
    problem, span = build.problem(), D - at["C"]
    spring = data["spring"]
    problem.spring = (spring["stiffness"], spring["rest_length"], span.constant, span.rates)
    return problem, start, zeros(14)


def spring_end() -> NDArray[np.float64]:
    """Where the spring of Andrews' squeezer begins on K3, at the start."""
    problem, x, _ = squeezer()
    assert problem.spring is not None
    _, _, origin, rates = problem.spring
    return np.append(origin + rates @ x + SQUEEZER["C"], 0.0).astype(np.float64)


def windows(count: int) -> tuple[Problem, Extended, Extended]:
    """The cranks, which are parallel, with the masses of the rods at their ends."""
    build = Builder(2)
    crank = build.unknown(0, 2)
    build.weigh(LONG(count + 1) / 3 + count, crank)
    build.constant[1] = -(LONG(count + 1) / 2 + count) * LONG(9.81)
    build.products.append((crank, crank))
    return build.problem(), np.array([0, 1], dtype=LONG), np.array([1, 0], dtype=LONG)


#: Problems, times in seconds, steps of the extrapolation in a second, and which unknowns are kept:
#: the point P3, unit vectors of all bodies, and that of a crank.
CASES = {
    "bricard": (bricard, (8.0, 10.0), 40, slice(6, 9)),
    "andrews": (squeezer, (0.03,), 13000, slice(None)),
    "n_fourbar_2": (lambda: windows(2), (10.0,), 20, slice(None)),
    "n_fourbar_40": (lambda: windows(40), (10.0,), 20, slice(None)),
}


def main() -> None:
    """Compute, compare, and write where that is wanted."""
    found: dict[str, dict[str, list[float]]] = {}
    for name, (make, times, steps, kept) in CASES.items():
        found[name] = {}
        for end in times:
            one = by_extrapolation(*make(), end, 2 * round(steps * end))
            two = by_extrapolation(*make(), end, round(steps * end))
            found[name][f"{end:g}"] = [float(value) for value in one[kept]]
            print(f"{name:14}{end:6g}{float(np.max(np.abs(one - two))):10.1e}")
    if "--write" in sys.argv:
        path = FOLDER / "references.json"
        path.write_text(json.dumps(found, indent=1) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
