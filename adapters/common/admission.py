"""What every model passes on its way in, whatever its format: sound numbers and shown names."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

import numpy as np

from regularize.adapters.common import single_values
from regularize.adapters.common.inertia import is_impossible
from regularize.adapters.common.names import listed
from regularize.displayed import displayed, displayed_name
from regularize.errors import ModelError, ReadError
from regularize.lie.screw import Array
from regularize.model.diagnostic import Diagnostic, Source
from regularize.model.mechanism import Mechanism

#: Largest number that a model may hold, in its SI unit: products of three stay finite, and what
#: is measured at ordinary size is not lost beside it.
LARGEST_NUMBER = 1e15


def admitted(mechanism: Mechanism) -> Mechanism:
    """The mechanism with names that can be shown, and findings on doubtful numbers.

    Raises:
        ReadError: A place, axis or coordinate is not finite or is beyond ``LARGEST_NUMBER``.
    """
    for what, source, numbers in _numbers(mechanism):
        if not np.all(np.abs(numbers) <= LARGEST_NUMBER):
            raise ReadError(
                source.path if source else mechanism.path or mechanism.name,
                f"{what} holds a number that is not finite or beyond {LARGEST_NUMBER:g}; "
                "correct it, and check the unit",
                line=source.line if source else None,
                element=source.element if source else None,
            )
    return single_values.report(_with_possible_bodies(_with_displayed_names(mechanism)))


def _numbers(mechanism: Mechanism) -> Iterator[tuple[str, Source | None, Array]]:
    """What has to be finite: the thing, where it stands, its numbers."""
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
        numbers = np.array([coupling.offset, *(factor for _, _, factor in coupling.terms)])
        yield f"coupling `{displayed(coupling.name)}`", coupling.source, numbers
    yield "gravity", None, mechanism.gravity


def _with_possible_bodies(mechanism: Mechanism) -> Mechanism:
    """The mechanism with a warning on mass properties that no body has."""
    impossible = [body for body in mechanism.bodies if body.inertia and is_impossible(body.inertia)]
    if not impossible:
        return mechanism
    finding = Diagnostic(
        "REG014",
        "warning",
        "negative mass, or an inertia that is not positive definite: "
        + listed(body.name for body in impossible),
        source=impossible[0].source,
        help=("correct the mass properties before you simulate; the loops do not depend on them",),
    )
    if finding in mechanism.findings:  # from the file that a mechanism was saved to
        return mechanism
    return replace(mechanism, findings=(*mechanism.findings, finding))


def _with_displayed_names(mechanism: Mechanism) -> Mechanism:
    """The mechanism under names that are safe to show; the same object where all of them are."""
    names = [mechanism.name]
    for entries in (mechanism.bodies, mechanism.joints, mechanism.couplings):
        names += [entry.name for entry in entries]
    for driven in (mechanism.actuators, mechanism.motions):
        names += [entry.name for entry in driven]
    said = [finding.message for finding in mechanism.findings]
    if all(displayed_name(name) == name for name in names) and said == [*map(displayed, said)]:
        return mechanism
    new = displayed_name
    try:
        return replace(
            mechanism,
            name=new(mechanism.name),
            bodies=tuple(replace(body, name=new(body.name)) for body in mechanism.bodies),
            joints=tuple(
                replace(j, name=new(j.name), parent=new(j.parent), child=new(j.child))
                for j in mechanism.joints
            ),
            couplings=tuple(
                replace(
                    coupling,
                    name=new(coupling.name),
                    terms=tuple((new(name), k, factor) for name, k, factor in coupling.terms),
                )
                for coupling in mechanism.couplings
            ),
            ground=new(mechanism.ground),
            findings=tuple(_displayed_finding(finding) for finding in mechanism.findings),
            motions=tuple(
                replace(m, name=new(m.name), joint=new(m.joint)) for m in mechanism.motions
            ),
            actuators=tuple(
                replace(a, name=new(a.name), joint=new(a.joint)) for a in mechanism.actuators
            ),
        )
    except ModelError as error:
        path = mechanism.path or mechanism.name
        reason = f"names differ in characters alone that cannot be shown: {error}"
        raise ReadError(path, reason) from error


def _displayed_finding(finding: Diagnostic) -> Diagnostic:
    return replace(
        finding,
        message=displayed(finding.message),
        joints=tuple(displayed_name(name) for name in finding.joints),
        help=tuple(displayed(line) for line in finding.help),
    )
