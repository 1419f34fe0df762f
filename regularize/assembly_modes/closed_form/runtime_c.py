"""The functions of ``runtime`` in C99, for the functions that are written out."""

SOURCE = r"""#include <math.h>

static const double PI = 3.14159265358979323846;

/* Cosine, sine and discriminant of a solution of A cos x + B sin x + C = 0. */
static void circle(double A, double B, double C, double sign, double slack, double *result)
{
    double square = A * A + B * B, discriminant = square - C * C, root;
    result[2] = discriminant;
    if (discriminant <= slack * slack) {
        if (square <= slack * slack && fabs(C) <= slack) {
            result[0] = 1.0;
            result[1] = result[2] = 0.0;
            return;
        }
        if (-discriminant > slack * fabs(C)) {
            result[0] = result[1] = NAN;
            return;
        }
        if (discriminant <= 0.0) {
            C = copysign(sqrt(square), C);
            discriminant = result[2] = 0.0;
        }
    }
    root = sign * sqrt(discriminant);
    result[0] = -(A * C + B * root) / square;
    result[1] = (A * root - B * C) / square;
}

/* Solution and discriminant of A s^2 + 2 B s + C = 0. */
static void quadratic(double A, double B, double C, double sign, double slack, double *result)
{
    double discriminant = B * B - A * C;
    result[1] = discriminant;
    if (discriminant < 0.0) {
        if (-discriminant > slack * A) {
            result[0] = NAN;
            return;
        }
        discriminant = 0.0;
    }
    if (A == 0.0)
        result[0] = B != 0.0 ? -0.5 * C / B : NAN;
    else
        result[0] = (sign * sqrt(discriminant) - B) / A;
}

/* (x, y) scaled to length one; (1, 0) where both vanish. */
static void unit(double x, double y, double slack, double *result)
{
    double length = sqrt(x * x + y * y);
    result[0] = length <= slack ? 1.0 : x / length;
    result[1] = length <= slack ? 0.0 : y / length;
}

/* Unit vector along (x, y, z), exactly perpendicular to (u, v, w); any where it vanishes. */
static void across(double x, double y, double z, double u, double v, double w, double *result)
{
    double square = x * x + y * y + z * z, other = u * u + v * v + w * w, length;
    if (square <= 1e-28 * other) {
        int first = fabs(u) <= fabs(v) && fabs(u) <= fabs(w), second = fabs(v) <= fabs(w);
        x = first ? 0.0 : second ? w : -v;
        y = first ? -w : second ? 0.0 : u;
        z = first ? v : second ? -u : 0.0;
    } else if (square < other) {
        double part = (x * u + y * v + z * w) / other;
        x -= part * u;
        y -= part * v;
        z -= part * w;
    }
    length = sqrt(x * x + y * y + z * z);
    result[0] = x / length;
    result[1] = y / length;
    result[2] = z / length;
}

static void angle(double s, double c, double *result)
{
    result[0] = atan2(s, c);
}

/* The angle less an offset, between -pi and pi. */
static void angle_from(double s, double c, double offset, double *result)
{
    result[0] = remainder(atan2(s, c) - offset, 2.0 * PI);
}

/* Rotation matrix by rows, then translation, of the twist ((u, v, w), (x, y, z)). */
static void exponential(double u, double v, double w, double x, double y, double z,
                        double *result)
{
    double t = x * x + y * y + z * z, a, b, c, d = x * u + y * v + z * w;
    if (t < 1e-6) {
        a = 1.0 - t / 6.0 + t * t / 120.0;
        b = 0.5 - t / 24.0 + t * t / 720.0;
        c = 1.0 / 6.0 - t / 120.0;
    } else {
        double r = sqrt(t);
        a = sin(r) / r;
        b = (1.0 - cos(r)) / t;
        c = (r - sin(r)) / (r * t);
    }
    result[0] = 1.0 + b * (x * x - t);
    result[1] = b * x * y - a * z;
    result[2] = b * x * z + a * y;
    result[3] = b * x * y + a * z;
    result[4] = 1.0 + b * (y * y - t);
    result[5] = b * y * z - a * x;
    result[6] = b * x * z - a * y;
    result[7] = b * y * z + a * x;
    result[8] = 1.0 + b * (z * z - t);
    result[9] = u + b * (y * w - z * v) + c * (d * x - t * u);
    result[10] = v + b * (z * u - x * w) + c * (d * y - t * v);
    result[11] = w + b * (x * v - y * u) + c * (d * z - t * w);
}

/* Rotation vector of the rotation matrix with the rows (a, b, c), (d, e, f), (g, h, i). */
static void rotation_vector(double a, double b, double c, double d, double e, double f,
                            double g, double h, double i, double *result)
{
    double t = a + e + i, w, x, y, z, sine, factor;
    if (t > a && t > e && t > i) {
        w = 1.0 + t, x = h - f, y = c - g, z = d - b;
    } else if (a >= e && a >= i) {
        w = h - f, x = 1.0 + 2.0 * a - t, y = b + d, z = c + g;
    } else if (e >= i) {
        w = c - g, x = b + d, y = 1.0 + 2.0 * e - t, z = f + h;
    } else {
        w = d - b, x = c + g, y = f + h, z = 1.0 + 2.0 * i - t;
    }
    sine = sqrt(x * x + y * y + z * z);
    if (sine == 0.0) {
        result[0] = result[1] = result[2] = 0.0;
        return;
    }
    if (w < 0.0) {
        w = -w;
        sine = -sine;
    }
    factor = 2.0 * atan2(fabs(sine), w) / sine;
    result[0] = factor * x;
    result[1] = factor * y;
    result[2] = factor * z;
}
"""
