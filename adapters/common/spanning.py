"""The tree of bodies that a file format with nested bodies needs, and the joints that close it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from regularize.lie.screw import Array
from regularize.model.joint_motion import relative_pose, reversed_joint
from regularize.model.mechanism import Joint, Mechanism


@dataclass(frozen=True, eq=False)
class Spanning:
    """A rooted tree of all bodies.

    Attributes:
        tree: Joints from the ground outwards, parents before children; each leads from the body
            nearer to the ground to the other one.
        closures: The other joints, as they are.
        turned: Names of the joints of the tree whose parent and child were exchanged.
    """

    tree: tuple[Joint, ...]
    closures: tuple[Joint, ...]
    turned: tuple[str, ...]


def spanning(mechanism: Mechanism) -> Spanning:
    """The joints that the model does not mark as closures first, fixed ones before all.

    Among the others, those that every engine can close by points or frames are left for cuts.
    """
    import networkx as nx  # needed by writers alone

    joined: Any = nx.utils.UnionFind(body.name for body in mechanism.bodies)
    chosen: Any = nx.Graph()
    chosen.add_node(mechanism.ground)
    cuts = set()
    for joint in sorted(mechanism.joints, key=lambda j: (j.closure, _late(j))):
        if joined[joint.parent] == joined[joint.child]:
            cuts.add(joint.name)
            continue
        joined.union(joint.parent, joint.child)
        chosen.add_edge(joint.parent, joint.child, joint=joint)
    tree, turned = [], []
    for near, far in nx.bfs_edges(chosen, mechanism.ground):
        joint = chosen.edges[near, far]["joint"]
        if joint.parent == near:
            tree.append(joint)
        else:
            turned.append(joint.name)
            tree.append(reversed_joint(joint))
    closures = tuple(joint for joint in mechanism.joints if joint.name in cuts)
    return Spanning(tuple(tree), closures, tuple(turned))


def _late(joint: Joint) -> int:
    """How late a joint is taken into the tree: fixed ones first, easily closed ones last."""
    return {"fixed": 0, "revolute": 2, "spherical": 3}.get(joint.kind, 1)


def reference_poses(mechanism: Mechanism, tree: Sequence[Joint]) -> dict[str, Array]:
    """World pose of every body at the stored coordinates of the tree's joints."""
    poses = {mechanism.ground: np.eye(4)}
    for joint in tree:
        poses[joint.child] = poses[joint.parent] @ relative_pose(joint, joint.position)
    return poses
