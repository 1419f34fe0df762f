"""Reading a model file by the format that its content tells."""

from __future__ import annotations

import inspect
import os
from collections.abc import Callable, Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

from regularize.adapters.common import single_values as single_values
from regularize.adapters.common.digits import significant_digits
from regularize.adapters.registry import Adapter, adapters, readable
from regularize.adapters.sniffers import HEAD
from regularize.errors import ModelError, ReadError, RegularizeError, UnknownFormat
from regularize.model.mechanism import Geometry, Mechanism


def detect(path: str | os.PathLike[str]) -> Adapter:
    """The format of a file, by its content; its suffix only breaks ties.

    A file that no sniffer knows goes to the one format of its suffix, whose reader can say what
    is wrong with it.

    Raises:
        ReadError: The file cannot be opened.
        UnknownFormat: No reader, or more than one, would take it.
    """
    name = model_file(path)
    suffix = Path(name).suffix.lower()
    with open(name, "rb") as file:
        head = file.read(HEAD)
    readable = [adapter for adapter in adapters().values() if adapter.reader]
    by_content = [adapter for adapter in readable if adapter.sniff and adapter.sniff(head)]
    by_suffix = [adapter for adapter in by_content or readable if suffix in adapter.suffixes]
    for candidates in (by_suffix, by_content):
        if len(candidates) == 1:
            return candidates[0]
    raise UnknownFormat(name, [adapter.name for adapter in readable])


def read(
    source: str | os.PathLike[str],
    *,
    format: str | None = None,
    packages: Mapping[str, str | os.PathLike[str]] | None = None,
    **options: Any,
) -> Mechanism:
    """Read a model file.

    Args:
        source: The file, or a directory that holds ``robot.urdf`` or a single URDF file.
        format: Name of the format; None to recognise it by its content.
        packages: Folders of ROS packages by name, for what xacro includes and for meshes; shapes
            that lie in one of them are named by their place.
        options: Passed on to the reader, such as ``floating=True`` or ``loops="robot.yaml"``.

    Raises:
        ReadError: The file is absent, empty or not what it claims to be.
        UnknownFormat: No adapter reads it.
        MissingExtra: The format needs a package that is not installed.
    """
    path = model_file(source)
    if format is None:
        adapter = detect(path)
    elif format in adapters():
        adapter = adapters()[format]
    else:
        raise UnknownFormat(format, readable())
    reader = adapter.load_reader()
    _check_options(adapter.name, reader, options)
    if packages and "packages" in inspect.signature(reader).parameters:
        options["packages"] = packages
    try:
        found = _located(single_values.report(reader(path, **options)), packages or {})
    except ModelError as error:
        raise ReadError(path, f"the model is inconsistent: {error}") from error
    if found.digits is not None:
        return found
    return replace(found, digits=significant_digits(Path(path).read_bytes()))


def _located(mechanism: Mechanism, packages: Mapping[str, str | os.PathLike[str]]) -> Mechanism:
    """The mechanism with the shapes of known packages named by their place."""

    def place(shape: Geometry) -> Geometry:
        scheme, _, rest = (shape.uri or "").partition("://")
        package, _, name = rest.partition("/")
        if scheme not in ("package", "model") or package not in packages:
            return shape
        return replace(shape, uri=os.path.join(os.path.abspath(packages[package]), name))

    if not packages:
        return mechanism
    bodies = tuple(
        replace(body, geometry=tuple(place(shape) for shape in body.geometry))
        for body in mechanism.bodies
    )
    return replace(mechanism, bodies=bodies)


def _check_options(format: str, reader: Callable[..., Any], options: Mapping[str, Any]) -> None:
    """Refuse options that the reader of a format does not have."""
    parameters = inspect.signature(reader).parameters
    if any(parameter.kind is parameter.VAR_KEYWORD for parameter in parameters.values()):
        return
    for name in options:
        if name not in parameters:
            known = [p.name for p in parameters.values() if p.kind is p.KEYWORD_ONLY]
            has = ", ".join(known) or "none"
            raise RegularizeError(f"the reader of {format} has no option {name!r}; it has {has}")


def model_file(source: str | os.PathLike[str]) -> str:
    """The file to read, as the user named it; raises ``ReadError`` if there is none."""
    path = Path(source)
    name = os.fspath(source)
    if path.is_dir():
        models = sorted(entry.name for entry in path.glob("*.urdf") if entry.is_file())
        if "robot.urdf" in models:
            models = ["robot.urdf"]
        if len(models) != 1:
            listed = ", ".join(models[:5]) if models else "no URDF file"
            raise ReadError(name, f"is a directory with {listed}; name the model file itself")
        path, name = path / models[0], os.path.join(name, models[0])
    try:
        with open(path, "rb") as file:
            empty = not file.read(HEAD).strip()
    except FileNotFoundError:
        raise ReadError(name, "there is no such file; check the path") from None
    except OSError as error:
        raise ReadError(name, f"cannot be opened: {error.strerror}; check the path") from error
    if empty:
        raise ReadError(name, "the file is empty; export or download the model again")
    return name
