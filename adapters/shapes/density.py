"""Mass properties from shapes, by their materials or a given density, where bodies state none."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from dataclasses import replace
from numbers import Real

import numpy as np

from regularize.adapters.registry import GUESTS
from regularize.errors import MissingExtra, ModelError, ReadError
from regularize.escape import listed
from regularize.mechanism.body import Body, Geometry, Inertia
from regularize.mechanism.diagnostic import Diagnostic, Severity
from regularize.mechanism.mechanism import Mechanism, Model, as_mechanism

#: Density of parts of CAD assemblies that have no material, kg/m³: of water, as in MuJoCo.
USUAL = 1000.0


def with_density(model: Model, density: float | Mapping[str, float]) -> Mechanism:
    """The mechanism with mass properties for the bodies that state none, from their shapes.

    The visual shapes count where a body has any, for they show the part; else those for collisions.
    Overlaps count twice. Bodies that state mass properties, and the ground, stay as they are; where
    the file gives a shape a material, the density is that of the material.

    Args:
        model: The mechanism.
        density: Density of all parts in kg/m³, or of the bodies named; the entry ``""`` is that of
            all others.

    Raises:
        ModelError: A density is not a positive number, or there is no body of a name.
        ReadError: A mesh is not found, or cannot be read.
        MissingExtra: A mesh format needs a package that is not installed.
    """
    mechanism = as_mechanism(model)
    densities = density if isinstance(density, Mapping) else {"": density}
    for value in densities.values():
        if not isinstance(value, Real):
            raise TypeError(f"a density is a positive number of kg/m³; got {value!r:.60}")
        if not 0.0 < value < math.inf:
            raise ModelError(f"a density is a positive number of kg/m³, got {value}")
    bodies, findings = [], [*mechanism.findings]
    for name in filter(None, densities):
        body = mechanism.body(name)
        if body.inertia is not None or name == mechanism.ground:
            why = "is the ground" if name == mechanism.ground else "states its mass properties"
            findings.append(_finding("note", f"`{name}` {why}: its density is not used", body))
    for body in mechanism.bodies:
        chosen = densities.get(body.name, densities.get(""))
        if body.inertia is None and body.name != mechanism.ground and chosen is not None:
            inertia, notes = _weighed(body, chosen, mechanism.path)
            body, findings = replace(body, inertia=inertia), [*findings, *notes]
        bodies.append(body)
    return replace(mechanism, bodies=tuple(bodies), findings=tuple(findings))


def with_usual_density(mechanism: Mechanism) -> tuple[Mechanism, tuple[Diagnostic, ...]]:
    """Give parts of a CAD assembly that have no material a usual density; return a note on that."""
    bare = [b for b in mechanism.bodies if b.inertia is None and b.name != mechanism.ground]
    if mechanism.format not in GUESTS or not any(body.geometry for body in bare):
        return mechanism, ()
    weighed = with_density(mechanism, USUAL)
    names = listed(b.name for b in bare if weighed.body(b.name).inertia is not None)
    if not names:
        return mechanism, ()
    words = f"parts without material are taken as {USUAL:g} kg/m³: {names}; --density gives another"
    return replace(weighed, findings=mechanism.findings), (Diagnostic("REG018", "note", words),)


def with_materials(mechanism: Mechanism) -> Mechanism:
    """Return the mechanism with mass properties for bodies whose shapes have materials."""
    bodies, findings = [], [*mechanism.findings]
    for body in mechanism.bodies:
        shapes = _with_material(body)
        if body.inertia is None and body.name != mechanism.ground and shapes:
            try:
                inertia, notes = _weighed(replace(body, geometry=shapes), None, mechanism.path)
            except (ReadError, MissingExtra) as error:
                words = f"`{body.name}` keeps no mass properties: {error}"
                inertia, notes = None, [_finding("note", words, body)]
            body, findings = replace(body, inertia=inertia), [*findings, *notes]
        bodies.append(body)
    return replace(mechanism, bodies=tuple(bodies), findings=tuple(findings))


def _with_material(body: Body) -> tuple[Geometry, ...]:
    """Return the colliding or else the visual shapes of a body, if all may have a material."""
    from regularize.adapters.shapes.solids import EXCHANGE  # with all that shapes take

    for colliding in (True, False):
        shapes = tuple(shape for shape in body.geometry if shape.collision is colliding)
        known = (s.density or (s.uri or "").lower().endswith(EXCHANGE) for s in shapes)
        if shapes and all(known):
            return shapes
    return ()


def _weighed(
    body: Body, density: float | None, path: str | None
) -> tuple[Inertia | None, list[Diagnostic]]:
    """Compute mass properties of a body from its shapes; return them with findings."""
    shapes, parts = shown(body), []
    if not shapes:
        words = f"`{body.name}` has neither mass properties nor shapes to compute them from"
        return None, [_finding("note", words, body)]
    for shape in shapes:
        part = shape_inertia(shape, density, path)
        if part is None and density is None:
            return None, []
        if part is None:
            words = (
                f"mesh `{shape.uri}` of `{body.name}` is not closed, so it has no volume: "
                "the body keeps no mass properties"
            )
            help = "repair the mesh, or write an inertia into the model"
            return None, [_finding("warning", words, body, help)]
        parts.append(part.transformed(shape.T_body_geometry))
    total = Inertia.total(parts)
    stated = {shape.density for shape in shapes} - {None}
    basis = f"at {density:g} kg/m³" if density is not None and not stated else "by their material"
    words = f"mass of `{body.name}` computed from its shapes {basis}: {total.mass:.4g} kg"
    return total, [_finding("note", words, body)]


def _finding(severity: Severity, message: str, body: Body, *help: str) -> Diagnostic:
    """Return a finding (REG018) on the mass properties of a body."""
    return Diagnostic("REG018", severity, message, source=body.source, help=help)


def shown(body: Body) -> tuple[Geometry, ...]:
    """Return the visual shapes of a body, or its colliding shapes where it has none."""
    visual = tuple(shape for shape in body.geometry if not shape.collision)
    return visual or body.geometry


def shape_inertia(
    shape: Geometry, density: float | None, path: str | None = None
) -> Inertia | None:
    """Return mass properties of a shape in its frame; None if open or without a density."""
    chosen = density if shape.density is None else shape.density
    if shape.kind == "mesh":
        return _mesh_inertia(shape, chosen, path)
    if chosen is None:
        return None
    volume, moments = _SOLIDS[shape.kind](*(float(value) for value in shape.size))
    return Inertia(chosen * volume, np.zeros(3), chosen * np.diag(moments))


def _box(x: float, y: float, z: float) -> tuple[float, list[float]]:
    """Return volume and moments of inertia at unit density; so do the functions below."""
    volume = x * y * z
    return volume, [volume * (a * a + b * b) / 12 for a, b in ((y, z), (x, z), (x, y))]


def _sphere(radius: float) -> tuple[float, list[float]]:
    volume = 4 / 3 * math.pi * radius**3
    return volume, [0.4 * volume * radius**2] * 3


def _ellipsoid(*radii: float) -> tuple[float, list[float]]:
    volume, (a, b, c) = 4 / 3 * math.pi * math.prod(radii), (r * r for r in radii)
    return volume, [0.2 * volume * sum_ for sum_ in (b + c, a + c, a + b)]


def _cylinder(radius: float, length: float) -> tuple[float, list[float]]:
    volume = math.pi * radius**2 * length
    across = volume * (3 * radius**2 + length**2) / 12
    return volume, [across, across, volume * radius**2 / 2]


def _capsule(radius: float, length: float) -> tuple[float, list[float]]:
    """Return volume and moments of a cylinder of that length between two half balls."""
    tube, (across, _, along) = _cylinder(radius, length)
    ball, (moment, _, _) = _sphere(radius)
    # Each half ball has its centre of mass 3/8 of the radius above its flat side.
    lift = length / 2 + 3 * radius / 8
    across += moment - ball * (3 * radius / 8) ** 2 + ball * lift**2
    return tube + ball, [across, across, along + moment]


_SOLIDS: dict[str, Callable[..., tuple[float, list[float]]]] = {
    "box": _box,
    "sphere": _sphere,
    "ellipsoid": _ellipsoid,
    "cylinder": _cylinder,
    "capsule": _capsule,
}


def _mesh_inertia(shape: Geometry, density: float | None, path: str | None) -> Inertia | None:
    """Return mass properties of a mesh or a CAD solid; None if open or without a density."""
    from regularize.adapters.shapes.meshes import cad_shape, load_mesh  # as above
    from regularize.adapters.shapes.solids import scaled

    solid = cad_shape(shape.uri or "", path)
    if solid is not None:
        inertia = solid.inertia(density)
        return None if inertia is None else scaled(inertia, np.broadcast_to(shape.size, 3))
    if density is None:
        return None
    mesh = load_mesh(shape, path)
    if not mesh.is_watertight:
        return None
    mesh.density = density
    properties = mesh.mass_properties
    mass, matrix = float(properties.mass), np.asarray(properties.inertia)
    if mass < 0.0:  # the faces look inwards
        mass, matrix = -mass, -matrix
    return Inertia(mass, np.asarray(properties.center_mass), (matrix + matrix.T) / 2)
