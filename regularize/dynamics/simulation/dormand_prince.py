"""Steps of the 8(5,3) pair of Dormand and Prince (DOP853) in the compiled kernel.

Coefficients (Hairer, Nørsett, Wanner, Solving Ordinary Differential Equations I, II.5 and II.6) are
not read from SciPy, which takes longer to load than most motions take to compute.
"""

from __future__ import annotations

import json
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np

from regularize.dynamics.simulation.compiled_functions import (
    CalledBack,
    CompiledForces,
    CompiledTorque,
    MotionCalledBack,
)
from regularize.dynamics.simulation.equations import CORRECTED, DEPENDENT, AllCoordinates
from regularize.dynamics.simulation.prescribed import drive_numbers
from regularize.dynamics.simulation.recording import Counters, Sample
from regularize.lie.arrays import Array, Configuration

_WEIGHTS = json.loads(Path(__file__).with_name("dop853.json").read_text("utf-8"))
#: Weights of the slopes for each stage (12, 12), and for further stages (3, 16) and the last terms
#: (4, 16) of the dense output.
A, A_EXTRA, D = (np.array(_WEIGHTS[name]) for name in ("stages", "further stages", "last terms"))
#: Weights for the end of the step, and for its estimate of the error of fifth order, shape (12,).
(B,), (E5,) = (np.array(_WEIGHTS[name]) for name in ("end", "fifth-order error"))
#: Third-order estimate of the error, shape (12,).
E3 = B.copy()
E3[[0, 8, 11]] -= 0.2440944881889764, 0.7338466882816118, 0.022058823529411766

#: Fraction of the usual step below which a singular configuration is suspected ahead.
LEAP = 0.02
#: Error of a step, in tolerances, with which a singular configuration is passed, and with which
#: driven coordinates are where they have to be.
TOLERATED = 1e4
#: Evaluations that the dense output of a step takes.
EXTRA = len(A_EXTRA) + 1

#: Stages, end and both estimates of the error, as ``motion.c`` reads them.
_METHOD = np.concatenate([A.ravel(), B, E5, E3])
#: Further stages and terms of the dense output, as ``motion.c`` reads them.
_DENSE = np.concatenate([A_EXTRA.ravel(), D.ravel()])


