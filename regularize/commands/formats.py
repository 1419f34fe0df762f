"""`regularize formats`: what can be read and written, and what computes dynamics."""

from __future__ import annotations

import argparse
import sys
from typing import TYPE_CHECKING

from regularize.commands.options import wrapped

if TYPE_CHECKING:
    from regularize.adapters.registry import Adapter


def add(parser: argparse.ArgumentParser) -> None:
    """Add nothing: the verb has no options."""


def _files(adapter: Adapter) -> str:
    """Say how files of a format are recognised."""
    return " ".join(adapter.suffixes) or ("by content" if adapter.sniff is not None else "")


def run(arguments: argparse.Namespace) -> int:
    """Print each format in two lines: what it is for, and what it is."""
    from regularize.adapters import adapters
    from regularize.dynamics.step.compiled import which

    known = adapters().values()
    most = max(len(adapter.name) for adapter in known) + 2
    for adapter in known:
        does = [word for word, has in (("read", adapter.reader), ("write", adapter.writer)) if has]
        parts = [f"{' and '.join(does):<14}", _files(adapter)]
        if adapter.extra:
            there = "installed" if adapter.installed else "not installed"
            parts.append(f"needs [{adapter.extra}], {there}")
        first = f"{adapter.name:<{most}}{'  '.join(part for part in parts if part)}".rstrip()
        indent = " " * most
        sys.stdout.write(f"{wrapped(first, indent)}\n{wrapped(adapter.title, indent)}\n")
    sys.stdout.write("\nneeds [NAME]: pip install 'pin-regularize[NAME]'\n")
    sys.stdout.write(f"dynamics: {which()}\n")
    return 0
