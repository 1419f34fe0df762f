"""Metamodels against the reduced model: the two examples of the text, masks, executors."""

from __future__ import annotations

import multiprocessing
from concurrent.futures import Executor, ProcessPoolExecutor, ThreadPoolExecutor
from dataclasses import replace
from functools import lru_cache
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

import regularize as rg
from regularize.cli import main
from regularize.guests.design.plot import metamodel_figure

ASSETS = Path(__file__).resolve().parents[3] / "assets" / "metamodel"
FOUR_BAR = ASSETS / "swinging_fourbar.urdf"
ORTHOGLIDE = ASSETS / "orthoglide_long_rods.urdf"
ENDS = np.arccos(-0.2317708333)


@lru_cache
def four_bar() -> Any:
    return rg.reduced_model(rg.load(FOUR_BAR), ["A"])


@lru_cache
def orthoglide() -> Any:
    return rg.reduced_model(rg.load(ORTHOGLIDE), ["M1", "M2", "M3"])


@lru_cache
def sixteen() -> rg.Metamodel:
    return rg.metamodel(four_bar(), [-1.75, 1.75], size=3.5 / 16)


@lru_cache
def published() -> rg.Metamodel:
    return rg.metamodel(orthoglide(), [[-0.26, 0.06]] * 3, size=0.04)


@lru_cache
def five_bar() -> Any:
    """Two driven cranks with forearms that meet; reaches its bounds in part only."""
    points = [(-0.1, 0, 0), (-0.3, 0, 0.2), (0, 0, 0.35), (0.3, 0, 0.2), (0.1, 0, 0)]
    names = ["ground", "left", "fore left", "fore right", "right", "ground"]
    joints = tuple(
        rg.Joint.in_world(n, names[i], names[i + 1], "revolute", (0, 1, 0), points[i])
        for i, n in enumerate("ABCDE")
    )
    bodies = [rg.Body("ground")]
    for i, name in enumerate(names[1:5]):
        center = 0.5 * (np.array(points[i]) + np.array(points[i + 1]))
        bodies.append(rg.Body(name, rg.Inertia(0.3, center, 0.002 * np.eye(3))))
    return rg.reduced_model(rg.Mechanism("five-bar", tuple(bodies), joints), ["A", "E"])


def worst(model: Any, reduced: Any, theta: np.ndarray) -> np.ndarray:
    """Largest relative errors of H, D and p."""
    return np.asarray(np.max(model.relative_errors(theta, reduced.coefficients(theta)), axis=0))


def scattered(model: Any, count: int) -> np.ndarray:
    rng = np.random.default_rng(11)
    return rng.uniform(model.lower, model.upper, size=(count, len(model.inputs)))


@pytest.mark.slow
def test_four_bar_of_the_text() -> None:
    model = sixteen()
    assert (model.boxes, model.samples, model.operations) == (16, 33, 18)
    middle = np.linspace(-1.2, 1.2, 1001)[:, None]
    assert worst(model, four_bar(), middle).max() < 0.01
    # Near the singular ends the curves rise steeply, and the boxes cannot follow.
    near = np.array([[-1.75], [1.75]])
    typical = np.median(np.abs(four_bar().coefficients(middle)), axis=0)
    assert np.all(np.abs(four_bar().coefficients(near))[:, :2] > [2 * typical[:2]])
    ends = np.linspace(1.55, 1.75, 101)[:, None]
    assert worst(model, four_bar(), ends).max() > 0.1
    assert model.accuracy.worst > 0.1 and model.accuracy.mean["H"] < 0.02
    beyond = four_bar().solve(np.array([[2.0], [-2.0]]))
    np.testing.assert_allclose(np.abs(beyond.stopped[:, 0]), ENDS, atol=1e-6)


@pytest.mark.slow
def test_orthoglide_of_the_text() -> None:
    model = published()
    assert (model.boxes, model.samples, model.operations) == (512, 2969, 504)
    diagonal = np.linspace(-0.26, 0.06, 201)[:, None] * np.ones(3)
    truth = orthoglide().coefficients(diagonal)
    missed = model.coefficients(diagonal) - truth
    for place in (slice(0, 6), slice(6, 24), slice(24, 27)):  # of H, D and p
        error = np.linalg.norm(missed[:, place], axis=1) / np.linalg.norm(truth[:, place], axis=1)
        assert error.max() < 0.005
    accuracy = model.accuracy
    assert accuracy.worst < 0.005 and (accuracy.points, accuracy.covered) == (1000, 1.0)
    assert all(accuracy.mean[k] <= accuracy.maximal[k] for k in ("H", "D", "p"))


