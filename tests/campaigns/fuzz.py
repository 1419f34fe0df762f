"""Broken files by the thousand: nothing but a ``RegularizeError`` may come of them.

    python fuzz.py 100000 --check 5 --jobs 2 --keep findings/ [--corpus FOLDER]

Inputs are made from whole models of every format by a seeded generator, so every finding can be had
again by its number. Each runs in a worker with a limit of memory; a worker that dies or takes too
long is a finding like an exception that is none of ours.
"""

from __future__ import annotations

import argparse
import io
import json
import multiprocessing
import os
import random
import re
import resource
import sys
import tempfile
import time
import traceback
import warnings
import zipfile
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from multiprocessing.connection import Connection
from pathlib import Path

import rooms  # noqa: F401

from test_adapter_contract import FORMATS, write_fixture

import regularize as rg
from regularize import adapters

XACRO = Path(__file__).with_name("hinge.xacro")
ASSETS = Path(__file__).resolve().parents[2] / "assets"
SUFFIXES = {
    "urdf": ".urdf",
    "sdf": ".sdf",
    "mjcf": ".xml",
    "usd": ".usda",
    "json": ".json",
    "asmt": ".asmt",
    "freecad": ".FCStd",
    "xacro": ".xacro",
    "mbdyn": ".mbd",
    "onshape": ".json",
    "simscape": ".xml",
}
#: Largest seed, in bytes: beyond it an input costs more than it tells.
LARGEST_SEED = 60_000
#: CPU seconds that an input may take, those after which it is given up, and bytes.
SECONDS = 5.0
ENDLESS = 60.0
MEMORY = 2**30

Change = Callable[[bytes, bytes, random.Random], bytes]

NUMBER = re.compile(rb"(?<![\w.])[-+]?\d+\.?\d*(?:[eE][-+]?\d+)?")
TAG = re.compile(rb"<[^<>]*>")
WORD = re.compile(rb"[A-Za-z_][\w:]{1,30}")
EXTREMES = (
    *b"0 -1 1e-320 1e308 -1e400 nan inf 1e16 1e-9 0x10".split(),
    *(b"9" * 400, b"2147483648", b"-0.0", b"", b"1,5", b"1 2", b"1e", b"${pi}", b"\xc2\xa0"),
)
STRINGS = (
    *(b"\x00", b"\xff\xfe", b"&#10;", b"&amp;", b"<!--", b"]]>"),
    *(b"<!DOCTYPE x [<!ENTITY a 'b'>]>", b"\xed\xa0\x80", b"\xe2\x80\xae"),
    *b"\\ \" ' { } [ /".split(),
    *(b"../" * 20, b"A" * 5000, b"\r", b"\x1b[2J"),
)


@dataclass(frozen=True)
class Seed:
    """A model that inputs are made from."""

    format: str
    name: str
    data: bytes


def seeds(corpus: Path | None) -> list[Seed]:
    """Every shipped model in every format that can be written, and the corpus if there is one."""
    found = []
    with tempfile.TemporaryDirectory() as folder:
        for path in sorted(ASSETS.glob("*.urdf"))[::4]:
            mechanism = rg.load(path)
            for format in ("urdf", "urdf+", "sdf", "mjcf", "usd", "json"):
                target = Path(folder) / f"model{SUFFIXES.get(format, '.urdf')}"
                try:
                    rg.save(mechanism, target, format=format)
                except rg.RegularizeError:
                    continue
                found.append(Seed(format.rstrip("+"), path.name, target.read_bytes()))
    found += one_each()
    paths = [*ASSETS.glob("*.FCStd")]
    paths += [] if corpus is None else sorted(path for path in corpus.rglob("*") if path.is_file())
    for path in paths:
        try:
            format = adapters.detect(path).name
        except rg.RegularizeError:
            continue
        if path.stat().st_size <= LARGEST_SEED:
            found.append(Seed(format, path.name, path.read_bytes()))
    return found


