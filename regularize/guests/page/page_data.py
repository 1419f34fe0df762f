"""Everything that the scripts of a page work on, as plain values."""

from __future__ import annotations

import base64
from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np

from regularize.checking import Report
from regularize.errors import RegularizeError
from regularize.guests.page import meshes
from regularize.guests.page.animation import (
    Driver,
    PlayedMotion,
    branch_name,
    branch_numbers,
    drivers,
)
from regularize.guests.page.drawing import Drawing, Piece, camera, upwards
from regularize.guests.page.report_rows import References
from regularize.lie import screw
from regularize.lie.arrays import Array
from regularize.lie.curve import Curve
from regularize.loops.kinematics import LoopKinematics
from regularize.mechanism.graph import Edge, coordinate_names
from regularize.mechanism.joint_kinds import perpendiculars
from regularize.reduction.cuts import Cut
from regularize.reduction.reduce import Reduction
from regularize.repair.statics.passive_joints import ranges_of
from regularize.services import guest
from regularize.tolerances import UNNOTICED


def page_data(
    drawing: Drawing, references: References, *, budget: int, trajectory: PlayedMotion | None = None
) -> dict[str, Any]:
    """Return all data for the scripts of a page; ``budget`` limits the bytes of shapes."""
    r = drawing.report.reduction
    kinematics = kinematics_data(r, drawing.length)
    return {
        **scene_data(drawing, references, budget),
        **references.data(),
        "kinematics": kinematics,
        "branches": _branches(r),
        "modes": _modes(r, [f["column"] for f in kinematics["freedoms"] if f["branch"] < 2]),
        "advice": list(_advice(drawing.report, references)),
        "trajectory": None if trajectory is None else trajectory.as_dict(),
    }


def _advice(report: Report, references: References) -> Iterator[dict[str, Any]]:
    """Yield, for each advised change, its joints and the freedoms they gain, for the preview."""
    r = report.reduction
    edges = {edge.joint.name: edge for edge in reversed(r.graph.edges)}
    for entry in report.advice:
        gives = []
        for change in entry.changes:
            edge = edges[change.joint]
            # What stands still does so in the preview.
            still = edge.child == r.graph.ground
            base, mover = (edge.child, edge.parent) if still else (edge.parent, edge.child)
            T = screw.inverse(r.reference.T_world_node[0, r.loops.row(base)])
            shapes = [
                {
                    "shape": "moment" if part else "force",
                    "direction": _plain(T[:3, :3] @ each.covector[3 * part : 3 * part + 3]),
                }
                for each in change.freedoms
                for part in [int(each.kind == "angular")]
            ]
            given = screw.adjoint(T) @ (-change.added if still else change.added)
            at = edge.T_child if still else edge.T_parent
            gain = {
                "ref": references.joints[change.joint],
                "loop": "",
                "node": r.loops.row(base),
                "mover": r.loops.row(mover),
                "point": _plain(at[:3, 3]),
                "shapes": shapes,
                "twists": [_plain(column) for column in given.T],
            }
            gives.append(gain)
        yield {"refs": [each["ref"] for each in gives], "gives": gives}


def _branches(r: Reduction, most: int = 40) -> list[dict[str, Any]]:
    """Return a configuration on each motion that meets at the pose, unless there is only one."""
    if not r.assembly.closed:
        return []
    numbers = branch_numbers(r)[:most]
    return [{"number": k, "name": branch_name(r, k), "q": _plain(r.on_branch(k))} for k in numbers]


