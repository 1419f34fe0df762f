r"""What CAD joints and mates leave free between two marked frames.

A CAD joint relates frame I on one body to frame J on another; Z is the axis. Each function here
takes the pose of J seen from I as it was saved, ``T_i_j``, and gives the joint in the terms of
:class:`~regularize.mechanism.Joint`: the screws in a joint frame, that frame seen from I and from
J, and the coordinates that come nearest to the saved pose. What the saved pose lacks stays a gap.

Joints whose freedoms form no standard kind are products of joints of one freedom ("composite").
The equations that each one stands for are those of the solver of FreeCAD; with :math:`x, y, z` the
origin of J seen from I, and :math:`z_i, z_j` the axes:

==================  =====================================================  ========
pair                equations                                              freedoms
==================  =====================================================  ========
point_on_line       x = y = 0                                              4
point_in_plane      z = offset                                             5
line_in_plane       z = offset, z_i · z_j = 0                              4
parallel            z_i ∥ z_j                                              4
angle               z_i · z_j = cos(angle)                                 5
no_rotation         all axes parallel                                      3
sphere_sphere       x² + y² + z² = distance²                               5
cylinder_sphere     x² + y² = distance²                                    5
revolute_cylinder   x² + y² = distance², z_i ∥ z_j                         3
revolute_revolute   x² + y² = distance², z_i ∥ z_j, z = 0                  2
constant_velocity   x = y = z = 0, x_i · y_j + y_i · x_j = 0               2
pin_slot            y = z = 0, z_i ∥ z_j                                   2
==================  =====================================================  ========
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass

import numpy as np

from regularize.adapters.common.draft import Side, joint_between
from regularize.lie.arrays import Coordinates, Direction, Point, Screw, Space, Transform
from regularize.lie.screw import inverse, log_rotation, prismatic, revolute, transform, unit
from regularize.mechanism.diagnostic import Source
from regularize.mechanism.joint import Joint
from regularize.mechanism.joint_kinds import joint_screws

X, Y, Z = np.eye(3)
#: Angles and relative lengths below which a special case holds.
TINY = 1e-9
#: Sine of an angle below which axes count as parallel.
PARALLEL = 1e-6
#: Half turns that leave all axes of a frame on their lines.
FLIPS = tuple(
    transform(np.diag(signs)) for signs in ([1, 1, 1], [1, -1, -1], [-1, 1, -1], [-1, -1, 1])
)


@dataclass(frozen=True, eq=False)
class Pair:
    """A joint between two marked frames, with the coordinates nearest to the saved pose."""

    kind: str
    screws: Space
    T_i_joint: Transform
    T_j_joint: Transform
    position: Coordinates
    equal: tuple[tuple[int, int], ...] = ()  # freedoms whose coordinates are equal


def pair(name: str, T_i_j: Transform, value: float = 0.0) -> Pair:
    """Return the named pair at a saved pose; ``value`` is in metres or radians, see ``PAIRS``."""
    return PAIRS[name](T_i_j, value)


def _rotation_z(angle: float) -> Transform:
    c, s = math.cos(angle), math.sin(angle)
    return transform(np.array([[c, -s, 0.0], [s, c, 0.0], [0.0, 0.0, 1.0]]))


def _angle_z(T: Transform) -> float:
    """Return the angle of the rotation about Z that is nearest to the rotation of T."""
    return math.atan2(T[1, 0] - T[0, 1], T[0, 0] + T[1, 1])


def _flip_axis(T_i_j: Transform) -> Transform:
    """Return the half turn about X, or none, that points the Z axis of J along that of I."""
    return FLIPS[0] if T_i_j[2, 2] >= 0.0 else FLIPS[1]


def _aligned(T_i_j: Transform) -> Transform:
    """Return the frame at the origin of J that has the axes of I, seen from J."""
    return transform(T_i_j[:3, :3].T)


def _offset(z: float) -> Transform:
    return transform(None, z * Z)


def _along_z(direction: Direction) -> Transform:
    """Return the rotation, as a transform, to a frame whose Z has a direction."""
    z = unit(direction)
    x = unit(np.cross(Y if abs(z[1]) < 0.9 else X, z))
    return transform(np.column_stack([x, np.cross(z, x), z]))


def _toward_x(T_i_j: Transform) -> Transform:
    """Return the rotation about Z of I after which X points toward the origin of J."""
    x, y = T_i_j[:2, 3]
    return _rotation_z(math.atan2(y, x)) if math.hypot(x, y) > 0.0 else np.eye(4)


def _turns(point: Point) -> list[Screw]:
    """Return screws of rotations about X, Y and Z through a point: every rotation about it."""
    return [revolute(axis, point) for axis in (X, Y, Z)]


@dataclass(frozen=True)
class SlidesThenTurns:
    """A pair whose freedoms are slides along axes of frame I, then rotations."""

    kind: str
    slides: str = ""  # axes, such as ``xy``
    #: Axes: about ``z``, J may be turned over; about none, it keeps all its axes; about ``xyz``,
    #: the origin of J turns freely.
    turns: str = "z"
    lifted: bool = False  # whether the value is an offset along Z

    def __call__(self, T_i_j: Transform, value: float) -> Pair:
        """Return the pair at a saved pose."""
        axes = ["xyz".index(letter) for letter in self.slides]
        screws = [prismatic(np.eye(3)[axis]) for axis in axes]
        position = [float(T_i_j[axis, 3]) for axis in axes]
        flip = _flip_axis(T_i_j)
        if not self.turns:  # the half turn after which the axes of J come nearest to those of I
            flip = max(FLIPS, key=lambda T: float(np.trace(T_i_j[:3, :3] @ T[:3, :3])))
        if self.turns == "z":
            screws.append(revolute(Z))
            position.append(_angle_z(T_i_j @ flip))
        elif self.turns:
            screws += _turns(np.zeros(3))
            position += [0.0, 0.0, 0.0]
            flip = _aligned(T_i_j)
        columns = np.array(screws).reshape(-1, 6).T
        T_i_joint = _offset(value) if self.lifted else np.eye(4)
        return Pair(self.kind, columns, T_i_joint, flip, np.array(position))


_revolute = SlidesThenTurns("revolute")
_cylindrical = SlidesThenTurns("cylindrical", "z")
_parallel = SlidesThenTurns("composite", "xyz")
_point_on_line = SlidesThenTurns("composite", "z", turns="xyz")


def _spherical(T_i_j: Transform, value: float) -> Pair:
    position = log_rotation(T_i_j[:3, :3])
    return Pair("spherical", joint_screws("spherical"), np.eye(4), np.eye(4), position)


def _inclined(T_i_j: Transform, angle: float) -> tuple[Transform, Transform]:
    """Return frames on I and J in both of which the axis of J is (sin angle, 0, cos angle)."""
    across = np.cross(Z, T_i_j[:3, 2])
    y = unit(across) if np.linalg.norm(across) > TINY else T_i_j[:3, 1]
    on_i = np.column_stack([np.cross(y, Z), y, Z])
    y_j = T_i_j[:3, :3].T @ y
    x_j = unit(np.cross(y_j, Z))
    c, s = math.cos(angle), math.sin(angle)
    on_j = np.column_stack([c * x_j + s * Z, np.cross(Z, x_j), c * Z - s * x_j])
    return transform(on_i), transform(on_j)


def _angle(T_i_j: Transform, value: float) -> Pair:
    if abs(math.sin(value)) <= PARALLEL:  # one equation with no derivative: it means parallel
        return _parallel(T_i_j, 0.0)
    T_i, T_j = _inclined(T_i_j, value)
    axis = np.array([math.sin(value), 0.0, math.cos(value)])
    screws = np.column_stack([*map(prismatic, (X, Y, Z)), revolute(Z), revolute(axis)])
    position = np.array([*(T_i[:3, :3].T @ T_i_j[:3, 3]), 0.0, 0.0])
    return Pair("composite", screws, T_i, T_j, position)


def _universal(T_i_j: Transform, value: float) -> Pair:
    T_i, T_j = _inclined(T_i_j, math.pi / 2)
    return Pair("universal", np.column_stack([revolute(Z), revolute(X)]), T_i, T_j, np.zeros(2))


def _line_in_plane(T_i_j: Transform, value: float) -> Pair:
    T_i, T_j = _inclined(T_i_j, math.pi / 2)
    screws = np.column_stack([prismatic(X), prismatic(Y), revolute(Z), revolute(X)])
    x, y, _ = T_i[:3, :3].T @ T_i_j[:3, 3]
    return Pair("composite", screws, _offset(value) @ T_i, T_j, np.array([x, y, 0.0, 0.0]))


def _sphere_sphere(T_i_j: Transform, value: float) -> Pair:
    if value <= TINY:
        return _spherical(T_i_j, 0.0)
    p = T_i_j[:3, 3]
    T_i = _along_z(p) if np.linalg.norm(p) > TINY else np.eye(4)
    end = value * Z
    screws = np.column_stack([revolute(X), revolute(Y), *_turns(end)])
    T_j = _aligned(T_i_j) @ T_i @ transform(None, -end)
    return Pair("composite", screws, T_i, T_j, np.zeros(5))


def _cylinder_sphere(T_i_j: Transform, value: float) -> Pair:
    if value <= TINY:
        return _point_on_line(T_i_j, 0.0)
    T_i, end = _toward_x(T_i_j), value * X
    screws = np.column_stack([prismatic(Z), revolute(Z), *_turns(end)])
    T_j = _aligned(T_i_j) @ T_i @ transform(None, -end)
    return Pair("composite", screws, T_i, T_j, np.array([T_i_j[2, 3], 0.0, 0.0, 0.0, 0.0]))


def _arm(T_i_j: Transform, length: float) -> tuple[Transform, Transform]:
    """Return frames on I and J, Z along both axes and X from I to J, for parallel axes."""
    T_i, flip = _toward_x(T_i_j), _flip_axis(T_i_j)
    turned = _angle_z(inverse(T_i) @ T_i_j @ flip)
    return T_i, flip @ _rotation_z(-turned) @ transform(None, -length * X)


def _revolute_cylinder(T_i_j: Transform, value: float) -> Pair:
    if value <= TINY:
        return _cylindrical(T_i_j, 0.0)
    T_i, T_j = _arm(T_i_j, value)
    screws = np.column_stack([prismatic(Z), revolute(Z), revolute(Z, value * X)])
    return Pair("composite", screws, T_i, T_j, np.array([T_i_j[2, 3], 0.0, 0.0]))


def _revolute_revolute(T_i_j: Transform, value: float) -> Pair:
    if value <= TINY:
        return _revolute(T_i_j, 0.0)
    T_i, T_j = _arm(T_i_j, value)
    screws = np.column_stack([revolute(Z), revolute(Z, value * X)])
    return Pair("composite", screws, T_i, T_j, np.zeros(2))


def _constant_velocity(T_i_j: Transform, value: float) -> Pair:
    """Return a joint of two equal bends: rotations about X, Y and X by a, b and a."""
    # The axes of the marked frames face each other, so J is turned over first.
    w = log_rotation(T_i_j[:3, :3] @ FLIPS[1][:3, :3])
    bend = math.hypot(w[0], w[1])
    T_i = _rotation_z(math.atan2(-w[0], w[1])) if bend > TINY else np.eye(4)
    screws = np.column_stack([revolute(X), revolute(Y), revolute(X)])
    return Pair("composite", screws, T_i, FLIPS[1] @ T_i, np.array([0.0, bend, 0.0]), ((0, 2),))


#: Every pair by name.
PAIRS: Mapping[str, Callable[[Transform, float], Pair]] = {
    "fixed": SlidesThenTurns("fixed", turns=""),
    "revolute": _revolute,
    "cylindrical": _cylindrical,
    "prismatic": SlidesThenTurns("prismatic", "z", turns=""),
    "spherical": _spherical,
    "universal": _universal,
    "planar": SlidesThenTurns("planar", "xy", lifted=True),
    "free": lambda T_i_j, value: Pair("free", np.eye(6), T_i_j, np.eye(4), np.zeros(6)),
    "parallel": _parallel,
    "perpendicular": lambda T_i_j, value: _angle(T_i_j, math.pi / 2),
    "angle": _angle,
    "no_rotation": SlidesThenTurns("composite", "xyz", turns=""),
    "point_on_line": _point_on_line,
    "point_in_plane": SlidesThenTurns("composite", "xy", turns="xyz", lifted=True),
    "line_in_plane": _line_in_plane,
    "sphere_sphere": _sphere_sphere,
    "cylinder_sphere": _cylinder_sphere,
    "revolute_cylinder": _revolute_cylinder,
    "revolute_revolute": _revolute_revolute,
    "constant_velocity": _constant_velocity,
    "pin_slot": SlidesThenTurns("composite", "x"),
}


def distance_joint(
    name: str,
    first: Side,
    second: Side,
    T_first_second: Transform,
    length: float,
    source: Source | None = None,
    *,
    closure: bool = True,
) -> Joint:
    """Make the joint, zero at ``T_first_second``, that keeps two origins at a distance: a rod."""
    (parent, T_parent), (child, T_child) = first, second
    rod = _sphere_sphere(inverse(T_parent) @ T_first_second @ T_child, length)
    sides = (parent, T_parent @ rod.T_i_joint), (child, T_child @ rod.T_j_joint)
    return joint_between(name, rod.kind, *sides, rod.screws, closure=closure, source=source)
