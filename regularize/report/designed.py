"""What the numbers of a file were meant to be, in words."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

from regularize.as_designed.idealise import Idealised
from regularize.as_designed.relations import AxisRelation
from regularize.model.diagnostic import Diagnostic
from regularize.report.binding import BindingJoint
from regularize.report.words import LISTED, counted, degrees, listed, millimetres, names


def as_designed(meant: Idealised, binding: Sequence[BindingJoint]) -> Iterator[Diagnostic]:
    """The findings that a mechanism next to the written one moves more freely, or may do so.

    Args:
        meant: The mechanism as it was designed.
        binding: Joints that bind where it is built as it is written.
    """
    for candidate in meant.undecided:
        if candidate.missed:
            yield Diagnostic(
                "REG223",
                "note",
                f"the axes of {names(candidate.joints)} miss one point by {candidate.missed:.1g} "
                "of the distances of their frames from it: lengths are measured between axes, and "
                "whether they are meant to meet there is not decided",
                joints=candidate.joints,
                help=("write the frames where the axes are near each other, or the axes exactly",),
            )
            continue
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
    provided = "".join(
        f"the axes of {names(candidate.joints)} miss one point by {candidate.missed:.1g} of the "
        "distances of their frames from it; if they are meant to meet there, then "
        for candidate in meant.assumed
    )
    yield Diagnostic(
        "REG219",
        "note" if provided else "warning",
        f"as written, {_mobility(meant.written.finite_mobility)}; {provided}as designed, with "
        f"joints moved by at most {millimetres(translation)} and {degrees(rotation)}, "
        f"{_mobility(after.finite_mobility)}, and {counted(after.redundant, 'equation')} "
        f"{'is' if after.redundant == 1 else 'are'} redundant; `{joint}` is the furthest off",
        joints=tuple(meant.moves),
        source=mechanism.joint(joint).source,
        help=(
            _moves(meant.moves),
            *(
                f"{relation.kind}: {names(relation.joints)}, missed by {_miss(relation)}"
                for relation in meant.relations
            ),
            _binds(binding),
            "go on with what was meant: --as-designed",
        ),
    )


def _moves(moves: Mapping[str, tuple[float, float]]) -> str:
    """By how much every joint is moved, the furthest first."""
    furthest = sorted(moves.items(), key=lambda item: -sum(item[1]))
    each = [f"`{name}` {millimetres(move)}, {degrees(turn)}" for name, (move, turn) in furthest]
    more = [f"{len(each) - LISTED} more"] if len(each) > LISTED else []
    return f"moved: {'; '.join([*each[:LISTED], *more])}"


def _binds(binding: Sequence[BindingJoint]) -> str:
    """Which joints bind in what is built as it is written: those that take most of the strain."""
    if not binding:
        return "built as it is written, it binds unless its joints give way by as much"
    taken, most = 0.0, []
    for each in binding[:LISTED]:
        forced = (
            "" if each.force is None else f" under {each.force:.3g} N and {each.moment:.3g} N m"
        )
        most.append(
            f"`{each.joint}` takes {each.share:.0%} of the strain and gives way by up to "
            f"{millimetres(each.translation)} and {degrees(each.rotation)}{forced}"
        )
        taken += each.share
        if taken > 0.5:
            break
    springs = "by these stiffnesses" if binding[0].force is not None else "if all are equally stiff"
    return f"built as it is written, its joints bind; {springs}, {listed(most)}"


def _mobility(finite: int | None) -> str:
    return "whether it moves is undecided" if finite is None else f"the mobility is {finite}"


def _miss(relation: AxisRelation) -> str:
    translation, rotation = relation.translation, relation.rotation
    sizes = [millimetres(translation)] if translation or not rotation else []
    return " and ".join([*sizes, *([degrees(rotation)] if rotation else [])])