@pytest.mark.slow
def test_adaptive_boxes_need_half_the_samples() -> None:
    reduced, bounds = four_bar(), [-1.75, 1.75]
    uniform = rg.metamodel(reduced, bounds, size=3.5 / 64)
    adaptive = rg.metamodel(reduced, bounds, tolerance=0.08)
    theta = scattered(uniform, 2000)
    theta[:200] = np.linspace(uniform.lower, uniform.upper, 200)
    errors = [worst(m, reduced, theta).max() for m in (uniform, adaptive)]
    assert errors[1] <= errors[0] * (1 + 1e-9)
    assert adaptive.samples <= uniform.samples / 2


@pytest.mark.slow
@pytest.mark.parametrize("tolerance", [0.1, 0.01, 0.001])
def test_tolerance_is_kept(tolerance: float) -> None:
    model = rg.metamodel(four_bar(), {"A": (-1.6, 1.6)}, tolerance=tolerance, smallest=1e-4)
    assert model.accuracy.worst <= tolerance
    # Other points than those that the object was checked with.
    assert worst(model, four_bar(), scattered(model, 2000)).max() <= 1.2 * tolerance


@pytest.mark.slow
def test_workspace_ends_at_singularities() -> None:
    model = rg.metamodel(four_bar(), [-2.2, 2.2], tolerance=0.05, smallest=1 / 512)
    finest = 4.4 / 512
    theta = np.linspace(-2.2, 2.2, 1601)[:, None]
    covered = model.covers(theta)
    reach = theta[covered, 0]
    assert ENDS - 2 * finest < reach.max() < ENDS and -ENDS < reach.min() < -ENDS + 2 * finest
    # Coarse in the middle, fine at the singular ends.
    widths = 2 * model.tree.half[:, 0]
    order = np.argsort(model.tree.center[:, 0])
    assert widths[order[0]] <= 2 * finest and widths.max() > 20 * finest
    # Up to the singularity itself no box is small enough, and that is said too.
    assert [d.code for d in model.findings] == ["REG310", "REG312"]
    with pytest.raises(rg.OutsideWorkspace, match=r"does not cover A = 2\.1"):
        model.H([2.1])
    with pytest.raises(rg.OutsideWorkspace, match=r"does not cover A = 3"):
        model.p([[0.0], [3.0]])


@pytest.mark.slow
def test_boxes_near_singularities_are_excluded_at_once() -> None:
    coarse = rg.metamodel(four_bar(), [-2.2, 2.2], size=4.4 / 16, smallest=1.0)
    fine = rg.metamodel(four_bar(), [-2.2, 2.2], size=4.4 / 16, smallest=1 / 256)
    assert coarse.boxes == 12 and coarse.operations == 18
    theta = np.linspace(-2.2, 2.2, 801)[:, None]
    assert coarse.covers(theta).sum() < fine.covers(theta).sum()


@pytest.mark.slow
def test_clearance_keeps_away_from_singularities() -> None:
    clearance = float(four_bar().clearance([1.6]))
    model = rg.metamodel(four_bar(), [-2.2, 2.2], size=0.3, smallest=1 / 128, clearance=clearance)
    theta = np.linspace(-2.2, 2.2, 801)[:, None]
    inside = theta[model.covers(theta)]
    assert four_bar().clearance(inside).min() > clearance
    assert 1.5 < inside.max() < 1.61


@pytest.mark.slow
def test_workspace_of_two_inputs() -> None:
    reduced = five_bar()
    model = rg.metamodel(
        reduced,
        {"A": (-1.5, 2.0), "E": (-2.0, 1.5)},
        tolerance=0.2,
        smallest=1 / 16,
        clearance=0.02,
        held_out=400,
    )
    theta = scattered(model, 1500)
    truth = reduced.sample(theta)
    reachable, covered = np.isfinite(truth[:, 0]), model.covers(theta)
    assert 0.2 < reachable.mean() < 0.95
    assert covered[~reachable].mean() < 0.03
    assert 0.6 < model.accuracy.covered <= 1.0
    assert [d.code for d in model.findings] == ["REG310", "REG312"]


