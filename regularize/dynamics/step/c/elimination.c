/* Velocities that the rows leave free, and linear systems with the rows as constraints.
 *
 * Sets of rows that share no velocity are taken one by one. In each, complete pivoting chooses as
 * many independent rows and bound velocities as its rank says, so that J = (J_D, J_I) gives the
 * bound velocities as -X times the free ones, X = J_D^-1 J_I, and N = (-X; 1). Then
 *     M da - J^T dl = f,  J da = -c
 * is solved by da_I = (N^T M N)^-1 (N^T f + (M N)_D^T e),  da_D = -e - X da_I,  e = J_D^-1 c.
 * No multiplier and no inverse of M is needed, which may be singular.
 */

/* Largest part of a pivot that may be left of the diagonal before it counts as no mass. */
#define MASSLESS 1e-11
/* Pivots by the largest one of a set below which its rows have not their rank. */
#define DEPENDENT 1e-12

/* A set of rows: its rows and velocities, the pivots found, and where its links begin. */
typedef struct {
    int index, rows, columns, rank, done, loose;
    const int *row, *velocity;
    int *order;
    double *pivots, *rates; /* (rows, columns): L, U and X behind U; (rank, 2 columns) */
} Set;

static inline int *bound_velocities(const Workspace *w) { return (int *)w->bound; }

static inline int *free_velocities(const Workspace *w) { return (int *)w->loose; }

/* Read the next set, where there is one. */
static inline void read_set(const Tables *t, Set *set) {
    const int s = set->index++;
    if (s >= t->size[sets_size]) return;
    set->done += set->rank, set->loose += set->columns - set->rank;
    set->pivots += set->rows * set->columns, set->rates += 2 * set->rank * set->columns;
    set->order += set->rows;
    set->rows = t->set_row[s + 1] - t->set_row[s];
    set->columns = t->set_velocity[s + 1] - t->set_velocity[s];
    set->rank = t->set_rank[s];
    set->row = t->row_of_set + t->set_row[s];
    set->velocity = t->velocity_of_set + t->set_velocity[s];
}

/* The first set. Free velocities that are on no row come before those of sets. */
static inline Set first_set(const Tables *t, const Workspace *w) {
    Set set = {0};
    set.loose = t->size[alone_size], set.order = (int *)w->order;
    set.pivots = w->set_factors, set.rates = w->row_response;
    read_set(t, &set);
    return set;
}

#define EACH_SET(set)                                                                              \
    for (Set set = first_set(t, w); set.index <= t->size[sets_size]; read_set(t, &set))

static inline void swap_rows(double *a, double *b, int count) {
    for (int i = 0; i < count; ++i) {
        const double kept = a[i];
        a[i] = b[i], b[i] = kept;
    }
}

static inline void swap_numbers(int *a, int *b) {
    const int kept = *a;
    *a = *b, *b = kept;
}

/* Bring the largest entry that is left to the place of pivot k, of row k alone where the rows are
 * given; its size. */
static double choose_pivot(Set *set, int *velocity, int given, int k) {
    const int m = set->rows, n = set->columns;
    double *W = set->pivots, most = 0.0;
    int row = k, column = k;
    for (int i = k; i < (given ? k + 1 : m); ++i) {
        for (int j = k; j < n; ++j) {
            if (fabs(W[n * i + j]) > most) most = fabs(W[n * i + j]), row = i, column = j;
        }
    }
    if (row != k) {
        swap_rows(W + n * row, W + n * k, n);
        swap_numbers(&set->order[row], &set->order[k]);
    }
    if (column != k) {
        for (int i = 0; i < m; ++i) swap_rows(W + n * i + column, W + n * i + k, 1);
        swap_numbers(&velocity[column], &velocity[k]);
    }
    return most;
}

/* Subtract multiples of rows below pivot row k, and X = U^-1 (columns behind the rank) at the end.
 * Independent rows are given; of others those that are chosen, or were before. */
