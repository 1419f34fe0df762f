"""A map as a package of ROS 2: a transmission of ros2_control, and a node for passive joints."""

from __future__ import annotations

import re
from collections.abc import Sequence
from pathlib import Path
from xml.sax.saxutils import escape, quoteattr

import numpy as np

from regularize.adapters.common.output_files import write_text
from regularize.errors import ModelError
from regularize.escape import in_comment
from regularize.guests.actuation.map import ActuationMap
from regularize.guests.actuation.source import c_source, passive_names

TEMPLATES = Path(__file__).with_name("templates")
#: Files of the package by their templates; NAME is that of the package.
FILES = {
    "header.h.in": "include/NAME/NAME.h",
    "transmission.cpp.in": "src/transmission.cpp",
    "passive_joints.cpp.in": "src/passive_joints.cpp",
    **{f"{name}.in": name for name in ("CMakeLists.txt", "package.xml", "plugins.xml")},
    "ros2_control.xml.in": "ros2_control.xml",
}


def write_package(m: ActuationMap, folder: Path) -> list[Path]:
    """Write a package into a folder, whose name it gets; return its files.

    Raises:
        ModelError: The name is none of a package, or the map has no formulas to write out.
    """
    name = folder.resolve().name
    if not re.fullmatch(r"[a-z][a-z0-9_]*", name):
        raise ModelError(
            f"a package of ROS 2 is called by small letters, digits and _, not {name!r}: name "
            "another folder"
        )
    passive = passive_names(m)
    ends = [
        f"  <{tag} name={quoteattr(each)}/>"
        for tag, names in (("actuator", m.motor_names), ("joint", m.joint_names))
        for each in names
    ]
    words = {
        "name": name,
        "count": str(len(m.motor_names)),
        "motors": _strings(m.motor_names),
        "joints": _strings(m.joint_names),
        "motor_list": in_comment(escape(", ".join(m.motor_names))),
        "joint_list": in_comment(escape(", ".join(m.joint_names))),
        "effort": _doubles(m.effort),
        "speed": _doubles(m.speed),
        "passive": _strings(passive),
        "passive_count": str(len(passive)),
        "passive_declaration": "",
        "passive_call": "false",
        "transmission": "\n".join(ends),
    }
    if passive:
        words["passive_declaration"] = f"int {name}_passive(const double *theta, double *values);"
        words["passive_call"] = f"{name}_passive(theta, &out_.position[MOTORS.size()]) != 0"
    texts = {f"src/{name}.c": c_source(m, name)}
    for template, file in FILES.items():
        text = (TEMPLATES / template).read_text("utf-8")
        texts[file.replace("NAME", name)] = re.sub(r"@(\w+)@", lambda found: words[found[1]], text)
    for file, text in texts.items():
        (folder / file).parent.mkdir(parents=True, exist_ok=True)
        write_text(folder / file, text)
    return [folder / file for file in texts]


def _strings(names: Sequence[str]) -> str:
    """Return names as strings of C++."""
    quoted = (name.replace("\\", "\\\\").replace('"', '\\"') for name in names)
    return ", ".join(f'"{name}"' for name in quoted)


def _doubles(values: Sequence[float] | np.ndarray) -> str:
    """Return numbers of C++."""
    return ", ".join(repr(float(x)) if np.isfinite(x) else "HUGE_VAL" for x in values)
