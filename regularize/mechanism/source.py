"""What public functions take for a mechanism: the mechanism, a file, or anything that has one."""

from __future__ import annotations

from collections.abc import Iterable
from os import PathLike
from typing import Any, TypeAlias

from regularize.errors import NotTaken
from regularize.mechanism.graph import Graph
from regularize.mechanism.graph_building import build
from regularize.mechanism.mechanism import Mechanism
from regularize.services import loader

#: A mechanism, or what was made of one and has it as ``mechanism``: a reduction, a report, a robot.
#: A path is read, with the reader that its content asks for, and so are objects of other libraries.
Model: TypeAlias = str | PathLike[str] | bytes | Mechanism | Any


def as_mechanism(model: Model, format: str | None = None) -> Mechanism:
    """Return a mechanism, what something was made of, or what a file or object is read as.

    Raises ``ReadError`` where it cannot be read, ``NotTaken`` where it is nothing of the kind.
    """
    mechanism = model if isinstance(model, Mechanism) else getattr(model, "mechanism", None)
    if isinstance(mechanism, Mechanism):
        return mechanism
    read: Mechanism = loader()(model, format=format)
    return read


def as_graph(model: Model | Graph, format: str | None = None) -> Graph:
    """Return the graph of what `as_mechanism` takes."""
    return model if isinstance(model, Graph) else build(as_mechanism(model, format))


def not_taken(model: Any, objects: Iterable[str] = ()) -> NotTaken:
    """Return the error about what is no model; ``objects`` describes others that would be taken."""
    known = "; ".join(["a model is a path, a Mechanism, or what was made of one", *objects])
    return NotTaken(f"{known}; got an object of type {type(model).__name__!r}")
