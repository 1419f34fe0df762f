r"""Pinocchio's constraint models that hold the closures of a model as it is.

An anchor has the rows of a point or of a frame. Forces through points of a hinge's axis do no work
on it, so one or two points hold a hinge; other joints are held by a frame whose axes are those of
the joint. On the loops a few of these rows imply the others: they take a compliance, and as what
they say holds anyway their multiplier is zero. Rows along the joint's own freedoms take a
compliance so large that their multiplier is zero to rounding.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import numpy as np

from regularize.errors import UnsupportedExport
from regularize.lie import screw
from regularize.lie.directions import TOLERANCE
from regularize.lie.screw import Array
from regularize.mechanism.joint import perpendiculars
from regularize.pinocchio.closure_rows import ClosureRows
from regularize.pinocchio.styles import COMPLIANCE, Anchor
from regularize.pinocchio.welds import coordinate_frame, point_frame, seen_from
from regularize.reduction.cuts import Cut, independent_rows


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
    rows, work = [], []
    for T, size in frames:
        T_scaled = np.array(T)
        T_scaled[:3, 3] /= cut.length
        rows.append(seen_from(cut, T)[:size])
        work.append((screw.adjoint(screw.inverse(T_scaled)) @ cut.freedoms)[:size])
    on_twists = np.vstack(rows)
    free = np.any(np.abs(np.vstack(work)) > TOLERANCE, axis=1)
    count = cut.kept + cut.thinned.shape[1] + cut.numerical.shape[1]
    if free.all() or (free.any() and len(on_twists) == 3):
        return None
    values = np.linalg.svd(on_twists[~free], compute_uv=False)
    if np.sum(values > TOLERANCE) != count:
        return None
    result = np.full(len(on_twists), COMPLIANCE)
    result[free] = COMPLIANCE / np.finfo(np.float64).eps
    result[np.flatnonzero(~free)[independent_rows(on_twists[~free], count)]] = 0.0
    return result
