"""Structures written down by their points: bars in a plane, hinged plates, platforms on rods."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence

from sources.linkage import GROUND, Axis, Linkage, chain
from sources.vector import Vector, X, Y, Z, cross, mean, minus, norm, unit

#: A rigid body by the names of its points.
Body = tuple[str, ...]


def _hung(name: str, about: Iterable[str], joints: list[Axis], section: float) -> Linkage:
    """A linkage of joints in any order: those that reach a new body first form the tree."""
    known, waiting, ordered = {GROUND}, list(joints), []
    while waiting:
        for joint in waiting:
            ends = {joint.parent, joint.child}
            if ends & known:
                waiting.remove(joint)
                parent, child = joint.parent, joint.child
                if parent not in known:
                    parent, child = child, parent
                ordered.append(
                    Axis(
                        joint.name,
                        parent,
                        child,
                        joint.kind,
                        joint.point,
                        joint.direction,
                        closes=child in known,
                    )
                )
                known |= ends
                break
    return Linkage(name, tuple(about), tuple(ordered), section)


def bars(
    name: str,
    about: Iterable[str],
    points: Mapping[str, tuple[float, float]],
    bodies: Sequence[Body],
    section: float = 0.02,
) -> Linkage:
    """Bars and plates in the vertical X-Z plane, hinged wherever they share a point.

    Args:
        name: Name of the file.
        about: What it is.
        points: Joint points by name, in metres.
        bodies: Points of every body; the first body is the ground.
        section: Edge of the square section of the rods, in metres.
    """
    called = {body: GROUND if i == 0 else "_".join(body) for i, body in enumerate(bodies)}
    joints = []
    for point, (x, z) in points.items():
        meeting = [body for body in bodies if point in body]
        for i, body in enumerate(meeting[1:], start=1):
            label = point if len(meeting) == 2 else f"{point}{i}"
            joints.append(Axis(label, called[meeting[0]], called[body], "revolute", (x, 0.0, z), Y))
    return _hung(name, about, joints, section)


def plates(
    name: str,
    about: Iterable[str],
    points: Mapping[str, Vector],
    faces: Sequence[Body],
    section: float = 0.01,
) -> Linkage:
    """Plates hinged along the edges that they share; the first face is the ground."""
    called = {face: GROUND if i == 0 else "_".join(face) for i, face in enumerate(faces)}
    joints = []
    for i, face in enumerate(faces):
        for other in faces[i + 1 :]:
            shared = sorted(set(face) & set(other))
            if len(shared) == 2:
                a, b = (points[end] for end in shared)
                axis = unit(minus(b, a))
                edge = "".join(shared)
                middle = mean([a, b])
                joints.append(Axis(edge, called[face], called[other], "revolute", middle, axis))
    return _hung(name, about, joints, section)


def across(direction: Vector) -> tuple[Vector, Vector]:
    """Two directions at right angles to one and to each other."""
    other = X if abs(direction[0]) < 0.5 * norm(direction) else Z
    first = unit(cross(direction, other))
    return first, unit(cross(direction, first))


def platform_on_rods(
    name: str, about: Iterable[str], base: Sequence[Vector], top: Sequence[Vector]
) -> Linkage:
    """A platform on rods, each with a universal joint below and a ball joint above."""
    axes: list[Axis] = []
    for k, (low, high) in enumerate(zip(base, top, strict=True), start=1):
        first, second = across(minus(high, low))
        axes += chain(
            [GROUND, f"cross_{k}", f"rod_{k}", "platform"],
            [f"U{k}", f"V{k}", f"S{k}"],
            [first, second, Z],
            [low, low, high],
            kinds="RRS",
            closes=k > 1,
            driven=None,
        )
    return Linkage(name, tuple(about), tuple(axes), 0.01)
