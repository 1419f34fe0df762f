/* The step of trees all of whose links turn about parallel axes or slide across them.
 *
 * It is that of step.c with vectors of three numbers: a twist is a velocity in the plane and a rate
 * about its normal, a wrench a force and a moment. Parts have the axes of the plane while all motions
 * are zero. Poses are a cosine, a sine and a position; rigid inertias a mass, the mass times the
 * centre and a moment of inertia; spatial ones the numbers xx xy xz yy yz zz of a matrix. Drifts are
 * accelerations of origins alone, for no link's rate changes while no column accelerates. Rooms of
 * the workspace are filled more densely then.
 */

/* b = R a */
static inline void turn_flat(const double *pose, const double *a, double *restrict b) {
    b[0] = pose[0] * a[0] - pose[1] * a[1];
    b[1] = pose[1] * a[0] + pose[0] * a[1];
}

/* Pose of link b after its parent's, the arm between their origins (2), and the twists of its
 * columns. */
static inline void place_flat(const Tables *t, Workspace *w, int b, const double *configuration) {
    const double *parent = w->pose + 4 * t->parent[b], *q = configuration + t->coordinate[b];
    const double *axis = t->flat_axis + 3 * t->column[b];
    double shift[2] = {t->flat_placement[2 * b], t->flat_placement[2 * b + 1]}, c = 1.0, s = 0.0, value;
    double *restrict pose = w->pose + 4 * b, *restrict arm = w->arm + 2 * b;
    double *restrict J = w->motion + 3 * t->column[b];
    if (t->hinge[b]) {
        angle_of(t, b, q, &c, &s);
        s *= axis[2];
    } else if (t->kind[b] == PRISMATIC) {
        value = t->scaling[b] * q[0] + t->offset[b];
        shift[0] += value * axis[0], shift[1] += value * axis[1];
    } else {
        shift[0] += q[0] * axis[0] + q[1] * axis[3], shift[1] += q[0] * axis[1] + q[1] * axis[4];
        c = q[2], s = axis[8] * q[3];
    }
    pose[0] = parent[0] * c - parent[1] * s;
    pose[1] = parent[1] * c + parent[0] * s;
    turn_flat(parent, shift, arm);
    pose[2] = parent[2] + arm[0], pose[3] = parent[3] + arm[1];
    if (t->hinge[b]) {
        J[0] = J[1] = 0.0, J[2] = axis[2];
        return;
    }
    for (int k = t->column[b]; k < t->column[b + 1]; ++k, axis += 3, J += 3) {
        turn_flat(pose, axis, J);
        J[2] = axis[2];
    }
}

/* Twist of link b and its drift, as carry_link() has them, and its inertia and wrench. */
static inline void load_flat(const Tables *t, Workspace *w, int b, const double *rates) {
    const double *V = w->twist + 3 * t->parent[b], *A = w->drift + 2 * t->parent[b];
    const double *own = t->flat_inertia + 4 * b, O = V[2];
    double *restrict v = w->twist + 3 * b, *restrict a = w->drift + 2 * b;
    double *restrict rigid = w->rigid + 4 * b, *restrict f = w->wrench + 3 * b;
    const double *d = w->arm + 2 * b;
    v[0] = V[0] - O * d[1], v[1] = V[1] + O * d[0], v[2] = O;
    a[0] = A[0] - O * O * d[0], a[1] = A[1] - O * O * d[1];
    if (t->hinge[b]) {
        const int k = t->column[b];
        v[2] += t->ratio[k] * rates[t->rate[k]] * w->motion[3 * k + 2];
    } else {
        double u[3] = {0};
        for (int k = t->column[b]; k < t->column[b + 1]; ++k) {
            add_scaled(t->ratio[k] * rates[t->rate[k]], w->motion + 3 * k, u);
        }
        const double both = 2.0 * O + u[2];
        add(u, v);
        a[0] -= both * u[1], a[1] += both * u[0];
    }
    rigid[0] = own[0], rigid[3] = own[3];
    turn_flat(w->pose + 4 * b, own + 1, rigid + 1);
    f[0] = own[0] * a[0] - v[2] * v[2] * rigid[1];
    f[1] = own[0] * a[1] - v[2] * v[2] * rigid[2];
    f[2] = rigid[1] * a[1] - rigid[2] * a[0];
}

/* Where all links are, how they move, and what that needs while no column accelerates. */
static void load_flat_links(const Tables *t, Workspace *w, const double *q, const double *rates) {
    w->pose[0] = 1.0, w->pose[1] = w->pose[2] = w->pose[3] = 0.0;
    fill(0.0, 3, w->twist);
    w->drift[0] = -t->flat_gravity[0], w->drift[1] = -t->flat_gravity[1];
    for (int b = 1; b < t->size[links_size]; ++b) {
        place_flat(t, w, b, q);
        load_flat(t, w, b, rates);
        if (t->dense[b]) fill(0.0, 6, w->spatial + 6 * b);
    }
}

