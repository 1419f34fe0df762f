"""How far a search is, on standard error."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager


@contextmanager
def bar(shown: bool, total: int, unit: str) -> Iterator[Callable[[float], None]]:
    """A function that moves the bar on by some units; it does nothing where none is shown."""
    if not shown:
        yield lambda amount: None
        return
    from rich.console import Console
    from rich.progress import Progress

    with Progress(console=Console(stderr=True), transient=True) as progress:
        task = progress.add_task(unit, total=total)
        yield lambda amount: progress.advance(task, amount)
