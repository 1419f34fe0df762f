"""Runs what reports print: ``python tests/commands_table.py MODEL_OR_FOLDER… [--log FILE]``.

One line for each model that can be read: how many commands were run, and how many lines its text
has. Every command must end with 0 and make the model better, and no text may be longer than
somebody reads; the exit status is 1 otherwise. Models that a log names already are left out.
"""

from __future__ import annotations

import argparse
import os
import resource
import sys
import tempfile
from multiprocessing import get_context
from multiprocessing.connection import Connection
from pathlib import Path

import pytest
from page_grades import models
from test_printed_commands import LINES, check_commands

import regularize as rg

#: CPU seconds after which a model is given up, and named.
PATIENCE = 300


def line(path: Path, answer: Connection) -> None:
    """What the commands of one model come to, and its text."""
    resource.setrlimit(resource.RLIMIT_CPU, (PATIENCE, PATIENCE))
    os.dup2(os.open(os.devnull, os.O_WRONLY), 1)
    try:
        report = rg.check(path)
        lines = len(str(report).splitlines())
        with tempfile.TemporaryDirectory() as folder, pytest.MonkeyPatch.context() as patch:
            count = check_commands(report, Path(folder), patch)
        answer.send(f"{'good' if lines <= LINES else 'LONG'} {count} commands, {lines} lines")
    except rg.RegularizeError as error:
        answer.send(f"not read: {error}"[:100].replace("\n", " "))
    except Exception as error:
        answer.send(f"FAILS {type(error).__name__} {error}"[:300].replace("\n", " "))


def alone(path: Path) -> str:
    """The line of a model from a process of its own."""
    context = get_context("fork")
    answer, end = context.Pipe()
    process = context.Process(target=line, args=(path, end))
    process.start()
    end.close()
    try:
        return str(answer.recv())
    except EOFError:
        return f"LEFT OUT after {PATIENCE} s of computing"
    finally:
        process.join()


def main() -> int:
    """Print the table; returns the exit status."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("models", nargs="+", type=Path)
    parser.add_argument("--log", type=Path, default=Path("/dev/null"))
    arguments = parser.parse_args()
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
