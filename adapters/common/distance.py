"""Two points that keep their distance: the pair ``sphere_sphere`` between two bodies."""

from __future__ import annotations

from regularize.adapters.common.draft import Side, joint_between
from regularize.adapters.common.pairs import pair
from regularize.lie.screw import Array, inverse
from regularize.model.diagnostic import Source
from regularize.model.mechanism import Joint


def distance_joint(
    name: str,
    first: Side,
    second: Side,
    T_first_second: Array,
    length: float,
    source: Source | None = None,
    *,
    closure: bool = True,
) -> Joint:
    """The joint that keeps two points at a distance, like a rod with a ball at either end.

    Args:
        name: Name of the joint.
        first: Body of the first point, the parent, and a frame with the point as its origin.
        second: Body of the second point, and a frame likewise.
        T_first_second: The second body seen from the first one where the coordinates of the joint
            are zero, shape (4, 4); the points need not be at the distance there.
        length: The distance in metres; 0 makes a ball joint.
        source: Where it stands.
        closure: Whether the file marks it as closing a loop.
    """
    (parent, T_parent), (child, T_child) = first, second
    found = pair("sphere_sphere", inverse(T_parent) @ T_first_second @ T_child, length)
    sides = (parent, T_parent @ found.T_i_joint), (child, T_child @ found.T_j_joint)
    return joint_between(name, found.kind, *sides, found.screws, closure=closure, source=source)
