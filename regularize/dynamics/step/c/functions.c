/* Functions of the caller's, which are capsules whose name is their signature, or tuples of a capsule
 * and what its function lives in; and what numbers say of drives, checked before the kernel goes by it. */

static const char *const signatures[FUNCTION_KINDS] = {
    "double (double, void *)",
    "int (double, double *, double *, double *, void *)",
    "int (double, double *, void *)",
};

/* Functions in a tuple of capsules, to be freed; NULL with an exception. */
static Function *view_functions(PyObject *capsules, int *count) {
    Function *found = NULL;
    int kind = -1, i = 0;
    *count = PyTuple_Check(capsules) ? (int)PyTuple_GET_SIZE(capsules) : -1;
    if (*count >= 0) found = PyMem_Calloc((size_t)*count + 1, sizeof(Function));
    for (; found != NULL && i < *count; ++i) {
        PyObject *capsule = PyTuple_GET_ITEM(capsules, i);
        if (PyTuple_Check(capsule) && PyTuple_GET_SIZE(capsule) > 0) {
            capsule = PyTuple_GET_ITEM(capsule, 0);
        }
        for (kind = FUNCTION_KINDS; --kind >= 0;) {
            if (PyCapsule_IsValid(capsule, signatures[kind])) break;
        }
        if (kind < 0) break;
        found[i].kind = kind, found[i].address = PyCapsule_GetPointer(capsule, signatures[kind]);
        found[i].data = PyCapsule_GetContext(capsule);
    }
    if (found != NULL && i == *count) return found;
    PyMem_Free(found);
    PyErr_Format(PyExc_TypeError, "functions are a tuple of capsules of known signatures");
    return NULL;
}

/* Whether a number is a whole one, from the first to below the last. */
static int is_whole(double number, double from, double below) {
    return number >= from && number < below && number == floor(number);
}

static int is_form(int form, const double *numbers, int length) {
    const double *code = numbers + 3, *end = numbers + length;
    if (form != EXPRESSION) return form == TABLE ? length >= 6 && length % 5 == 1 : length == 1;
    if (length < 3) return 0;
    for (int i = 0; i < 3; code += (int)numbers[i++]) {
        if (!is_whole(numbers[i], 0.0, (double)(end - code) + 1.0)) return 0;
    }
    return code == end;
}

/* Whether so many numbers are drives of a tree. */
static int are_drives(const Tables *t, const double *drive, Py_ssize_t length) {
    const double *end = drive + length;
    if (length < 1 || !is_whole(*drive, 0.0, t->size[rows_size] + 1)) return 0;
    for (int left = (int)*drive++; left > 0; --left) {
        if (end - drive < HEAD || !is_whole(drive[DRIVEN_VELOCITY], 0.0, t->size[nv_size]) ||
            !is_whole(drive[DRIVEN_COORDINATE], 0.0, t->size[nq_size]) ||
            !is_whole(drive[FORM], EXPRESSION, FUNCTION + 1) ||
            !is_whole(drive[LENGTH_OF_FORM], 1.0, (double)(end - drive - HEAD) + 1.0)) {
            return 0;
        }
        const int of_form = (int)drive[LENGTH_OF_FORM];
        if (!is_form((int)drive[FORM], drive + HEAD, of_form)) return 0;
        drive += HEAD + of_form;
    }
    return drive == end;
}
