"""Which formats there are, and which of them a file is written in."""

from __future__ import annotations

import importlib
import inspect
import os
import re
import warnings
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import cache
from importlib.metadata import entry_points
from importlib.util import find_spec
from pathlib import Path
from types import MappingProxyType
from typing import Any

from regularize.errors import (
    MissingExtra,
    ModelError,
    ReadError,
    RegularizeError,
    UnknownFormat,
)
from regularize.mechanism import Mechanism

GROUP = "regularize.adapters"
HEAD = 4096  # bytes that a sniffer sees


@dataclass(frozen=True)
class Adapter:
    """One format: how to recognise it, and which functions read and write it.

    Attributes:
        name: Short name, as in ``--format urdf``.
        title: Name of the format in full.
        suffixes: File name endings in lower case, with the dot; they only break ties.
        reader: ``module:function``, called as ``function(path, **options)``; None: write only.
        writer: ``module:function``; None: read only.
        sniff: Whether the first 4096 bytes of a file are this format.
        extra: Extra of ``pin-regularize`` that brings ``module``.
        module: Third-party module that the format needs.
    """

    name: str
    title: str
    suffixes: tuple[str, ...] = ()
    reader: str | None = None
    writer: str | None = None
    sniff: Callable[[bytes], bool] | None = None
    extra: str | None = None
    module: str | None = None

    def __post_init__(self) -> None:
        """Check that the record is complete."""
        if (self.extra is None) != (self.module is None):
            raise ValueError(f"adapter {self.name!r}: extra and module go together")
        for target in (self.reader, self.writer):
            if target is not None and target.count(":") != 1:
                raise ValueError(f"adapter {self.name!r}: {target!r} is not 'module:function'")

    @property
    def installed(self) -> bool:
        """Whether the third-party module that the format needs is there."""
        return self.module is None or _importable(self.module)

    def load_reader(self) -> Callable[..., Mechanism]:
        """Import the reader; raises ``MissingExtra`` or ``UnknownFormat``."""
        if self.reader is None:
            raise UnknownFormat(self.name, _readable())
        return self._load(self.reader)

    def load_writer(self) -> Callable[..., Any]:
        """Import the writer; raises ``MissingExtra`` or ``UnknownFormat``."""
        if self.writer is None:
            raise UnknownFormat(self.name, [a.name for a in adapters().values() if a.writer])
        return self._load(self.writer)

    def _load(self, target: str) -> Callable[..., Any]:
        if self.module is not None and self.extra is not None and not self.installed:
            raise MissingExtra(self.title, self.module, self.extra)
        module, function = target.split(":")
        loaded: Callable[..., Any] = getattr(importlib.import_module(module), function)
        return loaded


def _importable(module: str) -> bool:
    try:
        return find_spec(module) is not None
    except ModuleNotFoundError:  # a parent package of a dotted name is absent
        return False


_PROLOG = re.compile(r"\ufeff?(?:\s+|<\?.*?\?>|<!--.*?-->|<!DOCTYPE[^>\[]*(?:\[.*?\]\s*)?>)*", re.S)
_TAG = re.compile(r"<([A-Za-z_][\w.:-]*)")


def root_tag(head: bytes) -> str | None:
    """Tag of the root element of an XML file, given its first bytes; None if it is no XML."""
    wide = head[:2] in (b"\xff\xfe", b"\xfe\xff")
    text = head.decode("utf-16" if wide else "utf-8-sig", errors="ignore")
    prolog = _PROLOG.match(text)
    tag = _TAG.match(text, prolog.end() if prolog else 0)
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


def is_onshape(head: bytes) -> bool:
    """Whether a file starts as an Onshape assembly definition does."""
    keys = (b'"rootAssembly"', b'"subAssemblies"', b'"partStudioFeatures"')
    return head.lstrip(b"\xef\xbb\xbf \t\r\n").startswith(b"{") and any(k in head for k in keys)


BUILTIN: tuple[Adapter, ...] = (
    Adapter(
        name="urdf",
        title="URDF, with the loop dialects URDF+, Isaac Sim, Drake and Gepetto YAML",
        suffixes=(".urdf",),
        reader="regularize.adapters.urdf:read",
        writer="regularize.adapters.write_urdf:write",
        sniff=has_root("robot"),
    ),
    Adapter(
        name="xacro",
        title="xacro, expanded to URDF",
        suffixes=(".xacro",),
        reader="regularize.adapters.xacro:read",
        sniff=is_xacro,
        extra="xacro",
        module="xacrodoc",
    ),
    Adapter(
        name="urdf+",
        title="URDF+, loops inside the file (read as URDF)",
        writer="regularize.adapters.write_urdf:write_plus",
    ),
    Adapter(
        name="json",
        title="The project's own JSON, complete and lossless",
        suffixes=(".json",),
        reader="regularize.adapters.native:read",
        writer="regularize.adapters.native:write",
        sniff=is_native,
    ),
    Adapter(
        name="sdf",
        title="SDF 1.0 to 1.12 (Gazebo, Drake)",
        suffixes=(".sdf", ".world"),
        reader="regularize.adapters.sdf:read",
        writer="regularize.adapters.write_sdf:write",
        sniff=has_root("sdf"),
    ),
    Adapter(
        name="mjcf",
        title="MJCF (MuJoCo)",
        suffixes=(".xml", ".mjcf"),
        reader="regularize.adapters.mjcf:read",
        writer="regularize.adapters.write_mjcf:write",
        sniff=has_root("mujoco"),
        extra="mujoco",
        module="mujoco",
    ),
    Adapter(
        name="usd",
        title="USD Physics (Isaac Sim, Newton)",
        suffixes=(".usd", ".usda", ".usdc", ".usdz"),
        reader="regularize.adapters.usd:read",
        sniff=is_usd,
        extra="usd",
        module="pxr",
    ),
    Adapter(
        name="freecad",
        title="FreeCAD assembly (1.0 and later)",
        suffixes=(".fcstd",),
        reader="regularize.adapters.freecad:read",
        sniff=is_freecad,
    ),
    Adapter(
        name="asmt",
        title="ASMT, the assemblies of FreeCAD's solver",
        suffixes=(".asmt",),
        reader="regularize.adapters.asmt:read",
        sniff=is_asmt,
    ),
    Adapter(
        name="onshape",
        title="Onshape assembly definition (JSON)",
        reader="regularize.adapters.onshape:read",
        sniff=is_onshape,
    ),
    Adapter(
        name="simscape",
        title="Simscape Multibody import XML (SolidWorks, Inventor, Creo, Onshape)",
        reader="regularize.adapters.simscape:read",
        sniff=has_root("SimscapeMultibodyImportXML"),
    ),
)


