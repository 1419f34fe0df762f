/* Arrays of NumPy as the kernel reads and makes them. */
#define NPY_NO_DEPRECATED_API NPY_2_0_API_VERSION
#include <numpy/arrayobject.h>
#undef I /* complex.h takes the name of inertias */

/* Numbers of one state or of several, and the array that holds them. */
typedef struct {
    double *numbers;
    int axes;
    Py_ssize_t shape[2], count;
    PyObject *array;
} Numbers;

/* Whether an object is an array that C code can read as it stands, of items of a kind. */
static inline int is_plain(PyObject *object, int type) {
    return PyArray_CheckExact(object) && PyArray_TYPE((PyArrayObject *)object) == type &&
           PyArray_ISCARRAY_RO((PyArrayObject *)object);
}

/* The numbers of an object: of an array of doubles as it stands, else of what a function makes of it;
 * 0, or -1 with an exception. */
static int view_numbers(PyObject *contiguous, PyObject *object, Numbers *found) {
    if (is_plain(object, NPY_DOUBLE)) {
        Py_INCREF(object);
    } else {
        object = PyObject_CallOneArg(contiguous, object);
        if (object == NULL) return -1;
    }
    const PyArrayObject *array = (const PyArrayObject *)object;
    found->array = object;
    found->numbers = (double *)PyArray_DATA((PyArrayObject *)object);
    found->axes = PyArray_NDIM(array);
    found->count = PyArray_SIZE((PyArrayObject *)object);
    for (int i = 0; i < 2 && i < found->axes; ++i) found->shape[i] = PyArray_DIM(array, i);
    return 0;
}

/* An empty array of a shape for one state (N < 0), or for N of them. */
static PyObject *make_array(long rows, long columns, int flat, Py_ssize_t N, double **numbers) {
    npy_intp shape[3];
    int axes = 0;
    if (N >= 0) shape[axes++] = N;
    shape[axes++] = rows;
    if (!flat) shape[axes++] = columns;
    PyObject *array = PyArray_SimpleNew(axes, shape, NPY_DOUBLE);
    if (array != NULL) *numbers = (double *)PyArray_DATA((PyArrayObject *)array);
    return array;
}
