"""The motion test: a model before and after a change, loaded and moved in an engine."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import Any

from regularize.adapters.common.write import closed_at
from regularize.errors import ModelError, RegularizeError, UnsupportedExport
from regularize.mechanism.diagnostic import Diagnostic
from regularize.mechanism.mechanism import Mechanism
from regularize.reduction.reduce import Reduction
from regularize.repair.engines.in_mujoco import STRENGTHS
from regularize.repair.engines.motion import STILL, WIDER, EngineMotion, NotMoved, differences
from regularize.repair.engines.table import PhysicsEngine, engine_for
from regularize.repair.verification.comparison import ReferencePose

#: How models are driven, in the order in which it is tried: by what moves them themselves first.
DRIVES = (("alone", 1.0), *(("motors", strength) for strength in STRENGTHS), ("loads", 1.0))
#: Loops of a new file that open by this part of the size are not closed there.
OPEN = 0.1
#: Motors that open loops by more than this part of the size are too strong to compare by.
TORN = 0.02
#: Seconds of motion in which loops may open no wider than before.
SOFT = 2.0


@dataclass(frozen=True, eq=False)
class Handed:
    """A model as it is handed to an engine: what it is, and its file or object, if it has one."""

    mechanism: Mechanism
    source: Any = None


@dataclass(frozen=True)
class EngineTest:
    """What an engine showed of a model before and after a change."""

    name: str
    title: str
    version: str | None
    #: Whether both were moved there; if not, why.
    moved: bool
    reason: str = ""
    freedoms: tuple[int, int] = (0, 0)
    motors: tuple[int, int] = (0, 0)
    #: Largest gap of any closure, in metres.
    gap: tuple[float, float] = (0.0, 0.0)

    def as_dict(self) -> dict[str, Any]:
        """Plain values for JSON; without a motion its numbers are null, and the reason is told."""
        plain: dict[str, Any] = {"name": self.name, "version": self.version}
        for key in ("freedoms", "motors", "gap"):
            plain[key] = list(getattr(self, key)) if self.moved else None
        return {**plain, "moved": self.moved, **({} if self.moved else {"reason": self.reason})}

    def __str__(self) -> str:
        """One line on what was moved where, and how far loops opened."""
        if not self.moved:
            return f"not moved in {self.title}: {self.reason}"
        before, after = (f"{1e3 * gap:.3g}" for gap in self.gap)
        return (
            f"moved in {self.title} {self.version}: {self.freedoms[1]} freedoms, {self.motors[1]} "
            f"motors; loops open by {after} mm ({before} before)"
        )


class MotionTrial:
    """A model in an engine, driven so that it moves, to compare changed ones with."""

    def __init__(self, engine: PhysicsEngine, before: Handed) -> None:
        self.engine, self.before = engine, before
        self.size = ReferencePose(before.mechanism).size
        self.reason = "it does not move there" if engine.installed else "not installed"
        self.drive, self.recorded = DRIVES[-1], None
        for drive in DRIVES if engine.installed else ():
            if drive[0] == "motors" and self.recorded and not self.recorded.motors:
                continue
            try:
                recorded = self._record(before, drive)
            except RegularizeError as error:
                self.reason = str(error)
                if drive[0] == "alone":
                    break
                continue
            self.drive, self.recorded, self.reason = drive, recorded, ""
            torn = drive[0] == "motors" and self.largest_gap > TORN * self.size
            if not torn and recorded.travel(self.size) > STILL * self.size:
                break

    def _record(self, model: Handed, drive: tuple[Any, ...]) -> EngineMotion:
        """Hand a model to the engine and move it."""
        with handed_over(self.engine, model) as handed:
            recorded: EngineMotion = _recorder(self.engine, handed.mechanism)(handed.source, *drive)
        return replace(recorded, mechanism=handed.mechanism)

    @property
    def largest_gap(self) -> float:
        """The largest gap of the first model's closures, in metres."""
        return 0.0 if self.recorded is None else self.recorded.gap(self.size)

    def gap(self, after: Handed, *more: float) -> tuple[float, EngineMotion]:
        """Return the largest gap of a changed model's closures, in metres, and its recording."""
        recorded = self._record(after, (*self.drive, *more))
        return recorded.gap(self.size), recorded

    def soft_gap(self, model: Handed, seconds: float = SOFT) -> float | None:
        """Return the largest gap of MuJoCo's soft closures in a longer motion; None: unstable."""
        try:
            return self.gap(model, seconds)[0]
        except RegularizeError:
            return None

    @property
    def soft(self) -> bool:
        """Whether the model moves on MuJoCo's soft constraints."""
        return self.recorded is not None and self.engine.name in ("mujoco", "mjlab", "newton")

    def compare(self, after: Handed, more: range = range(1), wider: float = WIDER) -> EngineTest:
        """Move a changed model as the first one; raises ``ModelError`` where it does otherwise."""
        engine = self.engine
        names = engine.name, engine.title, engine.version
        if self.recorded is None:
            return EngineTest(*names, False, self.reason)
        try:
            gap, recorded = self.gap(after)
            gaps = self.largest_gap, gap
            wrong = differences(self.recorded, recorded, gaps, self.size, more, wider)
        except NotMoved as error:
            return EngineTest(*names, False, str(error))
        except UnsupportedExport as error:
            wrong = [str(error)]
        if wrong:
            raise ModelError(f"in {engine.title} {engine.version}: {'; '.join(wrong[:3])}")
        counts = [(getattr(self.recorded, k), getattr(recorded, k)) for k in ("freedoms", "motors")]
        return EngineTest(*names, True, "", counts[0], counts[1], gaps)


