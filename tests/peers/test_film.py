"""Films by a real encoder."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest

import regularize as rg
from regularize.render.movie import movie

encoder = pytest.importorskip("imageio_ffmpeg")


def test_mp4_is_what_players_take(
    assets: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(shutil, "which", lambda _: None)  # that of the package, not of the system
    report = rg.check(rg.load(assets / "planar_fourbar.urdf"))
    film = str(movie(report, tmp_path / "-film.mp4", frames=10, scale=0.5))
    frames = encoder.read_frames(film)
    facts = next(frames)
    assert (facts["size"], facts["fps"], facts["codec"]) == ((360, 240), 20.0, "h264")
    assert facts["pix_fmt"].startswith("yuv420p")
    pictures = [bytes(frame) for frame in frames]
    assert len(pictures) == 10 and len(set(pictures)) == 10
