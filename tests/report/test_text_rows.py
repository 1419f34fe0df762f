"""The five texts row by row: every method, figure, example and outlook, and the tests it rests on.

Müller 2004 (A), Müller 2014 (M), Klein and Kecskeméthy 1998 (K), Paul 2020 (P), Brüls, Duysinx and
Golinval 2003 (B), Hervé 1978 as they cite him (H), and the tools that the programme names (D). A
test of this module stands with its name alone. What no other module tests is tested here.
"""

from __future__ import annotations

import re
import subprocess
import sys
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import regularize as rg

HERE = Path(__file__).parents[1]
ASSETS = HERE.parent / "assets"
KNOWN = "known_mechanisms::check_gives_the_known_answer"

#: A line for each row: its number, what the text has, and the tests, ``test_`` left out.
TABLE = f"""
A1  basis from the loop's screws, any configuration | reduction::kept_rows_have_the_null_space_of_all_rows_everywhere
A2  SVD or QR, consistent in singularities | known_mechanisms::nothing_that_matters_is_deleted_at_the_flat_pose
A3  once, before the integration | no_decomposition_and_no_reduction_while_it_moves
A4  paradoxical rows may stay | {KNOWN}[bennett] {KNOWN}[bricard]
M1  singular equations need a decomposition each step | no_decomposition_and_no_reduction_while_it_moves pinocchio::rows_against_least_squares_on_all_closure_equations
M2  Fig. 1a, topological | {KNOWN}[braced_fourbar]
M3  Fig. 1b, spherical, trivial | {KNOWN}[spherical_fourbar]
M4  Fig. 2a, perpendicular planes, exceptional | {KNOWN}[sarrus] {KNOWN}[three_leg_sarrus]
M5  Fig. 2b, Bricard | {KNOWN}[bricard] iftomm::bricard
M6  Fig. 3, double four-bar of equal lengths | {KNOWN}[three_cranks] known_mechanisms::the_third_crank_is_redundant_only_while_it_is_equal
M7  sufficient, always | reduction::kept_rows_have_the_null_space_of_all_rows_everywhere random_mechanisms::kept_rows_are_sufficient_and_independent
M8  eq. 1 to 4, motion equations | pinocchio::rows_against_least_squares_on_all_closure_equations
M9  18 - 20 = 3 - 5 = -2, in both coordinates | {KNOWN}[planar_fourbar] absolute_rows::full_rank_and_nothing_lost[planar_fourbar]
M10 singular poses told from permanent redundancy | spherical_fourbar_2014::the_flat_pose_is_reported_as_singular
M11 eq. 5 to 9, zero reference and exponentials | lie::exponential_is_the_matrix_exponential kernel::parts_are_and_move_where_the_bodies_of_pinocchio_are_and_move
M12 eq. 10 to 17, Jacobians | kinematics::residual_jacobian_is_exact_on_open_loops
M13 eq. 18 to 23, cut joint and its selection | reduction::the_user_may_choose_the_cut
M14 joints of several freedoms, 6 - f rows | topology::a_cut_joint_has_independent_freedoms augment::every_type_of_joint_in_a_loop
M15 eq. 24 to 26, closure; second order is not enough | two_skew_hinges_need_brackets_of_higher_order
M16 eq. 27, the space is invariant: saturation | lie::saturation_holds_the_space_while_the_joint_moves one_loop::the_certificate_catches_what_saturation_would_have
M17 eq. 28 and 29, preconditioning matrix | spherical_fourbar_2014::our_rows_span_the_printed_ones
M18 accelerations reduced too | kinematics::bias_is_the_rate_of_the_jacobian groups::accelerations_are_those_on_all_rows
M19 for all cut joints, the least rank | the_cut_of_least_rank_is_taken
M20 remark 1, no decomposition in the step | no_decomposition_and_no_reduction_while_it_moves
M21 remark 2, well conditioned | kept_rows_are_well_conditioned
M22 remark 3, paradoxical rows are kept and named | known_mechanisms::bennett_loses_one_row_proved_and_the_others_when_asked
M23 7.1, printed Jacobian and its ranks | spherical_fourbar_2014::the_cube_is_the_geometry_of_the_printed_jacobian spherical_fourbar_2014::the_printed_jacobian_has_rank_2_at_zero
M24 a flat reference pose does no harm | spherical_fourbar_2014::the_rank_is_one_at_the_flat_pose_and_two_elsewhere
M25 7.2, 3-PRRR, 10 and 8: 7 | reduction::three_loops_through_a_platform_keep_seven_rows
M26 outlook, several loops | {KNOWN}[walker] one_loop::random_loops_agree_with_propagation
M27 relative or absolute coordinates | absolute_rows::full_rank_and_nothing_lost exudyn::no_redundant_equation exudyn::same_motion
M28 preprocessing apart from the multibody code | adapter_contract::every_writer_is_read_back_with_the_same_findings kernel::exported_source_computes_the_same_to_the_last_bit
M29 trivial and exceptional prevail: class by loop | report_forms::every_redundancy_names_the_joints_that_cause_it
M30 invariant spaces named as groups | lie::every_class_is_named lie::names_move_with_the_mechanism
P1  ball cuts 3, solid cuts 6 | thesis_models::joint_freedoms_and_cut_constraints
P2  hinges, slides, series, fictitious bodies | thesis_models::counts topology::universal_joints_are_split_and_keep_their_coordinates_together
P3  skewed joints by locked ones | topology::bodies_joined_by_fixed_joints_are_one_node invariance::pose_of_the_body_frames
P4  eq. 7 to 11, equations of motion | minimal::accelerations_agree_with_pinocchio
P5  eq. 12 to 21, partitioned equations | minimal::inverse_dynamics_undoes_the_accelerations minimal::energy_is_kept_through_full_turns
P6  eq. 16, Newton | show::newton_converges_quadratically_where_a_part_of_a_ball_joint_is_held
P7  eq. 22 and 23, least squares closing | thesis_models::closes_from_the_start_values_with_the_independents_held assembly::closes_what_was_saved_open_and_says_by_how_much
P8  start near, local minima | assembly::seeded_searches_are_repeatable assembly::says_how_far_a_fixed_coordinate_gets
P9  tolerance 1e-9 | thesis_models::closes_from_the_start_values_with_the_independents_held
P10 LU with full pivots, the program's own choice | one_loop::pivots_are_the_largest_entries_that_remain partition::no_coordinate_of_a_cut_is_independent
P11 locked columns, the user's choice | thesis_models::partition_finds_the_redundant_constraint_of_the_four_bar thesis_models::partition_of_the_agile_eye_with_and_without_a_choice
P12 best conditioned dependent columns | default_inputs::motors_that_hardly_move_the_rest_are_no_minimal_coordinates minimal::bricard_passes_repartitioning_without_a_step
P13 Fig. 12, 0 by counting, 1 in truth | thesis_models::counts[redundant_four_bar] thesis_models::plane_mechanisms_keep_the_constraints_that_the_thesis_counts
P14 Fig. 13, Agile Eye -3, 3, 6 | thesis_models::counts[agile_eye]
P15 eq. 24 to 37, ranks unsolved and solved | one_loop::rank_falls_from_five_to_four_when_the_constraints_are_solved
P16 independent columns empty where unsolved | partition::partition_of_the_whole_mechanism_open_and_closed one_loop::without_a_choice_the_closed_jacobian_leaves_one_independent_column
P17 singular choice is an error | partition::refuses_coordinates_that_depend_on_each_other_and_names_them
P18 randomness against zeros, repeatable | invariance::seed mobility::results_repeat_by_seed
P19 second partitioning on the way | thesis_models::agile_eye_runs_long_through_repartitioning_without_a_step
P20 Fig. 15 to 17, three bars | kinematics::least_squares_agrees_with_newton_on_models_without_redundancy[three_bar] thesis_models::errors_of_least_squares_are_those_of_the_thesis[three_bar]
P21 Fig. 18 to 21, five points, 14 - 12 = 2 | thesis_models::counts[five_point_suspension] thesis_models::errors_of_least_squares_are_those_of_the_thesis[five_point_suspension]
P22 Newton is faster than least squares | newton_needs_fewer_steps_than_least_squares
P23 6.1, data and Fig. 23 | thesis_models::four_bar_swings_as_one_pendulum
P24 6.2, data | thesis_models::derived_numbers_of_the_tables
P25 Fig. 25, equal torques | thesis_models::equal_torques_turn_the_eye_about_the_vertical_axis_only
P26 Fig. 26, unequal torques | thesis_models::unequal_torques_turn_the_eye_about_all_three_axes
P27 with and without chosen coordinates | thesis_models::equal_torques_turn_the_eye_about_the_vertical_axis_only
P28 forced motions in time | drives::a_driven_crank_in_all_coordinates_and_in_minimal_ones
P29 animation | show::a_simulated_motion_is_played show::films_show_the_whole_motion
P30 door whose hinges share the effort | thesis_models::counts[door] advice::a_door_is_mended_as_far_as_its_file_goes reactions::a_door_leaves_all_but_the_moment_about_the_hinges_open
P31 redundant is what can be removed | shaky::velocities_and_motions_are_counted_apart shaky::the_loop_opens_without_the_row
P32 uniqueness of reactions | reactions::ball_and_cylinder_make_every_reaction_unique reactions::self_stress_in_words
P33 outlook, forces in eliminated constraints | reactions::forces_in_eliminated_constraints_are_those_of_the_cut_joint
P34 outlook, other ways than optimisation | assembly::closed_forms_end_the_search_where_there_is_nothing_to_find recursion::bennett_linkage_by_eigenvalues
P35 outlook, C and Python | kernel::exported_source_computes_the_same_to_the_last_bit closed_form_mechanisms::written_out_as_python_and_as_c
P36 outlook, control of the motors | dynamics::inverse_dynamics_with_actuators minimal::prescribed_torque_and_prescribed_motion_are_the_same_dynamics
P37 outlook, effect of parameters | sweep::the_thesis_s_bars_over_their_lengths sweep::arguments_of_a_builder_on_a_grid sweep::length_of_a_body sweep::the_orthoglide_of_bruels_has_parallelograms_or_cannot_be_built sweep::the_wheel_suspension_of_klein_over_its_stroke
P38 Baumgarte, augmented Lagrangian | dynamics::baumgarte_terms_let_errors_decay legacy::exact_geometry_is_held
P39 singular mass matrix | massless::light_bodies_beside_heavy_ones_move pinocchio::massless_links_are_reported_and_simulated
K1  hinges and slides in loops, eq. 1 | closed_form_mechanisms::every_solution_closes_every_loop
K2  three or six dependent variables | closed_form_mechanisms::every_solution_closes_every_loop
K3  Table 1, what joints leave unmoved | hinges_and_slides_leave_unmoved_what_table_1_says
K4  eq. 2, projections | solve_command::formulas_in_words
K5  eq. 3 and 4, longest chains | topology::motions_of_a_segment_around_the_loop
K6  eq. 5, echelon form | solve_command::formulas_in_words
K7  A cos + B sin + C, A s^2 + B s + C | closed_form_mechanisms::no_branch_is_missed[planar RRRP] closed_form_mechanisms::no_branch_is_missed[planar 4R]
K8  two solutions, one where there are two equations | closed_form_special::a_divisor_that_vanishes
K9  rows of ones: planar and spherical loops | closed_form_mechanisms::no_branch_is_missed[spherical 4R]
K10 planned once, evaluated often | one_plan_serves_many_evaluations
K11 list of dependent variables as input | closed_form_inputs::joints_with_several_freedoms_are_given_as_a_whole_or_in_parts
K12 wheel suspension, both poses, Fig. 1 | closed_form_mechanisms::wheel_suspension_of_the_listing
K13 Table 2, 236 and 307 operations | closed_form_mechanisms::wheel_suspension_of_the_listing
K14 Table 3, 300,000 solutions, against iteration | three_hundred_thousand_solutions
K15 elbow manipulator, eight poses, Fig. 2 | closed_form_mechanisms::elbow_manipulator_has_eight_configurations
K16 pictures of the configurations | html::scene_data_is_complete html::branches_are_named_where_each_cell_has_its_own
K17 no jumps between branches | tracks::branches_that_come_near_do_not_cross tracks::every_case_moves_without_jumps
K18 suitable for CAD systems | freecad_macro::findings_are_said_and_their_joints_selected bench::a_joint_is_tried_taken_back_and_saved
K19 instead of Gröbner bases | configurations::sixteen_configurations_of_an_arm_with_a_driven_pose recursion::eigenvalues_give_what_the_closed_form_gives
K20 code out | closed_form_mechanisms::written_out_as_python_and_as_c generated_code::casadi generated_code::jax
B1  as many inputs as freedoms, all actuated | default_inputs::the_driven_joint_is_the_independent_one reduced_model::wrong_inputs
B2  eq. 1 to 3, H, h, p, D | reduced_model::equal_finite_differences_of_energies
B3  D by differences: exact here | reduced_model::derivative_of_q_theta_is_exact
B4  redundant start model | reduced_model::equal_pinocchio_matrices_projected
B5  eq. 8 to 12, mixed coordinates, Newton with steps | reduced_model::closed_form_and_paths_agree reduced_model::loops_stay_closed
B6  singular points bound the study | reduced_model::four_bar_bounds_its_workspace metamodel::workspace_ends_at_singularities
B7  several assemblies for one input | reduced_model::start_chooses_the_branch
B8  a minimal set of constraints | reduced_model::redundant_constraints_do_not_disturb
B9  eq. 13 to 28 | reduced_model::forward_dynamics_equal_pinocchio
B10 eq. 16, any external forces | reduced_model::loads_do_the_work_of_their_points joint_dynamics::payload_and_wrench_of_a_reduced_model
B11 influence matrix: more or fewer motors | reduced_model::more_and_fewer_motors_than_freedoms
B12 four steps of the procedure | metamodel::four_bar_of_the_text metamodel::accuracy_stands_in_the_object
B13 central composite design, shared samples | metamodel::samples_are_shared_and_computed_once
B14 tree of boxes, outside ones dropped | metamodel::boxes_near_singularities_are_excluded_at_once
B15 eq. 32, 18 and 504 | metamodel_export::operations_are_those_of_equation_32 metamodel::four_bar_of_the_text
B16 Fig. 2 and 3, four-bar, 1 % | metamodel::four_bar_of_the_text
B17 Fig. 4 and 5, Orthoglide, 0.5 % | metamodel::orthoglide_of_the_text
B18 jumps at sides of boxes | metamodel::boxes_jump_a_little_at_their_sides metamodel::continuous_models_have_no_jumps
B19 outlook, radial basis functions | metamodel::continuous_metamodels[rbf]
B20 outlook, accuracy as wanted | metamodel::tolerance_is_kept metamodel::command_reports_a_missed_tolerance
B21 for control in real time | metamodel_export::c_equals_python metamodel_export::source_needs_nothing_else
B22 insight by coefficients | metamodel::command
B23 outlook, flexible links | elastic::metamodel_of_the_elastic_four_bar_of_the_text_is_faster_than_the_full_model elastic::metamodel_of_the_elastic_orthoglide_of_the_text_is_faster_than_the_full_model elastic::springs_follow_named_inputs_quasi_statically elastic::component_modes_have_the_frequencies_of_a_cantilever elastic::first_three_frequencies_of_a_cantilever elastic::four_bar_with_an_elastic_coupler_as_exudyn_has_it elastic::stiff_is_rigid
H1  classes of motions and of redundancies | lie::every_class_is_named {KNOWN}
H2  tables of compositions and intersections | motion_groups::tables motion_groups::lattice_laws_and_bounds_of_dimensions
D1  adapters as plugins | third_party_adapter::its_files_are_checked registry::entry_point_is_added_and_used
D2  a foreign writer | registry::format_that_only_writes
D3  urdfpy, trimesh, scipy | objects::same_mechanism_as_from_the_file objects::inventions_are_recognised
"""  # noqa: E501


