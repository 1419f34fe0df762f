"""MuJoCo's ``MjSpec``, through the XML that it writes, to the last digit."""

from __future__ import annotations

import ctypes
import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import mujoco

from regularize._io.console import collected
from regularize.adapters.objects.document import ObjectDocument
from regularize.errors import ReadError
from regularize.mechanism.mechanism import Mechanism

DIGITS = 17  # from which a double is read back as it was; MuJoCo writes 6 unless it is told


def read(spec: Any, **options: Any) -> Mechanism:
    """Read a ``mujoco.MjSpec``, which is copied, compiled, and left as it is.

    Args:
        spec: The specification.
        options: Of the reader of MJCF: ``keyframe``.
    """
    return SpecDocument(spec).read(**options)


class SpecDocument(ObjectDocument):
    """A specification with its assets."""

    format = "mjcf"

    def __init__(self, spec: Any) -> None:
        self._spec = spec
        self.label = f"<MjSpec {spec.modelname}>"
        self._folders = {
            name: os.path.abspath(os.path.join(spec.modelfiledir or "", getattr(spec, name) or ""))
            for name in ("meshdir", "texturedir")
        }

    def write(self, folder: Path) -> Path:
        """The XML, and what the specification holds in memory beside it."""
        assets = dict(self._spec.assets)
        for name, data in assets.items():
            place = folder / os.path.basename(name)
            place.write_bytes(data if isinstance(data, bytes) else str(data).encode())
        copy = self._spec.copy()
        for name, place in self._folders.items():
            setattr(copy, name, str(folder) if assets else place)
        try:
            with collected(), _exact():
                copy.compile()
                text = copy.to_xml()
        except (ValueError, mujoco.FatalError) as error:
            reason = " ".join(str(error).split())
            raise ReadError(self.label, f"MuJoCo cannot compile it: {reason}") from error
        path = folder / "model.xml"
        path.write_text(text, encoding="utf-8")
        return path

    def parse(self, path: Path) -> Any:
        """A specification with the folders and assets of the old one."""
        made = mujoco.MjSpec.from_file(str(path))
        for name in self._folders:
            setattr(made, name, getattr(self._spec, name))
        made.modelfiledir = self._spec.modelfiledir
        for name, data in dict(self._spec.assets).items():
            made.assets[name] = data
        return made


@contextmanager
def _exact() -> Iterator[None]:
    """MuJoCo writes all digits meanwhile, where its library can be told."""
    places = [*Path(mujoco.__file__).parent.glob("*mujoco.*.*.*")]
    library = ctypes.CDLL(str(places[0])) if places else None
    get, put = (
        getattr(library, f"_mjPRIVATE__{what}_xml_precision", None) for what in ("get", "set")
    )
    if get is None or put is None:
        yield
        return
    before = get()
    put(DIGITS)
    try:
        yield
    finally:
        put(before)
