"""Closed configurations one after another, on one and the same motion of a mechanism."""

from __future__ import annotations

from time import perf_counter

import numpy as np

from regularize.dynamics.minimal.bridge import Bridge
from regularize.dynamics.minimal.bridges import Bridges
from regularize.dynamics.minimal.kinematics import PartitionedKinematics
from regularize.dynamics.minimal.model_branch import ModelBranch, model_branch
from regularize.dynamics.minimal.pose import Place
from regularize.errors import ClosureLost
from regularize.lie.screw import Array

#: Poses that are found by iteration before a closed form is looked for, which takes as long.
WORTHWHILE = 100
#: Largest change of a coordinate, in radians and sizes of the mechanism, that is made at once.
STRIDE = 0.2
#: Strides that are made at most: trial steps of an integrator may lead anywhere.
STRIDES = 100
#: Trials of ever shorter steps before the way is given up.
TRIES = 80
#: Newton steps by which a configuration not far away has to be found.
NEWTON_STEPS = 12
#: Shortest step by which the known coordinates are followed, in the same units.
SHORTEST = 1e-6
#: Velocity at unit rates of the known coordinates, in the same units, at which these turn back.
TURNING = 100.0
#: Part of the way that has to be tried before.
FINE = 0.02
#: How much nearer than the step to a configuration it has to be to what is expected there.
EXPECTED = 0.5
#: Largest part of a step by which velocities may have changed at its end.
KINK = 0.5
#: Condition number, relative to that at the beginning, at which velocities become uncertain; and
#: the greatest that the latter counts for.
UNCERTAIN, WELL = 50.0, 10.0
#: Condition number at which they have lost most of their digits.
LOST = 1e6
#: Largest difference of configurations that are the same.
SAME = 1e-7


