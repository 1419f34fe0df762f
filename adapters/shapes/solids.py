"""Solid shapes of CAD systems, by OpenCASCADE, and parts drawn with build123d or CadQuery."""

from __future__ import annotations

import importlib
import io
import re
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from regularize.adapters.common.worker_processes import SECONDS, survives
from regularize.errors import MissingExtra, ModelError, ReadError
from regularize.lie.arrays import Array, Transform
from regularize.lie.screw import inverse
from regularize.mechanism.body import Inertia

if TYPE_CHECKING:
    import trimesh

MILLIMETRE = 1e-3
#: Files of whole parts or assemblies that are read, by suffix.
EXCHANGE = (".step", ".stp", ".iges", ".igs")
#: Shapes as FreeCAD stores them: as text, or in binary form.
STORED = (".brp", ".brep", ".bin")
#: Headings of the sections of such a file, with the number of entries.
_COUNT = re.compile(
    rb"^(?:Locations|Curve2ds|Curves|Polygon3D|PolygonOnTriangulations|Surfaces|Triangulations"
    rb"|TShapes) (\d+)",
    re.MULTILINE,
)
SUFFIXES = (*EXCHANGE, *STORED)
#: First line of a shape as text, and its end: the number of the root behind the last shape.
HEADING = re.compile(rb"\s*(DBRep_DrawableShape\s+)?CASCADE Topology V\d")
ENDING = re.compile(rb"\*\s+[-+ie]?\d+ \d+\s*(0\s*)?$")


@dataclass(frozen=True)
class ShapeElement:
    """A face, an edge or a vertex."""

    kind: str  # plane, cylinder, cone, sphere, torus, line, circle, point or other
    radius: float = 0.0  # of a cylinder, sphere or circle in metres


@dataclass(frozen=True, eq=False)
class CadShape:
    """A shape in parts, each of one material."""

    parts: tuple[Any, ...]  # OpenCASCADE's shapes, in millimetres
    densities: tuple[float | None, ...]  # kg/m³, None where the file gives no material

    def elements(self) -> dict[str, ShapeElement]:
        """Return the elements by FreeCAD's names such as ``Face3``, ``Edge1`` and ``Vertex2``."""
        vertices = range(len(self._all("VERTEX")))
        elements = {f"Vertex{k + 1}": ShapeElement("point") for k in vertices}
        adaptors = ocp("BRepAdaptor")
        for name, adaptor in (
            ("Face", adaptors.BRepAdaptor_Surface),
            ("Edge", adaptors.BRepAdaptor_Curve),
        ):
            for k, part in enumerate(self._all(name.upper())):
                elements[f"{name}{k + 1}"] = _element(adaptor(_cast(name, part)))
        return elements

    def inertia(self, density: float | None) -> Inertia | None:
        """Return mass properties in the shape's frame; None without a solid or a density."""
        weighed = []
        for part, stated in zip(self.parts, self.densities, strict=True):
            material = density if stated is None else stated
            solids = _every(part, "SOLID")
            if solids and material is None:
                return None
            weighed += [_weighed(solid, float(material or 0.0)) for solid in solids]
        return Inertia.total(weighed) if weighed else None

    def mesh(self, fineness: float = 0.3) -> trimesh.Trimesh:
        """Return the triangles of all faces, in metres."""
        import trimesh  # loaded where triangles are asked for

        mesher, tool = ocp("BRepMesh").BRepMesh_IncrementalMesh, ocp("BRep").BRep_Tool
        location = ocp("TopLoc").TopLoc_Location
        pieces = []
        for part in self.parts:
            mesher(part, 1.0, True, fineness, False)
            for face in _every(part, "FACE"):
                place = location()
                net = tool.Triangulation_s(_cast("Face", face), place)
                if net is None:
                    continue
                move = place.Transformation()
                nodes = [net.Node(k + 1).Transformed(move) for k in range(net.NbNodes())]
                corners = [net.Triangle(k + 1).Get() for k in range(net.NbTriangles())]
                points = MILLIMETRE * np.array([(p.X(), p.Y(), p.Z()) for p in nodes])
                faces = np.array(corners)[:, -3:] - 1
                if face.Orientation() == ocp("TopAbs").TopAbs_Orientation.TopAbs_REVERSED:
                    faces = faces[:, ::-1]
                pieces.append(trimesh.Trimesh(points, faces, process=False))
        mesh = trimesh.util.concatenate(pieces) if pieces else trimesh.Trimesh()
        mesh.merge_vertices()
        return mesh

    def _all(self, what: str) -> list[Any]:
        """Return the elements of a type such as ``FACE`` in all parts."""
        return [piece for part in self.parts for piece in _every(part, what)]


