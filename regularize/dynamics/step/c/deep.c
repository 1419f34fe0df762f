/* Clusters in body coordinates: accelerations of bodies and columns, multipliers of rows.
 *
 * All vectors of a cluster refer to one point, so that a body's vectors and matrices are its
 * parent's where the parent stands for it. The program of a cluster is found once; see
 * regularize/dynamics/step/deep.py.
 */

enum { REPLACE, ELIMINATE };

/* A program, where it computes, and the forces of the joints: none where velocities are to be as small
 * as they can, which is what all joints resist alike then and bodies do not. */
typedef struct {
    const int *operation, *start, *code;
    double *cell;
    const double *tau;
} Program;

static Program program_of_step(const Tables *t, const Workspace *w, const double *tau) {
    const Program program = {t->deep_operation, t->deep_start, t->deep_code, w->cell, tau};
    return program;
}

/* A body's inertia may grow so many times by the elimination of a row; beyond, digits are lost. */
static const double growing = 1e7;

/* c += M a, or M^T a */
static inline void act6(const double *M, int straight, const double *a, double *restrict c) {
    if (straight) {
        for (int i = 0; i < 6; ++i) c[i] += work(M + 6 * i, a);
    } else {
        for (int i = 0; i < 6; ++i) add6(a[i], M + 6 * i, c);
    }
}

static inline void add_matrix(const double *M, int straight, double *restrict sum) {
    if (straight) {
        for (int i = 0; i < 36; ++i) sum[i] += M[i];
    } else {
        for (int i = 0; i < 6; ++i) {
            for (int j = 0; j < 6; ++j) sum[6 * i + j] += M[6 * j + i];
        }
    }
}

/* Columns of a link about a point that the link has the arm d from. */
static void carry_columns(const Tables *t, Workspace *w, int b, const double *d) {
    for (int k = t->column[b]; k < t->column[b + 1]; ++k) {
        double *J = w->carried + 6 * k;
        for (int n = 0; n < 6; ++n) J[n] = w->motion[6 * k + n];
        add_cross(d, J + 3, J);
    }
}

/* Inertias, wrenches and columns of a cluster's links about a point. */
static void load_bodies(const Tables *t, Workspace *w, int c, const double *x, const int **body) {
    for (int i = t->cluster_link[c + 1] - 1; i >= t->cluster_link[c]; --i) {
        const int b = t->link_list[i];
        double *M = w->cell + *(*body)++, *f = w->wrench + 6 * b, d[3], rigid[10] = {0};
        subtract(w->pose + 12 * b + 9, x, d);
        add_rigid(w->rigid + 10 * b, d, rigid);
        add_dense(rigid, M);
        if (t->dense[b]) add_spatial(w->spatial + 36 * b, d, M);
        add_cross(d, f, f + 3);
        carry_columns(t, w, b, d);
    }
}

/* Cells of a closure's rows, whose covectors are about their point, about another one. */
static const int *load_pairs(const Tables *t, const Workspace *w, int c, const double *point,
                             const double *x, double *cell, const int *row) {
    double d[3];
    subtract(point, x, d);
    for (int r = t->row[c]; r < t->row[c + 1]; ++r) {
        const int one = *row++, two = *row++;
        double g[6];
        for (int n = 0; n < 6; ++n) g[n] = w->covectors[6 * r + n];
        add_cross(d, g, g + 3);
        if (one >= 0) add6(-1.0, g, cell + one);
        if (two >= 0) add6(1.0, g, cell + two);
    }
    return row;
}

/* Rows of a cluster's closures and couplings about a point, and their right-hand sides: those of
 * accelerations, or errors (rows,) that are to be taken away. */
