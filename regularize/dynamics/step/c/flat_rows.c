/* Errors of the rows and their entries on velocities, where everything moves in a plane and hinges
 * close the loops; see plane.c.
 */

/* Where all links are. */
static void place_flat_links(const Tables *t, Workspace *w, const double *q) {
    w->pose[0] = 1.0, w->pose[1] = w->pose[2] = w->pose[3] = 0.0;
    for (int b = 1; b < t->size[links_size]; ++b) place_flat(t, w, b, q);
    place_curves(t, w, q);
}

/* A point of a link in axes of the plane. */
static inline void flat_place(const double *pose, const double *point, double *x) {
    turn_flat(pose, point, x);
    x[0] += pose[2], x[1] += pose[3];
}

/* Errors of the closures' rows: no link has left the plane. */
static void flat_errors(const Tables *t, const Workspace *w, double *errors) {
    for (int c = 0; c < t->size[closures_size]; ++c) {
        const double *pose = w->pose + 4 * t->first[c];
        double one[2], two[2];
        flat_place(pose, t->flat_first + 2 * c, one);
        flat_place(w->pose + 4 * t->second[c], t->flat_second + 2 * c, two);
        const double x = two[0] - one[0], y = two[1] - one[1];
        const double d[2] = {pose[0] * x + pose[1] * y, pose[0] * y - pose[1] * x};
        for (int r = t->row[c]; r < t->row[c + 1]; ++r) {
            const double *g = t->flat_covector + 3 * r;
            errors[r] = g[0] * d[0] + g[1] * d[1];
        }
    }
}

/* Entries of the closures' rows on velocities. */
static void load_flat_rows(const Tables *t, Workspace *w) {
    for (int c = 0; c < t->size[closures_size]; ++c) {
        const double *pose = w->pose + 4 * t->first[c];
        double x[2];
        flat_place(pose, t->flat_point + 2 * c, x);
        for (int r = t->row[c]; r < t->row[c + 1]; ++r) {
            turn_flat(pose, t->flat_covector + 3 * r, w->covectors + 3 * r);
            w->covectors[3 * r + 2] = t->flat_covector[3 * r + 2];
        }
        for (int s = t->step[c]; s < t->step[c + 1]; ++s) {
            const int k = t->stepped[s];
            const double *J = w->motion + 3 * k, *origin = w->pose + 4 * t->moved[k] + 2;
            const double ratio = t->sense[s] * t->ratio[k];
            const double twist[3] = {ratio * (J[0] - J[2] * (x[1] - origin[1])),
                                     ratio * (J[1] + J[2] * (x[0] - origin[0])), ratio * J[2]};
            for (int r = t->row[c]; r < t->row[c + 1]; ++r) {
                w->row_entry[t->entry[r] + t->slot[s]] += dot(w->covectors + 3 * r, twist);
            }
        }
    }
}
