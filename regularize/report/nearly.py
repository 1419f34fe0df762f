"""What is nearly special: loops and mechanisms that would be if axes were moved by very little."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from regularize.lie import screw, subalgebra
from regularize.lie.arrays import Array
from regularize.lie.motion_type import GeneratedAlgebra, MotionType
from regularize.loops.kinematics import sized_loops
from regularize.mechanism.cycles import MANY_LOOPS, Cycle
from regularize.mechanism.diagnostic import Diagnostic
from regularize.mechanism.graph import Graph
from regularize.mechanism.graph_building import build
from regularize.mechanism.quantity import STIFFNESS
from regularize.reduction.block import Block
from regularize.reduction.mobility import CellMobility
from regularize.repair.nominal.idealise import Candidate, Idealised
from regularize.repair.nominal.nearest import JointPlaces
from regularize.repair.nominal.relations import AxisRelation
from regularize.repair.statics.per_joint import PerJoint, per_joint
from regularize.tolerances import EXACT, RTOL
from regularize.words import LISTED, SLIGHT, counted, degrees, listed, millimetres, names


@dataclass(frozen=True, eq=False)
class NearlySpecial:
    """A loop close to a smaller motion algebra, and the joint furthest from it (rad, m)."""

    cycle: Cycle
    family: MotionType
    joint: str
    angle: float
    distance: float


def nearly_special(
    graph: Graph, part: Block, *, near: float = SLIGHT, rtol: float = RTOL
) -> list[NearlySpecial]:
    """Return loops of a part whose motion algebra is smaller within the tolerance ``near``."""
    result = []
    regular: set[tuple[bytes, tuple[int, ...]]] = set()
    for cycle in part.cycles:
        columns = np.hstack([part.screws[e] for e in cycle.edges])
        counts = tuple(part.screws[e].shape[1] for e in cycle.edges)
        center, length = np.zeros(3), 1.0
        if len(part.cycles) > MANY_LOOPS:
            # Beside many others a loop is small: what is near is told by its own size.
            center, length = _center_and_size(columns)
            columns = _rescaled(columns, center, length)
        key = ((np.round(columns, 9) + 0.0).tobytes(), counts)
        if key in regular:
            continue
        screws = np.split(columns, np.cumsum(counts[:-1]), axis=1)
        dimension = GeneratedAlgebra(columns, rtol).dimension
        candidates = _families(screws, dimension, near, rtol)
        if not candidates:
            regular.add(key)
            continue
        family = min(candidates, key=lambda f: f.dimension)
        named = family.named(near)
        # Axes that meet are off by how far they pass the point, wherever the loop is seen from.
        point = np.zeros(3) if named.point is None else named.point
        basis = np.linalg.qr(_rescaled(family.basis, point, 1.0))[0]
        offsets = [_distance_outside(_rescaled(s, point, 1.0), basis) for s in screws]
        k = int(np.argmax([angle + distance for angle, distance in offsets]))
        result.append(
            NearlySpecial(
                cycle,
                in_world(named, center, length),
                graph.edges[cycle.edges[k]].joint.name,
                offsets[k][0],
                offsets[k][1] * length * part.length,
            )
        )
    return result


def _center_and_size(screws: Array) -> tuple[Array, float]:
    """Return centre and size of a loop from points on its screw axes (6, k)."""
    v, w = screws[:3].T, screws[3:].T
    square = np.sum(w * w, axis=1)
    turns = square > EXACT.closed**2 * np.sum(v * v, axis=1)
    if not turns.any():
        return np.zeros(3), 1.0
    points = screw.cross(w, v)[turns] / square[turns, None]
    center = 0.5 * (points.min(axis=0) + points.max(axis=0))
    return center, float(np.max(np.linalg.norm(points - center, axis=1))) or 1.0


def _rescaled(screws: Array, center: Array, length: float) -> Array:
    """Move screws (6, k) to another centre and divide lengths by another size."""
    linear = screws[:3] + screw.cross(screws[3:].T, center).T
    turns = screws[3:].any(axis=0)
    return np.vstack([np.where(turns, linear / length, linear), screws[3:]])


def _families(
    screws: Sequence[Array], dimension: int, near: float, rtol: float
) -> list[GeneratedAlgebra]:
    """Return smaller algebras that hold every screw of the loop within the tolerance ``near``."""
    every, joints = np.hstack(screws), np.arange(len(screws))
    owner = np.repeat(joints, [columns.shape[1] for columns in screws])
    stays = np.vstack([joints[:, None] != owner, np.full(len(owner), True)])
    rtols = np.append(np.full(len(screws), rtol), near)
    # What screws generate is no smaller than what they span.
    values = np.linalg.svd(every * stays[:, None], compute_uv=False)
    spanned = np.sum(values > rtols[:, None] * np.maximum(values[:, :1], 1.0), axis=1)
    algebras = [
        GeneratedAlgebra(every[:, stays[k]], rtols[k]) for k in np.flatnonzero(spanned < dimension)
    ]
    smaller = [a for a in algebras if 0 < a.dimension < dimension]
    return [a for a in smaller if max(sum(_distance_outside(s, a.basis)) for s in screws) <= near]


def _distance_outside(screws: Array, family: Array) -> tuple[float, float]:
    """Return the angle and relative distance by which a joint lies outside an algebra."""
    outside = subalgebra.residual(family, screws)
    shift, turn = np.linalg.norm(outside.reshape(2, 3, outside.shape[1]), axis=1)
    rotates = screws[3:].any(axis=0)
    # For a translation the linear part is a direction, so what is outside is an angle.
    angle = float(np.max(np.where(rotates, turn, shift), initial=0.0))
    distance = float(np.max(np.where(rotates, shift, 0.0), initial=0.0))
    return angle, distance


def in_world(family: MotionType, center: Array, length: float) -> MotionType:
    """Convert a motion type from scaled coordinates of a part to metres in the world frame."""
    point = None if family.point is None else center + length * family.point
    return replace(family, point=point, pitch=family.pitch and length * family.pitch)


@dataclass(frozen=True)
class BindingJoint:
    """A joint that gives way as a mechanism built as written moves; its share of strain."""

    joint: str
    share: float
    translation: float
    rotation: float
    force: float | None = None
    moment: float | None = None

    def as_dict(self) -> dict[str, Any]:
        """Return the entry of the JSON report."""
        return {
            "joint": self.joint,
            "share": self.share,
            "gives_way": {"translation_m": self.translation, "rotation_rad": self.rotation},
            "force": self.force,
            "moment": self.moment,
        }


def binding_joints(
    meant: Idealised, stiffness: PerJoint | Iterable[PerJoint] | None = None
) -> list[BindingJoint]:
    """Return the joints that bind if the model is built as written, the most strained first."""
    if not meant.changed:
        return []
    springs = None
    if stiffness is not None:
        springs = per_joint(stiffness, STIFFNESS, meant.written.mechanism)
    found: list[BindingJoint] = []
    for cell in meant.reduction.cells:
        names = {meant.reduction.graph.edges[e].joint.name for e in cell.edges}
        if cell.redundant and names & set(meant.moves):
            found += _strain_of_cell(meant, cell, springs)
    return sorted(found, key=lambda each: -each.share)


def _strain_of_cell(
    meant: Idealised, cell: CellMobility, stiffness: Mapping[str, tuple[float, float]] | None
) -> list[BindingJoint]:
    """Return how the joints of one cell give way; equally stiff where none is given."""
    visited, edges = cell.configurations, cell.edges
    # Frames lie where the file has them in both, so that errors are taken at the same points.
    graphs = [build(m, as_placed=True) for m in (meant.mechanism, meant.written.mechanism)]
    moving = sized_loops(graphs[0], visited[0], edges)
    built = sized_loops(graphs[1], visited[0], edges, graphs[0].tree)
    built = built.measured(moving.length, moving.center)
    state = moving.state(visited)
    u, _, _ = np.linalg.svd(moving.residual_jacobian(state) * moving.units)
    dependent_rows = np.swapaxes(u[:, :, cell.generic.rank :], 1, 2)
    misfit = dependent_rows @ built.residual(built.state(visited))[..., None]
    places = JointPlaces(moving, moving.state(visited[:1]), at_origins=True)
    by_places = dependent_rows[..., : 6 * len(moving.chords)] @ places.derivative(state)
    # What is done to a joint's frame on its parent is undone by that on its child.
    by_frame = by_places.reshape(*by_places.shape[:2], len(places.joints), 2, 6)[..., 0, :]
    soft = _compliances([joint.name for joint in places.joints], stiffness, moving.length)
    compliance = np.einsum("naji,ji,nbji->nab", by_frame, soft, by_frame)
    forces = np.linalg.pinv(compliance, rcond=EXACT.singular, hermitian=True) @ misfit
    if not np.allclose(compliance @ forces, misfit, rtol=0.0, atol=0.1 * np.abs(misfit).max()):
        return _strain_of_cell(meant, cell, None)  # what is given leaves directions rigid
    wrenches = np.einsum("naji,na->nji", by_frame, forces[..., 0])
    energies = np.sum(wrenches * soft * wrenches, axis=2)
    if not np.any(energies):
        return []
    shares = energies.sum(axis=0) / energies.sum()
    shifts = _largest_parts(wrenches * soft)
    loads = _largest_parts(wrenches)
    return [
        BindingJoint(
            joint.name,
            float(share),
            float(shift[0] * moving.length),
            float(shift[1]),
            None if stiffness is None else float(load[0] / moving.length),
            None if stiffness is None else float(load[1]),
        )
        for joint, share, shift, load in zip(places.joints, shares, shifts, loads, strict=True)
    ]


def _compliances(
    names: list[str], stiffness: Mapping[str, tuple[float, float]] | None, length: float
) -> Array:
    """Return compliances of joints for scaled wrenches, shape (joints, 6)."""
    if stiffness is None:
        return np.ones((len(names), 6))
    pairs = [stiffness.get(name, (np.inf, np.inf)) for name in names]
    scaled = [(translation * length**2, rotation) for translation, rotation in pairs]
    return 1.0 / np.repeat(scaled, 3, axis=1)


def _largest_parts(twists: Array) -> Array:
    """Return the largest linear and angular part of each joint's twists, shape (joints, 2)."""
    return np.asarray(np.linalg.norm(twists.reshape(*twists.shape[:2], 2, 3), axis=3).max(axis=0))


