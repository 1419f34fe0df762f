/* Where all links are, how fast they move, and how they accelerate while no column does.
 *
 * Vectors have the axes of the ground; a twist, an acceleration and a wrench of a link refer to the
 * link's origin, linear part (force) first. Accelerations are classical ones: that of the origin as
 * a point of the link, and the angular acceleration.
 */

/* Turn about z of what follows: the rotation placed, its first two columns mixed; a row of it. */
static inline void turn_row(const double *R, double c, double s, double *restrict out) {
    out[0] = R[0] * c + R[1] * s;
    out[1] = R[1] * c - R[0] * s;
    out[2] = R[2];
}

static inline void turn(const double *R, double c, double s, double *restrict out) {
    turn_row(R, c, s, out);
    turn_row(R + 3, c, s, out + 3);
    turn_row(R + 6, c, s, out + 6);
}

/* Cosine and sine that an unbounded link turns by. */
static inline void continuous_turn(const Tables *t, int b, const double *q, double *c, double *s) {
    *c = q[0], *s = q[1];
    if (t->scaling[b] != 1.0 || t->offset[b] != 0.0) {
        const double angle = t->scaling[b] * atan2(q[1], q[0]) + t->offset[b];
        *c = cos(angle), *s = sin(angle);
    }
}

/* Axis i of a link's frame. */
static inline void axis(const double *pose, int i, double *out) {
    out[0] = pose[i], out[1] = pose[3 + i], out[2] = pose[6 + i];
}

/* Lever from the origin of a link's parent to its placement, and the rotation of that, which may be
 * there already. */
UNROLLED const double *begin_pose(const Tables *t, const Workspace *w, int b, double *arm,
                                       double *turned) {
    const double *parent = w->pose + 12 * t->parent[b], *placement = t->placement + 12 * b;
    if (t->parent[b] == 0) {
        copy(placement + 9, arm);
        return placement;
    }
    rotate(parent, placement + 9, arm);
    if (placement[0] == 1.0 && placement[4] == 1.0 && placement[8] == 1.0) return parent;
    multiply(parent, placement, turned);
    return turned;
}

/* Cosine and sine of the angle of a turning link. */
static inline void angle_of(const Tables *t, int b, const double *q, double *c, double *s) {
    if (t->kind[b] == CONTINUOUS) {
        continuous_turn(t, b, q, c, s);
    } else {
        const double value = t->scaling[b] * q[0] + t->offset[b];
        *c = cos(value), *s = sin(value);
    }
}

/* Pose of hinge b after its parent's, the arm between their origins, and the twist of its column. */
UNROLLED void place_hinge(const Tables *t, Workspace *w, int b, const double *configuration) {
    const double *origin = w->pose + 12 * t->parent[b] + 9;
    double *restrict pose = w->pose + 12 * b, *restrict arm = w->arm + 3 * b;
    double *restrict J = w->motion + 6 * t->column[b], turned[9], c, s;
    const double *placed = begin_pose(t, w, b, arm, turned);
    angle_of(t, b, configuration + t->coordinate[b], &c, &s);
    turn(placed, c, s, pose);
    sum(origin, arm, pose + 9);
    J[0] = J[1] = J[2] = 0.0;
    axis(placed, 2, J + 3);
}

/* The same of any link. */
static inline void place_link(const Tables *t, Workspace *w, int b, const double *configuration) {
    if (t->hinge[b]) {
        place_hinge(t, w, b, configuration);
        return;
    }
    const double *origin = w->pose + 12 * t->parent[b] + 9, *q = configuration + t->coordinate[b];
    double *restrict pose = w->pose + 12 * b, *restrict arm = w->arm + 3 * b;
    double *J = w->motion + 6 * t->column[b], turned[9], R[9], c, s, value;
    const double *placed = begin_pose(t, w, b, arm, turned);
    fill(0.0, 6 * (t->column[b + 1] - t->column[b]), J);
    switch (t->kind[b]) {
    case REVOLUTE:
    case CONTINUOUS:
        value = t->kind[b] == CONTINUOUS ? atan2(q[1], q[0]) : q[0];
        value = t->scaling[b] * value + t->offset[b];
        angle_of(t, b, q, &c, &s);
        turn(placed, c, s, pose);
        axis(pose, 2, J + 3);
        scale(t->pitch[b], J + 3, J);
        add_scaled(value, J, arm);
        break;
    case PRISMATIC:
        value = t->scaling[b] * q[0] + t->offset[b];
        for (int i = 0; i < 9; ++i) pose[i] = placed[i];
        axis(pose, 2, J);
        add_scaled(value, J, arm);
        break;
    case SPHERICAL:
        quaternion(q, R);
        multiply(placed, R, pose);
        for (int i = 0; i < 3; ++i) axis(pose, i, J + 6 * i + 3);
        break;
    case FREE:
        for (int i = 0; i < 3; ++i) arm[i] += dot(placed + 3 * i, q);
        quaternion(q + 3, R);
        multiply(placed, R, pose);
        for (int i = 0; i < 3; ++i) axis(pose, i, J + 6 * i), axis(pose, i, J + 6 * (i + 3) + 3);
        break;
    case PLANAR:
        for (int i = 0; i < 3; ++i) arm[i] += placed[3 * i] * q[0] + placed[3 * i + 1] * q[1];
        turn(placed, q[2], q[3], pose);
        axis(pose, 0, J), axis(pose, 1, J + 6), axis(pose, 2, J + 15);
        break;
    }
    sum(origin, arm, pose + 9);
}

