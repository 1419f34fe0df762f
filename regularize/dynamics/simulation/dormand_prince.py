"""The 8(5,3) pair of Dormand and Prince, with dense output of order seven, and its compiled steps.

Hairer, Nørsett, Wanner, Solving Ordinary Differential Equations I, II.5 and II.6; the digits are
those of their program DOP853. SciPy has the same, and takes longer to load than most motions take
to compute.

The compiled kernel makes whole steps, as ``Integrator`` does, of robots whose joint forces it
knows, and leaves to it what it cannot do: singular configurations.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from regularize.dynamics.simulation.all_coordinates import CORRECTED, DEPENDENT, AllCoordinates
from regularize.dynamics.simulation.compiled_functions import CalledBack, MotionCalledBack
from regularize.dynamics.simulation.loads import Laws, joint_laws
from regularize.dynamics.simulation.prescribed import drive_numbers
from regularize.dynamics.simulation.recording import Counters, Sample
from regularize.lie.arrays import Array


def _rows(width: int, text: str) -> Array:
    """Rows of numbers, filled up with zeros, shape (rows, width)."""
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
    27.94888452941996 -2.8589982771350235 -8.87285693353063 12.360567175794303 0.6433927460157636
    """,
)

#: Those for the end of the step, shape (12,).
B = _rows(
    12,
    """
    0.054293734116568765 0 0 0 0 4.450312892752409 1.8915178993145003 -5.801203960010585
    0.3111643669578199 -0.1521609496625161 0.20136540080403034 0.04471061572777259
    """,
)[0]

#: Where the stages are, as parts of the step, shape (12,).
C = _rows(
    12,
    """
    0 0.05260015195876773 0.0789002279381516 0.1183503419072274 0.2816496580927726
    0.3333333333333333 0.25 0.3076923076923077 0.6512820512820513 0.6 0.8571428571428571 1.0
    """,
)[0]

#: Third-order estimate of the error, shape (12,).
E3 = _rows(
    12,
    """
    -0.18980075407240762 0 0 0 0 4.450312892752409 1.8915178993145003 -5.801203960010585
    -0.4226823213237919 -0.1521609496625161 0.20136540080403034 0.02265179219836082
    """,
)[0]

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
    0.03183464816350214 0 0 0 0 0.028300909672366776 0.053541988307438566 -0.05492374857139099 0 0
    -0.00010834732869724932 0.0003825710908356584 -0.00034046500868740456 0.1413124436746325 ;
    -0.42889630158379194 0 0 0 0 -4.697621415361164 7.683421196062599 4.06898981839711
    0.3567271874552811 0 0 0 -0.0013990241651590145 2.9475147891527724 -9.15095847217987
    """,
)

#: Where these are, shape (3,).
C_EXTRA = _rows(
    3,
    """
    0.1 0.2 0.7777777777777778
    """,
)[0]

#: Weights for its last terms, shape (4, 16).
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
class LastStep:
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


class CompiledSteps:
    """Steps of a robot's motion by the compiled kernel.

    Args:
        kernel: The kernel, with rows for the drives behind the others.
        laws: Joint forces, see ``joint_laws``.
        drives: Prescribed motions, see ``drive_numbers``.
        capsules: Functions of both.
        options: As ``motion.c`` lists them up to those of the laws; the first two are those of each
            call.

    Attributes:
        careful: 0 where rows are far from dependence; 1, 2: see ``motion.c``.
        stuck: Whether the next step takes another way.
    """

    def __init__(
        self,
        kernel: Any,
        laws: Laws,
        drives: tuple[Array, Sequence[MotionCalledBack]],
        capsules: Sequence[Any],
        options: Sequence[float],
    ) -> None:
        self._kernel, self._drives, self._functions = kernel, int(drives[0][0]), tuple(capsules)
        self._called: list[CalledBack | MotionCalledBack] = [*drives[1]]
        self._called += [] if laws.called is None else [laws.called]
        forces = laws.joints.ravel(), laws.closing.ravel(), laws.wrenches.ravel()
        self._laws = (*forces, drives[0])
        self._options = np.concatenate([options, [laws.loaded], laws.functions])
        self._dense = np.concatenate([self._options, _DENSE])
        self._terms: tuple[LastStep, Array] | None = None
        self._total, self._best = np.nan, (0.0, 0.0)
        self.careful: float = 0.0
        self.stuck = False

    @classmethod
    def of(
        cls, equations: AllCoordinates, *, rtol: float, atol: float, max_step: float, conserve: bool
    ) -> CompiledSteps | None:
        """Steps of these equations; None where the kernel cannot make them."""
        robot, loads, drives = equations.robot, equations.loads, equations.drives
        laws = joint_laws(loads) if equations.compiled and robot.stepped else None
        if laws is None:
            return None
        kernel = robot.driven_kernel(tuple(drives.velocities.tolist()))
        if kernel is None:
            return None
        passive, driven = robot.passive.joints, len(drives) > 0
        options = [0.0, 0.0, rtol, atol, max_step, conserve and not driven]
        options += [passive.dissipates or driven, loads.slip or passive.slip, equations.closed]
        options += [robot.tolerances.singular, LEAP, DEPENDENT]
        options += [min(CORRECTED, TOLERATED * rtol), TOLERATED]
        motions: tuple[Array, list[MotionCalledBack]] = np.zeros(1), []  # their count
        capsules = [*laws.capsules]
        if driven:
            motions = drive_numbers(drives, capsules)
        made = cls(kernel, laws, motions, capsules, options)
        made.careful = equations.careful
        return made

    def go(
        self,
        begin: tuple[float, Array, Array, float],
        lengths: tuple[float, float],
        stops: tuple[float, float],
        counters: Counters,
    ) -> LastStep | None:
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
        q, v, standing, q_began, slopes, values = self._kernel.advance(
            q, v, standing, *self._laws, _METHOD, self._options, self._functions
        )
        self._raise()
        time, work, length, usual, self._total, *best, steps = standing[:8].tolist()
        rejected, evaluations, correction, began, made, careful, stuck = standing[8:].tolist()
        self._best = (best[0], best[1])
        self.careful, self.stuck = careful, bool(stuck)
        counters.steps += int(steps)
        counters.rejected += int(rejected)
        counters.evaluations += int(evaluations)
        counters.correction += correction
        if not steps:
            return None
        return LastStep(
            q, v, time, work, length, usual, began, made, q_began, values, slopes, standing
        )

    def sample(self, step: LastStep, t: float, counters: Counters) -> Sample | None:
        """The motion within the last of the steps made, by its dense output.

        Returns:
            None where the kernel cannot compute it.
        """
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
        found = self._kernel.motion_between(*state, self._options, self._functions)
        if found is None:
            return None
        q, v, (work, correction), multipliers = found
        counters.correction += correction
        return Sample(t, q, v, float(work), multipliers[len(multipliers) - self._drives :])

    def _raise(self) -> None:
        """Raise what a function of forces or motions raised."""
        for each in self._called:
            if each.error is not None:
                raise each.error
