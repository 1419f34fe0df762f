"""What users see of every example, frozen: compared with what they saw when it was written down.

    python frozen.py [MODEL …]                 what differs now
    python frozen.py --write [MODEL …]         write down what is there now
    python frozen.py --corpus FOLDER           the same of the models in a folder, as counts
    python frozen.py --outputs FOLDER MODEL …  keep what is written, to compare files by hand

A model is the name of an asset without its suffix; ``surface`` stands for names, options and codes.
Verdicts, counts, classes and codes are compared exactly, numbers to a part in a million, rows by
the projector onto what they span. Writing computes everything a second time on the kernels of
another processor, and what differs between the two is not compared (``null``).
"""

from __future__ import annotations

import argparse
import ast
import contextlib
import hashlib
import importlib
import inspect
import io
import json
import math
import os
import re
import subprocess
import sys
import tempfile
from collections.abc import Collection, Iterable, Iterator, Mapping
from functools import reduce
from importlib.metadata import entry_points
from pathlib import Path
from typing import Any

import numpy as np

import regularize as rg

ROOT = Path(__file__).resolve().parents[2]
ASSETS = ROOT / "assets"
CORPUS = ROOT.parent / "shared" / "corpus"
STORED = Path(__file__).resolve().parents[1] / "golden" / "frozen"
#: Formats that every asset is written in.
FORMATS = {
    "urdf": ".urdf",
    "urdf+": ".urdf",
    "json": ".json",
    "sdf": ".sdf",
    "mjcf": ".xml",
    "usd": ".usda",
}
#: Models whose reports have all members between them.
SPEAKING = ("planar_fourbar", "three_prrr", "bennett", "rhombus_stretched", "nearly_planar_fourbar")
#: Kernels of processors with narrower registers, and features of NumPy's own loops. Write on a
#: processor with the widest: it can be all three.
ELSEWHERE = (
    {"OPENBLAS_CORETYPE": "Nehalem", "NPY_DISABLE_CPU_FEATURES": "X86_V3"},
    {"OPENBLAS_CORETYPE": "Haswell", "NPY_DISABLE_CPU_FEATURES": "X86_V4"},
)
#: Of a report: what depends on the run, the words of findings, what random walks come by.
_PASSING = {
    "command",
    "tool",
    "path",
    "message",
    "help",
    "residual",
    "residual_before",
    "residual_after",
    "travelled",
    "worst_closure_error",
    "nearest",
    "bodies",
    "distinct_configurations",
    "solved_configurations",
    "kept_directions",
    "settings",
    "schema_version",
    "text",
    "element",
    "interchangeable",
    "component",
    "point",
}
_NUMBER = re.compile(r"(?<![\w.])-?\d+(?:\.\d+)?(?:e[-+]?\d+)?(?![\w.])")
_COMMENT = re.compile(r"<!--[\s\S]*?-->|^[ \t]*#.*$", re.MULTILINE)


def models() -> dict[str, Path]:
    """All example mechanisms that are files, by name."""
    found = [*ASSETS.glob("*.urdf"), *ASSETS.glob("*.FCStd")]
    found += [
        f
        for folder in ("mobility", "thesis", "metamodel")
        for f in (ASSETS / folder).glob("*.urdf")
    ]
    found += [f for f in (ASSETS / "benchmarks").glob("*.json") if "ground" in f.read_text()]
    return {path.stem: path for path in sorted(found, key=lambda f: f.stem)}


def _command(*words: str) -> tuple[int, str]:
    """Exit status and standard output of the command line."""
    (script,) = entry_points(group="console_scripts", name="regularize")
    out = io.StringIO()
    with contextlib.redirect_stdout(out), contextlib.redirect_stderr(io.StringIO()):
        try:
            status = script.load()(list(words))
        except SystemExit as leaving:
            status = int(leaving.code or 0)
    return status, out.getvalue()


def _lasting(value: Any) -> Any:
    """A report without what depends on the run."""
    if isinstance(value, dict):
        return {k: _lasting(v) for k, v in value.items() if k not in _PASSING}
    return [_lasting(v) for v in value] if isinstance(value, list) else value


