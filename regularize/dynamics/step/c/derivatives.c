/* Inverse dynamics of the tree and its derivatives, by configuration and velocity.
 *
 * In ground axes about one point everything that joint k moves turns with its twist S_k. Seen from
 * what has turned, only the motion of the link p before the joint is another one: the twists of all
 * links behind it change by P_k = V_p x S_k and their accelerations by
 * G_k = A_p x S_k + V_p x P_k, both less the link that V x P_k takes back. So forces of subtrees
 * change by sums over the subtree that are linear in P_k and G_k (Carpentier and Mansard, Analytical
 * derivatives of rigid body dynamics algorithms, RSS 2018; Singh, Russo and Wensing, Efficient
 * analytical derivatives of rigid-body dynamics using spatial vector algebra, RA-L 2022).
 *
 * The point is the origin of the first link, so that robots far from the ground's lose no digits.
 */

/* Twist of column k about the common point, per unit of its velocity. */
static inline void about_point(const Tables *t, const Workspace *w, int b, const double *point) {
    double d[3];
    subtract(w->pose + 12 * b + 9, point, d);
    for (int k = t->column[b]; k < t->column[b + 1]; ++k) {
        double *S = w->screw + 6 * k;
        const double *own = w->motion + 6 * k;
        cross(d, own + 3, S);
        for (int i = 0; i < 3; ++i) {
            S[i] = t->ratio[k] * (S[i] + own[i]);
            S[3 + i] = t->ratio[k] * own[3 + i];
        }
    }
}

/* The body of link b in ground axes about the common point; false where it has no inertia. */
static inline int body_about_point(const Tables *t, const Workspace *w, int b, Moving *body) {
    double rigid[10], d[3];
    fill(0.0, MOVING_LENGTH, (double *)body);
    if (!turn_rigid(t, w, b, rigid)) return 0;
    subtract(w->pose + 12 * b + 9, w->point, d);
    add_rigid(rigid, d, body->rigid);
    return 1;
}

/* Twists of all columns about the common point, after positions(). */
static void place_columns(const Tables *t, Workspace *w) {
    copy(w->pose + (t->size[links_size] > 1 ? 12 : 0) + 9, w->point);
    for (int b = 1; b < t->size[links_size]; ++b) about_point(t, w, b, w->point);
}

/* Twists and accelerations of all links while no velocity changes, the ground accelerating against
 * gravity; and what joints before a column make of its twist, S' = V_p x S and S' + dS/dt. */
static void move_links(const Tables *t, Workspace *w, const double *rates) {
    fill(0.0, 6, w->V);
    fill(0.0, 6, w->A);
    for (int i = 0; i < 3; ++i) w->A[i] = -t->gravity[i];
    move_curves(t, w, rates);
    for (int b = 1; b < t->size[links_size]; ++b) {
        const double *before = w->V + 6 * t->parent[b];
        double *V = w->V + 6 * b, *A = w->A + 6 * b, own[6];
        fill(0.0, 6, own);
        for (int k = t->column[b]; k < t->column[b + 1]; ++k) {
            add_times(rates[t->rate[k]], w->screw + 6 * k, 6, own);
            bracket(before, w->screw + 6 * k, w->swept + 6 * k);
        }
        bracket(before, own, A);
        add_to(w->A + 6 * t->parent[b], 6, A);
        for (int i = 0; i < 6; ++i) V[i] = before[i] + own[i];
        for (int k = t->column[b]; k < t->column[b + 1]; ++k) {
            bracket(V, w->screw + 6 * k, w->swept_twice + 6 * k);
            add_to(w->swept + 6 * k, 6, w->swept_twice + 6 * k);
        }
    }
}

/* All bodies about the common point, and the wrenches that they need, after move_links(). */
static void load_links(const Tables *t, Workspace *w) {
    Moving *bodies = (Moving *)w->moving;
    double momentum[6], change[6];
    for (int b = 0; b < t->size[links_size]; ++b) {
        double *F = w->F + 6 * b;
        fill(0.0, 6, F);
        if (b == 0 || !body_about_point(t, w, b, &bodies[b])) continue;
        set_moving(&bodies[b], w->V + 6 * b);
        act_rigid(bodies[b].rigid, w->V + 6 * b, momentum);
        act_rigid(bodies[b].rigid, w->A + 6 * b, F);
        carry(w->V + 6 * b, momentum, change);
        add_to(change, 6, F);
    }
}

/* Bodies and wrenches become those of all that hangs on a link; mass matrix (nv, nv), and joint
 * forces while no velocity changes (nv). */
