/* Motions in time: an explicit Runge-Kutta method of which every step ends on the closed loops.
 *
 * The state y is the tangent step from the configuration at which a step begins, the velocity, and
 * the work done since the beginning. See regularize/dynamics/simulation/integrator.py, which does the same one
 * step at a time and takes over where this stops.
 */

enum { STAGES = 12 };

/* Where a motion stands. TOTAL: energy less work, not a number where it is yet to be found. BEST,
 * BEST_OF_STAGES: the largest distance of the rows from dependence so far, where steps end, and with
 * masses at their stages. BEGAN, MADE: beginning and length of the last step; CAREFUL: 1 where rows
 * are so near to dependence that every state needs to be brought onto the closed loops, 2 where
 * accelerations have lost too many digits for the tolerance; STUCK: 1 where the next step takes
 * another way. */
enum {
    TIME, WORK, LENGTH, USUAL, TOTAL, BEST, BEST_OF_STAGES, STEPS_MADE, REJECTED, EVALUATIONS, CORRECTION, BEGAN,
    MADE, CAREFUL, STUCK, STANDING
};

/* How to go on: the time that no step passes; that after which no step begins; relative and
 * absolute error; the longest step; whether the energy balance is kept, and whether the work counts
 * in the error; the rate below which friction falls off; errors of the rows that are good enough,
 * and pivots that are none; part of the usual step below which it stops, part of the best distance
 * from dependence, part of the kinetic energy up to which the balance is corrected, and errors by
 * what is borne that driven coordinates may have; whether forces act on bodies or in closing joints;
 * functions of forces, see loads.c. */
enum {
    UNTIL, SAMPLED, RELATIVE, ABSOLUTE, LONGEST, CONSERVE, LOSSY, SLIP, CLOSED, SINGULAR, LEAP,
    DEPENDENCE, CORRECTED, TOLERATED, LOADED, FUNCTIONS, OPTIONS = FUNCTIONS + 2
};

/* The method: A (STAGES, STAGES), B, and the two estimates of the error, (STAGES,) each. */
enum { ROW_B = STAGES, ROW_FIFTH, ROW_THIRD, METHOD_ROWS };

/* What a motion is computed from. */
typedef struct {
    const Tables *t;
    Workspace *w;
    const double *laws, *closing, *wrenches, *drives, *method, *options;
    double *standing;
} Motion;

#include "tangent.c"
#include "loads.c"
#include "drives.c"

/* Kinetic energy of the links, and their potential energy of gravity. */
COMPUTATION(energies) {
    static const double rest[3] = {0.0, 0.0, 0.0};
    const double *v = in[1];
    double *energy = out[0];
    energy[0] = energy[1] = 0.0;
    positions(t, w, in[0]);
    velocities(t, w, v, rest);
    for (int b = 1; b < t->size[links_size]; ++b) {
        const double *I = t->inertia + 10 * b, *pose = w->pose + 12 * b, *twist = w->twist + 6 * b;
        const int k = t->column[b];
        double speed[3], turn[3], swept[3], centre[3];
        rotate_back(pose, twist, speed);
        rotate_back(pose, twist + 3, turn);
        cross(turn, I + 1, swept);
        energy[0] += 0.5 * I[0] * dot(speed, speed) + dot(speed, swept) +
                     0.5 * (I[4] * turn[0] * turn[0] + I[7] * turn[1] * turn[1] +
                            I[9] * turn[2] * turn[2]) +
                     I[5] * turn[0] * turn[1] + I[6] * turn[0] * turn[2] + I[8] * turn[1] * turn[2];
        rotate(pose, I + 1, centre);
        energy[1] -= I[0] * dot(t->gravity, pose + 9) + dot(t->gravity, centre);
        for (int c = k; c < t->column[b + 1]; ++c) {
            const double rate = v[t->rate[c]];
            energy[0] += 0.5 * t->armature[c] * rate * rate;
        }
    }
    return 0;
}

