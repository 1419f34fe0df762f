"""Whole steps of an integration by the compiled kernel: stages, projection and energy balance.

It does what ``Integrator`` does, for robots whose joint forces it knows, and leaves to it what it
cannot do: singular configurations. Python functions of forces and motions are called from there.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from regularize.dynamics.all_coordinates import CORRECTED, DEPENDENT, AllCoordinates
from regularize.dynamics.compiled_functions import CalledBack, MotionCalledBack
from regularize.dynamics.dormand_prince import A_EXTRA, C_EXTRA, E3, E5, A, B, D
from regularize.dynamics.loads import Laws, joint_laws
from regularize.dynamics.recording import Counters, Sample
from regularize.lie.screw import Array

#: Fraction of the usual step below which a singular configuration is suspected ahead.
LEAP = 0.05
#: Error of a step, in those that are borne, with which a singular configuration is passed, and with
#: which driven coordinates are where they have to be.
TOLERATED = 1e4
#: Evaluations that the dense output of a step takes.
EXTRA = len(C_EXTRA) + 1

#: Stages, end and both estimates of the error, as ``motion.c`` reads them.
_METHOD = np.concatenate([A.ravel(), B, E5, E3])
#: Further stages and terms of the dense output, as ``between.c`` reads them.
_DENSE = np.concatenate([A_EXTRA.ravel(), D.ravel()])


@dataclass(frozen=True, eq=False, repr=False)
class Marched:
    """Where steps have led, and the last one of them. Arrays are as ``motion.c`` writes them.

    Attributes:
        q: Configuration at its end, shape (nq,).
        v: Velocity there, shape (nv,).
        time: The end in seconds.
        work: Work of the joint forces up to there, in J.
        length: Length in seconds that is proposed for the next step.
        usual: That of usual ones.
        began: Beginning of the last step in seconds.
        made: Its length.
        q_began: Configuration at its beginning.
        values: Tangent step, velocity and work at both its ends, shape (2 (2 nv + 1),).
        slopes: Their derivatives at its stages, shape (12 (2 nv + 1),).
        standing: Figures of the whole motion.
    """

    q: Array
    v: Array
    time: float
    work: float
    length: float
    usual: float
    began: float
    made: float
    q_began: Array
    values: Array
    slopes: Array
    standing: Array


class Marching:
    """Steps of a robot's motion by the compiled kernel.

    Args:
        kernel: The kernel, with rows for the drives behind the others.
        laws: Joint forces, see ``joint_laws``.
        drives: Prescribed motions, see ``drive_numbers``.
        options: As ``motion.c`` lists them up to those of the laws; the first two are those of each
            call.

    Attributes:
        careful: Whether the rows have come so near to dependence that every state is projected.
        stuck: Whether the next step takes another way.
    """

    def __init__(
        self,
        kernel: Any,
        laws: Laws,
        drives: tuple[Array, Sequence[MotionCalledBack]],
        options: Sequence[float],
    ) -> None:
        """Begin without steps."""
        self._kernel, self._drives = kernel, int(drives[0][0])
        self._called: list[CalledBack | MotionCalledBack] = [*drives[1]]
        self._called += [] if laws.called is None else [laws.called]
        forces = laws.joints.ravel(), laws.closing.ravel(), laws.wrenches.ravel()
        self._laws = (*forces, drives[0])
        self._options = np.concatenate([options, [laws.loaded], laws.functions])
        self._dense = np.concatenate([self._options, _DENSE])
        self._terms: tuple[Marched, Array] | None = None
        self._total, self._best = np.nan, (0.0, 0.0)
        self.careful = self.stuck = False

    @classmethod
    def of(
        cls,
        equations: AllCoordinates,
        *,
        rtol: float,
        atol: float,
        max_step: float,
        conserve: bool,
    ) -> Marching | None:
        """Steps of these equations; None where the kernel cannot make them."""
        robot, loads, drives = equations.robot, equations.loads, equations.drives
        laws = joint_laws(loads) if robot.stepped else None
        if laws is None:
            return None
        kernel = robot.driven_kernel(tuple(drives.velocities.tolist()))
        if kernel is None:
            return None
        passive, driven = robot.passive.joints, len(drives) > 0
        options = [0.0, 0.0, rtol, atol, max_step, conserve and not driven]
        options += [passive.dissipates or driven, loads.slip or passive.slip, equations.closed]
        options += [robot.tolerances.singular, LEAP, DEPENDENT, CORRECTED, TOLERATED]
        motions: tuple[Array, list[MotionCalledBack]] = np.zeros(1), []  # their count
        if driven:
            from regularize.dynamics.drive_numbers import drive_numbers  # with their expressions

            motions = drive_numbers(drives)
        made = cls(kernel, laws, motions, options)
        made.careful = equations.careful
        return made

    def go(
        self,
        begin: tuple[float, Array, Array, float],
        lengths: tuple[float, float],
        stops: tuple[float, float],
        counters: Counters,
    ) -> Marched | None:
        """Steps from a time, configuration, velocity and work; None where none could be made.

        Args:
            begin: These.
            lengths: Length of the next step and of usual ones, in seconds.
            stops: The time that no step passes, and that after which no step begins.
            counters: What it has cost, which is counted on.
        """
        time, q, v, work = begin
        self._options[:2] = stops
        standing = np.array(
            [time, work, *lengths, self._total, *self._best, *[0.0] * 6, self.careful, 0.0]
        )
        q, v, standing, q_began, slopes, values = self._kernel.march(
            q, v, standing, *self._laws, _METHOD, self._options
        )
        self._raise()
        time, work, length, usual, self._total, *best, steps = standing[:8].tolist()
        rejected, evaluations, correction, began, made, careful, stuck = standing[8:].tolist()
        self._best = (best[0], best[1])
        self.careful, self.stuck = bool(careful), bool(stuck)
        counters.steps += int(steps)
        counters.rejected += int(rejected)
        counters.evaluations += int(evaluations)
        counters.correction += correction
        if not steps:
            return None
        return Marched(
            q, v, time, work, length, usual, began, made, q_began, values, slopes, standing
        )

    def sample(self, step: Marched, t: float, counters: Counters) -> Sample | None:
        """The motion within the last of the steps made, by its dense output.

        Returns:
            None where the kernel cannot compute it.
        """
        if self._terms is None or self._terms[0] is not step:
            state = (step.q_began, step.values, step.slopes, step.standing, *self._laws)
            terms = self._kernel.step_terms(*state, self._dense)
            self._raise()
            if terms is None:
                return None
            counters.evaluations += EXTRA
            self._terms = (step, terms)
        x = np.array([(t - step.began) / step.made])
        state = (step.q_began, self._terms[1], x, step.standing, *self._laws)
        found = self._kernel.motion_between(*state, self._options)
        if found is None:
            return None
        q, v, (work, correction), multipliers = found
        counters.correction += correction
        return Sample(t, q, v, float(work), multipliers[len(multipliers) - self._drives :])

    def _raise(self) -> None:
        """Raise what a function of forces or motions raised.

        Raises:
            BaseException: That.
        """
        for each in self._called:
            if each.error is not None:
                raise each.error
