"""Two mechanisms compared as machines: what of the one is not in the other, datum by datum."""

from __future__ import annotations

import os
from collections.abc import Iterator, Sequence
from dataclasses import replace

import numpy as np

from regularize.adapters.common.write import capsule_parts
from regularize.errors import ModelError
from regularize.lie.arrays import Array, Transform
from regularize.lie.curve import TERMS, Curve
from regularize.mechanism.body import Geometry, Inertia
from regularize.mechanism.diagnostic import Diagnostic, Severity
from regularize.mechanism.graph_building import build
from regularize.mechanism.mechanism import Coupling, Mechanism
from regularize.reduction.reduce import Reduction, reduce
from regularize.repair.verification.comparison import INSIDE, SAME, Comparison
from regularize.repair.verification.joint_differences import (
    actuator_differences,
    freedom_differences,
    instead,
    listed_all,
    numbers,
    place_differences,
)

#: Findings after which the joints can no longer be said to be the same ones.
MOVING = ("REG321", "REG323", "REG327")
#: Coefficients by coordinate, the largest one 1, and the offset under no coordinate.
Row = dict[tuple[str, int], float]


def differences(
    before: Mechanism,
    after: Mechanism,
    *,
    target: str = "the file",
    reduction: Reduction | None = None,
    rtol: float = SAME,
    motions: bool = True,
) -> list[Diagnostic]:
    """Report data that a model has lost or changed in a file (``after``), REG320 to REG329."""
    at_zero = {joint.name: np.zeros(joint.freedoms) for joint in before.joints}
    # Where the joints alone do not tell which of the two poses the file has, its bodies do.
    stored, zeroed = (
        Comparison(each, after, target, rtol) for each in (before, before.with_positions(at_zero))
    )
    forgotten = zeroed.apart() < stored.apart()
    comparison = zeroed if forgotten else stored
    lost = []
    for joint in (joint for joint in before.joints if forgotten and np.any(joint.position)):
        message = f"the stored coordinate of `{joint.name}` is lost ({numbers(joint.position)})"
        lost.append(comparison.find("REG323", message, joint.name))
    found = [
        *name_differences(comparison),
        *mass_differences(comparison),
        *place_differences(comparison),
        *lost,
        *freedom_differences(comparison),
        *actuator_differences(comparison),
        *coupling_differences(comparison),
        *shape_differences(comparison),
    ]
    if not comparison.same(before.gravity, after.gravity):
        message = f"gravity {instead(before.gravity, after.gravity)}"
        found.append(comparison.find("REG329", message))
    moving = motion_differences(comparison, before, found, reduction) if motions else ()
    return [*moving, *found]


def name_differences(comparison: Comparison) -> Iterator[Diagnostic]:
    """Yield findings on bodies and joints that are renamed, missing or added."""
    find, bodies = comparison.find, comparison.bodies
    names = {body.name for body in comparison.after.bodies}
    for body in comparison.before.bodies:
        if body.name not in bodies.values():
            yield find("REG321", f"body `{body.name}` is not there")
    # Links between joints in a row are no bodies of their own.
    rows = [part for parts in comparison.joints.values() for part in parts]
    between = {name for part in rows for name in (part.parent, part.child)}
    for body in comparison.after.bodies:
        if body.name not in bodies.keys() | between:
            yield find("REG321", f"body `{body.name}` is there as well")
    for new, old in bodies.items():
        if old in names:
            continue
        still = old == comparison.before.ground
        message = f"{'the ground' if still else 'body'} `{old}` is called `{new}`"
        yield find("REG321", message, severity="note" if still else "warning")
    for joint in comparison.before.joints:
        parts = comparison.joints[joint.name]
        if not parts:
            # Bodies move freely without a joint as well; mobility is compared in any case then.
            severity: Severity = "note" if joint.kind == "free" else "warning"
            message = f"joint `{joint.name}` is not there"
            yield find("REG321", message, joint.name, severity=severity)
        elif len(parts) == 1 and parts[0].name != joint.name:
            message = f"joint `{joint.name}` is called `{parts[0].name}`"
            yield find("REG321", message, joint.name, severity="note")
    for joint in comparison.added:
        yield find("REG321", f"joint `{joint.name}` is there as well", joint.name)


