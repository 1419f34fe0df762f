"""Many models at once: checked in parallel processes, one outcome each."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import TypeVar

#: Libraries for linear algebra that would start threads of their own in every process.
THREADS = ("OPENBLAS_NUM_THREADS", "OMP_NUM_THREADS", "MKL_NUM_THREADS")

Outcome = TypeVar("Outcome")


def in_parallel(
    work: Callable[[str], Outcome],
    failed: Callable[[str, str], Outcome],
    paths: Sequence[str],
    jobs: int | None = None,
) -> Iterator[tuple[int, Outcome]]:
    """Apply a function to every path and yield index and outcome in the order of completion.

    Args:
        work: Function of a path that can be sent to another process and does not raise for models
            that cannot be read.
        failed: Makes an outcome of a path and a reason where a process died.
        paths: The models.
        jobs: Number of processes; by default one per processor, but no more than one for every
            two models, since to start it takes longer than one model.
    """
    jobs = jobs or min(len(paths) // 2, os.cpu_count() or 1)
    if jobs <= 1:
        for i, path in enumerate(paths):
            yield i, work(path)
        return
    with _environment(dict.fromkeys(THREADS, "1")):
        lost: dict[int, str] = {}
        yield from _in_pool(work, dict(enumerate(paths)), jobs, lost)
        # A parser that crashes takes its pool along: which it was shows when each has its own.
        for i, path in sorted(lost.items()):
            crashed: dict[int, str] = {}
            yield from _in_pool(work, {i: path}, 1, crashed)
            if crashed:
                yield i, failed(path, "the parser crashed on this file")


def _in_pool(
    work: Callable[[str], Outcome], paths: Mapping[int, str], jobs: int, lost: dict[int, str]
) -> Iterator[tuple[int, Outcome]]:
    """Outcomes in the order of completion; what a broken pool leaves undone goes to ``lost``."""
    from concurrent.futures import as_completed  # one model needs no other processes
    from concurrent.futures.process import BrokenProcessPool

    from regularize.worker_processes import WorkerProcesses

    with WorkerProcesses(jobs) as pool:
        running = {pool.submit(work, path): i for i, path in paths.items()}
        for future in as_completed(running):
            i = running[future]
            try:
                outcome = future.result()
            except BrokenProcessPool:
                lost[i] = paths[i]
                continue
            yield i, outcome


@contextmanager
def _environment(values: Mapping[str, str]) -> Iterator[None]:
    """Environment variables for the processes that are started meanwhile."""
    before = {name: os.environ.get(name) for name in values}
    for name, value in values.items():
        os.environ.setdefault(name, value)
    try:
        yield
    finally:
        for name, old in before.items():
            if old is None:
                os.environ.pop(name, None)
