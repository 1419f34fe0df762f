"""Loads of joints when errors of manufacturing are forced shut in redundant directions."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from regularize.lie import screw
from regularize.lie.arrays import Array
from regularize.mechanism.quantity import STIFFNESS, TOLERANCE
from regularize.reduction.reduce import Reduction
from regularize.repair.statics.equilibrium import StressedJoints, stressed_joints
from regularize.repair.statics.joint_changes import JointChange
from regularize.tolerances import UNNOTICED, VANISHING

#: A length and an angle, or their stiffnesses, by the names of joints; SI units.
Pairs = Mapping[str, tuple[float, float]]

#: Fields with a standard deviation.
STD = ("force_std", "moment_std")


@dataclass(frozen=True)
class LoadedJoint:
    """Loads of a joint when the misfit is forced shut: one standard deviation, and the worst."""

    joint: str
    force_std: float
    moment_std: float
    force_worst: float
    moment_worst: float


def six_values(names: Sequence[str], given: Pairs, without: float) -> Array:
    """Repeat the pair of values of each joint for its six directions, shape (joints, 6)."""
    return np.repeat([given.get(name, (without, without)) for name in names], 3, axis=1)


def compliance_of(stressed: StressedJoints, springs: Pairs) -> Array:
    """Return the gaps in redundant directions by forces in these, shape (states, states)."""
    wrenches = np.moveaxis(stressed.wrenches, 2, 0)
    soft = 1.0 / six_values(stressed.names, springs, np.inf)
    return np.asarray(np.einsum("ajk,bjk->ab", wrenches * soft, wrenches))


def closing_forces(compliance: Array, gaps: Array) -> Array | None:
    """Return the forces that close gaps (states, …); None where nothing gives way to some."""
    scale = np.sqrt(np.diag(compliance))
    if not scale.all() or np.linalg.cond(compliance / np.outer(scale, scale)) > 1e12:
        return None
    return np.asarray(-np.tensordot(np.linalg.inv(compliance), gaps, axes=1))


def joint_loads(stressed: StressedJoints, forces: Array) -> list[LoadedJoint]:
    """Return force and moment of each joint under the closing forces, in N and N m."""
    found = []
    for name, wrench in zip(stressed.names, stressed.wrenches, strict=True):
        parts = np.tensordot(wrench, forces, axes=1).reshape(6, -1)
        halves = [half for x in (parts, np.abs(parts).sum(axis=1)) for half in (x[:3], x[3:])]
        found.append(LoadedJoint(name, *(float(np.linalg.norm(half)) for half in halves)))
    return found


class LackOfFit:
    """Errors and stiffnesses of all joints, and the forces that they come to after changes."""

    def __init__(self, reduction: Reduction, errors: Pairs, springs: Pairs) -> None:
        self.errors, self.springs = errors, springs
        cells = [cell for cell in reduction.cells if cell.redundant]
        #: False where a pose is singular: the stress elsewhere says nothing of changes made there.
        self.known = all(cell.here.rank == cell.generic.rank for cell in cells)
        self._stressed = [stressed_joints(reduction, cell) for cell in cells] if self.known else []

    @classmethod
    def nominal(cls, reduction: Reduction) -> LackOfFit:
        """Take the same error and the same stiffness, of usual bearings, for all joints."""
        usual = (q.pair(q.example) for q in (TOLERANCE, STIFFNESS))
        names = [joint.name for joint in reduction.mechanism.joints]
        return cls(reduction, *(dict.fromkeys(names, pair) for pair in usual))

    def largest(self, changes: Iterable[JointChange] = ()) -> tuple[float, float] | None:
        """Return the largest standard deviations of force and moment in joints; None if unknown."""
        loads = self.loads(changes)
        if loads is None:
            return None
        both = [max([getattr(load, name) for load in loads], default=0.0) for name in STD]
        force, moment = (value if value > VANISHING * max(both) else 0.0 for value in both)
        return force, moment

    def loads(self, changes: Iterable[JointChange] = ()) -> list[LoadedJoint] | None:
        """Return the loads of all joints in redundant loops after some changes; None if unknown."""
        if not self.known:
            return None
        added = {change.joint: change.added for change in changes}
        loads: list[LoadedJoint] = []
        for stressed in self._stressed:
            joints = zip(stressed.names, stressed.places, stressed.wrenches, strict=True)
            work = [
                wrench.T @ (screw.adjoint(screw.inverse(place)) @ added[name])
                for name, place, wrench in joints
                if name in added
            ]
            u, s, _ = np.linalg.svd(np.hstack([np.zeros((stressed.states, 0)), *work]))
            left = stressed.mixed(u[:, np.count_nonzero(s > UNNOTICED * max([1.0, *s])) :])
            if not left.states:
                continue
            gaps = np.moveaxis(left.wrenches, 2, 0) * six_values(left.names, self.errors, 0.0)
            forces = closing_forces(compliance_of(left, self.springs), gaps)
            if forces is None:
                return None
            loads += joint_loads(left, forces)
        return loads
