/* Configurations and velocities that close the loops, nearest to given ones. */

/* Steps of Newton's method that are never more. */
#define MOST_STEPS 1000.0

/* A quaternion times that of a rotation vector, of length one again. */
static void turn_quaternion(const double *rotation, double *q) {
    const double angle = sqrt(dot(rotation, rotation)), w = q[3];
    const double scale = angle > SMALL_ANGLE ? sin(0.5 * angle) / angle
                                             : 0.5 - angle * angle / 48.0 *
                                                         (1.0 - angle * angle / 80.0);
    const double cosine = cos(0.5 * angle);
    double r[3], x[3] = {q[0], q[1], q[2]}, length = 0.0;
    for (int i = 0; i < 3; ++i) r[i] = scale * rotation[i];
    cross(x, r, q);
    for (int i = 0; i < 3; ++i) q[i] += cosine * x[i] + w * r[i];
    q[3] = cosine * w - dot(x, r);
    for (int i = 0; i < 4; ++i) length += q[i] * q[i];
    for (int i = 0; i < 4; ++i) q[i] /= sqrt(length);
}

/* The configuration (nq,) after a step along velocities (nv,), as of pinocchio.integrate. */
static void integrate(const Tables *t, const double *step, double *configuration) {
    double twist[6], moved[12], pose[12], turned[3], length;
    for (int b = 1; b < t->size[links_size]; ++b) {
        const int k = t->column[b];
        const double *v = step + t->rate[k];
        double *q = configuration + t->coordinate[b];
        if (!t->own[k]) continue;
        switch (t->kind[b]) {
        case REVOLUTE:
        case PRISMATIC:
            q[0] += v[0];
            break;
        case CONTINUOUS:
            turned[0] = q[0] * cos(v[0]) - q[1] * sin(v[0]);
            turned[1] = q[0] * sin(v[0]) + q[1] * cos(v[0]);
            length = hypot(turned[0], turned[1]);
            q[0] = turned[0] / length, q[1] = turned[1] / length;
            break;
        case SPHERICAL:
            turn_quaternion(v, q);
            break;
        case FREE:
            exponential(v, moved);
            quaternion(q + 3, pose);
            rotate(pose, moved + 9, turned);
            add(turned, q);
            turn_quaternion(v + 3, q + 3);
            break;
        case PLANAR:
            twist[0] = v[0], twist[1] = v[1], twist[5] = v[2];
            twist[2] = twist[3] = twist[4] = 0.0;
            exponential(twist, moved);
            q[0] += q[2] * moved[9] - q[3] * moved[10];
            q[1] += q[3] * moved[9] + q[2] * moved[10];
            turned[0] = q[2] * cos(v[2]) - q[3] * sin(v[2]);
            turned[1] = q[3] * cos(v[2]) + q[2] * sin(v[2]);
            length = hypot(turned[0], turned[1]);
            q[2] = turned[0] / length, q[3] = turned[1] / length;
            break;
        }
    }
}

/* The shortest step by elimination, for dependent rows and where velocities are held. */
static int eliminated_step(const Tables *t, Workspace *w, const double *q, const double *errors,
                           const double *held, double singular, double *step) {
    const int nv = t->size[nv_size], rows = t->size[rows_size];
    if (t->flat[1]) positions(t, w, q);
    place_columns(t, w);
    place_covectors(t, w);
    place_rows(t, w, w->rows);
    for (int i = 0; i < nv; ++i) {
        for (int r = 0; held != NULL && held[i] != 0.0 && r < rows; ++r) w->rows[nv * r + i] = 0.0;
    }
    fill(0.0, nv * nv, w->mass);
    for (int i = 0; i < nv; ++i) w->mass[(nv + 1) * i] = 1.0;
    if (eliminate(t, w, w->rows, singular, 0) || condense(t, w, w->mass)) return 1;
    fill(0.0, nv, w->forces);
    solve(t, w, w->forces, errors, step);
    return 0;
}

/* The shortest change of velocities (nv,) by which the rows change by -errors (rows,), after
 * load_rows_of_velocities(); those that are held stay. */
static int correct_velocities(const Tables *t, Workspace *w, const double *q,
                              const double *errors, const double *held, double singular,
                              double *change) {
    if (t->size[gram_rows_size] || t->size[near_cells_size]) {
        multiply_rows(t, w);
        if (factor_rows(t, w) == 0) {
            solve_minimum_norm(t, w, errors, change);
            if (solve_minimum_norm_deep(t, w, errors, held, change) == 0) return 0;
        }
    }
    return eliminated_step(t, w, q, errors, held, singular, change);
}

