"""Solid shapes of CAD systems, by OpenCASCADE: what their faces are, mass properties, triangles.

Files of CAD systems are in millimetres, or converted to them on reading; what is given out is in
metres. The package ``cadquery-ocp-novtk`` is imported where a shape is opened and nowhere else.
"""

from __future__ import annotations

import importlib
import io
import re
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from regularize.errors import MissingExtra, ReadError
from regularize.input_files import check_regular, read_bytes
from regularize.lie.screw import Array
from regularize.model.body import Inertia
from regularize.model.trial import survives

if TYPE_CHECKING:
    import trimesh

MILLIMETRE = 1e-3
#: Files of whole parts or assemblies that are read, by suffix.
EXCHANGE = (".step", ".stp", ".iges", ".igs")
#: Shapes as FreeCAD stores them: as text, or in binary form.
STORED = (".brp", ".brep", ".bin")
SUFFIXES = (*EXCHANGE, *STORED)
#: A shape as text: its heading, and the number of the root after the last shape that is listed.
HEADING = re.compile(rb"\s*(DBRep_DrawableShape\s+)?CASCADE Topology V\d")
ENDING = re.compile(rb"\*\s+[-+ie]?\d+ \d+\s*(0\s*)?$")
#: Units of mass in STEP files, in kg, by the prefix that stands before gram.
PREFIXES = {"$": 1e-3, ".KILO.": 1.0, ".MEGA.": 1e3, ".MILLI.": 1e-6}


@dataclass(frozen=True)
class ShapeElement:
    """A face, an edge or a vertex.

    Attributes:
        kind: ``plane``, ``cylinder``, ``cone``, ``sphere``, ``torus``, ``line``, ``circle``,
            ``point`` or ``other``.
        radius: Radius of a cylinder, sphere or circle in metres; 0 for the others.
    """

    kind: str
    radius: float = 0.0


@dataclass(frozen=True, eq=False)
class CadShape:
    """A shape, in parts of one material each.

    Attributes:
        parts: OpenCASCADE's shapes, in millimetres.
        densities: Density of each part in kg/m³, None where the file gives it no material.
    """

    parts: tuple[Any, ...]
    densities: tuple[float | None, ...]

    def elements(self) -> dict[str, ShapeElement]:
        """What each ``Face3``, ``Edge1`` and ``Vertex2`` is, numbered as FreeCAD numbers them."""
        found = {f"Vertex{k + 1}": ShapeElement("point") for k in range(len(self._all("VERTEX")))}
        adaptors = _ocp("BRepAdaptor")
        for name, what, adaptor in (
            ("Face", "FACE", adaptors.BRepAdaptor_Surface),
            ("Edge", "EDGE", adaptors.BRepAdaptor_Curve),
        ):
            for k, part in enumerate(self._all(what)):
                found[f"{name}{k + 1}"] = _element(adaptor(_cast(name, part)))
        return found

    def inertia(self, density: float | None) -> Inertia | None:
        """Mass properties in the frame of the shape; None without a solid, or without a density.

        Args:
            density: Density of the parts to which the file gives no material, kg/m³.
        """
        found = []
        for part, own in zip(self.parts, self.densities, strict=True):
            material = density if own is None else own
            solids = _every(part, "SOLID")
            if solids and material is None:
                return None
            found += [_weighed(solid, float(material or 0.0)) for solid in solids]
        return Inertia.total(found) if found else None

    def mesh(self, fineness: float = 0.3) -> trimesh.Trimesh:
        """Triangles of all faces, in metres.

        Args:
            fineness: Largest angle between neighbouring triangles in radians.
        """
        import trimesh  # loaded where triangles are asked for

        mesher, tool = _ocp("BRepMesh").BRepMesh_IncrementalMesh, _ocp("BRep").BRep_Tool
        location = _ocp("TopLoc").TopLoc_Location
        pieces = []
        for part in self.parts:
            mesher(part, 1.0, True, fineness, False)
            for face in _every(part, "FACE"):
                place = location()
                found = tool.Triangulation_s(_cast("Face", face), place)
                if found is None:
                    continue
                move = place.Transformation()
                nodes = [found.Node(k + 1).Transformed(move) for k in range(found.NbNodes())]
                corners = [found.Triangle(k + 1).Get() for k in range(found.NbTriangles())]
                points = MILLIMETRE * np.array([(p.X(), p.Y(), p.Z()) for p in nodes])
                faces = np.array(corners)[:, -3:] - 1
                if face.Orientation() == _ocp("TopAbs").TopAbs_Orientation.TopAbs_REVERSED:
                    faces = faces[:, ::-1]
                pieces.append(trimesh.Trimesh(points, faces, process=False))
        mesh = trimesh.util.concatenate(pieces) if pieces else trimesh.Trimesh()
        mesh.merge_vertices()
        return mesh

    def _all(self, what: str) -> list[Any]:
        return [each for part in self.parts for each in _every(part, what)]


