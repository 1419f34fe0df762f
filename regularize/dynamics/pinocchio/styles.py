"""How the cuts of a reduction are closed in each export style, and closures of a model as it is.

``rows`` leave the cut joints out of the tree, and are exact for every reduction. ``anchors`` keep
them, and a frame anchor welds two halves of one of their bodies; rows that the others imply carry a
compliance, so that their multiplier is zero. ``slack`` has a slack joint for each of these instead.
``legacy`` has all rows as ``RigidConstraintModel`` entries, which proximal settings let settle.

``anchors_of`` holds closures of the caller's own model: a hinge by one or two points of its axis,
other joints by a frame along their axes, with compliant rows where these are implied or free.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np

from regularize.dynamics.pinocchio import pin
from regularize.dynamics.pinocchio.closure_rows import ClosureRows
from regularize.dynamics.pinocchio.spanning_tree import Place, TreeBuilder
from regularize.errors import UnsupportedExport
from regularize.lie import screw
from regularize.lie.arrays import Array, Rows, Transform
from regularize.mechanism.graph import NodeId
from regularize.mechanism.joint_kinds import perpendiculars
from regularize.reduction.cuts import Cut, independent_rows
from regularize.reduction.reduce import Reduction
from regularize.tolerances import PARALLEL

if TYPE_CHECKING:
    from regularize.dynamics.pinocchio.spanning_tree import SpanningTree

#: Compliance of an implied row; its multiplier is zero whatever the value.
COMPLIANCE = 1.0
#: Accuracy, damping and iterations with which redundant rigid constraints settle.
PROXIMAL = (1e-13, 1e-8, 30)


def row_closures(
    reduction: Reduction, *, composite: bool = True
) -> tuple[TreeBuilder, list[ClosureRows]]:
    """Return the tree without the cut joints, and the closures by the kept rows."""
    builder = TreeBuilder(reduction.graph, set(reduction.tree), composite=composite)
    for cut in reduction.cuts:
        builder.add_frame(f"cut frame {cut.edge.name}", builder.place[cut.node], cut.T_node_frame)
    return builder, kept_rows(builder.place, reduction)


def kept_rows(place: Mapping[NodeId, Place], reduction: Reduction) -> list[ClosureRows]:
    """Return closures by the kept rows, linear parts in units of 1/length."""
    closures = []
    for cut in reduction.cuts:
        covectors = cut.rows.T.copy()
        covectors[:, :3] /= cut.length
        closures.append(joint_closure(place, cut, cut.T_node_frame, covectors))
    return closures


def weld_closures(
    reduction: Reduction, *, slack: bool = False, every_row: bool = False, composite: bool = True
) -> tuple[TreeBuilder, list[ClosureRows], list[Anchor]]:
    """Return the tree with the cut joints, closed by welds of cut bodies."""
    from regularize.repair.statics.welds import chosen_welds  # one style cuts no bodies

    welds = chosen_welds(reduction, anyway=every_row)
    if slack:
        # Frames in place of points: rotations of the joint are rows of their own.
        welds = [
            replace(w, rows=(*w.rows, 3, 4, 5), point=False) if w.point and w.implied else w
            for w in welds
        ]
    cut_in_two = [w for w in welds if not w.point]
    length, edges = max((w.cut.length for w in welds), default=1.0), set(reduction.tree)
    builder = TreeBuilder(
        reduction.graph, edges, cut_in_two, length, slack=slack, composite=composite
    )
    closures, anchors = [], []
    for weld in welds:
        cut = weld.cut
        rows = range(weld.size) if slack or every_row else weld.rows
        builder.add_frame(f"cut frame {cut.edge.name}", builder.place[cut.node], cut.T_node_frame)
        covectors = weld.covectors(rows)
        if weld.point:
            closure = joint_closure(builder.place, cut, weld.T_node_frame, covectors)
            second = closure.second_frame @ screw.inverse(closure.first_frame) @ closure.row_frame
        else:
            body, copy = builder.place[cut.node], builder.copy_place[cut.edge.index]
            single, second = (place[1] @ weld.T_node_frame for place in (body, copy))
            closure = ClosureRows(
                first=body[0],
                second=copy[0],
                row_frame=single,
                first_frame=single,
                second_frame=second,
                closing="fixed",
                screws=np.zeros((6, 0)),
                sign=1,
                covectors=covectors,
                cut=cut,
                edge=None,
                cut_frame=body[1] @ cut.T_node_frame,
            )
        closures.append(closure)
        compliance = np.zeros(weld.size)
        if len(covectors) < weld.size:
            compliance[list(weld.implied)] = COMPLIANCE
        ends = closure.first, closure.row_frame, closure.second, second
        anchors.append(Anchor(cut.edge.name, ends, compliance))
    return builder, closures, anchors


@dataclass(frozen=True, eq=False, repr=False)
class Anchor:
    """A point or a frame of two bodies that Pinocchio's constraint models hold together."""

    name: str
    ends: tuple[int, Transform, int, Transform]  #: joint and frame on both bodies
    compliance: Array  #: of the three rows of a point or the six of a frame; zero for kept rows

    @property
    def point(self) -> bool:
        """Say whether the anchor holds a point only, not a whole frame."""
        return len(self.compliance) == 3

    def closed(self, poses: Sequence[Transform]) -> Anchor:
        """Return the anchor with its second frame moved onto the first at poses of all joints."""
        first, first_frame, second, second_frame = self.ends
        met = screw.inverse(poses[second]) @ poses[first] @ first_frame
        if self.point:  # its axes mean nothing, and stay
            met[:3, :3] = second_frame[:3, :3]
        return replace(self, ends=(first, first_frame, second, met))