def as_designed(meant: Idealised, binding: Sequence[BindingJoint]) -> Iterator[Diagnostic]:
    """Yield findings about nearby mechanisms with more motions than the written one."""
    for candidate in meant.undecided:
        if candidate.missed:
            text = f"{_missed(candidate)}: lengths are measured between axes, and whether they are "
            text += "meant to meet there is not decided"
            way = "write the frames where the axes are near each other, or the axes exactly"
        else:
            which = "it" if candidate.motions == 1 else "them"
            why = (
                "was not found nearby" if candidate.searched else "is too far off to be looked for"
            )
            text = f"{counted(candidate.motions, 'motion')} of {names(candidate.joints)} may have "
            text += f"been meant: what forbids {which} is weak (singular values up to "
            text += f"{candidate.size:.1g} of the largest), as noise in the numbers would make it; "
            text += f"the mechanism that was meant {why}"
            way = "look further with --near 0.05, or write the numbers with more digits"
        yield Diagnostic("REG223", "note", text, joints=candidate.joints, help=(way,))
    if not meant.changed:
        return
    mechanism, after = meant.written.mechanism, meant.reduction
    translation, rotation = meant.distance
    joint = max(meant.moves, key=lambda name: sum(meant.moves[name]))
    closed = meant.written.assembly.closed
    same = not closed or meant.written.finite_mobility == after.finite_mobility
    written = _mobility_words(meant.written.finite_mobility) if closed else "its loops stay open"
    provided = "".join(
        f"{_missed(candidate)}; if they are meant to meet there, then "
        for candidate in meant.assumed
    )
    yield Diagnostic(
        "REG219",
        "note" if provided or same else "warning",
        f"as written, {written}; {provided}as designed, with "
        f"joints moved by at most {millimetres(translation)} and {degrees(rotation)}, "
        f"{_mobility_words(after.finite_mobility)}, and {counted(after.redundant, 'equation')} "
        f"{'is' if after.redundant == 1 else 'are'} redundant; `{joint}` is the furthest off",
        joints=tuple(meant.moves),
        source=mechanism.joint(joint).source,
        help=(
            _move_words(meant.moves),
            *(
                f"{relation.kind}: {names(relation.joints)}, missed by {_miss_words(relation)}"
                for relation in meant.relations
            ),
            *(
                f"another mechanism is near as well, with joints moved by at most "
                f"{millimetres(other.distance[0])} and {degrees(other.distance[1])}: mobility "
                f"{other.mobility}, {counted(other.redundant, 'redundant equation')}"
                for other in meant.others
            ),
            *([] if same else [_binding_words(binding)]),
            *(["go on with what was meant: --as-designed"] if after.assembly.closed else []),
        ),
    )


