"""The programs that files are for, where they are installed: each reads what was written."""

from __future__ import annotations

import importlib
import os
import sys
import tempfile
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from importlib.util import find_spec
from pathlib import Path
from typing import Any

from regularize.errors import UnsupportedExport
from regularize.mujoco_warnings import collected


def try_engine(path: Path, format: str) -> str | None:
    """Let the program that a format belongs to read a file.

    Returns:
        Its name; None where there is none, or it is not installed.

    Raises:
        UnsupportedExport: It refuses the file; the message has its own words.
    """
    name, module, reads = ENGINES.get(format, ("", "", _nothing))
    if not name or find_spec(module) is None:
        return None
    engine = importlib.import_module(module)
    with _words() as words:
        try:
            reads(engine, str(path))
        except (ValueError, RuntimeError) as error:  # MuJoCo, Pinocchio; of USD see `_usd`
            said = f"{error} {words()}".replace(str(path), path.name)
            raise UnsupportedExport(f"{name} refuses it: {' '.join(said.split())[:300]}") from error
    return name


@contextmanager
def _words() -> Iterator[Callable[[], str]]:
    """What a library in C writes to standard error meanwhile, instead of its being shown."""
    sys.stderr.flush()
    kept = os.dup(2)
    with tempfile.TemporaryFile() as file:
        os.dup2(file.fileno(), 2)

        def said() -> str:
            file.seek(0)
            return file.read().decode(errors="replace")

        try:
            yield said
        finally:
            os.dup2(kept, 2)
            os.close(kept)


def _nothing(engine: Any, path: str) -> None:
    """What no engine reads."""


def _mujoco(mujoco: Any, path: str) -> None:
    with collected():
        mujoco.MjModel.from_xml_path(path)


def _pinocchio(pinocchio: Any, path: str) -> None:
    pinocchio.buildModelFromUrdf(path)


def _usd(pxr: Any, path: str) -> None:
    from pxr import Tf, Usd, UsdPhysics

    try:
        stage = Usd.Stage.Open(path)
        # Its name until version 26, and its name since.
        parsed = getattr(UsdPhysics, "UsdPhysicsLoadStageFromPrimRange", None)
        found = (parsed or UsdPhysics.LoadUsdPhysicsFromRange)(stage, ["/"])
    except Tf.ErrorException as error:
        raise ValueError(str(error)) from error
    for described in found.values():
        for prim, description in zip(*described, strict=True):
            if not description.isValid:
                raise ValueError(f"{prim} is not valid")


#: Name, Python module and reading function of the program for each format.
ENGINES: dict[str, tuple[str, str, Callable[[Any, str], None]]] = {
    "urdf": ("Pinocchio", "pinocchio", _pinocchio),
    "urdf+": ("Pinocchio", "pinocchio", _pinocchio),
    "mjcf": ("MuJoCo", "mujoco", _mujoco),
    "usd": ("usd-core", "pxr", _usd),
}
