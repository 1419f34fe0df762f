"""Mechanisms that are hard to decide on: right or said to be undecided, within a bound of work."""

from __future__ import annotations

import numpy as np
import pytest

import regularize as rg

Z = np.eye(3)[2]


def bars(xs: list[float], ys: list[float]) -> rg.Mechanism:
    """Bars from points on one axis to points on another across it (Dixon 1899)."""
    points = {("x", i): (x, 0.0, 0.0) for i, x in enumerate(xs)}
    points |= {("y", j): (0.0, y, 0.0) for j, y in enumerate(ys)}
    at: dict[tuple[str, int], list[str]] = {}
    for i in range(len(xs)):
        for j in range(len(ys)):
            name = "ground" if i == j == 0 else f"bar{i}{j}"
            at.setdefault(("x", i), []).append(name)
            at.setdefault(("y", j), []).append(name)
    joints = []
    for point, names in at.items():
        first, *others = sorted(names, key=lambda name: name != "ground")
        for k, other in enumerate(others):
            name = f"{point[0]}{point[1]}_{k}"
            joints.append(rg.Joint.in_world(name, first, other, "revolute", Z, points[point]))
    joints.sort(key=lambda joint: joint.parent != "ground")
    return rg.Mechanism.of_joints("Dixon", joints)


def three_uru(first: float, last: float, height: float, turned: float = 0.0) -> rg.Mechanism:
    """3-URU with axes in the base and in the platform that meet in one point each (Zlatanov)."""
    joints = []
    for i in range(3):
        angle = 2.0 * np.pi * i / 3.0
        u, t = (np.array([np.cos(a), np.sin(a), 0.0]) for a in (angle, angle + np.pi / 2))
        w = np.array([np.cos(angle + turned), np.sin(angle + turned), 0.0])
        middle = Z if turned else t
        elbow = 0.65 * u + (0.4 * t if turned else 0.5 * Z)
        places = (first * u, first * u, elbow, last * w + height * Z, last * w + height * Z)
        bodies = ["ground", *(f"b{i}{k}" for k in range(4)), "platform"]
        for k, (axis, p) in enumerate(zip((u, middle, middle, middle, w), places, strict=True)):
            name = f"J{i}{k}"
            joints.append(rg.Joint.in_world(name, bodies[k], bodies[k + 1], "revolute", axis, p))
    return rg.Mechanism.of_joints("3-URU", joints)


@pytest.mark.slow
@pytest.mark.parametrize(
    "mechanism",
    [three_uru(0.8, 0.5, 0.9), three_uru(0.8, 0.5, 0.0), three_uru(0.8, 0.8, 0.0, 0.9)],
    ids=["opposite modes", "in one plane", "wrist"],
)
def test_no_branch_moves_more_than_its_rank_leaves(mechanism):
    """Where motions meet, samples of one curved branch are no branches of their own."""
    found = rg.reduce(mechanism)
    (cell,) = found.cells
    assert cell.here.rank < cell.generic.rank == 12
    assert found.finite_mobility == 3
    assert not found.kinematotropic
    assert not found.shaky
    for mobility, rank in found.components:
        assert mobility is None or mobility <= cell.freedoms - rank
    assert len(found.components) < 8


def test_the_first_mechanism_of_dixon_on_ten_points():
    """K(4,6) moves with one freedom; what is not proved of its 53 redundant rows is only seen."""
    report = rg.check(bars([1.0, -1.7, 2.3, 3.1], [0.8, -1.1, 1.9, 2.6, -0.6, 1.4]))
    found = report.reduction
    assert (found.mobility, found.finite_mobility, found.redundant) == (1, 1, 53)
    assert found.removed + found.remaining == 53


Corners = dict[str, np.ndarray]
Face = tuple[str, str, str]


def plates(name: str, corners: Corners, faces: list[Face]) -> rg.Mechanism:
    """Triangles with a hinge wherever two of them share an edge."""
    sides: dict[frozenset[str], list[str]] = {}
    for face in faces:
        for k in range(3):
            body = "ground" if face == faces[0] else " ".join(face)
            sides.setdefault(frozenset((face[k - 1], face[k])), []).append(body)
    joints = []
    for edge, (one, two) in sides.items():
        a, b = sorted(edge)
        at, along = corners[a], corners[b] - corners[a]
        joints.append(rg.Joint.in_world(f"{a}-{b}", one, two, "revolute", along, at))
    return rg.Mechanism.of_joints(name, sorted(joints, key=lambda joint: joint.parent != "ground"))


def crinkle(corners: Corners, edge: str, ends: str, rng: np.random.Generator) -> list[Face]:
    """Six faces that move as two that share an edge (Connelly 1977).

    They are the others of an octahedron that a half turn maps on itself (Bricard 1897).
    """
    (a, b), (c, d) = edge, ends
    axis = np.cross(corners[c] - corners[d], rng.normal(size=3))
    for point in edge:
        arm = corners[point] - (corners[c] + corners[d]) / 2
        across = arm - (arm @ axis) * axis / (axis @ axis)
        corners[point + ends] = corners[point] - 2.0 * across
    A, B = a + ends, b + ends
    return [(A, c, b), (A, d, b), (B, c, a), (B, d, a), (A, B, c), (A, B, d)]


def steffen(rng: np.random.Generator) -> tuple[Corners, list[Face]]:
    """Two crinkles side by side, and two triangles: nine corners (Steffen 1978)."""
    corners = {name: rng.normal(size=3) for name in "ABCDE"}
    faces = [("D", "E", "A"), ("D", "E", "B")]
    faces += crinkle(corners, "AB", "CD", rng) + crinkle(corners, "AB", "CE", rng)
    return corners, faces


def connelly(rng: np.random.Generator) -> tuple[Corners, list[Face]]:
    """A flexible octahedron with crinkles at two of its edges."""
    corners = {name: rng.normal(size=3) for name in "ABC"}
    corners |= {b: corners[a] * (-1, -1, 1) for a, b in zip("ABC", "XYZ", strict=True)}
    faces = [(p, q, r) for p in "AX" for q in "BY" for r in "CZ" if p + q not in ("AB", "XY")]
    faces += crinkle(corners, "AB", "CZ", rng) + crinkle(corners, "XY", "CZ", rng)
    return corners, faces


@pytest.mark.slow
@pytest.mark.parametrize("seed", [1, 2])
@pytest.mark.parametrize(("make", "redundant"), [(steffen, 28), (connelly, 31)])
def test_flexible_spheres_move(make, redundant, seed):
    """Cauchy's theorem is for convex ones; with one corner elsewhere they are rigid."""
    corners, faces = make(np.random.default_rng(seed))
    found = rg.reduce(plates(make.__name__, corners, faces))
    assert (found.mobility, found.finite_mobility, found.redundant) == (1, 1, redundant)
    assert found.removed + found.remaining == redundant
    corners["BCD" if "BCD" in corners else "BCZ"] += 0.05
    found = rg.reduce(plates(make.__name__, corners, faces))
    assert (found.mobility, found.finite_mobility, found.redundant) == (0, 0, redundant - 1)
