"""Isostatic models: nothing redundant, the same mobility, the same motion."""

import json
import re
from pathlib import Path
from typing import Any

import jsonschema
import mujoco
import numpy as np
import pytest
from mujoco_rows import equality_rows
from parallel_robots import ROBOTS
from pinocchio_cases import MECHANISMS, massive

import regularize as rg
from regularize.cli import main

ROOT = Path(__file__).resolve().parents[3]
CORPUS = ROOT.parent / "shared" / "corpus"
SCHEMA = json.loads((ROOT / "regularize" / "schema" / "reduction-1.json").read_text())
ASSETS = (
    *("planar_fourbar", "spherical_9r", "three_prrr", "gripper", "knee_leg", "three_cranks"),
    *("bennett", "delta_universal"),
)


@pytest.mark.slow
@pytest.mark.parametrize("name", MECHANISMS)
def test_textbook_mechanisms(name: str) -> None:
    mechanism = massive(MECHANISMS[name]())
    report = rg.isostatic(mechanism)
    assert report.equivalent
    assert report.result.redundant == 0
    assert report.proved == (name != "Bricard")
    mass = sum(b.inertia.mass for b in mechanism.bodies if b.inertia)
    assert sum(b.inertia.mass for b in report.mechanism.bodies if b.inertia) == pytest.approx(mass)


@pytest.mark.slow
@pytest.mark.parametrize("name", ASSETS)
def test_examples(name: str) -> None:
    report = rg.isostatic(rg.load(ROOT / "assets" / f"{name}.urdf"))
    assert report.equivalent and report.result.redundant == 0
    assert bool(report.changes) == (report.reduction.redundant > 0)


@pytest.mark.slow
def test_a_shaky_loop_is_refused() -> None:
    report = rg.isostatic(rg.load(ROOT / "assets" / "shaky_7r.urdf"))
    assert not report.equivalent
    assert "REG308" in {finding.code for finding in report.findings}


@pytest.mark.slow
@pytest.mark.parametrize("name", ["tilted", "3-PRRR", "Sarrus"])
def test_the_motion_is_the_same(name: str) -> None:
    mechanism = massive(MECHANISMS[name]())
    report = rg.isostatic(mechanism)
    times = np.array([0.0, 0.2, 0.4])
    motions = [
        rg.simulate(m, duration=0.4, rtol=1e-10, times=times) for m in (mechanism, report.mechanism)
    ]
    for joint in mechanism.joints:
        first, second = (
            motion.coordinates[:, motion.names.index(joint.name)] for motion in motions
        )
        assert np.allclose(first, second, atol=1e-7), joint.name
    slack = [k for k, n in enumerate(motions[1].names) if "_slack_" in n]
    assert slack and np.max(np.abs(motions[1].coordinates[:, slack])) < 1e-9


def test_a_weld_becomes_a_ball_where_that_is_enough() -> None:
    """Four slides around a loop: the weld's rotational rows are the redundant ones."""
    bodies = "gabcd"
    axes = [(1, 0, 0), (0, 1, 0), (0, 0, 1), (1, 1, 1)]
    slides = [
        rg.Joint.in_world(f"s{k}", bodies[k], bodies[k + 1], "prismatic", axis)
        for k, axis in enumerate(axes)
    ]
    weld = rg.Joint.in_world("weld", "d", "g", "fixed", closure=True)
    report = rg.isostatic(massive(rg.Mechanism.of_joints("slides", [*slides, weld])))
    assert report.equivalent and report.proved
    (change,) = report.changes
    assert (change.joint, change.kind, change.after) == ("weld", "lowered", "spherical")


def reduced(
    path: Path, folder: Path, capsys: pytest.CaptureFixture[str]
) -> tuple[Path, str, dict[str, Any]]:
    """The model that the command writes, its format, and what stands beside it."""
    capsys.readouterr()
    main(["reduce", str(path), "-o", str(folder)])
    said = capsys.readouterr().out
    found = re.search(r"^wrote (.*?)  \((.*)\)\nwrote (.*)$", said, re.MULTILINE)
    assert found is not None, said
    return Path(found[1]), found[2], json.loads(Path(found[3]).read_text())