def right_half(theta: np.ndarray) -> NDArray[np.bool_]:
    return np.asarray(theta[:, 0] >= 0.0)


def test_mask_of_the_user() -> None:
    model = rg.metamodel(four_bar(), [-1.0, 1.0], size=0.25, inside=right_half)
    assert model.boxes == 4
    assert model.covers([[-0.1], [0.1]]).tolist() == [False, True]


def _workers(kind: str) -> Executor:
    if kind == "threads":
        return ThreadPoolExecutor(2)
    return ProcessPoolExecutor(2, mp_context=multiprocessing.get_context("spawn"))


@pytest.mark.slow
@pytest.mark.parametrize("kind", ["threads", "processes"])
def test_executors_give_the_same_model(kind: str) -> None:
    alone = rg.metamodel(four_bar(), [-1.5, 1.5], tolerance=0.01)
    with _workers(kind) as executor:
        together = rg.metamodel(four_bar(), [-1.5, 1.5], tolerance=0.01, executor=executor)
    # Other processes follow paths instead of evaluating a closed form: equal up to rounding.
    np.testing.assert_allclose(together.constant, alone.constant, rtol=1e-9)
    np.testing.assert_allclose(together.weights, alone.weights, atol=1e-9)
    assert together.accuracy.worst == pytest.approx(alone.accuracy.worst, rel=1e-6)


def test_progress_goes_to_standard_error(capsys: pytest.CaptureFixture[str]) -> None:
    rg.metamodel(four_bar(), [-1.0, 1.0], size=0.5, held_out=20, progress=True)
    assert capsys.readouterr().out == ""


@pytest.mark.slow
@pytest.mark.parametrize("kind", ["splines", "rbf"])
def test_continuous_metamodels(kind: str) -> None:
    model = rg.metamodel(four_bar(), [-1.6, 1.6], tolerance=0.02, kind=kind)  # type: ignore[call-overload]
    assert not isinstance(model, rg.Metamodel)
    assert model.accuracy.worst <= 0.02
    theta = scattered(model, 500)
    assert worst(model, four_bar(), theta).max() < 0.03
    effort = model.inverse_dynamics(theta, theta, theta)
    expected = four_bar().inverse_dynamics(theta, theta, theta)
    np.testing.assert_allclose(effort, expected, atol=0.02 * np.abs(expected).max())
    with pytest.raises(rg.OutsideWorkspace):
        model.H([2.0])


@pytest.mark.slow
def test_continuous_models_have_no_jumps() -> None:
    boxes = rg.metamodel(orthoglide(), [[-0.26, 0.06]] * 3, size=0.16, held_out=50)
    splines = rg.metamodel(
        orthoglide(), [[-0.26, 0.06]] * 3, size=0.08, kind="splines", held_out=50
    )
    rng = np.random.default_rng(0)
    left = rng.uniform(-0.26, 0.06, size=(200, 3))
    left[:, 0] = -0.1 - 1e-10
    right = left + 2e-10 * np.eye(3)[0]
    jumps = [np.abs(m.coefficients(right) - m.coefficients(left)).max() for m in (boxes, splines)]
    assert jumps[0] > 1e-3 and jumps[1] < 1e-6
    assert splines.samples == 125


@pytest.mark.slow
def test_splines_need_a_workspace_without_holes() -> None:
    with pytest.raises(rg.ModelError, match="reached everywhere"):
        rg.metamodel(four_bar(), [-2.2, 2.2], tolerance=0.1, kind="splines")
    model = rg.metamodel(four_bar(), [-2.2, 2.2], size=0.05, kind="rbf")
    assert model.covers([[0.0], [2.1]]).tolist() == [True, False]
    with pytest.raises(rg.OutsideWorkspace):
        model.H([2.1])


