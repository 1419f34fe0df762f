"""Processes that share work and end with the one that started them, or try what may end one."""

from __future__ import annotations

import os
import signal
import sys
import warnings
from collections.abc import Callable, Iterator
from concurrent.futures import Future, ProcessPoolExecutor
from contextlib import contextmanager, suppress
from multiprocessing import active_children
from multiprocessing.context import BaseContext
from typing import Any, Literal, ParamSpec, TypeVar

P = ParamSpec("P")
T = TypeVar("T")
#: CPU seconds that a trial may take, if nothing else is said.
SECONDS = 5


class WorkerProcesses(ProcessPoolExecutor):
    """A pool of processes that interrupts do not reach and that drops pending work on errors."""

    def __init__(self, count: int, mp_context: BaseContext | None = None) -> None:
        """Take so many processes, started as a context of ``multiprocessing`` says."""
        super().__init__(count, mp_context=mp_context, initializer=_hear_the_pool)
        self._started: set[Any] = set()

    def submit(self, fn: Callable[P, T], /, *args: P.args, **kwargs: P.kwargs) -> Future[T]:
        """Run a function in one of the processes, which is started here if need be."""
        with _signals_held():
            before = {*active_children()}
            future = super().submit(fn, *args, **kwargs)
            self._started |= {*active_children()} - before
        return future

    def __exit__(self, kind: type[BaseException] | None, *_: object) -> Literal[False]:
        """Wait for running calls; after an exception, kill the processes."""
        if kind is not None:
            for process in self._started:
                process.kill()  # it may have been started this moment and hear nothing else
        self.shutdown(wait=True, cancel_futures=kind is not None)
        return False


def _hear_the_pool() -> None:
    """Let SIGTERM end this process, as the pool sends it where another process has died."""
    if hasattr(signal, "pthread_sigmask"):
        signal.signal(signal.SIGTERM, signal.SIG_DFL)
        signal.pthread_sigmask(signal.SIG_UNBLOCK, {signal.SIGTERM})


@contextmanager
def _signals_held() -> Iterator[None]:
    """Hold requests to end back here, and keep interrupts from processes started meanwhile."""
    # A terminal sends interrupts to all processes at once, and each would show where it was.
    if not hasattr(signal, "pthread_sigmask"):
        yield
        return
    before = signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGINT, signal.SIGTERM})
    try:
        yield
    finally:
        signal.pthread_sigmask(signal.SIG_SETMASK, before)


def survives(function: Callable[[], object], seconds: int = SECONDS) -> bool:
    """Return whether a forked copy of this process survives a call, exceptions included."""
    if sys.platform != "linux":  # elsewhere processes cannot be copied safely
        return True
    with warnings.catch_warnings():
        # Threads of the linear algebra library stay behind, and it is not called in the copy.
        warnings.simplefilter("ignore", DeprecationWarning)
        child = os.fork()
    if child == 0:
        try:
            _alone(seconds)
            with suppress(Exception):
                function()
        finally:
            os._exit(0)
    return os.waitpid(child, 0)[1] == 0


def _alone(seconds: int) -> None:
    """Silence this process and limit its CPU time and core dumps."""
    import faulthandler
    import resource

    faulthandler.disable()
    nowhere = os.open(os.devnull, os.O_WRONLY)
    for stream in (1, 2):
        os.dup2(nowhere, stream)
    for which, most in ((resource.RLIMIT_CPU, seconds), (resource.RLIMIT_CORE, 0)):
        hard = resource.getrlimit(which)[1]
        soft = most if hard == resource.RLIM_INFINITY else min(most, hard)
        resource.setrlimit(which, (soft, hard))
