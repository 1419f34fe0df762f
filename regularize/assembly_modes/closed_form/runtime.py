"""Functions that closed-form solutions are made of, for one configuration at a time.

Only the module ``math`` is used: the text of this module is part of every Python function that is
written out, and ``runtime_c`` translates it into C.
"""

import math
from math import cos, sin

NAN = float("nan")


def circle(A: float, B: float, C: float, sign: float, slack: float) -> tuple[float, float, float]:
    """Cosine, sine and discriminant of a solution of A cos x + B sin x + C = 0.

    A discriminant that is negative by rounding (``slack`` in units of C) counts as zero; any angle
    solves 0 = 0 (all three below ``slack``), and zero is taken.
    """
    square = A * A + B * B
    discriminant = square - C * C
    if discriminant <= slack * slack:
        if square <= slack * slack and abs(C) <= slack:
            return 1.0, 0.0, 0.0
        if -discriminant > slack * abs(C):
            return NAN, NAN, discriminant
        if discriminant <= 0.0:
            C, discriminant = math.copysign(math.sqrt(square), C), 0.0
    root = sign * math.sqrt(discriminant)
    return -(A * C + B * root) / square, (A * root - B * C) / square, discriminant


def quadratic(A: float, B: float, C: float, sign: float, slack: float) -> tuple[float, float]:
    """Solution and discriminant of A s² + 2 B s + C = 0; ``slack`` in units of C."""
    discriminant = B * B - A * C
    if discriminant < 0.0:
        if -discriminant > slack * A:
            return NAN, discriminant
        discriminant = 0.0
    if A == 0.0:
        return (-0.5 * C / B if B != 0.0 else NAN), discriminant
    return (sign * math.sqrt(discriminant) - B) / A, discriminant


def unit(x: float, y: float, slack: float) -> tuple[float, float]:
    """(x, y) scaled to length one; (1, 0) where both vanish."""
    length = math.sqrt(x * x + y * y)
    if length <= slack:
        return 1.0, 0.0
    return x / length, y / length


def across(
    x: float, y: float, z: float, u: float, v: float, w: float
) -> tuple[float, float, float]:
    """Unit vector along (x, y, z), exactly perpendicular to (u, v, w); any where it vanishes.

    The vectors are sum and difference of two of equal length, hence perpendicular but for
    rounding, which matters where the sum is the shorter one.
    """
    square, other = x * x + y * y + z * z, u * u + v * v + w * w
    if square <= 1e-28 * other:
        if abs(u) <= abs(v) and abs(u) <= abs(w):
            x, y, z = 0.0, -w, v
        elif abs(v) <= abs(w):
            x, y, z = w, 0.0, -u
        else:
            x, y, z = -v, u, 0.0
    elif square < other:
        part = (x * u + y * v + z * w) / other
        x, y, z = x - part * u, y - part * v, z - part * w
    length = math.sqrt(x * x + y * y + z * z)
    return x / length, y / length, z / length


def angle(s: float, c: float) -> float:
    """The angle with the given sine and cosine, between -pi and pi."""
    return math.atan2(s, c)


def angle_from(s: float, c: float, offset: float) -> float:
    """The angle with the given sine and cosine less an offset, between -pi and pi."""
    return math.remainder(math.atan2(s, c) - offset, 2.0 * math.pi)


def exponential(u: float, v: float, w: float, x: float, y: float, z: float) -> tuple[float, ...]:
    """Rotation matrix by rows, then translation, of the twist ((u, v, w), (x, y, z))."""
    t = x * x + y * y + z * z
    if t < 1e-6:
        a, b, c = 1 - t / 6 + t * t / 120, 0.5 - t / 24 + t * t / 720, 1 / 6 - t / 120
    else:
        r = math.sqrt(t)
        a, b, c = sin(r) / r, (1 - cos(r)) / t, (r - sin(r)) / (r * t)
    d = x * u + y * v + z * w
    return (
        1 + b * (x * x - t),
        b * x * y - a * z,
        b * x * z + a * y,
        b * x * y + a * z,
        1 + b * (y * y - t),
        b * y * z - a * x,
        b * x * z - a * y,
        b * y * z + a * x,
        1 + b * (z * z - t),
        u + b * (y * w - z * v) + c * (d * x - t * u),
        v + b * (z * u - x * w) + c * (d * y - t * v),
        w + b * (x * v - y * u) + c * (d * z - t * w),
    )


def rotation_vector(
    a: float, b: float, c: float, d: float, e: float, f: float, g: float, h: float, i: float
) -> tuple[float, float, float]:
    """Rotation vector of the rotation matrix with the rows (a, b, c), (d, e, f), (g, h, i)."""
    t = a + e + i
    if t > a and t > e and t > i:
        w, x, y, z = 1 + t, h - f, c - g, d - b
    elif a >= e and a >= i:
        w, x, y, z = h - f, 1 + 2 * a - t, b + d, c + g
    elif e >= i:
        w, x, y, z = c - g, b + d, 1 + 2 * e - t, f + h
    else:
        w, x, y, z = d - b, c + g, f + h, 1 + 2 * i - t
    sine = math.sqrt(x * x + y * y + z * z)
    if sine == 0.0:
        return 0.0, 0.0, 0.0
    if w < 0.0:
        w, sine = -w, -sine
    factor = 2.0 * math.atan2(abs(sine), w) / sine
    return factor * x, factor * y, factor * z
