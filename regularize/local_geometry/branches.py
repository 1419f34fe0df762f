"""Branches: the motions that meet at one configuration, each from a configuration on it.

Their tangents are among the infinitesimal motions at which all forms of second order vanish. From
these, and from any others, short steps are taken back onto the loops. What they come to is on a
branch if it can be drawn back to the configuration by halves.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from regularize.lie.screw import Array, read_only
from regularize.local_geometry.arcs import Arcs
from regularize.local_geometry.finite import finite_mobility
from regularize.local_geometry.second_order import SecondOrder, cone, definite, second_order
from regularize.manifold.kinematics import LoopKinematics
from regularize.manifold.local_mobility import EVIDENCE, LocalBranch, LocalMobility
from regularize.manifold.projection import Mask, moved, project
from regularize.manifold.tolerances import Tolerances


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

    def branches(self, radius: float = 1.0, halves: int = 6) -> tuple[LocalBranch, ...]:
        """The branches that were found, those of higher mobility first.

        Args:
            radius: Distance at which they are looked for, scaled: they are far apart there.
            halves: How often half the way back has to lead to the same branch. Branches are told
                from each other as near as their rank can be seen: they are all but straight there.
        """
        directions = self.cone @ self.found.motions.T
        seeds = radius * np.vstack([directions, -directions])
        parts = []
        for _ in range(halves - 1):
            *found, good = self._drawn_back(seeds, halves)
            parts.append(found)
            seeds = 0.5 * seeds[~good]
            if not len(seeds):
                break
        q, ways = (np.concatenate(arrays, axis=1) for arrays in zip(*parts, strict=True))
        count = q.shape[1]
        if not count:
            return ()
        ranks = self.ranks(q.reshape(-1, len(self.q))).reshape(halves + 1, count)
        same = np.cumprod(ranks == ranks[0], axis=0).sum(axis=0) - 1
        clear = same > 1  # else the way back has changed branch
        q, ways, ranks, same = q[:, clear], ways[:, clear], ranks[:, clear], same[clear]
        count = len(same)
        near, directions = (values[same, np.arange(count)] for values in (q, ways))
        directions /= np.linalg.norm(directions, axis=1, keepdims=True)
        tangents = []
        for point, rank in zip(near, ranks[0], strict=True):
            there = second_order(self.loops, point, int(rank), self.tolerances.rank)
            tangents.append(there.motions @ there.kernel)
        branches = []
        for members in _together(directions, ranks[0], tangents):
            first = members[0]
            ahead = directions[members] @ directions[first]
            ends = [first] if ahead.min() > 0.0 else [first, members[int(np.argmin(ahead))]]
            at = q[np.minimum(same[ends], halves // 2), ends]
            rank = int(ranks[0, first])
            local = self._best(q[0, members[:3]], rank)
            branches.append(LocalBranch(rank, local, read_only(directions[first]), read_only(at)))
        return tuple(sorted(branches, key=lambda branch: (-(branch.mobility or 0), -branch.rank)))

    def _best(self, q: Array, rank: int) -> LocalMobility:
        """The clearest answer of a few configurations of a branch: some may be near another."""
        found = []
        for point in q:
            found.append(finite_mobility(self.loops, point, rank, self.tolerances, self.rng))
            if found[-1].evidence == EVIDENCE[0]:
                break
        return min(found, key=lambda one: EVIDENCE.index(one.evidence))

    def single(self, mobility: int | None) -> bool:
        """Whether nothing else meets here than one component on which the rank is what it is here.

        Where a stress makes all velocities impossible but as many as motions have, there are no
        others: they would begin along with these, and the rank would rise on their way.

        Args:
            mobility: Number of freedoms of motions on which the rank is that of the configuration.
        """
        kernel = self.found.kernel
        rest = np.linalg.svd(kernel)[0][:, kernel.shape[1] :]
        forms = np.swapaxes(rest, 0, 1) @ self.found.forms @ rest
        return kernel.shape[1] == mobility and definite(forms, self.found.level) is not None

    def rigid(self) -> LocalMobility | None:
        """That nothing moves, where the series of all motions are known to end; else None.

        What ends are those along the single lines at which all forms vanish. Where forms vanish on
        more than lines, or twice on one, motions may begin in other ways.
        """
        arcs = Arcs(self.loops, self.q, self.found)
        orders = [arcs.ends_at(t, self.tolerances.rank) for t in self.cone]
        ended = [order for order in orders if order is not None]
        if not orders or len(ended) < len(orders):
            return None
        nothing = np.zeros((len(self.q), 0))
        evidence = next(one for one in EVIDENCE if one == f"order {max(ended)}")
        return LocalMobility(0, evidence, self.q, nothing, self.found.motions)

    def _drawn_back(self, steps: Array, halves: int) -> tuple[Array, Array, Mask]:
        """Where steps lead, and halves of the way there, and halves of those, and so on.

        Args:
            steps: Scaled steps from the configuration, shape (N, n).
            halves: How often the way is halved.

        Returns:
            Configurations and the scaled ways to them, shape (halves + 1, good ones, n), and which
            are good, shape (N,): those that halves of the way lead to all the time.
        """
        loops, tolerances = self.loops, replace(self.tolerances, singular=1e-13)
        good = np.ones(len(steps), dtype=bool)
        q, ways = np.zeros((2, halves + 1, *steps.shape))
        for i in range(halves + 1):
            start = np.repeat(self.q[None], len(steps), axis=0)
            # The equations that say most come first: the others, nearly dependent, lead astray.
            most = np.full(len(steps), len(self.q) - self.found.motions.shape[1])
            found = project(loops, moved(loops, start, steps), ranks=most, steps=4)
            found = project(loops, found.q, tolerances=tolerances)
            q[i], ways[i] = found.q, loops.difference(start, found.q) / loops.units
            off = np.linalg.norm(ways[i] - steps, axis=1)
            aside = 0.75 if i == 0 else 0.25
            good &= found.closed & (off <= aside * np.linalg.norm(steps, axis=1))
            steps = 0.5 * ways[i]
        return q[:, good], ways[:, good], good


def _together(
    ways: Array, ranks: NDArray[np.intp], tangents: list[Array], bent: float = 0.1
) -> list[list[int]]:
    """Which configurations are on the same branch: each is seen straight ahead from others.

    Args:
        ways: Unit vectors to them, shape (N, n).
        ranks: Their ranks, shape (N,).
        tangents: Their tangents, orthonormal, shape (n, k) each.
        bent: Largest part of a way that is not straight ahead; tangents may turn by three times
            as much, for those that are seen from nearby differ less than they do.
    """
    waiting, groups = list(range(len(ways))), []
    while waiting:
        group, new = [], [waiting.pop(0)]
        while new:
            a = new.pop()
            group.append(a)
            for b in [b for b in waiting if ranks[a] == ranks[b]]:
                if tangents[a].shape != tangents[b].shape:
                    continue
                aside = [
                    np.linalg.norm(ways[i] - tangents[j] @ (tangents[j].T @ ways[i]))
                    for i, j in ((a, b), (b, a))
                ]
                turned = tangents[a] - tangents[b] @ (tangents[b].T @ tangents[a])
                if max(aside) <= bent and np.linalg.norm(turned, 2) <= 3.0 * bent:
                    waiting.remove(b)
                    new.append(b)
        groups.append(group)
    return groups
