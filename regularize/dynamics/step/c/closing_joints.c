/* Joints that close loops: their coordinates, the twists of their freedoms, and what acts in them. */

/* How far a rotation, or a motion of six freedoms, is from where springs rest: the twist from there,
 * in the moved frame. Rest is a twist from zero. */
static void stretch_of_group(const double *pose, const double *rest, double *stretch) {
    double rested[12], moved[12];
    exponential(rest, rested);
    between(rested, pose, moved);
    logarithm(moved, stretch);
}

/* A closing joint at a state: the frame of its child, the twists of its freedoms there, and how far
 * springs are from rest. */
typedef struct {
    int count;
    double child[12], twist[36], stretch[6];
} Closing;

/* Screw of a closing joint with one freedom in its frame as the kernel has it. */
static void closing_screw_of(const Tables *t, int i, double *screw) {
    const double *own = t->closing_screws + 6 * t->closing_screw[i];
    for (int k = 0; k < 6; ++k) screw[k] = t->closing[i] == CLOSING_REVOLUTE ? 0.0 : own[k];
    if (t->closing[i] == CLOSING_REVOLUTE) screw[5] = sqrt(dot(own + 3, own + 3));
}

/* A closing joint after positions(), with springs that rest at coordinates of all closing joints; 1
 * where its own are not found. */
static int look_at_closing(const Tables *t, const Workspace *w, int i, const double *rests,
                           Closing *closing) {
    const int begin = t->closing_screw[i], count = t->closing_screw[i + 1] - begin;
    const double *rest = rests + begin, *screws = t->closing_screws + 6 * begin;
    double first[12], second[12], pose[12], motion[12], twist[6] = {0};
    compose(w->pose + 12 * t->first[i], t->first_frame + 12 * i, first);
    compose(w->pose + 12 * t->second[i], t->second_frame + 12 * i, second);
    between(t->sign[i] > 0 ? first : second, t->sign[i] > 0 ? second : first, pose);
    for (int k = 0; k < 12; ++k) closing->child[k] = t->sign[i] > 0 ? second[k] : first[k];
    closing->count = count;
    if (t->closing[i] == CLOSING_COMPOSITE) {
        Coordinates found;
        if (count > MOST_CLOSING || nearest_motion(screws, count, pose, motion, &found)) return 1;
        for (int k = 0; k < 6 * count; ++k) closing->twist[k] = found.twist[k];
        for (int k = 0; k < count; ++k) closing->stretch[k] = found.value[k] - rest[k];
    } else if (count == 1) {
        closing_screw_of(t, i, closing->twist);
        closing->stretch[0] = nearest(closing->twist, pose) - rest[0];
    } else {
        for (int k = 0; k < count; ++k) add_times(rest[k], screws + 6 * k, 6, twist);
        if (t->closing[i] == CLOSING_SPHERICAL) fill(0.0, 3, pose + 9);
        stretch_of_group(pose, twist, motion);
        for (int k = 0; k < 6 * count; ++k) closing->twist[k] = screws[k];
        for (int k = 0; k < count; ++k) closing->stretch[k] = work(screws + 6 * k, motion);
    }
    return 0;
}

/* Coordinates of all closing joints (closing_freedoms,); 1 where some are not found. */
COMPUTATION(closing_coordinates) {
    double *none = w->freedom;
    positions(t, w, in[0]);
    fill(0.0, t->size[closing_freedoms_size], none);
    for (int i = 0; i < t->size[closures_size]; ++i) {
        Closing closing;
        if (t->closing[i] == CLOSING_FIXED) continue;
        if (look_at_closing(t, w, i, none, &closing)) return 1;
        for (int k = 0; k < closing.count; ++k) out[0][t->closing_screw[i] + k] = closing.stretch[k];
    }
    return 0;
}

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
    return divide(A, x, n, 1);
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
