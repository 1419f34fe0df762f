"""The picture of a page as plain values: meshes, poses, names, camera, ground."""

from __future__ import annotations

import base64
from collections.abc import Sequence
from typing import Any

import numpy as np
import trimesh

from regularize.guests.page import meshes
from regularize.guests.page.drawing import Drawing, Piece, camera, upwards
from regularize.guests.page.meshes import decimated
from regularize.guests.page.report_rows import References
from regularize.lie.arrays import Array
from regularize.lie.screw import unit
from regularize.loops.kinematics import LoopKinematics
from regularize.mechanism.joint import perpendiculars
from regularize.tolerances import UNNOTICED

LAYERS = {
    "shape": "bodies",
    "bar": "bodies",
    "line": "bodies",
    "pedestal": "ground",
    "joint": "joints",
    "axis": "axes",
    "branch": "branches",
}


def scene_data(drawing: Drawing, references: References, budget: int) -> dict[str, Any]:
    """Return what ``scene.js`` draws; lengths in metres, transforms as in ``kinematics_data``."""
    r = drawing.report.reduction
    home = r.reference.T_world_node[0]
    pieces = [p for p in _simplified(drawing.pieces, budget) if p.kind != "redundant"]
    merged = [_mesh(group, r.loops, references) for group in _merged(pieces)]
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
        "poses": _rounded(home[:, :3].reshape(-1, 12), 9),
        "labels": [
            {
                "text": label.text,
                "ref": "" if label.color else references.joints[label.text],
                "node": r.loops.row(label.node),
                "point": _rounded(label.point),
                "cut": label.cut,
                "color": None if label.color is None else list(label.color[:3]),
            }
            for label in drawing.labels
        ],
        "camera": {
            "rotation": _rounded(camera(drawing)),
            "up": _rounded(vertical),
            "center": _rounded(0.5 * (low + high)),
            "radius": radius,
        },
        "grid": _grid(corners, vertical, radius),
        "gravity": _rounded(gravity) if np.any(gravity) else None,
    }


def _simplified(pieces: Sequence[Piece], budget: int, triangle: int = 12) -> list[Piece]:
    """Simplify the largest shapes until all fit into a budget of bytes."""
    sizes = sorted(len(piece.mesh.faces) for piece in pieces if piece.kind == "shape")
    left, most = budget // triangle, max(sizes, default=0)
    if sum(sizes) > left:
        for k, size in enumerate(sizes):
            if size * (len(sizes) - k) > left:
                most = left // (len(sizes) - k)
                break
            left -= size
    return [
        Piece(p.name, p.kind, p.node, decimated(p.mesh, most), p.color, p.owner)
        if p.kind == "shape" and len(p.mesh.faces) > most
        else p
        for p in pieces
    ]


def _merged(pieces: Sequence[Piece]) -> list[list[Piece]]:
    """Group pieces of one owner, layer and colour, which are drawn in one go."""
    found: dict[object, list[Piece]] = {}
    for piece in pieces:
        key = (piece.node, LAYERS[piece.kind], piece.color, piece.owner)
        found.setdefault(key, []).append(piece)
    return list(found.values())


def _mesh(pieces: Sequence[Piece], loops: LoopKinematics, references: References) -> dict[str, Any]:
    """Return a group of pieces as one mesh, with its layer, colour and reference."""
    first = pieces[0]
    layer = LAYERS[first.kind]
    known = references.joints if layer in ("joints", "axes") else references.bodies
    return {
        "layer": layer,
        "node": loops.row(first.node),
        "color": [round(c / 255, 3) for c in first.color],
        "ref": known[first.owner] if first.owner else "",
        **_encoded(trimesh.util.concatenate([piece.mesh for piece in pieces])),
    }


def _encoded(mesh: Any) -> dict[str, Any]:
    """Encode a mesh: corners as 16-bit fractions of its box, and triangles."""
    low, size = mesh.bounds[0], np.ptp(mesh.bounds, axis=0)
    steps = np.round(65535 * (mesh.vertices - low) / np.where(size > 0.0, size, 1.0))
    wide = len(mesh.vertices) > 65535
    return {
        "low": _rounded(low, 7),
        "size": _rounded(size, 7),
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
    found: dict[tuple[str, str], dict[str, Any]] = {}
    for wrench in drawing.wrenches:
        entry = found.setdefault(
            (wrench.loop, wrench.joint),
            {
                "ref": references.joints[wrench.joint],
                "loop": references.loops[wrench.loop],
                "node": drawing.report.reduction.loops.row(wrench.node),
                "point": _rounded(wrench.point, 7),
                "shapes": [],
            },
        )
        shape = "moment" if wrench.turns else "force"
        entry["shapes"].append({"shape": shape, "direction": _rounded(unit(wrench.direction))})
    return list(found.values())


def _grid(corners: Array, up: Array, radius: float) -> dict[str, Any]:
    """Return the ground grid through the lowest point, with a round width of squares."""
    first, second = perpendiculars(up)
    power = 10.0 ** np.floor(np.log10(0.25 * radius))
    step = float(max(k * power for k in (1, 2, 5) if k * power <= 0.25 * radius))
    middle = 0.5 * (corners.min(axis=0) + corners.max(axis=0))
    place = middle + (np.min(corners @ up) - middle @ up) * up
    return {
        "center": _rounded(place),
        "axes": [_rounded(first), _rounded(second)],
        "step": step,
        "count": int(np.ceil(1.3 * radius / step)),
    }


def _rounded(values: Array, digits: int = 6) -> Any:
    """Round an array into a list without negative zeros."""
    return (np.round(values, digits) + 0.0).tolist()
