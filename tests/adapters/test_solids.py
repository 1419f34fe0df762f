"""Shapes of CAD files: masses against formulas, kinds of faces, and what FreeCAD makes of them."""

import io
import math
import re
import sys
import zipfile
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import cad_fixtures as cad
import numpy as np
import pytest
import yaml
from cad_fixtures import freecad_property
from on_demand import needs
from screws import inverse, transform
from test_adapters_freecad import MOVE, Builder, load, number, placed

import regularize as rg
from regularize.adapters.freecad.read import Pick, distance_reading
from regularize.adapters.shapes import solids
from regularize.adapters.shapes.meshes import _member, cad_shape, find_mesh, shape_file
from regularize.adapters.shapes.solids import ShapeElement, stored_shape

pytestmark = [needs("OCP"), pytest.mark.slow]


def ocp(module: str, name: str) -> Any:
    return getattr(solids.ocp(module), name)


def text(shape: Any) -> bytes:
    stream = io.BytesIO()
    ocp("BRepTools", "BRepTools").Write_s(shape, stream)
    return stream.getvalue()


def binary(shape: Any) -> bytes:
    stream = io.BytesIO()
    ocp("BinTools", "BinTools").Write_s(shape, stream)
    return stream.getvalue()


def box(x: float, y: float, z: float) -> Any:
    return ocp("BRepPrimAPI", "BRepPrimAPI_MakeBox")(x, y, z).Shape()


def moved(shape: Any, x: float, y: float, z: float) -> Any:
    place = ocp("gp", "gp_Trsf")()
    place.SetTranslation(ocp("gp", "gp_Vec")(x, y, z))
    return shape.Moved(ocp("TopLoc", "TopLoc_Location")(place))


def compound(*shapes: Any) -> Any:
    result, builder = ocp("TopoDS", "TopoDS_Compound")(), ocp("BRep", "BRep_Builder")()
    builder.MakeCompound(result)
    for shape in shapes:
        builder.Add(result, shape)
    return result


def every_kind() -> Any:
    """One face and one edge of every kind, lengths in millimetres."""
    axes = ocp("gp", "gp_Ax3")()
    plane, ax2 = ocp("gp", "gp_Pln")(axes), axes.Ax2()
    face = ocp("BRepBuilderAPI", "BRepBuilderAPI_MakeFace")
    edge = ocp("BRepBuilderAPI", "BRepBuilderAPI_MakeEdge")
    point = ocp("gp", "gp_Pnt")
    return compound(
        face(plane, 0.0, 1.0, 0.0, 1.0).Face(),
        face(ocp("gp", "gp_Cylinder")(axes, 8.0), 0.0, 1.0, 0.0, 1.0).Face(),
        face(ocp("gp", "gp_Sphere")(axes, 5.0), 0.0, 1.0, 0.0, 1.0).Face(),
        face(ocp("gp", "gp_Cone")(axes, 0.5, 4.0), 0.0, 1.0, 0.0, 1.0).Face(),
        face(ocp("gp", "gp_Torus")(axes, 9.0, 2.0), 0.0, 1.0, 0.0, 1.0).Face(),
        edge(point(0, 0, 0), point(1, 0, 0)).Edge(),
        edge(ocp("gp", "gp_Circ")(ax2, 3.0)).Edge(),
        edge(ocp("gp", "gp_Elips")(ax2, 4.0, 2.0)).Edge(),
        ocp("BRepBuilderAPI", "BRepBuilderAPI_MakeVertex")(point(0, 0, 0)).Vertex(),
    )


def elements() -> dict[str, ShapeElement]:
    return stored_shape(text(every_kind()), "shape.brp").elements()


def test_kinds_and_radii() -> None:
    found = elements()
    assert [found[f"Face{k}"] for k in range(1, 6)] == [
        ShapeElement("plane"),
        ShapeElement("cylinder", 0.008),
        ShapeElement("sphere", 0.005),
        ShapeElement("cone"),
        ShapeElement("torus"),
    ]
    last = sum(name.startswith("Edge") for name in found)
    assert [found[f"Edge{k}"] for k in range(last - 2, last + 1)] == [
        ShapeElement("line"),
        ShapeElement("circle", 0.003),
        ShapeElement("other"),
    ]
    assert found["Vertex1"] == ShapeElement("point")


