/* The balance of energy of a motion. */

/* Kinetic energy of the links, and their potential energy of gravity. */
static int energies(const Tables *t, Workspace *w, const double *const *in, double *const *out) {
    static const double rest[3] = {0.0, 0.0, 0.0};
    const double *v = in[1];
    double *energy = out[0];
    energy[0] = energy[1] = 0.0;
    positions(t, w, in[0]);
    velocities(t, w, v, rest);
    for (int b = 1; b < t->size[links_size]; ++b) {
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
    return 0;
}

/* Lengthen or shorten a velocity so that the energy balance holds, where that is wanted. */
static void balance(const Motion *m, double work, const double *q, double *v) {
    double energy[2], *const found[] = {energy};
    const double *const state[] = {q, v};
    if (m->options[CONSERVE] == 0.0) return;
    energies(m->t, m->w, state, found);
    energy[1] += energy_of_joints(m, q) + energy_of_closing(m);
    if (isnan(m->standing[TOTAL])) m->standing[TOTAL] = energy[0] + energy[1] - work;
    const double missing = m->standing[TOTAL] + work - energy[0] - energy[1];
    if (missing != 0.0 && fabs(missing) <= m->options[CORRECTED] * energy[0]) {
        const double factor = sqrt(1.0 + missing / energy[0]);
        for (int i = 0; i < m->t->size[nv_size]; ++i) v[i] *= factor;
        m->standing[CORRECTION] += fabs(missing);
    }
}
