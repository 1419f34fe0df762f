"""What the reports for people say about one loop, or about loops that are alike."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from regularize.report.loop_report import Equation, LoopReport
from regularize.report.nearly import in_world
from regularize.report.reasons import FixingChain
from regularize.words import Direction, axis_words, listed, millimetres, milliradians, motion_words

#: Joints named one by one in a row of a table; longer chains are numbered below it.
FEW = 3
#: Kinds of loops shown in full before the others are folded or left to the table.
SHOWN = 4
#: Names of motions that read badly in a table.
SPATIAL = {"full": "spatial"}


def group_name(loops: Sequence[LoopReport]) -> str:
    """Return the names of loops in short: ``L1``, ``L1 to L12`` or ``L1, L4 and L7``."""
    found = [loop.name for loop in loops]
    numbers = [int(name[1:]) for name in found]
    if len(found) > 2 and numbers == list(range(numbers[0], numbers[-1] + 1)):
        return f"{found[0]} to {found[-1]}"
    return listed(found, most=4)


def groups(loops: Iterable[LoopReport]) -> list[list[LoopReport]]:
    """Group loops with equal motion, number of joints and equations, for one table row each."""
    found: dict[object, list[LoopReport]] = {}
    for loop in loops:
        alike = (
            loop.component if loop.category == "paradoxical" else None,
            loop.category,
            loop.motion.name,
            loop.cut.constraints,
            loop.cut.kept,
            loop.labels,
            len(loop.joints),
            bool(loop.locked),
        )
        found.setdefault(alike, []).append(loop)
    return list(found.values())


def chain(loop: LoopReport, ground: str) -> list[tuple[str, str]]:
    """Return the loop as pairs (kind, name): bodies and joints in turn, from the ground."""
    bodies = ["+".join(parts) for parts in loop.parts]
    start = bodies.index(ground) if ground in bodies else 0
    bodies = [*bodies[start:], *bodies[:start]]
    joints = (*loop.joints[start:], *loop.joints[:start])
    links: list[tuple[str, str]] = [("body", bodies[0])]
    for joint, body in zip(joints, (*bodies[1:], bodies[0]), strict=True):
        links += [("cut" if joint == loop.closing else "joint", joint), ("body", body)]
    return links


def motion(loop: LoopReport) -> str:
    """Return the motion type of a loop in words."""
    if loop.motion.dimension == 6:
        return "spatial: its joints keep to no motion group"
    of = " of the ground" if loop.motion.direction is not None else ""
    return motion_words(loop.motion) + of


def rows(loop: LoopReport) -> list[tuple[str, str, str, str]]:
    """Return direction, status, reason and residual of the six directions at the closing joint."""
    found = [
        *((e.direction, "kept", "", residual(e)) for e in loop.kept),
        *((e.direction, "redundant", _because(loop, e), residual(e)) for e in loop.removed),
        *((direction, "free", f"{loop.closing} moves here", "") for direction in loop.free),
    ]
    return [
        (direction.words("translation", "rotation"), status, because, error)
        for direction, status, because, error in sorted(found, key=lambda row: _order(row[0]))
    ]


def _order(direction: Direction) -> tuple[int, bool, str]:
    """Return a sorting key: translations before rotations, along X, Y, Z."""
    axis = direction.covector[3:] if direction.kind == "angular" else direction.covector[:3]
    words = axis_words(axis)
    return ("linear", "angular", "mixed").index(direction.kind), len(words) > 1, words


def residual(equation: Equation) -> str:
    """Return a closure error with its unit."""
    if equation.direction.kind == "linear":
        return millimetres(equation.residual)
    return milliradians(equation.residual)


def _because(loop: LoopReport, equation: Equation) -> str:
    """Name the joints that fulfil a redundant equation already."""
    joints = [joint for link in equation.fixed_by for joint in link.joints]
    if not joints:
        return "the other loops" if len(loop.part.cuts) > 1 else "the chains of the loop"
    if len(joints) <= FEW:
        return ", ".join(joints)
    if len(joints) == len(set(loop.joints)) - 1:
        return f"the other {len(joints)} joints"
    return ", ".join(joints[:FEW]) + " …"


def reasons(loop: LoopReport) -> list[str]:
    """Return a sentence for each distinct proof that equations of a loop are redundant."""
    found: dict[tuple[tuple[str, ...], ...], list[Equation]] = {}
    for equation in loop.removed:
        found.setdefault(tuple(link.joints for link in equation.fixed_by), []).append(equation)
    sentences = []
    for equations_ in found.values():
        chains = equations_[0].fixed_by
        sentence = "; ".join(_generates(loop, link) for link in chains)
        if not chains:
            sentence = (
                "ruled out by the other loops that share bodies with this one"
                if len(loop.part.cuts) > 1
                else "its chains never move so, though the groups of their motions would"
            )
        if len(found) > 1:
            sentence = f"{listed([e.label for e in equations_])}: {sentence}"
        sentences.append(sentence)
    return sentences


def _generates(loop: LoopReport, link: FixingChain) -> str:
    """Return words for the motion group that a chain of joints generates."""
    motion = motion_words(in_world(link.motion, loop.part.center, loop.part.length))
    name, _, details = motion.partition(", ")
    verb = "generates" if len(link.joints) == 1 else "generate"
    where = f" ({details})" if details else ""
    return f"{listed(link.joints, most=8)} {verb} {name} motion only{where}"


def choices(loop: LoopReport) -> str | None:
    """Return a sentence on other joints that could close the loop, or None."""
    others = [joint for joint in loop.interchangeable if joint != loop.closing]
    if not others:
        return None
    where = f"any of the other {len(others)} joints"
    where = listed(others, last="or") if len(others) <= FEW else where
    choice = f"{loop.closing} is one choice: closed at {where} instead"
    return f"{choice}, {loop.redundant} would be redundant just as well"