def test_elements_are_numbered_as_freecad_numbers_them() -> None:
    found = stored_shape(text(box(1, 2, 3)), "box.brp").elements()
    counts = {what: sum(n.startswith(what) for n in found) for what in ("Face", "Edge", "Vertex")}
    assert counts == {"Face": 6, "Edge": 12, "Vertex": 8}


@pytest.mark.parametrize("section", ["Locations", "Curves", "TShapes"])
def test_counts_that_the_file_has_no_room_for(section: str) -> None:
    """OpenCASCADE takes minutes and gigabytes for what is not there."""
    data = text(box(1, 2, 3)).replace(f"{section} ".encode(), f"{section} 99999999".encode())
    with pytest.raises(rg.ReadError, match="more follows than it has bytes"):
        stored_shape(data, "box.brp")


@pytest.mark.parametrize(("write", "name"), [(text, "a.brp"), (binary, "a.bin")])
def test_box_weighs_what_the_formula_says(write: Any, name: str) -> None:
    found = stored_shape(write(moved(box(100, 200, 300), 5, 6, 7)), name).inertia(1000.0)
    assert found.mass == pytest.approx(6.0)
    np.testing.assert_allclose(found.center, [0.05, 0.1, 0.15], atol=1e-12)
    np.testing.assert_allclose(found.matrix, np.diag([0.065, 0.05, 0.025]), atol=1e-12)


def test_parts_with_holes_and_several_solids() -> None:
    outer = ocp("BRepPrimAPI", "BRepPrimAPI_MakeCylinder")(20.0, 50.0).Shape()
    inner = ocp("BRepPrimAPI", "BRepPrimAPI_MakeCylinder")(10.0, 50.0).Shape()
    tube = ocp("BRepAlgoAPI", "BRepAlgoAPI_Cut")(outer, inner).Shape()
    ball = moved(ocp("BRepPrimAPI", "BRepPrimAPI_MakeSphere")(10.0).Shape(), 100, 0, 0)
    found = stored_shape(text(tube), "tube.brp").inertia(2700.0)
    mass = 2700 * math.pi * (0.02**2 - 0.01**2) * 0.05
    assert found.mass == pytest.approx(mass, rel=1e-9)
    assert found.matrix[2, 2] == pytest.approx(mass * (0.02**2 + 0.01**2) / 2, rel=1e-9)
    both = stored_shape(text(compound(tube, ball)), "both.brp").inertia(2700.0)
    sphere = 2700 * 4 / 3 * math.pi * 0.01**3
    assert both.mass == pytest.approx(mass + sphere, rel=1e-9)
    assert both.center[0] == pytest.approx(0.1 * sphere / (mass + sphere), rel=1e-9)


def test_triangles_enclose_the_volume() -> None:
    tube = ocp("BRepPrimAPI", "BRepPrimAPI_MakeTorus")(20.0, 5.0).Shape()
    mesh = stored_shape(text(tube), "torus.brp").mesh()
    assert mesh.is_watertight
    assert mesh.volume == pytest.approx(2 * math.pi**2 * 0.02 * 0.005**2, rel=0.05)


def test_faces_alone_and_solids_of_no_density_have_no_known_mass() -> None:
    assert stored_shape(text(every_kind()), "faces.brp").inertia(1000.0) is None
    assert stored_shape(text(box(1, 2, 3)), "box.brp").inertia(None) is None


@pytest.mark.parametrize("span", [slice(0), slice(1500), slice(1500, None), None])
def test_damaged_shapes_are_refused(span: slice | None) -> None:
    data = text(box(1, 2, 3))[span] if span else b"rubbish"
    with pytest.raises(rg.ReadError, match="cut off"):
        stored_shape(data, "a.brp")
    with pytest.raises(rg.ReadError, match="no shape"):
        stored_shape(data[:100], "a.bin")


