"""Readers and writers of model formats, one folder per format, found through one registry."""

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
