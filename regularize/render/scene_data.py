"""The 3D view of the HTML report as plain values: meshes, poses and motions."""

from __future__ import annotations

import base64
from collections.abc import Sequence
from typing import Any

import numpy as np
import trimesh
from scipy.spatial.transform import Rotation

from regularize.lie.screw import Array
from regularize.manifold.kinematics import LoopKinematics
from regularize.render.animation import FRAMES, DrivenMotion, motions
from regularize.render.camera import camera, upwards
from regularize.render.drawing import Drawing, Piece

#: Frames kept of a motion; the view interpolates between them.
KEPT = FRAMES // 2
LAYERS = {
    "shape": "bodies",
    "bar": "bodies",
    "line": "bodies",
    "joint": "joints",
    "axis": "joints",
    "branch": "branches",
}


def scene_data(drawing: Drawing) -> dict[str, Any]:
    """What ``viewer.js`` needs; lengths in metres, poses as quaternion (x, y, z, w) and place."""
    r = drawing.report.reduction
    home = r.reference.T_world_node[0]
    corners = np.concatenate(
        [
            piece.mesh.bounds @ home[r.loops.row(piece.node)][:3, :3].T
            + home[r.loops.row(piece.node)][:3, 3]
            for piece in drawing.pieces
        ]
        or [np.zeros((1, 3))]
    )
    low, high = corners.min(axis=0), corners.max(axis=0)
    view = camera(drawing.report)
    vertical = view.up if abs(view.up @ view.back) > 0.99 else upwards(drawing.report.mechanism)
    return {
        "pieces": [_mesh(pieces, r.loops) for pieces in _merged(drawing.pieces)],
        "poses": _rounded(_poses(home)),
        "labels": [
            {
                "text": label.text,
                "node": r.loops.row(label.node),
                "point": _rounded(label.point),
                "cut": label.cut,
                "color": None if label.color is None else list(label.color[:3]),
            }
            for label in drawing.labels
        ],
        "motions": [_motion(drawing, motion) for motion in motions(r)],
        "camera": {
            "rotation": _rounded(view.rotation),
            "up": _rounded(vertical),
            "center": _rounded(0.5 * (low + high)),
            "radius": max(0.5 * float(np.linalg.norm(high - low)), 1e-6),
        },
    }


def _merged(pieces: Sequence[Piece]) -> list[list[Piece]]:
    """Pieces of one body, layer and colour together, to be drawn in one go."""
    found: dict[object, list[Piece]] = {}
    for piece in pieces:
        found.setdefault((piece.node, LAYERS.get(piece.kind), piece.color), []).append(piece)
    return list(found.values())


def _mesh(pieces: Sequence[Piece], loops: LoopKinematics) -> dict[str, Any]:
    mesh = trimesh.util.concatenate([piece.mesh for piece in pieces])
    return {
        "layer": LAYERS.get(pieces[0].kind, "redundant"),
        "node": loops.row(pieces[0].node),
        "color": [round(c / 255, 3) for c in pieces[0].color],
        "vertices": _encoded(mesh.vertices, "<f4"),
        "faces": _encoded(mesh.faces, "<u4"),
    }


def _encoded(array: Any, kind: str) -> str:
    return base64.b64encode(np.ascontiguousarray(array, dtype=kind).tobytes()).decode()


def _poses(T: Array) -> Array:
    """Quaternions and places of transforms, shape (..., 7)."""
    quaternions = Rotation.from_matrix(T[..., :3, :3].reshape(-1, 3, 3)).as_quat()
    return np.concatenate([quaternions.reshape(*T.shape[:-2], 4), T[..., :3, 3]], axis=-1)


def _rounded(values: Array) -> Any:
    return (np.round(values, 5) + 0.0).tolist()


def _motion(drawing: Drawing, motion: DrivenMotion) -> dict[str, Any]:
    r = drawing.report.reduction
    picked = np.unique(np.linspace(0, len(motion.q) - 1, KEPT).astype(int))
    start = int(np.argmin(np.abs(picked - motion.start)))
    picked[start] = motion.start
    poses = r.loops.state(motion.q[picked]).T_world_node
    moved = np.max(np.abs(poses - poses[:1]), axis=(0, 2, 3)) > 1e-9
    values = motion.q[picked, motion.column] * (1e3 if motion.slides else 180 / np.pi)
    return {
        "name": motion.name,
        "unit": "mm" if motion.slides else "°",
        "cyclic": motion.cyclic,
        "start": start,
        "values": [round(float(v), 2) for v in values],
        "nodes": np.flatnonzero(moved).tolist(),
        "frames": _rounded(_poses(poses[:, moved])),
    }
