"""How the cuts of a reduction are closed in each export style.

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
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import numpy as np

from regularize.lie.screw import Array
from regularize.model.graph import NodeId
from regularize.pinocchio_model.closure_rows import ClosureRows
from regularize.pinocchio_model.library import pin
from regularize.pinocchio_model.tips import Tip
from regularize.pinocchio_model.tree import TreeBuilder
from regularize.reduction.cuts import Cut
from regularize.reduction.reduce import Reduction

if TYPE_CHECKING:
    from regularize.pinocchio_model.welds import Weld

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
) -> tuple[TreeBuilder, list[ClosureRows], list[Weld]]:
    """The tree with the cut joints, closed by welds of cut bodies.

    Args:
        reduction: The reduction.
        slack: Whether slack joints stand for the implied rows.
        every_row: Whether implied rows are kept as well.
        composite: Whether a joint of several freedoms is one joint of the model.
    """
    from regularize.pinocchio_model.welds import chosen_welds  # one style cuts no bodies

    welds = chosen_welds(reduction, anyway=every_row)
    if slack:
        # Frames in place of points: rotations of the joint are rows of their own.
        welds = [
            replace(w, rows=(*w.rows, 3, 4, 5), point=False) if w.point and w.implied else w
            for w in welds
        ]
    tips = [
        Tip(w.cut.edge, w.cut.node, w.T_node_frame, w.implied if slack else ())
        for w in welds
        if not w.point
    ]
    length = max((w.cut.length for w in welds), default=1.0)
    builder = TreeBuilder(reduction.graph, set(reduction.tree), tips, length, composite=composite)
    closures = []
    for weld in welds:
        cut = weld.cut
        rows = range(weld.size) if slack or every_row else weld.rows
        builder.add_frame(f"cut frame {cut.edge.name}", builder.place[cut.node], cut.T_node_frame)
        if weld.point:
            closures.append(
                joint_closure(builder.place, cut, weld.T_node_frame, weld.covectors(rows))
            )
        else:
            closures.append(_tip_closure(builder, weld, weld.covectors(rows)))
    return builder, closures, welds


def anchor_models(model: Any, closures: Sequence[ClosureRows], welds: Sequence[Weld]) -> Any:
    """Pinocchio's constraint models of the welds, with the compliance of implied rows."""
    models = pin.StdVec_ConstraintModel()
    for closure, weld in zip(closures, welds, strict=True):
        kind = pin.PointAnchorConstraintModel if weld.point else pin.FrameAnchorConstraintModel
        anchor = kind(model, *_places(closure, weld))
        compliance = np.zeros(weld.size)
        if len(closure.covectors) < weld.size:
            compliance[list(weld.implied)] = COMPLIANCE
        anchor.setCompliance(compliance)
        wrapped = pin.ConstraintModel(anchor)
        wrapped.name = weld.cut.edge.name
        models.append(wrapped)
    return models


def rigid_models(model: Any, closures: Sequence[ClosureRows], welds: Sequence[Weld]) -> Any:
    """Pinocchio's older constraint models of the welds, all rows rigid."""
    models = pin.StdVec_RigidConstraintModel()
    for closure, weld in zip(closures, welds, strict=True):
        rigid = pin.RigidConstraintModel(
            pin.ContactType.CONTACT_3D if weld.point else pin.ContactType.CONTACT_6D,
            model,
            *_places(closure, weld),
            pin.ReferenceFrame.LOCAL,
        )
        rigid.name = weld.cut.edge.name
        models.append(rigid)
    return models


def _places(closure: ClosureRows, weld: Weld) -> tuple[int, Any, int, Any]:
    """Both bodies with the frames or points that meet there."""
    second = closure.T_second_joint
    if weld.point:
        second = second * closure.T_first_joint.actInv(closure.T_first_row)
    return closure.first, closure.T_first_row, closure.second, second


def joint_closure(
    place: Mapping[NodeId, tuple[int, Array]],
    cut: Cut,
    T_node_frame: Array,
    covectors: Array,
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
    sign = -1 if cut.on_child else 1
    return ClosureRows(
        cut,
        edge,
        first[0],
        second[0],
        first[1] @ T_node_frame,
        covectors,
        first[1] @ own,
        second[1] @ far,
        sign,
        first[1] @ cut.T_node_frame,
    )


def _tip_closure(builder: TreeBuilder, weld: Weld, covectors: Array) -> ClosureRows:
    """A closure between a body and its copy."""
    first, second = builder.place[weld.cut.node], builder.tip_place[weld.cut.edge.index]
    one, two = (place[1] @ weld.T_node_frame for place in (first, second))
    cut_frame = first[1] @ weld.cut.T_node_frame
    return ClosureRows(weld.cut, None, first[0], second[0], one, covectors, one, two, 1, cut_frame)
