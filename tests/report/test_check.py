"""The report as a value: findings, components, causes, residuals, choices."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from pathlib import Path
from typing import Any

import mechanisms
import numpy as np
import pytest

import regularize as rg
from regularize.cli import main

POINTS = [(0.0, 0.0, 0.0), (0.1, 0.0, 0.2), (0.6, 0.0, 0.3), (0.5, 0.0, 0.0)]
BODIES = ["ground", "crank", "coupler", "rocker"]


def fourbar_joints(prefix: str = "", offset: float = 0.0) -> list[rg.Joint]:
    """Hinges of a four-bar in the plane normal to Y, the last one closing it."""
    bodies = ["ground", *(prefix + name for name in BODIES[1:])]
    return [
        rg.Joint.in_world(
            prefix + "ABCD"[i],
            bodies[i],
            bodies[(i + 1) % 4],
            "revolute",
            (0, 1, 0),
            point=np.add(POINTS[i], (0, offset, 0)),
            closure=i == 3,
        )
        for i in range(4)
    ]


@pytest.fixture(scope="module")
def fourbar() -> rg.Report:
    return rg.check(rg.Mechanism.of_joints("fourbar", fourbar_joints()))


def moved(mechanism: rg.Mechanism, joint: str, T: np.ndarray) -> rg.Mechanism:
    """The mechanism with the child frame of a joint moved in the joint's own frame."""
    joints = [
        replace(j, T_child_joint=j.T_child_joint @ T) if j.name == joint else j
        for j in mechanism.joints
    ]
    return replace(mechanism, joints=tuple(joints))


def test_exit_status(fourbar: rg.Report) -> None:
    assert [fourbar.exit_status(f) for f in ("error", "warning", "note", "never")] == [0, 1, 1, 0]
    assert fourbar.selected(ignore=["REG2"]).exit_status("note") == 0


def test_selected_keeps_beginnings_of_codes(fourbar: rg.Report) -> None:
    found = {d.code for d in fourbar.diagnostics}
    assert found == {"REG201", "REG220"}
    assert {d.code for d in fourbar.selected(["REG22"]).diagnostics} == {"REG220"}
    assert fourbar.selected(["REG2"], ["REG201"]).summary == {"error": 0, "warning": 0, "note": 1}


@pytest.mark.slow
def test_findings_are_sorted_by_severity(assets: Path) -> None:
    report = rg.check(rg.load(assets / "nearly_planar_fourbar.urdf"))
    order = ["error", "warning", "note"]
    severities = [order.index(d.severity) for d in report.diagnostics]
    assert severities == sorted(severities) and len(set(severities)) > 1


def test_equations_of_the_closing_joint(fourbar: rg.Report) -> None:
    (loop,) = fourbar.loops
    assert {e.label for e in loop.removed} == {
        "translation along Y",
        "rotation about X",
        "rotation about Z",
    }
    assert {e.label for e in loop.kept} == {"translation along X", "translation along Z"}
    assert [d.words("translation", "rotation") for d in loop.free] == ["rotation about Y"]
    for equation in (*loop.removed, *loop.kept):
        assert equation.residual < 1e-12
    for equation in loop.removed:
        (chain,) = equation.fixed_by
        assert set(chain.joints) == set(loop.joints) - {loop.closing}
        assert chain.motion.name == "planar"


@pytest.mark.slow
def test_interchangeable_choices_hold(fourbar: rg.Report) -> None:
    """What the report promises of other closing joints is what the analysis finds there."""
    (loop,) = fourbar.loops
    assert set(loop.interchangeable) == set("ABCD")
    for joint in loop.interchangeable:
        other = rg.reduce(fourbar.mechanism, cuts=[joint])
        assert (other.constraints, other.removed) == (5, loop.redundant)


@pytest.mark.slow
def test_components_are_loops_that_share_bodies() -> None:
    joints = [*fourbar_joints("left_", 0.1), *fourbar_joints("right_", -0.1)]
    report = rg.check(rg.Mechanism.of_joints("two", joints))
    assert [len(component.loops) for component in report.components] == [1, 1]
    assert {loop.component for loop in report.loops} == {"component 1", "component 2"}
    assert sum(component.redundant for component in report.components) == 6


