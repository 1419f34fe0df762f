"""Files of whole parts or assemblies, STEP and IGES, with the densities of their materials."""

from __future__ import annotations

import re
from functools import cache
from pathlib import Path
from typing import Any

from regularize.errors import ReadError
from regularize.input_files import read_bytes
from regularize.model.solids import MILLIMETRE, STORED, CadShape, ocp, stored_shape, tried

#: Units of mass in STEP files, in kg, by the prefix that stands before gram.
PREFIXES = {"$": 1e-3, ".KILO.": 1.0, ".MEGA.": 1e3, ".MILLI.": 1e-6}


@cache
def shape_file(path: Path) -> CadShape:
    """The shape in a STEP, IGES or BREP file, with the densities that STEP gives its materials.

    Raises:
        ReadError: The file cannot be read, or a part of it.
        MissingExtra: OpenCASCADE is not installed.
    """
    if path.suffix.lower() in STORED:
        return stored_shape(read_bytes(str(path)), str(path))
    data = read_bytes(str(path))
    step = path.suffix.lower() in (".step", ".stp")

    def read() -> CadShape:
        reader = (
            ocp("STEPCAFControl").STEPCAFControl_Reader()
            if step
            else ocp("IGESCAFControl").IGESCAFControl_Reader()
        )
        document = ocp("TDocStd").TDocStd_Document(
            ocp("TCollection").TCollection_ExtendedString("BinXCAF")
        )
        if step:
            reader.SetMatMode(True)
        status = reader.ReadFile(str(path))
        if step:
            _check_whole(reader.Reader().WS().Model(), str(path))
        if status != ocp("IFSelect").IFSelect_ReturnStatus.IFSelect_RetDone or not reader.Transfer(
            document
        ):
            raise ReadError(str(path), "is no STEP or IGES file that OpenCASCADE reads")
        return _collected(document, str(path), _mass_unit(data) if step else None)

    control = "STEPCAFControl" if step else "IGESCAFControl"
    return tried(read, (control, "TDF", "TDocStd", "XCAFDoc"), str(path), len(data))


def _check_whole(model: Any, path: str) -> None:
    """OpenCASCADE goes on without entities that it cannot parse: the shape would be another."""
    check = None if model is None else model.GlobalCheck(True)
    if check is not None and check.HasFailed():
        said = check.CFail(1).removeprefix("Undefined Parsing: ")
        found = re.fullmatch(r"Line (\d+): (.*)", said)
        line, reason = (int(found[1]), found[2]) if found else (None, said)
        raise ReadError(path, f"is damaged, says OpenCASCADE: {reason}", line=line)


def _mass_unit(data: bytes) -> float | None:
    """The unit of mass of a STEP file in kg; None where it has none, or several."""
    text = data.decode("latin-1")
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
    tools = ocp("XCAFDoc")
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

    for label in labels(tool.GetFreeShapes):
        add(label, ocp("TopLoc").TopLoc_Location())
    if not parts:
        raise ReadError(path, "holds no shape")
    return CadShape(tuple(parts), tuple(densities))


def _label_sequence() -> Any:
    """An empty sequence of labels, whose name differs between versions 7 and 8."""
    tools = ocp("TDF")
    if hasattr(tools, "TDF_LabelSequence"):
        return tools.TDF_LabelSequence()
    return ocp("collections").Sequence_TDF_Label()
