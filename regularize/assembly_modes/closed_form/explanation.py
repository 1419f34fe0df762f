"""What is said about the loops of a mechanism: how each is solved, or why there is no solution."""

from __future__ import annotations

from collections.abc import Sequence

from regularize.assembly_modes.closed_form.branches import Branch
from regularize.assembly_modes.closed_form.plan import Plan
from regularize.assembly_modes.loops import LoopSolution, joint_names, loops_of
from regularize.model.graph import Graph


def solved_loops(
    graph: Graph, plan: Plan, names: Sequence[str], refuted: Branch | None
) -> tuple[LoopSolution, ...]:
    """How each independent loop is solved.

    Args:
        graph: The mechanism's graph.
        plan: The solution.
        names: Names of all coordinates.
        refuted: A branch on which the solution does not close the loops, if there is one.
    """
    basis, _ = loops_of(graph)
    told: list[LoopSolution] = []
    used: set[int] = set()
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
            reason = f"no projection leaves one unknown of {', '.join(missing)}"
        elif refuted is not None:
            reason = (
                "in these special dimensions its formulas do not hold on branch "
                f"{refuted.index} ({refuted.name})"
            )
        joints = joint_names(graph, cycle.edges)
        told.append(LoopSolution(joints, not reason, tuple(steps), reason))
    return tuple(told)


def why_not(loops: Sequence[LoopSolution], unknowns: Sequence[str], refuted: Branch | None) -> str:
    """Why there is no closed form, and what to do."""
    open_ = [loop for loop in loops if not loop.solved]
    reasons = [f"{' '.join(loop.joints)}: {loop.reason}" for loop in open_]
    if refuted is not None:
        reasons = [open_[0].reason]
    told = "; ".join(reasons) or f"nothing determines {', '.join(unknowns)}"
    return (
        f"no closed form: {told}. Give more inputs if there are more freedoms than these; "
        "or regularize.configurations(mechanism, inputs, values) finds all numerically"
    )
