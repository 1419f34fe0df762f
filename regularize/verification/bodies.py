"""Bodies compared: their names, their mass properties and their shapes."""

from __future__ import annotations

import os
from collections.abc import Iterator, Sequence

import numpy as np

from regularize.adapters.common.shapes import capsule_parts
from regularize.lie.screw import Array
from regularize.model.body import Geometry, Inertia
from regularize.model.diagnostic import Diagnostic, Severity
from regularize.model.mechanism import Mechanism
from regularize.verification.comparison import Comparison
from regularize.verification.meshes import INSIDE


def name_differences(comparison: Comparison) -> Iterator[Diagnostic]:
    """Bodies and joints that are called otherwise, that are not there, or that were added."""
    pairing, find = comparison.pairing, comparison.find
    for name in pairing.lost_bodies():
        yield find("REG321", f"body `{name}` is not there")
    for name in pairing.added_bodies():
        yield find("REG321", f"body `{name}` is there as well")
    for old, new in pairing.renamed_bodies():
        still = old == pairing.before.ground
        message = f"{'the ground' if still else 'body'} `{old}` is called `{new}`"
        yield find("REG321", message, severity="note" if still else "warning")
    for joint in pairing.before.joints:
        parts = pairing.joints[joint.name]
        if not parts:
            # Bodies move freely without a joint as well; mobility is compared in any case then.
            severity: Severity = "note" if joint.kind == "free" else "warning"
            message = f"joint `{joint.name}` is not there"
            yield find("REG321", message, joint.name, severity=severity)
        elif len(parts) == 1 and parts[0].name != joint.name:
            message = f"joint `{joint.name}` is called `{parts[0].name}`"
            yield find("REG321", message, joint.name, severity="note")
    for joint in pairing.added:
        yield find("REG321", f"joint `{joint.name}` is there as well", joint.name)


def mass_differences(comparison: Comparison) -> Iterator[Diagnostic]:
    """Bodies whose mass properties are lost, changed or made up."""
    pairing, places = comparison.pairing, comparison.places
    for body in pairing.before.bodies:
        names = _parts(comparison, body.name)
        if not names:
            continue
        one = places.before.inertia(body.name)
        parts = [part for name in names if (part := places.after.inertia(name)) is not None]
        two = Inertia.total(parts) if parts else None
        still = body.name == pairing.before.ground
        for message in _inertia(comparison, one, two):
            message = f"body `{body.name}`{', the ground,' if still else ''} {message}"
            yield comparison.find("REG322", message, severity="note" if still else "warning")


def _parts(comparison: Comparison, body: str) -> list[str]:
    return [name for name, of in comparison.pairing.bodies.items() if of == body]


def _inertia(comparison: Comparison, one: Inertia | None, two: Inertia | None) -> Iterator[str]:
    if one is None or two is None:
        # No mass and unknown mass are the same to every engine.
        if one is not None and (one.mass or np.any(one.matrix)):
            yield f"has no mass properties there (mass {one.mass:g} kg)"
        elif two is not None and (two.mass or np.any(two.matrix)):
            yield f"has mass properties there that nobody stated (mass {two.mass:g} kg)"
        return
    size, rtol = comparison.places.size, comparison.rtol
    if abs(one.mass - two.mass) > rtol * abs(one.mass):
        yield f"has mass {two.mass:.9g} kg instead of {one.mass:.9g} kg"
    moved = float(np.linalg.norm(one.center - two.center))
    if one.mass and moved > rtol * size:
        yield f"has its centre of mass {1e3 * moved:.3g} mm elsewhere"
    largest = float(np.max(np.abs(one.matrix)))
    if np.max(np.abs(one.matrix - two.matrix)) > rtol * (largest + one.mass * size**2):
        yield "has another rotational inertia"


def shape_differences(comparison: Comparison) -> Iterator[Diagnostic]:
    """Bodies whose shapes are lost or changed."""
    pairing, places = comparison.pairing, comparison.places
    for body in pairing.before.bodies:
        wanted = [(places.before.poses[body.name], shape) for shape in body.geometry]
        there = [
            (places.after.poses[name], shape)
            for name in _parts(comparison, body.name)
            for shape in pairing.after.body(name).geometry
        ]
        for number, (pose, shape) in enumerate(wanted, 1):
            found = _found(comparison, pose, shape, there)
            if found is not None:
                if not _same_color(shape, found):
                    message = f"the color of shape {number} of body `{body.name}` differs"
                    yield comparison.find("REG328", message, severity="note")
                continue
            parts = capsule_parts(shape) if shape.kind == "capsule" else [None]
            if all(part is not None and _found(comparison, pose, part, there) for part in parts):
                continue
            uri = f" `{shape.uri}`" if shape.uri else ""
            message = f"{shape.kind}{uri} (shape {number}) of body `{body.name}` is not there"
            yield comparison.find("REG328", message)
        for _, shape in there:
            uri = f" `{shape.uri}`" if shape.uri else ""
            message = f"body `{body.name}` has a {shape.kind}{uri} that is not in the model"
            yield comparison.find("REG328", message)


def _found(
    comparison: Comparison, pose: Array, shape: Geometry, there: list[tuple[Array, Geometry]]
) -> Geometry | None:
    """The shape of the file that is a shape of the model; it is taken from the list."""
    for number, (other, found) in enumerate(there):
        if _alike(comparison, shape, found) and comparison.same(
            pose @ shape.T_body_geometry, other @ found.T_body_geometry
        ):
            del there[number]
            return found
    return None


def _alike(comparison: Comparison, one: Geometry, two: Geometry) -> bool:
    before, after = comparison.pairing.before, comparison.pairing.after
    return (
        (one.kind, one.collision) == (two.kind, two.collision)
        and one.size.shape == two.size.shape
        and comparison.same(one.size, two.size)
        and mesh_place(one, before) == mesh_place(two, after)
    )


def _same_color(one: Geometry, two: Geometry) -> bool:
    if one.color is None or two.color is None:
        return one.color is None  # a color that nobody stated is the viewer's matter
    return bool(np.allclose(one.color, two.color, atol=1 / 255))


def mesh_place(shape: Geometry, mechanism: Mechanism) -> Sequence[str]:
    """Where the mesh of a shape is: a file that does not depend on the model's own place."""
    own = shape.uri is not None and shape.uri.startswith(INSIDE)  # inside of the model's own file
    if shape.uri is None or own or "://" in shape.uri or mechanism.path is None:
        return [shape.uri or ""]
    return [os.path.realpath(os.path.join(os.path.dirname(mechanism.path), shape.uri))]
