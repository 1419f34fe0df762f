/* Rows of closures: covectors, right-hand sides, and entries at the columns on both sides. */

/* Where the lists of the step are read. */
typedef struct {
    const int *h, *j, *update, *body, *row, *constant;
} Reading;

/* Joint force of a column. */
static inline double force_of(const Tables *t, int k, const double *tau) {
    return t->own[k] ? tau[t->rate[k]] : 0.0;
}

/* Twist of a closure's row frame point x as a point of what column k of link b moves. */
static inline void twist_at(const Workspace *w, int b, int k, const double *x, double *twist) {
    double arm[3];
    subtract(x, w->pose + 12 * b + 9, arm);
    copy(w->motion + 6 * k, twist);
    copy(w->motion + 6 * k + 3, twist + 3);
    add_cross(twist + 3, arm, twist);
}

/* Entries of a closure's rows at the columns from a link down to another one. */
static void load_way(const Tables *t, Workspace *w, int c, int b, double sign, const double *x,
                     Reading *at) {
    for (; b != t->last_common[c]; b = t->parent[b]) {
        for (int k = t->column[b]; k < t->column[b + 1]; ++k) {
            double twist[6];
            twist_at(w, b, k, x, twist);
            for (int r = t->row[c]; r < t->row[c + 1]; ++r) {
                const double *g = w->covectors + 6 * r;
                w->entry[*at->j++] = sign * work(g, twist);
            }
        }
    }
}

/* Velocity and acceleration of a link at a point, while no column accelerates. */
static inline void motion_at(const Workspace *w, int b, const double *x, double *v, double *a) {
    const double *V = w->twist + 6 * b, *A = w->drift + 6 * b;
    double arm[3], swept[3];
    subtract(x, w->pose + 12 * b + 9, arm);
    cross(V + 3, arm, swept);
    sum(V, swept, v);
    copy(A, a);
    add_cross(A + 3, arm, a);
    add_cross(V + 3, swept, a);
}

/* The point that the rows of a closure refer to. */
static inline void row_point(const Tables *t, const Workspace *w, int c, double *x) {
    const double *pose = w->pose + 12 * t->first[c];
    rotate(pose, t->row_point + 3 * c, x);
    add(pose + 9, x);
}

/* Covectors of a closure in ground axes about its point. */
static inline void turn_covectors(const Tables *t, Workspace *w, int c) {
    const double *pose = w->pose + 12 * t->first[c];
    for (int r = t->row[c]; r < t->row[c + 1]; ++r) {
        rotate(pose, t->covector + 6 * r, w->covectors + 6 * r);
        rotate(pose, t->covector + 6 * r + 3, w->covectors + 6 * r + 3);
    }
}

/* Rate of the velocity of a closure's second link against the first at a point that the latter
 * carries, in its axes, while no column accelerates.
 *
 * In a frame that moves with the first link, the relative velocity u = v2 - v1 at its origin and
 * the relative rate have the rates a2 - a1 - (O1 + O2) x u and alpha2 - alpha1 - O1 x O2. */
static inline void rate_at_rest(const Tables *t, const Workspace *w, int c, const double *x,
                                double *rate) {
    const int one = t->first[c], two = t->second[c];
    const double *O1 = w->twist + 6 * one + 3, *O2 = w->twist + 6 * two + 3;
    double v1[3], a1[3], v2[3], u[3], both[3];
    motion_at(w, one, x, v1, a1);
    motion_at(w, two, x, v2, rate);
    subtract(v1, v2, u);
    sum(O1, O2, both);
    add_scaled(-1.0, a1, rate);
    subtract(w->drift + 6 * two + 3, w->drift + 6 * one + 3, rate + 3);
    add_cross(both, u, rate);
    add_cross(O2, O1, rate + 3);
}

/* Right-hand sides of a closure's rows about their point x, after turn_covectors(). */
static void load_sides(const Tables *t, Workspace *w, int c, const double *x) {
    double rate[6];
    rate_at_rest(t, w, c, x, rate);
    for (int r = t->row[c]; r < t->row[c + 1]; ++r) {
        const double *g = w->covectors + 6 * r;
        w->row_side[r] = -dot(g, rate) - dot(g + 3, rate + 3) - w->wanted[r];
        w->solution[t->row_unknown[r]] = w->row_side[r];
    }
}

/* Acceleration of a closure's second link against the first at a point, beyond what it is at none. */
static inline void rate_between(const Tables *t, const Workspace *w, int c, const double *x,
                                double *rate) {
    const double *one = w->acceleration + 6 * t->first[c], *two = w->acceleration + 6 * t->second[c];
    double d[3];
    for (int i = 0; i < 6; ++i) rate[i] = two[i] - one[i];
    subtract(x, w->pose + 12 * t->second[c] + 9, d);
    add_cross(two + 3, d, rate);
    subtract(w->pose + 12 * t->first[c] + 9, x, d);
    add_cross(one + 3, d, rate);
}

/* Add a wrench at a point to that of a closure's second link, and take it from that of the first. */
static inline void push_apart(const Tables *t, Workspace *w, int c, const double *x,
                              const double *wrench) {
    const double back[6] = {-wrench[0], -wrench[1], -wrench[2], -wrench[3], -wrench[4], -wrench[5]};
    double d[3];
    subtract(x, w->pose + 12 * t->second[c] + 9, d);
    add_wrench(wrench, d, w->wrench + 6 * t->second[c]);
    subtract(x, w->pose + 12 * t->first[c] + 9, d);
    add_wrench(back, d, w->wrench + 6 * t->first[c]);
}

/* Entries of a closure's rows. */
static void load_closure(const Tables *t, Workspace *w, int c, Reading *at) {
    double x[3];
    row_point(t, w, c, x);
    turn_covectors(t, w, c);
    load_sides(t, w, c, x);
    load_way(t, w, c, t->second[c], 1.0, x, at);
    load_way(t, w, c, t->first[c], -1.0, x, at);
}

/* What curves add to the rates of the constant rows while no velocity changes. */
static void bend_constants(const Tables *t, Workspace *w, const double *rates) {
    if (!t->size[curves_size]) return;
    move_curves(t, w, rates);
    fill(0.0, t->size[rows_size], w->bend);
    add_curve_rates(t, w, w->bend);
}

/* Right-hand side of a constant row: what is wanted of a coupling; links that follow have none. */
static inline void load_constant(const Tables *t, Workspace *w, int row) {
    const int r = t->size[loop_rows_size] + row;
    w->solution[t->row_unknown[r]] = r < t->size[rows_size] ? -w->wanted[r] : 0.0;
    if (t->size[curves_size] && r < t->size[rows_size]) w->solution[t->row_unknown[r]] -= w->bend[r];
}

/* Entries and right-hand sides of a cluster's constant rows. */
static inline void load_constants(const Tables *t, Workspace *w, int c, Reading *at) {
    for (int i = t->cluster_constant[c]; i < t->cluster_constant[c + 1]; ++i) {
        const int row = t->constant_list[i];
        load_constant(t, w, row);
        for (int k = t->coupling[row]; k < t->coupling[row + 1]; ++k) {
            w->entry[*at->j++] = coefficients(t, w)[k];
        }
    }
}
