/* Factors of the equations of clusters, by a pattern that was found once.
 *
 * Unknowns are eliminated one by one; see regularize/dynamics/step/elimination.py.
 */

/* Entries of unknowns: where those of each begin, the unknowns below it, whether the entries that its
 * pivot changes are the first ones of these (block), and a list of the entries that other pivots change. */
typedef struct {
    const int *start, *below, *block, *update;
} Factors;

/* Eliminate an unknown: put the inverse of its pivot in the place of that, and take what it makes of
 * entries from those; its pivot. */
static inline double eliminate_unknown(Factors *pattern, double *restrict entry, int u) {
    const int first = pattern->start[u], last = pattern->start[u + 1], solid = pattern->block[u];
    const double pivot = entry[first], inverse = 1.0 / pivot;
    entry[first] = inverse;
    for (int i = first + 1; i < last; ++i) {
        const double l = entry[i] * inverse;
        double *other = entry + pattern->start[pattern->below[i]] - i;
        if (solid) {
            for (int j = i; j < last; ++j) other[j] -= l * entry[j];
        } else {
            for (int j = i; j < last; ++j) entry[*pattern->update++] -= l * entry[j];
        }
        entry[i] = l;
    }
    return pivot;
}

/* Whether a pivot has the sign that independent rows and positive masses give it. */
static inline int sound(const Tables *t, int u, double pivot) {
    return t->is_row[u] ? pivot < 0.0 : pivot > 0.0;
}

/* Pivots of rows by the largest one of their cluster below which accelerations lose digits; for rows
 * that come before some of their columns, sooner, as others know what these pivots do not. */
static const double doubtful = 1e-7, doubtful_early = 1e-6;

/* Doubt about accelerations: none, where pivots are small, where those of rows that come early are not
 * sound, so that there are no accelerations, and where these were found in another way. */
enum { NONE, SMALL, LOST, REPLACED };

/* The first half of the solution of some unknowns, with a border of so many columns. */
static inline void solve_forth(const Factors *of, const double *entry, double *restrict solution,
                               double *restrict border, int begin, int end, const int columns) {
    for (int u = begin; u < end; ++u) {
        const double y = solution[u];
        for (int i = of->start[u] + 1; i < of->start[u + 1]; ++i) {
            const int other = of->below[i];
            solution[other] -= entry[i] * y;
            for (int k = 0; k < columns; ++k) {
                border[columns * other + k] -= entry[i] * border[columns * u + k];
            }
        }
    }
}

/* Factors L D L^T of a cluster's equations, and the solution's first half, with a border of so many
 * columns.
 *
 * The entries become those of L, with the inverse pivots of D in the first place of each. Returns 1
 * where a pivot is not sound. */
static inline int factorise(const Tables *t, Workspace *w, int c, const int columns,
                            const int **update) {
    const int begin = t->cluster_unknown[c], end = t->cluster_unknown[c + 1];
    Factors pattern = {t->start, t->below, t->block, *update};
    double least = 0.0, most = 0.0;
    for (int u = begin; u < end; ++u) {
        const double pivot = eliminate_unknown(&pattern, w->entry, u);
        if (!sound(t, u, pivot)) {
            w->doubt[0] = t->early[c] ? LOST : NONE;
            return 1;
        }
        if (!t->is_row[u]) continue;
        if (pivot < most) most = pivot;
        if (least == 0.0 || pivot > least) least = pivot;
    }
    solve_forth(&pattern, w->entry, w->solution, w->border, begin, end, columns);
    if (least > (t->early[c] ? doubtful_early : doubtful) * most) w->doubt[0] = SMALL;
    if (most < 0.0) w->clearness[0] = fmin(w->clearness[0], least / most);
    *update = pattern.update;
    return 0;
}

/* The second half of the solution of some unknowns. */
static void solve_back(const Factors *of, const double *entry, double *restrict solution, int begin,
                       int end) {
    for (int u = end - 1; u >= begin; --u) {
        double y = entry[of->start[u]] * solution[u];
        for (int i = of->start[u] + 1; i < of->start[u + 1]; ++i) {
            y -= entry[i] * solution[of->below[i]];
        }
        solution[u] = y;
    }
}