def moved_alone(
    engine: PhysicsEngine,
    reduction: Reduction,
    old: Mechanism | None,
    format: str,
    mechanism: Mechanism,
    path: Path,
) -> Diagnostic:
    """Move a file that was written in an engine, and say what came of it (REG348), or raise."""
    from regularize.adapters import read

    kind = {"drake": "mjcf", "urdf+": "urdf"}.get(format, format)
    written = replace(read(path, format=kind), format=format)
    trial = MotionTrial(engine, Handed(written, str(path)))
    recorded, title = trial.recorded, f"{engine.title} {engine.version}"
    if recorded is None:
        return Diagnostic("REG348", "note", f"not moved in {engine.title}: {trial.reason}")
    wrong, motors = [], _motors(mechanism)
    sure = reduction.assembly.closed and reduction.finite_mobility == reduction.mobility
    if sure and recorded.freedoms != reduction.mobility:
        wrong.append(f"{recorded.freedoms} freedoms in place of {reduction.mobility}")
    most = max(motors, sum(bool(joint.actuated) for joint in mechanism.joints))
    wide = trial.largest_gap > OPEN * trial.size
    if wide or not motors <= recorded.motors <= most:  # what did the owner's file do there?
        first = old or mechanism
        if first.path is not None and first.format in engine.reads:
            first = read(first.path, format=first.format)
            there = MotionTrial(engine, Handed(first, first.path))
            wide = trial.largest_gap > max(WIDER * there.largest_gap, OPEN * trial.size)
            more = 0 if there.recorded is None else there.recorded.motors - _motors(first)
            motors, most = motors + more, most + more
    if not motors <= recorded.motors <= most:
        wrong.append(f"{recorded.motors} motors in place of {motors}")
    gap = f"loops open by {1e3 * trial.largest_gap:.3g} mm"
    wrong += [gap] if wide else []
    if wrong:
        raise UnsupportedExport(f"in {title}: {'; '.join(wrong)}")
    message = f"moved in {title}: {recorded.freedoms} freedoms, {recorded.motors} motors; {gap}"
    return Diagnostic("REG348", "note", message)


def _motors(mechanism: Mechanism) -> int:
    """Count motors; one that drives several joints through a tendon counts once."""
    return len({each.motor or each.name for each in mechanism.actuators})


def mover(
    reduction: Reduction, mechanism: Mechanism, format: str, name: str, old: Mechanism | None = None
) -> tuple[Mechanism, Callable[[Mechanism, Path], Diagnostic] | None]:
    """Return a model as an engine closes it, and what moves its file there, if there is one."""
    if (engine := engine_for(format, name)) is None:
        return mechanism, None
    return closed_at(mechanism, engine.closes), partial(moved_alone, engine, reduction, old, format)


@contextmanager
def handed_over(engine: PhysicsEngine, model: Handed) -> Iterator[Handed]:
    """Yield a model with what the engine reads of it; it is written where it has no such file."""
    if model.source is not None and model.mechanism.format in engine.reads:
        yield model
        return
    import tempfile  # takes a while

    from regularize.adapters import adapters, read
    from regularize.repair.verification.writing import write_verified

    with tempfile.TemporaryDirectory(prefix="regularize-") as folder:
        suffix = (adapters()[engine.carrier].suffixes or (".xml",))[0]
        path = Path(folder) / f"model{suffix}"
        write_verified(closed_at(model.mechanism, engine.closes), path, engine.carrier)
        format = "mjcf" if engine.carrier == "drake" else engine.carrier
        yield Handed(read(path, format=format), str(path))


def _recorder(engine: PhysicsEngine, mechanism: Mechanism) -> Any:
    """Return the function that moves a source in an engine; its libraries are loaded only now."""
    if engine.module == "mujoco":
        from regularize.repair.engines import in_mujoco

        return in_mujoco.record
    if engine.module == "newton":
        from regularize.repair.engines import in_newton

        return partial(in_newton.record, solver=engine.name)
    if engine.name == "drake":
        from regularize.repair.engines import in_drake
        from regularize.repair.engines.alone import in_own_process

        record = partial(in_drake.record, mechanism=mechanism)
        return partial(in_own_process, engine.title, record)
    if engine.name == "pinocchio":
        from regularize.repair.engines import in_pinocchio

        return partial(in_pinocchio.record, mechanism=mechanism)
    raise NotMoved("no way to move a model from Python is known here")
