"""`regularize completion`: print what lets a shell complete verbs, options and file names."""

from __future__ import annotations

import argparse
import sys

from regularize.errors import MissingExtra

SHELLS = ("bash", "zsh", "tcsh")


def add(parser: argparse.ArgumentParser) -> None:
    """Add the options of the verb."""
    parser.epilog = (
        "bash: regularize completion bash > ~/.local/share/bash-completion/completions/regularize; "
        "zsh: regularize completion zsh > FOLDER/_regularize, FOLDER in $fpath"
    )
    parser.add_argument("shell", choices=SHELLS)


def run(arguments: argparse.Namespace) -> int:
    """Print the script."""
    try:
        import shtab
    except ImportError as error:
        raise MissingExtra("completion", "shtab", "completion") from error
    sys.stdout.write(shtab.complete(arguments.whole, arguments.shell) + "\n")
    return 0
