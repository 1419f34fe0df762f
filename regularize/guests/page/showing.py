"""`show`: the page of a model where it is asked for, in a notebook or as a file."""

from __future__ import annotations

from dataclasses import dataclass
from os import PathLike
from pathlib import Path

from regularize.adapters.common.output_files import write_bytes
from regularize.checking import check
from regularize.dynamics.simulation.simulation import Simulation
from regularize.guests.page.animation import PlayedMotion
from regularize.guests.page.html import frame
from regularize.guests.page.picture import content
from regularize.mechanism.source import Model, as_mechanism
from regularize.report.report import Report
from regularize.validation import PATH, POSITIVE, validated


@dataclass(frozen=True, eq=False, repr=False)
class ShownPage:
    """The page of a model: notebooks display it, and it can be saved.

    Attributes:
        report: What it shows.
        motion: The motion that it plays, or None.
        height: Of its frame in a notebook, pixels.
    """

    report: Report
    motion: PlayedMotion | None
    height: float

    def __repr__(self) -> str:
        """One line."""
        return f"<Page of {self.report.mechanism.name[:80]!r}: notebooks show it; .save(path)>"

    def _repr_html_(self) -> str:
        """The page in a frame, with nothing from elsewhere."""
        return frame(self.report, height=round(self.height), trajectory=self.motion)

    @validated(path=PATH)
    def save(self, path: str | PathLike[str]) -> Path:
        """Write the page, or a picture: ``.html``, ``.glb``, ``.svg`` or ``.png``."""
        place = Path(path)
        write_bytes(place, content(self.report, place.suffix.lower(), 3, True, self.motion))
        return place


@validated(height=POSITIVE)
def show(model: Model, *, motion: Simulation | None = None, height: float = 720) -> ShownPage:
    """Show a model: its picture, a slider for each freedom, and the report.

    In a notebook the page is displayed where ``show`` is the last line of a cell.

    Example:
        >>> rg.show("robot.urdf").save("robot.html")  # doctest: +SKIP

    Args:
        model: A file, a mechanism, what was made of one, or an object that ``load`` takes.
        motion: A simulation of that model to be played.
        height: Of the page in a notebook, pixels.
    """
    if motion is not None and not isinstance(motion, Simulation):
        raise TypeError(f"show: motion is a Simulation; got {motion!r:.60}")
    known = model if isinstance(model, Report) else getattr(model, "report", None)
    report = known if isinstance(known, Report) else check(as_mechanism(model))
    return ShownPage(report, None if motion is None else PlayedMotion.of(motion), height)
