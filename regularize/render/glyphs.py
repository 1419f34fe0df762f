"""Meshes that drawings are made of: bars, arrows, rings, joints. All lengths in metres."""

from __future__ import annotations

from typing import Any

import numpy as np
import trimesh
from trimesh import creation

from regularize.lie import screw
from regularize.lie.screw import Array
from regularize.model.joint import perpendiculars

#: Sides of round things: enough to look round at the size of a joint.
SECTIONS = 12


def bar(start: Array, end: Array, radius: float) -> Any:
    """A round bar between two points; None where they coincide."""
    if np.linalg.norm(end - start) < 1e-3 * radius:
        return None
    return creation.cylinder(radius, segment=np.array([start, end]), sections=SECTIONS)


def ball(center: Array, radius: float) -> Any:
    """A sphere, which stands for a spherical joint."""
    mesh = creation.uv_sphere(radius, count=(8, 12))
    mesh.apply_translation(center)
    return mesh


def barrel(center: Array, axis: Array, length: float, radius: float) -> Any:
    """A short cylinder about an axis: a hinge."""
    e = 0.5 * length * screw.unit(axis)
    return bar(center - e, center + e, radius)


def block(center: Array, axis: Array, length: float, width: float) -> Any:
    """A square bar along an axis: a slide."""
    return creation.box((width, width, length), transform=screw.transform(along(axis), center))


def along(axis: Array) -> Array:
    """A rotation whose third column is the axis."""
    e = screw.unit(axis)
    first, second = perpendiculars(e)
    return np.column_stack([first, second, e])


def arrow(start: Array, axis: Array, length: float, radius: float, *, both: bool = False) -> Any:
    """An arrow along an axis; with a head at both ends it is centred at ``start``."""
    e = screw.unit(axis)
    head = min(6.0 * radius, 0.4 * length)
    parts = []
    ends = (1.0, -1.0) if both else (1.0,)
    half = 0.5 * length if both else length
    for sign in ends:
        tip = screw.transform(along(sign * e), start + sign * (half - head) * e)
        parts.append(creation.cone(2.6 * radius, head, sections=SECTIONS, transform=tip))
    first = start - (half - head) * e if both else start
    parts.append(bar(first, start + (half - head) * e, radius))
    return trimesh.util.concatenate(parts)


def path(points: Array, radius: float) -> Any:
    """A bent arrow through points, shape (n, 3); None where they coincide."""
    far = np.linalg.norm(np.diff(points, axis=0), axis=1) > 1e-3 * radius
    points = points[np.concatenate([[True], far])]
    if len(points) < 2:
        return None
    parts = [
        creation.cylinder(radius, segment=points[i : i + 2], sections=6)
        for i in range(len(points) - 1)
    ]
    tip = screw.transform(along(points[-1] - points[-2]), points[-1])
    parts.append(creation.cone(2.6 * radius, 6.0 * radius, sections=SECTIONS, transform=tip))
    return trimesh.util.concatenate(parts)


def ring(center: Array, axis: Array, radius: float, thickness: float) -> Any:
    """A turned arrow about an axis, most of a circle with heads in both directions."""
    R = along(axis)
    angles = np.linspace(0.15 * np.pi, 1.85 * np.pi, 25)
    circle = np.column_stack([np.cos(angles), np.sin(angles), np.zeros(len(angles))]) * radius
    points = circle @ R.T + center
    parts = [
        creation.cylinder(thickness, segment=points[i : i + 2], sections=6)
        for i in range(len(points) - 1)
    ]
    for i, j in ((0, 1), (-1, -2)):
        tip = screw.transform(along(points[i] - points[j]), points[i])
        parts.append(
            creation.cone(2.6 * thickness, 6 * thickness, sections=SECTIONS, transform=tip)
        )
    return trimesh.util.concatenate(parts)


def force(center: Array, direction: Array, size: float) -> Any:
    """A straight double arrow of a length: a force that nothing determines."""
    return arrow(center, direction, size, 0.021 * size, both=True)


def moment(center: Array, axis: Array, size: float) -> Any:
    """A ring that fits with room into a sphere of a diameter: a moment that nothing determines."""
    return ring(center, axis, 0.36 * size, 0.0173 * size)


def pedestal(tip: Array, up: Array, height: float) -> Any:
    """What a joint on the ground stands on: a pyramid on a plate."""
    foot = screw.transform(along(up), tip - height * screw.unit(up))
    plate = creation.box((2.2 * height, 2.2 * height, 0.15 * height), transform=foot)
    return trimesh.util.concatenate(
        [creation.cone(0.6 * height, 0.95 * height, sections=4, transform=foot), plate]
    )
