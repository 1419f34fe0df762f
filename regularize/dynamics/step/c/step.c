/* Accelerations of a tree with closed loops.
 *
 * Clusters of links are eliminated from the leaves inwards, as single joints are in the
 * articulated-body algorithm (Featherstone, Rigid Body Dynamics Algorithms, chapter 7). With the
 * acceleration A of the link that a cluster moves against, beyond what it is while no column
 * accelerates, the cluster's columns accelerate by a, where
 *
 *     ( H  J^T ) (   a     )   ( f - F^T A )
 *     ( J   0  ) ( -lambda ) = (  -gamma   )
 *
 * and the wrench that it needs, I A + F a + p, is (I - F K^-1 F^T) A + p + F K^-1 (f, -gamma).
 */

/* Entries of inertia of a wrench, that of a column's acceleration about the origin of link b, at the
 * columns of the links before it in its cluster, and its border. */
static inline void load_before(const Tables *t, Workspace *w, int b, int unknown, int rooted,
                               double *f, Reading *at) {
    const int *place = at->h;
    for (int p; t->inner[b]; b = p) {
        const double *I = w->motion + 6 * t->column[p = t->parent[b]];
        add_cross(w->arm + 3 * b, f, f + 3);
        if (t->hinge[p]) {
            w->entry[*place++] = dot(I + 3, f + 3);
            continue;
        }
        for (int i = t->column[p]; i < t->column[p + 1]; ++i, I += 6) {
            w->entry[*place++] = work(I, f);
        }
    }
    at->h = place;
    if (rooted) return;
    double *F = w->border + 6 * unknown;
    add_cross(w->arm + 3 * b, f, f + 3);
    for (int i = 0; i < 6; ++i) F[i] = f[i];
}

/* Entries of inertia at the column of hinge b, and its right-hand side. */
static inline void load_hinge(const Tables *t, Workspace *w, int b, const double *tau, int rooted,
                              Reading *at) {
    const int k = t->column[b], unknown = t->column_unknown[k];
    const double *axis = w->motion + 6 * k + 3;
    double f[6];
    act_spin(w->rigid + 10 * b, axis, f);
    if (t->dense[b]) {
        const double *M = w->spatial + 36 * b;
        for (int i = 0; i < 6; ++i) f[i] += dot(M + 6 * i + 3, axis);
    }
    w->entry[*at->h++] = dot(axis, f + 3) + t->armature[k];
    w->solution[unknown] = force_of(t, k, tau) - dot(axis, w->wrench + 6 * b + 3);
    load_before(t, w, b, unknown, rooted, f, at);
}

/* The same at the columns of any link. */
static void load_columns(const Tables *t, Workspace *w, int b, const double *tau, int rooted,
                         Reading *at) {
    for (int k = t->column[b]; k < t->column[b + 1]; ++k) {
        const double *J = w->motion + 6 * k;
        const int unknown = t->column_unknown[k];
        double f[6];
        act_rigid(w->rigid + 10 * b, J, f);
        if (t->dense[b]) {
            const double *M = w->spatial + 36 * b;
            for (int i = 0; i < 6; ++i) f[i] += dot(M + 6 * i, J) + dot(M + 6 * i + 3, J + 3);
        }
        for (int i = t->column[b]; i <= k; ++i) {
            const double *I = w->motion + 6 * i;
            w->entry[*at->h++] = work(I, f);
        }
        w->entry[t->start[unknown]] += t->armature[k];
        w->solution[unknown] = force_of(t, k, tau) - work(J, w->wrench + 6 * b);
        load_before(t, w, b, unknown, rooted, f, at);
    }
}

/* Hand a link's inertia and wrench on to its parent. */
static void hand_on(const Tables *t, Workspace *w, int b) {
    const int p = t->parent[b];
    const double *d = w->arm + 3 * b;
    add_wrench(w->wrench + 6 * b, d, w->wrench + 6 * p);
    if (t->inner[b]) {
        add_rigid(w->rigid + 10 * b, d, w->rigid + 10 * p);
        if (t->dense[b]) add_spatial(w->spatial + 36 * b, d, w->spatial + 36 * p);
    } else {
        /* Through moving links only a little of a great mass may be felt: no large sums. */
        double rigid[10] = {0};
        add_rigid(w->rigid + 10 * b, d, rigid);
        add_dense(rigid, w->spatial + 36 * p);
        if (t->dense[b]) add_spatial(w->spatial + 36 * b, d, w->spatial + 36 * p);
    }
}

