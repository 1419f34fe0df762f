"""Samples of the reduced model, each computed once, on any executor."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from concurrent.futures import Executor
from contextlib import AbstractContextManager, nullcontext
from typing import Any

import numpy as np

from regularize.lie.screw import Array
from regularize.metamodels.tree import Integers

#: Samples per task of an executor.
TASK = 128

Sampler = Callable[[Array], Array]


class Samples:
    """Coefficients at points that are addressed by whole numbers.

    Args:
        sampler: Rows of coefficients at inputs (N, s), NaN outside the workspace; it has to be
            picklable where the executor's workers are processes.
        place: Inputs at points in whole numbers.
        width: Number of coefficients.
        executor: Where to compute, or None for here.
        progress: Whether to show on standard error how far sampling is.
    """

    def __init__(
        self,
        sampler: Sampler,
        place: Callable[[Integers], Array],
        width: int,
        *,
        executor: Executor | None = None,
        progress: bool = False,
    ) -> None:
        """Start without samples."""
        self.sampler, self.place, self.executor, self.progress = sampler, place, executor, progress
        self.values = np.zeros((0, width))
        self._index: dict[bytes, int] = {}

    def __len__(self) -> int:
        """Number of samples computed for boxes."""
        return len(self.values)

    def at(self, points: Integers) -> Array:
        """Coefficients at points of shape (..., s), shape (..., t); new ones are computed."""
        flat = np.ascontiguousarray(points.reshape(-1, points.shape[-1]))
        keys = [row.tobytes() for row in flat]
        new: dict[bytes, int] = {}
        for i, key in enumerate(keys):
            if key not in self._index and key not in new:
                new[key] = i
        if new:
            start = len(self.values)
            computed = self.compute(self.place(flat[list(new.values())]))
            self.values = np.vstack([self.values, computed])
            self._index.update({key: start + i for i, key in enumerate(new)})
        rows = [self._index[key] for key in keys]
        return self.values[rows].reshape(*points.shape[:-1], -1)

    def compute(self, theta: Array) -> Array:
        """Coefficients at inputs (N, s), in parallel if there is an executor, shape (N, t)."""
        tasks = [theta[i : i + TASK] for i in range(0, len(theta), TASK)]
        results: Iterable[Array] = (
            map(self.sampler, tasks)
            if self.executor is None
            else self.executor.map(self.sampler, tasks)
        )
        parts = []
        with self._bar(len(theta)) as bar:
            for part in results:
                parts.append(np.asarray(part))
                if bar is not None:
                    bar.update(bar.task_ids[0], advance=len(part))
        return np.concatenate(parts)

    def _bar(self, total: int) -> AbstractContextManager[Any]:
        if not self.progress:
            return nullcontext(None)
        from rich.console import Console
        from rich.progress import Progress

        bar = Progress(console=Console(stderr=True), transient=True)
        bar.add_task(f"samples {len(self)} + {total}", total=total)
        return bar
