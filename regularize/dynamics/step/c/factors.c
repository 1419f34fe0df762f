/* Factors of the equations of clusters, by a pattern that was found once.
 *
 * Unknowns are eliminated one by one; see regularize/dynamics/step/elimination.py.
 */

/* Most unknowns of a block. */
enum { WIDEST = 5 };

/* Entries of unknowns: where those of each begin, the unknowns below it, how its pivot changes those
 * of these (block), and a list of the entries that other pivots change. */
typedef struct {
    const int *start, *below, *block, *update;
} Factors;

/* Take from the entries of a block's unknowns a, b, ... with so many below what those before them make
 * of them, by the entries L of the block. */
UNROLLED void take_before(const int width, int count, double (*l)[WIDEST],
                          const double *restrict a, double *restrict b, double *restrict c,
                          double *restrict d, double *restrict e) {
    if (width == 1) return;
    for (int j = 0; j < count; ++j) {
        b[j] -= l[0][1] * a[j];
        if (width > 2) c[j] -= l[0][2] * a[j] + l[1][2] * b[j];
        if (width > 3) d[j] -= l[0][3] * a[j] + l[1][3] * b[j] + l[2][3] * c[j];
        if (width > 4) e[j] -= l[0][4] * a[j] + l[1][4] * b[j] + l[2][4] * c[j] + l[3][4] * d[j];
    }
}

/* Take multiples of so many of them from those of another one. */
UNROLLED void take_block(const int width, int count, const double *l, const double *restrict a,
                         const double *restrict b, const double *restrict c,
                         const double *restrict d, const double *restrict e,
                         double *restrict other) {
    for (int j = 0; j < count; ++j) {
        double change = l[0] * a[j];
        if (width > 1) change += l[1] * b[j];
        if (width > 2) change += l[2] * c[j];
        if (width > 3) change += l[3] * d[j];
        if (width > 4) change += l[4] * e[j];
        other[j] -= change;
    }
}

/* The pivot of an unknown of a block, and what its entries with those before it become; loops of
 * constant lengths one by one, as compilers leave nested ones. */
UNROLLED double pivot_of(const int r, double *const *row, double (*l)[WIDEST],
                         const double *inverse) {
    double pivot = row[r][r], x[WIDEST];
    if (r > 0) x[0] = row[0][r];
    if (r > 1) x[1] = row[1][r] - l[0][1] * x[0];
    if (r > 2) x[2] = row[2][r] - l[0][2] * x[0] - l[1][2] * x[1];
    if (r > 3) x[3] = row[3][r] - l[0][3] * x[0] - l[1][3] * x[1] - l[2][3] * x[2];
    for (int s = 0; s < r; ++s) {
        row[s][r] = l[s][r] = x[s] * inverse[s];
        pivot -= l[s][r] * x[s];
    }
    return pivot;
}

/* Eliminate the unknowns of a block, so many: put the inverses of their pivots in their places, and
 * take what they make of them from the entries of those below. */
UNROLLED void eliminate_block(const Factors *pattern, double *entry, int u, const int width,
                              double *pivot) {
    const int *start = pattern->start + u, *below = pattern->below + start[width - 1] + 1 - width;
    const int end = start[width] - start[width - 1] - 1 + width;
    double *row[WIDEST], inverse[WIDEST], l[WIDEST][WIDEST], factor[WIDEST] = {0};
    for (int s = 0; s < WIDEST; ++s) row[s] = entry + (s < width ? start[s] - s : start[0]);
    pivot[0] = row[0][0], inverse[0] = 1.0 / pivot[0];
    if (width > 1) pivot[1] = pivot_of(1, row, l, inverse), inverse[1] = 1.0 / pivot[1];
    if (width > 2) pivot[2] = pivot_of(2, row, l, inverse), inverse[2] = 1.0 / pivot[2];
    if (width > 3) pivot[3] = pivot_of(3, row, l, inverse), inverse[3] = 1.0 / pivot[3];
    if (width > 4) pivot[4] = pivot_of(4, row, l, inverse), inverse[4] = 1.0 / pivot[4];
    for (int s = 0; s < width; ++s) row[s][s] = inverse[s];
    take_before(width, end - width, l, row[0] + width, row[1] + width, row[2] + width,
                row[3] + width, row[4] + width);
    for (int i = width; i < end; ++i) {
        double *other = entry + pattern->start[below[i]];
        for (int s = 0; s < width; ++s) factor[s] = row[s][i] * inverse[s];
        take_block(width, end - i, factor, row[0] + i, row[1] + i, row[2] + i, row[3] + i,
                   row[4] + i, other);
        for (int s = 0; s < width; ++s) row[s][i] = factor[s];
    }
}

/* The same of an unknown that has a list of these entries. */
static inline void eliminate_listed(Factors *pattern, double *restrict entry, int u,
                                    double *pivot) {
    const int first = pattern->start[u], last = pattern->start[u + 1];
    const double inverse = 1.0 / entry[first];
    pivot[0] = entry[first];
    entry[first] = inverse;
    for (int i = first + 1; i < last; ++i) {
        const double l = entry[i] * inverse;
        for (int j = i; j < last; ++j) entry[*pattern->update++] -= l * entry[j];
        entry[i] = l;
    }
}

