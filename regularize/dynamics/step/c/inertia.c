/* Inertias and wrenches of links: in ground axes, about origins that move along.
 *
 * A rigid inertia is a mass, the mass times the centre, and the inertia about the origin
 * (xx xy xz yy yz zz); a spatial one is a 6 x 6 matrix from accelerations to wrenches.
 */

/* Inertia of a link in ground axes; 0 where it has none. */
UNROLLED int turn_rigid(const Tables *t, const Workspace *w, int b, double *restrict rigid) {
    const double *own = t->inertia + 10 * b, *R = w->pose + 12 * b, *I = own + 4;
    if (own[0] == 0.0 && I[0] == 0.0 && I[3] == 0.0 && I[5] == 0.0) {
        fill(0.0, 10, rigid);
        return 0;
    }
    rigid[0] = own[0];
    rotate(R, own + 1, rigid + 1);
    const double full[9] = {I[0], I[1], I[2], I[1], I[3], I[4], I[2], I[4], I[5]};
    double RI[9], *S = rigid + 4;
    multiply(R, full, RI);
    S[0] = dot(RI, R), S[1] = dot(RI, R + 3), S[2] = dot(RI, R + 6);
    S[3] = dot(RI + 3, R + 3), S[4] = dot(RI + 3, R + 6), S[5] = dot(RI + 6, R + 6);
    return 1;
}

/* Inertia in ground axes and the wrench of the motion at zero acceleration, of one link. */
UNROLLED void load_link(const Tables *t, Workspace *w, int b) {
    double *restrict rigid = w->rigid + 10 * b, *restrict f = w->wrench + 6 * b;
    const double *a = w->drift + 6 * b, *alpha = a + 3, *omega = w->twist + 6 * b + 3;
    if (!turn_rigid(t, w, b, rigid)) {
        fill(0.0, 6, f);
        return;
    }
    double swept[3], spin[3];
    cross(omega, rigid + 1, swept);
    scale(rigid[0], a, f);
    add_cross(alpha, rigid + 1, f);
    add_cross(omega, swept, f);
    act_symmetric(rigid + 4, omega, spin);
    act_symmetric(rigid + 4, alpha, f + 3);
    add_cross(omega, spin, f + 3);
    add_cross(rigid + 1, a, f + 3);
}

/* Wrench that an acceleration needs. */
static inline void act_rigid(const double *rigid, const double *a, double *restrict f) {
    scale(rigid[0], a, f);
    add_cross(a + 3, rigid + 1, f);
    act_symmetric(rigid + 4, a + 3, f + 3);
    add_cross(rigid + 1, a, f + 3);
}

/* Wrench that an angular acceleration needs. */
static inline void act_spin(const double *rigid, const double *alpha, double *restrict f) {
    cross(alpha, rigid + 1, f);
    act_symmetric(rigid + 4, alpha, f + 3);
}

/* Add a rigid inertia to another one whose origin it has the arm d from. */
static inline void add_rigid(const double *rigid, const double *d, double *restrict sum) {
    const double m = rigid[0], *mc = rigid + 1;
    double *S = sum + 4;
    /* Sum of the inertia's shift: with e = mc + m d / 2 it is (2 e.d) 1 - e d^T - d e^T. */
    const double e[3] = {mc[0] + 0.5 * m * d[0], mc[1] + 0.5 * m * d[1], mc[2] + 0.5 * m * d[2]};
    const double x = e[0] * d[0], y = e[1] * d[1], z = e[2] * d[2];
    sum[0] += m;
    add(mc, sum + 1);
    add_scaled(m, d, sum + 1);
    S[0] += rigid[4] + 2.0 * (y + z);
    S[1] += rigid[5] - e[0] * d[1] - e[1] * d[0];
    S[2] += rigid[6] - e[0] * d[2] - e[2] * d[0];
    S[3] += rigid[7] + 2.0 * (x + z);
    S[4] += rigid[8] - e[1] * d[2] - e[2] * d[1];
    S[5] += rigid[9] + 2.0 * (x + y);
}

/* Add a wrench to another one whose origin it has the arm d from. */
static inline void add_wrench(const double *f, const double *d, double *restrict sum) {
    add(f, sum);
    add(f + 3, sum + 3);
    add_cross(d, f, sum + 3);
}

/* Add the 6 x 6 matrix of a rigid inertia. */
static inline void add_dense(const double *rigid, double *restrict M) {
    const double m = rigid[0], *c = rigid + 1, *S = rigid + 4;
    M[0] += m, M[7] += m, M[14] += m;
    M[4] += c[2], M[5] -= c[1], M[9] -= c[2], M[11] += c[0], M[15] += c[1], M[16] -= c[0];
    M[24] += c[2], M[30] -= c[1], M[19] -= c[2], M[31] += c[0], M[20] += c[1], M[26] -= c[0];
    M[21] += S[0], M[22] += S[1], M[23] += S[2], M[27] += S[1], M[28] += S[3], M[29] += S[4];
    M[33] += S[2], M[34] += S[4], M[35] += S[5];
}

/* Add a 6 x 6 inertia to another one whose origin it has the arm d from. */
static inline void add_spatial(const double *M, const double *d, double *restrict sum) {
    double B[3][3], row[3];
    /* With the blocks A, B, C and the cross matrix X of d: A, B - A X, C + X (B - A X) - B^T X. */
    for (int i = 0; i < 3; ++i) {
        cross(M + 6 * i, d, row);
        for (int j = 0; j < 3; ++j) {
            B[i][j] = M[6 * i + 3 + j] - row[j];
            sum[6 * i + j] += M[6 * i + j];
            sum[6 * i + 3 + j] += B[i][j];
            sum[6 * (3 + j) + i] += B[i][j];
        }
    }
    for (int j = 0; j < 3; ++j) {
        const double column[3] = {B[0][j], B[1][j], B[2][j]}, back[3] = {M[3 + j], M[9 + j], M[15 + j]};
        double up[3], down[3];
        cross(d, column, up);
        cross(back, d, down);
        for (int i = 0; i < 3; ++i) {
            sum[6 * (3 + i) + 3 + j] += M[6 * (3 + i) + 3 + j] + up[i];
            sum[6 * (3 + j) + 3 + i] -= down[i];
        }
    }
}
