"""The isostatic model written in its own format, and the command that does it, which was tried."""

from __future__ import annotations

import shlex
import tempfile
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import NamedTuple

from regularize.adapters import adapters
from regularize.errors import RegularizeError
from regularize.escape import displayed
from regularize.mechanism.diagnostic import Diagnostic
from regularize.mechanism.mechanism import Mechanism, Model
from regularize.reduction.reduce import Reduction, reduce
from regularize.repair.fix.advice import advise
from regularize.repair.fix.proposals import Advice
from regularize.repair.fix.reading import read_again
from regularize.repair.statics.cure import Cure
from regularize.repair.statics.isostatic import Isostatic, isostatic
from regularize.repair.verification.writing import write_verified

#: Closure equations up to which a model is written to see whether it can be: seconds beyond. Those
#: that dimensions make redundant are looked for at many places, which takes longer.
EQUATIONS, SPECIAL = 150, 24
#: Of formats that are dialects of others.
SUFFIXES = {"urdf+": ".urdf", "mjcf": ".xml", "drake": ".xml"}


@dataclass(frozen=True)
class TriedReduction:
    """What came of dropping redundant equations.

    Attributes:
        command: What does it, with exit status 0; empty where nothing does, or was tried.
        lost: Warnings of what the new file does not hold, or what is not proved.
        dropped: Equations that go.
        reason: Why it cannot be done; empty where it can, and where it was not tried.
    """

    command: str = ""
    lost: int = 0
    dropped: int = 0
    reason: str = ""


class Trials(NamedTuple):
    """What came of trying, on copies of a model's file, all that its report proposes."""

    advice: tuple[Advice, ...]
    #: Dropping the equations that are proved redundant.
    proved: TriedReduction
    #: Dropping more on numerical evidence.
    numerical: TriedReduction


def tried_all(reduction: Reduction, known: Sequence[Cure]) -> Trials:
    """Try joint changes and reductions, so that no report prints a command that refuses."""
    r = reduction
    left = r.remaining > 0 and r.assembly.closed and not r.numerical and bool(r.followed)
    return Trials(
        advise(r, known, engine=True),
        tried_reduction(r) if r.removed and not r.numerical else TriedReduction(),
        tried_numerically(r) if left else TriedReduction(),
    )


def written_as(mechanism: Mechanism) -> str:
    """The format that a model came in, if it can be written."""
    name = mechanism.format
    if name == "urdf" and not mechanism.files and any(j.closure for j in mechanism.joints):
        return "urdf+"
    adapter = adapters().get(name)
    return name if adapter is not None and adapter.writer is not None else "json"


def file_name(mechanism: Mechanism, format: str) -> str:
    """Name of the file of a model in a format."""
    stem = Path(mechanism.path).stem if mechanism.path else mechanism.name.replace("/", "_")
    suffix = SUFFIXES.get(format) or adapters()[format].suffixes[0]
    return f"{stem or 'model'}{suffix}"


def isostatic_in(model: Model, format: str, seed: int = 0) -> Isostatic:
    """The isostatic model by means that a format has."""
    known = adapters().get(format)
    coupled = None if known is None else known.coupled
    return isostatic(model, seed=seed, points=format == "mjcf", coupled=coupled)


def write_isostatic(report: Isostatic, path: Path, format: str) -> tuple[Diagnostic, ...]:
    """Write an isostatic model; what the file cannot hold, and what was found on the way.

    Raises:
        UnsupportedExport: What would be written is another machine, or cannot be read.
    """
    found = write_verified(report.mechanism, path, format, reduction=report.result)
    return (*report.findings, *found)


def tried_reduction(reduction: Reduction) -> TriedReduction:
    """Write the isostatic model into a folder that is thrown away, as the command would."""
    if _long(reduction):
        return TriedReduction()
    found = read_again(reduction.mechanism)
    if found is None:
        return TriedReduction()
    mechanism, words = reduction.mechanism, found[1]
    format = written_as(mechanism)
    try:
        report = isostatic_in(reduction, format)
        findings, after = report.findings, report.result
        better = after.redundant < reduction.redundant
        better &= after.finite_mobility == reduction.finite_mobility
        if better and not any(each.severity == "error" for each in findings):
            with tempfile.TemporaryDirectory(prefix="regularize-") as folder:
                path = Path(folder) / file_name(mechanism, format)
                findings = write_isostatic(report, path, format)
    except RegularizeError as error:
        return TriedReduction(reason=str(error))
    errors = [each.message for each in findings if each.severity == "error"]
    if errors or not better:
        return TriedReduction(reason=(*errors, "it would be no better")[0])
    lost = sum(each.severity == "warning" for each in findings)
    command = shlex.join(["regularize", "reduce", *words, "-o", "reduced/"])
    gone = reduction.redundant - after.redundant
    return TriedReduction(f"{command} --fail-on error" if lost else command, lost, gone)


def _long(reduction: Reduction) -> bool:
    """Whether a trial would take longer than a reader waits."""
    most = SPECIAL if reduction.remaining else EQUATIONS
    return sum(cell.equations for cell in reduction.cells) > most


def tried_numerically(reduction: Reduction) -> TriedReduction:
    """Reduce on numerical evidence what the axes alone do not prove."""
    if _long(reduction):
        return TriedReduction()
    found = read_again(reduction.mechanism)
    plain = found is not None and len(found[1]) == 1
    model = repr(displayed(str(reduction.mechanism.path))) if plain else "mechanism"
    after = reduce(reduction.mechanism, rtol=reduction.rtol, seed=reduction.seed, numerical=True)
    if after.remaining >= reduction.remaining:
        return TriedReduction(reason="it would keep as many")
    dropped = reduction.remaining - after.remaining
    return TriedReduction(f"regularize.reduce({model}, numerical=True)", dropped=dropped)
