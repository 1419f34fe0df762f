/* Numbers of several states side by side, as GCC and Clang have them; one where LANES is 1. */
#include <math.h>

#define NEXT_TO(n) ((n) < 1 ? 1 : (n))

#if LANES == 1
typedef double V;
typedef int Mask;
#define K(c) (c)
#define PUT(x, l) (x)
static inline V minimum(V a, V b) { return a < b ? a : b; }
static inline V maximum(V a, V b) { return a > b ? a : b; }
static inline V absolute(V a) { return fabs(a); }
static inline V root(V a) { return sqrt(a); }
static inline V turn_of(V y, V x) { return atan2(y, x); }
static inline void sine_cosine(const V *x, V *s, V *c, V *far) { *s = sin(*x), *c = cos(*x); (void)far; }
#else
typedef double V __attribute__((vector_size(8 * LANES)));
typedef long long W __attribute__((vector_size(8 * LANES)));
#define K(c) ((V){0} + (c))
#define PUT(x, l) ((x)[l])
/* No function takes or returns a vector: how it would depends on the processor that is compiled for. */
#define EITHER(mask, a, b) ((V)(((W)(a) & (mask)) | ((W)(b) & ~(mask))))
#define WITH(a, b, value) (__extension__({ const V x_ = (a), y_ = (b); value; }))
#define minimum(a, b) WITH(a, b, EITHER((W)(x_ < y_), x_, y_))
#define maximum(a, b) WITH(a, b, EITHER((W)(x_ > y_), x_, y_))
#define absolute(a) WITH(a, K(0.0), EITHER((W)(x_ < y_), -x_, x_))
#define LANE_BY_LANE(a, b, value) \
    WITH(a, b, V z_; for (int l = 0; l < LANES; ++l) z_[l] = value; z_)
#define root(a) LANE_BY_LANE(a, K(0.0), __builtin_sqrt(x_[l]))
#define turn_of(y, x) LANE_BY_LANE(y, x, atan2(x_[l], y_[l]))
/* Reduction to a quarter turn by pi/2 in three parts (Cody and Waite), and polynomials of the usual
 * libraries (fdlibm); far becomes the largest angle, beyond 1e5 of which digits are lost. */
static inline void sine_cosine(const V *angle, V *s, V *c, V *far) {
    const V x = *angle, magic = K(6755399441055744.0);
    V n = x * 0.63661977236758134308 + magic;
    const W k = (W)n;
    n -= magic;
    const V r = ((x - n * 1.57079632673412561417e+00) - n * 6.07710050630396597660e-11) - n * 2.02226624879595063154e-21;
    const V z = r * r;
    const V sp = r + r * z * (-1.66666666666666324348e-01 + z * (8.33333333332248946124e-03 + z * (-1.98412698298579493134e-04
        + z * (2.75573137070700676789e-06 + z * (-2.50507602534068634195e-08 + z * 1.58969099521155010221e-10)))));
    const V cp = 1.0 - 0.5 * z + z * z * (4.16666666666666019037e-02 + z * (-1.38888888888741095749e-03
        + z * (2.48015872894767294178e-05 + z * (-2.75573143513906633035e-07
        + z * (2.08757232129817482790e-09 + z * -1.13596475577881948265e-11)))));
    const W odd = -(k & 1), sign_s = (k & 2) << 62, sign_c = ((k + 1) & 2) << 62;
    *s = (V)((W)EITHER(odd, cp, sp) ^ sign_s), *c = (V)((W)EITHER(odd, sp, cp) ^ sign_c);
    *far = maximum(*far, absolute(x));
}
#endif
