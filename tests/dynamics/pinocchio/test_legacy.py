"""The export style `legacy` compares itself with the kept rows and says what it cannot hold."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import mechanisms
import numpy as np
import pinocchio as pin
import pytest
import screws
from pinocchio_cases import MECHANISMS, massive

import regularize as rg


def rounded(mechanism: rg.Mechanism, digits: int) -> rg.Mechanism:
    """The mechanism with places and axes of its joints off by their last digit."""
    rng = np.random.default_rng(1)
    joints = []
    for joint in mechanism.joints:
        off = 10.0**-digits * rng.uniform(-0.5, 0.5, 6)
        joints.append(replace(joint, T_parent_joint=joint.T_parent_joint @ screws.exp(off)))
    return replace(mechanism, joints=tuple(joints))


def off_by(reduction: rg.Reduction, joint: str) -> float:
    """Acceleration of a joint at rest in the style `legacy`, less that in the style `rows`."""
    found = []
    for style in ("legacy", "rows"):
        robot = rg.to_pinocchio(reduction, style=style)
        zero = np.zeros(robot.model.nv)
        a = robot.forward_dynamics(robot.q0, zero, zero)
        found.append(float(a[robot.velocity_index(joint)]))
    return found[0] - found[1]


@pytest.mark.slow
@pytest.mark.parametrize("digits", [7, 5])
def test_a_spherical_linkage_saved_with_few_digits_is_not_held(digits: int) -> None:
    reduction = rg.reduce(rounded(massive(mechanisms.spherical_9r()), digits))
    assert abs(off_by(reduction, "a1")) > (1e-4 if digits == 7 else 1.0)
    findings = rg.to_pinocchio(reduction, style="legacy").findings
    (finding,) = (f for f in findings if f.code == "REG330")
    assert finding.joints[1:] == tuple(cut.edge.joint.name for cut in reduction.cuts)
    assert all(f"`{name}`" in finding.message for name in finding.joints)
    for style in ("rows", "anchors", "slack"):
        codes = {f.code for f in rg.to_pinocchio(reduction, style=style).findings}
        assert "REG330" not in codes


@pytest.mark.slow
@pytest.mark.parametrize("name", ["planar", "spherical", "3-PRRR", "Stewart"])
def test_exact_geometry_is_held(name: str) -> None:
    robot = rg.to_pinocchio(rg.reduce(massive(MECHANISMS[name]())), style="legacy")
    assert "REG330" not in {f.code for f in robot.findings}


@pytest.mark.slow
def test_frames_are_closed_where_the_mechanism_is_assembled() -> None:
    reduction = rg.reduce(rounded(massive(mechanisms.spherical_9r()), 4))
    robot = rg.to_pinocchio(reduction, style="legacy")
    data = robot.model.createData()
    pin.forwardKinematics(robot.model, data, robot.q0)
    for constraint, cut in zip(robot.constraint_models, reduction.cuts, strict=True):
        assert constraint.name == cut.edge.name
        first = data.oMi[constraint.joint1_id] * constraint.joint1_placement
        second = data.oMi[constraint.joint2_id] * constraint.joint2_placement
        assert np.linalg.norm(pin.log6(first.actInv(second)).vector) < 1e-14


def test_what_cannot_move_is_exported(tmp_path: Path) -> None:
    path = tmp_path / "m.urdf"
    path.write_text("<robot name='r'><link name='a'/></robot>")
    assert rg.to_pinocchio(path, "legacy").model.nv == 0
