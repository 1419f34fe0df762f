"""Robots of models that are there: the caller's own Pinocchio model, or a file with its shapes."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from os import PathLike, fspath
from pathlib import Path
from pickle import PicklingError
from typing import Any

import numpy as np
import pinocchio as pin

from regularize.adapters.shapes.meshes import find_mesh
from regularize.dynamics.pinocchio.closure_rows import ClosureRows
from regularize.dynamics.pinocchio.coordinates import ModelCoordinates
from regularize.dynamics.pinocchio.exporting import left_over, opened, robot_of, to_pinocchio
from regularize.dynamics.pinocchio.importing import body_names, from_pinocchio
from regularize.dynamics.pinocchio.multibody_reading import MimicJoint, mimic_of, series_of, tree_of
from regularize.dynamics.pinocchio.robot import Robot
from regularize.dynamics.pinocchio.spanning_tree import Place, TreeJoint, aligned
from regularize.dynamics.pinocchio.styles import Anchor, anchors_of, kept_rows
from regularize.errors import ModelError, ReadError, UnsupportedExport
from regularize.files import load
from regularize.lie import screw
from regularize.lie.arrays import Array
from regularize.mechanism.body import Geometry
from regularize.mechanism.diagnostic import Diagnostic
from regularize.mechanism.graph import Edge, Graph, NodeId
from regularize.mechanism.joint import Joint
from regularize.mechanism.mechanism import Mechanism, Model, as_mechanism
from regularize.reduction.numerical import Numerical
from regularize.reduction.reduce import Reduction, reduce
from regularize.repair.statics.cure import NoCure
from regularize.repair.statics.cures import cure, freeing
from regularize.repair.statics.releases import too_stiff
from regularize.tolerances import RTOL
from regularize.validation import (
    ARRAY,
    FLAG,
    LIST,
    PATH,
    POSITIVE,
    TEXT,
    WHOLE,
    named,
    several,
    validated,
)

#: Shapes without a colour are drawn in this one, as Pinocchio's own readers do.
GREY = (0.9, 0.9, 0.9, 1.0)


def geometry_model(
    mechanism: Mechanism, model: Any, package_dirs: Sequence[str], *, collision: bool
) -> tuple[Any, list[Diagnostic]]:
    """Return the shapes of all bodies, named as by Pinocchio, and findings for those left out."""
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
    """Return the frame that the exporter made for a body, whose name a joint may have taken."""
    for name in (body, f"{body}/body"):
        if model.existBodyName(name):
            return int(model.getFrameId(name, pin.FrameType.BODY))
    return 0


def _solid(shape: Geometry, path: str | None, package_dirs: Sequence[str]) -> tuple[Any, str]:
    """Return the shape for collision checking, and the file that it comes from."""
    import coal

    if shape.kind != "mesh":
        return getattr(coal, shape.kind.title())(*map(float, shape.size)), shape.kind.upper()
    file = str(_in_packages(shape.uri or "", package_dirs) or find_mesh(shape.uri or "", path))
    try:
        return coal.MeshLoader().load(file, np.array(np.broadcast_to(shape.size, 3))), file
    except (ValueError, RuntimeError) as error:
        reason = " ".join(str(error).split())
        raise ReadError(file, f"is not a mesh that can be read: {reason[-120:]}") from error


def _in_packages(uri: str, package_dirs: Sequence[str]) -> Path | None:
    """Return the file of ``package://name/rest`` in folders of packages or in packages."""
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
            joint_frame = model.addFrame(pin.Frame(joint.name, parent, above, place, kind), False)
        elif model.existFrame(joint.name, pin.FrameType.JOINT):
            joint_frame = model.getFrameId(joint.name, pin.FrameType.JOINT)
            model.frames[joint_frame].parentFrame = above
        else:
            continue
        model.frames[frame].parentFrame = joint_frame


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
    folders = [package_dirs] if isinstance(package_dirs, (str, PathLike)) else package_dirs
    return built(reduction, tuple(fspath(folder) for folder in folders), style)


def built(
    reduction: Reduction, package_dirs: Sequence[str], style: str, *, composite: bool = True
) -> Robot:
    """Return the robot of a reduction with its shapes; arguments as of ``build_model``."""
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


