/* Motions between the ends of a step of motion.c: its dense output (Hairer, Norsett, Wanner,
 * Solving ODEs I, II.6). */

enum { EXTRA = 4, ALL_STAGES = STAGES + EXTRA, TERMS = 7 };

/* Behind the options: weights of the slopes for each further stage but the first, which is the end
 * of the step, and for the last terms, (ALL_STAGES,) each. */
enum { DENSE_OPTIONS = OPTIONS + (EXTRA - 1 + TERMS - 3) * ALL_STAGES };

/* Terms (TERMS, state) of the polynomial of the step made last, and the state where it begins; 1
 * where a stage finds no acceleration. */
static int step_terms(const Tables *t, Workspace *w, const double *const *in, double *const *out) {
    const int size = t->size[state_size], nq = t->size[nq_size];
    const double *start = in[1], *end = in[1] + size, *weight = in[8] + OPTIONS;
    double standing[STANDING], *F = out[0];
    const Motion m = {t, w, in[4], in[5], in[6], in[7], weight, in[8], standing};
    const double h = in[3][MADE], begun = in[3][BEGAN];
    for (int i = 0; i < STANDING; ++i) standing[i] = in[3][i];
    for (int i = 0; i < STAGES * size; ++i) w->slope[i] = in[2][i];
    for (int i = 0; i < size; ++i) w->begun[i] = start[i];
    for (int i = 0; i < nq; ++i) w->reached[i] = in[0][i];
    if (!t->direct[0] && derive_state(&m, begun, 0, w->reached, start)) return 1;
    for (int s = STAGES; s < ALL_STAGES; ++s) {
        const double *y = s == STAGES ? end : w->stage;
        double time = begun + h;
        if (s > STAGES) {
            for (int i = 0; i < size; ++i) w->stage[i] = start[i];
            add_weighted(&m, weight, s, h, w->stage);
            time = begun + h * part_of_step(weight, s);
            weight += ALL_STAGES;
        }
        for (int i = 0; i < nq; ++i) w->reached[i] = in[0][i];
        integrate(t, y, w->reached);
        if (derive_state(&m, time, s, w->reached, y)) return 1;
    }
    for (int i = 0; i < size; ++i) {
        const double first = h * w->slope[i], last = h * w->slope[STAGES * size + i];
        F[i] = end[i] - start[i];
        F[size + i] = first - F[i];
        F[2 * size + i] = 2.0 * F[i] - last - first;
        F[TERMS * size + i] = start[i];
    }
    fill(0.0, (TERMS - 3) * size, F + 3 * size);
    for (int k = 3; k < TERMS; ++k, weight += ALL_STAGES) {
        add_weighted(&m, weight, ALL_STAGES, h, F + size * k);
    }
    return 0;
}

/* Configuration, velocity, work and what was corrected in the energy, and, where there are drives, the
 * multipliers of the rows, at a part of the step. */
static int motion_between(const Tables *t, Workspace *w, const double *const *in, double *const *out) {
    const int size = t->size[state_size], nq = t->size[nq_size], nv = t->size[nv_size];
    const double x = in[2][0], *F = in[1];
    double standing[STANDING], *y = w->stage;
    const Motion m = {t, w, in[4], in[5], in[6], in[7], in[8], in[8], standing};
    for (int i = 0; i < STANDING; ++i) standing[i] = in[3][i];
    standing[CORRECTION] = 0.0;
    for (int i = 0; i < size; ++i) {
        y[i] = 0.0;
        for (int k = TERMS - 1; k >= 0; --k) {
            y[i] = (y[i] + F[size * k + i]) * (k % 2 ? 1.0 - x : x);
        }
        y[i] += F[TERMS * size + i];
    }
    for (int i = 0; i < nq; ++i) out[0][i] = in[0][i];
    integrate(t, y, out[0]);
    for (int i = 0; i < nv; ++i) out[1][i] = y[nv + i];
    const double work = y[2 * nv], time = in[3][BEGAN] + x * in[3][MADE];
    if (drive(&m, time) || close_driven(&m, 0, out[0], out[1])) return 1;
    balance(&m, work, out[0], out[1]);
    out[2][0] = work, out[2][1] = standing[CORRECTION];
    fill(0.0, t->size[rows_size], out[3]);
    if (drives_of(&m)) {
        double power;
        if (accelerate_state(&m, time, 0, out[0], out[1], w->correction, &power)) return 1;
        for (int r = 0; r < t->size[rows_size]; ++r) out[3][r] = w->multiplier[r];
    }
    return 0;
}
