"""`regularize formats`: what can be read and written, and what computes dynamics."""

from __future__ import annotations

import argparse
import sys


def add(parser: argparse.ArgumentParser) -> None:
    """It has no options."""


def run(arguments: argparse.Namespace) -> int:
    """Print the table."""
    from rich.console import Console
    from rich.table import Table

    from regularize.adapters import adapters
    from regularize.kernel.compiled import which

    table = Table(box=None, pad_edge=False, padding=(0, 3, 0, 0))
    for column in ("format", "what", "files", "read", "write", "needs", "installed"):
        table.add_column(column, overflow="fold")
    for adapter in adapters().values():
        table.add_row(
            adapter.name,
            adapter.title,
            " ".join(adapter.suffixes),
            "yes" if adapter.reader else "",
            "yes" if adapter.writer else "",
            f"[{adapter.extra}]".replace("[", r"\[") if adapter.extra else "",
            "yes" if adapter.installed else "no",
        )
    console = Console(file=sys.stdout, highlight=False)
    console.print(table)
    console.print(f"\ndynamics: {which()}")
    return 0
