/* Steps of fixed length of many robots: semi-implicit Euler, then onto the closed loops.
 *
 *     v' = v + h a(q, v, tau),  q' = q + h v',
 * then q' moves by the shortest steps to where the loops are closed, and v' loses by the shortest change what
 * would open them there. A robot whose state is not finite, or becomes so, or whose loops do not
 * close, is marked and touches no other. Drives say where coordinates are after a step: their rows, the
 * last ones, ask for the mean rates that bring them there.
 */

/* How steps are made: their length; the rate below which friction falls off; whether forces act within
 * joints, and within those that close loops; errors of the rows that end the way onto the loops, and
 * that are borne; pivots that are none. */
enum { STEP_LENGTH, STEP_SLIP, STEP_FORCES, STEP_LOADED, STEP_CLOSED, STEP_BORNE, STEP_SINGULAR, STEP_OPTIONS };

/* What the rows may move at, by the largest velocity. */
#define SPEED_CLOSED 1e-13

/* What all steps of a call have in common; how many rows are those of drives. */
typedef struct {
    const Tables *t;
    const double *laws, *closing, *wrenches, *options;
    int drives;
} Stepping;

/* Ask the rows of drives for accelerations by which coordinates are where they are to be after a step, and
 * keep the rates. */
static void ask_for_targets(const Stepping *s, Workspace *w, const double *q, const double *v,
                            const double *targets) {
    const Tables *t = s->t;
    const int first = t->size[rows_size] - s->drives;
    const double h = s->options[STEP_LENGTH];
    for (int k = 0; k < s->drives; ++k) {
        const int column = t->coupled[t->coupling[first + k - t->size[loop_rows_size]]];
        w->driven[k] = (targets[k] - coordinate_of(t, column, q)) / h;
        w->wanted[first + k] = (v[t->rate[column]] - w->driven[k]) / h;
    }
}

/* Largest absolute value of the rows' errors. */
static double largest_error(const Tables *t, const double *errors) {
    double largest = 0.0;
    for (int r = 0; r < t->size[rows_size]; ++r) {
        if (fabs(errors[r]) > largest) largest = fabs(errors[r]);
    }
    return largest;
}

/* The shortest change of velocities by which the rows change by -errors, after load_rows_of_velocities(),
 * by factors of nearby rows where there are some; 1 where there is none. */
static int shortest_change(const Stepping *s, Workspace *w, const double *q, const double *errors,
                           int *factored, double *change) {
    const Tables *t = s->t;
    const int plain = t->size[gram_rows_size] != 0 && t->size[near_cells_size] == 0;
    if (plain && !*factored) {
        multiply_rows(t, w);
        *factored = factor_rows(t, w) == 0;
    }
    if (!(plain && *factored)) {
        return correct_velocities(t, w, q, errors, NULL, s->options[STEP_SINGULAR], change);
    }
    solve_minimum_norm(t, w, errors, change);
    return 0;
}

/* Bring a configuration and its velocity onto the closed loops, and find the error that is left; 1 where
 * that fails. Rows have moved little since they were factorised: with those of now on the other side,
 * what is found is the shortest change all the same, and found in a few rounds. */
static int close_step(const Stepping *s, Workspace *w, const double *targets, double *q, double *v,
                      double *error) {
    const Tables *t = s->t;
    const int nv = t->size[nv_size], first = t->size[rows_size] - s->drives;
    double *errors = w->values, *change = w->correction, before = INFINITY;
    int factored = 0;
    *error = 0.0;
    if (t->size[rows_size] == 0) return 0;
    for (int round = 0; ; ++round) {
        if (row_errors(t, w, q, errors)) return 1;
        for (int k = 0; k < s->drives; ++k) errors[first + k] -= targets[k];
        *error = largest_error(t, errors);
        load_rows_of_velocities(t, w);
        if (!(*error > s->options[STEP_CLOSED]) || round == 10) break;
        factored = factored && *error < 1e-2 * before, before = *error;
        if (shortest_change(s, w, q, errors, &factored, change)) return 1;
        integrate(t, change, q);
    }
    if (!(*error <= s->options[STEP_BORNE])) return 1;
    double largest = 0.0;
    for (int i = 0; i < nv; ++i) largest = fabs(v[i]) > largest ? fabs(v[i]) : largest;
    before = INFINITY;
    for (int round = 0; round < 6; ++round) {
        row_speeds(t, w, v, errors);
        for (int k = 0; k < s->drives; ++k) errors[first + k] -= w->driven[k];
        const double left = largest_error(t, errors);
        if (!(left > SPEED_CLOSED * (1.0 + largest))) return 0;
        factored = factored && left < 1e-2 * before, before = left;
        if (shortest_change(s, w, q, errors, &factored, change)) return 1;
        add_to(change, nv, v);
    }
    return 0;
}

