"""The thread in which texts are analysed one by one, and which leaves a text for a newer one.

An analysis has no places where it could be asked to stop, and a process of its own, which could be
killed, would not be warm: so it is interrupted as Ctrl-C interrupts a program.
"""

from __future__ import annotations

import asyncio
import ctypes
import threading
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from typing import TypeVar

T = TypeVar("T")


class Superseded(BaseException):
    """What is computed is not wanted any more; raised in the worker's thread, wherever it is."""


class Worker:
    """One thread, and what it is at."""

    def __init__(self) -> None:
        self._thread = ThreadPoolExecutor(1)
        self._lock = threading.Lock()
        self._at: object = None
        self._ident = 0

    async def run(self, of: object, function: Callable[[], T]) -> T | None:
        """Call a function in its turn; None where ``leave`` has ended it.

        Args:
            of: What it is computed for.
            function: What is called.
        """
        loop = asyncio.get_running_loop()
        return await loop.run_in_executor(self._thread, self._turn, of, function)

    def afterwards(self, function: Callable[[], object]) -> None:
        """Call a function once all that waits is done."""
        self._thread.submit(function)

    def leave(self, of: object) -> None:
        """End what is computed for something at this moment."""
        with self._lock:
            if self._at is of:
                self._at = None  # once is enough
                self._raise(Superseded)

    def _turn(self, of: object, function: Callable[[], T]) -> T | None:
        self._ident = threading.get_ident()
        result: T | None = None
        failed: Exception | None = None
        begun = False
        while True:  # what was raised may arrive anywhere here
            try:
                if not begun:
                    begun = True
                    with self._lock:
                        self._at = of
                    try:
                        result = function()
                    except Exception as error:
                        failed = error
                with self._lock:
                    self._at = None
                self._raise(None)  # nothing arrives behind this
                break
            except Superseded:
                result = failed = None
        if failed is not None:
            raise failed
        return result

    def _raise(self, what: type[BaseException] | None) -> None:
        raised = None if what is None else ctypes.py_object(what)
        ctypes.pythonapi.PyThreadState_SetAsyncExc(ctypes.c_ulong(self._ident), raised)
