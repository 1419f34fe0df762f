/* What acts in joints that close loops: springs, damping and dry friction. */

/* Whether something acts in a closing joint: damping, dry friction or springs; the latter alone. */
static int acts(const Motion *m, int i, int springs) {
    const Tables *t = m->t;
    const int n = t->size[closing_freedoms_size];
    int found = 0;
    for (int k = t->closing_screw[i]; k < t->closing_screw[i + 1]; ++k) {
        for (int law = springs ? CLOSING_STIFFNESS : 0; law < CLOSING_REST; ++law) {
            found |= m->closing[law * n + k] != 0.0;
        }
    }
    return found;
}

/* Where the springs of closing joints rest. */
static const double *rests_of_closing(const Motion *m) {
    return m->closing + CLOSING_REST * m->t->size[closing_freedoms_size];
}

/* Energy in the springs of closing joints, after positions(); not a number where that is not found. */
static double energy_of_closing(const Motion *m) {
    const double *stiffness = m->closing + CLOSING_STIFFNESS * m->t->size[closing_freedoms_size];
    double energy = 0.0;
    for (int i = 0; i < m->t->size[closures_size]; ++i) {
        Closing closing;
        if (!acts(m, i, 1)) continue;
        if (look_at_closing(m->t, m->w, i, rests_of_closing(m), &closing)) return NAN;
        for (int k = 0; k < closing.count; ++k) {
            const double stretch = closing.stretch[k];
            energy += 0.5 * stiffness[m->t->closing_screw[i] + k] * stretch * stretch;
        }
    }
    return energy;
}

/* Take numbers x (count,) through the inverse of the products of the twists: 1 where they depend on
 * each other. */
static int divide_by_twists(const Closing *closing, double *x) {
    const int n = closing->count;
    double A[36];
    for (int k = 0; k < n * n; ++k) {
        A[k] = work(closing->twist + 6 * (k / n), closing->twist + 6 * (k % n));
    }
    return solve_few(A, x, n);
}

/* What springs of a closing joint take against rates of its coordinates (count,). */
static void springs_of_closing(const Motion *m, int i, const Closing *at, double *force) {
    const int n = m->t->size[closing_freedoms_size], kind = m->t->closing[i];
    const double *stiffness = m->closing + CLOSING_STIFFNESS * n + m->t->closing_screw[i];
    double twist[6] = {0}, along[6] = {0}, wrench[6];
    for (int k = 0; k < at->count; ++k) {
        force[k] = stiffness[k] * at->stretch[k];
        add_times(at->stretch[k], at->twist + 6 * k, 6, twist);
        add_times(force[k], at->twist + 6 * k, 6, along);
    }
    if (kind != CLOSING_SPHERICAL && kind != CLOSING_FREE) return;
    wrench_of_forces(twist, along, wrench);
    for (int k = 0; k < at->count; ++k) force[k] = work(at->twist + 6 * k, wrench);
}

/* Add what acts in a closing joint to the wrenches of its links, and the power of what springs do not.
 * The rates of its coordinates are those that come nearest to its twist, the pseudo-inverse of the
 * twists of its freedoms on it; forces go the same way back. */
static int load_one_closing(const Motion *m, int i, double *power) {
    const Tables *t = m->t;
    Workspace *w = m->w;
    const int n = t->size[closing_freedoms_size];
    const double *law = m->closing + t->closing_screw[i];
    Closing at;
    double moved[6], twist[6], W[6] = {0}, ground[6], force[6], spring[6];
    if (look_at_closing(t, w, i, rests_of_closing(m), &at)) return 1;
    rate_between(t, w, i, at.child + 9, moved);
    rotate_back(at.child, moved, twist);
    rotate_back(at.child, moved + 3, twist + 3);
    for (int k = 0; k < at.count; ++k) force[k] = t->sign[i] * work(at.twist + 6 * k, twist);
    if (divide_by_twists(&at, force)) return 1;
    springs_of_closing(m, i, &at, spring);
    for (int k = 0; k < at.count; ++k) {
        const double rate = force[k], friction = law[CLOSING_FRICTION * n + k];
        force[k] = -law[CLOSING_DAMPING * n + k] * rate;
        if (friction != 0.0) force[k] -= friction * tanh(rate / m->options[SLIP]);
        *power += force[k] * rate;
        force[k] -= spring[k];
    }
    if (divide_by_twists(&at, force)) return 1;
    for (int k = 0; k < at.count; ++k) add_times(t->sign[i] * force[k], at.twist + 6 * k, 6, W);
    rotate(at.child, W, ground);
    rotate(at.child, W + 3, ground + 3);
    push_apart(t, w, i, at.child + 9, ground);
    return 0;
}

/* The same of all of them. */
static int load_closing(const Motion *m, double *power) {
    for (int i = 0; i < m->t->size[closures_size]; ++i) {
        if (acts(m, i, 0) && load_one_closing(m, i, power)) return 1;
    }
    return 0;
}
