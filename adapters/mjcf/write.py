"""Writing MJCF: nested bodies, equality constraints for the loops, a keyframe for the pose."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
from lxml import etree

from regularize.adapters.common.serial import ROUNDING, serial, twin_name
from regularize.adapters.common.write import add, closed_at, numbers, reference_poses, spanning
from regularize.adapters.mjcf.bodies import BodyTree, add_actuator, add_row, find_or_add, place
from regularize.errors import ReadError, UnsupportedExport
from regularize.escape import listed
from regularize.lie.arrays import Array
from regularize.lie.curve import Curve
from regularize.lie.screw import inverse, transform
from regularize.mechanism.diagnostic import Diagnostic
from regularize.mechanism.joint import Joint, motion
from regularize.mechanism.mechanism import Actuator, Coupling, Mechanism

ARM = 0.1  # metres between the two points that close a hinge
#: What ``solref`` and ``solimp`` are where nothing is said.
USUAL = {"solref": [0.02, 1.0], "solimp": [0.9, 0.95, 0.001, 0.5, 2.0]}
#: ``solimp`` between the halves of a body, which are light while what hangs on them may be heavy.
HARD = [0.99, 0.999, 0.001]


def write(mechanism: Mechanism, path: str | os.PathLike[str]) -> tuple[Diagnostic, ...]:
    """Write a mechanism as MJCF."""
    return written(mechanism, "MJCF").save(path)


def written(mechanism: Mechanism, target: str, *, welds: bool = True) -> BodyTree:
    """Return the written file; ``welds=False`` pins closures by connects, as Drake needs."""
    root, found = etree.Element("mujoco", model=mechanism.name), spanning(mechanism)
    tree = BodyTree(target, mechanism, root, turned=found.turned, spanning=found)
    add(root, "compiler", angle="radian", autolimits="true")
    add(root, "option", gravity=mechanism.gravity)
    assets = add(root, "asset")
    tree.add_bodies(add(root, "worldbody"))
    if found.closures:
        _close(tree, welds)
    _couple(tree)
    for (uri, scale), name in tree.meshes.items():
        # Bodies state their mass, so that flat meshes need no volume.
        add(assets, "mesh", name=name, file=uri, scale=scale, inertia="shell")
    if not len(assets):
        root.remove(assets)
    _drive(tree)
    tree.refuse_massless()
    _keep_softness(mechanism, root)
    if any(np.any(joint.position) for joint in found.tree):
        add(add(root, "keyframe"), "key", name="home", qpos=tree.qpos)
    return tree


def _close(tree: BodyTree, welds: bool) -> None:
    """Add the equality constraints that close the loops."""
    still = {joint.name: np.zeros(joint.freedoms) for joint in tree.mechanism.joints}
    zero = tree.mechanism.with_positions(still)
    poses = reference_poses(zero, spanning(zero).tree)
    for joint in tree.cuts:
        tree.force(
            f"for the {joint.kind} closure `{joint.name}`: body `{joint.child}` is cut in "
            f"halves `{joint.child}` and `{twin_name(joint)}`, and "
            f"{'a weld joins' if welds else 'three connects join'} them",
            joint,
        )
        ends = (twin_name(joint), np.eye(4)), (joint.child, np.eye(4))
        if welds:
            _equate(tree, "weld", f"{joint.name}_weld", *ends).set("solimp", numbers(HARD))
        else:
            _pin(tree, f"{joint.name}_weld", *ends)
    cut = {joint.name for joint in tree.cuts}
    for joint in tree.spanning.closures:
        if joint.name in cut:
            continue
        first, second = joint.T_parent_joint, joint.T_child_joint
        if joint.kind == "fixed" and not welds:
            _pin(tree, joint.name, (joint.parent, first), (joint.child, second))
            continue
        tag = "weld" if joint.kind == "fixed" else "connect"
        points = [(joint.name, first, second)]
        if joint.kind == "revolute":
            tree.force(
                f"of five rows: hinge `{joint.name}` is closed by two connects of six rows, one of "
                "them redundant",
                joint,
            )
            [part] = serial(joint)
            axis = part.screws[3:, 0]
            arm = transform(translation=ARM * axis / np.linalg.norm(axis))
            first, second = part.T_parent_joint, part.T_child_joint
            if joint.parent == tree.mechanism.ground and _meet(poses, joint, first, second):
                arm = inverse(arm)  # the ground comes second there, and the hinge is turned round
            points = [(joint.name, first, second), (f"{joint.name}_z", first @ arm, second @ arm)]
        for name, T_parent, T_child in points:
            ends = (joint.parent, T_parent), (joint.child, T_child)
            if tag == "connect" and _meet(poses, joint, T_parent, T_child):
                _connect(tree, name, *ends)
            else:
                _equate(tree, tag, name, *ends)


def _meet(poses: Mapping[str, Array], joint: Joint, T_parent: Array, T_child: Array) -> bool:
    """Return whether two frames on a joint's bodies coincide where all coordinates are zero."""
    apart = poses[joint.parent] @ T_parent - poses[joint.child] @ T_child
    return float(np.max(np.abs(apart[:3, 3]))) < ROUNDING


