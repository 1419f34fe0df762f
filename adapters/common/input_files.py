"""Files as readers take them: regular ones, whole, up to a size; packages around them; watching."""

from __future__ import annotations

import os
import re
import stat
from collections.abc import Callable, Collection, Iterator, Mapping
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass, field
from pathlib import Path
from threading import Event

from regularize.errors import ReadError, RegularizeError, install_words

#: Largest file that is read, in bytes.
LARGEST = 256 * 1024 * 1024
#: Bytes that readers find in some files instead of those on the disk, by real path.
_REPLACED: ContextVar[Mapping[str, bytes]] = ContextVar("replaced", default={})  # noqa: B039
#: What has been read within `opened_once`, by path as it is named.
_OPENED: ContextVar[dict[str, bytes] | None] = ContextVar("opened", default=None)


@contextmanager
def replaced_content(files: Mapping[Path, bytes] | Mapping[str, bytes]) -> Iterator[None]:
    """Make readers see other content for some files, without changing the files on disk."""
    more = {os.path.realpath(path): data for path, data in files.items()}
    token = _REPLACED.set({**_REPLACED.get(), **more})
    try:
        yield
    finally:
        _REPLACED.reset(token)


@contextmanager
def opened_once() -> Iterator[None]:
    """Open each file once within the context, however often its content is asked for."""
    token = _OPENED.set(_OPENED.get() or {})
    try:
        yield
    finally:
        _OPENED.reset(token)


def replacement(path: str | os.PathLike[str]) -> bytes | None:
    """Return the bytes that `replaced_content` puts in the place of a file, if any."""
    return _REPLACED.get().get(os.path.realpath(path)) if _REPLACED.get() else None


def expanded_name(path: str) -> str:
    """Return the name under which the text lies that a program makes of a file."""
    return f"{path} (expanded)"


def expanded_text(path: str, expand: Callable[[], str]) -> str:
    """Return what a program makes of a file, or what is put in the place of that."""
    name, opened = expanded_name(path), _OPENED.get()
    data = replacement(name)
    data = expand().encode() if data is None else data
    if opened is not None:
        opened[name] = data
    return data.decode()


def read_bytes(path: str, count: int = -1) -> bytes:
    """Return the content of a file, or its first bytes; raises ``ReadError`` if unreadable."""
    data, opened = replacement(path), _OPENED.get()
    if data is None and opened is not None:
        data = opened.get(path)
    if data is None:
        check_regular(path)
        try:
            with open(path, "rb") as file:
                data = file.read(count if opened is None else -1)
        except OSError as error:
            raise ReadError(path, f"cannot be opened: {error.strerror}; check the path") from error
        if opened is not None:
            opened[path] = data
    return data if count < 0 else data[:count]


def check_regular(path: str) -> None:
    """Raise ``ReadError`` unless a path is a regular file of bearable size (no pipe or device)."""
    try:
        status = os.stat(path)
    except FileNotFoundError as error:
        raise ReadError(path, "there is no such file; check the path") from error
    except (OSError, ValueError) as error:
        why = getattr(error, "strerror", None) or str(error)
        raise ReadError(path, f"cannot be opened: {why}; check the path") from error
    if stat.S_ISDIR(status.st_mode):
        raise ReadError(path, "is a folder; name a file in it")
    if not stat.S_ISREG(status.st_mode):
        raise ReadError(path, "is a pipe, socket or device; name a regular file")
    if status.st_size > LARGEST:
        raise ReadError(path, f"has {status.st_size} bytes, more than the {LARGEST} that are read")


#: When a file was written and its size; None where there is none.
Stamp = tuple[int, int] | None


def stamps(files: Collection[str]) -> dict[str, Stamp]:
    """Return the state of files (to notice changes), by their resolved paths."""
    states: dict[str, Stamp] = {}
    for path in files:
        try:
            status = os.stat(path)
            states[os.path.realpath(path)] = status.st_mtime_ns, status.st_size
        except OSError:
            states[os.path.realpath(path)] = None
    return states


def changes(files: Callable[[], Collection[str]], stop: Event | None = None) -> Iterator[list[str]]:
    """Wait for changes of files, listed anew each time, and yield the paths that changed."""
    try:
        from watchfiles import watch
    except ImportError as error:
        raise RegularizeError(
            f"watching files takes watchfiles: {install_words('watch')}"
        ) from error
    stamped: dict[str, Stamp] = {}

    def named(change: object, path: str) -> bool:
        return os.path.realpath(path) in stamped

    while stop is None or not stop.is_set():
        now = stamps(files())
        changed = [path for path, stamp in now.items() if stamped.get(path, stamp) != stamp]
        stamped = now
        if changed:
            yield changed
            continue
        folders = {os.path.dirname(path) for path in now}
        watched = watch(
            *(folder for folder in folders if os.path.isdir(folder)),
            watch_filter=named,
            stop_event=stop,
            debounce=400,
            recursive=False,
            raise_interrupt=True,
        )
        next(watched, None)


