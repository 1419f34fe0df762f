"""`regularize show`: a model in a browser."""

from __future__ import annotations

import argparse
import sys
from pathlib import Path

from regularize.adapters.common.output_files import write_bytes
from regularize.commands.files import BRANCH, NO_MESHES, OutputAction, add_model, load_model
from regularize.commands.options import count, option, options
from regularize.escape import displayed
from regularize.services import guest

SUFFIXES = (".glb", ".html", ".svg", ".png")


def add_show(parser: argparse.ArgumentParser) -> None:
    """Add the options of `show`."""
    parser.description = (
        "Without -o the page opens in a browser: one file, with the picture, a slider for each "
        "freedom and the report."
    )
    add_model(parser)
    words = f"write a file instead; its ending decides: {' '.join(SUFFIXES)}"
    option(parser, "-o FILE", words, action=OutputAction, endings=SUFFIXES)
    options(parser, BRANCH)
    option(parser, "--ghosts N", "faint poses of the motion (3)", type=count, default=3)
    options(parser, NO_MESHES)
    words = "play the motion that `regularize simulate -o FILE` has written, .csv or .npz"
    option(parser, "--motion FILE", words, type=Path)
    films, words = (".gif", ".mp4"), "write a film of the motion, .gif or .mp4"
    option(parser, "--movie FILE", words, action=OutputAction, endings=films)
    option(parser, "--html", argparse.SUPPRESS)


def run_show(arguments: argparse.Namespace) -> int:
    """Write the picture to a file, or show the mechanism in a browser."""
    from regularize.checking import check

    out: Path | None = arguments.out
    mechanism = load_model(arguments.file, arguments)
    content = guest("page.picture").content
    trajectory = None
    if arguments.motion is not None:
        trajectory = guest("page.animation").PlayedMotion.read(arguments.motion, mechanism)
    suffix = ".html" if out is None else out.suffix.lower()
    report = check(mechanism, trials=suffix == ".html")
    meshes = not arguments.no_meshes
    if arguments.movie is not None:
        guest("page.movie").movie(report, arguments.movie, meshes=meshes, trajectory=trajectory)
        _say_written(arguments.movie)
        if out is None:
            return 0
    page = out
    if page is None:
        import tempfile

        folder = Path(tempfile.mkdtemp(prefix="regularize-"))
        page = folder / f"{report.mechanism.name or 'model'}.html".replace("/", "-")
    write_bytes(page, content(report, suffix, arguments.ghosts, meshes, trajectory))
    _say_written(page)
    if out is None:
        import webbrowser

        webbrowser.open(page.as_uri())
    return 0


def _say_written(path: Path) -> None:
    """Say on standard error that a file is written."""
    sys.stderr.write(f"regularize: wrote {displayed(str(path))}\n")