def one_each() -> list[Seed]:
    """A slider crank in every format, and a file of macros."""
    found = [Seed("xacro", XACRO.name, XACRO.read_bytes())]
    with tempfile.TemporaryDirectory() as folder:
        for format in FORMATS:
            path = write_fixture(format, "slider_crank", Path(folder))
            found.append(Seed(format, path.name, path.read_bytes()))
    return found


def mutated(seed: Seed, others: Sequence[Seed], rng: random.Random, gentle: bool = False) -> bytes:
    """One to six changes of a model; inside the document of an archive, mostly.

    Gentle ones put other numbers in place of numbers, so that most of what comes of them is read.
    """
    data, changes = seed.data, (_other_number,) if gentle else CHANGES
    if data[:2] == b"PK" and (gentle or rng.random() < 0.8):
        return _repacked(data, lambda text: _changed(text, b"", rng, changes))
    same = [other.data for other in others if other.format == seed.format]
    return _changed(data, rng.choice(same), rng, changes)


def _changed(data: bytes, other: bytes, rng: random.Random, changes: Sequence[Change]) -> bytes:
    for _ in range(rng.choice((1, 1, 1, 1, 2, 3, 6))):
        data = rng.choice(changes)(data, other, rng)
    return data


def _other_number(data: bytes, _: bytes, rng: random.Random) -> bytes:
    """Another number of the file, or the same one a little or much larger, or turned around."""
    found = list(NUMBER.finditer(data))
    if not found:
        return data
    at = rng.choice(found)
    factor = rng.choice((0.0, -1.0, 1.0 + 1e-9, 1.0 + 1e-6, 1.001, 0.5, 2.0, 1e-3, 1e3))
    scaled = repr(factor * float(at[0]) or 0.0).encode()
    number = rng.choice(found)[0] if rng.random() < 0.5 else scaled
    return data[: at.start()] + number + data[at.end() :]


def _number(data: bytes, _: bytes, rng: random.Random) -> bytes:
    found = list(NUMBER.finditer(data))
    if not found:
        return data
    at = rng.choice(found)
    number = rng.choice(found)[0] if rng.random() < 0.5 else rng.choice(EXTREMES)
    return data[: at.start()] + number + data[at.end() :]


def _word(data: bytes, _: bytes, rng: random.Random) -> bytes:
    found = list(WORD.finditer(data))
    if len(found) < 2:
        return data
    at, other = rng.choice(found), rng.choice(found)
    return data[: at.start()] + other[0] + data[at.end() :]


def _tag(data: bytes, _: bytes, rng: random.Random) -> bytes:
    """Remove, repeat or move what stands between two tags."""
    found = list(TAG.finditer(data))
    if len(found) < 3:
        return data
    i = rng.randrange(len(found))
    j = min(len(found) - 1, i + rng.randint(0, 8))
    start, stop = found[i].start(), found[j].end()
    piece = data[start:stop]
    if rng.random() < 0.4:
        return data[:start] + data[stop:]
    at = rng.choice(found).start() if rng.random() < 0.5 else stop
    return data[:at] + piece * rng.choice((1, 1, 2, 40)) + data[at:]


def _line(data: bytes, other: bytes, rng: random.Random) -> bytes:
    lines, more = data.split(b"\n"), (other or data).split(b"\n")
    i = rng.randrange(len(lines))
    choice = rng.random()
    if choice < 0.4:
        del lines[i : i + rng.randint(1, 5)]
    elif choice < 0.7:
        lines[i:i] = lines[max(0, i - rng.randint(1, 30)) : i]
    else:
        k = rng.randrange(len(more))
        lines[i:i] = more[k : k + rng.randint(1, 20)]
    return b"\n".join(lines)


def _bytes(data: bytes, _: bytes, rng: random.Random) -> bytes:
    if not data:
        return data
    i = rng.randrange(len(data))
    choice = rng.random()
    if choice < 0.4:
        return data[:i] + bytes([rng.randrange(256)]) + data[i + 1 :]
    if choice < 0.7:
        return data[:i] + rng.choice(STRINGS) + data[i:]
    if choice < 0.9:
        return data[:i] + data[i + rng.randint(1, 40) :]
    return data[:i]


