"""Families of planar mechanisms of any size: one module for all benchmarks that grow something."""

from __future__ import annotations

from collections.abc import Callable, Mapping

import numpy as np
from numpy.typing import ArrayLike

import regularize as rg

CORNERS = ((0.0, 0.0), (0.1, 0.8), (1.1, 0.9), (1.0, 0.0))


def hinge(name: str, parent: str, child: str, point: ArrayLike) -> rg.Joint:
    """A hinge about Z through a point of the plane."""
    return rg.Joint.in_world(name, parent, child, "revolute", (0, 0, 1), [*np.asarray(point), 0.0])


def four_bar(k: int, base: str, place: ArrayLike, corners: ArrayLike = CORNERS) -> list[rg.Joint]:
    """Number k, on a body and with its first hinge somewhere."""
    links = [base, f"left {k}", f"bar {k}", f"right {k}", base]
    points = np.add(place, corners)
    return [hinge(f"{'ABCD'[i]}{k}", links[i], links[i + 1], points[i]) for i in range(4)]


def windows(loops: int) -> rg.Mechanism:
    """Row of four-bars with unit links that share their cranks (IFToMM A02)."""
    joints = [hinge("A0", "ground", "crank 0", (0, 0))]
    for k in range(loops):
        joints += [
            hinge(f"A{k + 1}", "ground", f"crank {k + 1}", (k + 1, 0)),
            hinge(f"B{k}", f"crank {k}", f"rod {k}", (k, 1)),
            hinge(f"C{k}", f"rod {k}", f"crank {k + 1}", (k + 1, 1)),
        ]
    return rg.Mechanism.of_joints(f"{loops} windows", joints)


def comb(loops: int) -> rg.Mechanism:
    """Four-bars beside each other on the ground."""
    corners = (CORNERS[0], (0.0, 0.4), *CORNERS[2:])
    joints = [joint for k in range(loops) for joint in four_bar(k, "ground", (3 * k, 0), corners)]
    return rg.Mechanism.of_joints(f"comb of {loops}", joints)


def different(loops: int) -> rg.Mechanism:
    """Four-bars beside each other of which no two are alike."""
    joints, rng = [], np.random.default_rng(0)
    for k in range(loops):
        corners = np.array([CORNERS[0], (0.0, 0.4), *CORNERS[2:]])
        corners[1:3] += rng.uniform(-0.1, 0.1, (2, 2))
        joints += four_bar(k, "ground", (3 * k, 0), corners)
    return rg.Mechanism.of_joints(f"comb of {loops} different ones", joints)


def chain(loops: int) -> rg.Mechanism:
    """Four-bars in a row: the coupler of each is the ground of the next."""
    bases = ["ground", *(f"bar {k}" for k in range(loops))]
    joints = [joint for k in range(loops) for joint in four_bar(k, bases[k], (0, k))]
    return rg.Mechanism.of_joints(f"chain of {loops}", joints)


def tree(loops: int) -> rg.Mechanism:
    """Four-bars that carry two more each: a binary tree of couplers."""
    bases = ["ground", *(f"bar {k}" for k in range(loops))]
    joints = [joint for k in range(loops) for joint in four_bar(k, bases[(k + 1) // 2], (2 * k, 0))]
    return rg.Mechanism.of_joints(f"tree of {loops}", joints)


def scissor(loops: int) -> rg.Mechanism:
    """Pairs of crossed bars in a row, the first one on the ground: deep and coupled."""
    high, far = 0.6, 0.8
    joints = [hinge("on the ground", "ground", "up 0", (-far / 2, -high / 2))]
    for k in range(loops + 1):
        joints.append(hinge(f"middle {k}", f"up {k}", f"down {k}", (k * far, 0)))
        if k < loops:
            end = (k + 0.5) * far
            joints += [
                hinge(f"top {k}", f"up {k}", f"down {k + 1}", (end, high / 2)),
                hinge(f"bottom {k}", f"down {k}", f"up {k + 1}", (end, -high / 2)),
            ]
    return rg.Mechanism.of_joints(f"scissor of {loops}", joints)


def grid(loops: int) -> rg.Mechanism:
    """A square lattice of plates with a rod of two hinges between neighbours, about so many loops.

    There are n rows of n + 1 loops, the next n whose product is not smaller.
    """
    rows = next(n for n in range(1, loops + 1) if n * (n + 1) >= loops)
    joints = [hinge("on the ground", "ground", "plate 0 0", (-0.3, -0.3))]
    for i in range(rows + 1):
        for j in range(rows + 2):
            here = np.array([i, j]) + 0.05 * np.sin([i + 2 * j, 3 * i - j])
            for step in ((1, 0), (0, 1)):
                if i + step[0] > rows or j + step[1] > rows + 1:
                    continue
                there = np.array([i + step[0], j + step[1]])
                there = there + 0.05 * np.sin([there[0] + 2 * there[1], 3 * there[0] - there[1]])
                plate, next_ = f"plate {i} {j}", f"plate {i + step[0]} {j + step[1]}"
                rod = f"rod {i} {j} {'right' if step[0] else 'up'}"
                aside = 0.2 * np.array(step) + 0.05 * np.array(step[::-1])
                joints += [
                    hinge(f"{rod} begins", plate, rod, here + aside),
                    hinge(f"{rod} ends", rod, next_, there - aside),
                ]
    return rg.Mechanism.of_joints(f"grid of {rows * (rows + 1)}", joints)


#: Functions of the number of loops.
FAMILIES: Mapping[str, Callable[[int], rg.Mechanism]] = {
    each.__name__: each for each in (windows, comb, different, chain, tree, scissor, grid)
}
