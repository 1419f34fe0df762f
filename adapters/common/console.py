"""Standard streams made fit for whatever reads them, and a line on what a slow command does."""

from __future__ import annotations

import codecs
import contextlib
import json
import os
import shutil
import signal
import sys
import threading
import time
from collections.abc import Callable, Iterator
from types import FrameType
from typing import Any, NoReturn, TextIO

#: When a process that begins with the command line began: so far it has computed and not waited.
BEGAN = time.perf_counter() - time.process_time()
#: Plain words for the signs that reports use, for terminals that have no more than ASCII.
PLAIN = {
    **dict.fromkeys("─·−–—", "-"),
    **{"═": "=", "│": "|", "┊": ":", "…": "...", "×": "x", "°": " deg", "µ": "u", "✓": "ok"},
    **{"²": "^2", "³": "^3", "≤": "<=", "≥": ">=", "≈": "~", "→": "->", "←": "<-", "↔": "<->"},
    **{"“": '"', "”": '"', "’": "'"},
}


#: Set once Ctrl-C was pressed, and seconds after which that is said again to code that ate it.
INTERRUPTED, AGAIN = threading.Event(), 1.0


class Terminated(BaseException):
    """Raised where the process is asked to end, so that open files are put away on the way out."""


@contextlib.contextmanager
def prepared() -> Iterator[None]:
    """Let streams write any character, and turn a request to end into an exception."""
    codecs.register_error("regularize.plain", _plain)
    # A stream that is closed says nothing, and its number goes to no file that is opened later.
    while (number := os.open(os.devnull, os.O_RDWR)) < 3:
        pass
    os.close(number)
    for name in ("stdout", "stderr"):
        if getattr(sys, name) is None:
            setattr(sys, name, os.fdopen(os.open(os.devnull, os.O_WRONLY), "w", encoding="utf-8"))
    for stream in (sys.stdout, sys.stderr):
        reconfigure = getattr(stream, "reconfigure", None)
        if reconfigure is not None:
            reconfigure(errors="regularize.plain")
    ours = threading.current_thread() is threading.main_thread()
    ours = ours and signal.getsignal(signal.SIGTERM) is signal.SIG_DFL
    interrupt = signal.getsignal(signal.SIGINT) is signal.default_int_handler
    if ours:
        signal.signal(signal.SIGTERM, _terminate)
        if interrupt:  # and not ignored, as in the background of a shell
            signal.signal(signal.SIGINT, _interrupt)
    try:
        yield
    finally:
        if INTERRUPTED.is_set() and hasattr(signal, "setitimer"):
            signal.setitimer(signal.ITIMER_REAL, 0.0)
            signal.signal(signal.SIGALRM, signal.SIG_DFL)
        INTERRUPTED.clear()
        if ours:
            signal.signal(signal.SIGTERM, signal.SIG_DFL)
            if interrupt:
                signal.signal(signal.SIGINT, signal.default_int_handler)


def write_json(text: str) -> None:
    """Write JSON to standard output; characters that its encoding lacks as JSON's escapes."""
    try:
        text.encode(sys.stdout.encoding or "utf-8")
    except UnicodeEncodeError:
        text = "".join(c if c.isascii() else json.dumps(c)[1:-1] for c in text)
    sys.stdout.write(text)


def release(stream: TextIO) -> None:
    """Flush a stream; discard its content if its reader has gone or its disk is full."""
    try:
        stream.flush()
    except OSError:
        with contextlib.suppress(OSError, ValueError):  # a stream that is no file
            os.dup2(os.open(os.devnull, os.O_WRONLY), stream.fileno())


def _plain(error: UnicodeError) -> tuple[str, int]:
    if not isinstance(error, UnicodeEncodeError):
        raise error
    signs = error.object[error.start : error.end]
    if error.object[error.start - 2 : error.start + 5] == "Grübler":  # our word, and nobody's name
        return "ue", error.start + 1
    words = (PLAIN.get(s) or s.encode("ascii", "backslashreplace").decode() for s in signs)
    return "".join(words), error.end


def _interrupt(number: int, frame: FrameType | None) -> NoReturn:
    """Raise ``KeyboardInterrupt``, and note it for libraries that raise something else then."""
    INTERRUPTED.set()
    if hasattr(signal, "setitimer"):
        signal.signal(signal.SIGALRM, _interrupt)
        signal.setitimer(signal.ITIMER_REAL, AGAIN)
    raise KeyboardInterrupt


def _terminate(_number: int, _frame: FrameType | None) -> NoReturn:
    raise Terminated


#: Seconds after which the line is shown, and between its pictures; cells of the bar, and of the
#: part that moves where nobody knows how far the command is.
SHOWN, EVERY, WIDE, MOVING = 2.0, 0.1, 24, 5


class _Line:
    """The line of a command, drawn by a thread of its own and wiped before anything is written."""

    def __init__(self, words: str, stream: TextIO) -> None:
        self.words, self._stream = words, stream
        self.fraction: float | None = None  #: how much is done, of one; None where nobody knows
        self._began, self._lock, self.ended = time.monotonic(), threading.RLock(), threading.Event()
        self._wide = 0  #: how many signs are there now
        self._free = True  #: whether the cursor stands at the beginning of a line

    def write(self, stream: Any, text: str) -> Any:
        """Write to a stream what belongs to the command, in place of the line."""
        with self._lock:
            if self._wide:
                self._put("", 0)
            self._free = text.endswith("\n") if text else self._free
            return stream.write(text)

    def run(self) -> None:
        """Draw the line again and again until the command has ended."""
        count = 0
        while not self.ended.wait(EVERY):
            count += 1
            seconds = time.monotonic() - self._began
            with self._lock:
                if self._free and seconds > SHOWN:
                    line = f"{self.words} {self._bar(count)} {seconds:.0f} s"
                    line = line[: shutil.get_terminal_size().columns - 1]
                    self._put(line, len(line))
        self.write(self._stream, "")

    def _put(self, line: str, wide: int) -> None:
        """Write signs in place of those that are there, and leave the cursor where they begin."""
        self._stream.write(f"\r{line}{' ' * (self._wide - wide)}\r")
        self._stream.flush()
        self._wide = wide

    def _bar(self, count: int) -> str:
        """Return the bar's picture of a number."""
        if self.fraction:
            done = round(WIDE * min(1.0, self.fraction))
            return "═" * done + "─" * (WIDE - done) + f" {100.0 * self.fraction:3.0f} %"
        end = count % (WIDE + MOVING)
        return "".join("═" if end - MOVING <= k < end else "─" for k in range(WIDE))


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
    drawing = threading.Thread(target=line.run, daemon=True)
    _SHOWN.append(line)
    drawing.start()
    try:
        yield
    finally:
        _SHOWN.remove(line)
        line.ended.set()
        drawing.join()
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
            yield lambda fraction: setattr(line, "fraction", fraction)
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
