/* Where all parts are, how fast they move, and how they accelerate while no column does.
 *
 * Vectors have the axes of the ground; a twist, an acceleration and a wrench of a part refer to the
 * part's origin, linear part (force) first. Accelerations are classical ones: that of the origin as
 * a point of the part, and the angular acceleration.
 */
#include <math.h>

#include "algebra.h"
#include "tables.h"

/* Turn about z of what follows: the rotation placed, its first two columns mixed. */
static inline void turn(const double *R, double c, double s, double *restrict out) {
    for (int i = 0; i < 9; i += 3) {
        out[i] = R[i] * c + R[i + 1] * s;
        out[i + 1] = R[i + 1] * c - R[i] * s;
        out[i + 2] = R[i + 2];
    }
}

/* Cosine and sine that an unbounded part turns by. */
static inline void circle(const Tables *t, int b, const double *q, double *c, double *s) {
    *c = q[0], *s = q[1];
    if (t->scaling[b] != 1.0 || t->offset[b] != 0.0) {
        const double angle = t->scaling[b] * atan2(q[1], q[0]) + t->offset[b];
        *c = cos(angle), *s = sin(angle);
    }
}

/* Pose of part b after its parent's, and the lever between their origins. */
static inline void place_part(const Tables *t, Workspace *w, int b, const double *configuration) {
    const double *parent = w->pose + 12 * t->parent[b], *q = configuration + t->coordinate[b];
    const double *placement = t->placement + 12 * b, *placed = parent;
    double *restrict pose = w->pose + 12 * b, *restrict lever = w->lever + 3 * b;
    double turned[9], R[9], c, s, value;
    rotate(parent, placement + 9, lever);
    if (placement[0] != 1.0 || placement[4] != 1.0 || placement[8] != 1.0) {
        multiply(parent, placement, turned);
        placed = turned;
    }
    switch (t->kind[b]) {
    case TURN:
        value = t->scaling[b] * q[0] + t->offset[b];
        turn(placed, cos(value), sin(value), pose);
        if (t->hinge[b]) break;
        for (int i = 0; i < 3; ++i) lever[i] += t->pitch[b] * value * placed[3 * i + 2];
        break;
    case CIRCLE:
        circle(t, b, q, &c, &s);
        turn(placed, c, s, pose);
        break;
    case SLIDE:
        value = t->scaling[b] * q[0] + t->offset[b];
        for (int i = 0; i < 9; ++i) pose[i] = placed[i];
        for (int i = 0; i < 3; ++i) lever[i] += value * placed[3 * i + 2];
        break;
    case BALL:
        quaternion(q, R);
        multiply(placed, R, pose);
        break;
    case FREE:
        for (int i = 0; i < 3; ++i) lever[i] += dot(placed + 3 * i, q);
        quaternion(q + 3, R);
        multiply(placed, R, pose);
        break;
    case PLANE:
        for (int i = 0; i < 3; ++i) lever[i] += placed[3 * i] * q[0] + placed[3 * i + 1] * q[1];
        turn(placed, q[2], q[3], pose);
        break;
    }
    for (int i = 0; i < 3; ++i) pose[9 + i] = parent[9 + i] + lever[i];
}

/* Axis i of a part's frame. */
static inline void axis(const double *pose, int i, double *out) {
    out[0] = pose[i], out[1] = pose[3 + i], out[2] = pose[6 + i];
}

/* Twists of the columns of part b. */
static inline void move_part(const Tables *t, Workspace *w, int b) {
    const double *pose = w->pose + 12 * b;
    double *J = w->motion + 6 * t->column[b];
    if (t->hinge[b]) {
        J[0] = J[1] = J[2] = 0.0;
        axis(pose, 2, J + 3);
        return;
    }
    fill(0.0, 6 * (t->column[b + 1] - t->column[b]), J);
    switch (t->kind[b]) {
    case TURN:
        axis(pose, 2, J + 3);
        for (int i = 0; i < 3; ++i) J[i] = t->pitch[b] * J[3 + i];
        break;
    case SLIDE:
        axis(pose, 2, J);
        break;
    case BALL:
        for (int i = 0; i < 3; ++i) axis(pose, i, J + 6 * i + 3);
        break;
    case FREE:
        for (int i = 0; i < 3; ++i) axis(pose, i, J + 6 * i), axis(pose, i, J + 6 * (i + 3) + 3);
        break;
    case PLANE:
        axis(pose, 0, J), axis(pose, 1, J + 6), axis(pose, 2, J + 15);
        break;
    }
}

