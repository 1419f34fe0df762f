"""Films by a real encoder."""

from __future__ import annotations

import shutil
import subprocess
from pathlib import Path

import pytest

import regularize as rg
from regularize.guests.page.movie import movie

encoder = pytest.importorskip("imageio_ffmpeg")


def test_mp4_is_what_players_take(
    assets: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(shutil, "which", lambda _: None)  # that of the package, not of the system
    report = rg.check(rg.load(assets / "planar_fourbar.urdf"))
    film = str(movie(report, tmp_path / "-film.mp4", frames=10, scale=0.5))
    raw = ("-fps_mode", "passthrough", "-f", "rawvideo", "-pix_fmt", "rgb24", "-")
    # By the program itself: the package's reader leaves pipes open where ffmpeg ends first.
    decoded = subprocess.run(
        [encoder.get_ffmpeg_exe(), "-hide_banner", "-i", film, *raw],
        stdin=subprocess.DEVNULL,
        capture_output=True,
        check=True,
    )
    facts = decoded.stderr.decode()
    stream = next(line for line in facts.splitlines() if "Video:" in line)
    assert "Video: h264" in stream and "yuv420p" in stream
    assert " 360x240" in stream and " 20 fps" in stream
    size = 360 * 240 * 3
    pictures = [decoded.stdout[at : at + size] for at in range(0, len(decoded.stdout), size)]
    assert len(pictures) == 10 and len(set(pictures)) == 10
