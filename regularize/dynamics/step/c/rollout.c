/* Kernel.rollout: steps of many robots on NumPy arrays; included by module.c. */

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
