/* Coordinates of joints that close loops, and the twists of their freedoms. */

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
static int closing_coordinates(const Tables *t, Workspace *w, const double *const *in,
                               double *const *out) {
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
