/* What acts during a motion: in joints, those that close loops included, on bodies, and by functions.
 *
 * Functions are C functions by their numbers among those of the call, counted from 1; 0 is none:
 *     double torque(double t, void *data)
 *     int forces(double t, const double *q, const double *v, double *tau, void *data)
 * The second one adds to joint forces (nv,) and returns 0, or another number to end the motion.
 */

/* Joint forces, each (nv,): constant ones, damping, dry friction, stiffness of springs and where
 * they rest, 1 where the joint moves its child against its parent and -1 where it is the other way
 * round, and functions of torques. */
enum { CONSTANT, DAMPING, FRICTION, STIFFNESS, REST, SENSE, TORQUE, LAWS };

/* The same in joints that close loops, each (closing_freedoms,). */
enum { CLOSING_DAMPING, CLOSING_FRICTION, CLOSING_STIFFNESS, CLOSING_REST, CLOSING_LAWS };

/* Of each link: wrench about its origin in its own axes, the same in ground axes, and the sum of the
 * products p f^T of points, in its own axes, and forces on them in ground axes, row by row. */
enum { OWN_WRENCH, GROUND_WRENCH = 6, LEVERS = 12, WRENCH_NUMBERS = 21 };

typedef double (*Torque)(double, void *);
typedef int (*Forces)(double, const double *, const double *, double *, void *);

/* The function of a number, as a pointer of its kind, and its data; NULL where there is none. */
static const Function *function_at(const Motion *m, double number, int kind, void *pointer) {
    if (!(number >= 1.0 && number <= m->w->functions_count)) return NULL;
    const Function *found = m->w->functions + (int)number - 1;
    if (found->kind != kind) return NULL;
    memcpy(pointer, &found->address, sizeof found->address);
    return found;
}

#include "closing_joints.c"

/* Joints of the tree. Rates of ball joints and free ones are the twist of the child against the parent in
 * the child's axes. Where the tree passes such a joint backwards, its velocities are the twist of the
 * parent. */

/* A joint of the tree: its freedoms and its first velocity, and whether it has a spring; of a ball
 * joint or a free one its pose and how many of a twist's first components it lacks. */
typedef struct {
    int count, at, sprung, group, lacks, backwards;
    double pose[12];
} TreeJoint;

/* Look at the joint of a link; 0 where nothing acts in it. */
static int look_at_joint(const Motion *m, int b, const double *configuration, TreeJoint *joint) {
    const Tables *t = m->t;
    const int nv = t->size[nv_size], first = t->column[b], ball = t->kind[b] == SPHERICAL;
    const double *law = m->laws + t->rate[first], *q = configuration + t->coordinate[b];
    int found = 0;
    joint->count = t->column[b + 1] - first, joint->at = t->rate[first], joint->sprung = 0;
    for (int k = 0; t->own[first] && k < joint->count; ++k) {
        joint->sprung |= law[STIFFNESS * nv + k] != 0.0;
        found |= law[DAMPING * nv + k] != 0.0 || law[FRICTION * nv + k] != 0.0;
    }
    found |= joint->sprung;
    joint->group = ball || t->kind[b] == FREE, joint->lacks = ball ? 3 : 0;
    joint->backwards = joint->group && law[SENSE * nv] < 0.0;
    if (!found || !joint->group) return found;
    quaternion(q + 3 - joint->lacks, joint->pose);
    fill(0.0, 3, joint->pose + 9);
    if (!ball) copy(q, joint->pose + 9);
    return found;
}

/* How far the springs of a joint are from rest (freedoms,). */
static void stretch_of_joint(const Motion *m, int b, const TreeJoint *joint,
                             const double *configuration, double *stretch) {
    const double *q = configuration + m->t->coordinate[b];
    const double *rests = m->laws + REST * m->t->size[nv_size] + joint->at;
    double pose[12], rest[6] = {0}, twist[6];
    if (!joint->group) {
        stretch[0] = (m->t->kind[b] == CONTINUOUS ? atan2(q[1], q[0]) : q[0]) - rests[0];
        return;
    }
    between(joint->backwards ? joint->pose : still, joint->backwards ? still : joint->pose, pose);
    for (int k = 0; k < joint->count; ++k) {
        rest[joint->lacks + k] = joint->backwards ? -rests[k] : rests[k];
    }
    stretch_of_group(pose, rest, twist);
    for (int k = 0; k < joint->count; ++k) stretch[k] = twist[joint->lacks + k];
}

