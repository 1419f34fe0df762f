/* Tables: what a tree is made of, as flat arrays of whole numbers and of real ones.
 *
 * The lists below are the only place where the arrays are named. Python reads them from this file
 * (regularize/dynamics/step/compiled.py), the compiler as macros. Of each list, one array of numbers holds
 * all sections, one behind the other; the array of whole numbers begins with where they start.
 *
 * A multibody tree is made of links. Link 0 is the ground; the parent of a link comes before it. A link
 * moves against its parent by one elementary motion along or about z of its own frame, or by one
 * of the groups below. Its freedoms are columns, numbered link by link. A joint of several freedoms
 * is a series of links of which the last one has the inertia.
 */
#ifndef REGULARIZE_TABLES_H
#define REGULARIZE_TABLES_H

#include <stddef.h>

/* How a link moves. REVOLUTE: angle q about z and pitch q along it. CONTINUOUS: the same, q being cosine
 * and sine. PRISMATIC: q along z. SPHERICAL: quaternion x y z w, rate about the link's own axes. FREE:
 * position and quaternion, twist in the link's own axes. PLANAR: x, y, cosine, sine; rates along the
 * link's own x and y and about z. */
enum { REVOLUTE, CONTINUOUS, PRISMATIC, SPHERICAL, FREE, PLANAR };

/* Numbers that lengths of arrays are multiples of; "one" is 1. */
#define SIZES(X)                                                                                   \
    X(one) X(links) X(nq) X(nv) X(columns) X(closures) X(rows)                                     \
    X(loop_rows) X(constants) X(clusters) X(unknowns) X(values)                                    \
    X(cells)                                                       \
    X(sets) X(free) X(alone) X(set_values) X(set_rates) X(squares) X(row_values) X(basis_values)   \
    X(responses) X(state) X(row_entries) X(row_factors)           \
    X(gram_numbers) X(gram_rows) X(near_cells) X(closing_freedoms) X(curves) X(coupled_entries)

/* Whole numbers.
 *   parent, kind, coordinate: of each link; coordinate is the place in q
 *   hinge: 1 where a link only turns about a point of its parent
 *   column: first column of each link, and one number more at the end
 *   rate: place in v of each column; own: 1 where the column's acceleration is that of v itself, 0
 *   where the column follows another one (a mimic joint), by a coupling row
 *   first, second: links on both sides of each closure; first carries the row frame
 *   row: first row of each closure, and one number more
 *   closing_screw: first screw of each closure, and one number more
 *   closing, sign: see the kinds below; 1 where the second link is the child of the closing joint
 *   coupling: first entry of each constant row, and one number more; coupled: the columns. Rows of
 *   couplings come first, then one for each link that follows another one
 *   curve_row, curve_entry: row of each curve, and its entry in coupled; curve_piece: first piece of
 *   each, and one number more
 * For derivatives:
 *   moved: link that each column moves
 *   step, stepped, sense: first entry of each closure, and one number more; the columns that move
 *   one of its links alone; 1 where that is the second, -1 the first
 *   set_row, row_of_set, set_velocity, velocity_of_set, set_rank: rows that hang together and the
 *   velocities that they are on; velocity_alone: velocities on no row
 * For the shortest steps onto the closed loops (minimum_norm.c):
 *   entry: first entry of each row, and one number more; entry_velocity: the velocity of each;
 *   slot: place among the entries of its row of each element of stepped
 *   gram: of each velocity with entries, their number n, the entries, and the factors' entries that
 *   their n (n + 1) / 2 products are added to; row_rank: place of each row in the elimination;
 *   factor_start, factor_below, factor_block, factor_update: as start, below, block and update
 *   near_operation, near_start, near_code, near_row, near_entry: of clusters whose rows have no entries
 *   there, as deep_operation and so on (minimum_norm.c)
 * For the step, where clusters are links that are solved as one, leaves first:
 *   cluster_parent: link that a cluster moves against; cluster_link, cluster_loop, cluster_constant,
 *   cluster_unknown: where its links (descending), closures, constant rows and unknowns begin in
 *   link_list, loop_list, constant_list and the order of elimination, and one number more
 *   inner: 1 where a link's parent is of the same cluster; dense: 1 where clusters move against a
 *   link or against one behind it in its cluster; last_common: last link that both sides of a closure hang on
 *   column_unknown, row_unknown: place of each column, and of each row (closures, then constant
 *   ones), in the order of elimination; is_row: 1 where an unknown is a row
 *   start: where the entries of each unknown begin, the pivot first, and one number more; below: the
 *   unknown of each entry; block: n > 0 where the entries that a pivot changes are the first ones of
 *   the unknowns below it, and it changes them with n - 1 before it; -n where the next n do so later;
 *   0 where update has a list of them, pair by pair
 *   h_place, j_place: entries of inertia and rows in the order in which they are found
 *   early: 1 where rows of a cluster come before some of their columns
 *   direct: 1 where rows are independent and the tree's mass matrix is regular; else there is no step by
 *   clusters, and elimination.c solves
 *   deep: 1 where a cluster is eliminated in body coordinates (deep.c); deep_cell, deep_operation:
 *   where its cells and its operations begin, and one number more; deep_start: where an operation
 *   begins in deep_code; deep_body: cells of its links' inertias (ascending) and of its parent's;
 *   deep_row: cells of each row on the first and the second link; deep_entry: cells of the constant
 *   rows' entries
 *   flat: 1 where the step is made in a plane, and where all closing joints are hinges there */
