"""`build_model`: from a file to a Pinocchio model with closed loops and shapes.

Shapes of bodies as Pinocchio's geometry models, and the frames of fixed joints.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from functools import partial
from os import PathLike, fspath
from pathlib import Path
from typing import Any

import coal
import numpy as np
import pinocchio as pin

from regularize.adapters.shapes.meshes import find_mesh
from regularize.dynamics.pinocchio.exporting import to_pinocchio
from regularize.dynamics.pinocchio.robot import Robot
from regularize.errors import ReadError
from regularize.files import load
from regularize.mechanism.body import Geometry
from regularize.mechanism.diagnostic import Diagnostic
from regularize.mechanism.mechanism import Mechanism, Model, as_mechanism
from regularize.reduction.reduce import Reduction, reduce
from regularize.validation import FLAG, PATH, TEXT, several, validated

#: Shapes without a colour are drawn in this one, as Pinocchio's own readers do.
GREY = (0.9, 0.9, 0.9, 1.0)


def geometry_model(
    mechanism: Mechanism, model: Any, package_dirs: Sequence[str], *, collision: bool
) -> tuple[Any, list[Diagnostic]]:
    """The shapes of all bodies, named and placed as by Pinocchio's reader of URDF.

    Args:
        mechanism: Whose bodies have the shapes.
        model: Its ``pinocchio.Model``, with a frame for every body.
        package_dirs: Folders in which packages are looked for, before those around the model.
        collision: Shapes for collisions, else those for show.

    Returns:
        A ``pinocchio.GeometryModel``, and a finding for every shape that had to be left out.
    """
    result, findings = pin.GeometryModel(), []
    for body in mechanism.bodies:
        frame = body_frame(model, body.name)
        parent, T_joint_body = model.frames[frame].parentJoint, model.frames[frame].placement
        shapes = [shape for shape in body.geometry if shape.collision == collision]
        for k, shape in enumerate(shapes):
            try:
                solid, file = _solid(shape, mechanism.path, package_dirs)
            except ReadError as error:
                message = f"a shape of body `{body.name}` is left out: {error.reason}"
                packed = "://" in (shape.uri or "")
                help = ("say where its package is: package_dirs=[...]",) if packed else ()
                findings.append(
                    Diagnostic("REG013", "warning", message, source=body.source, help=help)
                )
                continue
            scale = np.broadcast_to(shape.size, 3) if shape.kind == "mesh" else np.ones(3)
            place = T_joint_body * pin.SE3(shape.T_body_geometry)
            color = np.array(shape.color or GREY)
            told = (file, np.array(scale), shape.color is not None, color)
            name = f"{body.name}_{k}"
            item = pin.GeometryObject(name, parent, frame, place, solid, *told)
            result.addGeometryObject(item)
    return result, findings


def body_frame(model: Any, body: str) -> int:
    """The frame that the exporter made for a body; a joint of the same name took its name."""
    for name in (body, f"{body}/body"):
        if model.existBodyName(name):
            return int(model.getFrameId(name, pin.FrameType.BODY))
    return 0


def _solid(shape: Geometry, path: str | None, package_dirs: Sequence[str]) -> tuple[Any, str]:
    """The shape for collision checking, and the file that it comes from.

    Raises:
        ReadError: The mesh is not found, or cannot be read.
    """
    if shape.kind != "mesh":
        return getattr(coal, shape.kind.title())(*map(float, shape.size)), shape.kind.upper()
    file = str(_in_packages(shape.uri or "", package_dirs) or find_mesh(shape.uri or "", path))
    try:
        return coal.MeshLoader().load(file, np.array(np.broadcast_to(shape.size, 3))), file
    except (ValueError, RuntimeError) as error:
        reason = " ".join(str(error).split())
        raise ReadError(file, f"is not a mesh that can be read: {reason[-120:]}") from error


def _in_packages(uri: str, package_dirs: Sequence[str]) -> Path | None:
    """The file of ``package://name/rest`` in a folder of packages, or in the package itself."""
    scheme, _, name = uri.partition("://")
    package, _, rest = name.partition("/")
    if scheme not in ("package", "model"):
        return None
    for folder in map(Path, package_dirs):
        for file in (folder / name, folder / rest):
            if file.is_file() and (file == folder / name or folder.name == package):
                return file
    return None


def add_fixed_frames(model: Any, mechanism: Mechanism) -> None:
    """Add a frame for every fixed joint, and hang frames on each other as the bodies do."""
    owner = {joint.child: joint for joint in mechanism.joints if not joint.closure}
    for body in mechanism.bodies:
        joint = owner.get(body.name)
        frame = body_frame(model, body.name)
        if joint is None or not frame:
            continue
        above = body_frame(model, joint.parent)
        if joint.kind == "fixed" and not model.existFrame(joint.name):
            place = model.frames[above].placement * pin.SE3(joint.T_parent_joint)
            parent = model.frames[above].parentJoint
            kind = pin.FrameType.FIXED_JOINT
            own = model.addFrame(pin.Frame(joint.name, parent, above, place, kind), False)
        elif model.existFrame(joint.name, pin.FrameType.JOINT):
            own = model.getFrameId(joint.name, pin.FrameType.JOINT)
            model.frames[own].parentFrame = above
        else:
            continue
        model.frames[frame].parentFrame = own


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
