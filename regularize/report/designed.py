"""What the numbers of a file were meant to be, in words."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from regularize.lie.arrays import Array
from regularize.loops.kinematics import sized_loops
from regularize.mechanism.diagnostic import Diagnostic
from regularize.mechanism.graph_building import build
from regularize.mechanism.quantity import STIFFNESS
from regularize.reduction.mobility import CellMobility
from regularize.repair.nominal.idealise import Idealised
from regularize.repair.nominal.nearest import JointPlaces
from regularize.repair.nominal.relations import AxisRelation
from regularize.repair.statics.per_joint import PerJoint, per_joint
from regularize.tolerances import EXACT
from regularize.words import LISTED, counted, degrees, listed, millimetres, names


@dataclass(frozen=True)
class BindingJoint:
    """How much a joint gives way when a mechanism built as written moves, and its share."""

    joint: str
    share: float
    translation: float
    rotation: float
    force: float | None = None
    moment: float | None = None

    def as_dict(self) -> dict[str, Any]:
        """The entry of the JSON report."""
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
    """Return the strain of the joints of one cell, with equal stiffness where none is given."""
    visited, edges = cell.configurations, cell.edges
    # Frames lie where the file has them in both, so that errors are taken at the same points.
    graphs = [build(each, as_placed=True) for each in (meant.mechanism, meant.written.mechanism)]
    moving = sized_loops(graphs[0], visited[0], edges)
    built = sized_loops(graphs[1], visited[0], edges, graphs[0].tree)
    built = built.measured(moving.length, moving.center)
    state = moving.state(visited)
    u, _, _ = np.linalg.svd(moving.residual_jacobian(state) * moving.units)
    left = np.swapaxes(u[:, :, cell.generic.rank :], 1, 2)
    misfit = left @ built.residual(built.state(visited))[..., None]
    places = JointPlaces(moving, moving.state(visited[:1]), at_origins=True)
    by_places = left[..., : 6 * len(moving.chords)] @ places.derivative(state)
    # What is done to a joint's frame on its parent is undone by that on its child.
    own = by_places.reshape(*by_places.shape[:2], len(places.joints), 2, 6)[..., 0, :]
    soft = _compliances([joint.name for joint in places.joints], stiffness, moving.length)
    compliance = np.einsum("naji,ji,nbji->nab", own, soft, own)
    forces = np.linalg.pinv(compliance, rcond=EXACT.singular, hermitian=True) @ misfit
    if not np.allclose(compliance @ forces, misfit, rtol=0.0, atol=0.1 * np.abs(misfit).max()):
        return _strain_of_cell(meant, cell, None)  # what is given leaves directions rigid
    wrenches = np.einsum("naji,na->nji", own, forces[..., 0])
    energies = np.sum(wrenches * soft * wrenches, axis=2)
    if not np.any(energies):
        return []
    shares = energies.sum(axis=0) / energies.sum()
    ways = _largest_parts(wrenches * soft)
    loads = _largest_parts(wrenches)
    return [
        BindingJoint(
            joint.name,
            float(share),
            float(way[0] * moving.length),
            float(way[1]),
            None if stiffness is None else float(load[0] / moving.length),
            None if stiffness is None else float(load[1]),
        )
        for joint, share, way, load in zip(places.joints, shares, ways, loads, strict=True)
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
    """Yield the findings about mechanisms near the written one that move more freely."""
    for candidate in meant.undecided:
        if candidate.missed:
            yield Diagnostic(
                "REG223",
                "note",
                f"the axes of {names(candidate.joints)} miss one point by {candidate.missed:.1g} "
                "of the distances of their frames from it: lengths are measured between axes, and "
                "whether they are meant to meet there is not decided",
                joints=candidate.joints,
                help=("write the frames where the axes are near each other, or the axes exactly",),
            )
            continue
        one = candidate.motions == 1
        found = "was not found nearby" if candidate.searched else "is too far off to be looked for"
        yield Diagnostic(
            "REG223",
            "note",
            f"{counted(candidate.motions, 'motion')} of {names(candidate.joints)} may have been "
            f"meant: what forbids {'it' if one else 'them'} is weak (singular values up to "
            f"{candidate.size:.1g} of the largest), as noise in the numbers would make it; the "
            f"mechanism that was meant {found}",
            joints=candidate.joints,
            help=("look further with --near 0.05, or write the numbers with more digits",),
        )
    if not meant.changed:
        return
    mechanism, after = meant.written.mechanism, meant.reduction
    translation, rotation = meant.distance
    joint = max(meant.moves, key=lambda name: sum(meant.moves[name]))
    closed = meant.written.assembly.closed
    same = not closed or meant.written.finite_mobility == after.finite_mobility
    written = _mobility_words(meant.written.finite_mobility) if closed else "its loops stay open"
    provided = "".join(
        f"the axes of {names(candidate.joints)} miss one point by {candidate.missed:.1g} of the "
        "distances of their frames from it; if they are meant to meet there, then "
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
            "go on with what was meant: --as-designed",
        ),
    )


def _move_words(moves: Mapping[str, tuple[float, float]]) -> str:
    """Say by how much every joint is moved, the furthest first."""
    furthest = sorted(moves.items(), key=lambda item: -sum(item[1]))
    each = [f"`{name}` {millimetres(move)}, {degrees(turn)}" for name, (move, turn) in furthest]
    more = [f"{len(each) - LISTED} more"] if len(each) > LISTED else []
    return f"moved: {'; '.join([*each[:LISTED], *more])}"


def _binding_words(binding: Sequence[BindingJoint]) -> str:
    """Say which joints bind in what is built as written: those that take most of the strain."""
    if not binding:
        return "built as it is written, it binds unless its joints give way by as much"
    taken, most = 0.0, []
    for each in binding[:LISTED]:
        forced = (
            "" if each.force is None else f" under {each.force:.3g} N and {each.moment:.3g} N m"
        )
        most.append(
            f"`{each.joint}` takes {each.share:.0%} of the strain and gives way by up to "
            f"{millimetres(each.translation)} and {degrees(each.rotation)}{forced}"
        )
        taken += each.share
        if taken > 0.5:
            break
    springs = "by these stiffnesses" if binding[0].force is not None else "if all are equally stiff"
    return f"built as it is written, its joints bind; {springs}, {listed(most)}"


def _mobility_words(finite: int | None) -> str:
    """Say what is known of the mobility."""
    return "whether it moves is undecided" if finite is None else f"the mobility is {finite}"


def _miss_words(relation: AxisRelation) -> str:
    """Say by how much a relation is missed."""
    translation, rotation = relation.translation, relation.rotation
    sizes = [millimetres(translation)] if translation or not rotation else []
    return " and ".join([*sizes, *([degrees(rotation)] if rotation else [])])