def _drive(tree: BodyTree) -> None:
    """Add the actuators; a joint that is actuated and has none gets a plain motor."""
    mechanism = tree.mechanism
    motors: dict[str, list[Actuator]] = {}
    for actuator in mechanism.actuators:
        motors.setdefault(actuator.motor or f"/{actuator.name}", []).append(actuator)
    for shared in motors.values():
        coordinates = [tree.coordinates.get((part.joint, part.freedom)) for part in shared]
        kept = [coordinate for coordinate in coordinates if coordinate is not None]
        balls = {part.joint for part in shared if mechanism.joint(part.joint).kind == "spherical"}
        if len(kept) == len(shared) and (not balls or len({w.joint for w in kept}) == 1):
            add_actuator(tree.root, shared, kept, bool(balls))
    named = {actuator.joint for actuator in mechanism.actuators}
    for joint in mechanism.joints:
        freedoms = [tree.coordinates.get((joint.name, k)) for k in range(joint.freedoms)]
        if joint.actuated and joint.name not in named:
            for k, coordinate in enumerate(freedom for freedom in freedoms if freedom):
                ball = joint.kind == "spherical"
                name = coordinate.joint if not ball else f"{joint.name}_{k + 1}"
                effort = None if joint.limits is None else joint.limits.effort
                force = np.inf if effort is None else float(effort[k])
                bounds = (-force, force) if np.isfinite(force) else None
                motor = Actuator(name, joint.name, k, control_range=bounds)
                add_actuator(tree.root, [motor], [coordinate], ball)


def _connect(tree: BodyTree, name: str, *ends: tuple[str, Array]) -> None:
    """Add a <connect> by bodies and an anchor, for points that meet at zero coordinates."""
    first, second = sorted(ends, key=lambda end: end[0] == tree.mechanism.ground)
    other = None if second[0] == tree.mechanism.ground else second[0]
    group = find_or_add(tree.root, "equality")
    add(group, "connect", name=name, body1=first[0], body2=other, anchor=first[1][:3, 3])


def _pin(tree: BodyTree, name: str, *ends: tuple[str, Array]) -> None:
    """Join two bodies rigidly by three connects, for readers without welds."""
    for k, arm in enumerate(ARM * np.eye(3)):
        moved = [(body, T @ transform(translation=arm)) for body, T in ends]
        _connect(tree, name if k == 0 else f"{name}_{k + 1}", *moved)


def _equate(tree: BodyTree, tag: str, name: str, *ends: tuple[str, Array]) -> Any:
    """Add an equality between two sites, and return it."""
    sites = [f"{name}_{k}" for k in (1, 2)]
    for site, (body, T) in zip(sites, ends, strict=True):
        add(tree.elements[body], "site", name=site, **place(T))
    group = find_or_add(tree.root, "equality")
    return add(group, tag, name=name, site1=sites[0], site2=sites[1])


def _couple(tree: BodyTree) -> None:
    """Add the relations between coordinates that are linear, or polynomials of one of them."""
    mechanism = tree.mechanism
    rows: list[tuple[str, Sequence[tuple[str, float]], float]] = [
        (slide, [(slide, 1.0), (hinge, -pitch)], 0.0) for slide, hinge, pitch in tree.pitches
    ]
    for coupling in mechanism.couplings:
        written_terms = [(tree.coordinates.get((j, k)), c) for j, k, c in coupling.terms]
        balls = {name for name, _, _ in coupling.terms if mechanism.joint(name).group}
        terms = [(each.joint, c / each.factor) for each, c in written_terms if each is not None]
        if len(terms) < len(written_terms) or balls or coupling.table:
            continue
        if coupling.curved:
            _add_polynomial(tree, coupling, terms)
            continue
        rows.append((coupling.name, terms, coupling.offset))
    for name, linear, offset in rows:
        add_row(tree.root, find_or_add(tree.root, "equality"), name, linear, offset)


