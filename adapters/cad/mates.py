"""Mates of two bodies merged by the algebras of their freedoms; gears and the like as couplings."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import takewhile
from typing import Any

import numpy as np

from regularize.adapters.common.draft import Side, Terms
from regularize.escape import unique
from regularize.lie import screw, subalgebra
from regularize.lie.arrays import Array
from regularize.lie.motion_type import motion_type
from regularize.lie.screw import inverse, prismatic, revolute, transform
from regularize.mechanism.diagnostic import Diagnostic, Source
from regularize.mechanism.joint import Joint, motion, relative_pose
from regularize.mechanism.joint_kinds import joint_screws, perpendiculars

#: Tolerance of geometric relations between mates: radians, and lengths relative to their spread.
RTOL = 1e-6
#: Kinds of joints for motions that have other names.
KINDS = {"immobile": "fixed", "translation": "prismatic", "full": "free"}
NUMBERS = ("no", "one", "two", "three", "four", "five", "six")


def merge(joints: Sequence[Joint], mates: Sequence[str]) -> tuple[list[Joint], list[Diagnostic]]:
    """Merge the joints named in ``mates`` that join the same two bodies; return all joints."""
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
        merger = _merge_pair(group, taken)
        if merger is None:
            continue
        joint, members, finding = merger
        taken.add(joint.name)
        merged[members[0].name] = joint
        dropped.update(member.name for member in members)
        findings.append(finding)
    kept = [merged.get(j.name, j) for j in joints if j.name in merged or j.name not in dropped]
    return kept, findings


def _merge_pair(
    group: Sequence[Joint], taken: set[str]
) -> tuple[Joint, list[Joint], Diagnostic] | None:
    """Return the joint that mates of two bodies amount to, the mates in it, and a finding."""
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
    joint = _joint_of(algebra, name, members, T_parent_child, center, length)
    return joint, members, _finding(joint, members)


def _pose_of_child(joint: Joint, parent: str) -> Array:
    """Return the pose of a joint's other body in ``parent`` at the stored coordinates."""
    T = relative_pose(joint, joint.position)
    return T if joint.parent == parent else inverse(T)


def _center_and_length(points: Sequence[Array]) -> tuple[Array, float]:
    """Return the middle of points and half the diagonal of their box, 1 if they coincide."""
    low, high = np.min(points, axis=0), np.max(points, axis=0)
    length, size = 0.5 * float(np.linalg.norm(high - low)), float(np.abs(points).max())
    # What remains of equal coordinates after a subtraction is no length.
    return 0.5 * (low + high), length if length > RTOL * size else 1.0


def _same(a: Array, b: Array, length: float) -> bool:
    """Whether two poses of one body agree within the tolerance of mates."""
    gap = inverse(a) @ b
    angle = float(np.linalg.norm(screw.log_rotation(gap[:3, :3])))
    return float(np.linalg.norm(gap[:3, 3])) <= 10 * RTOL * length and angle <= 10 * RTOL


def _algebra(joint: Joint, parent: str, center: Array, length: float) -> Array | None:
    """Return the algebra of a mate's freedoms in ``parent``, scaled; None if it is no group."""
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
    algebra: Array,
    name: str,
    members: Sequence[Joint],
    T_parent_child: Array,
    center: Array,
    length: float,
) -> Joint:
    """Return the joint whose freedoms are an algebra, with coordinates zero at this pose."""
    motions = motion_type(algebra, RTOL)
    x, y, z = np.eye(3)
    direction = z if motions.direction is None else motions.direction
    pitch = 0.0 if motions.pitch is None else motions.pitch * length
    slides, turn = [*map(prismatic, (x, y, z))], revolute(z)
    columns = {
        "planar": [*slides[:2], turn],
        "planar with pitch": [*slides[:2], screw.helical(z, np.zeros(3), pitch)],
        "translations in a plane": slides[:2],
        "spatial translations": slides,
        "Schoenflies": [*slides, turn],
    }.get(motions.name)
    if columns is None:
        kind = KINDS.get(motions.name, motions.name)
        screws = joint_screws(kind, pitch=pitch)
    else:
        kind = "planar" if motions.name == "planar" else "composite"
        screws = np.column_stack(columns)
    first, second = perpendiculars(direction)
    point = np.zeros(3) if motions.point is None else motions.point * length
    frame = transform(np.column_stack([first, second, direction]), center + point)
    on_child = inverse(T_parent_child) @ frame
    return replace(
        members[0],
        name=name,
        kind=kind,
        screws=screws,
        T_parent_joint=frame,
        T_child_joint=on_child,
        position=np.zeros(screws.shape[1]),
        limits=None,
        repeated=sum(6 - member.freedoms for member in members) - (6 - screws.shape[1]),
    )


def _finding(joint: Joint, members: Sequence[Joint]) -> Diagnostic:
    """Return the finding that mates amount to one joint, with their superfluous equations."""
    rows, spare = sum(6 - member.freedoms for member in members), joint.repeated
    what = f"{joint.freedoms}-freedom joint" if joint.kind == "composite" else f"{joint.kind} joint"
    count = NUMBERS[len(members)] if len(members) < len(NUMBERS) else str(len(members))
    names = ", ".join(f"`{member.name}`" for member in members)
    message = f"the {count} mates {names} between `{joint.parent}` and `{joint.child}` "
    message += f"amount to one {what}"
    at = (joint.name,), joint.source
    if not spare:
        return Diagnostic("REG212", "note", message, None, *at)
    message += f": {spare} of their {rows} equations {'is' if spare == 1 else 'are'} written twice"
    help = (f"replace the mates by one {what}",)
    return Diagnostic("REG212", "warning", message, None, *at, help)


