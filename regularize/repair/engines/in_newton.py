"""Models moved in Newton, by one of its solvers that close loops."""

from __future__ import annotations

import copy
import warnings
from collections.abc import Iterator
from contextlib import contextmanager, redirect_stdout
from io import StringIO
from typing import Any

import numpy as np

from regularize.adapters.common.draft import WORLD
from regularize.adapters.objects.newton_builder import names_of, read
from regularize.errors import RegularizeError, UnsupportedExport
from regularize.lie.screw import rotation_of, transform
from regularize.reduction.reduce import reduce
from regularize.repair.engines.in_mujoco import record_model
from regularize.repair.engines.motion import DURATION, MOMENTS, EngineMotion, load
from regularize.repair.verification.writing import captured_errors

SOLVERS = {"newton": "SolverMuJoCo", "kamino": "SolverKamino", "steel": "SolverSteel"}
STEP = 1e-3  # seconds


@contextmanager
def _quiet() -> Iterator[None]:
    """Keep what Newton and Warp print and warn of from the user, who is told what it comes to."""
    with warnings.catch_warnings(), redirect_stdout(StringIO()), captured_errors():
        warnings.simplefilter("ignore")
        yield


def builder_of(source: Any) -> Any:
    """Return the builder of a USD file, read as its MuJoCo solver asks, or a copy of a builder."""
    import newton

    if not isinstance(source, str):
        return copy.deepcopy(source)
    builder = newton.ModelBuilder()
    newton.solvers.SolverMuJoCo.register_custom_attributes(builder)
    builder.add_usd(source)
    return builder


def record(
    source: Any, drive: str, strength: float, seconds: float = DURATION, solver: str = "newton"
) -> EngineMotion:
    """Move a model by a solver of Newton; ``drive`` is alone, motors, or loads."""
    with _quiet():
        import newton

        try:
            builder = builder_of(source)
            names = names_of(builder.body_label, {WORLD})
            model = builder.finalize(device="cpu")
            if solver == "newton":
                made = newton.solvers.SolverMuJoCo(model, use_mujoco_cpu=True)
            else:
                made = getattr(newton.solvers, SOLVERS[solver])(model)
        except (ValueError, RuntimeError, NotImplementedError, AssertionError) as error:
            told = " ".join(str(error).split())[:300]
            raise UnsupportedExport(f"Newton's {SOLVERS[solver]} refuses it: {told}") from error
    if solver == "newton":
        called = zip(builder.body_label, names, strict=True)
        labels = {key: name for old, name in called for key in (old, old.replace("/", "_"))}
        bodies = [labels.get(made.mj_model.body(i).name) for i in range(made.mj_model.nbody)]
        return record_model(made.mj_model, drive, strength, bodies, seconds)
    inertias = [np.trace(np.reshape(inertia, (3, 3))) for inertia in builder.body_inertia]
    loads = np.array([*map(load, names, builder.body_mass, inertias)]) * (drive != "alone")
    now, then, control = model.state(), model.state(), model.control()
    newton.eval_fk(model, model.joint_q, model.joint_qd, now)
    frames, steps = [now.body_q.numpy().copy()], round(DURATION / STEP)
    with _quiet():
        for step in range(1, steps + 1):
            now.body_f.assign(loads)
            made.step(now, then, control, None, STEP)
            now, then = then, now
            if step % (steps // MOMENTS) == 0:
                frames.append(now.body_q.numpy().copy())
    if not np.isfinite(frames[-1]).all():
        raise UnsupportedExport(f"Newton's {SOLVERS[solver]}: the motion is unstable")
    turned, at = rotation_of(np.array(frames)[:, :, 3:7]), np.array(frames)[:, :, :3]
    paths = [np.array([*map(transform, turned[:, i], at[:, i])]) for i in range(len(names))]
    masses = {name: float(builder.body_mass[i]) for i, name in enumerate(names)}
    motors = sum(int(mode) != 0 for mode in builder.joint_target_mode)
    try:
        mobility = reduce(read(builder)).mobility
    except RegularizeError as error:
        raise UnsupportedExport(f"Newton's builder is not understood: {error}") from error
    return EngineMotion(mobility, motors, {}, masses, dict(zip(names, paths, strict=True)))