/* What springs of a joint take against rates of its coordinates (freedoms,). */
static void springs_of_joint(const Motion *m, int b, const TreeJoint *joint,
                             const double *configuration, double *force) {
    const double *stiffness = m->laws + STIFFNESS * m->t->size[nv_size] + joint->at;
    double stretch[6], twist[6] = {0}, along[6] = {0}, wrench[6];
    stretch_of_joint(m, b, joint, configuration, stretch);
    for (int k = 0; k < joint->count; ++k) {
        force[k] = along[joint->lacks + k] = stiffness[k] * stretch[k];
        twist[joint->lacks + k] = stretch[k];
    }
    if (!joint->group) return;
    wrench_of_forces(twist, along, wrench);
    for (int k = 0; k < joint->count; ++k) force[k] = wrench[joint->lacks + k];
}

/* Rates of a joint's coordinates (freedoms,). */
static void rates_of_joint(const TreeJoint *joint, const double *v, double *rates) {
    const double *pose = joint->pose;
    double twist[6] = {0}, turned[6];
    for (int k = 0; k < joint->count; ++k) rates[k] = twist[joint->lacks + k] = v[joint->at + k];
    if (!joint->backwards) return;
    rotate(pose, twist, turned);
    rotate(pose, twist + 3, turned + 3);
    add_cross(pose + 9, turned + 3, turned);
    for (int k = 0; k < joint->count; ++k) rates[k] = -turned[joint->lacks + k];
}

/* Add forces (freedoms,) against rates of a joint's coordinates to joint forces (nv,). */
static void add_forces_of_joint(const TreeJoint *joint, const double *force, double *tau) {
    double wrench[6] = {0}, turned[6];
    for (int k = 0; k < joint->count; ++k) turned[joint->lacks + k] = force[k];
    if (joint->backwards) {
        for (int k = 0; k < joint->count; ++k) wrench[joint->lacks + k] = -force[k];
        rotate_back(joint->pose, wrench, turned);
        add_cross(wrench, joint->pose + 9, wrench + 3);
        rotate_back(joint->pose, wrench + 3, turned + 3);
    }
    for (int k = 0; k < joint->count; ++k) tau[joint->at + k] += turned[joint->lacks + k];
}

/* Add what acts in the joints of the tree to joint forces (nv,); the power of what springs do not. */
static double load_joints(const Motion *m, const double *q, const double *v, double *tau) {
    const int nv = m->t->size[nv_size];
    double power = 0.0;
    for (int b = 1; b < m->t->size[links_size]; ++b) {
        const int first = m->t->column[b], at = m->t->rate[first];
        const double *only = m->laws + at;
        TreeJoint joint;
        double rate[6], force[6], spring[6] = {0};
        if (m->t->column[b + 1] == first + 1 && only[FRICTION * nv] == 0.0 && only[STIFFNESS * nv] == 0.0) {
            /* Most joints are damped, if at all. */
            if (!m->t->own[first]) continue;
            force[0] = -only[DAMPING * nv] * v[at];
            tau[at] += force[0], power += force[0] * v[at];
            continue;
        }
        if (!look_at_joint(m, b, q, &joint)) continue;
        const double *law = m->laws + joint.at;
        rates_of_joint(&joint, v, rate);
        if (joint.sprung) springs_of_joint(m, b, &joint, q, spring);
        for (int k = 0; k < joint.count; ++k) {
            const double friction = law[FRICTION * nv + k];
            force[k] = -law[DAMPING * nv + k] * rate[k];
            if (friction != 0.0) force[k] -= friction * tanh(rate[k] / m->options[SLIP]);
            power += force[k] * rate[k];
            force[k] -= spring[k];
        }
        add_forces_of_joint(&joint, force, tau);
    }
    return power;
}

