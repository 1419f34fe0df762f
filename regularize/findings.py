"""From numbers to findings: what the report says of a mechanism, one diagnostic each."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import numpy as np

from regularize.analysis import Part, Reduction
from regularize.diagnostic import Diagnostic
from regularize.directions import axis_words
from regularize.idle import idle_bodies
from regularize.loop_report import LoopReport
from regularize.nearly import in_world, nearly_special
from regularize.reactions import Reaction
from regularize.subalgebra import MotionType

#: A change of a stored pose below these is rounding, not news.
NOTICEABLE = (1e-6, 1e-6)


def motion_words(motion: MotionType) -> str:
    """For example ``planar, normal along Y`` or ``spherical about (0, 0, 1) m``."""
    words = [motion.name]
    if motion.name.startswith("planar") or motion.name == "translations in a plane":
        words.append(f"normal along {axis_words(_direction(motion))}")
    elif motion.direction is not None:
        words.append(f"axis along {axis_words(motion.direction)}")
    if motion.name == "spherical" and motion.point is not None:
        words.append("centre at (" + ", ".join(f"{x + 0.0:.4g}" for x in motion.point) + ") m")
    if motion.pitch is not None:
        words.append(f"pitch {motion.pitch * 1e3:.4g} mm/rad")
    return ", ".join(words)


def _direction(motion: MotionType) -> np.ndarray[tuple[int, ...], np.dtype[np.float64]]:
    return np.zeros(3) if motion.direction is None else motion.direction


def findings(
    reduction: Reduction,
    loops: Sequence[LoopReport],
    reactions: Sequence[Reaction],
    near: float,
) -> Iterator[Diagnostic]:
    """All findings, the most severe matters first within each subject."""
    yield from reduction.mechanism.findings
    yield from _assembly(reduction)
    for loop in loops:
        yield from _loop(reduction, loop)
    for part in reduction.parts:
        yield from _part(reduction, part, [loop for loop in loops if loop.part is part], near)
    yield from _mobility(reduction)
    undetermined = [r.joint for r in reactions if not r.unique]
    if undetermined:
        yield Diagnostic(
            "REG220",
            "note",
            f"the reactions of {counted(len(undetermined), 'joint')} are not determined by the "
            f"model in every direction: {names(undetermined)}",
            joints=tuple(undetermined),
        )


def counted(number: int, noun: str) -> str:
    """``1 joint``, ``2 joints``."""
    return f"{number} {noun}" if number == 1 else f"{number} {noun}s"


def names(entries: Sequence[str], most: int = 6) -> str:
    """Names in backquotes, shortened where there are many."""
    shown = ", ".join(f"`{entry}`" for entry in entries[:most])
    rest = len(entries) - most
    return shown if rest <= 0 else f"{shown} and {rest} more"


def gap_words(translation: float, rotation: float) -> str:
    """A gap in millimetres and degrees."""
    return f"{translation * 1e3:.3g} mm and {np.degrees(rotation):.3g}°"


def _assembly(reduction: Reduction) -> Iterator[Diagnostic]:
    assembly = reduction.assembly
    before, after = assembly.worst_before, assembly.worst_after
    if not assembly.closed:
        code = "REG205" if reduction.redundant > 0 else "REG101"
        reason = (
            "its redundant equations contradict each other"
            if code == "REG205"
            else "no configuration was found"
        )
        open_joints = [
            gap.joint
            for gap in assembly.after
            if gap.translation > 1e-3 * after[0] or gap.rotation > 1e-3 * after[1]
        ]
        yield Diagnostic(
            code,
            "error",
            f"the loops through {names(open_joints)} cannot be closed: {gap_words(*after)} stay "
            f"open; {reason}",
            joints=tuple(open_joints),
            source=reduction.mechanism.joint(open_joints[0]).source if open_joints else None,
            help=("check the frames of the closing joints and the lengths of the links",),
        )
    elif before[0] > NOTICEABLE[0] or before[1] > NOTICEABLE[1]:
        yield Diagnostic(
            "REG104",
            "note",
            f"the model was saved open by {gap_words(*before)} and was closed to "
            f"{gap_words(*after)} before the analysis",
        )
    for joint in reduction.graph.rigid_loops:
        yield Diagnostic(
            "REG216",
            "warning",
            f"fixed joint `{joint.name}` joins bodies that other fixed joints join already",
            joints=(joint.name,),
            source=joint.source,
        )


def _loop(reduction: Reduction, loop: LoopReport) -> Iterator[Diagnostic]:
    removed = loop.cut.constraints - loop.cut.kept
    if not removed:
        return
    joint = loop.cut.edge.joint
    kind = loop.motion.name if loop.category == "trivial" else loop.category
    path = reduction.mechanism.path or "MODEL"
    yield Diagnostic(
        "REG201",
        "warning",
        f"loop `{loop.name}` is {kind}: {removed} of the {loop.cut.constraints} constraint "
        f"equations of closing joint `{joint.name}` are redundant",
        loop=loop.name,
        joints=loop.joints,
        source=joint.source,
        help=(f"drop them in the model: regularize reduce {path} -o reduced/",),
    )


def _part(
    reduction: Reduction, part: Part, loops: Sequence[LoopReport], near: float
) -> Iterator[Diagnostic]:
    graph = reduction.graph
    joints = tuple(dict.fromkeys(graph.edges[e].joint.name for e in part.edges))
    left = sum(c.kept + c.edge.freedoms for c in part.cuts) - part.rank
    source = loops[0].cut.edge.joint.source if loops else None
    where = names([loop.name for loop in loops])
    if part.proved and part.topological and left > 0:
        yield Diagnostic(
            "REG210",
            "warning",
            f"{counted(part.topological, 'equation')} of {where} "
            "redundant for any lengths: the graph and the joint types make it so",
            joints=joints,
            source=source,
        )
    paradoxical = left - part.topological
    if part.proved and paradoxical > 0:
        yield Diagnostic(
            "REG202",
            "warning",
            f"{counted(paradoxical, 'more equation')} of {where} redundant at all configurations "
            "visited, owed to special dimensions: kept, for geometry does not prove it",
            loop=loops[0].name if len(loops) == 1 else None,
            joints=joints,
            source=source,
            help=("remove on numerical evidence: regularize.reduce(mechanism, numerical=True)",),
        )
    if reduction.assembly.closed and not part.proved:
        yield Diagnostic(
            "REG215",
            "warning",
            f"walking on the reduced equations opened {where}; all equations are kept there",
            joints=joints,
            source=source,
        )
    if part.locked:
        locked = list(dict.fromkeys(graph.edges[e].joint.name for e in part.locked))
        yield Diagnostic(
            "REG206",
            "warning",
            f"{counted(len(locked), 'joint')} can never move: {names(locked)}",
            joints=tuple(locked),
            source=graph.mechanism.joint(locked[0]).source,
        )
    for special in nearly_special(graph, part, near=near, rtol=reduction.rtol):
        family = in_world(special.family, part.center, part.length)
        amount = f"{special.angle * 1e3:.3g} mrad ({np.degrees(special.angle):.3g}°)"
        if special.distance > 1e-3 * special.angle * part.length:
            amount += f" and {special.distance * 1e3:.3g} mm"
        yield Diagnostic(
            "REG204",
            "warning",
            f"the loop of {names([graph.edges[e].joint.name for e in special.cycle.edges])} is "
            f"nearly {motion_words(family)}: joint `{special.joint}` is off by {amount}; exactly "
            f"so, {counted(special.gained, 'more equation')} would be redundant",
            joints=(special.joint,),
            source=graph.mechanism.joint(special.joint).source,
            help=(f"correct the axis of `{special.joint}`",),
        )


def _mobility(reduction: Reduction) -> Iterator[Diagnostic]:
    graph = reduction.graph
    for cell in reduction.cells:
        joints = tuple(dict.fromkeys(graph.edges[e].joint.name for e in cell.edges))
        if cell.here.rank < cell.generic.rank:
            yield Diagnostic(
                "REG203",
                "note",
                f"the assembled pose is singular: rank {cell.here.rank} here, "
                f"{cell.generic.rank} elsewhere ({names(joints)})",
                joints=joints,
            )
        if cell.finite < cell.actual:
            yield Diagnostic(
                "REG208",
                "warning",
                f"of {counted(cell.actual, 'freedom')} of velocity only {cell.finite} "
                f"{'is' if cell.finite == 1 else 'are'} followed by a finite motion "
                f"({names(joints)})",
                joints=joints,
            )
        if len(cell.modes) > 1:
            modes = ", ".join(f"{mobility}" for mobility, _ in cell.modes)
            yield Diagnostic(
                "REG213",
                "note",
                f"motions of different mobility start at the assembled pose: {modes} "
                f"({names(joints)})",
                joints=joints,
            )
        if cell.generic.lowest != cell.generic.highest:
            yield Diagnostic(
                "REG214",
                "note",
                f"the rank is {cell.generic.rank}, but between {cell.generic.lowest} and "
                f"{cell.generic.highest} for tolerances a hundred times larger or smaller "
                f"({names(joints)})",
                joints=joints,
            )
    for body in idle_bodies(reduction):
        yield Diagnostic(
            "REG207",
            "note",
            f"body `{body.name}` spins about the line along {axis_words(body.axis)} through "
            f"{names(body.joints)} without moving anything else",
            joints=body.joints,
        )
    if reduction.cells and reduction.finite_mobility == 0:
        yield Diagnostic("REG209", "warning", "the loops allow no motion: mobility 0")
