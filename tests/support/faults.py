"""A fault at every write of a command: a disk that is full, one that fails, and Ctrl-C.

``python faults.py FOLDER VERB …`` finds where files of the folder are opened, filled, renamed and
exchanged by watching a run, and lets each of these places fail in a run of its own. What is there
then must be what was there before, or what the command writes. It prints how many runs there were.
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
#: Ctrl-C, and errors of a file system.
FAULTS = (0, errno.ENOSPC, errno.EIO)
left = fault = -1


def reached(*_: object) -> None:
    global left
    left -= 1
    if left == 0 and fault:
        raise OSError(fault, os.strerror(fault))
    if left == 0:
        os.kill(os.getpid(), signal.SIGINT)


def watched(event: str, arguments: tuple[Any, ...]) -> None:
    writes = event == "open" and arguments[2] & (os.O_WRONLY | os.O_RDWR)
    if (writes or event == "os.rename") and str(arguments[0]).startswith(f"{FOLDER}/"):
        reached()


def behind(function: Any) -> Any:
    return lambda *given: (reached(), function(*given))[1]


def there() -> dict[Path, bytes]:
    return {path: path.read_bytes() for path in FOLDER.rglob("*") if path.is_file()}


def put(files: dict[Path, bytes]) -> None:
    for path in there().keys() - files.keys():
        path.unlink()
    for path, data in files.items():
        path.write_bytes(data)


def run(which: int = 0, place: int = 0) -> tuple[int, int]:
    """Let a place fail; return the status, and how many places there were."""
    global left, fault
    left, fault = place, which
    with contextlib.redirect_stdout(io.StringIO()), contextlib.redirect_stderr(io.StringIO()):
        status = main(LINE)
    left, places = -1, place - left
    return status, places


if __name__ == "__main__":
    sys.addaudithook(watched)
    output_files._renamed, os.fsync = behind(output_files._renamed), behind(os.fsync)
    signal.signal(signal.SIGINT, signal.default_int_handler)
    before, count = there(), 0
    status, places = run()
    made = there()
    assert status < 2 and places and made != before
    older = {**before, **{path: b"older" for path in made if path not in before}}
    for start in (before, older):
        for place in range(1, places + 1):
            for which in FAULTS:
                put(start)
                ended, _ = run(which, place)
                assert ended in ((2, status) if which else (130,)), (place, which, ended)
                whole = (start, made) if not which else (start,) if ended == 2 else (made,)
                assert there() in whole, (place, which)
                count += 1
    print(count)