@cache
def rows() -> dict[str, list[str]]:
    """The tests of each row as pytest calls them."""
    found = {}
    for line in TABLE.strip().splitlines():
        what, _, tests = line.partition(" | ")
        found[what.split()[0]] = [
            f"test_text_rows.py::test_{name}"
            if "::" not in name
            else "test_{}.py::test_{}".format(*name.split("::"))
            for name in re.findall(r"(?:[^\s\[]|\[[^\]]*\])+", tests)
        ]
    return found


def test_cases_of_rows_are_run() -> None:
    """Whatever a row names is collected, its parameters included."""
    modules = sorted({node.partition("::")[0] for tests in rows().values() for node in tests})
    command = [sys.executable, "-m", "pytest", "-q", "--collect-only", "--nightly"]
    command += ["-p", "no:cacheprovider", *modules]
    done = subprocess.run(command, cwd=HERE, capture_output=True, text=True)
    known = {line.rpartition("/")[2] for line in done.stdout.splitlines() if "::" in line}
    known |= {line.partition("[")[0] for line in known}
    missing = [node for tests in rows().values() for node in tests if node not in known]
    gone = [m for m in modules if not any(line.startswith(m) for line in known)]
    # Modules whose engine is not installed are skipped as a whole.
    assert [node for node in missing if node.partition("::")[0] not in gone] == []
    assert set(gone) <= {"test_exudyn.py"}


