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
                    t->sense[s] * t->ratio[k] * (dot(g, twist) + dot(g + 3, twist + 3));
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
        for (int r = t->row[i]; r < t->row[i + 1]; ++r) speeds[r] = dot6(w->covectors + 6 * r, rate);
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
