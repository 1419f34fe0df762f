"""The command line.

Exit status: 0 nothing at or above ``--fail-on``, 1 findings, 2 wrong usage or unreadable input,
130 and 143 where it was interrupted or terminated.
"""

from __future__ import annotations

import argparse
import os
import re
import sys
from collections.abc import Sequence
from typing import Any

from regularize import streams
from regularize.commands import (
    bench,
    check,
    completion,
    explain,
    export,
    fix,
    formats,
    metamodel,
    reduce,
    show,
    simulate,
    solve,
    verify,
    workspace,
)
from regularize.displayed import displayed
from regularize.errors import MissingPinocchio, RegularizeError

VERBS = (
    check,
    verify,
    fix,
    reduce,
    export,
    simulate,
    solve,
    workspace,
    metamodel,
    show,
    bench,
    explain,
    formats,
    completion,
)


class Parser(argparse.ArgumentParser):
    """A parser that takes ``-30deg`` for a value, and says what a wrong word may have meant."""

    def __init__(self, *arguments: Any, **options: Any) -> None:
        """Values may be negative and have units; options are written out."""
        super().__init__(*arguments, **options)
        self._negative_number_matcher = re.compile(r"^-(\d|\.\d)")


def parser() -> argparse.ArgumentParser:
    """The parser with all verbs."""
    result = Parser(
        prog="regularize",
        description="Find, explain and remove redundant loop constraints of closed kinematic "
        "chains.",
    )
    result.add_argument("--version", action="store_true", help="print the version and leave")
    subparsers = result.add_subparsers(metavar="VERB")
    for verb in VERBS:
        # The first line of a verb's module reads "`regularize check`: say …".
        name, _, words = str(verb.__doc__).splitlines()[0].partition("`: ")
        own = subparsers.add_parser(name.split()[-1], help=words.rstrip("."))
        own.set_defaults(run=verb.run)
        if verb is completion:
            own.set_defaults(whole=result)
        verb.add(own)
    return result


def main(argv: Sequence[str] | None = None) -> int:
    """Run the command line; returns the exit status."""
    arguments = parser().parse_args(argv)
    if arguments.version:
        from regularize.version import __version__

        sys.stdout.write(f"regularize {__version__}\n")
        return 0
    if not hasattr(arguments, "run"):
        parser().print_help()
        return 2
    with streams.prepared():
        return _run(arguments)


def _run(arguments: argparse.Namespace) -> int:
    """Run a verb; whatever goes wrong is one line, and the exit status."""
    status = 2
    try:
        status = int(arguments.run(arguments))
        sys.stdout.flush()
        return status
    except BrokenPipeError:
        # The reader of our output has gone, as in `regularize check … | head`.
        streams.release(sys.stdout)
        return 0
    except RegularizeError as error:
        reason = str(error)
    except (KeyboardInterrupt, streams.Terminated) as error:
        interrupted = isinstance(error, KeyboardInterrupt)
        reason, status = ("interrupted", 130) if interrupted else ("terminated", 143)
    except OSError as error:
        reason = f"{error.filename}: " if error.filename else ""
        reason += str(error.strerror or error)
        status = 2
        streams.release(sys.stdout)
    except Exception as error:
        if "REGULARIZE_DEBUG" in os.environ:
            raise
        reason = (
            f"internal error, {type(error).__name__}: {' '.join(str(error).split())}; this is a "
            "bug: please report it with the model (REGULARIZE_DEBUG=1 shows where it happened)"
        )
        if isinstance(error, ModuleNotFoundError) and error.name == "pinocchio":
            reason = str(MissingPinocchio("this command"))
    sys.stderr.write(f"regularize: {displayed(reason)}\n")
    return status
