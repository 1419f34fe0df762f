"""A line on the terminal that says what a command does and how far it is, from two seconds on."""

from __future__ import annotations

import contextlib
import os
import shutil
import sys
import threading
import time
from collections.abc import Callable, Iterator
from typing import Any, TextIO

#: Seconds after which the line is shown, and between its pictures; cells of the bar, and of the
#: part that moves where nobody knows how far the command is.
SHOWN, EVERY, WIDE, MOVING = 2.0, 0.1, 24, 5


class _Line:
    """The line of a command, drawn by a thread of its own and wiped before anything is written."""

    def __init__(self, words: str, stream: TextIO) -> None:
        self.words, self._stream = words, stream
        self.fraction: float | None = None
        self._began = time.monotonic()
        self._lock, self._ended = threading.RLock(), threading.Event()
        self._wide = 0  #: how many signs are there now
        self._free = True  #: whether the cursor stands at the beginning of a line
        self._thread = threading.Thread(target=self._run, daemon=True)

    def begin(self) -> None:
        """Let the thread begin."""
        self._thread.start()

    def end(self) -> None:
        """Let the thread end, and wipe the line."""
        self._ended.set()
        self._thread.join()
        self._wipe()

    def move(self, fraction: float) -> None:
        """Say how much is done, of one."""
        self.fraction = fraction

    def write(self, stream: Any, text: str) -> Any:
        """Write to a stream what belongs to the command, in place of the line."""
        with self._lock:
            self._wipe()
            written = stream.write(text)
            self._free = text.endswith("\n") if text else self._free
        return written

    def _wipe(self) -> None:
        if self._wide:
            self._stream.write("\r" + " " * self._wide + "\r")
            self._stream.flush()
            self._wide = 0

    def _run(self) -> None:
        count = 0
        while not self._ended.wait(EVERY):
            count += 1
            with self._lock:
                if self._free and time.monotonic() - self._began > SHOWN:
                    self._draw(count)

    def _draw(self, count: int) -> None:
        seconds, fraction = time.monotonic() - self._began, self.fraction
        if fraction:
            done = round(WIDE * min(1.0, fraction))
            cells, part = "═" * done + "─" * (WIDE - done), f" {100.0 * fraction:3.0f} %"
        else:
            at, part = count % (WIDE + MOVING), ""
            cells = "".join("═" if at - MOVING <= k < at else "─" for k in range(WIDE))
        line = f"{self.words} {cells}{part} {seconds:.0f} s"
        line = line[: shutil.get_terminal_size().columns - 1]
        self._stream.write("\r" + line + " " * max(0, self._wide - len(line)))
        self._stream.flush()
        self._wide = max(self._wide, len(line))


class _Stream:
    """A stream on the terminal in front of which the line is wiped."""

    def __init__(self, stream: Any, line: _Line) -> None:
        self._stream, self._line = stream, line

    def write(self, text: str) -> Any:
        """Write a text."""
        return self._line.write(self._stream, text)

    def __getattr__(self, name: str) -> Any:
        return getattr(self._stream, name)


#: The line that is shown, or will be.
_SHOWN: list[_Line] = []


@contextlib.contextmanager
def working(words: str) -> Iterator[None]:
    """Show a line on standard error while a command works, if that is a terminal."""
    if _SHOWN or not sys.stderr.isatty() or os.environ.get("TERM") == "dumb":
        yield
        return
    line, before = _Line(words, sys.stderr), (sys.stdout, sys.stderr)
    if sys.stdout.isatty():
        sys.stdout = _Stream(sys.stdout, line)
    sys.stderr = _Stream(sys.stderr, line)
    _SHOWN.append(line)
    line.begin()
    try:
        yield
    finally:
        _SHOWN.remove(line)
        line.end()
        sys.stdout, sys.stderr = before


@contextlib.contextmanager
def delayed_progress(words: str) -> Iterator[Callable[[float], None]]:
    """Return a function that says which fraction is done, on the command's line if it has one."""
    with working(words):
        line = _SHOWN[-1] if _SHOWN else None
        if line is None:
            yield lambda fraction: None
            return
        before, line.words = line.words, words
        try:
            yield line.move
        finally:
            line.words, line.fraction = before, None


@contextlib.contextmanager
def progress_bar(shown: bool, total: int, unit: str) -> Iterator[Callable[[float], None]]:
    """Return a function that advances the line by some of a total, if it is to be shown."""
    if not shown:
        yield lambda amount: None
        return
    done = 0.0

    def advance(amount: float) -> None:
        nonlocal done
        done += amount
        move(done / total)

    with delayed_progress(unit) as move:
        yield advance