def test_no_decomposition_and_no_reduction_while_it_moves(monkeypatch: pytest.MonkeyPatch) -> None:
    """Accelerations and steps are the same where no routine for a decomposition can be called."""
    import scipy.linalg

    robot = rg.to_pinocchio(rg.reduce(ASSETS / "three_prrr.urdf"))
    q, v = robot.q0, np.zeros(robot.nv)
    expected = robot.forward_dynamics(q, v, np.ones(robot.nv))

    def refused(*_: object, **__: object) -> None:
        raise AssertionError("decomposed")

    for module, names in (
        (np.linalg, ("svd", "qr", "eig", "eigh", "pinv", "lstsq")),
        (scipy.linalg, ("svd", "qr", "eig", "eigh", "pinv", "lstsq", "null_space", "orth")),
    ):
        for name in names:
            monkeypatch.setattr(module, name, refused)
    found = robot.forward_dynamics(q, v, np.ones(robot.nv))
    np.testing.assert_array_equal(found, expected)
    steps = robot.step(np.array([q]), np.array([v]), np.zeros((1, robot.nv)), 1e-3)
    assert steps.ok.all()


def test_two_skew_hinges_need_brackets_of_higher_order() -> None:
    """Screws and their first and second brackets span 5; the closure is the whole algebra."""
    skew = rg.motion_group("revolute", (1, 0.2, 0.4), (0, 1, 0))
    assert rg.compose("revolute", skew).dimension == 6

    def bracket(a: np.ndarray, b: np.ndarray) -> np.ndarray:
        v = np.cross(a[3:], b[:3]) - np.cross(b[3:], a[:3])
        return np.concatenate([v, np.cross(a[3:], b[3:])])

    one = np.array([0, 0, 0, 0, 0, 1.0])
    axis = np.array([1, 0.2, 0.4]) / np.linalg.norm([1, 0.2, 0.4])
    two = np.concatenate([np.cross((0, 1, 0), axis), axis])
    first = bracket(one, two)
    span = [one, two, first, bracket(one, first), bracket(two, first)]
    assert np.linalg.matrix_rank(span, tol=1e-9) == 5