def _said(report: dict[str, Any]) -> dict[str, Any]:
    """A report in fewer words."""
    found: dict[str, Any] = _lasting(report)
    for component in found["mobility"]["components"]:  # what else it says follows from the rank
        for name in ("redundant", "removed", "remaining"):
            del component[name]
    if not found["needed_at_second_order"]:
        del found["needed_at_second_order"]
    for loop in found["loops"]:
        loop["removed_directions"] = [each["label"] for each in loop["removed_directions"]]
    found["moving"] = {
        each["body"]: [each["freedoms"], each["motion"]] for each in report["moving"]
    }
    found["reactions"] = {each["joint"]: len(each["indeterminate"]) for each in found["reactions"]}
    found["diagnostics"] = [
        [each["code"], each["severity"], sorted(each["joints"] or []), each["location"]]
        for each in found["diagnostics"]
    ]
    return found


def _keys(value: Any, where: str = "") -> set[str]:
    """All members of a JSON document by their paths."""
    if isinstance(value, dict):
        below = (_keys(v, f"{where}.{k}") | {f"{where}.{k}"} for k, v in value.items())
    else:
        below = (_keys(v, where) for v in value) if isinstance(value, list) else iter(())
    return set().union(*below)


def _span(rows: Any) -> list[float]:
    """What rows span: two vectors, projected onto it."""
    matrix = np.atleast_2d(np.asarray(rows, dtype=float))
    _, values, right = np.linalg.svd(matrix, full_matrices=False)
    basis = right[values > 1e-9 * max(values.max(initial=0.0), 1e-300)]
    seen = np.cos(np.outer(np.arange(1.0, matrix.shape[1] + 1.0), (1.0, math.sqrt(3.0))))
    return [float(x) for x in (basis.T @ (basis @ seen)).ravel()]


def _sketch(text: str) -> dict[str, Any]:
    """A file: what stands between its numbers, and three sums of the numbers."""
    plain = _COMMENT.sub("", text).replace(rg.__version__, "").replace(str(ROOT), "")
    numbers = np.array([float(x) for x in _NUMBER.findall(plain)])
    numbers[~(np.abs(numbers) < 1e15)] = 0.0  # digests look like numbers at times
    words = " ".join(_NUMBER.sub("#", plain).split())
    counting = np.arange(len(numbers))
    return {
        "words": hashlib.sha256(words.encode()).hexdigest()[:12],
        "numbers": len(numbers),
        "sums": [float(np.cos(k * (counting + 1)) @ numbers) for k in (0.0, 1.0, math.sqrt(3.0))],
    }


def _dynamics(reduction: rg.Reduction, regular: bool) -> dict[str, Any]:
    """How the reduced model moves from its reference pose."""
    robot = rg.to_pinocchio(reduction)
    found: dict[str, Any] = {"nq": robot.nq, "nv": robot.nv, "rank": robot.rank}
    counting = np.arange(1.0, robot.nv + 1.0)
    if robot.rank:
        found["span"] = _span(robot.jacobian(robot.q0))
    # Where more can move to first order than does, how it moves is for rounding to say.
    if not regular:
        return found
    v = robot.project_velocity(robot.q0, 0.3 * np.sin(counting))
    found["v"] = [float(x) for x in v]
    found["a"] = [float(x) for x in robot.forward_dynamics(robot.q0, v, np.cos(counting))]
    return found


def _settled(compute: Any, *arguments: Any) -> Any:
    """What something comes to, or the name of its error."""
    try:
        return compute(*arguments)
    except (rg.RegularizeError, ImportError) as error:
        return type(error).__name__


def _written(path: Path, reduction: rg.Reduction, folder: Path) -> dict[str, Any]:
    """All that is written of one reduction."""
    found: dict[str, Any] = {}

    def save(name: str, suffix: str) -> Any:
        file = folder / f"{path.stem}_{name.strip('+')}{'_plus' * name.endswith('+')}{suffix}"
        codes = sorted(finding.code for finding in rg.save(reduction, file, format=name))
        return {"codes": codes, **_sketch(file.read_text(encoding="utf-8"))}

    # Of what is there for its mobility, the file of its own kind says enough.
    names = FORMATS if path.parent.name != "mobility" else ["urdf+"]
    for name in names:
        found[name] = _settled(save, name, FORMATS[name])
    return found


