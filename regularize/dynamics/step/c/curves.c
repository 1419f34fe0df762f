/* Couplings whose entries change with the configuration: functions of a coordinate in polynomial
 * pieces, in the place of a coefficient times the coordinate.
 */

enum { CURVE_VALUE, CURVE_SLOPE, CURVE_SECOND, CURVE_THIRD, CURVE_RATE, CURVE_ACCELERATION };
enum { PIECE_BEGIN, PIECE_ORIGIN, PIECE_NUMBERS = 7 };

/* Entries of the constant rows at the configuration that was placed last. */
static inline const double *coefficients(const Tables *t, const Workspace *w) {
    return t->size[curves_size] ? w->coefficient : t->coefficient;
}

/* The coordinate of a column of one freedom. */
static inline double coordinate_of(const Tables *t, int column, const double *q) {
    const int b = t->moved[column];
    const double *value = q + t->coordinate[b];
    return t->kind[b] == CONTINUOUS ? atan2(value[1], value[0]) : value[0];
}

/* Values and derivatives of all curves, and the entries of their rows. */
static void place_curves(const Tables *t, Workspace *w, const double *q) {
    if (!t->size[curves_size]) return;
    for (int e = 0; e < t->size[coupled_entries_size]; ++e) w->coefficient[e] = t->coefficient[e];
    for (int i = 0; i < t->size[curves_size]; ++i) {
        const double x = coordinate_of(t, t->coupled[t->curve_entry[i]], q);
        double *at = w->curve + 6 * i, value = 0.0, slope = 0.0, second = 0.0, third = 0.0;
        int piece = t->curve_piece[i];
        while (piece + 1 < t->curve_piece[i + 1] &&
               t->piece[PIECE_NUMBERS * (piece + 1) + PIECE_BEGIN] <= x) {
            ++piece;
        }
        const double *numbers = t->piece + PIECE_NUMBERS * piece, d = x - numbers[PIECE_ORIGIN];
        for (int k = PIECE_NUMBERS - 1; k > PIECE_ORIGIN; --k) {
            third = third * d + 3.0 * second;
            second = second * d + 2.0 * slope;
            slope = slope * d + value;
            value = value * d + numbers[k];
        }
        at[CURVE_VALUE] = value, at[CURVE_SLOPE] = slope;
        at[CURVE_SECOND] = second, at[CURVE_THIRD] = third;
        w->coefficient[t->curve_entry[i]] = slope;
    }
}

/* The velocity of a curve's coordinate among those of the tree. */
static inline int curve_velocity(const Tables *t, int i) {
    return t->rate[t->coupled[t->curve_entry[i]]];
}

/* Rates of the curves' coordinates. */
static void move_curves(const Tables *t, Workspace *w, const double *rates) {
    for (int i = 0; i < t->size[curves_size]; ++i) {
        w->curve[6 * i + CURVE_RATE] = rates[curve_velocity(t, i)];
    }
}

/* Add the rates of the curves' rows, while no velocity changes, to those of all rows. */
static void add_curve_rates(const Tables *t, const Workspace *w, double *rates) {
    for (int i = 0; i < t->size[curves_size]; ++i) {
        const double *at = w->curve + 6 * i;
        rates[t->curve_row[i]] += at[CURVE_SECOND] * at[CURVE_RATE] * at[CURVE_RATE];
    }
}

/* Add what the curves' rows have in the derivatives of rows' rates (rows, 2 nv). */
static void add_curve_derivatives(const Tables *t, const Workspace *w, double *Q) {
    const int nv = t->size[nv_size];
    for (int i = 0; i < t->size[curves_size]; ++i) {
        const double *at = w->curve + 6 * i, rate = at[CURVE_RATE];
        double *row = Q + 2 * nv * t->curve_row[i] + curve_velocity(t, i);
        row[0] += at[CURVE_SECOND] * at[CURVE_ACCELERATION] + at[CURVE_THIRD] * rate * rate;
        row[nv] += 2.0 * at[CURVE_SECOND] * rate;
    }
}
