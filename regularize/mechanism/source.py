"""What public functions take for a mechanism: the mechanism, a file, or anything that has one."""

from __future__ import annotations

from os import PathLike
from typing import Any, Protocol, TypeAlias

from regularize import guests
from regularize.mechanism.graph import Graph
from regularize.mechanism.graph_building import build
from regularize.mechanism.mechanism import Mechanism


class HasMechanism(Protocol):
    """A reduction, a report, a robot: whatever was made of a mechanism and knows it."""

    @property
    def mechanism(self) -> Mechanism:
        """The mechanism."""
        ...


#: A path is read, with the reader that its content asks for.
Model: TypeAlias = str | PathLike[str] | Mechanism | HasMechanism


def as_mechanism(model: Model) -> Mechanism:
    """The mechanism that a function computes with, from what its caller has.

    Raises:
        ReadError: A file cannot be read.
        TypeError: It is neither a path nor anything that has a mechanism.
    """
    if isinstance(model, Mechanism):
        return model
    if isinstance(model, (str, PathLike)):
        load = guests.service("load")
        if load is not None:
            read: Mechanism = load(model)
            return read
    mechanism = getattr(model, "mechanism", None)
    if not isinstance(mechanism, Mechanism):
        raise not_taken(model)
    return mechanism


def as_graph(model: Model | Graph) -> Graph:
    """The graph of such a mechanism; raises as `as_mechanism` does."""
    return model if isinstance(model, Graph) else build(as_mechanism(model))


def not_taken(model: Any) -> TypeError:
    """The error about what is no model."""
    kind = type(model).__name__
    return TypeError(f"a model is a path, a Mechanism, or what was made of one; got {kind}")
