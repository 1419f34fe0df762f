"""Changed files as the engines of their formats see them, where those are installed."""

from __future__ import annotations

from importlib.util import find_spec

from regularize.model.mechanism import Mechanism


def refused(before: Mechanism, path: str) -> str | None:
    """What the engine says against a changed file although it takes the one before.

    Args:
        before: The model as it was read.
        path: The changed file.
    """
    if before.format == "urdf":
        return _pinocchio(str(before.path), path)
    if before.format == "mjcf" and find_spec("mujoco") is not None:
        return _mujoco(str(before.path), path)
    return None


def _pinocchio(old: str, new: str) -> str | None:
    import pinocchio as pin

    counts = []
    for path in (old, new):
        try:
            counts.append(pin.buildModelFromUrdf(path).nq)
        except Exception as error:
            if not counts:
                return None
            return f"Pinocchio refuses the changed file ({' '.join(str(error).split())})"
    return None


def _mujoco(old: str, new: str) -> str | None:
    import mujoco

    try:
        mujoco.MjModel.from_xml_path(old)
    except ValueError:
        return None
    try:
        mujoco.MjModel.from_xml_path(new)
    except ValueError as error:
        return f"MuJoCo refuses the changed file ({' '.join(str(error).split())})"
    return None