static int eliminate_set(Set *set, const double *J, int nv, double dependent, int *velocity,
                         int chosen, double *clearness) {
    const int n = set->columns, rank = set->rank, m = chosen ? rank : set->rows;
    const int given = chosen || rank == m;
    double *W = set->pivots;
    for (int j = 0; j < n; ++j) velocity[j] = set->velocity[j];
    for (int i = 0; i < m; ++i) {
        if (!chosen) set->order[i] = set->row[i];
        for (int j = 0; j < n; ++j) W[n * i + j] = J[nv * set->order[i] + velocity[j]];
    }
    double largest = 0.0, least = INFINITY;
    for (int k = 0; k < rank; ++k) {
        const double pivot = choose_pivot(set, velocity, given, k);
        if (pivot > largest) largest = pivot;
        if (!(pivot > dependent * largest)) return 1;
        least = fmin(least, pivot);
        for (int i = k + 1; i < m; ++i) {
            const double factor = W[n * i + k] /= W[n * k + k];
            if (factor != 0.0) add_times(-factor, W + n * k + k + 1, n - k - 1, W + n * i + k + 1);
        }
    }
    if (rank) *clearness = fmin(*clearness, least * least / (largest * largest));
    for (int k = rank - 1; k >= 0; --k) {
        double *X = W + n * k + rank;
        for (int i = k + 1; i < rank; ++i) {
            if (W[n * k + i] != 0.0) add_times(-W[n * k + i], W + n * i + rank, n - rank, X);
        }
        for (int j = 0; j < n - rank; ++j) X[j] /= W[n * k + k];
    }
    return 0;
}

/* Bound and free velocities at rows J (rows, nv), of dependent ones those that were chosen the last
 * time, where wanted; 1 where the rows have not their rank, by pivots below a part of the largest
 * one. */
static int eliminate(const Tables *t, Workspace *w, const double *J, double dependent,
                     int chosen) {
    int *bound = bound_velocities(w), *loose = free_velocities(w), *velocity = (int *)w->swapped;
    for (int i = 0; i < t->size[alone_size]; ++i) loose[i] = t->velocity_alone[i];
    EACH_SET(set) {
        if (eliminate_set(&set, J, t->size[nv_size], dependent, velocity, chosen, w->clearness)) return 1;
        for (int k = 0; k < set.columns; ++k) {
            if (k < set.rank) {
                bound[set.done + k] = velocity[k];
            } else {
                loose[set.loose + k - set.rank] = velocity[k];
            }
        }
    }
    return 0;
}

/* Cholesky factor of a symmetric matrix, its diagonal inverted; 1 where it is not positive. */
static int factor_mass(double *H, int d) {
    for (int i = 0; i < d; ++i) {
        double *row = H + d * i;
        const double whole = row[i];
        for (int j = 0; j < i; ++j) {
            const double *other = H + d * j;
            for (int k = 0; k < j; ++k) row[j] -= row[k] * other[k];
            row[j] *= other[j];
        }
        for (int k = 0; k < i; ++k) row[i] -= row[k] * row[k];
        if (!(row[i] > MASSLESS * whole)) return 1;
        row[i] = 1.0 / sqrt(row[i]);
    }
    return 0;
}

/* M N (nv, free). */
static void multiply_mass(const Tables *t, Workspace *w, const double *M) {
    const int nv = t->size[nv_size], d = t->size[free_size];
    const int *bound = bound_velocities(w), *loose = free_velocities(w);
    for (int i = 0; i < nv; ++i) {
        double *T = w->basis + d * i;
        for (int k = 0; k < d; ++k) T[k] = M[nv * i + loose[k]];
        EACH_SET(set) {
            const int count = set.columns - set.rank;
            for (int k = 0; k < set.rank; ++k) {
                const double entry = M[nv * i + bound[set.done + k]];
                const double *X = set.pivots + set.columns * k + set.rank;
                if (entry != 0.0) add_times(-entry, X, count, T + set.loose);
            }
        }
    }
}

/* M N and the factor of N^T M N for M (nv, nv); 1 where a free velocity moves no mass. */
static int condense(const Tables *t, Workspace *w, const double *M) {
    const int d = t->size[free_size];
    const int *bound = bound_velocities(w), *loose = free_velocities(w);
    multiply_mass(t, w, M);
    for (int k = 0; k < d; ++k) {
        for (int i = 0; i < d; ++i) w->reduced[d * k + i] = w->basis[d * loose[k] + i];
    }
    EACH_SET(set) {
        for (int k = 0; k < set.rank; ++k) {
            const double *X = set.pivots + set.columns * k + set.rank;
            const double *T = w->basis + d * bound[set.done + k];
            for (int j = set.loose; j < set.loose + set.columns - set.rank; ++j) {
                add_times(-X[j - set.loose], T, j + 1, w->reduced + d * j);
            }
        }
    }
    return factor_mass(w->reduced, d);
}

