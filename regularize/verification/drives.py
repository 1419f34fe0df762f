"""Motors compared: which there are, what they move, and by which gear."""

from __future__ import annotations

from collections.abc import Iterator

from regularize.model.diagnostic import Diagnostic
from regularize.model.mechanism import Actuator, ActuatorGains
from regularize.verification.comparison import Comparison


def actuator_differences(comparison: Comparison) -> Iterator[Diagnostic]:
    """Motors that are lost, changed or added, and joints that are no longer marked as driven."""
    pairing, find = comparison.pairing, comparison.find
    there = {actuator.name: actuator for actuator in pairing.after.actuators}
    told = set()
    for actuator in pairing.before.actuators:
        found = there.pop(actuator.name, None)
        told.add(actuator.joint)
        if found is None:
            message = f"actuator `{actuator.name}` of `{actuator.joint}` is lost"
            yield find("REG326", message, actuator.joint)
            continue
        for message in _changes(comparison, actuator, found):
            yield find("REG326", f"actuator `{actuator.name}` {message}", actuator.joint)
    names = {part.name: name for name, parts in pairing.joints.items() for part in parts}
    driven = {joint.name for joint in pairing.before.joints if joint.actuated}
    for actuator in there.values():
        # A motor for a joint that the model marks as driven is how a format marks it.
        if names.get(actuator.joint) not in driven:
            message = f"actuator `{actuator.name}` is not in the model"
            yield find("REG326", message, actuator.joint)
    for joint in pairing.before.joints:
        parts = pairing.joints[joint.name]
        marked = any(part.actuated for part in parts)
        if parts and joint.name not in told and marked != bool(joint.actuated):
            verb = "is not marked as driven" if joint.actuated else "is marked as driven"
            yield find("REG326", f"joint `{joint.name}` {verb}", joint.name)


def _changes(comparison: Comparison, one: Actuator, two: Actuator) -> Iterator[str]:
    freedoms = {joint.name: joint for joint in comparison.comparable()}
    if one.joint not in freedoms:
        return  # its joint is named already
    joint = freedoms[one.joint]
    part, _ = comparison.pairing.freedoms(joint)[one.freedom]
    factor = float(comparison.places.factors(joint)[one.freedom])
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
