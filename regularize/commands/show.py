"""`regularize show`: look at a mechanism in 3D, with its loops, axes and redundant directions."""

from __future__ import annotations

import argparse
import sys
from pathlib import Path
from typing import TYPE_CHECKING

from regularize.commands.files import add_branch, add_model, load_model
from regularize.errors import RegularizeError
from regularize.output_files import write_bytes

if TYPE_CHECKING:
    from regularize.checking import Report

SUFFIXES = (".glb", ".html", ".svg", ".png")


def add(parser: argparse.ArgumentParser) -> None:
    """Add the options of the verb."""
    parser.description = (
        "Without -o the mechanism is shown live in a browser by viser where that is installed, "
        "else as an HTML report."
    )
    add_model(parser)
    parser.add_argument(
        "-o",
        dest="out",
        metavar="FILE",
        type=Path,
        help=f"write a file instead; its ending decides: {' '.join(SUFFIXES)}",
    )
    add_branch(parser)
    parser.add_argument(
        "--ghosts", type=int, metavar="N", default=3, help="faint poses of the motion (3)"
    )
    parser.add_argument(
        "--html", action="store_true", help="open the HTML report even if viser is installed"
    )


def run(arguments: argparse.Namespace) -> int:
    """Write the picture to a file, or show the mechanism in a browser."""
    out: Path | None = arguments.out
    if out is not None and out.suffix.lower() not in SUFFIXES:
        raise RegularizeError(
            f"{out}: unknown kind of picture {out.suffix!r} (known: {', '.join(SUFFIXES)})"
        )
    from regularize.checking import check

    report = check(load_model(arguments.file, arguments))
    if out is not None:
        write_bytes(out, content(report, out.suffix.lower(), arguments.ghosts))
        sys.stderr.write(f"regularize: wrote {out}\n")
        return 0
    if not arguments.html and _live(report):
        return 0
    import tempfile
    import webbrowser

    folder = Path(tempfile.mkdtemp(prefix="regularize-"))
    page = folder / f"{report.mechanism.name or 'model'}.html".replace("/", "-")
    write_bytes(page, content(report, ".html", 0))
    sys.stderr.write(f"regularize: wrote {page}\n")
    webbrowser.open(page.as_uri())
    return 0


def content(report: Report, suffix: str, ghosts: int) -> bytes:
    """The bytes of a picture, by the ending of its file."""
    if suffix == ".glb":
        from regularize.render.scene import scene

        return bytes(scene(report, ghosts=ghosts).export(file_type="glb"))
    if suffix == ".html":
        from regularize.render import html

        return html.render(report).encode()
    from regularize.render import picture

    drawn = picture.picture(report, ghosts=ghosts)
    return picture.svg(drawn).encode() if suffix == ".svg" else picture.png(drawn)


def _live(report: Report) -> bool:
    """Show it by viser until interrupted; False where viser is not installed."""
    try:
        import viser
    except ImportError:
        return False
    from regularize.render.live import Live

    Live(viser.ViserServer(), report).run()
    return True
