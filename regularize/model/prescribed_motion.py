"""Motions that a file prescribes for joints."""

from __future__ import annotations

from dataclasses import dataclass

from regularize.model.diagnostic import Source


@dataclass(frozen=True)
class PrescribedMotion:
    """A motion of a joint with one freedom over time; it is offered to simulations by its name.

    Attributes:
        name: Name in the user's model.
        joint: Name of the joint.
        expression: Its coordinate in rad or m, an arithmetic expression of the time t in seconds.
        source: Where it stands in the user's files.
    """

    name: str
    joint: str
    expression: str
    source: Source | None = None
