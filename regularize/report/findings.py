"""From numbers to findings: what the report says of a mechanism, one diagnostic each."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence

import numpy as np

from regularize.lie import screw, subalgebra
from regularize.lie.arrays import Array
from regularize.lie.motion_type import GeneratedAlgebra
from regularize.loops.assembly import CLOSED
from regularize.mechanism.diagnostic import SEVERITIES, Diagnostic, Severity
from regularize.mechanism.graph import Graph
from regularize.mechanism.mechanism import Mechanism
from regularize.proofs.special import SpecialLengths
from regularize.reduction.block import Block
from regularize.reduction.rank_loss import rank_losses
from regularize.reduction.reduce import Reduction
from regularize.repair.statics.cure import Cure
from regularize.repair.statics.passive_freedoms import PassiveBody
from regularize.repair.statics.reactions import Reaction
from regularize.repair.statics.releases import too_stiff
from regularize.report.loop_report import LoopReport, closure_error, parts_of
from regularize.report.mobility_findings import limits, mobility_findings, untried
from regularize.report.nearly import in_world, nearly_special
from regularize.report.repeated import held_already, reading_findings
from regularize.tolerances import UNNOTICED, UNSEEN
from regularize.words import (
    axis_words,
    counted,
    degrees,
    gap_words,
    is_slack,
    listed,
    millimetres,
    milliradians,
    motion_words,
    names,
    nearness_words,
    point_words,
)

#: Loops that are open by more than this share of their size, or this angle, may be meant otherwise.
FAR = 0.1


def findings(
    reduction: Reduction,
    loops: Sequence[LoopReport],
    reactions: Sequence[Reaction],
    cures: Sequence[Cure],
    passive: Sequence[PassiveBody],
    near: float,
    special: Sequence[SpecialLengths],
) -> list[Diagnostic]:
    """Return all findings of an analysis: errors, then warnings, then notes."""
    proved_cuts = frozenset(name for part in special for name in part.cuts)
    result = list[Diagnostic]()
    if not reduction.assembly.closed:
        result += open_loops(reduction, loops)
    elif max(reduction.assembly.worst_before) > UNNOTICED:  # metres and radians
        result.append(_saved_open(reduction))
    result += [held_already(reduction, joint) for joint in reduction.idle_joints]
    for loop in loops:
        result += _loop_findings(reduction, loop)
    for part in reduction.parts:
        part_loops = [loop for loop in loops if loop.part is part]
        result += _part_findings(reduction, part, part_loops, near, proved_cuts)
    for proved in special:
        result += _special_finding(reduction, loops, proved)
    result += [*limits(reduction), *untried(reduction), *rank_losses(reduction)]
    result += [*mobility_findings(reduction, passive), *too_stiff(reduction, cures)]
    if undetermined := tuple(r.joint for r in reactions if not r.unique):
        count = counted(len(undetermined), "joint")
        text = f"the model does not determine the reactions of {count} in every direction: "
        found = Diagnostic("REG220", "note", text + names(undetermined), joints=undetermined)
        result.append(found)
    return by_severity([*result, *reading_findings(reduction)])


def by_severity(found: Iterable[Diagnostic]) -> list[Diagnostic]:
    """Sort findings: errors, then warnings, then notes."""
    return sorted(found, key=lambda diagnostic: SEVERITIES.index(diagnostic.severity))


def _special_finding(
    reduction: Reduction, loops: Sequence[LoopReport], special: SpecialLengths
) -> Iterator[Diagnostic]:
    """Report the rows proved redundant in a part that moves only for its lengths."""
    from regularize.proofs.prove import UNNAMED  # few mechanisms need proofs

    affected = [loop for loop in loops if loop.cut.edge.name in special.cuts]
    family = "" if special.family == UNNAMED else f", those of the family `{special.family}`"
    removed = sum(loop.cut.numerical.shape[1] for loop in affected) >= special.rows
    where = names([loop.name for loop in affected])
    yield Diagnostic(
        "REG230",
        "warning",
        f"{_equations_are(special.rows, where)} redundant for these dimensions{family}: proved by "
        f"the motion, for joints {nearness_words(special.distance)}, up to where the other rows "
        f"lose their rank; {'removed' if removed else 'kept'}",
        loop=affected[0].name if len(affected) == 1 else None,
        joints=tuple(dict.fromkeys(name for loop in affected for name in loop.joints)),
        source=affected[0].cut.edge.joint.source if affected else None,
        help=() if reduction.numerical else ("they are removed with `numerical=True`",),
    )


def _saved_open(reduction: Reduction) -> Diagnostic:
    """Report that the model was saved open, as a warning if by much."""
    sizes = {
        reduction.graph.edges[e].joint.name: part.length
        for part in reduction.parts
        for e in part.edges
    }
    wide = [
        gap.joint
        for gap in reduction.assembly.before
        if gap.translation > FAR * sizes.get(gap.joint, np.inf) or gap.rotation > FAR
    ]
    message = f"the model was saved open by {gap_words(*reduction.assembly.worst_before)}"
    if not wide:
        return Diagnostic("REG104", "note", f"{message}; it was closed before the analysis")
    message += f", more than a tenth of its size at {names(wide)}; it was closed before the "
    message += "analysis, in the assembly mode next to the stored pose that was found, which need "
    message += "not be the one that was meant"
    joints, source = tuple(wide), reduction.mechanism.joint(wide[0]).source
    help = ("store the coordinates at which the loops are closed",)
    return Diagnostic("REG104", "warning", message, joints=joints, source=source, help=help)


def _loop_findings(reduction: Reduction, loop: LoopReport) -> Iterator[Diagnostic]:
    """Report the redundant equations of a loop."""
    if not loop.redundant or loop.cut.edge.joint in reduction.idle_joints:
        return  # of the latter another finding tells
    special = loop.category == "paradoxical"
    shaky = special and moves_less(reduction, loop.part)
    if special and not shaky:
        kind = "moves for its special dimensions"
    elif loop.category == "trivial" or (shaky and loop.motion.dimension < 6):
        kind = _is_words(loop.motion.name)
    elif all(len(equation.fixed_by) == 1 for equation in loop.removed):
        kind = f"closes a {loop.removed[0].fixed_by[0].motion.name} chain"
    elif all(equation.fixed_by for equation in loop.removed):
        kind = "consists of two chains that never move in some direction"
    else:
        kind = "is held by the other loops in some direction"
    if loop.locked:
        edges = [e for e in loop.cut.cycle.edges if e not in loop.part.locked]
        rest = np.hstack([np.zeros((6, 0)), *(loop.part.screws[e] for e in edges)])
        left = GeneratedAlgebra(rest, reduction.tolerances.rtol)
        kind = _is_words(left.type.name) if left.dimension < 6 else kind
        kind = f"holds {names(loop.locked)} still and {kind}" if rest.size else "is locked"
    text = f"loop `{loop.name}` {kind}: {loop.redundant} of the {loop.cut.constraints} constraint "
    text += f"equations of closing joint `{loop.closing}` "
    text += f"{'is' if loop.redundant == 1 else 'are'} redundant"
    help = ("change joints as the report says, or drop them in the simulation model",)
    source = loop.cut.edge.joint.source
    yield Diagnostic("REG201", "warning", text, loop.name, loop.joints, source, help)


def _equations_are(count: int, where: str, noun: str = "equation") -> str:
    """Return the beginning of a sentence, such as ``2 equations of `L1` are``."""
    return f"{counted(count, noun)} of {where} {'is' if count == 1 else 'are'}"


def _is_words(motion: str) -> str:
    """Return the verb phrase of a loop's motion: ``is planar``, ``makes translations only``."""
    return f"makes {motion} only" if motion.startswith("translation") else f"is {motion}"


