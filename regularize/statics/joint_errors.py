r"""What errors of joints do to loops that are closed more than once.

A joint whose two frames are off by a small twist e against each other opens the loops through it.
Coordinates take up all of the gap but what states of self-stress X do work on,

.. math:: m = X^T \delta = \sum_j w_j^T e_j ,

with :math:`w_j` the wrench of the state in joint j (virtual work; the left null space of the
closure Jacobian, as in the method of Kutzbach for lack of fit). Along its own freedoms a joint
transmits nothing, so errors there do not count. Where joints give way by compliances
:math:`K_j^{-1}`, the state of least elastic energy closes the gap (Castigliano):

.. math:: \lambda = -\left(\sum_j w_j^T K_j^{-1} w_j\right)^{-1} m .
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from regularize.lie import screw
from regularize.lie.screw import Array
from regularize.model.graph import EdgeId
from regularize.reduction.mobility import CellMobility
from regularize.reduction.reduce import Reduction
from regularize.statics.equilibrium import Equilibrium


@dataclass(frozen=True, eq=False)
class StressedJoints:
    """States of self-stress of a cell as wrenches in its joints.

    Attributes:
        names: The joints.
        places: The frame of each, on its parent, world, shape (joints, 4, 4).
        wrenches: In every joint at its place along these axes, force in newtons first, moment in
            newton metres, shape (joints, 6, states).
        chords: In the closing joints, by edge: about the origin, axes of the world, as the bodies
            that carry the cut frames stand at the assembled pose, shape (6, states).
    """

    names: tuple[str, ...]
    places: Array
    wrenches: Array
    chords: dict[EdgeId, Array]

    @property
    def states(self) -> int:
        """Number of states."""
        return int(self.wrenches.shape[2])

    def mixed(self, amounts: Array) -> StressedJoints:
        """Other states, made of some amounts of these, shape (states, k)."""
        chords = {e: wrench @ amounts for e, wrench in self.chords.items()}
        return StressedJoints(self.names, self.places, self.wrenches @ amounts, chords)


def stressed_joints(reduction: Reduction, cell: CellMobility) -> StressedJoints:
    """The states of self-stress of a cell.

    Where the assembled pose is singular, they are those of the least singular configuration that
    was visited.
    """
    equilibrium = Equilibrium(reduction, _regular(reduction, cell), cell.edges)
    loops, graph, state = equilibrium.loops, reduction.graph, equilibrium.state
    unknowns = equilibrium.self_stress
    fields = equilibrium.fields(unknowns)
    reference, every = reduction.reference.T_world_node[0], reduction.loops
    T_world_root = reference[every.row(loops.roots[0])]
    names, places, wrenches = [], [], []
    for e, field in zip(loops.edges, fields, strict=True):
        name = graph.edges[e].joint.name
        if name in names:  # in series: what one of them transmits, all do
            continue
        pose = _frame(equilibrium, e)
        names.append(name)
        places.append(T_world_root @ pose)
        wrench = equilibrium.at_point(field, pose[:3, 3])
        wrenches.append(np.kron(np.eye(2), pose[:3, :3].T) @ wrench)
    chords = {}
    cuts = {cut.edge.index: cut for cut in reduction.cuts}
    for k, e in enumerate(loops.chords):
        node = cuts[e].node
        here = state.T_world_node[0, loops.row(node)]
        T = reference[every.row(node)] @ screw.inverse(here)
        own = equilibrium.at_point(unknowns[6 * k : 6 * k + 6], np.zeros(3))
        chords[e] = screw.adjoint(screw.inverse(T)).T @ own
    return StressedJoints(tuple(names), np.array(places), np.array(wrenches), chords)


def _frame(equilibrium: Equilibrium, edge: EdgeId) -> Array:
    """The frame of a joint on its parent as the file has it: there are its bearings.

    Kinematics may have its origin elsewhere on the axis.
    """
    graph, own = equilibrium.graph, equilibrium.graph.edges[edge]
    joint = own.joint
    if graph.node_of[joint.parent] != own.parent:
        return equilibrium.origin(edge)
    T_node = equilibrium.state.T_world_node[0, equilibrium.loops.row(own.parent)]
    return np.asarray(T_node @ graph.T_node_body[joint.parent] @ joint.T_parent_joint)


def _regular(reduction: Reduction, cell: CellMobility) -> Array:
    """The assembled coordinates of a cell, or others where these are singular, shape (n,)."""
    q = reduction.q[reduction.graph.columns(cell.edges)]
    if cell.here.rank == cell.generic.rank:
        return np.asarray(q)
    loops = Equilibrium(reduction, q, cell.edges).loops
    rows = loops.jacobian(loops.state(cell.configurations)) * loops.units
    s = np.linalg.svd(rows, compute_uv=False)
    clear = s[:, cell.generic.rank - 1] / s[:, 0]
    return np.asarray(cell.configurations[int(np.argmax(clear))])
