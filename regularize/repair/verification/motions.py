"""Whether two mechanisms have the same loops, mobility and redundancy."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace

import numpy as np

from regularize.errors import ModelError
from regularize.lie.arrays import Array
from regularize.mechanism.diagnostic import Diagnostic
from regularize.mechanism.graph_building import build
from regularize.mechanism.mechanism import Mechanism
from regularize.reduction.reduce import Reduction, reduce
from regularize.repair.verification.pairing import Pairing
from regularize.repair.verification.places import Placement

#: Findings after which the joints can no longer be said to be the same ones.
MOVING = ("REG321", "REG323", "REG327")


def motion_differences(
    places: Placement,
    before: Mechanism,
    found: Sequence[Diagnostic],
    target: str,
    reduction: Reduction | None = None,
) -> Iterator[Diagnostic]:
    """Compare what moves."""
    pairing = places.pairing
    serious = [f for f in found if f.code in MOVING and f.severity != "note"]
    if not serious and _one_to_one(pairing):
        return
    lost = {f.message.split("`")[1] for f in found if f.code == "REG327" and "`" in f.message}
    if lost & {coupling.name for coupling in before.couplings}:
        # What a lost coupling changes is said by that finding.
        kept = tuple(c for c in before.couplings if c.name not in lost)
        before, reduction = replace(before, couplings=kept), None
    shorter = _without_idle_free_joints(before, pairing)
    if shorter is not before:
        before, reduction = shorter, None
    one = reduction if reduction is not None else reduce(before)
    two = reduce(_at_the_same_pose(places, before))
    if not (one.assembly.closed and two.assembly.closed):
        message = f"{target}: loops stay open, so that mobility and redundancy are not compared"
        yield Diagnostic("REG320", "note", message)
        return
    # A weld between bodies of one piece is a loop if the file marks it as closing one.
    welds = [len(reduction.graph.rigid_loops) for reduction in (one, two)]
    for what, a, b in (
        ("independent loops", one.graph.loops + welds[0], two.graph.loops + welds[1]),
        ("mobility", one.mobility, two.mobility),
        (
            "redundant constraint equations",
            one.redundant + 6 * welds[0],
            two.redundant + 6 * welds[1],
        ),
    ):
        if a != b:
            message = f"{target}: {what} {b} instead of {a}: this is another machine"
            yield Diagnostic("REG320", "error", message)


def _without_idle_free_joints(before: Mechanism, pairing: Pairing) -> Mechanism:
    """The first mechanism without free joints that are not in the file and hold nothing together."""
    for joint in before.joints:
        if joint.kind == "free" and not pairing.joints[joint.name]:
            rest = replace(before, joints=tuple(j for j in before.joints if j is not joint))
            try:
                build(rest)
            except ModelError:
                continue
            before = rest
    return before


def _at_the_same_pose(places: Placement, before: Mechanism) -> Mechanism:
    """The second mechanism, with the stored coordinates of the first one if it has lost them."""
    positions: dict[str, Array] = {}
    for joint in before.joints:
        if np.array_equal(joint.position, places.pairing.before.joint(joint.name).position):
            continue
        freedoms = places.pairing.freedoms(joint)
        if len(freedoms) != joint.freedoms:
            continue
        values = joint.position * places.factors(joint)
        for (part, k), value in zip(freedoms, values, strict=True):
            positions.setdefault(part.name, np.zeros(part.freedoms))[k] = value
            slide = places.pairing.slides.get(part.name)
            if slide is not None:
                positions[slide.name] = np.array([value * places.pitch(part.name, slide.name)])
    return places.pairing.after.with_positions(positions)


def _one_to_one(pairing: Pairing) -> bool:
    """Whether each joint is one joint of the same kind, with nothing added."""
    kinds = all(
        len(parts := pairing.joints[joint.name]) == 1
        and parts[0].kind == joint.kind
        and parts[0].name not in pairing.slides
        for joint in pairing.before.joints
    )
    names = {body.name for body in pairing.before.bodies}
    twins = [b for b, of in pairing.bodies.items() if b != of and b != pairing.after.ground]
    if not kinds or twins or names != {*pairing.bodies.values()}:
        return False
    return build(pairing.before).loops == build(pairing.after).loops
