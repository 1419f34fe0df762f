"""Files that the verbs share; what is written takes the place of nothing that is read."""

from __future__ import annotations

import argparse
import glob
import math
import os
import sys
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from regularize.commands.options import KINDS, option, options
from regularize.errors import ReadError, RegularizeError

if TYPE_CHECKING:
    from regularize.adapters.repository import Repository
    from regularize.mechanism.diagnostic import Diagnostic
    from regularize.mechanism.mechanism import Mechanism

WAY_OUT = "name another file"


class WouldBeLost(RegularizeError):
    """A file that is read would be written over; the command ends, whatever else it is to do."""


@dataclass(frozen=True)
class Output:
    """A file or folder to write, and the option that names it."""

    option: str
    path: Path
    endings: tuple[str, ...] = ()
    model: bool = False

    def __str__(self) -> str:
        """Return the argument."""
        return f"{self.option} {self.path}"


class OutputAction(argparse.Action):
    """Stores the path of a file to write, and adds it to ``outputs`` of the arguments."""

    def __init__(
        self, *given: Any, endings: tuple[str, ...] = (), model: bool = False, **options: Any
    ) -> None:
        """Keep the endings that the file may have, and whether it is a model."""
        super().__init__(*given, **{**options, "type": Path})
        self.endings, self.model = endings, model

    def __call__(
        self,
        parser: argparse.ArgumentParser,
        namespace: argparse.Namespace,
        values: Any,
        option_string: str | None = None,
    ) -> None:
        """Store the file."""
        setattr(namespace, self.dest, values)
        outputs = [o for o in outputs_of(namespace) if o.option != self.option_strings[0]]
        if values.name:
            outputs.append(Output(self.option_strings[0], values, self.endings, self.model))
        namespace.outputs = tuple(outputs)


KINDS["output"] = {"action": OutputAction}


def outputs_of(arguments: argparse.Namespace) -> tuple[Output, ...]:
    """Return the files to write that options name."""
    found: tuple[Output, ...] = getattr(arguments, "outputs", ())
    return found


def check_named(arguments: argparse.Namespace) -> None:
    """Refuse, before any work, to write over a file that the command line names otherwise."""
    for name in ("file", "model", "loops"):  # what printed commands cut
        if glob.has_magic(word := str(getattr(arguments, name, None) or "")):
            found, _ = expanded([word])
            if len(found) > 1:
                raise RegularizeError(f"{word}: {len(found)} files match the pattern; name one")
            setattr(arguments, name, found[0])
    outputs = outputs_of(arguments)
    for k, output in enumerate(outputs):
        if output.endings and output.path.suffix.lower() not in output.endings:
            raise RegularizeError(
                f"{output}: unknown kind of file {output.path.suffix!r} "
                f"(known: {', '.join(output.endings)})"
            )
        for other in outputs[:k]:
            if _same(output.path, other.path):
                raise RegularizeError(f"{output}: is what {other.option} writes too; {WAY_OUT}")
    check_read(outputs, _files_named(arguments))
    for output in outputs:
        if not output.model and output.path.is_file() and _is_model(output.path):
            raise RegularizeError(f"{output}: is a model, which would be lost; {WAY_OUT}")


def check_read(outputs: Iterable[Output], read: Iterable[str]) -> None:
    """Refuse to write over a file that is read; raises ``WouldBeLost``."""
    files = [*dict.fromkeys(read)]
    for output in outputs:
        for file in files if output.path.is_file() else ():
            if _same(output.path, Path(file)):
                raise WouldBeLost(f"{output}: is read, and would be lost; {WAY_OUT}")


def files_of(mechanism: Mechanism, outputs: Sequence[Output] = ()) -> Iterator[str]:
    """Yield the files of a model, and shape files that are named as outputs are."""
    yield from (*([mechanism.path] if mechanism.path else ()), *mechanism.files)
    names = {output.path.name for output in outputs}
    for shape in (shape for body in mechanism.bodies for shape in body.geometry):
        if shape.uri is not None and Path(shape.uri).name in names:
            from regularize.adapters.shapes.meshes import find_mesh

            try:
                yield str(find_mesh(shape.uri, mechanism.path))
            except ReadError:  # said where it is drawn
                continue