def test_stretched_and_mirrored_shapes() -> None:
    one = stored_shape(text(moved(box(10, 20, 30), 1, 2, 3)), "a.brp").inertia(1000.0)
    other = stored_shape(text(box(20, 60, 120)), "b.brp").inertia(1000.0)
    assert one is not None and other is not None
    stretched = solids.scaled(one, np.array([-2.0, 3.0, 4.0]))
    assert stretched.mass == pytest.approx(other.mass)
    np.testing.assert_allclose(stretched.center, other.center * [-1, 1, 1], atol=1e-15)
    np.testing.assert_allclose(stretched.matrix, other.matrix, atol=1e-15)


UNITS = {
    "kg/m³": ("7850.", ".KILO.", "$"),
    "g/cm³": ("7.85", "$", ".CENTI."),
    "kg/mm³": ("7.85E-6", ".KILO.", ".MILLI."),
    "t/mm³": ("7.85E-9", ".MEGA.", ".MILLI."),
}


@pytest.mark.parametrize("unit", UNITS)
def test_density_in_a_step_file(unit: str, tmp_path: Path, capfd: Any) -> None:
    value, gram, metre = UNITS[unit]
    path = tmp_path / "part.step"
    path.write_text(
        step_text(box(100, 20, 30), tmp_path)
        .replace("MEASURE(7.85)", f"MEASURE({value})")
        .replace("SI_UNIT($,.GRAM.)", f"SI_UNIT({gram},.GRAM.)")
        .replace("SI_UNIT(.CENTI.,.METRE.)", f"SI_UNIT({metre},.METRE.)")
    )
    capfd.readouterr()
    shape = shape_file(path)
    assert capfd.readouterr().out == ""
    found = shape.inertia(None)
    assert found.mass == pytest.approx(7850 * 0.1 * 0.02 * 0.03)
    np.testing.assert_allclose(found.center, [0.05, 0.01, 0.015], atol=1e-9)


def step_text(shape: Any, folder: Path) -> str:
    """A STEP file of a part made of steel, as OpenCASCADE writes it."""
    words = ocp("TCollection", "TCollection_HAsciiString")
    document = ocp("TDocStd", "TDocStd_Document")(
        ocp("TCollection", "TCollection_ExtendedString")("BinXCAF")
    )
    tools = ocp("XCAFDoc", "XCAFDoc_DocumentTool")
    label = tools.ShapeTool_s(document.Main()).AddShape(shape, False)
    unit = (words("density measure"), words("POSITIVE_RATIO_MEASURE"))
    tools.MaterialTool_s(document.Main()).SetMaterial(label, words("a"), words("b"), 7.85, *unit)
    writer = ocp("STEPCAFControl", "STEPCAFControl_Writer")()
    writer.SetMaterialMode(True)
    kind = ocp("STEPControl", "STEPControl_StepModelType").STEPControl_AsIs
    assert writer.Transfer(document, kind)
    writer.Write(str(folder / "written.step"))
    return (folder / "written.step").read_text()


def iges_text(shape: Any, folder: Path) -> str:
    ocp("IGESControl", "IGESControl_Controller").Init_s()
    writer = ocp("IGESControl", "IGESControl_Writer")()
    writer.AddShape(shape)
    writer.ComputeModel()
    writer.Write(str(folder / "written.igs"))
    return (folder / "written.igs").read_text()


