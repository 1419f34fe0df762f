"""What public functions take for a mechanism: the mechanism, a file, or anything that has one."""

from __future__ import annotations

from collections.abc import Iterable
from os import PathLike
from typing import Any, Protocol, TypeAlias

from regularize import services
from regularize.errors import NotTaken
from regularize.mechanism.graph import Graph
from regularize.mechanism.graph_building import build
from regularize.mechanism.mechanism import Mechanism


class HasMechanism(Protocol):
    """A reduction, a report, a robot: whatever was made of a mechanism and knows it."""

    @property
    def mechanism(self) -> Mechanism:
        """The mechanism."""
        ...


#: A path is read, with the reader that its content asks for, and so are objects of other libraries.
Model: TypeAlias = str | PathLike[str] | bytes | Mechanism | HasMechanism | Any


def as_mechanism(model: Model, format: str | None = None) -> Mechanism:
    """The mechanism that a function computes with, from what its caller has."""
    mechanism = model if isinstance(model, Mechanism) else getattr(model, "mechanism", None)
    if isinstance(mechanism, Mechanism):
        return mechanism
    load = services.service("load")
    if load is None:
        raise not_taken(model)
    read: Mechanism = load(model, format=format)
    return read


def as_graph(model: Model | Graph, format: str | None = None) -> Graph:
    """The graph of such a mechanism; raises as `as_mechanism` does."""
    return model if isinstance(model, Graph) else build(as_mechanism(model, format))


def not_taken(model: Any, objects: Iterable[str] = ()) -> NotTaken:
    """The error about what is no model."""
    known = "; ".join(["a model is a path, a Mechanism, or what was made of one", *objects])
    return NotTaken(f"{known}; got an object of type {type(model).__name__!r}")
