"""Couplings and prescribed motions compared, and what belongs to the model as a whole."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

import numpy as np

from regularize.model.diagnostic import Diagnostic
from regularize.model.mechanism import Coupling
from regularize.verification.comparison import Comparison, instead, listed_all

#: Coefficients by coordinate, the largest one 1, and the offset under no coordinate.
Row = dict[tuple[str, int], float]


def coupling_differences(comparison: Comparison) -> Iterator[Diagnostic]:
    """Couplings and prescribed motions that are lost or changed."""
    pairing, find = comparison.pairing, comparison.find
    there = [_row(coupling) for coupling in pairing.after.couplings]
    for coupling in pairing.before.couplings:
        row = _expected(comparison, coupling)
        same = (r for r in there if row is not None and _alike(r, row, comparison.rtol))
        match = next(same, None)
        if match is None:
            names = [name for name, _, _ in coupling.terms]
            yield find("REG327", f"coupling `{coupling.name}` is lost", *names)
        else:
            there.remove(match)
    slides = {slide.name for slide in pairing.slides.values()}
    for row in there:
        names = [name for name, _ in row if name]
        if not slides & {*names}:
            message = f"couples {listed_all(names)}, which the model does not"
            yield find("REG327", message, *names)
    kept = {motion.name for motion in pairing.after.motions}
    for motion in pairing.before.motions:
        if motion.name not in kept:
            message = f"prescribed motion `{motion.name}` is lost ({motion.expression})"
            yield find("REG327", message, motion.joint)


def setting_differences(comparison: Comparison) -> Iterator[Diagnostic]:
    """Gravity, if it is not the same."""
    one, two = comparison.pairing.before.gravity, comparison.pairing.after.gravity
    if not comparison.same(one, two):
        yield comparison.find("REG329", f"gravity {instead(one, two)}")


def _expected(comparison: Comparison, coupling: Coupling) -> Row | None:
    """A coupling in the coordinates of the file; None where it has not all of them."""
    joints = {joint.name: joint for joint in comparison.comparable()}
    terms, offset = [], coupling.offset
    for name, index, coefficient in coupling.terms:
        if name not in joints:
            return None
        joint = joints[name]
        part, k = comparison.pairing.freedoms(joint)[index]
        turned = part is not comparison.pairing.after.joint(part.name)
        k = part.freedoms - 1 - k if turned and not part.group else k
        terms.append((part.name, k, coefficient / comparison.places.factors(joint)[index]))
        offset -= coefficient * comparison.shifts(joint)[index]
    return _row(replace(coupling, terms=tuple(terms), offset=float(offset)))


def _row(coupling: Coupling) -> Row:
    row: Row = {}
    for name, index, coefficient in coupling.terms:
        row[name, index] = row.get((name, index), 0.0) + coefficient
    largest = max(sorted(row), key=lambda key: abs(row[key])) if row else ("", 0)
    scale = row.get(largest) or 1.0
    return {key: value / scale for key, value in {**row, ("", 0): coupling.offset}.items()}


def _alike(one: Row, two: Row, rtol: float) -> bool:
    # Which of two coefficients is the larger may depend on rounding, and their signs with it.
    if one.keys() != two.keys():
        return False
    a, b = (np.array([row[key] for key in sorted(row)]) for row in (one, two))
    return bool(np.allclose(a, b, rtol=0, atol=rtol) or np.allclose(a, -b, rtol=0, atol=rtol))
