r"""Screws: the infinitesimal motions of rigid bodies, and their exponentials.

Convention of the whole package: SI units; a screw, twist or freedom is a row of six numbers
:math:`(v, \omega)` with the *linear part first*, as in ``pinocchio.Motion``. Here :math:`\omega`
is the direction of rotation and :math:`v` the velocity of the point that sits at the origin of the
frame. The texts that this package implements write :math:`(\omega, v)`. A transform ``T_a_b``
expresses frame b in frame a. Every function is vectorised over leading axes.
"""

from __future__ import annotations

import math
from functools import lru_cache
from itertools import combinations

import numpy as np
from numpy.typing import ArrayLike

from regularize.lie.arrays import (
    Array,
    Coordinates,
    Direction,
    Point,
    Rotation,
    Screw,
    Transform,
    Twist,
    Wrench,
    read_only,
)
from regularize.tolerances import NEGLIGIBLE, UNNOTICED, VANISHING

#: The transform between frames that coincide.
IDENTITY = read_only(np.eye(4))


def unit(axis: ArrayLike) -> Direction:
    """Scale ``axis`` to length one; raise ``ValueError`` for a zero or non-finite axis."""
    axis = np.asarray(axis, dtype=np.float64)
    norm = float(np.linalg.norm(axis))
    if not np.isfinite(norm) or norm == 0.0:
        raise ValueError(f"an axis needs a finite length other than zero, got {axis.tolist()}")
    return axis / norm


def leading_component(vector: Array) -> int:
    """Return the index of the largest component, the first of those as large but for rounding."""
    sizes = np.abs(vector)
    return int(np.argmax(sizes >= (1.0 - UNNOTICED) * sizes.max()))


def points_back(vector: Array) -> bool:
    """Return whether a vector's largest component is negative: texts name its opposite then."""
    return bool(vector[leading_component(vector)] < 0.0)


def revolute(axis: ArrayLike, point: ArrayLike = (0.0, 0.0, 0.0)) -> Screw:
    r"""Return the rotation about a line, :math:`(p \times e, e)`."""
    return helical(axis, point, 0.0)


def prismatic(axis: ArrayLike) -> Screw:
    r"""Return the translation along a direction, :math:`(e, 0)`."""
    return np.concatenate([unit(axis), np.zeros(3)])


def helical(axis: ArrayLike, point: ArrayLike, pitch: float) -> Screw:
    r"""Return the turn about a line with a pitch in m/rad, :math:`(p \times e + h e, e)`."""
    e = unit(axis)
    return np.concatenate([cross(np.asarray(point, dtype=np.float64), e) + pitch * e, e])


def cross_matrix(w: Array) -> Array:
    r"""Return the matrix of :math:`w \times`, shape (..., 3, 3)."""
    matrix = np.zeros((*w.shape[:-1], 3, 3))
    matrix[..., 0, 1], matrix[..., 0, 2] = -w[..., 2], w[..., 1]
    matrix[..., 1, 0], matrix[..., 1, 2] = w[..., 2], -w[..., 0]
    matrix[..., 2, 0], matrix[..., 2, 1] = -w[..., 1], w[..., 0]
    return matrix


def cross(a: Array, b: Array) -> Array:
    """Return cross products, shape (..., 3); quicker than ``numpy.cross`` for a few vectors."""
    first = a[..., 1] * b[..., 2] - a[..., 2] * b[..., 1]
    result = np.empty((*first.shape, 3))
    result[..., 0] = first
    result[..., 1] = a[..., 2] * b[..., 0] - a[..., 0] * b[..., 2]
    result[..., 2] = a[..., 0] * b[..., 1] - a[..., 1] * b[..., 0]
    return result


def bracket(a: Screw, b: Screw) -> Screw:
    r"""Return the Lie bracket :math:`[a, b]`, the screw product (Müller 2014, eq. 26)."""
    va, wa, vb, wb = a[..., :3], a[..., 3:], b[..., :3], b[..., 3:]
    return np.concatenate([cross(wa, vb) + cross(va, wb), cross(wa, wb)], axis=-1)


