"""A model as a format can hold it: under names that are allowed there, and with closed loops."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import fields, replace
from pathlib import Path
from typing import Any

from regularize.adapters.common.names import unique
from regularize.adapters.registry import Adapter
from regularize.adapters.urdf.more_loops import CLOSING
from regularize.errors import UnsupportedExport
from regularize.manifold.assembly import assemble, with_coordinates
from regularize.manifold.tolerances import EXACT
from regularize.model.diagnostic import Diagnostic
from regularize.model.mechanism import Mechanism
from regularize.verification.meshes import with_meshes_from


def prepared(
    mechanism: Mechanism, adapter: Adapter, folder: Path
) -> tuple[Mechanism, list[Diagnostic]]:
    """The model with names, meshes and at a pose that a format can hold.

    Args:
        mechanism: The model.
        adapter: The format.
        folder: Where the file will be, from where it refers to meshes.

    Returns:
        The model, and a finding for each name that changes, each shape that is left out and each
        joint that is moved.

    Raises:
        UnsupportedExport: The loops are open, cannot be closed, and the format holds no open ones.
    """
    bodies = _body_names(mechanism, adapter)
    joints = _joint_names(mechanism, adapter, bodies)
    findings = [
        Diagnostic("REG321", "warning", f"{adapter.label}: {what} `{old}` is called `{new}`")
        for what, names in (("body", bodies), ("joint", joints))
        for old, new in names.items()
        if old != new
    ]
    if findings:
        mechanism = renamed(mechanism, bodies, joints)
    mechanism = with_meshes_from(mechanism, adapter, folder, findings)
    if adapter.closed:
        mechanism = _assembled(mechanism, adapter.label, findings)
    return mechanism, findings


def _body_names(mechanism: Mechanism, adapter: Adapter) -> dict[str, str]:
    taken = {body.name for body in mechanism.bodies} | adapter.reserved
    names = {}
    marks = _idle_marks(mechanism) if adapter.name.startswith("urdf") else set()
    for body in mechanism.bodies:
        if body.name in marks:
            new = unique(f"frame_{body.name}", taken)
        elif body.name in adapter.reserved and body.name != mechanism.ground:
            new = unique(f"{body.name}_body", taken)
        else:
            new = body.name
        names[body.name] = new
        taken.add(names[body.name])
    return names


def _idle_marks(mechanism: Mechanism) -> set[str]:
    """Links whose names close a loop in URDF, which something else closes in the model."""
    closed = {frozenset((j.parent, j.child)) for j in mechanism.joints if j.closure}
    names = {body.name for body in mechanism.bodies}
    pairs = (
        (first, f"closing_{match[1]}_2")
        for first in names
        if (match := CLOSING.fullmatch(first)) is not None
    )
    return {
        name
        for pair in pairs
        if {*pair} <= names and frozenset(pair) not in closed
        for name in pair
    }


def _joint_names(
    mechanism: Mechanism, adapter: Adapter, bodies: Mapping[str, str]
) -> dict[str, str]:
    others = {*bodies.values()} | adapter.reserved if adapter.one_namespace else set()
    taken = others | {joint.name for joint in mechanism.joints}
    names = {}
    for joint in mechanism.joints:
        new = unique(f"{joint.name}_joint", taken) if joint.name in others else joint.name
        names[joint.name] = new
        taken.add(new)
    return names


def renamed(
    mechanism: Mechanism, bodies: Mapping[str, str], joints: Mapping[str, str]
) -> Mechanism:
    """The mechanism with other names of its bodies and joints."""
    changes: dict[str, Any] = {
        "ground": bodies[mechanism.ground],
        "bodies": tuple(replace(b, name=bodies[b.name]) for b in mechanism.bodies),
        "joints": tuple(
            replace(j, name=joints[j.name], parent=bodies[j.parent], child=bodies[j.child])
            for j in mechanism.joints
        ),
        "couplings": tuple(
            replace(c, terms=tuple((joints[name], k, value) for name, k, value in c.terms))
            for c in mechanism.couplings
        ),
    }
    for each in fields(mechanism):
        entries = getattr(mechanism, each.name)
        if isinstance(entries, tuple) and entries and hasattr(entries[0], "joint"):
            changes[each.name] = tuple(replace(e, joint=joints[e.joint]) for e in entries)
    return replace(mechanism, **changes)


def _assembled(mechanism: Mechanism, target: str, findings: list[Diagnostic]) -> Mechanism:
    """The mechanism with its loops closed; adds a finding for each joint that moves for that."""
    found = assemble(mechanism)
    translation, rotation = found.worst_before
    if max(translation, rotation) < EXACT.closed:
        return mechanism
    if not found.closed:
        raise UnsupportedExport(
            f"{target} holds no open loops, and those of the model cannot be closed: "
            f"{1e3 * translation:.3g} mm and {rotation:.3g} rad stay open"
        )
    closed = with_coordinates(mechanism, found.q)
    for old, new in zip(mechanism.joints, closed.joints, strict=True):
        if float(abs(new.position - old.position).max(initial=0.0)) > 0.0 and not old.closure:
            findings.append(
                Diagnostic(
                    "REG323",
                    "warning",
                    f"{target}: holds no open loops, so that `{old.name}` is moved to close them",
                    joints=(old.name,),
                )
            )
    return closed
