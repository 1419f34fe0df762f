"""Each pair moves exactly as its equations allow."""

from __future__ import annotations

import math
from collections.abc import Callable
from pathlib import Path
from typing import Any

import cad_fixtures
import numpy as np
import pytest
import screws
import yaml
from scipy.spatial.transform import Rotation

from regularize.adapters.common.pairs import PAIRS, Pair, pair

VALUE = 0.3
ANGLE = 0.7


def _directions(T: np.ndarray) -> list[float]:
    """Direction cosines of the Z axis of J with X and Y of I: zero where the axes are parallel."""
    return [T[0, 2], T[1, 2]]


#: Equations of each pair in terms of T_i_j, and its number of freedoms.
EQUATIONS: dict[str, tuple[Callable[[np.ndarray], list[Any]], int]] = {
    "fixed": (lambda T: [*T[:3, 3], T[0, 1], T[0, 2], T[1, 2]], 0),
    "revolute": (lambda T: [*T[:3, 3], *_directions(T)], 1),
    "cylindrical": (lambda T: [*T[:2, 3], *_directions(T)], 2),
    "prismatic": (lambda T: [*T[:2, 3], T[0, 1], T[0, 2], T[1, 2]], 1),
    "spherical": (lambda T: [*T[:3, 3]], 3),
    "universal": (lambda T: [*T[:3, 3], T[2, 2]], 2),
    "planar": (lambda T: [T[2, 3] - VALUE, *_directions(T)], 3),
    "free": (lambda T: [], 6),
    "parallel": (_directions, 4),
    "perpendicular": (lambda T: [T[2, 2]], 5),
    "angle": (lambda T: [T[2, 2] - math.cos(ANGLE)], 5),
    "no_rotation": (lambda T: [T[0, 1], T[0, 2], T[1, 2]], 3),
    "point_on_line": (lambda T: [*T[:2, 3]], 4),
    "point_in_plane": (lambda T: [T[2, 3] - VALUE], 5),
    "line_in_plane": (lambda T: [T[2, 3] - VALUE, T[2, 2]], 4),
    "sphere_sphere": (lambda T: [T[:3, 3] @ T[:3, 3] - VALUE**2], 5),
    "cylinder_sphere": (lambda T: [T[:2, 3] @ T[:2, 3] - VALUE**2], 5),
    "revolute_cylinder": (lambda T: [T[:2, 3] @ T[:2, 3] - VALUE**2, *_directions(T)], 3),
    "revolute_revolute": (lambda T: [T[:2, 3] @ T[:2, 3] - VALUE**2, T[2, 3], *_directions(T)], 2),
    "constant_velocity": (lambda T: [*T[:3, 3], T[0, 1] + T[1, 0]], 2),
    "pin_slot": (lambda T: [T[1, 3], T[2, 3], *_directions(T)], 2),
}
GROUPS = ("spherical", "free")


def random_pose(rng: np.random.Generator) -> np.ndarray:
    return screws.transform(Rotation.random(random_state=rng).as_matrix(), rng.normal(size=3))


def pose(found: Pair, q: np.ndarray) -> np.ndarray:
    """Frame J seen from frame I at the coordinates q."""
    if found.kind in GROUPS:
        moved = screws.exp(found.screws @ q)
    else:
        moved = np.eye(4)
        for column, value in zip(found.screws.T, q, strict=True):
            moved = moved @ screws.exp(column * value)
    return np.asarray(found.T_i_joint @ moved @ screws.inverse(found.T_j_joint))


def free_coordinates(found: Pair, rng: np.random.Generator) -> np.ndarray:
    q = found.position + rng.uniform(-1.0, 1.0, size=found.screws.shape[1])
    for first, second in found.equal:
        q[second] = q[first]
    return q


def value_of(name: str) -> float:
    return ANGLE if name == "angle" else VALUE


def test_every_pair_is_tested() -> None:
    assert set(PAIRS) == set(EQUATIONS)


