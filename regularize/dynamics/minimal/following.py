"""Closed configurations one after another, on one and the same motion of a mechanism."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from regularize.dynamics.minimal.crossing import Crossing, Crossings
from regularize.dynamics.minimal.kinematics import PartitionedKinematics
from regularize.dynamics.minimal.model_branch import STRIDE, ModelBranch, model_branch
from regularize.dynamics.minimal.pose import GOOD, Pose
from regularize.errors import ClosureLost
from regularize.lie.screw import Array
from regularize.manifold.continuation import ASIDE, Continuation
from regularize.manifold.tolerances import EXACT

#: Poses that are found by iteration before a closed form is looked for, which takes as long.
WORTHWHILE = 100
#: Steps that are made at most: trial steps of an integrator may lead anywhere.
STEPS = 200
#: Velocity of others at unit rates of the known coordinates at which these turn back.
TURNING = 100.0
#: Largest condition number that counts as one at a good beginning.
WELL = 10.0


class Follower:
    """Follows a motion from pose to pose, across singular configurations if need be.

    It stays on configurations on which the known coordinates determine the others all along the
    way. Where they do not, a singularity crossing is looked for.

    Args:
        kinematics: Of the mechanism; its reference is where to begin.

    Attributes:
        pose: The configuration reached last.
    """

    def __init__(self, kinematics: PartitionedKinematics) -> None:
        """Close the loops at the reference."""
        self.kinematics = kinematics
        self.pose = kinematics.close(np.zeros(kinematics.robot.nv))
        self._sure = self._home = self.pose
        self._limit = GOOD * min(self.pose.condition, WELL)
        self._flat = kinematics.robot.nq == kinematics.robot.nv
        self._continuation = Continuation(kinematics.constraints, kinematics.robot.tolerances)
        self._crossings = Crossings(kinematics)
        self._branch: ModelBranch | None = None
        self._solved = 0

    def follow(self, known: Array) -> Pose:
        """The configuration with given known coordinates, shape (known,).

        Raises:
            ClosureLost: The motion does not lead there.
        """
        self._solved += 1
        if self._solved == WORTHWHILE:
            kinematics = self.kinematics
            self._branch = model_branch(
                kinematics.robot, kinematics.known, kinematics.units, self._sure.q
            )
        try:
            return self._follow(self._sure, known)
        except ClosureLost:
            if self._sure is self._home:
                raise
        # A trial step may have led into a corner.
        return self._follow(self._home, known)

    def settle(self) -> bool | None:
        """Note that the motion has come to the last pose: trials begin there again.

        Returns:
            None if it has passed no singular configuration since, otherwise whether there was but
            one way through.
        """
        passed = self._sure.crossings != self._home.crossings
        self._home = self._sure
        return self._crossings.decided if passed else None

    def _follow(self, pose: Pose, known: Array) -> Pose:
        """Go to known coordinates in strides, and across what is singular on the way."""
        columns, units = self.kinematics.known, self.kinematics.units
        start, way = pose.x[columns], known - pose.x[columns]
        if not way.any():
            self.pose = self._sure = pose
            return pose
        size = float(np.max(np.abs(pose.transmission @ way) / units, initial=0.0))
        if not np.isfinite(size):
            raise ClosureLost("the integration led to coordinates that are no numbers")
        done, first = 0.0, 1.0 if size <= STRIDE else STRIDE / size
        step, shortest = first, EXACT.same / max(size, EXACT.same)
        for _ in range(STEPS):
            there = self._step(pose, start + min(1.0, done + step) * way)
            if there is not None:
                pose, done, step = there, min(1.0, done + step), min(first, 2.0 * step)
                if done == 1.0:
                    self.pose = self._sure = pose
                    return pose
                continue
            across = None
            if step < first:
                across = self._crossings.ahead(pose, way, self._step, self._walk)
            if across is not None:
                self._limit = max(self._limit, 2.0 * across.condition)
                s = across.parameter(known)
                if abs(s) <= across.reach:
                    self.pose, self._sure = across(known), pose
                    return self.pose
                unit = across.direction @ (way / units[columns] ** 2)
                end = across.reach if unit > 0.0 else -across.reach
                reached = float((end - across.parameter(start)) / unit)
                if (s - end) * unit > 0.0 and reached > done:
                    pose, done = _beyond(across, bool(unit > 0.0), pose), reached
                    continue
            step *= 0.5
            if step < shortest:
                break
        raise ClosureLost(
            "the motion does not go on with the given "
            f"{', '.join(self.kinematics.independent) or 'coordinates'}: the mechanism is at a "
            "limit of its motion, or the step was too large"
        )

    def _walk(self, pose: Pose, known: Array) -> Pose:
        """Goes a short way without a crossing, however uncertain velocities become."""
        columns = self.kinematics.known
        start, done, step = pose.x[columns], 0.0, 1.0
        limit, self._limit = self._limit, float("inf")
        try:
            while done < 1.0:
                there = self._step(pose, start + min(1.0, done + step) * (known - start))
                if there is not None:
                    pose, done = there, min(1.0, done + step)
                    continue
                step *= 0.5
                if step < 1e-3:
                    raise ClosureLost("the motion does not go on")
        finally:
            self._limit = limit
        return pose

    def _step(self, pose: Pose, known: Array) -> Pose | None:
        """The configuration not far from a pose; None where it is doubtful which one it is."""
        kinematics, columns = self.kinematics, self.kinematics.known
        way = pose.transmission @ (known - pose.x[columns])
        if self._branch is not None:
            expected = pose.x + way
            q, clear = self._branch.near(kinematics.reference + expected)
            if not clear:
                return None
            if q is not None:
                return self._trusted(pose, q - kinematics.reference)
        if self._flat:
            # The pose knows its tangents, and what follows from the next one tells its side.
            expected = pose.x + way
            expected[columns] = known
            step = (way / kinematics.units)[None]
            found = self._continuation.corrected(step, expected[None], kinematics.held)
        else:
            found = self._continuation.driven(pose.x[None], columns, known[None])
        return self._trusted(pose, found.q[0]) if found.good[0] else None

    def _trusted(self, pose: Pose, x: Array) -> Pose | None:
        """What follows from a new displacement, unless something singular lies between."""
        try:
            there = replace(self.kinematics.pose_of(x), crossings=pose.crossings)
        except ClosureLost:
            return None
        if there.side != pose.side:
            return None
        units, change = self.kinematics.units, x - pose.x
        known = change[self.kinematics.known]
        turned = (there.transmission - pose.transmission) @ known
        if np.abs(turned / units).max() > ASIDE * np.abs(change / units).max():
            return None
        if there.condition <= self._limit or there.condition < pose.condition:
            return there
        if (
            not there.condition <= 1.0 / EXACT.same
            or self._turns(there)
            or not self._crossings.barred(pose)
        ):
            return None
        return there

    def _turns(self, pose: Pose) -> bool:
        """Whether the known coordinates all but turn back while others move on."""
        units = self.kinematics.units
        rates = pose.transmission * units[self.kinematics.known] / units[:, None]
        return bool(np.max(np.abs(rates), initial=0.0) > TURNING)


def _beyond(across: Crossing, forward: bool, pose: Pose) -> Pose:
    """The end of a crossing, as it is reached from a pose before it."""
    passed = int(across.singular)
    return replace(
        across.ends[int(forward)], crossings=pose.crossings + (passed if forward else -passed)
    )
