"""Readers and writers of model formats, one folder per format, found through one registry.

To add a format, write a module with a function ``read(path, **options) -> Mechanism`` and add one
:class:`Adapter` to ``registry.FORMATS``. A package outside this one names its record as an entry
point of the group ``regularize.adapters``. Importing this package imports no parser.

What readers share lies in ``common``: values that know where they stand (``located``, ``values``,
``xml``), the model while it is being read (``draft``), joints between marked frames (``pairs``),
loops in words of several formats (``closures``), what every model passes (``validation``). What
writers share: ``write`` (elements, coordinates by name, losses, spanning trees) and ``serial``;
what patchers share: ``edits``, ``patching``, ``slack_links``.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from regularize.adapters.reading import detect as detect
    from regularize.adapters.reading import read as read
    from regularize.adapters.registry import Adapter as Adapter
    from regularize.adapters.registry import adapter_named as adapter_named
    from regularize.adapters.registry import adapters as adapters
    from regularize.adapters.sniffers import has_root as has_root
    from regularize.adapters.sniffers import root_tag as root_tag

__all__ = ["Adapter", "adapter_named", "adapters", "detect", "has_root", "read", "root_tag"]
#: Modules of these names, loaded when they are first asked for: the command line prints its version
#: without any.
_HOMES = {"detect": "reading", "read": "reading", "has_root": "sniffers", "root_tag": "sniffers"}


def __getattr__(name: str) -> Any:
    """Load a name from its module when it is first asked for."""
    if name not in __all__:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(import_module(f"{__name__}.{_HOMES.get(name, 'registry')}"), name)