/* What a cluster takes from the inertia of the link that it moves against, and adds to its wrench. */
static void yield_to(const Tables *t, Workspace *w, int begin, int end, int parent) {
    double *restrict M = w->spatial + 36 * parent, *restrict f = w->wrench + 6 * parent;
    for (int u = begin; u < end; ++u) {
        const double *Y = w->border + 6 * u, inverse = w->entry[t->start[u]];
        const double share = inverse * w->solution[u];
        for (int i = 0; i < 6; ++i) {
            const double x = inverse * Y[i];
            for (int j = i; j < 6; ++j) M[6 * i + j] -= x * Y[j];
            f[i] += share * Y[i];
        }
    }
    for (int i = 1; i < 6; ++i) {
        for (int j = 0; j < i; ++j) M[6 * i + j] = M[6 * j + i];
    }
}

/* Eliminate a cluster. */
static int eliminate_cluster(const Tables *t, Workspace *w, int c, const double *tau, Reading *at) {
    const int begin = t->cluster_unknown[c], end = t->cluster_unknown[c + 1];
    const int parent = t->cluster_parent[c], rooted = parent == 0;
    if (t->deep[c]) return eliminate_deep(t, w, c, tau, at);
    fill(0.0, t->start[end] - t->start[begin], w->entry + t->start[begin]);
    if (!rooted) fill(0.0, 6 * (end - begin), w->border + 6 * begin);
    for (int i = t->cluster_link[c]; i < t->cluster_link[c + 1]; ++i) {
        const int b = t->link_list[i];
        if (t->hinge[b]) {
            load_hinge(t, w, b, tau, rooted, at);
        } else {
            load_columns(t, w, b, tau, rooted, at);
        }
        if (t->inner[b] || !rooted) hand_on(t, w, b);
    }
    for (int i = t->cluster_loop[c]; i < t->cluster_loop[c + 1]; ++i) {
        load_closure(t, w, t->loop_list[i], at);
    }
    load_constants(t, w, c, at);
    if (rooted ? factorise(t, w, c, 0, &at->update) : factorise(t, w, c, 6, &at->update)) return 1;
    if (!rooted) yield_to(t, w, begin, end, parent);
    return 0;
}

/* The second half of a cluster's solution, and the accelerations that others move against. */
static void solve_cluster(const Tables *t, Workspace *w, int c) {
    const int begin = t->cluster_unknown[c], end = t->cluster_unknown[c + 1];
    const int parent = t->cluster_parent[c];
    const double *A = w->acceleration + 6 * parent;
    if (t->deep[c]) {
        solve_deep(t, w, c);
        return;
    }
    if (parent) {
        for (int u = begin; u < end; ++u) w->solution[u] -= work(w->border + 6 * u, A);
    }
    solve_unknowns_back(t, w, begin, end);
    for (int i = t->cluster_link[c + 1] - 1; i >= t->cluster_link[c]; --i) {
        const int b = t->link_list[i], p = t->parent[b];
        if (!t->dense[b]) continue;
        double *a = w->acceleration + 6 * b;
        for (int j = 0; j < 6; ++j) a[j] = w->acceleration[6 * p + j];
        add_cross(a + 3, w->arm + 3 * b, a);
        for (int k = t->column[b]; k < t->column[b + 1]; ++k) {
            add6(w->solution[t->column_unknown[k]], w->motion + 6 * k, a);
        }
    }
}

/* Refinement where clusters are eliminated in body coordinates: there inertias and what takes them back
 * are sums of large numbers, and accelerations lose seven digits or so. What the solution leaves of the
 * equations, evaluated in the tree, is solved for once more with the factors that are there (Higham,
 * Accuracy and Stability of Numerical Algorithms, chapter 12). */

/* Keep inertias and wrenches of single links. */
static void keep_loads(const Tables *t, Workspace *w) {
    const int links = t->size[links_size];
    for (int i = 0; i < 10 * links; ++i) w->own_inertia[i] = w->rigid[i];
    for (int i = 0; i < 6 * links; ++i) w->own_wrench[i] = w->wrench[i];
}

