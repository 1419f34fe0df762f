/* All derivatives of an acceleration at once: the system of elimination.c with many right-hand
 * sides, M da - J^T dl = dtau - P dx, J da = -Q dx, for x = (q, v) and for unit forces dtau.
 *
 * Q is zero beside the velocities of a set, in q and v alike, so its columns are taken there only.
 * The response to forces is symmetric, so it is wanted on the free velocities only.
 */

/* N^T applied to the right-hand sides of a set, and what moves with its bound velocities. */
static void gather_set(const Tables *t, Workspace *w, const Set *set, const double *P,
                       const double *Q, int wide) {
    const int nv = t->size[nv_size], d = t->size[free_size], n = set->columns;
    const int *bound = bound_velocities(w) + set->done;
    for (int k = 0; k < set->rank; ++k) {
        double *rates = set->rates + 2 * n * k;
        const double *row = Q + 2 * nv * set->order[k];
        for (int j = 0; j < n; ++j) {
            rates[j] = row[set->velocity[j]];
            rates[n + j] = row[nv + set->velocity[j]];
        }
    }
    solve_rows(set, set->rates, 2 * n);
    for (int j = 0; j < n - set->rank; ++j) {
        for (int k = 0; k < set->rank; ++k) {
            const double factor = set->pivots[n * k + set->rank + j];
            add_times(factor, P + 2 * nv * bound[k], 2 * nv, w->response + wide * (set->loose + j));
        }
    }
    for (int i = 0; i < d; ++i) {
        double *sum = w->line, *response = w->response + wide * i;
        fill(0.0, 2 * n, sum);
        for (int k = 0; k < set->rank; ++k) {
            const double factor = w->basis[d * bound[k] + i];
            if (factor != 0.0) add_times(factor, set->rates + 2 * n * k, 2 * n, sum);
        }
        for (int j = 0; j < n; ++j) {
            response[set->velocity[j]] += sum[j];
            response[nv + set->velocity[j]] += sum[n + j];
        }
    }
}

/* The rows of bound velocities from those of free ones. */
static void spread_set(const Tables *t, Workspace *w, const Set *set, int wide, double *by_q,
                       double *by_v, double *by_force) {
    const int nv = t->size[nv_size], d = t->size[free_size], n = set->columns;
    const int *bound = bound_velocities(w) + set->done, *loose = free_velocities(w);
    double *sum = w->line;
    for (int k = 0; k < set->rank; ++k) {
        const double *X = set->pivots + n * k + set->rank, *rates = set->rates + 2 * n * k;
        const int i = bound[k];
        fill(0.0, wide, sum);
        for (int j = 0; j < n; ++j) {
            sum[set->velocity[j]] = -rates[j];
            sum[nv + set->velocity[j]] = -rates[n + j];
        }
        for (int j = 0; j < n - set->rank; ++j) {
            if (X[j] != 0.0) add_times(-X[j], w->response + wide * (set->loose + j), wide, sum);
        }
        for (int j = 0; j < nv; ++j) by_q[nv * i + j] = sum[j], by_v[nv * i + j] = sum[nv + j];
        for (int j = 0; j < d; ++j) {
            by_force[nv * i + loose[j]] = by_force[nv * loose[j] + i] = sum[2 * nv + j];
        }
    }
}

/* The response of a set's bound velocities to forces on all bound ones. */
static void close_set(const Tables *t, Workspace *w, const Set *set, double *by_force) {
    const int nv = t->size[nv_size], all = nv - t->size[free_size];
    const int *bound = bound_velocities(w), *loose = free_velocities(w) + set->loose;
    for (int k = 0; k < set->rank; ++k) {
        const double *X = set->pivots + set->columns * k + set->rank;
        for (int l = 0; l < all; ++l) {
            double *row = by_force + nv * bound[l], value = 0.0;
            for (int j = 0; j < set->columns - set->rank; ++j) value -= X[j] * row[loose[j]];
            row[bound[set->done + k]] = value;
        }
    }
}

/* Changes of the acceleration by q, v and joint forces, each (nv, nv). */
static void respond(const Tables *t, Workspace *w, const double *P, const double *Q, double *by_q,
                    double *by_v, double *by_force) {
    const int nv = t->size[nv_size], d = t->size[free_size], wide = 2 * nv + d;
    const int *loose = free_velocities(w);
    fill(0.0, d * wide, w->response);
    for (int k = 0; k < d; ++k) {
        add_times(-1.0, P + 2 * nv * loose[k], 2 * nv, w->response + wide * k);
        w->response[wide * k + 2 * nv + k] = 1.0;
    }
    EACH_SET(set) {
        gather_set(t, w, &set, P, Q, wide);
    }
    solve_reduced(t, w, w->response, wide);
    for (int k = 0; k < d; ++k) {
        const double *response = w->response + wide * k;
        const int i = nv * loose[k];
        for (int j = 0; j < nv; ++j) by_q[i + j] = response[j], by_v[i + j] = response[nv + j];
        for (int j = 0; j < d; ++j) by_force[i + loose[j]] = response[2 * nv + j];
    }
    EACH_SET(set) {
        spread_set(t, w, &set, wide, by_q, by_v, by_force);
    }
    EACH_SET(set) {
        close_set(t, w, &set, by_force);
    }
}