def stored_shape(data: bytes, name: str) -> CadShape:
    """A shape as FreeCAD stores it, without the placement of the object that it belongs to.

    Args:
        data: Content of the file.
        name: Its name, for messages; ``.bin`` ends that of a shape in binary form.

    Raises:
        ReadError: The shape is damaged, or there is none.
        MissingExtra: OpenCASCADE is not installed.
    """
    shape = _ocp("TopoDS").TopoDS_Shape()
    binary = name.endswith(".bin")
    # OpenCASCADE itself goes astray in text that is cut off.
    if not binary and not (HEADING.match(data) and ENDING.search(data)):
        raise ReadError(name, "is empty or cut off: no shape can be read from it")

    def read() -> CadShape:
        if binary:
            _ocp("BinTools").BinTools.Read_s(shape, io.BytesIO(data))
        else:
            _ocp("BRepTools").BRepTools.Read_s(shape, io.BytesIO(data), _ocp("BRep").BRep_Builder())
        return CadShape((shape.Located(_ocp("TopLoc").TopLoc_Location()),), (None,))

    def use() -> None:
        found = read()
        found.elements()
        found.inertia(1.0)

    for module in ("BinTools", "BRep", "BRepAdaptor", "BRepGProp", "BRepTools", "TopExp"):
        _ocp(module)  # a copy of this process finds them loaded
    if not survives(use):
        raise ReadError(name, "is damaged: OpenCASCADE ends the process that reads it")
    try:
        found = read()
    except Exception as error:  # exceptions of OpenCASCADE have no common base
        raise ReadError(name, f"is no shape that OpenCASCADE reads: {error}") from error
    if shape.IsNull():
        raise ReadError(name, "holds no shape")
    return found


@cache
def shape_file(path: Path) -> CadShape:
    """The shape in a STEP, IGES or BREP file, with the densities that STEP gives its materials.

    Raises:
        ReadError: The file cannot be read.
        MissingExtra: OpenCASCADE is not installed.
    """
    if path.suffix.lower() in STORED:
        return stored_shape(read_bytes(str(path)), str(path))
    check_regular(str(path))
    step = path.suffix.lower() in (".step", ".stp")
    reader = (
        _ocp("STEPCAFControl").STEPCAFControl_Reader()
        if step
        else _ocp("IGESCAFControl").IGESCAFControl_Reader()
    )
    document = _ocp("TDocStd").TDocStd_Document(
        _ocp("TCollection").TCollection_ExtendedString("BinXCAF")
    )
    if step:
        reader.SetMatMode(True)
    status = reader.ReadFile(str(path))
    if status != _ocp("IFSelect").IFSelect_ReturnStatus.IFSelect_RetDone or not reader.Transfer(
        document
    ):
        raise ReadError(str(path), "is no STEP or IGES file that OpenCASCADE reads")
    return _collected(document, str(path), _mass_unit(path) if step else None)


def _mass_unit(path: Path) -> float | None:
    """The unit of mass of a STEP file in kg; None where it has none, or several."""
    text = read_bytes(str(path)).decode("latin-1")
    units = {
        "".join(entity.split())
        for entity in re.findall(r"#\d+\s*=\s*(\([^;]*\bMASS_UNIT\b[^;]*\))\s*;", text)
    }
    found = re.search(r"SI_UNIT\(([^,]*),\.GRAM\.\)", units.pop()) if len(units) == 1 else None
    return None if found is None else PREFIXES.get(found[1])


