"""The command line; it ends with 0, 1 on findings, 2 on wrong usage, 130 or 143 where stopped."""

from __future__ import annotations

import argparse
import os
import re
import sys
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack, redirect_stdout
from typing import Any, NamedTuple, NoReturn

import regularize.adapters.common.console as streams
from regularize.adapters.common.console import working
from regularize.commands import check, reference, simulate, verify, writing
from regularize.commands.files import check_named
from regularize.commands.options import listed_in_columns, width, with_commas, wrapped
from regularize.errors import MissingPinocchio, RegularizeError
from regularize.escape import did_you_mean, displayed
from regularize.services import present


class Verb(NamedTuple):
    """A verb of the command line: its description, and functions for its options and work."""

    words: str
    add: Callable[[argparse.ArgumentParser], None]
    run: Callable[[argparse.Namespace], int]


#: Verbs with the module of each, or the guest that brings it along, and what it does.
_TABLE: tuple[tuple[str, Any, str], ...] = (
    ("check", check, "say which loop constraints are redundant, and why"),
    ("show", simulate, "look at a mechanism in 3D, with its loops, axes and redundant directions"),
    ("fix", writing, "change joints in your own model file, and nothing else in it"),
    ("reduce", writing, "write the model with independent constraints, for a simulation"),
    ("export", writing, "write a model in another format"),
    ("explain", reference, "what a diagnostic code means and what to do about it"),
    ("motors", "actuation", "motors that drive joints through loops: map, twin, states, gains"),
    ("simulate", simulate, "let the mechanism move on its reduced constraints"),
    ("solve", "modes", "all ways to assemble the loops for given inputs, and the formulas as code"),
    ("workspace", "design", "map where a mechanism can go, and how far it is from singularities"),
    ("verify", verify, "check a proof that rows can never matter, without trusting who wrote it"),
    ("actuate", "actuation", "`motors map`: the map from motors to joints, as code"),
    ("twin", "actuation", "`motors twin`: the model without loops, driven through that map"),
    ("states", "actuation", "`motors states`: configurations with closed loops, for resets"),
    ("gains", "actuation", "`motors gains`: torques, speeds and gains at the joints"),
    ("metamodel", "design", "interpolate the dynamics in actuator coordinates for a controller"),
    ("lsp", "editor", "serve editors: findings while you type, and the repair as a quick fix"),
    ("formats", reference, "what can be read and written, and what computes dynamics"),
    ("completion", reference, "print what lets a shell complete verbs, options and file names"),
)
#: Verbs that the help shows; the others stand under ``--help-all``.
FRONT = 10
#: Words of ``regularize motors`` and the verbs that they stand for.
MOTORS = {"map": "actuate", "twin": "twin", "states": "states", "gains": "gains"}


def _verbs() -> Iterator[tuple[str, Verb]]:
    """Yield the verbs that are installed; modules of several have ``add_VERB``, ``run_VERB``."""
    for name, home, words in _TABLE:
        if isinstance(home, str):
            home = next(present(f"{home}.{name}_command", f"{home}.commands", home), None)
        if home is not None and name != "motors":
            add = getattr(home, f"add_{name}", None) or home.add
            run = getattr(home, f"run_{name}", None) or home.run
            yield name, Verb(words, add, run)
        elif home is not None:
            yield name, Verb(words, _add_motors, _run_motors)


def _add_motors(parser: argparse.ArgumentParser) -> None:
    """Add the verbs on motors to a parser of their own."""
    parser.set_defaults(shown=parser)
    subparsers = parser.add_subparsers(metavar="WHAT")
    for name, verb in MOTORS.items():
        own = subparsers.add_parser(name, help=VERBS[verb].words.partition(": ")[2])
        own.set_defaults(run=VERBS[verb].run, called=verb)
        VERBS[verb].add(own)
        _add_quiet(own)


def _add_quiet(parser: argparse.ArgumentParser) -> None:
    """Add --quiet to a verb that does something to a model, unless it has its own."""
    if any(action.dest == "file" for action in parser._actions):
        words = "print no summary; findings are told all the same"
        parser.add_argument("-q", "--quiet", action="store_true", help=words, dest="silent")


def _run_motors(arguments: argparse.Namespace) -> int:
    """Print what there is to choose from."""
    arguments.shown.print_help()
    return 2


VERBS = dict(_verbs())
#: Those that work until they are told to stop.
SERVERS = ("lsp",)
#: What people come for, and what they type.
STEPS = (
    ("look at a model: what is redundant, what moves", "regularize check MODEL"),
    ("see it move, as a page that needs no network", "regularize show MODEL -o model.html"),
    ("your own file made isostatic, nothing else changed", "regularize fix MODEL --diff"),
    ("the words behind a finding, in your file's dialect", "regularize explain REG201 MODEL"),
    ("let it move, without drift or tuning", "regularize simulate MODEL --duration 5s"),
    ("a platform's reach and singularities", "regularize workspace MODEL --pose BODY --over x,y"),
    ("another format, read back and compared", "regularize export MODEL --to mjcf -o model.xml"),
)


