"""What MuJoCo warns of: by itself it writes that into the folder that the user is in."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager


@contextmanager
def collected() -> Iterator[list[str]]:
    """The warnings that MuJoCo gives meanwhile, instead of its ``MUJOCO_LOG.TXT``."""
    import mujoco

    warnings: list[str] = []
    before = mujoco.get_mju_user_warning()
    mujoco.set_mju_user_warning(warnings.append)
    try:
        yield warnings
    finally:
        mujoco.set_mju_user_warning(before)
