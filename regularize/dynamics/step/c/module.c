/* The kernel as a Python module, on NumPy arrays.
 *
 * Kernel(integers, reals, contiguous, coder): tables as int32 and float64 arrays, a function that makes
 * a contiguous array of float64 of anything, and one that makes code for this tree, or None. Each entry
 * of kernel.c is a method. It takes arrays of one state, or of N states with a leading axis (those
 * without it are shared), then a tuple of functions where forces are among them, and, if wanted, a
 * number of threads. It returns an array or a tuple of arrays, or None where a state needs another way
 * of computing. The interpreter is released while several states are computed.
 *
 * Code is asked for when an entry is first called with MANY states, and at its HUNDREDTH call with one:
 * coder(name, many) returns None, or the address of a function (see tape/llvm_code.py), how many
 * states it computes side by side, and what keeps it in memory. States of which it is in doubt are
 * computed by tables.
 */
#define PY_SSIZE_T_CLEAN
#include <Python.h>
#include <stdint.h>

#include "arrays.c"
#include "kernel.c"
#include "functions.c"

#ifndef _WIN32
#include <pthread.h>
#endif

#define MOST_THREADS 64
#define MOST_LANES 16
#define MANY 64
#define HUNDREDTH 100

/* A function that computes a group of states, each with a row of its own; see tape/llvm_code.py. */
typedef void (*Group)(const double *const *in, const int64_t *in_step, double *const *out,
                      const int64_t *out_step, int64_t last, char *sound);

/* Code for one tree that computes so many states side by side; without a function there is none. */
typedef struct {
    Group run;
    int lanes;
} Code;

/* The code of an entry, for one state and for many, and how often it was called with one. */
typedef struct {
    Code one, many;
    int calls, asked;
} Coded;

typedef struct {
    PyObject_HEAD
    Tables tables;
    PyObject *integers, *reals, *contiguous, *coder, *owners; /* owners keep code in memory */
    Coded coded[number_of_entries];
    Workspace *spare[MOST_THREADS]; /* those that nobody uses */
    int spares;
} Kernel;

/* ModelError and NotFinite of regularize.errors. */
static PyObject *refused, *not_finite;

/* How many real numbers a workspace has. */
static size_t workspace_length(const Tables *t) {
    size_t length = 0;
#define ROOM(name, count, of) length += (size_t)(count) * (size_t)t->size[of##_size];
    WORKSPACE(ROOM)
#undef ROOM
    return length;
}

/* Where the arrays of one call are, and the caller's functions. */
typedef struct {
    const Function *functions;
    int functions_count;
    const Entry *entry;
    const Tables *tables;
    const double *in[MOST_ARRAYS];
    double *out[MOST_ARRAYS];
    int64_t in_step[MOST_ARRAYS], out_step[MOST_ARRAYS]; /* numbers from one state to the next */
    int64_t in_time[MOST_ARRAYS], out_time[MOST_ARRAYS]; /* and from one of its steps to the next */
    int steps;
    Code code;
} Call;

/* Computes some states of a call; 1 where that fails. */
typedef int (*Run)(const void *call, Workspace *w, Py_ssize_t begin, Py_ssize_t end);

/* Some of a call's states, with a workspace. */
typedef struct {
    Run run;
    const void *call;
    Workspace *w;
    Py_ssize_t begin, end;
    int failed;
} Share;

static Py_ssize_t length_of(const Tables *t, const Shape *shape) {
    return (Py_ssize_t)shape->times * t->size[shape->rows] * t->size[shape->columns];
}

/* Find the arrays of a state before a step, and of what is written. */
static void find_arrays(const Call *call, Py_ssize_t n, int k, const double **in, double **out) {
    for (int i = 0; i < call->entry->inputs; ++i) {
        in[i] = call->in[i] + n * call->in_step[i] + k * call->in_time[i];
    }
    for (int i = 0; i < call->entry->outputs; ++i) {
        out[i] = call->out[i] + n * call->out_step[i] + k * call->out_time[i];
    }
}

