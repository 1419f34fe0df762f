/* The shortest steps and changes of velocity that rows ask for.
 *
 * With the rows J on velocities the shortest x with J x = -e is -J^T y, where J J^T y = e. Which
 * entries J and the factors L D L^T of J J^T have is found once; see regularize/dynamics/step/minimum_norm.py.
 */

/* Pivots below this part of what rows weigh on average are none: squares of the singular values that
 * are not divided by. */
static const double singular_square = 1e-13;

/* Whether a row is on no velocity here: such ones are of clusters in body coordinates. */
static inline int is_far(const Tables *t, int r) { return t->entry[r] == t->entry[r + 1]; }

/* Entries of the rows on velocities, after row_errors(). */
static void load_rows_of_velocities(const Tables *t, Workspace *w) {
    const int loops = t->size[loop_rows_size];
    fill(0.0, t->size[row_entries_size], w->row_entry);
    if (t->flat[1]) load_flat_rows(t, w);
    for (int i = 0; i < t->size[closures_size] && !t->flat[1]; ++i) {
        double x[3];
        if (t->row[i] == t->row[i + 1] || is_far(t, t->row[i])) continue;
        row_point(t, w, i, x);
        turn_covectors(t, w, i);
        for (int s = t->step[i]; s < t->step[i + 1]; ++s) {
            const int k = t->stepped[s];
            double twist[6];
            twist_at(w, t->moved[k], k, x, twist);
            for (int r = t->row[i]; r < t->row[i + 1]; ++r) {
                const double *g = w->covectors + 6 * r;
                w->row_entry[t->entry[r] + t->slot[s]] +=
                    t->sense[s] * t->ratio[k] * work(g, twist);
            }
        }
    }
    for (int r = loops; r < t->size[rows_size]; ++r) {
        const double *coefficient = coefficients(t, w) + t->coupling[r - loops];
        for (int e = t->entry[r]; e < t->entry[r + 1]; ++e) w->row_entry[e] = *coefficient++;
    }
}

/* Let velocities that are held be on no row. */
static void hold_velocities(const Tables *t, Workspace *w, const double *held) {
    for (int e = 0; e < t->size[row_entries_size]; ++e) {
        if (held[t->entry_velocity[e]] != 0.0) w->row_entry[e] = 0.0;
    }
}

/* What the rows make of velocities (rows,). */
static void row_speeds(const Tables *t, Workspace *w, const double *v, double *speeds) {
    if (t->size[near_cells_size]) accelerations_beyond(t, w, v);
    for (int r = 0; r < t->size[rows_size]; ++r) {
        speeds[r] = 0.0;
        for (int e = t->entry[r]; e < t->entry[r + 1]; ++e) {
            speeds[r] += w->row_entry[e] * v[t->entry_velocity[e]];
        }
    }
    for (int i = 0; i < t->size[closures_size]; ++i) {
        double x[3], rate[6];
        if (t->row[i] == t->row[i + 1] || !is_far(t, t->row[i])) continue;
        row_point(t, w, i, x);
        turn_covectors(t, w, i);
        rate_between(t, w, i, x, rate);
        for (int r = t->row[i]; r < t->row[i + 1]; ++r) speeds[r] = work(w->covectors + 6 * r, rate);
    }
}

/* Products of all pairs of rows. */
static void multiply_rows(const Tables *t, Workspace *w) {
    const int *gram = t->gram, *end = gram + t->size[gram_numbers_size];
    fill(0.0, t->size[row_factors_size], w->row_factor);
    while (gram < end) {
        const int n = *gram++, *mine = gram;
        gram += n;
        for (int i = 0; i < n; ++i) {
            const double value = w->row_entry[mine[i]];
            for (int j = i; j < n; ++j) w->row_factor[*gram++] += value * w->row_entry[mine[j]];
        }
    }
}

/* Factors of the products, inverse pivots in the first places; 1 where rows depend on each other. */
static int factor_rows(const Tables *t, Workspace *w) {
    const int rows = t->size[gram_rows_size];
    Factors pattern = {t->factor_start, t->factor_below, t->factor_block, t->factor_update};
    double *G = w->row_factor, weight = 0.0, least = INFINITY, most = 0.0;
    for (int u = 0; u < rows; ++u) weight += G[t->factor_start[u]];
    for (int u = 0; u < rows;) {
        double pivot[WIDEST];
        const int count = eliminate_unknowns(&pattern, G, u, pivot);
        for (int s = 0; s < count; ++s, ++u) {
            if (!(pivot[s] * rows > singular_square * weight)) return 1;
            least = fmin(least, pivot[s]), most = fmax(most, pivot[s]);
        }
    }
    if (rows) w->clearness[0] = fmin(w->clearness[0], least / most);
    return 0;
}

/* The shortest step (nv,) at which the rows change by -errors (rows,), by the factors. */
static void solve_minimum_norm(const Tables *t, Workspace *w, const double *errors, double *step) {
    const int rows = t->size[rows_size], kept = t->size[gram_rows_size];
    const Factors pattern = {t->factor_start, t->factor_below, t->factor_block, NULL};
    const double *G = w->row_factor;
    double *y = w->multiplier;
    for (int r = 0; r < rows; ++r) {
        if (!is_far(t, r)) y[t->row_rank[r]] = -errors[r];
    }
    solve_forth(&pattern, G, y, NULL, 0, kept, 0);
    solve_back(&pattern, G, y, 0, kept);
    fill(0.0, t->size[nv_size], step);
    for (int r = 0; r < rows; ++r) {
        const double value = is_far(t, r) ? 0.0 : y[t->row_rank[r]];
        for (int e = t->entry[r]; e < t->entry[r + 1]; ++e) {
            step[t->entry_velocity[e]] += value * w->row_entry[e];
        }
    }
}

/* Clusters that are eliminated in body coordinates, where products of rows in joint coordinates would be
 * dense: the shortest steps are accelerations under rows, with the errors as what is wanted of these,
 * where bodies have no mass and every velocity has one. */

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
        load_rows(t, w, c, x, errors, w->near_cell, &row, &entry);
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