def _reduced(path: Path, folder: Path) -> dict[str, Any]:
    """What ``regularize reduce`` writes."""
    status, _ = _command("reduce", str(path), "-o", str(folder / path.stem))
    found: dict[str, Any] = {"status": status}
    file = folder / path.stem / "reduction.json"
    if file.exists():
        document = json.loads(file.read_text(encoding="utf-8"))
        found |= {
            k: document[k] for k in ("mobility", "constraints", "kept", "held", "parallelograms")
        }
        found["cuts"] = [
            {k: cut[k] for k in ("joint", "parent", "child")}
            | {k: len(cut[k]) for k in ("removed", "thinned", "numerical")}
            | {"kept": _span(cut["kept"]) if cut["kept"] else []}
            for cut in document["cuts"]
        ]
        found["changes"] = [(c["joint"], c["kind"], c["added"]) for c in document["changes"]]
        found["files"] = sorted(f.name for f in file.parent.iterdir())
    return found


def _proof(reduction: rg.Reduction) -> dict[str, Any]:
    """What is proved, by the word of the checker."""
    verdict = rg.verify(rg.prove(reduction))
    return {"holds": verdict.holds, "claims": list(verdict.claims)}


def record(path: Path, outputs: Path | None = None) -> dict[str, Any]:
    """All that users see of one model."""
    with tempfile.TemporaryDirectory() as temporary:
        folder = outputs or Path(temporary)
        report = rg.check(path)
        found = {"report": _said(report.as_dict())}
        mobility = found["report"]["mobility"]
        regular = not (mobility["shaky"] or mobility["here"]["singular"])
        if path.parent.name != "mobility":  # whose reports say all that reducing finds
            found["reduce"] = _reduced(path, folder)
        return found | {
            "written": _written(path, report.reduction, folder),
            "dynamics": _settled(_dynamics, report.reduction, regular),
            "proof": _settled(_proof, report.reduction),
        }


def _parameters() -> dict[str, list[str]]:
    """Parameters of the public functions, but for the first one, which nobody calls by its name."""

    def names(function: Any) -> list[str]:
        given = inspect.signature(function).parameters.values()
        found = [p.name for p in given if p.kind is not p.VAR_KEYWORD][1:]
        for packed in (p for p in given if p.kind is p.VAR_KEYWORD):
            # ``**options: Unpack[Options]``: what the dictionary may hold, by its source.
            name = re.sub(r"^.*\[|\]$", "", str(packed.annotation))
            text = inspect.getsource(sys.modules[function.__module__])
            if match := re.search(rf"from (regularize[\w.]*) import [^)\n]*\b{name}\b", text):
                text = inspect.getsource(importlib.import_module(match[1]))
            for node in ast.walk(ast.parse(text)):
                if isinstance(node, ast.ClassDef) and node.name == name:
                    found += [
                        ast.unparse(n.target) for n in node.body if isinstance(n, ast.AnnAssign)
                    ]
        return found

    values = {name: getattr(rg, name) for name in rg.__all__}
    return {name: names(value) for name, value in values.items() if inspect.isfunction(value)}


def _members() -> dict[str, list[str]]:
    """Members of what the public functions return."""
    path = models()["planar_fourbar"]
    report = rg.check(path)
    returned = [report, report.mechanism, report.reduction, rg.to_pinocchio(report.reduction)]
    returned.append(rg.simulate(report.reduction, duration=0.01))
    return {
        type(value).__name__: [name for name in dir(value) if not name.startswith("_")]
        for value in returned
    }


def help_texts() -> dict[str, str]:
    """The help of every verb, a hundred columns wide."""
    columns, os.environ["COLUMNS"] = os.environ.get("COLUMNS"), "100"
    try:
        _, overall = _command("--help-all")
        (_, below) = overall.split("VERB\n", 1)
        verbs = re.findall(r"^    (\w+)", below, re.MULTILINE)
        return {"": overall} | {verb: _command(verb, "--help-all")[1] for verb in verbs}
    finally:
        if columns is None:
            del os.environ["COLUMNS"]
        else:
            os.environ["COLUMNS"] = columns


