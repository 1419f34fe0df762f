"""Everything that the scripts of a page work on, as plain values."""

from __future__ import annotations

from typing import Any

import numpy as np

from regularize.assembly_modes.closed_form import closed_form
from regularize.errors import RegularizeError
from regularize.lie.screw import Array
from regularize.model.graph import coordinate_names
from regularize.reduction.reduce import Reduction
from regularize.render.bifurcation import branch_name, branch_numbers
from regularize.render.drawing import Drawing
from regularize.render.kinematics_data import kinematics_data
from regularize.render.played_motion import PlayedMotion
from regularize.render.references import References
from regularize.render.scene_data import scene_data


def page_data(
    drawing: Drawing, references: References, *, budget: int, trajectory: PlayedMotion | None = None
) -> dict[str, Any]:
    """The picture, the parts, and how the mechanism moves.

    Args:
        drawing: What is drawn.
        references: What can be pointed at.
        budget: Bytes that shapes may take.
        trajectory: A motion to play.
    """
    r = drawing.report.reduction
    kinematics = kinematics_data(r)
    return {
        **scene_data(drawing, references, budget),
        **references.data(),
        "kinematics": kinematics,
        "branches": list(_branches(r)),
        "modes": list(_modes(r, [f["column"] for f in kinematics["freedoms"] if f["branch"] < 2])),
        "trajectory": None if trajectory is None else trajectory.as_dict(),
    }


def _branches(r: Reduction, most: int = 40) -> list[dict[str, Any]]:
    """A configuration on each of the motions that meet at the pose; none where there is one."""
    if not r.assembly.closed:
        return []
    return [
        {"number": k, "name": branch_name(r, k), "q": _plain(r.on_branch(k))}
        for k in branch_numbers(r)[:most]
    ]


def _modes(
    r: Reduction, columns: list[int], loops: int = 3, most: int = 16
) -> list[dict[str, Any]]:
    """Other ways to assemble with the freedoms where they are, where formulas give them quickly."""
    if not r.assembly.closed or not 0 < r.graph.loops <= loops:
        return []
    names = coordinate_names(r.mechanism)
    try:
        form = closed_form(r.graph, [names[k] for k in columns])
        if not form.solved or not 1 < len(form.branches) <= most:
            return []
        found = form.solve(r.q[columns])
    except RegularizeError:  # these inputs do not determine the others
        return []
    home = r.reference.T_world_node[0]
    modes = []
    for branch, q, there in zip(form.branches, found.q, found.assembled, strict=True):
        if not there:
            continue
        poses = r.loops.state(q).T_world_node[0]
        if float(np.max(np.abs(poses - home))) > 1e-6 * max(1.0, r.loops.length):
            modes.append({"name": f"way {branch.index}: {branch.name}", "q": _plain(q)})
    return modes


def _plain(q: Array) -> Any:
    return (np.round(q, 12) + 0.0).tolist()
