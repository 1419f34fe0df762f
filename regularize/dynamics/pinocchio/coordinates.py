"""The mechanism's coordinates, couplings and joint values in terms of the Pinocchio model's."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from regularize.dynamics.pinocchio.closure_rows import ClosureRows, ConstraintRows
from regularize.dynamics.pinocchio.spanning_tree import SpanningTree, TreeJoint
from regularize.errors import UnsupportedExport
from regularize.lie.arrays import Array, read_only
from regularize.mechanism.diagnostic import Diagnostic
from regularize.mechanism.graph import CouplingRow, Graph
from regularize.mechanism.joint import Joint
from regularize.repair.statics.passive_joints import dynamics_of, limits_of


class ModelCoordinates:
    """Where the coordinates of a mechanism are in the model of its spanning tree.

    ``velocities``, shape (nv, n), takes rates of the mechanism's coordinates to velocities of the
    model, ``rates``, (n, nv), velocities to rates, zero at the cuts. ``columns`` are coordinates by
    velocities, -1 for slack joints; ``backwards`` the ball and free joints passed backwards.
    """

    def __init__(
        self,
        graph: Graph,
        tree: SpanningTree,
        joints: Sequence[TreeJoint],
        *,
        mimics: bool = False,
        held: Sequence[CouplingRow] = (),
    ) -> None:
        self.graph, self.tree = graph, tree
        self._neutral = tree.space.neutral
        self.backwards = [
            (joint.index, list(joint.edges[0].columns))
            for joint in joints
            if joint.reversed and joint.edges[0].group
        ]
        self.velocities: Array = np.zeros((tree.nv, graph.freedoms))
        for joint in joints:
            first = tree.idx_vs[joint.index]
            for edge in joint.edges:
                block = np.eye(edge.freedoms)
                if edge.group:
                    # A ball joint of the model has the rotation of a free one.
                    block = edge.screws[-edge.freedoms :] * (-1.0 if joint.reversed else 1.0)
                elif joint.reversed:
                    block = block[::-1]
                self.velocities[first : first + edge.freedoms, list(edge.columns)] = block
                first += edge.freedoms
        nearest = np.argmax(np.abs(self.velocities), axis=1) if graph.freedoms else np.zeros(0, int)
        self.columns = np.where(np.any(self.velocities, axis=1), nearest, -1)
        self._planar = [(p.coordinate, p.rate) for p in tree.links if p.kind == "planar"]
        self.rates, self._start = self.velocities.T.copy(), np.zeros(graph.freedoms)
        couplings = (*(() if mimics else graph.couplings), *held)
        for row in graph.couplings if mimics else ():
            (follower, primary), coefficients = row.columns, row.coefficients
            self.rates[follower] = -coefficients[1] * self.rates[primary]
            self._start[follower] = row.offset
        self.coupling = self._couplings(couplings)
        self.offset = read_only([c.offset for c in couplings])
        self.curves = [(k, c.columns[-1], c.curve) for k, c in enumerate(couplings) if c.curve]

    def configuration(self, coordinates: Array) -> Array:
        """Configuration of the model from the mechanism's joint coordinates (n,), shape (nq,)."""
        step = self.velocities @ np.asarray(coordinates)
        q = self.tree.space.integrate(self._neutral, step)
        for k, i in self._planar:
            # The coordinates here are two slides and a turn, not a step in the plane's group.
            q[k : k + 4] = step[i], step[i + 1], np.cos(step[i + 2]), np.sin(step[i + 2])
        return q

    def of_tree(self, q: Array, step: Array | None = None) -> Array:
        """Return coordinates at ``q``, a tangent ``step`` off zero; zero at the cuts."""
        if step is None:
            step = self.tree.space.difference(self._neutral, np.asarray(q))
        for k, i in self._planar:
            step[..., i : i + 2] = q[..., k : k + 2]
            step[..., i + 2] = np.arctan2(q[..., k + 3], q[..., k + 2])
        return np.asarray(step @ self.rates.T + self._start)

    def velocity_index(self, joint: str, freedom: int = 0) -> int:
        """Index in v, a and tau of a joint's freedom."""
        self.graph.mechanism.joint(joint)
        columns = [c for e in self.graph.edges if e.joint.name == joint for c in e.columns]
        rows = np.flatnonzero(self.velocities[:, columns[freedom : freedom + 1]])
        if len(rows):
            return int(rows[0])
        raise UnsupportedExport(
            f"joint {joint!r} closes a loop and has no coordinate in the model; choose other "
            "cuts: reduce(mechanism, cuts=[...]), or the style 'anchors'"
        )

    def coupled(self, q: Array) -> Array:
        """Errors of the couplings, shape (C,)."""
        if not len(self.coupling):
            return np.zeros(0)
        x = self.of_tree(q)
        errors = np.asarray(self.coupling @ x - self.offset)
        for row, column, curve in self.curves:
            errors[row] += curve(x[column])
        return errors

    def constraint_rows(self, closures: Sequence[ClosureRows]) -> ConstraintRows:
        """Return the rows of closures and those of the couplings on the model's velocities."""
        rows, curves = self.coupling @ self.rates, []
        for row, column, curve in self.curves:
            (velocity,) = np.flatnonzero(self.rates[column]).tolist()
            scale, shift = float(self.rates[column, velocity]), float(self._start[column])
            whole = curve.along(scale, shift).plus(float(rows[row, velocity]))
            curves.append((row, velocity, whole))
        for row, velocity, _ in curves:
            rows[row, velocity] = 1.0
        targets = np.asarray(self.offset - self.coupling @ self._start)
        return ConstraintRows(closures, read_only(rows), targets, tuple(curves))

    def _couplings(self, couplings: Sequence[CouplingRow]) -> Array:
        """Coupling rows over all joint coordinates, shape (C, n)."""
        edges, present = self.graph.edges, np.any(self.velocities != 0.0, axis=0)
        rows = np.zeros((len(couplings), len(present)))
        for row, coupling in zip(rows, couplings, strict=True):
            absent = [column for column in coupling.columns if not present[column]]
            if absent:
                name = next(e.name for e in edges if absent[0] in e.columns)
                raise UnsupportedExport(
                    f"coupling {coupling.name!r} acts on joint {name!r}, which is a cut and has no "
                    "coordinate; choose other cuts: reduce(mechanism, cuts=[...]), or the style "
                    "'anchors'"
                )
            np.add.at(row, [*coupling.columns], coupling.coefficients)
            if coupling.curve is not None:
                row[coupling.columns[-1]] = 0.0
        return read_only(rows)


