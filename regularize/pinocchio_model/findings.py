"""Findings about an export: rows and couplings that a style lacks, singular mass matrices."""

from __future__ import annotations

import math

from regularize.manifold.tolerances import EXACT
from regularize.model.diagnostic import Diagnostic
from regularize.model.graph import coordinate_names
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
    if reduction.numerical and any(cut.numerical.size for cut in reduction.cuts):
        found += _weak(reduction)
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


def _weak(reduction: Reduction) -> list[Diagnostic]:
    """Where rows are missed that were removed on numerical evidence."""
    place = reduction.weakest
    if place is None or place.ratio > math.sqrt(EXACT.apart):
        return []
    pairs = zip(coordinate_names(reduction.mechanism), place.q, strict=True)
    where = ", ".join(f"{name} = {value:.3g}" for name, value in list(pairs)[:4])
    return [
        Diagnostic(
            "REG304",
            "warning",
            "rows that were removed on numerical evidence are missed elsewhere: near "
            f"{where}{', …' * (len(place.q) > 4)} the kept rows depend on each other, while the "
            f"mechanism is firm (smallest singular values 1 : {place.ratio:.1g})",
            help=("stay away from there; reduction.condition(q) tells", "keep all rows instead"),
        )
    ]


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