@dataclass(frozen=True, eq=False, repr=False)
class LastStep:
    """The last step that the kernel made and the state that it reached, as ``motion.c`` writes."""

    end: Sample
    length: float  #: proposed for the next step, in seconds
    usual: float  #: length of usual steps
    began: float
    made: float  #: length of the last step
    q_began: Configuration
    values: Array  #: tangent step, velocity and work at both ends, shape (2 (2 nv + 1),)
    slopes: Array  #: their derivatives at the stages, shape (12 (2 nv + 1),)
    standing: Array  #: figures of the whole motion

    @property
    def begin(self) -> Sample:
        """The motion where the last step begins."""
        first = self.values[: len(self.values) // 2]
        n = len(first) // 2
        return Sample(self.began, self.q_began, first[n:-1], float(first[-1]))


class CompiledSteps:
    """Steps of a robot's motion by the compiled kernel; ``options`` are as in ``motion.c``.

    ``careful`` is 0 where rows are far from dependence, ``stuck`` where Python makes the next step.
    """

    def __init__(
        self,
        kernel: Any,
        laws: tuple[Array, Array],
        equations: AllCoordinates,
        options: list[float],
    ) -> None:
        loads, drives, numbers = equations.loads, equations.drives, np.zeros(1)
        self._called: list[CalledBack | MotionCalledBack] = []
        capsules, functions, (joints, closing) = list[Any](), np.zeros(2), laws
        joints[0], of_python = loads.constant, False
        # Functions go by their numbers, counted from 1: of torques, of all forces, and of Python.
        for index, _, torque in loads.varying:
            if isinstance(torque, CompiledTorque):
                capsules.append(torque.owned)
                joints[6, index] = len(capsules)
            else:
                of_python = True
        if isinstance(loads.forces, CompiledForces):
            capsules.append(loads.forces.owned)
            functions[0] = len(capsules)
        if of_python or not isinstance(loads.forces, CompiledForces | None):
            nq, nv = equations.robot.nq, equations.robot.nv
            self._called.append(CalledBack(partial(loads.of_functions, compiled=False), nq, nv))
            capsules.append(self._called[-1].owned)
            functions[1] = len(capsules)
        if len(drives):
            numbers, motions = drive_numbers(drives, capsules)
            self._called += motions
        self._kernel, self._drives, self._functions = kernel, len(drives), tuple(capsules)
        wrenches = loads.on_links()
        self._laws = joints.ravel(), closing.ravel(), wrenches.ravel(), numbers
        loaded = bool(closing[:3].any() or wrenches.any())
        self._options = np.concatenate([options, [loaded], functions])
        self._dense = np.concatenate([self._options, _DENSE])
        self._terms: tuple[LastStep, Array] | None = None
        self._total, self._best = np.nan, (0.0, 0.0)
        self.careful: float = equations.careful
        self.stuck = False

    @classmethod
    def of(
        cls, equations: AllCoordinates, *, rtol: float, atol: float, max_step: float, conserve: bool
    ) -> CompiledSteps | None:
        """Return the steps of these equations, None where the kernel cannot make them."""
        robot, loads, drives = equations.robot, equations.loads, equations.drives
        laws = robot.passive.laws(robot.joints) if equations.compiled and robot.stepped else None
        kernel = laws and robot.driven_kernel(tuple(drives.velocities.tolist()))
        if laws is None or kernel is None:
            return None
        passive, driven = robot.passive.joints, len(drives) > 0
        options = [0.0, 0.0, rtol, atol, max_step, conserve and not driven]
        options += [passive.dissipates or driven, loads.slip or passive.slip, equations.closed]
        options += [robot.tolerances.singular, LEAP, DEPENDENT]
        options += [min(CORRECTED, TOLERATED * rtol), TOLERATED]
        return cls(kernel, laws, equations, options)

    def go(
        self,
        begin: Sample,
        lengths: tuple[float, float],
        stops: tuple[float, float],
        counters: Counters,
    ) -> LastStep | None:
        """Make steps from a state up to the ``stops``; None where none could be made."""
        self._options[:2] = stops
        figures = [begin.time, begin.work, *lengths, self._total, *self._best, *[0.0] * 6]
        q, v, standing, q_began, slopes, values = self._kernel.advance(
            begin.q,
            begin.v,
            np.array([*figures, self.careful, 0.0]),
            *self._laws,
            _METHOD,
            self._options,
            self._functions,
        )
        self._raise()
        time, work, length, usual, self._total, *best, steps = standing[:8].tolist()
        rejected, evaluations, correction, began, last, careful, stuck = standing[8:].tolist()
        self._best = (best[0], best[1])
        self.careful, self.stuck = careful, bool(stuck)
        counters.steps += int(steps)
        counters.rejected += int(rejected)
        counters.evaluations += int(evaluations)
        counters.correction += correction
        if not steps:
            return None
        end = Sample(time, q, v, work)
        return LastStep(end, length, usual, began, last, q_began, values, slopes, standing)

    def sample(self, step: LastStep, t: float, counters: Counters) -> Sample | None:
        """Return the motion within the last step made; None where the kernel cannot compute it."""
        if self._terms is None or self._terms[0] is not step:
            state = (step.q_began, step.values, step.slopes, step.standing, *self._laws)
            terms = self._kernel.step_terms(*state, self._dense, self._functions)
            self._raise()
            if terms is None:
                return None
            counters.evaluations += EXTRA
            self._terms = (step, terms)
        x = np.array([(t - step.began) / step.made])
        state = (step.q_began, self._terms[1], x, step.standing, *self._laws)
        motion = self._kernel.motion_between(*state, self._options, self._functions)
        if motion is None:
            return None
        q, v, (work, correction), multipliers = motion
        counters.correction += correction
        return Sample(t, q, v, float(work), multipliers[len(multipliers) - self._drives :])

    def _raise(self) -> None:
        """Raise the exception that a user's force or motion function has raised."""
        for function in self._called:
            if function.error is not None:
                raise function.error