def _verbs() -> dict[str, dict[str, list[str]]]:
    """Options and values of every verb."""
    return {
        verb: {
            "options": sorted({*re.findall(r"(?<![\w-])--?[a-z][\w-]*", text)} - {"-"}),
            "values": sorted({*re.findall(r"\{[\w,.+-]+\}", text)}),
        }
        for verb, text in help_texts().items()
    }


def surface() -> dict[str, Any]:
    """Names, parameters, members, verbs, codes and formats."""
    formats = re.findall(
        r"^ +(\S+) +(read and write|read|write)\b", _command("formats")[1], re.MULTILINE
    )
    return {
        "names": list(rg.__all__),
        "parameters": _parameters(),
        "members": _members(),
        "report": sorted(set().union(*(_keys(rg.check(models()[n]).as_dict()) for n in SPEAKING))),
        "verbs": _verbs(),
        "codes": [
            " ".join(line.split()) for line in _command("explain")[1].splitlines() if "REG" in line
        ],
        "formats": dict(formats),
    }


def counts(path: Path) -> str:
    """What a model of the corpus comes to, in one line."""
    try:
        found = rg.reduce(rg.load(path))
    except rg.RegularizeError as error:
        return type(error).__name__
    return (
        f"loops {found.graph.loops} gruebler {found.gruebler} mobility {found.mobility} "
        f"redundant {found.redundant} removed {found.removed} left {found.remaining} "
        f"closed {found.assembly.closed}"
    )


def corpus(folder: Path = CORPUS, only: Collection[str] | None = None) -> dict[str, str]:
    """What all models below a folder come to, or those whose paths below it are named."""
    suffixes = {".urdf", ".sdf", ".xml", ".usda", ".fcstd", ".asmt", ".json"}
    files = sorted(f for f in folder.rglob("*") if f.suffix.lower() in suffixes)
    # The benchmark families repeat one mechanism with many sizes.
    files = [f for f in files if "bench_" not in str(f) or f.stem.endswith(("_4_10", "size40"))]
    names = {str(file.relative_to(folder)): file for file in files}
    return {name: counts(file) for name, file in names.items() if only is None or name in only}


def differences(stored: Any, found: Any, where: str = "") -> Iterator[str]:
    """What differs; what is only found is new, and no difference."""
    if stored is None:
        return
    if isinstance(stored, Mapping) and isinstance(found, Mapping):
        for key, value in stored.items():
            if key in found:
                yield from differences(value, found[key], f"{where}.{key}")
            elif value is not None:
                yield f"{where}.{key} is gone"
    elif isinstance(stored, list) and isinstance(found, list | tuple) and len(stored) == len(found):
        for index, (one, other) in enumerate(zip(stored, found, strict=True)):
            yield from differences(one, other, f"{where}[{index}]")
    elif isinstance(stored, str) and isinstance(found, str):
        words = [_NUMBER.sub("#", text) for text in (stored, found)]
        pairs = zip(
            *([float(x) for x in _NUMBER.findall(t)] for t in (stored, found)), strict=False
        )
        # Words are rounded to a thousandth: of numbers that end in a half, up or down.
        if words[0] != words[1] or any(abs(a - b) > 2e-3 * max(1.0, abs(a)) for a, b in pairs):
            yield f"{where}: {stored} before, {found} now"
    elif isinstance(stored, float) or isinstance(found, float):
        if not isinstance(found, int | float) or not math.isclose(
            stored, found, rel_tol=1e-6, abs_tol=1e-8
        ):
            yield f"{where}: {stored} before, {found} now"
    elif stored != found:
        yield f"{where}: {stored} before, {found} now"


def surface_differences(stored: Mapping[str, Any], found: Mapping[str, Any]) -> Iterator[str]:
    """Names that are gone, but for those that ``gone.json`` names with what replaces them."""
    told = json.loads((STORED / "gone.json").read_text(encoding="utf-8"))

    def lost(where: str, before: Iterable[str], now: Iterable[str]) -> Iterator[str]:
        for name in sorted({*before} - {*now}):
            if f"{where} {name}" not in told:
                yield f"{where} {name} is gone: name its replacement in gone.json and the changelog"

    yield from lost("name", stored["names"], found["names"])
    yield from lost("code", stored["codes"], found["codes"])
    yield from lost("member of the report", stored["report"], found["report"])
    for key in ("parameters", "members"):
        for name, before in stored[key].items():
            if f"name {name}" not in told:
                yield from lost(f"{key} of {name}", before, found[key].get(name, ()))
    for verb, before in stored["verbs"].items():
        now = found["verbs"].get(verb, {"options": [], "values": []})
        for key in ("options", "values"):
            yield from lost(f"{key} of {verb}", before[key], now[key])
    yield from differences(stored["formats"], found["formats"], "formats")