/* Lengthen or shorten a velocity so that the energy balance holds, where that is wanted. */
static void balance(const Motion *m, double work, const double *q, double *v) {
    double energy[2], *const found[] = {energy};
    const double *const state[] = {q, v};
    if (m->options[CONSERVE] == 0.0) return;
    energies(m->t, m->w, state, found);
    energy[1] += energy_of_joints(m, q) + energy_of_closing(m);
    if (isnan(m->standing[TOTAL])) m->standing[TOTAL] = energy[0] + energy[1] - work;
    const double missing = m->standing[TOTAL] + work - energy[0] - energy[1];
    if (missing != 0.0 && fabs(missing) <= m->options[CORRECTED] * energy[0]) {
        const double factor = sqrt(1.0 + missing / energy[0]);
        for (int i = 0; i < m->t->size[nv_size]; ++i) v[i] *= factor;
        m->standing[CORRECTION] += fabs(missing);
    }
}

/* Acceleration (nv,) at a state, after drive(), and the power of forces and drives; 1 where it is not
 * found. What the drives have to do is left behind the other multipliers.
 *
 * Between the ends of a step, rows that depend on each other on closed loops contradict each other
 * a little: those that are independent where it begins, at stage 0, stand for all of them. */
static int accelerate_state(const Motion *m, double time, int stage, const double *q,
                            const double *v, double *a, double *power) {
    const Tables *t = m->t;
    Workspace *w = m->w;
    const double *in[] = {q, v, w->drawn};
    if (apply_laws(m, time, q, v, w->drawn, power)) return 1;
    w->clearness[0] = 1.0;
    ask_of_rows(m);
    if (accelerate_under(t, w, in, stage > 0, a)) return 1;
    if (drives_of(m)) {
        find_multipliers(t, w, w->multiplier);
        *power += power_of_drives(m, v);
    }
    return 0;
}

/* Derivative of the state y, reached at configuration q and a time in a stage; 1 where it is not found, 2 where
 * the tangent step is too wide. */
static int derive_state(const Motion *m, double time, int stage, double *q, const double *y) {
    const int nv = m->t->size[nv_size];
    double *slope = m->w->slope + m->t->size[state_size] * stage, *v = m->w->moved;
    for (int i = 0; i < nv; ++i) v[i] = y[nv + i];
    if (drive(m, time)) return 1;
    if (m->standing[CAREFUL] != 0.0 && close_driven(m, 1, q, v)) return 1;
    m->standing[EVALUATIONS] += 1.0;
    if (accelerate_state(m, time, stage, q, v, slope + nv, slope + 2 * nv)) return 1;
    return step_rates(m->t, y, v, slope) ? 2 : 0;
}

/* Add the slopes of some stages by weights times the length of the step. */
static void add_weighted(const Motion *m, const double *weight, int stages, double h, double *y) {
    const int size = m->t->size[state_size];
    for (int s = 0; s < stages; ++s) {
        if (weight[s] != 0.0) add_times(h * weight[s], m->w->slope + size * s, size, y);
    }
}

/* Part of the step after which a stage is evaluated: the sum of its weights. */
static double part_of_step(const double *weight, int stages) {
    double sum = 0.0;
    for (int s = 0; s < stages; ++s) sum += weight[s];
    return sum;
}

/* Mean square of an estimate of the error by what is borne, times the number of entries. */
static double estimate(const Motion *m, int row) {
    const int size = m->t->size[state_size], nv = m->t->size[nv_size];
    const double *start = m->w->begun, *end = m->w->ended;
    double *error = m->w->stage, sum = 0.0;
    fill(0.0, size, error);
    add_weighted(m, m->method + STAGES * row, STAGES, 1.0, error);
    for (int i = 0; i < size - (m->options[LOSSY] == 0.0); ++i) {
        const double value = i < nv ? 1.0 : fmax(fabs(start[i]), fabs(end[i]));
        const double part = error[i] / (m->options[ABSOLUTE] + m->options[RELATIVE] * value);
        sum += part * part;
    }
    return sum;
}

