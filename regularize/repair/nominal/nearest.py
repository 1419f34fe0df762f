r"""The least change of joint places that lets a mechanism move as it nearly does.

Where a singular value of the closure equations is small at the pose, the noise of the geometry may
be all that stops a motion. The candidate motion is followed in small steps, without the equations
that only the noise keeps apart from the others; the closure errors that are left on the way are
what the places of the joints :math:`\delta` have to take away,

.. math:: U_k^T \, (r(q_k) + A_k \delta) = 0, \qquad |\delta| \to \min,

with :math:`U_k` the directions in which no coordinate can close configuration k, and :math:`A_k`
the derivative of its closure errors by the places. Both are improved in turn, first along a short
way, then along longer ones. Singular values of these equations that the errors themselves make
uncertain are left out until the errors are smaller.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from regularize.lie import screw
from regularize.lie.arrays import Array
from regularize.loops.assembly import with_coordinates
from regularize.loops.kinematics import LoopKinematics, sized_loops
from regularize.loops.projection import IMPROVED, Mask, project
from regularize.mechanism.graph import SUBGROUP_KINDS, EdgeId
from regularize.mechanism.graph_building import build
from regularize.mechanism.joint import motion
from regularize.mechanism.mechanism import Mechanism
from regularize.repair.nominal.places import JointPlaces
from regularize.tolerances import EXACT, ROUNDING, UNNOTICED
from regularize.words import SLIGHT


@dataclass(frozen=True, eq=False)
class Nearest:
    """A mechanism with its joints moved.

    Attributes:
        mechanism: The changed mechanism, its coordinates where the loops close.
        moves: Moves of the joints, scaled, shape (12 joints,).
        places: What they refer to.
        error: Largest closure error left at the configurations that were looked at.
    """

    mechanism: Mechanism
    moves: Array
    places: JointPlaces
    error: float

    def too_far(self, near: float) -> bool:
        """Whether errors are left on a way that moves of a size have not taken away.

        Along longer ways the least moves are seldom smaller, and never by a third.
        """
        left = self.error > EXACT.same
        return left and (self.error > near or self.distance > 1.5 * near)

    def by_joint(self, least: float = -1.0) -> dict[str, tuple[float, float]]:
        """By how many metres and radians each joint is moved, those by more than least, scaled."""
        linear, angular = (sizes.tolist() for sizes in self.places.sizes(self.moves))
        names, length = [joint.name for joint in self.places.joints], self.places.loops.length
        return {
            name: (move, turn)
            for name, move, turn in zip(names, linear, angular, strict=True)
            if max(move / length, turn) > least
        }

    @property
    def distance(self) -> float:
        """Largest move of a joint, in sizes or radians."""
        linear, angular = self.places.sizes(self.moves)
        return float(max(linear.max() / self.places.loops.length, angular.max()))


def nearest(
    mechanism: Mechanism,
    edges: tuple[EdgeId, ...],
    q: Array,
    motions: int,
    *,
    aligned: tuple[float, float] | None = None,
    near: float | None = None,
    movable: Mask | None = None,
    stored: bool = True,
    as_placed: bool = False,
    ways: tuple[float, ...] = (0.3, 1.0, 2.0),
    rounds: int = 5,
) -> Nearest:
    """Move the joints of some loops as little as possible so that they have some motions.

    Args:
        mechanism: The mechanism.
        edges: Edges of the loops.
        q: Coordinates of the edges at which the loops are nearly closed, shape (n,).
        motions: Dimension of the motion that is wanted.
        aligned: Make axes of one body parallel first that differ by at most the first, an angle in
            radians, and one axis of parallel ones that are less than the second apart, scaled; and
            move the joints as little as possible from there, so that these stay one.
        near: Largest moves that are of use; longer ways are not followed where those do not do. By
            default all are followed.
        movable: Which moves may be made, in the order of ``Nearest.moves``, shape (12 joints,); by
            default all.
        stored: Whether frames take up what the stored coordinates are off by, where that is little,
            so that these stay as they are.
        as_placed: Whether frames that lie far off along their axes say how large the loops are.
        ways: How far the motion is followed, one after the other, in radians or sizes.
        rounds: Number of improvements on each but the last, which gets up to four times as many.
    """
    loops = sized_loops(build(mechanism, as_placed=as_placed), q, edges)
    places = JointPlaces(loops, loops.state(q))
    free = np.ones(12 * len(places.joints), dtype=bool) if movable is None else movable
    start, ties = places.aligned(*aligned) if aligned else (np.zeros(len(free)), [])
    # Frames that may move at all are turned for that.
    start = start * np.repeat(free.reshape(-1, 6).any(axis=1), 6)
    moves, changed, error = start, places.moved(mechanism, start), np.inf
    for way in ways:
        last, loops = way == ways[-1], _again(loops, changed, as_placed)
        visited = follow(loops, q, motions, far=way)
        least, idle = np.inf, 0
        for k in range(rounds * 4 if last else rounds):
            state = loops.state(visited)
            u, _, _ = np.linalg.svd(loops.residual_jacobian(state) * loops.units)
            left = np.swapaxes(u[:, :, loops.freedoms - motions :], 1, 2)
            missing = (left @ loops.residual(state)[..., None])[..., 0].reshape(-1)
            error = float(np.abs(missing).max(initial=0.0))
            idle = 0 if error < IMPROVED * least else idle + 1
            least = min(error, least)
            # On the last way errors that do not fall any more are what no move takes away.
            if error <= 0.1 * EXACT.closed or (last and idle > 2 and error > EXACT.same):
                break
            along = left[..., : 6 * len(loops.chords)] @ places.derivative(state)
            along = along.reshape(len(missing), -1) * free
            by_frame = along.reshape(len(missing), -1, 2, 3)
            for frames, across in ties:
                own = by_frame[:, frames]
                by_frame[:, frames] += (own.mean(axis=1, keepdims=True) - own) @ across
            # The least move of all is asked for first; what it leaves is taken away from there.
            base = start if k < 2 else moves
            largest = float(np.abs(moves).max()) or error
            clear = min(0.1, max(10.0 * error, 0.1 * ROUNDING / largest))
            wanted = along @ (moves - base) - missing
            moves = base + np.linalg.lstsq(along, wanted, rcond=clear)[0]
            changed = places.moved(mechanism, moves)
            loops = _again(loops, changed, as_placed)
            visited = closest(loops, visited, motions)
        found = Nearest(changed, moves, places, error)
        if near is not None and found.too_far(near):
            break
    closed = _closed_as_stored if stored else _closed
    return Nearest(closed(changed, loops, visited[0]), moves, places, error)


def _closed(mechanism: Mechanism, loops: LoopKinematics, q: Array) -> Mechanism:
    """The mechanism with coordinates q of the loops, shape (n,), as its stored ones."""
    position = np.array(loops.graph.position)
    position[loops.columns] = q
    return with_coordinates(mechanism, position)


def _closed_as_stored(mechanism: Mechanism, loops: LoopKinematics, q: Array) -> Mechanism:
    """The mechanism with loops closed at its stored coordinates, where these are near q (n,).

    Frames on parents take up what the coordinates differ by, which moves no axis.
    """
    position = np.array(loops.graph.position)
    off = np.abs(q - position[loops.columns]) / loops.units
    found = _closed(mechanism, loops, q)
    if not off.max() <= SLIGHT:
        return found
    joints = []
    for new, old in zip(found.joints, mechanism.joints, strict=True):
        if new.kind in SUBGROUP_KINDS and np.any(new.position != old.position):
            shift = motion(old, new.position) @ screw.inverse(motion(old, old.position))
            new = replace(old, T_parent_joint=old.T_parent_joint @ shift)
        joints.append(new)
    return replace(found, joints=tuple(joints))


def _again(loops: LoopKinematics, changed: Mechanism, as_placed: bool) -> LoopKinematics:
    """The same loops of a changed mechanism."""
    graph = build(changed, as_placed=as_placed)
    edges, tree = loops.edges, graph.tree
    return LoopKinematics(graph, edges, tree, length=loops.length, center=loops.center)


def follow(
    loops: LoopKinematics,
    q: Array,
    motions: int,
    *,
    far: float,
    stride: float = 0.1,
    enough: int = 40,
) -> Array:
    """Configurations along candidate motions to either side, shape (N, n).

    A walker stops where another motion begins: what is small there is no noise.

    Args:
        loops: The loops.
        q: Coordinates at which the loops are nearly closed, shape (n,).
        motions: Number of candidate motions, those of the smallest singular values.
        far: How far they are followed, radians or sizes.
        stride: Largest length of a step.
        enough: Number of equations that are asked for along the ways, several times those that a
            special single loop fulfils: 13 for six hinges that are normal and meet in turn.
    """
    rank = loops.freedoms - motions
    here = closest(loops, q[None], motions)
    if not motions:
        return here
    s, basis = _singular(loops, here, rank)
    lowest, found = 0.3 * s[0], [here]
    headings = np.concatenate([basis[0], -basis[0]])
    if motions > 1:
        mixed = np.random.default_rng(0).normal(size=(motions, motions)) @ basis[0]
        headings = np.concatenate([headings, mixed / np.linalg.norm(mixed, axis=1)[:, None]])
    here = np.repeat(here, len(headings), axis=0)
    equations = 6 * len(loops.chords) + len(loops.coupling)
    samples = max(4, enough // (len(headings) * max(1, equations - rank)))
    steps = samples * max(1, int(np.ceil(far / stride / samples)))
    for k in range(1, steps + 1):
        ahead = loops.integrate(here, far / steps * headings * loops.units)
        here = closest(loops, ahead, motions)
        s, near = _singular(loops, here, rank)
        along = np.einsum("nmi,ni->nm", near, headings)
        size = np.linalg.norm(along, axis=1)
        good = (size > 0.5) & (s > lowest)
        here = here[good]
        headings = np.einsum("nm,nmi->ni", along[good] / size[good, None], near[good])
        if k % (steps // samples) == 0:
            found.append(here)
    return np.concatenate(found)


def _singular(loops: LoopKinematics, q: Array, rank: int) -> tuple[Array, Array]:
    """The last singular value that counts, over the largest, and the velocities that are left."""
    rows = loops.residual_jacobian(loops.state(q)) * loops.units
    _, s, vt = np.linalg.svd(rows)
    return s[:, rank - 1] / s[:, 0] if rank else np.ones(len(q)), vt[:, rank:]


def closest(loops: LoopKinematics, q: Array, motions: int) -> Array:
    """Configurations that close all that coordinates can close, shape (N, n)."""
    ranks = np.full(len(q), loops.freedoms - motions)
    return project(loops, q, ranks=ranks, tolerances=replace(EXACT, singular=UNNOTICED), steps=12).q