def _modes(r: Reduction, columns: list[int]) -> list[dict[str, Any]]:
    """Return other ways to assemble at the same inputs, where formulas give them quickly."""
    if not r.assembly.closed or not 0 < r.graph.loops <= 3:
        return []
    names = coordinate_names(r.mechanism)
    try:
        form = guest("modes.closed_form").closed_form(r.graph, [names[k] for k in columns])
        if not form.solved or not 1 < len(form.branches) <= 16:
            return []
        solution = form.solve(r.q[columns])
    except RegularizeError:  # these inputs do not determine the others, or there are no formulas
        return []
    home = r.reference.T_world_node[0]
    modes = []
    for branch, q, assembled in zip(form.branches, solution.q, solution.assembled, strict=True):
        if not assembled:
            continue
        poses = r.loops.state(q).T_world_node[0]
        if float(np.max(np.abs(poses - home))) > UNNOTICED * max(1.0, r.loops.length):
            modes.append({"name": f"way {branch.index}: {branch.name}", "q": _plain(q)})
    return modes


def kinematics_data(reduction: Reduction, length: float) -> dict[str, Any]:
    """Return joints, tree and kept rows as ``kinematics.js`` reads them; SI units, radians."""
    r, loops, graph = reduction, reduction.loops, reduction.graph
    place = {cut.edge.index: k for k, cut in enumerate(r.cuts)}
    couplings = r.coupled.couplings
    stated_couplings = len(graph.couplings)
    return {
        "nodes": len(loops.nodes),
        "length": _plain(length),
        "q": _plain(r.q),
        "turns": graph.turning.tolist(),
        "names": coordinate_names(r.mechanism),
        "limits": [
            [float(x) if np.isfinite(x) else None for x in pair] for pair in ranges_of(r.mechanism)
        ],
        "joints": [_joint(edge, r) for edge in graph.edges],
        "tree": [
            [e, loops.row(graph.edges[e].other(node)), loops.row(node)] for e, node in loops.tree
        ],
        "loops": [_loop(cut, r) for cut in r.cuts],
        "couplings": [
            {
                "columns": list(row.columns),
                "coefficients": _plain(row.coefficients),
                "offset": _plain(row.offset),
                "implied": k >= stated_couplings,
                **({"curve": _curve(row.curve)} if row.curve else {}),
            }
            for k, row in enumerate(couplings)
        ],
        "cells": [
            {
                "columns": list(graph.columns(cell)),
                "loops": [place[e] for e in cell if e in place],
                "couplings": [
                    k for k, row in enumerate(couplings) if {*row.columns} <= {*graph.columns(cell)}
                ],
            }
            for cell in graph.cells
        ],
        "freedoms": [_freedom(driver, r) for driver in (drivers(r) if r.assembly.closed else ())],
    }


def _curve(curve: Curve) -> dict[str, Any]:
    """Return a piecewise polynomial as plain values."""
    return {name: _plain(getattr(curve, name)) for name in ("breaks", "origins", "pieces")}


def _freedom(driver: Driver, r: Reduction, frames: int = 36) -> dict[str, Any]:
    """Return a driver; with its path, where velocities alone do not determine that."""
    motion = None if driver.heading is None else driver.run(r, frames)
    path = None if motion is None else _plain(motion.q)
    held = [int(driver.loops.columns[i]) for i in driver.held]
    return {"column": driver.column, "held": held, "branch": driver.branch, "path": path}


def _joint(edge: Edge, r: Reduction) -> dict[str, Any]:
    """Return a joint with its screws and frames."""
    return {
        "name": edge.joint.name,
        "parent": r.loops.row(edge.parent),
        "child": r.loops.row(edge.child),
        "columns": list(edge.columns),
        "screws": [_plain(column) for column in edge.screws.T],
        "group": edge.group,
        "before": _frame(edge.T_parent),
        "after": _frame(edge.T_child),
    }


def _loop(cut: Cut, r: Reduction) -> dict[str, Any]:
    """Return a closing joint with its kept and implied rows."""
    chord = r.loops.chords.index(cut.edge.index)
    signs = r.loops.incidence[chord]
    implied = np.hstack([cut.removed, cut.thinned, cut.numerical])
    return {
        "joint": cut.edge.index,
        "node": r.loops.row(cut.node),
        "frame": _frame(cut.T_node_frame),
        "length": _plain(cut.length),
        "kept": [_plain(row) for row in cut.rows.T],
        "own": [_plain(row) for row in cut.freedoms.T],
        "implied": [_plain(row) for row in implied.T],
        "signs": [[int(k), int(signs[k])] for k in np.flatnonzero(signs)],
    }