static int run_entry(const void *given, Workspace *w, Py_ssize_t begin, Py_ssize_t end) {
    const Call *call = given;
    const double *in[MOST_ARRAYS];
    double *out[MOST_ARRAYS];
    w->functions = call->functions, w->functions_count = call->functions_count;
    for (Py_ssize_t n = begin; n < end; ++n) {
        for (int k = 0; k < call->steps; ++k) {
            find_arrays(call, n, k, in, out);
            if (call->entry->run(call->tables, w, in, out)) return 1;
        }
    }
    return 0;
}

/* The same by code for this tree, but for states of which that is in doubt. */
static int run_code(const void *given, Workspace *w, Py_ssize_t begin, Py_ssize_t end) {
    const Call *call = given;
    const int lanes = call->code.lanes;
    const double *in[MOST_ARRAYS];
    double *out[MOST_ARRAYS];
    char sound[MOST_LANES];
    w->functions = call->functions, w->functions_count = call->functions_count;
    for (Py_ssize_t n = begin; n < end; n += lanes) {
        const int64_t last = (end - n < lanes ? end - n : lanes) - 1;
        for (int k = 0; k < call->steps; ++k) {
            find_arrays(call, n, k, in, out);
            call->code.run(in, call->in_step, out, call->out_step, last, sound);
            for (int64_t lane = 0; lane <= last; ++lane) {
                if (sound[lane]) continue;
                find_arrays(call, n + lane, k, in, out);
                if (call->entry->run(call->tables, w, in, out)) return 1;
            }
        }
    }
    return 0;
}

static void *run_share(void *argument) {
    Share *share = argument;
    share->failed = share->run(share->call, share->w, share->begin, share->end);
    return NULL;
}

/* Compute all shares, each but the first in a thread of its own; whether one failed. */
static int run_shares(Share *shares, int count) {
    int failed = 0, running[MOST_THREADS] = {0};
#ifndef _WIN32
    pthread_t threads[MOST_THREADS];
    for (int i = 1; i < count; ++i) {
        running[i] = pthread_create(&threads[i], NULL, run_share, &shares[i]) == 0;
    }
#endif
    for (int i = 0; i < count; ++i) {
        if (!running[i]) run_share(&shares[i]);
    }
#ifndef _WIN32
    for (int i = 1; i < count; ++i) {
        if (running[i]) pthread_join(threads[i], NULL);
    }
#endif
    for (int i = 0; i < count; ++i) failed |= shares[i].failed;
    return failed;
}

/* The spares are for one thread at a time: the interpreter's lock sees to it, where there is one. */
#ifndef Py_GIL_DISABLED
#undef Py_BEGIN_CRITICAL_SECTION
#undef Py_END_CRITICAL_SECTION
#define Py_BEGIN_CRITICAL_SECTION(object) {
#define Py_END_CRITICAL_SECTION() }
#endif

/* A workspace, its numbers behind it. */
static Workspace *borrow(Kernel *self) {
    Workspace *w = NULL;
    Py_BEGIN_CRITICAL_SECTION(self);
    if (self->spares > 0) w = self->spare[--self->spares];
    Py_END_CRITICAL_SECTION();
    if (w != NULL) return w;
    const size_t length = workspace_length(&self->tables) * sizeof(double);
    w = PyMem_RawMalloc(sizeof(Workspace) + length);
    if (w != NULL) open_workspace(&self->tables, w, (double *)(w + 1));
    return w;
}

static void give_back(Kernel *self, Workspace *w) {
    Workspace *beyond = w;
    Py_BEGIN_CRITICAL_SECTION(self);
    if (w != NULL && self->spares < MOST_THREADS) self->spare[self->spares++] = w, beyond = NULL;
    Py_END_CRITICAL_SECTION();
    PyMem_RawFree(beyond);
}

/* Compute so many states in threads, by default without the interpreter's lock; whether that failed, -1
 * with an exception. */
