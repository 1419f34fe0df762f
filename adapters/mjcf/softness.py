r"""How soft the loops of an MJCF model are, and what keeps them as stiff with fewer rows.

MuJoCo's constraints are springs, and redundant ones are springs side by side: where one of two
connects goes, the loop is half as stiff. With the impedance d and the inertia A that a row sees,
its regularization is :math:`R = A (1 - d) / d`; n equal rows have :math:`R / n` together, as one
row has with :math:`d' = n d / (1 + (n - 1) d)`. What that comes to is measured: both models move
by themselves, and the gaps of their loops are compared.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import mujoco
import numpy as np

from regularize.adapters.common.console import collected
from regularize.adapters.common.write import numbers

#: How long the models move, in s, and in how many steps at most.
DURATION, STEPS = 2.0, 4000
#: How many rows one stands for, and factors of its time constant, that are tried in this order.
TRIED = tuple((2.0, x) for x in (1.0, 0.84, 0.71, 0.59, 0.5, 0.42, 0.35)) + tuple(
    (share, x) for share in (4.0, 16.0) for x in (0.71, 0.5, 0.35)
)
#: The largest impedance that MuJoCo takes, and the shortest time constant in steps.
HARDEST, SHORTEST = 0.9999, 2.0


@dataclass(frozen=True)
class Stiffening:
    """What the rows of a loop get when others go."""

    share: float  # how many rows one stands for
    factor: float  # of the time constant besides

    def attributes(self, solref: Any, solimp: Any, timestep: float) -> dict[str, str]:
        """``solref`` and ``solimp`` of a row that had others."""
        lowest, highest, *rest = (float(x) for x in solimp)
        first, second = (float(x) for x in solref)
        lower, upper = self._impedance(lowest), self._impedance(highest)
        if first > 0.0:
            # Damping goes by the product of impedance and time constant.
            wanted = first * self.factor * highest / upper
            first = min(first, max(wanted, SHORTEST * timestep))
        else:  # stiffness and damping as they are
            first, second = first / self.factor**2, second / self.factor
        return {
            "solref": numbers([float(f"{first:.6g}"), float(f"{second:.6g}")]),
            "solimp": numbers([float(f"{x:.6g}") for x in (lower, upper, *rest)]),
        }

    def _impedance(self, d: float) -> float:
        n = self.share
        return min(n * d / (1.0 + (n - 1.0) * d), max(d, HARDEST))


@dataclass(frozen=True)
class Gaps:
    """How far loops open while a model moves by itself, in m."""

    largest: float  # at worst
    mean: float  # root of the mean square

    def within(self, other: Gaps) -> bool:
        """Whether they are no wider than others."""
        return self.largest <= other.largest and self.mean <= other.mean

    def beside(self, other: Gaps) -> float:
        """How many times wider than others."""
        pairs = ((self.largest, other.largest), (self.mean, other.mean))
        return max(a / b if b > 0.0 else float(np.inf if a > 0.0 else 1.0) for a, b in pairs)


def gaps_of(path: str, fallback: Any = None) -> Gaps | None:
    """Gaps of a model's connects and welds from the pose of the file."""
    with collected() as warnings:
        try:
            model = mujoco.MjModel.from_xml_path(path)
        except (ValueError, mujoco.FatalError):
            if fallback is None:
                return None
            model = fallback
        data, found = mujoco.MjData(model), []
        loops = (int(mujoco.mjtEq.mjEQ_CONNECT), int(mujoco.mjtEq.mjEQ_WELD))
        warnings.clear()
        for _ in range(min(STEPS, round(DURATION / model.opt.timestep))):
            mujoco.mj_step(model, data)
            ids = data.efc_id[: data.ne]
            kinds = model.eq_type[ids]
            # Of six rows of a weld the last three are angles.
            first = np.concatenate([[True], ids[1:] != ids[:-1]]) if len(ids) else ids > 0
            place = np.arange(len(ids)) - np.maximum.accumulate(
                np.where(first, np.arange(len(ids)), 0)
            )
            found.append(np.abs(data.efc_pos[: data.ne][np.isin(kinds, loops) & (place < 3)]))
        if warnings or not np.isfinite(data.qpos).all():
            return None
    each = np.concatenate(found) if found else np.zeros(0)
    if not len(each):
        return None
    return Gaps(float(each.max()), float(np.sqrt(np.mean(each**2))))