def constraint_models(model: Any, anchors: Iterable[Anchor], *, rigid: bool) -> Any:
    """Return ``RigidConstraintModel`` entries, or ``ConstraintModel`` entries with compliances."""
    models = pin.StdVec_RigidConstraintModel() if rigid else pin.StdVec_ConstraintModel()
    for anchor in anchors:
        first, first_frame, second, second_frame = anchor.ends
        ends = model, first, pin.SE3(first_frame), second, pin.SE3(second_frame)
        if rigid:
            kind = pin.ContactType.CONTACT_3D if anchor.point else pin.ContactType.CONTACT_6D
            model_of_anchor = pin.RigidConstraintModel(kind, *ends, pin.ReferenceFrame.LOCAL)
        else:
            kind = "Point" if anchor.point else "Frame"
            inner = getattr(pin, f"{kind}AnchorConstraintModel")(*ends)
            inner.setCompliance(anchor.compliance)
            model_of_anchor = pin.ConstraintModel(inner)
        models.append(model_of_anchor)
        models[-1].name = anchor.name
    return models


class Workspace(threading.local):
    """The data that Pinocchio writes to while it computes: every thread has its own."""

    def __init__(self, tree: SpanningTree, constraints: Any = None) -> None:
        self._tree, self._constraints = tree, constraints

    @cached_property
    def data(self) -> Any:
        """The thread's ``pinocchio.Data``; it grows with the third power of the velocities."""
        return self._tree.model.createData()

    @cached_property
    def constraint_datas(self) -> Any:
        """The thread's data of the constraints."""
        datas = pin.StdVec_RigidConstraintData()
        for constraint in self._constraints:
            datas.append(constraint.createData())
        pin.initConstraintDynamics(self._tree.model, self.data, self._constraints, datas)
        return datas


def proximal(
    tree: SpanningTree, models: Any, settings: Any
) -> Callable[[Array, Array, Array], Array]:
    """Return Pinocchio's constrained dynamics, iterated on redundant rows."""
    space = Workspace(tree, models)

    def accelerate(q: Array, v: Array, tau: Array) -> Array:
        datas = space.constraint_datas
        return np.array(
            pin.constraintDynamics(tree.model, space.data, q, v, tau, models, datas, settings)
        )

    return accelerate


