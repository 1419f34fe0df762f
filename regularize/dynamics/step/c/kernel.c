/* The kernel in one translation unit: C99, no library but that of mathematics, no memory of its own.
 *
 * Every entry has the form
 *     int entry(const Tables *, Workspace *, const double *const *in, double *const *out)
 * with arrays whose shapes stand in the list of entries below, and returns 0, or 1 where the state
 * needs another way of computing.
 */
#if defined(__GNUC__) && !defined(__clang__)
/* Vectors have three numbers: what two at once save is less than what bringing them together takes. */
#pragma GCC optimize("no-tree-slp-vectorize")
#endif

#include <math.h>
#include <string.h>

#include "algebra.h"
#include "spatial.h"
#include "tables.h"

#include "curves.c"
#include "kinematics.c"
#include "inertia.c"
#include "loop_rows.c"
#include "factors.c"
#include "deep.c"
#include "plane.c"
#include "step.c"
#include "derivatives.c"
#include "closure.c"
#include "elimination.c"
#include "responses.c"
#include "flat_rows.c"
#include "residual.c"
#include "minimum_norm.c"
#include "minimum_norm_deep.c"
#include "projection.c"
#include "following.c"
#include "inverse.c"
#include "closing_joints.c"
#include "motion.c"
#include "between.c"

/* Poses of all links. */
static int link_poses(const Tables *t, Workspace *w, const double *const *in, double *const *out) {
    positions(t, w, in[0]);
    for (int i = 0; i < 12 * t->size[links_size]; ++i) out[0][i] = w->pose[i];
    return 0;
}

/* Shape of an array: a number times a size, by another size; 0 times where it has any length. */
typedef struct {
    int times, rows, columns;
} Shape;

#define MOST_ARRAYS 9

typedef struct {
    const char *name;
    int (*run)(const Tables *, Workspace *, const double *const *, double *const *);
    int inputs, outputs;
    Shape in[MOST_ARRAYS], out[MOST_ARRAYS];
} Entry;

/* What can be called. */
#define ENTRIES(X)                                                                                 \
    X(link_poses) X(energies) X(forward_dynamics) X(constrained_dynamics)                      \
    X(stabilized_dynamics) X(jacobian) X(bias) X(dynamics_derivatives) X(stabilized_derivatives)   \
    X(residual) X(newton_step) X(project) X(project_velocity) X(follow) X(inverse_terms) X(force_changes) \
    X(row_changes) X(actuated_derivatives) X(close_motion) X(closing_coordinates)     \
    X(advance) X(step_terms) X(motion_between)

#define PLACE(name) entry_##name,
enum { ENTRIES(PLACE) number_of_entries };
#undef PLACE

#define SINGLE(count) {count, one_size, one_size}
#define CONFIGURATION {1, nq_size, one_size}
#define VELOCITY {1, nv_size, one_size}
#define ROWS {1, rows_size, nv_size}
#define ERRORS {1, rows_size, one_size}
#define BY_VELOCITY {1, nv_size, nv_size}
#define FORCES                                                                                     \
    {LAWS, nv_size, one_size}, {CLOSING_LAWS, closing_freedoms_size, one_size},                            \
        {WRENCH_NUMBERS, links_size, one_size}, {0, one_size, one_size}

static const Entry entries[number_of_entries] = {
    {"link_poses", link_poses, 1, 1, {CONFIGURATION}, {{12, links_size, one_size}}},
    {"energies", energies, 2, 1, {CONFIGURATION, VELOCITY}, {SINGLE(2)}},
    {"forward_dynamics", forward_dynamics, 3, 1, {CONFIGURATION, VELOCITY, VELOCITY}, {VELOCITY}},
    {"constrained_dynamics", constrained_dynamics, 3, 2, {CONFIGURATION, VELOCITY, VELOCITY},
     {VELOCITY, {1, rows_size, one_size}}},
    {"stabilized_dynamics", stabilized_dynamics, 4, 1,
     {CONFIGURATION, VELOCITY, VELOCITY, ERRORS}, {VELOCITY}},
    {"jacobian", jacobian, 1, 1, {CONFIGURATION}, {ROWS}},
    {"bias", bias, 2, 1, {CONFIGURATION, VELOCITY}, {ERRORS}},
    {"dynamics_derivatives", dynamics_derivatives, 3, 4, {CONFIGURATION, VELOCITY, VELOCITY},
     {VELOCITY, BY_VELOCITY, BY_VELOCITY, BY_VELOCITY}},
    {"stabilized_derivatives", stabilized_derivatives, 5, 4,
     {CONFIGURATION, VELOCITY, VELOCITY, ERRORS, {2, one_size, one_size}},
     {VELOCITY, BY_VELOCITY, BY_VELOCITY, BY_VELOCITY}},
    {"residual", residual, 1, 1, {CONFIGURATION}, {ERRORS}},
    {"newton_step", newton_step, 1, 2, {CONFIGURATION}, {CONFIGURATION, ERRORS}},
    {"project", project, 3, 1, {CONFIGURATION, VELOCITY, {5, one_size, one_size}},
     {CONFIGURATION}},
    {"project_velocity", project_velocity, 2, 1, {CONFIGURATION, VELOCITY}, {VELOCITY}},
    {"follow", follow, 6, 1,
     {CONFIGURATION, VELOCITY, VELOCITY, VELOCITY, ERRORS, {8, one_size, one_size}},
     {CONFIGURATION}},
    {"inverse_terms", inverse_terms, 3, 3, {CONFIGURATION, VELOCITY, VELOCITY},
     {VELOCITY, BY_VELOCITY, ROWS}},
    {"force_changes", force_changes, 4, 1, {CONFIGURATION, VELOCITY, VELOCITY, ERRORS},
     {{2, nv_size, nv_size}}},
    {"row_changes", row_changes, 2, 1, {CONFIGURATION, VELOCITY}, {ROWS}},
    {"actuated_derivatives", actuated_derivatives, 4, 5,
     {CONFIGURATION, VELOCITY, VELOCITY, VELOCITY},
     {VELOCITY, BY_VELOCITY, BY_VELOCITY, BY_VELOCITY, BY_VELOCITY}},
    {"close_motion", close_motion, 3, 2, {CONFIGURATION, VELOCITY, SINGLE(3)},
     {CONFIGURATION, VELOCITY}},
    {"closing_coordinates", closing_coordinates, 1, 1, {CONFIGURATION},
     {{1, closing_freedoms_size, one_size}}},
    {"advance", advance, 9, 6,
     {CONFIGURATION, VELOCITY, SINGLE(STANDING), FORCES, SINGLE(STAGES * METHOD_ROWS),
      SINGLE(OPTIONS)},
     {CONFIGURATION, VELOCITY, SINGLE(STANDING), CONFIGURATION, {STAGES, state_size, one_size},
      {2, state_size, one_size}}},
    {"step_terms", step_terms, 9, 1,
     {CONFIGURATION, {2, state_size, one_size}, {STAGES, state_size, one_size}, SINGLE(STANDING),
      FORCES, SINGLE(DENSE_OPTIONS)},
     {{TERMS + 1, state_size, one_size}}},
    {"motion_between", motion_between, 9, 4,
     {CONFIGURATION, {TERMS + 1, state_size, one_size}, SINGLE(1), SINGLE(STANDING), FORCES,
      SINGLE(OPTIONS)},
     {CONFIGURATION, VELOCITY, SINGLE(2), ERRORS}},
};