@pytest.mark.slow
def test_the_cut_of_least_rank_is_taken() -> None:
    mechanism = rg.load(ASSETS / "sarrus.urdf")
    kept = {j.name: rg.reduce(mechanism, cuts=[j.name]).kept for j in mechanism.joints}
    assert set(kept.values()) == {4, 5}
    assert rg.reduce(mechanism).kept == 4


@pytest.mark.slow
@pytest.mark.parametrize(("name", "most"), [("three_prrr", 10.0), ("spherical_fourbar", 10.0)])
def test_kept_rows_are_well_conditioned(name: str, most: float) -> None:
    reduction = rg.reduce(ASSETS / f"{name}.urdf")
    assert 1.0 <= float(reduction.condition()[0]) < most


@pytest.mark.slow
@pytest.mark.parametrize("name", ["three_bar", "five_point_suspension"])
def test_newton_needs_fewer_steps_than_least_squares(name: str) -> None:
    """On the thesis' own models a twentieth of a radian on: evaluations of the loops, and results.

    The thesis' ``lsqnonlin`` knows no derivatives; with them it takes at least as many.
    """
    from scipy.optimize import least_squares

    reduction = rg.reduce(ASSETS / "thesis" / f"{name}.urdf")
    loops = reduction.loops
    start = np.array(reduction.q[loops.columns])
    start[0] += 0.05

    def state(x: np.ndarray) -> Any:
        return loops.state(np.append(start[:1], x)[None])

    def gaps(x: np.ndarray) -> np.ndarray:
        return np.asarray(loops.residual(state(x))[0])

    def slopes(x: np.ndarray) -> np.ndarray:
        return np.asarray(loops.residual_jacobian(state(x))[0][:, 1:])

    exact, needed = start[1:], 1
    while np.abs(gap := gaps(exact)).max() > 1e-12:
        exact, needed = exact - np.linalg.lstsq(slopes(exact), gap, rcond=1e-9)[0], needed + 1
    assert needed < 10
    for jac, more in ((slopes, 1), ("2-point", 2)):
        found = least_squares(gaps, start[1:], jac=jac, xtol=1e-15, ftol=1e-15, gtol=1e-15)
        assert found.nfev + (found.njev or 0) * len(exact) * (jac != slopes) >= more * needed
        assert np.abs(gaps(found.x)).max() < 1e-9
        if reduction.mobility == 1:
            np.testing.assert_allclose(found.x, exact, atol=1e-9)


