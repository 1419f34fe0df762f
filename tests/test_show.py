"""`regularize show`: pages with motions and films."""

from __future__ import annotations

import json
import re
import shutil
import subprocess
from itertools import pairwise
from pathlib import Path

import numpy as np
import pytest

import regularize as rg
from regularize.cli import main
from regularize.errors import ModelError, ReadError
from regularize.render.movie import movie, swing
from regularize.render.played_motion import PlayedMotion


@pytest.fixture(scope="module")
def motion(assets: Path) -> rg.Simulation:
    mechanism = rg.load(assets / "planar_fourbar.urdf")
    return rg.simulate(mechanism, duration=0.5, rates={"A": 2.0})


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
    with pytest.raises(ModelError, match="no column"):
        PlayedMotion.read(saved, rg.load(assets / "walker.urdf"))
    (tmp_path / "words.csv").write_text("time_s\nsoon\n")
    with pytest.raises(ReadError, match="no motion"):
        PlayedMotion.read(tmp_path / "words.csv", rg.load(assets / "planar_fourbar.urdf"))
    with pytest.raises(ReadError, match="no such file"):
        PlayedMotion.read(tmp_path / "missing.npz", rg.load(assets / "planar_fourbar.urdf"))


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


def test_mp4_needs_ffmpeg_and_says_so(
    motion: rg.Simulation,
    assets: Path,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    """A stand-in for ffmpeg counts the bytes that it is given: 12 frames of half a second."""
    pytest.importorskip("PIL")
    saved, film = motion.save(tmp_path / "motion.npz"), tmp_path / "film.mp4"
    arguments = ["show", str(assets / "planar_fourbar.urdf"), "--motion", str(saved)]
    monkeypatch.setattr(shutil, "which", lambda _: None)
    monkeypatch.setitem(__import__("sys").modules, "imageio_ffmpeg", None)
    assert main([*arguments, "--movie", str(film)]) == 2
    assert "ffmpeg" in capsys.readouterr().err
    given: list[tuple[list[str], int]] = []

    def stand_in(command: list[str], *, input: bytes, **_: object) -> object:
        given.append((command, len(input)))
        Path(command[-1]).write_bytes(b"a film")
        return subprocess.CompletedProcess(command, 0)

    monkeypatch.setattr(shutil, "which", lambda _: "ffmpeg")
    monkeypatch.setattr(subprocess, "run", stand_in)
    assert main([*arguments, "--movie", str(film)]) == 0
    ((command, size),) = given
    assert "720x480" in command and size == 12 * 720 * 480 * 3
    assert film.read_bytes() == b"a film"
