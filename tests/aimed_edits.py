"""Edits that an editor saves while ``fix`` writes in place: ``python tests/aimed_edits.py 1500``.

Half of them are saved as a new file that takes the place of the old one, half into the file itself.
Whatever the moment, either ``fix`` refuses or the edit is there in the end, and nothing else is
left beside the file. The exit status is 1 if an edit was lost.
"""

from __future__ import annotations

import os
import random
import sys
import tempfile
import time
from collections import Counter
from pathlib import Path
from typing import Any

import regularize as rg

ASSETS = Path(__file__).parents[1] / "assets"
REFUSED, FAILED = 7, 8


def aimed(path: Path, fixed: Any, before: bytes, delay: float, renamed: bool) -> str:
    """What became of one edit that was saved so many seconds after ``fix`` began to write."""
    path.write_bytes(before)
    edited = before.replace(b"</robot>", b"<!-- mine -->\n</robot>")
    child = os.fork()
    if not child:
        code = FAILED
        try:
            fixed.write(path)
            code = 0
        except rg.RegularizeError:
            code = REFUSED
        finally:
            os._exit(code)
    time.sleep(delay)
    if renamed:
        beside = path.with_suffix(".edited")
        beside.write_bytes(edited)
        beside.replace(path)
    else:
        path.write_bytes(edited)
    code = os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])
    if b"mine" not in path.read_bytes():
        return "lost"
    if [each.name for each in path.parent.iterdir()] != [path.name]:
        return "left something beside"
    return {0: "saved after", REFUSED: "refused"}.get(code, "failed")


def main() -> int:
    """Aim edits at the time that one writing takes."""
    rng, found = random.Random(0), Counter[str]()
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "model.urdf"
        path.write_bytes(before := (ASSETS / "planar_fourbar.urdf").read_bytes())
        fixed, began = rg.fix(path), time.perf_counter()
        fixed.write(path)
        window = 2.5 * (time.perf_counter() - began)
        for k in range(int(sys.argv[1])):
            found[aimed(path, fixed, before, window * rng.random(), k % 2 == 0)] += 1
    print(", ".join(f"{count} {what}" for what, count in sorted(found.items())))
    return int(bool(set(found) - {"saved after", "refused"}))


if __name__ == "__main__":
    sys.exit(main())
