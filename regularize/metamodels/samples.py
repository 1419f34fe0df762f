"""Samples of the reduced model, each computed once, on any executor; and checks by them."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from concurrent.futures import Executor
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass
from typing import Any, TypeVar

import numpy as np

from regularize.lie.screw import Array
from regularize.metamodels.fit import Scale, scale_of
from regularize.metamodels.interpolation import Accuracy, Interpolation
from regularize.metamodels.tree import GRID, Integers, between

#: Samples per task of an executor: long against sending it, short against all of them.
TASK = 128
#: Random points are drawn this much beyond the bounds and then moved onto them, for errors are
#: largest on faces and edges, and few points would lie there by chance.
BEYOND = 1.1

Sampler = Callable[[Array], Array]
Kind = TypeVar("Kind", bound=Interpolation)


@dataclass(frozen=True, eq=False)
class Settings:
    """What a metamodel is to be; see ``metamodel`` for the meaning of the attributes.

    Where only the size of the boxes counts, the tolerance is infinite; the sampler gives rows of
    coefficients at inputs (N, s), NaN outside the workspace, and can be pickled where the
    executor's workers are processes.
    """

    sampler: Sampler
    inputs: tuple[str, ...]
    coefficients: int
    lower: Array
    upper: Array
    tolerance: float
    size: Array
    smallest: float
    max_samples: int
    held_out: int
    seed: int
    executor: Executor | None
    progress: bool

    def random_points(self, rng: np.random.Generator) -> Array:
        """Inputs spread evenly over the bounds, some of them on faces and edges, (held_out, s)."""
        spread = rng.uniform(-BEYOND, BEYOND, size=(self.held_out, len(self.inputs)))
        return between(self.lower, self.upper, 0.5 + 0.5 * np.clip(spread, -1.0, 1.0))


class Samples:
    """Coefficients at points that are addressed by whole numbers.

    Args:
        settings: What is sampled, where, and by whom.
    """

    def __init__(self, settings: Settings) -> None:
        """Start without samples."""
        self.settings = settings
        self.values = np.zeros((0, settings.coefficients))
        self._index: dict[bytes, int] = {}
        self._rng = np.random.default_rng(settings.seed)

    def __len__(self) -> int:
        """Number of samples computed for boxes."""
        return len(self.values)

    @property
    def known(self) -> Array:
        """Those inside the workspace, shape (N, t)."""
        return self.values[np.isfinite(self.values[:, 0])]

    @property
    def scale(self) -> Scale:
        """Sizes that errors are relative to."""
        span = float(np.max(self.settings.upper - self.settings.lower))
        return scale_of(self.known, len(self.settings.inputs), span)

    def about(self) -> dict[str, Any]:
        """What a metamodel made of these samples says about itself before it is checked."""
        return {
            "inputs": self.settings.inputs,
            "lower": self.settings.lower,
            "upper": self.settings.upper,
            "samples": len(self.known),
            "scale": self.scale,
            "accuracy": Accuracy(0, 0.0, {}, {}),
            "findings": (),
        }

    def checked(self, model: Kind) -> tuple[Kind, Array, Array]:
        """The metamodel with its accuracy at fresh random points.

        Returns:
            The metamodel; the points, shape (N, s); the relative errors there, shape (N, 3).
        """
        theta = self.settings.random_points(self._rng)
        truth = self.compute(theta)
        errors = model.relative_errors(theta, truth)
        return model.checked(theta, errors, truth, self.settings.tolerance), theta, errors

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
            fraction = flat[list(new.values())] / GRID
            computed = self.compute(between(self.settings.lower, self.settings.upper, fraction))
            self.values = np.vstack([self.values, computed])
            self._index.update({key: start + i for i, key in enumerate(new)})
        rows = [self._index[key] for key in keys]
        return self.values[rows].reshape(*points.shape[:-1], -1)

    def compute(self, theta: Array) -> Array:
        """Coefficients at inputs (N, s), in parallel if there is an executor, shape (N, t)."""
        tasks = [theta[i : i + TASK] for i in range(0, len(theta), TASK)]
        sampler, executor = self.settings.sampler, self.settings.executor
        results: Iterable[Array] = (
            map(sampler, tasks) if executor is None else executor.map(sampler, tasks)
        )
        parts = []
        with self._bar(len(theta)) as bar:
            for part in results:
                parts.append(np.asarray(part))
                if bar is not None:
                    bar.update(bar.task_ids[0], advance=len(part))
        return np.concatenate(parts)

    def _bar(self, total: int) -> AbstractContextManager[Any]:
        if not self.settings.progress:
            return nullcontext(None)
        from rich.console import Console
        from rich.progress import Progress

        bar = Progress(console=Console(stderr=True), transient=True)
        bar.add_task(f"samples {len(self)} + {total}", total=total)
        return bar
