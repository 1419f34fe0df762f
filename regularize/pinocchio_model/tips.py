"""Bodies cut in two: copies of them at the ends of cut joints, and how they share their mass."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from regularize.lie.screw import Array
from regularize.model.graph import Edge, Graph, NodeId
from regularize.model.mechanism import Inertia

#: Pinocchio joint models that move along or about one axis of their frame, linear first.
SINGLE = ("PX", "PY", "PZ", "RX", "RY", "RZ")

_NOTHING = Inertia(0.0, np.zeros(3), np.zeros((3, 3)))


@dataclass(frozen=True, eq=False, repr=False)
class Tip:
    """A second copy of a body at the end of a cut joint, to be welded to the body itself.

    Attributes:
        edge: The cut joint, which becomes a joint of the tree.
        node: The body that is cut in two.
        T_node_frame: Frame of the weld on the body, shape (4, 4).
        slack: Axes of that frame, numbered as in ``SINGLE``, along which slack joints are put
            between the cut joint and the copy.
    """

    edge: Edge
    node: NodeId
    T_node_frame: Array
    slack: tuple[int, ...] = ()


class SharedInertia:
    """Inertias of the nodes of a graph, some of which have copies.

    Args:
        graph: The mechanism's graph.
        tips: The copies.
        length: Size of the mechanism in metres, for the inertia of copies of the ground.
    """

    def __init__(self, graph: Graph, tips: Sequence[Tip], length: float) -> None:
        """Keep what decides the shares."""
        self.graph, self.tips, self.length = graph, tuple(tips), length

    def _copies(self, node: NodeId) -> int:
        """Number of massive copies of a node."""
        return sum(tip.node == node and bool(tip.edge.freedoms or tip.slack) for tip in self.tips)

    def _own(self, node: NodeId) -> Inertia:
        """Inertia of a node in its own frame; zero where nothing is known."""
        bodies = [(name, self.graph.mechanism.body(name)) for name in self.graph.members[node]]
        known = [
            body.inertia.transformed(self.graph.T_node_body[name])
            for name, body in bodies
            if body.inertia is not None
        ]
        return known[0] if len(known) == 1 else Inertia.total([_NOTHING, *known])

    def _shared(self, node: NodeId) -> bool:
        """Whether equal shares of a node's inertia can stand for its copies."""
        if node == self.graph.ground:
            return False
        inertia = self._own(node)
        principal = np.linalg.eigvalsh(inertia.matrix)
        return bool(inertia.mass > 0 and principal[0] > 1e-9 * max(principal[-1], 1e-300))

    def of_tip(self, node: NodeId) -> Inertia:
        """Inertia of one copy of a node.

        A body with mass in all directions is shared out evenly. A copy of the ground does not
        move, so its inertia never matters. A body that lacks inertia in some direction gets back,
        as a negative inertia, what its copies have too much. A massless body has massless copies.
        """
        own, share = self._own(node), 1.0 / (1 + self._copies(node))
        if self._shared(node):
            return own.scaled(share)
        mass, center = share * own.mass, own.center
        if node == self.graph.ground:
            bodies = [body.inertia for body in self.graph.mechanism.bodies if body.inertia]
            mass = float(np.mean([i.mass for i in bodies])) if bodies else 1.0
            center = next(tip.T_node_frame[:3, 3] for tip in self.tips if tip.node == node)
        if mass == 0.0:
            return _NOTHING
        return Inertia(mass, center, 0.4 * mass * self.length**2 * np.eye(3))

    def remaining(self, node: NodeId) -> list[Inertia]:
        """What stays of a node's inertia once its copies have theirs, in the node's frame."""
        own = self._own(node)
        copies = self._copies(node)
        if copies == 0:
            return [own] if own.mass > 0 or np.any(own.matrix) else []
        if self._shared(node):
            return [own.scaled(1.0 / (1 + copies))]
        if own.mass == 0.0:
            return [own]
        return [own, self.of_tip(node).scaled(-float(copies))]
