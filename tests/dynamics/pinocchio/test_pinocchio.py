"""Export to Pinocchio: the four styles are exact and agree with each other."""

from collections.abc import Iterator
from dataclasses import replace
from functools import cache
from pathlib import Path

import numpy as np
import pinocchio as pin
import pytest
from dynamics_table import states as closed_states
from pinocchio_cases import MECHANISMS, closed, fourbar, mass_matrix, massive, stewart

import regularize as rg

STYLES = ("rows", "anchors", "slack", "legacy")
CORPUS = Path(__file__).resolve().parents[4] / "shared" / "corpus"
FIELD = [
    *("gepetto_yaml/5bar_linkage", "gepetto_yaml/5bar_linkage_iso3d"),
    *("gepetto_yaml/5bar_linkage_iso6d", "gepetto_yaml/cassie_like"),
    *("gepetto_yaml/digit_like_2legs", "gepetto_yaml/disney_like", "gepetto_yaml/disney_robot"),
    *("gepetto_yaml/robot_delta", "gepetto_yaml/true_talos_2_legs"),
    *("urdf_plus/four_bar/four_bar.urdf", "urdf_plus/mini_cheetah/mini_cheetah.urdf"),
    "urdf_plus/planar_leg_linkage/planar_leg_linkage.urdf",
    "urdf_plus/mit_humanoid/mit_humanoid.urdf",
]


@cache
def reduction(name: str) -> rg.Reduction:
    return rg.reduce(massive(MECHANISMS[name]()))


def states(base: rg.Robot, count: int = 4) -> Iterator[tuple[np.ndarray, np.ndarray, np.ndarray]]:
    """Random states with closed loops: configuration, velocity, joint forces."""
    rng = np.random.default_rng(1)
    for q, v in closed_states(base, count):
        yield q, v, rng.normal(size=base.nv)


def carried(
    base: rg.Robot, other: rg.Robot, q: np.ndarray, v: np.ndarray, tau: np.ndarray
) -> tuple[tuple[np.ndarray, np.ndarray, np.ndarray], np.ndarray]:
    """The same state in another style, and where the joints of the first are in its vectors."""
    index = np.concatenate(
        [
            other.model.idx_vs[other.model.getJointId(name)] + np.arange(base.model.nvs[k])
            for k, name in enumerate(base.model.names)
            if k > 0
        ]
    ).astype(int)
    q_other = other.configuration(base.coordinates(q))
    jacobian = other.jacobian(q_other)
    rest = np.setdiff1d(np.arange(other.model.nv), index)
    v_other, tau_other = np.zeros(other.model.nv), np.zeros(other.model.nv)
    v_other[index], tau_other[index] = v, tau
    if len(rest):
        v_other[rest] = -np.linalg.lstsq(jacobian[:, rest], jacobian[:, index] @ v)[0]
    assert np.max(np.abs(jacobian @ v_other), initial=0.0) < 1e-9
    return (q_other, v_other, tau_other), index


def assert_styles_agree(reduced: rg.Reduction) -> None:
    base = rg.to_pinocchio(reduced)
    others = [rg.to_pinocchio(reduced, style) for style in STYLES if style != "rows"]
    for q, v, tau in states(base):
        a = base.forward_dynamics(q, v, tau)
        scale = max(1.0, float(np.max(np.abs(a))))
        rows = base.jacobian(q) @ a + base.bias(q, v)
        assert np.max(np.abs(rows), initial=0.0) < 1e-9 * scale
        for other in others:
            state, index = carried(base, other, q, v, tau)
            assert np.max(np.abs(other.residual(state[0])), initial=0.0) < 1e-9
            difference = other.forward_dynamics(*state)[index] - a
            assert np.max(np.abs(difference)) < 1e-9 * scale, other.style


@pytest.mark.slow
@pytest.mark.parametrize("name", MECHANISMS)
def test_styles_agree(name: str) -> None:
    assert_styles_agree(reduction(name))


@pytest.mark.slow
@pytest.mark.parametrize("name", ["Bricard", "planar"])
def test_styles_agree_where_rows_were_dropped_on_numerical_evidence(name: str) -> None:
    assert_styles_agree(rg.reduce(massive(MECHANISMS[name]()), numerical="anyway"))


