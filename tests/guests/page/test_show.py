"""`regularize show`: motions that are shown, pages with them, and films."""

from __future__ import annotations

import json
import re
import shutil
from dataclasses import replace
from itertools import pairwise
from pathlib import Path

import numpy as np
import pytest
from test_outputs import side_by_side

import regularize as rg
from regularize.cli import main
from regularize.guests.page.animation import SPACING, PlayedMotion, motions
from regularize.guests.page.movie import movie, swing
from regularize.loops.continuation import Continuation
from regularize.loops.projection import project


@pytest.fixture(scope="module")
def motion(assets: Path) -> rg.Simulation:
    mechanism = rg.load(assets / "planar_fourbar.urdf")
    return rg.simulate(mechanism, duration=0.5, rates={"A": 2.0})


@pytest.mark.slow
@pytest.mark.parametrize("suffix", [".csv", ".npz"])
def test_a_simulated_motion_is_played(
    suffix: str, motion: rg.Simulation, assets: Path, tmp_path: Path
) -> None:
    model, saved, page = (
        assets / "planar_fourbar.urdf",
        tmp_path / f"m{suffix}",
        tmp_path / "p.html",
    )
    motion.save(saved)
    assert main(["show", str(model), "--motion", str(saved), "-o", str(page)]) == 0
    found = re.search(r'id="scene">(.*?)</script>', page.read_text(encoding="utf-8"), re.S)
    assert found is not None
    played = json.loads(found[1])["trajectory"]
    assert np.allclose(played["time"], motion.time, atol=1e-5)
    assert np.allclose(played["coordinates"], motion.coordinates, atol=1e-6)
    assert len(played["energy"]) == len(played["closure"]) == len(motion.time)


def test_motions_of_other_mechanisms_are_refused(
    motion: rg.Simulation, assets: Path, tmp_path: Path
) -> None:
    saved = motion.save(tmp_path / "motion.csv")
    with pytest.raises(rg.ModelError, match="no column"):
        PlayedMotion.read(saved, rg.load(assets / "walker.urdf"))
    (tmp_path / "words.csv").write_text("time_s\nsoon\n")
    with pytest.raises(rg.ReadError, match="no motion"):
        PlayedMotion.read(tmp_path / "words.csv", rg.load(assets / "planar_fourbar.urdf"))
    with pytest.raises(rg.ReadError, match="no such file"):
        PlayedMotion.read(tmp_path / "missing.npz", rg.load(assets / "planar_fourbar.urdf"))


@pytest.mark.slow
def test_films_show_the_whole_motion(assets: Path, tmp_path: Path) -> None:
    image = pytest.importorskip("PIL.Image")
    report = rg.check(rg.load(assets / "planar_fourbar.urdf"))
    way = swing(report.reduction, 12)
    # A crank goes round: no pose comes twice.
    assert len(np.unique(np.round(way, 6), axis=0)) == 12
    loops = report.reduction.loops
    assert np.max(np.abs(loops.residual(loops.state(way)))) < 1e-8
    pictures = []
    with image.open(movie(report, tmp_path / "film.gif", frames=4, scale=0.25)) as film:
        assert film.n_frames == 4 and film.size == (180, 120)
        for k in range(4):
            film.seek(k)
            pictures.append(np.asarray(film.convert("RGB")).astype(int))
    assert all(np.abs(a - b).max() > 100 for a, b in pairwise(pictures))


