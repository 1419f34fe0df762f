"""A motion of a mechanism as a film: GIF by Pillow, MP4 by ffmpeg."""

from __future__ import annotations

import io
import shutil
import subprocess
import tempfile
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np

from regularize.displayed import displayed
from regularize.errors import RegularizeError, UnsupportedExport
from regularize.lie.screw import Array
from regularize.output_files import write_bytes
from regularize.reduction.reduce import Reduction
from regularize.render.animation import motions
from regularize.render.artist import draw
from regularize.render.painter import Painter
from regularize.render.picture import painted
from regularize.render.played_motion import PlayedMotion
from regularize.report.analysis import Analysis


def movie(
    report: Analysis,
    path: str | Path,
    *,
    meshes: bool = True,
    trajectory: PlayedMotion | None = None,
    frames: int = 60,
    scale: float = 1.0,
) -> Path:
    """Film the first motion of a mechanism, or a given one in its own time.

    Args:
        report: What to show.
        path: File to write, ``.gif`` or ``.mp4``.
        meshes: Whether to show shapes that are files.
        trajectory: A motion; by default the first freedom goes through its range, or around.
        frames: Number of pictures of a motion that has no time of its own, 20 to a second.
        scale: Size of the pictures, 1 for 720 by 480 pixels.

    Raises:
        UnsupportedExport: The file name ends otherwise, or there is nothing that writes MP4.
        MissingExtra: Pillow is not installed.
        RegularizeError: Nothing moves.
    """
    path = Path(path)
    kind = path.suffix.lower()
    if kind not in (".gif", ".mp4"):
        raise UnsupportedExport(f"{path}: films are written as .gif or .mp4")
    coder = _ffmpeg(path) if kind == ".mp4" else ""
    if trajectory is None:
        rate, way = 20.0, swing(report.reduction, frames)
    else:
        rate, way = 25.0, _in_time(trajectory, 25.0)
    painter = Painter(draw(report, meshes=meshes), within=way[:: max(1, len(way) // 12)])
    images = [_image(painter, q, scale) for q in way]
    if kind == ".gif":
        write_bytes(path, gif(images, rate))
    else:
        _mp4(coder, path, images, rate)
    return path


def swing(reduction: Reduction, frames: int) -> Array:
    """Configurations of the first motion, once around or to and fro, shape (frames, n).

    Raises:
        RegularizeError: Nothing moves.
    """
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


def _in_time(trajectory: PlayedMotion, rate: float, most: int = 500) -> Array:
    """Configurations at equal times, shape (frames, n)."""
    time = trajectory.time
    count = min(most, max(2, int((time[-1] - time[0]) * rate)))
    at = np.linspace(time[0], time[-1], count)
    return np.array([np.interp(at, time, q) for q in trajectory.coordinates.T]).T


def _image(painter: Painter, q: Array, scale: float) -> Array:
    """Red, green and blue of a picture, shape (height, width, 3)."""
    return np.array(painted(painter.paint(q), scale))


def gif(images: Sequence[Array], rate: float, colors: int = 64) -> bytes:
    """Pictures as a GIF that goes on for ever.

    Args:
        images: Red, green and blue, shape (height, width, 3) each.
        rate: Pictures a second.
        colors: Number of colours.
    """
    from PIL import Image  # it has painted the pictures

    # One palette for all: colours must not change between pictures.
    whole = Image.fromarray(np.concatenate(images[:: max(1, len(images) // 8)]))
    palette: Any = whole.quantize(colors)
    made = [Image.fromarray(i).quantize(palette=palette, dither=Image.Dither.NONE) for i in images]
    stream = io.BytesIO()
    made[0].save(
        stream,
        format="GIF",
        save_all=True,
        append_images=made[1:],
        duration=round(1000 / rate),
        loop=0,
        optimize=False,
    )
    return stream.getvalue()


def _ffmpeg(path: Path) -> str:
    """The program that writes MP4."""
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


def _mp4(coder: str, path: Path, images: Sequence[Array], rate: float) -> None:
    height, width = (2 * (n // 2) for n in images[0].shape[:2])
    arguments = [coder, "-loglevel", "error", "-y", "-f", "rawvideo", "-pix_fmt", "rgb24"]
    arguments += ["-s", f"{width}x{height}", "-r", f"{rate:g}", "-i", "-", "-pix_fmt", "yuv420p"]
    frames = b"".join(np.ascontiguousarray(i[:height, :width]).tobytes() for i in images)
    with tempfile.TemporaryDirectory(prefix="regularize-") as folder:
        film = Path(folder) / "film.mp4"
        command = [*arguments, "-movflags", "+faststart", str(film)]
        done = subprocess.run(command, input=frames, capture_output=True, check=False)
        if done.returncode:
            said = displayed(done.stderr.decode(errors="replace")[:200])
            raise UnsupportedExport(f"{path}: ffmpeg says {said}")
        write_bytes(path, film.read_bytes())