@pytest.mark.slow
@pytest.mark.skipif(not CORPUS.exists(), reason="the corpus is not here")
@pytest.mark.parametrize("path", FIELD)
def test_styles_agree_on_models_from_the_field(path: str) -> None:
    assert_styles_agree(rg.reduce(rg.load(CORPUS / path)))


@pytest.mark.slow
@pytest.mark.parametrize("name", [n for n in MECHANISMS if n != "Stewart"])
def test_rows_against_least_squares_on_all_closure_equations(name: str) -> None:
    """Lagrange's equations with every closure equation, solved without using any reduction."""
    reduced = reduction(name)
    robot = rg.to_pinocchio(reduced)
    loops = reduced.loops
    order = np.zeros(robot.model.nv, dtype=int)
    for j in robot.joints:
        columns = [c for edge in j.edges for c in edge.columns]
        if j.reversed and not j.edges[0].group:
            columns = columns[::-1]
        order[robot.model.idx_vs[j.index] :][: len(columns)] = columns
    cut = np.setdiff1d(np.arange(reduced.freedoms), order)
    for q, v, tau in states(robot):
        state = loops.state(robot.coordinates(q))
        full = loops.jacobian(state)[0]
        project = np.eye(len(full))
        velocity = np.zeros(reduced.freedoms)
        velocity[order] = v
        if len(cut):
            basis = np.linalg.qr(full[:, cut])[0]
            project -= basis @ basis.T
            velocity[cut] = -np.linalg.lstsq(full[:, cut], full[:, order] @ v)[0]
        jacobian = project @ full[:, order]
        bias = project @ loops.bias(state, velocity)[0]
        M = mass_matrix(robot.model, robot.data, q)
        force = tau - pin.nonLinearEffects(robot.model, robot.data, q, v)
        m, zero = len(jacobian), np.zeros((len(jacobian), len(jacobian)))
        system = np.block([[M, jacobian.T], [jacobian, zero]])
        solution = np.linalg.lstsq(system, np.concatenate([force, -bias]), rcond=1e-11)[0]
        a = robot.forward_dynamics(q, v, tau)
        assert m and np.allclose(solution[: len(a)], a, rtol=1e-9, atol=1e-9 * np.max(np.abs(a)))


@pytest.mark.parametrize("style", STYLES)
@pytest.mark.parametrize("name", ["tilted", "RSSR", "3-PRRR", "floating Stewart", "RCSE"])
def test_jacobian_and_bias_are_derivatives_of_the_residual(name: str, style: str) -> None:
    robot = rg.to_pinocchio(reduction(name), style)
    h = 1e-6
    for q, v, _ in states(robot, 2):
        steps = h * np.eye(robot.model.nv)
        differences = [
            robot.residual(pin.integrate(robot.model, q, s))
            - robot.residual(pin.integrate(robot.model, q, -s))
            for s in steps
        ]
        assert np.allclose(np.array(differences).T / (2 * h), robot.jacobian(q), atol=1e-8)
        ahead = robot.jacobian(pin.integrate(robot.model, q, h * v)) @ v
        behind = robot.jacobian(pin.integrate(robot.model, q, -h * v)) @ v
        bias = robot.bias(q, v)
        assert np.allclose((ahead - behind) / (2 * h), bias, atol=1e-7 * (1 + np.abs(bias).max()))


@pytest.mark.parametrize("style", ["anchors", "slack"])
@pytest.mark.parametrize("name", ["tilted", "spherical", "3-PRRR", "helices", "ball in plane"])
def test_constraint_models_serve_pinocchio_without_damping(name: str, style: str) -> None:
    reduced = reduction(name)
    robot = rg.to_pinocchio(reduced, style)
    model, data = robot.model, robot.model.createData()
    datas = pin.StdVec_ConstraintData()
    for constraint, cut in zip(robot.constraint_models, robot.reduction.cuts, strict=True):
        assert constraint.name == cut.edge.name
        datas.append(constraint.createData())
    decomposition = pin.ConstraintCholeskyDecomposition(model, data, robot.constraint_models, datas)
    for q, v, tau in states(robot, 2):
        pin.crba(model, data, q, pin.Convention.WORLD)
        pin.computeJointJacobians(model, data, q)
        pin.forwardKinematics(model, data, q, v, np.zeros(model.nv))
        for constraint, constraint_data in zip(robot.constraint_models, datas, strict=True):
            constraint.calc(model, data, constraint_data)
        decomposition.compute(model, data, robot.constraint_models, datas, 0.0)
        bias = [-d.extract().constraint_acceleration_error for d in datas]
        force = tau - pin.nonLinearEffects(model, data, q, v)
        a = decomposition.solve(np.concatenate([*bias, force]))[-model.nv :]
        jacobian = pin.getConstraintsJacobian(model, data, robot.constraint_models, datas)
        if style == "slack":
            assert np.linalg.matrix_rank(jacobian, tol=1e-9) == len(jacobian)
        # All rows hold, those with a compliance included.
        assert np.max(np.abs(jacobian @ a - np.concatenate(bias))) < 1e-9 * (1 + np.abs(a).max())
        assert np.allclose(a, robot.forward_dynamics(q, v, tau), rtol=1e-10, atol=1e-10)


