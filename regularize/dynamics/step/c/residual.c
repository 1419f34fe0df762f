/* Errors of the rows: what is left of the loops' closure beside the motions of the closing joints. */

/* Below this angle, series replace quotients of small numbers. */
#define SMALL_ANGLE 1e-2
/* Steps and accuracy with which several coordinates of a closing joint are found. */
#define CLOSING_STEPS 30
#define CLOSING_ACCURACY 1e-14
#define MOST_CLOSING 5

/* The coordinates of a closing joint of several freedoms, and the twists of these in the moved frame. */
typedef struct {
    double value[MOST_CLOSING], twist[6 * MOST_CLOSING];
} Coordinates;

/* c = a^-1 b of poses. */
static inline void between(const double *a, const double *b, double *c) {
    double d[3];
    for (int i = 0; i < 3; ++i) {
        for (int j = 0; j < 3; ++j) {
            c[3 * i + j] = a[i] * b[j] + a[3 + i] * b[3 + j] + a[6 + i] * b[6 + j];
        }
    }
    subtract(b + 9, a + 9, d);
    rotate_back(a, d, c + 9);
}

/* Pose that a twist leads to in a unit of time. */
static void exponential(const double *twist, double *pose) {
    const double *v = twist, *o = twist + 3, square = dot(o, o), angle = sqrt(square);
    double sine = 1.0 - square / 6.0 * (1.0 - square / 20.0);
    double versine = 0.5 - square / 24.0 * (1.0 - square / 30.0);
    double rest = 1.0 / 6.0 - square / 120.0 * (1.0 - square / 42.0), once[3], twice[3];
    if (angle > SMALL_ANGLE) {
        const double half = sin(0.5 * angle) / angle;
        sine = sin(angle) / angle, versine = 2.0 * half * half, rest = (1.0 - sine) / square;
    }
    for (int i = 0; i < 3; ++i) {
        for (int j = 0; j < 3; ++j) pose[3 * i + j] = versine * o[i] * o[j];
        pose[4 * i] += 1.0 - versine * square;
    }
    pose[1] -= sine * o[2], pose[2] += sine * o[1], pose[3] += sine * o[2];
    pose[5] -= sine * o[0], pose[6] -= sine * o[1], pose[7] += sine * o[0];
    cross(o, v, once);
    cross(o, once, twice);
    for (int i = 0; i < 3; ++i) pose[9 + i] = v[i] + versine * once[i] + rest * twice[i];
}

/* Quaternion x y z w of a rotation. */
static void to_quaternion(const double *R, double *q) {
    const double trace = R[0] + R[4] + R[8];
    if (trace > 0.0) {
        const double root = sqrt(trace + 1.0), scale = 0.5 / root;
        q[3] = 0.5 * root;
        q[0] = (R[7] - R[5]) * scale, q[1] = (R[2] - R[6]) * scale, q[2] = (R[3] - R[1]) * scale;
        return;
    }
    int i = R[4] > R[0] ? 1 : 0;
    if (R[8] > R[4 * i]) i = 2;
    const int j = (i + 1) % 3, k = (i + 2) % 3;
    const double root = sqrt(R[4 * i] - R[4 * j] - R[4 * k] + 1.0), scale = 0.5 / root;
    q[i] = 0.5 * root;
    q[3] = (R[3 * k + j] - R[3 * j + k]) * scale;
    q[j] = (R[3 * j + i] + R[3 * i + j]) * scale;
    q[k] = (R[3 * k + i] + R[3 * i + k]) * scale;
}

/* The twist that leads to a pose in a unit of time, by at most half a turn. */
static void logarithm(const double *pose, double *twist) {
    double q[4], once[3], twice[3], *o = twist + 3;
    to_quaternion(pose, q);
    const double sine = dot(q, q), sign = q[3] < 0.0 ? -1.0 : 1.0;
    /* The angle by the sine of its half, and (1 - half cot(half)) / angle^2. */
    double factor = 2.0 + sine * (1.0 / 3.0 + sine * (3.0 / 20.0 + sine * (5.0 / 56.0)));
    double rest = 1.0 / 12.0 + sine * (1.0 / 180.0 + sine * (1.0 / 420.0));
    if (sine > SMALL_ANGLE * SMALL_ANGLE) {
        const double turned = sqrt(sine), half = atan2(turned, sign * q[3]);
        factor = 2.0 * half / turned;
        rest = (1.0 - half * sign * q[3] / turned) / (4.0 * half * half);
    }
    for (int i = 0; i < 3; ++i) o[i] = sign * factor * q[i];
    cross(o, pose + 9, once);
    cross(o, once, twice);
    for (int i = 0; i < 3; ++i) twist[i] = pose[9 + i] - 0.5 * once[i] + rest * twice[i];
}

