"""Joints and motors of a model and of a file compared, datum by datum."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from regularize.lie.arrays import Array
from regularize.mechanism.diagnostic import Diagnostic
from regularize.mechanism.joint import Joint
from regularize.mechanism.mechanism import Actuator, ActuatorGains
from regularize.repair.verification.comparison import Comparison


def numbers(values: ArrayLike) -> str:
    """Format numbers for a message."""
    return " ".join(f"{value:g}" for value in np.atleast_1d(values))


def instead(before: ArrayLike, after: ArrayLike) -> str:
    """Return words for changed numbers: ``became 2 instead of 1``."""
    return f"became {numbers(after)} instead of {numbers(before)}"


def listed_all(names: Iterator[str] | list[str]) -> str:
    """Write all names in backquotes."""
    return " and ".join(f"`{name}`" for name in names)


def place_differences(comparison: Comparison) -> Iterator[Diagnostic]:
    """Yield findings on joints that join other bodies, or stand or point elsewhere."""
    for joint in (j for j in comparison.before.joints if comparison.joints[j.name]):
        yield from _place(comparison, joint)


def _place(comparison: Comparison, joint: Joint) -> Iterator[Diagnostic]:
    """Yield the finding on the bodies and axes of one joint."""
    parts, slides = comparison.joints[joint.name], comparison.slides
    ends = [parts[0].parent, parts[-1].child]
    for k in (0, -1):  # a slide goes before a hinge that is turned round
        slide = slides.get(parts[k].name)
        across = {slide.parent: slide.child, slide.child: slide.parent} if slide else {}
        ends[k] = across.get(ends[k], ends[k])
    ends = [comparison.bodies.get(end, end) for end in ends]
    wanted = [joint.parent, joint.child]
    freedoms = len(comparison.freedoms(joint))
    if ends != wanted:
        message = f"joins {listed_all(ends)} instead of {listed_all(wanted)}"
    elif freedoms != joint.freedoms:
        message = f"has {freedoms} freedoms instead of {joint.freedoms}"
    elif (off := comparison.off(joint)) > comparison.rtol:
        message = f"stands or points elsewhere, by {off:.2g} of the size"
    else:
        return
    yield comparison.find("REG323", f"joint `{joint.name}` {message}", joint.name)


def freedom_differences(comparison: Comparison) -> Iterator[Diagnostic]:
    """Yield findings on freedoms whose zero, limits or forces have changed."""
    yield from _tolerances(comparison)
    for joint in comparison.comparable.values():
        shifts = comparison.shifts(joint)
        if np.any(shifts):
            message = f"zero of `{joint.name}` is where the model counts {numbers(shifts)}"
            yield comparison.find("REG323", message, joint.name)
        for k in range(joint.freedoms):
            yield from _freedom(comparison, joint, k, float(shifts[k]))


def _tolerances(comparison: Comparison) -> Iterator[Diagnostic]:
    """Yield findings on joints whose manufacturing tolerances are lost."""
    lost = []
    for joint in comparison.before.joints:
        one, parts = joint.tolerance, comparison.joints[joint.name]
        if one and not any(comparison.same(one, part.tolerance or 0.0) for part in parts):
            lost.append(joint.name)
    if lost:
        yield comparison.find("REG329", f"tolerances of {listed_all(lost)} are lost", *lost)


def _freedom(comparison: Comparison, joint: Joint, k: int, shift: float) -> Iterator[Diagnostic]:
    """Yield findings on limits and forces of one freedom, in the model's coordinate."""
    part, index = comparison.freedoms(joint)[k]
    factor = float(comparison.factors(joint)[k])
    name = f"`{joint.name}`" if joint.freedoms == 1 else f"freedom {k + 1} of `{joint.name}`"
    sprung = bool(np.any(_force("stiffness", joint, k)))
    for datum in FREEDOM if sprung else FREEDOM[:-1]:
        one = datum.value(datum.words, joint, k)
        two = datum.value(datum.words, part, index) * factor**datum.power + shift * datum.counted
        if not comparison.same(one, two):
            gone = bool(np.all(np.isinf(two))) or (datum.code == "REG325" and not np.any(two))
            change = f"is lost ({numbers(one)})" if gone else instead(one, two)
            words = datum.words.replace("_", " ")
            yield comparison.find(datum.code, f"{words} of {name} {change}", joint.name)


def _bounds(what: str, joint: Joint, index: int) -> Array:
    """Return lower and upper bound of a freedom, infinite where there is none."""
    if joint.limits is None:
        return np.array([-np.inf, np.inf])
    return _opened(np.asarray(joint.limits)[index])


def _opened(values: Array) -> Array:
    """Return bounds with those of the largest floating-point numbers made infinite."""
    largest = np.finfo(np.float64).max / 2
    return np.where(np.abs(values) > largest, np.copysign(np.inf, values), values)