def joint_closure(
    place: Mapping[NodeId, Place], cut: Cut, T_node_frame: Transform, covectors: Rows
) -> ClosureRows:
    """Return a closure between the two bodies of a cut joint that is not in the tree."""
    edge = cut.edge
    first, second = place[cut.node], place[edge.other(cut.node)]
    near, far = (edge.T_child, edge.T_parent) if cut.on_child else (edge.T_parent, edge.T_child)
    closing = {0: "fixed", 1: "helical"}.get(edge.freedoms, "composite")
    if edge.group:
        closing = "free" if edge.freedoms == 6 else "spherical"
    return ClosureRows(
        first=first[0],
        second=second[0],
        row_frame=first[1] @ T_node_frame,
        first_frame=first[1] @ near,
        second_frame=second[1] @ far,
        closing=closing,
        screws=edge.screws,
        sign=-1 if cut.on_child else 1,
        covectors=covectors,
        cut=cut,
        edge=edge,
        cut_frame=first[1] @ cut.T_node_frame,
    )


def anchors_of(closure: ClosureRows, rigid: bool) -> list[Anchor]:
    """Return the anchors that hold a closure, all of their rows rigid if ``rigid``."""
    joint = closure.cut.edge.joint
    if not closure.cut.constraints - closure.cut.removed.shape[1]:
        return []
    for frames in _candidates(closure):
        compliance = _compliance(closure.cut, frames)
        if compliance is None:
            continue
        if rigid and np.any(compliance > COMPLIANCE):
            raise UnsupportedExport(
                f"closure {joint.name!r}: rigid constraints of points and frames cannot leave "
                f"a {joint.kind} joint its freedoms; use the style 'rows' or 'anchors'"
            )
        parts = np.split(compliance, np.cumsum([size for _, size in frames])[:-1])
        across = closure.second_frame @ screw.inverse(closure.first_frame)
        firsts = [closure.cut_frame @ T for T, _ in frames]
        return [
            Anchor(joint.name, (closure.first, T, closure.second, across @ T), rows)
            for T, rows in zip(firsts, parts, strict=True)
        ]
    raise UnsupportedExport(
        f"closure {joint.name!r}: Pinocchio's anchors of points and frames cannot hold a "
        f"{joint.kind} joint; use the style 'rows', or put the joint into the model and close the "
        "loop behind it with a weld"
    )


def _candidates(closure: ClosureRows) -> Iterator[list[tuple[Transform, int]]]:
    """Yield sets of anchor frames that may hold a cut joint, those with fewest rows first."""
    from regularize.repair.statics.welds import coordinate_frame, point_frame  # as above

    cut, joint = closure.cut, closure.cut.edge.joint
    if not cut.edge.freedoms:
        yield [(coordinate_frame(cut), 6)]
        return
    T_cut_joint = screw.inverse(closure.cut_frame) @ closure.first_frame
    point = point_frame(cut, T_cut_joint)[0]
    yield [(point, 3)]
    turning = joint.screws[3:, -1]
    if joint.kind == "revolute":
        along = cut.length * (T_cut_joint[:3, :3] @ turning) / np.linalg.norm(turning)
        yield [(point, 3), (screw.transform(None, along) @ point, 3)]
    if joint.kind in ("prismatic", "cylindrical", "planar"):
        axis = screw.unit(turning if np.any(turning) else joint.screws[:3, 0])
        axes = np.column_stack([axis, *perpendiculars(axis)])
        yield [(T_cut_joint @ screw.transform(axes), 6)]


def _compliance(cut: Cut, frames: Sequence[tuple[Transform, int]]) -> Array | None:
    """Return compliances of anchor rows; None where the frames do not hold the kept rows."""
    from regularize.repair.statics.welds import seen_from  # as above

    rows, work = [], []
    for T, size in frames:
        T_scaled = np.array(T)
        T_scaled[:3, 3] /= cut.length
        rows.append(seen_from(cut, T)[:size])
        work.append((screw.adjoint(screw.inverse(T_scaled)) @ cut.freedoms)[:size])
    on_twists = np.vstack(rows)
    free = np.any(np.abs(np.vstack(work)) > PARALLEL, axis=1)
    count = cut.kept + cut.thinned.shape[1] + cut.numerical.shape[1]
    if free.all() or (free.any() and len(on_twists) == 3):
        return None
    values = np.linalg.svd(on_twists[~free], compute_uv=False)
    if np.sum(values > PARALLEL) != count:
        return None
    result = np.full(len(on_twists), COMPLIANCE)
    result[free] = COMPLIANCE / np.finfo(np.float64).eps
    result[np.flatnonzero(~free)[independent_rows(on_twists[~free], count)]] = 0.0
    return result
