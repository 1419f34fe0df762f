"""Branches: the motions that meet at one configuration, each from a configuration on it.

Their tangents are among the infinitesimal motions at which all forms of second order vanish. From
these, and from any others, short steps are taken back onto the loops. What they come to is on a
branch if it can be drawn back to the configuration by halves.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from regularize.lie.arrays import Array, Coordinates, Indices, Mask, Rates, read_only
from regularize.loops.finite import EVIDENCE, LocalBranch, LocalMobility, finite_mobility, follows
from regularize.loops.kinematics import LoopKinematics
from regularize.loops.projection import retracted
from regularize.loops.second_order import (
    Jets,
    cone,
    definite,
    second_order,
    second_orders,
    vanishing_spaces,
)
from regularize.loops.touching import TangentCurve
from regularize.tolerances import EXACT, Tolerances


@dataclass(frozen=True, eq=False)
class BranchTangent:
    """The tangent of a branch near the branch point, and a configuration farther along it."""

    far: Coordinates
    away: float  # scaled distance of the far configuration from the branch point
    rank: int  # of the closure equations at the far configuration
    near: Coordinates  # half of the way back, or half of that, as near as the branch is clear
    way: Rates  # scaled direction from the branch point to the near configuration
    tangent: Array  # orthonormal basis of the velocities on the branch there, (n, k)

    @property
    def freedoms(self) -> int:
        """Number of the freedoms of motions on the branch."""
        return int(self.tangent.shape[1])


def grouped(tangents: Sequence[BranchTangent], bent: float = 0.1) -> list[list[BranchTangent]]:
    """Group tangents that belong to one branch: equal rank, and directions that nearly agree."""
    if not tangents:
        return []
    ways, spaces = np.array([t.way for t in tangents]), [t.tangent for t in tangents]
    aside = np.array([np.linalg.norm(ways - ways @ T @ T.T, axis=1) for T in spaces])
    rank, freedoms, away = np.array([(t.rank, t.freedoms, t.away) for t in tangents]).T
    alike = (rank[:, None] == rank) & (aside <= bent)
    # Too near the branch point more seems to move than does: a tangent is left out that lies
    # straight ahead of a farther one with fewer freedoms.
    behind = alike & (freedoms[:, None] < freedoms) & (away[:, None] > away)
    near = alike & alike.T & (freedoms[:, None] == freedoms)
    groups, waiting = [], [int(i) for i in np.flatnonzero(~behind.any(axis=0))]
    while waiting:
        group, new = [], [waiting.pop(0)]
        while new:
            a = new.pop()
            group.append(tangents[a])
            # Tangents may turn by more, for those seen from nearby differ less than they do.
            joins = [
                near[a, b]
                and np.linalg.norm(spaces[a] - spaces[b] @ (spaces[b].T @ spaces[a]), 2) <= 3 * bent
                for b in waiting
            ]
            new += [b for b, joined in zip(waiting, joins, strict=True) if joined]
            waiting = [b for b, joined in zip(waiting, joins, strict=True) if not joined]
        groups.append(group)
    return groups


def within(tangent: BranchTangent, larger: Sequence[BranchTangent], bent: float = 0.1) -> bool:
    """Return whether a tangent lies inside of another one that has more freedoms."""
    spaces, way = [t.tangent for t in larger if t.freedoms > tangent.freedoms], tangent.way
    return any(np.linalg.norm(way - T @ (T.T @ way)) <= bent for T in spaces)


class BranchPoint:
    """The branches that meet at one configuration (n,); ``ranks`` gives the rank at others."""

    def __init__(
        self,
        loops: LoopKinematics,
        q: Coordinates,
        rank: int,
        tolerances: Tolerances,
        ranks: Callable[[Coordinates], Indices],
        rng: np.random.Generator,
    ) -> None:
        self.loops, self.q, self.ranks, self.rng = loops, q, ranks, rng
        self.tolerances = tolerances
        self.here = second_order(loops, q, rank, tolerances.rank)

    @cached_property
    def cone(self) -> Array:
        """Infinitesimal motions on which all second-order forms vanish, in their basis, (N, k)."""
        return cone(self.here.forms, self.here.level, self.rng)

    def branches(self) -> tuple[tuple[LocalBranch, ...], bool]:
        """Find the branches, those of higher mobility first, and say whether these are all."""
        touching = self._touching()
        if touching is not None:
            return touching, True
        groups = self._distinct(grouped(self._clear(*self._followed(self.cone, 6))))
        candidates = [(members, self._best(members)) for members in groups]
        branches, ways = [], []
        for members, local in candidates:
            # Where branches meet each other, more is allowed than moves on any of them.
            others = (group for group, other in candidates if other.mobility is not None)
            if local.mobility is None and any(within(members[0], group) for group in others):
                continue
            branches.append(_branch(members, local))
            ways.append(np.array([member.way for member in members]))
        complete = self._are_all([branch.mobility for branch in branches], ways)
        ordered = sorted(branches, key=lambda branch: (-(branch.mobility or 0), -branch.rank))
        return tuple(ordered), complete

    @cached_property
    def _curve(self) -> TangentCurve | None:
        """Motions along the one tangent where two velocities leave one square; None elsewhere."""
        twice = self.here.motions.shape[1] == 2 and self.here.kernel.shape[1] == 1
        twice &= self.tolerances.closed <= EXACT.closed  # terms of high order are small
        return TangentCurve(self.loops, self.q, self.here) if twice else None

    @property
    def touching_order(self) -> int | None:
        """Order of the closure that parts branches along one tangent, where there are such."""
        found = None if self._curve is None else self._curve.touching
        return None if found is None else found.order

    def _touching(self) -> tuple[LocalBranch, ...] | None:
        """Return all branches that touch along one tangent; None where no series tells them."""
        found = None if self._curve is None else self._curve.touching
        if found is None or self._curve is None:
            return None
        branches = []
        for halves in found.branches:
            # The halves of a cusp begin in one direction: one of them is an end.
            sides = halves if halves[0].side != halves[1].side else halves[:1]
            reached = [self._curve.reached(half) for half in sides]
            if not all(map(len, reached)):
                return None
            rank, far = int(self.ranks(reached[0][:1])[0]), reached[0][0]
            clear = [q[self.ranks(q) == rank] for q in reached]  # the nearest that are clear
            if not all(map(len, clear)):
                return None
            local = finite_mobility(self.loops, far, rank, self.tolerances, self.rng)
            ends = np.array([q[-1] for q in clear])
            way = self.loops.difference(self.q[None], ends[:1])[0] / self.loops.units
            way /= np.linalg.norm(way)
            branches.append(LocalBranch(rank, local, read_only(way), read_only(ends)))
        return tuple(branches)

    def _are_all(self, freedoms: Sequence[int | None], ways: Sequence[Rates]) -> bool:
        """Return whether forms vanish on linear spaces only, each tangent to one branch."""
        kernel, across, forms = self._across()
        d = kernel.shape[1]
        if d and not self._same_rank_near(kernel):
            return False
        directions = self.cone @ across
        sizes = np.linalg.norm(directions, axis=1, keepdims=True)
        clear = sizes[:, 0] > 0.1
        spaces = vanishing_spaces(forms, self.here.level, directions[clear] / sizes[clear])
        if spaces is None or len(freedoms) != max(len(spaces), 1):
            return False
        taken = set()
        for count, way in zip(freedoms, ways, strict=True):
            aside = way @ self.here.motions @ across
            off = [np.linalg.norm(aside - aside @ V @ V.T) for V in spaces]
            nearest = int(np.argmin(off)) if off else None
            if count != d + (0 if nearest is None else spaces[nearest].shape[1]):
                return False
            taken.add(nearest)
        return len(taken) == len(freedoms)

    def _across(self) -> tuple[Array, Array, Array]:
        """Return the common kernel of the forms, its complement, and the forms on that."""
        kernel = self.here.kernel
        across = np.linalg.svd(kernel)[0][:, kernel.shape[1] :]
        return kernel, across, across.T @ self.here.forms @ across

    def _kernel_motions(self, kernel: Array) -> Coordinates:
        """Follow random directions of the forms' common kernel, and their opposites."""
        d = kernel.shape[1]
        # Ranks that rise slowly are seen far away.
        directions = self.rng.normal(size=(2 * d, d)) @ kernel.T
        directions /= np.linalg.norm(directions, axis=1, keepdims=True)
        return self._followed(directions, 3)[0]

    def _same_rank_near(self, kernel: Array) -> bool:
        """Return whether the rank near here, along the kernel's directions, is the one here."""
        k, d = kernel.shape
        rank, ends = len(self.q) - k, self._kernel_motions(kernel)[-1]
        for start in ends:
            q = start[None]
            for _ in range(4):
                # The forms tell how fast a step aside makes infinitesimal motions impossible.
                local = second_order(self.loops, q[0], rank, self.tolerances.rank)
                jacobian = self.loops.jacobian(self.loops.state(q))[0] * self.loops.units
                off = local.stresses.T @ jacobian @ local.motions
                u, s, vt = np.linalg.svd(local.forms.reshape(-1, k), full_matrices=False)
                parts = (u.T @ off.ravel())[: k - d] / np.maximum(s[: k - d], self.here.level)
                aside = local.motions @ vt[: k - d].T @ -parts
                q, _, closed = retracted(self.loops, q[0], aside[None])
                if not closed.all():
                    return False
            way, back = (start - self.q) / self.loops.units, (q[0] - start) / self.loops.units
            if self.ranks(q)[0] != rank or np.linalg.norm(back) > 0.25 * np.linalg.norm(way):
                return False
        return bool(len(ends) == 4 * d)

    def _distinct(self, groups: list[list[BranchTangent]]) -> list[list[BranchTangent]]:
        """Keep groups that are certainly different branches; join all others of equal rank."""
        # Curves have one tangent each. Where more moves, tangents differ all over a curved branch:
        # those tell branches apart that are followed from the branch point in all directions.
        apart, curved = list[list[BranchTangent]](), dict[tuple[int, int], list[BranchTangent]]()
        for group in groups:
            first = group[0]
            if first.freedoms == 1 or follows(self.loops, self.q, first.tangent, self.rng):
                apart.append(group)
            else:
                curved.setdefault((first.rank, first.freedoms), []).extend(group)
        return [*apart, *curved.values()]

    def _clear(self, q: Coordinates, ways: Rates) -> list[BranchTangent]:
        """Return a tangent of each followed motion, as near the branch point as it is decided."""
        # Forms of second order tell what moves from what is shaky all along a branch. They fade on
        # the way back, those of branches that part at a high order first.
        h, count = q.shape[:2]
        if not count:
            return []
        ranks = self.ranks(q.reshape(-1, len(self.q))).reshape(h, count)
        same = np.cumprod(ranks == ranks[0], axis=0).sum(axis=0) - 1
        clear_tangents = []
        for rank in np.unique(ranks[0]):
            here = np.flatnonzero((ranks[0] == rank) & (same > 0))  # else it has changed branch
            tangents = self._tangents(q[same[here], here], int(rank))
            many = here[[t.shape[1] > 1 for t in tangents]]  # what moves at all has one freedom
            far = self._tangents(q[0, many], int(rank))
            least = {i: t.shape[1] for i, t in zip(many, far, strict=True)}
            for i, tangent in zip(here, tangents, strict=True):
                chosen = int(same[i])
                while tangent.shape[1] > least.get(i, 1):
                    chosen -= 1
                    (tangent,) = self._tangents(q[chosen, i][None], int(rank))
                way = ways[chosen, i] / np.linalg.norm(ways[chosen, i])
                away = float(np.linalg.norm(ways[0, i]))
                clear = q[min(int(same[i]), h // 2), i]
                clear_tangents.append(BranchTangent(q[0, i], away, int(rank), clear, way, tangent))
        return clear_tangents

    def _tangents(self, q: Coordinates, rank: int) -> list[Array]:
        """Return bases (n, k) of the velocities on which all forms vanish, for (N, n)."""
        tangents = second_orders(self.loops, q, rank, self.tolerances.rank) if len(q) else []
        return [tangent.motions @ tangent.kernel for tangent in tangents]

    def _best(self, members: list[BranchTangent]) -> LocalMobility:
        """Return the local mobility with the strongest evidence at three tangents of a branch."""
        answers = []
        for member in members[:3]:  # some may be near another branch
            local = finite_mobility(self.loops, member.far, member.rank, self.tolerances, self.rng)
            answers.append(local)
            if local.evidence in EVIDENCE[:2]:
                break
        return min(answers, key=lambda local: EVIDENCE.index(local.evidence))

    def single(self, mobility: int | None) -> bool:
        """Return whether only one component passes through here, with the same rank along it."""
        # Where a self-stress forbids all velocities but these, others would begin along them, and
        # the rank would rise there.
        kernel, _, forms = self._across()
        if kernel.shape[1] != mobility or definite(forms, self.here.level) is None:
            return False
        ends = self._kernel_motions(kernel)[0]
        return not len(ends) or int(self.ranks(ends).max()) == len(self.q) - len(kernel)

    def rigid(self) -> LocalMobility | None:
        """Return mobility zero if every infinitesimal motion ends at a finite order, else None."""
        nothing = np.zeros((len(self.q), 0))
        touching = None if self._curve is None else self._curve.touching
        if touching is not None and not touching.branches:
            evidence = EVIDENCE[EVIDENCE.index("order 3") - 3 + touching.order]
            return LocalMobility(0, evidence, self.q, nothing, self.here.motions)
        # Where forms vanish on more than lines, or twice on one, motions may begin in other ways.
        jets = Jets(self.loops, self.q, self.here)
        orders = [jets.ends_at(t, self.tolerances.rank) for t in self.cone]
        ended = [order for order in orders if order is not None]
        if not orders or len(ended) < len(orders):
            return None
        evidence = EVIDENCE[EVIDENCE.index("order 3") - 3 + max(ended)]
        return LocalMobility(0, evidence, self.q, nothing, self.here.motions)

    def _followed(self, motions: Array, halves: int) -> tuple[Coordinates, Rates]:
        """Follow motions (N, k) and their opposites, nearer where that fails; (h, M, n)."""
        # Exactly along the tangent of a cusp no correction leads to either side.
        beside = motions + 0.02 * self.rng.normal(size=motions.shape)
        directions = beside @ self.here.motions.T
        seeds = np.vstack([directions, -directions])
        parts = []
        for _ in range(5):
            *reached, good = self._drawn_back(seeds, halves)
            parts.append(reached)
            seeds = 0.5 * seeds[~good]
            if not len(seeds):
                break
        q, ways = (np.concatenate(arrays, axis=1) for arrays in zip(*parts, strict=True))
        return q, ways

    def _drawn_back(self, steps: Rates, halves: int) -> tuple[Coordinates, Rates, Mask]:
        """Take scaled steps (N, n), halve them repeatedly; return those that stay on a branch."""
        good = np.ones(len(steps), dtype=bool)
        q, ways = np.zeros((2, halves + 1, *steps.shape))
        for i in range(halves + 1):
            q[i, good], ways[i, good], closed = retracted(self.loops, self.q, steps)
            off = np.linalg.norm(ways[i, good] - steps, axis=1)
            aside = 0.75 if i == 0 else 0.25
            good[good] = closed & (off <= aside * np.linalg.norm(steps, axis=1))
            steps = 0.5 * ways[i, good]
        return q[:, good], ways[:, good], good


def _branch(members: list[BranchTangent], local: LocalMobility) -> LocalBranch:
    """Make a branch from its tangents, with a configuration on it in each direction."""
    first = members[0]
    back = min(members, key=lambda member: float(member.way @ first.way))
    ends = [first.near, *[back.near] * (float(back.way @ first.way) <= 0.0)]
    return LocalBranch(first.rank, local, read_only(first.way), read_only(np.array(ends)))
