"""Joints compared: their places, and the limits and forces of their freedoms."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from regularize.lie.screw import Array
from regularize.model.diagnostic import Diagnostic
from regularize.model.mechanism import Joint
from regularize.verification.comparison import Comparison, instead, listed_all, numbers

#: What joints state of a freedom, and the power of the file's coordinate by that of the model by
#: which the file's value is to be multiplied.
LIMITS = {"velocity": -1, "effort": 1}
DYNAMICS = {"damping": 2, "friction": 1, "stiffness": 2, "armature": 2}


def place_differences(comparison: Comparison) -> Iterator[Diagnostic]:
    """Joints that join other bodies, stand elsewhere or count from another zero."""
    for joint in comparison.pairing.before.joints:
        if comparison.pairing.joints[joint.name]:
            yield from _place(comparison, joint)


def _place(comparison: Comparison, joint: Joint) -> Iterator[Diagnostic]:
    pairing, slides = comparison.pairing, comparison.pairing.slides
    parts = pairing.joints[joint.name]
    ends = [parts[0].parent, parts[-1].child]
    for k in (0, -1):  # a slide goes before a hinge that is turned round
        slide = slides.get(parts[k].name)
        across = {slide.parent: slide.child, slide.child: slide.parent} if slide else {}
        ends[k] = across.get(ends[k], ends[k])
    ends = [pairing.bodies.get(end, end) for end in ends]
    wanted = [joint.parent, joint.child]
    freedoms = len(pairing.freedoms(joint))
    if ends != wanted:
        message = f"joins {listed_all(ends)} instead of {listed_all(wanted)}"
    elif freedoms != joint.freedoms:
        message = f"has {freedoms} freedoms instead of {joint.freedoms}"
    elif (off := comparison.places.off(joint)) > comparison.rtol:
        message = f"stands or points elsewhere, by {off:.2g} of the size"
    else:
        return
    yield comparison.find("REG323", f"joint `{joint.name}` {message}", joint.name)


def freedom_differences(comparison: Comparison) -> Iterator[Diagnostic]:
    """Freedoms that count from another zero, or whose limits or forces are not the same."""
    yield from _tolerances(comparison)
    for joint in comparison.comparable():
        shifts = comparison.shifts(joint)
        if np.any(shifts):
            message = f"zero of `{joint.name}` is where the model counts {numbers(shifts)}"
            yield comparison.find("REG323", message, joint.name)
        for k in range(joint.freedoms):
            yield from _freedom(comparison, joint, k, float(shifts[k]))


def _tolerances(comparison: Comparison) -> Iterator[Diagnostic]:
    """Joints that do not say any more how far they may be off."""
    parts = comparison.pairing.joints
    lost = [
        joint.name
        for joint in comparison.pairing.before.joints
        if joint.tolerance is not None
        and not any(comparison.same(joint.tolerance, p.tolerance or 0.0) for p in parts[joint.name])
    ]
    if lost:
        yield comparison.find("REG329", f"tolerances of {listed_all(lost)} are lost", *lost)


def _freedom(comparison: Comparison, joint: Joint, k: int, shift: float) -> Iterator[Diagnostic]:
    part, index = comparison.pairing.freedoms(joint)[k]
    factor = float(comparison.places.factors(joint)[k])
    name = f"`{joint.name}`" if joint.freedoms == 1 else f"freedom {k + 1} of `{joint.name}`"

    def compared(code: str, what: str, one: Array, two: Array) -> Iterator[Diagnostic]:
        if not comparison.same(one, two):
            gone = bool(np.all(np.isinf(two))) or (code == "REG325" and not np.any(two))
            change = f"is lost ({numbers(one)})" if gone else instead(one, two)
            yield comparison.find(code, f"{what} of {name} {change}", joint.name)

    bounds = bounds_of(part, index) / factor + shift
    yield from compared("REG324", "bounds", bounds_of(joint, k), bounds)
    for what, power in LIMITS.items():
        one, two = (_limit(*each, what) for each in ((joint, k), (part, index)))
        yield from compared("REG324", what, one, two * factor**power)
    for what, power in DYNAMICS.items():
        one, two = (_force(*each, what) for each in ((joint, k), (part, index)))
        yield from compared("REG325", what, one, two * factor**power)
    if np.any(_force(joint, k, "stiffness")):
        one, two = (_force(*each, "rest_position") for each in ((joint, k), (part, index)))
        yield from compared("REG325", "rest position", one, two / factor + shift)


def bounds_of(joint: Joint, index: int) -> Array:
    """Lower and upper bound of a freedom, infinite where there is none."""
    if joint.limits is None:
        return np.array([-np.inf, np.inf])
    return _opened(np.asarray(joint.limits)[index])


def _opened(values: Array) -> Array:
    """Bounds as large as numbers get mean that there is none."""
    largest = np.finfo(np.float64).max / 2
    return np.where(np.abs(values) > largest, np.copysign(np.inf, values), values)


def _limit(joint: Joint, index: int, what: str) -> Array:
    value = None if joint.limits is None else getattr(joint.limits, what)
    return np.array(np.inf) if value is None else _opened(value[index])


def _force(joint: Joint, index: int, what: str) -> Array:
    value = getattr(joint.dynamics, what)
    return np.array(0.0 if value is None else value[index])