def mass_differences(comparison: Comparison) -> Iterator[Diagnostic]:
    """Yield findings on bodies whose mass properties are lost, changed or added."""
    for body in comparison.before.bodies:
        names = _parts(comparison, body.name)
        if not names:
            continue
        inertia = comparison.model.inertia(body.name)
        parts = [part for name in names if (part := comparison.file.inertia(name)) is not None]
        still = body.name == comparison.before.ground
        for message in _inertia(comparison, inertia, Inertia.total(parts) if parts else None):
            message = f"body `{body.name}`{', the ground,' if still else ''} {message}"
            yield comparison.find("REG322", message, severity="note" if still else "warning")


def _parts(comparison: Comparison, body: str) -> list[str]:
    """Return the names of the file's bodies that make up a body of the model."""
    return [name for name, whole in comparison.bodies.items() if whole == body]


def _inertia(comparison: Comparison, one: Inertia | None, two: Inertia | None) -> Iterator[str]:
    """Yield words for each difference between two sets of mass properties."""
    if one is None or two is None:
        # No mass and unknown mass are the same to every engine.
        if one is not None and (one.mass or np.any(one.matrix)):
            yield f"has no mass properties there (mass {one.mass:g} kg)"
        elif two is not None and (two.mass or np.any(two.matrix)):
            yield f"has mass properties there that nobody stated (mass {two.mass:g} kg)"
        return
    size, rtol = comparison.size, comparison.rtol
    if abs(one.mass - two.mass) > rtol * abs(one.mass):
        yield f"has mass {two.mass:.9g} kg instead of {one.mass:.9g} kg"
    moved = float(np.linalg.norm(one.center - two.center))
    if one.mass and moved > rtol * size:
        yield f"has its centre of mass {1e3 * moved:.3g} mm elsewhere"
    largest = float(np.max(np.abs(one.matrix)))
    if np.max(np.abs(one.matrix - two.matrix)) > rtol * (largest + one.mass * size**2):
        yield "has another rotational inertia"


def shape_differences(comparison: Comparison) -> Iterator[Diagnostic]:
    """Yield findings on shapes that are lost, changed or added."""
    for body in comparison.before.bodies:
        pose = comparison.model.poses[body.name]
        left = [
            (comparison.file.poses[name], shape)
            for name in _parts(comparison, body.name)
            for shape in comparison.after.body(name).geometry
        ]
        for number, shape in enumerate(body.geometry, 1):
            found = _take(comparison, pose, shape, left)
            if found is not None:
                # A color that nobody stated is the viewer's matter.
                one, two = shape.color, found.color
                if one is not None and (two is None or not np.allclose(one, two, atol=1 / 255)):
                    message = f"the color of shape {number} of body `{body.name}` differs"
                    yield comparison.find("REG328", message, severity="note")
                continue
            parts = capsule_parts(shape) if shape.kind == "capsule" else [None]
            if not all(part is not None and _take(comparison, pose, part, left) for part in parts):
                message = f"{_called(shape)} (shape {number}) of body `{body.name}` is not there"
                yield comparison.find("REG328", message)
        for _, shape in left:
            message = f"body `{body.name}` has a {_called(shape)} that is not in the model"
            yield comparison.find("REG328", message)


def _called(shape: Geometry) -> str:
    """Return the kind of a shape, with the URI of a mesh."""
    return f"{shape.kind} `{shape.uri}`" if shape.uri else shape.kind


