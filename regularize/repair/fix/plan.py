"""Which joints of a model become what: as the user says, or to make it isostatic."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from regularize.adapters.common.edits import SlackLinks, WantedKind, WantedSlack
from regularize.adapters.common.patching import Patcher
from regularize.errors import ModelError, UnsupportedExport
from regularize.lie.screw import inverse, transform
from regularize.mechanism.diagnostic import Diagnostic, Severity
from regularize.mechanism.joint import Joint, axis_and_point, changed_joint
from regularize.mechanism.joint_kinds import HIGHER_PAIRS, joint_screws, perpendiculars
from regularize.mechanism.mechanism import Mechanism
from regularize.reduction.numerical import Numerical
from regularize.reduction.reduce import Reduction, reduce
from regularize.repair.fix.proposals import Kinds, best_held, designed, few
from regularize.repair.fix.superfluous import without, without_idle, without_implied
from regularize.repair.statics.cure import Cure, changed
from regularize.repair.statics.cures import TRIES, changes_to, cure, cures, in_kinds
from regularize.repair.statics.isostatic import ClosureChange, referred, same_motion, slack
from regularize.repair.statics.joint_changes import CLEARANCE, JointChange, with_joints
from regularize.repair.statics.releases import named_releases
from regularize.repair.statics.stress_search import MechanismStress, independent_changes
from regularize.repair.statics.welds import chosen_welds
from regularize.words import LISTED, counted, listed


@dataclass(frozen=True, eq=False)
class FixPlan:
    """The changes that a fix is to make, and the analysis of the model before."""

    reduction: Reduction
    wanted: tuple[WantedKind, ...]
    #: Whether nothing may be redundant afterwards, and the motion has to stay.
    isostatic: bool
    findings: tuple[Diagnostic, ...] = ()
    #: Redundant equations that may stay.
    left: int = 0
    #: Links to put in and closing joints to take out, and the model that comes of it.
    slack: WantedSlack | None = None
    expected: Mechanism | None = None
    #: Whether joints get other places in place of other kinds.
    placed: bool = False

    def in_file(self, model: Mechanism, written: Mechanism) -> FixPlan:
        """Return the plan for a file whose numbers say, literally, a mechanism near the model."""
        if model.joints is written.joints:
            return self

        def placed(new: Joint, name: str) -> Joint:
            joint, letter = model.joint(name), written.joint(name)
            same = np.array_equal(new.position, joint.position)
            moved: dict[str, Any] = {"position": letter.position} if same else {}
            for key in ("T_parent_joint", "T_child_joint"):
                old, other, own = (getattr(each, key) for each in (joint, letter, new))
                # It lies to the letter's frame as the new one lies to the model's.
                moved[key] = other if np.array_equal(old, own) else other @ inverse(old) @ own
            return replace(new, **moved)

        wanted = tuple(
            WantedKind(written.joint(w.joint.name), w.kind, placed(w.replacement, w.joint.name))
            for w in self.wanted
        )
        expected, put = self.expected, self.slack
        if expected is not None:
            own = {joint.name for joint in model.joints}
            joints = (placed(j, j.name) if j.name in own else j for j in expected.joints)
            expected = replace(expected, joints=tuple(joints))
        if put is not None:
            put = replace(put, removed=tuple(written.joint(j.name) for j in put.removed))
        return replace(self, wanted=wanted, expected=expected, slack=put)


def plan(
    mechanism: Mechanism,
    patcher: Patcher,
    joints: Mapping[str, str] | Cure | None,
    *,
    remove: bool = False,
    slack: bool = False,
) -> FixPlan:
    """Plan the changes of a model: as the user says, or to make it isostatic."""
    reduction = reduce(mechanism)
    if isinstance(joints, Cure):
        return as_said(reduction, wanted_kinds(mechanism, joints.changes), isostatic=False)
    if joints is not None:
        return as_said(reduction, named_kinds(reduction, joints), isostatic=False)
    if not reduction.assembly.closed:
        raise UnsupportedExport(
            "the loops are open, so what is redundant depends on how they are closed; see "
            "`regularize check`, or take the gaps up where they are idle: --absorb-gaps"
        )
    smaller, idle = reduction, tuple[Joint, ...]()
    if reduction.idle_rows and (remove or designed(mechanism)):
        smaller, idle = without_idle(reduction, patcher, welds=not remove)
    if not idle:
        return _isostatic_plan(reduction, patcher, remove, slack)
    try:
        planned = _isostatic_plan(smaller, patcher, remove, slack)
    except UnsupportedExport:
        planned = _as_it_is(smaller)
    links = planned.slack or WantedSlack()
    expected = planned.expected or with_joints(
        smaller.mechanism, (wanted.replacement for wanted in planned.wanted)
    )
    links = replace(links, removed=(*idle, *links.removed))
    return replace(planned, reduction=reduction, slack=links, expected=expected)


def _as_it_is(reduction: Reduction) -> FixPlan:
    """Plan no change of kinds, and say how many equations stay redundant (REG202)."""
    left = reduction.redundant
    why = f"no joint that this {reduction.mechanism.format} file can hold takes more away"
    findings = _staying(left, counted(left, "redundant equation"), why)
    return FixPlan(reduction, (), isostatic=True, findings=findings, left=left)


def _staying(
    left: int, equations: str, why: str, severity: Severity = "warning"
) -> tuple[Diagnostic, ...]:
    """Return a finding on equations that stay redundant, if there are any, and why (REG202)."""
    message = f"{equations} {'stays' if left == 1 else 'stay'}: {why}"
    return (Diagnostic("REG202", severity, message),) if left else ()


def _isostatic_plan(reduction: Reduction, patcher: Patcher, remove: bool, slack: bool) -> FixPlan:
    """Plan the changes that make a model isostatic; raises ``UnsupportedExport``."""
    mechanism = reduction.mechanism
    if reduction.redundant == 0:
        return FixPlan(reduction, (), isostatic=True)
    kinds = {joint.name: tuple(patcher.possible(joint)) for joint in mechanism.joints}
    if not reduction.curable:
        raise UnsupportedExport(_why_not(reduction, patcher, kinds, ""))
    planned = _as_designers_do(reduction, patcher, kinds, remove)
    if planned is None and patcher.closures_first:
        # An articulation is left as it is where its loops can do without.
        closing = {j.name: kinds[j.name] if j.closure else () for j in mechanism.joints}
        planned = _by_kinds(reduction, closing)
    planned = planned or _by_kinds(reduction, kinds)
    if planned is None and remove:
        planned = _with_fewer_joints(reduction, patcher, kinds, whole=slack)
    if planned is None and slack:
        planned = _with_slack(reduction, patcher, kinds, remove)
    if planned is not None:
        return planned
    best = best_held(reduction, kinds)
    if best is None:
        raise UnsupportedExport(_why_not(reduction, patcher, kinds, ""))
    wanted, left = wanted_kinds(mechanism, best.changes), best.left
    findings = _staying(
        left,
        f"{left} of {counted(reduction.redundant, 'redundant equation')}",
        f"no standard joint that this {mechanism.format} file can hold takes them away; "
        "`regularize check` names the joints that do, --remove deletes superfluous closing joints, "
        "--slack inserts links",
    )
    return FixPlan(reduction, wanted, isostatic=True, findings=findings, left=left)


def _as_designers_do(
    reduction: Reduction, patcher: Patcher, kinds: Kinds, remove: bool
) -> FixPlan | None:
    """Plan an arrangement that designers have a name for, where they wrote the model."""
    if not designed(reduction.mechanism) or not few(reduction):
        return None
    if remove:
        kinds = {
            joint.name: (*kinds[joint.name], *((CLEARANCE,) if patcher.removable(joint) else ()))
            for joint in reduction.mechanism.joints
        }
    best = best_held(reduction, kinds)
    if best is None or best.arrangement in (None, CLEARANCE):
        return None
    wanted = wanted_kinds(reduction.mechanism, best.changes)
    why = f"{best.arrangement} takes away what binds most; `regularize check` lists changes that "
    equations = counted(best.left, "redundant equation")
    findings = _staying(best.left, equations, f"{why}take more", "note")
    return as_said(reduction, wanted, isostatic=True, findings=findings, left=best.left)


def _by_kinds(reduction: Reduction, kinds: Kinds) -> FixPlan | None:
    """Plan other kinds of joints where they take all redundancy away; joints with limits last."""
    limited = {joint.name for joint in reduction.mechanism.joints if joint.limits is not None}
    for keep in (limited, set()) if limited else (set(),):
        if found := cures(reduction, limit=1, keep=keep, kinds=kinds, tries=TRIES):
            wanted = wanted_kinds(reduction.mechanism, found[0].changes)
            left, seen = reduction.idle_rows, _evidence(reduction)
            return FixPlan(reduction, wanted, isostatic=True, findings=seen, left=left)
    allowed, changes = reduction.remaining + reduction.idle_rows, list[JointChange]()
    if reduction.removed:  # no more stays than what special dimensions make redundant
        changes = gaining_changes(reduction, kinds)
        if not 0 < sum(change.gain for change in changes) <= reduction.redundant:
            return None
        after = reduce(changed(reduction, changes), rtol=reduction.rtol, seed=reduction.seed)
        if not same_motion(after, reduction) or after.redundant > allowed:
            return None
    elif allowed == 0:
        return None
    wanted = wanted_kinds(reduction.mechanism, changes)
    return FixPlan(reduction, wanted, isostatic=True, findings=_special(allowed), left=allowed)


def _with_fewer_joints(
    reduction: Reduction, patcher: Patcher, kinds: Kinds, whole: bool
) -> FixPlan | None:
    """Plan to remove closing joints that others imply, then other kinds: all of it, or a part."""
    smaller, removed = without_implied(reduction, kinds, patcher.removable)
    if not removed:
        return None
    planned = _by_kinds(smaller, kinds) if smaller.redundant else None
    if planned is None and whole and smaller.redundant:
        return None
    planned = planned or _as_it_is(smaller)
    expected = with_joints(smaller.mechanism, (wanted.replacement for wanted in planned.wanted))
    links = WantedSlack(removed=removed)
    return replace(planned, reduction=reduction, slack=links, expected=expected)


def _with_slack(reduction: Reduction, patcher: Patcher, kinds: Kinds, remove: bool) -> FixPlan:
    """Plan slack links where other kinds of joints fail; raises ``UnsupportedExport``."""
    planned, reason = slack_plan(reduction, kinds), ""
    links = planned.slack if planned else None
    if links and links.removed and not remove:
        names = listed([f"`{joint.name}`" for joint in links.removed])
        reason = f"closing joints such as {names} are taken out with --remove alone"
    elif planned and links:
        try:
            patcher.slack(links)
            return planned
        except UnsupportedExport as error:
            reason = str(error)
    raise UnsupportedExport(_why_not(reduction, patcher, kinds, reason))


def _why_not(reduction: Reduction, patcher: Patcher, kinds: Kinds, reason: str) -> str:
    """Return why no change of joints works, and what the user can do instead."""
    format = reduction.mechanism.format
    changeable = [name for name, held in kinds.items() if held]
    if not reduction.curable:
        idle = [j for j in reduction.mechanism.joints if j.repeated or j in reduction.idle_joints]
        said = listed([f"`{joint.name}`" for joint in idle])
        text = f"no other kind of joint takes away what {said} said twice: "
        text += "leave joints out whose bodies others hold together, and make mates one joint"
    elif not changeable:
        text = f"this {format} file holds no other kind of joint at any of its loops"
    else:
        text = f"no change of joints that this {format} file can hold makes the model isostatic"
    if reduction.shaky:
        text += ", for it is shaky: redundant equations hold it to second order, others cannot"
    text += f", and {reason}" if reason else ""
    chosen = cures(reduction, limit=1, tries=TRIES) if reduction.redundant <= LISTED else ()
    text += f"; in the CAD system or by hand: {chosen[0]}" if chosen else ""
    text += f"; {patcher.way_out}" if patcher.way_out else ""
    return (
        f"{text}. More ways: --remove deletes superfluous closing joints, --slack inserts links, "
        "and `regularize reduce` writes an isostatic model anew"
    )


def _evidence(reduction: Reduction) -> tuple[Diagnostic, ...]:
    """Return a note where redundancy depends on the configuration or on special dimensions."""
    if not reduction.held:
        return _seen(reduction.remaining)
    message = (
        "which legs can do without a constraint depends on the configuration: where the "
        "constraints that are left coincide, these joints let go what the original holds"
    )
    return (Diagnostic("REG227", "note", message),)


def _seen(count: int) -> tuple[Diagnostic, ...]:
    """Return a note on redundant equations that were seen numerically and not proved."""
    message = (
        f"{count} redundant constraints follow from special dimensions, not from the directions "
        "of axes: that they can go was seen at the configurations visited"
    )
    return (Diagnostic("REG307", "note", message),) if count else ()


def _special(left: int) -> tuple[Diagnostic, ...]:
    """Return a warning on redundant equations that stay because of special dimensions."""
    why = "special dimensions cause this, not directions of axes, and no joint that this file can "
    return _staying(left, counted(left, "redundant equation"), f"{why}hold takes more away")


def as_said(reduction: Reduction, wanted: Collection[WantedKind], **more: Any) -> FixPlan:
    """Plan joints of other kinds; those that become clearance are taken out."""
    kinds = tuple(each for each in wanted if each.kind != CLEARANCE)
    loose = tuple(each.joint for each in wanted if each.kind == CLEARANCE)
    planned = FixPlan(reduction, kinds, **more)
    if not loose:
        return planned
    mechanism = with_joints(reduction.mechanism, (each.replacement for each in kinds))
    for joint in loose:
        mechanism = without(mechanism, joint)
    return replace(planned, slack=WantedSlack(removed=loose), expected=mechanism)


def wanted_kinds(mechanism: Mechanism, changes: Collection[JointChange]) -> tuple[WantedKind, ...]:
    """Convert joint changes of a mechanism to the wanted kinds that patchers take."""
    return tuple(
        WantedKind(mechanism.joint(change.joint), change.after, change.replacement)
        for change in changes
    )


def named_kinds(reduction: Reduction, joints: Mapping[str, str]) -> tuple[WantedKind, ...]:
    """Return the wanted kinds that a user names, in directions that cure together if some do."""
    mechanism = reduction.mechanism
    kinds = {name: in_kinds(words) for name, words in joints.items()}
    old = {n: mechanism.joint(n) for n in kinds}
    new_kinds = {n: k for n, k in kinds.items() if old[n].kind != k.partition(":")[0]}
    options: dict[str, list[JointChange]] = {}
    for name, kind in new_kinds.items() if reduction.assembly.closed else ():
        try:
            loose = named_releases(reduction, name, kind)
            options[name] = loose or changes_to(reduction, name, kind)
        except ModelError:  # a kind that is no looser one, unless a direction was asked for
            if ":" in kind and not kind.startswith("helical"):
                raise
    chosen = {name: changes[0].replacement for name, changes in options.items()}
    if len(options) == len(new_kinds) and any(len(changes) > 1 for changes in options.values()):
        cured = cure(reduction, new_kinds)
        if isinstance(cured, Cure):
            chosen |= {change.joint: change.replacement for change in cured.changes}
    return tuple(
        WantedKind(old[n], kind.partition(":")[0], chosen.get(n) or _of_another_kind(old[n], kind))
        for n, kind in new_kinds.items()
    )


def _of_another_kind(joint: Joint, words: str) -> Joint:
    """Return the joint as another kind on its axis, as ``helical:0.002`` in metres per turn."""
    kind, _, argument = words.partition(":")
    if kind in ("slotted", *HIGHER_PAIRS):
        raise ModelError(f"joint {joint.name!r} is {joint.kind} and cannot be made {kind}")
    pitch = 0.0
    if kind == "helical":
        try:
            pitch = float(argument) / (2 * np.pi)
        except ValueError:
            raise ModelError(
                f"joint {joint.name!r}: a helical joint has a pitch; write helical:METRES_PER_TURN"
            ) from None
    axis, point = np.eye(3)[2], np.zeros(3)
    if joint.kind not in ("fixed", "spherical", "free"):
        axis, point = axis_and_point(joint)
    screws = joint_screws(kind, axis, perpendiculars(axis)[0], pitch)
    return changed_joint(joint, kind, screws, transform(None, point))


def gaining_changes(reduction: Reduction, kinds: Kinds) -> list[JointChange]:
    """Choose changes by gain, as long as each new freedom takes self-stress away."""
    stress, chosen = MechanismStress.of(reduction), []
    for cell in reduction.curable:
        options = stress.changes(reversed(cell.edges), kinds)
        options.sort(key=lambda option: -option.gain)
        chosen += independent_changes(stress.cell(cell), options)
    return chosen


def slack_plan(reduction: Reduction, kinds: Kinds) -> FixPlan | None:
    """Plan other kinds of joints as far as they help, then links beside closing joints, or none."""
    gaining = gaining_changes(reduction, kinds)
    if sum(change.gain for change in gaining) > reduction.redundant:
        gaining = []
    evidence: tuple[Numerical, ...] = (False, "anyway")
    for changes in (gaining, []) if gaining else ([],):
        changed = with_joints(reduction.mechanism, (each.replacement for each in changes))
        for numerical in evidence:
            options: dict[str, Any] = {"rtol": reduction.rtol, "seed": reduction.seed}
            kept = reduce(changed, keep_cuts=True, numerical=numerical, **options)
            if planned := _planned(reduction, changes, kept):
                return planned
            if kept.remaining == 0:
                break  # there is nothing that numbers alone could tell
    return None


def _planned(
    reduction: Reduction, first: Collection[JointChange], kept: Reduction
) -> FixPlan | None:
    """Plan slack links of a reduction in which some joints have already changed."""
    before, expected = reduction.mechanism, kept.mechanism
    changes = {change.joint: change for change in first}
    slackened, removed = list[ClosureChange](), list[Joint]()
    chosen = chosen_welds(kept)
    for weld in chosen:
        cut = weld.cut.edge.joint
        joint = before.joint(cut.name)
        # A cut joint without rows of its own holds nothing that other joints do not hold.
        idle = len(weld.rows) == (0 if weld.point else cut.freedoms)
        if joint.closure and idle and joint.name not in referred(before):
            removed.append(joint)
            changes.pop(joint.name, None)
        elif weld.implied:
            try:
                expected, change = slack(expected, kept, weld, [])
            except UnsupportedExport:  # inside a joint of several freedoms
                return None
            slackened.append(change)
    for joint in removed:
        expected = without(expected, joint)
    after = reduce(expected, rtol=reduction.rtol, seed=reduction.seed)
    left, same = reduction.remaining, same_motion(after, reduction)
    if not same or after.redundant > left or not (slackened or removed):
        return None
    bodies = {body.name for body in before.bodies}
    links = []
    for change in slackened:
        joints = tuple(expected.joint(name) for name in change.added)
        new = {name for joint in joints for name in (joint.parent, joint.child)} - bodies
        new_bodies = tuple(body for body in expected.bodies if body.name in new)
        old, closing = before.joint(change.joint), expected.joint(change.joint)
        links.append(SlackLinks(old, closing, change.before, new_bodies, joints))
    shares = {}
    for body in before.bodies:
        one, two = body.inertia, expected.body(body.name).inertia
        if one is not None and two is not None and two.mass != one.mass:
            shares[body.name] = two.mass / one.mass
    numerical_rows = sum(weld.cut.numerical.shape[1] for weld in chosen)
    wanted = (
        replace(kind, replacement=expected.joint(kind.joint.name))
        for kind in wanted_kinds(before, changes.values())
    )
    return FixPlan(
        reduction,
        tuple(wanted),
        isostatic=True,
        findings=(*_seen(numerical_rows), *_special(left)),
        left=left,
        slack=WantedSlack(tuple(links), shares, tuple(removed)),
        expected=expected,
    )
