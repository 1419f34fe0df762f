"""`regularize explain`: what a diagnostic code means and what to do about it."""

from __future__ import annotations

import argparse
import shutil
import sys
import textwrap

from regularize.proofs.words import theorem
from regularize.report.rules import RULES, rule


def add(parser: argparse.ArgumentParser) -> None:
    """Add the options of the verb."""
    parser.add_argument("code", nargs="?", help="for example REG201; without it all are listed")


def run(arguments: argparse.Namespace) -> int:
    """Print the explanation of one code, or the list of all."""
    if arguments.code is None:
        for entry in RULES:
            sys.stdout.write(f"{entry.code}  {entry.severity:<8} {entry.name}\n")
        return 0
    found = rule(arguments.code)
    if found is None:
        sys.stderr.write(
            f"regularize: no code {arguments.code!r}; `regularize explain` lists all codes\n"
        )
        return 2
    width = min(100, shutil.get_terminal_size((100, 24)).columns)
    sections = {
        "What it is": found.what,
        "Why it matters": found.why,
        "Example": found.example,
        "What to do": found.fix,
        "Reference": found.reference,
        "The theorem": theorem(*found.theorem) if found.theorem else "",
    }
    sys.stdout.write(f"{found.code} {found.name} ({found.severity})\n")
    for title, text in sections.items():
        if text:
            fill = textwrap.TextWrapper(width, initial_indent="  ", subsequent_indent="  ")
            lines = "\n".join(map(fill.fill, text.split("\n")))
            sys.stdout.write(f"\n{title}\n{lines}\n")
    return 0