def moves_less(reduction: Reduction, part: Block) -> bool:
    """Whether the motions of a part are known, and are not all that its velocities allow."""
    cell = reduction.cell_at[part.edges[0]]
    return cell.finite is not None and cell.finite != cell.actual


def _part_findings(
    reduction: Reduction,
    part: Block,
    loops: Sequence[LoopReport],
    near: float,
    known: frozenset[str],
) -> Iterator[Diagnostic]:
    """Report other redundancy, locked joints and nearly special loops of a part."""
    graph = reduction.graph
    joints = graph.joint_names(part.edges)
    left = part.surplus
    topological = min(part.topological, max(left, 0))
    special_proved = bool({loop.cut.edge.name for loop in loops} & known)
    source = loops[0].cut.edge.joint.source if loops else None
    where = names([loop.name for loop in loops])
    numerical = "numerical evidence may do to remove them: `numerical=True`"
    if part.proved and topological:
        generic = ""
        if part.generic is not None:
            generic = f" (exact: rank {part.generic.rank} of {part.generic.equations} there)"
        text = f"redundant for any lengths and unrelated axes{generic}: the graph and the joint "
        message = f"{_equations_are(topological, where)} {text}types make it so"
        yield Diagnostic("REG210", "warning", message, joints=joints, source=source)
    shaky = moves_less(reduction, part)
    if part.proved and part.related and not shaky and not special_proved:
        tried = counted(part.lengths_tried, "set")
        text = f"redundant for all lengths tried ({tried}), which move alike with the same "
        text += "relations of the axes: kept, for the joint axes alone do not prove it"
        message = f"{_equations_are(part.related, where)} {text}"
        help = (numerical,)
        yield Diagnostic("REG238", "warning", message, joints=joints, source=source, help=help)
    paradoxical = left - topological - part.related
    if part.proved and paradoxical > 0 and not special_proved:
        noun = "more equation" if topological or part.related else "equation"
        reason = "other lengths were not tried, for gears or the like tie the joints together"
        if part.lengths_tried:
            tried = counted(part.lengths_tried, "other set")
            reason = f"not with {tried} of lengths and the same relations of the axes"
        elif part.generic is not None:
            independent = min(part.generic.rank - part.rank, paradoxical)
            reason = f"for unrelated axes {independent} more would be independent"
        owed = f"owed to special dimensions ({reason})"
        yield Diagnostic(
            "REG235" if shaky else "REG202",
            "warning",
            f"{_equations_are(paradoxical, where, noun)} "
            + (
                f"dependent at first order and needed, {owed}: not redundant, for the mechanism is "
                "held at second order"
                if shaky
                else f"redundant at all configurations visited, {owed}: kept, for the joint axes "
                "alone do not prove it"
            ),
            loop=loops[0].name if len(loops) == 1 else None,
            joints=joints,
            source=source,
            help=() if shaky else (numerical,),
        )
    if reduction.assembly.closed and not part.proved:
        text = f"walking on the reduced equations opened {where}; all equations are kept there"
        yield Diagnostic("REG215", "warning", text, joints=joints, source=source)
    # Slack joints never move: that is what they are for.
    locked = [name for name in _locked_joints(graph, part) if not is_slack(name)]
    bases = [name for name in locked if graph.mechanism.joint(name).kind == "free"]
    for held in ([name for name in locked if name not in bases], bases):
        if held:
            severity: Severity = "note" if held is bases else "warning"  # held on purpose
            text = f"{counted(len(held), 'joint')} can never move: {names(held)}"
            about, place = tuple(held), graph.mechanism.joint(held[0]).source
            yield Diagnostic("REG206", severity, text, joints=about, source=place)
    for special in nearly_special(graph, part, near=near, rtol=reduction.tolerances.rtol):
        family = in_world(special.family, part.center, part.length)
        amount = f"{milliradians(special.angle)} ({degrees(special.angle)})"
        if special.distance > UNSEEN * special.angle * part.length:
            amount += f" and {millimetres(special.distance)}"
        around = names([graph.edges[e].joint.name for e in special.cycle.edges])
        text = f"the loop of {around} is nearly {motion_words(family)}: joint `{special.joint}` is "
        text += f"off by {amount}; exactly so, {counted(6 - family.dimension, 'equation')} would "
        text += "be redundant"
        place = graph.mechanism.joint(special.joint).source
        help = (f"correct the axis of `{special.joint}`",)
        about = (special.joint,)
        yield Diagnostic("REG204", "warning", text, joints=about, source=place, help=help)


