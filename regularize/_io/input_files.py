"""Files as readers take them: regular ones, whole, up to a size."""

from __future__ import annotations

import os
import stat
from pathlib import Path

from regularize.errors import ReadError

#: Largest file that is read, in bytes.
LARGEST = 256 * 1024 * 1024


def read_bytes(path: str) -> bytes:
    """Content of a file.

    Raises:
        ReadError: The file cannot be opened, is not a regular one, or is larger than ``LARGEST``.
    """
    check_regular(path)
    try:
        return Path(path).read_bytes()
    except OSError as error:
        raise ReadError(path, f"cannot be opened: {error.strerror}; check the path") from error


def read_head(path: str, count: int) -> bytes:
    """The first bytes of a file; raises ``ReadError`` as ``read_bytes`` does."""
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
