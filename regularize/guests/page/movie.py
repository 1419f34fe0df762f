"""A motion of a mechanism as a film: GIF by Pillow, MP4 by ffmpeg."""

from __future__ import annotations

import io
import shutil
import subprocess
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np

from regularize.checking import Report
from regularize.errors import RegularizeError, UnsupportedExport
from regularize.escape import displayed
from regularize.guests.page.animation import PlayedMotion, motions
from regularize.guests.page.artist import draw
from regularize.guests.page.picture import Painter, saved
from regularize.lie.arrays import Array
from regularize.output_files import write_file
from regularize.reduction.reduce import Reduction

#: Frames of a film of a given motion.
MOST_FRAMES = 500


def movie(
    report: Report,
    path: str | Path,
    *,
    meshes: bool = True,
    trajectory: PlayedMotion | None = None,
    frames: int = 60,
    scale: float = 1.0,
) -> Path:
    """Film the first motion of a mechanism, or a given one in its own time."""
    path = Path(path)
    kind = path.suffix.lower()
    if kind not in (".gif", ".mp4"):
        raise UnsupportedExport(f"{path}: films are written as .gif or .mp4")
    coder = _ffmpeg(path) if kind == ".mp4" else ""
    if trajectory is None:
        rate, way = 20, swing(report.reduction, frames)
        pushes: list[Array | None] = [None] * len(way)
    else:
        rate, time = 25, trajectory.time
        count = min(MOST_FRAMES, max(2, int((time[-1] - time[0]) * rate)))
        times = np.linspace(time[0], time[-1], count)
        way = np.array([np.interp(times, time, q) for q in trajectory.coordinates.T]).T
        pushes = [trajectory.pushes(t) for t in times]
    painter = Painter(draw(report, meshes=meshes), within=way[:: max(1, len(way) // 12)])
    figures = (painter.paint(q, pushes=push) for q, push in zip(way, pushes, strict=True))
    write_file(path, _mp4(figures, rate, scale, coder) if coder else _gif(figures, rate, scale))
    return path


def swing(reduction: Reduction, frames: int) -> Array:
    """Return configurations of the first motion, once around or to and fro, shape (frames, n)."""
    found = motions(reduction, most=1)
    if not found:
        raise RegularizeError(f"{reduction.mechanism.name}: nothing moves, so there is no film")
    motion = found[0]
    count = len(motion.q)
    if motion.cyclic:
        picked = np.arange(frames) * count / frames
    else:
        # From where it is assembled to one end, to the other and back, slowly where it turns.
        phase = np.arccos(1 - 2 * motion.start / max(1, count - 1))
        picked = 0.5 * (count - 1) * (1 - np.cos(phase + 2 * np.pi * np.arange(frames) / frames))
    rows = np.minimum(np.round(picked).astype(int), count - 1)
    return np.asarray(motion.q[rows])


def _ffmpeg(path: Path) -> str:
    """Return the path of the ffmpeg program; raise ``UnsupportedExport`` without one."""
    found = shutil.which("ffmpeg")
    if found:
        return found
    try:
        import imageio_ffmpeg
    except ImportError as error:
        raise UnsupportedExport(
            f"{path}: MP4 is written by ffmpeg, which is not installed (`pip install "
            "imageio-ffmpeg` brings it); a .gif needs nothing more"
        ) from error
    return str(imageio_ffmpeg.get_ffmpeg_exe())


def _mp4(figures: Iterator[Any], rate: int, scale: float, coder: str) -> bytes:
    """Encode figures as MP4; they are one figure, painted again for each frame."""
    from matplotlib import animation, rc_context  # the painter has said where it is missing

    first = next(figures)
    writer = animation.FFMpegWriter(fps=rate)
    with tempfile.TemporaryDirectory(prefix="regularize-") as folder:
        film = Path(folder) / "film.mp4"
        try:
            with (
                rc_context({"animation.ffmpeg_path": coder}),
                writer.saving(first, str(film), dpi=100 * scale),
            ):
                writer.grab_frame()
                for _ in figures:
                    writer.grab_frame()
        except (OSError, subprocess.CalledProcessError) as error:
            said = displayed(str(getattr(error, "stderr", None) or error)[:200])
            raise UnsupportedExport(f"the film was not written: ffmpeg says {said}") from error
        return film.read_bytes()


def _gif(figures: Iterator[Any], rate: int, scale: float, colors: int = 64) -> bytes:
    """Encode figures as an endless GIF with one palette for all frames."""
    from PIL import Image  # matplotlib brings it

    images = [Image.open(io.BytesIO(saved(each, "png", scale))).convert("RGB") for each in figures]
    whole = Image.fromarray(np.concatenate(images[:: max(1, len(images) // 8)]))
    palette = whole.quantize(colors)
    first, *others = (i.quantize(palette=palette, dither=Image.Dither.NONE) for i in images)
    stream, duration = io.BytesIO(), round(1000 / rate)
    first.save(stream, "GIF", save_all=True, append_images=others, duration=duration, loop=0)
    return stream.getvalue()