/* f += M a of a spatial inertia. */
static inline void add_flat_action(const double *M, const double *a, double *restrict f) {
    f[0] += M[0] * a[0] + M[1] * a[1] + M[2] * a[2];
    f[1] += M[1] * a[0] + M[3] * a[1] + M[4] * a[2];
    f[2] += M[2] * a[0] + M[4] * a[1] + M[5] * a[2];
}

/* Entries of inertia of a wrench, as load_before() has them. */
static inline void load_flat_before(const Tables *t, Workspace *w, int b, int unknown, int rooted,
                                    double *f, Reading *at) {
    for (; t->inner[b]; b = t->parent[b]) {
        const int p = t->parent[b];
        const double *d = w->arm + 2 * b, *I = w->motion + 3 * t->column[p];
        f[2] += d[0] * f[1] - d[1] * f[0];
        if (t->hinge[p]) {
            w->entry[*at->h++] = I[2] * f[2];
            continue;
        }
        for (int i = t->column[p]; i < t->column[p + 1]; ++i, I += 3) {
            w->entry[*at->h++] = dot(I, f);
        }
    }
    if (rooted) return;
    const double *d = w->arm + 2 * b;
    f[2] += d[0] * f[1] - d[1] * f[0];
    copy(f, w->border + 3 * unknown);
}

/* Entries of inertia at the column of hinge b, and its right-hand side. */
static inline void load_flat_hinge(const Tables *t, Workspace *w, int b, const double *tau,
                                   int rooted, Reading *at) {
    const int k = t->column[b], unknown = t->column_unknown[k];
    const double *I = w->rigid + 4 * b, J = w->motion[3 * k + 2];
    double f[3] = {-J * I[2], J * I[1], J * I[3]};
    if (t->dense[b]) {
        const double *M = w->spatial + 6 * b;
        f[0] += J * M[2], f[1] += J * M[4], f[2] += J * M[5];
    }
    w->entry[*at->h++] = J * f[2] + t->armature[k];
    w->solution[unknown] = force_of(t, k, tau) - J * w->wrench[3 * b + 2];
    load_flat_before(t, w, b, unknown, rooted, f, at);
}

/* The same at the columns of any link. */
static void load_flat_columns(const Tables *t, Workspace *w, int b, const double *tau, int rooted,
                              Reading *at) {
    const double *I = w->rigid + 4 * b;
    for (int k = t->column[b]; k < t->column[b + 1]; ++k) {
        const double *J = w->motion + 3 * k;
        const int unknown = t->column_unknown[k];
        double f[3] = {I[0] * J[0] - I[2] * J[2], I[0] * J[1] + I[1] * J[2],
                       I[3] * J[2] + I[1] * J[1] - I[2] * J[0]};
        if (t->dense[b]) add_flat_action(w->spatial + 6 * b, J, f);
        for (int i = t->column[b]; i <= k; ++i) w->entry[*at->h++] = dot(w->motion + 3 * i, f);
        w->entry[t->start[unknown]] += t->armature[k];
        w->solution[unknown] = force_of(t, k, tau) - dot(J, w->wrench + 3 * b);
        load_flat_before(t, w, b, unknown, rooted, f, at);
    }
}

/* Hand a link's inertia and wrench on to its parent. */
static inline void hand_on_flat(const Tables *t, Workspace *w, int b) {
    const int p = t->parent[b];
    const double *I = w->rigid + 4 * b, *f = w->wrench + 3 * b, *d = w->arm + 2 * b;
    double *sum = w->wrench + 3 * p;
    sum[0] += f[0], sum[1] += f[1], sum[2] += f[2] + d[0] * f[1] - d[1] * f[0];
    const double first[2] = {I[1] + I[0] * d[0], I[2] + I[0] * d[1]};
    const double second = I[3] + d[0] * (I[1] + first[0]) + d[1] * (I[2] + first[1]);
    double *M = w->spatial + 6 * p;
    if (t->inner[b]) {
        double *rigid = w->rigid + 4 * p;
        rigid[0] += I[0], rigid[1] += first[0], rigid[2] += first[1], rigid[3] += second;
    } else {
        M[0] += I[0], M[2] -= first[1], M[3] += I[0], M[4] += first[0], M[5] += second;
    }
    if (t->dense[b]) {
        const double *N = w->spatial + 6 * b;
        const double xz = N[2] - d[1] * N[0] + d[0] * N[1], yz = N[4] - d[1] * N[1] + d[0] * N[3];
        M[0] += N[0], M[1] += N[1], M[2] += xz, M[3] += N[3], M[4] += yz;
        M[5] += N[5] + d[0] * (N[4] + yz) - d[1] * (N[2] + xz);
    }
}

