"""Single changes of joint types, and what they do to the self-stress of a mechanism."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass, field, replace

import numpy as np

from regularize.lie import screw
from regularize.lie.directions import axis_words
from regularize.lie.screw import IDENTITY, Array, read_only
from regularize.manifold.assembly import with_coordinates
from regularize.model.graph import EdgeId
from regularize.model.joint import joint_screws, perpendiculars
from regularize.model.mechanism import Joint, JointDynamics
from regularize.reduction.reduce import Reduction
from regularize.statics.equilibrium import Equilibrium

#: How far each standard joint is from the hinge, slider or weld that it replaces: an axis that is
#: kept costs less, and every kind has to be available as a part.
COST = {"cylindrical": 1, "universal": 2, "spherical": 2, "slotted": 3}

#: A pin in a slot is no standard joint, but it is the only one that gives way within the plane of
#: a planar loop, where equal cranks fight each other. It is proposed where nothing else helps.
STANDARD = ("cylindrical", "universal", "spherical")

#: What the direction of a kind that leaves a choice is called.
CHOICE = {
    "revolute": "axis along",
    "prismatic": "along",
    "cylindrical": "axis along",
    "planar": "plane normal to",
}


@dataclass(frozen=True, eq=False)
class JointChange:
    """Another type for one joint.

    Attributes:
        joint: Name of the joint.
        before: Its kind.
        after: The kind to make it.
        replacement: The changed joint.
        added: World screws of its new freedoms at the assembled pose, shape (6, added).
        choice: Where the new kind leaves a choice, the direction chosen: of a closure that is
            released the axis; ground axes, assembled pose, shape (3,). Else None.
    """

    joint: str
    before: str
    after: str
    replacement: Joint = field(repr=False)
    added: Array = field(repr=False)
    choice: Array | None = field(default=None, repr=False)

    @property
    def gain(self) -> int:
        """Number of freedoms that the joint gains."""
        return int(self.added.shape[1])

    @property
    def cost(self) -> int:
        """Rank of the new kind from 1 on: least where the axis is kept and the part is standard."""
        return COST[self.after]

    @property
    def words(self) -> str:
        """The new kind, with its direction where there is a choice."""
        if self.choice is None:
            return self.after
        return f"{self.after} ({CHOICE[self.after]} {axis_words(self.choice)})"

    @property
    def argument(self) -> str:
        """What ``regularize fix --joint`` takes: ``NAME=KIND`` or ``NAME=KIND:X,Y,Z``."""
        text = f"{self.joint}={self.after}"
        if self.choice is None:
            return text
        return f"{text}:" + ",".join(f"{x + 0.0:.6g}" for x in np.round(self.choice, 9))

    def __str__(self) -> str:
        """For example ``D: revolute to spherical``."""
        return f"{self.joint}: {self.before} to {self.words}"


class Stressed:
    """The self-stress of a mechanism at a configuration that is not singular."""

    def __init__(self, reduction: Reduction) -> None:
        """Take the assembled pose, or one met on a walk where that is singular."""
        self.reduction = reduction
        q = np.array(reduction.q)
        for cell in reduction.cells:
            if cell.here.rank < cell.generic.rank:
                q[reduction.graph.columns(cell.edges)] = cell.configurations[-1]
        self.q, self.equilibrium = q, Equilibrium(reduction, q)

    def options(
        self, edges: Sequence[EdgeId], keep: set[str], kinds: Collection[str], motors: bool = False
    ) -> list[JointChange]:
        """Every single change that is allowed, in the order of the joints."""
        mechanism = with_coordinates(self.reduction.mechanism, self.reduction.q)
        coupled = {name for c in mechanism.couplings for name, _, _ in c.terms}
        found = []
        for e in edges:
            edge = self.reduction.graph.edges[e]
            joint = mechanism.joint(edge.joint.name)
            if joint.name in keep | coupled or (joint.actuated and not motors):
                continue
            for after, replacement, shift in _replacements(joint):
                if after in kinds:
                    pose = self.equilibrium.origin(e) @ shift
                    added = _added(joint, replacement, pose, self.q[list(edge.columns)])
                    found.append(
                        JointChange(joint.name, joint.kind, after, replacement, read_only(added))
                    )
        return found

    def seen(
        self, edges: Sequence[EdgeId], options: Sequence[JointChange]
    ) -> tuple[list[Array], int]:
        """New freedoms as the self-stress states of one cell see them, (states, gain) each."""
        loops = self.equilibrium.loops
        fields = self.equilibrium.fields(self.equilibrium.self_stress)
        own = fields[[loops.edges.index(e) for e in edges]]
        _, s, vt = np.linalg.svd(own.reshape(-1, own.shape[2]), full_matrices=False)
        own = own @ vt[s > 1e-6].T
        by_name = {self.reduction.graph.edges[e].joint.name: i for i, e in enumerate(edges)}
        blocks = [
            own[by_name[option.joint]].T @ loops.scaled(option.added.T).T for option in options
        ]
        return blocks, own.shape[2]


def _added(joint: Joint, replacement: Joint, pose: Array, q: Array) -> Array:
    """World screws that a joint gains, shape (6, added).

    Args:
        joint: The joint as it is.
        replacement: The joint as it would be.
        pose: World pose of the replacement's frame on the parent, shape (4, 4).
        q: Coordinates of the joint as it is.
    """
    R, point = pose[:3, :3], pose[:3, 3]
    if joint.kind == "fixed":
        return np.column_stack([screw.revolute(axis, point) for axis in R.T])
    axis, _, pitch = screw.axis_of(joint.screws[:, 0])
    if replacement.kind == "cylindrical":
        gained = screw.revolute(R @ axis, point) if pitch is None else screw.prismatic(R @ axis)
        return gained[:, None]
    if replacement.kind == "composite":
        return screw.prismatic(R @ replacement.screws[:3, 0])[:, None]
    if replacement.kind == "universal":
        turned = R @ screw.exp(screw.revolute(axis) * q[0])[:3, :3]
        return screw.revolute(turned @ replacement.screws[3:, 1], point)[:, None]
    return np.column_stack([screw.revolute(R @ e, point) for e in perpendiculars(axis)])


def _replacements(joint: Joint) -> Iterator[tuple[str, Joint, Array]]:
    """Joints with more freedoms in the same position: what, which, and the shift of its frame."""
    if joint.kind == "fixed" and joint.closure:
        yield _with(joint, "spherical", joint_screws("spherical"), np.zeros(3), IDENTITY)
        return
    if joint.kind not in ("revolute", "prismatic"):
        return
    axis, point, _ = screw.axis_of(joint.screws[:, 0])
    value = float(joint.position[0])
    cylindrical = joint_screws("cylindrical", axis)
    if point is None:
        yield _with(joint, "cylindrical", cylindrical, np.array([value, 0.0]), IDENTITY)
        return
    shift = screw.transform(None, point)
    yield _with(joint, "cylindrical", cylindrical, np.array([0.0, value]), shift)
    for second in perpendiculars(axis):
        screws = joint_screws("universal", axis, second)
        yield _with(joint, "universal", screws, np.array([value, 0.0]), shift)
    yield _with(joint, "spherical", joint_screws("spherical"), value * axis, shift)
    for along in perpendiculars(axis):
        screws = np.column_stack([screw.prismatic(along), screw.revolute(axis)])
        yield _with(joint, "slotted", screws, np.array([0.0, value]), shift)


def _with(
    joint: Joint, after: str, screws: Array, position: Array, shift: Array
) -> tuple[str, Joint, Array]:
    replacement = replace(
        joint,
        kind="composite" if after == "slotted" else after,
        screws=screws,
        position=position,
        T_parent_joint=joint.T_parent_joint @ shift,
        T_child_joint=joint.T_child_joint @ shift,
        limits=None,
        dynamics=JointDynamics(),
    )
    return after, replacement, shift
