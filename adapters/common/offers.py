"""Loops that a tree seems to mark: pairs of frames on different branches that coincide."""

from __future__ import annotations

from collections.abc import Callable
from itertools import combinations

import numpy as np

from regularize.adapters.common.draft import Draft
from regularize.lie.screw import Array
from regularize.model.connections import DisjointSets
from regularize.model.mechanism import Body

#: How near frames have to be, as a part of the model's size, and their axes, as a sine.
NEAR = 1e-5
#: Most frames that are compared.
MOST = 400


def offer_closures(
    draft: Draft, pose: Callable[[str], Array], lines: Callable[[str, str, bool], tuple[str, ...]]
) -> None:
    """Offer to close loops where two frames coincide that nothing else explains (REG019).

    A frame is a body without mass that is fixed to another one and carries nothing. Two of them are
    offered if they are the only ones at their place, on bodies that joints connect, but not one
    joint alone, and if no closing joint joins them or their bodies already.

    Args:
        draft: The model.
        pose: Place of a body where all coordinates are as the file has them, shape (4, 4).
        lines: What to write for a pair, with or without a common axis Z.
    """
    rigid = DisjointSets(draft.bodies)
    fixed = [j for j in draft.joints.values() if j.kind == "fixed" and not j.closure]
    for joint in fixed:
        rigid.union(joint.parent, joint.child)
    movable = [j for j in draft.joints.values() if j.kind != "fixed" or j.closure]
    joined = {frozenset((rigid[j.parent], rigid[j.child])) for j in movable}
    parents = {j.parent for j in draft.joints.values()}
    ends = {j.child for j in fixed} - parents - {j.child for j in movable}
    frames = [body.name for body in _frames(draft) if body.name in ends]
    if not 2 <= len(frames) <= MOST:
        return
    connected = DisjointSets(draft.bodies)
    for joint in draft.joints.values():
        connected.union(joint.parent, joint.child)
    places = {name: pose(name) for name in frames}
    points = np.array([T[:3, 3] for T in (pose(name) for name in draft.bodies)])
    near = NEAR * max(float(np.max(np.ptp(points, axis=0))), 1e-3)
    for one, other in combinations(frames, 2):
        here = [
            name
            for name in frames
            if np.linalg.norm(places[name][:3, 3] - places[one][:3, 3]) <= near
        ]
        pair = frozenset((rigid[one], rigid[other]))
        alone = here == [one, other] and len(pair) == 2
        if alone and pair not in joined and connected[one] == connected[other]:
            axis = np.linalg.norm(np.cross(places[one][:3, 2], places[other][:3, 2])) <= NEAR
            at = " with a common axis Z" if axis else ""
            draft.note(
                "REG019",
                f"the frames `{one}` and `{other}` on different branches lie in one place{at}: "
                "they may mark a loop, which the file does not close",
                draft.bodies[other].source,
                *lines(one, other, bool(axis)),
            )


def _frames(draft: Draft) -> list[Body]:
    """The bodies that are no more than frames: without shapes and a mass to speak of."""
    masses = [body.inertia.mass for body in draft.bodies.values() if body.inertia is not None]
    light = 1e-3 * max(masses, default=0.0)
    return [
        body
        for body in draft.bodies.values()
        if not body.geometry and (body.inertia is None or body.inertia.mass <= light)
    ]
