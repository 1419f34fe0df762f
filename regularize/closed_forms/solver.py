"""Closed-form solutions of a mechanism's loops, for one or many inputs at once."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import cached_property

import numpy as np
from numpy.typing import ArrayLike

from regularize.closed_forms.branches import (
    WORDS,
    Branch,
    Track,
    branches_of,
    meetings,
    unwrapped,
)
from regularize.closed_forms.codegen import c_source, python_source
from regularize.closed_forms.evaluation import Evaluation, Solutions
from regularize.closed_forms.listing import Listing, Operations
from regularize.closed_forms.loops import LoopSolution, joint_names, loops_of
from regularize.closed_forms.plan import Plan
from regularize.closed_forms.planner import Planner
from regularize.errors import ModelError
from regularize.graph_building import build
from regularize.mechanism import Mechanism
from regularize.screw import Array
from regularize.topology import Graph, coordinate_names


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
        self._choices = plan.choices
        self.loops = self._loops()
        self.branches = branches_of(self._choices, self._words())

    @property
    def solved(self) -> bool:
        """Whether every coordinate follows from the inputs in closed form."""
        return not self.unknowns

    def solve(
        self, values: ArrayLike | Mapping[str, ArrayLike], branch: int | None = None
    ) -> Solutions:
        """All branches, or one.

        Args:
            values: Inputs in radians and metres, shape (..., inputs), in the order of ``inputs``;
                for one input also shape (...); or one array per input, by name.
            branch: Index of the only branch wanted; its axis stays, with length one.

        Raises:
            ModelError: Some loop has no closed form, or the values do not fit the inputs.
        """
        chosen = None if branch is None else self._branch(branch)
        if isinstance(values, float) and len(self.inputs) == 1:
            return self._evaluation.one((float(values),), chosen)
        x = self._values(values)
        if x.ndim == 1:
            return self._evaluation.one(x.tolist(), chosen)
        shape = x.shape[:-1]
        found = self._evaluation.many(x.reshape(int(np.prod(shape)), len(self.inputs)), chosen)
        if x.ndim == 2:
            return found
        return Solutions(
            found.q.reshape(*shape, *found.q.shape[1:]),
            found.assembled.reshape(*shape, found.assembled.shape[1]),
            found.margin.reshape(*shape, *found.margin.shape[1:]),
        )

    def velocities(self, values: ArrayLike | Mapping[str, ArrayLike], rates: ArrayLike) -> Array:
        """Joint velocities of all branches, shape (..., branches, n).

        Args:
            values: Inputs, as of ``solve``.
            rates: Their time derivatives, shape (..., inputs); of spherical and free joints twists
                in the moving frame.
        """
        return self._derivatives(values, rates)

    def accelerations(
        self,
        values: ArrayLike | Mapping[str, ArrayLike],
        rates: ArrayLike,
        accelerations: ArrayLike,
    ) -> Array:
        """Joint accelerations of all branches, shape (..., branches, n); arguments alike."""
        return self._derivatives(values, rates, accelerations)

    def track(
        self, path: ArrayLike | Mapping[str, ArrayLike], branch: int = 0, tolerance: float = 1e-8
    ) -> Track:
        """Follow one branch along a path of inputs.

        Args:
            path: Inputs at successive samples, shape (N, inputs).
            branch: Index of the branch.
            tolerance: Scaled discriminants below this count as branches that meet.
        """
        chosen = self._branch(branch)
        solutions = self.solve(np.atleast_2d(self._values(path)), branch)
        margin = solutions.margin[:, 0]
        angles = np.ones(self.graph.freedoms, dtype=bool)
        for edge in self.graph.edges:
            for k, column in enumerate(edge.columns):
                angles[column] = not edge.group and bool(np.any(edge.screws[3:, k]))
        angles[list(self.columns)] = False
        return Track(
            unwrapped(solutions.q[:, 0], angles),
            branch,
            solutions.assembled[:, 0],
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

    def _branch(self, index: int) -> Branch:
        if not 0 <= index < len(self.branches):
            raise ModelError(f"there is no branch {index}; there are {len(self.branches)}")
        return self.branches[index]

    def _derivatives(self, *arguments: ArrayLike | Mapping[str, ArrayLike]) -> Array:
        arrays = np.broadcast_arrays(*map(self._values, arguments))
        shape = arrays[0].shape[:-1]
        flat = [a.reshape(int(np.prod(shape)), len(self.inputs)) for a in arrays]
        results = self._evaluation.derivatives(flat)
        return results.reshape(*shape, *results.shape[1:])

    @cached_property
    def _evaluation(self) -> Evaluation:
        self._require_solved()
        return Evaluation(self._plan, self.graph, self.columns)

    def _require_solved(self) -> None:
        if not self.solved:
            reasons = "; ".join(str(loop) for loop in self.loops if not loop.solved)
            reasons = reasons or f"nothing determines {', '.join(self.unknowns)}"
            raise ModelError(
                f"no closed form: {reasons}. regularize.configurations(mechanism, inputs, values) "
                "finds all configurations numerically"
            )

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
    if isinstance(inputs, str):
        raise ModelError(f"the inputs are a list of names: [{inputs!r}]")
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
