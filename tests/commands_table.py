"""Runs what reports print: ``python tests/commands_table.py MODEL_OR_FOLDER… [--log FILE]``.

One line for each model that can be read: how many commands were run, and how many lines its text
has. Every command must end with 0 and make the model better, and no text may be longer than
somebody reads; the exit status is 1 otherwise. Models that a log names already are left out.
"""

from __future__ import annotations

import argparse
import resource
import subprocess
import sys
import tempfile
from pathlib import Path

import pytest
from page_grades import models
from test_printed_commands import LINES, check_commands

import regularize as rg

#: CPU seconds after which a model is given up, and named.
PATIENCE = 300


def line(path: Path) -> str:
    """What the commands of one model come to, and its text."""
    try:
        report = rg.check(path)
    except rg.RegularizeError:
        return "not read"
    lines = len(str(report).splitlines())
    with tempfile.TemporaryDirectory() as folder, pytest.MonkeyPatch.context() as patch:
        count = check_commands(path, Path(folder), patch)
    return f"{'good' if lines <= LINES else 'LONG'} {count} commands, {lines} lines"


def alone(path: Path) -> str:
    """The line of a model from a process of its own."""
    words = [sys.executable, __file__, "--one", str(path)]
    done = subprocess.run(words, capture_output=True, text=True, check=False)
    if done.returncode < 0:
        return f"LEFT OUT after {PATIENCE} s of computing"
    said = (done.stdout if done.returncode == 0 else done.stderr).strip().splitlines() or ["?"]
    return said[-1] if done.returncode == 0 else f"FAILS {said[-1]}"


def main() -> int:
    """Print the table; returns the exit status."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("models", nargs="*", type=Path)
    parser.add_argument("--log", type=Path, default=Path("/dev/null"))
    parser.add_argument("--one", type=Path, help=argparse.SUPPRESS)
    arguments = parser.parse_args()
    if arguments.one:
        resource.setrlimit(resource.RLIMIT_CPU, (PATIENCE, PATIENCE))
        print(line(arguments.one))
        return 0
    known = arguments.log.read_text() if arguments.log.is_file() else ""
    bad = 0
    with arguments.log.open("a") as log:
        for path in models(arguments.models):
            if f"{path}  " in known:
                continue
            text = f"{path}  {alone(path.absolute())}"
            bad += any(f"  {word} " in text for word in ("FAILS", "LONG", "LEFT"))
            print(text, file=log, flush=True)
            print(text, flush=True)
    return int(bad > 0)


if __name__ == "__main__":
    sys.exit(main())