@pytest.mark.slow
def test_point_masses_are_no_obstacle() -> None:
    """Bodies without rotational inertia cannot be shared out evenly between two halves."""
    mechanism = fourbar(0.4)
    points = [
        replace(b, inertia=rg.Inertia(1.0 + i, np.array([0.3, 0.2, 0.1]), np.zeros((3, 3))))
        for i, b in enumerate(mechanism.bodies)
    ]
    assert_styles_agree(rg.reduce(replace(mechanism, bodies=tuple(points))))


def test_massless_links_are_reported_and_simulated() -> None:
    mechanism = massive(fourbar())
    bodies = [replace(b, inertia=None) if b.name in "bc" else b for b in mechanism.bodies]
    reduced = rg.reduce(replace(mechanism, bodies=tuple(bodies)), cuts=["j2"])
    codes = {finding.code for finding in rg.to_pinocchio(reduced).findings}
    assert {"REG303", "REG306"} <= codes
    assert_styles_agree(reduced)


def geared() -> rg.Mechanism:
    """Two cranks and a coupler, the cranks tied by a gear pair."""
    points = [(0, 0, 0), (0, 0.5, 0), (0.6, 0.9, 0), (1, 0.3, 0), (1, 0, 0)]
    gear = rg.Coupling("gear", "gear", (("j0", 0, 1.0), ("j4", 0, 2.0)), 0.0)
    five_bar = closed("geared five-bar", "RRRRR", [(0, 0, 1)] * 5, points)
    return massive(replace(five_bar, couplings=(gear,)))


@pytest.mark.slow
def test_couplings_are_rows_in_every_style() -> None:
    reduced = rg.reduce(geared(), cuts=["j2"])
    assert_styles_agree(reduced)
    robot = rg.to_pinocchio(reduced, "anchors")
    assert "REG305" in {finding.code for finding in robot.findings}
    for q, v, tau in states(robot):
        a = robot.forward_dynamics(q, v, tau)
        i, k = robot.velocity_index("j0"), robot.velocity_index("j4")
        assert a[i] + 2.0 * a[k] == pytest.approx(0.0, abs=1e-9 * np.abs(a).max())


def test_a_coupling_on_a_cut_says_what_to_do() -> None:
    reduced = rg.reduce(geared(), cuts=["j4"])
    with pytest.raises(rg.UnsupportedExport, match="choose other cuts"):
        rg.to_pinocchio(reduced)
    assert rg.to_pinocchio(reduced, "anchors").velocity_index("j4") >= 0


def test_unknown_style_and_missing_coordinate() -> None:
    reduced = rg.reduce(massive(fourbar()), cuts=["j2"])
    with pytest.raises(rg.UnsupportedExport, match="known are rows, anchors"):
        rg.to_pinocchio(reduced, "springs")
    with pytest.raises(rg.UnsupportedExport, match="closes a loop"):
        rg.to_pinocchio(reduced).velocity_index("j2")
    assert rg.to_pinocchio(reduced, "anchors").velocity_index("j2") >= 0


@pytest.mark.slow
def test_expanded_robot_has_no_composite_joint() -> None:
    robot = rg.to_pinocchio(rg.reduce(massive(stewart())))
    flat = robot.expanded
    assert any(j.shortname() == "JointModelComposite" for j in robot.model.joints)
    assert not any(j.shortname() == "JointModelComposite" for j in flat.model.joints)
    for q, v, tau in states(robot):
        assert np.allclose(flat.forward_dynamics(q, v, tau), robot.forward_dynamics(q, v, tau))