def _locked_joints(graph: Graph, part: Block) -> list[str]:
    """Return names of joints that can never move, but for those in series with a moving one."""
    if not part.locked:
        return []
    held = {graph.edges[e].joint.name for e in part.locked}
    held -= {graph.edges[e].joint.name for e in part.edges if e not in part.locked}
    mechanism = graph.mechanism
    light = {b.name for b in mechanism.bodies if b.inertia is not None and b.inertia.mass == 0.0}
    rows = [{j.name for j in mechanism.joints if body in (j.parent, j.child)} for body in light]
    giving = {name for row in rows if len(row) == 2 and row - held for name in row}
    return [joint.name for joint in mechanism.joints if joint.name in held - giving]


def open_loops(reduction: Reduction, loops: Sequence[LoopReport]) -> Iterator[Diagnostic]:
    """Yield one error for every loop that keeps the mechanism open."""
    assembly, worst = reduction.assembly, reduction.assembly.worst_after
    culprits = [(obstacle.loop, obstacle.joints, obstacle.gap) for obstacle in assembly.obstacles]
    if not culprits:
        culprits = [
            (gap.joint, (gap.joint,), gap)
            for gap in assembly.after
            if gap.translation > 0.1 * worst[0] or gap.rotation > 0.1 * worst[1]
        ]
    for closing, joints, gap in culprits:
        loop = next((loop for loop in loops if set(joints) == set(loop.joints)), None)
        missed = None if loop is None else _contradiction(reduction, loop)
        left = gap_words(gap.translation, gap.rotation)
        if loop is not None and missed is not None:
            left = gap_words(*_metres_and_radians(missed[0]))
            message = (
                f"loop `{loop.name}` cannot be closed: its redundant equations contradict each "
                f"other at joint `{loop.closing}`; {left} stay open"
            )
            ways = [
                _closing_advice(reduction, loop, *missed),
                "or let joint frames move as little as closes it: --absorb-gaps",
            ]
        else:
            message = f"the loop through joint `{closing}` cannot be closed"
            message += (
                f" near the pose as given: {left} stay open, and it closes at another pose only"
                if assembly.elsewhere
                else f": no configuration was found in which less than {left} stay open"
            )
            ways = [f"check the frames of joint `{closing}` and the lengths of {names(joints)}"]
            ways += _of_two_parents(reduction.mechanism, closing)
        yield Diagnostic(
            "REG101" if missed is None else "REG205",
            "error",
            message,
            loop=None if loop is None else loop.name,
            joints=joints,
            source=reduction.mechanism.joint(closing).source,
            help=tuple(ways),
        )


