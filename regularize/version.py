"""The version of what is installed, and of what it writes."""

from __future__ import annotations

from importlib.metadata import PackageNotFoundError, version

try:
    __version__ = version("pin-regularize")
except PackageNotFoundError:  # a checkout that is not installed
    __version__ = "0.0.0"

#: Schema versions of the project's own documents; keys are added within one, never renamed.
SCHEMAS = {"mechanism": 1, "metamodel": 1, "reduction": 1, "report": 1}
