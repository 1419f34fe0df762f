#!/usr/bin/env python3
"""Speed of metamodels.

    python tests/benchmarks/metamodel_speed.py [--json]

Per mechanism: the full reduced model, vectorised, in closed form where it has one; the metamodel,
vectorised; its C export in a loop; Pinocchio's rnea of the open tree, without the loops, in a loop
of C++. Times are per evaluation of the inverse dynamics, and in one thread.
"""

from __future__ import annotations

import ctypes
import shutil
import subprocess
import tempfile
from pathlib import Path
from typing import Any

import numpy as np
import pinocchio as pin
from measuring import ASSETS, finish, timed
from numpy.typing import NDArray

import regularize as rg

Array = NDArray[np.float64]
Times = dict[str, float]
MODELS = ASSETS / "metamodel"
CASES = (
    ("swinging_fourbar", ["A"], [[-1.6, 1.6]], 0.01),
    ("orthoglide_long_rods", ["M1", "M2", "M3"], [[-0.26, 0.06]] * 3, 0.005),
)
#: States of the metamodel; the full model runs a hundredth of them.
STATES = 1_000_000
RUNS = 3

LOOP = """
#include "model.c"
void loop(long count, const double *theta, const double *rate, const double *acceleration,
          double *effort) {{
    for (long i = 0; i < count; ++i) {{
        robot_inverse_dynamics(theta + i * {s}, rate + i * {s}, acceleration + i * {s},
                               effort + i * {s});
    }}
}}
"""


def measure(name: str, inputs: list[str], bounds: list[list[float]], tolerance: float) -> Times:
    """Microseconds per evaluation, and the largest relative error; NaN without a compiler."""
    reduction = rg.reduce(rg.load(MODELS / f"{name}.urdf"))
    reduced = rg.reduced_model(reduction, inputs)
    model = rg.metamodel(reduced, bounds, tolerance=tolerance, smallest=1e-4)
    rng = np.random.default_rng(0)
    theta = rng.uniform(model.lower, model.upper, size=(STATES, len(inputs)))
    rate, acceleration = rng.normal(size=(2, *theta.shape))
    few = STATES // 100
    full, _ = timed(lambda: reduced.inverse_dynamics(theta[:few], rate[:few], acceleration[:few]))
    fast, _ = timed(lambda: model.inverse_dynamics(theta, rate, acceleration), RUNS)
    return {
        "full": full / few * 1e6,
        "metamodel": fast / STATES * 1e6,
        "c": in_c(model, theta, rate, acceleration) * 1e6,
        "rnea": of_open_tree(reduction, reduced, theta[:few]) * 1e6,
        "freedoms": rg.to_pinocchio(reduction).model.nv,
        "worst": model.accuracy.worst,
    }


def in_c(model: rg.Metamodel, theta: Array, rate: Array, acceleration: Array) -> float:
    """Seconds per call of the exported source."""
    if shutil.which("cc") is None:
        return float("nan")
    effort = np.zeros_like(theta)
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        (folder / "model.c").write_text(model.to_c("robot"))
        (folder / "loop.c").write_text(LOOP.format(s=len(model.inputs)))
        command = ["cc", "-std=c99", "-O2", "-shared", "-fPIC", "loop.c", "-o", "loop.so"]
        subprocess.run(command, cwd=folder, check=True)
        library = ctypes.CDLL(str(folder / "loop.so"))
        pointers = [
            a.ctypes.data_as(ctypes.POINTER(ctypes.c_double))
            for a in (theta, rate, acceleration, effort)
        ]
        elapsed, _ = timed(lambda: library.loop(ctypes.c_long(len(theta)), *pointers), RUNS)
    np.testing.assert_allclose(
        effort[:1000],
        model.inverse_dynamics(theta[:1000], rate[:1000], acceleration[:1000]),
        rtol=1e-9,
        atol=1e-9,
    )
    return elapsed / len(theta)


def of_open_tree(reduction: rg.Reduction, reduced: Any, theta: Array) -> float:
    """Seconds per rnea of the spanning tree in one thread of C++."""
    robot = rg.to_pinocchio(reduction)
    q = np.array([robot.configuration(q) for q in reduced.configuration(theta[:200])])
    q = np.asfortranarray(np.tile(q.T, -(-len(theta) // len(q)))[:, : len(theta)])
    v = np.asfortranarray(np.random.default_rng(1).normal(size=(robot.model.nv, q.shape[1])))
    out = np.asfortranarray(np.zeros_like(v))
    pool = pin.ModelPool(robot.model, 1)
    elapsed, _ = timed(lambda: pin.rneaInParallel(1, pool, q, v, v, out), RUNS)
    return elapsed / len(theta)


def main() -> None:
    results = {case[0]: measure(*case) for case in CASES}

    def table() -> None:
        for name, r in results.items():
            print(
                f"{name}: full reduced model {r['full']:.1f} us, metamodel {r['metamodel']:.3f} us "
                f"(largest error {100 * r['worst']:.2g} %), C {1e3 * r['c']:.0f} ns, rnea of the "
                f"open tree with {r['freedoms']} freedoms {1e3 * r['rnea']:.0f} ns"
            )

    ratios = {}
    for name, r in results.items():
        ratios[f"{name}: metamodel instead of the full model"] = r["full"] / r["metamodel"]
        ratios[f"{name}: metamodel in C instead of rnea of the open tree"] = r["rnea"] / r["c"]
        ratios[f"{name}: full model instead of rnea of the open tree"] = r["rnea"] / r["full"]
    finish(ratios, table)


if __name__ == "__main__":
    main()