/* The state at the end of a step of length h, and its error by what is borne; not a number where a
 * stage went too far, -1 where the kernel finds no acceleration. Clearness is the least one of the
 * stages. */
static double attempt(const Motion *m, const double *q, double h, double *clearness) {
    const Tables *t = m->t;
    Workspace *w = m->w;
    const int size = t->size[state_size], nq = t->size[nq_size];
    for (int s = 1; s <= STAGES; ++s) {
        double *y = s < STAGES ? w->stage : w->ended;
        for (int i = 0; i < size; ++i) y[i] = w->begun[i];
        add_weighted(m, m->method + STAGES * s, s, h, y);
        if (s == STAGES) break;
        for (int i = 0; i < nq; ++i) w->reached[i] = q[i];
        integrate(t, y, w->reached);
        const double time = m->standing[TIME] + h * part_of_step(m->method + STAGES * s, s);
        const int failed = derive_state(m, time, s, w->reached, y);
        if (failed) return failed == 1 ? -1.0 : NAN;
        *clearness = fmin(*clearness, w->clearness[0]);
    }
    const double fifth = estimate(m, ROW_FIFTH), third = estimate(m, ROW_THIRD);
    const int count = size - (m->options[LOSSY] == 0.0);
    return fifth == 0.0 && third == 0.0 ? 0.0 : h * fifth / sqrt((fifth + 0.01 * third) * count);
}

/* Part of the best distance from dependence that is kept away from, squared, by the relative error:
 * about the rounding that accelerations show is divided by it. */
static const double rounding = 1e-14;
/* Part of the best distance from dependence at least within which short steps are left to who can
 * tell a singular configuration from a sharp turn: further away it is a turn, made in short steps. */
static const double near = 1e-3;
/* How a step is shortened that comes nearer, and what becomes of the distance that is wanted then. */
static const double evading = 0.93, yielding = 0.25;

/* The end of a step of length h on the closed loops, and the distance of the rows from dependence
 * there; 1 where there is none, 2 where driven coordinates went astray: their rates jump. */
static int end_step(const Motion *m, const double *q, double h, double *clear) {
    Workspace *w = m->w;
    for (int i = 0; i < m->t->size[nq_size]; ++i) w->reached[i] = q[i];
    integrate(m->t, w->ended, w->reached);
    for (int i = 0; i < m->t->size[nv_size]; ++i) w->moved[i] = w->ended[m->t->size[nv_size] + i];
    if (drive(m, m->standing[TIME] + h)) return 1;
    if (are_astray(m, w->reached, w->moved)) return 2;
    if (close_driven(m, 0, w->reached, w->moved)) return 1;
    *clear = m->t->size[rows_size] ? sqrt(w->clearness[0]) : 1.0;
    return 0;
}

/* One accepted step from q and v, which it moves on; 1 where that takes another way.
 *
 * Where rows nearly depend on each other, accelerations lose digits that no estimate of the error
 * sees: a step of which a stage or the end comes too near is made a little shorter. */
