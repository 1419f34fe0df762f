r"""Impulses in cones and boxes: Coulomb friction, one-sided stops, dry friction.

With the Delassus matrix G and the velocities g that there would be without impulses, the impulses
:math:`\lambda` of contacts, three for each, lie in the friction cone and do no work but against
sliding; those of boxes lie between bounds, and their velocities push only where a bound is met:

.. math:: \sigma = G \lambda + g, \qquad K \ni \lambda \perp \sigma + \Gamma(\sigma) \in K^*,

with De Saxcé's correction :math:`\Gamma`, without which bodies that slide would rise. Pinocchio's
solvers find them (Carpentier, Le Lidec and Montaut 2024: ADMM; projected Gauss-Seidel after it).
"""

from __future__ import annotations

from functools import lru_cache
from typing import Any, TypeAlias

import numpy as np

from regularize.dynamics.pinocchio import pin
from regularize.lie.arrays import Array

#: Error of velocities and impulses, in parts of the largest velocity without impulses, that is
#: wanted and borne.
WANTED, BORNE = 1e-11, 1e-7
#: A solver, how its penalty adapts, and how many iterations it may take; each of these is tried
#: where those before it do not converge, as where friction jams.
Way: TypeAlias = tuple[str, str, int]
WAYS: tuple[Way, ...] = (("ADMM", "LINEAR", 1000), ("ADMM", "SPECTRAL", 3000), ("PGS", "", 5000))
#: ADMM's proximal term and its step: as small and as long as it lets them be, where points of a
#: foot share what holds it, and the usual ones (1e-6, 0.5) take it thousands of iterations.
PROXIMAL, LONGEST = 1e-12, 1.0


def solve_cones(
    delassus: Array, free: Array, frictions: Array, boxes: Array, guess: Array | None = None
) -> tuple[Array, bool]:
    """The impulses, shape (m,), and whether they are found.

    Args:
        delassus: Shape (m, m), contacts first.
        free: Velocities without impulses, those wanted taken off, shape (m,).
        frictions: Coefficient of every contact, shape (c,).
        boxes: Lower and upper bounds of the other impulses, shape (m - 3 c, 2), those without an
            upper bound first.
        guess: Impulses to begin with, shape (m,).
    """
    count = 3 * len(frictions)
    # Units of impulses in which every contact and every box moves a mass of one.
    masses = np.diag(delassus).copy()
    masses[:count] = np.repeat(masses[:count].reshape(-1, 3).sum(axis=1) / 3.0, 3)
    scales = 1.0 / np.sqrt(np.where(masses > 0.0, masses, 1.0))
    speed = float(np.abs(scales * free).max())
    if speed == 0.0:
        return np.zeros(len(free)), True
    units = scales * speed  # of impulses, so that the largest velocity is one
    sets = _sets(frictions, boxes / units[count:, None])
    problem = scales[:, None] * delassus * scales, scales * free / speed, *sets
    begin = None if guess is None else guess / units
    found, error = np.zeros(len(free)), np.inf
    for way in WAYS:
        if error <= BORNE:
            break
        again, rest = _by(way, problem, begin)
        if rest < error:
            found, error, begin = again, rest, again
    return units * found, error <= BORNE


def _sets(frictions: Array, boxes: Array) -> tuple[Any, Any]:
    """Constraint models whose sets are the cones and the boxes, and their data."""
    models, datas = pin.StdVec_ConstraintModel(), pin.StdVec_ConstraintData()
    for friction in frictions.tolist():
        models.append(_cone(friction))
    # As boxes that are open above, stops would have errors that are infinite or nothing.
    bounds = int(np.isinf(boxes[:, 1]).sum())
    if bounds:
        models.append(_stop(bounds))
    if len(boxes) > bounds:
        sides = [np.ascontiguousarray(side) for side in boxes[bounds:].T]
        box = pin.JointFrictionConstraintModel(*_bars(len(boxes) - bounds), *sides)
        box.setTimeStep(1.0)  # bounds are those of impulses already
        models.append(pin.ConstraintModel(box))
    for model in models:
        datas.append(model.createData())
    return models, datas


@lru_cache(maxsize=64)
def _cone(friction: float) -> Any:
    """A contact, which tells Pinocchio's solvers the cone."""
    contact = pin.PointContactConstraintModel(_bars(1)[0], 1)
    contact.setFriction(friction)
    return pin.ConstraintModel(contact)


@lru_cache(maxsize=64)
def _stop(count: int) -> Any:
    """Lower bounds of so many joints, which only push."""
    sides = np.zeros(count), np.full(count, np.inf)
    return pin.ConstraintModel(pin.JointLimitConstraintModel(*_bars(count), *sides))


@lru_cache(maxsize=64)
def _bars(count: int) -> tuple[Any, Any]:
    """A model with so many hinges, which only gives constraint models their sizes; and these."""
    model = pin.Model()
    for k in range(count):
        model.addJoint(0, pin.JointModelRX(), pin.SE3.Identity(), f"{k}")
    return model, pin.StdVec_Index([*range(1, count + 1)])


def _by(
    way: Way, problem: tuple[Array, Array, Any, Any], guess: Array | None
) -> tuple[Array, float]:
    """Impulses by one of the solvers, and the error that it names."""
    name, rule, most = way
    delassus, free, models, datas = problem
    settings = getattr(pin, f"{name}SolverSettings")()
    settings.absolute_feasibility_tol = settings.absolute_complementarity_tol = WANTED
    settings.relative_feasibility_tol = settings.relative_complementarity_tol = 0.0
    settings.max_iterations, settings.solve_ncp = most, True
    if rule:
        settings.admm_update_rule = getattr(pin.ADMMUpdateRule, rule)
        settings.mu_prox, settings.tau = PROXIMAL, LONGEST
    result = getattr(pin, f"{name}SolverResult")()
    if guess is not None:
        result.setConstraintImpulseGuess(guess)
    solver = getattr(pin, f"{name}ConstraintSolver")(len(free))
    operator = pin.DelassusOperatorDense(delassus)
    solver.solve(operator, free, models, datas, settings, result)
    found = np.array(result.retrieveConstraintImpulses())
    errors = [result.primal_feasibility, result.dual_feasibility, result.complementarity]
    worst = float(max(abs(each) for each in errors))
    return (found, worst) if np.isfinite(found).all() else (np.zeros(len(free)), np.inf)
