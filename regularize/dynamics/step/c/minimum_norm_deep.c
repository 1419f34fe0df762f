/* The shortest steps of clusters that are eliminated in body coordinates: as accelerations under rows,
 * where bodies have no mass and every velocity has one, with the errors as what is wanted of the rows.
 * Products of rows in joint coordinates would be dense there.
 */

/* Right-hand sides and cells of the rows of a cluster. */
static void load_errors(const Tables *t, Workspace *w, int c, const double *x, const double *errors,
                        const int **row, const int **entry) {
    for (int i = t->cluster_loop[c]; i < t->cluster_loop[c + 1]; ++i) {
        const int loop = t->loop_list[i];
        double point[3];
        row_point(t, w, loop, point);
        turn_covectors(t, w, loop);
        *row = load_pairs(t, w, loop, point, x, w->near_cell, *row);
        for (int r = t->row[loop]; r < t->row[loop + 1]; ++r) {
            w->solution[t->row_unknown[r]] = -errors[r];
        }
    }
    for (int i = t->cluster_constant[c]; i < t->cluster_constant[c + 1]; ++i) {
        const int place = t->constant_list[i], r = t->size[loop_rows_size] + place;
        w->solution[t->row_unknown[r]] = -errors[r];
        for (int k = t->coupling[place]; k < t->coupling[place + 1]; ++k) {
            w->near_cell[*(*entry)++] = coefficients(t, w)[k];
        }
    }
}

/* Whether the rows of a cluster were independent; how clearly, see factor_rows(). */
static int have_pivots(const Tables *t, Workspace *w, int c) {
    double least = INFINITY, most = 0.0;
    for (int u = t->cluster_unknown[c]; u < t->cluster_unknown[c + 1]; ++u) {
        if (!t->is_row[u]) continue;
        least = fmin(least, -w->pivot[u]), most = fmax(most, -w->pivot[u]);
    }
    w->clearness[0] = fmin(w->clearness[0], least / most);
    return least > singular_square * most;
}

/* The shortest changes of velocities (nv,) of these clusters by which rows change by -errors (rows,);
 * those that are held stay. 1 where rows depend on each other. */
static int solve_minimum_norm_deep(const Tables *t, Workspace *w, const double *errors,
                               const double *held, double *change) {
    const Program program = {t->near_operation, t->near_start, t->near_code, w->near_cell, NULL};
    const int *row = t->near_row, *entry = t->near_entry;
    if (!t->size[near_cells_size]) return 0;
    fill(0.0, t->size[near_cells_size], w->near_cell);
    for (int c = 0; c < t->size[clusters_size]; ++c) {
        const int parent = t->cluster_parent[c];
        double x[3], d[3];
        if (t->near_operation[c] == t->near_operation[c + 1]) continue;
        point_of(t, w, c, x);
        fill(0.0, 6, w->wrench + 6 * parent);
        fill(0.0, 6, w->acceleration + 6 * parent);
        for (int i = t->cluster_link[c]; i < t->cluster_link[c + 1]; ++i) {
            const int b = t->link_list[i];
            fill(0.0, 6, w->wrench + 6 * b);
            subtract(w->pose + 12 * b + 9, x, d);
            carry_columns(t, w, b, d);
            for (int k = t->column[b]; k < t->column[b + 1]; ++k) {
                if (held && held[t->rate[k]] != 0.0) fill(0.0, 6, w->carried + 6 * k);
            }
        }
        load_errors(t, w, c, x, errors, &row, &entry);
        if (run_program(t, w, c, &program) || !have_pivots(t, w, c)) return 1;
        run_back(t, w, c, &program);
        for (int i = t->cluster_link[c]; i < t->cluster_link[c + 1]; ++i) {
            const int b = t->link_list[i];
            for (int k = t->column[b]; k < t->column[b + 1]; ++k) {
                change[t->rate[k]] = w->solution[t->column_unknown[k]];
            }
        }
    }
    return 0;
}