def _take(
    comparison: Comparison,
    pose: Transform,
    shape: Geometry,
    shapes: list[tuple[Transform, Geometry]],
) -> Geometry | None:
    """Remove the equal shape from the list and return it; None without one."""
    mesh = mesh_place(shape, comparison.before)
    for number, (other, found) in enumerate(shapes):
        if (
            (shape.kind, shape.collision) == (found.kind, found.collision)
            and shape.size.shape == found.size.shape
            and comparison.same(shape.size, found.size)
            and mesh == mesh_place(found, comparison.after)
            and comparison.same(pose @ shape.T_body_geometry, other @ found.T_body_geometry)
        ):
            del shapes[number]
            return found
    return None


def mesh_place(shape: Geometry, mechanism: Mechanism) -> str:
    """Return the absolute path of a shape's mesh, or its URI where it is no plain file."""
    uri, path = shape.uri or "", mechanism.path
    if not uri or uri.startswith(INSIDE) or "://" in uri or path is None:
        return uri
    return os.path.realpath(os.path.join(os.path.dirname(path), uri))


def coupling_differences(comparison: Comparison) -> Iterator[Diagnostic]:
    """Yield findings on couplings and prescribed motions that are lost or changed."""
    find = comparison.find
    rows = [_row(coupling) for coupling in comparison.after.couplings]
    for coupling in comparison.before.couplings:
        row = _expected(comparison, coupling)
        same = (r for r in rows if row is not None and _alike(r, row, comparison.rtol))
        match = next(same, None)
        if match is None:
            names = [name for name, _, _ in coupling.terms]
            yield find("REG327", f"coupling `{coupling.name}` is lost", *names)
        else:
            rows.remove(match)
    slides = {slide.name for slide in comparison.slides.values()}
    for row in rows:
        names = [*dict.fromkeys(name for name, _ in row if name)]
        if not slides & {*names}:
            message = f"couples {listed_all(names)}, which the model does not"
            yield find("REG327", message, *names)
    for motion in comparison.before.motions:
        if motion.name not in {kept.name for kept in comparison.after.motions}:
            message = f"prescribed motion `{motion.name}` is lost ({motion.expression})"
            yield find("REG327", message, motion.joint)


def _expected(comparison: Comparison, coupling: Coupling) -> Row | None:
    """Convert a coupling to the file's coordinates; None where the file lacks one of them."""
    terms, offset = [], coupling.offset
    for name, index, coefficient in coupling.terms:
        joint = comparison.comparable.get(name)
        if joint is None:
            return None
        part, k = comparison.freedoms(joint)[index]
        turned = part is not comparison.after.joint(part.name)
        k = part.freedoms - 1 - k if turned and not part.group else k
        terms.append((part.name, k, coefficient / comparison.factors(joint)[index]))
        offset -= coefficient * comparison.shifts(joint)[index]
    moved = replace(coupling, terms=tuple(terms), offset=float(offset))
    if coupling.curve is None:
        return _row(moved)
    name, index, coefficient = coupling.terms[-1]
    joint = comparison.comparable[name]
    shift = comparison.shifts(joint)[index]
    curve = coupling.curve.along(1.0 / comparison.factors(joint)[index], shift)
    return _row(replace(moved, offset=float(offset + coefficient * shift)), curve)


def _row(coupling: Coupling, curve: Curve | None = None) -> Row:
    """Return a coupling's coefficients by coordinate, those of its curve by negative indices."""
    row: Row = {}
    offset, curve = coupling.offset, curve or coupling.curve
    for name, index, coefficient in coupling.terms[: None if curve is None else -1]:
        row[name, index] = row.get((name, index), 0.0) + coefficient
    largest = max(sorted(row), key=lambda key: abs(row[key])) if row else ("", 0)
    scale = row.get(largest) or 1.0
    if curve is not None:
        name = coupling.terms[-1][0]
        about = [curve.about(x) for x in curve.breaks or (0.0,)]
        offset -= about[0][0]
        numbers = [*curve.breaks, *(np.array(about) - about[0][0] * np.eye(TERMS)[0]).ravel()]
        row.update({(name, -1 - k): float(number) for k, number in enumerate(numbers)})
    return {key: value / scale for key, value in {**row, ("", 0): offset}.items()}


