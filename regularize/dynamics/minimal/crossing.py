r"""Singularity crossing: through configurations at which independent coordinates determine nothing.

Where two motions of a mechanism cross (a parallelogram folded flat), the Jacobian of the dependent
coordinates is singular, and close by the velocities and accelerations that it yields lose their
digits: with the distance :math:`\delta` the latter are known to :math:`\epsilon / \delta^3` only.
But each of the two motions is an analytic curve. So it is taken from configurations at some
distance on both sides, by a polynomial in between: the near side is where the mechanism comes from,
the far side is where the polynomial leads to, which is much nearer to the motion that goes on
without a kink than to the other one.

The loops must be closed on the polynomial. They are not where two motions only come close to each
other: there the mechanism turns sharply, and stays on its own. With lengths that make them cross
but for their last digits, either could be meant: the mechanism goes straight on, which is said.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field, replace

import numpy as np

from regularize.dynamics.minimal.kinematics import PartitionedKinematics
from regularize.dynamics.minimal.polynomial import Polynomial
from regularize.dynamics.minimal.pose import Pose
from regularize.errors import ClosureLost
from regularize.lie.screw import Array
from regularize.manifold.continuation import EASY

#: Distances of the configurations from the singular one, relative to the largest.
NODES = np.array([0.35, 0.46, 0.58, 0.7, 0.82, 0.92, 1.0])
#: Largest distances that are tried, in radians and sizes of the mechanism.
REACHES = (0.1, 0.04)
#: Largest errors of loops on the polynomial, lengths scaled, and of velocities and accelerations at
#: unit rates: where two motions cross, and where they come so near to each other that the lengths
#: written in a file do not tell whether they do.
EXACT = np.array([1e-11, 1e-8, 1e-5])
ROUNDED = np.array([1e-8, 1e-4, 1e-2])
#: Farthest singular configuration that is looked for, in reaches.
AHEAD = 4.0
#: Relative singular value below which directions are left out of corrections on the polynomial.
WEAK = 1e-2
#: Largest distance from a crossing on the same motion; the other one is farther away.
BESIDE = 1e-4

#: Goes from a pose to where the known coordinates have given values, shape (known,).
Walk = Callable[[Pose, Array], Pose]
#: The same in one step, if it can.
Step = Callable[[Pose, Array], Pose | None]


@dataclass(frozen=True, eq=False)
class Crossing:
    """Configurations along a straight line of known coordinates through a singular one.

    Attributes:
        kinematics: Of the mechanism.
        centre: Known coordinates near the singular configuration, shape (known,).
        direction: Of the line, one unit long, shape (known,).
        reach: Distance from the centre up to which it holds.
        ends: The configurations there, against the direction and along it.
        singular: Whether the loops allow more motions in the middle, whatever the coordinates.
        decided: Whether the two motions cross exactly, as far as numbers go.
        polynomial: Displacements, transmissions and their rates by the distance from the centre.
    """

    kinematics: PartitionedKinematics
    centre: Array
    direction: Array
    reach: float
    ends: tuple[Pose, Pose]
    singular: bool
    decided: bool
    polynomial: Polynomial = field(repr=False)

    @property
    def condition(self) -> float:
        """The greater condition number at the ends."""
        return max(end.condition for end in self.ends)

    def parameter(self, known: Array) -> float:
        """Distance from the centre along the line of known coordinates, shape (known,)."""
        units = self.kinematics.units[self.kinematics.known]
        return float(((known - self.centre) / units) @ (self.direction / units))

    def __call__(self, known: Array) -> Pose:
        """The configuration with given known coordinates on the line, shape (known,)."""
        kinematics = self.kinematics
        n, m = kinematics.robot.nv, len(known)
        values = self.polynomial(self.parameter(known))
        x = values[:n]
        x[kinematics.known] = known
        # Close the loops in all directions but those that are free at the singular configuration.
        state = x[None]
        rows = kinematics.whole.residual_jacobian(state)[0] * kinematics.units
        rows[:, kinematics.known] = 0.0
        errors = kinematics.whole.residual(state)[0]
        x = x - kinematics.units * np.linalg.lstsq(rows, errors, rcond=WEAK)[0]
        transmission = values[n : n + n * m].reshape(n, m)
        bend = values[n + n * m :].reshape(n, m, m)
        # As well conditioned as the polynomial: no other coordinates are any better here.
        best = min(self.ends, key=lambda end: end.condition)
        q = kinematics.whole.configuration(x)
        return Pose(x, q, transmission, best.condition, best.inverse, 0.0, bend)


def crossing(
    kinematics: PartitionedKinematics, start: Pose, direction: Array, walk: Walk
) -> Crossing | None:
    """The way across a singular configuration ahead; None where there is none or no way through.

    Args:
        kinematics: Of the mechanism.
        start: A configuration on one side.
        direction: In which the known coordinates are to go, one unit long, shape (known,).
        walk: Goes a short way on the side where it starts.
    """
    for reach in REACHES:
        try:
            centre = _centre(kinematics, start, direction, reach, walk)
            found = (
                None
                if centre is None
                else _built(kinematics, start, centre, direction, reach, walk)
            )
        except ClosureLost:
            continue
        if found is not None:
            return found
    return None


def _clearance(pose: Pose) -> float:
    """What changes its sign at a singular configuration, and is smooth there."""
    return pose.side / pose.condition


def _centre(
    kinematics: PartitionedKinematics, start: Pose, direction: Array, reach: float, walk: Walk
) -> Array | None:
    """Known coordinates of the singular configuration ahead, by the rule of false position."""
    known = kinematics.known
    far, near = start, walk(start, start.x[known] - 0.2 * reach * direction)
    origin, s = far.x[known], np.array([0.0, -0.2 * reach])
    for _ in range(4):
        values = np.array([_clearance(far), _clearance(near)])
        slope = (values[1] - values[0]) / (s[1] - s[0])
        ahead = s[0] - values[0] / slope if slope != 0.0 else np.inf
        if not -0.1 * reach <= ahead <= AHEAD * reach:
            return None
        s = np.array([ahead - 0.7 * reach, ahead - NODES[0] * reach])
        far = walk(start, origin + s[0] * direction)
        near = walk(far, origin + s[1] * direction)
    return np.asarray(origin + ahead * direction)


def _built(
    kinematics: PartitionedKinematics,
    start: Pose,
    centre: Array,
    direction: Array,
    reach: float,
    walk: Walk,
) -> Crossing | None:
    """The crossing about a centre, or None where it does not stand the tests."""
    places = [start]
    for node in NODES[::-1]:
        places.append(walk(places[-1], centre - node * reach * direction))
    places = places[1:]
    s = list(-reach * NODES[::-1])
    for node in NODES:
        s.append(node * reach)
        there = _expected(kinematics, s, places, centre + s[-1] * direction)
        if there is None:
            return None
        places.append(there)
    parameters = np.array(s)
    values = np.array([_values(kinematics, place) for place in places])
    polynomial = Polynomial(parameters, values)
    singular = _loses_rank(kinematics, places, polynomial(0.0))
    result = Crossing(
        kinematics,
        centre,
        direction,
        reach,
        (places[0], places[-1]),
        singular,
        True,
        polynomial,
    )
    errors = _errors(result)
    if np.all(errors <= EXACT):
        return result
    return replace(result, decided=False) if np.all(errors <= ROUNDED) else None


def _expected(
    kinematics: PartitionedKinematics, s: list[float], places: list[Pose], known: Array
) -> Pose | None:
    """The configuration to which those before lead; None where the nearest one is elsewhere."""
    before = np.array(s[:-1])
    x = Polynomial(before, np.array([place.x for place in places]))(s[-1])
    x[kinematics.known] = known
    there, last = kinematics.close(x), places[-1]
    step = float(np.max(np.abs(there.x - last.x) / kinematics.units))
    gap = float(np.max(np.abs(there.x - x) / kinematics.units))
    return there if gap <= EASY * step else None


def _values(kinematics: PartitionedKinematics, pose: Pose) -> Array:
    """Displacement, transmission and its rates in one row."""
    columns = pose.transmission.T
    m = len(columns)
    squares = [kinematics.bias(pose, column) for column in columns]
    bend = np.zeros((kinematics.robot.nv, m, m))
    for i in range(m):
        bend[:, i, i] = squares[i]
        for j in range(i):
            both = kinematics.bias(pose, columns[i] + columns[j])
            bend[:, i, j] = bend[:, j, i] = 0.5 * (both - squares[i] - squares[j])
    return np.concatenate([pose.x, pose.transmission.ravel(), bend.ravel()])


def _loses_rank(kinematics: PartitionedKinematics, places: list[Pose], middle: Array) -> bool:
    """Whether the rows depend on each other in the middle, and not at the ends."""
    n = kinematics.robot.nv

    def smallest(x: Array) -> float:
        rows = kinematics.whole.jacobian(x[None])[0] * kinematics.units
        values = np.linalg.svd(rows, compute_uv=False)
        return float(values[len(kinematics.choice.dependent) - 1])

    return smallest(middle[:n]) < 0.1 * min(smallest(places[0].x), smallest(places[-1].x))


def _errors(result: Crossing) -> Array:
    """Errors of loops on the polynomial, and of velocities and accelerations, shape (3,)."""
    kinematics = result.kinematics
    errors = np.zeros(3)
    for part in (-0.25, 0.0, 0.25):
        s = part * result.reach
        pose = result(result.centre + s * result.direction)
        gap = np.max(np.abs(kinematics.robot.residual(pose.q)), initial=0.0)
        errors[0] = max(errors[0], float(gap))
        if part == 0.0:
            continue
        there = kinematics.close(pose.x)
        n, m = pose.transmission.shape
        gaps = np.abs(_values(kinematics, there) - result.polynomial(s))
        size = 1.0 + float(np.max(np.abs(pose.transmission)))
        errors[1] = max(errors[1], float(np.max(gaps[n : n + n * m])) / size)
        errors[2] = max(errors[2], float(np.max(gaps[n + n * m :])) / size**2)
    return errors


class Crossings:
    """The crossings of one choice of coordinates, and where there is none.

    Args:
        kinematics: Of the mechanism.

    Attributes:
        decided: Whether the motions cross exactly on all of them.
    """

    def __init__(self, kinematics: PartitionedKinematics) -> None:
        """Begin without any."""
        self._kinematics = kinematics
        self._found: list[Crossing] = []
        self._barred: list[Array] = []
        self.decided = True

    def barred(self, pose: Pose) -> bool:
        """Whether no crossing was found within the largest reach of a pose."""
        units = self._kinematics.units
        return any(np.max(np.abs(pose.x - x) / units) <= REACHES[0] for x in self._barred)

    def ahead(self, pose: Pose, way: Array, step: Step, walk: Walk) -> Crossing | None:
        """A crossing from a pose.

        Args:
            pose: In front of it or on it.
            way: Where the known coordinates are to go, shape (known,).
            step: Goes in one step, if it can.
            walk: Goes a short way.
        """
        kinematics = self._kinematics
        if self.barred(pose):
            return None
        # With one known coordinate the way back and other steps lead along the same line.
        if len(way) == 1:
            for known in self._found:
                if self._begins(known, pose, step):
                    return known
        direction = way / float(np.linalg.norm(way / kinematics.units[kinematics.known]))
        new = crossing(kinematics, pose, direction, walk)
        if new is None:
            self._barred.append(pose.x)
            return None
        self._found = [*self._found, new] if len(way) == 1 else []
        self.decided &= new.decided
        return new

    def _begins(self, found: Crossing, pose: Pose, step: Step) -> bool:
        """Whether a pose is on a crossing, or one step away from an end of it."""
        columns = self._kinematics.known
        s = found.parameter(pose.x[columns])
        there: Pose | None = pose
        if abs(s) <= found.reach:
            end = found(pose.x[columns])
        elif abs(s) <= 2.0 * found.reach:
            end = found.ends[int(s > 0.0)]
            there = step(pose, end.x[columns])
        else:
            return False
        if there is None:
            return False
        gap = np.max(np.abs(there.x - end.x) / self._kinematics.units)
        return bool(gap <= BESIDE)
