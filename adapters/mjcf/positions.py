"""``qpos`` of MuJoCo for configurations of a mechanism that was read from MJCF."""

from __future__ import annotations

from typing import Any

import numpy as np

from regularize.adapters.mjcf.bodies import wxyz
from regularize.adapters.mjcf.compiled import compiled
from regularize.adapters.mjcf.model import Model
from regularize.adapters.mjcf.read import element_names
from regularize.lie.arrays import Array
from regularize.lie.screw import exp, transform
from regularize.mechanism.graph import coordinate_names
from regularize.mechanism.mechanism import Mechanism


def compiled_model(source: Any, mechanism: Mechanism) -> Any | None:
    """Return the ``mujoco.MjModel`` that a mechanism was read from; None if it was not."""
    if mechanism.format != "mjcf":
        return None
    if hasattr(source, "qpos0"):
        return source
    if hasattr(source, "compile"):
        return source.compile()
    return None if mechanism.path is None else compiled(mechanism.path).model


def qpos(m: Any, mechanism: Mechanism, coordinates: Array) -> Array:
    """Return ``qpos`` (n, nq) of an ``mujoco.MjModel`` for coordinates of all joints (n, k)."""
    names = coordinate_names(mechanism)
    result = np.repeat(np.array(m.qpos0)[None], len(coordinates), axis=0)
    for j, name in enumerate(element_names(m)[1]):
        at, columns = int(m.jnt_qposadr[j]), [*range(mechanism.joint(name).freedoms)]
        first = names.index(name if len(columns) == 1 else f"{name}[0]")
        values = coordinates[:, first : first + len(columns)]
        if int(m.jnt_type[j]) in Model.SCALAR:
            result[:, at] = values[:, 0]
        elif len(columns) == 3:  # rotation vectors to quaternions, w first
            moved = exp(np.concatenate([np.zeros_like(values), values], axis=1))
            result[:, at : at + 4] = [wxyz(T[:3, :3]) for T in moved]
        else:  # counted from the pose in the file
            body = int(m.jnt_bodyid[j])
            home = transform(Model.rotation(m.body_quat[body]), m.body_pos[body])
            moved = home @ exp(values)
            result[:, at : at + 7] = [[*T[:3, 3], *wxyz(T[:3, :3])] for T in moved]
    return result