CHANGES: tuple[Change, ...] = (*[_number] * 3, *[_word] * 2, *[_tag] * 2, _line, _bytes)


def _repacked(data: bytes, change: Callable[[bytes], bytes]) -> bytes:
    out = io.BytesIO()
    with zipfile.ZipFile(io.BytesIO(data)) as old, zipfile.ZipFile(out, "w") as new:
        for info in old.infolist():
            content = old.read(info)
            new.writestr(info, change(content) if info.filename == "Document.xml" else content)
    return out.getvalue()


def attempt(data: bytes, format: str, folder: Path, check: bool) -> tuple[str, str]:
    """What became of an input: ``read``, ``checked``, ``refused``, ``stumbled`` or ``foreign``."""
    path = folder / f"input{SUFFIXES[format]}"
    path.write_bytes(data)
    try:
        mechanism = rg.load(path)
        if check:
            rg.check(mechanism).as_dict()
        return ("checked" if check else "read"), ""
    except rg.ReadError as error:
        stumbled = "cannot make sense of it" in error.reason
        return ("stumbled" if stumbled else "refused"), (error.reason if stumbled else "")
    except rg.RegularizeError:
        return "refused", ""
    except BaseException:
        return "foreign", traceback.format_exc(limit=-3)


def work(
    numbers: Sequence[int], options: argparse.Namespace, found: Sequence[Seed], pipe: Connection
) -> None:
    """Run inputs and report each: its number when it begins, its outcome when it ends."""
    resource.setrlimit(resource.RLIMIT_AS, (6 * 2**30, 6 * 2**30))
    sys.setrecursionlimit(1000)
    warnings.simplefilter("ignore")
    devnull = os.open(os.devnull, os.O_WRONLY)
    os.dup2(devnull, 1)
    os.dup2(devnull, 2)
    with tempfile.TemporaryDirectory() as name:
        os.chdir(name)
        for number in numbers:
            seed, data, check = made(number, options, found)
            pipe.send((number, None))
            before, peak = time.process_time(), resident()
            outcome, words = attempt(data, seed.format, Path(name), check)
            seconds, grown = time.process_time() - before, resident() - peak
            left = [path for path in Path(name).iterdir() if not path.name.startswith("input")]
            if left:
                outcome, words = "litter", str(sorted(path.name for path in left))
            for path in left:
                path.unlink()
            pipe.send((number, (seed.format, outcome, words, seconds, grown)))
    pipe.close()


def made(
    number: int, options: argparse.Namespace, found: Sequence[Seed]
) -> tuple[Seed, bytes, bool]:
    """The input of that number, and whether it is to be checked as well."""
    rng = random.Random(f"{options.seed}/{number}")
    formats = sorted({seed.format for seed in found})
    format = rng.choice(formats)
    seed = rng.choice([seed for seed in found if seed.format == format])
    return seed, mutated(seed, found, rng, options.gentle), number % options.check == 0


def resident() -> int:
    """The most memory that the process has had, in bytes."""
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024


def used(process: int | None) -> float:
    """CPU seconds that a process has used."""
    fields = Path(f"/proc/{process}/stat").read_text().rpartition(")")[2].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