/* The coordinate of one screw that comes nearest to a pose. */
static double nearest(const double *screw, const double *pose) {
    const double rate = sqrt(dot(screw + 3, screw + 3));
    double q[4];
    if (rate == 0.0) return dot(screw, pose + 9) / dot(screw, screw);
    to_quaternion(pose, q);
    return 2.0 * atan2(dot(screw + 3, q) / rate, q[3]) / rate;
}

/* Solve A X = B for so many columns with a search for pivots, in place; 1 where A is singular. */
static int divide(double *A, double *B, int n, int columns) {
    for (int i = 0; i < n; ++i) {
        int pivot = i;
        for (int k = i + 1; k < n; ++k) {
            if (fabs(A[n * k + i]) > fabs(A[n * pivot + i])) pivot = k;
        }
        const double inverse = 1.0 / A[n * pivot + i];
        if (!isfinite(inverse)) return 1;
        for (int j = 0; j < n; ++j) {
            const double value = A[n * pivot + j];
            A[n * pivot + j] = A[n * i + j], A[n * i + j] = inverse * value;
        }
        for (int j = 0; j < columns; ++j) {
            const double value = B[columns * pivot + j];
            B[columns * pivot + j] = B[columns * i + j], B[columns * i + j] = inverse * value;
        }
        for (int k = 0; k < n; ++k) {
            const double factor = A[n * k + i];
            if (k == i || factor == 0.0) continue;
            for (int j = i; j < n; ++j) A[n * k + j] -= factor * A[n * i + j];
            for (int j = 0; j < columns; ++j) B[columns * k + j] -= factor * B[columns * i + j];
        }
    }
    return 0;
}

/* Motion along several screws, one after the other, that comes nearest to a pose: the twist that is
 * left does no work on their twists in the moved frame. 1 where it is not found. */
static int nearest_motion(const double *screws, int count, const double *pose, double *motion,
                          Coordinates *found) {
    double *q = found->value, *columns = found->twist, A[MOST_CLOSING * MOST_CLOSING];
    double step[MOST_CLOSING], moved[12], next[12], left[6], along[6], largest = 1.0;
    fill(0.0, count, q);
    for (int round = 0; round < CLOSING_STEPS; ++round) {
        for (int i = 0; i < 12; ++i) motion[i] = still[i];
        for (int k = count - 1; k >= 0; --k) {
            /* Columns seen from the end: the motion behind them takes them there. */
            double d[3];
            rotate_back(motion, screws + 6 * k + 3, columns + 6 * k + 3);
            cross(motion + 9, screws + 6 * k + 3, d);
            for (int i = 0; i < 3; ++i) d[i] = screws[6 * k + i] - d[i];
            rotate_back(motion, d, columns + 6 * k);
            for (int i = 0; i < 6; ++i) along[i] = q[k] * screws[6 * k + i];
            exponential(along, moved);
            compose(moved, motion, next);
            for (int i = 0; i < 12; ++i) motion[i] = next[i];
        }
        if (largest < CLOSING_ACCURACY) return 0;
        between(motion, pose, next);
        logarithm(next, left);
        for (int i = 0; i < count; ++i) {
            step[i] = work(columns + 6 * i, left);
            for (int j = 0; j < count; ++j) {
                A[count * i + j] = work(columns + 6 * i, columns + 6 * j);
            }
        }
        if (divide(A, step, count, 1)) return 1;
        largest = 0.0;
        for (int i = 0; i < count; ++i) {
            q[i] += step[i];
            if (fabs(step[i]) > largest) largest = fabs(step[i]);
        }
    }
    return 0;
}

/* The motion of the closing joint nearest to a pose of its two frames. */
static int closing_motion(const Tables *t, int i, const double *pose, double *motion) {
    const double *screws = t->closing_screws + 6 * t->closing_screw[i];
    const int count = t->closing_screw[i + 1] - t->closing_screw[i];
    double twist[6];
    Coordinates found;
    for (int k = 0; k < 12; ++k) motion[k] = still[k];
    switch (t->closing[i]) {
    case CLOSING_HELICAL:
        for (int k = 0; k < 6; ++k) twist[k] = screws[k] * nearest(screws, pose);
        exponential(twist, motion);
        break;
    case CLOSING_SPHERICAL:
    case CLOSING_FREE:
        for (int k = 0; k < (t->closing[i] == CLOSING_FREE ? 12 : 9); ++k) motion[k] = pose[k];
        break;
    case CLOSING_COMPOSITE:
        if (count > MOST_CLOSING) return 1;
        return nearest_motion(screws, count, pose, motion, &found);
    }
    return 0;
}

/* Twist of the second link against the first that opened a hinge, in axes of the first about a
 * point: the smallest turn that takes the axis there to that of the second link, and what its motion
 * brings the origins apart. */
