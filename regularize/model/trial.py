"""Trying in a copy of this process what may end a process: compiled code on damaged data."""

from __future__ import annotations

import os
import sys
import warnings
from collections.abc import Callable
from contextlib import suppress

#: CPU seconds that a trial may take, if nothing else is said.
SECONDS = 5


def survives(function: Callable[[], object], seconds: int = SECONDS) -> bool:
    """Whether a copy of this process that runs a function comes to its end, by an exception or not.

    Where processes cannot be copied safely (macOS, Windows), nothing is tried.

    Args:
        function: What is tried.
        seconds: CPU seconds that it may take.
    """
    if sys.platform != "linux":
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
    """Be silent, leave no core behind, and end in time."""
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
