"""Closed-form solutions of a mechanism's loops, for one or many inputs at once."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from functools import cached_property

import numpy as np
from numpy.typing import ArrayLike

from regularize import validation
from regularize.errors import ModelError
from regularize.guests.modes.body_pose import BodyPose, with_pose
from regularize.guests.modes.closed_form.branch_continuation import BranchContinuation
from regularize.guests.modes.closed_form.branches import (
    MOST_AT_ONCE,
    Branch,
    Branches,
    Solutions,
    Track,
    spread,
)
from regularize.guests.modes.closed_form.codegen import Listing, Operations
from regularize.guests.modes.closed_form.evaluation import Evaluation, unclosed_branch
from regularize.guests.modes.closed_form.planner import Plan, Planner
from regularize.guests.modes.grouping import Turns
from regularize.guests.modes.inputs import Inputs, at_least_zero, index_of, inputs_of, together
from regularize.guests.modes.loop_chain import LoopSolution, loops_of
from regularize.guests.modes.loop_system import LoopSystem
from regularize.lie.arrays import Array
from regularize.mechanism.graph import Graph, coordinate_names
from regularize.mechanism.mechanism import Model
from regularize.tolerances import EXACT, VANISHING


class ClosedForm:
    """Formulas for the loops of a mechanism: all branches at any values of the inputs.

    Angles are in radians, lengths in metres; results have a row for each branch, with all n
    coordinates in the order of the mechanism, NaN where a branch cannot be assembled there.

    Example:
        >>> form = rg.closed_form("assets/planar_fourbar.urdf", ["A"])
        >>> solved = form.solve([0.1, 0.2])  # solved.q has the shape (2, branches, 4)
        >>> print(form.branches, form.operations, solved.assembled.all())
        >>> source = form.to_c("fourbar")

    Attributes:
        graph: The mechanism's graph.
        plan: The program that solves them.
        inputs: Names of the input coordinates, in the order of the values.
        unknowns: Names of the coordinates that could not be found.
        loops: How each independent loop is solved, or why not.
        branches: All ways to assemble, in the order of the results.
        columns: Positions of the inputs among all coordinates.
    """

    def __init__(self, graph: Graph, inputs: Inputs, plan: Plan) -> None:
        self.graph, self.plan, self.given = graph, plan, inputs
        self.inputs, self.columns = inputs.names, inputs.columns
        self._names = coordinate_names(graph.mechanism)
        found = plan.known.coordinates
        self.unknowns = tuple(n for c, n in enumerate(self._names) if c not in found)
        self._choices = plan.choices
        every = Branches(self._choices)
        few = len(every) <= MOST_AT_ONCE
        self.branches: Sequence[Branch] = tuple(every) if few else every
        self._refuted: Branch | None = None
        if not self.unknowns:
            columns, units = list(self.columns), self._compiled.closure.loops.units
            stored = graph.position[columns]
            self._refuted = unclosed_branch(self._compiled, self.branches, stored, units[columns])
        self.loops = solved_loops(graph, plan, self._names, self._refuted)

    def __repr__(self) -> str:
        name, given = self.graph.mechanism.name, ", ".join(self.inputs)
        result = f"{len(self.branches)} branches" if self.solved else "not solved"
        return f"<ClosedForm of {name!r} for [{given}]: {result}>"

    @property
    def solved(self) -> bool:
        """Whether every coordinate follows from the inputs in closed form."""
        return not self.unknowns and self._refuted is None

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
        x = self.given.values(values)
        if x.ndim == 1:
            return self._evaluation.one(x.tolist(), chosen)
        shape = x.shape[:-1]
        found = self._evaluation.many(x.reshape(math.prod(shape), len(self.inputs)), chosen)
        if x.ndim == 2:
            return found
        q, assembled = spread(found.q, shape), spread(found.assembled, shape)
        return Solutions(self.graph, q, assembled, spread(found.margin, shape))

    @cached_property
    def stored_branch(self) -> int | None:
        """Index of the branch on which the mechanism stands as it is stored, None if on none.

        Raises:
            ModelError: Some loop has no closed form.
        """
        found = self.solve(self.graph.position[list(self.columns)])
        branches, closure = np.flatnonzero(found.assembled), self.closure
        stored, closed = closure.projected(self.graph.position[None])
        if not len(branches) or not closed[0]:
            return None
        away = closure.away(stored[0], found.q[branches])
        nearest = int(np.argmin(away))
        return int(branches[nearest]) if away[nearest] <= EXACT.apart else None

    def velocities(
        self,
        values: ArrayLike | Mapping[str, ArrayLike],
        rates: ArrayLike | Mapping[str, ArrayLike],
        branch: int | None = None,
    ) -> Array:
        """Joint velocities of all branches, or of one, shape (..., branches, n).

        They are NaN where a branch cannot be assembled or meets another. Links that can turn by
        themselves, such as a rod between two spherical joints, turn as little as they can.

        Args:
            values: Inputs, as of ``solve``.
            rates: Their time derivatives, likewise; of spherical and free joints twists in the
                moving frame.
            branch: As of ``solve``.

        Raises:
            ModelError: As ``solve``, or the shapes of values and rates do not fit together.
        """
        return self._derivatives(branch, {"values": values, "rates": rates})

    def accelerations(
        self,
        values: ArrayLike | Mapping[str, ArrayLike],
        rates: ArrayLike | Mapping[str, ArrayLike],
        accelerations: ArrayLike | Mapping[str, ArrayLike],
        branch: int | None = None,
    ) -> Array:
        """Joint accelerations, shape (..., branches, n); arguments as of ``velocities``."""
        given = {"values": values, "rates": rates, "accelerations": accelerations}
        return self._derivatives(branch, given)

    def track(
        self, path: ArrayLike | Mapping[str, ArrayLike], branch: int = 0, tolerance: float = 1e-8
    ) -> Track:
        """Follow one way of moving along a path of inputs.

        Where branches touch and part again, the track goes on smoothly, on whichever of them.
        Between samples the inputs are taken to change linearly.

        Args:
            path: Inputs at successive samples, shape (N, inputs); for one input also (N,).
            branch: Index of the branch at the beginning.
            tolerance: Scaled discriminants below this count as branches that meet.

        Raises:
            ModelError: Some loop has no closed form, or the path does not fit the inputs.
        """
        chosen, least = self._branch(branch), at_least_zero(tolerance, "tolerance")
        x = np.atleast_2d(self.given.values(path, "path"))
        if x.ndim != 2:
            raise ModelError(
                f"a path of {x.ndim - 1} axes of samples; it needs one, of shape "
                f"(samples, {len(self.inputs)})"
            )
        turns = Turns(self.graph, self.columns)
        joints = [step.joint for step in self._choices]
        following = BranchContinuation(self._evaluation, self.branches, joints, turns, x, least)
        return following.track(chosen)

    def to_python(self, name: str = "solve") -> str:
        """Source of a self-contained Python function of the inputs and the branch."""
        return self._listing.python(name)

    def to_c(self, name: str = "solve") -> str:
        """C99 source of a self-contained function of the inputs and the branch."""
        return self._listing.c(name)

    @property
    def operations(self) -> Operations:
        """Number of operations for one solution, common subexpressions counted once."""
        return self._listing.operations

    @cached_property
    def _listing(self) -> Listing:
        self._require_solved()
        return Listing(self.plan, self.inputs, self._names)

    def _branch(self, position: int) -> Branch:
        return self.branches[index_of(position, len(self.branches), "branch")]

    def _derivatives(
        self, branch: int | None, given: Mapping[str, ArrayLike | Mapping[str, ArrayLike]]
    ) -> Array:
        chosen = None if branch is None else self._branch(branch)
        arrays = together({what: self.given.values(each, what) for what, each in given.items()})
        shape = arrays[0].shape[:-1]
        flat = [a.reshape(math.prod(shape), len(self.inputs)) for a in arrays]
        return spread(self._evaluation.derivatives(flat, chosen), shape)

    @cached_property
    def _evaluation(self) -> Evaluation:
        self._require_solved()
        return self._compiled

    @property
    def closure(self) -> LoopSystem:
        """The closure equations that the solutions fulfil."""
        return self._evaluation.closure

    @cached_property
    def _compiled(self) -> Evaluation:
        return Evaluation(self.plan, self.graph, self.columns)

    def _require_solved(self) -> None:
        if not self.solved:
            raise ModelError(why_not(self.loops, self.unknowns, self._refuted))


@validation.validated(
    inputs=validation.NAMES,
    pose=validation.instance(BodyPose) | validation.TEXT,
    rtol=validation.POSITIVE,
)
def closed_form(
    model: Model | Graph,
    inputs: Sequence[str] = (),
    *,
    pose: BodyPose | str | None = None,
    rtol: float = VANISHING,
) -> ClosedForm:
    """Find the closed-form solution of a mechanism's loops.

    Joints outside all loops that are no inputs keep their stored coordinates.

    Args:
        model: The mechanism, or its graph.
        inputs: Names of the joints whose coordinates are given, or of single coordinates of joints
            with several, such as ``wrist[1]``.
        pose: A body whose pose is given too, by its name or with the coordinates that are wanted;
            they come after the other inputs, named as ``platform.x``.
        rtol: Angles, and distances relative to the size of a loop, that count as none when axes
            are compared. Solutions are as exact as this geometry.

    Raises:
        ModelError: An input is unknown, the inputs contradict each other, no joint moves, or a
            coupling has a table.
    """
    graph, inputs = with_pose(model, inputs, pose)
    if not graph.freedoms:
        raise ModelError("no joint of this mechanism moves: there is nothing to solve")
    chosen = inputs_of(graph, inputs)
    plan = Planner(graph, chosen.columns, rtol).plan()
    if plan.inconsistent:
        # Where an angle was taken as free that is not, no branch closes.
        plan = Planner(graph, chosen.columns, rtol).plan(folding=False)
    if plan.inconsistent:
        if not chosen.columns:
            raise ModelError("nothing closes all loops of this mechanism, which does not move")
        raise ModelError(
            f"the inputs {', '.join(chosen.names)} cannot be chosen freely; "
            "give as many inputs as the mechanism has freedoms"
        )
    return ClosedForm(graph, chosen, plan)


def solved_loops(
    graph: Graph, plan: Plan, names: Sequence[str], refuted: Branch | None
) -> tuple[LoopSolution, ...]:
    """Return how each independent loop is solved, or why not."""
    basis, _ = loops_of(graph)
    solutions, used = list[LoopSolution](), set[int]()
    for cycle in basis:
        columns = [c for e in cycle.edges for c in graph.edges[e].columns]
        missing = [names[c] for c in columns if c not in plan.known.coordinates]
        steps = []
        for k, step in enumerate(plan.steps):
            if k not in used and set(step.columns) <= set(columns):
                used.add(k)
                count = "two solutions" if step.solutions == 2 else "unique"
                steps.append(f"{step.joint} from the {step.reason}, {count}")
        reason = ""
        if missing:
            reason = f"every equation has at least two of the unknowns {', '.join(missing)}"
        elif refuted is not None:
            reason = (
                "in these special dimensions its formulas do not hold on branch "
                f"{refuted.index} ({refuted.name})"
            )
        joints = graph.joint_names(cycle.edges)
        solutions.append(LoopSolution(joints, not reason, tuple(steps), reason))
    return tuple(solutions)


def why_not(loops: Sequence[LoopSolution], unknowns: Sequence[str], refuted: Branch | None) -> str:
    """Return why there is no closed form, and what to do."""
    open_ = [loop for loop in loops if not loop.solved]
    reasons = [f"{' '.join(loop.joints)}: {loop.reason}" for loop in open_]
    if refuted is not None:
        reasons = [open_[0].reason]
    because = "; ".join(reasons) or f"nothing determines {', '.join(unknowns)}"
    return (
        f"no closed form: {because}. Give more inputs if there are more freedoms than these; "
        "or regularize.configurations(mechanism, inputs, values) finds all numerically"
    )
