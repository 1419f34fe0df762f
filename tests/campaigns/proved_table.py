"""Prints how many moving mechanisms of the literature have all their redundant rows proved.

Usage: ``python proved_table.py [NAME …]``. They are those of ``assets`` with their answers,
and those of ``literature``. One line each: equations that are redundant, how many of these are
removed by their motion spaces, how many are proved by the motion of the mechanism's own lengths (of
those that other lengths would not have as well), and by which family. The last line counts the
mechanisms without an unproved row.
"""

from __future__ import annotations

import csv
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import rooms  # noqa: F401

from literature import MECHANISMS

import regularize as rg

ASSETS = Path(__file__).resolve().parents[2] / "assets"


def mechanisms() -> Iterator[tuple[str, Callable[[], rg.Mechanism]]]:
    """Name and maker of each."""
    for folder in (ASSETS, ASSETS / "mobility"):
        with (folder / "answers.csv").open(encoding="utf-8") as file:
            for row in csv.DictReader(file):
                if int(row["finite"] or 1):
                    path = folder / f"{row['file']}.urdf"
                    yield row["file"], lambda path=path: rg.load(path)  # type: ignore[misc]
    yield from MECHANISMS.items()


def main(names: list[str]) -> int:
    """Print the table; the exit status is 1 where one of several has unproved rows."""
    whole, count, special = 0, 0, 0
    for name, make in mechanisms():
        if names and name not in names:
            continue
        start = time.process_time()
        said = rg.check(make()).as_dict()
        reduction, redundant = said["reduction"], said["mobility"]["redundant"]
        if not said["mobility"]["finite"] or not redundant:
            continue
        found, removed = reduction["special_lengths"], reduction["removed"]
        rows = sum(each["rows"] for each in found)
        left = redundant - removed - said["redundancy"]["topological"]
        count, whole, special = count + 1, whole + (rows >= left), special + (left > 0)
        families = ", ".join(each["family"] for each in found)
        print(
            f"{name:32} {redundant:3} redundant, {removed:3} by spaces, {rows:2} of {left:2} by "
            f"motions{'' if rows >= left else ' NOT WHOLLY PROVED'} {families} "
            f"({time.process_time() - start:.1f} s)",
            flush=True,
        )
    print(f"{whole} of {count} wholly proved; {special} of them need more than motion spaces")
    return int(whole < count)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
