"""Files of closing joints beside a URDF file, which of them is read, and the tolerances in it.

::

    tolerances:
      crank: [0.05mm, 0.1deg]      # of the joint's place and of its axis
      rocker: [5.0e-5, 1.7e-3]     # metres and radians
"""

from __future__ import annotations

import os
import re
from collections.abc import Callable
from dataclasses import dataclass, replace
from pathlib import Path

from regularize._io.input_files import read_bytes
from regularize.adapters.common.names import suggestion
from regularize.adapters.urdf.draft import UrdfDraft
from regularize.errors import ReadError
from regularize.mechanism.diagnostic import Source

#: What only files of a layout with a name of its own have, by that name.
LAYOUTS = {
    "loop_closures.yaml": re.compile(rb"^(?:closures|ball_loops|pin_loops)\s*:", re.M),
    # The list is not empty: the exporter writes ``closing_joints: []`` for trees.
    "robot_data.yaml": re.compile(
        rb"^closing_joints\s*:(?!\s*(?:\[\s*\]|\{\s*\}|null|~)\s*$)", re.M
    ),
}
#: The key that tells a Gepetto file from other YAML files beside a model, at the top level.
GEPETTO = re.compile(rb"^(?:\{\s*)?[\"']?closed_loop[\"']?\s*:", re.M)


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
    for layout, key in LAYOUTS.items():
        places = (folder, os.path.join(folder, ".."), os.path.join(folder, "..", "config"))
        files = (os.path.join(place, layout) for place in places)
        named += [_named(layout, file) for file in files if _has(file, key)][:1]
    model = Path(path)
    names = [model.stem + suffix for suffix in (".yaml", ".yml")]
    if not model.with_name("robot.urdf").exists():
        names += ["robot.yaml", "robot.yml"]
    beside = (os.path.join(folder, name) for name in names)
    found = [_gepetto(file) for file in beside if _has(file, GEPETTO)][:1] + named
    if loops and not found:
        raise ReadError(path, f"no loop description {' or '.join(names)} beside it; name the file")
    return found


def _of_any_layout(path: str) -> LoopFile:
    for layout, key in LAYOUTS.items():
        if _has(path, key):
            return _named(layout, path)
    return _gepetto(path)


def _has(path: str, key: re.Pattern[bytes]) -> bool:
    return os.path.isfile(path) and key.search(read_bytes(path)) is not None


def _named(layout: str, path: str) -> LoopFile:
    from regularize.adapters.urdf.exporters import CLOSE  # where there is such a file

    return LoopFile(path, lambda draft: None, lambda draft: CLOSE[layout](path, draft))


def _gepetto(path: str) -> LoopFile:
    from regularize.adapters.urdf import gepetto  # where there is such a file

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


def add_tolerances(path: str, draft: UrdfDraft) -> None:
    """Give joints the tolerances that a file states.

    Raises:
        ReadError: There is no such joint, or no such unit.
    """
    from regularize.adapters.common.values import read_tolerance  # where there is such a file
    from regularize.adapters.common.yaml_values import read_yaml

    stated = read_yaml(path, "`tolerances:` with the names of joints").members("tolerances")
    for name, value in stated.items():
        if name not in draft.joints:
            raise value.error(f"there is no joint {name!r}{suggestion(name, draft.joints)}")
        draft.joints[name] = replace(draft.joints[name], tolerance=read_tolerance(value))
