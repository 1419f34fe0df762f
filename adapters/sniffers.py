"""What the first bytes of a file tell about its format."""

from __future__ import annotations

import re
from collections.abc import Callable

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

    def sniff(head: bytes) -> bool:
        return root_tag(head) in tags

    return sniff


def is_native(head: bytes) -> bool:
    """Whether a file starts as the project's own JSON does."""
    return head.lstrip(b"\xef\xbb\xbf \t\r\n").startswith(b"{") and (
        b'"regularize-mechanism"' in head
    )


def is_xacro(head: bytes) -> bool:
    """Whether a file is a robot with xacro in it, which its start tag has to announce."""
    return root_tag(head) == "robot" and b"xmlns:xacro" in head


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
    return head.lstrip(b"\xef\xbb\xbf \t\r\n").startswith(b"{") and any(k in head for k in keys)
