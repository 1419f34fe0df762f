"""Where people type: findings, repairs and tables for editors, as a language server.

`regularize lsp` serves them.
"""

from __future__ import annotations

import argparse
import os
import sys

from regularize.commands.options import option


def add(parser: argparse.ArgumentParser) -> None:
    """Add the options of the verb."""
    parser.description = (
        "Serves editors by the Language Server Protocol over standard input and output: findings "
        "while you type (URDF, xacro, SDF, MJCF, USD text), the loop's table where you point, the "
        "counts above the model, and the edit of `regularize fix` as a quick fix."
    )
    option(parser, "--stdio", "accepted, for editors that say so", action="store_true")


def run(arguments: argparse.Namespace) -> int:
    """Serve until the editor ends it."""
    from regularize.guests.editor.server import serve

    # Whatever a library prints must not get into the protocol.
    answers = os.fdopen(os.dup(sys.stdout.fileno()), "wb")
    os.dup2(sys.stderr.fileno(), sys.stdout.fileno())
    serve(sys.stdin.buffer, answers)
    return 0