#: Values of a joint's dynamics that a Pinocchio model holds.
HELD = ("damping", "friction", "armature")


def joint_values(coordinates: ModelCoordinates) -> dict[str, Array]:
    """Return limits and dynamics of the tree's joints by the names of Pinocchio's arrays."""
    mechanism, tree = coordinates.graph.mechanism, coordinates.tree
    result: dict[str, Array] = {}
    stated = np.flatnonzero(coordinates.columns >= 0)
    columns = coordinates.columns[stated]
    for key in HELD:
        values = np.zeros(tree.nv)
        values[stated] = dynamics_of(mechanism, key)[columns]
        result[key] = values
    result["lowerDryFrictionLimit"] = -result["friction"]
    for key in ("velocity", "effort"):
        bounds = np.full(tree.nv, np.inf)
        bounds[stated] = limits_of(mechanism, key)[columns]
        result[f"upper{key.capitalize()}Limit"] = bounds
        result[f"lower{key.capitalize()}Limit"] = -bounds
    for key, sign in (("lower", -1.0), ("upper", 1.0)):
        bounds = limits_of(mechanism, key, unstated=0.0)
        positions = np.full(tree.nq, sign * np.inf)
        for j in range(1, tree.njoints):
            q, v = tree.idx_qs[j], tree.idx_vs[j]
            if tree.nqs[j] != tree.nvs[j]:
                end = q + tree.nqs[j]
                positions[end - 4 : end] = sign * 1.01
                continue
            for k, column in enumerate(coordinates.columns[v : v + tree.nvs[j]]):
                positions[q + k] = bounds[column] if column >= 0 else sign * np.inf
        result[f"{key}PositionLimit"] = positions
    return result


def left_out(joints: Sequence[Joint], cut: Sequence[Joint]) -> list[Diagnostic]:
    """Return findings on values without a place in the model, those of ``cut`` joints included."""
    springs = [j for j in joints if np.any(j.dynamics.stiffness)]
    held = [j for j in cut if any(np.any(getattr(j.dynamics, key)) for key in HELD)]
    bounded = [j for j in cut if j.limits is not None]
    counted = "the robot's passive_forces and simulations count them"
    elsewhere = "choose other cuts: reduce(mechanism, cuts=[...]), or the style 'anchors'"
    closing = "not in the Pinocchio model: they close loops, and have no coordinate there"
    kinds = (
        (
            "REG325",
            "springs of {} are not in the Pinocchio model, which has none",
            springs,
            counted,
        ),
        ("REG325", f"damping, friction and armature of {{}} are {closing}", held, elsewhere),
        ("REG324", f"limits of {{}} are {closing}", bounded, elsewhere),
    )
    return [
        Diagnostic(
            code,
            "warning",
            text.format(", ".join(f"`{joint.name}`" for joint in named)),
            joints=tuple(joint.name for joint in named),
            source=named[0].source,
            help=(help_,),
        )
        for code, text, named, help_ in kinds
        if named
    ]