static int compute(Kernel *self, Run run, const void *call, Py_ssize_t count, int threads, int locked) {
    Share shares[MOST_THREADS];
    int used = 0, failed = 0;
    if (count == 0) return 0;
    if (threads > count) threads = (int)count;
    for (; used < threads; ++used) {
        const Py_ssize_t begin = count * used / threads, end = count * (used + 1) / threads;
        const Share share = {run, call, borrow(self), begin, end, 0};
        shares[used] = share;
        if (share.w == NULL) break;
    }
    if (used < threads) {
        PyErr_NoMemory();
        failed = -1;
    } else if (locked) {
        failed = run_shares(shares, threads);
    } else {
        Py_BEGIN_ALLOW_THREADS
        failed = run_shares(shares, threads);
        Py_END_ALLOW_THREADS
    }
    for (int i = 0; i < used; ++i) give_back(self, shares[i].w);
    return failed;
}

/* Check the inputs' shapes, and find the number of states; -2 if one is wrong. */
static Py_ssize_t states_of(const Tables *t, const Entry *entry, const Numbers *views, Call *call) {
    Py_ssize_t N = -1;
    for (int i = 0; i < entry->inputs; ++i) {
        const Py_ssize_t length = length_of(t, &entry->in[i]);
        const int batch = views[i].axes == 2, any = entry->in[i].times == 0;
        if (views[i].axes < 1 || views[i].axes > 2 - any ||
            (!any && views[i].shape[batch] != length)) {
            PyErr_Format(refused, "%s: argument %d must have shape (%zd,) or (N, %zd)",
                         entry->name, i + 1, length, length);
            return -2;
        }
        if (any && !are_drives(t, views[i].numbers, views[i].count)) {
            PyErr_Format(refused, "%s: argument %d holds no drives", entry->name, i + 1);
            return -2;
        }
        /* Numbers that are not of the tree, such as a bound, may be infinite. */
        const int of_machine = entry->in[i].rows != one_size;
        if (of_machine && !are_finite(views[i].numbers, views[i].count)) {
            PyErr_Format(not_finite, "%s: argument %d must consist of finite numbers", entry->name,
                         i + 1);
            return -2;
        }
        if (batch && N >= 0 && views[i].shape[0] != N) {
            PyErr_Format(refused, "%s: arguments of different lengths %zd and %zd",
                         entry->name, N, views[i].shape[0]);
            return -2;
        }
        if (batch) N = views[i].shape[0];
        call->in[i] = views[i].numbers;
        call->in_step[i] = batch ? length : 0;
    }
    return N;
}

/* What a coder returned becomes code; 0, or -1 with an exception. */
static int set_code(Kernel *self, Coded *coded, PyObject *made) {
    unsigned long long address;
    int lanes, failed = 0;
    PyObject *owner;
    if (made == NULL) return -1;
    if (made != Py_None) {
        failed = !PyArg_ParseTuple(made, "KiO", &address, &lanes, &owner) ||
                 PyList_Append(self->owners, owner) < 0;
        if (!failed && lanes > 0 && lanes <= MOST_LANES) {
            const Code code = {(Group)(uintptr_t)address, lanes};
            if (lanes == 1) coded->one = code;
            else coded->many = code;
        }
    }
    Py_DECREF(made);
    return failed ? -1 : 0;
}

/* Choose code for so many states of an entry, asking for it once that pays; -1 with an exception. */
static int choose_code(Kernel *self, int index, Py_ssize_t count, Code *code) {
    Coded *coded = &self->coded[index];
    int failed = 0;
    if (self->coder != Py_None) {
        const int many = count >= MANY && !coded->asked, one = count == 1 && coded->calls < HUNDREDTH;
        coded->calls += one;
        if (many || (one && coded->calls == HUNDREDTH)) {
            if (many) coded->asked = 1;
            failed = set_code(self, coded, PyObject_CallFunction(self->coder, "si", entries[index].name, many));
        }
    }
    *code = count > 1 && coded->many.run != NULL ? coded->many : coded->one;
    return failed;
}

