/* Rows of closures and couplings: on velocities, their rates, and the derivatives of both.
 *
 * The row of a covector W that the first link carries is W . (V_2 - V_1). A column k that moves
 * only the second link (side 1) or only the first one (side -1) appears in it with W . S_k. Its
 * derivatives follow from d_k V = (V_p - V) x S_k for the twist of any link behind joint k, p
 * before it, and from the Jacobi identity; with the P and G of derivatives.c they are
 *     d_q (J v)     = side W . (P - V_2 x S)
 *     d_v (rate)    = side W . (P + dS - (V_1 + V_2) x S)
 *     d_q (rate)    = side W . (G - (V_1 + V_2) x P - A_2 x S + V_1 x (V_2 x S)).
 */

/* Covectors of all closures in ground axes about the common point, after move_links(). */
static void place_covectors(const Tables *t, Workspace *w) {
    for (int i = 0; i < t->size[closures_size]; ++i) {
        const double *pose = w->pose + 12 * t->first[i];
        double x[3], d[3];
        row_point(t, w, i, x);
        subtract(x, w->point, d);
        for (int r = t->row[i]; r < t->row[i + 1]; ++r) {
            double *W = w->row_wrench + 6 * r;
            rotate(pose, t->covector + 6 * r, W);
            rotate(pose, t->covector + 6 * r + 3, W + 3);
            add_cross(d, W, W + 3);
        }
    }
}

/* Rows on velocities (rows, nv), after place_covectors(). */
static void place_rows(const Tables *t, const Workspace *w, double *J) {
    const int nv = t->size[nv_size], loops = t->size[loop_rows_size];
    fill(0.0, nv * t->size[rows_size], J);
    for (int i = 0; i < t->size[closures_size]; ++i) {
        for (int r = t->row[i]; r < t->row[i + 1]; ++r) {
            for (int s = t->step[i]; s < t->step[i + 1]; ++s) {
                const int k = t->stepped[s];
                J[nv * r + t->rate[k]] += t->sense[s] * work(w->row_wrench + 6 * r, w->screw + 6 * k);
            }
        }
    }
    for (int r = loops; r < t->size[rows_size]; ++r) {
        for (int e = t->coupling[r - loops]; e < t->coupling[r - loops + 1]; ++e) {
            J[nv * r + t->rate[t->coupled[e]]] += coefficients(t, w)[e];
        }
    }
}

/* Rates of the rows while no velocity changes (rows,). */
static void row_rates(const Tables *t, const Workspace *w, double *rates) {
    fill(0.0, t->size[rows_size], rates);
    for (int i = 0; i < t->size[closures_size]; ++i) {
        const int first = 6 * t->first[i], second = 6 * t->second[i];
        double drift[6];
        bracket(w->V + first, w->V + second, drift);
        for (int j = 0; j < 6; ++j) drift[j] = w->A[second + j] - w->A[first + j] - drift[j];
        for (int r = t->row[i]; r < t->row[i + 1]; ++r) {
            rates[r] = work(w->row_wrench + 6 * r, drift);
        }
    }
    add_curve_rates(t, w, rates);
}

/* Derivatives of the rows' rates by configuration and velocity (rows, 2 nv); after
 * force_derivatives(). */
static void row_derivatives(const Tables *t, const Workspace *w, double *Q) {
    const int nv = t->size[nv_size], wide = 2 * nv;
    fill(0.0, t->size[rows_size] * wide, Q);
    for (int i = 0; i < t->size[closures_size]; ++i) {
        const double *V1 = w->V + 6 * t->first[i], *V2 = w->V + 6 * t->second[i];
        double both[6];
        for (int j = 0; j < 6; ++j) both[j] = V1[j] + V2[j];
        for (int r = t->row[i]; r < t->row[i + 1]; ++r) {
            const double *W = w->row_wrench + 6 * r;
            double of_both[6], of_axis[6], of_one[6], part[6];
            before_bracket(W, both, of_both);
            before_bracket(W, V1, of_one);
            before_bracket(of_one, V2, of_axis);
            before_bracket(W, w->A + 6 * t->second[i], part);
            for (int j = 0; j < 6; ++j) of_axis[j] -= part[j];
            for (int s = t->step[i]; s < t->step[i + 1]; ++s) {
                const int k = t->stepped[s], j = t->rate[k];
                const double *S = w->screw + 6 * k, *swept = w->swept + 6 * k;
                const double by_q = work(W, w->bent + 6 * k) - work(of_both, swept);
                const double by_v = work(W, w->swept_twice + 6 * k) - work(of_both, S);
                Q[wide * r + j] += t->sense[s] * (by_q + work(of_axis, S));
                Q[wide * r + nv + j] += t->sense[s] * by_v;
            }
        }
    }
    add_curve_derivatives(t, w, Q);
}