/* Forces while no velocity changes, rows and their rates, and the factors of both at a state. Of
 * dependent rows those that were chosen the last time stand for all, where wanted. */
static int prepare_motion(const Tables *t, Workspace *w, const double *const *in, int chosen) {
    positions(t, w, in[0]);
    place_columns(t, w);
    move_links(t, w, in[1]);
    load_links(t, w);
    gather(t, w, w->mass, w->forces);
    place_covectors(t, w);
    place_rows(t, w, w->rows);
    row_rates(t, w, w->values);
    return eliminate(t, w, w->rows, DEPENDENT, chosen) || condense(t, w, w->mass);
}

/* Acceleration (nv,) under joint forces; what these lack for it is left in forces. */
static void solve_motion(const Tables *t, Workspace *w, const double *tau, double *a) {
    const int nv = t->size[nv_size];
    double *forces = w->forces;
    for (int i = 0; i < nv; ++i) forces[i] = tau[i] - forces[i];
    solve(t, w, forces, w->values, a);
    for (int i = 0; i < nv; ++i) {
        forces[i] = -forces[i];
        for (int j = 0; j < nv; ++j) forces[i] += w->mass[nv * i + j] * a[j];
    }
}

/* Acceleration with what is wanted of the rows, where the step's factors lose digits: those here
 * lose as many as the rows' condition has, not twice as many. */
static int eliminated_dynamics(const Tables *t, Workspace *w, const double *const *in, int chosen,
                               double *a) {
    if (prepare_motion(t, w, in, chosen)) return 1;
    add_to(w->wanted, t->size[rows_size], w->values);
    solve_motion(t, w, in[2], a);
    return 0;
}

/* See residual.c. */
static int row_errors(const Tables *t, Workspace *w, const double *q, double *errors);

/* Acceleration and its derivatives. With factors of the rows' rates and errors these are taken back,
 * as Baumgarte does. */
static int derive(const Tables *t, Workspace *w, const double *const *in, const double *factors,
                  double *const *out) {
    const int nv = t->size[nv_size], rows = t->size[rows_size];
    double *J = w->rows, *Q = w->rows_by_state, *errors = w->wanted;
    if (factors != NULL && row_errors(t, w, in[0], errors)) return 1;
    if (prepare_motion(t, w, in, 0)) return 1;
    if (factors != NULL) {
        for (int r = 0; r < rows; ++r) {
            w->values[r] += factors[1] * errors[r];
            for (int i = 0; i < nv; ++i) w->values[r] += factors[0] * J[nv * r + i] * in[1][i];
        }
    }
    solve_motion(t, w, in[2], out[0]);
    solve_multipliers(t, w, w->forces, w->values);
    accelerate(t, w, out[0]);
    force_derivatives(t, w, w->by_state);
    subtract_loop_forces(t, w, w->values, w->by_state);
    row_derivatives(t, w, Q);
    if (factors != NULL) {
        value_derivatives(t, w, nv, w->values_by_q);
        for (int r = 0; r < rows; ++r) {
            for (int i = nv * r; i < nv * r + nv; ++i) {
                Q[nv * r + i] += factors[0] * w->values_by_q[i] + factors[1] * J[i];
                Q[nv * r + nv + i] += factors[0] * J[i];
            }
        }
    }
    respond(t, w, w->by_state, Q, out[1], out[2], out[3]);
    return 0;
}

/* Acceleration (nv,) under joint forces, and its derivatives by q, v and the forces, (nv, nv). */
COMPUTATION(dynamics_derivatives) {
    return derive(t, w, in, NULL, out);
}

/* The same where errors decay, by factors of the rows' speeds and errors. */
COMPUTATION(decaying_derivatives) {
    return derive(t, w, in, in[3], out);
}

/* Derivatives of the forces of actuators, which have costs C on the velocities. As
 * regularize/dynamics/pinocchio/actuation.py says, with forces f that a motion needs of the tree,
 *     C z + J^T l = f,  J z = 0
 * has the form of a constrained motion. */

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
COMPUTATION(inverse_terms) {
    weigh(t, w, in, out[0], out[1], out[2]);
    return 0;
}

/* Derivatives by configuration and velocity of such forces less those of given multipliers. */
COMPUTATION(force_changes) {
    weigh(t, w, in, w->forces, w->mass, w->rows);
    weigh_changes(t, w, in[2], in[3], out[0]);
    return 0;
}

/* How the rows' values at a fixed velocity change with the configuration. */
COMPUTATION(row_changes) {
    positions(t, w, in[0]);
    place_columns(t, w);
    place_covectors(t, w);
    move_links(t, w, in[1]);
    value_derivatives(t, w, t->size[nv_size], out[0]);
    return 0;
}

/* Where costs of all actuators (nv,), zero elsewhere, leave nothing locked: z (nv,), its
 * derivatives by configuration, velocity and forces (nv, nv), and the mass matrix. */
COMPUTATION(actuated_derivatives) {
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
