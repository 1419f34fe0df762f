"""Packages that tests need when they run: collecting the tests imports none of them."""

from __future__ import annotations

from importlib import import_module
from importlib.util import find_spec
from typing import Any

import pytest


def needs(*packages: str) -> pytest.MarkDecorator:
    """Skips where one of the packages is not installed."""
    absent = [name for name in packages if find_spec(name) is None]
    return pytest.mark.skipif(bool(absent), reason=f"without {', '.join(absent)}")


class OnDemand:
    """A module that is imported when something is first asked of it."""

    def __init__(self, name: str) -> None:
        self._name = name

    def __getattr__(self, name: str) -> Any:
        if name.startswith("_"):  # whoever collects tests asks every object for such names
            raise AttributeError(name)
        return getattr(import_module(self._name), name)