def _collected(document: Any, path: str, mass_unit: float | None) -> CadShape:
    """Every part of a document at its places, with the density of its material.

    OpenCASCADE converts the unit of length in a density to millimetres and leaves that of mass.
    """
    tools = _ocp("XCAFDoc")
    tool = tools.XCAFDoc_DocumentTool.ShapeTool_s(document.Main())
    parts: list[Any] = []
    densities: list[float | None] = []

    def labels(method: Any, *arguments: Any) -> list[Any]:
        found = _label_sequence()
        method(*arguments, found)
        return [found.Value(k + 1) for k in range(found.Length())]

    def add(label: Any, place: Any) -> None:
        shapes = tools.XCAFDoc_ShapeTool
        if shapes.IsReference_s(label):
            target = _ocp("TDF").TDF_Label()
            shapes.GetReferredShape_s(label, target)
            add(target, place.Multiplied(shapes.GetLocation_s(label)))
        elif shapes.IsAssembly_s(label):
            for component in labels(shapes.GetComponents_s, label):
                add(component, place)
        else:
            density = tools.XCAFDoc_MaterialTool.GetDensityForShape_s(label)
            parts.append(shapes.GetShape_s(label).Moved(place))
            unit = mass_unit or 0.0
            densities.append(density * unit / MILLIMETRE**3 or None)

    for label in labels(tool.GetFreeShapes):
        add(label, _ocp("TopLoc").TopLoc_Location())
    if not parts:
        raise ReadError(path, "holds no shape")
    return CadShape(tuple(parts), tuple(densities))


def scaled(inertia: Inertia, scale: Array) -> Inertia:
    """Mass properties of the same shape, its axes stretched or mirrored, density unchanged.

    Args:
        inertia: Mass properties in the frame of the shape.
        scale: Factor along each axis, shape (3,).
    """
    # The integrals of x xᵀ over the mass, of which the inertia is the trace less themselves.
    second = np.eye(3) * np.trace(inertia.matrix) / 2 - inertia.matrix
    volume = abs(float(np.prod(scale)))
    second = volume * np.diag(scale) @ second @ np.diag(scale)
    matrix = np.eye(3) * np.trace(second) - second
    return Inertia(volume * inertia.mass, scale * inertia.center, matrix)


def _weighed(solid: Any, density: float) -> Inertia:
    """Mass properties of a solid, whichever way its faces look."""
    properties = _ocp("GProp").GProp_GProps()
    _ocp("BRepGProp").BRepGProp.VolumeProperties_s(solid, properties)
    center, matrix = properties.CentreOfMass(), properties.MatrixOfInertia()
    rows = [[matrix.Value(i, j) for j in (1, 2, 3)] for i in (1, 2, 3)]
    sign = -1.0 if properties.Mass() < 0.0 else 1.0
    return Inertia(
        sign * density * MILLIMETRE**3 * properties.Mass(),
        MILLIMETRE * np.array([center.X(), center.Y(), center.Z()]),
        sign * density * MILLIMETRE**5 * np.array(rows),
    )


def _element(adaptor: Any) -> ShapeElement:
    kind = adaptor.GetType().name.removeprefix("GeomAbs_").lower()
    if kind in ("cylinder", "sphere", "circle"):
        return ShapeElement(kind, MILLIMETRE * getattr(adaptor, kind.title())().Radius())
    return ShapeElement(kind if kind in ("plane", "cone", "torus", "line") else "other")


def _every(shape: Any, what: str) -> list[Any]:
    """The different faces, edges, … of a shape, in OpenCASCADE's order."""
    found = _shape_map()
    _ocp("TopExp").TopExp.MapShapes_s(
        shape, getattr(_ocp("TopAbs").TopAbs_ShapeEnum, f"TopAbs_{what}"), found
    )
    return [found.FindKey(k + 1) for k in range(found.Extent())]


def _ocp(module: str) -> Any:
    """A module of OpenCASCADE."""
    try:
        return importlib.import_module(f"OCP.{module}")
    except ImportError as error:
        raise MissingExtra("the shape of a CAD file", "OCP", "brep") from error


def _cast(kind: str, shape: Any) -> Any:
    """A shape as a ``TopoDS_Face`` or the like."""
    casts = _ocp("TopoDS").TopoDS
    return (getattr(casts, f"{kind}_s", None) or getattr(casts, kind))(shape)


def _shape_map() -> Any:
    """An empty map of shapes, whose name differs between versions 7 and 8."""
    tools = _ocp("TopTools")
    if hasattr(tools, "TopTools_IndexedMapOfShape"):
        return tools.TopTools_IndexedMapOfShape()
    return _ocp("collections").IndexedMap_TopoDS_Shape_TopTools_ShapeMapHasher()


def _label_sequence() -> Any:
    """An empty sequence of labels, whose name differs between versions 7 and 8."""
    tools = _ocp("TDF")
    if hasattr(tools, "TDF_LabelSequence"):
        return tools.TDF_LabelSequence()
    return _ocp("collections").Sequence_TDF_Label()
