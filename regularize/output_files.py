"""Files that are there whole or not at all, in the place that the user named."""

from __future__ import annotations

import os
from collections.abc import Mapping
from pathlib import Path

from regularize.errors import RegularizeError


def write_text(path: str | os.PathLike[str], text: str) -> None:
    """Write a text file in one step; see ``write_bytes``."""
    write_bytes(path, text.encode("utf-8"))


def write_bytes(path: str | os.PathLike[str], data: bytes) -> None:
    """Write a file in one step; see ``write_all``."""
    write_all({Path(path): data})


def write_all(files: Mapping[Path, bytes]) -> None:
    """Write files so that nobody ever reads half of one, and none is replaced unless all can be.

    Folders that are missing are made. A link to a file stays one: what it points to is replaced.
    Where replacing fails half-way, those replaced before get their content back.

    Raises:
        RegularizeError: A file cannot be written, or the name is that of something else.
    """
    parts: dict[Path, str] = {}
    replaced: dict[Path, bytes | None] = {}
    path = Path()
    try:
        for path, data in files.items():
            target = _target(path)
            parts[target] = _part(target, data)
        for path, part in parts.items():
            before = path.read_bytes() if path.exists() else None
            os.replace(part, path)
            replaced[path] = before
    except OSError as error:
        _restore(replaced)
        why = error.strerror or str(error)
        raise RegularizeError(f"{path}: cannot be written: {why}; check the folder") from error
    except BaseException:
        _restore(replaced)
        raise
    finally:
        for part in parts.values():
            Path(part).unlink(missing_ok=True)


def _target(path: Path) -> Path:
    """The file that a path leads to, through links; raises ``RegularizeError`` if it is none."""
    target = Path(os.path.realpath(path))
    if target.exists() and not target.is_file():
        what = "a folder" if target.is_dir() else "a pipe or a device"
        raise RegularizeError(f"{path}: is {what}; name a file to write")
    target.parent.mkdir(parents=True, exist_ok=True)
    return target


def _part(target: Path, data: bytes) -> str:
    """A complete file beside the target, with the permissions that the target has or would get."""
    import tempfile  # only where something is written

    mode = target.stat().st_mode & 0o7777 if target.exists() else 0o666 & ~_umask()
    handle, name = tempfile.mkstemp(dir=target.parent, prefix=f".{target.name[:80]}.")
    try:
        with open(handle, "wb") as file:
            file.write(data)
        os.chmod(name, mode)
    except BaseException:
        Path(name).unlink(missing_ok=True)
        raise
    return name


def _restore(replaced: Mapping[Path, bytes | None]) -> None:
    for path, before in replaced.items():
        if before is None:
            path.unlink(missing_ok=True)
        else:
            path.write_bytes(before)


def _umask() -> int:
    current = os.umask(0)
    os.umask(current)
    return current
