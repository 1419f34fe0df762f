"""Studies over parameters: what a mechanism is like where lengths or places of joints differ."""

from __future__ import annotations

import inspect
import itertools
import os
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from regularize import validation
from regularize.errors import ModelError
from regularize.guests.design.plot import grid_figure, saved
from regularize.lie import screw
from regularize.lie.arrays import Array, read_only
from regularize.mechanism.joint import Joint
from regularize.mechanism.mechanism import Mechanism, Model, as_mechanism
from regularize.mechanism.named_columns import ShortRepr
from regularize.reduction.reduce import Reduction, reduce
from regularize.repair.statics.absolute_rows import PlacedJoints

#: Configurations of the certificate at each point.
CONFIGURATIONS = 10
#: Columns that a plot shows.
MEASURES = ("mobility", "redundant", "kept", "singular", "condition")


@dataclass(frozen=True, eq=False, repr=False)
class Sweep(ShortRepr):
    """A mechanism at all combinations of some parameters, one row each.

    Attributes:
        names: The parameters.
        values: Their values, shape (N, parameters); the last one changes first.
        closed: Whether the loops can be closed there, shape (N,); what follows is NaN or False
            where they cannot.
        mobility: Freedoms at generic configurations, shape (N,).
        redundant: Equations that depend on the others, shape (N,).
        kept: Equations that the reduction keeps, shape (N,).
        singular: Whether the assembled pose is singular, shape (N,).
        condition: Condition number of the kept rows there, shape (N,).
    """

    names: tuple[str, ...]
    values: Array
    closed: Array
    mobility: Array
    redundant: Array
    kept: Array
    singular: Array
    condition: Array

    def columns(self) -> dict[str, Array]:
        """The table by columns."""
        found = dict(zip(self.names, self.values.T, strict=True))
        return found | {name: getattr(self, name) for name in ("closed", *MEASURES)}

    def rows(self) -> list[dict[str, float | bool]]:
        """The table, one dictionary for each combination."""
        columns = self.columns()
        rows = zip(*(column.tolist() for column in columns.values()), strict=True)
        return [dict(zip(columns, row, strict=True)) for row in rows]

    def save(self, path: str | os.PathLike[str]) -> Path:
        """Write the table as ``.csv`` or ``.npz``, or a picture of the condition."""
        return saved(self.columns(), lambda: self._figure("condition"), Path(path))

    def plot(self, path: str | os.PathLike[str], what: str = "condition") -> Path:
        """Draw one column over one parameter, or as a map over two.

        Args:
            path: The picture.
            what: ``condition``, ``mobility``, ``redundant``, ``kept`` or ``singular``.

        Raises:
            ModelError: There is no such column, or more than two parameters.
            MissingExtra: matplotlib is not installed.
        """
        return saved(self.columns(), lambda: self._figure(what), Path(path))

    def _figure(self, what: str) -> Any:
        """Draw one column over the parameters."""
        if what not in MEASURES or len(self.names) > 2:
            raise ModelError(f"a plot shows one of {MEASURES} over one parameter or two")
        order = np.lexsort(self.values.T[::-1])
        axes = [self.values[order, 0]]
        if len(self.names) == 2:
            axes = [np.unique(column) for column in self.values.T]
        shown = getattr(self, what).astype(float)[order].reshape(tuple(map(len, axes)))
        return grid_figure(self.names, axes, {what: shown})


@validation.validated(parameters=validation.named(validation.ARRAY), seed=validation.WHOLE)
def sweep(
    model: Model | Callable[..., Model], parameters: Mapping[str, ArrayLike], *, seed: int = 0
) -> Sweep:
    """Analyse a mechanism at all combinations of values of some parameters.

    Example:
        >>> found = sweep("assets/planar_fourbar.urdf", {"coupler.length": [0.3, 0.4]})
        >>> found.mobility.tolist()
        [1.0, 1.0]

    Args:
        model: A mechanism, or a function that makes one of the parameters.
        parameters: Values by names. Of a function: of its arguments. Of a mechanism:
            ``BODY.length`` is the distance in m between the frames of the two joints that a body
            has, and the second of them moves; ``JOINT.x``, ``.y`` and ``.z`` are where the frame
            of a joint stands in the ground's axes at the assembled pose, with both its bodies. The
            loops are then closed anew from there.
        seed: Seed of all random choices.

    Raises:
        ModelError: There is no such parameter, or a body has not two joints.
    """
    if not parameters:
        raise ModelError('name parameters and their values, for example {"crank.length": [0.1]}')
    names = tuple(parameters)
    columns = [np.atleast_1d(np.asarray(parameters[name], dtype=float)) for name in names]
    values = np.array([*itertools.product(*columns)]).reshape(-1, len(names))
    make_model = _maker(model, names)
    rows = [_one(make_model(dict(zip(names, row.tolist(), strict=True))), seed) for row in values]
    results = [np.broadcast_to(c, len(rows)) for c in zip(*rows, strict=True)]  # read-only
    return Sweep(names, read_only(values), *results)