/* Energy in the springs of joints of the tree. */
static double energy_of_joints(const Motion *m, const double *q) {
    const double *stiffness = m->laws + STIFFNESS * m->t->size[nv_size];
    double energy = 0.0;
    for (int b = 1; b < m->t->size[links_size]; ++b) {
        TreeJoint joint;
        double stretch[6];
        if (!look_at_joint(m, b, q, &joint) || !joint.sprung) continue;
        stretch_of_joint(m, b, &joint, q, stretch);
        for (int k = 0; k < joint.count; ++k) {
            energy += 0.5 * stiffness[joint.at + k] * stretch[k] * stretch[k];
        }
    }
    return energy;
}

/* Wrenches of the links from outside; their power. */
static double load_bodies_from_outside(const Motion *m) {
    double power = 0.0;
    for (int b = 0; b < m->t->size[links_size]; ++b) {
        const double *given = m->wrenches + WRENCH_NUMBERS * b, *R = m->w->pose + 12 * b;
        double *f = m->w->wrench + 6 * b, arm[3];
        rotate(R, given + OWN_WRENCH, f);
        rotate(R, given + OWN_WRENCH + 3, f + 3);
        for (int i = 0; i < 6; ++i) f[i] += given[GROUND_WRENCH + i];
        /* Rows of R times p f^T: the sum of x f^T for arms x in ground axes, whose antisymmetric
         * link is the moment. */
        double xf[9];
        multiply(R, given + LEVERS, xf);
        arm[0] = xf[5] - xf[7], arm[1] = xf[6] - xf[2], arm[2] = xf[1] - xf[3];
        add(arm, f + 3);
        power += work(f, m->w->acceleration + 6 * b);
    }
    return power;
}

/* Add joint forces (nv,) of what acts on bodies and in closing joints, and the power of what changes
 * the energy; 1 where a closing joint's coordinates are not found. */
static int apply_loads(const Motion *m, const double *q, const double *v, double *tau,
                       double *power) {
    const Tables *t = m->t;
    Workspace *w = m->w;
    positions(t, w, q);
    accelerations_beyond(t, w, v);
    *power += load_bodies_from_outside(m);
    if (load_closing(m, power)) return 1;
    for (int b = t->size[links_size] - 1; b > 0; --b) {
        const int p = t->parent[b];
        for (int k = t->column[b]; k < t->column[b + 1]; ++k) {
            tau[t->rate[k]] += t->ratio[k] * work(w->wrench + 6 * b, w->motion + 6 * k);
        }
        add_wrench(w->wrench + 6 * b, w->arm + 3 * b, w->wrench + 6 * p);
    }
    return 0;
}

/* Add joint forces (nv,) of functions, and their power; 1 where one ends the motion. */
static int apply_functions(const Motion *m, double time, const double *q, const double *v,
                           double *tau, double *power) {
    const int nv = m->t->size[nv_size];
    for (int i = 0; i < nv; ++i) {
        Torque torque;
        const double number = m->laws[TORQUE * nv + i];
        if (number == 0.0) continue;
        const Function *found = function_at(m, number, TORQUE_FUNCTION, &torque);
        if (!found) return 1;
        const double value = torque(time, found->data);
        tau[i] += value, *power += value * v[i];
    }
    for (int k = FUNCTIONS; k < OPTIONS; ++k) {
        Forces forces;
        double *more = m->w->forces;
        if (m->options[k] == 0.0) continue;
        const Function *found = function_at(m, m->options[k], FORCES_FUNCTION, &forces);
        fill(0.0, nv, more);
        if (!found || forces(time, q, v, more, found->data)) return 1;
        for (int i = 0; i < nv; ++i) tau[i] += more[i], *power += more[i] * v[i];
    }
    return 0;
}

/* Joint forces (nv,) at a state, and the power of those that change the energy; 1 where a function
 * ends the motion, or a closing joint's coordinates are not found. */
static int apply_laws(const Motion *m, double time, const double *q, const double *v, double *tau,
                      double *power) {
    const int nv = m->t->size[nv_size];
    *power = 0.0;
    for (int i = 0; i < nv; ++i) {
        tau[i] = m->laws[CONSTANT * nv + i];
        *power += tau[i] * v[i];
    }
    *power += load_joints(m, q, v, tau);
    if (m->options[LOADED] != 0.0 && apply_loads(m, q, v, tau, power)) return 1;
    return apply_functions(m, time, q, v, tau, power);
}
