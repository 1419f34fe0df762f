"""Equations that a model states twice: between the same two bodies, and among fixed joints."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace

from regularize.mechanism.diagnostic import Diagnostic
from regularize.mechanism.graph import NodeId, part_of
from regularize.mechanism.joint import Joint
from regularize.reduction.reduce import Reduction, reduce
from regularize.words import LISTED, counted, listed, names


@dataclass(frozen=True)
class Repeated:
    """Redundant equations between two bodies that other joints of these bodies imply."""

    bodies: tuple[str, str]
    joints: tuple[str, ...]
    count: int
    merged: bool = False  # whether mates of one joint state them, so that no loop has them


def repeated_equations(reduction: Reduction) -> Iterator[Repeated]:
    """Yield the equations of each pair of bodies that the model states more than once."""
    graph, joints = reduction.graph, reduction.mechanism.joints
    for joint in joints:
        if joint.repeated:
            yield Repeated((joint.parent, joint.child), (joint.name,), joint.repeated, merged=True)
    if not reduction.assembly.closed:
        return
    parallel: dict[frozenset[NodeId], list[Joint]] = {}
    for joint in {edge.joint.name: edge.joint for edge in graph.edges}.values():
        ends = graph.node_of[joint.parent], graph.node_of[joint.child]
        if ends[0] == ends[1] and joint.freedoms < 6:
            yield Repeated((joint.parent, joint.child), (joint.name,), 6 - joint.freedoms)
        elif joint.kind != "free":
            parallel.setdefault(frozenset(ends), []).append(joint)
    for group in parallel.values():
        count = _redundant(reduction, group) if len(group) > 1 else 0
        if count:
            yield Repeated(
                (group[0].parent, group[0].child), tuple(joint.name for joint in group), count
            )


def _redundant(reduction: Reduction, group: Sequence[Joint]) -> int:
    """Count the redundant equations of joints between the same two nodes, without all others."""
    graph, names = reduction.graph, {joint.name for joint in group}
    pair = part_of(graph, [edge.index for edge in graph.edges if edge.joint.name in names])
    if pair is None:
        return 0
    alone = reduce(pair, rtol=reduction.rtol, configurations=0, seed=reduction.seed)
    return alone.redundant - alone.repeated


def repeated_words(repeated: Sequence[Repeated]) -> str:
    """Return a clause such as ``3 equations between `a` and `b` are said twice``."""
    between: dict[tuple[str, str], int] = {}
    for entry in repeated:
        between[entry.bodies] = between.get(entry.bodies, 0) + entry.count
    total = sum(between.values())
    said = f"{'is' if total == 1 else 'are'} said twice"
    pairs = [f"between `{one}` and `{other}`" for one, other in between]
    if len(pairs) == 1:
        return f"{counted(total, 'equation')} {pairs[0]} {said}"
    each = [f"{n} {pair}" for pair, n in zip(pairs, between.values(), strict=True)]
    return f"{counted(total, 'equation')} {said}: {listed(each, min(LISTED, 3))}"


def held_already(reduction: Reduction, joint: Joint) -> Diagnostic:
    """Report a joint whose bodies fixed joints hold together without it (REG216)."""
    mechanism, pair = reduction.mechanism, f"`{joint.parent}` and `{joint.child}`"
    grounding = {
        body: weld.name
        for weld in mechanism.joints
        if weld.kind == "fixed" and weld is not joint
        for ground, body in ((weld.parent, weld.child), (weld.child, weld.parent))
        if ground == mechanism.ground
    }
    other, ways = "other " * (joint.kind == "fixed"), [f"leave `{joint.name}` out"]
    message = f"joins {pair}, which {other}fixed joints hold together already"
    if {joint.parent, joint.child} <= grounding.keys():
        message = f"joins two parts that are both grounded, {pair}"
        one, two = grounding[joint.parent], grounding[joint.child]
        ways = [f"ground one part only: leave `{one}` or `{two}` out", *ways]
    count = 6 - joint.freedoms
    if reduction.assembly.closed:
        message += ": it cannot move, and" if joint.freedoms else ":"
        message += f" {counted(count, 'equation')} of it {'is' if count == 1 else 'are'} said twice"
    message, about, help = f"joint `{joint.name}` {message}", (joint.name,), tuple(ways)
    return Diagnostic("REG216", "warning", message, joints=about, source=joint.source, help=help)


def reading_findings(reduction: Reduction) -> Iterator[Diagnostic]:
    """Yield what the reader found; no CAD system solves what loops that contradict forbid."""
    mechanism = reduction.mechanism
    closes = reduction.assembly.closed and all(f.code != "REG225" for f in mechanism.findings)
    for finding in mechanism.findings:
        if finding.code == "REG017" and not closes:
            obeyed = any(
                joint.name not in finding.joints and mechanism.ground != joint.parent
                for joint in mechanism.joints
            )
            way = "no placements fit all joints, for loops contradict each other: those saved obey "
            way += f"all joints but {names(finding.joints)}" if obeyed else "none of them"
            finding = replace(finding, help=(way,))
        yield finding
