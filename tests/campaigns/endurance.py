"""Many checks in one process, and one long simulation: what they add to memory, and what drifts.

python endurance.py --checks 10000 --steps 1000000
"""

from __future__ import annotations

import argparse
import gc
import json
import sys
from dataclasses import dataclass
from pathlib import Path

import numpy as np

import regularize as rg

ASSETS = Path(__file__).resolve().parents[2] / "assets"
#: Bytes that a process may gain once everything that it keeps is there.
GROWTH = 16 * 2**20


@dataclass(frozen=True)
class Endured:
    """What came of it.

    Attributes:
        before: Resident bytes once a tenth is done.
        after: Resident bytes at the end.
        drift: Largest gap of a loop in metres, or radians, and relative change of the energy.
    """

    before: int
    after: int
    drift: tuple[float, float] = (0.0, 0.0)

    @property
    def growth(self) -> int:
        """Bytes gained."""
        return self.after - self.before


def resident() -> int:
    """Bytes that the process has in memory now."""
    gc.collect()
    pages = int(Path("/proc/self/statm").read_text().split()[1])
    return pages * 4096


def checks(count: int, name: str = "planar_fourbar.urdf") -> Endured:
    """Read, analyse and report a model again and again."""
    said = set()
    before = 0
    for k in range(count):
        report = rg.check(rg.load(ASSETS / name), configurations=5)
        found = report.as_dict()
        said.add(json.dumps([found["mobility"], found["diagnostics"]]))
        if k == count // 10:
            before = resident()
    assert len(said) == 1, "the same model, another report"
    return Endured(before, resident())


def steps(count: int, per_second: int = 1000) -> Endured:
    """Let a mechanism swing for that many steps of equal length."""
    reduction = rg.reduce(rg.load(ASSETS / "metamodel" / "swinging_fourbar.urdf"))
    robot = rg.to_pinocchio(reduction)
    before, gap, change, energy = 0, 0.0, 0.0, None
    q, v = robot.q0, np.zeros(robot.model.nv)
    # So many simulations that code is made of the robot within the first tenth.
    done, chunk = 0, max(1, count // 2000)
    while done < count:
        duration = chunk / per_second
        run = rg.simulate(
            robot,
            duration=duration,
            q=q,
            v=v,
            times=[0.0, duration],
            solver=rg.Solver(max_step=1 / per_second),
        )
        q, v = run.q[-1], run.v[-1]
        done += run.steps
        energy = robot.energy(run.q[0], run.v[0]) if energy is None else energy
        gap = max(gap, float(np.max(np.abs(robot.residual(q)))))
        change = max(change, abs(robot.energy(q, v) - energy) / max(1.0, abs(energy)))
        before = before or (resident() if done >= count // 10 else 0)
    return Endured(before, resident(), (gap, change))


def main() -> int:
    """Print both; 1 where memory grew."""
    parser = argparse.ArgumentParser(description=str(__doc__).splitlines()[0])
    parser.add_argument("--checks", type=int, default=10_000)
    parser.add_argument("--steps", type=int, default=1_000_000)
    options = parser.parse_args()
    ended = []
    for count, run in ((options.checks, checks), (options.steps, steps)):
        if count:
            found = run(count)
            ended.append(found)
            print(
                f"{count} {run.__name__}: {found.before / 2**20:.1f} MiB, then "
                f"{found.after / 2**20:.1f} MiB; gap {found.drift[0]:.1e}, energy "
                f"{found.drift[1]:.1e}",
                flush=True,
            )
    return int(any(each.growth > GROWTH for each in ended))


if __name__ == "__main__":
    sys.exit(main())