@validated(
    closures=LIST,
    q0=ARRAY,
    kinds=named(TEXT),
    style=TEXT,
    rtol=POSITIVE,
    numerical=FLAG | TEXT,
    seed=WHOLE,
)
def augment(
    model: Any,
    closures: Iterable[Any],
    q0: Array | None = None,
    *,
    kinds: Mapping[str, str] | None = None,
    style: str = "rows",
    rtol: float = RTOL,
    numerical: Numerical = False,
    seed: int = 0,
) -> Robot:
    """The caller's model with closed loops, without the rows that can never matter.

    The model is not changed: ``robot.model is model``, with its joints, names, indices and sizes.

    Args:
        model: A ``pinocchio.Model``.
        closures: What closes the loops: ``regularize.Closure`` entries, Pinocchio's
            ``RigidConstraintModel`` entries and ``ConstraintModel`` entries (point and frame
            anchors), mixed as you like; limit and friction constraints are those of joints.
        q0: Configuration to start from, shape (nq,); by default the neutral one. Where the loops
            are open there, ``robot.q0`` closes them.
        kinds: New kinds of closures by name, as ``robot.findings`` proposes them where a closure is
            stiffer than the mechanism: ``{"closure 0": "revolute:0,1,0"}`` makes the first one a
            hinge through its origin, along Y of the ground.
        style: What ``robot.constraint_models`` holds for Pinocchio's solvers. ``rows``: nothing;
            the robot's own methods are exact for everything. ``anchors``: ``ConstraintModel``
            entries for ``ConstraintCholeskyDecomposition``, the proximal and the ADMM solver;
            implied rows carry a compliance. ``legacy``: ``RigidConstraintModel`` entries for
            ``constraintDynamics`` and ``lcaba``, with the ``ProximalSettings`` that they need.
        rtol: Tolerance of ranks and geometric relations; see ``reduce``.
        numerical: Also remove rows on numerical evidence; see ``reduce``.
        seed: Seed of all random choices.

    Raises:
        ModelError: A joint or a closure is of a type that has no counterpart here, or a closure
            names a joint or frame that the model does not have.
        UnsupportedExport: The style is unknown, or does not know the kind of a closure.
    """
    mechanism = from_pinocchio(model, closures, q0)
    again = partial(reduce, keep_cuts=True, rtol=rtol, numerical=numerical, seed=seed)
    reduction = again(mechanism)
    if kinds:
        change = cure(reduction, kinds)
        if isinstance(change, NoCure):
            raise ModelError(
                f"closures of the kinds {dict(kinds)} let nothing move that is locked: {change}"
            )
        reduction = again(change.reduction.mechanism)
    findings = (*opened(reduction), *too_stiff(reduction, freeing(reduction)))
    return augmented(CallersModel(model), reduction, style, findings)


def augmented(
    caller: CallersModel,
    reduction: Reduction,
    style: str = "rows",
    findings: tuple[Diagnostic, ...] = (),
    *,
    composite: bool = True,
) -> Robot:
    """Return the caller's model, or one with joints in series, with the rows of its reduction."""
    model = caller.model
    again = partial(augmented, caller, reduction, style, findings, composite=composite)
    reduction = reduction if style == "rows" else reduction.by_cuts
    graph, names = reduction.graph, body_names(model)
    inside = next((cut.edge.joint for cut in reduction.cuts if cut.edge.split), None)
    if inside is not None:
        raise ModelError(
            f"closure {inside.name!r} is of kind {inside.kind!r}, and the model has no coordinate "
            "for the cross between its two hinges: close the loop by two revolute closures with a "
            "small body between them in the model, or let rg.to_pinocchio build the tree: "
            "rg.to_pinocchio(rg.from_pinocchio(model, closures))"
        )
    mimicking = set(model.mimicking_joints)
    if mimicking and not composite:
        return to_pinocchio(reduction, composite=False)
    # In both models the parts of a joint follow each other, and the last one carries the body.
    counts = [1 if composite else len(series_of(joint)) for joint in model.joints]
    ends = np.cumsum(counts) - 1
    joints: list[TreeJoint] = []
    place: dict[NodeId, Place] = {}
    for i, name in enumerate(names):
        joint_of = (int(ends[i]), screw.inverse(graph.T_node_body[name]))
        place.setdefault(graph.node_of[name], joint_of)
        if i > 0 and i not in mimicking:
            edges = _edges(model, i, graph, names)
            joints.append(TreeJoint(int(ends[i]) - counts[i] + 1, edges, False))
    model = model if composite else in_series(model)
    tree = tree_of(model)
    held = [row for part in reduction.held for row in part.rows]
    coordinates = ModelCoordinates(graph, tree, joints, mimics=True, held=held)
    closures = kept_rows(place, reduction)
    names_known = (*reduction.mechanism.findings, *findings, *left_over(reduction, style))
    anchors = _anchors(model, closures, style)
    robot = robot_of(
        reduction, style, coordinates, joints, place, closures, anchors, names_known, again
    )
    # Pinocchio's factorisations know no mimic joints.
    return replace(robot, massive=False) if mimicking else robot


