/* Refinement of the step where clusters are eliminated in body coordinates: there inertias and what
 * takes them back are sums of large numbers, and accelerations lose seven digits or so.
 *
 * What the solution leaves of the equations, evaluated in the tree, is solved for once more with the
 * factors that are there (Higham, Accuracy and Stability of Numerical Algorithms, chapter 12).
 */

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
            w->solution[t->column_unknown[k]] -= dot6(w->motion + 6 * k, f);
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
            w->solution[u] = w->row_side[r] - dot6(w->covectors + 6 * r, rate);
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
                             - dot6(w->motion + 6 * k, f);
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
