"""xacro files, expanded by xacro with ``xacrodoc``'s search for packages, and read as URDF."""

from __future__ import annotations

import os
from collections.abc import Mapping

import xacro
from xacrodoc import packages as finding

from regularize.adapters.common.xml import parse_text
from regularize.adapters.urdf.read import read_root
from regularize.errors import ReadError
from regularize.model.mechanism import Mechanism


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
    try:
        finding.walk_up_from(path)
        finding.update_package_cache(dict(packages or {}))
        # Not by xacrodoc itself: it would look for included files in the working directory.
        text = xacro.process_file(path, mappings=dict(arguments or {})).toprettyxml(indent="  ")
    # xacro raises plain Exceptions of its own making, and whatever its expressions raise.
    except Exception as error:
        reason = " ".join(str(error).split())[:300]
        if "package" in reason.lower():
            reason += "; say where it is: --package NAME=PATH, or packages={NAME: PATH}"
        raise ReadError(path, f"xacro cannot expand it: {reason}") from error
    return read_root(parse_text(text, path), path, format="xacro", floating=floating, loops=loops)
