/* Motions in time: an explicit Runge-Kutta method of which every step ends on the closed loops.
 *
 * The state y is the tangent step from the configuration at which a step begins, the velocity, and
 * the work done since the beginning. See regularize/dynamics/integrator.py, which does the same one
 * step at a time and takes over where this stops.
 */
#include <math.h>

#include "algebra.h"
#include "spatial.h"
#include "tables.h"

enum { STAGES = 12 };

/* Where a motion stands. TOTAL: energy less work, not a number where it is yet to be found. BEST,
 * BEST_OF_STAGES: the largest distance of the rows from dependence so far, where steps end, and with
 * masses at their stages. BEGAN, MADE: beginning and length of the last step; CAREFUL: 1 where rows
 * are so near to dependence that every state needs to be brought onto the closed loops; STUCK: 1
 * where the next step takes another way. */
enum {
    TIME, WORK, LENGTH, USUAL, TOTAL, BEST, BEST_OF_STAGES, STEPS_MADE, REJECTED, EVALUATIONS, CORRECTION, BEGAN,
    MADE, CAREFUL, STUCK, STANDING
};

/* How to go on: the time that no step passes; that after which no step begins; relative and
 * absolute error; the longest step; whether the energy balance is kept, and whether the work counts
 * in the error; the rate below which friction falls off; errors of the rows that are good enough,
 * and pivots that are none; part of the usual step below which it stops, part of the best distance
 * from dependence, and part of the kinetic energy up to which the balance is corrected; whether forces
 * act on bodies or in closing joints; functions of forces and their data, see loads.c. */
enum {
    UNTIL, SAMPLED, RELATIVE, ABSOLUTE, LONGEST, CONSERVE, LOSSY, SLIP, CLOSED, SINGULAR, LEAP,
    DEPENDENCE, CORRECTED, LOADED, FUNCTIONS, OPTIONS = FUNCTIONS + 4
};

/* The method: A (STAGES, STAGES), B, and the two estimates of the error, (STAGES,) each. */
enum { ROW_B = STAGES, ROW_FIFTH, ROW_THIRD, METHOD_ROWS };

/* Angle that a group's tangent step may have: the series of its rate is exact up to there. */
static const double widest = 1.0;

/* What a motion is computed from. */
typedef struct {
    const Tables *t;
    Workspace *w;
    const double *laws, *closing, *wrenches, *method, *options;
    double *standing;
} Motion;

/* The sum of Bernoulli numbers by n! times the n-th bracket of step x with velocity v: the rate of
 * a tangent step of a group, both twists in the moving frame, linear part first. */
static int group_rate(const double *x, const double *v, double *rate) {
    static const double even[] = {1.0 / 12.0, -1.0 / 720.0, 1.0 / 30240.0, -1.0 / 1209600.0,
                                  1.0 / 47900160.0, -691.0 / 1307674368000.0,
                                  1.0 / 74724249600.0};
    double term[6], next[6];
    for (int i = 0; i < 6; ++i) term[i] = rate[i] = v[i];
    for (int n = 0; n < 14; ++n) {
        const double factor = n == 0 ? 0.5 : n % 2 ? even[n / 2] : 0.0;
        bracket(x, term, next);
        for (int i = 0; i < 6; ++i) term[i] = next[i], rate[i] += factor * next[i];
    }
    return dot(x + 3, x + 3) > widest * widest;
}

/* Rates (nv,) of the tangent step at velocities; 1 where it turns a part too far. */
static int step_rates(const Tables *t, const double *step, const double *v, double *rates) {
    int far = 0;
    for (int i = 0; i < t->size[nv_size]; ++i) rates[i] = v[i];
    for (int b = 1; b < t->size[parts_size]; ++b) {
        const int first = t->column[b], count = t->column[b + 1] - first, at = t->rate[first];
        if (count == 1 || !t->own[first]) continue;
        double x[6] = {0}, twist[6] = {0}, rate[6];
        for (int i = 0; i < count; ++i) {
            const int place = t->kind[b] == BALL ? i + 3 : t->kind[b] == PLANE && i == 2 ? 5 : i;
            x[place] = step[at + i], twist[place] = v[at + i];
        }
        far |= group_rate(x, twist, rate);
        for (int i = 0; i < count; ++i) {
            const int place = t->kind[b] == BALL ? i + 3 : t->kind[b] == PLANE && i == 2 ? 5 : i;
            rates[at + i] = rate[place];
        }
    }
    return far;
}

