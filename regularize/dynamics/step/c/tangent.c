/* Rates of tangent steps: how the step from where a motion began grows with the velocity. */

/* Angle that a group's tangent step may have: the series of its rate is exact up to there. */
static const double widest = 1.0;

/* Bernoulli numbers 2, 4 ... by the factorials of 2, 4 ... */
enum { EVEN = 7 };
static const double bernoulli[EVEN] = {
    1.0 / 12.0,       -1.0 / 720.0,             1.0 / 30240.0,      -1.0 / 1209600.0,
    1.0 / 47900160.0, -691.0 / 1307674368000.0, 1.0 / 74724249600.0};

/* The sum of Bernoulli numbers by n! times the n-th bracket of step x with velocity v: the rate of
 * a tangent step of a group, both twists in the moving frame, linear part first. */
static int group_rate(const double *x, const double *v, double *rate) {
    double term[6], next[6];
    for (int i = 0; i < 6; ++i) term[i] = rate[i] = v[i];
    for (int n = 0; n < 2 * EVEN; ++n) {
        const double factor = n == 0 ? 0.5 : n % 2 ? bernoulli[n / 2] : 0.0;
        bracket(x, term, next);
        for (int i = 0; i < 6; ++i) term[i] = next[i], rate[i] += factor * next[i];
    }
    return dot(x + 3, x + 3) > widest * widest;
}

/* b = a - w x a / 2 + factor w x (w x a), and the two products */
static void through_rate(const double *w, const double *a, double factor, double *once, double *twice,
                         double *b) {
    cross(w, a, once);
    cross(w, once, twice);
    for (int i = 0; i < 3; ++i) b[i] = a[i] - 0.5 * once[i] + factor * twice[i];
}

/* The wrench in the moved frame that does the work of forces along the numbers of the twist x to it,
 * all turns less than a whole one: the transpose of what group_rate sums, in closed form. */
static void wrench_of_forces(const double *x, const double *force, double *wrench) {
    const double *w = x + 3, square = dot(w, w), along = 2.0 * dot(x, w);
    double factor = 0.0, slope = 0.0, once[3], twice[3], arm[3], spun[3], moment[3];
    if (square < 0.25) { /* closed forms lose digits; the slope is that of the factor by the square */
        for (int k = EVEN - 1; k >= 0; --k) {
            slope = factor - square * slope;
            factor = bernoulli[k] - square * factor;
        }
        slope = -slope;
    } else {
        const double half = 0.5 * sqrt(square), sine = sin(half);
        const double cotangent = half * cos(half) / sine;
        factor = (1.0 - cotangent) / square;
        slope = (half * half / (sine * sine) + cotangent - 2.0) / (2.0 * square * square);
    }
    through_rate(w, force + 3, factor, once, twice, moment);
    through_rate(w, force, factor, once, twice, wrench);
    cross(x, force, arm);
    cross(w, arm, spun);
    add_cross(x, once, spun);
    for (int i = 0; i < 3; ++i) {
        wrench[3 + i] = moment[i] - 0.5 * arm[i] + factor * spun[i] + along * slope * twice[i];
    }
}

/* Rates (nv,) of the tangent step at velocities; 1 where it turns a link too far. */
static int step_rates(const Tables *t, const double *step, const double *v, double *rates) {
    int far = 0;
    for (int i = 0; i < t->size[nv_size]; ++i) rates[i] = v[i];
    for (int b = 1; b < t->size[links_size]; ++b) {
        const int first = t->column[b], count = t->column[b + 1] - first, at = t->rate[first];
        if (count == 1 || !t->own[first]) continue;
        double x[6] = {0}, twist[6] = {0}, rate[6];
        for (int i = 0; i < count; ++i) {
            const int place = t->kind[b] == SPHERICAL ? i + 3 : t->kind[b] == PLANAR && i == 2 ? 5 : i;
            x[place] = step[at + i], twist[place] = v[at + i];
        }
        far |= group_rate(x, twist, rate);
        for (int i = 0; i < count; ++i) {
            const int place = t->kind[b] == SPHERICAL ? i + 3 : t->kind[b] == PLANAR && i == 2 ? 5 : i;
            rates[at + i] = rate[place];
        }
    }
    return far;
}
