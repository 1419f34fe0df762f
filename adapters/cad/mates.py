"""CAD mates of one pair of bodies, merged into the joint that they amount to.

A mate is a joint too: coincident planes leave a planar joint, concentric axes a cylindrical one.
Where all freedoms of a mate form a group, the mates together leave the intersection of the
groups, and its algebra is the intersection of their algebras. Mates that form no group (a point in
a plane, a distance, a tangent) stay joints of their own beside the merged one.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from regularize.escape import unique
from regularize.lie import screw, subalgebra
from regularize.lie.arrays import Array
from regularize.lie.motion_type import motion_type
from regularize.lie.screw import inverse, prismatic, revolute, transform
from regularize.mechanism.diagnostic import Diagnostic
from regularize.mechanism.joint import motion, relative_pose
from regularize.mechanism.joint_kinds import joint_screws, perpendiculars
from regularize.mechanism.mechanism import Joint

#: Tolerance of geometric relations between mates: radians, and lengths relative to their spread.
RTOL = 1e-6
NUMBERS = ("no", "one", "two", "three", "four", "five", "six")


def merge(joints: Sequence[Joint], mates: Sequence[str]) -> tuple[list[Joint], list[Diagnostic]]:
    """Merge mates between the same two bodies, and no other joints."""
    chosen = set(mates)
    groups: dict[frozenset[str], list[Joint]] = {}
    for joint in joints:
        if joint.name in chosen:
            groups.setdefault(frozenset((joint.parent, joint.child)), []).append(joint)
    merged: dict[str, Joint] = {}
    dropped: set[str] = set()
    findings: list[Diagnostic] = []
    taken = {joint.name for joint in joints}
    for group in groups.values():
        found = _merge_pair(group, taken)
        if found is None:
            continue
        joint, members, finding = found
        taken.add(joint.name)
        merged[members[0].name] = joint
        dropped.update(member.name for member in members)
        findings.append(finding)
    kept = [merged.get(j.name, j) for j in joints if j.name in merged or j.name not in dropped]
    return kept, findings


def _merge_pair(
    group: Sequence[Joint], taken: set[str]
) -> tuple[Joint, list[Joint], Diagnostic] | None:
    parent = group[0].parent
    poses = [_pose_of_child(joint, parent) for joint in group]
    frames = [j.T_parent_joint if j.parent == parent else j.T_child_joint for j in group]
    center, length = _center_and_length([*(f[:3, 3] for f in frames), *(T[:3, 3] for T in poses)])
    algebra = subalgebra.FULL
    members: list[Joint] = []
    for joint, T in zip(group, poses, strict=True):
        if members and not _same(T, poses[group.index(members[0])], length):
            continue
        space = _algebra(joint, parent, center, length)
        if space is not None:
            algebra = subalgebra.intersection(algebra, space, RTOL)
            members.append(joint)
    if len(members) < 2:
        return None
    T_parent_child = poses[group.index(members[0])]
    name = unique("+".join(member.name for member in members), taken)
    joint = _joint_of(algebra, name, members[0], T_parent_child, center, length)
    return joint, members, _finding(joint, members)


def _pose_of_child(joint: Joint, parent: str) -> Array:
    """The other body seen from ``parent`` at the stored coordinates."""
    T = relative_pose(joint, joint.position)
    return T if joint.parent == parent else inverse(T)


def _center_and_length(points: Sequence[Array]) -> tuple[Array, float]:
    low, high = np.min(points, axis=0), np.max(points, axis=0)
    length = 0.5 * float(np.linalg.norm(high - low))
    return 0.5 * (low + high), length if length > 0.0 else 1.0


def _same(a: Array, b: Array, length: float) -> bool:
    """Whether two mates agree on where the other body is."""
    gap = inverse(a) @ b
    angle = float(np.linalg.norm(screw.log_rotation(gap[:3, :3])))
    return float(np.linalg.norm(gap[:3, 3])) <= 10 * RTOL * length and angle <= 10 * RTOL


def _algebra(joint: Joint, parent: str, center: Array, length: float) -> Array | None:
    """Freedoms of a mate on ``parent``, about the centre, lengths scaled; None if no group."""
    columns = []
    for k in range(joint.freedoms):
        before = np.eye(4) if joint.group else motion(joint, joint.position, k)
        columns.append(screw.adjoint(joint.T_parent_joint @ before) @ joint.screws[:, k])
    screws = np.array(columns).reshape(-1, 6).T
    if joint.parent != parent:
        screws = screw.adjoint(_pose_of_child(joint, parent)) @ screws
    screws = screw.adjoint(transform(None, -center)) @ screws
    screws[:3] /= length
    space = subalgebra.span(screws, RTOL)
    closed = space.shape[1] == joint.freedoms
    return space if closed and subalgebra.lie_closure(space, RTOL).shape == space.shape else None


def _joint_of(
    algebra: Array, name: str, model: Joint, T_parent_child: Array, center: Array, length: float
) -> Joint:
    """The joint that has an algebra as its freedoms, at coordinates zero where the bodies are."""
    motions = motion_type(algebra, RTOL)
    x, y, z = np.eye(3)
    direction = z if motions.direction is None else motions.direction
    pitch = 0.0 if motions.pitch is None else motions.pitch * length
    kind, screws = {
        "immobile": ("fixed", joint_screws("fixed")),
        "revolute": ("revolute", joint_screws("revolute")),
        "helical": ("helical", joint_screws("helical", pitch=pitch)),
        "translation": ("prismatic", joint_screws("prismatic")),
        "cylindrical": ("cylindrical", joint_screws("cylindrical")),
        "spherical": ("spherical", joint_screws("spherical")),
        "planar": ("planar", np.column_stack([prismatic(x), prismatic(y), revolute(z)])),
        "planar with pitch": (
            "composite",
            np.column_stack([prismatic(x), prismatic(y), screw.helical(z, np.zeros(3), pitch)]),
        ),
        "translations in a plane": ("composite", np.column_stack([prismatic(x), prismatic(y)])),
        "spatial translations": ("composite", np.column_stack([*map(prismatic, (x, y, z))])),
        "Schoenflies": ("composite", np.column_stack([*map(prismatic, (x, y, z)), revolute(z)])),
        "full": ("free", joint_screws("free")),
    }[motions.name]
    first, second = perpendiculars(direction)
    point = np.zeros(3) if motions.point is None else motions.point * length
    frame = transform(np.column_stack([first, second, direction]), center + point)
    on_child = inverse(T_parent_child) @ frame
    return replace(
        model,
        name=name,
        kind=kind,
        screws=screws,
        T_parent_joint=frame,
        T_child_joint=on_child,
        position=np.zeros(screws.shape[1]),
        limits=None,
    )


def _finding(joint: Joint, members: Sequence[Joint]) -> Diagnostic:
    rows = sum(6 - member.freedoms for member in members)
    spare = rows - (6 - joint.freedoms)
    what = f"{joint.freedoms}-freedom joint" if joint.kind == "composite" else f"{joint.kind} joint"
    count = NUMBERS[len(members)] if len(members) < len(NUMBERS) else str(len(members))
    names = ", ".join(f"`{member.name}`" for member in members)
    message = (
        f"the {count} mates {names} between `{joint.parent}` and `{joint.child}` "
        f"amount to one {what}"
    )
    if spare:
        verb = "is" if spare == 1 else "are"
        message += f": {spare} of their {rows} equations {verb} written twice"
    return Diagnostic(
        "REG212",
        "warning" if spare else "note",
        message,
        joints=(joint.name,),
        source=joint.source,
        help=(f"replace the mates by one {what}",) if spare else (),
    )