#include "loads.c"

/* Kinetic and potential energy at a state. */
static void energies(const Motion *m, const double *q, const double *v, double *energy) {
    static const double rest[3] = {0.0, 0.0, 0.0};
    const Tables *t = m->t;
    const Workspace *w = m->w;
    energy[0] = energy[1] = 0.0;
    positions(t, m->w, q);
    velocities(t, m->w, v, rest);
    for (int b = 1; b < t->size[parts_size]; ++b) {
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
    energy[1] += energy_of_joints(m, q);
    energy[1] += energy_of_closing(m);
}

/* Bring a configuration and a velocity onto the closed loops by the shortest steps; 1 where that
 * fails. Limits are errors of the rows that are good enough, and pivots that are none; a careful step
 * is made whatever the errors, which rows next to dependence make much more of. */
static int close_state(const Tables *t, Workspace *w, const double *limits, int careful, double *q,
                       double *v) {
    const int nv = t->size[nv_size], rows = t->size[rows_size];
    if (rows == 0) return 0;
    for (int round = 0; round < 5; ++round) {
        double largest = 0.0;
        if (row_errors(t, w, q, w->values)) return 1;
        for (int r = 0; r < rows; ++r) largest = fmax(largest, fabs(w->values[r]));
        if (!(largest > limits[0] || (careful && round == 0)) || round == 4) break;
        if (correct(t, w, q, w->values, NULL, limits[1], w->correction)) return 1;
        integrate(t, w->correction, q);
    }
    load_rows_of_velocities(t, w);
    row_speeds(t, w, v, w->values);
    w->clearness[0] = 1.0;
    if (correct_velocities(t, w, q, w->values, NULL, limits[1], w->correction)) return 1;
    add_to(w->correction, nv, v);
    return 0;
}

/* Lengthen or shorten a velocity so that the energy balance holds, where that is wanted. */
static void balance(const Motion *m, double work, const double *q, double *v) {
    double energy[2];
    if (m->options[CONSERVE] == 0.0) return;
    energies(m, q, v, energy);
    if (isnan(m->standing[TOTAL])) m->standing[TOTAL] = energy[0] + energy[1] - work;
    const double missing = m->standing[TOTAL] + work - energy[0] - energy[1];
    if (missing != 0.0 && fabs(missing) <= m->options[CORRECTED] * energy[0]) {
        const double factor = sqrt(1.0 + missing / energy[0]);
        for (int i = 0; i < m->t->size[nv_size]; ++i) v[i] *= factor;
        m->standing[CORRECTION] += fabs(missing);
    }
}

/* Derivative of the state y, reached at configuration q and a time in a stage; 1 where it is not found, 2 where
 * the tangent step is too wide.
 *
 * Between the ends of a step, rows that depend on each other on closed loops contradict each other
 * a little: those that are independent where it begins stand for all of them. */
static int derive_state(const Motion *m, double time, int stage, double *q, const double *y) {
    const int nv = m->t->size[nv_size], soft = m->t->size[soft_unknowns_size];
    double *slope = m->w->slope + m->t->size[state_size] * stage, *v = m->w->moved;
    const double *in[] = {q, v, m->w->drawn};
    double *const out[] = {slope + nv};
    for (int i = 0; i < nv; ++i) v[i] = y[nv + i];
    if (m->standing[CAREFUL] != 0.0 && close_state(m->t, m->w, m->options + CLOSED, 1, q, v)) {
        return 1;
    }
    if (apply_laws(m, time, q, v, m->w->drawn, slope + 2 * nv)) return 1;
    m->standing[EVALUATIONS] += 1.0;
    m->w->clearness[0] = 1.0;
    if (soft) {
        fill(0.0, m->t->size[rows_size], m->w->wanted);
        if (eliminated_dynamics(m->t, m->w, in, stage > 0, out[0])) return 1;
    } else if (forward_dynamics(m->t, m->w, in, out)) {
        return 1;
    }
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
/* How a step is shortened that comes nearer, and what becomes of the distance that is wanted then. */
static const double evading = 0.93, yielding = 0.25;

/* The end of a step on the closed loops, and the distance of the rows from dependence there; 1 where
 * there is none. */
static int end_step(const Motion *m, const double *q, double *clear) {
    Workspace *w = m->w;
    for (int i = 0; i < m->t->size[nq_size]; ++i) w->reached[i] = q[i];
    integrate(m->t, w->ended, w->reached);
    for (int i = 0; i < m->t->size[nv_size]; ++i) w->moved[i] = w->ended[m->t->size[nv_size] + i];
    if (close_state(m->t, w, m->options + CLOSED, 0, w->reached, w->moved)) return 1;
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
    fill(0.0, nv, w->begun);
    for (int i = 0; i < nv; ++i) w->begun[nv + i] = v[i];
    w->begun[2 * nv] = at[WORK];
    for (int i = 0; i < nq; ++i) w->reached[i] = q[i];
    if (derive_state(m, at[TIME], 0, w->reached, w->begun)) return 1;
    at[BEST_OF_STAGES] = fmax(at[BEST_OF_STAGES], sqrt(w->clearness[0]));
    for (;; at[REJECTED] += 1.0) {
        double of_stages = 1.0;
        if (!(h > m->options[LEAP] * at[USUAL] && h > 1e-13 * fmax(1.0, fabs(at[TIME])))) return 1;
        error = attempt(m, q, h, &of_stages);
        if (error < 0.0) return 1;
        const double part = sqrt(of_stages) / at[BEST_OF_STAGES];
        if (at[CAREFUL] == 0.0 && part < m->options[DEPENDENCE]) {
            at[CAREFUL] = 1.0;
        } else if (!(error < 1.0)) {
            h *= isfinite(error) ? fmax(0.2, 0.9 * pow(error, -0.125)) : 0.2;
        } else {
            if (end_step(m, q, &clear)) return 1;
            const double nearest = fmin(part, clear / fmax(clear, at[BEST]));
            if (nearest * nearest >= wanted) break;
            h *= evading, wanted *= yielding;
        }
    }
    balance(m, w->ended[2 * nv], w->reached, w->moved);
    for (int i = 0; i < nq; ++i) q_begun[i] = q[i], q[i] = w->reached[i];
    for (int i = 0; i < nv; ++i) v[i] = w->moved[i];
    const double factor = error > 0.0 ? fmin(6.0, 0.9 * pow(error, -0.125)) : 6.0;
    at[BEGAN] = at[TIME], at[MADE] = h, at[TIME] += h, at[WORK] = w->ended[2 * nv];
    at[USUAL] = fmax(h, 0.95 * at[USUAL]);
    at[LENGTH] = fmin(m->options[LONGEST], fmax(h * factor, left < before ? before : 0.0));
    at[STEPS_MADE] += 1.0;
    at[CAREFUL] = clear < fmax(m->options[DEPENDENCE] * at[BEST], m->options[SINGULAR]);
    at[BEST] = fmax(at[BEST], clear);
    return 0;
}

/* The nearest configuration with closed loops, and the velocity without what opens them. */
static int close_motion(const Tables *t, Workspace *w, const double *const *in,
                        double *const *out) {
    for (int i = 0; i < t->size[nq_size]; ++i) out[0][i] = in[0][i];
    for (int i = 0; i < t->size[nv_size]; ++i) out[1][i] = in[1][i];
    return close_state(t, w, in[2], 0, out[0], out[1]);
}

/* Go on from a state until a step ends at a time or beyond. Of the last step, the configuration and
 * the state y at its beginning, the slopes of its stages and y at its end are what is known of the
 * motion within it. Where no step was made, the last ones are not written. */
static int march(const Tables *t, Workspace *w, const double *const *in, double *const *out) {
    const int size = t->size[state_size];
    double *q = out[0], *v = out[1], *at = out[2];
    const Motion m = {t, w, in[3], in[4], in[5], in[6], in[7], at};
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
