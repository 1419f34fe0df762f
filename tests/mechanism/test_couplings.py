"""Couplings by polynomials and tables: counted, closed, moved and written as what they are."""

from __future__ import annotations

from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from mujoco_rows import equalities
from numpy.polynomial import Polynomial

import regularize as rg

mujoco = pytest.importorskip("mujoco")

GEOM = '<geom type="capsule" size=".03 .15" mass="{}" contype="0" conaffinity="0"/>'


def leg(seed: int, loop: str = "") -> str:
    """A limb as musculoskeletal models have it: slides of a knee follow its hinge."""
    rng = np.random.default_rng(seed)
    bodies, equalities, count = "", "", 3
    for k in range(count):
        refs = rng.choice((0.0, 0.1), 3)
        joints = [("tx", "slide", "1 0 0"), ("tz", "slide", "0 0 1"), ("knee", "hinge", "0 1 0.2")]
        bodies += f'<body name="b{k}" pos="0 {0.1 * k:.1f} -0.4">'
        for (name, kind, axis), ref in zip(joints, refs, strict=True):
            bodies += f'<joint name="{name}{k}" type="{kind}" axis="{axis}" ref="{ref}"/>'
        bodies += GEOM.format(f"{rng.uniform(0.5, 2.0):.4f}")
        for name in ("tx", "tz"):
            row = " ".join(map(str, [0.0, *rng.uniform(-0.2, 0.2, 4).round(4)]))
            equalities += (
                f'<joint name="{name}{k} of knee" joint1="{name}{k}" joint2="knee{k}" '
                f'polycoef="{row}"/>'
            )
    return (
        f'<mujoco model="leg"><worldbody>{bodies}{"</body>" * count}</worldbody>'
        f"<equality>{equalities}{loop}</equality></mujoco>"
    )


class Engine:
    """What MuJoCo says of a model, joints in the order of a robot's velocities."""

    def __init__(self, path: Path, robot: rg.Robot) -> None:
        self.model = mujoco.MjModel.from_xml_path(str(path))
        self.joints = [self.model.joint(j).name for j in range(self.model.njnt)]
        self.order = [robot.velocity_index(name) for name in self.joints]
        self.robot = robot

    def rows(self, there: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Equality Jacobian and errors in MuJoCo's own order."""
        model, data = self.model, mujoco.MjData(self.model)
        data.qpos[:] = there
        mujoco.mj_fwdPosition(model, data)
        return equalities(model, data)

    def closed(self, rng: np.random.Generator) -> np.ndarray:
        """A place at which the slides are where their knees say."""
        there = self.model.qpos0.copy()
        knees = [k for k, name in enumerate(self.joints) if name.startswith("knee")]
        there[knees] += rng.uniform(-0.6, 0.6, len(knees))
        slides = [k for k in range(len(there)) if k not in knees]
        J, error = self.rows(there)
        there[slides] -= np.linalg.solve(J[:, slides], error)
        return there

    def bias(self, there: np.ndarray, rate: np.ndarray) -> list[float]:
        """Minus p'' by the square of the leader's rate, for each equality."""
        found = []
        for i in range(self.model.neq):
            at = self.joints.index("knee" + self.model.equality(i).name[2])
            bent = Polynomial(self.model.eq_data[i][:5]).deriv(2)(there[at] - self.model.qpos0[at])
            found.append(-float(bent * rate[at] ** 2))
        return found

    def acceleration(
        self, there: np.ndarray, rate: np.ndarray, J: np.ndarray, right: Any
    ) -> np.ndarray:
        """On independent rows exactly."""
        model, data = self.model, mujoco.MjData(self.model)
        data.qpos[:], data.qvel[:] = there, rate
        mujoco.mj_forward(model, data)
        columns = []
        for unit in np.eye(model.nv):
            column = np.zeros(model.nv)
            mujoco.mj_mulM(model, data, column, unit)
            columns.append(column)
        K = np.block([[np.array(columns), J.T], [J, np.zeros((len(J), len(J)))]])
        return np.linalg.solve(K, np.concatenate([-data.qfrc_bias, right]))[: model.nv]


def plain(robot: rg.Robot) -> rg.Robot:
    vars(robot)["kernel"] = None
    return robot


@pytest.fixture(params=["compiled", "Python"])
def computed(request: pytest.FixtureRequest) -> Any:
    """Robots that the kernel computes, and others."""
    return plain if request.param == "Python" else lambda robot: robot


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(5))
def test_polynomials_are_those_of_mujoco(tmp_path: Path, seed: int, computed: Any) -> None:
    path = tmp_path / "leg.xml"
    path.write_text(leg(seed))
    reduction = rg.reduce(path)
    robot = computed(rg.to_pinocchio(reduction))
    engine, rng = Engine(path, robot), np.random.default_rng(seed)
    assert reduction.mobility == 3 and not reduction.mechanism.findings
    for _ in range(3):
        there = engine.closed(rng)
        J, error = engine.rows(there)
        assert np.abs(error).max() < 1e-12
        assert reduction.mobility == robot.nv - np.linalg.matrix_rank(J)
        q, v = np.zeros(robot.nq), np.zeros(robot.nv)
        q[engine.order] = there
        assert np.abs(robot.residual(q)).max() < 1e-12
        np.testing.assert_allclose(robot.jacobian(q)[:, engine.order], J, atol=1e-9)
        free = np.linalg.svd(J)[2][len(J) :]
        rate = free.T @ rng.normal(size=len(free))
        v[engine.order] = rate
        np.testing.assert_allclose(robot.bias(q, v), engine.bias(there, rate), atol=1e-9)
        expected = engine.acceleration(there, rate, J, -np.array(engine.bias(there, rate)))
        found = robot.forward_dynamics(q, v, np.zeros(robot.nv))[engine.order]
        np.testing.assert_allclose(found, expected, rtol=1e-9, atol=1e-9)


