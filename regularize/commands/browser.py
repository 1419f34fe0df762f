"""`regularize show` and `bench`: a model in a browser, to look at and to change."""

from __future__ import annotations

import argparse
import sys
from pathlib import Path

from regularize.adapters.common.output_files import write_bytes
from regularize.commands.files import (
    BRANCH,
    NO_MESHES,
    OutputAction,
    add_model,
    add_reading_options,
    load_model,
    reading_options,
)
from regularize.commands.options import count, option, options
from regularize.errors import RegularizeError, install_words
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


def add_bench(parser: argparse.ArgumentParser) -> None:
    """Add the options of `bench`."""
    parser.description = (
        "Shows the report of a model in a browser, with every joint's kind to choose: mobility, "
        "redundancy and motion of the changed model at once, the difference of the file beside, "
        "and the file itself only when you save. It is read again when another program changes "
        "it. The page is served on this machine alone, under an address with a secret part."
    )
    option(parser, "file MODEL", "model file, or its folder")
    add_reading_options(parser)
    option(parser, "--port N", "port (any that is free)", type=int, default=0)
    option(parser, "--no-browser", "print the address and open no browser")


def run_bench(arguments: argparse.Namespace) -> int:
    """Serve until interrupted."""
    import asyncio

    try:
        serve = guest("page.bench.server").serve
    except ModuleNotFoundError as error:
        if error.name != "aiohttp":
            raise
        raise RegularizeError(f"the bench takes aiohttp: {install_words('bench')}") from error
    if not 0 <= arguments.port < 65536:
        raise RegularizeError(f"--port {arguments.port}: expected 0 to 65535")
    session = guest("page.bench").Session(arguments.file, **reading_options(arguments))

    def ready(address: str, once: str) -> None:
        sys.stdout.write(f"{address}\n")
        sys.stdout.flush()
        sys.stderr.write("regularize: the bench is open; Ctrl-C ends it\n")
        if not arguments.no_browser:
            import webbrowser

            webbrowser.open(once)

    asyncio.run(serve(session, arguments.port, ready))
    return 0
