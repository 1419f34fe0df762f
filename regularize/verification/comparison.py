"""What the comparisons of single data share: who stands for whom, and when numbers are the same."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike

from regularize.lie.screw import Array
from regularize.model.diagnostic import Diagnostic, Severity
from regularize.model.mechanism import Joint
from regularize.verification.pairing import Pairing
from regularize.verification.places import Placement


@dataclass(frozen=True, eq=False)
class Comparison:
    """A comparison of two paired mechanisms.

    Attributes:
        pairing: Their bodies and joints.
        places: Where these are.
        target: What findings call the second one.
        rtol: Differences that count as none.
    """

    pairing: Pairing
    places: Placement
    target: str
    rtol: float

    def find(
        self, code: str, message: str, *joints: str, severity: Severity = "warning"
    ) -> Diagnostic:
        """A finding about the second mechanism."""
        return Diagnostic(code, severity, f"{self.target}: {message}", joints=joints)

    def comparable(self) -> Iterator[Joint]:
        """Joints whose freedoms correspond to those of the file one to one."""
        for joint in self.pairing.before.joints:
            if joint.freedoms and len(self.pairing.freedoms(joint)) == joint.freedoms:
                yield joint

    def shifts(self, joint: Joint) -> Array:
        """By how much the zero of each coordinate has moved."""
        if joint.name in self.places.before.closures or joint.group:
            return np.zeros(joint.freedoms)
        shifts = self.places.shifts(joint)
        return np.asarray(np.where(np.abs(shifts) > self.rtol, shifts, 0.0))

    def same(self, one: ArrayLike, two: ArrayLike) -> bool:
        """Whether numbers agree."""
        return bool(np.allclose(two, one, rtol=self.rtol, atol=self.rtol))


def numbers(values: ArrayLike) -> str:
    """Numbers in a message."""
    return " ".join(f"{value:g}" for value in np.atleast_1d(values))


def instead(one: ArrayLike, two: ArrayLike) -> str:
    """What numbers became."""
    return f"became {numbers(two)} instead of {numbers(one)}"


def listed_all(names: Iterator[str] | list[str]) -> str:
    """All names in backquotes."""
    return " and ".join(f"`{name}`" for name in names)