/* The pose of the ground, and of what has not moved. */
static const double still[12] = {1, 0, 0, 0, 1, 0, 0, 0, 1, 0, 0, 0};

static inline void place_ground(Workspace *w) {
    for (int i = 0; i < 12; ++i) w->pose[i] = still[i];
}

/* Poses of all links, and the twists of all columns. */
static void positions(const Tables *t, Workspace *w, const double *q) {
    place_ground(w);
    for (int b = 1; b < t->size[links_size]; ++b) place_link(t, w, b, q);
    place_curves(t, w, q);
}

/* The twist with which link b moves against its parent, about its own origin. */
static inline void relative_twist(const Tables *t, const Workspace *w, int b, const double *rates,
                                  double *twist) {
    fill(0.0, 6, twist);
    for (int k = t->column[b]; k < t->column[b + 1]; ++k) {
        add6(t->ratio[k] * rates[t->rate[k]], w->motion + 6 * k, twist);
    }
}

/* Twist of hinge b and its acceleration while no column accelerates, from its parent's. */
UNROLLED void carry_hinge(const Tables *t, Workspace *w, int b, const double *rates) {
    const int p = t->parent[b], k = t->column[b];
    const double *V = w->twist + 6 * p, *A = w->drift + 6 * p, *d = w->arm + 3 * b;
    const double rate = t->ratio[k] * rates[t->rate[k]], *axis = w->motion + 6 * k + 3;
    double *restrict v = w->twist + 6 * b, *restrict a = w->drift + 6 * b, own[3], swept[3];
    scale(rate, axis, own);
    if (p == 0) {
        v[0] = v[1] = v[2] = a[3] = a[4] = a[5] = 0.0;
        copy(own, v + 3);
        copy(A, a);
        return;
    }
    copy(V, v);
    sum(V + 3, own, v + 3);
    copy(A, a);
    copy(A + 3, a + 3);
    add_cross(V + 3, own, a + 3);
    cross(V + 3, d, swept);
    add(swept, v);
    add_cross(A + 3, d, a);
    add_cross(V + 3, swept, a);
}

/* The same of any link.
 *
 * With the arm d between the origins, the parent's rate O, and the relative twist (u, o):
 *   v = v_p + O x d + u,                    rate = O + o,
 *   a = a_p + alpha_p x d + O x (O x d + 2 u) + o x u,   alpha = alpha_p + O x o. */
static inline void carry_link(const Tables *t, Workspace *w, int b, const double *rates) {
    if (t->hinge[b]) {
        carry_hinge(t, w, b, rates);
        return;
    }
    const int p = t->parent[b];
    const double *V = w->twist + 6 * p, *A = w->drift + 6 * p;
    const double *d = w->arm + 3 * b;
    double own[6], swept[3];
    double *restrict v = w->twist + 6 * b, *restrict a = w->drift + 6 * b;
    cross(V + 3, d, swept);
    relative_twist(t, w, b, rates, own);
    for (int i = 0; i < 3; ++i) {
        v[i] = V[i] + swept[i] + own[i];
        v[3 + i] = V[3 + i] + own[3 + i];
        swept[i] += 2.0 * own[i];
        a[i] = A[i], a[3 + i] = A[3 + i];
    }
    add_cross(A + 3, d, a);
    add_cross(V + 3, swept, a);
    add_cross(own + 3, own, a);
    add_cross(V + 3, own + 3, a + 3);
}

/* The ground accelerates as given, shape (3,): against gravity where that acts. */
static inline void move_ground(Workspace *w, const double *ground) {
    fill(0.0, 6, w->twist);
    fill(0.0, 6, w->drift);
    copy(ground, w->drift);
}

/* Twists of all links and their accelerations while no column accelerates. */
static void velocities(const Tables *t, Workspace *w, const double *rates, const double *ground) {
    move_ground(w, ground);
    for (int b = 1; b < t->size[links_size]; ++b) carry_link(t, w, b, rates);
}

/* Accelerations of all links at those of the velocities, beyond what they are at none; or twists at
 * velocities. */
static void accelerations_beyond(const Tables *t, Workspace *w, const double *rates) {
    fill(0.0, 6, w->acceleration);
    for (int b = 1; b < t->size[links_size]; ++b) {
        const int p = t->parent[b];
        double own[6], *a = w->acceleration + 6 * b;
        relative_twist(t, w, b, rates, own);
        for (int i = 0; i < 6; ++i) a[i] = w->acceleration[6 * p + i] + own[i];
        add_cross(w->acceleration + 6 * p + 3, w->arm + 3 * b, a);
    }
}