def _anchors(model: Any, closures: Sequence[ClosureRows], style: str) -> list[Anchor]:
    """Return the anchors by which Pinocchio's own solvers hold closures."""
    if style == "rows":
        return []
    if style not in ("anchors", "legacy"):
        raise UnsupportedExport(f"unknown style {style!r}; known: rows, anchors, legacy")
    if len(model.mimicking_joints):
        names = ", ".join(repr(model.names[int(i)]) for i in model.mimicking_joints)
        raise UnsupportedExport(
            f"Pinocchio's constraint models refuse mimic joints ({names}); use the style 'rows'"
        )
    rigid = style == "legacy"
    return [anchor for closure in closures for anchor in anchors_of(closure, rigid)]


def _edges(model: Any, index: int, graph: Graph, names: Sequence[str]) -> tuple[Edge, ...]:
    """Return the edges of the mechanism that one joint of the model became, in order of motion."""
    joint_to = {joint.child: joint for joint in graph.mechanism.joints if not joint.closure}
    chain: list[Joint] = []
    body = names[index]
    while body != names[model.parents[index]]:
        chain.insert(0, joint_to[body])
        body = chain[0].parent
    return tuple(edge for joint in chain for edge in graph.edges if edge.joint is joint)


def in_series(model: Any) -> Any:
    """Return the model with joints in series whose axes stay; coordinates are the same."""
    result, ends = pin.Model(), [0]
    result.name, result.gravity = model.name, model.gravity
    for i in range(1, model.njoints):
        end, placement = ends[model.parents[i]], model.jointPlacements[i]
        for k, part in enumerate(series_of(model.joints[i])):
            name = model.names[i] if k == 0 else f"{model.names[i]}/{k + 1}"
            end = result.addJoint(end, part.model, placement * pin.SE3(part.placement), name)
            placement = pin.SE3.Identity()
        result.appendBodyToJoint(end, model.inertias[i], placement)
        ends.append(end)
    for field in ("armature", "rotorInertia", "rotorGearRatio", "damping", "friction"):
        if hasattr(model, field):
            setattr(result, field, np.array(getattr(model, field)))
    return result


@dataclass(frozen=True, eq=False)
class CallersModel:
    """A model that may be copied and pickled, mimic joints included."""

    model: Any

    def __deepcopy__(self, memo: Any) -> CallersModel:
        """Copy the model; Pinocchio copies all types of joints."""
        return CallersModel(self.model.copy())

    def __reduce__(self) -> tuple[Callable[..., CallersModel], tuple[Any, ...]]:
        """Pickle mimic joints beside the model, which loses them."""
        mimics = {int(i): mimic_of(self.model, int(i)) for i in self.model.mimicking_joints}
        for i, mimic in mimics.items():
            if mimic.screw is None:
                raise PicklingError(f"joint {self.model.names[i]!r} mimics with a scaling of zero")
        return restored, (self.model, mimics)


def restored(model: Any, mimics: Mapping[int, MimicJoint]) -> CallersModel:
    """Restore the mimic joints of a model that was pickled."""
    tree = pin.Model()
    for i in range(1, model.njoints):
        joint = model.joints[i]
        if i in mimics:
            moves = mimics[i].screw
            assert moves is not None, "checked when it was pickled"
            axis, _, pitch = screw.axis_of(moves)
            joint = aligned(axis, pitch)
        tree.addJoint(model.parents[i], joint, model.jointPlacements[i], model.names[i])
    for i, mimic in mimics.items():
        tree = pin.transformJointIntoMimic(tree, mimic.primary, i, mimic.scaling, mimic.offset)
    for i in mimics:
        model.joints[i] = tree.joints[i]
    return CallersModel(model)
