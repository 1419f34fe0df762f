"""`build_model`: from a file to a Pinocchio model with closed loops and shapes."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from functools import partial
from os import PathLike, fspath
from typing import Any

from regularize.files import load
from regularize.mechanism.source import Model, as_mechanism
from regularize.pinocchio.exporting import to_pinocchio
from regularize.pinocchio.geometry import add_fixed_frames, geometry_model
from regularize.pinocchio.robot import Robot
from regularize.reduction.reduce import Reduction, reduce
from regularize.validation import FLAG, PATH, TEXT, several, validated


@validated(package_dirs=PATH | several(PATH), style=TEXT, keep_cuts=FLAG)
def build_model(
    model: Model,
    package_dirs: str | PathLike[str] | Sequence[str | PathLike[str]] = (),
    *,
    style: str = "rows",
    keep_cuts: bool = True,
    **options: Any,
) -> Robot:
    """The Pinocchio model of a file, as ``pinocchio.buildModelFromUrdf`` for every format.

    Example:
        >>> robot = rg.build_model("robot.urdf", package_dirs="share")  # doctest: +SKIP
        >>> robot.model, robot.visual_model, robot.collision_model      # doctest: +SKIP

    Args:
        model: A model file in any format that can be read, or a mechanism.
        package_dirs: Folders of packages, for meshes named ``package://name/file``; those around
            the model are looked through anyway.
        style: How the loops are closed; see ``to_pinocchio``.
        keep_cuts: Close every loop where the file itself closes it, so that the model has the
            joints of the file's own tree.
        options: Passed on to the reader, for example ``floating=True`` for URDF.

    Returns:
        A robot: ``model`` with limits and joint dynamics, the rows that close its loops,
        ``visual_model`` and ``collision_model``; ``reduction.mechanism`` has the motors. A hinge
        without limits has its angle for a coordinate; Pinocchio's reader of URDF takes cosine and
        sine.

    Raises:
        ReadError: The file cannot be read.
        UnsupportedExport: The style is unknown or cannot express the rows.
    """
    mechanism = (
        load(model, **options) if isinstance(model, (str, PathLike)) else as_mechanism(model)
    )
    reduction = reduce(mechanism, keep_cuts=keep_cuts)
    given = [package_dirs] if isinstance(package_dirs, (str, PathLike)) else package_dirs
    return built(reduction, tuple(fspath(folder) for folder in given), style)


def built(
    reduction: Reduction, package_dirs: Sequence[str], style: str, *, composite: bool = True
) -> Robot:
    """The robot of a reduction with its shapes; arguments as of ``build_model``."""
    robot = to_pinocchio(reduction, style, composite=composite)
    mechanism, model = reduction.mechanism, robot.model
    add_fixed_frames(model, mechanism)
    visual, unseen = geometry_model(mechanism, model, package_dirs, collision=False)
    collision, lost = geometry_model(mechanism, model, package_dirs, collision=True)
    again = partial(built, reduction, package_dirs, style, composite=composite)
    return replace(
        robot,
        visual_model=visual,
        collision_model=collision,
        findings=(*robot.findings, *unseen, *lost),
        _made=again,
    )
