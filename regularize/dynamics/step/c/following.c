/* Velocities that lead a mechanism a short way, and what follows them. */

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
static int follow(const Tables *t, Workspace *w, const double *const *in, double *const *out) {
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