def slider_knee(**function: Any) -> rg.Mechanism:
    """A hinge, and a slide on it that follows."""
    a = rg.assembly("knee")
    a.body("thigh", mass=2.0, com=(0, 0, -0.2), inertia=0.02 * np.eye(3))
    a.body("shank", mass=1.0, com=(0.1, 0, -0.6), inertia=0.01 * np.eye(3))
    a.body("foot", mass=0.5, com=(0.2, 0, -0.9), inertia=0.005 * np.eye(3))
    a.hinge("hip", "ground", "thigh", at=(0, 0, 0), axis=(0, 1, 0))
    a.slider("slide", "thigh", "shank", at=(0, 0, -0.4), axis=(1, 0, 0))
    a.hinge("ankle", "shank", "foot", at=(0, 0, -0.8), axis=(0, 1, 0))
    a.coupling("roll", {"slide": 2.0, "ankle": -1.0}, **function)
    return a.mechanism()


TABLE = [(-1.0, 0.3), (-0.3, 0.05), (0.0, 0.0), (0.4, 0.1), (1.0, 0.5)]
FUNCTIONS = [{"coefficients": (0.0, 0.1, 0.4, -0.2, 0.3)}, {"table": TABLE}]


@pytest.mark.slow
@pytest.mark.parametrize("function", FUNCTIONS, ids=["polynomial", "table"])
def test_derivatives_are_those_of_differences(function: Any, computed: Any) -> None:
    robot = computed(rg.to_pinocchio(slider_knee(**function)))
    q = robot.project(np.array([0.2, 0.0, 0.5]))
    v = robot.project_velocity(q, np.array([0.7, 0.1, -1.3]))
    tau = np.array([0.3, -0.2, 0.1])
    assert robot.computed_by == ("compiled" if robot.kernel else "Python")
    found = robot.dynamics_derivatives(q, v, tau)
    h = 1e-6
    for kind, derivative in zip("qv", found, strict=False):
        for unit in np.eye(3):
            ends = [
                robot.forward_dynamics(
                    q + (sign * h * unit if kind == "q" else 0),
                    v + (sign * h * unit if kind == "v" else 0),
                    tau,
                )
                for sign in (1.0, -1.0)
            ]
            np.testing.assert_allclose(derivative @ unit, (ends[0] - ends[1]) / (2 * h), atol=2e-7)


@pytest.mark.slow
@pytest.mark.parametrize("function", FUNCTIONS, ids=["polynomial", "table"])
def test_simulations_stay_on_the_function(function: Any) -> None:
    mechanism = slider_knee(**function)
    for solver in (rg.Solver(), rg.Solver(coordinates="minimal")):
        motion = rg.simulate(
            mechanism, duration=1.0, rates={"hip": 1.0, "ankle": -2.0}, solver=solver
        )
        assert not [f for f in motion.findings if f.severity == "error"]
        assert motion.closure.max() < 1e-9
        assert np.ptp(motion.energy) < 1e-6
        slide, ankle = (motion.coordinates[:, motion.names.index(n)] for n in ("slide", "ankle"))
        assert np.ptp(ankle) > 0.5
        curve = mechanism.couplings[0].curve
        np.testing.assert_allclose(2.0 * slide, -curve(ankle), atol=1e-9)


