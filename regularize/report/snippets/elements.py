"""Pieces of models, before they are written in a dialect."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import TypeAlias


@dataclass(frozen=True)
class JointPiece:
    """A joint, of the tree or closing a loop.

    Attributes:
        name: Name of the joint.
        kind: As of ``Joint.kind``.
        parent: One body.
        child: The other body.
        axis: Its axis.
        at: Its place on the parent body, metres.
        loop: Whether it closes a loop.
        attributes: Further values by name: ``limit``, and ``turned`` (of the frame on the child,
            about X, Y, Z).
    """

    name: str
    kind: str
    parent: str
    child: str
    axis: str = "0 1 0"
    at: str = "0 0 0"
    loop: bool = False
    attributes: Mapping[str, str] = field(default_factory=dict)


@dataclass(frozen=True)
class BodyPiece:
    """A body with its mass in kg and one number for its inertia in kg m², or without."""

    name: str
    mass: str | None = None
    inertia: str = "0.001"
    shape: str | None = None


@dataclass(frozen=True)
class Command:
    """A line for the terminal."""

    line: str


@dataclass(frozen=True)
class Python:
    """Lines of Python."""

    lines: str


@dataclass(frozen=True)
class DialectText:
    """Text that belongs to one dialect, by its name."""

    texts: Mapping[str, str]


Piece: TypeAlias = JointPiece | BodyPiece | Command | Python | DialectText


@dataclass(frozen=True)
class Snippet:
    """What is bad and what is better.

    Attributes:
        bad: Pieces that give the finding.
        good: The same without it.
    """

    bad: tuple[Piece, ...]
    good: tuple[Piece, ...]


def closing(
    kind: str, at: str = "0.3 0 0", *, axis: str = "0 1 0", **attributes: str
) -> JointPiece:
    """The closing joint ``D`` between the rocker and the base."""
    return JointPiece("D", kind, "rocker", "base", axis, at, True, attributes)


def hinge(name: str, parent: str, child: str, axis: str = "0 1 0", **attributes: str) -> JointPiece:
    """A hinge of the tree."""
    return JointPiece(name, "revolute", parent, child, axis, attributes=attributes)


def pair(bad: Piece | tuple[Piece, ...], good: Piece | tuple[Piece, ...]) -> Snippet:
    """A snippet of single pieces or several."""
    return Snippet(*(each if isinstance(each, tuple) else (each,) for each in (bad, good)))


def shell(bad: str, good: str) -> Snippet:
    """A snippet of two lines for the terminal."""
    return pair(Command(bad), Command(good))


def python(bad: str, good: str) -> Snippet:
    """A snippet of Python."""
    return pair(Python(bad), Python(good))
