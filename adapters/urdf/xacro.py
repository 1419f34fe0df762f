"""xacro files, expanded by xacro with ``xacrodoc``'s search for packages, and read as URDF.

A xacro file is a program: it is run in a process of its own, with limits, and its expressions are
looked at before they are evaluated (``xacro_process``).

What a xacro file says before it is expanded: what it includes, names, defines and calls.
"""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

import xacrodoc
from lxml import etree

from regularize.adapters.common.edits import EditedText
from regularize.adapters.common.input_files import read_bytes
from regularize.adapters.common.packages import Packages, folders_below
from regularize.adapters.common.validation import with_external_files
from regularize.adapters.common.xml import XmlDocument
from regularize.adapters.urdf.read import read_root
from regularize.errors import ReadError
from regularize.escape import listed
from regularize.mechanism.mechanism import Mechanism

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
    """A xacro file as it is written."""

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
    """Expand a xacro file and read the result as URDF."""
    text, included = _expanded(path, dict(arguments or {}), packages or {})
    root = XmlDocument(EditedText(path, text, "utf-8")).root
    if root.tag == "robot" and not root.children("link"):
        _explain_emptiness(path)
    mechanism = read_root(root, path, format="xacro", floating=floating, loops=loops, close=close)
    return with_external_files(mechanism, included)


def _explain_emptiness(path: str) -> None:
    """Refuse a file of macros alone: say which it defines, and who calls them."""
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