static void load_rows(const Tables *t, Workspace *w, int c, const double *x, const double *errors,
                      double *cell, const int **row, const int **entry) {
    for (int i = t->cluster_loop[c]; i < t->cluster_loop[c + 1]; ++i) {
        const int loop = t->loop_list[i];
        double point[3];
        row_point(t, w, loop, point);
        turn_covectors(t, w, loop);
        if (!errors) load_sides(t, w, loop, point);
        for (int r = t->row[loop]; errors && r < t->row[loop + 1]; ++r) {
            w->solution[t->row_unknown[r]] = -errors[r];
        }
        *row = load_pairs(t, w, loop, point, x, cell, *row);
    }
    for (int i = t->cluster_constant[c]; i < t->cluster_constant[c + 1]; ++i) {
        const int place = t->constant_list[i], r = t->size[loop_rows_size] + place;
        if (errors) w->solution[t->row_unknown[r]] = -errors[r];
        else load_constant(t, w, place);
        for (int k = t->coupling[place]; k < t->coupling[place + 1]; ++k) {
            cell[*(*entry)++] = coefficients(t, w)[k];
        }
    }
}

/* Let a body's parent stand for it. */
static const int *replace_body(const Tables *t, Workspace *w, const Program *program,
                               const int *code) {
    const double *tau = program->tau;
    const int b = code[0], first = t->column[b], last = t->column[b + 1], p = t->parent[b];
    double *cell = program->cell, *M = cell + code[1], *M_parent = code[2] < 0 ? NULL : cell + code[2];
    const double *both = code[3] < 0 ? NULL : cell + code[3], *f = w->wrench + 6 * b;
    const int rows_are_parents = code[4], scalars = code[5];
    code += 6;
    for (int n = 0; n < scalars; ++n) {
        const double *mine = cell + *code++;
        const int theirs = *code++;
        for (int k = first; k < last; ++k) cell[*code++] += work(mine, w->carried + 6 * k);
        if (theirs >= 0) add6(1.0, mine, cell + theirs);
    }
    const int bodies = *code++;
    for (int n = 0; n < bodies; ++n) {
        const double *mine = cell + *code++;
        const int rows_are_others = *code++, theirs = *code++, same = *code++;
        for (int k = first; k < last; ++k) {
            act6(mine, rows_are_others, w->carried + 6 * k, cell + *code++);
        }
        if (theirs >= 0) add_matrix(mine, rows_are_others == same, cell + theirs);
    }
    for (int k = first; k < last; ++k) {
        const double *J = w->carried + 6 * k;
        double force[6] = {0};
        act6(M, 1, J, force);
        w->solution[*code++] = (tau && t->own[k] ? tau[t->rate[k]] : 0.0) - work(J, f);
        cell[*code++] += work(J, force) + (tau ? t->armature[k] : 1.0);
        for (int i = first; i < k; ++i) cell[*code++] += work(w->carried + 6 * i, force);
        const int on_parent = *code++;
        if (on_parent >= 0) {
            add6(1.0, force, cell + on_parent);
            if (both) act6(both, rows_are_parents, J, cell + on_parent);
        }
    }
    if (M_parent) {
        add_matrix(M, 1, M_parent);
        if (both) add_matrix(both, 1, M_parent), add_matrix(both, 0, M_parent);
    }
    if (p) add6(1.0, f, w->wrench + 6 * p);
    return code;
}

/* Whether bodies can bear that a row is eliminated by a pivot. */
static inline int borne(const double *vector, const double *M, double pivot) {
    for (int i = 0; i < 6; ++i) {
        if (!(vector[i] * vector[i] <= -growing * pivot * M[7 * i])) return 0;
    }
    return 1;
}

