"""Files of generated code that are kept in the user's cache for later processes."""

from __future__ import annotations

import hashlib
import os
from collections.abc import Callable
from contextlib import suppress
from functools import cache
from pathlib import Path

from regularize.output_files import write_aside


def _folder() -> Path:
    """Return the user's own folder of code, as this is loaded into programs."""
    base = os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache"
    folder = Path(base) / "regularize" / "generated"
    folder.mkdir(parents=True, exist_ok=True, mode=0o700)
    if hasattr(os, "getuid") and folder.stat().st_uid != os.getuid():
        raise OSError(f"{folder} belongs to someone else")
    return folder


@cache
def _own_folder() -> Path:
    """Make the folder of this process for files that cannot be cached."""
    import tempfile  # takes a while

    return Path(tempfile.mkdtemp(prefix="regularize-"))


def place_of(key: str, suffix: str) -> Path:
    """Return the path of a file by a key, in the cache or a folder of this process."""
    try:
        folder = _folder()
    except OSError:
        folder = _own_folder()
    return folder / f"g{hashlib.sha256(key.encode()).hexdigest()[:32]}{suffix}"


def write_at_once(path: Path, content: bytes) -> None:
    """Write a file that other processes see whole or not at all."""
    import tempfile  # and here

    with tempfile.TemporaryDirectory(dir=path.parent) as made:
        write_aside(written := Path(made) / path.name, content)
        written.replace(path)


def kept(key: str, suffix: str, make: Callable[[], bytes]) -> bytes:
    """Return what a function makes, from the cache if it is there and as it was written."""
    path = place_of(key, suffix)
    with suppress(OSError):
        stored = path.read_bytes()
        if hashlib.sha256(stored[32:]).digest() == stored[:32]:
            return stored[32:]
    content = make()
    with suppress(OSError):  # the cache is full, or belongs to someone else
        write_at_once(path, hashlib.sha256(content).digest() + content)
    return content
