"""Which formats there are, and which functions read and write them."""

from __future__ import annotations

import importlib
import json
import warnings
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import cache, partialmethod
from pathlib import Path
from types import MappingProxyType
from typing import Any

from regularize.adapters import sniffers
from regularize.errors import MissingExtra, RegularizeError, UnknownFormat
from regularize.mechanism.mechanism import Mechanism

GROUP = "regularize.adapters"


@dataclass(frozen=True, eq=False)
class Adapter:
    """One format: how to recognise it, and which functions read and write it."""

    name: str  # short name, as in ``--format urdf``
    title: str  # name of the format in full
    suffixes: tuple[str, ...] = ()  # in lower case, with the dot; they only break ties
    reader: str | None = None  # ``module:function`` of a path and options; None: write only
    writer: str | None = None  # ``module:function``; None: read only
    #: ``module:function`` that makes a changed model of its own file, called with the model, what
    #: reads the file again, and the folder that it goes to; None: written anew.
    rewriter: str | None = None
    patcher: str | None = None  # ``module:class`` that edits files; None: they are written anew
    sniff: Callable[[bytes], bool] | None = None  # whether the first 4096 bytes are this format
    extra: str | None = None  # extra of ``pin-regularize`` that brings ``module``
    module: str | None = None  # third-party module that the format needs
    closed: bool = False  # whether files hold assembled poses only, and no gaps of open loops
    one_namespace: bool = False  # whether bodies and joints have to differ in their names
    reserved: frozenset[str] = frozenset()  # names that only the ground may have
    meshes: frozenset[str] = frozenset()  # suffixes of the meshes that it takes; none: any
    coupled: int | None = 2  # most joints that one linear relation can have; None: any number
    #: Whether an object in memory is of this kind: the reader gets it, the patcher makes another.
    accepts: Callable[[object], bool] | None = None
    document: str | None = None  # ``module:class`` of the file that objects are changed through

    def __post_init__(self) -> None:
        """Check that the record is complete."""
        if (self.extra is None) != (self.module is None) and self.of_files:
            raise ValueError(f"adapter {self.name!r}: extra and module go together")
        for target in (self.reader, self.writer, self.rewriter, self.patcher, self.document):
            if target is not None and target.count(":") != 1:
                raise ValueError(f"adapter {self.name!r}: {target!r} is not 'module:function'")

    @property
    def label(self) -> str:
        """The format in a message, such as ``URDF``."""
        return self.name.upper()

    @property
    def of_files(self) -> bool:
        """Whether the format has files, not only objects in memory."""
        return self.accepts is None or self.sniff is not None or bool(self.suffixes)

    @property
    def installed(self) -> bool:
        """Whether the third-party module that the format needs is there."""
        from importlib.util import find_spec  # where a format needs more than this package

        try:
            return self.module is None or find_spec(self.module) is not None
        except ModuleNotFoundError:  # a parent package of a dotted name is absent
            return False

    def load_reader(self) -> Callable[..., Mechanism]:
        """Import the reader; raises ``MissingExtra`` or ``UnknownFormat``."""
        if self.reader is None:
            raise UnknownFormat(self.name, readable())
        return self._load(self.reader)

    def load_writer(self) -> Callable[..., Any]:
        """Import the writer; raises ``MissingExtra`` or ``UnknownFormat``."""
        if self.writer is None:
            raise UnknownFormat(self.name, [a.name for a in adapters().values() if a.writer])
        return self._load(self.writer)

    def _named(self, field: str) -> Callable[..., Any] | None:
        """Import what a field names; None where it names nothing; raises ``MissingExtra``."""
        target = getattr(self, field)
        return None if target is None else self._load(target)

    load_rewriter = partialmethod(_named, "rewriter")
    load_patcher = partialmethod(_named, "patcher")
    load_document = partialmethod(_named, "document")

    def _load(self, target: str) -> Callable[..., Any]:
        if self.module is not None and self.extra is not None and not self.installed:
            raise MissingExtra(self.title, self.module, self.extra)
        module, function = target.split(":")
        loaded: Callable[..., Any] = getattr(importlib.import_module(module), function)
        return loaded


#: Formats of CAD systems are guests: any of their folders can be deleted, and its format is not
#: known then. They share ``cad``, without which all of them are gone.
GUESTS = ("asmt", "freecad", "mbdyn", "onshape", "simscape")


#: Formats of files and objects of other libraries; modules and classes are named from the package
#: ``regularize`` on, tests by their names in ``sniffers``, or by root elements and classes.
TABLE = Path(__file__).with_name("formats.json")


def _record(stated: dict[str, Any]) -> Adapter:
    """Return the record of a format from its entry in the table."""
    for key, value in stated.items():
        if key in ("reader", "writer", "rewriter", "patcher", "document"):
            stated[key] = f"regularize.{value}"
        elif key in ("sniff", "accepts"):
            test = sniffers.has_root if key == "sniff" else sniffers.is_a
            stated[key] = test(*value) if isinstance(value, list) else getattr(sniffers, value)
        elif isinstance(value, list):
            stated[key] = tuple(value) if key == "suffixes" else frozenset(value)
    return Adapter(**stated)


def _present(adapter: Adapter) -> bool:
    """Say whether the folders of a format are installed; some formats are optional."""
    folders = (TABLE.with_name(folder) for folder in (adapter.name, "cad"))
    return adapter.name not in GUESTS or all(folder.is_dir() for folder in folders)


BUILTIN = tuple(filter(_present, map(_record, json.loads(TABLE.read_text(encoding="utf-8")))))


@cache
def adapters() -> Mapping[str, Adapter]:
    """All formats by name; raises ``RegularizeError`` where two have the same."""
    named: dict[str, Adapter] = {}
    for adapter in (*BUILTIN, *_installed_adapters()):
        if adapter.name in named:
            raise RegularizeError(
                f"two adapters are named {adapter.name!r} ({named[adapter.name].title}; "
                f"{adapter.title}): uninstall the package that brings one of them"
            )
        named[adapter.name] = adapter
    return MappingProxyType(named)


def adapter_named(name: str | None) -> Adapter | None:
    """The format of a name, None where there is none; only other names ask other packages."""
    builtin = next((adapter for adapter in BUILTIN if adapter.name == name), None)
    return adapters().get(name or "") if builtin is None else builtin


def _installed_adapters() -> list[Adapter]:
    # Takes longer than to read a small model; most files are known without it.
    from importlib.metadata import entry_points

    installed = []
    for entry in sorted(entry_points(group=GROUP), key=lambda e: e.name):
        # A broken package must not keep the other formats from being read.
        try:
            adapter = entry.load()
        except Exception as error:
            warnings.warn(f"adapter {entry.value!r} cannot be loaded: {error}", stacklevel=3)
            continue
        if isinstance(adapter, Adapter):
            installed.append(adapter)
        else:
            warnings.warn(f"adapter {entry.value!r} is not an Adapter record", stacklevel=3)
    return installed


def readable() -> list[str]:
    """Names of the formats whose files can be read."""
    return [each.name for each in adapters().values() if each.reader and each.of_files]


def adapter_of(value: object) -> Adapter | None:
    """The adapter whose reader takes an object in memory; ours are asked first."""
    for group in (BUILTIN, adapters().values()):
        for adapter in group:
            if adapter.accepts is not None and adapter.accepts(value):
                return adapter
    return None


def objects() -> list[str]:
    """Titles of the objects in memory that are taken for models."""
    return [each.title for each in adapters().values() if each.accepts is not None]