def _alike(one: Row, two: Row, rtol: float) -> bool:
    """Say whether two couplings are equal; rounding may decide which coefficient is scaled to 1."""
    if one.keys() != two.keys():
        return False
    a, b = (np.array([row[key] for key in sorted(row)]) for row in (one, two))
    return bool(np.allclose(a, b, rtol=0, atol=rtol) or np.allclose(a, -b, rtol=0, atol=rtol))


def motion_differences(
    comparison: Comparison,
    before: Mechanism,
    found: Sequence[Diagnostic],
    reduction: Reduction | None = None,
) -> Iterator[Diagnostic]:
    """Compare loops, mobility and redundancy, unless every joint is unchanged."""
    serious = [f for f in found if f.code in MOVING and f.severity != "note"]
    if not serious and _one_to_one(comparison):
        return
    lost = {f.message.split("`")[1] for f in found if f.code == "REG327" and "`" in f.message}
    if lost & {coupling.name for coupling in before.couplings}:
        # What a lost coupling changes is said by that finding.
        kept = tuple(c for c in before.couplings if c.name not in lost)
        before, reduction = replace(before, couplings=kept), None
    shorter = _without_idle_free_joints(before, comparison)
    if shorter is not before:
        before, reduction = shorter, None
    one = reduction if reduction is not None else reduce(before)
    two = reduce(_at_the_same_pose(comparison, before))
    if not (one.assembly.closed and two.assembly.closed):
        message = "loops stay open, so that mobility and redundancy are not compared"
        yield comparison.find("REG320", message, severity="note")
        return
    counts = [(r.graph.loops, r.mobility, r.redundant - r.repeated) for r in (one, two)]
    names = ("independent loops", "mobility", "redundant constraint equations")
    for what, a, b in zip(names, *counts, strict=True):
        if a != b:
            message = f"{what} {b} instead of {a}: this is another machine"
            yield comparison.find("REG320", message, severity="error")


def _without_idle_free_joints(before: Mechanism, comparison: Comparison) -> Mechanism:
    """Remove free joints that the file lacks where other joints hold their bodies."""
    for joint in before.joints:
        if joint.kind == "free" and not comparison.joints[joint.name]:
            rest = replace(before, joints=tuple(j for j in before.joints if j is not joint))
            try:
                build(rest)
            except ModelError:
                continue
            before = rest
    return before


def _at_the_same_pose(comparison: Comparison, before: Mechanism) -> Mechanism:
    """Return the file's mechanism at the model's stored coordinates, if the file lost them."""
    positions: dict[str, Array] = {}
    for joint in before.joints:
        if np.array_equal(joint.position, comparison.before.joint(joint.name).position):
            continue
        freedoms = comparison.freedoms(joint)
        if len(freedoms) != joint.freedoms:
            continue
        values = joint.position * comparison.factors(joint)
        for (part, k), value in zip(freedoms, values, strict=True):
            positions.setdefault(part.name, np.zeros(part.freedoms))[k] = value
            slide = comparison.slides.get(part.name)
            if slide is not None:
                positions[slide.name] = np.array([value * comparison.pitch(part.name, slide.name)])
    return comparison.after.with_positions(positions)


def _one_to_one(comparison: Comparison) -> bool:
    """Say whether each joint of the model is one joint of the same kind in the file."""
    kinds = all(
        len(parts := comparison.joints[joint.name]) == 1
        and parts[0].kind == joint.kind
        and parts[0].name not in comparison.slides
        for joint in comparison.before.joints
    )
    names = {body.name for body in comparison.before.bodies}
    twins = [b for b, of in comparison.bodies.items() if b != of and b != comparison.after.ground]
    if not kinds or twins or names != {*comparison.bodies.values()}:
        return False
    return build(comparison.before).loops == build(comparison.after).loops
