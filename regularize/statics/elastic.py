"""How much of each self-stress state there is: that of least elastic energy, else of least norm."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TypeAlias

import numpy as np

from regularize.errors import ModelError
from regularize.lie.screw import Array
from regularize.model.graph import EdgeId
from regularize.reduction.reduce import Reduction
from regularize.statics.equilibrium import Equilibrium

#: A pair of stiffnesses (N/m and N m/rad) or a matrix in the joint or body frame, shape (6, 6).
Stiffness: TypeAlias = "float | tuple[float, float] | Array"


def settle(
    equilibrium: Equilibrium, fields: Array, free: Array, compliances: Mapping[EdgeId, list[Array]]
) -> Array:
    """Amounts of the self-stress states with the least energy, then the least norm, (states,)."""
    states = free.shape[2]
    if states == 0:
        return np.zeros(0)
    given = np.concatenate([fields[..., None], free], axis=2)
    loaded = list(zip(equilibrium.loops.edges, given, strict=True))
    rows = []
    for e, wrenches in loaded:
        pose = equilibrium.origin(e)
        for root in compliances.get(e, ()):
            # Square roots of the compliances turn the energy into a sum of squares.
            rotated = root @ np.kron(np.eye(2), pose[:3, :3].T)
            rows.append(rotated @ equilibrium.at_point(wrenches, pose[:3, 3]))
    amounts: Array = np.zeros(states)
    open_states: Array = np.eye(states)
    if rows:
        matrix: Array = np.vstack(rows)
        least = np.linalg.lstsq(matrix[:, 1:], -matrix[:, 0], rcond=1e-12)[0]
        amounts = np.asarray(least, dtype=np.float64)
        _, s, vt = np.linalg.svd(matrix[:, 1:], full_matrices=True)
        open_states = vt[int(np.sum(s > 1e-12 * max(float(s[0]), 1e-300))) :].T
    if open_states.shape[1]:
        norm: Array = np.vstack(
            [equilibrium.about(wrenches, equilibrium.origin(e)[:3, 3]) for e, wrenches in loaded]
        )
        held = norm[:, 0] + norm[:, 1:] @ amounts
        further = np.linalg.lstsq(norm[:, 1:] @ open_states, -held, rcond=None)[0]
        amounts = amounts + np.asarray(open_states @ further, dtype=np.float64)
    return np.asarray(amounts)


def compliance_roots(
    reduction: Reduction, stiffness: Mapping[str, Stiffness]
) -> dict[EdgeId, list[Array]]:
    """Square roots of compliance matrices in the frame of each edge on its parent, by edge."""
    graph, mechanism = reduction.graph, reduction.mechanism
    found: dict[EdgeId, list[Array]] = {}
    for name, value in stiffness.items():
        root = _root_of_compliance(name, value)
        edges = [e.index for e in graph.edges if e.joint.name == name]
        if not edges:
            body = mechanism.body(name)
            node = graph.node_of[body.name]
            edges = [e.index for e in graph.edges if e.child == node][:1]
            if not edges:
                raise ModelError(f"body {name!r} has no joint on its parent side to load it")
        found.setdefault(edges[0], []).append(root)
    return found


def _root_of_compliance(name: str, stiffness: Stiffness) -> Array:
    value = np.asarray(stiffness, dtype=np.float64)
    if value.ndim == 0:
        value = np.repeat(value, 6)
    if value.shape == (2,):
        value = np.repeat(value, 3)
    matrix = np.diag(value) if value.ndim == 1 else value
    if matrix.shape != (6, 6) or np.any(np.linalg.eigvalsh(matrix) <= 0.0):
        raise ModelError(
            f"stiffness of {name!r}: expected a pair (N/m, N m/rad) or a symmetric positive "
            f"definite 6 by 6 matrix, got {np.asarray(stiffness).tolist()}"
        )
    return np.linalg.inv(np.linalg.cholesky(matrix))
