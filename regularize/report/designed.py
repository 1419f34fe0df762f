"""What the numbers of a file were meant to be, in words."""

from __future__ import annotations

from collections.abc import Iterator

from regularize.as_designed.idealise import Idealised
from regularize.as_designed.relations import AxisRelation
from regularize.model.diagnostic import Diagnostic
from regularize.report.words import counted, degrees, millimetres, names


def as_designed(meant: Idealised) -> Iterator[Diagnostic]:
    """The findings that a mechanism next to the written one moves more freely, or may do so."""
    for candidate in meant.undecided:
        one = candidate.motions == 1
        found = "was not found nearby" if candidate.searched else "is too far off to be looked for"
        yield Diagnostic(
            "REG223",
            "note",
            f"{counted(candidate.motions, 'motion')} of {names(candidate.joints)} may have been "
            f"meant: what forbids {'it' if one else 'them'} is weak (singular values up to "
            f"{candidate.size:.1g} of the largest), as noise in the numbers would make it; the "
            f"mechanism that was meant {found}",
            joints=candidate.joints,
            help=("look further with --near 0.05, or write the numbers with more digits",),
        )
    if not meant.changed:
        return
    mechanism, after = meant.written.mechanism, meant.reduction
    translation, rotation = meant.distance
    joint = max(meant.moves, key=lambda name: sum(meant.moves[name]))
    yield Diagnostic(
        "REG219",
        "warning",
        f"as written, {_mobility(meant.written.finite_mobility)}; as designed, with joints moved "
        f"by at most {millimetres(translation)} and {degrees(rotation)}, "
        f"{_mobility(after.finite_mobility)}, and {counted(after.redundant, 'equation')} "
        f"{'is' if after.redundant == 1 else 'are'} redundant; `{joint}` is the furthest off",
        joints=tuple(meant.moves),
        source=mechanism.joint(joint).source,
        help=tuple(
            f"{relation.kind}: {names(relation.joints)}, missed by {_miss(relation)}"
            for relation in meant.relations
        ),
    )


def _mobility(finite: int | None) -> str:
    return "whether it moves is undecided" if finite is None else f"the mobility is {finite}"


def _miss(relation: AxisRelation) -> str:
    return degrees(relation.rotation) if relation.rotation else millimetres(relation.translation)
