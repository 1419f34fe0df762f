"""The standard streams of the command line, made fit for whatever reads them."""

from __future__ import annotations

import codecs
import contextlib
import os
import signal
import sys
import threading
from collections.abc import Iterator
from types import FrameType
from typing import NoReturn, TextIO

#: Plain words for the signs that reports use, for terminals that have no more than ASCII.
PLAIN = {
    "─": "-",
    "═": "=",
    "│": "|",
    "┊": ":",
    "·": "-",
    "…": "...",
    "×": "x",
    "−": "-",
    "–": "-",
    "—": "-",
    "°": " deg",
    "µ": "u",
    "²": "^2",
    "³": "^3",
    "≤": "<=",
    "≥": ">=",
    "≈": "~",
    "→": "->",
    "←": "<-",
    "↔": "<->",
    "✓": "ok",
    "ü": "ue",
    "“": '"',
    "”": '"',
    "’": "'",
}


class Terminated(BaseException):
    """The process was asked to end; what it holds open is put away on the way out."""


@contextlib.contextmanager
def prepared() -> Iterator[None]:
    """Let streams write whatever the text holds, and let a request to end clean up.

    Signs that a stream's encoding lacks come out as plain words, others as their escapes. Whoever
    calls the command line from a program, or a thread of one, keeps its own answer to signals.
    """
    codecs.register_error("regularize.plain", _plain)
    for stream in (sys.stdout, sys.stderr):
        reconfigure = getattr(stream, "reconfigure", None)
        if reconfigure is not None:
            reconfigure(errors="regularize.plain")
    ours = threading.current_thread() is threading.main_thread()
    ours = ours and signal.getsignal(signal.SIGTERM) is signal.SIG_DFL
    if ours:
        signal.signal(signal.SIGTERM, _terminate)
    try:
        yield
    finally:
        if ours:
            signal.signal(signal.SIGTERM, signal.SIG_DFL)


def release(stream: TextIO) -> None:
    """Write out what a stream still holds; nowhere if its reader has gone or its disk is full.

    Python does the same at its end, but has only a trace to say that it failed.
    """
    try:
        stream.flush()
    except OSError:
        with contextlib.suppress(OSError, ValueError):  # a stream that is no file
            os.dup2(os.open(os.devnull, os.O_WRONLY), stream.fileno())


def _plain(error: UnicodeError) -> tuple[str, int]:
    if not isinstance(error, UnicodeEncodeError):
        raise error
    signs = error.object[error.start : error.end]
    words = (PLAIN.get(s) or s.encode("ascii", "backslashreplace").decode() for s in signs)
    return "".join(words), error.end


def _terminate(_number: int, _frame: FrameType | None) -> NoReturn:
    raise Terminated
