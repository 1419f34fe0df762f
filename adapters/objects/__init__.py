"""An object in memory as a file of its own format: how it is read and changed."""

from __future__ import annotations

import ctypes
import os
import tempfile
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import replace
from functools import cached_property
from pathlib import Path
from typing import Any

from lxml import etree

from regularize.adapters.reading import by_content, read
from regularize.adapters.registry import adapter_named, readable
from regularize.errors import ReadError, RegularizeError, UnknownFormat
from regularize.mechanism.diagnostic import Source
from regularize.mechanism.mechanism import Mechanism
from regularize.output_files import write_aside

#: Attributes of a mechanism whose entries have a ``source``.
PLACED = ("bodies", "joints", "couplings", "actuators", "findings")


def placed(mechanism: Mechanism, place: Callable[[Source | None], Source | None]) -> Mechanism:
    """Return the mechanism with sources mapped by ``place``, and with no path of a file."""
    named: dict[str, Any] = {
        part: tuple(replace(x, source=place(x.source)) for x in getattr(mechanism, part))
        for part in PLACED
    }
    return replace(mechanism, path=None, **named)


class ObjectDocument(ABC):
    """An object in memory that is written to a model file, and made again of a changed file."""

    format: str  # name of the file's format
    label: str  # what messages call the object in the place of a file name

    @abstractmethod
    def write(self, folder: Path) -> Path:
        """Write the object to a file in a folder; returns the file."""

    @abstractmethod
    def parse(self, path: Path) -> Any:
        """Return a new object of the same type, made of a file."""

    def line(self, line: int | None) -> int | None:
        """Return the line of the user's text that became a line of the file; None without one."""
        return None

    def source(self, source: Source | None) -> Source | None:
        """Return the source in the object that corresponds to a source in the written file."""
        return source and Source(self.label, self.line(source.line), source.element)

    @contextmanager
    def written(self) -> Iterator[Path]:
        """Write the object to a temporary file; errors within this context name the object."""
        with tempfile.TemporaryDirectory(prefix="regularize-") as folder:
            path = str(self.write(Path(folder)))
            try:
                yield Path(path)
            except ReadError as error:
                line, reason = self.line(error.line), error.reason.replace(path, self.label)
                raise ReadError(self.label, reason, line=line, element=error.element) from None
            except RegularizeError as error:
                error.args = tuple(str(text).replace(path, self.label) for text in error.args)
                raise

    def read(self, **options: Any) -> Mechanism:
        """Read the mechanism that the object describes."""
        with self.written() as path:
            return self.placed(read(path, format=self.format, **options))

    def placed(self, mechanism: Mechanism) -> Mechanism:
        """Return the mechanism with sources in the object instead of in the written file."""
        return placed(mechanism, self.source)


def read_text(text: str | bytes, *, format: str | None = None, **options: Any) -> Mechanism:
    """Read the text of a model file; files that it names are looked for nowhere."""
    return TextDocument(text, format).read(**options)


def read_tree(tree: Any, **options: Any) -> Mechanism:
    """Read an lxml element or tree; findings name the lines of the file that it was parsed from."""
    return TreeDocument(tree).read(**options)


class TextDocument(ObjectDocument):
    """A model file as text or as bytes."""

    def __init__(self, text: str | bytes, format: str | None = None) -> None:
        self._text = text
        self._data = text.encode() if isinstance(text, str) else bytes(text)
        self.label = "<text>" if isinstance(text, str) else "<bytes>"
        self.format = format or self._recognised()

    def _recognised(self) -> str:
        """Return the only format whose content the text has; raise where there are several."""
        if not self._data.strip():
            raise ReadError(self.label, "is empty; give what a model file holds")
        formats = [adapter.name for adapter in by_content(self._data)]
        if "xacro" in formats:
            return "xacro"
        if len(formats) != 1:
            raise UnknownFormat(self.label, readable(), "format=")
        return formats[0]

    def write(self, folder: Path) -> Path:
        """Write the text unchanged, with the ending of its format."""
        adapter = adapter_named(self.format)
        if adapter is None or not adapter.of_files:
            raise UnknownFormat(self.format, readable(), "format=")
        # A `.usd` may be text or binary: `.usda` says text, and USD itself looks at binary data.
        endings = [suffix for suffix in adapter.suffixes if suffix != ".usd"]
        endings = endings or [*adapter.suffixes, ""]
        suffix = ".usdc" if self._data.startswith(b"PXR-USDC") else endings[0]
        path = folder / f"model{suffix}"
        write_aside(path, self._data)
        return path

    def parse(self, path: Path) -> Any:
        """Return the content of a file as text or as bytes, whichever the object was."""
        data = path.read_bytes()
        return data.decode() if isinstance(self._text, str) else type(self._text)(data)

    def line(self, line: int | None) -> int | None:
        """Return the line unchanged, since the file is the text itself."""
        return line


