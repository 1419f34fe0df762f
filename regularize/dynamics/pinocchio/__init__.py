"""Pinocchio itself, loaded when something of it is first used; trees and rows do without it."""

from __future__ import annotations

import importlib
from typing import Any

from regularize.errors import MissingPinocchio


class Deferred:
    """A module that is imported at the first look into it."""

    def __init__(self, name: str) -> None:
        self._name = name

    def __getattr__(self, attribute: str) -> Any:
        """Return an attribute of the module, remembered here."""
        if attribute.startswith("__"):
            raise AttributeError(attribute)
        try:
            value = getattr(importlib.import_module(self._name), attribute)
        except ModuleNotFoundError as error:
            if error.name != self._name:
                raise
            raise MissingPinocchio("this computation") from error
        setattr(self, attribute, value)
        return value


pin: Any = Deferred("pinocchio")
