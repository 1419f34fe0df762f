/* Arrays of NumPy as the kernel reads and makes them, by the buffer protocol.
 *
 * A buffer takes longer to ask for than a small step takes to compute. So arrays of one axis are
 * read where NumPy keeps them: the beginning of its array objects has been the same since 1.0, its
 * headers are not needed for it, and a sample says whether it still is. Where it is, arrays are made
 * by the function that NumPy has for compiled code. */
#include <Python.h>
#include <stdint.h>
#include <string.h>

/* The beginning of NumPy's array objects. */
typedef struct {
    PyObject_HEAD
    char *data;
    int axes;
    Py_ssize_t *shape, *strides;
    PyObject *base, *dtype;
    int flags;
} ArrayObject;

enum { CONTIGUOUS = 0x0001, ALIGNED = 0x0100, WRITABLE = 0x0400 };

/* PyArray_NewFromDescr, which takes a reference to the description of the items, and its place in the
 * table of functions that NumPy has for compiled code, the same in all versions. */
typedef PyObject *(*Maker)(PyTypeObject *, PyObject *, int, const Py_ssize_t *, const Py_ssize_t *,
                           void *, int, PyObject *);
enum { NEW_FROM_DESCR = 94 };

/* How to make arrays, and what arrays of doubles are. */
typedef struct {
    PyObject *empty, *contiguous;
    PyTypeObject *type; /* NULL where array objects begin in another way */
    PyObject *dtype;
    Maker make; /* NULL where NumPy has no such table */
} Arrays;

/* Numbers of one state or of several. */
typedef struct {
    double *numbers;
    int axes;
    Py_ssize_t shape[2], count;
    Py_buffer view; /* without an object where no buffer was asked for */
} Numbers;

/* The function that makes arrays. */
static Maker find_maker(void) {
    PyObject *module = PyImport_ImportModule("numpy._core._multiarray_umath"), *table = NULL;
    Maker make = NULL;
    if (module != NULL) table = PyObject_GetAttrString(module, "_ARRAY_API");
    if (table != NULL) {
        void **functions = PyCapsule_GetPointer(table, NULL);
        if (functions != NULL) memcpy(&make, functions + NEW_FROM_DESCR, sizeof make);
    }
    PyErr_Clear();
    Py_XDECREF(table);
    Py_XDECREF(module);
    return make;
}

/* Look at a sample; 0, or -1 with an exception. */
static int open_arrays(Arrays *self, PyObject *empty, PyObject *contiguous) {
    Py_buffer view;
    PyObject *shape = Py_BuildValue("(ii)", 2, 3), *sample = NULL, *dtype = NULL;
    int failed = -1;
    self->type = NULL, self->dtype = NULL, self->make = NULL;
    self->empty = Py_NewRef(empty), self->contiguous = Py_NewRef(contiguous);
    if (shape != NULL) sample = PyObject_CallOneArg(empty, shape);
    if (sample != NULL) dtype = PyObject_GetAttrString(sample, "dtype");
    if (dtype != NULL) failed = PyObject_GetBuffer(sample, &view, PyBUF_C_CONTIGUOUS);
    if (!failed) {
        const ArrayObject *array = (const ArrayObject *)sample;
        const int wanted = CONTIGUOUS | ALIGNED | WRITABLE;
        if (Py_TYPE(sample)->tp_basicsize >= (Py_ssize_t)sizeof(ArrayObject) &&
            array->data == view.buf && array->axes == 2 && array->dtype == dtype &&
            (array->flags & wanted) == wanted &&
            memcmp(array->shape, view.shape, 2 * sizeof(Py_ssize_t)) == 0 &&
            memcmp(array->strides, view.strides, 2 * sizeof(Py_ssize_t)) == 0) {
            self->type = (PyTypeObject *)Py_NewRef(Py_TYPE(sample));
            self->dtype = Py_NewRef(dtype);
            self->make = find_maker();
        }
        PyBuffer_Release(&view);
    }
    Py_XDECREF(dtype);
    Py_XDECREF(sample);
    Py_XDECREF(shape);
    return failed;
}