def _of_two_parents(mechanism: Mechanism, closing: str) -> Iterator[str]:
    """Say where URDF puts the second joint of a link that has two parents."""
    for finding in mechanism.findings:
        if finding.code == "REG010" and closing in finding.joints and len(finding.joints) == 2:
            link = mechanism.joint(closing).child
            yield (
                f"URDF puts both {names(finding.joints)} into the origin of `{link}`: write "
                f"`{closing}` as a URDF+ <loop>, whose <successor> has an <origin> of its own"
            )


def _metres_and_radians(twist: Array) -> tuple[float, float]:
    """Return the metres and radians of a twist."""
    return float(np.linalg.norm(twist[:3])), float(np.linalg.norm(twist[3:]))


def _closing_advice(reduction: Reduction, loop: LoopReport, missed: Array, idle: bool) -> str:
    """Describe the gap of a loop that stays open, and the joint frame to move."""
    slid, turned = _metres_and_radians(missed)
    ways = []
    if slid > CLOSED * loop.part.length:
        along = axis_words(missed[:3] / slid)
        ways.append((f"{millimetres(slid)} along {along}", f"by {point_words(missed[:3])}"))
    if turned > CLOSED:
        about = f"{degrees(turned)} about {axis_words(missed[3:] / turned)}"
        ways.append((about, f"through {about}"))
    edge, graph = loop.cut.edge, reduction.graph
    inside = edge.joint in reduction.idle_joints
    body = edge.joint.parent if inside else parts_of(graph, edge.parent, [edge.joint])[0]
    return (
        f"the two frames of `{loop.closing}` miss each other by "
        f"{listed([miss for miss, _ in ways])}"
        f"{', which does not matter for the motion' if idle else ''}: move that on "
        f"`{body}` {listed([move for _, move in ways])} "
        f"(axes of the ground), or relax `{loop.closing}` there"
        f"{'' if idle else '; then see whether the loop moves as it should'}"
    )


def _contradiction(reduction: Reduction, loop: LoopReport) -> tuple[Array, bool] | None:
    """Return the gap that no joint of the loop can close, as a twist, and whether it is idle."""
    part, cut = loop.part, loop.cut
    chain_screws = [part.screws[e] for e in cut.cycle.edges if e != cut.edge.index]
    algebra = subalgebra.lie_closure(np.hstack(chain_screws), reduction.tolerances.rtol)
    idle = algebra.shape[1] < 6
    error = closure_error(reduction, cut, part.center)
    error[:3] /= part.length
    reachable = np.hstack([algebra[:, : 6 * idle], part.screws[cut.edge.index]])
    if cut.edge.joint.kind == "spherical":  # two points, whatever turns about them
        arm = (loop.point - part.center) / part.length
        to_point = np.hstack([np.eye(3), -screw.cross_matrix(arm)])
        error, reachable = to_point @ error, to_point @ reachable
    outside = error - reachable @ np.linalg.lstsq(reachable, error, rcond=None)[0]
    if np.linalg.norm(outside) <= 0.5 * np.linalg.norm(error) if idle else not reduction.redundant:
        return None
    if len(outside) == 3:
        return np.concatenate([part.length * outside, np.zeros(3)]), idle
    slid = part.length * outside[:3] + screw.cross(outside[3:], loop.point - part.center)
    return np.concatenate([slid, outside[3:]]), idle
