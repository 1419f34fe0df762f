#!/usr/bin/env python3
"""One step of closed loops beside Pinocchio's fastest ways, and beside its open tree.

    python tests/benchmarks/step_speed.py [--json] [SIZE…] [FILE…]

Every family of mechanisms at every size (1, 5, 20, 50 and 200 loops where none is given), then
models of the checkout, then the files given. Microseconds per call from Python, each at another
state, of

    robot   forward_dynamics of the reduced rows, exact
    batch   the same for 64 states at once, each
    errors  residual of the rows
    newton  one step of Newton's method onto the closed loops, errors included
    aba     of the tree with its loops open
    lcaba   one iteration, every closure as three rows
    dense   pin.constraintDynamics, one iteration, the same rows, up to 300 velocities

and the largest relative errors of the first and the fourth against dense algebra. Peers stand in
the same process, every way takes the least CPU time of several runs, and all have one thread.
"""

from __future__ import annotations

import os
import platform
import sys
from collections.abc import Callable
from dataclasses import replace
from itertools import cycle
from pathlib import Path

import numpy as np
import pinocchio as pin
from families import FAMILIES
from measuring import ASSETS, finish, timed

import regularize as rg
from regularize.dynamics.pinocchio.tree_states import Split

SIZES = (1, 5, 20, 50, 200)
#: Velocities beyond which dense factorisations are left out: seconds each, and nobody's way.
DENSE_UP_TO = 300
MODELS = ("walker", "delta_universal", "knee_leg", "stewart_6ups", "gripper")
RUNS, STATES = 12, 64
WAYS = ("robot", "batch", "errors", "newton", "aba", "lcaba", "dense")


def weighed(mechanism: rg.Mechanism) -> rg.Mechanism:
    """The mechanism with a kilogram for every body that states no mass properties."""
    unit = rg.Inertia(1.0, np.array([0.1, 0.05, 0.0]), 0.1 * np.eye(3))
    bodies = [
        b if b.inertia and b.inertia.mass else replace(b, inertia=unit) for b in mechanism.bodies
    ]
    return replace(mechanism, bodies=tuple(bodies))


def microseconds(run: Callable[[], object]) -> float:
    """Least CPU time of a call."""
    calls = 1

    def repeated() -> None:
        for _ in range(calls):
            run()

    while timed(repeated)[0] < 0.01:
        calls *= 4
    return 1e6 * timed(repeated, RUNS)[0] / calls


def points(robot: rg.Robot) -> object:
    """Every closure as a point that two bodies share, for Pinocchio's solvers."""
    models = pin.StdVec_RigidConstraintModel()
    for c in robot.constraints.closures:
        places = c.first, pin.SE3(c.first_frame), c.second, pin.SE3(c.second_frame)
        kind, local = pin.ContactType.CONTACT_3D, pin.ReferenceFrame.LOCAL
        models.append(pin.RigidConstraintModel(kind, robot.model, *places, local))
    return models


def measured(robot: rg.Robot) -> dict[str, float]:
    """Times of all ways next to the assembled configuration, and errors there."""
    model, rng = robot.model, np.random.default_rng(0)
    q, tau = np.array(robot.q0), rng.normal(size=model.nv)
    free = robot.split(q).free
    v = free @ rng.normal(size=free.shape[1])
    v /= max(1.0, float(np.max(np.abs(v))))
    near = [
        pin.integrate(model, q, 1e-3 * free @ rng.normal(size=free.shape[1])) for _ in range(STATES)
    ]
    many = [np.array(near), np.tile(v, (STATES, 1)), np.tile(tau, (STATES, 1))]
    new, kernel = cycle(near).__next__, robot.kernel
    data = model.createData()
    upper, n = np.triu(pin.crba(model, data, q)), pin.nonLinearEffects(model, data, q, v)
    M = upper + np.triu(upper, 1).T
    parts = Split.of(robot.jacobian(q), robot.rank)
    exact = parts.response(M, tau - n, -robot.bias(q, v))
    size = float(np.max(np.abs(exact)))
    found = {
        "robot": microseconds(lambda: robot.forward_dynamics(new(), v, tau)),
        "batch": microseconds(lambda: robot.forward_dynamics(*many)) / STATES,
        "errors": microseconds(lambda: robot.residual(new())),
        "newton": microseconds(lambda: kernel.newton_step(new())) if kernel else np.nan,
        "aba": microseconds(lambda: pin.aba(model, data, new(), v, tau)),
        "error": float(np.max(np.abs(robot.forward_dynamics(q, v, tau) - exact))) / size,
    }
    models, settings = points(robot), pin.ProximalSettings(1e-14, 1e-8, 1)
    for name in ("lcaba", "dense") if model.nv <= DENSE_UP_TO else ("lcaba",):
        # In the data of before: there is no room for others, which grow with nv ** 3, 13 GB at 600.
        datas = pin.StdVec_RigidConstraintData()
        for constraint in models:
            datas.append(constraint.createData())
        if name == "lcaba":
            pin.computeJointMinimalOrdering(model, data, models)
        else:
            pin.initConstraintDynamics(model, data, models, datas)
        peer = pin.lcaba if name == "lcaba" else pin.constraintDynamics
        others = (v, tau, models, datas, settings)
        found[name] = microseconds(
            lambda peer=peer, others=others: peer(model, data, new(), *others)
        )
        error = np.max(np.abs(peer(model, data, q, *others) - exact))
        found[f"error of {name}"] = float(error) / size
    return found


def main() -> None:
    given = [argument for argument in sys.argv[1:] if argument != "--json"]
    sizes = [int(argument) for argument in given if argument.isdigit()] or [*SIZES]
    cases = [
        (f"{name} {size}", family(size)) for name, family in FAMILIES.items() for size in sizes
    ]
    cases += [(name, rg.load(ASSETS / f"{name}.urdf")) for name in MODELS]
    cases += [(Path(f).parent.name, rg.load(f)) for f in given if not f.isdigit()]
    table, ratios = {}, {}
    for name, mechanism in cases:
        robot = rg.to_pinocchio(rg.reduce(weighed(mechanism)))
        found = table[name] = measured(robot)
        for peer in [way for way in ("aba", "lcaba", "dense") if way in found]:
            ratios[f"{name}: a step instead of {peer}"] = found[peer] / found["robot"]
        for part in ("errors", "newton"):
            ratios[f"{name}: {part} beside a step"] = found["robot"] / found[part]
        if "--json" not in sys.argv:
            line = [f"{found.get(k, np.nan):9.2f}" for k in WAYS]
            errors = [f"{found[k]:8.0e}" for k in ("error", "error of lcaba")]
            print(f"{name:18} nv {robot.model.nv:4}", *line, *errors, flush=True)

    def head() -> None:
        threads = os.environ.get("OMP_NUM_THREADS", "not set")
        print(
            f"us of CPU; columns: {' '.join(WAYS)}, errors of robot and lcaba; "
            f"pin {pin.__version__}, {robot.computed_by}, OMP_NUM_THREADS {threads}, "
            f"{platform.processor() or platform.machine()}"
        )

    finish(ratios, head)


if __name__ == "__main__":
    main()