#define INTEGERS(X)                                                                                \
    X(size) X(parent) X(kind) X(hinge) X(coordinate) X(column) X(rate) X(own) X(first) X(second) X(row)     \
    X(closing_screw) X(closing) X(sign) X(coupling) X(coupled) X(curve_row)         \
    X(curve_entry) X(curve_piece) X(cluster_parent)                   \
    X(cluster_link) X(link_list)                                                                   \
    X(cluster_loop) X(loop_list) X(cluster_constant) X(constant_list) X(cluster_unknown) X(inner)  \
    X(dense) X(is_row) X(last_common) X(column_unknown) X(row_unknown) X(start) X(below) X(block)  \
    X(update) X(h_place) X(j_place) X(early) X(direct)                                             \
    X(deep) X(deep_cell) X(deep_operation) X(deep_start) X(deep_code) X(deep_body) X(deep_row)     \
    X(deep_entry) X(flat)                                                                          \
    X(moved) X(step) X(stepped) X(sense) X(set_row) X(row_of_set) X(set_velocity)                  \
    X(velocity_of_set) X(set_rank) X(velocity_alone)                                               \
    X(entry) X(entry_velocity) X(slot) X(gram) X(row_rank) X(factor_start) X(factor_below)         \
    X(factor_block) X(factor_update) X(near_operation) X(near_start) X(near_code) X(near_row)      \
    X(near_entry)

/* Real numbers. Poses are a rotation, row by row, and a position: 12 numbers.
 *   placement: pose of each link at q = 0 in its parent
 *   pitch: of each link; scaling, offset: value of the motion = scaling q + offset
 *   ratio: rate of each column = ratio v[rate]
 *   inertia: mass, mass times centre (3), inertia about the link's origin (xx xy xz yy yz zz)
 *   armature: of each column; gravity: acceleration (3)
 *   row_point: of each closure, in its first link: what its rows refer to
 *   first_frame, second_frame: poses of the closing joint's frames in both links
 *   closing_screws: freedoms of closing joints, linear part first
 *   covector: each row of the closures in axes of its first link, linear part first, divided by a
 *   length
 *   piece: of each of the curves' pieces the argument at which it begins, its origin, and coefficients
 *   by rising powers of what is beyond that (5)
 *   coefficient: entries of the constant rows, 1 where there is a curve; target: right-hand sides of the couplings
 * Where the step is made in a plane, in frames that have its axes while all motions are zero:
 *   flat_placement: arm of each link's origin in its parent (2); flat_axis: twist of each column in
 *   its link (3: velocity, rate about the normal); flat_inertia: mass, mass times centre (2), moment
 *   of inertia about the link's origin; flat_gravity (2); flat_point, flat_covector: as row_point (2)
 *   and covector (3); flat_first, flat_second: where closing hinges are in both links (2) */
#define REALS(X)                                                                                   \
    X(placement) X(pitch) X(scaling) X(offset) X(ratio) X(inertia) X(armature) X(gravity)           \
    X(row_point) X(first_frame) X(second_frame) X(closing_screws) X(covector) X(coefficient) X(piece) \
    X(target) X(flat_placement) X(flat_axis) X(flat_inertia) X(flat_gravity) X(flat_point)         \
    X(flat_covector) X(flat_first) X(flat_second)

/* What a computation writes to: name, numbers for each, of what.
 *   pose: of each link in ground axes; arm: from its parent's origin to its own; motion: twist of each column, ground axes, about the origin
 *   of its link, linear part first; twist: velocity of each link, in the same way;
 *   drift: classical acceleration of each link's origin and angular acceleration, at zero
 *   acceleration of all columns; acceleration: the same at the accelerations found
 * and, for the step: rigid: inertia of each link with what is rigidly behind it, as in the table;
 *   spatial: what moving links behind it add; wrench: what its motion needs at zero acceleration;
 *   wanted: what is added to the rates of the rows;
 *   doubt: about the accelerations found, see factors.c;
 *   entry, solution, border: factors of the clusters' equations, their right-hand sides, and those
 *   of the six accelerations of the link that a cluster moves against; covectors: rows of the
 *   closures in ground axes; pivot: pivots of clusters in body coordinates; cell: inertias, vectors and numbers of clusters in body coordinates; carried:
 *   their columns about one point; row_side: right-hand sides of the closures' rows; own_inertia,
 *   own_wrench, rough: of single links, and the solution, before it is refined;
 * and, for derivatives, in ground axes about one point: screw: twist of each column; swept,
 *   swept_twice, bent, push, lean, by_q, by_v: see derivatives.c; V, A, F, moving: twist,
 *   acceleration, and wrench and bodies of all that hangs on each link; row_wrench: rows of the
 *   closures; mass, rows: matrices of the velocities; by_state, rows_by_state: derivatives of
 *   forces and of row rates; curve, coefficient, bend: see curves.c; the others: see elimination.c and responses.c */