def _files_named(arguments: argparse.Namespace) -> Iterator[str]:
    """Yield existing files that the command line names, but not as outputs."""
    written = {id(output.path) for output in outputs_of(arguments)}
    for name, value in vars(arguments).items():
        if name == "baseline" and arguments.write_baseline is not None:
            continue  # it is brought up to date in its place
        for each in value if isinstance(value, list) else [value]:
            if isinstance(each, (str, Path)) and id(each) not in written:
                yield from (part for part in (str(each), str(each).rpartition("=")[2]) if part)


def _same(one: Path, two: Path) -> bool:
    """Return whether two names lead to one file, or to one place where none is yet."""
    try:
        return os.path.samefile(one, two)
    except (OSError, ValueError):
        return os.path.realpath(one) == os.path.realpath(two)


def _is_model(path: Path) -> bool:
    """Return whether a file begins as models do."""
    from regularize.adapters.reading import by_content

    return bool(by_content(str(path)))


READ = "how the model is read"
READING = """
--format FORMAT  format of the model (default: by its content)
--loops SIDECAR  file that describes the loops
--floating  free the root from the ground
--keyframe NAME  reference pose of an MJCF model
--as-written  take the numbers literally, and not for what they were rounded from
--package NAME=PATH …  folder of a ROS package that the model names; may be given several
    times
"""
COMPLETING = """
--close NAMES  close loops between frames that are named so: '*_1=*_2:ball'
--absorb-gaps  where loops stay open in redundant directions, move joint frames as little as closes
    them
--density [BODY=]KG_M3 …  mass properties from shapes of this density where the model states none
    and gives no material; for one body or for all others; may be given several times
--as-designed  take the nearest mechanism that moves more freely, however precise the numbers are
"""
BRANCH = """
--branch N:int  begin on the Nth of the components of motion that meet at the assembled pose
"""
NO_MESHES = "--no-meshes  draw bars in the place of files of shapes"


def add_model(parser: argparse.ArgumentParser) -> None:
    """Add the model and the options on how to read it."""
    option(parser, "file MODEL", "model file, or its folder")
    add_model_options(parser)


def add_reading_options(parser: argparse.ArgumentParser) -> None:
    """Add the options on how to read a file."""
    options(reading_group(parser), READING)


def add_model_options(parser: argparse.ArgumentParser) -> None:
    """Add the options on how to read and complete a model."""
    options(reading_group(parser), READING + COMPLETING)


def reading_group(parser: argparse.ArgumentParser) -> Any:
    """Return the group of options on how a model is read, which only `check --help` shows."""
    if parser.prog.endswith(" check"):
        return parser.add_argument_group(READ)
    words = "--format, --loops, --floating, --close and others: see regularize check --help"
    group: Any = parser.add_argument_group(READ, words)
    group.rare = group._group_actions
    return group


def reading_options(arguments: argparse.Namespace) -> dict[str, Any]:
    """Return the options of the reader that were set on the command line."""
    names = ("format", "loops", "close", "keyframe")
    found = {name: getattr(arguments, name, None) for name in names}
    found["floating"] = arguments.floating or None
    found["reading"] = "written" if arguments.as_written else None
    found["packages"] = _packages(arguments.package) or None
    return {name: value for name, value in found.items() if value is not None}


def reads_model(arguments: argparse.Namespace) -> bool:
    """Return whether an option on reading or completing a model was given."""
    completed = (arguments.absorb_gaps, arguments.as_designed, arguments.density)
    return bool(reading_options(arguments)) or any(completed)


def add_engine(parser: argparse._ActionsContainer, words: str) -> None:
    """Add the option that names an engine."""
    told = f"{words}: mujoco, mjlab, newton, kamino, steel, drake, pinocchio, gazebo, isaac"
    option(parser, "--for ENGINE", f"{told} (the format's first)", dest="engine")


