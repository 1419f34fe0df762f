"""Which joints of a model become what: as the user says, or to make it isostatic."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import dataclass, replace

import numpy as np

from regularize.adapters.common.edits import WantedKind, WantedSlack
from regularize.adapters.common.patching import Patcher
from regularize.errors import ModelError, UnsupportedExport
from regularize.lie.arrays import Array
from regularize.lie.screw import axis_of, transform, unit
from regularize.mechanism.diagnostic import Diagnostic
from regularize.mechanism.joint import changed_joint
from regularize.mechanism.joint_kinds import HIGHER_PAIRS, joint_screws, perpendiculars
from regularize.mechanism.mechanism import Joint, Mechanism
from regularize.reduction.reduce import Reduction, reduce
from regularize.repair.fix.proposals import best_held
from regularize.repair.fix.provable import provable_changes, without_implied
from regularize.repair.statics.cure import Cure
from regularize.repair.statics.cures import TRIES, cure, cures, in_kinds, of_kind
from regularize.repair.statics.joint_changes import JointChange, Stressed
from regularize.repair.statics.releases import named_releases
from regularize.words import LISTED, counted, listed


def of_another_kind(joint: Joint, words: str) -> Joint:
    """The joint that another one becomes, of a kind such as ``helical:0.002``, metres per turn.

    Raises:
        ModelError: The kind needs more than the joint tells.
    """
    kind, _, more = words.partition(":")
    if kind in ("slotted", *HIGHER_PAIRS):
        raise ModelError(f"joint {joint.name!r} is {joint.kind} and cannot be made {kind}")
    axis, point = _axis(joint)
    screws = joint_screws(kind, axis, perpendiculars(axis)[0], _pitch(joint, kind, more))
    return changed_joint(joint, kind, screws, transform(None, point))


def _pitch(joint: Joint, kind: str, words: str) -> float:
    """Pitch of a helical joint in metres per radian, from metres per turn."""
    if kind != "helical":
        return 0.0
    try:
        return float(words) / (2 * np.pi)
    except ValueError:
        raise ModelError(
            f"joint {joint.name!r}: a helical joint has a pitch; write helical:METRES_PER_TURN"
        ) from None


def _axis(joint: Joint) -> tuple[Array, Array]:
    """Axis and a point of it in the frame of a joint: Z where the joint has none."""
    origin, z = np.zeros(3), np.eye(3)[2]
    if joint.kind in ("fixed", "spherical", "free"):
        return z, origin
    turning = [column for column in joint.screws.T if np.any(column[3:])]
    if not turning:
        return unit(joint.screws[:3, 0]), origin
    axis, point, _ = axis_of(turning[0])
    return axis, origin if point is None else point


@dataclass(frozen=True, eq=False)
class FixPlan:
    """What is to be changed, and what is known of the model before.

    Attributes:
        reduction: Of the model as it is.
        wanted: The joints to change, in their order.
        isostatic: Whether nothing may be redundant afterwards, and the motion has to stay.
        findings: What to know about the choice.
        left: Redundant equations that may stay, for special dimensions make them so.
        slack: Links to put in and closing joints to take out beside these changes.
        expected: The model that the changed files are to hold, where links are put in.
        placed: Whether joints get other places, in place of other kinds.
    """

    reduction: Reduction
    wanted: tuple[WantedKind, ...]
    isostatic: bool
    findings: tuple[Diagnostic, ...] = ()
    left: int = 0
    slack: WantedSlack | None = None
    expected: Mechanism | None = None
    placed: bool = False


def plan(
    mechanism: Mechanism,
    patcher: Patcher,
    joints: Mapping[str, str] | Cure | None,
    *,
    remove: bool = False,
    slack: bool = False,
) -> FixPlan:
    """The changes for a model.

    Closing joints are taken out, and links put in, only where ``remove`` and ``slack`` say so.

    Raises:
        ModelError: A joint is unknown, or cannot be made what it should be.
        UnsupportedExport: The file cannot hold any set of joints that makes the model isostatic.
    """
    reduction = reduce(mechanism)
    if isinstance(joints, Cure):
        return FixPlan(reduction, wanted_kinds(mechanism, joints.changes), isostatic=False)
    if joints is not None:
        return FixPlan(reduction, named_kinds(reduction, joints), isostatic=False)
    if not reduction.assembly.closed:
        raise UnsupportedExport(
            "the loops are open, so what is redundant depends on how they are closed; see "
            "`regularize check`"
        )
    if reduction.redundant == 0:
        return FixPlan(reduction, (), isostatic=True)
    kinds = {joint.name: tuple(patcher.kinds(joint)) for joint in mechanism.joints}
    found = _by_kinds(reduction, kinds)
    if found is not None:
        return found
    removed: tuple[Joint, ...] = ()
    if remove:
        less, removed = without_implied(reduction, kinds, lambda joint: _removable(patcher, joint))
    if removed:
        found = _by_kinds(less, kinds) if less.redundant else FixPlan(less, (), isostatic=True)
        if found is not None:
            wanted = {each.joint.name: each.replacement for each in found.wanted}
            left = tuple(wanted.get(joint.name, joint) for joint in less.mechanism.joints)
            return replace(
                found,
                reduction=reduction,
                slack=WantedSlack(removed=removed),
                expected=replace(less.mechanism, joints=left),
            )
    if slack:
        return _with_slack(reduction, patcher, kinds, remove)
    best = best_held(reduction, kinds)
    if best is None:
        raise UnsupportedExport(_why_not(reduction, patcher, kinds, ""))
    chosen, findings = wanted_kinds(mechanism, best.changes), _partly(reduction, best.left)
    return FixPlan(reduction, chosen, isostatic=True, findings=findings, left=best.left)


def _by_kinds(reduction: Reduction, kinds: Mapping[str, Collection[str]]) -> FixPlan | None:
    """The joints that become other kinds, where these suffice."""
    mechanism = reduction.mechanism
    found = smallest(reduction, kinds)
    if found is not None:
        wanted = wanted_kinds(mechanism, found.changes)
        return FixPlan(reduction, wanted, isostatic=True, findings=_evidence(reduction))
    left = reduction.remaining
    changes = provable_changes(reduction, kinds) if reduction.removed else ()
    if changes is None or (left == 0 and not changes):
        return None
    wanted = wanted_kinds(mechanism, changes)
    return FixPlan(
        reduction, wanted, isostatic=True, findings=_kept(left) if left else (), left=left
    )


def _removable(patcher: Patcher, joint: Joint) -> bool:
    try:
        patcher.slack(WantedSlack(removed=(joint,)))
    except UnsupportedExport:
        return False
    return True


def _with_slack(
    reduction: Reduction, patcher: Patcher, kinds: Mapping[str, Collection[str]], remove: bool
) -> FixPlan:
    """Slack links, where no other kinds of joints do; raises ``UnsupportedExport``."""
    from regularize.repair.fix.slack import slack_plan  # Pinocchio, where no other kinds do

    found, reason = slack_plan(reduction, kinds), ""
    if found is not None and found.wanted.removed and not remove:
        names = listed([f"`{joint.name}`" for joint in found.wanted.removed])
        found, reason = None, f"closing joints such as {names} are taken out with --remove alone"
    if found is not None:
        try:
            patcher.slack(found.wanted)
        except UnsupportedExport as error:
            found, reason = None, str(error)
    if found is None:
        raise UnsupportedExport(_why_not(reduction, patcher, kinds, reason))
    return FixPlan(
        reduction,
        tuple(
            replace(each, replacement=found.expected.joint(each.joint.name))
            for each in wanted_kinds(reduction.mechanism, found.changes)
        ),
        isostatic=True,
        findings=(
            *(_seen(found.numerical) if found.numerical else ()),
            *(_kept(reduction.remaining) if reduction.remaining else ()),
        ),
        left=reduction.remaining,
        slack=found.wanted,
        expected=found.expected,
    )


def smallest(reduction: Reduction, kinds: Mapping[str, Collection[str]]) -> Cure | None:
    """The best cure that the file can hold; joints whose data it would lose come last."""
    held = {joint.name for joint in reduction.mechanism.joints if joint.limits is not None}
    for keep in (held, set()) if held else (set(),):
        found = cures(reduction, limit=1, keep=keep, kinds=kinds, tries=TRIES)
        if found:
            return found[0]
    return None


def _why_not(
    reduction: Reduction, patcher: Patcher, kinds: Mapping[str, Collection[str]], reason: str
) -> str:
    """Why there is no way, and the way out."""
    format = reduction.mechanism.format
    free = [name for name, each in kinds.items() if each]
    if not free:
        text = f"this {format} file holds no other kind of joint at any of its loops"
    else:
        text = f"no change of joints that this {format} file can hold makes the model isostatic"
    if reduction.shaky:
        text += (
            ", for it is shaky: redundant equations hold it to second order, as independent ones "
            "cannot"
        )
    if reason:
        text += f", and {reason}"
    offered = cures(reduction, limit=1, tries=TRIES) if reduction.redundant <= LISTED else ()
    if offered:
        text += f"; in the CAD system or by hand: {offered[0]}"
    if patcher.way_out:
        text += f"; {patcher.way_out}"
    return (
        f"{text}; --remove takes closing joints out that others make superfluous, --slack puts "
        "links in, and `regularize reduce` writes an isostatic model anew"
    )


def _evidence(reduction: Reduction) -> tuple[Diagnostic, ...]:
    """Say so where redundancy follows from special dimensions."""
    if reduction.held:
        return (
            Diagnostic(
                "REG227",
                "note",
                "which legs can do without a constraint depends on the configuration: where the "
                "constraints that are left coincide, these joints let go what the original holds",
            ),
        )
    return _seen(reduction.remaining) if reduction.remaining else ()


def _seen(count: int) -> tuple[Diagnostic, ...]:
    """Say that redundancy was seen and not proved."""
    return (
        Diagnostic(
            "REG307",
            "note",
            f"{count} redundant constraints follow from special dimensions, not from "
            "the directions of axes: that they can go was seen at the configurations visited",
        ),
    )


def _partly(reduction: Reduction, left: int) -> tuple[Diagnostic, ...]:
    """Say what the best change that the file can hold leaves."""
    if not left:
        return ()
    words = (
        f"{left} of {counted(reduction.redundant, 'redundant equation')} "
        f"{'stays' if left == 1 else 'stay'}: standard joints that this "
        f"{reduction.mechanism.format} file can hold take no more away; `regularize check` names "
        "those that do, --remove lets closing joints go that others make superfluous, and --slack "
        "puts links in"
    )
    return (Diagnostic("REG202", "warning", words),)


def _kept(left: int) -> tuple[Diagnostic, ...]:
    """Say what stays redundant."""
    verb = "equation stays, which follows" if left == 1 else "equations stay, which follow"
    return (
        Diagnostic(
            "REG202",
            "warning",
            f"{left} redundant {verb} from special dimensions and not from the directions of axes: "
            "no joint that this file can hold takes it away",
        ),
    )


def wanted_kinds(mechanism: Mechanism, changes: Collection[JointChange]) -> tuple[WantedKind, ...]:
    """Changes as patchers take them."""
    return tuple(
        WantedKind(mechanism.joint(change.joint), change.after, change.replacement)
        for change in changes
    )


def named_kinds(reduction: Reduction, joints: Mapping[str, str]) -> tuple[WantedKind, ...]:
    """The joints that the user names, made what she says."""
    mechanism = reduction.mechanism
    joints = {name: in_kinds(words) for name, words in joints.items()}
    wanted = {
        name: words
        for name, words in joints.items()
        if mechanism.joint(name).kind != words.partition(":")[0]
    }
    offered = _offered(reduction, wanted)
    return tuple(
        WantedKind(
            joint, words.partition(":")[0], offered.get(name) or of_another_kind(joint, words)
        )
        for name, words in wanted.items()
        for joint in [mechanism.joint(name)]
    )


def _offered(reduction: Reduction, joints: Mapping[str, str]) -> dict[str, Joint]:
    """Joints that gain freedoms in their place; those that together cure, where some do."""
    if not joints or not reduction.assembly.closed:
        return {}
    stressed = Stressed.of(reduction)
    options = {}
    for name, words in joints.items():
        try:
            loose = named_releases(reduction, name, words)
            options[name] = loose or of_kind(stressed, name, words)
        except ModelError:
            if ":" in words and not words.startswith("helical"):
                raise
    chosen = {name: each[0].replacement for name, each in options.items()}
    if len(options) == len(joints) and any(len(each) > 1 for each in options.values()):
        found = cure(reduction, joints)
        if isinstance(found, Cure):
            chosen |= {change.joint: change.replacement for change in found.changes}
    return chosen
