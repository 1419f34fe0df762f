"""Readers and writers of model formats, one folder per format, found through one registry.

To add a format, write a module with a function ``read(path, **options) -> Mechanism`` and add one
entry to ``formats.json``. A package outside this one names its record as an entry
point of the group ``regularize.adapters``. Importing this package imports no parser.

What readers share lies in ``common``: values that know where they stand (``values``, ``xml``), the
model while it is being read (``draft``), joints between marked frames (``pairs``), loops in words
of several formats (``loops``), what every model passes (``validation``). What writers share:
``write`` (elements, coordinates by name, losses, spanning trees); what patchers share: ``edits``,
``patching``; what all three share: kinds of joints and joints in a row (``serial``).
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from regularize.adapters.reading import detect, read
    from regularize.adapters.registry import Adapter, adapter_named, adapters
    from regularize.adapters.sniffers import has_root, root_tag

__all__ = ["Adapter", "adapter_named", "adapters", "detect", "has_root", "read", "root_tag"]


def __getattr__(name: str) -> Any:
    """Load a name when it is first asked for: the command line starts without any format."""
    if name not in __all__:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    from regularize.adapters import reading, registry, sniffers

    homes = (registry, reading, sniffers)
    return next(vars(home)[name] for home in homes if name in vars(home))