/* use(name, address, lanes, owner): let code compute what an entry does. */
static PyObject *kernel_use(PyObject *object, PyObject *arguments) {
    Kernel *self = (Kernel *)object;
    PyObject *name = PyTuple_Size(arguments) > 0 ? PyTuple_GET_ITEM(arguments, 0) : Py_None;
    for (int i = 0; i < number_of_entries; ++i) {
        if (!PyUnicode_Check(name) || PyUnicode_CompareWithASCIIString(name, entries[i].name)) continue;
        self->coded[i].asked = 1, self->coded[i].calls = HUNDREDTH;
        PyObject *made = PyTuple_GetSlice(arguments, 1, PyTuple_GET_SIZE(arguments));
        return set_code(self, &self->coded[i], made) < 0 ? NULL : Py_NewRef(Py_None);
    }
    return PyErr_Format(PyExc_ValueError, "use: %R is no entry", name);
}

/* coded(): whether there is code for any entry. */
static PyObject *kernel_coded(PyObject *object, PyObject *nothing) {
    (void)nothing;
    return PyBool_FromLong(PyList_GET_SIZE(((Kernel *)object)->owners) > 0);
}

static PyObject *call_entry(Kernel *self, PyObject *const *arguments, Py_ssize_t count, int index) {
    const Entry *entry = &entries[index];
    Numbers views[MOST_ARRAYS];
    PyObject *arrays[MOST_ARRAYS], *found = NULL;
    Call call = {.steps = 1};
    int viewed = 0, made = 0, threads = 1, failed = 1, wanted = entry->inputs;
    Function *functions = NULL;
    call.entry = entry, call.tables = &self->tables, call.functions_count = 0;
    for (int i = 0; i < entry->inputs; ++i) wanted += entry->in[i].times == 0; /* functions */
    if (count == wanted + 1) {
        PyObject *given = arguments[count - 1];
        PyObject *whole = PyNumber_Index(given);
        if (whole == NULL) return PyErr_Format(PyExc_TypeError, "threads is a whole number");
        int beyond;
        const long asked = PyLong_AsLongAndOverflow(whole, &beyond);
        Py_DECREF(whole);
        threads = beyond || asked > MOST_THREADS ? MOST_THREADS + 1 : asked < 1 ? 0 : (int)asked;
    }
    if (count != wanted && count != wanted + 1) {
        return PyErr_Format(PyExc_TypeError, "%s takes %d arrays", entry->name, wanted);
    }
    if (threads < 1 || threads > MOST_THREADS) {
        return PyErr_Format(refused, "threads must be 1 to %d", MOST_THREADS);
    }
    for (; viewed < entry->inputs; ++viewed) {
        if (view_numbers(self->contiguous, arguments[viewed], &views[viewed]) < 0) goto end;
    }
    if (wanted > entry->inputs) {
        functions = view_functions(arguments[wanted - 1], &call.functions_count);
        if (functions == NULL) goto end;
    }
    call.functions = functions;
    const Py_ssize_t N = states_of(&self->tables, entry, views, &call);
    if (N == -2) goto end;
    for (; made < entry->outputs; ++made) {
        const Shape *shape = &entry->out[made];
        const long rows = (long)shape->times * self->tables.size[shape->rows];
        const long columns = self->tables.size[shape->columns];
        const int flat = shape->columns == one_size;
        arrays[made] = make_array(rows, columns, flat, N, &call.out[made]);
        if (arrays[made] == NULL) goto end;
        call.out_step[made] = rows * columns;
    }
    if (choose_code(self, index, N < 0 ? 1 : N, &call.code) < 0) goto end;
    if (N < 0 && call.code.run != NULL) { /* one state needs no workspace but where code is in doubt */
        char sound;
        call.code.run(call.in, call.in_step, call.out, call.out_step, 0, &sound);
        failed = !sound;
    }
    if (failed) {
        failed = compute(self, call.code.run == NULL || N < 0 ? run_entry : run_code, &call,
                         N < 0 ? 1 : N, threads, N < 0 || N == 1);
    }
    if (failed > 0) {
        found = Py_NewRef(Py_None);
    } else if (failed == 0 && made == 1) {
        found = Py_NewRef(arrays[0]);
    } else if (failed == 0 && (found = PyTuple_New(made)) != NULL) {
        for (int i = 0; i < made; ++i) PyTuple_SET_ITEM(found, i, Py_NewRef(arrays[i]));
    }
end:
    PyMem_Free(functions);
    for (int i = 0; i < viewed; ++i) Py_DECREF(views[i].array);
    for (int i = 0; i < made; ++i) Py_DECREF(arrays[i]);
    return found;
}

