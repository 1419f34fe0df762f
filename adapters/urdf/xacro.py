"""xacro files, which are programs: expanded in a process of their own with limits, read as URDF."""

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

from regularize.adapters.common.edits import EditedText
from regularize.adapters.common.input_files import Packages, expanded_text, folders_below
from regularize.adapters.common.validation import with_external_files
from regularize.adapters.common.xml import Node, XmlDocument, parse
from regularize.adapters.urdf.loop_files import Loops
from regularize.adapters.urdf.read import read_root
from regularize.errors import ReadError
from regularize.escape import listed
from regularize.mechanism.mechanism import Mechanism

PREFIX = "xacro:"
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
    """What a xacro file includes, defines and calls, read without expanding it."""

    path: Path
    includes: tuple[str, ...] = ()  # files, as written
    packages: tuple[str, ...] = ()  # asked for by ``$(find NAME)``
    macros: tuple[str, ...] = ()  # defined there
    calls: frozenset[str] = frozenset()  # of macros
    makes: bool = False  # whether anything outside its macros is a link, or calls a macro
    links: bool = False  # whether it has links at all
    computes: bool = False  # whether it puts names of packages together

    @property
    def defined(self) -> str:
        """The macros that the file defines, in words."""
        many = "s" if len(self.macros) > 1 else ""
        return f"the macro{many} {listed(self.macros)}"

    def included(self, packages: Packages) -> list[Path]:
        """Return the included files whose names can be told without expanding."""
        places = (_FIND.sub(lambda m: str(packages.find(m[1]) or "$"), n) for n in self.includes)
        return [Path(os.path.normpath(self.path.parent / p)) for p in places if "$" not in p]


def source_of(path: Path) -> XacroSource:
    """Read includes, macros and calls of a file; of one that cannot be parsed, nothing."""
    root = parsed(path)
    if root is None:
        return XacroSource(path)
    includes, macros, packages, calls = [], [], dict[str, None](), set[str]()
    makes = links = computes = False
    for node in root.walk():
        for text in (*(node.get(attribute) or "" for attribute in node.spans), node.content):
            packages.update(dict.fromkeys(_FIND.findall(text)))
            computes = computes or bool(_COMPUTED.search(text))
        word = node.tag.removeprefix(PREFIX) if node.tag.startswith(PREFIX) else ""
        called = node.get("macro") or "" if word == "call" else word if word not in WORDS else ""
        if word == "include":
            includes.append(node.get("filename") or "")
        elif word == "macro":
            macros.append((node.get("name") or "").removeprefix(PREFIX))
        calls |= {called} - {""}
        links = links or node.tag == "link"
        if called or node.tag == "link":
            makes = makes or not any(up.tag == f"{PREFIX}macro" for up in node.above())
    named = tuple(filter(None, includes)), tuple(packages), tuple(filter(None, macros))
    return XacroSource(path, *named, frozenset(calls), makes, links, computes)


def parsed(path: Path) -> Node | None:
    """Return the root of an XML file; None where it cannot be parsed."""
    try:
        return parse(str(path))
    except ReadError:
        return None


def reached(path: Path, packages: Packages) -> list[XacroSource]:
    """Return the sources of a file and of all that it includes, itself first."""
    outlines: dict[Path, XacroSource] = {}
    pending = [path]
    while pending:
        file = pending.pop(0)
        if file not in outlines:
            outlines[file] = source_of(file)
            pending += outlines[file].included(packages)
    return list(outlines.values())


def callers(source: XacroSource) -> list[Path]:
    """Return files of the same package that call a macro of a file; robots first."""
    path = source.path.resolve()
    folder = next((up for up in path.parents if (up / "package.xml").is_file()), path.parent)
    calling = []
    for place, names in folders_below(folder):
        for file in (place / name for name in names if name.lower().endswith(SUFFIXES)):
            other = source_of(file)
            if file != path and other.calls.intersection(source.macros):
                calling.append((not other.makes, file))
    return [file for _, file in sorted(calling)]


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
    loops: Loops = None,
    close: str | None = None,
    packages: Mapping[str, str | os.PathLike[str]] | None = None,
) -> Mechanism:
    """Expand a xacro file and read the result as URDF; lines are those of the expanded text."""
    included: list[str] = []

    def expand() -> str:
        text, files = _expanded(path, dict(arguments or {}), packages or {})
        included.extend(files)
        return text

    text = expanded_text(path, expand)
    root = XmlDocument(EditedText(path, text, "utf-8")).root
    empty = root.tag == "robot" and not root.children("link")
    if empty and (source := source_of(Path(path))).macros:
        named = listed([os.path.relpath(f, Path(path).parent) for f in callers(source)])
        way = f"{named} calls it: check that file" if named else "check the file that calls them"
        raise ReadError(path, f"makes no link: it defines {source.defined} for other files; {way}")
    mechanism = read_root(root, path, format="xacro", floating=floating, loops=loops, close=close)
    return with_external_files(mechanism, included)


def _expanded(
    path: str, arguments: dict[str, str], packages: Mapping[str, str | os.PathLike[str]]
) -> tuple[str, list[str]]:
    """Return the expanded text, and the files that it includes."""
    named = {name: Path(folder).resolve() for name, folder in packages.items()}
    near = Packages(Path(path), given=named)
    sources = reached(Path(path), near)
    asked_for = {name: near.find(name) for source in sources for name in source.packages}
    if any(source.computes for source in sources):  # a package's name, which may be any of them
        asked_for = {**near.every(), **asked_for}
    question = {
        "path": path,
        "arguments": arguments,
        "packages": {name: str(folder) for name, folder in asked_for.items() if folder},
        "modules": sys.path,
    }
    data, command = json.dumps(question).encode(), [sys.executable, "-IS", str(PROCESS)]
    try:
        run = subprocess.run(command, input=data, capture_output=True, timeout=SECONDS)
        answer = json.loads(run.stdout)
    except (ValueError, subprocess.TimeoutExpired):
        raise ReadError(
            path, "xacro takes more time or memory than it may to expand it; look for endless loops"
        ) from None
    if "error" in answer:
        reason = " ".join(answer["error"].split())[:300]
        if "package" in reason.lower():
            names = [name for name, folder in asked_for.items() if folder is None]
            if not names:
                raise ReadError(path, f"{reason}; {WHERE}")
            options = " ".join(f"--package {name}=PATH" for name in names)
            reason = (
                f"package{'s' * (len(names) > 1)} not found in its workspace, nor by "
                f"AMENT_PREFIX_PATH or ROS_PACKAGE_PATH: {', '.join(names)}; {WHERE}: {options}"
            )
        raise ReadError(path, f"xacro cannot expand it: {reason}")
    return answer["text"], answer["files"]
