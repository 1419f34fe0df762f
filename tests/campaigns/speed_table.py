"""Prints which verbs take long on the models below a folder: CPU seconds each, slow models first.

Usage: ``python speed_table.py FOLDER [SECONDS]``. Reading, analysis and output count, not the
start of Python. What takes more than ``LONG`` needs a reason. Verbs that take what they are asked
for, ``metamodel`` and ``workspace``, are left out. The table ends when its own seconds are up.
"""

from __future__ import annotations

import os
import resource
import sys
import tempfile
import time
from collections.abc import Sequence
from contextlib import redirect_stderr, redirect_stdout
from io import StringIO
from multiprocessing import get_context
from pathlib import Path

import rooms  # noqa: F401

from regularize.cli import main as regularize

SUFFIXES = {".urdf", ".sdf", ".xml", ".usda", ".fcstd", ".asmt", ".json"}
#: CPU seconds that a user need not wait for one file, and those after which a verb is given up.
LONG, PATIENCE = 2.0, 60
FORMATS = ("json", "urdf", "mjcf", "sdf", "usd", "c")
VERBS: dict[str, Sequence[str]] = {
    "check --proof": ("check", "MODEL", "--proof", "OUT/proof.json"),
    "verify": ("verify", "OUT/proof.json"),
    "fix --diff": ("fix", "MODEL", "--diff"),
    "check html": ("check", "MODEL", "--output", "html", "-o", "OUT/report.html"),
    "show": ("show", "MODEL", "-o", "OUT/page.html"),
    "reduce": ("reduce", "MODEL", "-o", "OUT/reduced"),
    "solve": ("solve", "MODEL"),
    "actuate": ("actuate", "MODEL"),
    "twin": ("twin", "MODEL", "-o", "OUT/twin.urdf"),
    "states": ("states", "MODEL", "-n", "100", "-o", "OUT/states.npz"),
    "simulate": ("simulate", "MODEL", "--duration", "0.1"),
    **{f"to {to}": ("export", "MODEL", "--to", to, "-o", f"OUT/model.{to}") for to in FORMATS},
}
CHECK = ("check", "MODEL")


def _run(words: Sequence[str], quiet: int) -> None:
    resource.setrlimit(resource.RLIMIT_CPU, (PATIENCE, PATIENCE))
    for stream in (1, 2):
        os.dup2(quiet, stream)
    sys.exit(regularize([*words]))


def seconds(model: Path, verb: Sequence[str], out: str) -> tuple[float, int | None]:
    """CPU seconds of a verb in a process of its own, and its exit status."""
    words = [word.replace("MODEL", str(model)).replace("OUT", out) for word in verb]
    before = sum(resource.getrusage(resource.RUSAGE_CHILDREN)[:2])
    with open(os.devnull, "w") as quiet:
        process = get_context("fork").Process(target=_run, args=(words, quiet.fileno()))
        process.start()
        process.join()
    return sum(resource.getrusage(resource.RUSAGE_CHILDREN)[:2]) - before, process.exitcode


def main(folder: Path, limit: float = float("inf")) -> None:
    """Print a line for each verb that takes long on a model, and how many were run."""
    end, count, slow = time.monotonic() + limit, 0, 0
    files = sorted(f for f in folder.rglob("*") if f.suffix.lower() in SUFFIXES)
    # The benchmark families repeat one mechanism with many sizes.
    files = [f for f in files if "bench_" not in str(f) or f.stem.endswith(("_4_10", "size40"))]
    with tempfile.TemporaryDirectory() as out:
        for verb in (CHECK, *VERBS.values()):  # what they load is loaded before they are forked
            words = [w.replace("MODEL", "assets/planar_fourbar.urdf") for w in verb]
            with redirect_stdout(StringIO()), redirect_stderr(StringIO()):
                regularize([word.replace("OUT", f"{out}/first") for word in words])
        checked = [(*seconds(file, CHECK, out), file) for file in files]
        for took, status, file in sorted(checked, key=lambda each: -each[0]):
            rest = VERBS if status in (0, 1, -24) and time.monotonic() < end else {}
            found = {"check": took} | {
                name: seconds(file, verb, out)[0] for name, verb in rest.items()
            }
            above = {name: each for name, each in found.items() if each > LONG}
            count, slow = count + len(found), slow + len(above)
            if above:
                words = ", ".join(f"{name} {each:.1f}" for name, each in above.items())
                print(f"{str(file.relative_to(folder))[-60:]:<60}  {words}", flush=True)
    print(f"{len(files)} files, {count} runs, {slow} above {LONG:.0f} s")


if __name__ == "__main__":
    main(Path(sys.argv[1]), *map(float, sys.argv[2:]))
