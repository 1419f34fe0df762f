"""The version of what is installed."""

from __future__ import annotations

from importlib.metadata import PackageNotFoundError, version

try:
    __version__ = version("pin-regularize")
except PackageNotFoundError:  # a checkout that is not installed
    __version__ = "0.0.0"
