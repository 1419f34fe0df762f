"""Rigid bodies: mass properties and shapes, in the body frame and in SI units."""

from __future__ import annotations

import os
from collections.abc import Iterable
from dataclasses import dataclass, field, fields
from pathlib import Path

import numpy as np

from regularize.errors import ModelError, ReadError
from regularize.lie.arrays import Array, Point, Transform, read_only
from regularize.lie.screw import IDENTITY, cross, cross_matrix, leading_component, points_back, unit
from regularize.mechanism.diagnostic import Source
from regularize.mechanism.named_columns import Frozen, ShortRepr
from regularize.tolerances import UNNOTICED


@dataclass(frozen=True, eq=False, repr=False)
class Inertia(Frozen):
    """Mass properties of a body.

    Attributes:
        mass: Mass in kilograms.
        center: Centre of mass in the body frame in metres, shape (3,).
        matrix: Rotational inertia about the centre of mass, body axes, kg m², shape (3, 3).
    """

    mass: float
    center: Point
    matrix: Array

    def __post_init__(self) -> None:
        object.__setattr__(self, "center", read_only(self.center).reshape(3))
        object.__setattr__(self, "matrix", read_only(self.matrix).reshape(3, 3))

    def transformed(self, T: Transform) -> Inertia:
        """The same mass properties seen from frame a, given ``T_a_body``."""
        R = T[:3, :3]
        return Inertia(self.mass, R @ self.center + T[:3, 3], R @ self.matrix @ R.T)

    @property
    def spatial(self) -> Array:
        """Spatial inertia about the frame's origin, linear part first, shape (6, 6)."""
        moment = self.mass * cross_matrix(self.center)
        matrix = np.zeros((6, 6))
        matrix[:3, :3], matrix[:3, 3:], matrix[3:, :3] = self.mass * np.eye(3), -moment, moment
        matrix[3:, 3:] = self.matrix - moment @ cross_matrix(self.center)
        return matrix

    @property
    def principal(self) -> tuple[Array, Array]:
        """Principal moments, ascending, and their axes as columns: a rotation, shape (3, 3).

        Rounding chooses none of them: of the directions of an axis it is the one whose largest
        component is positive, and of equal moments the axes nearest to those of the body.
        """
        moments, axes = np.linalg.eigh(self.matrix)
        equal = np.diff(moments) <= UNNOTICED * np.abs(moments).max()
        if equal.all():
            return moments, np.eye(3)
        axes = axes * [-1.0 if points_back(axis) else 1.0 for axis in axes.T]
        if equal.any():
            alone = axes[:, 2 if equal[0] else 0]
            across = np.eye(3) - np.outer(alone, alone)
            near = unit(across[:, leading_component(np.diag(across))])
            last = cross(alone, near)
            axes = np.column_stack([near, last, alone] if equal[0] else [alone, near, last])
        axes[:, 0] *= np.sign(np.linalg.det(axes))
        return moments, axes

    def scaled(self, factor: float) -> Inertia:
        """The inertia times a factor, which may be negative."""
        return Inertia(factor * self.mass, self.center, factor * self.matrix)

    @staticmethod
    def total(parts: Iterable[Inertia]) -> Inertia:
        """Mass properties of several parts that move as one; all in one frame."""
        parts = list(parts)
        mass = sum(part.mass for part in parts)
        if mass == 0.0:
            return Inertia(0.0, np.zeros(3), np.sum([p.matrix for p in parts], axis=0))
        center = np.sum([part.mass * part.center for part in parts], axis=0) / mass
        matrix = np.zeros((3, 3))
        for part in parts:
            d = part.center - center
            matrix += part.matrix + part.mass * (d @ d * np.eye(3) - np.outer(d, d))
        return Inertia(mass, center, matrix)


@dataclass(frozen=True, eq=False, repr=False)
class Geometry(Frozen):
    """A shape of a body, for show or for collisions. Meshes are named, never opened by a reader.

    Attributes:
        kind: ``box``, ``cylinder``, ``sphere``, ``ellipsoid``, ``capsule`` or ``mesh``.
        size: Box edges; radius and length; radius; radii along the axes; or mesh scale, in metres,
            shape (1 to 3,).
        T_body_geometry: Frame of the shape in the body frame.
        uri: The mesh file as written in the model; ``archive#member`` for a shape inside of a CAD
            file, ``#member`` inside of the model's own.
        color: Red, green, blue, opacity between 0 and 1.
        collision: True for collision shapes, False for visual ones.
        density: Density of the material that the file gives the shape, kg/m³; None where it gives
            none.
        friction: Coefficient of Coulomb's friction that the file gives the shape; None where it
            gives none.
    """

    kind: str
    size: Array
    T_body_geometry: Transform = field(default_factory=lambda: IDENTITY)
    uri: str | None = None
    color: tuple[float, float, float, float] | None = None
    collision: bool = False
    density: float | None = None
    friction: float | None = None

    def __post_init__(self) -> None:
        object.__setattr__(self, "size", read_only(self.size))
        object.__setattr__(self, "T_body_geometry", read_only(self.T_body_geometry))