/* Eliminate the unknowns of the block that begins with one; their number, and their pivots. */
static int eliminate_unknowns(Factors *pattern, double *entry, int u, double *pivot) {
    switch (pattern->block[u]) {
    case 0: eliminate_listed(pattern, entry, u, pivot); return 1;
    case 1: eliminate_block(pattern, entry, u, 1, pivot); return 1;
    case -1: eliminate_block(pattern, entry, u, 2, pivot); return 2;
    case -2: eliminate_block(pattern, entry, u, 3, pivot); return 3;
    case -3: eliminate_block(pattern, entry, u, 4, pivot); return 4;
    default: eliminate_block(pattern, entry, u, WIDEST, pivot); return WIDEST;
    }
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

/* The first half of the solution of the unknowns of a block, with a border of so many columns; the
 * unknown behind them. */
UNROLLED int solve_block_forth(const Factors *of, const double *entry, double *restrict solution,
                               double *border, int u, const int width, const int columns) {
    const int *start = of->start + u, *below = of->below + start[width - 1] + 1 - width;
    const int end = start[width] - start[width - 1] - 1 + width;
    double *mine = border + columns * u, y[WIDEST];
    const double *row[WIDEST];
    for (int s = 0; s < width; ++s) {
        row[s] = entry + start[s] - s;
        y[s] = solution[u + s];
        for (int r = 0; r < s; ++r) {
            y[s] -= row[r][s] * y[r];
            add_times(-row[r][s], mine + columns * r, columns, mine + columns * s);
        }
        solution[u + s] = y[s];
    }
    for (int i = width; i < end; ++i) {
        double l[WIDEST], *of_other = border + columns * below[i], change = 0.0;
        for (int s = 0; s < width; ++s) l[s] = row[s][i], change += l[s] * y[s];
        solution[below[i]] -= change;
        for (int k = 0; k < columns; ++k) {
            change = l[0] * mine[k];
            for (int s = 1; s < width; ++s) change += l[s] * mine[columns * s + k];
            of_other[k] -= change;
        }
    }
    return u + width;
}

/* The first half of the solution of some unknowns. */
static inline void solve_forth(const Factors *of, const double *entry, double *solution, double *border,
                               int u, int end, const int columns) {
    while (u < end) {
        switch (of->block[u]) {
        case -1: u = solve_block_forth(of, entry, solution, border, u, 2, columns); break;
        case -2: u = solve_block_forth(of, entry, solution, border, u, 3, columns); break;
        case -3: u = solve_block_forth(of, entry, solution, border, u, 4, columns); break;
        case -4: u = solve_block_forth(of, entry, solution, border, u, WIDEST, columns); break;
        default: u = solve_block_forth(of, entry, solution, border, u, 1, columns);
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
    double least = 0.0, most = 0.0, pivot[WIDEST];
    for (int u = begin; u < end;) {
        const int first = u, last = u + eliminate_unknowns(&pattern, w->entry, u, pivot);
        for (; u < last; ++u) {
            const double mine = pivot[u - first];
            if (!sound(t, u, mine)) {
                w->doubt[0] = t->early[c] ? LOST : NONE;
                return 1;
            }
            if (!t->is_row[u]) continue;
            if (mine < most) most = mine;
            if (least == 0.0 || mine > least) least = mine;
        }
    }
    solve_forth(&pattern, w->entry, w->solution, w->border, begin, end, columns);
    if (least > (t->early[c] ? doubtful_early : doubtful) * most) w->doubt[0] = SMALL;
    if (most < 0.0) w->clearness[0] = fmin(w->clearness[0], least / most);
    *update = pattern.update;
    return 0;
}

/* The second half of the solution of the unknowns of a block. */
UNROLLED void solve_block_back(const Factors *of, const double *entry, double *restrict solution,
                               int u, const int width) {
    const int *start = of->start + u, *below = of->below + start[width - 1] + 1 - width;
    const int end = start[width] - start[width - 1] - 1 + width;
    double y[WIDEST];
    const double *row[WIDEST];
    for (int s = 0; s < width; ++s) {
        row[s] = entry + start[s] - s;
        y[s] = row[s][s] * solution[u + s];
    }
    for (int i = width; i < end; ++i) {
        const double other = solution[below[i]];
        for (int s = 0; s < width; ++s) y[s] -= row[s][i] * other;
    }
    for (int s = width - 1; s >= 0; --s) {
        for (int r = s + 1; r < width; ++r) y[s] -= row[s][r] * y[r];
        solution[u + s] = y[s];
    }
}

/* The second half of the solution of some unknowns. */
static void solve_back(const Factors *of, const double *entry, double *solution, int begin, int end) {
    while (end > begin) {
        switch (of->block[end - 1]) {
        case 2: solve_block_back(of, entry, solution, end -= 2, 2); break;
        case 3: solve_block_back(of, entry, solution, end -= 3, 3); break;
        case 4: solve_block_back(of, entry, solution, end -= 4, 4); break;
        case WIDEST: solve_block_back(of, entry, solution, end -= WIDEST, WIDEST); break;
        default: solve_block_back(of, entry, solution, end -= 1, 1);
        }
    }
}

static void solve_unknowns_back(const Tables *t, Workspace *w, int begin, int end) {
    const Factors pattern = {t->start, t->below, t->block, NULL};
    solve_back(&pattern, w->entry, w->solution, begin, end);
}