/* Eliminate a column or a row; NULL where its pivot is not sound. */
static const int *eliminate_scalar(const Tables *t, Workspace *w, const Program *program,
                                   int outside, const int *code) {
    const int u = code[0], scalars = code[2], *scalar = code + 3;
    double *cell = program->cell, *pivot = cell + code[1];
    const int bodies = scalar[2 * scalars], *body = scalar + 2 * scalars + 1;
    if (t->is_row[u] ? !(*pivot < 0.0) : !(*pivot > 0.0)) return NULL;
    if (program->tau && t->is_row[u]) {
        for (int j = 0; j < bodies; ++j) {
            if (body[3 * j + 1] != outside
                && !borne(cell + body[3 * j], cell + body[3 * j + 2], *pivot)) {
                return NULL;
            }
        }
    }
    const double inverse = 1.0 / *pivot, y = w->solution[u];
    if (!program->tau) w->pivot[u] = *pivot;
    *pivot = inverse;
    code = body + 3 * bodies;
    for (int i = 0; i < scalars; ++i) {
        const double share = inverse * cell[scalar[2 * i]];
        w->solution[scalar[2 * i + 1]] -= share * y;
        for (int j = i; j < scalars; ++j) cell[*code++] -= share * cell[scalar[2 * j]];
        for (int j = 0; j < bodies; ++j) add6(-share, cell + body[3 * j], cell + *code++);
    }
    for (int i = 0; i < bodies; ++i) {
        double mine[6], share[6], *M = cell + body[3 * i + 2], *f = w->wrench + 6 * body[3 * i + 1];
        for (int n = 0; n < 6; ++n) {
            mine[n] = cell[body[3 * i] + n];
            share[n] = inverse * mine[n];
        }
        for (int n = 0; n < 6; ++n) add6(-share[n], mine, M + 6 * n);
        add6(y, share, f);
        for (int j = i + 1; j < bodies; ++j) {
            const double *other = cell + body[3 * j];
            double *pair = cell + *code++;
            if (*code++) {
                for (int n = 0; n < 6; ++n) add6(-share[n], other, pair + 6 * n);
            } else {
                for (int n = 0; n < 6; ++n) add6(-other[n], share, pair + 6 * n);
            }
        }
    }
    return code;
}

/* The point about which the vectors of a cluster are: the middle of its links, so that arms are
 * short. */
static void point_of(const Tables *t, const Workspace *w, int c, double *x) {
    const int first = t->cluster_link[c], last = t->cluster_link[c + 1];
    fill(0.0, 3, x);
    for (int i = first; i < last; ++i) add(w->pose + 12 * t->link_list[i] + 9, x);
    for (int i = 0; i < 3; ++i) x[i] /= last - first;
}

/* Run the program of a cluster; 1 where a pivot is not sound. */
static int run_program(const Tables *t, Workspace *w, int c, const Program *program) {
    for (int i = program->operation[c]; i < program->operation[c + 1]; ++i) {
        const int *code = program->code + program->start[i];
        code = *code == REPLACE
                   ? replace_body(t, w, program, code + 1)
                   : eliminate_scalar(t, w, program, t->cluster_parent[c], code + 1);
        if (!code) return 1;
    }
    return 0;
}

/* The second half of the solution, operation by operation from behind. */
static void run_back(const Tables *t, Workspace *w, int c, const Program *program) {
    const double *cell = program->cell;
    for (int i = program->operation[c + 1] - 1; i >= program->operation[c]; --i) {
        const int *code = program->code + program->start[i];
        if (*code++ == REPLACE) {
            const int b = *code;
            double *a = w->acceleration + 6 * b;
            for (int n = 0; n < 6; ++n) a[n] = w->acceleration[6 * t->parent[b] + n];
            for (int k = t->column[b]; k < t->column[b + 1]; ++k) {
                add6(w->solution[t->column_unknown[k]], w->carried + 6 * k, a);
            }
            continue;
        }
        const int scalars = code[2], *scalar = code + 3;
        const int bodies = scalar[2 * scalars], *body = scalar + 2 * scalars + 1;
        double y = w->solution[code[0]];
        for (int j = 0; j < scalars; ++j) y -= cell[scalar[2 * j]] * w->solution[scalar[2 * j + 1]];
        for (int j = 0; j < bodies; ++j) {
            y -= work(cell + body[3 * j], w->acceleration + 6 * body[3 * j + 1]);
        }
        w->solution[code[0]] = cell[code[1]] * y;
    }
}

