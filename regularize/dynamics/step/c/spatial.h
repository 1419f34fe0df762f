/* Twists and wrenches in ground axes about one point, linear part (force) first. */
#ifndef REGULARIZE_SPATIAL_H
#define REGULARIZE_SPATIAL_H

#include "algebra.h"

/* A rigid body that moves, or several: inertia about the point as in inertia.c, momentum, and the
 * matrix D below. */
typedef struct {
    double rigid[10], momentum[3], D[9];
} Moving;

#define MOVING_LENGTH 22

UNROLLED double work(const double *wrench, const double *twist) {
    return dot(wrench, twist) + dot(wrench + 3, twist + 3);
}

static inline void add6(double factor, const double *a, double *restrict b) {
    for (int i = 0; i < 6; ++i) b[i] += factor * a[i];
}

static inline void add_to(const double *restrict a, int count, double *restrict b) {
    for (int i = 0; i < count; ++i) b[i] += a[i];
}

static inline void add_times(double factor, const double *restrict a, int count,
                             double *restrict b) {
    for (int i = 0; i < count; ++i) b[i] += factor * a[i];
}

/* The bracket of two twists: the rate of y where x carries it along. */
static inline void bracket(const double *x, const double *y, double *rate) {
    cross(x + 3, y, rate);
    add_cross(x, y + 3, rate);
    cross(x + 3, y + 3, rate + 3);
}

/* The rate of a wrench that a twist carries along. */
static inline void carry(const double *x, const double *wrench, double *rate) {
    cross(x + 3, wrench, rate);
    cross(x + 3, wrench + 3, rate + 3);
    add_cross(x, wrench, rate + 3);
}

/* The wrench y with y . z = wrench . [x, z] for all twists z. */
static inline void before_bracket(const double *wrench, const double *x, double *y) {
    carry(x, wrench, y);
    for (int i = 0; i < 6; ++i) y[i] = -y[i];
}

/* Momentum and D of a body of the twist (v, o) with first moment h and second moment I:
 *     D = -2 [h] [v] + 2 [o] I - tr(I) [o].
 * What changes of a body's wrench I A + V x* I V where the twist changes by (u, w), and the
 * acceleration by -V x (u, w) besides, is (2 w x momentum, D w): it depends on w alone. */
static inline void set_moving(Moving *body, const double *twist) {
    const double *v = twist, *o = twist + 3, *h = body->rigid + 1, *s = body->rigid + 4;
    const double full[9] = {s[0], s[1], s[2], s[1], s[3], s[4], s[2], s[4], s[5]};
    const double trace = s[0] + s[3] + s[5], twice = 2.0 * dot(h, v);
    double *D = body->D, turned[3];
    cross(o, h, body->momentum);
    for (int i = 0; i < 3; ++i) body->momentum[i] += body->rigid[0] * v[i];
    for (int j = 0; j < 3; ++j) {
        cross(o, full + 3 * j, turned); /* rows are columns: the matrix is symmetric */
        for (int i = 0; i < 3; ++i) D[3 * i + j] = 2.0 * (turned[i] - v[i] * h[j]);
        D[4 * j] += twice;
    }
    D[1] += trace * o[2], D[2] -= trace * o[1];
    D[3] -= trace * o[2], D[5] += trace * o[0];
    D[6] += trace * o[1], D[7] -= trace * o[0];
}

/* What is said above of D: the change of the wrench is added. */
static inline void add_turned(const Moving *body, const double *w, double *wrench) {
    double change[3];
    cross(w, body->momentum, change);
    for (int i = 0; i < 3; ++i) {
        wrench[i] += 2.0 * change[i];
        wrench[3 + i] += dot(body->D + 3 * i, w);
    }
}

/* The vector y with y . w = twist . (that change of the wrench) for all w. */
static inline void before_turned(const Moving *body, const double *twist, double *y) {
    const double *D = body->D, *o = twist + 3;
    cross(body->momentum, twist, y);
    for (int i = 0; i < 3; ++i) y[i] = 2.0 * y[i] + D[i] * o[0] + D[3 + i] * o[1] + D[6 + i] * o[2];
}

#endif
