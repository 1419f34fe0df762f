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


def read_bytes(path: str) -> bytes:
    """Content of a file.

    Raises:
        ReadError: The file cannot be opened, is not a regular one, or is larger than ``LARGEST``.
    """
    data = replacement(path)
    if data is not None:
        return data
    check_regular(path)
    try:
        return Path(path).read_bytes()
    except OSError as error:
        raise ReadError(path, f"cannot be opened: {error.strerror}; check the path") from error


def read_head(path: str, count: int) -> bytes:
    """The first bytes of a file; raises ``ReadError`` as ``read_bytes`` does."""
    data = replacement(path)
    if data is not None:
        return data[:count]
    check_regular(path)
    try:
        with open(path, "rb") as file:
            return file.read(count)
    except OSError as error:
        raise ReadError(path, f"cannot be opened: {error.strerror}; check the path") from error


def check_regular(path: str) -> None:
    """Refuse what is no file of bytes: reading a pipe or a device can wait or go on for ever.

    Raises:
        ReadError: The file is absent, is a folder, pipe, socket or device, or is too large.
    """
    try:
        found = os.stat(path)
    except FileNotFoundError as error:
        raise ReadError(path, "there is no such file; check the path") from error
    except (OSError, ValueError) as error:
        why = getattr(error, "strerror", None) or str(error)
        raise ReadError(path, f"cannot be opened: {why}; check the path") from error
    if stat.S_ISDIR(found.st_mode):
        raise ReadError(path, "is a folder; name a file in it")
    if not stat.S_ISREG(found.st_mode):
        raise ReadError(path, "is a pipe, socket or device; name a regular file")
    if found.st_size > LARGEST:
        raise ReadError(path, f"has {found.st_size} bytes, more than the {LARGEST} that are read")


#: When a file was written and its size; None where there is none.
Stamp = tuple[int, int] | None


def stamps(files: Collection[str]) -> dict[str, Stamp]:
    """The state of files, by their true places."""
    return {os.path.realpath(path): _stamp(path) for path in files}


def changes(files: Callable[[], Collection[str]], stop: Event | None = None) -> Iterator[list[str]]:
    """Wait for changes of files, whether written in place or replaced.

    Args:
        files: Names the files; asked again after every change, for a model may take in others.
        stop: Ends the waiting.

    Yields:
        The files that changed since they were last looked at.

    Raises:
        RegularizeError: What waits for changes is not installed.
    """
    try:
        from watchfiles import watch
    except ImportError as error:
        raise RegularizeError(
            "watching files takes watchfiles: pip install 'pin-regularize[bench]'"
        ) from error
    seen: dict[str, Stamp] = {}
    while stop is None or not stop.is_set():
        now = stamps(files())
        found = [path for path, stamp in now.items() if seen.get(path, stamp) != stamp]
        seen = now
        if found:
            yield found
            continue
        folders = {os.path.dirname(path) for path in now}
        watched = watch(
            *(folder for folder in folders if os.path.isdir(folder)),
            watch_filter=_Among(now),
            stop_event=stop,
            debounce=400,
            recursive=False,
            raise_interrupt=True,
        )
        next(watched, None)


class _Among:
    """Lets the named files pass."""

    def __init__(self, files: Collection[str]) -> None:
        self._files = files

    def __call__(self, change: object, path: str) -> bool:
        return os.path.realpath(path) in self._files


def _stamp(path: str) -> Stamp:
    try:
        found = os.stat(path)
    except OSError:
        return None
    return found.st_mtime_ns, found.st_size
