"""Standard streams made fit for whatever reads them."""

from __future__ import annotations

import codecs
import contextlib
import json
import os
import signal
import sys
import threading
import time
from collections.abc import Iterator
from types import FrameType
from typing import NoReturn, TextIO

#: When a process that begins with the command line began: so far it has computed and not waited.
BEGAN = time.perf_counter() - time.process_time()
#: Plain words for the signs that reports use, for terminals that have no more than ASCII.
PLAIN = {
    **dict.fromkeys("─·−–—", "-"),
    **{"═": "=", "│": "|", "┊": ":", "…": "...", "×": "x", "°": " deg", "µ": "u", "✓": "ok"},
    **{"²": "^2", "³": "^3", "≤": "<=", "≥": ">=", "≈": "~", "→": "->", "←": "<-", "↔": "<->"},
    **{"“": '"', "”": '"', "’": "'"},
}


#: Set once Ctrl-C was pressed.
INTERRUPTED = threading.Event()


class Terminated(BaseException):
    """Raised where the process is asked to end, so that open files are put away on the way out."""


@contextlib.contextmanager
def prepared() -> Iterator[None]:
    """Let streams write any character, and turn a request to end into an exception.

    Signs that a stream's encoding lacks come out as plain words, others as their escapes. Whoever
    calls the command line from a program, or a thread of one, keeps its own answer to signals.
    """
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
    raise KeyboardInterrupt


def _terminate(_number: int, _frame: FrameType | None) -> NoReturn:
    raise Terminated
