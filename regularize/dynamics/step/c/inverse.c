/* Derivatives of the forces of actuators, which have costs C on the velocities.
 *
 * As regularize/dynamics/pinocchio/actuation.py says, with forces f that a motion needs of the tree,
 *     C z + J^T l = f,  J z = 0
 * has the form of a constrained motion, so elimination.c and responses.c solve it.
 */

/* Forces (nv,) that accelerations need of the tree, mass matrix (nv, nv) and rows (rows, nv). */
static void weigh(const Tables *t, Workspace *w, const double *const *in, double *needed, double *M,
                  double *J) {
    const int nv = t->size[nv_size];
    positions(t, w, in[0]);
    place_columns(t, w);
    move_links(t, w, in[1]);
    load_links(t, w);
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
    move_links(t, w, in[1]);
    value_derivatives(t, w, t->size[nv_size], out[0]);
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
    move_links(t, w, z);
    value_derivatives(t, w, 2 * nv, w->rows_by_state);
    respond(t, w, P, w->rows_by_state, out[1], out[2], out[3]);
    return 0;
}
