"""Files of closing joints beside a URDF file, and which of them is read."""

from __future__ import annotations

import os
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from regularize.adapters.urdf import loop_closures as loop_closures
from regularize.adapters.urdf import robot_data as robot_data
from regularize.adapters.urdf.draft import UrdfDraft
from regularize.model.diagnostic import Source

LAYOUTS = (
    (loop_closures.NAME, loop_closures.KEY, loop_closures.close),
    (robot_data.NAME, robot_data.KEY, robot_data.close),
)


@dataclass(frozen=True)
class LoopFile:
    """A file of closing joints.

    Attributes:
        path: The file.
        close: Adds its joints to a model.
    """

    path: str
    close: Callable[[str, UrdfDraft], None]


def find(path: str, loops: str | os.PathLike[str] | bool | None) -> list[LoopFile]:
    """The files that belong to a URDF file: the one named, or those in its package."""
    if loops is False:
        return []
    if loops is not None and not isinstance(loops, bool):
        return _named(os.fspath(loops))
    folder = os.path.dirname(path)
    found = []
    for name, key, close in LAYOUTS:
        for place in (folder, os.path.join(folder, ".."), os.path.join(folder, "..", "config")):
            candidate = Path(place, name)
            if candidate.is_file() and key.search(candidate.read_bytes()):
                found.append(LoopFile(os.path.join(place, name), close))
                break
    return found


def _named(path: str) -> list[LoopFile]:
    if not os.path.isfile(path):
        return []
    content = Path(path).read_bytes()
    return [LoopFile(path, close) for _, key, close in LAYOUTS if key.search(content)][:1]


def report_unread(files: list[LoopFile], read: list[str], draft: UrdfDraft) -> None:
    """Warn of files of closing joints beside the one that is read."""
    for file in files:
        draft.warn(
            "REG013",
            f"`{os.path.basename(file.path)}` lists closing joints too, and is not read: "
            f"`{os.path.basename(read[0])}` is",
            Source(file.path),
            "name the file that counts with --loops",
        )
