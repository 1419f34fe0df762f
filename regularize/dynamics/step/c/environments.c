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

/* The robots of a call. Each has room for so many records of its states in the arrays: where it is, its
 * velocity, the error that is left, and 1 where all is well; behind a step that is not, NaN and 0. Where
 * there is a record more than steps, the first one is of the beginning. Numbers from one step's forces
 * and one robot's to the next; code makes steps of several robots, where there is some. */
typedef struct {
    const Stepping *stepping;
    const double *tau, *targets, *from_q, *from_v;
    size_t tau_step, tau_robot;
    double *q, *v, *error;
    char *ok;
    int steps, records;
    Code code;
} Fleet;

/* Where a robot's state is before a step, and the record that is written. */
typedef struct {
    const double *from_q, *from_v, *tau, *targets;
    double *q, *v, *error;
    char *ok;
    int good; /* whether the state before was sound */
} Record;

/* The record of a robot that step k writes; step -1 is the beginning. */
static Record record_of(const Fleet *f, size_t robot, int k) {
    const int begins = f->records - f->steps;
    const size_t nq = (size_t)f->stepping->t->size[nq_size], nv = (size_t)f->stepping->t->size[nv_size];
    const size_t at = robot * (size_t)f->records + (size_t)(k + begins), drives = (size_t)f->stepping->drives;
    const int first = k + begins == 0;
    Record r = {first ? f->from_q + robot * nq : f->q + (at - 1) * nq,
                first ? f->from_v + robot * nv : f->v + (at - 1) * nv,
                f->tau + robot * f->tau_robot, f->targets + robot * (size_t)f->steps * drives,
                f->q + at * nq, f->v + at * nv, f->error + at, f->ok + at, 1};
    if (k > 0) r.tau += (size_t)k * f->tau_step, r.targets += (size_t)k * drives;
    r.good = first ? begins == 0 || (are_finite(r.from_q, (Py_ssize_t)nq) && are_finite(r.from_v, (Py_ssize_t)nv)) : r.ok[-1];
    return r;
}

/* Write the record of a step, or of the beginning, by tables. */
static void write_record(const Fleet *f, Workspace *w, const Record *r, int k) {
    const int nq = f->stepping->t->size[nq_size], nv = f->stepping->t->size[nv_size];
    int good = r->good;
    for (int i = 0; i < nq; ++i) r->q[i] = r->from_q[i];
    for (int i = 0; i < nv; ++i) r->v[i] = r->from_v[i];
    *r->error = 0.0;
    if (k >= 0) {
        good = good && !make_fixed_step(f->stepping, w, r->tau, r->targets, r->q, r->v, r->error);
        for (int i = 0; i < nq && !good; ++i) r->q[i] = NAN;
        for (int i = 0; i < nv && !good; ++i) r->v[i] = NAN;
        if (!good) *r->error = NAN;
    }
    *r->ok = (char)good;
}

/* Make a step of some robots by code, and by tables of those of which it is in doubt. */
static void make_coded_step(const Fleet *f, Workspace *w, size_t robot, int64_t last, int k) {
    const Record first = record_of(f, robot, k);
    const int64_t nq = f->stepping->t->size[nq_size], nv = f->stepping->t->size[nv_size];
    const int64_t wide = first.from_q == f->from_q + robot * (size_t)nq ? 1 : f->records;
    const double *const in[] = {first.from_q, first.from_v, first.tau, f->stepping->options + STEP_LENGTH};
    double *const out[] = {first.q, first.v, first.error};
    const int64_t in_step[] = {wide * nq, wide * nv, (int64_t)f->tau_robot, 0};
    const int64_t out_step[] = {f->records * nq, f->records * nv, f->records};
    char sound[MOST_LANES];
    f->code.run(in, in_step, out, out_step, last, sound);
    for (int64_t lane = 0; lane <= last; ++lane) {
        const Record r = record_of(f, robot + (size_t)lane, k);
        if (r.good && sound[lane]) *r.ok = 1;
        else write_record(f, w, &r, k);
    }
}

static int run_fleet(const void *call, Workspace *w, Py_ssize_t begin, Py_ssize_t end) {
    const Fleet *f = call;
    const int lanes = f->code.run != NULL ? f->code.lanes : 1;
    for (Py_ssize_t n = begin; n < end; n += lanes) {
        const int64_t last = (end - n < lanes ? end - n : lanes) - 1;
        for (int k = f->steps - f->records; k < f->steps; ++k) {
            if (k >= 0 && f->code.run != NULL) {
                make_coded_step(f, w, (size_t)n, last, k);
                continue;
            }
            for (int64_t lane = 0; lane <= last; ++lane) {
                const Record r = record_of(f, (size_t)(n + lane), k);
                write_record(f, w, &r, k);
            }
        }
    }
    return 0;
}

/* Whether an object is a plain array of doubles of so many numbers. */
static int has_length(PyObject *object, Py_ssize_t length) {
    return is_plain(object, NPY_DOUBLE) && PyArray_SIZE((PyArrayObject *)object) == length;
}

/* rollout(tau, laws, closing, wrenches, options, q, v, targets, records of q, v, errors and ok, steps,
 * drives, threads, and address and lanes of code for steps if there is some): for N robots from q (N, nq) and v (N, nv), forces (N, 1 or steps, nv), targets
 * (N, steps, drives) of the last rows, laws as ``advance`` has them, and options (see environments.c).
 * Records (N, steps, ...) or, with the first states, (N, steps + 1, ...) are written. */
static PyObject *kernel_rollout(PyObject *object, PyObject *arguments) {
    Kernel *self = (Kernel *)object;
    const int *size = self->tables.size;
    PyObject *array[12];
    int steps, drives, threads, lanes = 0;
    unsigned long long address = 0;
    if (!PyArg_ParseTuple(arguments, "OOOOOOOOOOOOiii|Ki", &array[0], &array[1], &array[2], &array[3],
                          &array[4], &array[5], &array[6], &array[7], &array[8], &array[9], &array[10],
                          &array[11], &steps, &drives, &threads, &address, &lanes)) {
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
    const Code code = {lanes > 0 && lanes <= MOST_LANES ? (Group)(uintptr_t)address : NULL, lanes};
    double *data[11];
    for (int i = 0; i < 11; ++i) data[i] = PyArray_DATA((PyArrayObject *)array[i]);
    const Stepping stepping = {&self->tables, data[1], data[2], data[3], data[4], drives};
    const Fleet fleet = {&stepping, data[0], data[7], data[5], data[6], same ? 0 : (size_t)nv,
                         (size_t)(same ? nv : steps * nv), data[8], data[9], data[10],
                         PyArray_DATA(okay), steps, (int)records, code};
    return compute(self, run_fleet, &fleet, N, threads, 0) < 0 ? NULL : Py_NewRef(Py_None);
}
