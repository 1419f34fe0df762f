"""Files that a verb writes: none of them takes the place of what is read, or of another one."""

from __future__ import annotations

import argparse
import os
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from regularize.errors import ReadError, RegularizeError

if TYPE_CHECKING:
    from regularize.mechanism.mechanism import Mechanism

WAY_OUT = "name another file"


class WouldBeLost(RegularizeError):
    """A file that is read would be written over; the command ends, whatever else it is to do."""


@dataclass(frozen=True)
class Output:
    """A file or folder to write.

    Attributes:
        option: The option that names it.
        path: The file.
        endings: What its name may end in; none: anything.
        model: Whether a model is written, so that another model may be replaced.
    """

    option: str
    path: Path
    endings: tuple[str, ...] = ()
    model: bool = False


class OutputAction(argparse.Action):
    """What an option does that names a file to write: it is noted under ``outputs`` too."""

    def __init__(
        self, *given: Any, endings: tuple[str, ...] = (), model: bool = False, **options: Any
    ) -> None:
        """Keep what is known of the files."""
        super().__init__(*given, **{**options, "type": Path})
        self.endings, self.model = endings, model

    def __call__(
        self,
        parser: argparse.ArgumentParser,
        namespace: argparse.Namespace,
        values: Any,
        option_string: str | None = None,
    ) -> None:
        """Note the file."""
        setattr(namespace, self.dest, values)
        before = [each for each in outputs_of(namespace) if each.option != self.option_strings[0]]
        if values.name:
            before.append(Output(self.option_strings[0], values, self.endings, self.model))
        namespace.outputs = tuple(before)


def outputs_of(arguments: argparse.Namespace) -> tuple[Output, ...]:
    """The files that options name to be written."""
    found: tuple[Output, ...] = getattr(arguments, "outputs", ())
    return found


def check_named(arguments: argparse.Namespace) -> None:
    """Refuse what the command line alone shows to be lost, before any work.

    Raises:
        RegularizeError: A file to write has an ending that it cannot have, is another file to
            write, is a model, or is a file that another option or the command names.
    """
    outputs = outputs_of(arguments)
    for k, output in enumerate(outputs):
        told = f"{output.option} {output.path}"
        if output.endings and output.path.suffix.lower() not in output.endings:
            raise RegularizeError(
                f"{told}: unknown kind of file {output.path.suffix!r} "
                f"(known: {', '.join(output.endings)})"
            )
        for other in outputs[:k]:
            if _same(output.path, other.path):
                raise RegularizeError(f"{told}: is what {other.option} writes too; {WAY_OUT}")
    check_read(outputs, _named(arguments))
    for output in outputs:
        if not output.model and output.path.is_file() and _is_model(output.path):
            raise RegularizeError(
                f"{output.option} {output.path}: is a model, which would be lost; {WAY_OUT}"
            )


def check_read(outputs: Iterable[Output], read: Iterable[str]) -> None:
    """Refuse to write in the place of a file that is read.

    Raises:
        WouldBeLost: A file to write is one of these.
    """
    files = [*dict.fromkeys(read)]
    for output in outputs:
        for file in files if output.path.is_file() else ():
            if _same(output.path, Path(file)):
                raise WouldBeLost(
                    f"{output.option} {output.path}: is read, and would be lost; {WAY_OUT}"
                )


def files_of(mechanism: Mechanism, outputs: Sequence[Output] = ()) -> Iterator[str]:
    """The files that a model was read from, with those files of shapes named as outputs are."""
    yield from (*([mechanism.path] if mechanism.path else ()), *mechanism.files)
    names = {output.path.name for output in outputs}
    for shape in (shape for body in mechanism.bodies for shape in body.geometry):
        if shape.uri is not None and Path(shape.uri).name in names:
            from regularize.shapes.meshes import find_mesh

            try:
                yield str(find_mesh(shape.uri, mechanism.path))
            except ReadError:  # said where it is drawn
                continue


def _named(arguments: argparse.Namespace) -> Iterator[str]:
    """Files that are there and that the command line names, but not as outputs."""
    written = {id(output.path) for output in outputs_of(arguments)}
    for name, value in vars(arguments).items():
        if name == "baseline" and arguments.write_baseline is not None:
            continue  # it is brought up to date in its place
        for each in value if isinstance(value, list) else [value]:
            if isinstance(each, (str, Path)) and id(each) not in written:
                yield from (part for part in (str(each), str(each).rpartition("=")[2]) if part)


def _same(one: Path, two: Path) -> bool:
    """Whether two names lead to one file, or to one place where none is yet."""
    try:
        return os.path.samefile(one, two)
    except (OSError, ValueError):
        return os.path.realpath(one) == os.path.realpath(two)


def _is_model(path: Path) -> bool:
    """Whether a file begins as models do."""
    from regularize.adapters.reading import by_content

    return bool(by_content(str(path)))