@pytest.mark.slow
@pytest.mark.parametrize("name", ["5bar_linkage", "robot_delta"])
def test_gepetto_models_come_back_as_gepetto_models(
    name: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = CORPUS / "gepetto_yaml" / name
    if not path.exists():
        pytest.skip("the corpus is not here")
    model, format, _ = reduced(path, tmp_path / "out", capsys)
    assert format == "urdf"
    again = rg.load(model)
    reduction = rg.reduce(again)
    assert again.files and reduction.redundant == 0
    assert reduction.mobility == rg.reduce(rg.load(path)).mobility


@pytest.mark.slow
@pytest.mark.parametrize(
    ("file", "format"),
    [
        ("assets/planar_fourbar.urdf", "urdf+"),
        ("assets/three_prrr.urdf", "urdf+"),
        ("assets/benchmarks/andrews.json", "json"),
    ],
)
def test_files_reload_and_are_isostatic(
    file: str, format: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    model, written_as, entry = reduced(ROOT / file, tmp_path, capsys)
    assert written_as == format
    assert model.name == Path(file).name
    reduction = rg.reduce(rg.load(model))
    assert reduction.redundant == 0
    assert reduction.mobility == rg.reduce(rg.load(ROOT / file)).mobility
    jsonschema.validate(entry, SCHEMA)
    assert entry["kept"] == sum(len(cut["kept"]) for cut in entry["cuts"])
    assert entry["guarantee"]["proved"] and entry["result"]["equivalent"]


@pytest.mark.slow
def test_rows_of_the_file_are_those_of_the_reduction(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """Rebuilt from the file alone, the rows see no velocity that keeps the loops closed."""
    report = rg.isostatic(rg.load(ROOT / "assets" / "three_prrr.urdf"))
    _, _, entry = reduced(ROOT / "assets" / "three_prrr.urdf", tmp_path, capsys)
    reduction = report.reduction
    loops, state = reduction.loops, reduction.reference
    twists = state.screws[0].T
    rows = []
    for i, cut in enumerate(entry["cuts"]):
        node = reduction.graph.nodes.index(cut["frame"]["body"])
        pose = state.T_world_node[0, loops.row(node)] @ np.array(cut["frame"]["pose"])
        R, p = pose[:3, :3], pose[:3, 3]
        for row in cut["kept"]:
            force = R @ row[:3]
            moment = R @ row[3:] + np.cross(p, force)
            rows.append(np.concatenate([force, moment]) @ (loops.incidence[i] * twists))
    full = loops.jacobian(state)[0]
    free = np.linalg.svd(full)[2][np.linalg.matrix_rank(full, tol=1e-9) :].T
    assert np.max(np.abs(np.array(rows) @ free)) < 1e-9
    assert np.linalg.matrix_rank(np.array(rows), tol=1e-9) == entry["kept"]


@pytest.mark.slow
def test_open_loops_are_refused() -> None:
    path = CORPUS / "gepetto_yaml" / "kangaroo_like"
    if not path.exists():
        pytest.skip("the corpus is not here")
    with pytest.raises(rg.UnsupportedExport, match="loops are open"):
        rg.isostatic(rg.load(path))


@pytest.mark.slow
def test_relations_of_three_joints_go_where_they_can_be_held(tmp_path: Path) -> None:
    """MJCF ties the three hinges of a leg of 4-PRRRR by a tendon; SDF says what it cannot tie."""
    mechanism = massive(ROBOTS["4-PRRRR"][0]())
    report = rg.isostatic(mechanism, coupled=None, points=True)
    (coupling,) = report.mechanism.couplings
    assert len(coupling.terms) == 3 and report.proved and report.result.redundant == 0
    assert [f.code for f in report.findings if f.code in ("REG301", "REG233")] == []
    rg.save(report.mechanism, tmp_path / "robot.xml")
    model = mujoco.MjModel.from_xml_path(str(tmp_path / "robot.xml"))
    rank = np.linalg.matrix_rank(equality_rows(model), tol=1e-6)
    assert model.ntendon == 1 and rank == model.nv - 4

    fixed = rg.isostatic(mechanism, coupled=2)
    (unheld,) = [f for f in fixed.findings if f.code == "REG301"]
    assert set(unheld.joints) == {name for name, _, _ in coupling.terms}
    assert "REG233" in {f.code for f in fixed.findings} and not fixed.proved
