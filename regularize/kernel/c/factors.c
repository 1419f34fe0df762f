/* Factors of the equations of clusters, by a pattern that was found once.
 *
 * Unknowns are eliminated one by one; see regularize/kernel/elimination.py.
 */
#include <math.h>

#include "algebra.h"
#include "spatial.h"
#include "tables.h"

/* Pivots below this part of what they were before elimination are rounding. */
static const double lost = 1e-11;
/* Most unknowns of a block. */
enum { WIDEST = 4 };

/* Entries of unknowns: where those of each begin, the unknowns below it, how its pivot changes those
 * of these (block), and a list of the entries that other pivots change. */
typedef struct {
    const int *start, *below, *block, *update;
} Factors;

/* Take from what is below an unknown what its pivot makes of it, and those of unknowns before it,
 * so many in all; divide their entries there by the pivots. */
static inline void eliminate_block(const Factors *pattern, double *restrict entry, int u,
                                   const int width) {
    const int *below = pattern->below + pattern->start[u] + 1;
    const int count = pattern->start[u + 1] - pattern->start[u] - 1;
    double *row[WIDEST], inverse[WIDEST], l[WIDEST];
    for (int s = 0; s < width; ++s) {
        row[s] = entry + pattern->start[u - s] + 1 + s;
        inverse[s] = entry[pattern->start[u - s]];
    }
    for (int i = 0; i < count; ++i) {
        double *other = entry + pattern->start[below[i]] - i;
        for (int s = 0; s < width; ++s) l[s] = row[s][i] * inverse[s];
        for (int j = i; j < count; ++j) {
            double change = l[0] * row[0][j];
            for (int s = 1; s < width; ++s) change += l[s] * row[s][j];
            other[j] -= change;
        }
        for (int s = 0; s < width; ++s) row[s][i] = l[s];
    }
}

/* Put the inverse of an unknown's pivot in its place, and take what it makes of them from the entries
 * of those below it: of those behind it in its block at once, of all others with the last of the
 * block. */
static inline void eliminate_unknown(Factors *pattern, double *restrict entry, int u) {
    const int first = pattern->start[u], last = pattern->start[u + 1], block = pattern->block[u];
    const double inverse = 1.0 / entry[first];
    entry[first] = inverse;
    if (block > 0) {
        switch (block) {
        case 1: eliminate_block(pattern, entry, u, 1); break;
        case 2: eliminate_block(pattern, entry, u, 2); break;
        case 3: eliminate_block(pattern, entry, u, 3); break;
        default: eliminate_block(pattern, entry, u, WIDEST);
        }
        return;
    }
    const int end = block == 0 ? last : first + 1 - block;
    for (int i = first + 1; i < end; ++i) {
        const double l = entry[i] * inverse;
        if (block == 0) {
            for (int j = i; j < last; ++j) entry[*pattern->update++] -= l * entry[j];
        } else {
            double *other = entry + pattern->start[u + i - first] - i;
            for (int j = i; j < last; ++j) other[j] -= l * entry[j];
        }
        entry[i] = l;
    }
}

/* Keep the pivots of columns before elimination. */
static void note_pivots(const Tables *t, Workspace *w, int begin, int end) {
    for (int u = begin; u < end; ++u) w->pivot[u] = w->entry[t->start[u]];
}

/* Whether a pivot has the sign that independent rows and positive masses give it. */
static inline int sound(const Tables *t, const Workspace *w, int u, double pivot) {
    if (t->is_row[u]) return pivot < 0.0;
    return t->massive[0] ? pivot > 0.0 : pivot > lost * w->pivot[u];
}

/* Pivots of rows by the largest one of their cluster below which accelerations lose digits; for rows
 * that come before some of their columns, sooner, as others know what these pivots do not. */
static const double doubtful = 1e-7, doubtful_early = 1e-6;

/* Doubt about accelerations: none, where pivots are small, where those of rows that come early are not
 * sound, so that there are no accelerations, and where these were found in another way. */
enum { NONE, SMALL, LOST, REPLACED };

/* Factors L D L^T of a cluster's equations, and the solution's first half, with a border of so many
 * columns.
 *
 * The entries become those of L, with the inverse pivots of D in the first place of each. Returns 1
 * where a pivot is not sound. */
static inline int factorise(const Tables *t, Workspace *w, int c, const int columns,
                            const int **update) {
    const int begin = t->cluster_unknown[c], end = t->cluster_unknown[c + 1];
    Factors pattern = {t->start, t->below, t->block, *update};
    double *entry = w->entry, least = 0.0, most = 0.0;
    for (int u = begin; u < end; ++u) {
        const double pivot = entry[t->start[u]];
        if (!sound(t, w, u, pivot)) {
            w->doubt[0] = t->early[c] ? LOST : NONE;
            return 1;
        }
        if (t->is_row[u]) {
            if (pivot < most) most = pivot;
            if (least == 0.0 || pivot > least) least = pivot;
        }
        eliminate_unknown(&pattern, entry, u);
    }
    for (int u = begin; u < end; ++u) {
        const double y = w->solution[u];
        for (int i = t->start[u] + 1; i < t->start[u + 1]; ++i) {
            const double l = entry[i];
            const int other = t->below[i];
            w->solution[other] -= l * y;
            add_times(-l, w->border + columns * u, columns, w->border + columns * other);
        }
    }
    if (least > (t->early[c] ? doubtful_early : doubtful) * most) w->doubt[0] = SMALL;
    if (most < 0.0) w->clearness[0] = fmin(w->clearness[0], least / most);
    *update = pattern.update;
    return 0;
}

/* What the unknowns below one make of the second half of its solution y, in two sums, which do not wait
 * for each other. */
static inline double solve_unknown(const Tables *t, const Workspace *w, int u, double y) {
    const double *restrict entry = w->entry, *restrict solution = w->solution;
    const int last = t->start[u + 1];
    int i = t->start[u];
    double other = 0.0;
    y *= entry[i];
    for (++i; i + 1 < last; i += 2) {
        y -= entry[i] * solution[t->below[i]];
        other -= entry[i + 1] * solution[t->below[i + 1]];
    }
    if (i < last) y -= entry[i] * solution[t->below[i]];
    return y + other;
}

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
