/* Kernel.rollout: steps of many robots on NumPy arrays; included by module.c. */

/* Some robots of a call. Each has room for its states from the first to the last one in the arrays. */
typedef struct {
    const Stepping *stepping;
    Workspace *w;
    const double *tau, *targets;
    size_t tau_step, tau_robot;
    double *q, *v, *error, *ok;
    int steps;
    Py_ssize_t begin, end;
} Fleet;

static void *run_fleet(void *argument) {
    const Fleet *f = argument;
    const size_t records = (size_t)f->steps + 1;
    const size_t nq = (size_t)f->stepping->t->size[nq_size], nv = (size_t)f->stepping->t->size[nv_size];
    for (Py_ssize_t n = f->begin; n < f->end; ++n) {
        const size_t at = (size_t)n * records;
        make_fixed_steps(f->stepping, f->w, f->tau + (size_t)n * f->tau_robot, f->tau_step,
                         f->targets + (size_t)n * (size_t)(f->steps * f->stepping->drives), f->steps, f->q + at * nq, f->v + at * nv, f->error + at, f->ok + at);
    }
    return NULL;
}

/* Whether an object is a plain array of doubles of so many numbers. */
static int has_length(PyObject *object, Py_ssize_t length) {
    return is_plain(object, NPY_DOUBLE) && PyArray_SIZE((PyArrayObject *)object) == length;
}

/* rollout(tau, laws, closing, wrenches, options, q, v, error, ok, targets, drives, threads): for N robots,
 * forces (N, 1 or steps, nv), targets (N, steps, drives) of the last rows, laws as ``advance`` has them, and options (see environments.c); q (N, steps + 1, nq),
 * v, error and ok hold the first states and are written to. */
static PyObject *kernel_rollout(PyObject *object, PyObject *arguments) {
    Kernel *self = (Kernel *)object;
    const int *size = self->tables.size;
    PyObject *array[10];
    int drives, threads;
    if (!PyArg_ParseTuple(arguments, "OOOOOOOOOOii", &array[0], &array[1], &array[2], &array[3], &array[4],
                          &array[5], &array[6], &array[7], &array[8], &array[9], &drives,
                          &threads)) {
        return NULL;
    }
    const Py_ssize_t nq = size[nq_size], nv = size[nv_size];
    PyArrayObject *okay = (PyArrayObject *)array[8];
    if (!is_plain(array[8], NPY_DOUBLE) || PyArray_NDIM(okay) != 2 || PyArray_DIM(okay, 1) < 1) {
        return PyErr_Format(refused, "rollout: ok must have shape (N, steps + 1)");
    }
    const Py_ssize_t N = PyArray_DIM(okay, 0), steps = PyArray_DIM(okay, 1) - 1, all = N * (steps + 1);
    const int same = has_length(array[0], N * nv);
    if (!(same || has_length(array[0], N * steps * nv)) || !has_length(array[1], LAWS * nv) ||
        !has_length(array[2], (Py_ssize_t)CLOSING_LAWS * size[closing_freedoms_size]) ||
        !has_length(array[3], (Py_ssize_t)WRENCH_NUMBERS * size[links_size]) ||
        !has_length(array[4], STEP_OPTIONS) || !has_length(array[5], all * nq) ||
        !has_length(array[6], all * nv) || !has_length(array[7], all) || steps > INT_MAX - 1 || drives < 0 ||
        drives > size[rows_size] - size[loop_rows_size] || !has_length(array[9], N * steps * drives)) {
        return PyErr_Format(refused, "rollout: arrays of the wrong lengths");
    }
    if (threads < 1 || threads > MOST_THREADS) {
        return PyErr_Format(refused, "threads must be 1 to %d", MOST_THREADS);
    }
    double *data[10];
    for (int i = 0; i < 10; ++i) data[i] = PyArray_DATA((PyArrayObject *)array[i]);
    const Stepping stepping = {&self->tables, data[1], data[2], data[3], data[4], drives};
    Fleet fleet[MOST_THREADS];
    int used = 0;
    if (threads > N) threads = N < 1 ? 1 : (int)N;
    for (; used < threads; ++used) {
        const Fleet part = {&stepping, borrow(self), data[0], data[9], same ? 0 : (size_t)nv,
                            (size_t)(same ? nv : steps * nv), data[5], data[6], data[7], data[8],
                            (int)steps, N * used / threads, N * (used + 1) / threads};
        fleet[used] = part;
        if (part.w == NULL) break;
    }
    if (used == threads) {
        Py_BEGIN_ALLOW_THREADS
        run_parts(run_fleet, fleet, sizeof *fleet, threads);
        Py_END_ALLOW_THREADS
    }
    for (int i = 0; i < used; ++i) give_back(self, fleet[i].w);
    return used < threads ? PyErr_NoMemory() : Py_NewRef(Py_None);
}