static void hinge_error(const Tables *t, const Workspace *w, int i, double *error) {
    const double *one = w->pose + 12 * t->first[i], *two = w->pose + 12 * t->second[i];
    const double *mine = t->first_frame + 12 * i, *other = t->second_frame + 12 * i;
    const double axis[3] = {mine[2], mine[5], mine[8]}, theirs[3] = {other[2], other[5], other[8]};
    double turned[3], seen[3], place[3], d[3], swept[3], twice[3], arm[3], *turn = error + 3;
    rotate(two, theirs, turned);
    rotate_back(one, turned, seen);
    rotate(two, other + 9, place);
    add(two + 9, place);
    subtract(place, one + 9, swept);
    rotate_back(one, swept, place);
    subtract(place, mine + 9, d);
    cross(axis, seen, turn);
    const double square = dot(turn, turn), sine = sqrt(square), cosine = dot(axis, seen);
    /* The angle by its sine, and (1 - half cot(half)) / angle^2. */
    double factor = 1.0 + square * (1.0 / 6.0 + square * (3.0 / 40.0 + square * (5.0 / 112.0)));
    double rest = 1.0 / 12.0 + square * (1.0 / 720.0 + square / 30240.0) * factor * factor;
    if (cosine < 0.0 || square > SMALL_ANGLE * SMALL_ANGLE) {
        const double angle = atan2(sine, cosine);
        factor = sine > 0.0 ? angle / sine : 0.0;
        rest = (1.0 - 0.5 * factor * (1.0 + cosine)) / (angle * angle);
    }
    for (int k = 0; k < 3; ++k) turn[k] *= factor;
    cross(turn, d, swept);
    cross(turn, swept, twice);
    for (int k = 0; k < 3; ++k) error[k] = d[k] - 0.5 * swept[k] + rest * twice[k];
    subtract(mine + 9, t->row_point + 3 * i, arm);
    add_cross(arm, turn, error);
}

/* The same for other closing joints; 1 where their motion is not found. */
static int loop_error(const Tables *t, const Workspace *w, int i, double *error) {
    double first[12], second[12], pose[12], back[12], motion[12], left[12], twist[6], arm[3];
    compose(w->pose + 12 * t->first[i], t->first_frame + 12 * i, first);
    compose(w->pose + 12 * t->second[i], t->second_frame + 12 * i, second);
    if (t->sign[i] > 0) {
        between(first, second, pose);
        if (closing_motion(t, i, pose, motion)) return 1;
    } else {
        between(second, first, back);
        if (closing_motion(t, i, back, left)) return 1;
        between(left, still, motion);
        between(back, still, pose);
    }
    between(motion, pose, left);
    logarithm(left, twist);
    compose(t->first_frame + 12 * i, motion, pose);
    rotate(pose, twist, error);
    rotate(pose, twist + 3, error + 3);
    subtract(pose + 9, t->row_point + 3 * i, arm);
    add_cross(arm, error + 3, error);
    return 0;
}

/* Errors of the couplings. */
static int coupling_errors(const Tables *t, const Workspace *w, const double *q, double *errors) {
    const int loops = t->size[loop_rows_size];
    for (int r = loops; r < t->size[rows_size]; ++r) {
        errors[r] = -t->target[r - loops];
        for (int e = t->coupling[r - loops]; e < t->coupling[r - loops + 1]; ++e) {
            if (t->kind[t->moved[t->coupled[e]]] > PRISMATIC) return 1;
            errors[r] += t->coefficient[e] * coordinate_of(t, t->coupled[e], q);
        }
    }
    for (int i = 0; i < t->size[curves_size]; ++i) {
        const int e = t->curve_entry[i];
        errors[t->curve_row[i]] += w->curve[6 * i + CURVE_VALUE] -
                                   t->coefficient[e] * coordinate_of(t, t->coupled[e], q);
    }
    return 0;
}

/* Errors of all rows (rows,), and where all links are, in the plane where there is one; 1 where a
 * closing joint's motion is not found. */
static int row_errors(const Tables *t, Workspace *w, const double *q, double *errors) {
    double error[6];
    if (t->flat[1]) {
        place_flat_links(t, w, q);
        flat_errors(t, w, errors);
        return coupling_errors(t, w, q, errors);
    }
    positions(t, w, q);
    for (int i = 0; i < t->size[closures_size]; ++i) {
        if (t->closing[i] == CLOSING_REVOLUTE) {
            hinge_error(t, w, i, error);
        } else if (loop_error(t, w, i, error)) {
            return 1;
        }
        for (int r = t->row[i]; r < t->row[i + 1]; ++r) errors[r] = work(t->covector + 6 * r, error);
    }
    return coupling_errors(t, w, q, errors);
}

/* Errors of the rows. */
COMPUTATION(residual) {
    return row_errors(t, w, in[0], out[0]);
}
