#!/usr/bin/env python3
"""A solid bar from a finite element program is the elastic coupler of a four-bar linkage.

    pip install scikit-fem
    python assets/examples/elastic_coupler.py

The bar is condensed to its two end faces, which move as rigid plates, and some modes with both held
(Craig and Bampton). Any program that can write mass and stiffness will do in scikit-fem's place.
"""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import skfem
from scipy.sparse.linalg import eigsh, splu
from skfem.models.elasticity import lame_parameters, linear_elasticity

import regularize as rg

LENGTH, WIDTH, DENSITY = 1.0, 0.012, 7850.0


def condensed(E: float = 2e10, elements: int = 20, inner: int = 6) -> rg.Modes:
    """A square bar of solid elements along x from the origin on; its two ends and inner modes."""
    sides = [np.linspace(-WIDTH / 2, WIDTH / 2, 2)] * 2
    mesh = skfem.MeshHex.init_tensor(np.linspace(0.0, LENGTH, elements + 1), *sides)
    basis = skfem.Basis(mesh, skfem.ElementVector(skfem.ElementHex2()), intorder=4)
    K = linear_elasticity(*lame_parameters(E, 0.3)).assemble(basis).tocsc()

    @skfem.BilinearForm
    def weigh(u: Any, v: Any, w: Any) -> Any:
        return DENSITY * sum(u[i] * v[i] for i in range(3))

    M = weigh.assemble(basis).tocsc()
    # What a twist (v, ω) of each end moves on its face: v + ω × (x - end).
    ends = np.zeros((basis.N, 12))
    faces = []
    for end, x in enumerate((0.0, LENGTH)):
        face = basis.get_dofs(lambda at, x=x: np.isclose(at[0], x)).all()
        faces.append(face)
        arm = basis.doflocs[:, face] - np.array([[x], [0.0], [0.0]])
        for k in range(3):
            mine = np.isin(face, basis.split_indices()[k])
            ends[face[mine], 6 * end + k] = 1.0
            for axis in range(3):
                turned = np.cross(np.eye(3)[axis], arm.T)[:, k]
                ends[face[mine], 6 * end + 3 + axis] = turned[mine]
    inside = np.setdiff1d(np.arange(basis.N), np.concatenate(faces))
    within = K[inside][:, inside]
    static = np.array(ends)
    static[inside] = -splu(within).solve((K @ ends)[inside])
    held = np.zeros((basis.N, inner))
    held[inside] = eigsh(within, inner, M[inside][:, inside], sigma=0.0)[1]
    T = np.hstack([static, held])
    shapes = np.hstack([np.eye(12), np.zeros((12, inner))]).reshape(2, 6, -1)
    return rg.Modes(T.T @ (M @ T), T.T @ (K @ T), shapes)


def four_bar(elastic: rg.Modes | rg.Beam | None) -> rg.Mechanism:
    """A four-bar linkage whose coupler of 1 m lies along x; gravity pulls it aside."""
    a = rg.assembly("four-bar", gravity=(6.0, 0.0, -9.81))
    for name, x in (("crank", 0.0), ("rocker", LENGTH)):
        a.body(name, mass=1.0, com=(x, 0, 0.15), inertia=0.01 * np.eye(3))
    mass = DENSITY * WIDTH**2 * LENGTH
    about = mass * np.diag([WIDTH**2 / 6, LENGTH**2 / 12, LENGTH**2 / 12])
    a.body("coupler", mass=mass, com=(LENGTH / 2, 0, 0.3), inertia=about)
    a.hinge("A", "ground", "crank", at=(0, 0, 0), axis=(0, 1, 0), actuated=True)
    a.hinge("B", "crank", "coupler", at=(0, 0, 0.3), axis=(0, 1, 0))
    a.hinge("C", "coupler", "rocker", at=(LENGTH, 0, 0.3), axis=(0, 1, 0))
    a.hinge("D", "ground", "rocker", at=(LENGTH, 0, -0.2), axis=(0, 1, 0))
    built = a.mechanism()
    bodies = [replace(b, elastic=elastic) if b.name == "coupler" else b for b in built.bodies]
    return replace(built, bodies=tuple(bodies))


def angles(mechanism: rg.Mechanism) -> np.ndarray:
    """Angles of the four hinges after 0.05 s and 0.1 s."""
    motion = rg.simulate(mechanism, duration=0.1, times=[0.0, 0.05, 0.1])
    return np.asarray(motion.coordinates[1:, [motion.names.index(name) for name in "ABCD"]])


def main() -> None:
    """Condense, save, read, simulate, and compare with the rigid linkage."""
    path = condensed().save(Path("coupler.npz"))
    modes, rigid = rg.Modes.load(path), angles(four_bar(None))
    print(f"{path}: {len(modes.mass)} modes")
    print("radians that the elastic coupler adds to A, B, C, D after 0.05 s and 0.1 s:")
    print(np.round(angles(four_bar(modes)) - rigid, 5))


if __name__ == "__main__":
    main()