def test_hinges_and_slides_leave_unmoved_what_table_1_says() -> None:
    """Of a hinge its origin and the plane across it, of a slide the planes along it."""
    for axis in range(3):
        s = np.zeros(6)
        s[3 + axis] = 1.0
        hinge, slide = s[:, None], np.roll(s, 3)[:, None]
        assert rg.meet(hinge, "spherical").dimension == 1  # the origin stays
        assert rg.meet(slide, "spherical").dimension == 0
        for other in range(3):
            normal = np.eye(3)[other]
            across = rg.motion_group("planar", tuple(normal))  # all motions that keep that plane
            assert rg.meet(hinge, across).dimension == int(axis == other)
            assert rg.meet(slide, across).dimension == int(axis != other)


def wheel() -> rg.ClosedForm:
    from closed_form_cases import wheel_suspension

    return rg.closed_form(*wheel_suspension())


def test_one_plan_serves_many_evaluations() -> None:
    """Planned once and written down, the formulas are evaluated without the planner."""
    solution = wheel()
    alone: dict[str, Any] = {}
    exec(solution.to_python("loop"), alone)
    for value in (0.1, 0.2, 0.3):
        expected = solution.solve(value)
        for way in (0, 1):
            np.testing.assert_allclose(alone["loop"]([value], way), expected.q[way], atol=1e-12)


@pytest.mark.slow
def test_three_hundred_thousand_solutions() -> None:
    """Both ways to assemble at every stroke, by formulas and in one call."""
    values = np.linspace(0.02, 0.4, 150_000)
    found = wheel().solve(values)
    assert found.q.shape == (150_000, 2, 4) and found.assembled.all()
    a, b, c, s = np.moveaxis(found.q, -1, 0)
    y = 0.84 * np.cos(a) - 0.12 * np.sin(a) - 0.85 * np.cos(a + b) - 0.13 * np.sin(a + b)
    z = 0.84 * np.sin(a) + 0.12 * np.cos(a) - 0.85 * np.sin(a + b) + 0.13 * np.cos(a + b)
    assert np.abs([y, z + s]).max() < 1e-13
    assert np.abs(np.remainder(a + b + c + np.pi, 2 * np.pi) - np.pi).max() < 1e-13
