"""`check`: everything that is known of a mechanism's loops, as one report."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, TypedDict

from regularize.errors import RegularizeError
from regularize.mechanism.diagnostic import Diagnostic
from regularize.mechanism.elastic import segments
from regularize.mechanism.mechanism import Mechanism, Model, as_mechanism, has_elastic
from regularize.mechanism.named_columns import table_html
from regularize.reduction.context import portion
from regularize.reduction.reduce import Reduction, on_branch, reduce
from regularize.repair.statics.per_joint import PerJoint
from regularize.repair.statics.reactions import reactions
from regularize.report.analysis import Analysis
from regularize.report.findings import by_severity
from regularize.report.misfit import binding
from regularize.services import guest
from regularize.validation import EXECUTOR, FLAG, FUNCTION, LIST, POSITIVE, TEXT, WHOLE, validated
from regularize.words import SLIGHT, counted, listed

if TYPE_CHECKING:
    from concurrent.futures import Executor

    from typing_extensions import Unpack


@dataclass(frozen=True, eq=False, repr=False)
class Report(Analysis):
    """All results of `check`: loops, motion, reactions, joint changes and findings.

    Attributes:
        reduction: The reduced constraints with all the evidence.
        loops: One entry per loop.
        moving: Motion of every body but the ground; empty where the loops cannot be closed.
        reasons: Why it is locked, or moves against the count.
        passive: Bodies that spin or slide without moving anything else, one entry per freedom.
        reactions: One entry per joint.
        cures: Changes of joint types after which nothing is redundant, the best first; where
            closures lock the mechanism, those that free it.
        meant: The mechanism that the numbers were meant to be, where one near them moves more.
        binding: Joints that give way for that where it is built as it is written, the most strained
            first.
        diagnostics: The findings.
        seconds: How long the analysis took.
        misfit: What given tolerances leave open in redundant directions; None without them, and
            where a loop is open as it is.
        suppressed: Findings that are accepted, and by what.
        special: Parts whose special dimensions are proved to make rows redundant.
        engine: Whose kinds of joints are proposed; None for that of the format.
        fit: Errors and stiffnesses of the joints, by which changes are ordered; None without
            tolerances.
        trials: What came of trying joint changes and reductions on copies of the model's file; None
            where that was not asked for.
    """

    def __str__(self) -> str:
        """Return the report as text."""
        from regularize.report import text  # with a library for terminals

        return text.render(self)

    @property
    def verdict(self) -> str:
        """Say in a few sentences what is redundant and what moves, as the report begins."""
        from regularize.report.view import counts, verdict  # for who looks at it

        return f"{verdict(self)[1]} {counts(self)}".rstrip()

    def _repr_html_(self) -> str:
        """Return HTML for notebooks: a table of verdict and findings, and the page."""
        from regularize.report.view import headline  # for who looks at it

        findings = {f"{d.severity} {d.code}": d.message for d in self.diagnostics}
        table = table_html(": ".join(headline(self)), {"verdict": self.verdict, **findings})
        return table + str(guest("page.html").frame(self))


class ReductionOptions(TypedDict, total=False):
    """Options of ``reduce`` that ``check`` accepts and passes on."""

    rtol: float
    length_scale: float | None
    keep_cuts: bool
    groups: bool
    configurations: int
    seed: int
    format: str | None


@validated(near=POSITIVE, branch=WHOLE, trials=FLAG, progress=FUNCTION, engine=TEXT)
def check(
    model: Model,
    *,
    near: float = SLIGHT,
    branch: int | None = None,
    tolerance: PerJoint | Iterable[PerJoint] | None = None,
    stiffness: PerJoint | Iterable[PerJoint] | None = None,
    load_limit: float | str | None = None,
    trials: bool = False,
    engine: str | None = None,
    progress: Callable[[float], None] | None = None,
    **options: Unpack[ReductionOptions],
) -> Report:
    """Analyse the loops of a mechanism and say what was found.

    Args:
        model: A file, a mechanism, or what was made of one: a reduction as it is, unless ``branch``
            or ``options`` ask for another. Elastic links count as ``segments`` has them, and a
            finding says which reactions they determine.
        near: Tolerance within which a loop is called nearly special; radians, and distances
            relative to the size of its part.
        branch: Which of the components that meet at the assembled pose to look at, by its place in
            ``mobility.components``, the first being 1; a configuration on it takes the place of
            the pose.
        tolerance: Of the joints, for the misfit in redundant directions; see ``misfit``.
        stiffness: Of the joints, for the forces that it causes; see ``misfit``.
        load_limit: Largest force that a joint may bear by lack of fit, in N, or a text such as
            ``"200N"``: whether it binds or fits is a finding then (REG239).
        trials: Whether to try what the report proposes on copies of the model's file, written to a
            temporary folder and read by the format's own program too: the joint changes, and the
            commands that drop redundant equations, which are printed then. Without, whether the
            file can hold a joint change is told from its text, in memory.
        engine: Whose kinds of joints are proposed: ``mujoco``, ``mjlab``, ``newton``, ``kamino``,
            ``steel``, ``drake``, ``pinocchio``, ``gazebo``, ``isaac``; by default the first one of
            the format that is installed.
        progress: Called now and then with the fraction done.
        options: Of ``reduce``: ``rtol``, ``length_scale``, ``keep_cuts``, ``groups``,
            ``configurations`` for the certificate, ``seed``; and ``format`` of a file or text that
            does not tell it.

    Raises:
        ModelError: There is no such component; a tolerance or stiffness is no positive number.
    """
    began = time.perf_counter()
    mechanism = as_mechanism(model, options.pop("format", None))
    reduction = getattr(model, "reduction", model)
    if branch is not None or options or not isinstance(reduction, Reduction):
        parts = segments(mechanism)
        parts = parts if branch is None else on_branch(parts, branch)
        reduction = reduce(parts, progress=portion(progress, 0.0, 0.7), **options)
    report = Report.of(
        reduction, near=near, began=began, tolerance=tolerance, stiffness=stiffness, engine=engine
    )
    found = [*report.diagnostics]
    if elastic := has_elastic(mechanism):
        found.append(_determined(mechanism, elastic, report))
    if load_limit is not None:
        found.append(binding(reduction, report.fit, load_limit))
    report = replace(report, diagnostics=tuple(by_severity(found)))
    if trials:
        from regularize.repair.fix.advice import tried_all  # what writes files

        if progress is not None:
            progress(0.8)
        tried = tried_all(report.reduction, report.cures, report.fit, engine)
        report = replace(report, trials=tried)
    return report


def _determined(mechanism: Mechanism, elastic: list[str], report: Report) -> Diagnostic:
    """Report reactions that only elastic links make unique (Wojtyra and Frączek)."""
    bodies = tuple(replace(body, elastic=None) for body in mechanism.bodies)
    rigid = reduce(replace(mechanism, bodies=bodies), configurations=0)
    closed = rigid.assembly.closed and report.reduction.assembly.closed
    open_as_rigid = [r.joint for r in reactions(rigid) if not r.unique] if closed else []
    undetermined = {r.joint for r in report.reactions if not r.unique}
    determined = [name for name in open_as_rigid if name not in undetermined]
    named = listed([f"`{name}`" for name in elastic])
    message = f"{named} {'is' if len(elastic) == 1 else 'are'} elastic: "
    message += f"{counted(report.reduction.redundant, 'equation')} of the loops redundant, "
    message += f"{rigid.redundant} if all links were rigid"
    if determined:
        message += "; reactions that rigid links leave open are unique in "
        message += listed([f"`{name}`" for name in determined])
    if still_open := [name for name in open_as_rigid if name in undetermined]:
        message += "; still open in " + listed([f"`{name}`" for name in still_open])
    return Diagnostic("REG220", "note", message, joints=tuple(determined))


@validated(sources=LIST, executor=EXECUTOR)
def check_each(
    sources: Iterable[Any], *, executor: Executor | None = None, **options: Any
) -> Iterator[tuple[Any, Report | RegularizeError]]:
    """Check many models and give each result as it is ready.

    Args:
        sources: Files or folders for ``load``, or mechanisms.
        executor: Where the work is done: processes of ``concurrent.futures``, the executor of a
            dask client, any other; by default here, one after the other.
        options: Passed on to ``check``.

    Yields:
        The source, and its report or why it cannot be read.
    """
    if executor is None:
        for source in sources:
            yield source, _checked(source, options)
        return
    from concurrent.futures import as_completed  # where there is an executor

    running = {executor.submit(_checked, source, options): source for source in sources}
    for future in as_completed(running):
        yield running[future], future.result()


def _checked(source: Any, options: Mapping[str, Any]) -> Report | RegularizeError:
    """Return the report of a source, or the error that it raises."""
    try:
        return check(source, **options)
    except RegularizeError as error:
        return error
