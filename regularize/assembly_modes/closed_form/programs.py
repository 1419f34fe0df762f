"""The compiled programs of a plan: for one input, for many, for rates."""

from __future__ import annotations

from collections.abc import Sequence
from functools import cached_property
from typing import Any

import numpy as np

from regularize.assembly_modes.closed_form.branches import Branch
from regularize.assembly_modes.closed_form.derivative import Derivative
from regularize.assembly_modes.closed_form.meeting import NEAR
from regularize.assembly_modes.closed_form.plan import Plan
from regularize.assembly_modes.closed_form.program import (
    ARRAY,
    Function,
    array_functions,
    compiled,
    compiled_branches,
)
from regularize.lie.screw import Array
from regularize.model.graph import Graph

#: Divisors below this, and squares of lengths, lose digits of what they divide.
LOST = 1e-4


class Programs:
    """The compiled programs of a plan that finds every coordinate.

    Args:
        plan: The plan.
        graph: The mechanism's graph.
        columns: Columns of the inputs.

    Attributes:
        pivots: Divisors and squares of lengths that lose digits where they are small.
    """

    def __init__(self, plan: Plan, graph: Graph, columns: Sequence[int]) -> None:
        """Gather what has to be computed; programs are compiled when they are asked for."""
        self._plan, self._graph, self._columns = plan, graph, tuple(columns)
        self._n, self._steps = graph.freedoms, len(plan.choices)
        found = plan.known.coordinates
        self._coordinates = [found[c] for c in range(self._n)]
        self._margins = [
            step.discriminant * (1.0 / step.size)
            for step in plan.choices
            if step.discriminant is not None
        ]
        self.pivots = [*plan.divisors, *plan.squares]
        self._others: dict[float, Function] = {}

    def __getstate__(self) -> dict[str, Any]:
        """Everything but the compiled programs, which are made again."""
        compiled_ones = {"nested", "array", "velocity", "acceleration"}
        state = {name: value for name, value in vars(self).items() if name not in compiled_ones}
        return {**state, "_others": {}}

    @cached_property
    def nested(self) -> Function:
        """One input: all branches in loops within each other, on numbers."""
        results = [*self._coordinates, *self._margins]
        close = [*((m, NEAR) for m in self._margins), *((p, LOST) for p in self.pivots)]
        conditions = self._coordinates, self._plan.gaps, close
        return compiled_branches(self._plan.tape, results, conditions, len(self._columns))

    @cached_property
    def array(self) -> Function:
        """Many inputs: coordinates, margins, gaps and pivots, on arrays."""
        return self._compiled(ARRAY)

    def at_angle(self, angle: float) -> Function:
        """The program with another angle where any one solves its equation."""
        if angle not in self._others:
            self._others[angle] = self._compiled(array_functions(angle))
        return self._others[angle]

    def _compiled(self, functions: dict[str, Function]) -> Function:
        results = [*self._coordinates, *self._margins, *self._plan.gaps, *self.pivots]
        return compiled(self._plan.tape, results, functions, len(self._columns))

    @cached_property
    def _derivative(self) -> Derivative:
        return Derivative(self._plan, self._graph, self._columns)

    @cached_property
    def velocity(self) -> Function:
        """Joint velocities, on arrays."""
        results = self._derivative.velocities(range(self._n))
        return compiled(self._plan.tape, results, ARRAY, 2 * len(self._columns))

    @cached_property
    def acceleration(self) -> Function:
        """Joint accelerations, on arrays."""
        results = self._derivative.accelerations(range(self._n))
        return compiled(self._plan.tape, results, ARRAY, 3 * len(self._columns))

    def evaluate(
        self, program: Function, inputs: list[Array], branch: Branch | None, results: Array
    ) -> None:
        """Enter the results of a program at all samples and branches, (results, branches, N)."""
        k, N = self._steps, len(inputs[0])
        both = np.array([1.0, -1.0])
        values = [both] * k if branch is None else [np.array([float(s)]) for s in branch.signs]
        signs = [
            v.reshape(*(len(v) if j == i else 1 for j in range(k)), 1) for i, v in enumerate(values)
        ]
        columns = [np.ascontiguousarray(x) for a in inputs for x in a.T]
        each = results.reshape(len(results), *map(len, values), N)  # a view: one axis is split
        with np.errstate(invalid="ignore", divide="ignore", over="ignore"):
            for i, result in enumerate(program(*columns, *signs)):
                each[i] = result
