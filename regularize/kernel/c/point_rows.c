/* Rows of closures that are forces through the closing joint and couples, for the step alone; see
 * regularize/kernel/point_rows.py.
 *
 * Three forces have the ground's axes, and so have the two of a plane: their entries are components
 * of an axis times an arm. What is wanted of the given rows, and their multipliers, are those of a
 * constant change of basis, and of the first part's turn where axes are the ground's.
 */
#include "algebra.h"
#include "tables.h"

/* Turn forces, whose axes are the ground's, from the axes of the first part. */
static inline void turn_forces(const Tables *t, const Workspace *w, int c, double *forces) {
    const double *pose = w->pose + (t->flat[0] ? 4 : 12) * t->first[c];
    const double f[3] = {forces[0], forces[1], forces[2]};
    if (t->flat[0]) {
        forces[0] = pose[0] * f[0] - pose[1] * f[1], forces[1] = pose[1] * f[0] + pose[0] * f[1];
    } else if (t->forces[c] == 3) {
        rotate(pose, f, forces);
    }
}

/* The same the other way. */
static inline void turn_forces_back(const Tables *t, const Workspace *w, int c, double *forces) {
    const double *pose = w->pose + (t->flat[0] ? 4 : 12) * t->first[c];
    const double f[3] = {forces[0], forces[1], forces[2]};
    if (t->flat[0]) {
        forces[0] = pose[0] * f[0] + pose[1] * f[1], forces[1] = pose[0] * f[1] - pose[1] * f[0];
    } else if (t->forces[c] == 3) {
        rotate_back(pose, f, forces);
    }
}

/* What is wanted of a closure's rows as the step has them. */
static void change_wanted(const Tables *t, const Workspace *w, int c, double *wanted) {
    const int begin = t->row[c], count = t->row[c + 1] - begin;
    fill(0.0, 6, wanted);
    if (w->given[0] == 0.0) return;
    for (int i = 0; i < count; ++i) {
        const double *change = t->change + 6 * (begin + i);
        for (int k = 0; k < count; ++k) wanted[i] += change[k] * w->wanted[begin + k];
    }
    turn_forces(t, w, c, wanted);
}

/* Multipliers of the rows as they are given. */
static void write_multipliers(const Tables *t, const Workspace *w, double *multipliers) {
    for (int r = 0; r < t->size[rows_size]; ++r) {
        multipliers[r] = -w->solution[t->row_unknown[r]];
    }
    for (int c = 0; c < t->size[closures_size]; ++c) {
        const int begin = t->row[c], count = t->row[c + 1] - begin;
        double own[6] = {0};
        if (t->forces[c] < 0) continue;
        for (int i = 0; i < count; ++i) own[i] = multipliers[begin + i];
        turn_forces_back(t, w, c, own);
        fill(0.0, count, multipliers + begin);
        for (int i = 0; i < count; ++i) {
            const double *change = t->change + 6 * (begin + i);
            for (int k = 0; k < count; ++k) multipliers[begin + k] += change[k] * own[i];
        }
    }
}

/* Entries of the rows at a column that moves their point by v. */
static inline const int *load_point_column(const double *axes, int forces, int count, double sign,
                                           double size, const double *v, const double *turn,
                                           const int *place, double *restrict entry) {
    if (forces == 3) {
        entry[place[0]] = size * v[0];
        entry[place[1]] = size * v[1];
        entry[place[2]] = size * v[2];
    } else {
        for (int i = 0; i < forces; ++i) entry[place[i]] = sign * dot(axes + 6 * i, v);
    }
    if (forces == count) return place + count;
    entry[place[forces]] = sign * dot(axes + 6 * forces, turn);
    for (int i = forces + 1; i < count; ++i) entry[place[i]] = sign * dot(axes + 6 * i, turn);
    return place + count;
}

/* Entries of the rows at the columns from a part down to another one. */
static inline void load_point_way(const Tables *t, Workspace *w, int c, int b, const double sign,
                                  const double *x, Reading *at) {
    const int begin = t->row[c], forces = t->forces[c], count = t->row[c + 1] - begin;
    const double size = sign * t->point_row[3 * begin], *axes = w->covectors + 6 * begin;
    const int *place = at->j;
    for (; b != t->last_common[c]; b = t->parent[b]) {
        const double *J = w->motion + 6 * t->column[b];
        double arm[3], v[3];
        subtract(x, w->pose + 12 * b + 9, arm);
        if (t->hinge[b]) {
            cross(J + 3, arm, v);
            place = load_point_column(axes, forces, count, sign, size, v, J + 3, place, w->entry);
            continue;
        }
        for (int k = t->column[b]; k < t->column[b + 1]; ++k, J += 6) {
            cross(J + 3, arm, v);
            add(J, v);
            place = load_point_column(axes, forces, count, sign, size, v, J + 3, place, w->entry);
        }
    }
    at->j = place;
}

/* Entries and right-hand sides of the rows. */
static void load_point_closure(const Tables *t, Workspace *w, int c, Reading *at) {
    const int begin = t->row[c], couples = begin + t->forces[c], end = t->row[c + 1];
    const int whole = t->forces[c] == 3;
    const double *pose = w->pose + 12 * t->first[c], size = t->point_row[3 * begin];
    double x[3], rate[6], wanted[6];
    rotate(pose, t->first_frame + 12 * c + 9, x);
    add(pose + 9, x);
    rate_at_rest(t, w, c, x, rate);
    change_wanted(t, w, c, wanted);
    for (int r = begin; r < end; ++r) {
        double *axis = w->covectors + 6 * r;
        const double *of_row = rate + (r < couples ? 0 : 3);
        if (whole && r < couples) {
            w->solution[t->row_unknown[r]] = -size * rate[r - begin] - wanted[r - begin];
        } else {
            rotate(pose, t->point_row + 3 * r, axis);
            w->solution[t->row_unknown[r]] = -dot(axis, of_row) - wanted[r - begin];
        }
    }
    load_point_way(t, w, c, t->second[c], 1.0, x, at);
    load_point_way(t, w, c, t->first[c], -1.0, x, at);
}
