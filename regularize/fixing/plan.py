"""Which joints of a model become what: those that the user names, or those that make it isostatic."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import dataclass

import numpy as np

from regularize.adapters.common.edits import WantedKind
from regularize.adapters.common.patching import Patcher
from regularize.errors import ModelError, UnsupportedExport
from regularize.lie import screw
from regularize.lie.screw import IDENTITY, Array
from regularize.manifold.assembly import with_coordinates
from regularize.model.diagnostic import Diagnostic
from regularize.model.joint import KINDS, joint_screws, perpendiculars
from regularize.model.mechanism import Joint, JointDynamics, Mechanism
from regularize.reduction.reduce import Reduction
from regularize.solving import reduce
from regularize.statics.cures import Cure, cure, cures, of_kind
from regularize.statics.joint_changes import CHOICE, JointChange, Stressed


@dataclass(frozen=True, eq=False)
class FixPlan:
    """What is to be changed, and what is known of the model before.

    Attributes:
        reduction: Of the model as it is.
        wanted: The joints to change, in their order.
        isostatic: Whether nothing may be redundant afterwards, and the motion has to stay.
        findings: What to know about the choice.
    """

    reduction: Reduction
    wanted: tuple[WantedKind, ...]
    isostatic: bool
    findings: tuple[Diagnostic, ...] = ()


def plan(
    mechanism: Mechanism, patcher: Patcher, joints: Mapping[str, str] | Cure | None
) -> FixPlan:
    """The changes for a model.

    Raises:
        ModelError: A joint is unknown, or cannot be made what it should be.
        UnsupportedExport: The file cannot hold any set of joints that makes the model isostatic.
    """
    reduction = reduce(mechanism)
    if isinstance(joints, Cure):
        return FixPlan(reduction, _wanted(mechanism, joints.changes), isostatic=False)
    if joints is not None:
        return FixPlan(reduction, _named(reduction, joints), isostatic=False)
    if not reduction.assembly.closed:
        raise UnsupportedExport(
            "the loops are open, so what is redundant depends on how they are closed; see "
            "`regularize check`"
        )
    if reduction.redundant == 0:
        return FixPlan(reduction, (), isostatic=True)
    kinds = {joint.name: tuple(patcher.kinds(joint)) for joint in mechanism.joints}
    found = _smallest(reduction, kinds)
    if found is None:
        raise UnsupportedExport(_why_not(reduction, kinds))
    return FixPlan(
        reduction, _wanted(mechanism, found.changes), isostatic=True, findings=_evidence(reduction)
    )


def _smallest(reduction: Reduction, kinds: Mapping[str, Collection[str]]) -> Cure | None:
    """The best cure that the file can hold; joints whose data it would lose come last."""
    held = {joint.name for joint in reduction.mechanism.joints if joint.limits is not None}
    for keep in (held, set()) if held else (set(),):
        found = cures(reduction, limit=1, keep=keep, kinds=kinds)
        if found:
            return found[0]
    return None


def _why_not(reduction: Reduction, kinds: Mapping[str, Collection[str]]) -> str:
    """Why there is no way, and the way out."""
    format = reduction.mechanism.format
    free = [name for name, each in kinds.items() if each]
    if not free:
        text = f"this {format} file holds no other kind of joint at any of its loops"
    else:
        text = f"no change of joints that this {format} file can hold makes the model isostatic"
    offered = cures(reduction, limit=1)
    if offered:
        text += f"; in the CAD system or by hand: {offered[0]}"
    return f"{text}; `regularize reduce` writes an isostatic model anew"


def _evidence(reduction: Reduction) -> tuple[Diagnostic, ...]:
    """Say so where redundancy follows from special dimensions."""
    if reduction.remaining == 0:
        return ()
    return (
        Diagnostic(
            "REG307",
            "note",
            f"{reduction.remaining} redundant constraints follow from special dimensions, not from "
            "the directions of axes: that they can go was seen at the configurations visited",
        ),
    )


def _wanted(mechanism: Mechanism, changes: Collection[JointChange]) -> tuple[WantedKind, ...]:
    return tuple(
        WantedKind(mechanism.joint(change.joint), change.after, change.replacement)
        for change in changes
    )


def _named(reduction: Reduction, joints: Mapping[str, str]) -> tuple[WantedKind, ...]:
    """The joints that the user names, made what she says."""
    mechanism = reduction.mechanism
    for name, words in joints.items():
        kind = words.partition(":")[0]
        mechanism.joint(name)
        if kind not in (*KINDS, *CHOICE, "parallel") or kind in ("free", "composite"):
            known = ", ".join(k for k in (*KINDS, *CHOICE, "parallel") if k not in ("free", "composite"))
            raise ModelError(f"joint kind {kind!r} is unknown; known are {', '.join(dict.fromkeys(known.split(', ')))}")
    offered = _offered(reduction, joints)
    return tuple(
        WantedKind(mechanism.joint(name), words.partition(":")[0], replacement)
        for name, words in joints.items()
        for replacement in [offered.get(name) or made(mechanism.joint(name), words)]
        if mechanism.joint(name).kind != words.partition(":")[0]
    )


def _offered(reduction: Reduction, joints: Mapping[str, str]) -> dict[str, Joint]:
    """Replacements of the joints that gain freedoms; those that together cure, where they do."""
    if not reduction.assembly.closed or reduction.redundant == 0:
        return {}
    stressed = Stressed(reduction)
    try:
        options = {name: of_kind(stressed, name, words) for name, words in joints.items()}
    except ModelError:
        return {}
    chosen = {name: each[0].replacement for name, each in options.items()}
    if any(len(each) > 1 for each in options.values()):
        found = cure(reduction, joints)
        if isinstance(found, Cure):
            chosen |= {change.joint: change.replacement for change in found.changes}
    return chosen


def made(joint: Joint, words: str) -> Joint:
    """A joint made another kind, about its own axis, in the same place.

    Args:
        joint: The joint as it is.
        words: The kind; of a helical joint with its pitch in metres per turn, ``helical:0.002``.

    Raises:
        ModelError: The kind needs more than the joint tells.
    """
    from dataclasses import replace

    from regularize.model.joint_motion import joint_position, motion

    kind, _, more = words.partition(":")
    axis, shift = _axis(joint), IDENTITY
    pitch = 0.0
    if kind == "helical":
        try:
            pitch = float(more) / (2 * np.pi)
        except ValueError:
            raise ModelError(
                f"joint {joint.name!r}: a helical joint has a pitch; write helical:METRES_PER_TURN"
            ) from None
    if kind in CHOICE and kind != "universal" or kind == "parallel":
        raise ModelError(f"joint {joint.name!r} is {joint.kind} and cannot be made {kind}")
    second = perpendiculars(axis)[0]
    screws = joint_screws(kind, axis, second, pitch)
    result = replace(
        joint,
        kind=kind,
        screws=screws,
        position=np.zeros(screws.shape[1]),
        T_parent_joint=joint.T_parent_joint @ shift,
        T_child_joint=joint.T_child_joint @ shift,
        limits=None,
        dynamics=JointDynamics(),
    )
    if np.any(joint.position):
        result = replace(result, position=joint_position(result, motion(joint, joint.position)))
    return result


def _axis(joint: Joint) -> Array:
    """The axis of a joint in its frame: its own, or Z where it has none."""
    for column in joint.screws.T:
        if np.any(column[3:]):
            return np.asarray(screw.unit(column[3:])) if joint.kind != "spherical" else np.eye(3)[2]
    for column in joint.screws.T:
        return np.asarray(screw.unit(column[:3]))
    return np.eye(3)[2]
