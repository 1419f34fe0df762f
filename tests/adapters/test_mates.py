"""Mates merged into joints, what mates of CAD systems fix, and lengths that cannot be metres."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
import screws
import yaml
from cad_fixtures import frame
from scipy.spatial.transform import Rotation
from screws import inverse

import regularize as rg
from regularize.adapters.cad.draft import CadDraft, longest_link, suspect

PLACED = screws.transform(Rotation.from_rotvec([0.3, -0.8, 0.5]).as_matrix(), [0.1, -0.2, 0.05])
Mate = tuple[str, np.ndarray]


def assembly(*mates: Mate, scale: float = 1.0, reverse: bool = False) -> rg.Mechanism:
    """A part on the ground by mates given as a pair and a frame in the world."""
    draft = CadDraft("toy", "toy")
    placed = PLACED.copy()
    placed[:3, 3] *= scale
    body = draft.place("part", placed)
    for k, (kind, T) in enumerate(mates):
        T = T.copy()
        T[:3, 3] *= scale
        ends = [(draft.ground, T), (body, inverse(placed) @ T)]
        if reverse and k % 2:
            ends.reverse()
        draft.join(f"M{k + 1}", kind, *ends, mate=True)
    return draft.finish("toy")


DATA = yaml.safe_load(Path(__file__).with_name("mates.yaml").read_bytes())["mates"]
CASES: dict[str, tuple[tuple[Mate, ...], str, int]] = {
    name: (tuple((k, frame(p, a)) for k, p, a in case["mates"]), case["joint"], case["twice"])
    for name, case in DATA.items()
}
HINGE = CASES["plane and axis across it"][0]


@pytest.mark.parametrize("reverse", [False, True])
@pytest.mark.parametrize("case", CASES)
def test_mates_amount_to_a_joint(case: str, reverse: bool) -> None:
    mates, kind, spare = CASES[case]
    mechanism = assembly(*mates, reverse=reverse)
    (joint,) = mechanism.joints
    (finding,) = mechanism.findings
    assert joint.kind == kind
    assert finding.code == "REG212"
    assert joint.name == "+".join(f"M{k + 1}" for k in range(len(mates)))
    rows = sum(6 - assembly(single).joints[0].freedoms for single in mates)
    assert joint.freedoms == 6 - (rows - spare)
    verb = "is" if spare == 1 else "are"
    assert f"{spare} of their {rows} equations {verb} written twice" in finding.message
    assert finding.severity == "warning"


@pytest.mark.parametrize("case", CASES)
def test_merged_joint_moves_as_all_mates_allow(case: str) -> None:
    mates, _, _ = CASES[case]
    (joint,) = assembly(*mates).joints
    rng = np.random.default_rng(5)
    for _ in range(3):
        T = np.eye(4)
        for column, q in zip(joint.screws.T, rng.uniform(-0.5, 0.5, joint.freedoms), strict=True):
            T = T @ screws.exp(column * q)
        moved = joint.T_parent_joint @ T @ inverse(joint.T_child_joint)
        draft = CadDraft("toy", "toy")
        body = draft.place("part", moved)
        for k, (kind, frame_) in enumerate(mates):
            draft.join(f"M{k}", kind, (draft.ground, frame_), (body, inverse(PLACED) @ frame_))
        assert not [f for f in draft.finish("toy").findings if f.code == "REG017"]


def test_misfit_of_a_place_is_none_of_directions() -> None:
    shifted = screws.transform(None, (0.06, 0.0, 0.0)) @ PLACED
    draft = CadDraft("toy", "toy")
    body, here = draft.place("part", shifted), frame((0.1, 0.2, 0.3))
    draft.join("M", "fixed", (draft.ground, here), (body, inverse(PLACED) @ here))
    (finding,) = [f for f in draft.finish("toy").findings if f.code == "REG017"]
    assert "they are off by 60 mm and 0 degrees" in finding.message


def test_mates_without_a_row_in_common_are_no_fault() -> None:
    mates = (("no_rotation", frame((0, 0, 0))), ("spherical", frame((0.1, 0, 0))))
    mechanism = assembly(*mates)
    (finding,) = mechanism.findings
    assert [joint.kind for joint in mechanism.joints] == ["fixed"]
    assert (finding.code, finding.severity) == ("REG212", "note")
    assert "written twice" not in finding.message


def test_size_of_the_parts_does_not_matter() -> None:
    for scale in (1e-3, 1e2):
        (joint,) = assembly(*CASES["three mates, one revolute"][0], scale=scale).joints
        assert joint.kind == "revolute"


def test_mates_that_form_no_group_stay_beside_the_joint() -> None:
    mates = (*HINGE, ("point_in_plane", frame((0.1, 0.0, 0.3), (1, 1, 0))))
    mechanism = assembly(*mates)
    assert [joint.kind for joint in mechanism.joints] == ["revolute", "composite"]
    reduction = rg.reduce(mechanism)
    assert reduction.mobility == 0
    assert reduction.redundant == 2  # of the seven equations of the hinge


def test_single_mate_keeps_its_name() -> None:
    mechanism = assembly(HINGE[0])
    assert [joint.name for joint in mechanism.joints] == ["M1"]
    assert mechanism.findings == ()


def test_contradicting_mates_are_not_merged() -> None:
    draft = CadDraft("toy", "toy")
    body = draft.place("part", np.eye(4))
    for k, height in enumerate((0.0, 0.01)):
        T = frame((0, 0, height))
        draft.join(f"M{k}", "planar", (draft.ground, T), (body, np.eye(4)), mate=True)
    mechanism = draft.finish("toy")
    assert len(mechanism.joints) == 2
    assert "REG212" not in [finding.code for finding in mechanism.findings]
    assert not rg.reduce(mechanism).assembly.closed


def joints(length: float) -> list[rg.Joint]:
    """A link that long between two hinges."""
    return [
        rg.Joint.in_world("A", "ground", "link", "revolute", point=(5.0, 5.0, 5.0)),
        rg.Joint.in_world("B", "link", "end", "revolute", point=(5.0 + length, 5.0, 5.0)),
    ]


def bodies(mass: float | None) -> list[rg.Body]:
    inertia = None if mass is None else rg.Inertia(mass, np.zeros(3), np.eye(3))
    return [rg.Body("ground"), rg.Body("link", inertia), rg.Body("end")]


def test_size_is_the_distance_of_joints_on_one_body() -> None:
    assert longest_link(joints(0.25)) == pytest.approx(0.25)
    assert longest_link([]) == 0.0


@pytest.mark.parametrize(
    ("length", "mass", "suspected"),
    [
        (0.3, None, False),
        (20.0, None, False),
        (20.0, 5000.0, False),
        (300.0, None, True),
        (20.0, 0.4, True),
        (0.3, 1e-9, False),
        (2e-5, None, True),
    ],
)
def test_millimetres_read_as_metres_are_suspected(
    length: float, mass: float | None, suspected: bool
) -> None:
    found = suspect(bodies(mass), joints(length))
    assert [finding.code for finding in found] == ["REG012"] * suspected
