"""Find, explain and remove redundant loop constraints of closed kinematic chains.

The functions below are loaded when they are first used, so that importing the package is quick.

Example:
    >>> import regularize as rg
    >>> mechanism = rg.load("robot.urdf")       # doctest: +SKIP
    >>> print(rg.check(mechanism))              # doctest: +SKIP
    >>> robot = rg.to_pinocchio(rg.reduce(mechanism))  # doctest: +SKIP
"""

from __future__ import annotations

import importlib
import os
import sys
from types import ModuleType
from typing import Any

from regularize.errors import MissingPinocchio as MissingPinocchio
from regularize.escape import did_you_mean
from regularize.services import absent
from regularize.version import __version__ as __version__

#: Public names by the module that they are loaded from when they are first asked for, and by topic,
#: as in ``rg.design.sweep``; without the topic these are deprecated.
with open(os.path.join(os.path.dirname(__file__), "names.csv"), encoding="utf-8") as _file:
    _ROWS = [line.split(",") for line in _file.read().splitlines()[1:]]
_TOPICS: dict[str, list[str]] = {}
for _, _name, _names in _ROWS:
    _TOPICS.setdefault(_name, []).extend(_names.split())
#: What has gone, and what does the same.
_REPLACED = {"Path": "simulate", "path": "simulate"}

_ABSENT = absent()  # guests may have been left out
_HOME = {
    name: home
    for home, _, names in _ROWS
    if home.removeprefix("guests.").partition(".")[0] not in _ABSENT
    for name in names.split()
}

__all__ = sorted([*_HOME, "__version__"])


def __getattr__(name: str) -> Any:
    """Load a public name from its module, or a topic, when it is first asked for."""
    if name not in _HOME:
        if name.startswith("__"):
            raise AttributeError(f"module 'regularize' has no attribute {name!r}")
        known = did_you_mean(name, sorted(_HOME))
        if name in _REPLACED:
            known = f": use `rg.{_REPLACED[name]}`"
        raise AttributeError(f"module 'regularize' has no attribute {name!r}{known}")
    try:
        value = getattr(importlib.import_module(f"regularize.{_HOME[name]}"), name)
    except ModuleNotFoundError as error:
        if error.name != "pinocchio":
            raise
        raise MissingPinocchio(f"`regularize.{name}`") from error
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    """Public names that people begin with, and topics; `__all__` has every name."""
    rest = {name for topic, names in _TOPICS.items() if topic for name in names}
    return sorted({*__all__, *_TOPICS} - {"", *rest})


design: ModuleType
groups: ModuleType
study: ModuleType
for _name in ("design", "groups", "study"):
    _topic: Any = ModuleType(f"regularize.{_name}", f"Names of ``regularize`` on {_name}.")
    _topic.__all__ = [name for name in _TOPICS[_name] if name in _HOME]
    _topic.__getattr__, _topic.__dir__ = __getattr__, _topic.__all__.copy
    globals()[_name] = sys.modules[_topic.__name__] = _topic