/* The second half of the solution of all clusters. */
static void solve_clusters(const Tables *t, Workspace *w) {
    fill(0.0, 6, w->acceleration);
    for (int c = t->size[clusters_size] - 1; c >= 0; --c) solve_cluster(t, w, c);
}

/* The first half for other right-hand sides: those of columns and rows, and wrenches on the links. */
static void solve_cluster_forth(const Tables *t, Workspace *w, int c) {
    const int begin = t->cluster_unknown[c], end = t->cluster_unknown[c + 1];
    const int parent = t->cluster_parent[c];
    if (t->deep[c]) {
        solve_deep_forth(t, w, c);
        return;
    }
    for (int i = t->cluster_link[c]; i < t->cluster_link[c + 1]; ++i) {
        const int b = t->link_list[i], p = t->parent[b];
        const double *f = w->wrench + 6 * b;
        for (int k = t->column[b]; k < t->column[b + 1]; ++k) {
            w->solution[t->column_unknown[k]] -= work(w->motion + 6 * k, f);
        }
        if (p) add_wrench(f, w->arm + 3 * b, w->wrench + 6 * p);
    }
    for (int u = begin; u < end; ++u) {
        const int first = t->start[u], last = t->start[u + 1];
        const double y = w->solution[u];
        for (int i = first + 1; i < last; ++i) w->solution[t->below[i]] -= w->entry[i] * y;
        if (parent) add6(w->entry[first] * y, w->border + 6 * u, w->wrench + 6 * parent);
    }
}

/* Take from the right-hand sides of the rows what accelerations make of them, and add the rows'
 * wrenches to those of the links. */
static void leave_rows(const Tables *t, Workspace *w, const double *found) {
    for (int c = 0; c < t->size[closures_size]; ++c) {
        double x[3], rate[6], f[6] = {0};
        row_point(t, w, c, x);
        rate_between(t, w, c, x, rate);
        for (int r = t->row[c]; r < t->row[c + 1]; ++r) {
            const int u = t->row_unknown[r];
            w->solution[u] = w->row_side[r] - work(w->covectors + 6 * r, rate);
            add6(found[u], w->covectors + 6 * r, f);
        }
        push_apart(t, w, c, x, f);
    }
    for (int row = 0; row < t->size[constants_size]; ++row) {
        const int u = t->row_unknown[t->size[loop_rows_size] + row];
        load_constant(t, w, row);
        for (int e = t->coupling[row]; e < t->coupling[row + 1]; ++e) {
            w->solution[u] -= coefficients(t, w)[e] * found[t->column_unknown[t->coupled[e]]];
        }
    }
}

/* What the solution found leaves of the equations' right-hand sides. */
static void leave_sides(const Tables *t, Workspace *w, const double *tau, const double *found) {
    for (int b = 1; b < t->size[links_size]; ++b) {
        const int p = t->parent[b];
        double *a = w->acceleration + 6 * b, *f = w->wrench + 6 * b;
        for (int i = 0; i < 6; ++i) a[i] = w->acceleration[6 * p + i];
        add_cross(a + 3, w->arm + 3 * b, a);
        for (int k = t->column[b]; k < t->column[b + 1]; ++k) {
            add6(found[t->column_unknown[k]], w->motion + 6 * k, a);
        }
        act_rigid(w->own_inertia + 10 * b, a, f);
        add6(1.0, w->own_wrench + 6 * b, f);
    }
    leave_rows(t, w, found);
    for (int b = t->size[links_size] - 1; b > 0; --b) {
        const int p = t->parent[b];
        double *f = w->wrench + 6 * b;
        for (int k = t->column[b]; k < t->column[b + 1]; ++k) {
            const int u = t->column_unknown[k];
            w->solution[u] = (t->own[k] ? tau[t->rate[k]] : 0.0) - t->armature[k] * found[u]
                             - work(w->motion + 6 * k, f);
        }
        add_wrench(f, w->arm + 3 * b, w->wrench + 6 * p);
    }
    for (int row = 0; row < t->size[constants_size]; ++row) {
        const double y = found[t->row_unknown[t->size[loop_rows_size] + row]];
        for (int e = t->coupling[row]; e < t->coupling[row + 1]; ++e) {
            w->solution[t->column_unknown[t->coupled[e]]] -= coefficients(t, w)[e] * y;
        }
    }
}

