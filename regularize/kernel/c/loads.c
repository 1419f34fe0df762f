/* What acts during a motion: in joints, those that close loops included, on bodies, and by functions.
 *
 * Functions are C functions by their addresses, whose bits stand among the numbers:
 *     double torque(double t, void *data)
 *     int forces(double t, const double *q, const double *v, double *tau, void *data)
 * The second one adds to joint forces (nv,) and returns 0, or another number to end the motion.
 */
#include <math.h>
#include <string.h>

#include "algebra.h"
#include "spatial.h"
#include "tables.h"

/* Joint forces, each (nv,): constant ones, damping, dry friction, stiffness of springs and where
 * they rest; springs act in joints with one coordinate. Functions of torques, and their data. */
enum { CONSTANT, DAMPING, FRICTION, STIFFNESS, REST, TORQUE, TORQUE_DATA, LAWS };

/* The same in joints with one freedom that close loops, each (closures,). */
enum { CLOSING_DAMPING, CLOSING_FRICTION, CLOSING_STIFFNESS, CLOSING_REST, CLOSING_LAWS };

/* Of each part: wrench about its origin in its own axes, the same in ground axes, and the sum of the
 * products p f^T of points, in its own axes, and forces on them in ground axes, row by row. */
enum { OWN_WRENCH, GROUND_WRENCH = 6, LEVERS = 12, WRENCH_NUMBERS = 21 };

typedef double (*Torque)(double, void *);
typedef int (*Forces)(double, const double *, const double *, double *, void *);

static void *data_of(const double *bits) {
    void *data;
    memcpy(&data, bits, sizeof data);
    return data;
}

/* Screw of a closing joint with one freedom in its frame as the kernel has it. */
static void closing_screw_of(const Tables *t, int i, double *screw) {
    const double *own = t->closing_screws + 6 * t->closing_screw[i];
    for (int k = 0; k < 6; ++k) screw[k] = t->closing[i] == HINGE ? 0.0 : own[k];
    if (t->closing[i] == HINGE) screw[5] = sqrt(dot(own + 3, own + 3));
}

/* Covector in ground axes, and the point that it is about, that takes the twist of a closing joint's
 * second part against the first to the joint's rate. */
static void closing_covector(const Tables *t, const Workspace *w, int i, double *x, double *W) {
    const int child = t->sign[i] > 0 ? t->second[i] : t->first[i];
    const double *frame = t->sign[i] > 0 ? t->second_frame + 12 * i : t->first_frame + 12 * i;
    double pose[12], screw[6];
    compose(w->pose + 12 * child, frame, pose);
    closing_screw_of(t, i, screw);
    rotate(pose, screw, W);
    rotate(pose, screw + 3, W + 3);
    const double factor = t->sign[i] / work(screw, screw);
    for (int k = 0; k < 6; ++k) W[k] *= factor;
    copy(pose + 9, x);
}

/* How far the spring of a closing joint is from rest, after positions(). */
static double closing_stretch(const Motion *m, int i) {
    const Tables *t = m->t;
    double first[12], second[12], pose[12], screw[6];
    compose(m->w->pose + 12 * t->first[i], t->first_frame + 12 * i, first);
    compose(m->w->pose + 12 * t->second[i], t->second_frame + 12 * i, second);
    between(t->sign[i] > 0 ? first : second, t->sign[i] > 0 ? second : first, pose);
    closing_screw_of(t, i, screw);
    return nearest(screw, pose) - m->closing[CLOSING_REST * t->size[closures_size] + i];
}

/* Energy in the springs of closing joints, after positions(). */
static double energy_of_closing(const Motion *m) {
    double energy = 0.0;
    for (int i = 0; i < m->t->size[closures_size]; ++i) {
        const double stiffness = m->closing[CLOSING_STIFFNESS * m->t->size[closures_size] + i];
        if (stiffness == 0.0) continue;
        const double stretch = closing_stretch(m, i);
        energy += 0.5 * stiffness * stretch * stretch;
    }
    return energy;
}

/* Add what acts in closing joints to the wrenches of the parts; the power of what springs do not. */
static double load_closing(const Motion *m) {
    const Tables *t = m->t;
    Workspace *w = m->w;
    const int count = t->size[closures_size];
    const double *damping = m->closing + CLOSING_DAMPING * count;
    const double *friction = m->closing + CLOSING_FRICTION * count;
    const double *stiffness = m->closing + CLOSING_STIFFNESS * count;
    double power = 0.0;
    for (int i = 0; i < count; ++i) {
        if (damping[i] == 0.0 && friction[i] == 0.0 && stiffness[i] == 0.0) continue;
        double x[3], W[6], twist[6], d[3];
        closing_covector(t, w, i, x, W);
        rate_between(t, w, i, x, twist);
        const double rate = work(W, twist);
        double force = -damping[i] * rate;
        if (friction[i] != 0.0) force -= friction[i] * tanh(rate / m->options[SLIP]);
        power += force * rate;
        if (stiffness[i] != 0.0) force -= stiffness[i] * closing_stretch(m, i);
        for (int k = 0; k < 6; ++k) W[k] *= force;
        subtract(x, w->pose + 12 * t->second[i] + 9, d);
        add_wrench(W, d, w->wrench + 6 * t->second[i]);
        for (int k = 0; k < 6; ++k) W[k] = -W[k];
        subtract(x, w->pose + 12 * t->first[i] + 9, d);
        add_wrench(W, d, w->wrench + 6 * t->first[i]);
    }
    return power;
}

