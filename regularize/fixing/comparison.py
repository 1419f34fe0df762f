"""What must not differ between a model and the same model with some joints changed."""

from __future__ import annotations

from collections.abc import Sequence

from regularize.adapters.common.edits import WantedKind
from regularize.fixing.plan import FixPlan
from regularize.model.mechanism import Mechanism
from regularize.reduction.reduce import Reduction
from regularize.verification.differences import differences


def unwanted(
    before: Mechanism, after: Mechanism, planned: FixPlan, reduction: Reduction
) -> list[str]:
    """What a changed model has that nobody wanted, or lacks; in words, empty where nothing.

    Args:
        before: The model as it was read.
        after: The changed model, as it was read.
        planned: The change.
        reduction: Of the changed model.
    """
    known = {joint.name for joint in before.joints}
    changed = {each.joint.name for each in planned.wanted}
    concerned = changed | {
        joint.name
        for joint in after.joints
        if joint.name not in known and joint.name.startswith(tuple(f"{name}_" for name in changed))
    }
    # The mobility is compared below. MuJoCo names meshes without the folder that its compiler adds.
    ignored = {"REG320", *(["REG328"] if before.format == "mjcf" else [])}
    wrong = [
        finding.message.removeprefix("the file: ")
        for finding in differences(before, after, reduction=planned.reduction)
        if finding.severity != "note"
        and finding.code not in ignored
        and not (finding.joints and {*finding.joints} <= concerned)
    ]
    wrong += _other_freedoms(after, planned.wanted)
    old = planned.reduction
    if planned.isostatic:
        if reduction.redundant:
            wrong.append(f"{reduction.redundant} constraint equations stay redundant")
        if reduction.mobility != old.mobility:
            wrong.append(f"the mobility is {reduction.mobility} instead of {old.mobility}")
        elif reduction.finite_mobility != old.finite_mobility and old.finite_mobility is not None:
            finite = f"{reduction.finite_mobility} instead of {old.finite_mobility}"
            wrong.append(f"the mobility by finite motions is {finite}")
    return wrong


def _other_freedoms(after: Mechanism, wanted: Sequence[WantedKind]) -> list[str]:
    """Changed joints that have another number of freedoms than they should."""
    wrong = []
    for each in wanted:
        name = each.joint.name
        parts = [j for j in after.joints if j.name == name or j.name in _added(name)]
        freedoms = sum(part.freedoms for part in parts)
        if freedoms != each.replacement.freedoms:
            wrong.append(f"joint `{name}` has {freedoms} freedoms and is not {each.kind}")
    return wrong


def _added(name: str) -> tuple[str, ...]:
    """Names of the joints that a body gets beside one of its joints."""
    return tuple(f"{name}_{what}" for what in ("slide", "turn"))
