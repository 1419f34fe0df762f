"""Whether independent coordinates are those of the motors."""

from __future__ import annotations

from collections.abc import Collection, Iterable

from regularize.model.diagnostic import Diagnostic
from regularize.model.graph import actuated_coordinates
from regularize.model.mechanism import Mechanism


def not_the_motors(
    mechanism: Mechanism, names: Collection[str], chosen: Collection[str]
) -> tuple[Diagnostic, ...]:
    """Say so where the coordinates that were chosen are not those of the motors.

    Args:
        mechanism: The mechanism.
        names: Coordinates that the model has: those of cut joints are none.
        chosen: Independent ones.
    """
    motors = {*actuated_coordinates(mechanism)}
    if motors <= {*chosen} or {*chosen} <= motors:
        return ()
    cut = sorted(motors.difference(names))
    reason = (
        f"at {_quoted(cut)} loops are cut, so that no coordinate is there"
        if cut
        else "at the start these do not determine the others well"
    )
    return (
        Diagnostic(
            "REG331",
            "note",
            f"the independent coordinates are {_quoted(chosen)} and not those of the motors "
            f"{_quoted(sorted(motors))}: {reason}",
            joints=tuple(chosen),
        ),
    )


def _quoted(names: Iterable[str]) -> str:
    return ", ".join(f"`{name}`" for name in names)
