"""`check`: everything that is known of a mechanism's loops, as one report."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import TYPE_CHECKING, Any

from regularize.door import opened
from regularize.errors import RegularizeError
from regularize.lie import subalgebra
from regularize.lie.directions import SLIGHT
from regularize.model.mechanism import Mechanism
from regularize.reduction.reduce import CONFIGURATIONS, on_branch
from regularize.reduction.setting import portion
from regularize.report.analysis import Analysis
from regularize.solving import reduce
from regularize.statics.per_joint import PerJoint

if TYPE_CHECKING:
    from concurrent.futures import Executor


class Report(Analysis):
    """The result of `check`, in words where it is printed."""

    def __str__(self) -> str:
        """The report as text."""
        from regularize.render.text import render  # rich is loaded where something is written

        return render(self)

    def _repr_html_(self) -> str:
        """For notebooks: the verdict and the findings as a small table, and the page below it."""
        from regularize.model.named_columns import table_html
        from regularize.render.html import frame
        from regularize.render.view import headline, verdict

        name, counts = headline(self)
        found = {f"{d.severity} {d.code}": d.message for d in self.diagnostics}
        table = table_html(f"{name}: {counts}", {"verdict": verdict(self)[1], **found})
        return table + frame(self)


def check(
    mechanism: Mechanism,
    *,
    rtol: float = subalgebra.RTOL,
    near: float = SLIGHT,
    length_scale: float | None = None,
    keep_cuts: bool = False,
    configurations: int = CONFIGURATIONS,
    seed: int = 0,
    branch: int | None = None,
    tolerance: PerJoint | Iterable[PerJoint] | None = None,
    stiffness: PerJoint | Iterable[PerJoint] | None = None,
    progress: Callable[[float], None] | None = None,
) -> Report:
    """Analyse the loops of a mechanism and say what was found.

    Args:
        mechanism: From ``load``.
        rtol: Tolerance of ranks and geometric relations; see ``reduce``.
        near: Tolerance within which a loop is called nearly special; radians, and distances
            relative to the size of its part.
        length_scale: Size in metres to divide lengths by; by default each part's own.
        keep_cuts: Close every loop where the file itself closes it.
        configurations: Number of configurations for the certificate.
        seed: Seed of all random choices.
        branch: Which of the components that meet at the assembled pose to look at, by its place in
            ``mobility.components``, the first being 1; a configuration on it takes the place of
            the pose.
        tolerance: Of the joints, for the misfit in redundant directions; see ``misfit``.
        stiffness: Of the joints, for the forces that it causes; see ``misfit``.
        progress: Called now and then with the fraction done.

    Raises:
        ModelError: There is no such component; a tolerance or stiffness is no positive number.
    """
    began = time.perf_counter()
    reduction = reduce(
        mechanism if branch is None else on_branch(mechanism, branch),
        rtol=rtol,
        length_scale=length_scale,
        keep_cuts=keep_cuts,
        configurations=configurations,
        seed=seed,
        progress=portion(progress, 0.0, 0.7),
    )
    return Report.of(reduction, near=near, began=began, tolerance=tolerance, stiffness=stiffness)


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
    from regularize.files import load  # adapters are needed where files are read

    try:
        mechanism = source if isinstance(source, Mechanism) else load(source)
        report: Report = opened("check", check)(mechanism, **options)
        return report
    except RegularizeError as error:
        return error
