"""What MuJoCo warns of: by itself it writes that into the folder that the user is in."""

from __future__ import annotations

import warnings
from collections.abc import Iterator
from contextlib import contextmanager


@contextmanager
def collected() -> Iterator[list[str]]:
    """The warnings that MuJoCo gives meanwhile; it leaves no ``MUJOCO_LOG.TXT``."""
    import mujoco

    said: list[str] = []
    before = mujoco.get_mju_user_warning()
    mujoco.set_mju_user_warning(said.append)
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", UserWarning)  # those of the compiler
            yield said
    finally:
        mujoco.set_mju_user_warning(before)
