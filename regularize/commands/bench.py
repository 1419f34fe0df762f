"""`regularize bench`: try other joints in a browser, see what follows, save your file."""

from __future__ import annotations

import argparse
import sys

from regularize.commands.files import add_reading_options, reading_options
from regularize.commands.options import option
from regularize.errors import RegularizeError
from regularize.services import guest


def add(parser: argparse.ArgumentParser) -> None:
    """Add the options of the verb."""
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


def run(arguments: argparse.Namespace) -> int:
    """Serve until interrupted."""
    import asyncio

    try:
        serve = guest("page.bench.server").serve
    except ModuleNotFoundError as error:
        if error.name != "aiohttp":
            raise
        raise RegularizeError(
            "the bench takes aiohttp: pip install 'pin-regularize[bench]'"
        ) from error

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
