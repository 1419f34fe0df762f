/* The kernel in one translation unit: C99, no library but that of mathematics, no memory of its own.
 *
 * Every entry is a computation with arrays whose shapes stand in the list of entries below. It returns
 * 0, or 1 where the state needs another way of computing.
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

#define COMPUTATION(name)                                                                          \
    static int name(const Tables *t, Workspace *w, const double *const *in, double *const *out)

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
#include "residual.c"
#include "minimum_norm.c"
#include "projection.c"
#include "motion.c"
#include "environments.c"

/* Poses of all links. */
COMPUTATION(link_poses) {
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

#define SINGLE(count) {count, one_size, one_size}
#define CONFIGURATION {1, nq_size, one_size}
#define VELOCITY {1, nv_size, one_size}
#define ROWS {1, rows_size, nv_size}
#define ERRORS {1, rows_size, one_size}
#define BY_VELOCITY {1, nv_size, nv_size}
#define STATES(count) {count, state_size, one_size}
#define STATE CONFIGURATION, VELOCITY
#define LAWS_OF_FORCES                                                                             \
    {LAWS, nv_size, one_size}, {CLOSING_LAWS, closing_freedoms_size, one_size},                    \
        {WRENCH_NUMBERS, links_size, one_size}
#define FORCES LAWS_OF_FORCES, {0, one_size, one_size}
#define DERIVATIVES VELOCITY, BY_VELOCITY, BY_VELOCITY, BY_VELOCITY
#define SHAPES(...) {__VA_ARGS__}

/* What can be called: name, number of inputs and of outputs, and their shapes. */
#define ENTRIES(X)                                                                                 \
    X(link_poses, 1, 1, SHAPES(CONFIGURATION), SHAPES({12, links_size, one_size}))                 \
    X(energies, 2, 1, SHAPES(STATE), SHAPES(SINGLE(2)))                                            \
    X(forward_dynamics, 3, 1, SHAPES(STATE, VELOCITY), SHAPES(VELOCITY))                           \
    X(constrained_dynamics, 3, 2, SHAPES(STATE, VELOCITY), SHAPES(VELOCITY, ERRORS))               \
    X(decaying_dynamics, 4, 1, SHAPES(STATE, VELOCITY, SINGLE(2)), SHAPES(VELOCITY))               \
    X(jacobian, 1, 1, SHAPES(CONFIGURATION), SHAPES(ROWS))                                         \
    X(bias, 2, 1, SHAPES(STATE), SHAPES(ERRORS))                                                   \
    X(dynamics_derivatives, 3, 4, SHAPES(STATE, VELOCITY), SHAPES(DERIVATIVES))                    \
    X(decaying_derivatives, 4, 4, SHAPES(STATE, VELOCITY, SINGLE(2)), SHAPES(DERIVATIVES))         \
    X(residual, 1, 1, SHAPES(CONFIGURATION), SHAPES(ERRORS))                                       \
    X(newton_step, 1, 2, SHAPES(CONFIGURATION), SHAPES(CONFIGURATION, ERRORS))                     \
    X(project, 3, 1, SHAPES(STATE, SINGLE(5)), SHAPES(CONFIGURATION))                              \
    X(project_velocity, 2, 1, SHAPES(STATE), SHAPES(VELOCITY))                                     \
    X(follow, 6, 1, SHAPES(STATE, VELOCITY, VELOCITY, ERRORS, SINGLE(8)), SHAPES(CONFIGURATION))   \
    X(inverse_terms, 3, 3, SHAPES(STATE, VELOCITY), SHAPES(VELOCITY, BY_VELOCITY, ROWS))           \
    X(force_changes, 4, 1, SHAPES(STATE, VELOCITY, ERRORS), SHAPES({2, nv_size, nv_size}))         \
    X(row_changes, 2, 1, SHAPES(STATE), SHAPES(ROWS))                                              \
    X(actuated_derivatives, 4, 5, SHAPES(STATE, VELOCITY, VELOCITY),                               \
      SHAPES(DERIVATIVES, BY_VELOCITY))                                                            \
    X(close_motion, 3, 2, SHAPES(STATE, SINGLE(3)), SHAPES(STATE))                                 \
    X(closing_coordinates, 1, 1, SHAPES(CONFIGURATION),                                            \
      SHAPES({1, closing_freedoms_size, one_size}))                                                \
    X(fixed_step, 8, 3,                                                                            \
      SHAPES(STATE, VELOCITY, SINGLE(STEP_OPTIONS), ERRORS, LAWS_OF_FORCES),                       \
      SHAPES(STATE, SINGLE(1)))                                                                    \
    X(advance, 9, 6,                                                                               \
      SHAPES(STATE, SINGLE(STANDING), FORCES, SINGLE(STAGES * METHOD_ROWS), SINGLE(OPTIONS)),      \
      SHAPES(STATE, SINGLE(STANDING), CONFIGURATION, STATES(STAGES), STATES(2)))                   \
    X(step_terms, 9, 1,                                                                            \
      SHAPES(CONFIGURATION, STATES(2), STATES(STAGES), SINGLE(STANDING), FORCES,                   \
             SINGLE(DENSE_OPTIONS)),                                                               \
      SHAPES(STATES(TERMS + 1)))                                                                   \
    X(motion_between, 9, 4,                                                                        \
      SHAPES(CONFIGURATION, STATES(TERMS + 1), SINGLE(1), SINGLE(STANDING), FORCES,                \
             SINGLE(OPTIONS)),                                                                     \
      SHAPES(STATE, SINGLE(2), ERRORS))

#define PLACE(name, inputs, outputs, in, out) entry_##name,
enum { ENTRIES(PLACE) number_of_entries };
#undef PLACE
#define ENTRY(name, inputs, outputs, in, out) {#name, name, inputs, outputs, in, out},
static const Entry entries[number_of_entries] = {ENTRIES(ENTRY)};
#undef ENTRY