def test_films_are_refused_where_nothing_moves(
    assets: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    rigid = str(assets / "mobility" / "rigid_triangle.urdf")
    assert main(["show", rigid, "--movie", str(tmp_path / "film.gif")]) == 2
    assert "nothing moves" in capsys.readouterr().err
    moves = str(assets / "planar_fourbar.urdf")
    assert main(["show", moves, "--movie", str(tmp_path / "film.avi")]) == 2
    assert "(known: .gif, .mp4)" in capsys.readouterr().err


@pytest.mark.slow
def test_mp4_needs_ffmpeg_and_says_so(
    motion: rg.Simulation,
    assets: Path,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    """A stand-in for ffmpeg counts the bytes that it is given: 12 frames of half a second."""
    pytest.importorskip("matplotlib")
    saved, film = motion.save(tmp_path / "motion.npz"), tmp_path / "film.mp4"
    arguments = ["show", str(assets / "planar_fourbar.urdf"), "--motion", str(saved)]
    monkeypatch.setattr(shutil, "which", lambda _: None)
    monkeypatch.setitem(__import__("sys").modules, "imageio_ffmpeg", None)
    assert main([*arguments, "--movie", str(film)]) == 2
    assert "ffmpeg" in capsys.readouterr().err
    stand_in = tmp_path / "stand-in"
    stand_in.write_text('#!/bin/sh\nfor last; do :; done\necho "$@" $(wc -c) > "$last"\n')
    stand_in.chmod(0o755)
    monkeypatch.setattr(shutil, "which", lambda _: str(stand_in))
    assert main([*arguments, "--movie", str(film)]) == 0
    *command, size = film.read_text().split()
    assert "720x480" in command and int(size) == 12 * 720 * 480 * 4
    stand_in.write_text("#!/bin/sh\ncat > /dev/null; echo no such codec >&2; exit 1\n")
    film.unlink()
    assert main([*arguments, "--movie", str(film)]) == 2
    assert "no such codec" in capsys.readouterr().err and not film.exists()


@pytest.mark.slow
@pytest.mark.parametrize("name", ["planar_fourbar", "sarrus", "gripper", "spherical_9r", "rssr"])
def test_motions_keep_the_loops_closed_and_are_smooth(name: str, assets: Path) -> None:
    reduction = rg.reduce(rg.load(assets / f"{name}.urdf"))
    found = motions(reduction)
    assert len(found) == min(reduction.mobility, 6)
    loops = reduction.loops
    for motion in found:
        state = loops.state(motion.q)
        assert np.max(np.abs(loops.residual(state))) < 1e-6
        assert np.allclose(motion.q[motion.start], reduction.q)
        assert np.max(np.abs(np.diff(state.T_world_node, axis=0))) < 6 * SPACING
        assert np.max(np.abs(state.T_world_node - state.T_world_node[:1])) > SPACING


@pytest.mark.slow
def test_a_crank_turns_once(assets: Path) -> None:
    (motion,) = motions(rg.reduce(rg.load(assets / "planar_fourbar.urdf")))
    assert motion.name == "A" and motion.cyclic
    assert abs(motion.q[-1, 0] - motion.q[0, 0]) == pytest.approx(2 * np.pi, abs=0.2)


@pytest.mark.slow
def test_one_motion_holds_the_other_drivers(assets: Path) -> None:
    reduction = rg.reduce(rg.load(assets / "three_prrr.urdf"))
    found = motions(reduction)
    columns = [
        next(e.columns[0] for e in reduction.graph.edges if e.joint.name == m.name) for m in found
    ]
    for motion, own in zip(found, columns, strict=True):
        still = [c for c in columns if c != own]
        assert np.max(np.abs(motion.q[:, still] - reduction.q[still])) < 1e-9
        assert np.ptp(motion.q[:, own]) > 0.01


def test_what_cannot_move_has_no_motions(assets: Path) -> None:
    assert motions(rg.reduce(rg.load(assets / "nearly_planar_fourbar.urdf"))) == ()


@pytest.mark.slow
def test_motions_of_open_loops_and_no_motions_at_all(assets: Path) -> None:
    bars = rg.load(assets / "planar_fourbar.urdf")
    assert motions(rg.reduce(bars), most=0) == ()
    shift = np.eye(4)
    shift[0, 3] = 50.0
    joints = [
        replace(joint, T_parent_joint=joint.T_parent_joint @ shift) if joint.closure else joint
        for joint in bars.joints
    ]
    assert motions(rg.reduce(replace(bars, joints=tuple(joints)))) == ()


@pytest.mark.slow
def test_newton_converges_quadratically_where_a_part_of_a_ball_joint_is_held(assets: Path) -> None:
    """Held are velocities: a ball joint's coordinates all change when it turns about other axes."""
    reduction = rg.reduce(rg.load(assets / "rssr.urdf"))
    turned = motions(reduction)[0].q[-20:]
    loops = reduction.loops
    ball = next(e.index for e in reduction.graph.edges if e.joint.name == "B")
    held = np.zeros(loops.freedoms, dtype=bool)
    held[loops.local(ball)[0]] = True
    along = Continuation(loops, held=held)
    heading = along.tangents(turned, np.ones_like(turned))
    found = project(loops, loops.integrate(turned, 0.05 * heading * loops.units), held=held)
    assert found.closed.all() and found.first.min() > 1e-4
    assert found.contraction.max() < 0.02


@pytest.mark.slow
def test_as_many_motions_as_are_asked_for() -> None:
    many = rg.reduce(side_by_side(8), configurations=0)
    assert [len(motions(many, most=most)) for most in (1, 2)] == [1, 2]


@pytest.mark.slow
def test_show_displays_the_page_and_its_motion(assets: Path, tmp_path: Path) -> None:
    model = assets / "slider_crank.urdf"
    shown = rg.show(model, height=500)
    html = shown._repr_html_()
    assert html.startswith("<iframe") and "height:500px" in html and "3 redundant" in html
    assert "\n" not in repr(shown) and len(repr(shown)) <= 200
    report = rg.check(model)
    assert rg.show(report).report is report  # nothing is analysed twice
    assert rg.show(report.mechanism).report.reduction.redundant == 3
    motion = rg.simulate(model, duration=0.05)
    playing = rg.show(model, motion=motion)
    assert len(playing._repr_html_()) > len(html)
    assert b"3 redundant" in playing.save(tmp_path / "page.html").read_bytes()
    with pytest.raises(rg.ModelError, match="height"):
        rg.show(model, height=0)


@pytest.mark.slow
def test_objects_are_shown_as_well(assets: Path) -> None:
    text = (assets / "planar_fourbar.urdf").read_text()
    assert "3 redundant" in rg.show(text)._repr_html_()
    assert "<iframe" in rg.check(text)._repr_html_()


@pytest.mark.slow
def test_time_is_the_coordinate_of_a_motion(assets: Path) -> None:
    pytest.importorskip("xarray")
    motion = rg.simulate(assets / "slider_crank.urdf", duration=0.1)
    data = motion.to_xarray()
    assert list(data.sizes) == ["time"] and "time" in data.indexes
    one = data.sel(time=0.05, method="nearest")
    row = int(np.argmin(np.abs(motion.time - 0.05)))
    for k, name in enumerate(motion.names):
        assert float(one[name]) == motion.coordinates[row, k]


@pytest.mark.slow
def test_a_motion_is_a_frame_of_pandas(assets: Path) -> None:
    pandas = pytest.importorskip("pandas")
    motion = rg.simulate(assets / "slider_crank.urdf", duration=0.1)
    frame = motion.to_pandas()
    assert isinstance(frame, pandas.DataFrame) and list(frame["time"]) == list(motion.time)
    assert {*motion.names, "energy", "closure"} <= {*frame.columns}