class Follower:
    """Follows a motion from place to place, across singular configurations if need be.

    It stays on configurations on which the known coordinates determine the others all along the
    way. Where they do not, a bridge is built.

    Args:
        kinematics: Of the mechanism; its reference is where to begin.

    Attributes:
        place: The configuration reached last.
    """

    def __init__(self, kinematics: PartitionedKinematics) -> None:
        """Close the loops at the reference."""
        self.kinematics = kinematics
        pose = kinematics.close(np.zeros(kinematics.robot.model.nv))
        self.place = self._sure = self._home = Place(kinematics.displacement(pose.q), pose)
        self._limit = UNCERTAIN * min(pose.condition, WELL)
        self._flat = kinematics.robot.model.nq == kinematics.robot.model.nv
        self._bridges = Bridges(kinematics)
        self._branch: ModelBranch | None = None
        self._solved = 0
        self._seconds = float("inf")

    def follow(self, known: Array) -> Place:
        """The configuration with given known coordinates, shape (known,).

        Raises:
            ClosureLost: The motion does not lead there.
        """
        self._solved += 1
        if self._solved == WORTHWHILE:
            kinematics, q = self.kinematics, self._sure.pose.q
            branch = model_branch(kinematics.robot, kinematics.known, kinematics.units, q)
            # Large mechanisms with many branches are sooner solved by iteration.
            if branch is not None and branch.seconds(q) < self._seconds:
                self._branch = branch
        try:
            return self._follow(self._sure, known)
        except ClosureLost:
            if self._sure is self._home:
                raise
        # A trial step may have led into a corner.
        self._sure = self._home
        return self._follow(self._sure, known)

    def settle(self) -> bool | None:
        """Note that the motion has come to the last place: trials begin there again.

        Returns:
            None if it has passed no singular configuration since, otherwise whether there was but
            one way through.
        """
        passed = self._sure.crossings != self._home.crossings
        self._home = self._sure
        return self._bridges.decided if passed else None

    def _follow(self, place: Place, known: Array) -> Place:
        start = place.x[self.kinematics.known]
        if np.array_equal(known, start):
            self.place = self._sure = place
            return place
        change = place.pose.transmission @ (known - start)
        # A long way is gone in strides, so that the motion stays on its branch.
        way = float(np.max(np.abs(change) / self.kinematics.units, initial=0.0))
        if not np.isfinite(way):
            raise ClosureLost("the integration led to coordinates that are no numbers")
        strides = min(STRIDES, max(1, int(np.ceil(way / STRIDE))))
        for k in range(1, strides + 1):
            there = self._step(place, start + k / strides * (known - start))
            if there is None:
                return self._carefully(place, known)
            place = there
        self.place = self._sure = place
        return place

    def _step(self, place: Place, known: Array) -> Place | None:
        """The configuration not far from a place; None where it is doubtful which one it is."""
        kinematics, columns = self.kinematics, self.kinematics.known
        slopes: Array = place.pose.transmission
        if not self._flat:
            slopes = np.asarray(np.linalg.solve(kinematics.rates(place.x), slopes))
            try:
                slopes = np.asarray(slopes @ np.linalg.inv(slopes[columns]))
            except np.linalg.LinAlgError:
                return None
        expected = place.x + slopes @ (known - place.x[columns])
        if self._branch is not None:
            q, clear = self._branch.near(kinematics.reference + expected)
            if not clear:
                return None
            if q is not None:
                try:
                    pose = kinematics.pose_at(q)
                except ClosureLost:
                    return None
                there = Place(q - kinematics.reference, pose, place.crossings)
                return self._trusted(place, there)
        expected[columns] = known
        begun = perf_counter()
        try:
            pose = kinematics.close(expected, NEWTON_STEPS)
        except ClosureLost:
            return None
        self._seconds = min(self._seconds, perf_counter() - begun)
        x = kinematics.displacement(pose.q)
        units = kinematics.units
        step = float(np.max(np.abs(expected - place.x) / units, initial=0.0))
        gap = float(np.max(np.abs(x - expected) / units, initial=0.0))
        if gap > EXPECTED * step + SAME:
            return None
        return self._trusted(place, Place(x, pose, place.crossings))

    def _trusted(self, place: Place, there: Place) -> Place | None:
        """The new place, unless something singular lies between."""
        if there.pose.side != place.pose.side:
            return None
        units, change = self.kinematics.units, there.x - place.x
        known = change[self.kinematics.known]
        turned = (there.pose.transmission - place.pose.transmission) @ known
        if np.abs(turned / units).max() > KINK * np.abs(change / units).max():
            return None
        condition = there.pose.condition
        if condition <= self._limit or condition < place.pose.condition:
            return there
        if not condition <= LOST or self._turns(there) or not self._bridges.barred(place):
            return None
        return there

    def _carefully(self, place: Place, known: Array) -> Place:
        """The configuration in ever shorter steps, and on a bridge where they lead nowhere."""
        columns = self.kinematics.known
        size = float(np.max(np.abs(known - place.x[columns]) / self.kinematics.units[columns]))
        step, shortest = 0.5, min(0.1, SHORTEST / size)
        start, way = place.x[columns].copy(), known - place.x[columns]
        done = 0.0
        for _ in range(TRIES):
            there = self._step(place, start + min(1.0, done + step) * way)
            if there is not None:
                place, done = there, min(1.0, done + step)
                if done == 1.0:
                    self.place = self._sure = place
                    return place
                step *= 2.0
                continue
            across = self._bridges.ahead(place, way, self._step, self._walk)
            if across is not None:
                self._limit = max(self._limit, 2.0 * across.condition)
                unit = across.direction @ (way / self.kinematics.units[columns] ** 2)
                s, centre = across.parameter(known), across.parameter(start)
                if abs(s) <= across.reach:
                    self.place, self._sure = across(known), place
                    return self.place
                forward = bool(unit > 0.0)
                end = across.reach if forward else -across.reach
                reached = float((end - centre) / unit)
                if (s - end) * unit > 0.0 and reached > done:
                    place, done = self._beyond(across, forward, place), reached
                    continue
            step *= 0.5
            if step < shortest or (step < FINE and self._turns(place)):
                break
        raise ClosureLost(
            "the motion does not go on with the given "
            f"{', '.join(self.kinematics.independent) or 'coordinates'}: the mechanism is at a "
            "limit of its motion, or the step was too large"
        )

    @staticmethod
    def _beyond(across: Bridge, forward: bool, place: Place) -> Place:
        """The end of a bridge, as it is reached from a place before it."""
        end, passed = across.ends[int(forward)], int(across.singular)
        return Place(end.x, end.pose, place.crossings + (passed if forward else -passed))

    def _walk(self, place: Place, known: Array) -> Place:
        """Goes a short way without a bridge."""
        columns = self.kinematics.known
        start, done, step = place.x[columns].copy(), 0.0, 1.0
        limit, self._limit = self._limit, float("inf")
        try:
            while done < 1.0:
                there = self._step(place, start + min(1.0, done + step) * (known - start))
                if there is None:
                    step *= 0.5
                    if step < 1e-3:
                        raise ClosureLost("the motion does not go on")
                    continue
                place, done = there, min(1.0, done + step)
        finally:
            self._limit = limit
        return place

    def _turns(self, place: Place) -> bool:
        """Whether the known coordinates all but turn back while others move on."""
        units = self.kinematics.units
        rates = place.pose.transmission * units[self.kinematics.known] / units[:, None]
        return bool(np.max(np.abs(rates), initial=0.0) > TURNING)