@pytest.mark.slow
def test_dynamics_of_many_states() -> None:
    model = published()
    rng = np.random.default_rng(5)
    theta = scattered(model, 30 * model.boxes)
    rate, acceleration = rng.normal(size=(2, *theta.shape))
    effort = model.inverse_dynamics(theta, rate, acceleration)
    few = slice(0, 500)
    np.testing.assert_allclose(
        model.inverse_dynamics(theta[few], rate[few], acceleration[few]), effort[few], rtol=1e-10
    )
    expected = orthoglide().inverse_dynamics(theta[few], rate[few], acceleration[few])
    np.testing.assert_allclose(effort[few], expected, atol=0.005 * np.abs(expected).max())
    np.testing.assert_allclose(model.forward_dynamics(theta, rate, effort), acceleration, atol=1e-9)
    one = model.inverse_dynamics(theta[0], rate[0], acceleration[0])
    np.testing.assert_allclose(one, effort[0], rtol=1e-10)
    assert model.H(theta[:6].reshape(2, 3, 3)).shape == (2, 3, 3, 3)
    assert model.D(theta[0]).shape == (3, 6) and model.p(theta[0]).shape == (3,)


def test_states_are_broadcast() -> None:
    model = sixteen()
    theta = np.linspace(-1.0, 1.0, 5)[:, None]
    effort = model.inverse_dynamics(theta, [1.0], [0.0])
    np.testing.assert_allclose(effort, model.D(theta)[..., 0] - model.p(theta), rtol=1e-12)


@pytest.mark.slow
@pytest.mark.parametrize(
    ("bounds", "options", "message"),
    [
        ([-1, 1], {}, "tolerance=0.01, or size=0.05"),
        ([1, -1], {"size": 0.1}, "below the upper one"),
        ([[-1, 1], [0, 1]], {"size": 0.1}, "lower and an upper value for each of"),
        ({"B": (-1, 1)}, {"size": 0.1}, r"bounds name \['B'\], and the inputs are \['A'\]"),
        ([-1, 1], {"tolerance": -0.1}, "have to be positive"),
        ([-1, 1], {"tolerance": 0.1, "kind": "magic"}, "known: boxes, splines, rbf"),
        ([2.0, 2.5], {"size": 0.1}, "no box of the bounds can be reached"),
        ([2.0, 2.5], {"size": 0.1, "kind": "rbf"}, "contain nothing that can be reached; choose"),
    ],
)
def test_wrong_calls(bounds: object, options: dict[str, object], message: str) -> None:
    with pytest.raises(rg.ModelError, match=message):
        rg.metamodel(four_bar(), bounds, **options)  # type: ignore[call-overload]


@pytest.mark.slow
def test_limit_on_samples() -> None:
    model = rg.metamodel(four_bar(), [-1.8, 1.8], tolerance=1e-9, smallest=1e-6, max_samples=100)
    assert model.samples < 250 and model.accuracy.worst > 1e-9
    (finding,) = model.findings
    assert finding.code == "REG312" and "1e-07 % were wanted" in finding.message
    assert f"{100 * model.accuracy.worst:.3g} % at A = " in finding.message


def run(*arguments: str) -> int:
    return main(["metamodel", *arguments])


