"""Branches: the motions that meet at one configuration, each from a configuration on it.

Their tangents are among the infinitesimal motions at which all forms of second order vanish. From
these, and from any others, short steps are taken back onto the loops. What they come to is on a
branch if it can be drawn back to the configuration by halves.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from regularize.lie.arrays import Array, read_only
from regularize.loops.finite import EVIDENCE, LocalBranch, LocalMobility, finite_mobility, follows
from regularize.loops.kinematics import LoopKinematics
from regularize.loops.projection import Mask, retracted
from regularize.loops.second_order import (
    Jets,
    SecondOrder,
    cone,
    definite,
    second_order,
    second_orders,
    vanishing_spaces,
)
from regularize.tolerances import Tolerances


@dataclass(frozen=True, eq=False)
class BranchTangent:
    """The tangent of a branch at one configuration on it, and where both are.

    Attributes:
        far: The configuration, shape (n,).
        away: Its distance from the one where branches meet, scaled.
        rank: Rank of the closure equations there.
        near: Half of the way back, or half of that, and so on, as near as the branch is clear.
        way: Scaled direction from where branches meet to the near one, shape (n,).
        tangent: Basis of the velocities that motions on the branch have there, orthonormal, (n, k).
    """

    far: Array
    away: float
    rank: int
    near: Array
    way: Array
    tangent: Array

    def aside(self, other: BranchTangent) -> float:
        """Part of the way to another configuration that is not straight ahead from here."""
        off = other.way - self.tangent @ (self.tangent.T @ other.way)
        return math.sqrt(off @ off)

    @property
    def freedoms(self) -> int:
        """Number of the freedoms of motions on the branch."""
        return int(self.tangent.shape[1])


def grouped(tangents: Sequence[BranchTangent], bent: float = 0.1) -> list[list[BranchTangent]]:
    """Those of the same branch: each is seen straight ahead from others, with the same rank.

    Too near, more seems to move than does. What is straight ahead on a branch on which less moves
    at others, farther away, is left out.

    Args:
        tangents: All of them.
        bent: Largest part of a way that is not straight ahead; tangents may turn by three times
            as much, for those that are seen from nearby differ less than they do.
    """
    waiting = [
        one
        for one in tangents
        if not any(
            other.freedoms < one.freedoms
            and other.rank == one.rank
            and other.away > one.away
            and other.aside(one) <= bent
            for other in tangents
        )
    ]
    groups = []
    while waiting:
        group, new = [], [waiting.pop(0)]
        while new:
            a = new.pop()
            group.append(a)
            rest: list[BranchTangent] = []
            for b in waiting:
                (new if _same_branch(a, b, bent) else rest).append(b)
            waiting = rest
        groups.append(group)
    return groups


def _same_branch(a: BranchTangent, b: BranchTangent, bent: float) -> bool:
    if (a.rank, a.freedoms) != (b.rank, b.freedoms) or max(a.aside(b), b.aside(a)) > bent:
        return False
    turned = a.tangent - b.tangent @ (b.tangent.T @ a.tangent)
    return bool(np.linalg.norm(turned, 2) <= 3.0 * bent)


def within(one: BranchTangent, others: Sequence[BranchTangent], bent: float = 0.1) -> bool:
    """Whether a configuration lies on a branch of others on which more moves, for all that is seen.

    Args:
        one: The configuration.
        others: Those of the other branch.
        bent: Largest part of the way to it that is not straight ahead from one of them.
    """
    return any(other.freedoms > one.freedoms and other.aside(one) <= bent for other in others)


class BranchPoint:
    """What meets at one configuration of some loops.

    Args:
        loops: Kinematics of the loops.
        q: The configuration, shape (n,).
        rank: Rank of the closure equations there.
        tolerances: What counts as closed and as dependent.
        ranks: Ranks of the closure equations at others, (N, n) to (N,).
        rng: Source of random directions.
    """

    def __init__(
        self,
        loops: LoopKinematics,
        q: Array,
        rank: int,
        tolerances: Tolerances,
        ranks: Callable[[Array], NDArray[np.intp]],
        rng: np.random.Generator,
    ) -> None:
        """Take the forms of second order."""
        self.loops, self.q, self.ranks, self.rng = loops, q, ranks, rng
        self.tolerances = tolerances
        self.found: SecondOrder = second_order(loops, q, rank, tolerances.rank)

    @cached_property
    def cone(self) -> Array:
        """Infinitesimal motions at which all forms vanish, in their basis, shape (N, k)."""
        return cone(self.found.forms, self.found.level, self.rng)

    def branches(
        self, radius: float = 1.0, halves: int = 6
    ) -> tuple[tuple[LocalBranch, ...], bool]:
        """The branches that were found, those of higher mobility first, and whether they are all.

        Args:
            radius: Distance at which they are looked for, scaled: they are far apart there.
            halves: How often half the way back has to lead to the same branch. Branches are told
                from each other as near as their rank can be seen: they are all but straight there.
        """
        groups = self._distinct(grouped(self._clear(*self._followed(self.cone, radius, halves))))
        found = [(members, self._best(members)) for members in groups]
        branches, ways = [], []
        for members, local in found:
            # Where branches meet each other, more is allowed than moves on any of them.
            others = (seen for seen, other in found if other.mobility is not None)
            if local.mobility is None and any(within(members[0], seen) for seen in others):
                continue
            branches.append(_branch(members, local))
            ways.append(np.array([one.way for one in members]))
        every = self._are_all([branch.mobility for branch in branches], ways)
        ordered = sorted(branches, key=lambda branch: (-(branch.mobility or 0), -branch.rank))
        return tuple(ordered), every

    def _are_all(self, freedoms: Sequence[int | None], ways: Sequence[Array]) -> bool:
        """Whether terms of second order leave no room for other branches than some that are known.

        They do if their forms vanish in linear spaces alone, simply in each, and there is one
        branch for each with as many freedoms. Common to all may be directions that no form feels,
        where motions follow all of them and the rank stays what it is here: forms across them stay
        as they are then.

        Args:
            freedoms: Number of freedoms of each branch, None where it is not known.
            ways: Scaled ways from here to configurations nearby on each, shape (m, n).
        """
        kernel, rest, forms = self._across()
        d = kernel.shape[1]
        if d and not self._same_rank_near(kernel):
            return False
        directions = self.cone @ rest
        sizes = np.linalg.norm(directions, axis=1, keepdims=True)
        clear = sizes[:, 0] > 0.1
        spaces = vanishing_spaces(forms, self.found.level, directions[clear] / sizes[clear])
        if spaces is None or len(freedoms) != max(len(spaces), 1):
            return False
        taken = set()
        for count, way in zip(freedoms, ways, strict=True):
            aside = way @ self.found.motions @ rest
            off = [np.linalg.norm(aside - aside @ V @ V.T) for V in spaces]
            nearest = int(np.argmin(off)) if off else None
            if count != d + (0 if nearest is None else spaces[nearest].shape[1]):
                return False
            taken.add(nearest)
        return len(taken) == len(freedoms)

    def _across(self) -> tuple[Array, Array, Array]:
        """Directions that no form feels, all others, and the forms on these."""
        kernel = self.found.kernel
        rest = np.linalg.svd(kernel)[0][:, kernel.shape[1] :]
        return kernel, rest, np.swapaxes(rest, 0, 1) @ self.found.forms @ rest

    def _led(self, kernel: Array) -> Array:
        """Where directions that no form feels lead, and their opposites, by halves of the way."""
        d = kernel.shape[1]
        # Ranks that rise slowly are seen far away.
        directions = self.rng.normal(size=(2 * d, d)) @ kernel.T
        directions /= np.linalg.norm(directions, axis=1, keepdims=True)
        return self._followed(directions, 1.0, 3)[0]

    def _same_rank_near(self, kernel: Array) -> bool:
        """Whether all of these directions lead to where the rank is what it is here, or beside it.

        What forms feel of a step aside is how the infinitesimal motions here become impossible.
        """
        k, d = kernel.shape
        rank, found = len(self.q) - k, self._led(kernel)[-1]
        for start in found:
            q = start[None]
            for _ in range(4):
                here = second_order(self.loops, q[0], rank, self.tolerances.rank)
                jacobian = self.loops.jacobian(self.loops.state(q))[0] * self.loops.units
                off = here.stresses.T @ jacobian @ here.motions
                u, s, vt = np.linalg.svd(here.forms.reshape(-1, k), full_matrices=False)
                parts = (u.T @ off.ravel())[: k - d] / np.maximum(s[: k - d], self.found.level)
                aside = here.motions @ vt[: k - d].T @ -parts
                q, _, closed = retracted(self.loops, q[0], aside[None])
                if not closed.all():
                    return False
            way, back = (start - self.q) / self.loops.units, (q[0] - start) / self.loops.units
            if self.ranks(q)[0] != rank or np.linalg.norm(back) > 0.25 * np.linalg.norm(way):
                return False
        return bool(len(found) == 4 * d)

    def _distinct(self, groups: list[list[BranchTangent]]) -> list[list[BranchTangent]]:
        """Groups that are certainly of different branches, others of one rank together.

        Curves have one tangent each. Where more moves, tangents differ all over a curved branch:
        those tell branches apart that are followed from the configuration in all directions.
        """
        apart: list[list[BranchTangent]] = []
        curved: dict[tuple[int, int], list[BranchTangent]] = {}
        for group in groups:
            first = group[0]
            if first.freedoms == 1 or follows(self.loops, self.q, first.tangent, self.rng):
                apart.append(group)
            else:
                curved.setdefault((first.rank, first.freedoms), []).extend(group)
        return [*apart, *curved.values()]

    def _clear(self, q: Array, ways: Array) -> list[BranchTangent]:
        """Tangents at configurations, as near as rank and tangent of their branch are clear.

        Forms of second order tell what moves from what is shaky all along a branch. They fade on
        the way back, those of branches that part at a high order first.

        Args:
            q: Configurations at several distances, the farthest first, shape (h, N, n).
            ways: Scaled ways to them, shape (h, N, n).
        """
        h, count = q.shape[:2]
        if not count:
            return []
        ranks = self.ranks(q.reshape(-1, len(self.q))).reshape(h, count)
        same = np.cumprod(ranks == ranks[0], axis=0).sum(axis=0) - 1
        found = []
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
                found.append(BranchTangent(q[0, i], away, int(rank), clear, way, tangent))
        return found

    def _tangents(self, q: Array, rank: int) -> list[Array]:
        """Velocities at which no form feels any other at configurations (N, n), each (n, k)."""
        found = second_orders(self.loops, q, rank, self.tolerances.rank) if len(q) else []
        return [there.motions @ there.kernel for there in found]

    def _best(self, members: list[BranchTangent]) -> LocalMobility:
        """The clearest answer of a few configurations of a branch: some may be near another."""
        found = []
        for one in members[:3]:
            local = finite_mobility(self.loops, one.far, one.rank, self.tolerances, self.rng)
            found.append(local)
            if local.evidence in EVIDENCE[:2]:
                break
        return min(found, key=lambda one: EVIDENCE.index(one.evidence))

    def single(self, mobility: int | None) -> bool:
        """Whether nothing else meets here than one component on which the rank is what it is here.

        Where a stress makes all velocities impossible but as many as motions have, there are no
        others: they would begin along with these, and the rank would rise on their way.

        Args:
            mobility: Number of freedoms of motions on which the rank is that of the configuration.
        """
        kernel, _, forms = self._across()
        if kernel.shape[1] != mobility or definite(forms, self.found.level) is None:
            return False
        ends = self._led(kernel)[0]
        return not len(ends) or int(self.ranks(ends).max()) == len(self.q) - len(kernel)

    def rigid(self) -> LocalMobility | None:
        """That nothing moves, where the series of all motions are known to end; else None.

        What ends are those along the single lines at which all forms vanish. Where forms vanish on
        more than lines, or twice on one, motions may begin in other ways.
        """
        jets = Jets(self.loops, self.q, self.found)
        orders = [jets.ends_at(t, self.tolerances.rank) for t in self.cone]
        ended = [order for order in orders if order is not None]
        if not orders or len(ended) < len(orders):
            return None
        nothing = np.zeros((len(self.q), 0))
        evidence = next(one for one in EVIDENCE if one == f"order {max(ended)}")
        return LocalMobility(0, evidence, self.q, nothing, self.found.motions)

    def _followed(self, motions: Array, radius: float, halves: int) -> tuple[Array, Array]:
        """Where infinitesimal motions (N, k) and their opposites lead, as ``_drawn_back`` gives it.

        The radius is tried first, and halves of it where it is too far.
        """
        # Exactly along the tangent of a cusp no correction leads to either side.
        beside = motions + 0.02 * self.rng.normal(size=motions.shape)
        directions = beside @ self.found.motions.T
        seeds = radius * np.vstack([directions, -directions])
        parts = []
        for _ in range(5):
            *found, good = self._drawn_back(seeds, halves)
            parts.append(found)
            seeds = 0.5 * seeds[~good]
            if not len(seeds):
                break
        q, ways = (np.concatenate(arrays, axis=1) for arrays in zip(*parts, strict=True))
        return q, ways

    def _drawn_back(self, steps: Array, halves: int) -> tuple[Array, Array, Mask]:
        """Where scaled steps (N, n) lead, and halves of the way there, and halves of those.

        Configurations and scaled ways to them, (halves + 1, good ones, n), and which are good (N,):
        those that halves of the way lead to all the time.
        """
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
    """A branch with a configuration on it, and one in the opposite direction if there is one."""
    first = members[0]
    ahead = [float(one.way @ first.way) for one in members]
    ends = [first.near]
    if min(ahead) <= 0.0:
        ends.append(members[int(np.argmin(ahead))].near)
    return LocalBranch(first.rank, local, read_only(first.way), read_only(np.array(ends)))