/* Wrenches of the parts from outside; their power. */
static double load_bodies_from_outside(const Motion *m) {
    double power = 0.0;
    for (int b = 0; b < m->t->size[parts_size]; ++b) {
        const double *given = m->wrenches + WRENCH_NUMBERS * b, *R = m->w->pose + 12 * b;
        double *f = m->w->wrench + 6 * b, lever[3];
        rotate(R, given + OWN_WRENCH, f);
        rotate(R, given + OWN_WRENCH + 3, f + 3);
        for (int i = 0; i < 6; ++i) f[i] += given[GROUND_WRENCH + i];
        /* Rows of R times p f^T: the sum of x f^T for levers x in ground axes, whose antisymmetric
         * part is the moment. */
        double xf[9];
        multiply(R, given + LEVERS, xf);
        lever[0] = xf[5] - xf[7], lever[1] = xf[6] - xf[2], lever[2] = xf[1] - xf[3];
        add(lever, f + 3);
        power += work(f, m->w->acceleration + 6 * b);
    }
    return power;
}

/* Add joint forces (nv,) of what acts on bodies and in closing joints; the power of what changes the
 * energy. */
static double apply_loads(const Motion *m, const double *q, const double *v, double *tau) {
    const Tables *t = m->t;
    Workspace *w = m->w;
    positions(t, w, q);
    accelerations_beyond(t, w, v);
    double power = load_bodies_from_outside(m);
    power += load_closing(m);
    for (int b = t->size[parts_size] - 1; b > 0; --b) {
        const int p = t->parent[b];
        for (int k = t->column[b]; k < t->column[b + 1]; ++k) {
            tau[t->rate[k]] += t->pace[k] * work(w->wrench + 6 * b, w->motion + 6 * k);
        }
        add_wrench(w->wrench + 6 * b, w->lever + 3 * b, w->wrench + 6 * p);
    }
    return power;
}

/* Add joint forces (nv,) of functions, and their power; 1 where one ends the motion. */
static int apply_functions(const Motion *m, double time, const double *q, const double *v,
                           double *tau, double *power) {
    const int nv = m->t->size[nv_size];
    for (int i = 0; i < nv; ++i) {
        Torque torque;
        memcpy(&torque, m->laws + TORQUE * nv + i, sizeof torque);
        if (!torque) continue;
        const double value = torque(time, data_of(m->laws + TORQUE_DATA * nv + i));
        tau[i] += value, *power += value * v[i];
    }
    for (int k = FUNCTIONS; k < OPTIONS; k += 2) {
        Forces forces;
        double *more = m->w->forces;
        memcpy(&forces, m->options + k, sizeof forces);
        if (!forces) continue;
        fill(0.0, nv, more);
        if (forces(time, q, v, more, data_of(m->options + k + 1))) return 1;
        for (int i = 0; i < nv; ++i) tau[i] += more[i], *power += more[i] * v[i];
    }
    return 0;
}

/* Joint forces (nv,) at a state, and the power of those that change the energy; 1 where a function
 * ends the motion. */
static int apply_laws(const Motion *m, double time, const double *q, const double *v, double *tau,
                      double *power) {
    const Tables *t = m->t;
    const int nv = t->size[nv_size];
    *power = 0.0;
    for (int i = 0; i < nv; ++i) {
        tau[i] = m->laws[CONSTANT * nv + i] - m->laws[DAMPING * nv + i] * v[i];
        const double friction = m->laws[FRICTION * nv + i];
        if (friction != 0.0) tau[i] -= friction * tanh(v[i] / m->options[SLIP]);
        *power += tau[i] * v[i];
    }
    for (int b = 1; b < t->size[parts_size]; ++b) {
        const int i = t->rate[t->column[b]];
        const double stiffness = m->laws[STIFFNESS * nv + i];
        if (stiffness == 0.0 || !t->own[t->column[b]]) continue;
        tau[i] -= stiffness * (q[t->coordinate[b]] - m->laws[REST * nv + i]);
    }
    if (m->options[LOADED] != 0.0) *power += apply_loads(m, q, v, tau);
    return apply_functions(m, time, q, v, tau, power);
}
