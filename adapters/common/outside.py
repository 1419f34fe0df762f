"""Files that a model takes from outside of its own folder."""

from __future__ import annotations

import os
from collections.abc import Iterable
from dataclasses import replace
from urllib.parse import unquote

from regularize.adapters.common.names import listed
from regularize.model.diagnostic import Diagnostic, Source
from regularize.model.mechanism import Mechanism


def report(mechanism: Mechanism, included: Iterable[str]) -> Mechanism:
    """The mechanism with a note on what it takes from outside of its folder (REG021).

    Meshes are named where the model leads out of its folder itself, by an absolute place or by
    ``..``; those in packages are where packages are.

    Args:
        mechanism: The mechanism.
        included: Files that were read with its own.
    """
    if mechanism.path is None:
        return mechanism
    folder = os.path.dirname(os.path.abspath(mechanism.path))
    files = {name: name for name in included}
    if mechanism.format != "usd":  # which names prims
        shapes = (shape.uri for body in mechanism.bodies for shape in body.geometry if shape.uri)
        files |= {uri: _written(uri, folder) for uri in shapes}
    away = [name for name, place in files.items() if place and not _inside(place, folder)]
    if not away:
        return mechanism
    finding = Diagnostic(
        "REG021",
        "note",
        f"{'files' if len(away) > 1 else 'a file'} outside of the model's folder "
        f"belong{'s' if len(away) == 1 else ''} to the model: {listed(away)}",
        source=Source(mechanism.path),
        help=("make sure that you mean them, and pass them on with the model",),
    )
    # The file that a mechanism was saved to has it already, of the file that it came from.
    if finding.message in {each.message for each in mechanism.findings}:
        return mechanism
    return replace(mechanism, findings=(*mechanism.findings, finding))


def _written(uri: str, folder: str) -> str:
    """The place that the URI of a mesh names, without looking there; empty for one in a package."""
    scheme, found, rest = uri.partition("://")
    if found and scheme != "file":
        return ""
    name = unquote("/" + rest.lstrip("/") if found else uri)
    return os.path.normpath(os.path.join(folder, name.partition("#")[0] or "."))


def _inside(name: str, folder: str) -> bool:
    """Whether a file lies in a folder, links in its way followed."""
    try:
        place, home = os.path.realpath(name), os.path.realpath(folder)
        return os.path.commonpath([place, home]) == home
    except ValueError:  # on another drive, or no name of a file
        return False