/* Entries of a closure's rows, with covectors in the plane's axes about the point x, at the columns
 * from a link down to another one. */
static inline void load_flat_way(const Tables *t, Workspace *w, int c, int b, double sign,
                                 const double *x, Reading *at) {
    for (; b != t->last_common[c]; b = t->parent[b]) {
        const double *origin = w->pose + 4 * b + 2, dx = x[0] - origin[0], dy = x[1] - origin[1];
        for (int k = t->column[b]; k < t->column[b + 1]; ++k) {
            const double *J = w->motion + 3 * k;
            const double twist[3] = {sign * (J[0] - J[2] * dy), sign * (J[1] + J[2] * dx),
                                     sign * J[2]};
            for (int r = t->row[c]; r < t->row[c + 1]; ++r) {
                w->entry[*at->j++] = dot(w->covectors + 3 * r, twist);
            }
        }
    }
}

/* A point of a link in axes of the plane. */
static inline void flat_place(const double *pose, const double *point, double *x) {
    turn_flat(pose, point, x);
    x[0] += pose[2], x[1] += pose[3];
}

/* Covectors of a closure in axes of the plane, and the point x that they are about. */
static inline void turn_flat_covectors(const Tables *t, Workspace *w, int c, double *x) {
    const double *pose = w->pose + 4 * t->first[c];
    flat_place(pose, t->flat_point + 2 * c, x);
    for (int r = t->row[c]; r < t->row[c + 1]; ++r) {
        turn_flat(pose, t->flat_covector + 3 * r, w->covectors + 3 * r);
        w->covectors[3 * r + 2] = t->flat_covector[3 * r + 2];
    }
}

/* Velocity and acceleration of a link at a point, while no column accelerates. */
static inline void flat_motion_at(const Workspace *w, int b, const double *x, double *v, double *a) {
    const double *V = w->twist + 3 * b, *A = w->drift + 2 * b, *origin = w->pose + 4 * b + 2;
    const double dx = x[0] - origin[0], dy = x[1] - origin[1];
    v[0] = V[0] - V[2] * dy, v[1] = V[1] + V[2] * dx;
    a[0] = A[0] - V[2] * V[2] * dx, a[1] = A[1] - V[2] * V[2] * dy;
}

/* Entries of a closure's rows and their right-hand sides, as load_closure() has them. */
static inline void load_flat_closure(const Tables *t, Workspace *w, int c, Reading *at) {
    const int one = t->first[c], two = t->second[c];
    const double both = w->twist[3 * one + 2] + w->twist[3 * two + 2];
    double x[2], v1[2], v2[2], a1[2], a2[2];
    turn_flat_covectors(t, w, c, x);
    flat_motion_at(w, one, x, v1, a1);
    flat_motion_at(w, two, x, v2, a2);
    const double rate[2] = {a2[0] - a1[0] + both * (v2[1] - v1[1]),
                            a2[1] - a1[1] - both * (v2[0] - v1[0])};
    for (int r = t->row[c]; r < t->row[c + 1]; ++r) {
        const double *g = w->covectors + 3 * r;
        w->solution[t->row_unknown[r]] = -g[0] * rate[0] - g[1] * rate[1] - w->wanted[r];
    }
    load_flat_way(t, w, c, two, 1.0, x, at);
    load_flat_way(t, w, c, one, -1.0, x, at);
}

/* What a cluster takes from the inertia of the link that it moves against, and adds to its wrench. */
static inline void yield_flat(const Tables *t, Workspace *w, int begin, int end, int parent) {
    double *restrict M = w->spatial + 6 * parent, *restrict f = w->wrench + 3 * parent;
    for (int u = begin; u < end; ++u) {
        const double *Y = w->border + 3 * u, inverse = w->entry[t->start[u]];
        const double x = inverse * Y[0], y = inverse * Y[1], z = inverse * Y[2];
        M[0] -= x * Y[0], M[1] -= x * Y[1], M[2] -= x * Y[2];
        M[3] -= y * Y[1], M[4] -= y * Y[2], M[5] -= z * Y[2];
        add_times(inverse * w->solution[u], Y, 3, f);
    }
}