static int make_step(const Motion *m, double *q, double *v, double *q_begun) {
    Workspace *w = m->w;
    double *at = m->standing;
    const int nq = m->t->size[nq_size], nv = m->t->size[nv_size];
    const double left = m->options[UNTIL] - at[TIME], before = at[LENGTH];
    double h = left <= before ? left : fmin(before, fmax(0.5 * left, 1e-3 * before)), error, clear;
    double wanted = rounding / m->options[RELATIVE];
    const double close = fmax(near, 10.0 * sqrt(wanted));
    fill(0.0, nv, w->begun);
    for (int i = 0; i < nv; ++i) w->begun[nv + i] = v[i];
    w->begun[2 * nv] = at[WORK];
    for (int i = 0; i < nq; ++i) w->reached[i] = q[i];
    if (derive_state(m, at[TIME], 0, w->reached, w->begun)) return 1;
    at[BEST_OF_STAGES] = fmax(at[BEST_OF_STAGES], sqrt(w->clearness[0]));
    int nearly = at[CAREFUL] == 2.0;
    for (;; at[REJECTED] += 1.0) {
        double of_stages = 1.0;
        if (!(h > 1e-13 * fmax(1.0, fabs(at[TIME])))) return 1;
        if (nearly && !(h > m->options[LEAP] * at[USUAL])) return 1;
        error = attempt(m, q, h, &of_stages);
        if (error < 0.0) return 1;
        const double part = sqrt(of_stages) / at[BEST_OF_STAGES];
        nearly = nearly || part < close;
        if (at[CAREFUL] == 0.0 && part < m->options[DEPENDENCE]) {
            at[CAREFUL] = 1.0;
        } else if (!(error < 1.0)) {
            h *= isfinite(error) ? fmax(0.2, 0.9 * pow(error, -0.125)) : 0.2;
        } else {
            const int ended = end_step(m, q, h, &clear);
            if (ended == 1) return 1;
            if (ended == 0) {
                const double nearest = fmin(part, clear / fmax(clear, at[BEST]));
                if (nearest * nearest >= wanted) break;
                wanted *= yielding;
            }
            h *= ended ? 0.2 : evading;
        }
    }
    balance(m, w->ended[2 * nv], w->reached, w->moved);
    for (int i = 0; i < nq; ++i) q_begun[i] = q[i], q[i] = w->reached[i];
    for (int i = 0; i < nv; ++i) v[i] = w->moved[i];
    const double factor = error > 0.0 ? fmin(6.0, 0.9 * pow(error, -0.125)) : 6.0;
    at[BEGAN] = at[TIME], at[MADE] = h, at[TIME] += h, at[WORK] = w->ended[2 * nv];
    at[USUAL] = fmax(h, nearly ? at[USUAL] : 0.95 * at[USUAL]);
    at[LENGTH] = fmin(m->options[LONGEST], fmax(h * factor, left < before ? before : 0.0));
    at[STEPS_MADE] += 1.0;
    at[CAREFUL] = clear < fmax(m->options[DEPENDENCE] * at[BEST], m->options[SINGULAR]);
    if (clear < close * at[BEST]) at[CAREFUL] = 2.0;
    at[BEST] = fmax(at[BEST], clear);
    return 0;
}

/* Go on from a state until a step ends at a time or beyond. Of the last step, the configuration and
 * the state y at its beginning, the slopes of its stages and y at its end are what is known of the
 * motion within it. Where no step was made, the last ones are not written. */
COMPUTATION(advance) {
    const int size = t->size[state_size];
    double *q = out[0], *v = out[1], *at = out[2];
    const Motion m = {t, w, in[3], in[4], in[5], in[6], in[7], in[8], at};
    for (int i = 0; i < t->size[nq_size]; ++i) q[i] = out[3][i] = in[0][i];
    for (int i = 0; i < t->size[nv_size]; ++i) v[i] = in[1][i];
    for (int i = 0; i < STANDING; ++i) at[i] = in[2][i];
    do {
        at[STUCK] = make_step(&m, q, v, out[3]);
    } while (at[STUCK] == 0.0 && at[TIME] < m.options[SAMPLED]);
    for (int i = 0; i < STAGES * size; ++i) out[4][i] = w->slope[i];
    for (int i = 0; i < size; ++i) out[5][i] = w->begun[i], out[5][size + i] = w->ended[i];
    return 0;
}

/* Dense output: motions between the ends of a step (Hairer, Norsett, Wanner, Solving ODEs I, II.6). */

enum { EXTRA = 4, ALL_STAGES = STAGES + EXTRA, TERMS = 7 };

/* Behind the options: weights of the slopes for each further stage but the first, which is the end
 * of the step, and for the last terms, (ALL_STAGES,) each. */
enum { DENSE_OPTIONS = OPTIONS + (EXTRA - 1 + TERMS - 3) * ALL_STAGES };

/* Terms (TERMS, state) of the polynomial of the step made last, and the state where it begins; 1
 * where a stage finds no acceleration. */
COMPUTATION(step_terms) {
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
COMPUTATION(motion_between) {
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
