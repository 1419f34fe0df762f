"""A folder as people have it: a clone, a workspace; which of its files are models of their own."""

from __future__ import annotations

import os
import re
import zipfile
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path

from regularize.adapters.common.input_files import LARGEST, PASSED, Packages, folders_below
from regularize.adapters.reading import by_content
from regularize.adapters.registry import adapters
from regularize.adapters.sdf.read import find_included
from regularize.adapters.sniffers import HEAD
from regularize.adapters.urdf.xacro import parsed, reached, source_of
from regularize.errors import ReadError
from regularize.escape import listed

#: Endings that say nothing of the format: the content does.
OPEN = frozenset({".xml", ".json"})
#: Products of a build, where a workspace keeps its sources beside them.
BUILT = PASSED | {"install"}
_ASSET = re.compile(rb"@([^@\n]+\.usd[acz]?)@")
_LINKED = re.compile(rb"<XLink(?:Sub)?\b[^>]*\bfile=\"([^\"]+)\"")


@dataclass(frozen=True)
class Fragment:
    """A file that is no model of its own."""

    path: str
    of: tuple[str, ...] = ()  # models that take it in; none where nothing here does
    reason: str = ""  # what it is, where no model takes it in

    def __str__(self) -> str:
        """The file and what it belongs to."""
        return f"{self.path}: " + (f"part of {listed(self.of)}" if self.of else self.reason)


@dataclass(frozen=True)
class Outline:
    """The files that one file takes in, and why it is no model of its own."""

    includes: tuple[Path, ...] = ()
    lacks: str = ""  # why it is no model


@dataclass(frozen=True, eq=False)
class Repository:
    """A folder and what it holds."""

    folder: str
    models: tuple[str, ...]  # files that are models of their own
    fragments: tuple[Fragment, ...]  # the other files in formats of models

    @cached_property
    def _packages(self) -> Mapping[str, Path]:
        return Packages(Path(self.folder), Path(self.folder)).every()

    def packages(self, model: str) -> dict[str, str]:
        """Packages of the folder that are not found from where a model stands."""
        near = Packages(Path(model))
        lost = {name: at for name, at in self._packages.items() if near.find(name) is None}
        return {name: str(folder) for name, folder in lost.items()}


def repository(folder: str) -> Repository:
    """Find the models of a folder."""
    packages = Packages(Path(folder), Path(folder))
    outlines = {
        Path(path): outline(Path(path), packages) for path, outline in _candidates(Path(folder))
    }
    true = {os.path.realpath(path): path for path in outlines}
    inside = {
        path: {true[p] for p in map(os.path.realpath, outline.includes) if p in true} - {path}
        for path, outline in outlines.items()
    }
    taken = set[Path]().union(*inside.values())
    whole = [path for path, outline in outlines.items() if not outline.lacks]
    reach = {path: _reached(path, inside) for path in whole if path not in taken}
    # Files that include each other: the first of them stands for all.
    for path in whole:
        if not any(path in files for files in reach.values()):
            reach[path] = _reached(path, inside)
    fragments = []
    for path in (path for path in outlines if path not in reach):
        of = tuple(str(top) for top, files in reach.items() if path in files)
        why = outlines[path].lacks or "included by no model here"
        fragments.append(Fragment(str(path), of, "" if of else why))
    if not reach:
        held = "; ".join(map(str, fragments[:5])) or "no file in a format of models"
        raise ReadError(folder, f"is a folder without a model of its own: it holds {held}")
    return Repository(folder, tuple(map(str, sorted(reach))), tuple(fragments))


def _reached(path: Path, inside: Mapping[Path, set[Path]]) -> set[Path]:
    """A file and all that it takes in, directly or not."""
    reached, pending = set[Path](), [path]
    while pending:
        path = pending.pop()
        if path not in reached:
            reached.add(path)
            pending += inside[path]
    return reached


def of_format(files: Sequence[str], name: str) -> list[str]:
    """Return those of some files that are models of a format by their content, and whole ones."""
    outline = OUTLINES.get(name)
    return [
        file
        for file in files
        if any(adapter.name == name for adapter in by_content(file))
        and not (outline and outline(Path(file), Packages(Path(file))).lacks)
    ]


