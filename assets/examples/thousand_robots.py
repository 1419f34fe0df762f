#!/usr/bin/env python3
"""A thousand walkers move in one JAX program; their loops stay closed by the exact acceleration.

    pip install jax
    python assets/examples/thousand_robots.py

The program is one scan of one vmap. The acceleration is a table of operations that one loop goes
through, so that JAX compiles it in about a second however long it is.
"""

from __future__ import annotations

from pathlib import Path
from time import perf_counter

import jax
import numpy as np

import regularize as rg

MODEL = Path(__file__).resolve().parents[1] / "walker.urdf"


def fall(count: int = 1000, steps: int = 100, h: float = 1e-4) -> float:
    """The largest closure error after some steps of many robots."""
    jax.config.update("jax_enable_x64", True)
    robot = rg.build_model(MODEL)
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
    last = np.asarray(jax.jit(roll)(q, v, tau))
    return float(np.abs(robot.residual(last)).max())


def main() -> None:
    """Let them fall."""
    begin = perf_counter()
    error = fall()
    print(f"largest closure error after 100 steps: {error:.1e}")
    print(f"{perf_counter() - begin:.0f} s, the model and its compilation included")


if __name__ == "__main__":
    main()
