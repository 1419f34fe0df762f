"""Files: read whole up to a size, and written so that they are there whole or not at all."""

from __future__ import annotations

import os
import shutil
import tempfile
from collections.abc import Mapping
from pathlib import Path

from regularize.errors import ReadError, RegularizeError

#: Largest file that is read, in bytes.
LARGEST = 256 * 1024 * 1024


def read_bytes(path: str) -> bytes:
    """Content of a file.

    Raises:
        ReadError: The file cannot be opened, or is larger than ``LARGEST``.
    """
    try:
        size = os.stat(path).st_size
        if size > LARGEST:
            raise ReadError(path, f"has {size} bytes, more than the {LARGEST} that are read")
        return Path(path).read_bytes()
    except OSError as error:
        raise ReadError(path, f"cannot be opened: {error.strerror}; check the path") from error


def write_text(path: str | os.PathLike[str], text: str) -> None:
    """Write a text file in one step; see ``write_bytes``."""
    write_bytes(path, text.encode("utf-8"))


def write_bytes(path: str | os.PathLike[str], data: bytes) -> None:
    """Write a file in one step; see ``write_all``."""
    write_all({Path(path): data})


def write_all(files: Mapping[Path, bytes]) -> None:
    """Write files so that nobody ever reads half of one, and all are replaced or none.

    Raises:
        RegularizeError: A file cannot be written.
    """
    temporaries: dict[Path, str] = {}
    replaced: dict[Path, Path | None] = {}
    target = Path()
    try:
        for target, data in files.items():
            mode = target.stat().st_mode & 0o7777 if target.exists() else 0o666 & ~_umask()
            handle, temporaries[target] = tempfile.mkstemp(
                dir=target.parent, prefix=f".{target.name}.", suffix=".part"
            )
            with open(handle, "wb") as file:
                file.write(data)
            os.chmod(temporaries[target], mode)
        for target, temporary in temporaries.items():
            kept = Path(f"{temporary}.old") if target.exists() else None
            if kept is not None:
                shutil.copy2(target, kept)
            replaced[target] = kept
            os.replace(temporary, target)
    except OSError as error:
        _put_back(replaced)
        raise RegularizeError(
            f"{target}: cannot be written: {error.strerror}; check the folder"
        ) from error
    finally:
        kept_ones = [kept for kept in replaced.values() if kept is not None]
        for left in (*map(Path, temporaries.values()), *kept_ones):
            left.unlink(missing_ok=True)


def _put_back(replaced: Mapping[Path, Path | None]) -> None:
    """Undo the replacement of files: those that were there come back, others go."""
    for target, kept in replaced.items():
        if kept is None:
            target.unlink(missing_ok=True)
        elif kept.exists():
            os.replace(kept, target)


def _umask() -> int:
    current = os.umask(0)
    os.umask(current)
    return current
