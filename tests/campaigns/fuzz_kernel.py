"""Arguments of the compiled kernel by the ten thousand, under sanitizers, led by what they reach.

``python fuzz_kernel.py 100000`` builds the C sources with GCC's sanitizers of addresses and
undefined behaviour and a call at every basic block. Arguments that reach a new pair of blocks are
kept and changed further. What the sanitizers find ends it; the same seed finds it again.
"""

from __future__ import annotations

import argparse
import ctypes
import importlib.util
import os
import re
import shutil
import subprocess
import sys
import sysconfig
import tempfile
from collections import Counter
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np

ROOT = Path(__file__).resolve().parents[2]
MODELS = ("planar_fourbar", "sarrus", "stewart_6ups", "walker", "knee_leg")
GUIDE = """#include <stdint.h>
unsigned char reached[1 << 16];
static __thread uintptr_t last;
void __sanitizer_cov_trace_pc(void) {
    const uintptr_t here = (uintptr_t)__builtin_return_address(0);
    reached[(here ^ last) & 0xffff] = 1, last = here >> 1;
}
"""
WATCHED = ["-fsanitize=address,undefined", "-fno-sanitize-recover=all"]
SPECIAL = (0.0, -0.0, 1.0, -1.0, np.pi, 1e-320, 1e-9, 1e9, 1e308, np.inf, -np.inf, np.nan, 3e9)


def build(folder: Path, level: str = "-O1", *, led: bool = True) -> Path:
    """The kernel under sanitizers as an extension; one that is led says where it went."""
    made, include = folder / "_compiled.so", sysconfig.get_paths()["include"]
    source = str(ROOT / "regularize" / "dynamics" / "step" / "c" / "module.c")
    flags = ["-std=c99", level, "-g", "-fPIC", "-fno-omit-frame-pointer"]
    flags += [f"-I{include}", f"-I{np.get_include()}", *WATCHED]
    parts = [str(folder / "module.o")]
    if led:
        (folder / "guide.c").write_text(GUIDE, "utf-8")
        parts.append(str(folder / "guide.o"))
        guide = ["gcc", "-O1", "-fPIC", "-c", str(folder / "guide.c"), "-o", parts[-1]]
        subprocess.run(guide, check=True)
        flags.append("-fsanitize-coverage=trace-pc")
    link = ["gcc", "-shared", "-Wl,-Bsymbolic", *WATCHED, "-o", str(made)]
    subprocess.run(["gcc", *flags, "-c", source, "-o", parts[0]], check=True)
    subprocess.run([*link, *parts, "-lm", "-pthread"], check=True)
    return made


def watched() -> dict[str, str] | None:
    """The environment of a process with sanitizers; None where GCC or these are not installed."""
    if shutil.which("gcc") is None:
        return None
    found = [
        subprocess.run(
            ["gcc", f"-print-file-name=lib{name}.so"], capture_output=True, text=True
        ).stdout.strip()
        for name in ("asan", "ubsan")
    ]
    own = {"ASAN_OPTIONS": "detect_leaks=0", "OPENBLAS_NUM_THREADS": "1"}
    known = all(Path(each).is_absolute() for each in found)
    return os.environ | own | {"LD_PRELOAD": " ".join(found)} if known else None


def lengths(entry: Callable[..., Any]) -> list[int] | None:
    """How long the arguments of an entry are, by what it says of wrong ones; -1: functions."""
    given: list[int] = []
    for _ in range(64):
        try:
            entry(*map(_zeros, given))
        except Exception as error:
            counted = re.search(r"takes (\d+)", str(error))
            asked = re.search(r"argument (\d+) must have shape \((\d+),\)", str(error))
            if counted and len(given) != int(counted[1]):
                given = [1] * int(counted[1])
            elif asked and given[int(asked[1]) - 1] != int(asked[2]):
                given[int(asked[1]) - 1] = int(asked[2])
            elif given and given[-1] != -1:
                given[-1] = -1
            else:
                return given if given else None
        else:
            return given
    return given


def _zeros(length: int) -> Any:
    return () if length < 0 else np.zeros(length)


