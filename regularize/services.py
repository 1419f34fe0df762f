"""Parts that are looked up at run time: the reader of models, and guests, which may be deleted.

Each is asked for by a module's name or a service: one below, or an entry point of another
distribution in the group ``regularize.guests`` (``name = "module:function"``).
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import suppress
from functools import cache
from importlib import import_module
from importlib.util import find_spec
from typing import Any

from regularize.errors import RegularizeError

#: Services of our own guests: what formulas know of loops.
SERVICES = {
    "assembly candidates": "modes.sampling:nearest_modes",
    "spread configurations": "modes.sampling:spread_configurations",
}


def loader() -> Callable[..., Any]:
    """Return ``regularize.files.load``; lower packages must not import it."""
    return import_module("regularize.files").load  # type: ignore[no-any-return]


def absent() -> set[str]:
    """Return the names of our own guests that are deleted and had public names."""
    names = ("actuation", "contact", "design", "modes", "page")
    specs = {name: find_spec(f"regularize.guests.{name}") for name in names}
    missing = {name for name, spec in specs.items() if spec is None or spec.origin is None}
    return missing | ({"actuation", "design"} if "modes" in missing else set())  # made of its forms


def guest(module: str) -> Any:
    """Import a module of a guest, such as ``page.html``; raise where that is not installed."""
    name = f"regularize.guests.{module}"
    try:
        return import_module(name)
    except ModuleNotFoundError as error:
        package = ".".join(name.split(".")[:3])
        if not f"{error.name}.".startswith(f"{package}."):
            raise
        raise RegularizeError(
            f"this takes {package}, which is not installed; `pip install pin-regularize` brings it"
        ) from error


def present(*modules: str) -> Iterator[Any]:
    """Generate those modules of guests that are installed."""
    for module in modules:
        with suppress(RegularizeError):
            yield guest(module)


@cache
def service(name: str) -> Callable[..., Any] | None:
    """Return the function that offers a service; None where its guest is not installed."""
    module, _, function = SERVICES.get(name, "").partition(":")
    if module:
        return next((getattr(found, function) for found in present(module)), None)
    from importlib.metadata import entry_points  # for services that are not ours

    offered = entry_points(group="regularize.guests", name=name)
    return next((entry.load() for entry in offered), None)
