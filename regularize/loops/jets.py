r"""Jets: motions as power series of the time, order by order, from brackets of the joint screws.

Along a motion every world screw is carried by the body before it,
:math:`\dot S_i = [V_i, S_i]` with :math:`V_i = \sum_j \pm S_j v_j` over the joints on the way to
it, and the loops stay closed while :math:`\sum_i \pm S_i v_i = 0`. Power series of the velocities
turn both into recursions (Müller 2014, Higher derivatives of the kinematic mapping): at order m the
loops say J v_m + c_m(v_0, …, v_{m-1}) = 0. What every self-stress feels of c_m must vanish.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from regularize.lie import screw
from regularize.lie.curve import TERMS
from regularize.lie.screw import Array
from regularize.loops.kinematics import LoopKinematics
from regularize.loops.second_order import SecondOrder


class Jets:
    """Power series of the motions that begin at a configuration.

    Args:
        loops: Kinematics of the loops.
        q: A closed configuration, shape (n,).
        found: Its infinitesimal motions and forms.
    """

    def __init__(self, loops: LoopKinematics, q: Array, found: SecondOrder) -> None:
        """Take the screws at the configuration."""
        self.loops, self.found = loops, found
        state = loops.state(q)
        self._screws = state.screws[0]
        self._jacobian = loops.jacobian(state)[0] * loops.units
        #: Rows and coordinates of curves, with the Taylor coefficients of their slopes.
        self._slopes = [
            (row, column, curve.about(q[column])[1:] * np.arange(1, TERMS))
            for row, column, curve in loops.curves
        ]

    def remainder(self, series: Sequence[Array]) -> Array:
        """What is left of the closure rates at the first order that a series does not reach, (m,).

        Args:
            series: Coefficients of the scaled velocities, shape (n,) each.
        """
        velocities = [values * self.loops.units for values in series]
        screws, twists, products = [self._screws], [], []
        for k in range(len(series)):
            pairs = [(velocities[a], screws[k - a]) for a in range(k + 1)]
            products.append(np.sum([v[:, None] * S for v, S in pairs], axis=0))
            twists.append(self.loops.carriers @ products[k])
            rates = [screw.bracket(twists[a], screws[k - a]) for a in range(k + 1)]
            screws.append(np.sum(rates, axis=0) / (k + 1))
        last = len(series)
        around = np.sum([velocities[a][:, None] * screws[last - a] for a in range(last)], axis=0)
        rows = self.loops.incidence @ self.loops.scaled(around)
        coupled = np.zeros(len(self.loops.coupling))
        for row, column, slopes in self._slopes:
            speeds = np.array([values[column] for values in velocities])
            way = np.append(0.0, speeds / np.arange(1, last + 1))
            slope, power = np.zeros(last + 1), np.eye(last + 1)[0]
            for coefficient in slopes:
                slope, power = slope + coefficient * power, np.convolve(power, way)[: last + 1]
            coupled[row] = slope[:0:-1] @ speeds
        return np.concatenate([rows.ravel(), coupled])

    def ends_at(self, direction: Array, tolerance: float, highest: int = 6) -> int | None:
        """The order at which no jet goes on that begins along an infinitesimal motion.

        Args:
            direction: Unit vector in the basis of infinitesimal motions at which every form is
                zero, shape (k,); none but its multiples near it may be such.
            tolerance: Largest error that is rounding, relative to the terms that make it up.
            highest: Order up to which the series is looked at.

        Returns:
            None where the jet goes on up to the highest order that is looked at, or where others
            may begin along the same motion.
        """
        motions, stresses = self.found.motions, self.found.states
        series = [motions @ direction]
        for order in range(3, highest + 1):
            # The infinitesimal motion in the last coefficient is free, and its effect is linear.
            series.append(-np.linalg.lstsq(self._jacobian, self.remainder(series))[0])
            left = self.remainder(series)
            error, size = stresses.T @ left, 1.0 + float(np.max(np.abs(left), initial=0.0))
            effect = np.array(
                [
                    stresses.T @ self.remainder([*series[:-1], series[-1] + motion]) - error
                    for motion in motions.T
                ]
            ).T
            u, s, vt = np.linalg.svd(effect, full_matrices=False)
            felt = int(np.sum(s > self.found.level))
            if felt < len(direction) - 1:
                return None
            shift = -vt[:felt].T @ ((u[:, :felt].T @ error) / s[:felt])
            if np.max(np.abs(error + effect @ shift), initial=0.0) > tolerance * size:
                return order
            series[-1] = series[-1] + motions @ shift
        return None
