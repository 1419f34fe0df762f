r"""Impulses in cones and boxes: Coulomb friction, one-sided stops, dry friction.

With the Delassus matrix G and the velocities g that there would be without impulses, the impulses
:math:`\lambda` of contacts, three for each, lie in the friction cone and do no work but against
sliding; those of boxes lie between bounds, and their velocities push only where a bound is met:

.. math:: \sigma = G \lambda + g, \qquad K \ni \lambda \perp \sigma + \Gamma(\sigma) \in K^*,

with De Saxcé's correction :math:`\Gamma`, without which bodies that slide would rise. Pinocchio's
solvers find them (Carpentier, Le Lidec and Montaut 2024: ADMM; projected Gauss-Seidel after it).
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any, TypeAlias

import numpy as np

from regularize.lie.screw import Array
from regularize.pinocchio import pin

#: Error of velocities and impulses, in parts of the largest velocity without impulses, that is
#: wanted and borne.
WANTED, BORNE = 1e-11, 1e-7
#: A solver, how its penalty adapts, and how many iterations it may take; each of these is tried
#: where those before it do not converge, as where friction jams.
Way: TypeAlias = tuple[str, str, int]
WAYS: tuple[Way, ...] = (("ADMM", "OSQP", 1000), ("ADMM", "SPECTRAL", 1000), ("PGS", "", 5000))


@dataclass(eq=False)
class ConeSolver:
    """Pinocchio's solvers, with the models of constraints that tell them the sets."""

    _frictions: dict[float, Any] = field(default_factory=dict)
    _joints: dict[int, Any] = field(default_factory=dict)
    _last: tuple[Any, Any] = (None, None)

    def solve(
        self, delassus: Array, free: Array, frictions: Array, boxes: Array, guess: Array | None
    ) -> tuple[Array, bool]:
        """The impulses, shape (m,), and whether they are found.

        Args:
            delassus: Shape (m, m), contacts first.
            free: Velocities without impulses, those wanted taken off, shape (m,).
            frictions: Coefficient of every contact, shape (c,).
            boxes: Lower and upper bounds of the other impulses, shape (m - 3 c, 2).
            guess: Impulses to begin with, shape (m,).
        """
        scales = self._scales(delassus, len(frictions))
        scaled = scales[:, None] * delassus * scales
        speed = float(np.max(np.abs(scales * free)))
        if speed == 0.0:
            return np.zeros(len(free)), True
        units = scales * speed  # of impulses, so that the largest velocity is one
        models, datas = self._sets(frictions, boxes / units[3 * len(frictions) :, None])
        begin = None if guess is None else guess / units
        problem = scaled, scales * free / speed, models, datas
        found, error = np.zeros(len(free)), np.inf
        for way in WAYS:
            if error <= BORNE:
                break
            again, rest = self._by(way, problem, begin)
            if rest < error:
                found, error, begin = again, rest, again
        return units * found, error <= BORNE

    def _scales(self, delassus: Array, contacts: int) -> Array:
        """Units of impulses in which every contact and every box moves a mass of one."""
        masses = np.diag(delassus).copy()
        blocks = masses[: 3 * contacts].reshape(-1, 3)
        blocks[:] = blocks.mean(axis=1)[:, None]
        return np.asarray(1.0 / np.sqrt(np.where(masses > 0.0, masses, 1.0)))

    def _sets(self, frictions: Array, boxes: Array) -> tuple[Any, Any]:
        """Constraint models whose sets are the cones and the boxes, and their data."""
        key = frictions.tobytes(), boxes.tobytes()
        if self._last[0] != key:
            self._last = key, self._made(frictions, boxes)
        return self._last[1]  # type: ignore[no-any-return]

    def _made(self, frictions: Array, boxes: Array) -> tuple[Any, Any]:
        """The same anew."""
        models, datas = pin.StdVec_ConstraintModel(), pin.StdVec_ConstraintData()
        for friction in frictions.tolist():
            if friction not in self._frictions:
                contact = pin.PointContactConstraintModel(self._bars(1), 1)
                contact.setFriction(friction)
                self._frictions[friction] = pin.ConstraintModel(contact)
            models.append(self._frictions[friction])
        if len(boxes):
            bars = self._bars(len(boxes))
            indices = pin.StdVec_Index(list(range(1, len(boxes) + 1)))
            sides = [np.ascontiguousarray(side) for side in boxes.T]
            box = pin.JointFrictionConstraintModel(bars, indices, *sides)
            box.setTimeStep(1.0)  # bounds are those of impulses already
            models.append(pin.ConstraintModel(box))
        for model in models:
            datas.append(model.createData())
        return models, datas

    def _bars(self, count: int) -> Any:
        """A model with so many hinges, which only gives constraint models their sizes."""
        if count not in self._joints:
            model = pin.Model()
            for k in range(count):
                model.addJoint(0, pin.JointModelRX(), pin.SE3.Identity(), f"{k}")
            self._joints[count] = model
        return self._joints[count]

    def _by(
        self, way: Way, problem: tuple[Array, Array, Any, Any], guess: Array | None
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
