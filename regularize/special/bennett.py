"""Loops made of linkages of Bennett: exact axes from a few rational numbers.

Let two hinges in a row turn with half-angle tangents s and ks / (1 + cs), from any pose. What they
do together, a motion polynomial of degree two, is done by two other hinges as well (its second
factorisation): the four form a linkage of Bennett. Those of Goldberg and Waldron are several of
them that share axes, with hinges taken out. So a loop is recognised by finding k and c, one linkage
after the other, and rounding these numbers and a few axes makes all its axes rational.

Sources: Bennett (1903); Goldberg (1943); Waldron (1968); Hegedüs, Schicho and Schröcker (2013),
factorisation of motion polynomials.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from fractions import Fraction
from itertools import product
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

from regularize.lie.screw import Array
from regularize.proofs.incidence import simple_vector, simplest
from regularize.proofs.verifier import SIGNS

#: A dual quaternion: 1, i, j, k, and the same times the dual unit; exact numbers or floats, (8,).
Dual: TypeAlias = NDArray[Any]
#: A vector of exact numbers, shape (3,).
Exact: TypeAlias = NDArray[Any]


def multiplied(p: Dual, q: Dual) -> Dual:
    """The product of two dual quaternions."""
    p, q = (np.asarray(x).tolist() for x in (p, q))  # quicker one by one
    found = [p[0] * 0] * 8
    for shift, a, b in ((0, p[:4], q[:4]), (4, p[:4], q[4:]), (4, p[4:], q[:4])):
        for i, x in enumerate(a):
            for j, y in enumerate(b):
                found[shift + (i ^ j)] += SIGNS[i][j] * x * y
    return np.array(found)


def conjugated(q: Dual) -> Dual:
    """The same with the opposite vector parts."""
    return np.array([q[0], *-q[1:4], q[4], *-q[5:]])


def line_of(direction: Exact, moment: Exact) -> Dual:
    """A line as the vector of a dual quaternion."""
    return np.array([Fraction(0), *direction, Fraction(0), *moment])


def turned_by(q: Dual, h: Dual) -> Dual:
    """The product of the inverse of q, h and q, with a real factor to spare from the inverse."""
    other = conjugated(q)
    # q other = a + e b with real numbers a and b; the inverse of that is (a - e b) / a².
    norm = multiplied(q, other)
    a, b = norm[0], norm[4]
    product = multiplied(multiplied(other, h), q)
    dual = product[4:] * a - product[:4] * b
    return np.concatenate([product[:4] / a, dual / (a * a)])


def exchanged(one: Dual, two: Dual) -> tuple[Dual, Dual]:
    """The factors of (t - one)(t - two) the other way round: that of two's norm comes first."""
    last = turned_by(two - conjugated(one), one)
    return one + two - last, last


def on_axis(axis: Dual, k: Fraction, c: Fraction) -> Dual:
    """The factor of a hinge with half-angle tangent ks / (1 + cs)."""
    return np.array([-c, *(k * axis[1:])])


@dataclass(frozen=True)
class Linkage:
    """One linkage: a known factor and an axis make two more factors.

    Attributes:
        known: Name of the known factor.
        axis: Name of the axis beside it.
        first: Name given to the factor that has the axis' norm.
        last: Name given to the factor that has the known one's norm.
    """

    known: str
    axis: str
    first: str
    last: str


@dataclass(frozen=True)
class Recipe:
    """How a family is made.

    Attributes:
        name: Name of the family.
        start: Name of the first factor, a hinge of its own axis.
        steps: The linkages.
        loop: Names of the axes in the order of the loop.
    """

    name: str
    start: str
    steps: tuple[Linkage, ...]
    loop: tuple[str, ...]


RECIPES = (
    Recipe("Bennett", "a", (Linkage("a", "b", "c", "d"),), ("a", "b", "d", "c")),
    Recipe(
        "Goldberg 5R",
        "a",
        (Linkage("a", "b", "c", "hidden"), Linkage("hidden", "b", "d", "e")),
        ("a", "b", "e", "d", "c"),
    ),
    Recipe(
        "Goldberg 6R",
        "a",
        (
            Linkage("a", "b", "c", "hidden"),
            Linkage("hidden", "b", "other", "e"),
            Linkage("other", "e", "g", "f"),
        ),
        ("a", "b", "e", "f", "g", "c"),
    ),
    Recipe(
        "Waldron 6R",
        "b",
        (Linkage("b", "a", "hidden", "c"), Linkage("hidden", "d", "f", "e")),
        ("b", "a", "c", "f", "e", "d"),
    ),
)


