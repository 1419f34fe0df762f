"""A bar on standard error for work that takes longer than two seconds."""

from __future__ import annotations

import sys
import threading
from types import TracebackType
from typing import Any


class LateBar:
    """How far some work is; shown at a terminal alone, and only where it takes long.

    Args:
        words: What is done.
    """

    def __init__(self, words: str) -> None:
        """Show nothing yet."""
        self._words, self._done = words, 0.0
        self._progress: Any = None
        self._timer = threading.Timer(2.0, self._show)
        self._timer.daemon = True

    def __enter__(self) -> LateBar:
        """Begin to wait."""
        if sys.stderr.isatty():
            self._timer.start()
        return self

    def __call__(self, fraction: float) -> None:
        """Move on to a fraction of all."""
        self._done = fraction
        if self._progress is not None:
            self._progress.update(0, completed=fraction)

    def _show(self) -> None:
        from rich.console import Console  # loaded where it is needed
        from rich.progress import BarColumn, Progress, TaskProgressColumn, TextColumn

        columns = (TextColumn("{task.description}"), BarColumn(), TaskProgressColumn())
        progress = Progress(*columns, console=Console(stderr=True), transient=True)
        progress.update(progress.add_task(self._words, total=1.0), completed=self._done)
        progress.start()
        self._progress = progress

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        """Take the bar away."""
        self._timer.cancel()
        if self._timer.is_alive():
            self._timer.join()
        if self._progress is not None:
            self._progress.stop()
