/* States with closed loops, nearest to given ones. */

/* Bring a configuration and a velocity onto the closed loops by the shortest steps; 1 where that
 * fails. Limits are errors of the rows that are good enough, and pivots that are none; a careful step
 * is made whatever the errors, which rows next to dependence make much more of. The last rows are
 * those of driven velocities, whose coordinates and rates are as they are to be. */
static int close_state(const Tables *t, Workspace *w, const double *limits, int careful, int driven,
                       double *q, double *v) {
    const int nv = t->size[nv_size], rows = t->size[rows_size];
    double *errors = w->values;
    if (rows == 0) return 0;
    for (int round = 0; round < 5; ++round) {
        double largest = 0.0;
        if (row_errors(t, w, q, errors)) return 1;
        fill(0.0, driven, errors + rows - driven);
        for (int r = 0; r < rows; ++r) largest = fmax(largest, fabs(errors[r]));
        if (!(largest > limits[0] || (careful && round == 0)) || round == 4) break;
        if (correct(t, w, q, errors, NULL, limits[1], w->correction)) return 1;
        integrate(t, w->correction, q);
    }
    load_rows_of_velocities(t, w);
    row_speeds(t, w, v, errors);
    fill(0.0, driven, errors + rows - driven);
    w->clearness[0] = 1.0;
    if (correct_velocities(t, w, q, errors, NULL, limits[1], w->correction)) return 1;
    add_to(w->correction, nv, v);
    return 0;
}

/* The nearest configuration with closed loops, and the velocity without what opens them; behind the
 * limits, how many of the last rows are those of driven velocities. */
static int close_motion(const Tables *t, Workspace *w, const double *const *in,
                        double *const *out) {
    for (int i = 0; i < t->size[nq_size]; ++i) out[0][i] = in[0][i];
    for (int i = 0; i < t->size[nv_size]; ++i) out[1][i] = in[1][i];
    const double driven = in[2][2];
    if (!(driven >= 0.0 && driven <= t->size[rows_size])) return 1;
    return close_state(t, w, in[2], 0, (int)driven, out[0], out[1]);
}