/* The shortest step (nv,) that takes errors (rows,) away to first order, after row_errors(), at most
 * of length one in each entry; velocities that are held stay zero. */
static int correct(const Tables *t, Workspace *w, const double *q, const double *errors,
                   const double *held, double singular, double *step) {
    const int nv = t->size[nv_size];
    double largest = 1.0;
    load_rows_of_velocities(t, w);
    if (held != NULL) hold_velocities(t, w, held);
    if (correct_velocities(t, w, q, errors, held, singular, step)) return 1;
    for (int i = 0; i < nv; ++i) largest = fmax(largest, fabs(step[i]));
    for (int i = 0; i < nv; ++i) step[i] /= largest;
    return 0;
}

/* One step of Newton's method, and the errors before it. */
COMPUTATION(newton_step) {
    for (int i = 0; i < t->size[nq_size]; ++i) out[0][i] = in[0][i];
    if (row_errors(t, w, in[0], out[1])) return 1;
    if (correct(t, w, in[0], out[1], NULL, DEPENDENT, w->correction)) return 1;
    integrate(t, w->correction, out[0]);
    return 0;
}

/* Steps of Newton's method until errors are as small as wanted, or steps no longer than rounding do
 * not make them smaller; velocities that are held stay zero. The last argument are the largest
 * error that is wanted, that which is borne, the length of steps that change nothing, how many are
 * made, and the part of the largest pivot below which another one is none. */
COMPUTATION(project) {
    const int nq = t->size[nq_size], nv = t->size[nv_size], rows = t->size[rows_size];
    const double wanted = in[2][0], borne = in[2][1], same = in[2][2];
    const int rounds = (int)fmin(fmax(in[2][3], 0.0), MOST_STEPS);
    double *q = w->trial, least = INFINITY, error = INFINITY, length = INFINITY;
    int stalled = 0;
    for (int i = 0; i < nq; ++i) q[i] = in[0][i];
    for (int round = 0; round <= rounds; ++round) {
        double size = 0.0, largest = 0.0;
        if (row_errors(t, w, q, w->values)) return 1;
        for (int r = 0; r < rows; ++r) {
            size += w->values[r] * w->values[r];
            largest = fmax(largest, fabs(w->values[r]));
        }
        stalled = size < 0.81 * least ? 0 : stalled + 1;
        if (size < least || round == 0) {
            least = size, error = largest;
            for (int i = 0; i < nq; ++i) out[0][i] = q[i];
        }
        if (!(largest > wanted) || (stalled > 1 && length <= same)) break;
        if (correct(t, w, q, w->values, in[1], in[2][4], w->correction)) return 1;
        length = 0.0;
        for (int i = 0; i < nv; ++i) length = fmax(length, fabs(w->correction[i]));
        integrate(t, w->correction, q);
    }
    return !(error <= borne);
}

/* The velocity that keeps loops closed and is nearest to a given one in kinetic energy: what the step
 * adds to it at rest and without weight, where the rows are to lose their speeds. */
COMPUTATION(project_velocity) {
    static const double none[3] = {0.0, 0.0, 0.0};
    const double *const still[] = {in[0], w->moved, w->moved};
    Tables weightless = *t;
    weightless.gravity = weightless.flat_gravity = none;
    if (row_errors(t, w, in[0], w->values)) return 1;
    load_rows_of_velocities(t, w);
    row_speeds(t, w, in[1], w->wanted);
    fill(0.0, t->size[nv_size], w->moved);
    if (accelerate_under(&weightless, w, still, 0, out[0])) return 1;
    add_to(in[1], t->size[nv_size], out[0]);
    return 0;
}

/* The acceleration with terms that let errors decay: factors of the rows' speeds and errors. */
COMPUTATION(decaying_dynamics) {
    if (row_errors(t, w, in[0], w->values)) return 1;
    load_rows_of_velocities(t, w);
    row_speeds(t, w, in[1], w->wanted);
    for (int r = 0; r < t->size[rows_size]; ++r) {
        w->wanted[r] = in[3][0] * w->wanted[r] + in[3][1] * w->values[r];
    }
    return accelerate_under(t, w, in, 0, out[0]);
}

/* Bring a configuration and a velocity onto the closed loops by the shortest steps; 1 where that
 * fails. Limits are errors of the rows that are good enough, and pivots that are none; a careful step
 * is made whatever the errors, which rows next to dependence make much more of. The last rows are
 * those of driven velocities, whose coordinates and rates are as they are to be. */
