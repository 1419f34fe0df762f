"""A mechanism written down by its joint axes at the pose in which it is saved."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from itertools import pairwise

from sources.vector import Vector, Z, mean, minus

GROUND = "ground"


@dataclass(frozen=True)
class Axis:
    """A joint between two bodies.

    Attributes:
        name: Name of the joint.
        parent: Name of the body before it.
        child: Name of the body after it.
        kind: ``revolute``, ``prismatic`` or ``spherical``.
        point: A point of the axis, or the centre, in metres, world frame.
        direction: Unit vector of the axis, world frame.
        closes: Whether it is written as a loop and not as a joint of the tree.
        driven: Whether a motor sits there.
    """

    name: str
    parent: str
    child: str
    kind: str
    point: Vector
    direction: Vector = Z
    closes: bool = False
    driven: bool = False


@dataclass(frozen=True)
class Linkage:
    """A mechanism to be written.

    Attributes:
        name: Name of the file and of the model.
        about: What it is and where its geometry comes from; one entry per line of the file's head.
        axes: Its joints; those of the tree come in an order in which each parent is known.
        section: Edge of the square section of its rods, in metres.
        thin: Whether the section is left out of the moments of inertia.
        tips: Further points that belong to a body's shape, such as feet: body and world point.
    """

    name: str
    about: tuple[str, ...]
    axes: tuple[Axis, ...]
    section: float = 0.02
    thin: bool = False
    tips: tuple[tuple[str, Vector], ...] = ()

    @property
    def bodies(self) -> tuple[str, ...]:
        """Names of the bodies, ground first, then in the order of the tree."""
        tree = [axis for axis in self.axes if not axis.closes]
        return (GROUND, *(axis.child for axis in tree))

    def origin(self, body: str) -> Vector:
        """Origin of a body's frame: the joint by which it hangs in the tree."""
        for axis in self.axes:
            if axis.child == body and not axis.closes:
                return axis.point
        return 0.0, 0.0, 0.0

    def points(self, body: str) -> list[Vector]:
        """Different joint points and tips of a body, in its own frame."""
        origin = self.origin(body)
        points = [minus(a.point, origin) for a in self.axes if body in (a.parent, a.child)]
        points += [minus(point, origin) for owner, point in self.tips if owner == body]
        different: list[Vector] = []
        for point in points:
            if all(max(abs(x) for x in minus(point, other)) > 1e-9 for other in different):
                different.append(point)
        return different

    def rods(self, body: str) -> list[tuple[Vector, Vector]]:
        """Rods that make up a body, in its own frame: one, or a star from the centre."""
        points = self.points(body)
        if len(points) < 2:
            return []
        if len(points) == 2:
            return [(points[0], points[1])]
        center = mean(points)
        spokes = [(center, point) for point in points]
        return [(a, b) for a, b in spokes if max(abs(x) for x in minus(a, b)) > 1e-9]


def chain(
    bodies: Sequence[str],
    names: Sequence[str],
    directions: Sequence[Vector],
    points: Sequence[Vector],
    *,
    kinds: str | None = None,
    closes: bool = True,
    driven: int | None = 0,
) -> list[Axis]:
    """Joints one after another.

    Args:
        bodies: Bodies from the first to the last one; one more than joints.
        names: Names of the joints.
        directions: Unit vectors of the axes.
        points: Points of the axes.
        kinds: One letter per joint, ``R``, ``P`` or ``S``; revolute by default.
        closes: Whether the last joint closes a loop.
        driven: Index of the joint with a motor, or None.
    """
    words = {"R": "revolute", "P": "prismatic", "S": "spherical"}
    letters = kinds or "R" * len(names)
    last = len(names) - 1
    return [
        Axis(
            name,
            bodies[i],
            bodies[i + 1],
            words[letters[i]],
            points[i],
            directions[i],
            closes=closes and i == last,
            driven=i == driven,
        )
        for i, name in enumerate(names)
    ]


def single_loop(
    name: str,
    about: Iterable[str],
    directions: Sequence[Vector],
    points: Sequence[Vector],
    *,
    kinds: str | None = None,
    links: Sequence[str] | None = None,
    section: float = 0.02,
) -> Linkage:
    """A closed chain whose joints are called A, B, C, …; the last one closes it."""
    names = [chr(ord("A") + i) for i in range(len(points))]
    between = links or [f"link_{a}{b}" for a, b in pairwise(names)]
    bodies = [GROUND, *between, GROUND]
    axes = chain(bodies, names, directions, points, kinds=kinds)
    return Linkage(name, tuple(about), tuple(axes), section)