@pytest.mark.slow
def test_command(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    pytest.importorskip("matplotlib")
    out, source = tmp_path / "model.npz", tmp_path / "bar.c"
    bounds = ["--bounds", "-1.75", "1.75", "--size", "0.21875", "-o", str(out)]
    assert run(str(FOUR_BAR), *bounds, "--inputs", "A", "--plot", "--c", str(source)) == 0
    printed = capsys.readouterr()
    assert "16 boxes, 33 samples of the reduced model, 18 operations" in printed.out
    assert "H: largest 16.1 %" in printed.out and printed.err == ""
    np.testing.assert_array_equal(rg.Metamodel.load(out).weights, sixteen().weights)
    assert out.with_suffix(".svg").read_text().startswith("<?xml")
    assert "bar_inverse_dynamics" in source.read_text()
    assert "bar_inverse_dynamics" in source.with_suffix(".h").read_text()


@pytest.mark.slow
def test_command_reports_a_missed_tolerance(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    options = ["--bounds", "-1.75", "1.75", "-o", str(tmp_path / "m.npz"), "--smallest", "0.25"]
    assert run(str(FOUR_BAR), *options, "--tolerance", "0.001") == 1
    assert "warning[REG312]: the metamodel errs by" in capsys.readouterr().out


@pytest.mark.slow
def test_command_wants_fitting_bounds(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    out = ["-o", str(tmp_path / "m.npz")]
    idle, mechanism = tmp_path / "idle.json", rg.load(FOUR_BAR)
    joints = tuple(replace(joint, actuated=False) for joint in mechanism.joints)
    rg.save(replace(mechanism, joints=joints), idle)
    for arguments, words in (
        ([str(idle), "--bounds", "0", "1"], "the model names no actuated joint; name them: --in"),
        ([str(ORTHOGLIDE), "--bounds", "0", "1", "2"], "needs a pair of values, or 3 pairs"),
        (
            [str(ORTHOGLIDE), "--bounds", "-0.1", "0", "--size", "0.1", "0.1"],
            "--size needs 1 or 3 values",
        ),
    ):
        assert run(*arguments, *out) == 2
        assert words in capsys.readouterr().err


@pytest.mark.slow
@pytest.mark.parametrize(("radius", "most"), [(1.5, 60_000), (0.9, 20_000), (0.0, 20_000)])
def test_six_inputs_whose_bounds_cannot_be_reached_come_to_an_end(radius: float, most: int) -> None:
    """A ball in a cube of six dimensions: samples are few, and the findings say so."""
    arm, asked = rg.assembly("arm"), [0]
    for k, axis in enumerate(np.eye(3)[[2, 1, 1, 0, 1, 0]]):
        arm.body(f"link{k}", mass=1.0, com=(k + 0.5, 0, 0), inertia=0.1 * np.eye(3))
        before = f"link{k - 1}" if k else "ground"
        arm.hinge("abcdef"[k], before, f"link{k}", at=(k, 0, 0), axis=axis, actuated=True)
    model = rg.reduced_model(arm.mechanism())

    def inside(theta: np.ndarray) -> NDArray[np.bool_]:
        asked[0] += len(theta)
        return np.asarray(np.linalg.norm(theta, axis=1) <= radius)

    bounds, options = [[-1.0, 1.0]] * 6, {"inside": inside, "max_samples": most, "held_out": 100}
    if radius > 1.0:
        made = rg.metamodel(model, bounds, tolerance=0.01, **options)
        assert made.boxes and "as far as" in made.findings[0].message
        assert any("max_samples=" in line for line in made.findings[0].help)
    else:
        with pytest.raises(rg.ModelError, match=r"by \d+ samples; .* max_samples="):
            rg.metamodel(model, bounds, tolerance=0.01, **options)
    assert asked[0] <= most + 100
    with pytest.raises(rg.ModelError, match=r"asks for 6.87e\+10 boxes"):
        rg.metamodel(model, bounds, size=0.04, **options)
    with pytest.raises(rg.ModelError, match="a grid over the bounds takes"):
        rg.metamodel(model, bounds, size=0.04, kind="splines", **options)


def test_inputs_are_chosen_before() -> None:
    with pytest.raises(TypeError, match=r"metamodel\(\) got .* 'inputs'; choose them by reduced"):
        rg.metamodel("model.urdf", {"A": (0.0, 1.0)}, inputs=["A"])  # type: ignore[call-overload]


@pytest.mark.slow
def test_picture_has_full_model_metamodel_and_error() -> None:
    pytest.importorskip("matplotlib")
    picture = metamodel_figure(sixteen(), four_bar())
    axes = np.array(picture.axes).reshape(3, 3)
    assert [a.get_title() for a in axes[0]] == ["H", "D", "p"]
    rows = ["reduced model", "metamodel", "relative error, %"]
    assert [a.get_ylabel() for a in axes[:, 0]] == rows
    full, fitted = (axes[row, 0].lines[0].get_ydata() for row in (0, 1))
    x = axes[0, 0].lines[0].get_xdata()
    np.testing.assert_allclose(full, four_bar().H(x[:, None])[:, 0, 0])
    np.testing.assert_allclose(fitted, sixteen().H(x[:, None])[:, 0, 0])