@cache
def adapters() -> Mapping[str, Adapter]:
    """All formats by name: the built-in ones, then those of installed packages.

    Raises:
        RegularizeError: Two adapters have the same name.
    """
    found: dict[str, Adapter] = {}
    for adapter in (*BUILTIN, *_installed_adapters()):
        if adapter.name in found:
            raise RegularizeError(
                f"two adapters are named {adapter.name!r} ({found[adapter.name].title}; "
                f"{adapter.title}): uninstall the package that brings one of them"
            )
        found[adapter.name] = adapter
    return MappingProxyType(found)


def _installed_adapters() -> list[Adapter]:
    found = []
    for entry in sorted(entry_points(group=GROUP), key=lambda e: e.name):
        # A broken package must not keep the other formats from being read.
        try:
            adapter = entry.load()
        except Exception as error:
            warnings.warn(f"adapter {entry.value!r} cannot be loaded: {error}", stacklevel=3)
            continue
        if isinstance(adapter, Adapter):
            found.append(adapter)
        else:
            warnings.warn(f"adapter {entry.value!r} is not an Adapter record", stacklevel=3)
    return found


def _readable() -> list[str]:
    return [adapter.name for adapter in adapters().values() if adapter.reader]


def detect(path: str | os.PathLike[str]) -> Adapter:
    """The format of a file, by its content; its suffix only breaks ties.

    A file that no sniffer knows goes to the one format of its suffix, whose reader can say what
    is wrong with it.

    Raises:
        ReadError: The file cannot be opened.
        UnknownFormat: No reader, or more than one, would take it.
    """
    name = _model_file(path)
    suffix = Path(name).suffix.lower()
    with open(name, "rb") as file:
        head = file.read(HEAD)
    readable = [adapter for adapter in adapters().values() if adapter.reader]
    by_content = [adapter for adapter in readable if adapter.sniff and adapter.sniff(head)]
    by_suffix = [adapter for adapter in by_content or readable if suffix in adapter.suffixes]
    for candidates in (by_suffix, by_content):
        if len(candidates) == 1:
            return candidates[0]
    raise UnknownFormat(name, [adapter.name for adapter in readable])


def read(source: str | os.PathLike[str], *, format: str | None = None, **options: Any) -> Mechanism:
    """Read a model file.

    Args:
        source: The file, or a directory that holds ``robot.urdf`` or a single URDF file.
        format: Name of the format; None to recognise it by its content.
        options: Passed on to the reader, such as ``floating=True`` or ``loops="robot.yaml"``.

    Raises:
        ReadError: The file is absent, empty or not what it claims to be.
        UnknownFormat: No adapter reads it.
        MissingExtra: The format needs a package that is not installed.
    """
    path = _model_file(source)
    if format is None:
        adapter = detect(path)
    elif format in adapters():
        adapter = adapters()[format]
    else:
        raise UnknownFormat(format, _readable())
    reader = adapter.load_reader()
    _check_options(adapter.name, reader, options)
    try:
        return reader(path, **options)
    except ModelError as error:
        raise ReadError(path, f"the model is inconsistent: {error}") from error


def _check_options(format: str, reader: Callable[..., Any], options: Mapping[str, Any]) -> None:
    """Refuse options that the reader of a format does not have."""
    parameters = inspect.signature(reader).parameters
    if any(parameter.kind is parameter.VAR_KEYWORD for parameter in parameters.values()):
        return
    for name in options:
        if name not in parameters:
            known = [p.name for p in parameters.values() if p.kind is p.KEYWORD_ONLY]
            has = ", ".join(known) or "none"
            raise RegularizeError(f"the reader of {format} has no option {name!r}; it has {has}")


def _model_file(source: str | os.PathLike[str]) -> str:
    """The file to read, as the user named it; raises ``ReadError`` if there is none."""
    path = Path(source)
    name = os.fspath(source)
    if path.is_dir():
        models = sorted(entry.name for entry in path.glob("*.urdf") if entry.is_file())
        if "robot.urdf" in models:
            models = ["robot.urdf"]
        if len(models) != 1:
            listed = ", ".join(models[:5]) if models else "no URDF file"
            raise ReadError(name, f"is a directory with {listed}; name the model file itself")
        path, name = path / models[0], os.path.join(name, models[0])
    try:
        with open(path, "rb") as file:
            empty = not file.read(HEAD).strip()
    except FileNotFoundError:
        raise ReadError(name, "there is no such file; check the path") from None
    except OSError as error:
        raise ReadError(name, f"cannot be opened: {error.strerror}; check the path") from error
    if empty:
        raise ReadError(name, "the file is empty; export or download the model again")
    return name
