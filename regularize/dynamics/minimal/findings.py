"""What should be known of a motion that was simulated in minimal coordinates."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from regularize.dynamics.minimal.engine import Passage
from regularize.lie.screw import Array
from regularize.model.diagnostic import Diagnostic

#: Change of the energy balance from one sample to the next that is a jump: relative to the largest
#: kinetic energy so far, in relative tolerances of the integrator, and at most.
JUMP, LARGEST = 1e4, 1e-2
#: Part of the energy that rounding may change, and what it may change where there is none, in J.
ROUNDING, NOTHING = 1e-10, 1e-12


def passed(passages: Sequence[Passage]) -> tuple[Diagnostic, ...]:
    """What was done at singular configurations."""
    found = []
    decided = [passage.time for passage in passages if passage.decided]
    if decided:
        found.append(
            Diagnostic(
                "REG313",
                "warning",
                "the motion goes straight on at a singular configuration, where it may branch off: "
                + _times(decided),
                help=("stay away from it, or add a part that leads the mechanism through",),
            )
        )
    doubtful = [passage.time for passage in passages if not passage.decided]
    if doubtful:
        found.append(
            Diagnostic(
                "REG314",
                "warning",
                "two motions of the mechanism come so near to each other that rounding decided "
                f"which one was followed: {_times(doubtful)}",
                help=(
                    "if they should cross, write the dimensions with more digits",
                    "if they should not, change the dimensions until they stay apart",
                ),
            )
        )
    return tuple(found)


def jumps(time: Array, balance: Array, kinetic: Array, rtol: float) -> tuple[Diagnostic, ...]:
    """Where the energy balance is not kept.

    Args:
        time: Times in seconds, shape (N,).
        balance: Energy less the work of joint forces in J, shape (N,).
        kinetic: Kinetic energy in J, shape (N,).
        rtol: Relative error per step.
    """
    change = np.abs(np.diff(balance))
    rounding = ROUNDING * float(np.max(np.abs(balance))) + NOTHING
    allowed = rounding + min(JUMP * rtol, LARGEST) * np.maximum.accumulate(kinetic)[1:]
    excess = change - allowed
    if not np.max(excess, initial=0.0) > 0.0:
        return ()
    worst = int(np.argmax(excess))
    return (
        Diagnostic(
            "REG315",
            "warning",
            f"the energy balance jumps by {change[worst]:.2g} J before {time[worst + 1]:.6g} s: "
            "the motion is wrong from there on",
            help=(
                "ask for a smaller relative error: rtol, --rtol",
                "integrate all coordinates: coordinates='all', --coordinates all",
            ),
        ),
    )


def _times(times: Sequence[float]) -> str:
    more = len(times) - 1
    return f"at {times[0]:.4g} s" + (f" and {more} more time{'s' * (more > 1)}" if more else "")