def test_a_table_is_a_natural_spline() -> None:
    from scipy.interpolate import CubicSpline

    curve = slider_knee(table=TABLE).couplings[0].curve
    x, y = np.array(TABLE).T
    spline = CubicSpline(x, -y, bc_type="natural")
    for order in range(3):
        within = np.linspace(-1, 1, 41)
        np.testing.assert_allclose(curve(within, order), spline(within, order), atol=1e-12)
    np.testing.assert_allclose(curve(np.array([2.0])), -y[-1] + spline(1.0, 1), atol=1e-12)
    mirrored = curve.along(-2.0, 0.3)
    np.testing.assert_allclose(mirrored(within), curve(0.3 - 2.0 * within), atol=1e-12)


@pytest.mark.parametrize("function", FUNCTIONS, ids=["polynomial", "table"])
def test_json_keeps_functions(tmp_path: Path, function: Any) -> None:
    mechanism = slider_knee(**function)
    rg.save(mechanism, tmp_path / "knee.json")
    (found,), (own,) = rg.load(tmp_path / "knee.json").couplings, mechanism.couplings
    assert (found.coefficients, found.table) == (own.coefficients, own.table)


@pytest.mark.slow
def test_mjcf_keeps_polynomials(tmp_path: Path) -> None:
    path = tmp_path / "leg.xml"
    path.write_text(leg(3))
    first = rg.load(path)
    assert rg.save(first, tmp_path / "again.xml") == ()
    second = rg.load(tmp_path / "again.xml")
    model = mujoco.MjModel.from_xml_path(str(tmp_path / "again.xml"))
    assert model.neq == 6
    for one, two in zip(first.couplings, second.couplings, strict=True):
        np.testing.assert_allclose(one.coefficients, two.coefficients, atol=1e-15)


@pytest.mark.slow
@pytest.mark.parametrize("suffix", ["urdf", "sdf", "usda"])
@pytest.mark.parametrize("function", FUNCTIONS, ids=["polynomial", "table"])
def test_formats_without_functions_say_which_are_lost(
    tmp_path: Path, suffix: str, function: Any
) -> None:
    found = rg.save(slider_knee(**function), tmp_path / f"knee.{suffix}")
    assert [f.code for f in found if "roll" in f.message] == ["REG327"]


def test_three_couplings_that_lock_a_tree() -> None:
    a = rg.assembly("locked")
    for k in range(3):
        a.body(f"b{k}", mass=1.0, com=(0, 0, k), inertia=np.eye(3))
        parent = f"b{k - 1}" if k else "ground"
        a.hinge(f"j{k}", parent, f"b{k}", at=(0, 0, k), axis=(0, 1, 0))
    for k in range(3):
        a.coupling(f"c{k}", {"j0": 1.0, "j1": float(k), "j2": float(k * k)}, 0.1)
    report = rg.check(a.mechanism())
    assert report.reduction.mobility == 0
    assert rg.check(a.mechanism()).as_dict()["mobility"]["gruebler"] == 0


@pytest.mark.parametrize(
    "wrong",
    [
        {"coefficients": (0, 1, 2, 3, 4, 5)},
        {"coefficients": (float("nan"),)},
        {"table": [(0, 1)]},
        {"table": [(0, 1), (0, 2)]},
        {"table": [(0, 1), (1, 2)], "coefficients": (1,)},
    ],
)
def test_what_is_no_function_is_refused(wrong: Any) -> None:
    with pytest.raises(rg.RegularizeError, match="roll"):
        slider_knee(**wrong)


def bars() -> Any:
    """A planar four-bar on its way to a mechanism, its last hinge from the ground to the rocker."""
    a = rg.assembly("bars")
    pins = ((0.0, 0, 0), (0, 0, 0.2), (0.4, 0, 0.3), (0.4, 0, 0))
    bodies = ("ground", "crank", "rod", "rocker")
    for name, at in zip(bodies[1:], pins, strict=False):
        a.body(name, mass=1.0, com=at, inertia=0.01 * np.eye(3))
    for name, one, other, at in zip("ABC", bodies, bodies[1:], pins, strict=False):
        a.hinge(name, one, other, at=at, axis=(0, 1, 0))
    a.hinge("D", "ground", "rocker", at=pins[3], axis=(0, 1, 0))
    return a


def test_a_hinge_of_the_ground_that_closes_a_loop_is_not_turned_round(tmp_path: Path) -> None:
    found = rg.save(bars().mechanism(), tmp_path / "bars.xml")
    assert [each.code for each in found if each.severity != "note"] == []
    assert rg.load(tmp_path / "bars.xml").joint("D").closure