def _limit(what: str, joint: Joint, index: int) -> Array:
    """Return the velocity or effort limit of one freedom, infinite without any."""
    value = None if joint.limits is None else getattr(joint.limits, what)
    return np.array(np.inf) if value is None else _opened(value[index])


def _force(what: str, joint: Joint, index: int) -> Array:
    """Return stiffness, damping and the like of one freedom of a joint, zero if none is stated."""
    value = getattr(joint.dynamics, what)
    return np.array(0.0 if value is None else value[index])


class Datum(NamedTuple):
    """A number that joints state for each freedom, and the rule by which two of them compare."""

    #: Code of the finding where they differ.
    code: str
    words: str
    #: Takes the words, a joint and the number of a freedom.
    value: Callable[[str, Joint, int], Array]
    #: Power of the factor of coordinates by which the file's value is to be multiplied.
    power: int
    #: Whether it counts from the zero of the coordinate.
    counted: bool = False


FREEDOM = (
    Datum("REG324", "bounds", _bounds, -1, counted=True),
    Datum("REG324", "velocity", _limit, -1),
    Datum("REG324", "effort", _limit, 1),
    Datum("REG325", "damping", _force, 2),
    Datum("REG325", "friction", _force, 1),
    Datum("REG325", "stiffness", _force, 2),
    Datum("REG325", "armature", _force, 2),
    Datum("REG325", "rest_position", _force, -1, counted=True),
)


def actuator_differences(comparison: Comparison) -> Iterator[Diagnostic]:
    """Yield findings on motors that are lost, changed or added."""
    find = comparison.find
    motors = {actuator.name: actuator for actuator in comparison.after.actuators}
    told = {actuator.joint for actuator in comparison.before.actuators}
    yield from _shared(comparison, motors)
    for actuator in comparison.before.actuators:
        found = motors.pop(actuator.name, None)
        if found is None:
            message = f"actuator `{actuator.name}` of `{actuator.joint}` is lost"
            yield find("REG326", message, actuator.joint)
            continue
        for message in _changes(comparison, actuator, found):
            yield find("REG326", f"actuator `{actuator.name}` {message}", actuator.joint)
    names = {part.name: name for name, parts in comparison.joints.items() for part in parts}
    driven = {joint.name for joint in comparison.before.joints if joint.actuated}
    for actuator in motors.values():
        # A motor for a joint that the model marks as driven is how a format marks it.
        if names.get(actuator.joint) not in driven:
            message = f"actuator `{actuator.name}` is not in the model"
            yield find("REG326", message, actuator.joint)
    for joint in comparison.before.joints:
        parts = comparison.joints[joint.name]
        marked = any(part.actuated for part in parts)
        if parts and joint.name not in told and marked != bool(joint.actuated):
            verb = "is not marked as driven" if joint.actuated else "is marked as driven"
            yield find("REG326", f"joint `{joint.name}` {verb}", joint.name)


def _shared(comparison: Comparison, there: dict[str, Actuator]) -> Iterator[Diagnostic]:
    """Yield findings on shared motors for which the file has several."""
    motors: dict[str, list[Actuator]] = {}
    for actuator in (each for each in comparison.before.actuators if each.motor is not None):
        motors.setdefault(str(actuator.motor), []).append(actuator)
    for motor, coordinates in motors.items():
        joints = [each.joint for each in coordinates]
        found = [there.get(each.name) for each in coordinates]
        shared = {None if each is None else each.motor for each in found}
        if any(found) and (len(shared) > 1 or None in shared):
            message = f"motor `{motor}`, which moves {listed_all(joints)} together, became several"
            yield comparison.find("REG326", message, *joints)


def _changes(comparison: Comparison, one: Actuator, two: Actuator) -> Iterator[str]:
    """Yield words for each difference between two motors."""
    joint = comparison.comparable.get(one.joint)
    if joint is None:
        return  # it is named already
    part, _ = comparison.freedoms(joint)[one.freedom]
    factor = float(comparison.factors(joint)[one.freedom])
    if two.joint != part.name:
        yield f"moves `{two.joint}` instead of `{part.name}`"
    if one.kind != two.kind:
        yield f"became a {two.kind} instead of a {one.kind}"
    if not comparison.same(one.gear, two.gear * factor):
        yield f"has gear {two.gear * factor:g} instead of {one.gear:g}"
    for what in ("control_range", "force_range"):
        a, b = getattr(one, what), getattr(two, what)
        if (a is None) != (b is None) or (a is not None and not comparison.same(a, b)):
            yield f"has {what.replace('_', ' ')} {b} instead of {a}"
    gains, others = one.gains or ActuatorGains(), two.gains or ActuatorGains()
    for what in ("control", "position", "velocity"):
        a, b = getattr(gains, what), getattr(others, what)
        if a is not None and not comparison.same(a, b or 0.0):
            yield f"has {what} gain {b} instead of {a:g}"
