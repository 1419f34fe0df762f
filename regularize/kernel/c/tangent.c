/* Rates of tangent steps: how the step from where a motion began grows with the velocity. */
#include "algebra.h"
#include "spatial.h"
#include "tables.h"

/* Angle that a group's tangent step may have: the series of its rate is exact up to there. */
static const double widest = 1.0;

/* The sum of Bernoulli numbers by n! times the n-th bracket of step x with velocity v: the rate of
 * a tangent step of a group, both twists in the moving frame, linear part first. */
static int group_rate(const double *x, const double *v, double *rate) {
    static const double even[] = {1.0 / 12.0, -1.0 / 720.0, 1.0 / 30240.0, -1.0 / 1209600.0,
                                  1.0 / 47900160.0, -691.0 / 1307674368000.0,
                                  1.0 / 74724249600.0};
    double term[6], next[6];
    for (int i = 0; i < 6; ++i) term[i] = rate[i] = v[i];
    for (int n = 0; n < 14; ++n) {
        const double factor = n == 0 ? 0.5 : n % 2 ? even[n / 2] : 0.0;
        bracket(x, term, next);
        for (int i = 0; i < 6; ++i) term[i] = next[i], rate[i] += factor * next[i];
    }
    return dot(x + 3, x + 3) > widest * widest;
}

/* Rates (nv,) of the tangent step at velocities; 1 where it turns a part too far. */
static int step_rates(const Tables *t, const double *step, const double *v, double *rates) {
    int far = 0;
    for (int i = 0; i < t->size[nv_size]; ++i) rates[i] = v[i];
    for (int b = 1; b < t->size[parts_size]; ++b) {
        const int first = t->column[b], count = t->column[b + 1] - first, at = t->rate[first];
        if (count == 1 || !t->own[first]) continue;
        double x[6] = {0}, twist[6] = {0}, rate[6];
        for (int i = 0; i < count; ++i) {
            const int place = t->kind[b] == BALL ? i + 3 : t->kind[b] == PLANE && i == 2 ? 5 : i;
            x[place] = step[at + i], twist[place] = v[at + i];
        }
        far |= group_rate(x, twist, rate);
        for (int i = 0; i < count; ++i) {
            const int place = t->kind[b] == BALL ? i + 3 : t->kind[b] == PLANE && i == 2 ? 5 : i;
            rates[at + i] = rate[place];
        }
    }
    return far;
}
