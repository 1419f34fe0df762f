"""Misfit: what manufacturing errors leave open in redundant directions, and what closes it."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any, TypeAlias

import numpy as np

from regularize.errors import ModelError, NotClosed
from regularize.lie.arrays import Array
from regularize.lie.screw import cross_matrix
from regularize.mechanism.diagnostic import Diagnostic
from regularize.mechanism.mechanism import Model
from regularize.mechanism.quantity import FORCES, STIFFNESS, TOLERANCE, value_of
from regularize.reduction.cuts import independent_rows, outside
from regularize.reduction.reduce import Reduction, as_reduction
from regularize.repair.statics.equilibrium import StressedJoints, stressed_joints
from regularize.repair.statics.lack_of_fit import (
    LackOfFit,
    LoadedJoint,
    closing_forces,
    compliance_of,
    joint_loads,
    six_values,
)
from regularize.repair.statics.per_joint import OWN, PerJoint, per_joint, stated_tolerances
from regularize.report.loop_report import LoopReport, loop_reports
from regularize.words import Direction, listed, three_digits

#: A direction, what the states do on it, and the same with lengths scaled.
_Option: TypeAlias = "tuple[LoopReport, Direction, Array, Array]"


@dataclass(frozen=True, eq=False)
class RedundantDirection:
    """A direction at a closing joint that other joints hold already, and its misfit."""

    loop: str
    joint: str
    direction: Direction
    covector: Array
    std: float
    worst: float
    force_std: float | None = None
    force_worst: float | None = None
    energy: float | None = None

    @property
    def angular(self) -> bool:
        """Return whether the gap is an angle."""
        return self.direction.kind == "angular"

    @property
    def label(self) -> str:
        """Return the direction in words, such as ``translation along Y``."""
        return self.direction.words("translation", "rotation")

    def as_dict(self) -> dict[str, Any]:
        """Return the entry of ``misfit`` in the JSON report."""
        return {
            "loop": self.loop,
            "joint": self.joint,
            "direction": self.label + " of the ground",
            "covector": [float(x) + 0.0 for x in np.round(self.covector, 12)],
            "std": self.std,
            "worst": self.worst,
        }


@dataclass(frozen=True, eq=False, repr=False)
class Misfit:
    """Gaps and forces that joint errors cause in redundant directions of a mechanism.

    Attributes:
        entries: One for each redundant direction.
        loads: One for each joint that misfit loads, the most loaded first; empty where no stiffness
            is given.
        joints: Names of all joints in loops.
        places: The frames of these joints, where errors are taken, on their parents, world, shape
            (joints, 4, 4).
        influence: Gap in every direction by errors of every joint at its place along the axes of
            its frame, translations first, shape (entries, joints, 6).
        compliance: Gap in every direction by forces in these, shape (entries, entries); zero where
            no stiffness is given.
    """

    entries: tuple[RedundantDirection, ...]
    loads: tuple[LoadedJoint, ...]
    joints: tuple[str, ...]
    places: Array
    influence: Array
    compliance: Array

    def __repr__(self) -> str:
        """Return one line: the counts, and the largest misfit."""
        gaps = [e.std for e in self.entries if not e.angular]
        turns = [e.std for e in self.entries if e.angular]
        return (
            f"<Misfit of {len(self.entries)} redundant directions: up to "
            f"{max(gaps, default=0.0):.3g} m and {max(turns, default=0.0):.3g} rad>"
        )

    def as_dict(self) -> list[dict[str, Any]]:
        """Return the entries ``misfit`` of the JSON report."""
        return [entry.as_dict() for entry in self.entries]

    def stress(self) -> dict[str, Any] | None:
        """Return the entry ``stress`` of the JSON report: closing forces and joint loads."""
        if not self.entries or self.entries[0].force_std is None:
            return None
        return {
            "directions": [{"std": e.force_std, "worst": e.force_worst} for e in self.entries],
            "joints": [vars(load) for load in self.loads],
        }


def misfit(
    model: Model,
    tolerance: PerJoint | Iterable[PerJoint] = OWN,
    stiffness: PerJoint | Iterable[PerJoint] | None = None,
) -> Misfit:
    """Return the gaps that joint tolerances leave in redundant directions, and their forces.

    Errors of a joint are independent translations along, and rotations about, the three axes of its
    frame, of the size of its tolerance. Those along its own freedoms have no effect. The origin of
    the frame is where the joint is: a tilt there moves the axis elsewhere. It should lie between
    the joint's bearings.

    Args:
        model: The mechanism, or its reduction.
        tolerance: A pair for all joints, metres and radians or texts with units as in
            ``"0.05mm,0.1deg"``; a file or mapping of pairs by joint; ``"file"`` for what the model
            itself states, as by default; or several of these. Joints without one are exact.
        stiffness: The same in N/m and N m/rad, of each joint in the directions that it holds.
            Joints without one, and bodies, are rigid.

    Raises:
        ModelError: A number is not positive, a unit or a joint unknown; or what is rigid leaves no
            way to close a loop, or nothing states a tolerance.
        NotClosed: A loop is open as it is.
    """
    reduction = as_reduction(model)
    if not reduction.assembly.closed:
        obstacles = reduction.assembly.obstacles
        gaps = [obstacles[0].gap] if obstacles else reduction.assembly.after
        gap = max(gaps, key=lambda gap: gap.translation + gap.rotation)
        raise NotClosed(gap.joint, gap.translation, gap.rotation)
    return misfit_of(reduction, tuple(loop_reports(reduction)), tolerance, stiffness)


def misfit_where_asked(
    reduction: Reduction,
    loops: Sequence[LoopReport],
    tolerance: PerJoint | Iterable[PerJoint] | None,
    stiffness: PerJoint | Iterable[PerJoint] | None,
) -> Misfit | None:
    """Return the misfit if tolerances are given or stated and all loops close."""
    if tolerance is None and stated_tolerances(reduction.mechanism):
        tolerance = OWN
    if tolerance is None:
        if stiffness is not None:
            raise ModelError("stiffness needs a tolerance: there are no errors to give way to")
        return None
    if reduction.assembly.closed:
        return misfit_of(reduction, loops, tolerance, stiffness)
    for given, quantity in ((tolerance, TOLERANCE), (stiffness, STIFFNESS)):
        if given is not None:
            per_joint(given, quantity, reduction.mechanism)
    return None


def fit_where_asked(
    reduction: Reduction,
    tolerance: PerJoint | Iterable[PerJoint] | None,
    stiffness: PerJoint | Iterable[PerJoint] | None,
) -> LackOfFit | None:
    """Return errors and stiffnesses, or those of a bearing, if tolerances are known."""
    if tolerance is None and stated_tolerances(reduction.mechanism):
        tolerance = OWN
    if tolerance is None or not reduction.redundant or not reduction.assembly.closed:
        return None
    errors = per_joint(tolerance, TOLERANCE, reduction.mechanism)
    given = STIFFNESS.example if stiffness is None else stiffness
    return LackOfFit(reduction, errors, per_joint(given, STIFFNESS, reduction.mechanism))


def binding(reduction: Reduction, fit: LackOfFit | None, limit: float | str) -> Diagnostic:
    """Return the finding that lack of fit binds a joint beyond a limit in N, or that it fits."""
    most = value_of(str(limit), FORCES)
    if most <= 0.0:
        raise ModelError(f"limit {limit!r} is no positive force; write it as 200N")
    if not reduction.redundant:
        return Diagnostic("REG239", "note", "fits: nothing is redundant, so nothing binds")
    if fit is None:
        raise ModelError("limit needs a tolerance, such as 0.05mm,0.1deg, and loops that close")
    loads = fit.loads()
    if loads is None:
        raise ModelError("limit: the forces of lack of fit are not known here: see `stiffness`")
    load = max(loads, key=lambda load: load.force_std)
    binds = load.force_std > most
    text = f"{'binds' if binds else 'fits'}: joint `{load.joint}` bears "
    text += f"{three_digits(load.force_std)} N (1σ) by lack of fit, and the limit is {most:g} N"
    return Diagnostic("REG239", "warning" if binds else "note", text, joints=(load.joint,))


def misfit_of(
    reduction: Reduction,
    loops: Sequence[LoopReport],
    tolerance: PerJoint | Iterable[PerJoint],
    stiffness: PerJoint | Iterable[PerJoint] | None = None,
) -> Misfit:
    """Return the misfit of a closed mechanism whose loops are known."""
    mechanism = reduction.mechanism
    errors = per_joint(tolerance, TOLERANCE, mechanism)
    springs = None if stiffness is None else per_joint(stiffness, STIFFNESS, mechanism)
    entries: list[RedundantDirection] = []
    loads: list[LoadedJoint] = []
    joints: list[str] = []
    places, influences, compliances = [np.zeros((0, 4, 4))], [], []
    for cell in reduction.cells:
        if not cell.redundant:
            continue
        chosen, stressed = closing_directions(loops, stressed_joints(reduction, cell))
        off = six_values(stressed.names, errors, 0.0)
        own = np.moveaxis(stressed.wrenches, 2, 0)
        gaps = own * off
        compliance = np.zeros((len(own), len(own)))
        closing: list[tuple[float, ...]] = [()] * len(own)
        if springs is not None:
            compliance = compliance_of(stressed, springs)
            forces = closing_forces(compliance, gaps)
            if forces is None:
                rigid = listed(sorted({loop.closing for loop, _ in chosen}))
                raise ModelError(
                    "stiffness: no joint with a stiffness gives way in every redundant direction "
                    f"of the loops closed at {rigid}; give one to more joints of these loops"
                )
            energies = -0.5 * np.einsum("ajk,ajk->a", forces, gaps)
            closing = [(*_spread(f), float(e)) for f, e in zip(forces, energies, strict=True)]
            loads += joint_loads(stressed, forces)
        for (loop, direction), gap, force in zip(chosen, gaps, closing, strict=True):
            covector = covector_in_metres(direction, loop.part.length)
            entries.append(
                RedundantDirection(
                    loop.name, loop.closing, direction, covector, *_spread(gap), *force
                )
            )
        joints += stressed.names
        places.append(stressed.places)
        influences.append(own.reshape(len(own), -1))
        compliances.append(compliance)
    loads.sort(key=lambda load: -load.force_std)
    from scipy.linalg import block_diag  # loaded where misfit is asked for

    influence = block_diag(*influences) if influences else np.zeros((0, 0))
    return Misfit(
        tuple(entries),
        tuple(loads),
        tuple(joints),
        np.concatenate(places),
        influence.reshape(len(entries), len(joints), 6),
        block_diag(*compliances) if compliances else np.zeros((0, 0)),
    )


def _spread(contributions: Array) -> tuple[float, float]:
    """Return standard deviation and largest value of a sum of independent errors."""
    return float(np.linalg.norm(contributions)), float(np.abs(contributions).sum())


def covector_in_metres(direction: Direction, length: float) -> Array:
    """Return a covector whose product with a displacement is the gap in m or rad."""
    covector = direction.covector / np.append(np.full(3, length), np.ones(3))
    part = slice(3, 6) if direction.kind == "angular" else slice(0, 3)
    return np.asarray(covector / np.linalg.norm(covector[part]))


def closing_directions(
    loops: Sequence[LoopReport], stressed: StressedJoints
) -> tuple[list[tuple[LoopReport, Direction]], StressedJoints]:
    """Choose one direction for each self-stress state, and a dual basis of the states."""
    proved: list[_Option] = []
    unproved: list[_Option] = []
    for loop in loops:
        wrench = stressed.chords.get(loop.cut.edge.index)
        if wrench is None:
            continue
        length = loop.part.length
        scale = np.append(np.ones(3), np.full(3, 1.0 / length))[:, None]
        axes = [equation.direction for equation in (*loop.removed, *loop.kept)]
        basis = np.array([covector_in_metres(axis, length) for axis in axes]).reshape(-1, 6).T
        arm = np.vstack([np.zeros((3, 3)), cross_matrix(loop.point)])
        at_point = wrench - arm @ wrench[:3]
        parts = np.linalg.lstsq(scale * basis, scale * at_point, rcond=None)[0]
        for k, (axis, part) in enumerate(zip(axes, parts, strict=True)):
            size = 1.0 / length if axis.kind == "angular" else 1.0
            (proved if k < len(loop.removed) else unproved).append((loop, axis, part, size * part))
    rows = np.array([option[3] for option in (*proved, *unproved)])
    count = min(len(proved), stressed.states)
    chosen = [*independent_rows(rows[: len(proved)], count)] if count else []
    if count < stressed.states:
        rest = outside(rows[chosen], rows[len(proved) :])
        extra = independent_rows(rest, stressed.states - count)
        chosen += [len(proved) + k for k in extra]
    options = [(*proved, *unproved)[k] for k in chosen]
    inverse = np.linalg.inv(np.array([option[2] for option in options]))
    return [option[:2] for option in options], stressed.mixed(inverse)
