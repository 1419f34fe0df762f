"""What a xacro file says before it is expanded: what it includes, names, defines and calls."""

from __future__ import annotations

import os
import re
from dataclasses import dataclass
from pathlib import Path

from lxml import etree

from regularize._io.input_files import read_bytes
from regularize._io.packages import Packages, folders_below
from regularize.adapters.common.names import listed
from regularize.errors import ReadError

#: Namespace of xacro's elements, with or without ``#`` and the old ``/ros/xacro``.
_ELEMENT = re.compile(r"\{https?://[^}]*xacro[^}]*\}")
_FIND = re.compile(r"\$\(find\s+([^\s()$]+)\s*\)")
_COMPUTED = re.compile(r"\$\(find\s+[^\s()]*\$")
#: xacro's own elements; all others are calls of macros.
WORDS = frozenset({"macro", "property", "arg", "include", "if", "unless", "insert_block", ""}) | {
    "element",
    "attribute",
}
#: Files of a robot that may call a macro.
SUFFIXES = (".xacro", ".urdf")


@dataclass(frozen=True)
class XacroSource:
    """A xacro file as it is written.

    Attributes:
        path: The file.
        includes: Files that it includes, as written.
        packages: Packages that it asks for by ``$(find NAME)``.
        macros: Macros that it defines.
        calls: Names of xacro elements that are no words of xacro: macros that it calls.
        makes: Whether anything outside its macros is a link, or calls a macro.
        links: Whether it has links at all.
        computes: Whether it puts names of packages together.
    """

    path: Path
    includes: tuple[str, ...] = ()
    packages: tuple[str, ...] = ()
    macros: tuple[str, ...] = ()
    calls: frozenset[str] = frozenset()
    makes: bool = False
    links: bool = False
    computes: bool = False

    @property
    def defined(self) -> str:
        """Its macros in words."""
        many = "s" if len(self.macros) > 1 else ""
        return f"the macro{many} {listed(self.macros)}"

    def included(self, packages: Packages) -> list[Path]:
        """The files that it includes, as far as their names can be told without running it."""
        found = []
        for name in self.includes:
            place = _FIND.sub(lambda m: str(packages.find(m[1]) or "$"), name)
            if "$" not in place:
                found.append(Path(os.path.normpath(self.path.parent / place)))
        return found


def source_of(path: Path) -> XacroSource:
    """Read the outline of a file; one that cannot be parsed has none."""
    root = recovered(path)
    if root is None:
        return XacroSource(path)
    includes, macros, packages, calls = [], [], dict[str, None](), set[str]()
    makes = links = computes = False
    for node in root.iter(etree.Element):
        for text in (*node.attrib.values(), node.text or ""):
            packages.update(dict.fromkeys(_FIND.findall(text)))
            computes = computes or bool(_COMPUTED.search(text))
        word = _ELEMENT.sub("", node.tag) if _ELEMENT.match(node.tag) else ""
        called = node.get("macro", "") if word == "call" else word if word not in WORDS else ""
        if word == "include":
            includes.append(node.get("filename", ""))
        elif word == "macro":
            macros.append(node.get("name", "").removeprefix("xacro:"))
        calls |= {called} - {""}
        links = links or node.tag == "link"
        if called or node.tag == "link":
            above = (up.tag for up in node.iterancestors() if _ELEMENT.match(up.tag))
            makes = makes or not any(tag.endswith("}macro") for tag in above)
    named = tuple(filter(None, includes)), tuple(packages), tuple(filter(None, macros))
    return XacroSource(path, *named, frozenset(calls), makes, links, computes)


def recovered(path: Path) -> etree._Element | None:
    """The root of an XML file, as far as it can be parsed; nothing outside it is opened."""
    parser = etree.XMLParser(
        recover=True, resolve_entities=False, no_network=True, remove_comments=True
    )
    try:
        root = etree.fromstring(read_bytes(str(path)), parser)
    except (ReadError, ValueError, etree.XMLSyntaxError):
        return None
    for node in () if root is None else root.iter(etree.Element):
        if node.tag.startswith("{") and not _ELEMENT.match(node.tag):  # some files have a default
            node.tag = etree.QName(node).localname
    return root


def reached(path: Path, packages: Packages) -> list[XacroSource]:
    """The outline of a file and of all that it includes, itself first."""
    found: dict[Path, XacroSource] = {}
    pending = [path]
    while pending:
        file = pending.pop(0)
        if file not in found:
            found[file] = source_of(file)
            pending += found[file].included(packages)
    return list(found.values())


def callers(source: XacroSource) -> list[Path]:
    """Files of the same package that call a macro of a file; those that make a robot first."""
    own = source.path.resolve()
    folder = next((up for up in own.parents if (up / "package.xml").is_file()), own.parent)
    found = []
    for place, names in folders_below(folder):
        for file in (place / name for name in names if name.lower().endswith(SUFFIXES)):
            other = source_of(file)
            if file != own and other.calls.intersection(source.macros):
                found.append((not other.makes, file))
    return [file for _, file in sorted(found)]
