"""`regularize check`: say which loop constraints are redundant, and why."""

from __future__ import annotations

import argparse
import sys

from regularize.adapters.common.console import write_json
from regularize.commands.files import BRANCH, NO_MESHES, add_engine, add_fail_on, add_model_options
from regularize.commands.options import KINDS, length, option, options, positive
from regularize.errors import RegularizeError
from regularize.escape import displayed
from regularize.output_files import write_file

OUTPUTS = ("text", "concise", "json", "jsonl", "sarif", "github", "html")
JSON_FORMS = ("json", "jsonl", "sarif")

REPORT = f"""
--output FORM:{"|".join(OUTPUTS)}=text  form of the report: {", ".join(OUTPUTS)} (text)
--json  the same as --output json
-o FILE:output  write it to a file (html of several models: a folder)
--proof FILE:output  write why rows can go, for `regularize verify`
--watch  check again when a file changes, until Ctrl-C
"""
AMOUNT = """
--top N:count  loops shown in full (as many as fit into 60 lines)
--color WHEN:auto|always|never=auto  colours of the text: auto, always, never (auto)
"""
ONLY = """
--only FORMAT  pass over files whose content is no model of this format, as hooks need that are
    given all XML files
"""
FINDINGS = """
--select CODES:codes  report only these; codes or their beginnings, such as REG2,REG104
--ignore CODES:codes  leave these out; codes or their beginnings, such as REG2,REG104
--baseline FILE:path  leave out what was known before
--write-baseline FILE:output  write what is known now
--config FILE:path  configuration (default: the nearest regularize.toml or pyproject.toml)
"""
ANALYSIS = """
--rtol RTOL:positive  tolerance of ranks and geometry (1e-5)
--near NEAR:positive  tolerance of nearly special loops (5e-3)
--length-scale M:size  size to scale lengths by: 0.5, 500mm
--keep-cuts  cut loops where the file closes them
--everywhere  keep rows that are redundant only up to flat parallelograms and singular poses
--configurations N:count  configurations to certify (50)
--seed SEED:count=0  seed of random configurations (0)
--tolerance T,R|TABLE|file:several  how far joints are off: gives the misfit in redundant
    directions; for all joints as 0.05mm,0.1deg, or a CSV, JSON or YAML file with joint,
    translation, rotation; `file`, the default, for what the model itself states; or several of
    these
--stiffness T,R|TABLE:several  of the joints: gives the forces that the misfit causes; for all
    joints as 50N/um,2000Nm/rad, or a CSV, JSON or YAML file with joint, translation, rotation; or
    several of these
-j --jobs N:some  models checked at a time
"""


def add(parser: argparse.ArgumentParser) -> None:
    """Add the options of the verb."""
    parser.epilog = (
        "exit status: 0 nothing at or above --fail-on, 1 findings or an unreadable model in a "
        "folder, 2 wrong usage or unreadable input"
    )
    words = "model file, pattern, or folder with any number of models"
    option(parser, "files FILE", words, nargs="+")
    group = parser.add_argument_group("report")
    options(group, REPORT)
    detail = group.add_mutually_exclusive_group()
    option(detail, "-v --verbose", "every loop by itself")
    option(detail, "-q --quiet", "the verdict alone")
    options(group, AMOUNT)
    options(group, NO_MESHES)
    group = parser.add_argument_group("findings")
    add_fail_on(group, default=None)
    options(group, FINDINGS)
    group = parser.add_argument_group("analysis")
    options(group, BRANCH)
    options(group, ANALYSIS)
    add_model_options(parser)
    options(parser, ONLY)
    add_engine(group, "whose kinds of joints are proposed")
    words = "largest force that a joint may bear by lack of fit, as 200N: it binds or it fits"
    option(group, "--limit FORCE", words, dest="load_limit")


def size(text: str) -> float:
    """Read a positive length from the command line."""
    return positive(repr(length(text)))


def codes(text: str) -> tuple[str, ...]:
    """Read codes or their beginnings, separated by commas."""
    from regularize.report import rules

    found = tuple(part.strip().upper() for part in text.split(",") if part.strip())
    for part in found:
        if not any(code.startswith(part) for code in rules.codes()):
            raise argparse.ArgumentTypeError(
                f"no code begins with {part!r}; `regularize explain` lists all codes"
            )
    return found


KINDS["size"] = {"type": size}
KINDS["codes"] = {"type": codes, "default": [], "action": "extend"}
KINDS["several"] = {"action": "append"}


def run(arguments: argparse.Namespace) -> int:
    """Check all files; return 2 if one cannot be read, 1 if one has findings, else 0."""
    status, files = _once(arguments)
    if not arguments.watch:
        return status
    from regularize.adapters.common.input_files import changes

    for changed in changes(lambda: files):
        sys.stderr.write(f"regularize: changed: {displayed(', '.join(changed))}\n")
        files[:] = _once(arguments)[1]
    return status


def _once(arguments: argparse.Namespace) -> tuple[int, list[str]]:
    """Check all files once; return the status and the files that were read."""
    from regularize.commands.checking import Checking
    from regularize.commands.files import expanded
    from regularize.report.suppression import baseline

    if arguments.json:
        arguments.output = "json"
    paths, folders = expanded(arguments.files)
    if arguments.only is not None:
        from regularize.adapters.repository import of_format

        paths = of_format(paths, arguments.only)
        if not paths:
            return 0, []
    if arguments.proof is not None and len(paths) > 1:
        raise RegularizeError("--proof FILE holds the proof of one model: check one at a time")
    checking = Checking.of(arguments, folders, single=len(paths) == 1)
    if arguments.output == "html" and len(paths) > 1 and arguments.out is None:
        raise RegularizeError("html reports of several models need a folder: add -o FOLDER")
    outcomes = checking.outcomes(paths)
    for outcome in outcomes:
        if outcome.line.error is not None:
            sys.stderr.write(f"regularize: {outcome.line.error}\n")
    files = checking.compose(outcomes)
    for path, text in files.items():
        if path is None:
            (write_json if arguments.output in JSON_FORMS else sys.stdout.write)(text)
        else:
            write_file(path, text)
    if arguments.write_baseline is not None:
        entries = [entry for outcome in outcomes for entry in outcome.known]
        write_file(arguments.write_baseline, baseline(entries))
    read = [file for outcome in outcomes for file in outcome.files]
    return max(outcome.status for outcome in outcomes), read