/* Joint forces with those within joints, where any act; 1 where there are none. */
static int add_forces_within(const Stepping *s, Workspace *w, const double *q, const double *v,
                             const double *tau) {
    if (s->options[STEP_FORCES] == 0.0) return 0;
    double options[OPTIONS] = {0}, power;
    options[SLIP] = s->options[STEP_SLIP], options[LOADED] = s->options[STEP_LOADED];
    const Motion m = {s->t, w, s->laws, s->closing, s->wrenches, NULL, NULL, options, NULL};
    if (apply_laws(&m, 0.0, q, v, w->drawn, &power)) return 1;
    add_to(tau, s->t->size[nv_size], w->drawn);
    return 0;
}

/* One step from q and v, which it moves on; the error of the rows that is left. 1 where there is none:
 * what is not finite among q, v and tau is so among the next q and v. */
static int make_fixed_step(const Stepping *s, Workspace *w, const double *tau, const double *targets,
                           double *q, double *v, double *error) {
    const Tables *t = s->t;
    const int nq = t->size[nq_size], nv = t->size[nv_size];
    const double h = s->options[STEP_LENGTH];
    const double *const in[] = {q, v, s->options[STEP_FORCES] != 0.0 ? w->drawn : tau};
    if (add_forces_within(s, w, q, v, tau)) return 1;
    w->clearness[0] = 1.0;
    fill(0.0, t->size[rows_size], w->wanted);
    ask_for_targets(s, w, q, v, targets);
    if (accelerate_under(t, w, in, 0, w->begun)) return 1;
    for (int i = 0; i < nv; ++i) {
        v[i] += h * w->begun[i];
        w->correction[i] = h * v[i];
    }
    integrate(t, w->correction, q);
    if (close_step(s, w, targets, q, v, error)) return 1;
    return !are_finite(q, nq) || !are_finite(v, nv);
}

/* Steps of one robot from q (nq,) and v (nv,) under tau, of which the next step's are so many numbers
 * behind (0: the same ones), to the targets of drives after each. Written behind each other: where it
 * is, its velocity, the error that is left, and 1 where all is well; behind a step that is not, NaN and
 * 0. Where there is a record more than steps, the first one is of the beginning. */
static void make_fixed_steps(const Stepping *s, Workspace *w, const double *tau, size_t tau_step,
                             const double *targets, int steps, int records, const double *from_q,
                             const double *from_v, double *q, double *v, double *error, char *ok) {
    const int nq = s->t->size[nq_size], nv = s->t->size[nv_size];
    int good = records == steps || (are_finite(from_q, nq) && are_finite(from_v, nv));
    for (int k = steps - records; k < steps; ++k) {
        for (int i = 0; i < nq; ++i) q[i] = from_q[i];
        for (int i = 0; i < nv; ++i) v[i] = from_v[i];
        *error = 0.0;
        if (k >= 0) {
            good = good && !make_fixed_step(s, w, tau, targets, q, v, error);
            tau += tau_step, targets += s->drives;
            for (int i = 0; i < nq && !good; ++i) q[i] = NAN;
            for (int i = 0; i < nv && !good; ++i) v[i] = NAN;
            if (!good) *error = NAN;
        }
        *ok++ = (char)good, ++error;
        from_q = q, from_v = v, q += nq, v += nv;
    }
}

/* The robots of a call. Each has room for so many records of its states in the arrays. */
typedef struct {
    const Stepping *stepping;
    const double *tau, *targets, *from_q, *from_v;
    size_t tau_step, tau_robot;
    double *q, *v, *error;
    char *ok;
    int steps, records;
} Fleet;

