"""What is known of the relative motions of bodies, and how loops are closed with it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from regularize.model.cycles import Cycle
from regularize.model.graph import EdgeId, NodeId
from regularize.reduction.motion_spaces import SpaceId


@dataclass(frozen=True, eq=False, repr=False)
class Fact:
    """What is known of the relative motion of two bodies, and why.

    Attributes:
        bodies: The two bodies; a space that is no algebra is seen from the first.
        space: Number of the algebra, or of the space of relative twists.
        rule: ``joint``: the joint moves so; ``path``: product over a third body; ``meet``: both
            facts hold; ``walk``: seen from the next body; ``locked``: no way around lets it move;
            ``parallelogram``: opposite bodies of one.
        of: Facts that it rests on.
        edge: The joint of the rules ``joint`` and ``locked``.
        loop: The four joints of the rule ``parallelogram``, in order.
    """

    bodies: tuple[NodeId, NodeId]
    space: SpaceId
    rule: Literal["joint", "path", "meet", "walk", "locked", "parallelogram"]
    of: tuple[Fact, ...] = ()
    edge: EdgeId | None = None
    loop: tuple[EdgeId, ...] = ()


@dataclass(frozen=True)
class Closing:
    """How one loop is closed.

    Attributes:
        edge: The cut.
        node: Body in whose frame the space does not move; one of the cut's two.
        space: Number of the space Δ of relative twists that the cut can see.
        cycle: The loop.
        of: Facts that make the space smaller, seen from the node and from the far body, relative to
            one body of the loop each; None where that is the body itself.
    """

    edge: EdgeId
    node: NodeId
    space: SpaceId
    cycle: Cycle
    of: tuple[tuple[Fact | None, Fact | None], ...]
