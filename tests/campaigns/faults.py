"""A fault at every write of a command: a disk that is full, one that fails, and Ctrl-C.

``python faults.py FOLDER VERB …`` watches where a run opens, fills, renames and exchanges files of
the folder, and lets each of these places fail in a run of its own. What is there then must be what
was there before, or what the command writes. It prints how many runs there were.
"""

import contextlib
import errno
import io
import os
import signal
import sys
from pathlib import Path
from typing import Any

from regularize import output_files
from regularize.cli import main

FOLDER, LINE = Path(sys.argv[1]).resolve(), sys.argv[2:]
state = {"left": -1, "fault": 0}


def reached() -> None:
    state["left"] -= 1
    if state["left"] == 0 and state["fault"]:
        raise OSError(state["fault"], os.strerror(state["fault"]))
    if state["left"] == 0:
        os.kill(os.getpid(), signal.SIGINT)


def watched(event: str, arguments: tuple[Any, ...]) -> None:
    writes = event == "open" and arguments[2] & (os.O_WRONLY | os.O_RDWR)
    if (writes or event == "os.rename") and str(arguments[0]).startswith(f"{FOLDER}/"):
        reached()


def behind(function: Any) -> Any:
    return lambda *given: (reached(), function(*given))[1]


def there() -> dict[Path, bytes]:
    return {path: path.read_bytes() for path in FOLDER.rglob("*") if path.is_file()}


def run(fault: int, place: int, start: dict[Path, bytes]) -> tuple[int, dict[Path, bytes], int]:
    """Let a place fail; return the status, the files, and how many places there were."""
    for path in there():
        path.unlink()
    for path, data in start.items():
        path.write_bytes(data)
    state.update(left=place, fault=fault)
    with contextlib.redirect_stdout(io.StringIO()), contextlib.redirect_stderr(io.StringIO()):
        return main(LINE), there(), place - state["left"]


if __name__ == "__main__":
    sys.addaudithook(watched)
    output_files._renamed, os.fsync = behind(output_files._renamed), behind(os.fsync)
    signal.signal(signal.SIGINT, signal.default_int_handler)
    before, count = there(), 0
    status, made, places = run(0, 0, before)
    assert status < 2 and places and made != before
    for start in (before, {**dict.fromkeys(made, b"older"), **before}):
        for place in range(1, places + 1):
            for fault in (0, errno.ENOSPC, errno.EIO):
                ended, now, _ = run(fault, place, start)
                assert ended in ((2, status) if fault else (130,)), (place, fault, ended)
                assert now == made or (now == start and ended != status), (place, fault)
                count += 1
    print(count)