@pytest.mark.parametrize(("write", "name"), [(step_text, "a.stp"), (iges_text, "a.IGES")])
def test_files_cut_off_are_refused_in_silence(
    write: Any, name: str, tmp_path: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    whole = write(box(10, 20, 30), tmp_path)
    path = tmp_path / name
    capfd.readouterr()
    for damaged in ("", "rubbish", whole[: len(whole) // 2]):
        path.write_text(damaged)
        shape_file.cache_clear()
        with pytest.raises(rg.ReadError, match=r"is no STEP or IGES|is damaged|holds no shape"):
            shape_file(path)
    path.write_text(whole)
    shape_file.cache_clear()
    shape = shape_file(path).mesh()
    assert shape.volume == pytest.approx(6e-6)
    assert capfd.readouterr() == ("", "")


@pytest.mark.parametrize("entity", ["CARTESIAN_POINT", "DIRECTION", "LINE", "VECTOR"])
def test_step_files_lose_nothing_that_cannot_be_parsed(entity: str, tmp_path: Path) -> None:
    text, path = step_text(box(10, 20, 30), tmp_path), tmp_path / "part.step"
    lines = text.splitlines()
    broken = next(k for k, line in enumerate(lines) if f"= {entity}(" in line)
    lines[broken] = lines[broken].replace("(", "", 1)
    path.write_text("\n".join(lines))
    with pytest.raises(rg.ReadError, match=r"is damaged.*Incorrect syntax") as caught:
        shape_file(path)
    assert caught.value.line in (broken + 1, broken + 2)
    del lines[broken]
    path.write_text("\n".join(lines))
    shape_file.cache_clear()
    with pytest.raises(rg.ReadError, match=r"is damaged.*Unresolved Reference"):
        shape_file(path)


@pytest.mark.skipif(sys.platform != "linux", reason="copies no process")
def test_a_step_file_that_ends_opencascade_ends_nothing_else(tmp_path: Path) -> None:
    text, path = step_text(box(10, 20, 30), tmp_path), tmp_path / "part.step"
    path.write_text(re.sub(r"= VECTOR\(.*", "= PRODUCT_CONTEXT('',#2,'mechanical');", text))
    with pytest.raises(rg.ReadError, match=r"part\.step.*OpenCASCADE ends the process"):
        shape_file(path)


def test_without_opencascade_one_line_says_what_to_install(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    data = two_shapes()
    sides = (("base.Face1", np.eye(4)), ("arm.Face1", inverse(MOVE)))
    data.joint("J", "Distance", sides, number("Distance", 0.0))
    shape = text(box(1, 2, 3))
    monkeypatch.setattr(solids, "importlib", SimpleNamespace(import_module=_absent))
    mechanism = load(tmp_path, with_shapes(data.save(), base=shape, arm=shape))
    assert mechanism.joint("J").kind == "planar"
    (finding,) = mechanism.findings
    assert "pip install 'pin-regularize[brep]'" in finding.message
    with pytest.raises(rg.MissingExtra, match=r"pin-regularize\[brep\]"):
        rg.with_density(mechanism, 7850.0)


def two_shapes() -> Builder:
    data = Builder().add("base", "Part::Feature", placed(np.eye(4)), stored("base"))
    return data.add("arm", "Part::Feature", placed(MOVE), stored("arm")).ground("base")


def _absent(name: str) -> Any:
    raise ImportError(name)


SHAPES = yaml.safe_load(Path(__file__).with_name("mates.yaml").read_text())["shapes"]
FACES = ("plane", "cylinder", "sphere", "cone", "torus")


def pick(kind: str) -> Pick:
    if kind == "whole":
        return Pick("")
    found = elements()
    wanted = "other" if kind == "ellipse" else kind
    what = "Face" if kind in FACES else "Vertex" if kind == "point" else "Edge"
    name = next(
        name
        for name, each in reversed(found.items())
        if each.kind == wanted and name.startswith(what)
        if not (kind == "circle" and each.radius != 0.003)
    )
    return Pick(name, found[name])


@pytest.mark.parametrize(("first", "second", "pair", "value"), SHAPES)
def test_distance_between_elements_of_known_shape(
    first: str, second: str, pair: str, value: float
) -> None:
    T = cad.frame((0.1, 0.2, 0.3), (0, 1, 1))
    found = distance_reading(pick(first), pick(second), T, 0.02)
    assert (found.pair, found.sure, found.turned) == (pair, True, False)
    assert found.value == pytest.approx(value / 1000)
    if first not in (second, "whole"):
        turned = distance_reading(pick(second), pick(first), inverse(T), 0.02)
        assert (turned.pair, turned.value, turned.turned) == (pair, found.value, True)


@pytest.mark.parametrize("offset", [-0.028, 0.028])
def test_offset_is_on_the_side_of_the_saved_placements(offset: float) -> None:
    T = transform(None, [0.1, 0.2, offset])
    assert distance_reading(pick("plane"), pick("cylinder"), T, 0.02).value == offset


def with_shapes(data: bytes, **shapes: bytes) -> bytes:
    file = io.BytesIO(data)
    with zipfile.ZipFile(file, "a") as archive:
        for name, text in shapes.items():
            archive.writestr(f"{name}.Shape.brp", text)
    return file.getvalue()


def stored(name: str) -> str:
    return freecad_property("Shape", "PartShape", f'<Part file="{name}.Shape.brp"/>')


@pytest.mark.parametrize("swap", [False, True])
def test_roller_on_a_plane_that_looks_like_two_planes(swap: bool, tmp_path: Path) -> None:
    data = two_shapes()
    first, second = transform(None, [0, 0, 0]), transform(None, [0.012, 0.016, 0.0])
    sides = (("base.Face2", first), ("arm.Face1", inverse(MOVE) @ second))
    data.joint("J", "Distance", sides[::-1] if swap else sides, number("Distance", 4.0))
    axes = ocp("gp", "gp_Ax3")()
    make = ocp("BRepBuilderAPI", "BRepBuilderAPI_MakeFace")
    arm = make(ocp("gp", "gp_Cylinder")(axes, 8.0), 0.0, 1.0, 0.0, 1.0).Face()
    shapes = {"base": text(every_kind()), "arm": text(arm)}
    mechanism = load(tmp_path, with_shapes(data.save(), **shapes))
    joint = mechanism.joint("J")
    assert (joint.kind, joint.freedoms) == ("composite", 3)
    assert mechanism.findings == ()
    turns = joint.screws[3:].any(axis=0)
    assert turns.sum() == 2  # about either axis, at 20 mm from each other
    arm_length = np.abs(joint.screws[:3, turns]).max()
    assert arm_length == pytest.approx(0.02)
    assert math.isclose(float(joint.screws[2, ~turns].item()), 1.0)


@pytest.mark.parametrize("damage", ["absent", "cut"])
def test_placements_decide_where_the_shape_cannot_be_read(damage: str, tmp_path: Path) -> None:
    data = two_shapes()
    second = inverse(MOVE) @ transform(None, [0.012, 0.016, 0.004])
    sides = (("base.Face1", np.eye(4)), ("arm.Face1", second))
    data.joint("J", "Distance", sides, number("Distance", 4.0))
    whole = text(every_kind())
    shapes = {"base": whole} if damage == "absent" else {"base": whole, "arm": whole[:300]}
    mechanism = load(tmp_path, with_shapes(data.save(), **shapes))
    assert mechanism.joint("J").kind == "planar"
    (finding,) = mechanism.findings
    assert "arm.Shape.brp" in finding.message


def test_shapes_are_read_from_files_of_their_own(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "box.brp").write_bytes(text(box(1, 2, 3)))
    shape = cad_shape("box.brp", str(tmp_path / "model.urdf"))
    assert shape is not None and len(shape.elements()) == 26
    assert find_mesh(f"file://{tmp_path}/box.brp", None) == tmp_path / "box.brp"
    with pytest.raises(rg.ReadError, match="is not there any more, and with it the shape"):
        cad_shape("#box.brp", str(tmp_path / "gone.FCStd"))
    path = tmp_path / "model.FCStd"
    with zipfile.ZipFile(path, "w") as archive:
        archive.writestr("box.brp", text(box(1, 2, 3)))
    assert _member(path, "box.brp", 0).elements()
    monkeypatch.setattr("regularize.adapters.shapes.meshes.LARGEST", 99)
    with pytest.raises(rg.ReadError, match="unpacks to more than 99 bytes; not read for safety"):
        _member(path, "box.brp", 1)
