"""Findings about an export: rows and couplings that a style lacks, singular mass matrices."""

from __future__ import annotations

from regularize.manifold.tolerances import EXACT
from regularize.model.diagnostic import Diagnostic
from regularize.reduction.missed_rows import missed_rows
from regularize.reduction.reduce import Reduction


def left_over(reduction: Reduction, style: str) -> list[Diagnostic]:
    """What is held, and each property of the reduction that the models of a style lack."""
    found = [d for d in reduction.mechanism.findings if d.code == "REG318"]
    if reduction.remaining and style in ("anchors", "slack"):
        found.append(
            Diagnostic(
                "REG304",
                "warning",
                f"{reduction.remaining} of the kept rows depend on the others, so the constraint "
                "models need damping (mu > 0)",
                help=("drop them on numerical evidence: reduce(mechanism, numerical=True)",),
            )
        )
    found += missed_rows(reduction)
    if reduction.graph.couplings and style != "rows":
        names = ", ".join(f"`{c.name}`" for c in reduction.graph.couplings)
        found.append(
            Diagnostic(
                "REG305",
                "warning",
                f"Pinocchio has no constraint model for the couplings {names}: they are rows of "
                "the robot's Jacobian and part of its forward dynamics only",
                help=("use the style 'rows' or the robot's own forward_dynamics",),
            )
        )
    return found


def opened(reduction: Reduction) -> list[Diagnostic]:
    """What to say of loops that are open at the configuration given, or cannot be closed."""
    assembly = reduction.assembly
    (before, turned), (after, left) = assembly.worst_before, assembly.worst_after
    if not assembly.closed:
        return [
            Diagnostic(
                "REG101",
                "error",
                f"the loops cannot be closed: {1e3 * after:.3g} mm and {left:.3g} rad stay open, "
                "so all equations are kept, and no acceleration fulfils them",
                help=("check the placements of the closures", "pass q0 nearer to closed loops"),
            )
        ]
    if before > EXACT.same or turned > EXACT.same:
        return [
            Diagnostic(
                "REG104",
                "note",
                f"the loops are open by {1e3 * before:.3g} mm and {turned:.3g} rad at the "
                "configuration given; robot.q0 closes them",
            )
        ]
    return []


def massless_tips() -> Diagnostic:
    """The mass matrix of the tree is singular."""
    return Diagnostic(
        "REG306",
        "warning",
        "the mass matrix of the tree is singular at the reference configuration, since a chain "
        "ends in bodies without mass or inertia: Pinocchio's own solvers fail on this model, "
        "the robot's forward_dynamics does not",
        help=("state mass properties for these bodies", "choose other cuts"),
    )