/* Refine accelerations and multipliers once. */
static void refine(const Tables *t, Workspace *w, const double *tau) {
    const int unknowns = t->size[unknowns_size];
    for (int u = 0; u < unknowns; ++u) w->rough[u] = w->solution[u];
    leave_sides(t, w, tau, w->rough);
    fill(0.0, 6 * t->size[links_size], w->wrench);
    for (int c = 0; c < t->size[clusters_size]; ++c) solve_cluster_forth(t, w, c);
    solve_clusters(t, w);
    add_to(w->rough, unknowns, w->solution);
}

/* Accelerations of all columns and multipliers of all rows. */
static int solve_step(const Tables *t, Workspace *w, const double *const *in) {
    const double against[3] = {-t->gravity[0], -t->gravity[1], -t->gravity[2]};
    Reading at = {t->h_place, t->j_place, t->update, t->deep_body, t->deep_row, t->deep_entry};
    place_ground(w);
    move_ground(w, against);
    for (int b = 1; b < t->size[links_size]; ++b) {
        if (t->hinge[b]) {
            place_hinge(t, w, b, in[0]);
            carry_hinge(t, w, b, in[1]);
        } else {
            place_link(t, w, b, in[0]);
            carry_link(t, w, b, in[1]);
        }
        load_link(t, w, b);
        if (t->dense[b]) fill(0.0, 36, w->spatial + 36 * b);
    }
    place_curves(t, w, in[0]);
    bend_constants(t, w, in[1]);
    if (t->size[cells_size]) keep_loads(t, w);
    w->doubt[0] = NONE;
    for (int c = 0; c < t->size[clusters_size]; ++c) {
        if (eliminate_cluster(t, w, c, in[2], &at)) return 1;
    }
    solve_clusters(t, w);
    if (t->size[cells_size]) refine(t, w, in[2]);
    return 0;
}

/* Accelerations of the velocities after the step. */
static void write_solution(const Tables *t, const Workspace *w, double *a) {
    for (int k = 0; k < t->size[columns_size]; ++k) {
        if (t->own[k]) a[t->rate[k]] = w->solution[t->column_unknown[k]];
    }
}

/* See responses.c and elimination.c. */
static int eliminated_dynamics(const Tables *t, Workspace *w, const double *const *in, int chosen,
                               double *a);
static void solve_multipliers(const Tables *t, Workspace *w, const double *forces,
                              double *multipliers);

/* Acceleration under joint forces, with what is wanted of the rows beside their rates; of dependent
 * rows those that were chosen the last time stand for all, where wanted. */
static int accelerate_under(const Tables *t, Workspace *w, const double *const *in, int chosen,
                            double *a) {
    int failed = 1;
    w->doubt[0] = LOST;
    if (t->direct[0]) failed = t->flat[0] ? solve_flat_step(t, w, in) : solve_step(t, w, in);
    if (w->doubt[0] != NONE && !eliminated_dynamics(t, w, in, chosen && !t->direct[0], a)) {
        w->doubt[0] = REPLACED;
        return 0;
    }
    if (!failed) write_solution(t, w, a);
    return failed;
}

/* Acceleration of the velocities under joint forces; 1 where masses or rows do not determine it. */
COMPUTATION(forward_dynamics) {
    fill(0.0, t->size[rows_size], w->wanted);
    return accelerate_under(t, w, in, 0, out[0]);
}

/* Multipliers of the rows (rows,), after accelerate_under(). */
static void find_multipliers(const Tables *t, Workspace *w, double *multipliers) {
    if (w->doubt[0] == REPLACED) {
        solve_multipliers(t, w, w->forces, multipliers);
        return;
    }
    for (int r = 0; r < t->size[rows_size]; ++r) {
        multipliers[r] = -w->solution[t->row_unknown[r]];
    }
}

/* Acceleration, and the multipliers of the rows. */
COMPUTATION(constrained_dynamics) {
    if (forward_dynamics(t, w, in, out)) return 1;
    find_multipliers(t, w, out[1]);
    return 0;
}
