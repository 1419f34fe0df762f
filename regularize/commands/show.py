"""`regularize show`: look at a mechanism in 3D, with its loops, axes and redundant directions."""

from __future__ import annotations

import argparse
import sys
from pathlib import Path
from typing import TYPE_CHECKING

from regularize.commands.files import add_branch, add_model, add_no_meshes, load_model
from regularize.commands.outputs import OutputAction
from regularize.commands.values import count
from regularize.output_files import write_bytes

if TYPE_CHECKING:
    from regularize.checking import Report
    from regularize.render.played_motion import PlayedMotion

SUFFIXES = (".glb", ".html", ".svg", ".png")


def add(parser: argparse.ArgumentParser) -> None:
    """Add the options of the verb."""
    parser.description = (
        "Without -o the page opens in a browser: one file, with the picture, a slider for each "
        "freedom and the report."
    )
    add_model(parser)
    parser.add_argument(
        "-o",
        dest="out",
        metavar="FILE",
        action=OutputAction,
        endings=SUFFIXES,
        help=f"write a file instead; its ending decides: {' '.join(SUFFIXES)}",
    )
    add_branch(parser)
    parser.add_argument(
        "--ghosts", type=count, metavar="N", default=3, help="faint poses of the motion (3)"
    )
    add_no_meshes(parser)
    parser.add_argument(
        "--motion",
        metavar="FILE",
        type=Path,
        help="play the motion that `regularize simulate -o FILE` has written, .csv or .npz",
    )
    parser.add_argument(
        "--movie",
        metavar="FILE",
        action=OutputAction,
        endings=(".gif", ".mp4"),
        help="write a film of the motion, .gif or .mp4",
    )
    parser.add_argument("--html", action="store_true", help=argparse.SUPPRESS)


def run(arguments: argparse.Namespace) -> int:
    """Write the picture to a file, or show the mechanism in a browser."""
    out: Path | None = arguments.out
    from regularize.checking import check
    from regularize.render.played_motion import PlayedMotion

    mechanism = load_model(arguments.file, arguments)
    motion = arguments.motion
    trajectory = None if motion is None else PlayedMotion.read(motion, mechanism)
    report, meshes = check(mechanism), not arguments.no_meshes
    if arguments.movie is not None:
        from regularize.render.movie import movie

        movie(report, arguments.movie, meshes=meshes, trajectory=trajectory)
        sys.stderr.write(f"regularize: wrote {arguments.movie}\n")
    if out is not None:
        suffix = out.suffix.lower()
        write_bytes(out, content(report, suffix, arguments.ghosts, meshes, trajectory))
        sys.stderr.write(f"regularize: wrote {out}\n")
    if out is not None or arguments.movie is not None:
        return 0
    import tempfile
    import webbrowser

    folder = Path(tempfile.mkdtemp(prefix="regularize-"))
    page = folder / f"{report.mechanism.name or 'model'}.html".replace("/", "-")
    write_bytes(page, content(report, ".html", 0, meshes, trajectory))
    sys.stderr.write(f"regularize: wrote {page}\n")
    webbrowser.open(page.as_uri())
    return 0


def content(
    report: Report,
    suffix: str,
    ghosts: int,
    meshes: bool = True,
    trajectory: PlayedMotion | None = None,
) -> bytes:
    """The bytes of a picture, by the ending of its file."""
    if suffix == ".html":
        from regularize.render import html

        return html.render(report, meshes=meshes, trajectory=trajectory).encode()
    from regularize.render.artist import draw

    drawing = draw(report, meshes=meshes)
    for note in drawing.notes:
        sys.stderr.write(f"regularize: {note}; a bar stands for the shape\n")
    if suffix == ".glb":
        from regularize.render.scene import scene

        return bytes(scene(report, ghosts=ghosts, drawing=drawing).export(file_type="glb"))
    from regularize.render.painter import picture
    from regularize.render.picture import png, svg

    drawn = picture(report, ghosts=ghosts, drawing=drawing)
    return svg(drawn).encode() if suffix == ".svg" else png(drawn)
