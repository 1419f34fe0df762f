"""Models mended for engines and moved there: is any loop opened or locked, any motor doubled?

    python tests/campaigns/engines_table.py MODEL_OR_FOLDER… [--engines newton,drake] [--seconds 60]
    python tests/campaigns/engines_table.py --kinds     # closures of each kind, engine by engine

Every model is written for each engine that is installed, mended with ``fix --for ENGINE``, and what
is accepted is looked at once more: gaps, freedoms, motors, balls where a joint has one freedom. The
kinds are those of ``regularize/repair/engines/table.json``: run it for each release of an engine.
"""

from __future__ import annotations

import argparse
import signal
import sys
import tempfile
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import regularize as rg
from regularize.repair.engines.motion import STILL
from regularize.repair.engines.table import PhysicsEngine, engines
from regularize.repair.engines.trial import Handed, MotionTrial

ROOT = Path(__file__).resolve().parents[2]
SUFFIXES = {"mjcf": ".xml", "usd": ".usda", "drake": ".xml", "urdf": ".urdf", "sdf": ".sdf"}
MODELS = (".urdf", ".xml", ".usda", ".usd", ".sdf", ".json")


def models(places: list[str]) -> Iterator[Path]:
    """Yield files, and files of models in folders."""
    for place in map(Path, places):
        inside = sorted(place.rglob("*")) if place.is_dir() else [place]
        yield from (path for path in inside if path.suffix in MODELS or not place.is_dir())


def mended(path: Path, engine: PhysicsEngine, folder: Path) -> str:
    """Mend a model for an engine; return one word for what came of it, and the figures."""
    source = folder / f"{path.stem}{SUFFIXES[engine.carrier]}"
    try:
        model = rg.load(path)
        if not rg.reduce(model).redundant:
            return "independent"
        rg.save(model, source, format=engine.carrier, engine=engine.name)
        fixed = rg.fix(source, engine=engine.name)
    except rg.RegularizeError as error:
        return f"refused: {' '.join(str(error).split())[-150:]}"
    told = fixed.engine
    if told is None or not told["moved"]:
        return f"unmoved: {told and told.get('reason')}"
    before, after = told["gap"]
    written = fixed.write(folder / f"fixed{source.suffix}")
    again = MotionTrial(engine, Handed(rg.load(written), str(written)))
    faults = []
    if again.recorded is None or again.largest_gap > max(2.0 * before, 1e-4 * again.size):
        faults.append("OPENED")
    elif again.recorded.travel(again.size) < STILL * again.size and told["freedoms"][0]:
        first = MotionTrial(engine, Handed(rg.load(source), str(source))).recorded
        faults += ["LOCKED"] if first and first.travel(again.size) > STILL * again.size else []
    if told["motors"][0] != told["motors"][1]:
        faults.append("DOUBLED")
    balls = [j.name for j in fixed.mechanism.joints if j.kind == "spherical" and not j.closure]
    if balls and "spherical" not in engine.tree and not any(j in balls for j in _balls(model)):
        faults.append("BALLS")
    return f"{' '.join(faults) or 'held'}: gap {1e3 * before:.3g} -> {1e3 * after:.3g} mm"


def _balls(model: Any) -> list[str]:
    """Return the balls that a model has from the start."""
    return [joint.name for joint in model.joints if joint.kind == "spherical"]


def four_bar(kind: str) -> Any:
    """Return a four-bar whose rocker is closed by a joint of a kind that leaves it its motion."""
    bars = ROOT / "assets" / "planar_fourbar.urdf"
    return rg.load(bars) if kind == "revolute" else rg.fix(bars, {"D": kind}).mechanism


def kinds() -> int:
    """Print which closing kinds each installed engine holds, beside what the table says."""
    wrong = 0
    for engine in filter(lambda e: e.installed and e.measured, engines().values()):
        for kind in ("revolute", "spherical", "cylindrical", "universal", "point_on_line"):
            try:
                trial = MotionTrial(engine, Handed(four_bar(kind)))
                held = trial.recorded is not None and trial.largest_gap < 0.02 * trial.size
                held = held and trial.recorded.travel(trial.size) > STILL * trial.size
                why = "" if held else trial.reason or f"gap {trial.largest_gap:.3g}"
            except rg.RegularizeError as error:
                held, why = False, str(error)
            said = kind in engine.loops
            wrong += held < said
            print(f"{engine.name:10} {kind:14} {'held' if held else 'not':5} {said=} {why[:90]}")
    return wrong


def main() -> int:
    """Run the table; the exit status counts faults."""
    parser = argparse.ArgumentParser(description=__doc__.split("\n", 1)[0])
    parser.add_argument("models", nargs="*")
    parser.add_argument("--engines", default=",".join(engines()))
    parser.add_argument("--seconds", type=int, default=120)
    parser.add_argument("--kinds", action="store_true")
    arguments = parser.parse_args()
    if arguments.kinds:
        return kinds()
    counts: Counter[str] = Counter()

    def late(*_: object) -> None:
        raise TimeoutError

    signal.signal(signal.SIGALRM, late)
    for path in models(arguments.models):
        for engine in (engines()[name] for name in arguments.engines.split(",")):
            if not engine.installed:
                continue
            signal.alarm(arguments.seconds)
            try:
                with tempfile.TemporaryDirectory(prefix="engines-") as folder:
                    result = mended(path, engine, Path(folder))
            except TimeoutError:
                result = "late"
            except Exception as error:  # an engine's own, or a fault of ours: both are looked at
                result = f"FAILED: {type(error).__name__}: {error}"
            finally:
                signal.alarm(0)
            counts[result.partition(":")[0]] += 1
            print(f"{path.name:32} {engine.name:10} {result}", flush=True)
    print(dict(counts))
    return sum(count for word, count in counts.items() if word.isupper())


if __name__ == "__main__":
    sys.exit(main())