def _candidates(folder: Path) -> Iterator[tuple[Path, Callable[[Path, Packages], Outline]]]:
    """Yield files in formats of models, each with the function that reads its outline."""
    formats = [adapter for adapter in adapters().values() if adapter.reader and adapter.of_files]
    endings = OPEN.union(*(adapter.suffixes for adapter in formats))
    for place, names in folders_below(folder):
        if BUILT.intersection(place.relative_to(folder).parts):
            continue
        for name in names:
            path = place / name
            if path.suffix.lower() not in endings or path.stat().st_size > LARGEST:
                continue
            with path.open("rb") as file:
                head = file.read(HEAD)
            named = [adapter.name for adapter in formats if adapter.sniff and adapter.sniff(head)]
            named += [path.suffix[1:]] if path.suffix in (".xacro", ".usdz") else []
            if named:
                yield path, OUTLINES.get(named[0], lambda path, packages: Outline())


def _robot(path: Path, packages: Packages) -> Outline:
    """URDF and xacro."""
    source = source_of(path)
    near = Packages(path, packages.whole)
    includes = tuple(source.included(near))
    if not source.makes and source.macros:
        return Outline(includes, f"only defines {source.defined}")
    sources = reached(path, near)
    whole = all(each.path.is_file() for each in sources) and len(includes) == len(source.includes)
    empty = whole and not any(each.links for each in sources)
    return Outline(includes, "has no <link>" if empty else "")


def _mjcf(path: Path, packages: Packages) -> Outline:
    """MJCF: files that are included or attached."""
    includes, bodies, pending, passed = [], False, [path], set[Path]()
    while pending:
        file = pending.pop(0)
        root = parsed(file)
        passed.add(file)
        if root is None:
            continue
        nodes = [*root.walk()]
        bodies = bodies or any(node.tag in ("body", "attach") for node in nodes)
        for node in (node for node in nodes if node.tag in ("include", "model")):
            named = node.get("file") or ""
            beside = [folder / named for folder in (path.parent, file.parent)]
            for inside in [Path(os.path.normpath(p)) for p in beside if p.is_file()][:1]:
                includes.append(inside)
                if inside not in passed:
                    pending.append(inside)
    return Outline(tuple(includes), "" if bodies or parsed(path) is None else "has no <body>")


def _sdf(path: Path, packages: Packages) -> Outline:
    """SDF: worlds and the models that they include."""
    root = parsed(path)
    if root is None:
        return Outline()
    nodes = [*root.walk()]
    uris = [uri.content for n in nodes if n.tag == "include" for uri in n.children("uri")]
    files = [find_included(uri, str(path)) for uri in uris]
    empty = not uris and all(node.tag != "model" for node in nodes)
    includes = tuple(Path(file) for file in files if file is not None)
    return Outline(includes, "has no <model>" if empty else "")


def _usd(path: Path, packages: Packages) -> Outline:
    """USD: layers that are referenced, in text or, where USD is installed, in any form."""
    named = [match.decode(errors="replace") for match in _ASSET.findall(path.read_bytes())]
    try:
        from pxr import Sdf  # where the extra is

        layer = Sdf.Layer.FindOrOpen(str(path))
        named += [] if layer is None else layer.GetCompositionAssetDependencies()
    except Exception:  # as text alone: what is wrong with it is said where it is read
        pass
    return Outline(tuple(Path(os.path.normpath(path.parent / name)) for name in named))


def _freecad(path: Path, packages: Packages) -> Outline:
    """FreeCAD: documents whose shapes an assembly links; parts hold no assembly."""
    try:
        with zipfile.ZipFile(path) as archive:
            text = archive.read("Document.xml")
    except (OSError, KeyError, zipfile.BadZipFile):
        return Outline()
    linked = (name.decode(errors="replace") for name in _LINKED.findall(text))
    includes = tuple(Path(os.path.normpath(path.parent / name)) for name in linked)
    return Outline(includes, "" if b'"Assembly::AssemblyObject"' in text else "holds no assembly")


OUTLINES: Mapping[str, Callable[[Path, Packages], Outline]] = {
    **dict.fromkeys(("urdf", "xacro"), _robot),
    **{"mjcf": _mjcf, "sdf": _sdf, "usd": _usd, "freecad": _freecad},
}
