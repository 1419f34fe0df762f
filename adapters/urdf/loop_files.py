"""Files of closing joints beside a URDF file, and which of them is read."""

from __future__ import annotations

import os
import re
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from regularize.adapters.urdf import gepetto, loop_closures, robot_data
from regularize.adapters.urdf.draft import UrdfDraft
from regularize.errors import ReadError
from regularize.input_files import read_bytes
from regularize.model.diagnostic import Source

#: Layouts with a name of their own, which are looked for in the whole package.
NAMED = (loop_closures, robot_data)


@dataclass(frozen=True)
class LoopFile:
    """A file of closing joints.

    Attributes:
        path: The file.
        retype: Changes joints of the tree, before it is known which of them close loops.
        close: Adds the closing joints.
    """

    path: str
    retype: Callable[[UrdfDraft], None]
    close: Callable[[UrdfDraft], None]


def find(path: str, loops: str | os.PathLike[str] | bool | None) -> list[LoopFile]:
    """The files that describe the loops of a URDF file, the one that is read first.

    Args:
        path: The URDF file.
        loops: The file; None or True to look for the layouts with a name of their own in the
            package, and for a Gepetto file beside the model: one of its name, or ``robot.yaml`` if
            the directory has no ``robot.urdf`` that it belongs to; False for none.

    Raises:
        ReadError: The file is not of any layout, or there is none although ``loops`` is True.
    """
    if loops is False:
        return []
    if loops is not None and not isinstance(loops, bool):
        return [_of_any_layout(os.fspath(loops))]
    folder = os.path.dirname(path)
    named = []
    for layout in NAMED:
        places = (folder, os.path.join(folder, ".."), os.path.join(folder, "..", "config"))
        files = (os.path.join(place, layout.NAME) for place in places)
        named += [_named(layout.close, file) for file in files if _has(file, layout.KEY)][:1]
    model = Path(path)
    names = [model.stem + suffix for suffix in (".yaml", ".yml")]
    if not model.with_name("robot.urdf").exists():
        names += ["robot.yaml", "robot.yml"]
    beside = (os.path.join(folder, name) for name in names)
    found = [_gepetto(file) for file in beside if _has(file, gepetto.KEY)][:1] + named
    if loops and not found:
        raise ReadError(path, f"no loop description {' or '.join(names)} beside it; name the file")
    return found


def _of_any_layout(path: str) -> LoopFile:
    for layout in NAMED:
        if _has(path, layout.KEY):
            return _named(layout.close, path)
    return _gepetto(path)


def _has(path: str, key: re.Pattern[bytes]) -> bool:
    return os.path.isfile(path) and key.search(read_bytes(path)) is not None


def _named(close: Callable[[str, UrdfDraft], None], path: str) -> LoopFile:
    return LoopFile(path, lambda draft: None, lambda draft: close(path, draft))


def _gepetto(path: str) -> LoopFile:
    content = gepetto.parse(path)
    return LoopFile(
        path,
        lambda draft: gepetto.retype(content, draft),
        lambda draft: gepetto.close(content, draft),
    )


def report_unread(files: list[LoopFile], draft: UrdfDraft) -> None:
    """Warn of files of closing joints beside the first one, which is read."""
    for file in files[1:]:
        draft.unread(
            f"`{os.path.basename(file.path)}` lists closing joints too, and is not read: "
            f"`{os.path.basename(files[0].path)}` is",
            Source(file.path),
            "name the file that counts with --loops",
        )