@pytest.mark.slow
@pytest.mark.parametrize("name", EQUATIONS)
def test_pair_satisfies_its_equations_wherever_it_moves(name: str) -> None:
    equations, _ = EQUATIONS[name]
    rng = np.random.default_rng(1)
    for _ in range(10):
        found = pair(name, random_pose(rng), value_of(name))
        for _ in range(5):
            errors = equations(pose(found, free_coordinates(found, rng)))
            assert np.max(np.abs(errors), initial=0.0) < 1e-12


@pytest.mark.parametrize("name", EQUATIONS)
def test_pair_has_every_freedom_that_its_equations_leave(name: str) -> None:
    equations, freedoms = EQUATIONS[name]
    rng = np.random.default_rng(2)
    found = pair(name, random_pose(rng), value_of(name))
    q = free_coordinates(found, rng)
    T = pose(found, q)
    h = 1e-6
    rows = np.array(
        [
            (np.array(equations(T @ screws.exp(h * e))) - equations(T @ screws.exp(-h * e)))
            / (2 * h)
            for e in np.eye(6)
        ]
    ).T.reshape(-1, 6)
    assert np.linalg.matrix_rank(rows, tol=1e-6) == 6 - freedoms
    steps = np.eye(len(q))
    for first, second in found.equal:
        steps[first, second] = 1.0
        steps = np.delete(steps, second, axis=0)
    twists = np.array(
        [screws.log(screws.inverse(pose(found, q - h * d)) @ pose(found, q + h * d)) for d in steps]
    ).reshape(-1, 6) / (2 * h)
    assert np.linalg.matrix_rank(twists, tol=1e-6) == freedoms


@pytest.mark.parametrize("name", EQUATIONS)
def test_pair_keeps_a_saved_pose_that_fulfils_its_equations(name: str) -> None:
    rng = np.random.default_rng(3)
    for _ in range(10):
        first = pair(name, random_pose(rng), value_of(name))
        saved = pose(first, free_coordinates(first, rng))
        found = pair(name, saved, value_of(name))
        np.testing.assert_allclose(pose(found, found.position), saved, atol=1e-9)


@pytest.mark.parametrize(
    "name", ["revolute", "cylindrical", "prismatic", "planar", "parallel", "fixed"]
)
def test_axes_may_point_against_each_other(name: str) -> None:
    saved = screws.transform(np.diag([1.0, -1.0, -1.0]))
    found = pair(name, saved, 0.0)
    np.testing.assert_allclose(pose(found, found.position), saved, atol=1e-12)


def test_angle_of_zero_means_parallel_axes() -> None:
    assert pair("angle", np.eye(4), 0.0).screws.shape == (6, 4)
    assert pair("angle", np.diag([1.0, -1.0, -1.0, 1.0]), math.pi).screws.shape == (6, 4)


@pytest.mark.parametrize(
    ("name", "kind"),
    [
        ("sphere_sphere", "spherical"),
        ("revolute_revolute", "revolute"),
        ("revolute_cylinder", "cylindrical"),
        ("cylinder_sphere", "composite"),
    ],
)
def test_distance_of_zero_is_the_simpler_joint(name: str, kind: str) -> None:
    assert pair(name, np.eye(4), 0.0).kind == kind


@pytest.mark.parametrize("name", ["universal", "angle", "line_in_plane", "perpendicular"])
def test_parallel_axes_where_inclined_ones_belong_give_a_finite_joint(name: str) -> None:
    rng = np.random.default_rng(4)
    T = screws.transform(Rotation.from_rotvec([0, 0, 0.4]).as_matrix(), [0.1, 0.2, 0.3])
    found = pair(name, T, value_of(name))
    errors = EQUATIONS[name][0](pose(found, free_coordinates(found, rng)))
    assert np.max(np.abs(errors)) < 1e-12


TABLE = yaml.safe_load(Path(__file__).with_name("mates.yaml").read_bytes())["distances"]


@pytest.mark.formats("freecad")
@pytest.mark.parametrize("row", TABLE)
def test_distance_of_freecad_is_read_as_the_saved_placements_say(row: list[Any]) -> None:
    from regularize.adapters.freecad.read import distance_pair

    elements, p, axis, distance, pair, value = row
    found = distance_pair(elements, cad_fixtures.frame(p, axis), distance)
    assert found.pair == pair
    assert found.value == pytest.approx(value)
    assert found.sure == (elements[0] == "Vertex1")
