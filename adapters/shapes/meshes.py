"""Files of shapes: resolving of URIs, reading of triangle meshes, of STEP and IGES files."""

from __future__ import annotations

import os
import re
import zipfile
import zlib
from collections.abc import Iterator
from functools import cache, lru_cache
from pathlib import Path
from typing import Any
from urllib.parse import unquote

import numpy as np

from regularize.adapters.common.input_files import FOLDERS, Packages, check_regular, read_bytes
from regularize.adapters.shapes import solids
from regularize.adapters.shapes.solids import MILLIMETRE, STORED, CadShape, ocp, stored_shape, tried
from regularize.errors import MissingExtra, ReadError
from regularize.escape import as_utf8
from regularize.mechanism.body import Geometry

#: Units of mass in STEP files, in kg, by the prefix that stands before gram.
PREFIXES = {"$": 1e-3, ".KILO.": 1.0, ".MEGA.": 1e3, ".MILLI.": 1e-6}


@cache
def shape_file(path: Path) -> CadShape:
    """Read the shape of a STEP, IGES or BREP file, with densities of materials of STEP."""
    if path.suffix.lower() in STORED:
        return stored_shape(read_bytes(str(path)), str(path))
    data = read_bytes(str(path))
    step = path.suffix.lower() in (".step", ".stp")

    def read() -> CadShape:
        reader = getattr(ocp(control), f"{control}_Reader")()
        name = ocp("TCollection").TCollection_ExtendedString("BinXCAF")
        document = ocp("TDocStd").TDocStd_Document(name)
        if step:
            reader.SetMatMode(True)
        status = reader.ReadFile(str(path))
        if step:
            _check_whole(reader.Reader().WS().Model(), str(path))
        done = status == ocp("IFSelect").IFSelect_ReturnStatus.IFSelect_RetDone
        if not (done and reader.Transfer(document)):
            raise ReadError(str(path), "is no STEP or IGES file that OpenCASCADE reads")
        return _collected(document, str(path), _mass_unit(data) if step else None)

    control = "STEPCAFControl" if step else "IGESCAFControl"
    return tried(read, (control, "TDF", "TDocStd", "XCAFDoc"), str(path), len(data))


def _check_whole(model: Any, path: str) -> None:
    """Raise for a file with entities that OpenCASCADE cannot parse, and would leave out."""
    check = None if model is None else model.GlobalCheck(True)
    if check is not None and check.HasFailed():
        reason = check.CFail(1).removeprefix("Undefined Parsing: ")
        at = re.fullmatch(r"Line (\d+): (.*)", reason)
        line, reason = (int(at[1]), at[2]) if at else (None, reason)
        raise ReadError(path, f"is damaged, says OpenCASCADE: {reason}", line=line)


def _mass_unit(data: bytes) -> float | None:
    """Return the unit of mass of a STEP file in kg; None where it has none, or several."""
    text = data.decode("latin-1")
    units = {
        "".join(entity.split())
        for entity in re.findall(r"#\d+\s*=\s*(\([^;]*\bMASS_UNIT\b[^;]*\))\s*;", text)
    }
    gram = re.search(r"SI_UNIT\(([^,]*),\.GRAM\.\)", units.pop()) if len(units) == 1 else None
    return None if gram is None else PREFIXES.get(gram[1])


def _collected(document: Any, path: str, mass_unit: float | None) -> CadShape:
    """Return every part of a document at its placements, with the density of its material."""
    tools = ocp("XCAFDoc")
    shapes = tools.XCAFDoc_ShapeTool
    parts: list[Any] = []
    densities: list[float | None] = []

    def labels(method: Any, *arguments: Any) -> list[Any]:
        sequence = solids.collection("TDF", "LabelSequence", "Sequence_TDF_Label")
        method(*arguments, sequence)
        return [sequence.Value(k + 1) for k in range(sequence.Length())]

    def add(label: Any, place: Any) -> None:
        if shapes.IsReference_s(label):
            target = ocp("TDF").TDF_Label()
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

    for label in labels(tools.XCAFDoc_DocumentTool.ShapeTool_s(document.Main()).GetFreeShapes):
        add(label, ocp("TopLoc").TopLoc_Location())
    if not parts:
        raise ReadError(path, "holds no shape")
    return CadShape(tuple(parts), tuple(densities))


#: Module that a mesh format needs, and the extra of this project that installs it.
EXTRAS = {".dae": ("collada", "meshes"), ".zae": ("collada", "meshes")}
#: Suffixes of USD stages, whose meshes are prims.
STAGES = (".usd", ".usda", ".usdc", ".usdz")
#: Largest member of an archive that is read, in bytes.
LARGEST = 2**27
#: Separator of an archive and its member in a URI.
INSIDE = "#"


def cad_shape(uri: str, path: str | None) -> CadShape | None:
    """Return the CAD shape of a URI, as ``archive.FCStd#member``; None where it is a mesh's."""
    archive, inside, member = uri.partition(INSIDE)
    if inside and member.lower().endswith(solids.STORED):
        file = find_mesh(archive, path) if archive or path is None else Path(path)
        if not file.is_file():
            raise ReadError(str(file), "is not there any more, and with it the shape")
        return _member(file, member, file.stat().st_mtime_ns)
    if not uri.lower().endswith(solids.SUFFIXES):
        return None
    return shape_file(find_mesh(uri, path))