/* The pose of the ground. */
static inline void place_ground(Workspace *w) {
    static const double ground[12] = {1, 0, 0, 0, 1, 0, 0, 0, 1, 0, 0, 0};
    for (int i = 0; i < 12; ++i) w->pose[i] = ground[i];
}

/* Poses of all parts, and the twists of all columns. */
static void positions(const Tables *t, Workspace *w, const double *q) {
    place_ground(w);
    for (int b = 1; b < t->size[parts_size]; ++b) {
        place_part(t, w, b, q);
        move_part(t, w, b);
    }
}

/* The twist with which part b moves against its parent, about its own origin. */
static inline void relative_twist(const Tables *t, const Workspace *w, int b, const double *rates,
                                  double *twist) {
    fill(0.0, 6, twist);
    for (int k = t->column[b]; k < t->column[b + 1]; ++k) {
        const double rate = t->pace[k] * rates[t->rate[k]];
        for (int i = 0; i < 6; ++i) twist[i] += rate * w->motion[6 * k + i];
    }
}

/* Twist of part b and its acceleration while no column accelerates, from its parent's.
 *
 * With the lever d between the origins, the parent's rate O, and the relative twist (u, o):
 *   v = v_p + O x d + u,                    rate = O + o,
 *   a = a_p + alpha_p x d + O x (O x d + 2 u) + o x u,   alpha = alpha_p + O x o. */
static inline void carry_part(const Tables *t, Workspace *w, int b, const double *rates) {
    const int p = t->parent[b];
    const double *V = w->twist + 6 * p, *A = w->drift + 6 * p;
    const double *d = w->lever + 3 * b;
    double own[6], swept[3];
    double *restrict v = w->twist + 6 * b, *restrict a = w->drift + 6 * b;
    cross(V + 3, d, swept);
    if (t->hinge[b]) {
        const int k = t->column[b];
        const double rate = t->pace[k] * rates[t->rate[k]], *axis = w->motion + 6 * k + 3;
        for (int i = 0; i < 3; ++i) {
            own[3 + i] = rate * axis[i];
            v[i] = V[i] + swept[i];
            v[3 + i] = V[3 + i] + own[3 + i];
            a[i] = A[i], a[3 + i] = A[3 + i];
        }
        add_cross(A + 3, d, a);
        add_cross(V + 3, swept, a);
        add_cross(V + 3, own + 3, a + 3);
        return;
    }
    relative_twist(t, w, b, rates, own);
    for (int i = 0; i < 3; ++i) {
        v[i] = V[i] + swept[i] + own[i];
        v[3 + i] = V[3 + i] + own[3 + i];
        swept[i] += 2.0 * own[i];
        a[i] = A[i], a[3 + i] = A[3 + i];
    }
    add_cross(A + 3, d, a);
    add_cross(V + 3, swept, a);
    add_cross(own + 3, own, a);
    add_cross(V + 3, own + 3, a + 3);
}

/* The ground accelerates as given, shape (3,): against gravity where that acts. */
static inline void move_ground(Workspace *w, const double *ground) {
    fill(0.0, 6, w->twist);
    fill(0.0, 6, w->drift);
    copy(ground, w->drift);
}

/* Twists of all parts and their accelerations while no column accelerates. */
static void velocities(const Tables *t, Workspace *w, const double *rates, const double *ground) {
    move_ground(w, ground);
    for (int b = 1; b < t->size[parts_size]; ++b) carry_part(t, w, b, rates);
}

/* Accelerations of all parts at those of the velocities, beyond what they are at none; or twists at
 * velocities. */
static void accelerations_beyond(const Tables *t, Workspace *w, const double *rates) {
    fill(0.0, 6, w->acceleration);
    for (int b = 1; b < t->size[parts_size]; ++b) {
        const int p = t->parent[b];
        double own[6], *a = w->acceleration + 6 * b;
        relative_twist(t, w, b, rates, own);
        for (int i = 0; i < 6; ++i) a[i] = w->acceleration[6 * p + i] + own[i];
        add_cross(w->acceleration + 6 * p + 3, w->lever + 3 * b, a);
    }
}

/* Accelerations of all parts at those of the velocities, after velocities(). */
static void accelerations(const Tables *t, Workspace *w, const double *rates_of_rates) {
    accelerations_beyond(t, w, rates_of_rates);
    for (int i = 0; i < 6 * t->size[parts_size]; ++i) w->acceleration[i] += w->drift[i];
}
