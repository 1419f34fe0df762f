"""Self-stress in words: wrenches that circulate through joints without any load.

States that stay within one short loop come first, for they are the easiest to picture; what is left
runs through several loops at once.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from regularize.arguments import vector
from regularize.lie import screw
from regularize.lie.directions import TOLERANCE, Direction, directions
from regularize.lie.screw import Array, read_only
from regularize.model.cycles import Cycle
from regularize.model.short_repr import ShortRepr
from regularize.reduction.rank import decide_rank
from regularize.reduction.reduce import Reduction
from regularize.statics.equilibrium import Equilibrium


@dataclass(frozen=True, eq=False, repr=False)
class SelfStress(ShortRepr):
    """One state of self-stress.

    Attributes:
        joints: Names of the joints that take part.
        direction: The wrench in the first of them, about ``point``, ground axes.
        point: World coordinates in metres, shape (3,).
        one_loop: Whether it circulates in one short loop, the same wrench through every joint.
    """

    joints: tuple[str, ...]
    direction: Direction
    point: Array
    one_loop: bool

    def __str__(self) -> str:
        """One phrase, for example ``a force along Y circulates through A, B, C, D``."""
        wrench = self.direction.words("force", "moment")
        if self.one_loop:
            return f"a {wrench} circulates through {', '.join(self.joints)}"
        return f"a {wrench} in {self.joints[0]} is balanced by {', '.join(self.joints[1:])}"


def self_stress(reduction: Reduction, q: Array | None = None) -> tuple[SelfStress, ...]:
    """A readable basis of the self-stress of a mechanism.

    Args:
        reduction: From ``regularize.reduce``.
        q: Closed coordinates of all joints, shape (n,); by default the assembled ones.
    """
    if not reduction.redundant:
        return ()
    q = reduction.q if q is None else vector("q", q, len(reduction.q))
    equilibrium = Equilibrium(reduction, q)
    fields = equilibrium.fields(equilibrium.self_stress)
    if not fields.shape[2]:
        return ()
    total = fields.reshape(-1, fields.shape[2])
    found: list[SelfStress] = []
    explained: list[Array] = []
    for part in reduction.parts:
        for cycle in part.cycles:
            for state, field in _of_cycle(equilibrium, cycle):
                known = np.array(explained).reshape(-1, len(total)).T
                new = field - _project(known, field)
                if np.linalg.norm(new) < 1e-6 * np.linalg.norm(field):
                    continue  # neighbouring loops say so already
                found.append(state)
                explained.append(field)
    rest = total - _project(np.array(explained).reshape(-1, len(total)).T, total)
    u, _, _ = np.linalg.svd(rest, full_matrices=False)
    for column in u.T[: total.shape[1] - len(found)]:
        found.append(_across(equilibrium, column.reshape(-1, 6)))
    return tuple(found)


def _project(columns: Array, onto: Array) -> Array:
    """Orthogonal projection on the space of the columns."""
    basis = np.linalg.qr(columns)[0]
    return np.asarray(basis @ (basis.T @ onto))


def _of_cycle(equilibrium: Equilibrium, cycle: Cycle) -> Iterator[tuple[SelfStress, Array]]:
    """States within one loop and their wrench fields, shape (edges * 6,)."""
    loops, graph = equilibrium.loops, equilibrium.graph
    screws = np.vstack([equilibrium.screws[loops.local(e)] for e in cycle.edges])
    u, s, _ = np.linalg.svd(screws.T, full_matrices=True)
    space = u[:, decide_rank(s, equilibrium.rtol).rank :]
    if not space.shape[1]:
        return
    point = _common_point(equilibrium, cycle)
    names = tuple(dict.fromkeys(graph.edges[e].joint.name for e in cycle.edges))
    for direction in directions(equilibrium.about(space, point)):
        wrench = direction.covector.copy()
        wrench[3:] += np.cross((point - loops.center) / loops.length, wrench[:3])
        field = np.zeros((len(loops.edges), 6))
        for e, node in zip(cycle.edges, cycle.nodes, strict=True):
            sign = 1.0 if node == graph.edges[e].parent else -1.0
            field[loops.edges.index(e)] = sign * wrench
        yield SelfStress(names, direction, read_only(point), True), field.ravel()


def _common_point(equilibrium: Equilibrium, cycle: Cycle) -> Array:
    """The point nearest to all axes of rotation of a loop, world coordinates."""
    normal, moment = np.zeros((3, 3)), np.zeros(3)
    for e in cycle.edges:
        for twist in equilibrium.state.screws[0, equilibrium.loops.local(e)]:
            axis, point, _ = screw.axis_of(twist)
            if point is not None:
                across = np.eye(3) - np.outer(axis, axis)
                normal, moment = normal + across, moment + across @ point
    center = np.asarray(equilibrium.loops.center)
    return center + np.linalg.lstsq(normal, moment - normal @ center, rcond=1e-9)[0]


def _across(equilibrium: Equilibrium, field: Array) -> SelfStress:
    """A state that runs through several loops, seen from its first joint."""
    loops, graph = equilibrium.loops, equilibrium.graph
    sizes = np.max(np.abs(field), axis=1)
    taking = np.flatnonzero(sizes > TOLERANCE * sizes.max()).tolist()
    first = taking[0]
    origin = equilibrium.origin(loops.edges[first])[:3, 3]
    wrench = equilibrium.about(field[first][:, None], origin)
    names = tuple(dict.fromkeys(graph.edges[loops.edges[i]].joint.name for i in taking))
    wrench /= np.linalg.norm(wrench)
    return SelfStress(names, directions(wrench)[0], read_only(origin), False)