def _frame(T: Array) -> Any:
    """Return the first three rows of a transform as 12 numbers."""
    return _plain(T[:3].ravel())


def _plain(values: Any, digits: int = 14) -> Any:
    """Round away noise that would make the page long, and signs of zeros."""
    return (np.round(np.asarray(values, dtype=np.float64), digits) + 0.0).tolist()


#: Layers of the picture, which people show and hide, by kinds of pieces.
LAYERS = {"pedestal": "ground", "joint": "joints", "axis": "axes", "branch": "branches"}
LAYERS |= dict.fromkeys(("shape", "bar", "line"), "bodies")


def scene_data(drawing: Drawing, references: References, budget: int) -> dict[str, Any]:
    """Return data for ``scene.js``; lengths in metres, transforms as in ``kinematics_data``."""
    r = drawing.report.reduction
    home = r.reference.T_world_node[0]
    pieces = [p for p in _simplified(drawing.pieces, budget) if p.kind != "redundant"]
    # Pieces of one owner, layer and colour are drawn in one go.
    groups: dict[object, list[Piece]] = {}
    for piece in pieces:
        key = (piece.node, LAYERS[piece.kind], piece.color, piece.owner)
        groups.setdefault(key, []).append(piece)
    merged = [_mesh(group, r.loops, references) for group in groups.values()]
    boxes = [
        (piece.mesh.bounds @ T[:3, :3].T + T[:3, 3], piece)
        for piece in pieces
        for T in [home[r.loops.row(piece.node)]]
    ]
    usual = [box for box, piece in boxes if np.ptp(piece.mesh.bounds) < 20 * drawing.length]
    # What stands still may be a hall: the picture is of what moves, and of the joints.
    moving = [box for box, piece in boxes if piece.kind != "shape" or piece.node != r.graph.ground]
    corners = np.concatenate(moving or usual or [np.zeros((1, 3))])
    low, high = corners.min(axis=0), corners.max(axis=0)
    radius = max(0.5 * float(np.linalg.norm(high - low)), UNNOTICED)
    for entry in merged:
        # A hall that the mechanism stands in is a shade, which hides nothing.
        hall = entry["node"] == r.loops.row(r.graph.ground) and max(entry["size"]) > 5 * radius
        entry["vast"] = max(entry["size"]) > 20 * drawing.length or hall
    vertical = upwards(drawing.report.mechanism)
    gravity = drawing.report.mechanism.gravity
    return {
        "pieces": merged,
        "ground": r.loops.row(r.graph.ground),
        "glyphs": {
            "force": _encoded(meshes.force(np.zeros(3), np.eye(3)[2], 2.0)),
            "push": _encoded(meshes.arrow(-np.eye(3)[2], np.eye(3)[2], 2.0, 0.05)),
            "moment": _encoded(meshes.moment(np.zeros(3), np.eye(3)[2], 2.0)),
        },
        "redundant": _redundant(drawing, references),
        "poses": _plain(home[:, :3].reshape(-1, 12), 9),
        "labels": [
            {
                "text": label.text,
                "ref": "" if label.color else references.joints[label.text],
                "node": r.loops.row(label.node),
                "point": _plain(label.point, 6),
                "cut": label.cut,
                "color": None if label.color is None else list(label.color[:3]),
            }
            for label in drawing.labels
        ],
        "camera": {
            "rotation": _plain(camera(drawing), 6),
            "up": _plain(vertical, 6),
            "center": _plain(0.5 * (low + high), 6),
            "radius": radius,
        },
        "grid": _grid(corners, vertical, radius),
        "gravity": _plain(gravity, 6) if np.any(gravity) else None,
    }


