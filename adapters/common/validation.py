"""Checks that every model passes on its way in, whatever its format."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Iterator
from dataclasses import replace
from urllib.parse import unquote

import numpy as np

from regularize.adapters.common.quantities import is_flatter_than_flat, is_impossible
from regularize.errors import ModelError, ReadError
from regularize.escape import displayed, displayed_name, listed
from regularize.lie.arrays import Array
from regularize.mechanism.diagnostic import Diagnostic, Source
from regularize.mechanism.mechanism import Mechanism

#: Largest number that a model may hold, in its SI unit: products of three stay finite, and what
#: is measured at ordinary size is not lost beside it.
LARGEST_NUMBER = 1e15
#: Values of joints that are never negative.
NEVER_NEGATIVE = ("damping", "friction", "armature", "velocity", "effort")
#: Share of the largest moment of inertia up to which rounding may have made it too large.
FLAT = 0.01


def validated(mechanism: Mechanism) -> Mechanism:
    """Return the mechanism with shown names and findings on doubtful numbers, none absurd."""
    for named, source, numbers in _numbers(mechanism):
        if not np.all(np.abs(numbers) <= LARGEST_NUMBER):
            raise ReadError(
                source.path if source else mechanism.path or mechanism.name,
                f"{named} holds a number that is not finite or beyond {LARGEST_NUMBER:g}; "
                "correct it, and check the unit",
                line=source.line if source else None,
                element=source.element if source else None,
            )
    mechanism = _with_displayed_names(mechanism)
    for finding in (*_impossible_values(mechanism), *_doubtful_bounds(mechanism)):
        mechanism = _noted(mechanism, finding)
    return mechanism


def _impossible_values(mechanism: Mechanism) -> Iterator[Diagnostic]:
    """Yield findings on inertias and on values of joints that no machine has."""
    wrong_bodies = [b for b in mechanism.bodies if b.inertia and is_impossible(b.inertia)]
    if wrong_bodies:
        message = "negative mass, or an inertia that is not positive definite: "
        message += listed(body.name for body in wrong_bodies)
        help = ("correct the mass properties before you simulate; the loops do not depend on them",)
        yield Diagnostic("REG014", "warning", message, source=wrong_bodies[0].source, help=help)
    flat = [b for b in mechanism.bodies if b.inertia and is_flatter_than_flat(b.inertia, FLAT)]
    if flat:
        message = "a principal moment of inertia exceeds the sum of the others: "
        message += listed(body.name for body in flat)
        help = ("give the inertia about the centre of mass, in kg m²",)
        yield Diagnostic("REG022", "warning", message, source=flat[0].source, help=help)
    for joint in mechanism.joints:
        values = joint.dynamics.stated()
        wrong = [name for name, x in values.items() if np.any(np.abs(x) > LARGEST_NUMBER)]
        values |= {} if joint.limits is None else joint.limits.stated()
        wrong += [name for name in NEVER_NEGATIVE if name in values and np.any(values[name] < 0.0)]
        if wrong:
            words = f"joint `{joint.name}` has {listed(wrong)} below zero or beyond "
            words += f"{LARGEST_NUMBER:g}"
            yield Diagnostic("REG022", "warning", words, None, (joint.name,), joint.source)
    for motor in mechanism.actuators:
        if motor.gains and min(motor.gains.position or 0.0, motor.gains.velocity or 0.0) < 0.0:
            words = f"motor `{motor.name}` of joint `{motor.joint}` has a stiffness or damping "
            words += "below zero"
            yield Diagnostic("REG022", "warning", words, None, (motor.joint,), motor.source)


def _numbers(mechanism: Mechanism) -> Iterator[tuple[str, Source | None, Array]]:
    """Yield all numbers that must be finite, with the words for them and their source."""
    for joint in mechanism.joints:
        frames = (joint.screws, joint.T_parent_joint, joint.T_child_joint, joint.position)
        for numbers in frames:
            yield f"joint `{displayed(joint.name)}`", joint.source, numbers
    for body in mechanism.bodies:
        if body.inertia is not None:
            mass, center, matrix = body.inertia.mass, body.inertia.center, body.inertia.matrix
            numbers = np.array([mass, *center, *matrix.ravel()])
            yield f"body `{displayed(body.name)}`", body.source, numbers
    for coupling in mechanism.couplings:
        factors = [factor for _, _, factor in coupling.terms]
        numbers = np.array([coupling.offset, *factors, *coupling.coefficients])
        yield f"coupling `{displayed(coupling.name)}`", coupling.source, numbers
    yield "gravity", None, mechanism.gravity


def _with_displayed_names(mechanism: Mechanism) -> Mechanism:
    """Return the mechanism with displayable names; the same object if they are so already."""
    parts = (mechanism.bodies, mechanism.joints, mechanism.couplings)
    driven = (mechanism.actuators, mechanism.motions)
    names = [mechanism.name, *(entry.name for part in (*parts, *driven) for entry in part)]
    names += [actuator.motor for actuator in mechanism.actuators if actuator.motor]
    if all(displayed_name(name) == name for name in names):
        return mechanism
    try:
        return renamed(mechanism, displayed_name, displayed_name, displayed_name)
    except ModelError as error:
        path = mechanism.path or mechanism.name
        reason = f"names differ in characters alone that cannot be shown: {error}"
        raise ReadError(path, reason) from error


def renamed(
    mechanism: Mechanism,
    body: Callable[[str], str],
    joint: Callable[[str], str],
    other: Callable[[str], str] = str,
) -> Mechanism:
    """Return the mechanism with its names mapped: of bodies, of joints, and of all else."""
    return replace(
        mechanism,
        name=other(mechanism.name),
        ground=body(mechanism.ground),
        bodies=tuple(replace(b, name=body(b.name)) for b in mechanism.bodies),
        joints=tuple(
            replace(j, name=joint(j.name), parent=body(j.parent), child=body(j.child))
            for j in mechanism.joints
        ),
        couplings=tuple(
            replace(c, name=other(c.name), terms=tuple((joint(j), k, v) for j, k, v in c.terms))
            for c in mechanism.couplings
        ),
        motions=tuple(
            replace(m, name=other(m.name), joint=joint(m.joint)) for m in mechanism.motions
        ),
        actuators=tuple(
            replace(a, name=other(a.name), joint=joint(a.joint), motor=a.motor and other(a.motor))
            for a in mechanism.actuators
        ),
    )


def _doubtful_bounds(mechanism: Mechanism) -> Iterator[Diagnostic]:
    """Yield notes on lower bounds that equal or exceed upper ones."""
    bounds = [(j, np.asarray(j.limits)) for j in mechanism.joints if j.limits is not None]
    for compare, words, advice in (
        (
            np.equal,
            "bounds leave a single value to {}: bounds are no constraints here, so these joints "
            "are free to move",
            "make a joint fixed if it is meant to stand still",
        ),
        (np.greater, "lower bounds exceed upper ones of {}: no value is left", "exchange them"),
    ):
        doubtful = [joint for joint, bound in bounds if np.any(compare(bound[:, 0], bound[:, 1]))]
        if doubtful:
            joints = tuple(joint.name for joint in doubtful)
            message, source = words.format(listed(joints)), doubtful[0].source
            yield Diagnostic("REG013", "note", message, None, joints, source, (advice,))


def with_external_files(mechanism: Mechanism, included: Iterable[str]) -> Mechanism:
    """Return the mechanism with a note on files outside of its folder (REG021)."""
    if mechanism.path is None:
        return mechanism
    folder = os.path.dirname(os.path.abspath(mechanism.path))
    files = {name: name for name in included}
    if mechanism.format != "usd":  # which names prims
        shapes = (shape.uri for body in mechanism.bodies for shape in body.geometry if shape.uri)
        files |= {uri: _written(uri, folder) for uri in shapes}
    away = [name for name, place in files.items() if place and not _inside(place, folder)]
    if not away:
        return mechanism
    words = f"{'files' if len(away) > 1 else 'a file'} outside of the model's folder "
    words += f"belong{'s' if len(away) == 1 else ''} to the model: {listed(away)}"
    help = ("make sure that you mean them, and pass them on with the model",)
    finding = Diagnostic("REG021", "note", words, source=Source(mechanism.path), help=help)
    return _noted(mechanism, finding)


def _noted(mechanism: Mechanism, finding: Diagnostic) -> Mechanism:
    """Return the mechanism with a finding added, unless it has it already."""
    if finding.message in {noted.message for noted in mechanism.findings}:
        return mechanism
    return replace(mechanism, findings=(*mechanism.findings, finding))


def _written(uri: str, folder: str) -> str:
    """Return the path that a mesh's URI states; empty for one in a package."""
    scheme, found, rest = uri.partition("://")
    if found and scheme != "file":
        return ""
    name = unquote("/" + rest.lstrip("/") if found else uri)
    return os.path.normpath(os.path.join(folder, name.partition("#")[0] or "."))


def _inside(name: str, folder: str) -> bool:
    """Return whether a file lies in a folder, links on its path followed."""
    try:
        place, home = os.path.realpath(name), os.path.realpath(folder)
        return os.path.commonpath([place, home]) == home
    except ValueError:  # on another drive, or no name of a file
        return False