def changed(arguments: list[Any], others: list[Any], rng: np.random.Generator) -> list[Any]:
    """Arguments with a few changes of numbers, lengths, numbers of states or types."""
    found = [a.copy() if isinstance(a, np.ndarray) else a for a in arguments]
    for _ in range(int(rng.integers(1, 5))):
        where = [i for i, a in enumerate(found) if isinstance(a, np.ndarray)]
        if not where:
            break
        i, how = int(rng.choice(where)), int(rng.integers(12))
        a = found[i]
        if how < 4 and a.size:
            a.flat[rng.integers(a.size)] = rng.choice(SPECIAL)
        elif how < 7 and a.size:
            a += rng.standard_normal(a.shape) * 10.0 ** rng.integers(-6, 4)
        elif how == 7 and i < len(others) and isinstance(others[i], np.ndarray):
            found[i] = others[i].copy()
        elif how == 8:
            found[i] = np.resize(a, max(0, a.shape[-1] + int(rng.integers(-2, 3))))
        elif how == 9 and a.ndim == 1:
            found[i] = np.repeat(a[None], int(rng.integers(0, 5)), axis=0)
        elif how == 10 and a.size:
            a.flat[:] = rng.integers(-3, 12, a.shape)
        elif how == 11 and rng.random() < 0.1:
            found[i] = [None, "x", a.astype(np.float32), a[..., ::-1], memoryview(a)][
                int(rng.integers(5))
            ]
    if rng.random() < 0.02:
        found.append(int(rng.choice([1, 2, 65, -1, 0])))
    return found


def in_time(name: str, arguments: list[Any]) -> list[Any]:
    """Few steps of Newton's method, and the next one of a motion, by its time and its samples."""
    found = [*arguments]
    if name == "project" and len(found) > 2 and isinstance(found[2], np.ndarray):
        found[2] = np.array(found[2])
        found[2][..., 3:4] = np.minimum(found[2][..., 3:4], 100)
    if name != "advance":
        return found
    if len(found) > 8 and all(isinstance(found[i], np.ndarray) and found[i].size for i in (2, 8)):
        found[8] = np.array(found[8])
        found[8][..., 1:2] = np.minimum(found[8][..., 1:2], found[2].flat[0])
    return found


def fuzz(library: Path, count: int, seed: int) -> None:
    """Call entries so many times, from what has reached new blocks before."""
    import regularize as rg
    from regularize.validation import numbers

    spec = importlib.util.spec_from_file_location("_compiled", library)
    assert spec is not None and spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    held = ctypes.CDLL(str(library))
    reached = np.ctypeslib.as_array((ctypes.c_ubyte * (1 << 16)).in_dll(held, "reached"))
    rng, seen = np.random.default_rng(seed), np.zeros(1 << 16, bool)
    pool: list[tuple[Callable[..., Any], str, list[Any]]] = []
    for name in MODELS:
        robot = rg.to_pinocchio(rg.reduce(ROOT / "assets" / f"{name}.urdf"))
        kernel = module.Kernel(robot.tables.integers, robot.tables.reals, numbers)
        for each in (e for e in dir(kernel) if not e.startswith("_")):
            entry = getattr(kernel, each)
            found = lengths(entry) if callable(entry) else None
            if found is not None:
                pool.append((entry, each, [*map(_zeros, found)]))
                start = [_zeros(n) + rng.standard_normal(n) if n > 0 else _zeros(n) for n in found]
                pool.append((entry, each, start))
    outcomes: Counter[str] = Counter()
    first = len(pool)
    for k in range(count):
        # The newest as often as all others.
        at = rng.integers(len(pool)) if rng.random() < 0.5 else len(pool) - 1 - rng.integers(64)
        entry, name, arguments = pool[int(at)]
        other = pool[int(rng.integers(len(pool)))][2]
        arguments = changed(arguments, other, rng) if k >= first else pool[k][2]
        entry, name = (entry, name) if k >= first else pool[k][:2]
        arguments = in_time(name, arguments)
        reached[:] = 0
        try:
            outcomes["none" if entry(*arguments) is None else "computed"] += 1
        except (ArithmeticError, TypeError, ValueError, rg.RegularizeError) as error:
            outcomes[type(error).__name__] += 1
        new = reached.astype(bool) & ~seen
        if new.any():
            seen |= new
            pool.append((entry, name, arguments))
        if k % 10_000 == 0:
            sys.stderr.write(f"{k}: {int(seen.sum())} pairs of blocks, {len(pool)} kept\n")
    print(f"{count} calls, {int(seen.sum())} pairs of blocks, {len(pool) - first} kept", outcomes)


def main() -> int:
    """Build, and run in a process that has the sanitizers; 0 if they are silent."""
    parser = argparse.ArgumentParser(description=str(__doc__).splitlines()[0])
    parser.add_argument("count", type=int, help="number of calls")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--library", type=Path, help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.library is not None:
        fuzz(options.library, options.count, options.seed)
        return 0
    environment = watched()
    if environment is None:
        sys.exit("GCC and its sanitizers are not installed")
    with tempfile.TemporaryDirectory() as folder:
        library = build(Path(folder))
        command = [sys.executable, __file__, str(options.count), "--seed", str(options.seed)]
        return subprocess.run([*command, "--library", str(library)], env=environment).returncode


if __name__ == "__main__":
    sys.exit(main())