#define METHOD(name, inputs, outputs, in, out)                                                     \
    static PyObject *method_##name(PyObject *self, PyObject *const *arguments, Py_ssize_t count) { \
        return call_entry((Kernel *)self, arguments, count, entry_##name);                         \
    }
ENTRIES(METHOD)
#undef METHOD

/* Whether an object is a plain array of doubles of so many numbers. */
static int has_length(PyObject *object, Py_ssize_t length) {
    return is_plain(object, NPY_DOUBLE) && PyArray_SIZE((PyArrayObject *)object) == length;
}

/* rollout(records of q, v and errors, tau, options, targets, laws, closing, wrenches, steps, threads):
 * steps of N robots by ``fixed_step``, from the first to the last of their records (N, steps + 1,
 * ...), under forces (N, 1 or steps, nv), with targets (N, steps, drives). */
static PyObject *kernel_rollout(PyObject *object, PyObject *arguments) {
    Kernel *self = (Kernel *)object;
    const Tables *t = &self->tables;
    PyObject *a[9];
    double *x[9];
    int steps, threads, fits;
    if (!PyArg_ParseTuple(arguments, "OOOOOOOOOii", &a[0], &a[1], &a[2], &a[3], &a[4], &a[5], &a[6],
                          &a[7], &a[8], &steps, &threads)) {
        return NULL;
    }
    if (!is_plain(a[2], NPY_DOUBLE) || PyArray_NDIM((PyArrayObject *)a[2]) != 2 || steps < 0 ||
        PyArray_DIM((PyArrayObject *)a[2], 1) != (Py_ssize_t)steps + 1 ||
        !has_length(a[4], STEP_OPTIONS)) {
        return PyErr_Format(refused, "rollout: errors must have shape (N, steps + 1)");
    }
    const Py_ssize_t N = PyArray_DIM((PyArrayObject *)a[2], 0), nq = t->size[nq_size];
    const Py_ssize_t nv = t->size[nv_size], all = N * (steps + 1);
    const int drives = drives_of_steps(t, PyArray_DATA((PyArrayObject *)a[4]));
    const Py_ssize_t lengths[] = {all * nq, all * nv, all, N * nv, STEP_OPTIONS, N * steps * drives,
                                  LAWS * nv, CLOSING_LAWS * t->size[closing_freedoms_size],
                                  WRENCH_NUMBERS * t->size[links_size]};
    const int same = has_length(a[3], N * nv);
    for (int i = 0; i < 9; ++i) {
        fits = has_length(a[i], lengths[i]) || (i == 3 && has_length(a[i], N * steps * nv));
        if (!fits) return PyErr_Format(refused, "rollout: array %d of the wrong length", i + 1);
        x[i] = PyArray_DATA((PyArrayObject *)a[i]);
    }
    if (threads < 1 || threads > MOST_THREADS) {
        return PyErr_Format(refused, "threads must be 1 to %d", MOST_THREADS);
    }
    const int64_t records = steps + 1;
    Call call = {.entry = &entries[entry_fixed_step], .tables = t, .steps = steps,
                 .in = {x[0], x[1], x[3], x[4], x[5], x[6], x[7], x[8]},
                 .in_step = {records * nq, records * nv, same ? nv : steps * nv, 0, (int64_t)steps * drives},
                 .in_time = {nq, nv, same ? 0 : nv, 0, drives},
                 .out = {x[0] + nq, x[1] + nv, x[2] + 1},
                 .out_step = {records * nq, records * nv, records}, .out_time = {nq, nv, 1}};
    if (choose_code(self, entry_fixed_step, N, &call.code) < 0) return NULL;
    const Run run = call.code.run == NULL ? run_entry : run_code;
    return compute(self, run, &call, N, threads, 0) < 0 ? NULL : Py_NewRef(Py_None);
}

