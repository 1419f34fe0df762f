/* Vectors of three numbers, rotations row by row. Results may not overlap arguments.
 *
 * Three numbers are too few for loops: what compilers do so that these take two at once takes longer
 * than they do. */
#ifndef REGULARIZE_ALGEBRA_H
#define REGULARIZE_ALGEBRA_H

#ifdef _MSC_VER
#define restrict __restrict
#endif

/* Functions whose constant arguments are worth code of their own. */
#if defined(_MSC_VER)
#define UNROLLED static __forceinline
#elif defined(__GNUC__)
#define UNROLLED static inline __attribute__((always_inline))
#else
#define UNROLLED static inline
#endif

UNROLLED double dot(const double *a, const double *b) {
    return a[0] * b[0] + a[1] * b[1] + a[2] * b[2];
}

/* c = a x b */
UNROLLED void cross(const double *a, const double *b, double *restrict c) {
    c[0] = a[1] * b[2] - a[2] * b[1];
    c[1] = a[2] * b[0] - a[0] * b[2];
    c[2] = a[0] * b[1] - a[1] * b[0];
}

/* c += a x b */
UNROLLED void add_cross(const double *a, const double *b, double *restrict c) {
    c[0] += a[1] * b[2] - a[2] * b[1];
    c[1] += a[2] * b[0] - a[0] * b[2];
    c[2] += a[0] * b[1] - a[1] * b[0];
}

UNROLLED void copy(const double *a, double *restrict b) {
    b[0] = a[0], b[1] = a[1], b[2] = a[2];
}

UNROLLED void add(const double *a, double *restrict b) {
    b[0] += a[0], b[1] += a[1], b[2] += a[2];
}

UNROLLED void add_scaled(double factor, const double *a, double *restrict b) {
    b[0] += factor * a[0], b[1] += factor * a[1], b[2] += factor * a[2];
}

UNROLLED void scale(double factor, const double *a, double *restrict b) {
    b[0] = factor * a[0], b[1] = factor * a[1], b[2] = factor * a[2];
}

UNROLLED void sum(const double *a, const double *b, double *restrict c) {
    c[0] = a[0] + b[0], c[1] = a[1] + b[1], c[2] = a[2] + b[2];
}

UNROLLED void subtract(const double *a, const double *b, double *restrict c) {
    c[0] = a[0] - b[0], c[1] = a[1] - b[1], c[2] = a[2] - b[2];
}

static inline void fill(double value, int count, double *restrict a) {
    for (int i = 0; i < count; ++i) a[i] = value;
}

/* b = R a */
UNROLLED void rotate(const double *R, const double *a, double *restrict b) {
    b[0] = R[0] * a[0] + R[1] * a[1] + R[2] * a[2];
    b[1] = R[3] * a[0] + R[4] * a[1] + R[5] * a[2];
    b[2] = R[6] * a[0] + R[7] * a[1] + R[8] * a[2];
}

/* b = R^T a */
static inline void rotate_back(const double *R, const double *a, double *restrict b) {
    b[0] = R[0] * a[0] + R[3] * a[1] + R[6] * a[2];
    b[1] = R[1] * a[0] + R[4] * a[1] + R[7] * a[2];
    b[2] = R[2] * a[0] + R[5] * a[1] + R[8] * a[2];
}

/* b = S a, of a symmetric matrix xx xy xz yy yz zz */
UNROLLED void act_symmetric(const double *S, const double *a, double *restrict b) {
    b[0] = S[0] * a[0] + S[1] * a[1] + S[2] * a[2];
    b[1] = S[1] * a[0] + S[3] * a[1] + S[4] * a[2];
    b[2] = S[2] * a[0] + S[4] * a[1] + S[5] * a[2];
}

/* c = a B, of rows */
UNROLLED void multiply_row(const double *a, const double *B, double *restrict c) {
    c[0] = a[0] * B[0] + a[1] * B[3] + a[2] * B[6];
    c[1] = a[0] * B[1] + a[1] * B[4] + a[2] * B[7];
    c[2] = a[0] * B[2] + a[1] * B[5] + a[2] * B[8];
}

/* C = A B */
UNROLLED void multiply(const double *A, const double *B, double *restrict C) {
    multiply_row(A, B, C);
    multiply_row(A + 3, B, C + 3);
    multiply_row(A + 6, B, C + 6);
}

/* Pose of b in the frame in which a stands: c = a b. */
static inline void compose(const double *a, const double *b, double *restrict c) {
    multiply(a, b, c);
    rotate(a, b + 9, c + 9);
    add(a + 9, c + 9);
}

/* Rotation of a unit quaternion x y z w. */
static inline void quaternion(const double *q, double *restrict R) {
    const double x = q[0], y = q[1], z = q[2], w = q[3];
    R[0] = 1.0 - 2.0 * (y * y + z * z), R[1] = 2.0 * (x * y - z * w), R[2] = 2.0 * (x * z + y * w);
    R[3] = 2.0 * (x * y + z * w), R[4] = 1.0 - 2.0 * (x * x + z * z), R[5] = 2.0 * (y * z - x * w);
    R[6] = 2.0 * (x * z - y * w), R[7] = 2.0 * (y * z + x * w), R[8] = 1.0 - 2.0 * (x * x + y * y);
}

/* Whether all numbers are finite: zero times each is. Two sums do not wait for each other. */
static int are_finite(const double *numbers, long count) {
    double even = 0.0, odd = 0.0;
    long i = 0;
    for (; i + 1 < count; i += 2) even += 0.0 * numbers[i], odd += 0.0 * numbers[i + 1];
    if (i < count) even += 0.0 * numbers[i];
    return even + odd == 0.0;
}

#endif
