"""Two points that keep their distance: a rod with a ball at either end, turned into one joint."""

from __future__ import annotations

import numpy as np

from regularize.lie import screw
from regularize.lie.screw import Array
from regularize.model.diagnostic import Source
from regularize.model.joint import perpendiculars
from regularize.model.mechanism import Joint


def distance_joint(
    name: str,
    parent: str,
    child: str,
    parent_point: Array,
    child_point: Array,
    child_point_in_parent: Array,
    length: float,
    source: Source | None = None,
    *,
    closure: bool = True,
) -> Joint:
    """The joint of five freedoms that keeps two points at a distance.

    The rod's spin about itself cannot be seen from outside and is left out: two rotations about
    the first point, then three about the second.

    Args:
        name: Name of the joint.
        parent: Body of the first point.
        child: Body of the second point.
        parent_point: First point in the parent's frame, metres, shape (3,).
        child_point: Second point in the child's frame, metres, shape (3,).
        child_point_in_parent: Where the second point is in the parent's frame at the pose in
            which the joint's coordinates are zero, shape (3,); it need not be at the distance.
        length: The distance in metres; 0 makes a ball joint.
        source: Where it stands in the user's files.
        closure: Whether the file marks it as closing a loop.
    """
    if length == 0.0:
        return Joint(
            name,
            parent,
            child,
            "spherical",
            np.vstack([np.zeros((3, 3)), np.eye(3)]),
            screw.transform(None, parent_point),
            screw.transform(None, child_point),
            closure=closure,
            source=source,
        )
    along = child_point_in_parent - parent_point
    direction = along if float(np.linalg.norm(along)) > 0.0 else np.array([1.0, 0.0, 0.0])
    first, second = perpendiculars(direction)
    far = length * screw.unit(direction)
    columns = [screw.revolute(axis) for axis in (first, second)]
    columns += [screw.revolute(axis, far) for axis in np.eye(3)]
    return Joint(
        name,
        parent,
        child,
        "composite",
        np.column_stack(columns),
        screw.transform(None, parent_point),
        screw.transform(None, child_point - far),
        closure=closure,
        source=source,
    )
