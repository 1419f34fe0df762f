"""Mechanisms of the literature that are no files: each moves for its lengths alone."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np
from mechanisms import moved
from numpy.typing import ArrayLike
from screws import exp

import regularize as rg

#: A pose in which no axis is along a coordinate axis.
ANYWHERE = exp(np.array([0.1, 2.0, 0.3, 0.7, -0.4, 1.1]))
#: Names of both bodies, kind, and a place, or for a slide its way, in the plane.
Row = tuple[str, str, str, complex]


def planar(name: str, rows: Sequence[Row]) -> rg.Mechanism:
    """Hinges normal to a plane and slides in it."""
    joints = []
    for k, (one, two, kind, at) in enumerate(rows):
        place = (at.real, at.imag, 0.0)
        axis, point = (place, (0, 0, 0)) if kind == "prismatic" else ((0, 0, 1), place)
        joints.append(rg.Joint.in_world(f"J{k}", one, two, kind, axis, point=point))
    return moved(rg.Mechanism.of_joints(name, joints), ANYWHERE)


def peaucellier(turned: float = 0.0) -> rg.Mechanism:
    """A cell of Peaucellier whose tracing point runs in a slot, turned from where it belongs."""
    center, P, arm, side = 0j, 0.9 + 0.5j, 3.0, 2.4
    C, d, u = abs(P) ** 2 / (2 * P.real) + 0j, abs(P), P / abs(P)
    x = (d * d + arm**2 - side**2) / (2 * d)
    y = np.sqrt(arm**2 - x * x)
    B, D, Q, R = u * (x + 1j * y), u * (x - 1j * y), u * (2 * x - d), "revolute"
    rows: list[Row] = [("g", "c", R, C), ("g", "ob", R, center), ("g", "od", R, center)]
    rows += [("c", "pb", R, P), ("pb", "pd", R, P), ("ob", "pb", R, B), ("ob", "qb", R, B)]
    rows += [("od", "pd", R, D), ("od", "qd", R, D), ("qb", "qd", R, Q), ("qb", "slot", R, Q)]
    rows += [("slot", "g", "prismatic", 1j * np.exp(1j * turned))]
    return planar("Peaucellier", rows)


def cardan_lines(turned: float = 0.0) -> rg.Mechanism:
    """A rod with its middle on a crank and three points on lines through the crank's shaft."""
    A, B, R, P = 1.2 + 0j, 0.7j, "revolute", "prismatic"
    middle = (A + B) / 2
    third = middle + abs(A - B) / 2 * np.exp(2.2j)
    rows: list[Row] = [("g", "crank", R, 0j), ("crank", "rod", R, middle)]
    for k, (place, way) in enumerate(((A, A), (B, B), (third, third * np.exp(1j * turned)))):
        rows += [("g", f"slide {k}", P, way), (f"slide {k}", "rod", R, place)]
    return planar("Cardan", rows)


def cognates(off: float = 0.0) -> rg.Mechanism:
    """Three four-bars of Roberts and Chebyshev with one coupler point; one bar may be longer."""
    A, B, k, R = 0j, 3.0 + 0j, 0.55 + 0.4j, "revolute"
    P = 1.2 * np.exp(1.1j)
    d = B - P
    turn = np.arccos((2.1**2 + abs(d) ** 2 - 2.4**2) / (4.2 * abs(d)))
    S = P + 2.1 * d / abs(d) * np.exp(1j * turn)
    C, third = P + k * (S - P), A + k * (B - A)
    D, G = A + C - P, B + C - S
    E, H = D + k * (P - A), G + (1 - k) * (S - B) * (1 + off)
    rows: list[Row] = [("g", "a", R, A), ("a", "one", R, P), ("one", "b", R, S), ("b", "g", R, B)]
    rows += [("g", "c", R, A), ("c", "two", R, D), ("two", "d", R, E), ("d", "g", R, third)]
    rows += [("g", "e", R, B), ("e", "three", R, G), ("three", "f", R, H), ("f", "g", R, third)]
    return planar("cognates", [*rows, ("one", "two", R, C), ("one", "three", R, C)])


def coincident_arms(angles: Sequence[float] = (0.3, 1.4, 2.9)) -> rg.Mechanism:
    """Equal bars in pairs from one axis to the arms' ends: K(2, n) with both centres together."""
    ends = [(0.7 + 0.3 * i) * np.exp(1j * angle) for i, angle in enumerate(angles)]
    rows: list[Row] = [("g", "h", "revolute", complex(ends[0]))]
    for i, end in enumerate(ends[1:]):
        rows += [("g", f"a{i}", "revolute", 0j), (f"a{i}", f"b{i}", "revolute", complex(end))]
        rows += [("h", f"b{i}", "revolute", 0j)]
    return planar("coincident arms", rows)


def legs(base: ArrayLike, plate: ArrayLike) -> rg.Mechanism:
    """Rods of fixed lengths between points of two bodies."""
    joints = []
    for k, (B, P) in enumerate(zip(np.asarray(base), np.asarray(plate), strict=True)):
        u = np.cross(P - B, (0.31, 0.53, 0.78))
        first = np.cross(u, P - B)
        joints += [
            rg.Joint.in_world(f"U{k}", "g", f"r{k}", "universal", first, point=B, axis2=u),
            rg.Joint.in_world(f"S{k}", f"r{k}", "plate", "spherical", (0, 0, 1), point=P),
        ]
    return rg.Mechanism.of_joints("legs", joints)


def on_conics(seed: int = 0, count: int = 6, off: float = 0.0) -> rg.Mechanism:
    """Legs between two conics that a projectivity maps on each other; one foot may be off."""
    rng = np.random.default_rng([71, seed])
    t = np.sort(rng.uniform(0, 2 * np.pi, count))
    base = np.column_stack([1.5 * np.cos(t), np.sin(t), 0 * t])
    images = np.column_stack([base[:, :2], np.full(count, 2.0)]) @ (
        np.eye(3) + 0.25 * rng.normal(size=(3, 3))
    )
    flat = 1.3 * np.column_stack([images[:, :2] / images[:, 2:], 0 * t])
    T = exp(np.array([0.2, 0.1, 2.2, *rng.normal(size=3)]))
    base[0, 1] += off
    return legs(base, flat @ T[:3, :3].T + T[:3, 3])


MECHANISMS: dict[str, Callable[[], rg.Mechanism]] = {
    "peaucellier": peaucellier,
    "cardan_lines": cardan_lines,
    "cognates": cognates,
    "coincident_arms": coincident_arms,
    "six legs on conics": on_conics,
    "seven legs on conics": lambda: on_conics(5, 7),
}