ANGLE = np.radians(1.0)
TWIST = [[np.cos(ANGLE), -np.sin(ANGLE)], [np.sin(ANGLE), np.cos(ANGLE)]]


@pytest.mark.slow
@pytest.mark.parametrize(
    ("place", "value", "code", "worst", "residual"),
    [
        ((slice(1, 3), slice(1, 3)), TWIST, "REG205", "rotation about", ANGLE),
        ((1, 3), 0.01, "REG205", "translation along Y", 0.01),
        ((0, 3), 3.0, "REG101", "", 0.0),
    ],
    ids=["twisted", "shifted across the plane", "too short a bar"],
)
def test_a_hinge_that_does_not_fit(
    place: Any, value: Any, code: str, worst: str, residual: float, fourbar: rg.Report
) -> None:
    """A degree about X can be met by no configuration: the others never turn about X."""
    T = np.eye(4)
    T[place] = value
    report = rg.check(moved(fourbar.mechanism, "D", T))
    (error,) = [d for d in report.diagnostics if d.severity == "error"]
    assert error.code == code and error.joints
    (loop,) = report.loops
    equation = max(loop.kept, key=lambda equation: equation.residual)
    assert equation.label.startswith(worst)
    assert not residual or equation.residual == pytest.approx(residual, rel=0.05)
    assert report.moving == () and not report.as_dict()["mobility"]["consistent"]
    robot = rg.to_pinocchio(report.reduction)
    assert [d.code for d in robot.findings if d.severity == "error"] == ["REG101"]


@pytest.mark.slow
def test_large_redundancy_is_reported_without_proposals(assets: Path) -> None:
    assert rg.check(rg.load(assets / "walker.urdf")).cures == ()
    assert rg.check(rg.load(assets / "sarrus.urdf")).cures


def test_a_model_of_welds_alone_is_checked(tmp_path: Path) -> None:
    path = tmp_path / "welds.urdf"
    path.write_text(
        '<robot name="r"><link name="a"/><link name="b"/><joint name="J" type="fixed">'
        '<parent link="a"/><child link="b"/></joint></robot>'
    )
    assert rg.check(path).as_dict()["mobility"]["actual"] == 0


@pytest.mark.slow
def test_a_check_tells_how_far_it_is_and_never_goes_back(assets: Path) -> None:
    """Parts that are tried once more, and cells one after the other."""
    seen: list[float] = []
    mechanism = rg.load(assets / "double_sarrus.urdf")
    report = rg.check(mechanism, progress=seen.append)
    assert len(seen) >= 3 and seen == sorted(set(seen)) and seen[0] > 0.0 and seen[-1] <= 1.0
    assert report.reduction.kept == rg.check(mechanism).reduction.kept


@pytest.mark.parametrize(
    ("make", "sentence"),
    [
        (mechanisms.bennett, "1 can be dropped in every configuration, 2 on numerical evid"),
        (mechanisms.bricard, "kept, because the joint axes alone do not prove"),
    ],
)
def test_a_reduction_is_reported_on_as_it_is(
    make: Callable[[], rg.Mechanism], sentence: str
) -> None:
    """With the options that it was made with; rows that were removed as seen are called so."""
    reduction = rg.reduce(make(), numerical=True, configurations=12, keep_cuts=True)
    report = rg.check(reduction)
    assert report.reduction.certificate is reduction.certificate
    found = report.as_dict()["reduction"]
    assert found["certified_configurations"] == reduction.certificate.configurations < 50
    assert (found["kept"], found["remaining_redundant"]) == (reduction.kept, reduction.remaining)
    text = " ".join(str(report).split())
    assert f"consistent: {sentence}" in text and "regularize reduce" not in text
    (proved,) = [d.message for d in report.diagnostics if d.code == "REG230"]
    assert proved.endswith("kept" if reduction.remaining else "removed")
    assert rg.check(reduction, configurations=4).reduction.remaining > 0


