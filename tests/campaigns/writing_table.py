"""Prints what of every model file below a folder each format holds: one line per file and format.

Usage: ``python writing_table.py FOLDER [--counts] [NAME …]``. Each file is written to every
format, read back, compared and read by the program of that format; with ``--counts`` its loops,
mobility and redundancy are computed again in any case. The exit status is 1 if something ends in
anything but a file that is the same machine, or the words of why there is none.
"""

from __future__ import annotations

import sys
import tempfile
import time
from collections import Counter
from pathlib import Path

import regularize as rg

SUFFIXES = {".urdf", ".sdf", ".xml", ".usda", ".fcstd", ".asmt", ".json"}
TARGETS = {
    "urdf": "model.urdf",
    "urdf+": "plus.urdf",
    "sdf": "model.sdf",
    "mjcf": "model.xml",
    "usd": "model.usda",
    "json": "model.json",
}


def models(folder: Path) -> list[Path]:
    """The model files, one of each benchmark family."""
    files = sorted(f for f in folder.rglob("*") if f.suffix.lower() in SUFFIXES)
    return [f for f in files if "bench_" not in str(f) or f.stem.endswith(("_4_10", "size40"))]


def line(mechanism: rg.Mechanism, target: str, folder: Path, counts: bool) -> tuple[str, bool]:
    """What becomes of a model in one format, and whether that is as it ought to be."""
    path = folder / target.strip("+") / TARGETS[target]
    path.parent.mkdir(exist_ok=True)
    try:
        findings = rg.save(mechanism, path, format=target)
    except rg.RegularizeError as error:
        words = str(error).replace(f"{path}: not written: ", "")
        return f"refused: {words[:150]}", "another machine" not in words
    codes = Counter(f.code for f in findings if f.severity != "note")
    notes = sum(f.severity == "note" for f in findings)
    text = " ".join(f"{code}×{n}" for code, n in sorted(codes.items())) or "equal"
    text += f", {notes} notes" if notes else ""
    if not counts or any(f.code == "REG327" for f in findings):
        return text, True
    one, two = (rg.reduce(m) for m in (mechanism, rg.load(path)))
    pairs = [(r.graph.loops, r.mobility, r.redundant) for r in (one, two)]
    return text + (", counts equal" if pairs[0] == pairs[1] else f", COUNTS {pairs}"), (
        pairs[0] == pairs[1]
    )


def main(folder: Path, *options: str) -> int:
    """Print the table; returns the exit status."""
    names = [option for option in options if option != "--counts"]
    bad = written = 0
    for file in models(folder):
        name = str(file.relative_to(folder))
        if names and not any(part in name for part in names):
            continue
        try:
            mechanism = rg.load(file)
        except rg.RegularizeError:
            continue
        with tempfile.TemporaryDirectory() as place:
            for target in TARGETS:
                start = time.process_time()
                try:
                    text, good = line(mechanism, target, Path(place), "--counts" in options)
                except Exception as error:
                    text, good = f"FAILED: {type(error).__name__}: {error}", False
                written, bad = written + good, bad + (not good)
                spent = time.process_time() - start
                print(f"{name[-50:]:<50}  {target:<5}  {spent:5.1f} s  {text}", flush=True)
    print(f"{written} written as they ought to be, {bad} not")
    return int(bad > 0)


if __name__ == "__main__":
    sys.exit(main(Path(sys.argv[1]), *sys.argv[2:]))
