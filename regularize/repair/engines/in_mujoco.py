"""Models moved in MuJoCo: by themselves, by their motors, or by loads on bodies."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from contextlib import suppress
from typing import Any

import numpy as np

from regularize.errors import UnsupportedExport
from regularize.escape import as_utf8
from regularize.lie.arrays import Array
from regularize.lie.screw import transform
from regularize.repair.engines.motion import DURATION, MOMENTS, EngineMotion, load

#: Parts of the motors' ranges that are tried: strong motors tear soft loops apart.
STRENGTHS = (1.0, 1e-1, 1e-2, 1e-3, 1e-4)
#: Most steps of one motion, and the correction after which a pose counts as closed.
STEPS, CLOSED = 5000, 1e-8
#: Singular values below this part of the largest one are none: Newton has single precision.
SMALL = 1e-4


def compiled(source: Any) -> Any:
    """Return the MuJoCo model of a file or an ``MjSpec``."""
    import mujoco

    from regularize.adapters.mjcf import compiled as reading

    with reading.collected():
        try:
            if isinstance(source, str):
                return mujoco.MjModel.from_xml_path(as_utf8(source))
            return source.compile()
        except (ValueError, mujoco.FatalError) as error:
            if isinstance(source, str) and "plugin" in str(error):
                return reading.loaded(source).compile()
            if isinstance(source, str) and "opening file" in str(error):
                return reading.compiled(source).model  # without its meshes
            raise UnsupportedExport(f"MuJoCo refuses it: {' '.join(str(error).split())}") from error


def record(source: Any, drive: str, strength: float, seconds: float = DURATION) -> EngineMotion:
    """Move a model of MuJoCo; ``drive`` is alone, motors, or loads."""
    model = compiled(source)
    names = [model.body(i).name or f"body_{i}" for i in range(model.nbody)]
    return record_model(model, drive, strength, names, seconds)


def record_model(
    model: Any, drive: str, strength: float, bodies: Sequence[str | None], seconds: float
) -> EngineMotion:
    """Move a compiled model, whose bodies have names by number, or none."""
    import mujoco

    from regularize.adapters.mjcf.compiled import collected
    from regularize.adapters.mjcf.read import HOME

    names = {i: name for i, name in enumerate(bodies) if name is not None}
    data, frames = mujoco.MjData(model), []
    steps = min(STEPS, max(MOMENTS, round(seconds / model.opt.timestep)))
    efforts = _efforts(model)
    with collected() as warnings:
        if HOME in [model.key(i).name for i in range(model.nkey)]:
            mujoco.mj_resetDataKeyframe(model, data, model.key(HOME).id)
        for i, name in names.items() if drive == "loads" else ():
            data.xfrc_applied[i] = load(name, model.body_mass[i], model.body_inertia[i].sum())
        mujoco.mj_forward(model, data)
        for step in range(steps + 1):
            if step % max(1, steps // MOMENTS) == 0:
                frames.append((np.array(data.xmat).reshape(-1, 3, 3), np.array(data.xpos)))
            if drive == "motors":
                data.ctrl[:] = strength * efforts(2.0 * np.pi * step / steps)
            mujoco.mj_step(model, data)
        unstable = bool(warnings) or not np.isfinite(data.qpos).all()
    if unstable:
        raise UnsupportedExport("MuJoCo: the motion is unstable")
    moving = {i: name for i, name in names.items() if i}
    poses = {n: np.array([transform(R[i], x[i]) for R, x in frames]) for i, n in moving.items()}
    masses = {name: float(model.body_mass[i]) for i, name in moving.items()}
    return EngineMotion(freedoms(model, data), int(model.nu), _gains(model), masses, poses)


def _efforts(model: Any) -> Callable[[float], Array]:
    """Return controls by phase: sines over the motors' ranges; unlimited ones lift the weight."""
    weight = 9.81 * float(model.body_mass.sum()) * float(model.stat.extent)
    limited = model.actuator_ctrllimited.astype(bool)
    gear = np.abs(model.actuator_gear).max(axis=1, initial=1e-12)
    gain = np.abs(model.actuator_gainprm[:, 0]) if model.nu else np.zeros(0)
    free = weight / np.maximum(gear * np.where(gain > 0.0, gain, 1.0), 1e-12)
    low = np.where(limited, model.actuator_ctrlrange[:, 0], -free)
    high = np.where(limited, model.actuator_ctrlrange[:, 1], free)
    start = np.clip(np.zeros(model.nu), low, high)

    def controls(phase: float) -> Array:
        waves = np.sin(phase + np.arange(model.nu))
        return np.asarray(start + np.where(waves > 0.0, high - start, start - low) * waves)

    return controls


def _gains(model: Any) -> dict[str, tuple[float, float]]:
    """Return force per control and servo stiffness of each joint, all its motors together."""
    import mujoco

    sums: dict[str, list[float]] = {}
    for i in range(model.nu):
        kind, target = int(model.actuator_trntype[i]), int(model.actuator_trnid[i, 0])
        if kind not in (mujoco.mjtTrn.mjTRN_JOINT, mujoco.mjtTrn.mjTRN_JOINTINPARENT):
            continue
        gear = float(np.linalg.norm(model.actuator_gear[i]))
        total = sums.setdefault(model.joint(target).name, [0.0, 0.0])
        total[0] += gear * float(model.actuator_gainprm[i, 0])
        total[1] -= gear**2 * float(model.actuator_biasprm[i, 1])
    return {name: (force, servo) for name, (force, servo) in sums.items() if name}


def freedoms(model: Any, data: Any) -> int:
    """Count the velocities that equality constraints leave, at a closed pose near where it is."""
    import mujoco

    best = np.inf
    with suppress(np.linalg.LinAlgError):
        for _ in range(20):
            mujoco.mj_fwdPosition(model, data)
            rows, gap = _equations(model, data)
            change = np.linalg.lstsq(rows, -gap, rcond=SMALL)[0] if len(gap) else np.zeros(0)
            size = float(np.abs(change).max(initial=0.0))
            if size < CLOSED or size > 10.0 * best:
                break
            best = min(best, size)
            mujoco.mj_integratePos(model, data.qpos, change, 1.0)
    return int(model.nv - (np.linalg.matrix_rank(rows, rtol=SMALL) if rows.size else 0))


def _equations(model: Any, data: Any) -> tuple[Array, Array]:
    """Return the Jacobian of the equality constraints and what is missing to fulfil them."""
    import mujoco

    count = int(data.ne)
    if mujoco.mj_isSparse(model):
        dense = np.zeros((data.nefc, model.nv))
        mujoco.mju_sparse2dense(
            dense, data.efc_J, data.efc_J_rownnz, data.efc_J_rowadr, data.efc_J_colind
        )
    else:
        dense = np.ravel(data.efc_J)[: data.nefc * model.nv].reshape(data.nefc, model.nv)
    return dense[:count], np.array(data.efc_pos[:count])
