"""Formats told by the first bytes of files, and kinds of objects told by their classes."""

from __future__ import annotations

import os
import re
from collections.abc import Callable
from typing import Any

HEAD = 4096  # bytes that a sniffer sees

_PROLOG = r"(?s)\ufeff?(?:\s+|<\?.*?\?>|<!--.*?-->|<!DOCTYPE[^>\[]*(?:\[.*?\]\s*)?>)*"
_TAG = r"<([A-Za-z_][\w.:-]*)"


def root_tag(head: bytes) -> str | None:
    """Tag of the root element of an XML file, given its first bytes; None if it is no XML."""
    wide = head[:2] in (b"\xff\xfe", b"\xfe\xff")
    text = head.decode("utf-16" if wide else "utf-8-sig", errors="ignore")
    prolog = re.match(_PROLOG, text)
    tag = re.match(_TAG, text[prolog.end() if prolog else 0 :])
    return tag[1] if tag else None


def has_root(*tags: str) -> Callable[[bytes], bool]:
    """A sniffer for XML formats that are known by the tag of their root element."""
    return lambda head: root_tag(head) in tags


def is_native(head: bytes) -> bool:
    """Whether a file starts as the project's own JSON does."""
    return _is_json(head) and b'"regularize-mechanism"' in head


def is_xacro(head: bytes) -> bool:
    """Whether a file is a robot with xacro in it, which its start tag has to announce."""
    return root_tag(head) == "robot" and b"xmlns:xacro" in head


def calls_xacro(data: bytes) -> bool:
    """Whether a robot has elements or expressions that xacro has to expand, outside of comments."""
    plain = re.sub(rb"(?s)<!--.*?-->", b"", data)
    return bool(re.search(rb"<xacro:(?!property\b|arg\b)|=\s*(\"[^\"]*|'[^']*)\$\{", plain))


def is_usd(head: bytes) -> bool:
    """Whether a file is a USD stage, as text or binary; archives are known by their suffix."""
    return head.startswith((b"#usda", b"PXR-USDC"))


def is_freecad(head: bytes) -> bool:
    """Whether a file is a FreeCAD document: an archive that starts with its list of objects."""
    return head.startswith(b"PK\x03\x04") and head[30:42] == b"Document.xml"


def is_asmt(head: bytes) -> bool:
    """Whether a file starts as the assemblies of FreeCAD's solver do."""
    lines = head.splitlines()
    headings = (b"OndselSolver", b"freeCAD: 3D CAD with Motion Simulation")
    return len(lines) > 1 and lines[0].startswith(headings) and lines[1].strip() == b"Assembly"


def is_mbdyn(head: bytes) -> bool:
    """Whether a file begins with the data block of an MBDyn model, after comments."""
    lines = (line.split(b"#")[0].strip().lower() for line in head.splitlines())
    return b"".join(next((line for line in lines if line), b"").split()) == b"begin:data;"


def is_onshape(head: bytes) -> bool:
    """Whether a file starts as an Onshape assembly definition does."""
    keys = (b'"rootAssembly"', b'"subAssemblies"', b'"partStudioFeatures"')
    return _is_json(head) and any(key in head for key in keys)


def _is_json(head: bytes) -> bool:
    return head.lstrip(b"\xef\xbb\xbf \t\r\n").startswith(b"{")


def is_a(*classes: str) -> Callable[[object], bool]:
    """Whether an object is of classes named ``top package.Name``, none of which is imported."""

    def accepts(value: object) -> bool:
        bases = type(value).__mro__
        return any(f"{b.__module__.partition('.')[0]}.{b.__name__}" in classes for b in bases)

    return accepts


_is_model = is_a("pinocchio.Model")


def is_pinocchio(value: object) -> bool:
    """Whether an object is a Pinocchio model, alone or before lists of constraint models."""
    if isinstance(value, tuple) and len(value) > 1:  # Pinocchio's readers return several lists
        return _is_model(value[0]) and all(hasattr(each, "__iter__") for each in value[1:])
    return _is_model(value)


def is_text(value: object) -> bool:
    """Whether an object is the text of a model file and no path: it has lines or is XML."""
    if isinstance(value, (bytes, bytearray)):
        return True
    if not isinstance(value, str):
        return False
    lines = "\n" in value or value.lstrip("\ufeff \t").startswith(("<", "{", "#usda"))
    return lines and not os.path.lexists(value)


def is_urdf_object(source: Any) -> bool:
    """Whether an object looks like the ``URDF`` class of urdfpy, urchin or yourdfpy."""
    robot = getattr(source, "robot", source)
    return all(hasattr(robot, name) for name in ("links", "joints", "name"))
