"""What there is to draw of a mechanism: pieces with a mesh, a colour and the body they move with.

Bodies are drawn by the shapes of the model where it has some. Bars between the joints carry the
colours of the loops that run through them; joint axes are arrows, joints on the ground stand on
pedestals. Redundant equations are drawn at the closing joint: a straight double arrow for a force,
a ring for a moment that nothing determines.
Where several motions meet at the pose, bent arrows show where joints go on each of them.

Parallel projections of mechanisms: along the common normal of the axes, else from a corner.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from regularize.checking import Report
from regularize.guests.page.meshes import Surface
from regularize.lie import screw
from regularize.lie.arrays import Array
from regularize.mechanism.graph import NodeId
from regularize.mechanism.mechanism import Mechanism
from regularize.tolerances import VANISHING

Color = tuple[int, int, int, int]

#: Colours of loops, told apart by people with any colour vision (after Okabe and Ito 2008).
PALETTE: tuple[Color, ...] = (
    (0, 114, 178, 255),
    (0, 158, 115, 255),
    (230, 159, 0, 255),
    (153, 102, 204, 255),
    (86, 180, 233, 255),
    (140, 96, 52, 255),
)
REDUNDANT: Color = (204, 20, 72, 255)
AXIS: Color = (96, 102, 112, 255)
GROUND: Color = (128, 134, 142, 255)
PLAIN: Color = (170, 176, 184, 255)


@dataclass(frozen=True, eq=False)
class Piece:
    """A mesh to draw, of one body; ``owner`` names the joint or body that it shows."""

    name: str
    kind: str
    node: NodeId
    mesh: Surface
    color: Color
    owner: str = ""


@dataclass(frozen=True, eq=False)
class Wrench:
    """A force or a moment at a closing joint that the model leaves undetermined."""

    name: str
    loop: str
    joint: str
    node: NodeId
    point: Array
    direction: Array
    turns: bool
    size: float


@dataclass(frozen=True, eq=False)
class Label:
    """The name of a joint, or of a branch, at a point of a body."""

    text: str
    node: NodeId
    point: Array
    cut: bool
    color: Color | None = None


@dataclass(frozen=True, eq=False)
class Drawing:
    """All pieces and labels of a mechanism, and the report that they show."""

    report: Report
    length: float
    pieces: tuple[Piece, ...]
    labels: tuple[Label, ...]
    wrenches: tuple[Wrench, ...]
    links: tuple[tuple[NodeId, Array, Array, Color], ...]
    loop_colors: dict[str, Color]
    branch_colors: dict[str, Color]
    notes: tuple[str, ...]


def web(color: Color) -> str:
    """Return a colour without its opacity as CSS, such as ``#cc1448``."""
    return "#{:02x}{:02x}{:02x}".format(*color[:3])


def upwards(mechanism: Mechanism) -> Array:
    """Return the direction against gravity, or Z without gravity, shape (3,)."""
    gravity = mechanism.gravity
    return np.asarray(-screw.unit(gravity) if np.any(gravity) else [0.0, 0.0, 1.0])


#: Up to this angle between a common normal and the vertical the view is from above.
STEEP = np.cos(np.radians(30))


def camera(drawing: Drawing) -> Array:
    """Return the rotation from the ground to the picture: rows right, up and back, shape (3, 3)."""
    report = drawing.report
    normals = [
        loop.motion.direction
        for loop in report.loops
        if loop.motion.name == "planar" and loop.motion.direction is not None
    ]
    vertical = upwards(report.mechanism)
    if len(normals) < max(1, len(report.loops)) or any(
        abs(float(n @ normals[0])) < 0.99 for n in normals
    ):
        return _best_corner(drawing, vertical)
    normal = normals[0]
    if abs(float(normal @ vertical)) > STEEP:
        normal = normal * np.sign(float(normal @ vertical))
        up = np.cross(normal, _helper(normal))
        return _looking(normal - 0.45 * up + 0.25 * np.cross(up, normal), up)
    # Planes are seen from the side on which the other axes run as in textbooks: X to the right;
    # but not through the ground.
    normal = normal if float(np.cross(vertical, normal)[0]) >= -VANISHING else -normal
    if float(_in_front(drawing) @ normal) < -0.01 * drawing.length:
        normal = -normal
    right = np.cross(vertical, normal)
    return _looking(normal + 0.35 * right + 0.3 * vertical, vertical)


def _in_front(drawing: Drawing) -> Array:
    """Return the offset of moving shapes from those of the ground, shape (3,), or zero."""
    r = drawing.report.reduction
    places: dict[bool, list[Array]] = {True: [], False: []}
    for piece in drawing.pieces:
        if piece.kind == "shape":
            T = r.reference.T_world_node[0, r.loops.row(piece.node)]
            middle = T[:3, :3] @ piece.mesh.bounds.mean(axis=0) + T[:3, 3]
            places[piece.node == r.graph.ground].append(middle)
    if not all(places.values()):
        return np.zeros(3)
    return np.asarray(np.mean(places[False], axis=0) - np.mean(places[True], axis=0))


def _best_corner(drawing: Drawing, vertical: Array) -> Array:
    """Choose the view from slightly above in which the joints are spread widest."""
    r = drawing.report.reduction
    points = r.loops.joint_places(r.reference)
    first = np.cross(vertical, _helper(vertical))
    second = np.cross(vertical, first)
    best, spread = _looking(first + 0.5 * vertical, vertical), -1.0
    angles = np.radians([-60, -30, 30, 60, -150, 150, -120, 120])
    for angle, height in ((angle, height) for height in (0.5, 1.2) for angle in angles):
        eye = np.cos(angle) * first + np.sin(angle) * second + height * vertical
        view = _looking(eye, vertical)
        flat = (points - points.mean(axis=0)) @ view[:2].T if len(points) else points
        found = float(np.linalg.svd(flat, compute_uv=False)[-1]) if len(points) else 0.0
        if found > 1.05 * spread:
            best, spread = view, found
    return best


def _helper(axis: Array) -> Array:
    """Return the first axis of the ground that is not nearly parallel to this one."""
    return np.asarray(np.eye(3)[0 if abs(axis[0]) < 0.9 else 1])


def _looking(eye: Array, up: Array) -> Array:
    """Return the rotation of a camera that looks from the direction ``eye``."""
    back = screw.unit(eye)
    right = screw.unit(np.cross(up, back))
    return np.vstack([right, np.cross(back, right), back])
