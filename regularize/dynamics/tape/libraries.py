"""Generated C, compiled by the machine's compiler and kept: one text is compiled once."""

from __future__ import annotations

import ctypes
import hashlib
import os
import shlex
import subprocess
import sys
import tempfile
from functools import cache
from pathlib import Path
from shutil import which

from regularize.errors import UnsupportedExport

#: Products may be added in one operation; nobody asks for the processor's flags.
FLAGS = (
    "-O2",
    "-march=native",
    "-fno-math-errno",
    "-fno-trapping-math",
    "-ffp-contract=fast",
    "-w",
)


@cache
def compiler() -> list[str]:
    """Return the command of the C compiler: that of the variable CC, or gcc, clang or cc."""
    given = shlex.split(os.environ.get("CC", ""))
    for command in (given, ["gcc"], ["clang"], ["cc"]):
        if command and which(command[0]):
            return command
    raise UnsupportedExport(
        "generated code needs a C compiler: install gcc or clang, or name one by the environment "
        "variable CC; without one the compiled kernel computes"
    )


@cache
def _macros() -> str:
    """Return the macros that the compiler defines for this processor."""
    command = [*compiler(), "-march=native", "-dM", "-E", "-x", "c", os.devnull]
    run = subprocess.run(command, capture_output=True, text=True, check=False)
    if run.returncode:
        raise UnsupportedExport(f"{compiler()[0]} does not know this machine: {run.stderr:.200}")
    return run.stdout


def native_lanes() -> int:
    """Return how many numbers the processor computes with at once."""
    for macro, lanes in (("__AVX512F__", 8), ("__AVX__", 4)):
        if f"#define {macro} 1" in _macros():
            return lanes
    return 2


def _folder() -> Path:
    """Return the user's own folder of libraries, as these are loaded into programs."""
    base = os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache"
    folder = Path(base) / "regularize" / "generated"
    folder.mkdir(parents=True, exist_ok=True, mode=0o700)
    if hasattr(os, "getuid") and folder.stat().st_uid != os.getuid():
        raise OSError(f"{folder} belongs to someone else")
    return folder


def _place(key: str, suffix: str) -> Path:
    """Return the path of a file by a key, in the cache or a folder of this process."""
    try:
        folder = _folder()
    except OSError:
        folder = _own_folder()
    return folder / f"g{hashlib.sha256(key.encode()).hexdigest()[:32]}{suffix}"


@cache
def _own_folder() -> Path:
    return Path(tempfile.mkdtemp(prefix="regularize-"))


def kept(text: str, suffix: str) -> Path:
    """Return a file with a text, written at once."""
    path = _place(text, suffix)
    if not path.exists():
        with tempfile.TemporaryDirectory(dir=path.parent) as made:
            written = Path(made) / path.name
            written.write_text(text, encoding="utf-8")
            written.replace(path)
    return path


def library(source: str) -> ctypes.CDLL:
    """Return a C source as a library, compiled unless it is kept."""
    path = _place("\0".join([source, *FLAGS, *compiler(), _macros(), sys.platform]), ".so")
    if not path.exists():
        _build(source, path)
    return ctypes.CDLL(str(path))


def _build(source: str, path: Path) -> None:
    """Compile a source, and move the library to its place when it is complete."""
    with tempfile.TemporaryDirectory(dir=path.parent) as made:
        text, built = Path(made) / "robot.c", Path(made) / "robot.so"
        text.write_text(source, encoding="utf-8")
        command = [*compiler(), *FLAGS, "-shared", "-fPIC", "-o", str(built), str(text), "-lm"]
        run = subprocess.run(command, capture_output=True, text=True, check=False)
        if run.returncode:
            raise UnsupportedExport(
                f"{compiler()[0]} could not compile the generated code: {run.stderr[-300:].strip()}"
            )
        built.replace(path)
