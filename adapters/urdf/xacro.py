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

from regularize.adapters.common.edits import EditedText
from regularize.adapters.common.validation import with_external_files
from regularize.adapters.common.xml import XmlDocument
from regularize.adapters.urdf.read import read_root
from regularize.errors import ReadError
from regularize.mechanism.mechanism import Mechanism

#: Seconds that a file may take by the clock; of the processor's it has fewer.
SECONDS = 120
#: What expands, beside this module.
PROCESS = Path(__file__).with_name("xacro_process.py")
assert xacrodoc  # so that a missing one is known here


def read(
    path: str,
    *,
    arguments: Mapping[str, str] | None = None,
    floating: bool = False,
    loops: str | os.PathLike[str] | bool | None = None,
    packages: Mapping[str, str | os.PathLike[str]] | None = None,
) -> Mechanism:
    """Expand a xacro file and read the result as URDF.

    Lines in findings and errors are those of the expanded text.

    Args:
        path: The file.
        arguments: Values of its ``xacro:arg`` arguments.
        floating: As of the URDF reader.
        loops: As of the URDF reader.
        packages: Folders of packages by name; others are looked for above the file, and where ROS
            has them.

    Raises:
        ReadError: xacro cannot expand the file, or the result is not URDF.
    """
    text, included = _expanded(path, dict(arguments or {}), packages or {})
    root = XmlDocument(EditedText(path, text, "utf-8")).root
    mechanism = read_root(root, path, format="xacro", floating=floating, loops=loops)
    return with_external_files(mechanism, included)


def _expanded(
    path: str, arguments: dict[str, str], packages: Mapping[str, str | os.PathLike[str]]
) -> tuple[str, list[str]]:
    """The expanded text, and the files that it includes."""
    asked = {
        "path": path,
        "arguments": arguments,
        "packages": {name: os.fspath(folder) for name, folder in packages.items()},
        "modules": sys.path,
    }
    given, command = json.dumps(asked).encode(), [sys.executable, "-I", str(PROCESS)]
    try:
        run = subprocess.run(command, input=given, capture_output=True, timeout=SECONDS)
        answer = json.loads(run.stdout)
    except (ValueError, subprocess.TimeoutExpired):
        raise ReadError(
            path, "xacro takes more time or memory than it may to expand it; look for endless loops"
        ) from None
    if "error" in answer:
        reason = " ".join(answer["error"].split())[:300]
        if "package" in reason.lower():
            reason += "; say where it is: --package NAME=PATH, or packages={NAME: PATH}"
        raise ReadError(path, f"xacro cannot expand it: {reason}")
    return answer["text"], answer["files"]