@lru_cache(maxsize=256)
def _member(file: Path, member: str, _saved: int) -> CadShape:
    """Read a shape stored in an archive, at most 128 MB; ``_saved`` is the file's time stamp."""
    name = f"{file}/{member}"
    try:
        with zipfile.ZipFile(file) as archive, archive.open(member) as stream:
            data = stream.read(LARGEST + 1)
    except (KeyError, zipfile.BadZipFile, zlib.error, OSError, EOFError, RuntimeError) as error:
        raise ReadError(name, f"cannot be read ({error})") from error
    if len(data) > LARGEST:
        raise ReadError(name, f"unpacks to more than {LARGEST} bytes; not read for safety")
    return solids.stored_shape(data, name)


def load_mesh(shape: Geometry, path: str | None) -> Any:
    """Read the mesh of a shape as one ``trimesh.Trimesh``, scaled to metres."""
    uri = shape.uri or ""
    solid = cad_shape(uri, path)
    if solid is not None:
        mesh = solid.mesh()
    elif uri.startswith("/") and path is not None and Path(path).suffix.lower() in STAGES:
        mesh = _of_stage(uri, path)
    else:
        mesh = _triangles(find_mesh(uri, path))
    mesh.apply_transform(np.diag([*np.broadcast_to(shape.size, 3), 1.0]))
    return mesh


def _of_stage(prim: str, path: str) -> Any:
    """Read the mesh of a prim of a USD stage, in the prim's frame and units."""
    import trimesh

    try:
        from pxr import Usd, UsdGeom
    except ImportError as error:
        raise MissingExtra(Path(path).name, "usd-core", "usd") from error
    stage = Usd.Stage.Open(as_utf8(path))
    mesh = UsdGeom.Mesh(stage.GetPrimAtPath(prim))
    if not mesh or not mesh.GetPointsAttr().Get():
        raise ReadError(path, f"the mesh `{prim}` has no points there")
    corners = np.asarray(mesh.GetFaceVertexIndicesAttr().Get() or [])
    counts = np.asarray(mesh.GetFaceVertexCountsAttr().Get() or [])
    starts = np.cumsum(counts) - counts
    # A polygon is a fan of triangles about its first corner.
    fans = [
        corners[[start, start + k, start + k + 1]]
        for start, count in zip(starts, counts, strict=True)
        for k in range(1, count - 1)
    ]
    points = np.asarray(mesh.GetPointsAttr().Get(), dtype=np.float64)
    return trimesh.Trimesh(points, np.reshape(fans, (-1, 3)))


def _triangles(file: Path) -> Any:
    """Read a mesh file as one ``trimesh.Trimesh``."""
    import trimesh  # loaded where there is a mesh to read

    suffix = file.suffix.lower()
    module, extra = EXTRAS.get(suffix, ("trimesh[easy]", "meshes"))
    check_regular(str(file))
    try:
        loaded = trimesh.load(file, force="scene")
    except ImportError as error:
        raise MissingExtra(f"{file.name} ({suffix})", module, extra) from error
    # Loaders raise exceptions of any class.
    except Exception as error:
        if suffix in EXTRAS and not trimesh.util.has_module(module):
            raise MissingExtra(f"{file.name} ({suffix})", module, extra) from error
        reason = " ".join(str(error).split())
        raise ReadError(str(file), f"is not a mesh that can be read: {reason[:120]}") from error
    return loaded.to_mesh() if hasattr(loaded, "to_mesh") else loaded


def find_mesh(uri: str, path: str | None) -> Path:
    """Find the file of a mesh URI: beside the model, above it, or in a package around it."""
    file = next((file for file in _candidates(uri, path) if file.is_file()), None)
    if file is None:
        raise ReadError(
            path or uri,
            f"the mesh `{uri}` is not found beside the model, in the folders above it or in a "
            "package around it",
        )
    return file


def _candidates(uri: str, path: str | None, levels: int = 5) -> Iterator[Path]:
    """Yield paths at which a mesh may be, up to so many folders above the model."""
    name = unquote(uri.split("://", 1)[-1]).lstrip("/") if "://" in uri else uri
    base = Path(path).resolve().parent if path is not None else Path.cwd()
    if os.path.isabs(name):
        yield Path(name)
    if uri.startswith("file://"):
        yield Path("/" + name)
    tails = [name]
    if "://" in uri and "/" in name:
        tails.append(name.split("/", 1)[1])  # the package's own folder
    for folder in (base, *[*base.parents][:levels]):
        yield from (folder / tail for tail in tails)
    if len(tails) == 2 and path is not None and Path(path).exists():
        stated = (os.environ.get(variable) for variable in FOLDERS)
        packages = _packages(path, os.stat(path).st_mtime_ns, *stated)
        package = packages.find(name.partition("/")[0])
        if package is not None:
            yield package / tails[1]


@lru_cache(maxsize=1)
def _packages(path: str, *state: Any) -> Packages:
    """Return the ROS packages around a model; ``state`` makes a new entry when it changes."""
    return Packages(Path(path))
