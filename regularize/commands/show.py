"""`regularize show`: look at a mechanism in 3D, with its loops, axes and redundant directions."""

from __future__ import annotations

import argparse
import sys
from pathlib import Path

from regularize.adapters.common.output_files import write_bytes
from regularize.commands.files import OutputAction, add_branch, add_model, add_no_meshes, load_model
from regularize.commands.options import count, option
from regularize.escape import displayed
from regularize.services import guest

SUFFIXES = (".glb", ".html", ".svg", ".png")


def add(parser: argparse.ArgumentParser) -> None:
    """Add the options of the verb."""
    parser.description = (
        "Without -o the page opens in a browser: one file, with the picture, a slider for each "
        "freedom and the report."
    )
    add_model(parser)
    words = f"write a file instead; its ending decides: {' '.join(SUFFIXES)}"
    option(parser, "-o FILE", words, action=OutputAction, endings=SUFFIXES)
    add_branch(parser)
    option(parser, "--ghosts N", "faint poses of the motion (3)", type=count, default=3)
    add_no_meshes(parser)
    words = "play the motion that `regularize simulate -o FILE` has written, .csv or .npz"
    option(parser, "--motion FILE", words, type=Path)
    films, words = (".gif", ".mp4"), "write a film of the motion, .gif or .mp4"
    option(parser, "--movie FILE", words, action=OutputAction, endings=films)
    option(parser, "--html", argparse.SUPPRESS)


def run(arguments: argparse.Namespace) -> int:
    """Write the picture to a file, or show the mechanism in a browser."""
    out: Path | None = arguments.out
    from regularize.checking import check

    mechanism = load_model(arguments.file, arguments)
    motion = arguments.motion
    content = guest("page.picture").content
    trajectory = None
    if motion is not None:
        trajectory = guest("page.animation").PlayedMotion.read(motion, mechanism)
    pictured = out is not None and out.suffix.lower() != ".html"
    report = check(mechanism, trials=not pictured)
    meshes = not arguments.no_meshes
    if arguments.movie is not None:
        guest("page.movie").movie(report, arguments.movie, meshes=meshes, trajectory=trajectory)
        sys.stderr.write(f"regularize: wrote {displayed(str(arguments.movie))}\n")
    if out is not None:
        suffix = out.suffix.lower()
        write_bytes(out, content(report, suffix, arguments.ghosts, meshes, trajectory))
        sys.stderr.write(f"regularize: wrote {displayed(str(out))}\n")
    if out is not None or arguments.movie is not None:
        return 0
    import tempfile
    import webbrowser

    folder = Path(tempfile.mkdtemp(prefix="regularize-"))
    page = folder / f"{report.mechanism.name or 'model'}.html".replace("/", "-")
    write_bytes(page, content(report, ".html", 0, meshes, trajectory))
    sys.stderr.write(f"regularize: wrote {displayed(str(page))}\n")
    webbrowser.open(page.as_uri())
    return 0