def _missed(candidate: Candidate) -> str:
    """Say by how much axes miss a point in which they may be meant to meet."""
    axes = f"the axes of {names(candidate.joints)} miss one point by {candidate.missed:.1g}"
    return f"{axes} of the distances of their frames from it"


def _move_words(moves: Mapping[str, tuple[float, float]]) -> str:
    """Say by how much every joint is moved, the furthest first."""
    furthest = sorted(moves.items(), key=lambda item: -sum(item[1]))
    phrases = [f"`{name}` {millimetres(move)}, {degrees(turn)}" for name, (move, turn) in furthest]
    rest = [f"{len(phrases) - LISTED} more"] if len(phrases) > LISTED else []
    return f"moved: {'; '.join([*phrases[:LISTED], *rest])}"


def _binding_words(binding: Sequence[BindingJoint]) -> str:
    """Name the joints that bind if the model is built as written, and by how much."""
    if not binding:
        return "built as it is written, it binds unless its joints give way by as much"
    taken, phrases = 0.0, []
    for joint in binding[:LISTED]:
        forced = (
            "" if joint.force is None else f" under {joint.force:.3g} N and {joint.moment:.3g} N m"
        )
        phrases.append(
            f"`{joint.joint}` takes {joint.share:.0%} of the strain and gives way by up to "
            f"{millimetres(joint.translation)} and {degrees(joint.rotation)}{forced}"
        )
        taken += joint.share
        if taken > 0.5:
            break
    springs = "by these stiffnesses" if binding[0].force is not None else "if all are equally stiff"
    return f"built as it is written, its joints bind; {springs}, {listed(phrases)}"


def _mobility_words(finite: int | None) -> str:
    """Put the mobility into words, or say that it is not known."""
    return "whether it moves is undecided" if finite is None else f"the mobility is {finite}"


def _miss_words(relation: AxisRelation) -> str:
    """Return the size by which axes miss a relation, in millimetres and degrees."""
    translation, rotation = relation.translation, relation.rotation
    sizes = [millimetres(translation)] if translation or not rotation else []
    return " and ".join([*sizes, *([degrees(rotation)] if rotation else [])])
