"""Processes that share work, and end when the one that started them is interrupted."""

from __future__ import annotations

import signal
from collections.abc import Callable, Iterator
from concurrent.futures import Future, ProcessPoolExecutor
from contextlib import contextmanager
from multiprocessing import active_children
from multiprocessing.context import BaseContext
from types import TracebackType
from typing import Any, Literal, ParamSpec, TypeVar

P = ParamSpec("P")
T = TypeVar("T")


class WorkerProcesses(ProcessPoolExecutor):
    """A pool that leaves interrupts to the process that made it, and drops what is left to do."""

    def __init__(self, count: int, mp_context: BaseContext | None = None) -> None:
        """Take so many processes, started as a context of ``multiprocessing`` says."""
        super().__init__(count, mp_context=mp_context, initializer=_hear_the_pool)
        self._started: set[Any] = set()

    def submit(self, fn: Callable[P, T], /, *args: P.args, **kwargs: P.kwargs) -> Future[T]:
        """Have a function called in one of the processes, which is started here if need be."""
        with _signals_held():
            before = {*active_children()}
            future = super().submit(fn, *args, **kwargs)
            self._started |= {*active_children()} - before
        return future

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> Literal[False]:
        """Wait for what is running; after an exception, end it."""
        if kind is not None:
            for process in self._started:
                process.kill()  # it may have been started this moment and hear nothing else
        self.shutdown(wait=True, cancel_futures=kind is not None)
        return False


def _hear_the_pool() -> None:
    """Let a process be ended by its pool, which asks the others to where one has died."""
    if hasattr(signal, "pthread_sigmask"):
        signal.signal(signal.SIGTERM, signal.SIG_DFL)
        signal.pthread_sigmask(signal.SIG_UNBLOCK, {signal.SIGTERM})


@contextmanager
def _signals_held() -> Iterator[None]:
    """Requests to end come later here, and interrupts never to processes started meanwhile.

    A terminal sends them to all processes at once, and each would show where it was.
    """
    if not hasattr(signal, "pthread_sigmask"):
        yield
        return
    before = signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGINT, signal.SIGTERM})
    try:
        yield
    finally:
        signal.pthread_sigmask(signal.SIG_SETMASK, before)
