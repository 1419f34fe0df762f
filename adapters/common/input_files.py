"""Files as readers take them: regular ones, whole, up to a size.

Files that are watched: whoever edits a model sees at once what follows.
"""

from __future__ import annotations

import os
import stat
from collections.abc import Callable, Collection, Iterator, Mapping
from contextlib import contextmanager
from contextvars import ContextVar
from pathlib import Path
from threading import Event

from regularize.errors import ReadError, RegularizeError

#: Largest file that is read, in bytes.
LARGEST = 256 * 1024 * 1024
#: Bytes that readers find in some files instead of those on the disk, by real path.
_REPLACED: ContextVar[Mapping[str, bytes]] = ContextVar("replaced", default={})  # noqa: B039


@contextmanager
def replaced_content(files: Mapping[Path, bytes]) -> Iterator[None]:
    """Let readers find other bytes in some files; the files themselves stay as they are."""
    token = _REPLACED.set({os.path.realpath(path): data for path, data in files.items()})
    try:
        yield
    finally:
        _REPLACED.reset(token)


def replacement(path: str | os.PathLike[str]) -> bytes | None:
    """Return the bytes that `replaced_content` puts in the place of a file, if any."""
    return _REPLACED.get().get(os.path.realpath(path)) if _REPLACED.get() else None


def read_bytes(path: str, count: int = -1) -> bytes:
    """Content of a file, or its first bytes; raises ``ReadError`` where it cannot be read."""
    data = replacement(path)
    if data is not None:
        return data if count < 0 else data[:count]
    check_regular(path)
    try:
        with open(path, "rb") as file:
            return file.read(count)
    except OSError as error:
        raise ReadError(path, f"cannot be opened: {error.strerror}; check the path") from error


def check_regular(path: str) -> None:
    """Refuse what is no file of bytes: reading a pipe or a device can wait or go on for ever."""
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
    """The state of files, by their true places."""
    states: dict[str, Stamp] = {}
    for path in files:
        try:
            status = os.stat(path)
            states[os.path.realpath(path)] = status.st_mtime_ns, status.st_size
        except OSError:
            states[os.path.realpath(path)] = None
    return states


def changes(files: Callable[[], Collection[str]], stop: Event | None = None) -> Iterator[list[str]]:
    """Wait for changes of files, which are asked for again after each, and yield what changed."""
    try:
        from watchfiles import watch
    except ImportError as error:
        raise RegularizeError(
            "watching files takes watchfiles: pip install 'pin-regularize[bench]'"
        ) from error
    seen: dict[str, Stamp] = {}

    def named(change: object, path: str) -> bool:
        return os.path.realpath(path) in seen

    while stop is None or not stop.is_set():
        now = stamps(files())
        changed = [path for path, stamp in now.items() if seen.get(path, stamp) != stamp]
        seen = now
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
