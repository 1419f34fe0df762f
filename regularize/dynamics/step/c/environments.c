/* Steps of fixed length of many robots: semi-implicit Euler, then onto the closed loops.
 *
 *     v' = v + h a(q, v, tau),  q' = q + h v',
 * then q' moves by the shortest steps to where the loops are closed, and v' loses by the shortest change what
 * would open them there. A robot whose state is not finite, or becomes so, or whose loops do not
 * close, is marked and touches no other. Drives say where coordinates are after a step: their rows, the
 * last ones, ask for the mean rates that bring them there.
 */

/* How steps are made: their length; the rate below which friction falls off; whether forces act within
 * joints, and within those that close loops; errors of the rows that end the way onto the loops, and
 * that are borne; pivots that are none; how many of the last rows are those of drives. */
enum { STEP_LENGTH, STEP_SLIP, STEP_FORCES, STEP_LOADED, STEP_CLOSED, STEP_BORNE, STEP_SINGULAR, STEP_DRIVES,
       STEP_OPTIONS };

/* What the rows may move at, by the largest velocity. */
#define SPEED_CLOSED 1e-13

/* What steps have in common; how many rows are those of drives. */
typedef struct {
    const Tables *t;
    const double *laws, *closing, *wrenches, *options;
    int drives;
} Stepping;

/* Ask the rows of drives for accelerations by which coordinates are where they are to be after a step, and
 * keep the rates. */
static void ask_for_targets(const Stepping *s, Workspace *w, const double *q, const double *v,
                            const double *targets) {
    const Tables *t = s->t;
    const int first = t->size[rows_size] - s->drives;
    const double h = s->options[STEP_LENGTH];
    for (int k = 0; k < s->drives; ++k) {
        const int column = t->coupled[t->coupling[first + k - t->size[loop_rows_size]]];
        w->driven[k] = (targets[k] - coordinate_of(t, column, q)) / h;
        w->wanted[first + k] = (v[t->rate[column]] - w->driven[k]) / h;
    }
}

/* Largest absolute value of the rows' errors. */
static double largest_error(const Tables *t, const double *errors) {
    double largest = 0.0;
    for (int r = 0; r < t->size[rows_size]; ++r) {
        if (fabs(errors[r]) > largest) largest = fabs(errors[r]);
    }
    return largest;
}

/* The shortest change of velocities by which the rows change by -errors, after load_rows_of_velocities(),
 * by factors of nearby rows where there are some; 1 where there is none. */
static int shortest_change(const Stepping *s, Workspace *w, const double *q, const double *errors,
                           int *factored, double *change) {
    const Tables *t = s->t;
    const int plain = t->size[gram_rows_size] != 0 && t->size[near_cells_size] == 0;
    if (plain && !*factored) {
        multiply_rows(t, w);
        *factored = factor_rows(t, w) == 0;
    }
    if (!(plain && *factored)) {
        return correct_velocities(t, w, q, errors, NULL, s->options[STEP_SINGULAR], change);
    }
    solve_minimum_norm(t, w, errors, change);
    return 0;
}

/* Bring a configuration and its velocity onto the closed loops, and find the error that is left; 1 where
 * that fails. Rows have moved little since they were factorised: with those of now on the other side,
 * what is found is the shortest change all the same, and found in a few rounds. */
static int close_step(const Stepping *s, Workspace *w, const double *targets, double *q, double *v,
                      double *error) {
    const Tables *t = s->t;
    const int nv = t->size[nv_size], first = t->size[rows_size] - s->drives;
    double *errors = w->values, *change = w->correction, before = INFINITY;
    int factored = 0;
    *error = 0.0;
    if (t->size[rows_size] == 0) return 0;
    for (int round = 0; ; ++round) {
        if (row_errors(t, w, q, errors)) return 1;
        for (int k = 0; k < s->drives; ++k) errors[first + k] -= targets[k];
        *error = largest_error(t, errors);
        load_rows_of_velocities(t, w);
        if (!(*error > s->options[STEP_CLOSED]) || round == 10) break;
        factored = factored && *error < 1e-2 * before, before = *error;
        if (shortest_change(s, w, q, errors, &factored, change)) return 1;
        integrate(t, change, q);
    }
    if (!(*error <= s->options[STEP_BORNE])) return 1;
    double largest = 0.0;
    for (int i = 0; i < nv; ++i) largest = fabs(v[i]) > largest ? fabs(v[i]) : largest;
    before = INFINITY;
    for (int round = 0; round < 6; ++round) {
        row_speeds(t, w, v, errors);
        for (int k = 0; k < s->drives; ++k) errors[first + k] -= w->driven[k];
        const double left = largest_error(t, errors);
        if (!(left > SPEED_CLOSED * (1.0 + largest))) return 0;
        factored = factored && left < 1e-2 * before, before = left;
        if (shortest_change(s, w, q, errors, &factored, change)) return 1;
        add_to(change, nv, v);
    }
    return 0;
}

/* Joint forces with those within joints, where any act; 1 where there are none. */
static int add_forces_within(const Stepping *s, Workspace *w, const double *q, const double *v,
                             const double *tau) {
    if (s->options[STEP_FORCES] == 0.0) return 0;
    double options[OPTIONS] = {0}, power;
    options[SLIP] = s->options[STEP_SLIP], options[LOADED] = s->options[STEP_LOADED];
    const Motion m = {s->t, w, s->laws, s->closing, s->wrenches, NULL, NULL, options, NULL};
    if (apply_laws(&m, 0.0, q, v, w->drawn, &power)) return 1;
    add_to(tau, s->t->size[nv_size], w->drawn);
    return 0;
}

/* How many rows are those of drives, by the options. */
static int drives_of_steps(const Tables *t, const double *options) {
    return (int)fmin(fmax(options[STEP_DRIVES], 0.0), t->size[rows_size] - t->size[loop_rows_size]);
}

/* A step of fixed length from a state, under joint forces and with where the drives are to be, by
 * laws as ``advance`` has them; and the error of the rows that is left. Where there is none,
 * and where what is given is not finite, all that is written is NaN. */
COMPUTATION(fixed_step) {
    const int nq = t->size[nq_size], nv = t->size[nv_size], rows = t->size[rows_size];
    const double *tau = in[2], *targets = in[4];
    const Stepping s = {t, in[5], in[6], in[7], in[3], drives_of_steps(t, in[3])};
    const double h = s.options[STEP_LENGTH];
    const double *const under[] = {in[0], in[1], s.options[STEP_FORCES] != 0.0 ? w->drawn : tau};
    double *q = out[0], *v = out[1];
    int failed = !are_finite(in[0], nq) || !are_finite(in[1], nv) || !are_finite(tau, nv);
    failed = failed || add_forces_within(&s, w, in[0], in[1], tau);
    w->clearness[0] = 1.0;
    fill(0.0, rows, w->wanted);
    ask_for_targets(&s, w, in[0], in[1], targets);
    failed = failed || accelerate_under(t, w, under, 0, w->begun);
    for (int i = 0; i < nq; ++i) q[i] = in[0][i];
    for (int i = 0; i < nv && !failed; ++i) {
        v[i] = in[1][i] + h * w->begun[i];
        w->correction[i] = h * v[i];
    }
    if (!failed) integrate(t, w->correction, q);
    failed = failed || close_step(&s, w, targets, q, v, out[2]);
    if (failed || !are_finite(q, nq) || !are_finite(v, nv)) {
        fill(NAN, nq, q);
        fill(NAN, nv, v);
        *out[2] = NAN;
    }
    return 0;
}