class TreeDocument(ObjectDocument):
    """An lxml element or element tree."""

    def __init__(self, tree: Any) -> None:
        self._tree = tree
        self._root = tree.getroot() if hasattr(tree, "getroot") else tree
        if self._root is None or not isinstance(self._root.tag, str):
            raise ReadError("<lxml tree>", "has no root element; give that of a model")
        self._data = etree.tostring(self._root, encoding="utf-8", with_tail=False)
        self.label = self._root.getroottree().docinfo.URL or f"<lxml {self._root.tag}>"
        self.format = TextDocument(self._data).format

    def write(self, folder: Path) -> Path:
        """Write the elements as text."""
        return TextDocument(self._data, self.format).write(folder)

    def parse(self, path: Path) -> Any:
        """Return the content of a file as an element or as a tree, whichever the object was."""
        tree = etree.fromstring(path.read_bytes(), etree.XMLParser(strip_cdata=False)).getroottree()
        return tree if hasattr(self._tree, "getroot") else tree.getroot()

    @cached_property
    def _lines(self) -> dict[int, int]:
        """Map lines in the written text to lines of the elements in their own file."""
        pairs = zip(etree.fromstring(self._data).iter(), self._root.iter(), strict=True)
        return {
            written.sourceline: original.sourceline
            for written, original in reversed([*pairs])
            if written.sourceline and original.sourceline
        }

    def line(self, line: int | None) -> int | None:
        """Return the line that an element was parsed from; None for one that was made in memory."""
        return None if line is None else self._lines.get(line)


#: Significant digits from which a double is read back exactly; MuJoCo writes 6 by default.
DIGITS = 17


def read_spec(spec: Any, **options: Any) -> Mechanism:
    """Read a ``mujoco.MjSpec``, which is copied, compiled, and left as it is."""
    return SpecDocument(spec).read(**options)


class SpecDocument(ObjectDocument):
    """MuJoCo's ``MjSpec`` with its assets, through the XML that it writes, to the last digit."""

    format = "mjcf"

    def __init__(self, spec: Any) -> None:
        self._spec = spec
        self.label = f"<MjSpec {spec.modelname}>"
        self._folders = {
            name: os.path.abspath(os.path.join(spec.modelfiledir or "", getattr(spec, name) or ""))
            for name in ("meshdir", "texturedir")
        }

    def write(self, folder: Path) -> Path:
        """Write the XML of the specification, and beside it the assets that it holds in memory."""
        assets = dict(self._spec.assets)
        for name, data in assets.items():
            place = folder / os.path.basename(name)
            write_aside(place, data if isinstance(data, bytes) else str(data))
        copy = self._spec.copy()
        for name, place in self._folders.items():
            setattr(copy, name, str(folder) if assets else place)
        import mujoco  # where there is a specification, there is MuJoCo

        from regularize.adapters.mjcf.compiled import collected

        try:
            with collected(), _exact():
                copy.compile()
                text = copy.to_xml()
        except (ValueError, mujoco.FatalError) as error:
            reason = " ".join(str(error).split())
            raise ReadError(self.label, f"MuJoCo cannot compile it: {reason}") from error
        path = folder / "model.xml"
        write_aside(path, text)
        return path

    def parse(self, path: Path) -> Any:
        """Return a specification made of a file, with the folders and assets of the old one."""
        import mujoco  # as above

        made = mujoco.MjSpec.from_file(str(path))
        for name in self._folders:
            setattr(made, name, getattr(self._spec, name))
        made.modelfiledir = self._spec.modelfiledir
        for name, data in dict(self._spec.assets).items():
            made.assets[name] = data
        return made


@contextmanager
def _exact() -> Iterator[None]:
    """Make MuJoCo write all 17 digits within this context, if its library allows that."""
    import mujoco  # as above

    places = [*Path(mujoco.__file__).parent.glob("*mujoco.*.*.*")]
    library = ctypes.CDLL(str(places[0])) if places else None
    get, put = (
        getattr(library, f"_mjPRIVATE__{verb}_xml_precision", None) for verb in ("get", "set")
    )
    if get is None or put is None:
        yield
        return
    before = get()
    put(DIGITS)
    try:
        yield
    finally:
        put(before)
