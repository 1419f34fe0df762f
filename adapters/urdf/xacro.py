"""xacro files, expanded by xacro with ``xacrodoc``'s search for packages, and read as URDF.

A xacro file is a program: it is run in a process of its own, with limits, and its expressions are
looked at before they are evaluated (``xacro_process``).
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Mapping
from pathlib import Path

import xacrodoc

from regularize._io.packages import Packages
from regularize.adapters.common.edits import EditedText
from regularize.adapters.common.names import listed
from regularize.adapters.common.validation import with_external_files
from regularize.adapters.common.xml import XmlDocument
from regularize.adapters.urdf.read import read_root
from regularize.adapters.urdf.xacro_source import callers, reached, source_of
from regularize.errors import ReadError
from regularize.mechanism.mechanism import Mechanism

#: Seconds that a file may take by the clock; of the processor's it has fewer.
SECONDS = 120
#: How to name a package that is not found.
WHERE = "say where it is: --package NAME=PATH, or packages={NAME: PATH}"
#: What expands, beside this module.
PROCESS = Path(__file__).with_name("xacro_process.py")
assert xacrodoc  # so that a missing one is known here


def read(
    path: str,
    *,
    arguments: Mapping[str, str] | None = None,
    floating: bool = False,
    loops: str | os.PathLike[str] | bool | None = None,
    close: str | None = None,
    packages: Mapping[str, str | os.PathLike[str]] | None = None,
) -> Mechanism:
    """Expand a xacro file and read the result as URDF.

    Lines in findings and errors are those of the expanded text.

    Args:
        path: The file.
        arguments: Values of its ``xacro:arg`` arguments.
        floating: As of the URDF reader.
        loops: As of the URDF reader.
        close: As of the URDF reader.
        packages: Folders of packages by name; others are looked for above the file, and where ROS
            has them.

    Raises:
        ReadError: xacro cannot expand the file, or the result is not URDF.
    """
    text, included = _expanded(path, dict(arguments or {}), packages or {})
    root = XmlDocument(EditedText(path, text, "utf-8")).root
    if root.tag == "robot" and not root.children("link"):
        _explain_emptiness(path)
    mechanism = read_root(root, path, format="xacro", floating=floating, loops=loops, close=close)
    return with_external_files(mechanism, included)


def _explain_emptiness(path: str) -> None:
    """Say of a file of macros alone which it defines, and who calls them.

    Raises:
        ReadError: It defines macros.
    """
    source = source_of(Path(path))
    if not source.macros:
        return
    named = listed([os.path.relpath(f, Path(path).parent) for f in callers(source)])
    where = f"; {named} calls it: check that file" if named else "; check the file that calls them"
    raise ReadError(path, f"makes no link: it defines {source.defined} for other files{where}")


def _expanded(
    path: str, arguments: dict[str, str], packages: Mapping[str, str | os.PathLike[str]]
) -> tuple[str, list[str]]:
    """The expanded text, and the files that it includes."""
    given = {name: Path(folder).resolve() for name, folder in packages.items()}
    near = Packages(Path(path), given=given)
    sources = reached(Path(path), near)
    asked_for = {name: near.find(name) for each in sources for name in each.packages}
    if any(each.computes for each in sources):  # the name of a package, which may be any of them
        asked_for = {**near.every(), **asked_for}
    asked = {
        "path": path,
        "arguments": arguments,
        "packages": {name: str(folder) for name, folder in asked_for.items() if folder},
        "modules": sys.path,
    }
    question, command = json.dumps(asked).encode(), [sys.executable, "-IS", str(PROCESS)]
    try:
        run = subprocess.run(command, input=question, capture_output=True, timeout=SECONDS)
        answer = json.loads(run.stdout)
    except (ValueError, subprocess.TimeoutExpired):
        raise ReadError(
            path, "xacro takes more time or memory than it may to expand it; look for endless loops"
        ) from None
    if "error" in answer:
        reason = " ".join(answer["error"].split())[:300]
        if "package" in reason.lower():
            missing = [name for name, folder in asked_for.items() if folder is None]
            raise ReadError(path, _missing(missing) if missing else f"{reason}; {WHERE}")
        raise ReadError(path, f"xacro cannot expand it: {reason}")
    return answer["text"], answer["files"]


def _missing(names: list[str]) -> str:
    """That packages are not found, and how to name them."""
    options = " ".join(f"--package {name}=PATH" for name in names)
    return (
        f"xacro cannot expand it: package{'s' * (len(names) > 1)} not found in its workspace, nor "
        f"by AMENT_PREFIX_PATH or ROS_PACKAGE_PATH: {', '.join(names)}; {WHERE}: {options}"
    )