def _simplified(pieces: Sequence[Piece], budget: int, triangle: int = 12) -> list[Piece]:
    """Simplify the largest shapes until all fit into a budget of bytes."""
    sizes = sorted(len(piece.mesh.faces) for piece in pieces if piece.kind == "shape")
    remaining, most = budget // triangle, max(sizes, default=0)
    if sum(sizes) > remaining:
        for k, size in enumerate(sizes):
            if size * (len(sizes) - k) > remaining:
                most = remaining // (len(sizes) - k)
                break
            remaining -= size
    return [
        Piece(p.name, p.kind, p.node, meshes.decimated(p.mesh, most), p.color, p.owner)
        if p.kind == "shape" and len(p.mesh.faces) > most
        else p
        for p in pieces
    ]


def _mesh(pieces: Sequence[Piece], loops: LoopKinematics, references: References) -> dict[str, Any]:
    """Return a group of pieces as one mesh, with its layer, colour and reference."""
    first = pieces[0]
    layer = LAYERS[first.kind]
    owner_refs = references.joints if layer in ("joints", "axes") else references.bodies
    return {
        "layer": layer,
        "node": loops.row(first.node),
        "color": [round(c / 255, 3) for c in first.color],
        "ref": owner_refs[first.owner] if first.owner else "",
        **_encoded(meshes.joined([piece.mesh for piece in pieces])),
    }


def _encoded(mesh: Any) -> dict[str, Any]:
    """Encode a mesh: corners as 16-bit fractions of its box, and triangles."""
    low, size = mesh.bounds[0], np.ptp(mesh.bounds, axis=0)
    steps = np.round(65535 * (mesh.vertices - low) / np.where(size > 0.0, size, 1.0))
    wide = len(mesh.vertices) > 65535
    return {
        "low": _plain(low, 7),
        "size": _plain(size, 7),
        "wide": wide,
        "count": int(3 * len(mesh.faces)),
        "vertices": _base64(steps, "<u2"),
        "faces": _base64(mesh.faces, "<u4" if wide else "<u2"),
    }


def _base64(array: Any, kind: str) -> str:
    """Encode an array of numbers as base64."""
    return base64.b64encode(np.ascontiguousarray(array, dtype=kind).tobytes()).decode()


def _redundant(drawing: Drawing, references: References) -> list[dict[str, Any]]:
    """Return the redundant directions, grouped by joint."""
    by_joint: dict[tuple[str, str], dict[str, Any]] = {}
    for wrench in drawing.wrenches:
        first = {
            "ref": references.joints[wrench.joint],
            "loop": references.loops[wrench.loop],
            "node": drawing.report.reduction.loops.row(wrench.node),
            "point": _plain(wrench.point, 7),
            "shapes": [],
        }
        entry = by_joint.setdefault((wrench.loop, wrench.joint), first)
        shape, direction = "moment" if wrench.turns else "force", screw.unit(wrench.direction)
        entry["shapes"].append({"shape": shape, "direction": _plain(direction, 6)})
    return list(by_joint.values())


def _grid(corners: Array, up: Array, radius: float) -> dict[str, Any]:
    """Return the ground grid through the lowest point, with a round width of squares."""
    first, second = perpendiculars(up)
    power = 10.0 ** np.floor(np.log10(0.25 * radius))
    step = float(max(k * power for k in (1, 2, 5) if k * power <= 0.25 * radius))
    middle = 0.5 * (corners.min(axis=0) + corners.max(axis=0))
    place = middle + (np.min(corners @ up) - middle @ up) * up
    return {
        "center": _plain(place, 6),
        "axes": [_plain(first, 6), _plain(second, 6)],
        "step": step,
        "count": int(np.ceil(1.3 * radius / step)),
    }