def ad(screw: Screw) -> Array:
    r"""Return the matrix of :math:`[S, \cdot]`, shape (..., 6, 6)."""
    matrix = np.zeros((*screw.shape[:-1], 6, 6))
    rotation = cross_matrix(screw[..., 3:])
    matrix[..., :3, :3] = matrix[..., 3:, 3:] = rotation
    matrix[..., :3, 3:] = cross_matrix(screw[..., :3])
    return matrix


def transform(rotation: ArrayLike | None = None, translation: ArrayLike | None = None) -> Transform:
    """Return the homogeneous transform of a rotation matrix and a translation."""
    T = np.eye(4)
    if rotation is not None:
        T[:3, :3] = rotation
    if translation is not None:
        T[:3, 3] = translation
    return T


def inverse(T: Transform) -> Transform:
    """Invert homogeneous transforms."""
    result = np.zeros_like(T)
    R_transposed = np.swapaxes(T[..., :3, :3], -1, -2)
    result[..., :3, :3] = R_transposed
    result[..., :3, 3] = -(R_transposed @ T[..., :3, 3, None])[..., 0]
    result[..., 3, 3] = 1.0
    return result


def adjoint(T: Transform) -> Array:
    """Return the matrix (..., 6, 6) that carries screws from frame b to a, given ``T_a_b``."""
    matrix = np.zeros((*T.shape[:-2], 6, 6))
    R = T[..., :3, :3]
    matrix[..., :3, :3] = matrix[..., 3:, 3:] = R
    matrix[..., :3, 3:] = cross_matrix(T[..., :3, 3]) @ R
    return matrix


#: Which entry of a screw stands where in its matrix, and with which sign.
_ENTRY = np.array([[0, 5, 4, 0], [5, 0, 3, 1], [4, 3, 0, 2], [0, 0, 0, 0]])
_SIGN = read_only([[0, -1, 1, 1], [1, 0, -1, 1], [-1, 1, 0, 1], [0, 0, 0, 0]])


def hat(screw: Screw) -> Array:
    """Return screws as matrices of se(3), shape (..., 4, 4)."""
    return np.asarray(screw[..., _ENTRY] * _SIGN)


def exp(twist: Twist) -> Transform:
    r"""Return the exponential of twists.

    With :math:`\theta = |\omega|`: :math:`\exp \hat S = I + \hat S
    + \frac{1 - \cos\theta}{\theta^2} \hat S^2 + \frac{\theta - \sin\theta}{\theta^3} \hat S^3`.
    """
    w = twist[..., 3:]
    theta = np.sqrt(np.add.reduce(w * w, axis=-1))[..., None, None]
    small = theta < 1e-4
    some = bool(small.any())
    safe = np.where(small, 1.0, theta) if some else theta
    second, third = (1 - np.cos(safe)) / safe**2, (safe - np.sin(safe)) / safe**3
    if some:
        second = np.where(small, 0.5 - theta**2 / 24, second)
        third = np.where(small, 1 / 6 - theta**2 / 120, third)
    S = hat(twist)
    S2 = S @ S
    S3 = S2 @ S
    S2 *= second
    S3 *= third
    S += IDENTITY
    S += S2
    S += S3
    return S


class OneScrew:
    r"""Exponentials of k constant screws, each times its own joint coordinate.

    With :math:`\omega = 1` the exponential is
    :math:`I + \sin q\, \hat S + (1 - \cos q) \hat S^2 + (q - \sin q) (\hat S + \hat S^3)`. What
    the last term holds is along the axis: it turns nothing, however far a joint has turned.
    """

    def __init__(self, screws: Screw) -> None:
        rate = np.sqrt(np.add.reduce(screws[:, 3:] ** 2, axis=1))
        self._rate = np.where(rate > 0.0, rate, 1.0)
        unit = screws / self._rate[:, None]
        v, w = unit[:, :3], unit[:, 3:]
        first, along = hat(unit), np.zeros((len(screws), 4, 4))
        pitch = np.add.reduce(v * w, axis=1)[:, None]
        along[:, :3, 3] = np.where(rate[:, None] > 0.0, pitch * w, v)
        self._powers = first, first @ first, along if along.any() else None

    def motions(self, q: Coordinates) -> Transform:
        """Return the exponentials (N, k, 4, 4) of the screws times coordinates (N, k)."""
        angle = (q * self._rate)[..., None, None]
        first, second, along = self._powers
        sine = np.sin(angle)
        result = sine * first
        result += (1.0 - np.cos(angle)) * second
        if along is not None:
            result += (angle - sine) * along
        result += IDENTITY
        return result