def made_of_bennett(
    axes: Sequence[Array], within: float, rounding: float
) -> Iterator[tuple[str, list[Dual]]]:
    """Families of which a loop of hinges may be one, with exact axes.

    Args:
        axes: Unit screws of the hinges in the order of the loop, moments first, shape (6,) each.
        within: By how much an axis, or a relation, may be missed.
        rounding: How far a number may be moved to a simpler one.
    """
    count = len(axes)
    for recipe in RECIPES:
        if len(recipe.loop) != count:
            continue
        for start in range(count):
            for sense in (1, -1):
                at = [(start + sense * i) % count for i in range(count)]
                given = dict(zip(recipe.loop, (axes[i] for i in at), strict=True))
                try:
                    found = _made(recipe, given, within, rounding)
                except ZeroDivisionError:  # axes for which no linkage is determined
                    continue
                if found is not None:
                    yield recipe.name, [found[recipe.loop[at.index(i)]] for i in range(count)]


def _made(
    recipe: Recipe, given: dict[str, Array], within: float, rounding: float
) -> dict[str, Dual] | None:
    axes: dict[str, Dual] = {}
    factors: dict[str, Dual] = {}
    axes[recipe.start] = factors[recipe.start] = exact_line(given[recipe.start], rounding)
    for step in recipe.steps:
        axes.setdefault(step.axis, exact_line(given[step.axis], rounding))
        wanted = {name: given[name] for name in (step.first, step.last) if name in given}
        fitted = _fitted(factors[step.known], axes[step.axis], step, wanted, within)
        if fitted is None:
            return None
        k, c = (simplest(x, rounding * max(1.0, abs(x))) for x in fitted)
        pair = exchanged(factors[step.known], on_axis(axes[step.axis], k, c))
        for name, factor in zip((step.first, step.last), pair, strict=True):
            factors[name] = factor
            axes[name] = line_of(factor[1:4], factor[5:])
    return axes


def _fitted(
    known: Dual, axis: Dual, step: Linkage, wanted: dict[str, Array], within: float
) -> Array | None:
    """The numbers k and c with which a linkage has the axes that are wanted.

    What turns a factor into its successor (see ``exchanged``) is linear in them.
    """
    one, unit = known.astype(float), np.eye(8)[0]
    along, first = (line_of(q[1:4], q[5:]).astype(float) for q in (axis, known))
    for senses in product((1.0, -1.0), repeat=len(wanted)):
        rows = []
        for sense, (name, line) in zip(senses, wanted.items(), strict=True):
            before = first if name == step.last else along
            size = sense * float(np.linalg.norm(before[1:4]))
            after = np.array([0.0, *(size * line[3:]), 0.0, *(size * line[:3])])
            if name == step.last:
                # before q = q after with q = two - conjugated(one)
                left, right, terms = before, after, (along, -unit, -conjugated(one))
            else:
                # after p = p before with p = one - conjugated(two)
                left, right, terms = after, before, (along, unit, one)
            parts = [multiplied(left, q) - multiplied(q, right) for q in terms]
            rows.append(np.column_stack(parts))
        matrix = np.vstack(rows)
        x = np.linalg.lstsq(matrix[:, :2], -matrix[:, 2], rcond=None)[0]
        scale = np.linalg.norm(matrix) * (1.0 + np.abs(x).max())
        if np.abs(matrix @ [*x, 1.0]).max() <= within * scale and abs(x[0]) > within:
            return np.asarray(x)
    return None


def exact_line(line: Array, rounding: float) -> Dual:
    """A rational line near a measured one."""
    w, p = line[3:], np.cross(line[3:], line[:3])
    d = exact_vector(w / np.abs(w).max(), rounding)
    return line_of(d, np.cross(exact_vector(p, rounding), d))


def exact_vector(x: Array, rounding: float) -> Exact:
    """Fractions so near to some numbers."""
    return np.array(simple_vector(x, rounding))
