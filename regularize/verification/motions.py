"""Whether two mechanisms have the same loops, mobility and redundancy."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace

from regularize.model.diagnostic import Diagnostic
from regularize.model.graph_building import build
from regularize.reduction.reduce import Reduction, reduce
from regularize.verification.pairing import Pairing

#: Findings after which the joints can no longer be said to be the same ones.
MOVING = ("REG321", "REG323", "REG327")


def motion_differences(
    pairing: Pairing, found: Sequence[Diagnostic], target: str, reduction: Reduction | None = None
) -> Iterator[Diagnostic]:
    """Compare what moves.

    Joints of the same kind at the same places have the same loops, mobility and redundancy. Where
    there is a difference already, or joints became rows and bodies halves, all are computed.

    Args:
        pairing: The two mechanisms.
        found: What was found about their bodies, joints and couplings.
        target: What findings call the second one.
        reduction: That of the first one, if it is known.
    """
    before, after = pairing.before, pairing.after
    serious = [f for f in found if f.code in MOVING and f.severity != "note"]
    if not serious and _one_to_one(pairing):
        return
    lost = {f.message.split("`")[1] for f in found if f.code == "REG327" and "`" in f.message}
    if lost & {coupling.name for coupling in before.couplings}:
        # What a lost coupling changes is said by that finding.
        kept = tuple(c for c in before.couplings if c.name not in lost)
        before, reduction = replace(before, couplings=kept), None
    one = reduction if reduction is not None else reduce(before)
    two = reduce(after)
    for what, a, b in (
        ("independent loops", one.graph.loops, two.graph.loops),
        ("mobility", one.mobility, two.mobility),
        ("redundant constraint equations", one.redundant, two.redundant),
    ):
        if a != b:
            message = f"{target}: {what} {b} instead of {a}: this is another machine"
            yield Diagnostic("REG320", "error", message)


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
    return kinds and not twins and names == {*pairing.bodies.values()} and _loops(pairing)


def _loops(pairing: Pairing) -> bool:
    return build(pairing.before).loops == build(pairing.after).loops
