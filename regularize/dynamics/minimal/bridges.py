"""Bridges across singular configurations, and where none could be built."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from regularize.dynamics.minimal.bridge import Bridge, Walk, bridge
from regularize.dynamics.minimal.kinematics import PartitionedKinematics
from regularize.dynamics.minimal.pose import Place
from regularize.lie.screw import Array

#: Distance from where no bridge could be built in which no other one is tried.
BARRED = 0.1
#: Bridges that are kept for the way back.
KEPT = 16
#: Largest distance from a bridge on the same motion; the other one is farther away.
BESIDE = 1e-4
#: Distance from an end within which a place may belong to a bridge.
NEXT = 0.2

#: Goes in one step to where the known coordinates have given values, if it can.
Step = Callable[[Place, Array], Place | None]


class Bridges:
    """The bridges of one choice of coordinates.

    Args:
        kinematics: Of the mechanism.

    Attributes:
        decided: Whether the motions cross exactly on all of them.
    """

    def __init__(self, kinematics: PartitionedKinematics) -> None:
        """Begin without any."""
        self._kinematics = kinematics
        self._built: list[Bridge] = []
        self._barred: list[Array] = []
        self.decided = True

    def barred(self, place: Place) -> bool:
        """Whether no bridge could be built near a place."""
        units = self._kinematics.units
        return any(np.max(np.abs(place.x - x) / units) <= BARRED for x in self._barred)

    def ahead(self, place: Place, way: Array, step: Step, walk: Walk) -> Bridge | None:
        """A bridge from a place.

        Args:
            place: In front of it or on it.
            way: Where the known coordinates are to go, shape (known,).
            step: Goes in one step, if it can.
            walk: Goes a short way.
        """
        kinematics = self._kinematics
        if self.barred(place):
            return None
        # With one known coordinate the way back and other steps lead along the same line.
        if len(way) == 1:
            for built in self._built:
                if self._begins(built, place, step):
                    return built
        direction = way / float(np.linalg.norm(way / kinematics.units[kinematics.known]))
        new = bridge(kinematics, place, direction, walk)
        if new is None:
            self._barred.append(place.x)
            return None
        self._built = [*self._built[1 - KEPT :], new] if len(way) == 1 else []
        self.decided &= new.decided
        return new

    def _begins(self, built: Bridge, place: Place, step: Step) -> bool:
        """Whether a place is on a bridge, or one step away from an end of it."""
        columns = self._kinematics.known
        s = built.parameter(place.x[columns])
        there: Place | None = place
        if abs(s) <= built.reach:
            end = built(place.x[columns])
        elif abs(s) <= built.reach + NEXT:
            end = built.ends[int(s > 0.0)]
            there = step(place, end.x[columns])
        else:
            return False
        if there is None:
            return False
        gap = np.max(np.abs(there.x - end.x) / self._kinematics.units)
        return bool(gap <= BESIDE)