static void gather(const Tables *t, Workspace *w, double *M, double *forces) {
    const int nv = t->size[nv_size];
    Moving *bodies = (Moving *)w->moving;
    fill(0.0, nv * nv, M);
    fill(0.0, nv, forces);
    for (int b = t->size[links_size] - 1; b > 0; --b) {
        for (int k = t->column[b]; k < t->column[b + 1]; ++k) {
            const double *S = w->screw + 6 * k;
            const int i = t->rate[k];
            double *push = w->push + 6 * k, *row = M + nv * i;
            act_rigid(bodies[b].rigid, S, push);
            before_turned(&bodies[b], S, w->lean + 3 * k);
            forces[i] += work(w->F + 6 * b, S);
            row[i] += t->armature[k];
            for (int l = t->column[b]; l < t->column[b + 1]; ++l) {
                row[t->rate[l]] += work(push, w->screw + 6 * l);
            }
            for (int c = t->parent[b]; c > 0; c = t->parent[c]) {
                for (int l = t->column[c]; l < t->column[c + 1]; ++l) {
                    const double value = work(push, w->screw + 6 * l);
                    row[t->rate[l]] += value;
                    M[nv * t->rate[l] + i] += value;
                }
            }
        }
        if (t->parent[b] > 0) {
            add_to((double *)&bodies[b], MOVING_LENGTH, (double *)&bodies[t->parent[b]]);
            add_to(w->F + 6 * b, 6, w->F + 6 * t->parent[b]);
        }
    }
}

/* Add the accelerations that velocities cause to those of the links, and to the wrenches of all
 * that hangs on them, after gather(). */
static void accelerate(const Tables *t, Workspace *w, const double *a) {
    const int links = t->size[links_size];
    const Moving *bodies = (const Moving *)w->moving;
    /* In which subtrees push, and which accelerations are added: room that is used later. */
    double *change = w->link_by_q, *pushed = w->link_by_v;
    fill(0.0, 6, change);
    fill(0.0, 6 * links, pushed);
    for (int i = 0; i < t->size[curves_size]; ++i) {
        w->curve[6 * i + CURVE_ACCELERATION] = a[curve_velocity(t, i)];
    }
    for (int b = 1; b < links; ++b) {
        double *own = change + 6 * b;
        for (int i = 0; i < 6; ++i) own[i] = change[6 * t->parent[b] + i];
        for (int k = t->column[b]; k < t->column[b + 1]; ++k) {
            add_times(a[t->rate[k]], w->screw + 6 * k, 6, own);
        }
        add_to(own, 6, w->A + 6 * b);
    }
    for (int b = links - 1; b > 0; --b) {
        double wrench[6], *up = pushed + 6 * t->parent[b];
        act_rigid(bodies[b].rigid, change + 6 * b, wrench);
        add_to(wrench, 6, w->F + 6 * b);
        add_to(pushed + 6 * b, 6, w->F + 6 * b);
        add_to(pushed + 6 * b, 6, up);
        for (int k = t->column[b]; k < t->column[b + 1]; ++k) {
            add_times(a[t->rate[k]], w->push + 6 * k, 6, up);
        }
    }
}

/* How the wrenches of the links behind column k of link b change with it. */
static inline void push_by_state(const Tables *t, Workspace *w, int b, int k) {
    const Moving *body = (const Moving *)w->moving + b;
    const double *S = w->screw + 6 * k, *swept = w->swept + 6 * k;
    const double *V = w->V + 6 * t->parent[b], *A = w->A + 6 * t->parent[b];
    double *bent = w->bent + 6 * k, *by_q = w->by_q + 6 * k, *by_v = w->by_v + 6 * k, part[6];
    bracket(V, swept, bent);
    bracket(A, S, part);
    add_to(part, 6, bent);
    carry(S, w->F + 6 * b, by_q);
    act_rigid(body->rigid, bent, part);
    add_to(part, 6, by_q);
    add_turned(body, swept + 3, by_q);
    act_rigid(body->rigid, w->swept_twice + 6 * k, by_v);
    add_turned(body, S + 3, by_v);
}

/* Derivatives of the joint forces by configuration and velocity, (nv, 2 nv), after accelerate(). */
static void force_derivatives(const Tables *t, Workspace *w, double *P) {
    const int nv = t->size[nv_size], wide = 2 * nv;
    fill(0.0, nv * wide, P);
    for (int b = 1; b < t->size[links_size]; ++b) {
        for (int k = t->column[b]; k < t->column[b + 1]; ++k) push_by_state(t, w, b, k);
        for (int k = t->column[b]; k < t->column[b + 1]; ++k) {
            const double *push = w->push + 6 * k, *lean = w->lean + 3 * k;
            const int i = t->rate[k];
            double *row = P + wide * i;
            for (int c = b; c > 0; c = t->parent[c]) {
                for (int l = t->column[c]; l < t->column[c + 1]; ++l) {
                    const double *S = w->screw + 6 * l, *swept = w->swept + 6 * l;
                    const int j = t->rate[l];
                    row[j] += work(push, w->bent + 6 * l) + dot(lean, swept + 3);
                    row[nv + j] += work(push, w->swept_twice + 6 * l) + dot(lean, S + 3);
                    if (c != b) {
                        P[wide * j + i] += work(w->by_q + 6 * k, S);
                        P[wide * j + nv + i] += work(w->by_v + 6 * k, S);
                    }
                }
            }
        }
    }
}
