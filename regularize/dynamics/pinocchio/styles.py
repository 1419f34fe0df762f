"""How the cuts of a reduction are closed in each export style, and closures of a model as it is.

``rows``
    The cut joints are left out of the tree; the kept rows are a Jacobian of their own. Exact for
    every reduction.
``anchors``
    The cut joint stays in the tree and one of its two bodies is cut in two instead, each half with
    half of the inertia; a frame anchor welds the halves (a spherical joint is closed by a point
    anchor and needs no halves). Rows that the others imply carry a compliance: their multiplier is
    zero, so the accelerations are exact while the decomposition is regular without damping.
``slack``
    As ``anchors``, with a slack joint for every implied row instead of the compliance. The slack
    joints never move, and every row of the weld is independent.
``legacy``
    As ``anchors``, with ``RigidConstraintModel`` and all of its rows; what is redundant is left to
    the proximal settings, which are iterated until the accelerations settle. Frames are closed at
    the reference configuration, and accelerations there compared with those of ``rows``.

``anchors_of`` holds a closure of the caller's own model. Forces through points of a hinge's axis do
no work on it, so one or two points hold a hinge; other joints are held by a frame whose axes are
those of the joint. On the loops a few of these rows imply the others: they take a compliance, and
as what they say holds anyway their multiplier is zero. Rows along the joint's own freedoms take a
compliance so large that their multiplier is zero to rounding.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from regularize.dynamics.pinocchio import pin
from regularize.dynamics.pinocchio.closure_rows import ClosureRows
from regularize.dynamics.pinocchio.tree import BodyCopy, TreeBuilder
from regularize.errors import UnsupportedExport
from regularize.lie import screw
from regularize.lie.arrays import Array
from regularize.mechanism.graph import NodeId
from regularize.mechanism.joint_kinds import perpendiculars
from regularize.reduction.cuts import Cut, independent_rows
from regularize.reduction.reduce import Reduction
from regularize.tolerances import PARALLEL

#: Compliance of an implied row; its multiplier is zero whatever the value.
COMPLIANCE = 1.0
#: Accuracy, damping and iterations with which redundant rigid constraints settle.
PROXIMAL = (1e-13, 1e-8, 30)


def row_closures(
    reduction: Reduction, *, composite: bool = True
) -> tuple[TreeBuilder, list[ClosureRows]]:
    """The tree without the cut joints, closed by the kept rows."""
    builder = TreeBuilder(reduction.graph, set(reduction.tree), composite=composite)
    closures = []
    for cut in reduction.cuts:
        covectors = row_covectors(cut)
        builder.add_frame(f"cut frame {cut.edge.name}", builder.place[cut.node], cut.T_node_frame)
        closures.append(joint_closure(builder.place, cut, cut.T_node_frame, covectors))
    return builder, closures


def row_covectors(cut: Cut) -> Array:
    """The kept rows in the cut frame, linear parts in units of 1/length, shape (m, 6)."""
    covectors = cut.rows.T.copy()
    covectors[:, :3] /= cut.length
    return np.asarray(covectors)


def weld_closures(
    reduction: Reduction, *, slack: bool = False, every_row: bool = False, composite: bool = True
) -> tuple[TreeBuilder, list[ClosureRows], list[Anchor]]:
    """The tree with the cut joints, closed by welds of cut bodies.

    Args:
        reduction: The reduction.
        slack: Whether slack joints stand for the implied rows.
        every_row: Whether implied rows are kept as well.
        composite: Whether a joint of several freedoms is one joint of the model.
    """
    from regularize.repair.statics.welds import chosen_welds  # one style cuts no bodies

    welds = chosen_welds(reduction, anyway=every_row)
    if slack:
        # Frames in place of points: rotations of the joint are rows of their own.
        welds = [
            replace(w, rows=(*w.rows, 3, 4, 5), point=False) if w.point and w.implied else w
            for w in welds
        ]
    copies = [
        BodyCopy(w.cut.edge, w.cut.node, w.T_node_frame, w.implied if slack else ())
        for w in welds
        if not w.point
    ]
    length = max((w.cut.length for w in welds), default=1.0)
    builder = TreeBuilder(reduction.graph, set(reduction.tree), copies, length, composite=composite)
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
            one, second = (place[1] @ weld.T_node_frame for place in (body, copy))
            closure = ClosureRows(
                first=body[0],
                second=copy[0],
                row_frame=one,
                first_frame=one,
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
    """A point or a frame of two bodies that Pinocchio's constraint models hold together.

    Attributes:
        name: Of the constraint.
        ends: Joint and frame (4, 4) on the first body, and on the second one.
        compliance: Of every row: three of a point, six of a frame; zero where it is kept.
    """

    name: str
    ends: tuple[int, Array, int, Array]
    compliance: Array

    @property
    def point(self) -> bool:
        """Whether it holds a point alone."""
        return len(self.compliance) == 3

    def closed(self, poses: Sequence[Array]) -> Anchor:
        """The same, its second frame where the first one is when joints have some poses."""
        first, one, second, two = self.ends
        met = screw.inverse(poses[second]) @ poses[first] @ one
        if self.point:  # its axes mean nothing, and stay
            met[:3, :3] = two[:3, :3]
        return replace(self, ends=(first, one, second, met))

    @property
    def places(self) -> tuple[int, Any, int, Any]:
        """The same as Pinocchio has it."""
        first, one, second, two = self.ends
        return first, pin.SE3(one), second, pin.SE3(two)


def anchor_models(model: Any, anchors: Iterable[Anchor]) -> Any:
    """``ConstraintModel`` entries, for solvers that know compliances."""
    models = pin.StdVec_ConstraintModel()
    for each in anchors:
        kind = pin.PointAnchorConstraintModel if each.point else pin.FrameAnchorConstraintModel
        anchor = kind(model, *each.places)
        anchor.setCompliance(each.compliance)
        wrapped = pin.ConstraintModel(anchor)
        wrapped.name = each.name
        models.append(wrapped)
    return models


def rigid_models(model: Any, anchors: Iterable[Anchor]) -> Any:
    """``RigidConstraintModel`` entries, all rows rigid."""
    models = pin.StdVec_RigidConstraintModel()
    for each in anchors:
        kind = pin.ContactType.CONTACT_3D if each.point else pin.ContactType.CONTACT_6D
        local = pin.ReferenceFrame.LOCAL
        models.append(pin.RigidConstraintModel(kind, model, *each.places, local))
        models[-1].name = each.name
    return models


def joint_closure(
    place: Mapping[NodeId, tuple[int, Array]], cut: Cut, T_node_frame: Array, covectors: Array
) -> ClosureRows:
    """A closure between the two bodies of a cut joint that is not in the tree.

    Args:
        place: Joint that carries each node, and the node's frame in that joint's frame.
        cut: The cut.
        T_node_frame: The row frame on the cut's body, shape (4, 4).
        covectors: Rows in that frame, linear parts in units of 1/length, shape (m, 6).
    """
    edge = cut.edge
    other = edge.other(cut.node)
    first, second = place[cut.node], place[other]
    own, far = (edge.T_child, edge.T_parent) if cut.on_child else (edge.T_parent, edge.T_child)
    closing = {0: "fixed", 1: "helical"}.get(edge.freedoms, "composite")
    if edge.group:
        closing = "free" if edge.freedoms == 6 else "spherical"
    return ClosureRows(
        first=first[0],
        second=second[0],
        row_frame=first[1] @ T_node_frame,
        first_frame=first[1] @ own,
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
    """The anchors that hold a closure.

    Args:
        closure: The closure.
        rigid: Whether all of their rows will be rigid.

    Raises:
        UnsupportedExport: No rows of points and frames are those of the joint, or rigid ones would
            hold it along its freedoms.
    """
    joint = closure.cut.edge.joint
    if not closure.cut.constraints - closure.cut.removed.shape[1]:
        return []
    for frames in () if closure.cut.edge.split else _candidates(closure):
        sizes = [size for _, size in frames]
        compliance = _compliance(closure.cut, frames)
        if compliance is not None:
            if rigid and np.any(compliance > COMPLIANCE):
                raise UnsupportedExport(
                    f"closure {joint.name!r}: rigid constraints of points and frames cannot leave "
                    f"a {joint.kind} joint its freedoms; use the style 'rows' or 'anchors'"
                )
            parts = np.split(compliance, np.cumsum(sizes)[:-1])
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


def _candidates(closure: ClosureRows) -> Iterator[list[tuple[Array, int]]]:
    """Frames in the cut frame with their numbers of rows: few first, the joint's own last."""
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


def _compliance(cut: Cut, frames: Sequence[tuple[Array, int]]) -> Array | None:
    """Compliance of all rows, or None where they do not say what the kept rows say."""
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
