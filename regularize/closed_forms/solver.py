"""Closed-form solutions of a mechanism's loops, for one or many inputs at once."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from regularize.closed_forms.branches import (
    WORDS,
    Track,
    branches_of,
    meetings,
    unwrapped,
)
from regularize.closed_forms.codegen import Listing, Operations, c_source, python_source
from regularize.closed_forms.derivative import Derivative
from regularize.closed_forms.loops import LoopSolution, joint_names, loops_of
from regularize.closed_forms.plan import Plan, Planner
from regularize.closed_forms.program import ARRAY, SCALAR, Function, compiled
from regularize.closed_forms.tape import Scalar
from regularize.errors import ModelError
from regularize.mechanism import Mechanism
from regularize.screw import Array
from regularize.topology import Graph, build, coordinate_names

#: Samples that are computed at once, so that all quantities stay in the processor's cache.
CHUNK = 4096
#: Closure errors of solutions that are checked, lengths divided by the size of the loop.
CLOSED = 1e-9


@dataclass(frozen=True, eq=False)
class Solutions:
    """All branches at some inputs; leading axes are those of the inputs.

    Attributes:
        q: Coordinates of all joints, NaN where not assembled, shape (..., branches, n).
        assembled: Which branches can be assembled, shape (..., branches).
        margin: Scaled discriminant of every step with two solutions; it is zero where the two
            branches meet and negative beyond, shape (..., branches, steps).
    """

    q: Array
    assembled: NDArray[np.bool_]
    margin: Array


class ClosedForm:
    """Solutions of the loops of a mechanism for given inputs.

    Attributes:
        graph: The mechanism's graph.
        inputs: Names of the input coordinates, in the order of the values.
        unknowns: Names of the coordinates that could not be found.
        loops: How each independent loop is solved, or why not.
        branches: All ways to assemble, in the order of the results.
        columns: Positions of the inputs among all coordinates.
    """

    def __init__(
        self, graph: Graph, inputs: Sequence[str], plan: Plan, columns: Sequence[int]
    ) -> None:
        """Compile the plan."""
        self.graph, self._plan = graph, plan
        self.inputs, self.columns = tuple(inputs), tuple(columns)
        self._names = coordinate_names(graph.mechanism)
        found = plan.known.coordinates
        self._outputs = [c for c in range(graph.freedoms) if c in found]
        self._missing = [c for c in range(graph.freedoms) if c not in found]
        self.unknowns = tuple(self._names[c] for c in self._missing)
        self._choices = [step for step in plan.steps if step.discriminant is not None]
        self._sizes = np.array([step.size for step in self._choices])
        self.loops = self._loops()
        self.branches = branches_of(self._choices, self._words())

    @property
    def solved(self) -> bool:
        """Whether every coordinate follows from the inputs in closed form."""
        return not self.unknowns

    def solve(self, values: ArrayLike | Mapping[str, ArrayLike]) -> Solutions:
        """All branches.

        Args:
            values: Inputs in radians and metres, shape (..., inputs), in the order of ``inputs``;
                for one input also shape (...); or one array per input, by name.

        Raises:
            ModelError: Some loop has no closed form, or the values do not fit the inputs.
        """
        self._require_solved()
        x = self._values(values)
        if x.ndim == 1:
            return self._solve_one(x)
        shape = x.shape[:-1]
        results = self._evaluate(self._position_array, x.reshape(-1, x.shape[-1]))
        q, margin, assembled = self._split(results)
        return Solutions(
            q.reshape(*shape, *q.shape[1:]),
            assembled.reshape(*shape, -1),
            margin.reshape(*shape, *margin.shape[1:]),
        )

    def velocities(self, values: ArrayLike | Mapping[str, ArrayLike], rates: ArrayLike) -> Array:
        """Joint velocities of all branches, shape (..., branches, n).

        Args:
            values: Inputs, as of ``solve``.
            rates: Their time derivatives, shape (..., inputs); of spherical and free joints twists
                in the moving frame.
        """
        x, dx = np.broadcast_arrays(self._values(values), self._values(rates))
        return self._derivatives(self._velocity_array, [x, dx])

    def accelerations(
        self,
        values: ArrayLike | Mapping[str, ArrayLike],
        rates: ArrayLike,
        accelerations: ArrayLike,
    ) -> Array:
        """Joint accelerations of all branches, shape (..., branches, n); arguments alike."""
        arrays = np.broadcast_arrays(*map(self._values, (values, rates, accelerations)))
        return self._derivatives(self._acceleration_array, list(arrays))

    def track(
        self, path: ArrayLike | Mapping[str, ArrayLike], branch: int = 0, tolerance: float = 1e-8
    ) -> Track:
        """Follow one branch along a path of inputs.

        Args:
            path: Inputs at successive samples, shape (N, inputs).
            branch: Index of the branch.
            tolerance: Scaled discriminants below this count as branches that meet.
        """
        solutions = self.solve(np.atleast_2d(self._values(path)))
        chosen = self.branches[branch]
        margin = solutions.margin[:, branch]
        angles = np.ones(self.graph.freedoms, dtype=bool)
        for edge in self.graph.edges:
            for k, column in enumerate(edge.columns):
                angles[column] = not edge.group and bool(np.any(edge.screws[3:, k]))
        angles[list(self.columns)] = False
        return Track(
            unwrapped(solutions.q[:, branch], angles),
            branch,
            solutions.assembled[:, branch],
            meetings(margin, chosen, self.branches, self._choices, tolerance),
        )

    def to_python(self, name: str = "solve") -> str:
        """Source of a self-contained Python function of the inputs and the branch."""
        names, checks = list(self._names), len(self._plan.gaps)
        return python_source(self._listing, self.inputs, names, checks, name)

    def to_c(self, name: str = "solve") -> str:
        """C99 source of a self-contained function of the inputs and the branch."""
        names, checks = list(self._names), len(self._plan.gaps)
        return c_source(self._listing, self.inputs, names, checks, name)

    @property
    def operations(self) -> Operations:
        """Number of operations for one solution, common subexpressions counted once."""
        return self._listing.operations

    @cached_property
    def _listing(self) -> Listing:
        self._require_solved()
        found = self._plan.known.coordinates
        results = [found[c] for c in range(self.graph.freedoms)]
        return Listing(self._plan.tape, [*results, *self._plan.gaps])

    # Inputs --------------------------------------------------------------------------------------

    def _values(self, values: ArrayLike | Mapping[str, ArrayLike]) -> Array:
        if isinstance(values, Mapping):
            if set(values) != set(self.inputs):
                raise ModelError(f"values for {sorted(values)}; inputs are {list(self.inputs)}")
            parts = [np.asarray(values[name], dtype=np.float64) for name in self.inputs]
            return np.stack(np.broadcast_arrays(*parts), axis=-1)
        x = np.asarray(values, dtype=np.float64)
        count = len(self.inputs)
        if count == 1 and (x.ndim == 0 or x.shape[-1] != 1):
            return x[..., None]
        if x.ndim == 0 or x.shape[-1] != count:
            raise ModelError(f"values of shape {x.shape}; the last axis needs {count} inputs")
        return x

    def _require_solved(self) -> None:
        if not self.solved:
            reasons = "; ".join(str(loop) for loop in self.loops if not loop.solved)
            raise ModelError(f"no closed form: {reasons}")

    # Evaluation ----------------------------------------------------------------------------------

    @cached_property
    def _results(self) -> list[Scalar]:
        found = self._plan.known.coordinates
        discriminants = [s.discriminant for s in self._choices if s.discriminant is not None]
        return [*(found[c] for c in self._outputs), *discriminants, *self._plan.gaps]

    @cached_property
    def _position_scalar(self) -> Function:
        return compiled(self._plan.tape, self._results, SCALAR, len(self.columns))

    @cached_property
    def _position_array(self) -> tuple[Function, int]:
        return self._compiled(self._results, 1)

    @cached_property
    def _derivative(self) -> Derivative:
        return Derivative(self._plan, self.graph, self.columns)

    @cached_property
    def _velocity_array(self) -> tuple[Function, int]:
        return self._compiled(self._derivative.velocities(self._outputs), 2)

    @cached_property
    def _acceleration_array(self) -> tuple[Function, int]:
        return self._compiled(self._derivative.accelerations(self._outputs), 3)

    def _compiled(self, results: list[Scalar], orders: int) -> tuple[Function, int]:
        inputs = orders * len(self.columns)
        return compiled(self._plan.tape, results, ARRAY, inputs), len(results)

    def _solve_one(self, x: Array) -> Solutions:
        n, program = self.graph.freedoms, self._position_scalar
        steps = len(self._choices)
        rows = [program(*x.tolist(), *branch.signs) for branch in self.branches]
        results = np.array(rows, dtype=np.float64)
        q, margin = results[:, :n], results[:, n : n + steps] / self._sizes
        assembled = np.asarray(np.isfinite(q).all(axis=1))
        if self._plan.gaps:
            closed = (np.abs(results[:, n + steps :]) <= CLOSED).all(axis=1)
            assembled = np.logical_and(assembled, closed)
        if not assembled.all():
            q[~assembled] = np.nan
        return Solutions(q, assembled, margin)

    def _evaluate(self, program: tuple[Function, int], *inputs: Array) -> Array:
        """Results of a program at all samples and branches, shape (results, branches, N)."""
        function, count = program
        k, N = len(self._choices), len(inputs[0])
        signs = [
            np.array([1.0, -1.0]).reshape(*(2 if j == i else 1 for j in range(k)), 1)
            for i in range(k)
        ]
        results = np.empty((count, *(2,) * k, N))
        with np.errstate(invalid="ignore", divide="ignore", over="ignore"):
            for start in range(0, N, CHUNK):
                part = slice(start, start + CHUNK)
                columns = [np.ascontiguousarray(x) for a in inputs for x in a[part].T]
                for i, result in enumerate(function(*columns, *signs)):
                    results[i, ..., part] = result
        return results.reshape(count, 2**k, N)

    def _split(self, results: Array) -> tuple[Array, Array, NDArray[np.bool_]]:
        n, steps = self.graph.freedoms, len(self._choices)
        q, margin = results[:n], results[n : n + steps] / self._sizes[:, None, None]
        assembled = np.asarray(np.isfinite(q).all(axis=0))
        if self._plan.gaps:
            with np.errstate(invalid="ignore"):
                closed = (np.abs(results[n + steps :]) <= CLOSED).all(axis=0)
            assembled = np.logical_and(assembled, closed)
        if not assembled.all():
            q[:, ~assembled] = np.nan
        return q.transpose(2, 1, 0), margin.transpose(2, 1, 0), assembled.T

    def _derivatives(self, program: tuple[Function, int], arrays: list[Any]) -> Array:
        self._require_solved()
        shape = arrays[0].shape[:-1]
        flat = [a.reshape(-1, a.shape[-1]) for a in arrays]
        results = self._evaluate(program, *flat).transpose(2, 1, 0)
        assembled = self._split(self._evaluate(self._position_array, flat[0]))[2]
        results = np.where(assembled[..., None], results, np.nan)
        return results.reshape(*shape, *results.shape[1:])

    # Words ---------------------------------------------------------------------------------------

    def _words(self) -> list[tuple[str, str]]:
        return [WORDS[step.role] for step in self._choices]

    def _loops(self) -> tuple[LoopSolution, ...]:
        basis, _ = loops_of(self.graph)
        told: list[LoopSolution] = []
        used: set[int] = set()
        for cycle in basis:
            columns = [c for e in cycle.edges for c in self.graph.edges[e].columns]
            missing = [self._names[c] for c in columns if c in self._missing]
            steps = []
            for k, step in enumerate(self._plan.steps):
                if k not in used and set(step.columns) <= set(columns):
                    used.add(k)
                    count = "two solutions" if step.solutions == 2 else "unique"
                    steps.append(f"{step.joint} from the {step.reason}, {count}")
            reason = ""
            if missing:
                reason = f"no projection leaves one unknown of {', '.join(missing)}"
            told.append(
                LoopSolution(
                    joint_names(self.graph, cycle.edges), not missing, tuple(steps), reason
                )
            )
        return tuple(told)


def closed_form(
    mechanism: Mechanism | Graph, inputs: Sequence[str], *, rtol: float = 1e-9
) -> ClosedForm:
    """Find the closed-form solution of a mechanism's loops.

    Joints outside all loops that are no inputs keep their stored coordinates.

    Args:
        mechanism: The mechanism, or its graph.
        inputs: Names of the joints whose coordinates are given, or of single coordinates of joints
            with several, such as ``wrist[1]``.
        rtol: Angles, and distances relative to the size of a loop, that count as none when axes
            are compared. Solutions are as exact as this geometry.

    Raises:
        ModelError: An input is unknown, or the inputs contradict each other.
    """
    graph = mechanism if isinstance(mechanism, Graph) else build(mechanism)
    columns = _input_columns(graph, inputs)
    names = coordinate_names(graph.mechanism)
    in_loops = {c for cell in graph.cells for c in graph.columns(cell)}
    held = {
        c: float(graph.position[c])
        for c in range(graph.freedoms)
        if c not in in_loops and c not in columns
    }
    basis, further = loops_of(graph)
    plan = Planner(graph, [*basis, *further], columns, held, rtol).plan()
    if plan.inconsistent:
        raise ModelError(
            f"the inputs {', '.join(names[c] for c in columns)} cannot be chosen freely; "
            "give as many inputs as the mechanism has freedoms"
        )
    return ClosedForm(graph, [names[c] for c in columns], plan, columns)


def _input_columns(graph: Graph, inputs: Sequence[str]) -> list[int]:
    names = coordinate_names(graph.mechanism)
    joints = {joint.name for joint in graph.mechanism.joints}
    columns: list[int] = []
    for name in inputs:
        if name in joints:
            own = [c for e in graph.edges if e.joint.name == name for c in e.columns]
        elif name in names:
            own = [names.index(name)]
        else:
            raise ModelError(f"there is no joint or coordinate {name!r} in {list(names)}")
        if set(own) & set(columns):
            raise ModelError(f"input {name!r} is given twice")
        columns += own
    return columns
