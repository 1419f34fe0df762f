"""Dual quaternions in exact numbers or floats, and linear factors of motion polynomials.

A hinge on a line h, of square -r, turns with half-angle tangent 1 / (t - c) by t - c - h up to a
real factor. Products of such are *motion polynomials*: their norms are products of the real
quadratics (t - c)² + r. For each of these there is one factor on the right with that norm, so that
the factors of a product can be had in any order of their norms, rationally.

Source: Hegedüs, Schicho and Schröcker (2013), factorisation of motion polynomials.
"""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

from regularize.lie.arrays import Array
from regularize.proofs.incidence import simple_vector
from regularize.proofs.verifier import SIGNS

#: A dual quaternion: 1, i, j, k, and the same times the dual unit; exact numbers or floats, (8,).
Dual: TypeAlias = NDArray[Any]
#: A vector of exact numbers, shape (3,).
Exact: TypeAlias = NDArray[Any]
#: Of a factor t - c - h the numbers c and -h² = r.
Norm: TypeAlias = tuple[Fraction, Fraction]


def multiplied(p: Dual, q: Dual) -> Dual:
    """Return the product of two dual quaternions."""
    p, q = (np.asarray(x).tolist() for x in (p, q))  # quicker one by one
    product = [p[0] * 0] * 8
    for shift, a, b in ((0, p[:4], q[:4]), (4, p[:4], q[4:]), (4, p[4:], q[:4])):
        for i, x in enumerate(a):
            for j, y in enumerate(b):
                product[shift + (i ^ j)] += SIGNS[i][j] * x * y
    return np.array(product)


def conjugated(q: Dual) -> Dual:
    """Return a dual quaternion with the opposite vector parts."""
    return np.array([q[0], *-q[1:4], q[4], *-q[5:]])


def line_of(direction: Exact, moment: Exact) -> Dual:
    """Return a line as a dual quaternion."""
    return np.array([Fraction(0), *direction, Fraction(0), *moment])


def norm_of(factor: Dual) -> Norm:
    """Return the numbers c and r of a factor t - c - h, given as c + h."""
    c, *direction = factor.tolist()[:4]
    return c, sum((x * x for x in direction), Fraction(0))


def product_of(factors: Sequence[Dual]) -> list[Dual]:
    """Return coefficients of the product of factors t - h, those of low powers first."""
    product = [np.array([Fraction(int(i == 0)) for i in range(8)])]
    zero = 0 * product[0]
    for h in factors:
        lower = [*(-multiplied(c, h) for c in product), zero]
        product = [a + b for a, b in zip(lower, [zero, *product], strict=True)]
    return product


def split_right(polynomial: Sequence[Dual], norm: Norm) -> tuple[list[Dual], Dual]:
    """Split off the last factor t - h with a norm: return what stands before it, and h.

    Raises ZeroDivisionError where there is no such factor, or more than one.
    """
    c, r = norm
    rest = [*polynomial]
    while len(rest) > 2:  # the rest of division by (t - c)² + r
        lead = rest.pop()
        rest[-1] = rest[-1] + 2 * c * lead
        rest[-2] = rest[-2] - (c * c + r) * lead
    h = -_divided(rest[1], rest[0])
    before, carry = [], 0 * h
    for coefficient in reversed(polynomial):
        carry = coefficient + multiplied(carry, h)
        before.append(carry)
    if before.pop().any():
        raise ZeroDivisionError
    return before[::-1], h


def _divided(below: Dual, above: Dual) -> Dual:
    """Return the inverse of one dual quaternion times another."""
    other = conjugated(below)
    # below other = a + e b with real numbers a and b; the inverse of that is (a - e b) / a².
    norm = multiplied(below, other)
    a, b = norm[0], norm[4]
    product = multiplied(other, above)
    return np.concatenate([product[:4] / a, (product[4:] * a - product[:4] * b) / (a * a)])


def exact_line(line: Array, rounding: float) -> Dual:
    """Return a rational line near a measured one."""
    w = line[3:]
    return line_through(exact_vector(w / np.abs(w).max(), rounding), line, rounding)


def line_through(direction: Exact, line: Array, rounding: float) -> Dual:
    """Return a line with a rational direction through a point near a measured line."""
    point = exact_vector(np.cross(line[3:], line[:3]) / (line[3:] @ line[3:]), rounding)
    return line_of(direction, np.cross(point, direction))


def exact_vector(x: Array, rounding: float) -> Exact:
    """Return fractions near to numbers."""
    return np.array(simple_vector(x, rounding))