def test_a_finding_counts_what_the_json_counts() -> None:
    """Eight panels hinged to a generic octahedron: five loops about corners close the sixth."""
    corners = np.random.default_rng(51).normal(size=(6, 3))
    panels = [(a, b, c) for a in (0, 1) for b in (2, 3) for c in (4, 5)]
    sides: dict[frozenset[int], list[int]] = {}
    for k, panel in enumerate(panels):
        for corner in panel:
            sides.setdefault(frozenset(panel) - {corner}, []).append(k)
    hinges = [
        rg.Joint.in_world(
            f"J{j}", f"panel {one}", f"panel {two}", "revolute", corners[a] - corners[b], corners[a]
        )
        for j, ((a, b), (one, two)) in enumerate(sides.items())
    ]
    mechanism = rg.Mechanism.of_joints("octahedron", hinges, ground="panel 0")
    report = rg.check(mechanism, configurations=2)
    assert report.redundancy == {
        "trivial": 15,
        "exceptional": 2,
        "topological": 1,
        "paradoxical": 0,
    }
    (said,) = [d.message for d in report.diagnostics if d.code == "REG210"]
    assert said.startswith("1 equation of ") and "is redundant for any lengths" in said
    # Its numbers are as they were meant, however weak an equation is.
    assert not {d.code for d in report.diagnostics} & {"REG204", "REG219", "REG223"}


WATCHED = """
import sys
import regularize as rg
effects = []
def watch(event, details):
    if event in ("tempfile.mkdtemp", "tempfile.mkstemp", "os.mkdir", "subprocess.Popen"):
        effects.append((event, details))
    if event == "open" and str(details[0]) != "/dev/null" and details[2] & 3:
        effects.append((event, details))
report = rg.check(sys.argv[1], trials=sys.argv[2] == "trials")
loaded = {*sys.modules}
sys.addaudithook(watch)
assert str(report) == str(report)
assert report.as_dict() == report.as_dict()
heavy = ("pinocchio", "regularize.dynamics")
print([name for name in {*sys.modules} - loaded if name.startswith(heavy)])
assert report._repr_html_() == report._repr_html_()
print(effects)
"""


@pytest.mark.slow
@pytest.mark.parametrize("trials", ["no trials", "trials"])
@pytest.mark.parametrize("name", ["slider_crank.urdf", "walker.urdf", "crank_slider.FCStd"])
def test_views_only_read(assets: Path, name: str, trials: str) -> None:
    """They write no file, load no engine and try nothing; twice they say the same."""
    command = [sys.executable, "-B", "-c", WATCHED, str(assets / name), trials]
    done = subprocess.run(command, stdout=subprocess.PIPE, text=True, check=True)
    assert done.stdout.split() == ["[]", "[]"]


@pytest.fixture
def files(assets: Path) -> list[Path]:
    return [assets / "planar_fourbar.urdf", assets / "bennett.urdf"]


@pytest.mark.slow
def test_results_of_many_models_come_with_their_sources(files: list[Path], tmp_path: Path) -> None:
    absent = tmp_path / "absent.urdf"
    mechanism = mechanisms.planar_fourbar()
    with ThreadPoolExecutor(2) as executor:
        found = dict(rg.check_each([*files, absent, mechanism], executor=executor))
    assert isinstance(found[absent], rg.RegularizeError)
    redundant = {files[0]: 3, files[1]: 3, mechanism: 3}
    for source, count in redundant.items():
        report = found[source]
        assert isinstance(report, rg.Report) and report.reduction.redundant == count
    alone = dict(rg.check_each(files[:1], configurations=8))
    assert repr(alone[files[0]]) == repr(found[files[0]])


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore")
def test_dask(files: list[Path]) -> None:
    distributed = pytest.importorskip("distributed")
    with (
        distributed.LocalCluster(
            n_workers=1, threads_per_worker=2, processes=False, dashboard_address=None
        ) as cluster,
        distributed.Client(cluster) as client,
    ):
        found = dict(rg.check_each(map(str, files), executor=client.get_executor()))
    assert {Path(source) for source in found} == set(files)


@pytest.mark.slow
def test_lines_are_written_as_they_come(
    files: list[Path], capsys: pytest.CaptureFixture[str]
) -> None:
    main(["check", *map(str, files), "--output", "jsonl"])
    lines = capsys.readouterr().out.splitlines()
    assert len(lines) == 2 and all(line.startswith("{") for line in lines)
