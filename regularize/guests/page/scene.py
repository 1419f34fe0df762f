"""A mechanism as a ``trimesh.Scene``, which is what GLB files are written from.

The graph of the scene has one frame ``body/…`` for every body, so that whoever shows it can move
the bodies by changing those frames.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import trimesh

from regularize.guests.page.animation import motions
from regularize.guests.page.artist import draw
from regularize.guests.page.drawing import Drawing
from regularize.lie.arrays import Array
from regularize.reduction.reduce import Reduction
from regularize.report.analysis import Analysis


def scene(
    report: Analysis, q: Array | None = None, *, ghosts: int = 0, drawing: Drawing | None = None
) -> Any:
    """The mechanism at a configuration."""
    drawing, r = drawing or draw(report), report.reduction
    result = trimesh.Scene(base_frame="ground")
    _add(result, drawing, r.loops.state(r.q if q is None else q).T_world_node[0], "", 1.0)
    for number, ghost in enumerate(ghost_poses(r, ghosts), start=1):
        pose = r.loops.state(ghost).T_world_node[0]
        _add(result, drawing, pose, f"ghost{number}/", 0.25)
    return result


def ghost_poses(reduction: Reduction, count: int) -> list[Array]:
    """Configurations spread over the first motion, the assembled one left out."""
    moving = motions(reduction, most=1) if count > 0 else ()
    if not moving:
        return []
    motion = moving[0]
    if motion.cyclic:
        picked = np.linspace(0, len(motion.q), count + 2)[1:-1].astype(int)
    else:
        # Nearby poses show where a motion leads; its ends may lie far away.
        reach = min(len(motion.q) - 1, 10)
        low = max(0, min(motion.start - reach // 2, len(motion.q) - 1 - reach))
        picked = np.linspace(low, low + reach, count).astype(int)
    return [motion.q[i] for i in dict.fromkeys(int(p) for p in picked) if i != motion.start]


def _add(result: Any, drawing: Drawing, poses: Array, prefix: str, opacity: float) -> None:
    r = drawing.report.reduction
    ground = r.graph.ground
    framed = set()
    for piece in drawing.pieces:
        if prefix and (piece.kind in ("axis", "redundant", "pedestal") or piece.node == ground):
            continue
        frame = f"{prefix}body/{r.graph.nodes[piece.node]}"
        if frame not in framed:
            framed.add(frame)
            result.graph.update(
                frame_to=frame, frame_from="ground", matrix=poses[r.loops.row(piece.node)]
            )
        mesh = piece.mesh.copy()
        red, green, blue, alpha = piece.color
        mesh.visual = trimesh.visual.TextureVisuals(
            material=trimesh.visual.material.PBRMaterial(
                baseColorFactor=[red, green, blue, round(opacity * alpha)],
                alphaMode="OPAQUE" if opacity * alpha > 254 else "BLEND",
                metallicFactor=0.0,
                roughnessFactor=0.7,
                doubleSided=True,
            )
        )
        name = f"{prefix}{piece.name}"
        result.add_geometry(mesh, node_name=name, geom_name=name, parent_node_name=frame)
