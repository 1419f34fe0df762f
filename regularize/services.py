"""Guests: packages that the rest of the house can do without; nothing imports their modules.

A guest may be deleted: what it offers is then missing, and everything else works. It is asked for
by the name of a module, or of a service: one of those below, or an entry point in the group
``regularize.guests`` of another distribution (``name = "module:function"``).
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import suppress
from functools import cache
from importlib import import_module
from importlib.util import find_spec
from typing import Any

from regularize.errors import RegularizeError

#: Who offers a service of our own: what takes models from files, and what formulas know of loops.
SERVICES = {
    "load": "files:load",
    "assembly candidates": "guests.modes.sampling:nearest_modes",
    "spread configurations": "guests.modes.sampling:spread_configurations",
}


def absent() -> set[str]:
    """Our own guests with public names that are not installed."""
    names = ("actuation", "contact", "design", "modes", "page")
    specs = {name: find_spec(f"regularize.guests.{name}") for name in names}
    missing = {name for name, spec in specs.items() if spec is None or spec.origin is None}
    return missing | ({"actuation"} if "modes" in missing else set())  # it is made of closed forms


def guest(module: str) -> Any:
    """A module of a guest, such as ``page.html``."""
    return _loaded(f"guests.{module}")


def _loaded(module: str) -> Any:
    """A module of ours by its name below ``regularize``; raises where its guest is missing."""
    try:
        return import_module(f"regularize.{module}")
    except ModuleNotFoundError as error:
        name = ".".join(f"regularize.{module}".split(".")[:3])
        if not f"{error.name}.".startswith(f"{name}."):
            raise
        raise RegularizeError(
            f"this takes {name}, which is not installed; `pip install pin-regularize` brings it"
        ) from error


def present(*modules: str) -> Iterator[Any]:
    """Those modules of guests that are there."""
    for module in modules:
        with suppress(RegularizeError):
            yield guest(module)


@cache
def service(name: str) -> Callable[..., Any] | None:
    """The function that offers a service; None where its guest is not installed."""
    module, _, function = SERVICES.get(name, "").partition(":")
    if module:
        try:
            return getattr(_loaded(module), function)  # type: ignore[no-any-return]
        except RegularizeError:
            return None
    from importlib.metadata import entry_points  # for services that are not ours

    offered = entry_points(group="regularize.guests", name=name)
    return next((entry.load() for entry in offered), None)