def add_fail_on(parser: argparse._ActionsContainer, default: str | None = "warning") -> None:
    """Add the option on which findings give exit status 1."""
    words = "lowest severity of findings that gives exit status 1: error, warning, never (warning)"
    severities = ("error", "warning", "never")
    option(parser, "--fail-on SEVERITY", words, choices=severities, default=default)


def report_findings(findings: Iterable[Diagnostic], fail_on: str) -> int:
    """Print findings to standard error, alike ones together; return the exit status."""
    from regularize.words import gathered  # with NumPy, which ``--version`` must not load

    findings = list(findings)
    lines = (f"{f.severity}[{f.code}]: {f.message}" for f in findings)
    sys.stderr.writelines(f"{line}\n" for line in gathered(lines))
    counted = {"error": ("error",), "warning": ("error", "warning")}.get(fail_on, ())
    return int(any(finding.severity in counted for finding in findings))


def load_model(file: str, arguments: argparse.Namespace, *, quiet: bool = False) -> Mechanism:
    """Read the model as the options ask; print what is not read and how loops were closed."""
    from regularize.files import load

    mechanism = load(
        sys.stdin.buffer.read() if file == "-" else file,  # a model may be piped in
        absorb_gaps=arguments.absorb_gaps,
        as_designed=arguments.as_designed,
        **reading_options(arguments),
    )
    outputs = outputs_of(arguments)
    check_read(outputs, files_of(mechanism, outputs))
    arguments.complete = quiet or mechanism.complete
    if not quiet:
        found = mechanism.findings
        unread = (f for f in found if f.unread or (f.code, f.severity) == ("REG013", "warning"))
        report_findings(unread, "never")
    if arguments.absorb_gaps and not quiet:
        closing = [f for f in mechanism.findings if f.code in ("REG225", "REG226", "REG229")]
        report_findings(closing, "never")
        sys.stderr.writelines(f"  {line}\n" for f in closing for line in f.help)
    if getattr(arguments, "branch", None) is not None:
        from regularize.reduction.reduce import on_branch

        mechanism = on_branch(mechanism, arguments.branch)
    if not arguments.density:
        return mechanism
    from regularize.adapters.shapes.density import with_density

    return with_density(mechanism, _densities(arguments.density))


def _densities(entries: Sequence[str]) -> dict[str, float]:
    """Read ``--density`` entries by body; an empty name stands for all others."""
    found: dict[str, float] = {}
    for entry in entries:
        name, separator, text = entry.rpartition("=")
        try:
            value = float(text)
        except ValueError:
            value = math.nan
        if not (math.isfinite(value) and value > 0.0) or (separator and not name):
            raise RegularizeError(
                f"--density {entry}: expected a positive number of kg/m³, as --density 7850 or "
                "--density BODY=7850"
            )
        if name in found:
            raise RegularizeError(f"--density {entry}: that of {name or 'all'} is given already")
        found[name] = value
    return found


def _packages(entries: Sequence[str]) -> dict[str, str]:
    """Read ``--package`` entries: folders by package name."""
    found = {}
    for entry in entries:
        name, _, folder = entry.partition("=")
        if not name or not os.path.isdir(folder):
            raise RegularizeError(
                f"--package {entry}: expected NAME=PATH, the name of a package and its folder"
            )
        found[name] = folder
    return found


def expanded(files: Sequence[str]) -> tuple[list[str], list[Repository]]:
    """Expand folders and patterns such as ``models/**/*.urdf`` to files."""
    found: dict[str, None] = {}
    folders = []
    for file in files:
        if glob.has_magic(file) and not os.path.exists(file):
            matches = sorted(glob.glob(file, recursive=True))
            if not matches:
                raise RegularizeError(f"{file}: no file matches the pattern")
            found.update(dict.fromkeys(matches))
        elif os.path.isdir(file):
            from regularize.adapters.repository import repository  # formats and their files

            folders.append(repository(file))
            found.update(dict.fromkeys(folders[-1].models))
        else:
            found[file] = None
    return list(found), folders
