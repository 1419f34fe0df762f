#!/usr/bin/env python3
"""A thousand robots fall in one JAX program; their loops stay closed by the exact acceleration.

    pip install jax
    python assets/examples/thousand_robots.py

The program is one scan of one vmap. JAX compiles the planar four-bar's in seconds, and long
accelerations slowly: for assets/walker.urdf, thousands of scalar operations, it was still at it
after four minutes on a busy machine.
"""

from __future__ import annotations

from pathlib import Path

import jax
import numpy as np

import regularize as rg

MODEL = Path(__file__).resolve().parents[1] / "planar_fourbar.urdf"
#: Long straight-line code has little that a compiler could improve on, and much to look at.
OPTIONS = {"xla_backend_optimization_level": 0, "xla_llvm_disable_expensive_passes": True}


def fall(model: Path = MODEL, count: int = 1000, steps: int = 100, h: float = 1e-4) -> float:
    """The largest closure error after some steps of many robots."""
    jax.config.update("jax_enable_x64", True)
    robot = rg.build_model(model)
    f = jax.vmap(robot.to_jax())

    def roll(q: jax.Array, v: jax.Array, tau: jax.Array) -> jax.Array:
        def step(state: tuple[jax.Array, jax.Array], _: None) -> tuple[tuple[jax.Array, ...], None]:
            q, v = state
            v = v + h * f(q, v, tau)
            return (q + h * v, v), None

        return jax.lax.scan(step, (q, v), None, length=steps)[0][0]

    rng = np.random.default_rng(0)
    q = robot.project(robot.q0 + 0.02 * rng.normal(size=(count, robot.nq)))
    v, tau = np.zeros((count, robot.nv)), 0.1 * rng.normal(size=(count, robot.nv))
    last = np.asarray(jax.jit(roll, compiler_options=OPTIONS)(q, v, tau))
    return float(np.abs(robot.residual(last)).max())


def main() -> None:
    """Let them fall."""
    print(f"largest closure error after 100 steps: {fall():.1e}")


if __name__ == "__main__":
    main()