def outcomes(
    numbers: Sequence[int], options: argparse.Namespace, found: Sequence[Seed]
) -> Iterator[tuple[int, tuple[str, str, str, float, int]]]:
    """The outcome of every input; a worker that dies or hangs is replaced."""
    context = multiprocessing.get_context("fork")
    queues = [list(numbers[job :: options.jobs]) for job in range(options.jobs)]
    workers: dict[Connection, tuple[multiprocessing.process.BaseProcess, list[int], float]] = {}

    def start(rest: list[int]) -> None:
        near, far = context.Pipe(duplex=False)
        process = context.Process(target=work, args=(rest, options, found, far), daemon=True)
        process.start()
        far.close()
        workers[near] = (process, rest, used(process.pid))

    for queue in queues:
        if queue:
            start(queue)
    current: dict[Connection, int] = {}
    while workers:
        ready = multiprocessing.connection.wait(list(workers), timeout=1.0)
        for near in [*workers]:
            process, rest, since = workers[near]
            dead = ""
            if near in ready:
                try:
                    number, outcome = near.recv()
                    workers[near] = (process, rest, used(process.pid))
                    current[near] = number
                    if outcome is not None:
                        yield number, outcome
                        del current[near]
                    continue
                except EOFError:
                    process.join()
                    dead = "crash" if near in current else "done"
            elif used(process.pid) - since > ENDLESS:
                process.kill()
                process.join()
                dead = "hang"
            if dead:
                del workers[near]
                if dead == "done":
                    continue
                number = current.pop(near, rest[0])
                seed, _, _ = made(number, options, found)
                yield number, (seed.format, dead, f"exit {process.exitcode}", 0.0, 0)
                remaining = rest[rest.index(number) + 1 :]
                if remaining:
                    start(remaining)


def main() -> int:
    """Print a table of outcomes per format; 1 where there are findings."""
    parser = argparse.ArgumentParser(description=str(__doc__).splitlines()[0])
    parser.add_argument("count", type=int, help="number of inputs")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--first", type=int, default=0, help="number of the first input")
    parser.add_argument("--check", type=int, default=5, metavar="N", help="check every Nth")
    parser.add_argument(
        "--gentle", action="store_true", help="change numbers only: most of it is read"
    )
    parser.add_argument("--jobs", type=int, default=os.cpu_count() or 1)
    parser.add_argument("--corpus", type=Path)
    parser.add_argument("--keep", type=Path, help="folder for the inputs of findings")
    options = parser.parse_args()
    found = seeds(options.corpus)
    table: dict[str, Counter[str]] = {}
    worst: dict[str, tuple[float, int]] = {}
    kinds: Counter[str] = Counter()
    numbers = range(options.first, options.first + options.count)
    for number, (format, outcome, words, seconds, grown) in outcomes(numbers, options, found):
        slow, big = worst.get(format, (0.0, 0))
        worst[format] = max(slow, seconds), max(big, grown)
        row = table.setdefault(format, Counter())
        row["inputs"] += 1
        if outcome in ("read", "checked", "refused") and seconds > SECONDS:
            outcome, words = "slow", f"{seconds:.1f} s"
        if outcome in ("read", "checked", "refused") and grown > MEMORY:
            outcome, words = "memory", f"{grown / 2**20:.0f} MiB"
        row[outcome] += 1
        if outcome in ("read", "checked", "refused"):
            continue
        kind = f"{format} {outcome} {words.strip().splitlines()[-1] if words else ''}"[:160]
        kinds[kind] += 1
        if kinds[kind] <= 3:
            sys.stderr.write(f"{number}: {kind}\n")
            if options.keep is not None:
                options.keep.mkdir(parents=True, exist_ok=True)
                seed, data, _ = made(number, options, found)
                stem = options.keep / f"{options.seed}-{number}"
                stem.with_suffix(SUFFIXES[seed.format]).write_bytes(data)
                stem.with_suffix(".txt").write_text(f"{outcome}\n{words}\n")
    columns = ["inputs", "read", "checked", "refused"]
    columns += ["stumbled", "foreign", "crash", "hang", "slow", "memory", "litter"]
    print("format".ljust(10), *(column.rjust(9) for column in columns), "  worst s", "    MiB")
    for format, row in sorted(table.items()):
        slow, big = worst[format]
        cells = (str(row[column]).rjust(9) for column in columns)
        print(format.ljust(10), *cells, f"{slow:9.2f}", f"{big / 2**20:7.0f}")
    print(json.dumps(dict(kinds.most_common()), indent=1))
    return int(any(row[c] for row in table.values() for c in columns[5:]))


if __name__ == "__main__":
    sys.exit(main())