@pytest.mark.slow
@pytest.mark.parametrize("style", ["rows", "anchors", "slack", "legacy"])
@pytest.mark.parametrize("seed", range(2))
def test_couplings_of_joints_in_loops_are_those_of_mujoco(
    tmp_path: Path, seed: int, style: str, computed: Any
) -> None:
    rng, a = np.random.default_rng(seed), bars()
    for name, on, axis in (("S", "ground", (0, 0, 1)), ("U", "S", (1, 0, 0))):
        a.body(name, mass=1.0, com=(0, 0, 1), inertia=0.01 * np.eye(3))
        a.slider(name, on, name, at=(0, 0, 1), axis=axis)
    a.coupling("p", {"S": 1.0, "D": -1.0}, coefficients=(0, *rng.uniform(-0.2, 0.2, 4)))
    row = {"U": 1.0, "C": 0.3, "S": -0.7} if seed else {"U": 1.0, "C": -0.5}
    a.coupling("q", row)
    assert {f.code for f in rg.save(a.mechanism(), tmp_path / "m.xml")} <= {"REG301", "REG321"}
    reduction = rg.reduce(tmp_path / "m.xml")
    robot = computed(rg.to_pinocchio(reduction, style=style))
    engine = Engine(tmp_path / "m.xml", robot)
    there = engine.model.qpos0 + 0.1
    for _ in range(20):
        J, error = engine.rows(there)
        there = there - np.linalg.pinv(J, rcond=1e-9) @ error
    basis, sizes, moves = np.linalg.svd(J)
    rank = int(np.sum(sizes > 1e-9))
    assert np.abs(error).max() < 1e-14 and reduction.mobility == engine.model.nv - rank == 1
    rate = moves[rank:].T @ [1.0]
    steps = np.array([1e-2, 5e-3, 2.5e-3])  # differences, extrapolated twice
    turns = [
        (engine.rows(there + h * rate)[0] - engine.rows(there - h * rate)[0]) / h for h in steps
    ]
    first = [(4 * fine - rough) / 3 for rough, fine in pairwise(turns)]
    bias = (16 * first[1] - first[0]) / 30 @ rate
    expected = engine.acceleration(there, rate, basis[:, :rank].T @ J, -basis[:, :rank].T @ bias)
    q, v = robot.q0.copy(), np.zeros(robot.nv)
    q[engine.order], v[engine.order] = there, rate
    own = np.setdiff1d(np.arange(robot.nv), engine.order)  # of the joint that MuJoCo has not
    for _ in range(20 if len(own) else 0):
        q[own] -= np.linalg.pinv(robot.jacobian(q)[:, own], rcond=1e-9) @ robot.residual(q)
    v[own] = -np.linalg.pinv(robot.jacobian(q)[:, own], rcond=1e-9) @ robot.jacobian(q) @ v
    found = robot.forward_dynamics(q, v, np.zeros(robot.nv))[engine.order]
    np.testing.assert_allclose(found, expected, rtol=1e-9, atol=1e-9)


def test_a_map_from_motors_by_a_table_is_refused_by_name() -> None:
    a = bars()
    a.body("ext", mass=1.0, com=(0, 0, 1), inertia=0.01 * np.eye(3))
    a.slider("S", "ground", "ext", at=(0, 0, 1), axis=(0, 0, 1))
    a.coupling("cam", {"S": 1.0, "A": -1.0}, table=[(-1, -0.2), (0, 0), (0.5, 0.1)])
    with pytest.raises(rg.ModelError, match="couplings by tables: `cam`"):
        rg.actuation_map(a.mechanism(), ["A"], ["D"])


@pytest.mark.slow
def test_reduced_models_agree_with_mujocos_mass_matrix(tmp_path: Path) -> None:
    path, knees = tmp_path / "leg.xml", ["knee0", "knee1", "knee2"]
    path.write_text(leg(1))
    reduced = rg.reduced_model(path, knees)
    model = mujoco.MjModel.from_xml_path(str(path))
    names = [model.joint(j).name for j in range(model.njnt)]
    places = [names.index(knee) for knee in knees]

    def there(theta: np.ndarray) -> np.ndarray:
        q = model.qpos0.copy()
        q[places] = theta
        for one, other, row in zip(model.eq_obj1id, model.eq_obj2id, model.eq_data, strict=True):
            turned = q[other] - model.qpos0[other]
            q[one] = model.qpos0[one] + np.polynomial.polynomial.polyval(turned, row[:5])
        return q

    theta, h = np.array([0.3, -0.4, 0.2]), 1e-6
    V = np.array([(there(theta + h * e) - there(theta - h * e)) / (2 * h) for e in np.eye(3)]).T
    data, M = mujoco.MjData(model), np.zeros((model.nv, model.nv))
    data.qpos[:] = there(theta)
    mujoco.mj_forward(model, data)
    for k, unit in enumerate(np.eye(model.nv)):
        mujoco.mj_mulM(model, data, M[k], unit)
    np.testing.assert_allclose(reduced.H(theta), V.T @ M @ V, rtol=1e-7, atol=1e-9)
    np.testing.assert_allclose(reduced.p(theta), -V.T @ data.qfrc_bias, rtol=1e-7, atol=1e-9)
