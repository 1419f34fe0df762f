"""Prints which model files below a folder take long to check, the slowest first: CPU seconds each.

Usage: ``python tests/speed_table.py FOLDER``. Reading, analysis and report count, not the start of
Python. What takes more than ``LONG`` needs a reason.
"""

from __future__ import annotations

import sys
import time
from itertools import pairwise
from pathlib import Path

from corpus_table import SUFFIXES

import regularize as rg

#: CPU seconds that a user need not wait for one file.
LONG = 2.0


def seconds(path: Path) -> tuple[float, float, float]:
    """CPU seconds of reading a file, of its analysis and of its report; zeros behind an error."""
    times = [time.process_time()]
    try:
        mechanism = rg.load(path)
        times.append(time.process_time())
        report = rg.check(mechanism)
        times.append(time.process_time())
        str(report)
    except rg.RegularizeError:
        pass
    times.append(time.process_time())
    steps = [end - start for start, end in pairwise(times)]
    load, check, text = (*steps, 0.0, 0.0)[:3]
    return load, check, text


def main(folder: Path) -> None:
    """Print a line for each file that takes long, and how many there are."""
    files = sorted(f for f in folder.rglob("*") if f.suffix.lower() in SUFFIXES)
    found = sorted(((seconds(file), file) for file in files), key=lambda each: -sum(each[0]))
    for (load, check, text), file in found:
        if load + check + text > LONG:
            place = str(file.relative_to(folder))[-70:]
            print(f"{place:<70}  read {load:5.2f}  check {check:5.2f}  report {text:5.2f}")
    slow = sum(sum(each) > LONG for each, _ in found)
    print(f"{len(files)} files, {slow} above {LONG:.0f} s")


if __name__ == "__main__":
    main(Path(sys.argv[1]))
