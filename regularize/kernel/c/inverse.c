/* Derivatives of the forces of actuators, which have costs C on the velocities.
 *
 * As regularize/pinocchio_model/actuation.py says, with forces f that a motion needs of the tree,
 *     C z + J^T l = f,  J z = 0
 * has the form of a constrained motion, so elimination.c and responses.c solve it.
 */
#include "algebra.h"
#include "spatial.h"
#include "tables.h"

/* Forces (nv,) that accelerations need of the tree, mass matrix (nv, nv) and rows (rows, nv). */
static void weigh(const Tables *t, Workspace *w, const double *const *in, double *needed, double *M,
                  double *J) {
    const int nv = t->size[nv_size];
    positions(t, w, in[0]);
    place_columns(t, w);
    move_parts(t, w, in[1]);
    load_parts(t, w);
    gather(t, w, M, needed);
    place_covectors(t, w);
    place_rows(t, w, J);
    for (int i = 0; i < nv; ++i) {
        for (int j = 0; j < nv; ++j) needed[i] += M[nv * i + j] * in[2][j];
    }
}

/* Derivatives by the state of the forces that are needed less those of the rows (nv, 2 nv). */
static void weigh_changes(const Tables *t, Workspace *w, const double *a, const double *multipliers,
                          double *P) {
    accelerate(t, w, a);
    force_derivatives(t, w, P);
    subtract_loop_forces(t, w, multipliers, P);
}

/* How the rows' values at fixed velocities change with the configuration, (rows, nv), each row
 * with room for as many numbers as are given; after place_covectors(). */
static void value_changes(const Tables *t, Workspace *w, const double *velocity, int room,
                          double *values) {
    fill(0.0, t->size[rows_size] * room, values);
    move_parts(t, w, velocity);
    for (int i = 0; i < t->size[closures_size]; ++i) {
        for (int r = t->row[i]; r < t->row[i + 1]; ++r) {
            double of_two[6];
            before_bracket(w->row_wrench + 6 * r, w->V + 6 * t->second[i], of_two);
            for (int s = t->step[i]; s < t->step[i + 1]; ++s) {
                const int k = t->stepped[s];
                const double swept = work(w->row_wrench + 6 * r, w->swept + 6 * k);
                values[room * r + t->rate[k]] +=
                    t->sense[s] * (swept - work(of_two, w->screw + 6 * k));
            }
        }
    }
}

/* Forces that accelerations need of the tree, mass matrix, and rows. */
static int inverse_terms(const Tables *t, Workspace *w, const double *const *in,
                         double *const *out) {
    weigh(t, w, in, out[0], out[1], out[2]);
    return 0;
}

/* Derivatives by configuration and velocity of such forces less those of given multipliers. */
static int force_changes(const Tables *t, Workspace *w, const double *const *in,
                         double *const *out) {
    weigh(t, w, in, w->forces, w->mass, w->rows);
    weigh_changes(t, w, in[2], in[3], out[0]);
    return 0;
}

/* How the rows' values at a fixed velocity change with the configuration. */
static int row_changes(const Tables *t, Workspace *w, const double *const *in, double *const *out) {
    positions(t, w, in[0]);
    place_columns(t, w);
    place_covectors(t, w);
    value_changes(t, w, in[1], t->size[nv_size], out[0]);
    return 0;
}

/* Where costs of all actuators (nv,), zero elsewhere, leave nothing locked: z (nv,), its
 * derivatives by configuration, velocity and forces (nv, nv), and the mass matrix. */
static int actuated_derivatives(const Tables *t, Workspace *w, const double *const *in,
                                double *const *out) {
    const int nv = t->size[nv_size], squares = nv * nv;
    const double *cost = in[3];
    double *needed = w->forces, *z = out[0], *P = w->by_state, *C = w->mass;
    weigh(t, w, in, needed, out[4], w->rows);
    fill(0.0, squares, C);
    for (int i = 0; i < nv; ++i) C[(nv + 1) * i] = cost[i];
    if (eliminate(t, w, w->rows, DEPENDENT, 0) || condense(t, w, C)) return 1;
    fill(0.0, t->size[rows_size], w->values);
    solve(t, w, needed, w->values, z);
    for (int i = 0; i < nv; ++i) needed[i] -= cost[i] * z[i];
    solve_multipliers(t, w, needed, w->values);
    weigh_changes(t, w, in[2], w->values, P);
    for (int i = 0; i < 2 * squares; ++i) P[i] = -P[i];
    value_changes(t, w, z, 2 * nv, w->rows_by_state);
    respond(t, w, P, w->rows_by_state, out[1], out[2], out[3]);
    return 0;
}
