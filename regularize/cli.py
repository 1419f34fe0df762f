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
from typing import Any, NoReturn

import regularize.streams as streams
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
from regularize.commands.columns import width
from regularize.commands.first_steps import first_steps
from regularize.commands.outputs import check_named
from regularize.displayed import did_you_mean, displayed
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
    """A parser whose errors are one line that says what a wrong word may have meant."""

    def __init__(self, *arguments: Any, **options: Any) -> None:
        """Values may be negative and have units, such as ``-30deg``."""
        super().__init__(*arguments, **options)
        self._negative_number_matcher = re.compile(r"^-(\d|\.\d)")
        self.formatter_class = _formatter

    def error(self, message: str) -> NoReturn:
        """Say what is wrong in one line and leave with status 2."""
        choice = re.match(r"argument (\S+): invalid choice: '(.*)' \(choose from (.*)\)", message)
        if choice is not None:
            what = "verb" if choice[1] == "VERB" else f"value for {choice[1]}:"
            known = re.findall(r"'?([\w+-]+)'?", choice[3])
            message = f"no {what} {choice[2]!r}{did_you_mean(choice[2], known, most=20)}"
        left = re.match(r"unrecognized arguments: (\S+)(.*)", message)
        if left is not None:
            options = [name for name in self._option_string_actions if name.startswith("--")]
            options = options if left[1].startswith("-") else []
            near = did_you_mean(left[1].partition("=")[0], options).partition(";")[0]
            what = "option" if left[1].startswith("-") else "place for"
            message = f"no {what} {left[1]!r}{near if options else ''}"
        self.exit(2, f"{self.prog}: {displayed(message)}; see {self.prog} --help\n")


def _formatter(prog: str) -> argparse.HelpFormatter:
    return argparse.HelpFormatter(prog, max_help_position=26, width=width(most=100))


def parser() -> Parser:
    """The parser with all verbs."""
    result = Parser(
        prog="regularize",
        description="Find, explain and remove redundant loop constraints of closed kinematic "
        "chains.",
    )
    result.add_argument("--version", action="store_true", help="print the version and leave")
    subparsers = result.add_subparsers(metavar="VERB")
    for verb in VERBS:
        name, words = _told(verb)
        own = subparsers.add_parser(name, help=words)
        own.set_defaults(run=verb.run)
        if verb is completion:
            own.set_defaults(whole=result)
        verb.add(own)
    return result


def _told(verb: Any) -> tuple[str, str]:
    """Name and words: the first line of a verb's module reads "`regularize check`: say …"."""
    name, _, words = str(verb.__doc__).splitlines()[0].partition("`: ")
    return name.split()[-1], words.rstrip(".")


def parsed(given: Sequence[str]) -> argparse.Namespace:
    """The arguments; those of a verb may stand before its options, behind and between them."""
    whole = parser()
    verbs = whole._subparsers._group_actions[0].choices if whole._subparsers is not None else None
    own = dict(verbs or {}).get(given[0]) if given else None
    if own is None:
        return whole.parse_args(given)
    found: argparse.Namespace = own.parse_intermixed_args(given[1:])
    return found


def main(argv: Sequence[str] | None = None) -> int:
    """Run the command line; returns the exit status."""
    arguments = parsed(sys.argv[1:] if argv is None else argv)
    if getattr(arguments, "version", False):
        from regularize.version import __version__

        sys.stdout.write(f"regularize {__version__}\n")
        return 0
    if not hasattr(arguments, "run"):
        with streams.prepared():
            sys.stdout.writelines(f"{line}\n" for line in first_steps([*map(_told, VERBS)]))
        return 2
    with streams.prepared():
        return _run(arguments)


def _run(arguments: argparse.Namespace) -> int:
    """Run a verb; whatever goes wrong is one line, and the exit status."""
    status = 2
    try:
        check_named(arguments)
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
