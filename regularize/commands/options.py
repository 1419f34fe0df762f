"""Options of the command line, each told by what its help shows."""

from __future__ import annotations

import argparse
from typing import Any


def option(parser: argparse._ActionsContainer, shown: str, words: str, **more: Any) -> None:
    """Add an option, or a place for a value.

    Args:
        parser: Where it belongs.
        shown: Names and value as the help shows them: ``-j --jobs N``, ``--watch``, which has no
            value, ``--joint NAME=KIND …``, which may be given several times; ``file MODEL`` for a
            place. What ``-o`` names is called ``out``.
        words: Its help.
        more: As of ``ArgumentParser.add_argument``.
    """
    *names, value = shown.removesuffix(" …").split(" ") if " " in shown else (shown, "")
    if value:
        more["metavar"] = value
    elif shown.startswith("-"):
        more["action"] = "store_true"
    if shown.endswith("…"):
        more = {"action": "extend" if "nargs" in more else "append", "default": [], **more}
    if names == ["-o"]:
        more["dest"] = "out"
    parser.add_argument(*names, help=words, **more)