static int run_fleet(const void *call, Workspace *w, Py_ssize_t begin, Py_ssize_t end) {
    const Fleet *f = call;
    const size_t nq = (size_t)f->stepping->t->size[nq_size], nv = (size_t)f->stepping->t->size[nv_size];
    for (Py_ssize_t n = begin; n < end; ++n) {
        const size_t at = (size_t)n * (size_t)f->records, m = (size_t)n;
        make_fixed_steps(f->stepping, w, f->tau + m * f->tau_robot, f->tau_step,
                         f->targets + m * (size_t)(f->steps * f->stepping->drives), f->steps,
                         f->records, f->from_q + m * nq, f->from_v + m * nv, f->q + at * nq,
                         f->v + at * nv, f->error + at, f->ok + at);
    }
    return 0;
}

/* Whether an object is a plain array of doubles of so many numbers. */
static int has_length(PyObject *object, Py_ssize_t length) {
    return is_plain(object, NPY_DOUBLE) && PyArray_SIZE((PyArrayObject *)object) == length;
}

/* rollout(tau, laws, closing, wrenches, options, q, v, targets, records of q, v, errors and ok, steps,
 * drives, threads): for N robots from q (N, nq) and v (N, nv), forces (N, 1 or steps, nv), targets
 * (N, steps, drives) of the last rows, laws as ``advance`` has them, and options (see environments.c).
 * Records (N, steps, ...) or, with the first states, (N, steps + 1, ...) are written. */
static PyObject *kernel_rollout(PyObject *object, PyObject *arguments) {
    Kernel *self = (Kernel *)object;
    const int *size = self->tables.size;
    PyObject *array[12];
    int steps, drives, threads;
    if (!PyArg_ParseTuple(arguments, "OOOOOOOOOOOOiii", &array[0], &array[1], &array[2], &array[3],
                          &array[4], &array[5], &array[6], &array[7], &array[8], &array[9], &array[10],
                          &array[11], &steps, &drives, &threads)) {
        return NULL;
    }
    const Py_ssize_t nq = size[nq_size], nv = size[nv_size];
    PyArrayObject *okay = (PyArrayObject *)array[11];
    if (!is_plain(array[11], NPY_BOOL) || PyArray_NDIM(okay) != 2 || steps < 0 || steps > INT_MAX - 1 ||
        PyArray_DIM(okay, 1) < steps || PyArray_DIM(okay, 1) > steps + 1) {
        return PyErr_Format(refused, "rollout: ok must have shape (N, steps) or (N, steps + 1)");
    }
    const Py_ssize_t N = PyArray_DIM(okay, 0), records = PyArray_DIM(okay, 1), all = N * records;
    const int same = has_length(array[0], N * nv);
    if (!(same || has_length(array[0], N * steps * nv)) || !has_length(array[1], LAWS * nv) ||
        !has_length(array[2], (Py_ssize_t)CLOSING_LAWS * size[closing_freedoms_size]) ||
        !has_length(array[3], (Py_ssize_t)WRENCH_NUMBERS * size[links_size]) ||
        !has_length(array[4], STEP_OPTIONS) || !has_length(array[5], N * nq) ||
        !has_length(array[6], N * nv) || drives < 0 ||
        drives > size[rows_size] - size[loop_rows_size] || !has_length(array[7], N * steps * drives) ||
        !has_length(array[8], all * nq) || !has_length(array[9], all * nv) || !has_length(array[10], all)) {
        return PyErr_Format(refused, "rollout: arrays of the wrong lengths");
    }
    if (threads < 1 || threads > MOST_THREADS) {
        return PyErr_Format(refused, "threads must be 1 to %d", MOST_THREADS);
    }
    double *data[11];
    for (int i = 0; i < 11; ++i) data[i] = PyArray_DATA((PyArrayObject *)array[i]);
    const Stepping stepping = {&self->tables, data[1], data[2], data[3], data[4], drives};
    const Fleet fleet = {&stepping, data[0], data[7], data[5], data[6], same ? 0 : (size_t)nv,
                         (size_t)(same ? nv : steps * nv), data[8], data[9], data[10],
                         PyArray_DATA(okay), steps, (int)records};
    return compute(self, run_fleet, &fleet, N, threads, 0) < 0 ? NULL : Py_NewRef(Py_None);
}