@dataclass(frozen=True)
class Beam:
    """A straight prismatic elastic beam along +x of the body's frame, from its origin on.

    Its mass is that of the body. Principal axes of the section are y and z; torsion is that of a
    circular section, or of one that does not warp: G (Iy + Iz).

    Attributes:
        length: In m.
        area: Of the section, m².
        moments: Second moments of area, Iy = ∫ z² dA and Iz = ∫ y² dA, in m⁴.
        E: Young's modulus, Pa.
        G: Shear modulus, Pa.
        density: In kg/m³.

    Raises:
        ModelError: A number is not positive and finite.
    """

    length: float
    area: float
    moments: tuple[float, float]
    E: float
    G: float
    density: float

    def __post_init__(self) -> None:
        object.__setattr__(self, "moments", tuple(float(value) for value in self.moments))
        values = (self.length, self.area, *self.moments, self.E, self.G, self.density)
        if len(self.moments) != 2 or not all(0.0 < value < np.inf for value in values):
            raise ModelError(f"a beam consists of positive finite numbers, got {self!r:.120}")

    @property
    def flexural(self) -> tuple[float, float]:
        """Flexural rigidities about y and z, N m²."""
        return self.E * self.moments[0], self.E * self.moments[1]


@dataclass(frozen=True, eq=False, repr=False)
class Modes(Frozen):
    """Modes of an elastic body, as a finite element program reduces it (Craig and Bampton 1968).

    The two ends stand where the body's joints do; if it has one joint, that is at the first. Six
    combinations of the modes are the motions of the rigid body, without stiffness.

    Attributes:
        mass: Of the modes, shape (modes, modes).
        stiffness: Of the modes, shape (modes, modes).
        shapes: What they move the body's two ends by, (v, ω) in body axes, shape (2, 6, modes).

    Raises:
        ModelError: The shapes do not fit.
    """

    mass: Array
    stiffness: Array
    shapes: Array

    def __post_init__(self) -> None:
        for name in ("mass", "stiffness", "shapes"):
            object.__setattr__(self, name, read_only(getattr(self, name)))
        n = self.mass.shape[-1] if self.mass.ndim else 0
        shapes_of = {"mass": (n, n), "stiffness": (n, n), "shapes": (2, 6, n)}
        for name, shape in shapes_of.items():
            if n == 0 or getattr(self, name).shape != shape:
                actual = getattr(self, name).shape
                raise ModelError(f"{name} of {n} modes has the shape {shape}, got {actual}")
            if not np.all(np.isfinite(getattr(self, name))):
                raise ModelError(f"{name} of the modes consists of finite numbers")

    @classmethod
    def load(cls, path: str | os.PathLike[str]) -> Modes:
        """Modes from a NumPy archive with the arrays ``mass``, ``stiffness`` and ``shapes``.

        Raises:
            ReadError: The file is no such archive.
            ModelError: The arrays do not fit each other.
        """
        try:
            with np.load(path, allow_pickle=False) as archive:
                return cls(**{f.name: np.asarray(archive[f.name], float) for f in fields(cls)})
        except ModelError:
            raise
        except Exception as error:
            raise ReadError(
                str(path), f"is no NumPy archive with mass, stiffness and shapes ({error})"
            ) from error

    def save(self, path: str | os.PathLike[str]) -> Path:
        """Write a NumPy archive that ``load`` reads."""
        from regularize.output_files import write_made  # few bodies are saved

        arrays = {f.name: getattr(self, f.name) for f in fields(self)}
        place = Path(f"{os.fspath(path).removesuffix('.npz')}.npz")
        write_made(place, lambda stream: np.savez_compressed(stream, **arrays))
        return place


@dataclass(frozen=True, eq=False, repr=False)
class Body(ShortRepr):
    """A body, rigid unless it says otherwise.

    Attributes:
        name: Name in the user's model.
        inertia: Mass properties, or None where the model states none.
        geometry: Shapes, in the body frame.
        source: Where it stands in the user's files.
        elastic: How it bends, or None where it is rigid.
    """

    name: str
    inertia: Inertia | None = None
    geometry: tuple[Geometry, ...] = ()
    source: Source | None = None
    elastic: Beam | Modes | None = None
