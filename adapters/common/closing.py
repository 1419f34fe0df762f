"""Closing joints that stand in a file beside a URDF tree."""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike

from regularize.adapters.common.draft import Draft
from regularize.adapters.common.names import unique
from regularize.adapters.common.yaml_mapping import YamlMapping
from regularize.lie.screw import Array
from regularize.model.joint import joint_screws
from regularize.model.mechanism import Joint

Z = np.array([0.0, 0.0, 1.0])


def add_closure(
    entry: YamlMapping,
    links: tuple[str, str],
    kind: str,
    frames: tuple[Array, Array],
    draft: Draft,
    *,
    axis: ArrayLike = Z,
    limits: Array | None = None,
) -> None:
    """Add the closing joint of an entry.

    Args:
        entry: Where it stands; its ``name`` is taken if it has one that is free.
        links: The two links.
        kind: Kind of the joint.
        frames: The joint frame in each of the links, shape (4, 4) each.
        draft: The model.
        axis: Direction of the joint in its frame, shape (3,).
        limits: Bounds of the joint coordinate, shape (1, 2), or None.

    Raises:
        ReadError: Both links are the same.
    """
    first, second = links
    if first == second:
        raise entry.error(f"joins link `{first}` to itself; name two links")
    name = unique(entry.text("name") or f"{first}-{second}", draft.joints)
    draft.joints[name] = Joint(
        name,
        first,
        second,
        kind,
        joint_screws(kind, axis),
        *frames,
        closure=True,
        limits=limits,
        source=entry.source,
    )


def rest_poses(entry: YamlMapping, first: str, second: str, draft: Draft) -> tuple[Array, Array]:
    """Frames of two links in their common root link where all coordinates are zero.

    Raises:
        ReadError: The links are in different trees.
    """
    (root, T_first), (other, T_second) = draft.rest_pose(first), draft.rest_pose(second)
    if root != other:
        raise entry.error(
            f"links `{first}` and `{second}` hang on different roots; join their trees first"
        )
    return T_first, T_second
