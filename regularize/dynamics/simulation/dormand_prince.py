"""Steps of the 8(5,3) pair of Dormand and Prince in the compiled kernel.

Coefficients are those of DOP853 (Hairer, Nørsett, Wanner, Solving Ordinary Differential Equations
I, II.5 and II.6). They stand here because SciPy, which has them too, takes longer to load than most
motions take to compute. The kernel makes whole steps as ``Integrator`` does, of robots whose joint
forces it knows, and leaves to it what it cannot do: singular configurations.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial
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


def _rows(width: int, text: str) -> Array:
    """Return rows of numbers, filled up with zeros, shape (rows, width)."""
    rows = [np.array(row.split(), dtype=np.float64) for row in text.split(";")]
    table = np.array([np.pad(row, (0, width - len(row))) for row in rows])
    table.setflags(write=False)
    return table


#: Weights of the slopes for each stage, shape (12, 12).
A = _rows(
    12,
    """
     ;
    0.05260015195876773 ;
    0.0197250569845379 0.0591751709536137 ;
    0.02958758547680685 0 0.08876275643042054 ;
    0.2413651341592667 0 -0.8845494793282861 0.924834003261792 ;
    0.037037037037037035 0 0 0.17082860872947386 0.12546768756682242 ;
    0.037109375 0 0 0.17025221101954405 0.06021653898045596 -0.017578125 ;
    0.03709200011850479 0 0 0.17038392571223998 0.10726203044637328 -0.015319437748624402
    0.008273789163814023 ;
    0.6241109587160757 0 0 -3.3608926294469414 -0.868219346841726 27.59209969944671
    20.154067550477894 -43.48988418106996 ;
    0.47766253643826434 0 0 -2.4881146199716677 -0.590290826836843 21.230051448181193
    15.279233632882423 -33.28821096898486 -0.020331201708508627 ;
    -0.9371424300859873 0 0 5.186372428844064 1.0914373489967295 -8.149787010746927
    -18.52006565999696 22.739487099350505 2.4936055526796523 -3.0467644718982196 ;
    2.273310147516538 0 0 -10.53449546673725 -2.0008720582248625 -17.9589318631188
    27.94888452941996 -2.8589982771350235 -8.87285693353063 12.360567175794303
    0.6433927460157636
    """,
)
#: Weights for the end of the step, shape (12,).
B = _rows(
    12,
    """
    0.054293734116568765 0 0 0 0 4.450312892752409 1.8915178993145003 -5.801203960010585
    0.3111643669578199 -0.1521609496625161 0.20136540080403034 0.04471061572777259
    """,
)[0]
#: Third-order estimate of the error, shape (12,).
E3 = B.copy()
E3[[0, 8, 11]] -= 0.2440944881889764, 0.7338466882816118, 0.022058823529411766
#: Fifth-order estimate of the error, shape (12,).
E5 = _rows(
    12,
    """
    0.01312004499419488 0 0 0 0 -1.2251564463762044 -0.4957589496572502 1.6643771824549864
    -0.35032884874997366 0.3341791187130175 0.08192320648511571 -0.022355307863886294
    """,
)[0]
#: Weights for the further stages of the dense output, shape (3, 16).
A_EXTRA = _rows(
    16,
    """
    0.056167502283047954 0 0 0 0 0 0.25350021021662483 -0.2462390374708025 -0.12419142326381637
    0.15329179827876568 0.00820105229563469 0.007567897660545699 -0.008298 ;
    0.03183464816350214 0 0 0 0 0.028300909672366776 0.053541988307438566 -0.05492374857139099 0
    0 -0.00010834732869724932 0.0003825710908356584 -0.00034046500868740456 0.1413124436746325 ;
    -0.42889630158379194 0 0 0 0 -4.697621415361164 7.683421196062599 4.06898981839711
    0.3567271874552811 0 0 0 -0.0013990241651590145 2.9475147891527724 -9.15095847217987
    """,
)
#: Weights for the last terms of the dense output, shape (4, 16).
D = _rows(
    16,
    """
    -8.428938276109013 0 0 0 0 0.5667149535193777 -3.0689499459498917 2.38466765651207
    2.117034582445028 -0.871391583777973 2.2404374302607883 0.6315787787694688
    -0.08899033645133331 18.148505520854727 -9.194632392478356 -4.436036387594894 ;
    10.427508642579134 0 0 0 0 242.28349177525817 165.20045171727028 -374.5467547226902
    -22.113666853125306 7.733432668472264 -30.674084731089398 -9.332130526430229
    15.697238121770845 -31.139403219565178 -9.35292435884448 35.81684148639408 ;
    19.985053242002433 0 0 0 0 -387.0373087493518 -189.17813819516758 527.8081592054236
    -11.57390253995963 6.8812326946963 -1.0006050966910838 0.7777137798053443 -2.778205752353508
    -60.19669523126412 84.32040550667716 11.99229113618279 ;
    -25.69393346270375 0 0 0 0 -154.18974869023643 -231.5293791760455 357.6391179106141
    93.40532418362432 -37.45832313645163 104.0996495089623 29.8402934266605 -43.53345659001114
    96.32455395918828 -39.17726167561544 -149.72683625798564
    """,
)

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
    """Steps of a robot's motion by the compiled kernel.

    ``options`` are as ``motion.c`` lists them up to those of the joint forces; the first two, which
    say where to stop, are set anew at each call. ``careful`` is 0 where the rows are far from
    dependence; ``stuck`` says that the next step has to be made in Python.
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