def rotation_of(quaternion: ArrayLike) -> Rotation:
    """Return the rotations of unit quaternions x y z w."""
    q = np.asarray(quaternion, dtype=np.float64)
    W = cross_matrix(q[..., :3])
    return np.asarray(np.eye(3) + 2.0 * (q[..., 3:, None] * W + W @ W))


def quaternion_of(R: Rotation) -> tuple[float, float, float, float]:
    """Return the unit quaternion x y z w of one rotation."""
    # Of the columns of the quaternion's products a long one is taken.
    (a, b, c), (d, e, f), (g, h, i) = R.tolist()
    if a + e + i > 0.0:
        column = (h - f, c - g, d - b, 1.0 + a + e + i)
    elif a >= e and a >= i:
        column = (1.0 + a - e - i, b + d, c + g, h - f)
    elif e >= i:
        column = (b + d, 1.0 - a + e - i, f + h, c - g)
    else:
        column = (c + g, f + h, 1.0 - a - e + i, d - b)
    size = math.hypot(*column)
    x, y, z, w = (entry / size for entry in column)
    return x, y, z, w


def log_rotation(R: Rotation) -> Array:
    """Return the rotation vectors (..., 3) of rotation matrices."""
    w = np.empty(R.shape[:-1])
    w[..., 0] = R[..., 2, 1] - R[..., 1, 2]
    w[..., 1] = R[..., 0, 2] - R[..., 2, 0]
    w[..., 2] = R[..., 1, 0] - R[..., 0, 1]
    w *= 0.5
    sine = np.sqrt(np.add.reduce(w * w, axis=-1))
    cosine = 0.5 * (R[..., 0, 0] + R[..., 1, 1] + R[..., 2, 2] - 1.0)
    angle, some = np.arctan2(sine, cosine), sine > VANISHING
    w *= np.where(some, angle / np.where(some, sine, 1.0), 1.0)[..., None]
    # Near half a turn the sine says little; quaternions do.
    half_turn = cosine < -0.9
    if half_turn.any():
        w[half_turn] = _log_by_quaternions(R[half_turn])
    return w


def _log_by_quaternions(R: Rotation) -> Array:
    """Return the rotation vectors (N, 3) of rotations by more than a right angle."""
    # Of the columns x_i x of four times the quaternion's products, the longest tells most.
    trace = np.trace(R, axis1=1, axis2=2)
    symmetric = R + np.swapaxes(R, 1, 2)
    products = symmetric + (1.0 - trace)[:, None, None] * np.eye(3)
    largest = np.argmax(np.diagonal(products, axis1=1, axis2=2), axis=1)
    rows = np.arange(len(R))
    vector = products[rows, largest]
    size = np.linalg.norm(vector, axis=1)
    skew = np.stack(
        [R[:, 2, 1] - R[:, 1, 2], R[:, 0, 2] - R[:, 2, 0], R[:, 1, 0] - R[:, 0, 1]], axis=1
    )
    scalar = skew[rows, largest]
    angle = 2.0 * np.arctan2(size, np.abs(scalar))
    return np.asarray(vector * (np.where(scalar < 0.0, -angle, angle) / size)[:, None])


def inverse_left_jacobian(w: Array) -> Array:
    r"""Return the inverse left Jacobian of SO(3) at rotation vectors, shape (..., 3, 3).

    :math:`\dot w = J_l^{-1}(w)\,\omega` for the angular velocity in the fixed frame.
    """
    theta = np.sqrt(np.add.reduce(w * w, axis=-1))[..., None, None]
    small = theta < 1e-3
    safe = np.where(small, 1.0, theta)
    factor = np.where(
        small,
        1 / 12 + theta**2 / 720,
        1 / safe**2 - np.cos(safe / 2) / (2 * safe * np.sin(safe / 2)),
    )
    W = cross_matrix(w)
    return np.asarray(np.eye(3) - 0.5 * W + factor * (W @ W))


