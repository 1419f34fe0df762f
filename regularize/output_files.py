"""The one door for writing: files that are there whole or not at all, where the user named them."""

from __future__ import annotations

import errno
import hashlib
import io
import os
import platform
import re
import signal
import stat
import sys
import threading
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

from regularize.errors import RegularizeError
from regularize.escape import as_utf8

#: Flags of Linux's ``renameat2``: only to a free name; both files change places.
FREE, EXCHANGE = 1, 2
#: Names of files under way: machine, process; inode, and digest of what they take the place of.
_UNDER_WAY = re.compile(
    r"\..*\.regularize-([0-9a-f]{8})-(\d+)-[0-9a-f]{8}(?:\.(\d+)-([0-9a-f]{8})|\..*)?"
)


def write_file(path: str | os.PathLike[str], data: str | bytes) -> None:
    """Write a file in one step; see ``write_all``."""
    write_all({Path(path): data})


def write_made(path: str | os.PathLike[str], make: Callable[[io.BytesIO], object]) -> None:
    """Write in one step what another library puts into a stream; see ``write_all``."""
    make(stream := io.BytesIO())
    write_file(path, stream.getvalue())


def write_aside(path: str | os.PathLike[str], data: str | bytes) -> None:
    """Write a file into a folder of our own, where nobody looks before it is there."""
    Path(path).write_bytes(_as_bytes(data))


def _as_bytes(data: str | bytes) -> bytes:
    return as_utf8(data).encode("utf-8") if isinstance(data, str) else data


@contextmanager
def _undisturbed() -> Iterator[None]:
    """Put requests to end off until what has begun is whole, or away."""
    came, before = list[int](), dict[int, Any]()
    if threading.current_thread() is threading.main_thread():
        for end in (signal.SIGINT, signal.SIGTERM):
            if signal.getsignal(end) not in (None, signal.SIG_IGN):
                before[end] = signal.signal(end, lambda number, _: came.append(number))
    try:
        yield
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)
        for number in came:
            signal.raise_signal(number)


@_undisturbed()
def write_all(files: Mapping[Path, str | bytes], read: Mapping[Path, bytes] | None = None) -> None:
    """Write all files or none, so that nobody ever reads a half-written one."""
    parts: dict[Path, _Part] = {}
    path = Path()
    try:
        for path, data in files.items():
            target = _target(path)
            parts[target] = _Part.beside(target, _as_bytes(data), (read or {}).get(target))
        for part in parts.values():
            path = part.target
            part.put()
            with suppress(OSError):  # folders cannot be opened everywhere
                handle = os.open(path.parent, os.O_RDONLY)
                os.fsync(handle)
                os.close(handle)
    except BaseException as error:
        for part in parts.values():
            part.take_back()
            _drop(part.path)
        if isinstance(error, OSError):
            why = error.strerror or str(error)
            raise RegularizeError(f"{path}: cannot be written: {why}; check the folder") from error
        raise
    for part in parts.values():
        part.path.unlink(missing_ok=True)


def temporary(target: Path, suffix: str = "") -> Path:
    """Return a free hidden name beside a file, and delete leftovers of killed runs."""
    _clear(str(target.parent))
    run = f"{_machine()}-{os.getpid()}-{os.urandom(4).hex()}"
    return target.with_name(f".{target.stem[:40]}.regularize-{run}{suffix}")


@dataclass(frozen=True)
class _Part:
    """A finished temporary file and its target, whose old content is ``before``; None without."""

    path: Path
    target: Path
    inode: int
    data: bytes
    before: bytes | None

    @classmethod
    def beside(cls, target: Path, data: bytes, before: bytes | None) -> _Part:
        """Write the new content into a file beside the target, with its owner and permissions."""
        old, path = target.exists(), temporary(target)
        if old and before is None:
            before = target.read_bytes()
        try:
            handle = os.open(path, os.O_CREAT | os.O_EXCL | os.O_RDWR, 0o600 if old else 0o666)
            with open(handle, "wb") as file:
                file.write(data)
                file.flush()
                os.fsync(handle)
                inode = os.fstat(handle).st_ino
            if old:
                _make_alike(path, target)
            path = path.rename(f"{path}.{inode}-{_digest(before or b'')}")
        except BaseException:
            path.unlink(missing_ok=True)
            raise
        return cls(path, target, inode, data, before)

    def put(self) -> None:
        """Replace the target; raises ``RegularizeError`` if another program has changed it."""
        self._require(self.target)
        if not _renamed(self.path, self.target, FREE if self.before is None else EXCHANGE):
            self._require(self.target)
            os.replace(self.path, self.target)
        elif self.before is not None:
            self._require(self.path)

    def _require(self, path: Path) -> None:
        """Raise ``RegularizeError`` unless a file holds the content before or after writing."""
        if _content(path) not in (self.before, self.data):
            raise RegularizeError(f"{self.target}: was changed since it was read; start again")

    def take_back(self) -> None:
        """Restore the target as it was before, unless another program has replaced it since."""
        inode, placed = _inode(self.path), self.inode
        if inode < 0 and _inode(self.target) == placed:
            if self.before is None:
                self.target.unlink()
            else:
                os.replace(_Part.beside(self.target, self.before, None).path, self.target)
        if inode in (-1, placed):
            return
        while _renamed(self.path, self.target, EXCHANGE):
            out = _inode(self.path)
            if out == placed and (out != self.inode or _content(self.path) == self.data):
                return
            inode, placed = out, inode  # somebody was there meanwhile, whose file is the newest
        _renamed(self.path, self.target, FREE)


