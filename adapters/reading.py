"""Reading a model file by the format that its content tells."""

from __future__ import annotations

import inspect
import os
from collections.abc import Callable, Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np

from regularize.adapters.common.input_files import opened_once, read_bytes
from regularize.adapters.common.precision import rounding_of, with_levels
from regularize.adapters.common.validation import validated, with_external_files
from regularize.adapters.registry import BUILTIN, Adapter, adapter_named, adapters, readable
from regularize.adapters.sniffers import HEAD, calls_xacro, is_xacro
from regularize.errors import ModelError, ReadError, RegularizeError, UnknownFormat
from regularize.escape import LONGEST_NAME
from regularize.mechanism.body import Geometry
from regularize.mechanism.mechanism import Mechanism, shortened


def detect(path: str | os.PathLike[str]) -> Adapter:
    """The format of a file, by its content; its suffix breaks ties, and decides where none fits."""
    name = model_file(path)
    suffix, head = Path(name).suffix.lower(), read_bytes(name, HEAD)
    ours = [a for a in BUILTIN if a.reader and a.sniff and suffix in a.suffixes and a.sniff(head)]
    if len(ours) == 1:  # most files, and other packages are not asked
        program = ours[0].name == "urdf" and is_xacro(head) and calls_xacro(read_bytes(name))
        return adapters()["xacro"] if program else ours[0]
    fitting = by_content(head)
    among = fitting or [adapters()[format] for format in readable()]
    by_suffix = [adapter for adapter in among if suffix in adapter.suffixes]
    for candidates in (by_suffix, fitting):
        if len(candidates) == 1:
            return candidates[0]
    raise UnknownFormat(name, readable())


def by_content(source: str | bytes) -> list[Adapter]:
    """The formats that a file, or its first bytes, can be; raises ``ReadError``."""
    head = read_bytes(source, HEAD) if isinstance(source, str) else source[:HEAD]
    return [a for a in adapters().values() if a.reader and a.sniff and a.sniff(head)]


@opened_once()
def read(
    source: str | os.PathLike[str],
    *,
    format: str | None = None,
    packages: Mapping[str, str | os.PathLike[str]] | None = None,
    **options: Any,
) -> Mechanism:
    """Read a model file, in the format that its content tells where none is named.

    Packages are folders of ROS packages by name, for what xacro includes and for meshes; shapes
    that lie in one of them are named by their place. Options are passed on to the reader.
    """
    path = model_file(source)
    adapter = detect(path) if format is None else adapter_named(format)
    if adapter is None or not adapter.of_files:
        raise UnknownFormat(str(format), readable())
    reader = adapter.load_reader()
    _check_options(adapter.name, reader, options)
    if packages and "packages" in inspect.signature(reader).parameters:
        options["packages"] = packages
    with rounding_of(path):
        model = validated(_read_by(reader, path, path, options))
        # What a saved mechanism came from is not read again.
        model = with_external_files(model, () if adapter.name == "json" else model.files)
        model = _located(model, packages or {})
        return with_levels(model, path, lambda: _read_by(reader, path, path, options))


def read_object(
    source: object, adapter: Adapter, *, format: str | None = None, **options: Any
) -> Mechanism:
    """Read an object in memory, which is left as it is."""
    reader = adapter.load_reader()
    if format is not None:
        if "format" not in inspect.signature(reader).parameters:
            raise RegularizeError(f"a {adapter.title} says itself what it is: leave out format=")
        options["format"] = format
    _check_options(adapter.name, reader, options)
    return validated(_read_by(reader, source, f"<{adapter.title}>", options))


def _read_by(
    reader: Callable[..., Mechanism], source: object, path: str, options: Mapping[str, Any]
) -> Mechanism:
    """Call a reader; whatever it stumbles over is a fault of the model."""
    try:
        with np.errstate(all="ignore"):  # what overflows is found where numbers are validated
            return reader(source, **options)
    except ModelError as error:
        if not isinstance(source, str):
            raise
        raise ReadError(path, f"the model is inconsistent: {error}") from error
    except RegularizeError:
        raise
    except RecursionError as error:
        raise ReadError(path, "is nested too deeply; flatten it") from error
    except MemoryError as error:
        raise ReadError(path, "asks for more memory than there is; take a smaller model") from error
    except Exception as error:
        if "REGULARIZE_DEBUG" in os.environ:
            raise
        reason = shortened(f"{type(error).__name__}: {error}", LONGEST_NAME)
        raise ReadError(
            path, f"the reader cannot make sense of it ({reason}); check it with its own program"
        ) from error


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
            has = ", ".join(p.name for p in parameters.values() if p.kind is p.KEYWORD_ONLY)
            why = f"the reader of {format} has no option {name!r}"
            if name == "floating":
                why += ": such a file says itself what floats (SDF: what nothing joins to the "
                why += "world; MJCF: what has a <freejoint>)"
            raise RegularizeError(f"{why}; it has {has or 'none'}")


def model_file(source: str | os.PathLike[str]) -> str:
    """The file to read, as the user named it; raises ``ReadError`` if there is none."""
    name = os.fspath(source)
    if os.path.isdir(name):
        models = sorted(entry.name for entry in Path(name).glob("*.urdf") if entry.is_file())
        if "robot.urdf" in models:
            models = ["robot.urdf"]
        if len(models) != 1:
            listed = ", ".join(models[:5]) if models else "no URDF file"
            every = os.path.join(name, "*.urdf")
            several = f", or check all of them: regularize check '{every}'" if models else ""
            raise ReadError(
                name, f"is a directory with {listed}; name the model file itself{several}"
            )
        name = os.path.join(name, models[0])
    if not read_bytes(name, HEAD).strip():
        raise ReadError(name, "the file is empty; export or download the model again")
    return name