/* Eliminate a cluster. */
static int eliminate_flat(const Tables *t, Workspace *w, int c, const double *tau, Reading *at) {
    const int begin = t->cluster_unknown[c], end = t->cluster_unknown[c + 1];
    const int parent = t->cluster_parent[c], rooted = parent == 0;
    fill(0.0, t->start[end] - t->start[begin], w->entry + t->start[begin]);
    if (!rooted) fill(0.0, 3 * (end - begin), w->border + 3 * begin);
    for (int i = t->cluster_link[c]; i < t->cluster_link[c + 1]; ++i) {
        const int b = t->link_list[i];
        if (t->hinge[b]) {
            load_flat_hinge(t, w, b, tau, rooted, at);
        } else {
            load_flat_columns(t, w, b, tau, rooted, at);
        }
        if (t->inner[b] || !rooted) hand_on_flat(t, w, b);
    }
    for (int i = t->cluster_loop[c]; i < t->cluster_loop[c + 1]; ++i) {
        load_flat_closure(t, w, t->loop_list[i], at);
    }
    load_constants(t, w, c, at);
    if (rooted ? factorise(t, w, c, 0, &at->update) : factorise(t, w, c, 3, &at->update)) return 1;
    if (!rooted) yield_flat(t, w, begin, end, parent);
    return 0;
}

/* The second half of a cluster's solution, and the accelerations that others move against. */
static void solve_flat_cluster(const Tables *t, Workspace *w, int c) {
    const int begin = t->cluster_unknown[c], end = t->cluster_unknown[c + 1];
    const int parent = t->cluster_parent[c];
    const double *A = w->acceleration + 3 * parent;
    if (parent) {
        for (int u = begin; u < end; ++u) w->solution[u] -= dot(w->border + 3 * u, A);
    }
    solve_unknowns_back(t, w, begin, end);
    for (int i = t->cluster_link[c + 1] - 1; i >= t->cluster_link[c]; --i) {
        const int b = t->link_list[i];
        if (!t->dense[b]) continue;
        const double *P = w->acceleration + 3 * t->parent[b], *d = w->arm + 2 * b;
        double *a = w->acceleration + 3 * b;
        a[0] = P[0] - P[2] * d[1], a[1] = P[1] + P[2] * d[0], a[2] = P[2];
        for (int k = t->column[b]; k < t->column[b + 1]; ++k) {
            add_times(w->solution[t->column_unknown[k]], w->motion + 3 * k, 3, a);
        }
    }
}

/* Accelerations of all columns and multipliers of all rows. */
static int solve_flat_step(const Tables *t, Workspace *w, const double *const *in) {
    Reading at = {t->h_place, t->j_place, t->update, NULL, NULL, NULL};
    load_flat_links(t, w, in[0], in[1]);
    place_curves(t, w, in[0]);
    bend_constants(t, w, in[1]);
    w->doubt[0] = NONE;
    for (int c = 0; c < t->size[clusters_size]; ++c) {
        if (eliminate_flat(t, w, c, in[2], &at)) return 1;
    }
    fill(0.0, 3, w->acceleration);
    for (int c = t->size[clusters_size] - 1; c >= 0; --c) solve_flat_cluster(t, w, c);
    return 0;
}

/* Errors of the rows and their entries on velocities, where hinges close the loops. */

/* Where all links are. */
static void place_flat_links(const Tables *t, Workspace *w, const double *q) {
    w->pose[0] = 1.0, w->pose[1] = w->pose[2] = w->pose[3] = 0.0;
    for (int b = 1; b < t->size[links_size]; ++b) place_flat(t, w, b, q);
    place_curves(t, w, q);
}

/* Errors of the closures' rows: no link has left the plane. */
static void flat_errors(const Tables *t, const Workspace *w, double *errors) {
    for (int c = 0; c < t->size[closures_size]; ++c) {
        const double *pose = w->pose + 4 * t->first[c];
        double one[2], two[2];
        flat_place(pose, t->flat_first + 2 * c, one);
        flat_place(w->pose + 4 * t->second[c], t->flat_second + 2 * c, two);
        const double x = two[0] - one[0], y = two[1] - one[1];
        const double d[2] = {pose[0] * x + pose[1] * y, pose[0] * y - pose[1] * x};
        for (int r = t->row[c]; r < t->row[c + 1]; ++r) {
            const double *g = t->flat_covector + 3 * r;
            errors[r] = g[0] * d[0] + g[1] * d[1];
        }
    }
}

/* Entries of the closures' rows on velocities. */
static void load_flat_rows(const Tables *t, Workspace *w) {
    for (int c = 0; c < t->size[closures_size]; ++c) {
        double x[2];
        turn_flat_covectors(t, w, c, x);
        for (int s = t->step[c]; s < t->step[c + 1]; ++s) {
            const int k = t->stepped[s];
            const double *J = w->motion + 3 * k, *origin = w->pose + 4 * t->moved[k] + 2;
            const double ratio = t->sense[s] * t->ratio[k];
            const double twist[3] = {ratio * (J[0] - J[2] * (x[1] - origin[1])),
                                     ratio * (J[1] + J[2] * (x[0] - origin[0])), ratio * J[2]};
            for (int r = t->row[c]; r < t->row[c + 1]; ++r) {
                w->row_entry[t->entry[r] + t->slot[s]] += dot(w->covectors + 3 * r, twist);
            }
        }
    }
}
