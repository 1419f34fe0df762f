"""What MuJoCo itself makes of the equalities of a model."""

from __future__ import annotations

from typing import Any

import mujoco
import numpy as np


def equalities(model: Any, data: Any) -> tuple[np.ndarray, np.ndarray]:
    """The Jacobian (rows, nv) of the equalities at a state, and their errors."""
    rows = np.zeros((data.nefc, model.nv))
    if mujoco.mj_isSparse(model):
        numbers = data.efc_J_rownnz, data.efc_J_rowadr, data.efc_J_colind
        mujoco.mju_sparse2dense(rows, data.efc_J, *numbers)
    else:
        rows[:] = np.reshape(data.efc_J, rows.shape)
    equal = data.efc_type == mujoco.mjtConstraint.mjCNSTR_EQUALITY
    return rows[equal], data.efc_pos[equal]


def equality_rows(model: Any) -> np.ndarray:
    """The Jacobian of the equalities where a model stands, shape (rows, nv)."""
    data = mujoco.MjData(model)
    mujoco.mj_forward(model, data)
    return equalities(model, data)[0]