static int close_state(const Tables *t, Workspace *w, const double *limits, int careful, int driven,
                       double *q, double *v) {
    const int nv = t->size[nv_size], rows = t->size[rows_size];
    double *errors = w->values;
    if (rows == 0) return 0;
    for (int round = 0; round < 5; ++round) {
        double largest = 0.0;
        if (row_errors(t, w, q, errors)) return 1;
        fill(0.0, driven, errors + rows - driven);
        for (int r = 0; r < rows; ++r) largest = fmax(largest, fabs(errors[r]));
        if (!(largest > limits[0] || (careful && round == 0)) || round == 4) break;
        if (correct(t, w, q, errors, NULL, limits[1], w->correction)) return 1;
        integrate(t, w->correction, q);
    }
    load_rows_of_velocities(t, w);
    row_speeds(t, w, v, errors);
    fill(0.0, driven, errors + rows - driven);
    w->clearness[0] = 1.0;
    if (correct_velocities(t, w, q, errors, NULL, limits[1], w->correction)) return 1;
    add_to(w->correction, nv, v);
    return 0;
}

/* The nearest configuration with closed loops, and the velocity without what opens them; behind the
 * limits, how many of the last rows are those of driven velocities. */
COMPUTATION(close_motion) {
    for (int i = 0; i < t->size[nq_size]; ++i) out[0][i] = in[0][i];
    for (int i = 0; i < t->size[nv_size]; ++i) out[1][i] = in[1][i];
    const double driven = in[2][2];
    if (!(driven >= 0.0 && driven <= t->size[rows_size])) return 1;
    return close_state(t, w, in[2], 0, (int)driven, out[0], out[1]);
}

/* Entries of the rows that decide what follows, of the velocities that do; how many these are. */
static int gather_followers(const Tables *t, const double *rows, const double *decides,
                            const double *follows, double *found) {
    const int nv = t->size[nv_size];
    int count = 0;
    for (int r = 0; r < t->size[rows_size]; ++r) {
        for (int k = 0; decides[r] != 0.0 && k < nv; ++k) {
            if (follows[k] != 0.0) *found++ = rows[nv * r + k];
        }
        count += decides[r] != 0.0;
    }
    return count;
}

/* The configuration after one step along the tangent and back; 1 where it takes more. Arguments are
 * the configuration, how far velocities that lead are to move, which they are, which follow, which
 * rows decide these, and options: those of project(), the longest step, by which part of it the
 * projection may go back, and by how much the equations of what follows may change. */
COMPUTATION(follow) {
    const int nv = t->size[nv_size], nq = t->size[nq_size];
    const double *follows = in[3], *decides = in[4], *options = in[5];
    const double *const trial[] = {w->reached, in[2], options}, *const end[] = {out[0]};
    double *first = w->values_by_q, *last = w->rows, *step = w->moved, length = 0.0;
    double *A = w->rows_by_state, *B = A + t->size[row_values_size], *b = B;
    jacobian(t, w, in, &first);
    const int count = gather_followers(t, first, decides, follows, A);
    for (int r = 0; r < t->size[rows_size]; ++r) {
        double rate = 0.0;
        for (int k = 0; k < nv; ++k) rate -= first[nv * r + k] * in[1][k];
        if (decides[r] != 0.0) *b++ = rate;
    }
    if (divide(A, B, count, 1)) return 1;
    for (int k = 0, i = 0; k < nv; ++k) {
        step[k] = follows[k] != 0.0 ? B[i++] : in[1][k];
        length = fmax(length, fabs(step[k]));
    }
    if (!(length <= options[5])) return 1;
    for (int i = 0; i < nq; ++i) w->reached[i] = in[0][i];
    integrate(t, step, w->reached);
    if (project(t, w, trial, out)) return 1;
    for (int i = 0; i < nq; ++i) {
        if (!(fabs(out[0][i] - w->reached[i]) <= fmax(options[6] * length, options[2]))) return 1;
    }
    jacobian(t, w, end, &last);
    gather_followers(t, first, decides, follows, A);
    gather_followers(t, last, decides, follows, B);
    if (divide(A, B, count, count)) return 1;
    for (int i = 0; i < count; ++i) {
        double change = 0.0;
        for (int j = 0; j < count; ++j) change += fabs(B[count * i + j] - (i == j));
        if (!(change <= options[7])) return 1;
    }
    return 0;
}
