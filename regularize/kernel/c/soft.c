/* Clusters whose rows may depend on each other: they yield a little, and what they yielded is put right.
 */
#include <math.h>

#include "algebra.h"
#include "tables.h"

/* Sides of a soft cluster's equations: as many as given, a step of 7 from one unknown to the next. */
enum { SIDES = 7 };

/* The second half of the solution of several sides. */
static void solve_back(const Tables *t, const Workspace *w, int begin, int end, int sides,
                       double *x) {
    for (int u = end - 1; u >= begin; --u) {
        double *mine = x + SIDES * u;
        for (int s = 0; s < sides; ++s) mine[s] *= w->entry[t->start[u]];
        for (int i = t->start[u] + 1; i < t->start[u + 1]; ++i) {
            const double l = w->entry[i], *other = x + SIDES * t->below[i];
            for (int s = 0; s < sides; ++s) mine[s] -= l * other[s];
        }
    }
}

/* The first half. */
static void solve_forth(const Tables *t, const Workspace *w, int begin, int end, int sides,
                        double *x) {
    for (int u = begin; u < end; ++u) {
        const double *mine = x + SIDES * u;
        for (int i = t->start[u] + 1; i < t->start[u + 1]; ++i) {
            double *other = x + SIDES * t->below[i];
            for (int s = 0; s < sides; ++s) other[s] -= w->entry[i] * mine[s];
        }
    }
}

/* Subtract from r what the matrix before elimination makes of x. */
static void take_product(const Tables *t, const Workspace *w, int begin, int end, int sides,
                         const double *x, double *r) {
    for (int u = begin; u < end; ++u) {
        const double *mine = x + SIDES * u;
        double *of_mine = r + SIDES * u;
        for (int s = 0; s < sides; ++s) of_mine[s] -= w->whole[t->start[u]] * mine[s];
        for (int i = t->start[u] + 1; i < t->start[u + 1]; ++i) {
            const double value = w->whole[i], *other = x + SIDES * t->below[i];
            double *of_other = r + SIDES * t->below[i];
            for (int s = 0; s < sides; ++s) {
                of_mine[s] -= value * other[s];
                of_other[s] -= value * mine[s];
            }
        }
    }
}

/* Softness of rows that may depend on each other, as a part of what the rows weigh: with less of it
 * multipliers are lost to rounding, with more the iteration takes longer. */
static const double softness = 1e-6;
/* Change of accelerations that ends the iteration, as a part of themselves, and steps to get there. */
static const double settled = 1e-14;
enum { STEPS = 20 };

/* Sum of J^2 / H over a cluster's entries by its number of rows: about what a row weighs. */
static double weight_of_rows(const Tables *t, const Workspace *w, int begin, int end) {
    double sum = 0.0;
    int rows = 0;
    for (int u = begin; u < end; ++u) {
        if (t->is_row[u]) {
            ++rows;
            continue;
        }
        for (int i = t->start[u] + 1; i < t->start[u + 1]; ++i) {
            if (t->is_row[t->below[i]]) sum += w->whole[i] * w->whole[i] / w->whole[t->start[u]];
        }
    }
    return rows ? sum / rows : 0.0;
}

/* Solve the equations of a cluster whose rows may depend on each other.
 *
 * Rows yield a little, -softness in place of the zeros, and what they yielded is put right by
 * iteration (Parikh and Boyd, Proximal algorithms, 4.1): accelerations settle where rows that depend
 * on each other agree, and multipliers at the smallest ones. Sides are the right-hand side and, where
 * the cluster is not on the ground, those of the six accelerations of its parent; the solutions
 * take their place. Returns 1 where they do not settle. */
static int solve_softly(const Tables *t, Workspace *w, int c, Reading *at) {
    const int begin = t->cluster_unknown[c], end = t->cluster_unknown[c + 1];
    const int sides = t->cluster_parent[c] == 0 ? 1 : SIDES;
    double *x = w->found, *r = w->missing;
    for (int i = t->start[begin]; i < t->start[end]; ++i) w->whole[i] = w->entry[i];
    const double yielding = -softness * weight_of_rows(t, w, begin, end);
    note_pivots(t, w, begin, end);
    for (int u = begin; u < end; ++u) {
        double *side = w->side + SIDES * u;
        if (t->is_row[u]) w->entry[t->start[u]] += yielding;
        side[0] = w->solution[u];
        for (int s = 1; s < sides; ++s) side[s] = w->border[6 * u + s - 1];
        fill(0.0, SIDES, x + SIDES * u);
    }
    if (sides == 1 ? factorise(t, w, c, 0, &at->update) : factorise(t, w, c, 6, &at->update)) {
        return 1;
    }
    for (int step = 0; step < STEPS; ++step) {
        double change[SIDES] = {0}, size[SIDES] = {0};
        for (int i = SIDES * begin; i < SIDES * end; ++i) r[i] = w->side[i];
        take_product(t, w, begin, end, sides, x, r);
        solve_forth(t, w, begin, end, sides, r);
        solve_back(t, w, begin, end, sides, r);
        int done = 1;
        for (int u = begin; u < end; ++u) {
            for (int s = 0; s < sides; ++s) {
                const double by = r[SIDES * u + s];
                x[SIDES * u + s] += by;
                if (t->is_row[u]) continue;
                change[s] = fmax(change[s], fabs(by));
                size[s] = fmax(size[s], fabs(x[SIDES * u + s]));
            }
        }
        for (int s = 0; s < sides; ++s) done = done && change[s] <= settled * size[s];
        if (!done) continue;
        for (int u = begin; u < end; ++u) {
            w->solution[u] = x[SIDES * u];
            for (int s = 1; s < sides; ++s) w->border[6 * u + s - 1] = x[SIDES * u + s];
        }
        return 0;
    }
    return 1;
}

/* What a soft cluster takes from the inertia of its parent, and adds to its wrench. */
static void yield_softly(const Tables *t, Workspace *w, int begin, int end, int parent) {
    double *M = w->spatial + 36 * parent, *f = w->wrench + 6 * parent;
    for (int u = begin; u < end; ++u) {
        const double *F = w->side + SIDES * u + 1, *X = w->border + 6 * u;
        if (t->is_row[u]) continue; /* a parent's acceleration moves no row */
        for (int i = 0; i < 6; ++i) {
            for (int j = 0; j < 6; ++j) M[6 * i + j] -= F[i] * X[j];
            f[i] += F[i] * w->solution[u];
        }
    }
}

/* Take from the multipliers of a soft cluster what does nothing.
 *
 * Where rows yield, multipliers that do nothing are a solution of the equations for their own
 * yielding, and others hardly are: a few solutions leave nothing else of them. */
static void take_idle(const Tables *t, Workspace *w, int c) {
    const int begin = t->cluster_unknown[c], end = t->cluster_unknown[c + 1];
    const double yielding = -softness * weight_of_rows(t, w, begin, end);
    double *x = w->found;
    for (int u = begin; u < end; ++u) x[SIDES * u] = w->solution[u];
    for (int again = 0; again < 4; ++again) {
        for (int u = begin; u < end; ++u) x[SIDES * u] *= t->is_row[u] ? yielding : 0.0;
        solve_forth(t, w, begin, end, 1, x);
        solve_back(t, w, begin, end, 1, x);
    }
    for (int u = begin; u < end; ++u) {
        if (t->is_row[u]) w->solution[u] -= x[SIDES * u];
    }
}