def wrench_of_twist_forces(twist: Twist, force: Array) -> Wrench:
    r"""Return the wrenches that do the work of forces along the six numbers x of a frame's twist.

    For twists below a full turn, in the moved axes, the wrench is :math:`J_r^{-T}(x) f`. With
    :math:`J = J_l^{-1}(\omega)` of SO(3), and C its derivative along the linear part, the force is
    :math:`J f` and the moment :math:`J m + C f`: twists are rotation vectors of dual numbers.
    """
    v, w, f = twist[..., :3], twist[..., 3:], force[..., :3]
    square = np.add.reduce(w * w, axis=-1)[..., None]
    small = square < 0.04
    safe = np.where(small, 1.0, square)
    half = 0.5 * np.sqrt(safe)
    cotangent, whole = half * np.cos(half) / np.sin(half), (half / np.sin(half)) ** 2
    t = square  # of both factors the series, the second the first's derivative by the square
    factor = 1 / 12 + t * (1 / 720 + t * (1 / 30240 + t * (1 / 1209600 + t / 47900160)))
    slope = 1 / 720 + t * (2 / 30240 + t * (3 / 1209600 + t * 4 / 47900160))
    factor = np.where(small, factor, (1.0 - cotangent) / safe)
    slope = np.where(small, slope, (whole + cotangent - 2.0) / (2.0 * safe**2))
    across = cross(w, f)
    twice = cross(w, across)
    along = 2.0 * np.add.reduce(v * w, axis=-1)[..., None]
    lever = -0.5 * cross(v, f) + factor * (cross(v, across) + cross(w, cross(v, f)))
    moment = force[..., 3:]
    turned = moment - 0.5 * cross(w, moment) + factor * cross(w, cross(w, moment))
    straight = f - 0.5 * across + factor * twice
    return np.concatenate([straight, turned + lever + along * slope * twice], axis=-1)


def log(T: Transform) -> Twist:
    """Return the twists whose exponentials are the given transforms."""
    w = log_rotation(T[..., :3, :3])
    v = (inverse_left_jacobian(w) @ T[..., :3, 3, None])[..., 0]
    return np.concatenate([v, w], axis=-1)


def axis_of(screw: Screw) -> tuple[Direction, Point | None, float | None]:
    """Return direction, point nearest to the origin, and pitch (m/rad); None for translations."""
    v, w = screw[:3], screw[3:]
    length = float(np.linalg.norm(w))
    if length <= NEGLIGIBLE * float(np.linalg.norm(v)):
        return unit(v), None, None
    e = w / length
    return e, cross(e, v / length), float(e @ v) / length


def smallest_ball_center(points: Point) -> Point:
    """Return the centre of the smallest ball around points (n, 3), whatever the axes."""
    return _ball_center(np.ascontiguousarray(points).tobytes())


@lru_cache(maxsize=16)
def _ball_center(data: bytes) -> Point:
    """Grow the smallest ball around a few points by the farthest one outside (Welzl 1991)."""
    points = np.frombuffer(data).reshape(-1, 3)
    if 2 <= len(points) <= 4:
        return read_only(_smallest_ball(points)[1])
    few, center, radius = points[:1], points[0], 0.0
    while True:
        away = np.linalg.norm(points - center, axis=1)
        farthest = int(np.argmax(away))
        if away[farthest] <= radius * (1.0 + NEGLIGIBLE):
            return read_only(center)
        few, center, larger = _smallest_ball(np.vstack([few, points[farthest]]))
        if larger <= radius:
            return read_only(center)
        radius = larger


def _smallest_ball(points: Point) -> tuple[Point, Point, float]:
    """Return the smallest ball around up to five points: points on it, centre and radius."""
    balls = []
    for count in range(2, min(4, len(points)) + 1):
        chosen = points[list(combinations(range(len(points)), count))]
        centers = chosen.mean(axis=1)
        if count > 2:
            sides = chosen[:, 1:] - chosen[:, :1]
            halves = 0.5 * np.sum(sides * sides, axis=2)
            centers = chosen[:, 0] + np.einsum("kij,kj->ki", np.linalg.pinv(sides), halves)
        away = np.linalg.norm(points - centers[:, None], axis=2).max(axis=1)
        balls += list(zip(chosen, centers, away.tolist(), strict=True))
        radii = np.linalg.norm(chosen[:, 0] - centers, axis=1)
        if count == 2 and np.any(away <= radii * (1.0 + NEGLIGIBLE)):
            break  # none is smaller than one about two points that holds all
    return min(balls, key=lambda ball: ball[2])