def _one(model: Model, seed: int) -> tuple[bool, float, float, float, bool, float]:
    """Analyse one mechanism: return the row of the table after the parameters."""
    reduction: Reduction = reduce(model, configurations=CONFIGURATIONS, seed=seed)
    if not reduction.assembly.closed:
        return False, np.nan, np.nan, np.nan, False, np.nan
    singular = any(cell.here.rank < cell.generic.rank for cell in reduction.cells)
    condition = float(reduction.condition()[0])
    counts = (float(reduction.mobility), float(reduction.redundant), float(reduction.kept))
    return True, *counts, singular, condition


def _maker(
    model: Model | Callable[..., Model], names: tuple[str, ...]
) -> Callable[[dict[str, float]], Model]:
    """Return a function from parameter values to a model."""
    if callable(model) and not hasattr(model, "mechanism"):
        taken = inspect.signature(model).parameters
        takes_any = any(parameter.kind is parameter.VAR_KEYWORD for parameter in taken.values())
        for name in names:
            if name not in taken and not takes_any:
                raise ModelError(f"the function has no argument {name!r}, it has {[*taken]}")
        function = model
        return lambda values: function(**values)
    mechanism = as_mechanism(model)
    placed = PlacedJoints.of(reduce(mechanism, configurations=0))
    changes = [_change(placed, name) for name in names]

    def changed(values: dict[str, float]) -> Mechanism:
        """Return the mechanism with all parameters at the given values."""
        result = placed.reduction.mechanism
        for change, value in zip(changes, values.values(), strict=True):
            result = change(result, value)
        return result

    return changed


Change = Callable[[Mechanism, float], Mechanism]


def _change(placed: PlacedJoints, name: str) -> Change:
    """Return a function that sets one parameter of a mechanism."""
    mechanism = placed.reduction.mechanism
    owner, _, quantity = name.rpartition(".")
    if quantity == "length":
        body = mechanism.body(owner).name
        joints = [j.name for j in mechanism.joints if body in (j.parent, j.child)]
        if len(joints) != 2:
            raise ModelError(f"body {body!r} has {len(joints)} joints; a length needs two")
        return lambda model, value: _with_length(model, body, joints, value)
    if quantity not in ("x", "y", "z"):
        raise ModelError(f"no parameter {name!r}: say BODY.length, JOINT.x, JOINT.y or JOINT.z")
    joint, axis = mechanism.joint(owner), "xyz".index(quantity)
    start = placed.frame(joint)[axis, 3]

    def move(model: Mechanism, value: float) -> Mechanism:
        """Return the mechanism with the joint at a coordinate of the world."""
        shift = screw.transform(None, np.eye(3)[axis] * (value - start))
        one, two = placed.body(joint.parent), placed.body(joint.child)
        now = model.joint(joint.name)
        shifted = replace(
            now,
            T_parent_joint=screw.inverse(one) @ shift @ one @ now.T_parent_joint,
            T_child_joint=screw.inverse(two) @ shift @ two @ now.T_child_joint,
        )
        return _with(model, shifted)

    return move


def _with_length(model: Mechanism, body: str, joints: list[str], value: float) -> Mechanism:
    """Return the mechanism with the two joints of a body a given distance apart."""
    first_joint, second_joint = (model.joint(name) for name in joints)
    ends = [
        "T_parent_joint" if j.parent == body else "T_child_joint"
        for j in (first_joint, second_joint)
    ]
    first, second = getattr(first_joint, ends[0])[:3, 3], np.array(getattr(second_joint, ends[1]))
    offset = second[:3, 3] - first
    length = float(np.linalg.norm(offset))
    if length == 0.0 or value <= 0.0:
        raise ModelError(f"body {body!r}: a length is positive, now {length:g} m, wanted {value:g}")
    second[:3, 3] = first + offset * (value / length)
    changed: dict[str, Any] = {ends[1]: second}
    return _with(model, replace(second_joint, **changed))


def _with(model: Mechanism, joint: Joint) -> Mechanism:
    """Return the mechanism with a joint in place of the one of the same name."""
    joints = tuple(joint if old.name == joint.name else old for old in model.joints)
    return replace(model, joints=joints)
