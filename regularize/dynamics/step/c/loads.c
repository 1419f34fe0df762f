/* What acts during a motion: in joints, those that close loops included, on bodies, and by functions.
 *
 * Functions are C functions by their numbers among those of the call, counted from 1; 0 is none:
 *     double torque(double t, void *data)
 *     int forces(double t, const double *q, const double *v, double *tau, void *data)
 * The second one adds to joint forces (nv,) and returns 0, or another number to end the motion.
 */

/* Joint forces, each (nv,): constant ones, damping, dry friction, stiffness of springs and where
 * they rest, 1 where the joint moves its child against its parent and -1 where it is the other way
 * round, and functions of torques. */
enum { CONSTANT, DAMPING, FRICTION, STIFFNESS, REST, SENSE, TORQUE, LAWS };

/* The same in joints that close loops, each (closing_freedoms,). */
enum { CLOSING_DAMPING, CLOSING_FRICTION, CLOSING_STIFFNESS, CLOSING_REST, CLOSING_LAWS };

/* Of each link: wrench about its origin in its own axes, the same in ground axes, and the sum of the
 * products p f^T of points, in its own axes, and forces on them in ground axes, row by row. */
enum { OWN_WRENCH, GROUND_WRENCH = 6, LEVERS = 12, WRENCH_NUMBERS = 21 };

typedef double (*Torque)(double, void *);
typedef int (*Forces)(double, const double *, const double *, double *, void *);

/* The function of a number, as a pointer of its kind, and its data; NULL where there is none. */
static const Function *function_at(const Motion *m, double number, int kind, void *pointer) {
    if (!(number >= 1.0 && number <= m->w->functions_count)) return NULL;
    const Function *found = m->w->functions + (int)number - 1;
    if (found->kind != kind) return NULL;
    memcpy(pointer, &found->address, sizeof found->address);
    return found;
}

#include "joint_loads.c"
#include "closing_loads.c"

/* Wrenches of the links from outside; their power. */
static double load_bodies_from_outside(const Motion *m) {
    double power = 0.0;
    for (int b = 0; b < m->t->size[links_size]; ++b) {
        const double *given = m->wrenches + WRENCH_NUMBERS * b, *R = m->w->pose + 12 * b;
        double *f = m->w->wrench + 6 * b, arm[3];
        rotate(R, given + OWN_WRENCH, f);
        rotate(R, given + OWN_WRENCH + 3, f + 3);
        for (int i = 0; i < 6; ++i) f[i] += given[GROUND_WRENCH + i];
        /* Rows of R times p f^T: the sum of x f^T for arms x in ground axes, whose antisymmetric
         * link is the moment. */
        double xf[9];
        multiply(R, given + LEVERS, xf);
        arm[0] = xf[5] - xf[7], arm[1] = xf[6] - xf[2], arm[2] = xf[1] - xf[3];
        add(arm, f + 3);
        power += work(f, m->w->acceleration + 6 * b);
    }
    return power;
}

/* Add joint forces (nv,) of what acts on bodies and in closing joints, and the power of what changes
 * the energy; 1 where a closing joint's coordinates are not found. */
static int apply_loads(const Motion *m, const double *q, const double *v, double *tau,
                       double *power) {
    const Tables *t = m->t;
    Workspace *w = m->w;
    positions(t, w, q);
    accelerations_beyond(t, w, v);
    *power += load_bodies_from_outside(m);
    if (load_closing(m, power)) return 1;
    for (int b = t->size[links_size] - 1; b > 0; --b) {
        const int p = t->parent[b];
        for (int k = t->column[b]; k < t->column[b + 1]; ++k) {
            tau[t->rate[k]] += t->ratio[k] * work(w->wrench + 6 * b, w->motion + 6 * k);
        }
        add_wrench(w->wrench + 6 * b, w->arm + 3 * b, w->wrench + 6 * p);
    }
    return 0;
}

/* Add joint forces (nv,) of functions, and their power; 1 where one ends the motion. */
static int apply_functions(const Motion *m, double time, const double *q, const double *v,
                           double *tau, double *power) {
    const int nv = m->t->size[nv_size];
    for (int i = 0; i < nv; ++i) {
        Torque torque;
        const double number = m->laws[TORQUE * nv + i];
        if (number == 0.0) continue;
        const Function *found = function_at(m, number, TORQUE_FUNCTION, &torque);
        if (!found) return 1;
        const double value = torque(time, found->data);
        tau[i] += value, *power += value * v[i];
    }
    for (int k = FUNCTIONS; k < OPTIONS; ++k) {
        Forces forces;
        double *more = m->w->forces;
        if (m->options[k] == 0.0) continue;
        const Function *found = function_at(m, m->options[k], FORCES_FUNCTION, &forces);
        fill(0.0, nv, more);
        if (!found || forces(time, q, v, more, found->data)) return 1;
        for (int i = 0; i < nv; ++i) tau[i] += more[i], *power += more[i] * v[i];
    }
    return 0;
}

/* Joint forces (nv,) at a state, and the power of those that change the energy; 1 where a function
 * ends the motion, or a closing joint's coordinates are not found. */
static int apply_laws(const Motion *m, double time, const double *q, const double *v, double *tau,
                      double *power) {
    const int nv = m->t->size[nv_size];
    *power = 0.0;
    for (int i = 0; i < nv; ++i) {
        tau[i] = m->laws[CONSTANT * nv + i];
        *power += tau[i] * v[i];
    }
    *power += load_joints(m, q, v, tau);
    if (m->options[LOADED] != 0.0 && apply_loads(m, q, v, tau, power)) return 1;
    return apply_functions(m, time, q, v, tau, power);
}
