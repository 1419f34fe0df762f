"""Two mechanisms compared as machines: what of the one is not in the other, datum by datum."""

from __future__ import annotations

import numpy as np

from regularize.model.diagnostic import Diagnostic
from regularize.model.mechanism import Joint, Mechanism
from regularize.reduction.reduce import Reduction
from regularize.verification.bodies import mass_differences, name_differences, shape_differences
from regularize.verification.comparison import Comparison, numbers
from regularize.verification.couplings import coupling_differences, setting_differences
from regularize.verification.drives import actuator_differences
from regularize.verification.joints import freedom_differences, place_differences
from regularize.verification.motions import motion_differences
from regularize.verification.pairing import pair
from regularize.verification.places import Placement


def differences(
    before: Mechanism,
    after: Mechanism,
    *,
    target: str = "the file",
    reduction: Reduction | None = None,
    rtol: float = 1e-9,
) -> list[Diagnostic]:
    """What a mechanism has lost or changed on its way, one finding for each datum.

    Bodies and joints are compared by name, through the rows and halves that writers make of them;
    places and masses in the world at the reference pose, so that frames may lie elsewhere. Loops,
    mobility and redundancy are compared last: where all joints stand where they stood, they are
    the same, and are not computed again.

    Args:
        before: What was meant.
        after: What was read back.
        target: What the findings call ``after``, such as ``URDF``.
        reduction: That of ``before``, if it is known.
        rtol: Differences that count as none: radians, lengths by the size of the mechanism, masses
            and other numbers relative to themselves.

    Returns:
        Findings REG320 (errors: another machine) to REG329.
    """
    at_zero = {joint.name: np.zeros(joint.freedoms) for joint in before.joints}
    places = Placement.of(pair(before, after))
    zeroed = Placement.of(pair(before.with_positions(at_zero), after))
    # Where the joints alone do not tell which of the two poses the file has, its bodies do.
    ways = [(max(each.worst(), rtol), each.apart()) for each in (places, zeroed)]
    lost: list[Diagnostic] = []
    if ways[1] < ways[0]:
        places = zeroed
        lost = [_lost_position(joint, target) for joint in before.joints if np.any(joint.position)]
    comparison = Comparison(places.pairing, places, target, rtol)
    found = [
        *name_differences(comparison),
        *mass_differences(comparison),
        *place_differences(comparison),
        *lost,
        *freedom_differences(comparison),
        *actuator_differences(comparison),
        *coupling_differences(comparison),
        *shape_differences(comparison),
        *setting_differences(comparison),
    ]
    return [*motion_differences(places, before, found, target, reduction), *found]


def _lost_position(joint: Joint, target: str) -> Diagnostic:
    shown = numbers(joint.position)
    message = f"{target}: the stored coordinate of `{joint.name}` is lost ({shown})"
    return Diagnostic("REG323", "warning", message, joints=(joint.name,))
