"""Files that are watched: whoever edits a model sees at once what follows."""

from __future__ import annotations

import os
from collections.abc import Callable, Collection, Iterator
from threading import Event

from regularize.errors import RegularizeError

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