#define WORKSPACE(X)                                                                               \
    X(pose, 12, links) X(arm, 3, links) X(motion, 6, columns) X(twist, 6, links) X(drift, 6, links)                 \
    X(acceleration, 6, links) X(rigid, 10, links) X(wrench, 6, links) X(spatial, 36, links)        \
    X(entry, 1, values) X(solution, 1, unknowns) X(border, 6, unknowns) X(covectors, 6, loop_rows) \
    X(pivot, 1, unknowns) X(cell, 1, cells)                                                        \
    X(carried, 6, columns) X(row_side, 1, loop_rows) X(own_inertia, 10, links)                     \
    X(own_wrench, 6, links) X(rough, 1, unknowns)                                                  \
    X(point, 3, one) X(screw, 6, columns) X(swept, 6, columns) X(swept_twice, 6, columns)          \
    X(bent, 6, columns) X(push, 6, columns) X(lean, 3, columns) X(by_q, 6, columns)                \
    X(by_v, 6, columns) X(V, 6, links) X(A, 6, links) X(F, 6, links) X(moving, 22, links)          \
    X(link_by_q, 6, links) X(link_by_v, 6, links) X(row_wrench, 6, rows) X(values, 1, rows)        \
    X(forces, 1, nv) X(line, 3, nv) X(mass, 1, squares) X(by_state, 2, squares)                    \
    X(rows, 1, row_values) X(rows_by_state, 2, row_values) X(values_by_q, 1, row_values)           \
    X(set_factors, 1, set_values)                                                                  \
    X(row_response, 1, set_rates) X(basis, 1, basis_values) X(reduced, 1, basis_values)            \
    X(response, 1, responses) X(bound, 1, nv) X(loose, 1, nv) X(order, 1, rows)                    \
    X(swapped, 1, nv)                                                                              \
    X(correction, 1, nv) X(trial, 1, nq) X(wanted, 1, rows) X(doubt, 1, one)              \
    X(clearness, 1, one) X(drawn, 1, nv) X(moved, 1, nv) X(reached, 1, nq) X(begun, 1, state)      \
    X(ended, 1, state) X(stage, 1, state) X(slope, 16, state) X(row_entry, 1, row_entries)         \
    X(row_factor, 1, row_factors) X(multiplier, 1, rows) X(driven, 3, rows) X(near_cell, 1, near_cells) \
    X(freedom, 1, closing_freedoms) X(curve, 6, curves) X(coefficient, 1, coupled_entries)         \
    X(bend, 1, rows)

/* How the joint that closes a loop moves. */
enum { CLOSING_FIXED, CLOSING_REVOLUTE, CLOSING_HELICAL, CLOSING_SPHERICAL, CLOSING_FREE, CLOSING_COMPOSITE };

#define NAME(name) name##_size,
enum { SIZES(NAME) number_of_sizes };
#undef NAME

#define INTEGER(name) const int *name;
#define REAL(name) const double *name;
typedef struct {
    INTEGERS(INTEGER)
    REALS(REAL)
} Tables;
#undef INTEGER
#undef REAL

/* A function of the caller's, of one of these kinds, and its data; see loads.c and drives.c. */
enum { TORQUE_FUNCTION, FORCES_FUNCTION, MOTION_FUNCTION, FUNCTION_KINDS };
typedef struct {
    int kind;
    void *address, *data;
} Function;

#define ROOM(name, count, of) double *name;
typedef struct {
    const Function *functions; /* of this call, and their number */
    int functions_count;
    WORKSPACE(ROOM)
} Workspace;
#undef ROOM

/* Lay the tables over two arrays of numbers. */
static void open_tables(Tables *t, const int *integers, const double *reals) {
    const int *start = integers;
#define INTEGER(name) t->name = integers + *start++;
    INTEGERS(INTEGER)
#undef INTEGER
#define REAL(name) t->name = reals + *start++;
    REALS(REAL)
#undef REAL
}

/* Lay a workspace over an array of that length. */
static void open_workspace(const Tables *t, Workspace *w, double *numbers) {
#define ROOM(name, count, of)                                                                      \
    w->name = numbers;                                                                             \
    numbers += (size_t)(count) * (size_t)t->size[of##_size];
    WORKSPACE(ROOM)
#undef ROOM
    w->functions = NULL, w->functions_count = 0;
}

#endif