#define METHOD(name, inputs, outputs, in, out)                                                     \
    {#name, (PyCFunction)(void (*)(void))method_##name, METH_FASTCALL, NULL},
static PyMethodDef methods[] = {
    ENTRIES(METHOD){"rollout", kernel_rollout, METH_VARARGS, NULL},
    {"use", kernel_use, METH_VARARGS, NULL},
    {"coded", kernel_coded, METH_NOARGS, NULL},
    {NULL, NULL, 0, NULL}};
#undef METHOD

/* Whether arrays have the form of tables; what they hold is what Python made. */
static int are_tables(PyObject *integers, PyObject *reals) {
    if (!is_plain(integers, NPY_INT) || !is_plain(reals, NPY_DOUBLE)) return 0;
    const int *number = PyArray_DATA((PyArrayObject *)integers);
    const npy_intp count = PyArray_SIZE((PyArrayObject *)integers);
    return count > number_of_sizes && number[1] - number[0] == number_of_sizes;
}

static PyObject *kernel_new(PyTypeObject *type, PyObject *arguments, PyObject *keywords) {
    PyObject *integers, *reals, *contiguous, *coder = Py_None;
    static char *names[] = {"integers", "reals", "contiguous", "coder", NULL};
    if (!PyArg_ParseTupleAndKeywords(arguments, keywords, "OOO|O", names, &integers, &reals,
                                     &contiguous, &coder)) {
        return NULL;
    }
    if (!are_tables(integers, reals)) {
        return PyErr_Format(PyExc_ValueError, "these arrays hold no tables of a tree");
    }
    Kernel *self = (Kernel *)type->tp_alloc(type, 0);
    if (self == NULL) return NULL;
    self->integers = Py_NewRef(integers), self->reals = Py_NewRef(reals);
    self->contiguous = Py_NewRef(contiguous), self->coder = Py_NewRef(coder);
    if ((self->owners = PyList_New(0)) == NULL) {
        Py_DECREF(self);
        return NULL;
    }
    open_tables(&self->tables, PyArray_DATA((PyArrayObject *)integers),
                PyArray_DATA((PyArrayObject *)reals));
    return (PyObject *)self;
}

static void kernel_dealloc(PyObject *object) {
    Kernel *self = (Kernel *)object;
    while (self->spares > 0) PyMem_RawFree(self->spare[--self->spares]);
    Py_DECREF(self->integers);
    Py_DECREF(self->reals);
    Py_DECREF(self->contiguous);
    Py_DECREF(self->coder);
    Py_XDECREF(self->owners);
    Py_TYPE(object)->tp_free(object);
}

static PyTypeObject kernel_type = {
    PyVarObject_HEAD_INIT(NULL, 0).tp_name = "regularize.dynamics.step._compiled.Kernel",
    .tp_basicsize = sizeof(Kernel),
    .tp_dealloc = kernel_dealloc,
    .tp_flags = Py_TPFLAGS_DEFAULT,
    .tp_methods = methods,
    .tp_new = kernel_new,
};

static struct PyModuleDef module = {PyModuleDef_HEAD_INIT, .m_name = "_compiled", .m_size = -1};

PyMODINIT_FUNC PyInit__compiled(void) {
    import_array();
    PyObject *errors = PyImport_ImportModule("regularize.errors");
    if (errors == NULL) return NULL;
    refused = PyObject_GetAttrString(errors, "ModelError");
    not_finite = PyObject_GetAttrString(errors, "NotFinite");
    Py_DECREF(errors);
    if (refused == NULL || not_finite == NULL) return NULL;
    PyObject *made = PyModule_Create(&module);
    if (made == NULL || PyType_Ready(&kernel_type) < 0) return NULL;
    if (PyModule_AddObjectRef(made, "Kernel", (PyObject *)&kernel_type) < 0) {
        Py_DECREF(made);
        return NULL;
    }
#ifdef Py_GIL_DISABLED
    PyUnstable_Module_SetGIL(made, Py_MOD_GIL_NOT_USED);
#endif
    return made;
}
