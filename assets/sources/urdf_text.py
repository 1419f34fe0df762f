"""URDF text of a linkage, with its loops as URDF+ ``<loop>`` elements.

All frames are parallel to the world at the saved pose, so that every origin in a file is a plain
difference of two points. Rods have one kilogram per metre.
"""

from __future__ import annotations

import math
from collections.abc import Iterator

from sources.linkage import GROUND, Axis, Linkage
from sources.vector import ZERO, Vector, add, dot, minus, norm, times, unit

DENSITY = 1.0  # kilograms per metre of rod
HUB = 0.1  # kilograms of a body whose joints all meet in one point
#: Colours of the bodies in turn, chosen to stay distinguishable to colour-blind readers.
PALETTE = (
    ("steel", "0.35 0.38 0.42 1"),
    ("blue", "0.00 0.45 0.70 1"),
    ("orange", "0.90 0.62 0.00 1"),
    ("green", "0.00 0.62 0.45 1"),
    ("rose", "0.80 0.47 0.65 1"),
    ("sky", "0.34 0.71 0.91 1"),
    ("vermilion", "0.84 0.37 0.00 1"),
)


def number(value: float) -> str:
    """The shortest text of a number of at most fifteen decimals."""
    text = repr(round(value, 15) + 0.0)
    return text[:-2] if text.endswith(".0") else text


def numbers(values: Vector) -> str:
    """Numbers separated by blanks."""
    return " ".join(number(value) for value in values)


def write(linkage: Linkage) -> str:
    """The whole file."""
    lines = ['<?xml version="1.0"?>', "<!--", *(f"  {line}" for line in linkage.about), "-->"]
    lines.append(f'<robot name="{linkage.name}">')
    lines += [
        f'  <material name="{name}"><color rgba="{color}"/></material>' for name, color in PALETTE
    ]
    for index, body in enumerate(linkage.bodies):
        lines += _link(linkage, body, index)
    for axis in linkage.axes:
        lines += _loop(linkage, axis) if axis.closes else _joint(linkage, axis)
    return "\n".join([*lines, "</robot>", ""])


def _link(linkage: Linkage, body: str, index: int) -> Iterator[str]:
    material = PALETTE[0 if body == GROUND else 1 + (index - 1) % (len(PALETTE) - 1)][0]
    yield f'  <link name="{body}">'
    if body != GROUND:
        yield from _inertial(linkage, body)
    w = linkage.section
    for a, b in linkage.rods(body) if body != GROUND else []:
        size = f'<box size="{number(w)} {number(w)} {number(norm(minus(b, a)))}"/>'
        yield _visual(times(0.5, add(a, b)), minus(b, a), size, material)
    origin = linkage.origin(body)
    for axis in linkage.axes:
        place = minus(axis.point, origin)
        if axis.child == body and axis.kind == "revolute":
            size = f'<cylinder radius="{number(0.6 * w)}" length="{number(2.0 * w)}"/>'
            yield _visual(place, axis.direction, size, material)
        elif axis.child == body and axis.kind == "spherical":
            yield _visual(place, axis.direction, f'<sphere radius="{number(w)}"/>', material)
        elif axis.kind == "prismatic" and body in (axis.parent, axis.child):
            # The body that stands still, or comes first, carries the rail.
            other = axis.child if body == axis.parent else axis.parent
            rail = body == GROUND or (body == axis.parent and other != GROUND)
            size = f'<cylinder radius="{number(0.3 * w)}" length="{number(16.0 * w)}"/>'
            if not rail:
                size = f'<box size="{number(2.0 * w)} {number(2.0 * w)} {number(4.0 * w)}"/>'
            yield _visual(place, axis.direction, size, material)
        elif body == GROUND and axis.parent == body:
            size = f'<cylinder radius="{number(0.8 * w)}" length="{number(1.5 * w)}"/>'
            yield _visual(place, axis.direction, size, material)
    yield "  </link>"


def _visual(center: Vector, direction: Vector, shape: str, material: str) -> str:
    """A shape whose own Z axis points along a direction."""
    d = unit(direction)
    pitch = math.atan2(math.hypot(d[0], d[1]), d[2])
    yaw = math.atan2(d[1], d[0]) if math.hypot(d[0], d[1]) > 0.0 else 0.0
    return (
        f'    <visual><origin xyz="{numbers(center)}" rpy="{numbers((0.0, pitch, yaw))}"/>'
        f'<geometry>{shape}</geometry><material name="{material}"/></visual>'
    )


def _inertial(linkage: Linkage, body: str) -> Iterator[str]:
    """Mass, centre and moments of the rods, each a box of square section."""
    rods = linkage.rods(body)
    parts = [(DENSITY * norm(minus(b, a)), times(0.5, add(a, b)), minus(b, a)) for a, b in rods]
    w = linkage.section
    if not parts:
        parts = [(HUB, ZERO, ZERO)]
    # Exactly rounded: plain sums of floats differ between versions of Python.
    mass = math.fsum(m for m, _, _ in parts)
    center = times(1.0 / mass, add(*(times(m, c) for m, c, _ in parts)))
    moments = [[0.0] * 3 for _ in range(3)]
    for m, c, way in parts:
        length = norm(way)
        d = unit(way) if length else ZERO
        cube = 0.0 if linkage.thin else m * w * w / 12.0
        along, across = (2.0 * cube if cube else 1e-6 * m), m * length * length / 12.0 + cube
        if not length:
            along = across = m * w * w
        offset = minus(c, center)
        shift = m * dot(offset, offset)
        for i in range(3):
            for j in range(3):
                unity = 1.0 if i == j else 0.0
                moments[i][j] += across * unity + (along - across) * d[i] * d[j]
                moments[i][j] += shift * unity - m * offset[i] * offset[j]
    entries = ((i, j) for i in range(3) for j in range(i, 3))
    text = " ".join(f'i{"xyz"[i]}{"xyz"[j]}="{number(moments[i][j])}"' for i, j in entries)
    yield (
        f'    <inertial><origin xyz="{numbers(center)}"/><mass value="{number(mass)}"/>'
        f"<inertia {text}/></inertial>"
    )


def _joint(linkage: Linkage, axis: Axis) -> Iterator[str]:
    kind = "continuous" if axis.kind == "revolute" else axis.kind
    driven = ' independent="true"' if axis.driven else ""
    yield f'  <joint name="{axis.name}" type="{kind}"{driven}>'
    yield f'    <parent link="{axis.parent}"/><child link="{axis.child}"/>'
    yield f'    <origin xyz="{numbers(minus(axis.point, linkage.origin(axis.parent)))}"/>'
    if axis.kind != "spherical":
        yield f'    <axis xyz="{numbers(axis.direction)}"/>'
    if axis.kind == "prismatic":
        yield '    <limit lower="-10" upper="10" effort="1000" velocity="10"/>'
    yield "  </joint>"


def _loop(linkage: Linkage, axis: Axis) -> Iterator[str]:
    yield f'  <loop name="{axis.name}" type="{axis.kind}">'
    for tag, body in (("predecessor", axis.parent), ("successor", axis.child)):
        place = numbers(minus(axis.point, linkage.origin(body)))
        yield f'    <{tag} link="{body}"><origin xyz="{place}"/></{tag}>'
    if axis.kind != "spherical":
        yield f'    <axis xyz="{numbers(axis.direction)}"/>'
    yield "  </loop>"