def _inode(path: Path) -> int:
    return path.stat().st_ino if path.exists() else -1


def _content(path: Path) -> bytes | bool | None:
    """Return the bytes of a file: None if there is none, False if another program is writing it."""
    try:
        with open(path, "rb") as file:
            if sys.platform == "linux":
                import fcntl

                try:  # A lease for reading is not granted while a file is open for writing.
                    fcntl.fcntl(file, fcntl.F_SETSIG, signal.SIGURG)  # that does not end us
                    fcntl.fcntl(file, fcntl.F_SETLEASE, fcntl.F_RDLCK)
                    fcntl.fcntl(file, fcntl.F_SETLEASE, fcntl.F_UNLCK)
                except OSError as error:  # some file systems have none
                    if error.errno == errno.EAGAIN:
                        return False
            return file.read()
    except FileNotFoundError:
        return None


def _renamed(source: Path, target: Path, flag: int) -> bool:
    """Rename by ``renameat2``; False where a name is taken or missing, or there is no such call."""
    if sys.platform != "linux":
        return False
    import ctypes

    library, here = ctypes.CDLL(None, use_errno=True), -100  # relative to the working folder
    if not hasattr(library, "renameat2"):
        return False
    if not library.renameat2(here, os.fsencode(source), here, os.fsencode(target), flag):
        return True
    number = ctypes.get_errno()
    if number not in (errno.EINVAL, errno.ENOSYS, errno.ENOTSUP, errno.EEXIST, errno.ENOENT):
        raise OSError(number, os.strerror(number), str(target))
    return False


def _make_alike(path: Path, target: Path) -> None:
    """Copy owner, mode and attributes of the target; raises ``RegularizeError`` if one is lost."""
    new, old, way_out = path.stat(), target.stat(), "name another file to write"
    if old.st_nlink > 1:
        words = f"has {old.st_nlink} hard links, of which the others would stay as they are"
        raise RegularizeError(f"{target}: {words}; {way_out}")
    if not old.st_mode & 0o222 or not os.access(target, os.W_OK):
        raise RegularizeError(f"{target}: is read-only; make it writable, or {way_out}")
    loss = f"owner {old.st_uid} and group {old.st_gid}"
    try:
        if (new.st_uid, new.st_gid) != (old.st_uid, old.st_gid):
            os.chown(path, old.st_uid, old.st_gid)
        os.chmod(path, stat.S_IMODE(old.st_mode))
        for name in os.listxattr(target) if sys.platform == "linux" else ():
            loss, value = f"extended attribute {name}", os.getxattr(target, name)
            if name not in os.listxattr(path) or os.getxattr(path, name) != value:
                os.setxattr(path, name, value)
    except OSError as error:
        words = f"its {loss} would be lost ({error.strerror})"
        raise RegularizeError(f"{target}: {words}; {way_out}") from error


@cache
def _clear(folder: str) -> None:
    """Remove temporary files that killed runs on this machine have left in a folder."""
    for path in Path(folder).iterdir() if os.name == "posix" else ():
        name = _UNDER_WAY.fullmatch(path.name)
        if name is not None and name[1] == _machine():
            try:
                os.kill(int(name[2]), 0)  # asks whether there is such a process
            except ProcessLookupError:
                _drop(path)
            except OSError:
                continue


def _drop(path: Path) -> None:
    """Delete a temporary file, unless it now holds the work of another program."""
    with suppress(OSError):
        status, name = path.lstat(), _UNDER_WAY.fullmatch(path.name)
        if name is not None and stat.S_ISREG(status.st_mode):
            ours = name[3] in (None, str(status.st_ino))
            if ours or _digest(path.read_bytes()) == name[4]:
                path.unlink()


def _machine() -> str:
    return _digest(platform.node().encode())


def _digest(data: bytes) -> str:
    return hashlib.sha256(data).hexdigest()[:8]


def _target(path: Path) -> Path:
    """Follow links to the file to write; raises ``RegularizeError`` if it is no plain file."""
    target = Path(os.path.realpath(path))
    if target.exists() and not target.is_file():
        what = "a folder" if target.is_dir() else "a pipe or a device"
        raise RegularizeError(f"{path}: is {what}; name a file to write")
    target.parent.mkdir(parents=True, exist_ok=True)
    return target