def _shorter(value: Any) -> Any:
    """Numbers to nine digits."""
    if isinstance(value, float):
        return (
            0.0 if abs(value) < 1e-12 else float(f"{value:.8g}") if math.isfinite(value) else None
        )
    if isinstance(value, Mapping):
        return {k: _shorter(v) for k, v in value.items()}
    return [_shorter(v) for v in value] if isinstance(value, list | tuple) else value


def _common(one: Any, other: Any) -> Any:
    """What is the same in two runs; what is not becomes None."""
    if isinstance(one, dict) and isinstance(other, dict):
        return {k: _common(v, other.get(k)) for k, v in one.items()}
    if isinstance(one, list) and isinstance(other, list) and len(one) == len(other):
        return [_common(a, b) for a, b in zip(one, other, strict=True)]
    return None if any(differences(one, other)) else one


def stored(name: str) -> dict[str, Any]:
    """What was written down: ``models``, ``surface`` or ``corpus``."""
    document: dict[str, Any] = json.loads((STORED / f"{name}.json").read_text(encoding="utf-8"))
    return document


def _keep(name: str, document: Mapping[str, Any]) -> None:
    """Write a document, one line for every entry."""
    lines = [
        f"{json.dumps(k)}: {json.dumps(v, separators=(',', ':'))}" for k, v in document.items()
    ]
    STORED.mkdir(parents=True, exist_ok=True)
    (STORED / f"{name}.json").write_text("{\n" + ",\n".join(lines) + "\n}\n", encoding="utf-8")


def _computed(names: Iterable[str], outputs: Path | None = None) -> dict[str, Any]:
    found, files = {}, models()
    for name in names:
        found[name] = _shorter(surface() if name == "surface" else record(files[name], outputs))
        print(name, file=sys.stderr, flush=True)
    return found


def _elsewhere(names: list[str], kernels: Mapping[str, str]) -> dict[str, Any]:
    """The same on the kernels of another processor."""
    script = [sys.executable, __file__, "--print", *names]
    done = subprocess.run(script, env=os.environ | kernels, stdout=subprocess.PIPE, check=True)
    document: dict[str, Any] = json.loads(done.stdout)
    return document


def main(words: list[str]) -> int:
    """Compare or write; returns the exit status."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("models", nargs="*", metavar="MODEL")
    parser.add_argument("--write", action="store_true")
    parser.add_argument("--print", action="store_true")
    parser.add_argument("--corpus", type=Path)
    parser.add_argument("--outputs", type=Path)
    told = parser.parse_args(words)
    if told.corpus:
        found: dict[str, Any] = corpus(told.corpus)
        if told.write:
            _keep("corpus", found)
            return 0
        changes = [*differences(stored("corpus"), found)]
        print("\n".join(changes))
        return int(bool(changes))
    names = told.models or ["surface", *models()]
    found = _computed(names, told.outputs)
    if told.print:
        json.dump(found, sys.stdout)
        return 0
    if told.write:
        others = [_elsewhere([*found], kernels) for kernels in ELSEWHERE]
        if "surface" in found:
            _keep("surface", found.pop("surface"))
            _keep("help", {verb: text.splitlines() for verb, text in help_texts().items()})
        kept = stored("models") if (STORED / "models.json").exists() else {}
        for name, value in found.items():
            kept[name] = reduce(_common, (other[name] for other in others), value)
        _keep("models", dict(sorted(kept.items())))
        return 0
    changes = []
    if "surface" in found:
        changes += [*surface_differences(stored("surface"), found.pop("surface"))]
    before = stored("models")
    for name, value in found.items():
        changes += differences(before[name], value, name)
    print("\n".join(changes))
    return int(bool(changes))


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