class Parser(argparse.ArgumentParser):
    """A parser whose errors are one line and suggest the word that may have been meant."""

    def __init__(self, *arguments: Any, **options: Any) -> None:
        """Accept values that are negative and have units, such as ``-30deg``."""
        super().__init__(*arguments, **options)
        self._negative_number_matcher = re.compile(r"^-(\d|\.\d)")
        self.formatter_class = _formatter
        words = "show the rarer verbs and options too"
        self.add_argument("--help-all", action="help", help=words)

    def error(self, message: str) -> NoReturn:
        """Print what is wrong in one line and leave with status 2."""
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
    """Return the parser with all verbs."""
    result = Parser(
        prog="regularize",
        description="Find, explain and remove redundant loop constraints of closed kinematic "
        "chains.",
    )
    result.add_argument("--version", action="store_true", help="print the version and leave")
    subparsers = result.add_subparsers(metavar="VERB")
    for name, verb in VERBS.items():
        own = subparsers.add_parser(name, help=verb.words)
        own.set_defaults(run=verb.run, called=name)
        verb.add(own)
        _add_quiet(own)
    own.set_defaults(whole=result)  # of completion, which is the last
    return result


def parsed(given: Sequence[str]) -> argparse.Namespace:
    """Parse the arguments; positional ones may stand between options."""
    own, rest = parser(), [*given]
    if "--help-all" not in rest:
        del own._subparsers._group_actions[0]._choices_actions[FRONT:]  # type: ignore[union-attr]
    while own._subparsers is not None:
        verbs: dict[str, Parser] = dict(own._subparsers._group_actions[0].choices or {})
        if not rest or rest[0] not in verbs:
            return own.parse_args(rest)
        own, rest = verbs[rest[0]], rest[1:]
    for action in (a for g in own._action_groups for a in getattr(g, "rare", ())):
        action.help = action.help if "--help-all" in rest else argparse.SUPPRESS
    if "--" in rest:  # files follow, whatever they are called
        place = rest.index("--")
        rest[place:] = [f"./{word}" if word.startswith("-") else word for word in rest[place + 1 :]]
    found: argparse.Namespace = own.parse_intermixed_args(with_commas(rest, own))
    return found


def main(argv: Sequence[str] | None = None) -> int:
    """Run the command line; return the exit status."""
    began = streams.BEGAN if argv is None else time.perf_counter()
    arguments = parsed(sys.argv[1:] if argv is None else argv)
    arguments.began = began
    if getattr(arguments, "version", False) or not hasattr(arguments, "run"):
        arguments.run, arguments.called = _introduce, ""
    with streams.prepared():
        return _run(arguments)


def _introduce(arguments: argparse.Namespace) -> int:
    """Print the version where it is asked for, else the first steps, which are no use."""
    if arguments.version:
        from regularize.version import __version__

        sys.stdout.write(f"regularize {__version__}\n")
        return 0
    sys.stdout.writelines(f"{line}\n" for line in first_steps())
    return 2


def _run(arguments: argparse.Namespace) -> int:
    """Run a verb; report whatever goes wrong in one line."""
    status = 2
    try:
        check_named(arguments)
        with ExitStack() as stack:
            if getattr(arguments, "silent", False):
                nowhere = stack.enter_context(open(os.devnull, "w", encoding="utf-8"))
                stack.enter_context(redirect_stdout(nowhere))
            if not (getattr(arguments, "watch", False) or arguments.called in SERVERS):
                stack.enter_context(working(f"regularize {arguments.called}"))
            status = int(arguments.run(arguments))
            if streams.INTERRUPTED.is_set():  # and a library has kept it to itself
                raise KeyboardInterrupt
        if not getattr(arguments, "complete", True):  # what was done holds for a part of the model
            status = status or int(getattr(arguments, "fail_on", "warning") == "warning")
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
        streams.release(sys.stdout)
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
        if streams.INTERRUPTED.is_set():
            reason, status = "interrupted", 130
    sys.stderr.write(f"regularize: {displayed(reason)}\n")
    return status


def first_steps() -> Iterator[str]:
    """Yield lines that fit the terminal: the first steps, then all verbs with descriptions."""
    yield wrapped("regularize finds, explains and removes redundant constraints of loops.\n")
    yield wrapped("What people do first, with any MODEL (URDF, SDF, MJCF, USD, FreeCAD …):\n")
    yield from (f"  {line}\n      {words}" for words, line in STEPS)
    yield "\nIn Python:\n  import regularize as rg\n  print(rg.check('MODEL'))\n"
    yield "Verbs; `regularize VERB --help` has their options:\n"
    verbs = [(f"  {name}", verb.words) for name, verb in VERBS.items()]
    yield from listed_in_columns(verbs[:FRONT])
    rest = ", ".join(name for name, _ in verbs[FRONT:]).replace("  ", "")
    yield from wrapped(f"more ({rest}): regularize --help-all", "    ", "  ").split("\n")
