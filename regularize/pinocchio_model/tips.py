"""Bodies cut in two: copies of them at the ends of cut joints, and how they share their mass."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import pinocchio as pin

from regularize.lie.screw import Array
from regularize.model.graph import Edge, Graph, NodeId
from regularize.model.mechanism import Inertia

#: Pinocchio joint models that move along or about one axis of their frame, linear first.
SINGLE = ("PX", "PY", "PZ", "RX", "RY", "RZ")


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

    def _own(self, node: NodeId) -> Any:
        """Inertia of a node in its own frame; zero where nothing is known."""
        total = pin.Inertia.Zero()
        for name in self.graph.members[node]:
            inertia = self.graph.mechanism.body(name).inertia
            if inertia is not None:
                total += pin.SE3(self.graph.T_node_body[name]).act(_inertia(inertia))
        return total

    def _shared(self, node: NodeId) -> bool:
        """Whether equal shares of a node's inertia can stand for its copies."""
        if node == self.graph.ground:
            return False
        inertia = self._own(node)
        principal = np.linalg.eigvalsh(np.array(inertia.inertia))
        return bool(inertia.mass > 0 and principal[0] > 1e-9 * max(principal[-1], 1e-300))

    def of_tip(self, node: NodeId) -> Any:
        """Inertia of one copy of a node.

        A body with mass in all directions is shared out evenly. A copy of the ground does not
        move, so its inertia never matters. A body that lacks inertia in some direction gets back,
        as a negative inertia, what its copies have too much. A massless body has massless copies.
        """
        own, share = self._own(node), 1.0 / (1 + self._copies(node))
        if self._shared(node):
            return _scaled(own, share)
        mass, center = share * own.mass, own.lever
        if node == self.graph.ground:
            bodies = [body.inertia for body in self.graph.mechanism.bodies if body.inertia]
            mass = float(np.mean([i.mass for i in bodies])) if bodies else 1.0
            center = next(tip.T_node_frame[:3, 3] for tip in self.tips if tip.node == node)
        if mass == 0.0:
            return pin.Inertia.Zero()
        return pin.Inertia(mass, np.array(center), 0.4 * mass * self.length**2 * np.eye(3))

    def remaining(self, node: NodeId) -> list[Any]:
        """What stays of a node's inertia once its copies have theirs, in the node's frame."""
        own = self._own(node)
        copies = self._copies(node)
        if copies == 0:
            return [own] if own.mass > 0 or np.any(own.inertia) else []
        if self._shared(node):
            return [_scaled(own, 1.0 / (1 + copies))]
        if own.mass == 0.0:
            return [own]
        return [own, _scaled(self.of_tip(node), -float(copies))]


def _inertia(inertia: Inertia) -> Any:
    return pin.Inertia(inertia.mass, np.array(inertia.center), np.array(inertia.matrix))


def _scaled(inertia: Any, factor: float) -> Any:
    """The inertia times a factor, which may be negative."""
    return pin.Inertia.FromDynamicParameters(factor * inertia.toDynamicParameters())
