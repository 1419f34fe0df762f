"""The version of what is installed, and of what it writes."""

from __future__ import annotations

from functools import cache

#: Schema versions of the project's own documents; keys are added within one, never renamed.
SCHEMAS = {"mechanism": 1, "metamodel": 1, "reduction": 1, "report": 1}


@cache
def installed_version() -> str:
    """The version of the package; ``0.0.0`` in a checkout that is not installed."""
    # Loads the parsers of mail and archives, which take longer than a small model.
    from importlib.metadata import PackageNotFoundError, version

    try:
        return version("pin-regularize")
    except PackageNotFoundError:
        return "0.0.0"