static void close_arrays(Arrays *self) {
    Py_CLEAR(self->empty);
    Py_CLEAR(self->contiguous);
    Py_CLEAR(self->type);
    Py_CLEAR(self->dtype);
}

/* Whether an object is an array of doubles of one axis, without gaps; its numbers then. */
static inline int read_array(const Arrays *self, PyObject *object, Numbers *found) {
    const ArrayObject *array = (const ArrayObject *)object;
    if (Py_TYPE(object) != self->type || array->dtype != self->dtype || array->axes != 1 ||
        (array->flags & (CONTIGUOUS | ALIGNED)) != (CONTIGUOUS | ALIGNED)) {
        return 0;
    }
    found->numbers = (double *)array->data;
    found->axes = 1;
    found->shape[0] = found->count = array->shape[0];
    found->view.obj = NULL;
    return 1;
}

/* Whether the items of a buffer have one of these formats and that size, and are aligned. */
static int holds(const Py_buffer *view, const char *formats, size_t size) {
    return view->format != NULL && strlen(view->format) == 1 &&
           strchr(formats, view->format[0]) != NULL && (size_t)view->itemsize == size &&
           (uintptr_t)view->buf % size == 0;
}

/* The numbers of an array of doubles, contiguous, of one or two axes; else of a copy that is one. */
static int view_numbers(const Arrays *self, PyObject *array, Numbers *found) {
    const int flags = PyBUF_C_CONTIGUOUS | PyBUF_FORMAT;
    Py_buffer *view = &found->view;
    if (read_array(self, array, found)) return 0;
    int failed = !PyObject_CheckBuffer(array) || PyObject_GetBuffer(array, view, flags) < 0;
    if (!failed && !holds(view, "d", sizeof(double))) {
        PyBuffer_Release(view);
        failed = 1;
    }
    if (failed) {
        PyErr_Clear();
        PyObject *copied = PyObject_CallOneArg(self->contiguous, array);
        if (copied == NULL) return -1;
        failed = PyObject_GetBuffer(copied, view, flags);
        Py_DECREF(copied);
        if (failed) return -1;
    }
    found->numbers = view->buf;
    found->axes = view->ndim;
    found->count = view->len / (Py_ssize_t)sizeof(double);
    for (int i = 0; i < 2 && i < view->ndim; ++i) found->shape[i] = view->shape[i];
    return 0;
}

static inline void release_numbers(Numbers *numbers) {
    if (numbers->view.obj != NULL) PyBuffer_Release(&numbers->view);
}

/* An empty array of a shape for one state (N < 0), or for N of them. */
static PyObject *make_array(const Arrays *self, long rows, long columns, int flat, Py_ssize_t N,
                            Numbers *found) {
    Py_ssize_t shape[3];
    int axes = 0;
    if (N >= 0) shape[axes++] = N;
    shape[axes++] = rows;
    if (!flat) shape[axes++] = columns;
    found->view.obj = NULL;
    if (self->make != NULL) {
        Py_INCREF(self->dtype);
        PyObject *array = self->make(self->type, self->dtype, axes, shape, NULL, NULL, 0, NULL);
        if (array != NULL) found->numbers = (double *)((const ArrayObject *)array)->data;
        return array;
    }
    PyObject *sizes = PyTuple_New(axes);
    for (int i = 0; i < axes && sizes != NULL; ++i) {
        PyObject *size = PyLong_FromSsize_t(shape[i]);
        if (size == NULL) Py_CLEAR(sizes);
        if (size != NULL) PyTuple_SET_ITEM(sizes, i, size);
    }
    if (sizes == NULL) return NULL;
    PyObject *array = PyObject_CallOneArg(self->empty, sizes);
    Py_DECREF(sizes);
    if (array != NULL && !read_array(self, array, found)) {
        if (PyObject_GetBuffer(array, &found->view, PyBUF_WRITABLE) < 0) {
            Py_DECREF(array);
            return NULL;
        }
        found->numbers = found->view.buf;
    }
    return array;
}
