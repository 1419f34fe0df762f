"""Objects fixed in memory beside their files fixed on disk, for every example.

``python objects_table.py [KIND ...]`` prints a line a model and kind of object: counts before
and after, and the rank of the engine's own constraint rows where there is an engine. Object → fix →
object has to equal file → fix → file in all of them; a pair that differs ends with status 1.
"""

from __future__ import annotations

import sys
import tempfile
import warnings
from collections.abc import Callable
from pathlib import Path
from typing import Any

import rooms  # noqa: F401

import numpy as np
from test_objects_in_memory import KINDS, counts, rank

import regularize as rg

ASSETS = Path(__file__).resolve().parents[2] / "assets"
MODELS = [*sorted(ASSETS.glob("*.urdf")), *sorted(ASSETS.glob("mobility/*.urdf"))]


def builder_of(path: Path) -> Any:
    import newton

    builder = newton.ModelBuilder()
    builder.add_usd(str(path))
    return builder


def newton_rank(builder: Any) -> tuple[int, int]:
    """Rows of the MuJoCo model that Newton makes of a builder, and their rank."""
    import mujoco
    import newton

    class Made:
        def compile(self) -> Any:
            return newton.solvers.SolverMuJoCo(builder.finalize(device="cpu")).mj_model

    assert mujoco
    return rank(Made())


#: Suffix, how a file becomes an object, and what the engine says of one.
TABLE: dict[str, tuple[str, Callable[[Path], Any], Callable[[Any], Any] | None]] = {
    **{name: (suffix, made, None) for name, (suffix, made, _) in KINDS.items()},
    "MjSpec": (*KINDS["MjSpec"][:2], rank),
    "ModelBuilder": (".usda", builder_of, newton_rank),
}


def compared(path: Path, kind: str, folder: Path) -> tuple[str, bool]:
    """A line on a model, and whether object and file agree."""
    suffix, made, engine = TABLE[kind]
    file = folder / f"model{suffix}"
    if suffix == ".urdf":
        file.write_bytes(path.read_bytes())
    else:
        try:
            rg.save(rg.load(path), file)
        except rg.RegularizeError as error:
            return f"not written: {str(error)[:60]}", True
    results = []
    for model in (file, made(file)):
        try:
            fixed = rg.fix(model)
            after = fixed.object if model is not file else fixed.write(folder / f"new{suffix}")
        except rg.RegularizeError as error:
            results.append((counts(model), type(error).__name__))
            continue
        value = made(after) if model is file else after
        found = (counts(model), counts(after), engine and engine(value))
        results.append(found)
    one, other = results
    same = one == other
    return f"{one}" if same else f"file {one}, object {other}  DIFFERENT", same


def main(kinds: list[str]) -> int:
    """Print the table."""
    warnings.simplefilter("ignore")
    np.seterr(all="ignore")
    different = 0
    for path in MODELS:
        for kind in kinds or ["MjSpec", "Stage", "text"]:
            with tempfile.TemporaryDirectory() as folder:
                words, same = compared(path, kind, Path(folder))
            different += not same
            print(f"{path.stem:32} {kind:13} {words}", flush=True)
    return min(different, 1)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