/* Derivatives by configuration of the rows' values at the velocities, (rows, nv), each row with room
 * for as many numbers as are given; after move_links() and place_covectors(). */
static void value_derivatives(const Tables *t, const Workspace *w, int room, double *values) {
    fill(0.0, t->size[rows_size] * room, values);
    for (int i = 0; i < t->size[closures_size]; ++i) {
        for (int r = t->row[i]; r < t->row[i + 1]; ++r) {
            const double *W = w->row_wrench + 6 * r;
            double of_two[6];
            before_bracket(W, w->V + 6 * t->second[i], of_two);
            for (int s = t->step[i]; s < t->step[i + 1]; ++s) {
                const int k = t->stepped[s];
                const double value = work(W, w->swept + 6 * k) - work(of_two, w->screw + 6 * k);
                values[room * r + t->rate[k]] += t->sense[s] * value;
            }
        }
    }
    for (int i = 0; i < t->size[curves_size]; ++i) {
        const double *at = w->curve + 6 * i;
        values[room * t->curve_row[i] + curve_velocity(t, i)] += at[CURVE_SECOND] * at[CURVE_RATE];
    }
}

/* Take the derivatives by configuration of the joint forces of multipliers from P (nv, 2 nv). */
static void subtract_loop_forces(const Tables *t, const Workspace *w, const double *multipliers,
                                 double *P) {
    const int wide = 2 * t->size[nv_size];
    for (int i = 0; i < t->size[closures_size]; ++i) {
        double wrench[6], turned[6];
        fill(0.0, 6, wrench);
        for (int r = t->row[i]; r < t->row[i + 1]; ++r) {
            add_times(multipliers[r], w->row_wrench + 6 * r, 6, wrench);
        }
        for (int s = t->step[i]; s < t->step[i + 1]; ++s) {
            const int l = t->stepped[s], moves = t->moved[l];
            carry(w->screw + 6 * l, wrench, turned);
            for (int o = t->step[i]; o < t->step[i + 1]; ++o) {
                const int k = t->stepped[o], at = t->moved[k];
                int sign = 0;
                if (t->sense[s] < 0) {
                    /* The first link carries the wrench: axes before column l see it turn. */
                    sign = t->sense[o] > 0 ? -1 : at < moves;
                } else {
                    /* The wrench stays, and axes of the second link behind column l turn. */
                    sign = t->sense[o] > 0 && at >= moves;
                }
                if (sign != 0) {
                    P[wide * t->rate[k] + t->rate[l]] += sign * work(turned, w->screw + 6 * k);
                }
            }
        }
    }
    for (int i = 0; i < t->size[curves_size]; ++i) {
        const int k = curve_velocity(t, i);
        P[(wide + 1) * k] -= w->curve[6 * i + CURVE_SECOND] * multipliers[t->curve_row[i]];
    }
}

/* Rows on velocities. */
COMPUTATION(jacobian) {
    positions(t, w, in[0]);
    place_columns(t, w);
    place_covectors(t, w);
    place_rows(t, w, out[0]);
    return 0;
}

/* Rates of the rows at zero acceleration. */
COMPUTATION(bias) {
    positions(t, w, in[0]);
    place_columns(t, w);
    move_links(t, w, in[1]);
    place_covectors(t, w);
    row_rates(t, w, out[0]);
    return 0;
}