/* Eliminate a cluster in body coordinates. */
static int eliminate_deep(const Tables *t, Workspace *w, int c, const double *tau, Reading *at) {
    const Program program = program_of_step(t, w, tau);
    const int parent = t->cluster_parent[c];
    double x[3], d[3], kept[6], *f = w->wrench + 6 * parent;
    point_of(t, w, c, x);
    for (int i = 0; i < 6; ++i) kept[i] = f[i], f[i] = 0.0;
    fill(0.0, t->deep_cell[c + 1] - t->deep_cell[c], w->cell + t->deep_cell[c]);
    load_bodies(t, w, c, x, &at->body);
    const int outside = *at->body++;
    load_rows(t, w, c, x, NULL, w->cell, &at->row, &at->constant);
    if (run_program(t, w, c, &program)) return 1;
    if (parent) {
        subtract(x, w->pose + 12 * parent + 9, d);
        add_spatial(w->cell + outside, d, w->spatial + 36 * parent);
        add_wrench(f, d, kept);
        for (int i = 0; i < 6; ++i) f[i] = kept[i];
    }
    return 0;
}

/* The first half of its solution for other right-hand sides: those of columns and rows, and wrenches on
 * its links, which are lost. */
static void solve_deep_forth(const Tables *t, Workspace *w, int c) {
    const double *cell = w->cell;
    const int parent = t->cluster_parent[c];
    double x[3], d[3], kept[6], *f = w->wrench + 6 * parent;
    point_of(t, w, c, x);
    for (int i = 0; i < 6; ++i) kept[i] = f[i], f[i] = 0.0;
    for (int i = t->cluster_link[c]; i < t->cluster_link[c + 1]; ++i) {
        double *mine = w->wrench + 6 * t->link_list[i];
        subtract(w->pose + 12 * t->link_list[i] + 9, x, d);
        add_cross(d, mine, mine + 3);
    }
    for (int i = t->deep_operation[c]; i < t->deep_operation[c + 1]; ++i) {
        const int *code = t->deep_code + t->deep_start[i];
        if (*code++ == REPLACE) {
            const double *mine = w->wrench + 6 * *code;
            for (int k = t->column[*code]; k < t->column[*code + 1]; ++k) {
                w->solution[t->column_unknown[k]] -= work(w->carried + 6 * k, mine);
            }
            add6(1.0, mine, w->wrench + 6 * t->parent[*code]);
            continue;
        }
        const int scalars = code[2], *scalar = code + 3;
        const int bodies = scalar[2 * scalars], *body = scalar + 2 * scalars + 1;
        const double share = cell[code[1]] * w->solution[code[0]];
        for (int j = 0; j < scalars; ++j) {
            w->solution[scalar[2 * j + 1]] -= share * cell[scalar[2 * j]];
        }
        for (int j = 0; j < bodies; ++j) {
            add6(share, cell + body[3 * j], w->wrench + 6 * body[3 * j + 1]);
        }
    }
    subtract(x, w->pose + 12 * parent + 9, d);
    add_wrench(f, d, kept);
    for (int i = 0; i < 6; ++i) f[i] = kept[i];
}

/* The second half of its solution. */
static void solve_deep(const Tables *t, Workspace *w, int c) {
    const Program program = program_of_step(t, w, NULL);
    const int parent = t->cluster_parent[c];
    double x[3], d[3], kept[3], *A = w->acceleration + 6 * parent;
    point_of(t, w, c, x);
    copy(A, kept);
    subtract(x, w->pose + 12 * parent + 9, d);
    add_cross(A + 3, d, A);
    run_back(t, w, c, &program);
    for (int i = t->cluster_link[c]; i < t->cluster_link[c + 1]; ++i) {
        const int b = t->link_list[i];
        double *a = w->acceleration + 6 * b;
        if (!t->dense[b]) continue;
        subtract(x, w->pose + 12 * b + 9, d);
        add_cross(d, a + 3, a);
    }
    copy(kept, A);
}
