"""The five texts row by row: ``assets/texts.toml`` has every method, figure and example.

A row has the number that is printed in the text, or follows from it, our own, and how far they may
be apart; the code in it computes ours again by public calls. Rows without numbers are statements.
"""

from __future__ import annotations

import sys
from functools import cache
from pathlib import Path
from typing import Any

import closed_form_cases as cases
import numpy as np
import pinocchio as pin
import pytest
import screws
import test_elastic as elastic
import test_metamodel as meta
import test_partition as partition
import test_spherical_fourbar_2014 as spherical
import test_thesis_models as thesis

import regularize as rg

if sys.version_info >= (3, 11):
    import tomllib
else:
    import tomli as tomllib

ASSETS = Path(__file__).parents[2] / "assets"
ROWS = tomllib.loads((ASSETS / "texts.toml").read_text("utf-8"))
#: What the code of rows may name besides what is defined here.
NAMES = {"elastic": elastic, "partition": partition, "screws": screws, "spherical": spherical}
ZERO, TURN = np.zeros(1), np.array([[0.3, 0.0, 0.0, 0.0]])


def A(name: str) -> Path:
    """The file of an example."""
    return ASSETS / (name if "." in name else f"{name}.urdf")


@cache
def C(name: str) -> Any:
    """The report on an example, or on a file."""
    return rg.check(A(name)).as_dict()


@cache
def R(name: str) -> rg.Reduction:
    return rg.reduce(A(name))


@cache
def form(case: str) -> Any:
    return rg.closed_form(*cases.CASES[case][0])


@pytest.fixture(autouse=True)
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)


def saved(name: str, file: str) -> str:
    rg.save(rg.load(A(name)), file)
    return str(Path(file).absolute())


def raised(function: Any, *arguments: Any) -> Any:
    with pytest.raises(rg.RegularizeError) as caught:
        function(*arguments)
    return caught.value


@cache
def motion(name: str) -> dict[str, np.ndarray]:
    """Accelerations on the kept rows: the rows' own equation, and that of the motion."""
    robot = rg.to_pinocchio(R(name))
    q, tau, J = robot.q0, np.ones(robot.nv), robot.jacobian(robot.q0)
    free = np.linalg.svd(J)[2][len(J) :]
    v = free[-1]
    a = robot.forward_dynamics(q, v, tau)
    rest = pin.rnea(robot.model, robot.model.createData(), q, v, a) - tau
    steps = np.array([[s * 1e-6 * e for e in np.eye(robot.nv)] for s in (1, -1)])
    ahead, behind = ([robot.residual(pin.integrate(robot.model, q, d)) for d in s] for s in steps)
    slopes = (np.array(ahead) - behind).T / 2e-6
    return {"rows": J @ a + robot.bias(q, v), "motion": free @ rest, "slopes": J - slopes, "a": a}


@cache
def minimal() -> dict[str, Any]:
    """Paul's equations of the redundant four-bar, a tenth of a radian on."""
    dynamics = rg.minimal_dynamics(thesis.reduction_of("redundant_four_bar"), ["q1"])
    robot, pose = dynamics.robot, dynamics.pose(dynamics.reference)
    q = pin.integrate(robot.model, dynamics.reference, 0.1 * pose.transmission[:, 0])
    pose = dynamics.pose(q)
    v, nothing = dynamics.velocity(pose, np.ones(1)), np.zeros(robot.nv)
    a = dynamics.acceleration(pose, v, nothing)[0]
    known = a[dynamics.known]
    return {
        "accelerations": a - robot.forward_dynamics(pose.q, v, nothing),
        "equation": dynamics.mass_matrix(pose) @ known + dynamics.forces(pose, v, nothing),
        "closure": robot.residual(pose.q),
        "torque": dynamics.inverse_dynamics(pose, v, known),
    }


@cache
def swinging() -> dict[str, float]:
    """Brüls' equations of the swinging four-bar against Paul's, four tenths on."""
    model, reduction = meta.four_bar(), R("metamodel/swinging_fourbar")
    dynamics = rg.minimal_dynamics(reduction, ["A"])
    q = model.configuration([[0.4]])
    state, still = reduction.loops.state(q), np.zeros(dynamics.robot.nv)
    pose = dynamics.pose(dynamics.robot.configuration(q[0]))
    velocities = reduction.loops.jacobian(state)[0] @ model.q_theta([[0.4]])[0]
    return {
        "H": np.abs(model.H([[0.4]])[0] - dynamics.mass_matrix(pose)).max(),
        "p": np.abs(model.p([[0.4]])[0] + dynamics.forces(pose, still, still)).max(),
        "closure": np.abs(reduction.loops.residual(state)).max(),
        "velocity": np.abs(velocities).max(),
    }


def listing_error(solution: Any, value: float) -> float:
    """Branches by the listing in Python, against those of the plan."""
    space: dict[str, Any] = {}
    exec(solution.to_python("loop"), space)
    q = solution.solve(value).q
    return float(max(np.abs(space["loop"]([value], k) - q[k]).max() for k in range(len(q))))


def agrees(own: float, printed: float, tolerance: float, value: float, **_: Any) -> bool:
    """Whether a computed number is the printed one, and that which the row calls our own."""
    near = min(tolerance, 0.01 * abs(own)) if own else tolerance
    return abs(value - printed) <= tolerance and abs(value - own) <= near


@pytest.mark.slow
@pytest.mark.parametrize("row", [row for row in ROWS if "own" in ROWS[row]])
def test_a_row_has_the_number_of_the_text(row: str) -> None:
    """Any of its three numbers that is changed by twice the tolerance is noticed."""
    entry = ROWS[row] | {"value": float(eval(ROWS[row]["code"], globals() | NAMES))}
    assert agrees(**entry), entry
    for number in ("own", "printed", "value"):
        for change in (-2.0, 2.0):
            assert not agrees(**entry | {number: entry[number] + change * entry["tolerance"]})


def test_all_rows_are_there() -> None:
    counts = {text: sum(row[0] == text for row in ROWS) for text in "AMPKBHD"}
    assert counts == {"A": 4, "M": 30, "P": 39, "K": 20, "B": 23, "H": 2, "D": 3}
    assert sum("own" not in entry for entry in ROWS.values()) <= 7
