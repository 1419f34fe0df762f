"""Prints what every model file below a folder comes to: one line each.

Usage: ``python corpus_table.py FOLDER``. The exit status is 1 if reading or analysing a file
ends in anything but a clear error.
"""

from __future__ import annotations

import sys
from concurrent.futures import ProcessPoolExecutor
from pathlib import Path

import regularize as rg

#: How the line of a file begins that ends in anything but a clear error.
FAILED = "FAILED"
SUFFIXES = {".urdf", ".sdf", ".xml", ".usda", ".fcstd", ".asmt", ".json"}


def line(path: Path) -> str:
    """The counts of one model, or why it is not read."""
    try:
        r = rg.reduce(rg.load(path))
    except rg.RegularizeError as error:
        return "not read: " + str(error).replace(str(path), path.name)[:110]
    except Exception as error:
        return f"{FAILED}: {type(error).__name__}: {error}"
    closed = "" if r.assembly.closed else "  OPEN"
    return (
        f"loops {r.graph.loops:3d}  Grübler {r.gruebler:4d}  mobility {r.mobility:3d}  redundant "
        f"{r.redundant:3d}  removed {r.removed:3d}  left {r.remaining:2d}{closed}"
    )


def main(folder: Path) -> int:
    """Print the table; returns the exit status."""
    files = sorted(f for f in folder.rglob("*") if f.suffix.lower() in SUFFIXES)
    # The benchmark families repeat one mechanism with many sizes.
    files = [f for f in files if "bench_" not in str(f) or f.stem.endswith(("_4_10", "size40"))]
    broken = 0
    with ProcessPoolExecutor() as workers:
        for file, text in zip(files, workers.map(line, files), strict=True):
            broken += text.startswith(FAILED)
            print(f"{str(file.relative_to(folder))[-70:]:<70}  {text}", flush=True)
    print(f"{len(files)} files, {broken} failed")
    return int(broken > 0)


if __name__ == "__main__":
    sys.exit(main(Path(sys.argv[1])))