/* J_D^-1 on values (rank, width), in place. */
static void solve_rows(const Set *set, double *values, int width) {
    const int n = set->columns, rank = set->rank;
    const double *W = set->pivots;
    for (int k = 0; k < rank; ++k) {
        for (int i = 0; i < k; ++i) {
            if (W[n * k + i] == 0.0) continue;
            add_times(-W[n * k + i], values + width * i, width, values + width * k);
        }
    }
    for (int k = rank - 1; k >= 0; --k) {
        double *row = values + width * k;
        for (int i = k + 1; i < rank; ++i) {
            if (W[n * k + i] != 0.0) add_times(-W[n * k + i], values + width * i, width, row);
        }
        const double inverse = 1.0 / W[n * k + k];
        for (int j = 0; j < width; ++j) row[j] *= inverse;
    }
}

/* (N^T M N)^-1 on values (free, width), in place. */
static void solve_reduced(const Tables *t, const Workspace *w, double *values, int width) {
    const int d = t->size[free_size];
    for (int i = 0; i < d; ++i) {
        const double *row = w->reduced + d * i;
        double *mine = values + width * i;
        for (int j = 0; j < i; ++j) {
            if (row[j] != 0.0) add_times(-row[j], values + width * j, width, mine);
        }
        for (int j = 0; j < width; ++j) mine[j] *= row[i];
    }
    for (int i = d - 1; i >= 0; --i) {
        const double *row = w->reduced + d * i;
        double *mine = values + width * i;
        for (int j = 0; j < width; ++j) mine[j] *= row[i];
        for (int j = 0; j < i; ++j) {
            if (row[j] != 0.0) add_times(-row[j], mine, width, values + width * j);
        }
    }
}

/* Accelerations (nv,) under forces (nv,) at which the rows have rates -values (rows,). */
static void solve(const Tables *t, Workspace *w, const double *forces, const double *values,
                  double *a) {
    const int d = t->size[free_size];
    const int *bound = bound_velocities(w), *loose = free_velocities(w);
    double *u = w->response, *e = w->row_response;
    for (int k = 0; k < d; ++k) u[k] = forces[loose[k]];
    EACH_SET(set) {
        for (int k = 0; k < set.rank; ++k) e[set.done + k] = values[set.order[k]];
        solve_rows(&set, e + set.done, 1);
        for (int k = 0; k < set.rank; ++k) {
            const int i = bound[set.done + k];
            const double *X = set.pivots + set.columns * k + set.rank;
            add_times(e[set.done + k], w->basis + d * i, d, u);
            add_times(-forces[i], X, set.columns - set.rank, u + set.loose);
        }
    }
    solve_reduced(t, w, u, 1);
    for (int k = 0; k < d; ++k) a[loose[k]] = u[k];
    EACH_SET(set) {
        for (int k = 0; k < set.rank; ++k) {
            const double *X = set.pivots + set.columns * k + set.rank;
            double bound_one = -e[set.done + k];
            for (int j = 0; j < set.columns - set.rank; ++j) bound_one -= X[j] * u[set.loose + j];
            a[bound[set.done + k]] = bound_one;
        }
    }
}

/* Multipliers (rows,) with J^T multipliers = forces (nv,), zero on rows without a pivot. */
static void solve_multipliers(const Tables *t, Workspace *w, const double *forces,
                              double *multipliers) {
    const int *bound = bound_velocities(w);
    double *x = w->line;
    fill(0.0, t->size[rows_size], multipliers);
    EACH_SET(set) {
        const int n = set.columns, rank = set.rank;
        const double *W = set.pivots;
        for (int k = 0; k < rank; ++k) x[k] = forces[bound[set.done + k]];
        for (int k = 0; k < rank; ++k) {
            x[k] /= W[n * k + k];
            for (int i = k + 1; i < rank; ++i) x[i] -= W[n * k + i] * x[k];
        }
        for (int k = rank - 1; k >= 0; --k) {
            for (int i = 0; i < k; ++i) x[i] -= W[n * k + i] * x[k];
            multipliers[set.order[k]] = x[k];
        }
    }
}