#: Most joints in a chain between the two bodies of a relation.
LONGEST = 6
#: Most chains tried for one relation.
CHAINS = 200
#: Step of the coordinates at which linearity is checked, in radians and metres.
STEP = 0.05
TOLERANCE = 1e-9
#: How far the cosine of two parallel axes may be from 1.
PARALLEL = 1e-6
#: Number of the freedom that turns, by joint kind.
TURNING = {"revolute": 0, "cylindrical": 1}


@dataclass(frozen=True, eq=False)
class Relation:
    """A gear, rack or screw: one equation between the poses of two bodies."""

    name: str  # name in the user's model
    kind: str  # ``gear``, ``rack`` or ``screw``
    first: Side
    second: Side  # body of frame J: the second gear, the pinion, or the bolt; and frame J on it
    values: tuple[float, ...]  # two radii of gears, radius of a pinion, or pitch, in metres
    source: Source | None = None  # where it stands


Chain = list[tuple[Joint, int]]


def resolve(relation: Relation, joints: Sequence[Joint]) -> Terms | None:
    """Return the terms of a relation's coupling; None if it is linear along no chain of joints."""
    for chain in _chains(relation, joints):
        terms = (_gear_terms if relation.kind == "gear" else _linear_terms)(relation, chain)
        if terms:
            return tuple(terms)
    return None


def _chains(relation: Relation, joints: Sequence[Joint]) -> Iterator[Chain]:
    """Yield chains of (joint, sign) from body I to J, shortest first; +1 is parent to child."""
    import networkx as nx  # needed by relations alone

    graph: Any = nx.MultiGraph()
    for joint in joints:
        graph.add_edge(joint.parent, joint.child, key=joint.name)
    if relation.first[0] not in graph or relation.second[0] not in graph:
        return
    ends = relation.first[0], relation.second[0]
    paths: Any = nx.all_simple_edge_paths(graph, *ends, cutoff=LONGEST)
    named = {joint.name: joint for joint in joints}
    chains = [
        [(named[name], 1 if named[name].parent == start else -1) for start, _, name in path]
        for path, _ in zip(paths, range(CHAINS), strict=False)
    ]
    yield from sorted(chains, key=lambda c: (sum(joint.freedoms for joint, _ in c), len(c)))


def _pose(chain: Chain, q: Array) -> Array:
    """Return the pose (4, 4) of the last body of a chain in its first one at coordinates q."""
    T, start = np.eye(4), 0
    for joint, sign in chain:
        step = relative_pose(joint, q[start : start + joint.freedoms])
        T, start = T @ (step if sign == 1 else inverse(step)), start + joint.freedoms
    return T


def _linear_terms(relation: Relation, chain: Chain) -> list[tuple[str, int, float]] | None:
    """Return (joint, freedom, coefficient) of a relation; None if it is not linear."""
    places = [(joint.name, k) for joint, _ in chain for k in range(joint.freedoms)]
    q0 = np.concatenate([np.zeros(0), *(joint.position for joint, _ in chain)])
    axis = 0 if relation.kind == "rack" else 2

    def value(q: Array) -> Array:
        """Return travel and angle of frame J in frame I, which a rack or screw combines (2,)."""
        T = inverse(relation.first[1]) @ _pose(chain, q) @ relation.second[1]
        return np.array([T[axis, 3], math.atan2(T[1, 0], T[0, 0])])

    rng = np.random.default_rng(0)
    starts = [q0, *(q0 + rng.uniform(-0.5, 0.5, size=len(q0)) for _ in range(3))]
    rows = [_slopes(value, q, relation) for q in starts]
    size = float(np.max(np.abs(rows[0]), initial=0.0))
    if size == 0.0 or any(np.max(np.abs(row - rows[0])) > TOLERANCE * size for row in rows):
        return None
    terms = [
        (*place, float(coefficient))
        for place, coefficient in zip(places, rows[0], strict=True)
        if abs(coefficient) > TOLERANCE * size
    ]
    return terms if len(terms) >= 2 else None


def _slopes(value: Callable[[Array], Array], q: Array, relation: Relation) -> Array:
    """Return the change of the relation per unit of each coordinate, by finite steps."""
    (amount,) = relation.values[:1]
    weights = np.array([1.0, amount] if relation.kind == "rack" else [2 * math.pi, -amount])
    slopes = []
    for direction in np.eye(len(q)):
        change = value(q + STEP * direction) - value(q - STEP * direction)
        change[1] = math.remainder(change[1], 2 * math.pi)
        slopes.append(weights @ change / (2 * STEP))
    return np.array(slopes)


def _gear_terms(relation: Relation, chain: Chain) -> list[tuple[str, int, float]] | None:
    """Return the terms of two gears on parallel axes in one carrier; None for others."""
    if sum(joint.freedoms > 0 for joint, _ in chain) != 2:
        return None
    backwards = [(joint, -sign) for joint, sign in reversed(chain)]
    terms = []
    for (_, T_body_gear), way, radius in zip(
        (relation.first, relation.second), (chain, backwards), relation.values, strict=True
    ):
        fixed = [*takewhile(lambda step: not step[0].freedoms, way)]
        joint, sign = way[len(fixed)]  # the joint on which the gear turns
        k = TURNING.get(joint.kind)
        if k is None:
            return None
        frame = _pose(fixed, np.zeros(0)) @ (
            joint.T_parent_joint if sign == 1 else joint.T_child_joint
        )
        along = float(frame[:3, :3] @ joint.screws[3:, k] @ T_body_gear[:3, 2])
        if abs(abs(along) - 1.0) > PARALLEL:
            return None
        terms.append((joint.name, k, -sign * round(along) * radius))
    return terms