def _add_polynomial(tree: BodyTree, coupling: Coupling, terms: Sequence[tuple[str, float]]) -> None:
    """Add an equality for a coordinate that is a polynomial of one other coordinate."""
    if len(terms) != 2:
        return
    (follower, a), (leader, _) = terms
    name, freedom, b = coupling.terms[1]
    scale = 1.0 / tree.coordinates[name, freedom].factor
    row = Curve.polynomial(coupling.coefficients).along(scale, 0.0, -b / a).about(0.0)
    row[0] += coupling.offset / a
    group = find_or_add(tree.root, "equality")
    add(group, "joint", name=coupling.name, joint1=follower, joint2=leader, polycoef=row)


def _keep_softness(mechanism: Mechanism, root: Any) -> None:
    """Copy ``solref`` and ``solimp`` of the source's constraints to those written for them."""
    if mechanism.format != "mjcf" or mechanism.path is None:
        return
    from regularize.adapters.mjcf.compiled import compiled  # with MuJoCo, which has read the file

    try:
        source = compiled(str(mechanism.path))
    except ReadError:
        return
    m, rows = source.model, source.rows
    numbered = {row.source: i for i, row in enumerate(rows if len(rows) == m.neq else ())}
    for joint in mechanism.joints:
        if joint.source not in numbered:
            continue
        i, own = numbered[joint.source], {joint.name, f"{joint.name}_z", f"{joint.name}_weld"}
        for element in root.iterfind("equality/*"):
            for key, values in (("solref", m.eq_solref[i]), ("solimp", m.eq_solimp[i])):
                if element.get("name") in own and [*values] != USUAL[key]:
                    element.set(key, numbers([*values]))


#: Equations that Drake does not read.
UNREAD = {
    "joint": "relations between joints",
    "tendon": "relations between joints",
    "weld": "welds of sites",
    "connect": "connects of sites",
}


def write_for_drake(mechanism: Mechanism, path: str | os.PathLike[str]) -> tuple[Diagnostic, ...]:
    """Write a mechanism as MJCF for Drake; its zeros are the reference pose."""
    if Path(path).suffix != ".xml":
        raise UnsupportedExport("Drake's parser tells MJCF by its ending: name the file NAME.xml")
    moved = [joint.name for joint in mechanism.joints if np.any(joint.position)]
    mechanism = replace(mechanism, joints=tuple(map(_at_zero, mechanism.joints)))
    # A constraint at the world ends Drake's process.
    mechanism = closed_at(mechanism, lambda j: mechanism.ground not in (j.parent, j.child))
    tree = written(mechanism, "DRAKE", welds=False)
    for servo in tree.root.iterfind("actuator/general"):
        _for_drake(servo)
    lost: dict[str, list[str]] = {}
    for row in tree.root.iterfind("equality/*"):
        if row.tag != "connect" or row.get("site1") is not None:
            lost.setdefault(UNREAD[row.tag], []).append(row.get("name") or row.tag)
    # What MJCF has no words for is left out by its writer, which is another machine as well.
    names = [coupling.name for coupling in mechanism.couplings]
    lost |= {UNREAD["joint"]: names} if names else {}
    if lost:
        what = "; ".join(f"{kind}: {listed(names)}" for kind, names in lost.items())
        raise UnsupportedExport(
            f"Drake's parser passes over {what}; build the plant in Python and add these there, or "
            "export to mjcf for MuJoCo"
        )
    if tree.root.find("equality") is None:
        tree.lose("gets a tree without constraints: the model has no loops", "note")
    if moved:
        tree.lose(
            f"counts coordinates from the pose as drawn: {listed(moved)} are zero there", "note"
        )
    return tree.save(path)


def _for_drake(servo: Any) -> None:
    """Make a position servo of a general actuator, which Drake's parser passes over."""
    control, bias = (
        [float(x) for x in (servo.get(key) or "1").split()] for key in ("gainprm", "biasprm")
    )
    if len(bias) == 3 and bias[1] == -control[0] < 0.0:
        servo.tag = "position"
        for key in ("gainprm", "biasprm", "biastype"):
            del servo.attrib[key]
        servo.set("kp", numbers(control))
        servo.set("kv", numbers([-bias[2]]))


def _at_zero(joint: Joint) -> Joint:
    """Return the joint with zero coordinates at its reference pose; refuse kinds that cannot."""
    if not np.any(joint.position):
        return joint
    q, turned = joint.position, joint.T_parent_joint @ motion(joint, joint.position)
    if joint.freedoms == 1 and joint.kind in ("revolute", "prismatic"):
        limits = joint.limits
        if limits is not None and limits.lower is not None and limits.upper is not None:
            limits = replace(limits, lower=limits.lower - q, upper=limits.upper - q)
        return replace(joint, T_parent_joint=turned, position=np.zeros(1), limits=limits)
    raise UnsupportedExport(
        f"Drake closes loops where all coordinates are zero: those of the {joint.kind} joint "
        f"`{joint.name}` are not; draw the model at zero"
    )