def stored_shape(data: bytes, name: str) -> CadShape:
    """Read a shape that FreeCAD stores, without its placement; ``name.bin`` is binary."""
    binary = name.endswith(".bin")
    # OpenCASCADE itself may crash on text that is cut off.
    if not binary and not (HEADING.match(data) and ENDING.search(data)):
        raise ReadError(name, "is empty or cut off: no shape can be read from it")

    # OpenCASCADE allocates as many entries as a section announces.
    if any(int(count[1][:20]) > len(data) for count in _COUNT.finditer(data)):
        raise ReadError(name, "is damaged: it says that more follows than it has bytes")

    def read() -> CadShape:
        shape = ocp("TopoDS").TopoDS_Shape()
        if binary:
            ocp("BinTools").BinTools.Read_s(shape, io.BytesIO(data))
        else:
            ocp("BRepTools").BRepTools.Read_s(shape, io.BytesIO(data), ocp("BRep").BRep_Builder())
        if shape.IsNull():
            raise ReadError(name, "holds no shape")
        return CadShape((shape.Located(ocp("TopLoc").TopLoc_Location()),), (None,))

    return tried(read, ("BinTools", "BRep", "BRepTools"), name, len(data))


def tried(read: Callable[[], CadShape], modules: tuple[str, ...], name: str, size: int) -> CadShape:
    """Read a file of so many bytes, after a forked process has read it without a crash."""

    def use() -> None:
        shape = read()
        shape.elements()
        shape.inertia(1.0)

    for module in (*modules, "BRepAdaptor", "BRepGProp", "GProp", "TopExp", "TopLoc", "TopoDS"):
        ocp(module)  # a copy of this process finds them loaded
    if not survives(use, SECONDS * (1 + size // 2**20)):
        raise ReadError(name, "is damaged: OpenCASCADE ends the process that reads it")
    try:
        with _silence():
            return read()
    except ReadError:
        raise
    except Exception as error:  # exceptions of OpenCASCADE have no common base
        raise ReadError(name, f"is no shape that OpenCASCADE reads: {error}") from error


@contextmanager
def _silence() -> Iterator[None]:
    """Keep OpenCASCADE from writing messages to standard output."""
    messenger = ocp("Message").Message.DefaultMessenger_s()
    printers = list(messenger.Printers())
    for printer in printers:
        messenger.RemovePrinter(printer)
    try:
        yield
    finally:
        for printer in printers:
            messenger.AddPrinter(printer)


def scaled(inertia: Inertia, scale: Array) -> Inertia:
    """Return mass properties of a shape scaled along its axes by factors (3,), same density."""
    # The integral of x xᵀ over the mass; the inertia is its trace times identity minus it.
    second = np.eye(3) * np.trace(inertia.matrix) / 2 - inertia.matrix
    volume = abs(float(np.prod(scale)))
    second = volume * np.diag(scale) @ second @ np.diag(scale)
    matrix = np.eye(3) * np.trace(second) - second
    return Inertia(volume * inertia.mass, scale * inertia.center, matrix)


def _weighed(solid: Any, density: float) -> Inertia:
    """Return mass properties of a solid, whether its faces point outwards or inwards."""
    properties = ocp("GProp").GProp_GProps()
    ocp("BRepGProp").BRepGProp.VolumeProperties_s(solid, properties)
    center, matrix = properties.CentreOfMass(), properties.MatrixOfInertia()
    rows = [[matrix.Value(i, j) for j in (1, 2, 3)] for i in (1, 2, 3)]
    sign = -1.0 if properties.Mass() < 0.0 else 1.0
    return Inertia(
        sign * density * MILLIMETRE**3 * properties.Mass(),
        MILLIMETRE * np.array([center.X(), center.Y(), center.Z()]),
        sign * density * MILLIMETRE**5 * np.array(rows),
    )


def _element(adaptor: Any) -> ShapeElement:
    """Return kind and radius of the surface or curve of an adaptor."""
    kind = adaptor.GetType().name.removeprefix("GeomAbs_").lower()
    if kind in ("cylinder", "sphere", "circle"):
        return ShapeElement(kind, MILLIMETRE * getattr(adaptor, kind.title())().Radius())
    return ShapeElement(kind if kind in ("plane", "cone", "torus", "line") else "other")


def _every(shape: Any, what: str) -> list[Any]:
    """Return the distinct elements of a type such as ``FACE``, in OpenCASCADE's order."""
    names = "IndexedMapOfShape", "IndexedMap_TopoDS_Shape_TopTools_ShapeMapHasher"
    shapes, kinds = collection("TopTools", *names), ocp("TopAbs").TopAbs_ShapeEnum
    ocp("TopExp").TopExp.MapShapes_s(shape, getattr(kinds, f"TopAbs_{what}"), shapes)
    return [shapes.FindKey(k + 1) for k in range(shapes.Extent())]


def ocp(module: str) -> Any:
    """Import a module of OpenCASCADE."""
    try:
        return importlib.import_module(f"OCP.{module}")
    except ImportError as error:
        raise MissingExtra("the shape of a CAD file", "OCP", "brep") from error


def _cast(kind: str, shape: Any) -> Any:
    """Return a shape as a ``TopoDS_Face``, ``TopoDS_Edge`` or ``TopoDS_Vertex``."""
    casts = ocp("TopoDS").TopoDS
    return (getattr(casts, f"{kind}_s", None) or getattr(casts, kind))(shape)


def collection(module: str, old: str, new: str) -> Any:
    """Return an empty collection, whose class has other names in versions 7 and 8."""
    kind = getattr(ocp(module), f"{module}_{old}", None)
    return (kind or getattr(ocp("collections"), new))()


#: Largest distance of the two ends of a mate, in metres.
APART = 1e-6
#: Kind of each class of joints in build123d; of two joints the one that is not rigid counts.
KINDS = {
    **{"RigidJoint": "fixed", "RevoluteJoint": "revolute", "LinearJoint": "prismatic"},
    **{"CylindricalJoint": "cylindrical", "BallJoint": "spherical"},
}


def inertia_of(name: str, part: Any, density: float) -> Inertia:
    """Return mass properties, SI in the world, of a shape of build123d, CadQuery or OCP."""
    if hasattr(part, "toCompound"):
        part = part.toCompound()
    shapes = [*part.vals()] if hasattr(part, "vals") else [part]
    raw = [getattr(shape, "wrapped", shape) for shape in shapes]
    if not raw or not all(hasattr(shape, "ShapeType") for shape in raw):
        raise ModelError(
            f"part {name!r}: a {type(part).__name__} is no shape of build123d or CadQuery"
        )
    if not (np.isfinite(density) and density > 0.0):
        raise ModelError(f"part {name!r}: {density!r} is no density in kg/m³")
    inertia = CadShape(tuple(raw), (float(density),) * len(raw)).inertia(None)
    if inertia is None:
        raise ModelError(f"part {name!r} has no solid, and so no mass")
    return inertia


def mate_of(name: str, first: Any, second: Any) -> tuple[str, Transform]:
    """Return kind and frame in the world, with axis Z, of the mate of two build123d joints."""
    kinds = [KINDS.get(type(each).__name__) for each in (first, second)]
    if None in kinds:
        raise ModelError(f"mate {name!r} takes two joints of build123d parts, one of each part")
    free = [kind for kind in kinds if kind not in (None, "fixed")]
    if len({*free}) > 1:
        raise ModelError(f"mate {name!r}: {free[0]} and {free[1]} do not go together")
    kind = free[0] if free else "fixed"
    place, other = _pose(first), _pose(second)
    if kind != kinds[0]:
        place, other = other, place
    gap = (inverse(place) @ other)[:3, 3]
    if kind in ("prismatic", "cylindrical"):
        gap = gap[:2]
    if np.linalg.norm(gap) > APART:
        raise ModelError(
            f"mate {name!r}: its two ends are {1e3 * np.linalg.norm(gap):.3g} mm apart; move one "
            "of the parts (connect_to), or correct the place of a joint"
        )
    return str(kind), place


def _pose(joint: Any) -> Transform:
    """Return the pose of a joint in the world, its axis along Z."""
    move, T = joint.location.wrapped.Transformation(), np.eye(4)
    T[:3] = [[move.Value(i, j) for j in (1, 2, 3, 4)] for i in (1, 2, 3)]
    T[:3, 3] *= MILLIMETRE
    return T
