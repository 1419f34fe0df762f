"""The coordinates that are given: their names and columns, and values for them.

Whether inputs determine a mechanism: freedoms that they leave, and inputs that are too many.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from numbers import Integral, Real

import numpy as np
from numpy.typing import ArrayLike

from regularize.errors import ModelError
from regularize.escape import did_you_mean
from regularize.guests.modes.loop_system import LoopSystem
from regularize.lie.arrays import Array, Coordinates
from regularize.loops.finite import followed_velocities
from regularize.loops.kinematics import LoopKinematics
from regularize.mechanism.graph import ColumnId, Graph, coordinate_names
from regularize.reduction import mobility
from regularize.tolerances import EXACT, Tolerances


@dataclass(frozen=True)
class Inputs:
    """The coordinates that are inputs, in the order of their values."""

    names: tuple[str, ...]
    columns: tuple[int, ...]
    joints: tuple[str, ...]  # what each was asked for by: its own name, or that of a whole joint

    def values(self, values: ArrayLike | Mapping[str, ArrayLike], what: str = "values") -> Array:
        """Check values, an array (..., inputs) or one per name; return an array (..., inputs)."""
        if isinstance(values, Mapping):
            return self._by_name(values, what)
        x = numbers(values, what)
        count = len(self.names)
        if count == 1 and (x.ndim == 0 or x.shape[-1] != 1):
            return x[..., None]
        if x.ndim == 0 or x.shape[-1] != count:
            named = f": {', '.join(self.names)}" if self.names else ""
            raise ModelError(
                f"{what} of shape {x.shape}; the last axis needs {count} inputs{named}"
            )
        return x

    def _by_name(self, values: Mapping[str, ArrayLike], what: str) -> Array:
        """Put values by name in order; those of a joint with several freedoms are taken apart."""
        given = {name: numbers(value, f"{what} of {name!r}") for name, value in values.items()}
        for joint in set(self.joints) & set(given):
            of_joint = given.pop(joint)
            names = [name for name, of in zip(self.names, self.joints, strict=True) if of == joint]
            if len(names) > 1 and (not of_joint.ndim or of_joint.shape[-1] != len(names)):
                raise ModelError(
                    f"{what} of {joint!r} have the shape {of_joint.shape}; the last axis needs "
                    f"{len(names)}: {', '.join(names)}"
                )
            parts = np.moveaxis(of_joint, -1, 0) if len(names) > 1 else [of_joint]
            given.update(zip(names, parts, strict=True))
        if set(given) != set(self.names):
            raise ModelError(f"{what} for {sorted(map(str, values))}; inputs are {[*self.names]}")
        if not values:
            return np.zeros(0)
        return np.stack(together({name: given[name] for name in self.names}), axis=-1)


def numbers(values: ArrayLike, what: str) -> Array:
    """Return values as a real array; raises an error for other types; NaN and infinity pass."""
    if isinstance(values, np.ma.MaskedArray):
        values = np.ma.filled(values.astype(np.float64), np.nan)
    try:
        array = np.asarray(values)
    except ValueError as error:
        raise ModelError(f"{what}: lists of different lengths; give an array of numbers") from error
    if array.dtype.kind not in "fiu" and not all(map(_real, array.flat)):
        example = next(value for value in array.flat if not _real(value))
        raise ModelError(f"{what}: {_shown(example)} is no real number; give SI units")
    try:
        return np.asarray(array, dtype=np.float64)
    except OverflowError as error:
        raise ModelError(f"{what}: a number that is too large") from error


def together(arrays: Mapping[str, Array]) -> list[Array]:
    """Broadcast arrays to one shape; the keys are for messages."""
    try:
        return [np.asarray(a) for a in np.broadcast_arrays(*arrays.values())]
    except ValueError as error:
        shapes = ", ".join(f"{what} {array.shape}" for what, array in arrays.items())
        raise ModelError(f"shapes that do not fit together: {shapes}") from error


def index_of(value: int, count: int, what: str) -> int:
    """Check a position between 0 and ``count``; integers of numpy are allowed."""
    if type(value) is not int and not _whole(value):
        raise ModelError(f"a {what} is given by its index, a whole number, not {_shown(value)}")
    if not 0 <= value < count:
        raise ModelError(f"there is no {what} {value}; there are {count}, counted from 0")
    return int(value)


def whole(value: int, what: str) -> int:
    """Check a whole number of one or more."""
    if not _whole(value) or value < 1:
        raise ModelError(f"{what} needs to be a whole number of at least one, not {_shown(value)}")
    return int(value)


def at_least_zero(value: float, what: str) -> float:
    """Check a finite number that is not negative."""
    if not _real(value) or not 0.0 <= float(value) < math.inf:
        raise ModelError(f"{what} needs to be a number of at least zero, not {_shown(value)}")
    return float(value)


def inputs_of(graph: Graph, inputs: Sequence[str]) -> Inputs:
    """Look up inputs by names of joints or of single coordinates such as ``wrist[1]``."""
    names = coordinate_names(graph.mechanism)
    joints = {joint.name for joint in graph.mechanism.joints}
    columns, asked = list[int](), list[str]()
    for name in inputs:
        if name in joints:
            more = [c for e in graph.edges if e.joint.name == name for c in e.columns]
        elif name in names:
            more = [ColumnId(names.index(name))]
        else:
            raise ModelError(f"there is no joint or coordinate {name!r}{did_you_mean(name, names)}")
        if not more:
            raise ModelError(f"joint {name!r} cannot move: it is no input")
        if set(more) & set(columns):
            raise ModelError(f"input {name!r} is given twice")
        columns += more
        asked += [name] * len(more)
    for edge in graph.edges:
        given = set(edge.columns) & set(columns)
        if edge.group and given and len(given) < edge.freedoms:
            raise ModelError(
                f"the coordinates of {edge.joint.kind} joint {edge.joint.name!r} mean nothing one "
                f"by one; give them all: {edge.joint.name!r}"
            )
    return Inputs(tuple(names[c] for c in columns), tuple(columns), tuple(asked))


def _whole(value: object) -> bool:
    """Tell whether a value is a whole number."""
    return isinstance(value, Integral) and not isinstance(value, bool | np.bool_)


def _real(value: object) -> bool:
    """Tell whether a value is a real number."""
    return isinstance(value, Real) and not isinstance(value, bool | np.bool_)


def _shown(value: object) -> str:
    """Return a short text of a value, with its type, for a message."""
    value = value.item() if isinstance(value, np.generic) else value
    text = repr(value)
    text = text if len(text) <= 40 else f"{text[:37]}..."
    return f"{text} ({type(value).__name__})"


@dataclass(frozen=True)
class Freedoms:
    """Freedoms of a mechanism that some inputs leave."""

    independent: int  # how many of the inputs can be chosen freely
    left: int  # freedoms with all inputs given, but for rods that spin between two ball joints
    further: tuple[str, ...]  # coordinates that would take these as inputs; empty without such


def freedoms_of(system: LoopSystem, columns: Sequence[int], *, seed: int = 0) -> Freedoms | None:
    """Count generic freedoms with inputs in given columns; None where the stored loops are open."""
    loops, rng = system.loops, np.random.default_rng(seed)
    stored, _ = system.projected(system.graph.position[None])
    if system.error(stored)[0] > EXACT.same:
        return None
    walked = mobility.generic_configurations(loops, stored[0], Tolerances.of(EXACT.same), rng=rng)
    q = np.concatenate([stored, walked.reshape(-1, loops.freedoms)])
    generic, motions = clearest(loops, q, EXACT.same)
    allowed = motions.T
    U, given, _ = np.linalg.svd(allowed[:, list(columns)])
    independent = int(np.sum(given > EXACT.same))
    locked = U[:, independent:].T @ allowed
    real = locked[:0]
    if len(locked) > system.passive_rotations:
        headings = rng.normal(size=(3 * len(locked) + 6, len(locked))) @ locked
        headings /= np.max(np.abs(headings), axis=1, keepdims=True)
        headings[:, system.held] = 0.0  # what is in no loop moves, and says nothing
        real = followed_velocities(loops, generic, headings, system.held)
    left = max(0, len(real) - system.passive_rotations)
    return Freedoms(independent, left, _further(system, real, left))


def clearest(loops: LoopKinematics, q: Coordinates, rtol: float) -> tuple[Coordinates, Array]:
    """Return the configuration of (N, n) with the clearest rank, and its velocities (n, s)."""
    jacobian = loops.jacobian(loops.state(q)) * loops.units
    _, values, vectors = np.linalg.svd(jacobian)
    best, rank = mobility.clearest(values, rtol)
    return q[best], vectors[best, rank:].T


def require_fitting_inputs(system: LoopSystem, inputs: Inputs, *, seed: int = 0) -> None:
    """Raise ModelError for inputs that leave freedoms or depend on each other."""
    freedoms = freedoms_of(system, inputs.columns, seed=seed)
    if freedoms is None:
        return
    given = ", ".join(inputs.names)
    surplus, left = len(inputs.names) - freedoms.independent, freedoms.left
    if surplus:
        raise ModelError(
            f"the inputs {given} cannot be chosen freely: "
            f"{freedoms.independent} of them determine the rest; leave out {surplus}"
        )
    if left:
        held, every = f"with {given} given" if given else "without inputs", len(inputs.names) + left
        such = f", such as {', '.join(freedoms.further)}" if freedoms.further else ""
        raise ModelError(
            f"{held} the loops keep {left} of {every} freedom{'s'[: every > 1]} and their "
            f"configurations have no end; give {left} more input{'s'[: left > 1]}{such}"
        )


def _further(system: LoopSystem, real: Array, left: int) -> tuple[str, ...]:
    """Return further coordinates that would fix the remaining freedoms, grounded ones first."""
    from scipy.linalg import qr  # slow to load

    graph = system.graph
    weights = np.zeros(graph.freedoms)
    for edge in graph.edges:
        if not edge.group:
            weights[list(edge.columns)] = 3.0 if graph.ground in (edge.parent, edge.child) else 1.0
    if not left or not len(real):
        return ()
    R, order = qr(real * weights, mode="r", pivoting=True)
    taken = np.sum(np.abs(np.diagonal(R)) > EXACT.same)
    names = coordinate_names(graph.mechanism)
    return tuple(names[int(c)] for c in np.sort(order[:left])) if taken >= left else ()