#: Folders that are opened below one place, and how deep below it they lie: more is no workspace.
MOST, DEEPEST = 20_000, 7
#: What holds no sources: products of builds, caches, environments.
PASSED = frozenset({"build", "devel", "log", "node_modules", "__pycache__", "site-packages"})
#: Variables of the environment that list folders, and where in these the packages lie.
FOLDERS = {"AMENT_PREFIX_PATH": "share", "ROS_PACKAGE_PATH": ""}
_NAME = re.compile(r"<name>\s*([^<\s]+)\s*</name>")
_COMMENT = re.compile(r"(?s)<!--.*?-->")


@dataclass(eq=False)
class Packages:
    """Finder of ROS packages by name: in a file's workspace, then where the environment says."""

    start: Path
    whole: Path | None = None  # searched after the folders around ``start``, such as a clone
    given: Mapping[str, Path] = field(default_factory=dict)  # these go before all that is found
    _searched: dict[Path, dict[str, Path]] = field(default_factory=dict)

    def find(self, name: str) -> Path | None:
        """Return the folder of a package, or None."""
        if name in self.given:
            return self.given[name]
        packages = next((packages for packages in self._places() if name in packages), None)
        return self._by_folder(name) if packages is None else packages[name]

    def every(self) -> dict[str, Path]:
        """Return the folders of all packages that are found, by package name."""
        named: dict[str, Path] = {}
        for packages in self._places():
            named = {**packages, **named}
        return {**named, **self.given}

    def _places(self) -> Iterator[dict[str, Path]]:
        """Yield the packages below each folder to search, the nearest folder first."""
        places = self._above()
        if self.whole is not None and self.whole not in places:
            places.append(self.whole.resolve())
        for variable, inside in FOLDERS.items():
            entries = filter(None, os.environ.get(variable, "").split(os.pathsep))
            places += [Path(entry, inside) for entry in entries]
        for place in places:
            if place not in self._searched:
                self._searched[place] = packages_below(place)
            yield self._searched[place]

    def _above(self) -> list[Path]:
        """Return the file's folder and the folders above it, up to the root of its workspace."""
        here = self.start.resolve()
        folders = [here, *here.parents] if here.is_dir() else list(here.parents)
        outside = {Path(folders[-1]), Path.home()}
        inside = [folder for folder in folders if folder not in outside]
        last = 0
        for i, folder in enumerate(inside):
            if (folder / ".git").exists():
                last = max(last, i)
            # Packages lie side by side in `src`, and in the `share` of an install space.
            if (folder / "package.xml").is_file() or folder.name in ("src", "share"):
                last = max(last, min(i + 1, len(inside) - 1))
        return inside[: last + 1]

    def _by_folder(self, name: str) -> Path | None:
        """Return a nearby folder whose own name is the package's, for want of a package.xml."""
        for folder in self.start.resolve().parents:
            if folder.name == name:
                return folder
        near = self._above() if self.whole is None else [*self._above(), self.whole]
        for folder in near:
            for place in (folder / name, folder / "src" / name):
                if place.is_dir():
                    return place
        return None


def packages_below(place: Path) -> dict[str, Path]:
    """Return folders with a ``package.xml`` or ``model.config`` by name; sources first."""
    sources: dict[str, Path] = {}
    installed: dict[str, Path] = {}
    for folder, files in folders_below(place):
        # What a workspace has installed is a copy of its sources.
        into = installed if "install" in folder.relative_to(place).parts else sources
        if "package.xml" in files and (name := package_name(folder / "package.xml")):
            into.setdefault(name, folder)
        elif "model.config" in files:
            into.setdefault(folder.name, folder)
    return {**installed, **sources}


def folders_below(place: Path) -> Iterator[tuple[Path, list[str]]]:
    """Yield a folder and its subfolders with their file names, by depth and name."""
    pending, opened, linked = [(place, 0)], 0, set[str]()
    while pending and opened < MOST:
        folder, depth = pending.pop(0)
        opened += 1
        try:
            entries = sorted(os.scandir(folder), key=lambda entry: entry.name)
        except OSError:
            continue
        names = [entry.name for entry in entries]
        yield folder, [entry.name for entry in entries if entry.is_file()]
        if depth == DEEPEST or "COLCON_IGNORE" in names or "CATKIN_IGNORE" in names:
            continue
        for entry in entries:
            if not entry.is_dir() or entry.name in PASSED or entry.name.startswith("."):
                continue
            if entry.is_symlink():  # of a workspace made of links; each leads to another place once
                target = os.path.realpath(entry.path)
                if target in linked or os.path.realpath(place).startswith(target):
                    continue
                linked.add(target)
            pending.append((folder / entry.name, depth + 1))


def package_name(manifest: Path) -> str | None:
    """Return the name that a ``package.xml`` states."""
    try:
        text = manifest.read_text(encoding="utf-8", errors="replace")
    except OSError:
        return None
    named = _NAME.search(_COMMENT.sub("", text))
    return named[1] if named else None
