/* The balance of energy of a motion. */
#include <math.h>

#include "algebra.h"
#include "spatial.h"
#include "tables.h"

/* Kinetic and potential energy at a state. */
static void energies(const Motion *m, const double *q, const double *v, double *energy) {
    static const double rest[3] = {0.0, 0.0, 0.0};
    const Tables *t = m->t;
    const Workspace *w = m->w;
    energy[0] = energy[1] = 0.0;
    positions(t, m->w, q);
    velocities(t, m->w, v, rest);
    for (int b = 1; b < t->size[parts_size]; ++b) {
        const double *I = t->inertia + 10 * b, *pose = w->pose + 12 * b, *twist = w->twist + 6 * b;
        const int k = t->column[b];
        double speed[3], turn[3], swept[3], centre[3];
        rotate_back(pose, twist, speed);
        rotate_back(pose, twist + 3, turn);
        cross(turn, I + 1, swept);
        energy[0] += 0.5 * I[0] * dot(speed, speed) + dot(speed, swept) +
                     0.5 * (I[4] * turn[0] * turn[0] + I[7] * turn[1] * turn[1] +
                            I[9] * turn[2] * turn[2]) +
                     I[5] * turn[0] * turn[1] + I[6] * turn[0] * turn[2] + I[8] * turn[1] * turn[2];
        rotate(pose, I + 1, centre);
        energy[1] -= I[0] * dot(t->gravity, pose + 9) + dot(t->gravity, centre);
        for (int c = k; c < t->column[b + 1]; ++c) {
            const double rate = v[t->rate[c]];
            energy[0] += 0.5 * t->armature[c] * rate * rate;
        }
    }
    energy[1] += energy_of_joints(m, q);
    energy[1] += energy_of_closing(m);
}

/* Lengthen or shorten a velocity so that the energy balance holds, where that is wanted. */
static void balance(const Motion *m, double work, const double *q, double *v) {
    double energy[2];
    if (m->options[CONSERVE] == 0.0) return;
    energies(m, q, v, energy);
    if (isnan(m->standing[TOTAL])) m->standing[TOTAL] = energy[0] + energy[1] - work;
    const double missing = m->standing[TOTAL] + work - energy[0] - energy[1];
    if (missing != 0.0 && fabs(missing) <= m->options[CORRECTED] * energy[0]) {
        const double factor = sqrt(1.0 + missing / energy[0]);
        for (int i = 0; i < m->t->size[nv_size]; ++i) v[i] *= factor;
        m->standing[CORRECTION] += fabs(missing);
    }
}
