"""Shapes in OpenCASCADE's text format, and the distance joints of FreeCAD that depend on them."""

from __future__ import annotations

import io
import math
import zipfile
from pathlib import Path

import cad_fixtures as cad
import numpy as np
import pytest
from cad_fixtures import freecad_property
from test_adapters_freecad import MOVE, Builder, load, number, placed

from regularize.adapters.freecad.brep import ShapeElement, elements
from regularize.adapters.freecad.distance import Pick, distance_reading
from regularize.lie.screw import inverse, transform

CORPUS = Path(__file__).resolve().parents[2] / "shared" / "corpus" / "fcstd"
AXES = "0 0 0 0 0 1 1 0 0 0 1 0"
PLANE, CYLINDER, SPHERE = f"1 {AXES}", f"2 {AXES} 8", f"4 {AXES} 5"
CONE, TORUS = f"3 {AXES} 4 0.5", f"5 {AXES} 9 2"
LINE, CIRCLE, ELLIPSE = "1 0 0 0 1 0 0", f"2 {AXES} 3", f"3 {AXES} 4 2"
NAMES = {"Face": [PLANE, CYLINDER, SPHERE, CONE, TORUS], "Edge": [LINE, CIRCLE, ELLIPSE]}
#: Names of the elements of ``shape``.
OF = {
    **{"plane": "Face1", "cylinder": "Face2", "sphere": "Face3", "cone": "Face4", "torus": "Face5"},
    **{"line": "Edge1", "circle": "Edge2", "ellipse": "Edge3", "point": "Vertex1", "whole": ""},
}


def brep(surfaces: list[str], curves: list[str], shapes: list[str], root: str = "+1 0") -> str:
    """A shape from its lists; each entry of ``shapes`` is type, geometry, flags and parts."""
    return (
        "\nCASCADE Topology V1, (c) Matra-Datavision\nLocations 0\nCurve2ds 0\n"
        f"Curves {len(curves)}\n" + "".join(f"{c} \n" for c in curves) + "Polygon3D 0\n"
        f"PolygonOnTriangulations 0\nSurfaces {len(surfaces)}\n"
        + "".join(f"{s} \n" for s in surfaces)
        + f"Triangulations 0\n\nTShapes {len(shapes)}\n"
        + "".join(f"{s}\n" for s in shapes)
        + f"\n{root} \n0\n"
    )


def vertex() -> str:
    return "Ve\n1e-07\n0 0 0\n0 0\n\n0101101\n*"


def edge(curve: int, *parts: int) -> str:
    own = f"1  {curve} 0 0 1\n" if curve else ""
    return f"Ed\n 1e-07 1 1 0\n{own}0\n\n0101000\n{listed(parts)}"


def face(surface: int, *parts: int) -> str:
    return f"Fa\n0  1e-07 {surface} 0\n\n0111000\n{listed(parts)}"


def group(type: str, *parts: int) -> str:
    return f"{type}\n\n0101100\n{listed(parts)}"


def listed(parts: tuple[int, ...]) -> str:
    return " ".join(f"{part:+d} 0" for part in parts) + " *"


def shape() -> str:
    """One face and one edge of every kind; entries count from the end of the list."""
    edges, faces = len(NAMES["Edge"]), len(NAMES["Face"])
    total = 2 + edges + faces
    rows = [vertex()]
    rows += [edge(k + 1, total) for k in range(edges)]
    rows += [face(k + 1) for k in range(faces)]
    rows.append(group("Co", *range(1 + faces, 1, -1), *range(1 + faces + edges, 1 + faces, -1)))
    return brep(NAMES["Face"], NAMES["Edge"], rows)


def test_kinds_and_radii() -> None:
    found = elements(shape())
    assert {name: found[name] for name in ("Face1", "Face2", "Face3", "Face4", "Face5")} == {
        "Face1": ShapeElement("plane"),
        "Face2": ShapeElement("cylinder", 8.0),
        "Face3": ShapeElement("sphere", 5.0),
        "Face4": ShapeElement("cone"),
        "Face5": ShapeElement("torus"),
    }
    assert [found[f"Edge{k}"] for k in (1, 2, 3)] == [
        ShapeElement("line"),
        ShapeElement("circle", 3.0),
        ShapeElement("other"),
    ]
    assert found["Vertex1"] == ShapeElement("point")
    assert len(found) == 9


def test_elements_are_numbered_as_a_walk_meets_them() -> None:
    """Two faces share an edge; the walk begins at the root and meets it once."""
    rows = [
        vertex(),
        *(edge(1, 8), edge(2, -8), edge(0)),  # 7, 6, and 5 without a curve of its own
        face(1, -7, 6),
        face(2, 6, -5),
        group("Sh", 3, 4),
        group("So", 2),
    ]
    found = elements(brep([PLANE, CYLINDER], [LINE, CIRCLE], rows))
    assert [found[f"Face{k}"].kind for k in (1, 2)] == ["cylinder", "plane"]
    assert [found[f"Edge{k}"].kind for k in (1, 2, 3)] == ["circle", "other", "line"]
    assert "Edge4" not in found


def test_a_shape_at_two_places_has_its_elements_twice() -> None:
    rows = [face(1), group("So", 3), "Co\n\n0101100\n+2 1 +2 2 +2 1 *"]
    found = elements(brep([PLANE], [], rows))
    assert [*found] == ["Face1", "Face2"]


def test_long_curves_and_surfaces_are_passed_over() -> None:
    bspline = "9 0 0 0 0 1 1 2 2 2 2 0 0 0\n0 1 0\n1 0 0\n1 1 0\n\n0 2\n1 2\n\n0 2\n1 2\n"
    rational = "8 1 0 1 1 0 0 0 1 0 1 0 1\n1 0 0 1 1 1 0 1"
    surfaces = [
        bspline,
        rational,
        f"6 0 0 1 {CIRCLE}",
        f"7 0 0 0 0 0 1 {LINE}",
        f"10 0 1 0 1 {CYLINDER}",
        f"11 2 {PLANE}",
        PLANE,
    ]
    curves = [
        "7 0 0 1 2 2  0 0 0  1 0 0\n 0 2 1 2",
        "6 1 1 0 0 0 1 1 0 0 1",
        f"8 0 1\n{CIRCLE}",
        f"9 2\n0 0 1\n{LINE}",
        LINE,
    ]
    rows = [edge(k + 1) for k in range(5)] + [face(k + 1) for k in range(7)]
    rows.append(group("Co", *range(13, 1, -1)))
    found = elements(brep(surfaces, curves, rows))
    kinds = ["other"] * 4 + ["cylinder", "other", "plane"]
    assert [found[f"Face{k + 1}"].kind for k in range(7)] == kinds
    kinds = ["other", "other", "circle", "other", "line"]
    assert [found[f"Edge{k + 1}"].kind for k in range(5)] == kinds


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("Surfaces", "Surface"),
        ("TShapes 10", "TShapes 12"),
        ("TShapes", "Shapes"),
        ("Curves 3", "Curves 30"),
        (PLANE, PLANE.replace("1 ", "77 ", 1)),
        (LINE, LINE.replace("1 ", "88 ", 1)),
        ("0 *", "x *"),
    ],
)
def test_damaged_shapes_are_refused(old: str, new: str) -> None:
    text = shape()
    assert old in text
    with pytest.raises(ValueError, match=r"cut off|no section|unknown type|invalid literal"):
        elements(text.replace(old, new, 1))


def test_circular_and_exploding_shapes_are_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    circle = brep([PLANE], [], [face(1), "Co\n\n0101100\n+2 1 +1 1 *"])
    with pytest.raises(ValueError, match="parts that are not listed before it"):
        elements(circle)
    rows = [face(1)] + [f"Co\n\n0101100\n+{9 - k} 1 +{9 - k} 2 *" for k in range(8)]
    assert len(elements(brep([PLANE], [], rows))) == 2**8
    monkeypatch.setattr("regularize.adapters.freecad.brep.MOST", 100)
    with pytest.raises(ValueError, match="more than 100 places"):
        elements(brep([PLANE], [], rows))


def test_edges_that_real_joints_refer_to_are_circles() -> None:
    path = CORPUS / "universal_joint" / "universal_joint_assembly.FCStd"
    if not path.exists():
        pytest.skip("no corpus")
    with zipfile.ZipFile(path) as archive:
        fork = elements(archive.read("Fork.Shape.brp").decode())
        cross = elements(archive.read("Cross.Shape.brp").decode())
    assert [fork[f"Edge{k}"] for k in (15, 25, 37)] == [
        ShapeElement("circle", 15.0),
        ShapeElement("circle", 15.0),
        ShapeElement("circle", 20.0),
    ]
    assert [cross[f"Edge{k}"] for k in (9, 14)] == [ShapeElement("circle", 15.0)] * 2


def pick(kind: str) -> Pick:
    return Pick(OF[kind], elements(shape()).get(OF[kind]))


@pytest.mark.parametrize(
    ("first", "second", "pair", "value"),
    [
        ("plane", "plane", "planar", 20),
        ("plane", "cylinder", "line_in_plane", 28),
        ("plane", "sphere", "point_in_plane", 25),
        ("plane", "cone", "planar", 20),
        ("plane", "torus", "planar", 20),
        ("cylinder", "cylinder", "revolute_cylinder", 36),
        ("cylinder", "sphere", "cylinder_sphere", 33),
        ("cylinder", "torus", "revolute_cylinder", 28),
        ("cylinder", "cone", "planar", 20),
        ("torus", "sphere", "cylinder_sphere", 25),
        ("torus", "torus", "planar", 20),
        ("sphere", "sphere", "sphere_sphere", 30),
        ("cone", "sphere", "planar", 20),
        ("plane", "line", "line_in_plane", 20),
        ("plane", "circle", "planar", 20),
        ("cylinder", "line", "planar", 20),
        ("plane", "point", "point_in_plane", 20),
        ("cylinder", "point", "cylinder_sphere", 28),
        ("sphere", "point", "sphere_sphere", 25),
        ("cone", "point", "planar", 20),
        ("line", "line", "revolute_cylinder", 20),
        ("line", "circle", "revolute_cylinder", 23),
        ("circle", "circle", "revolute_cylinder", 26),
        ("line", "ellipse", "planar", 20),
        ("line", "point", "cylinder_sphere", 20),
        ("circle", "point", "point_in_plane", 20),
        ("ellipse", "point", "point_in_plane", 20),
        ("point", "point", "sphere_sphere", 20),
        ("whole", "point", "planar", 20),
    ],
)
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


def with_shapes(data: bytes, **shapes: str) -> bytes:
    file = io.BytesIO(data)
    with zipfile.ZipFile(file, "a") as archive:
        for name, text in shapes.items():
            archive.writestr(f"{name}.Shape.brp", text)
    return file.getvalue()


def stored(name: str) -> str:
    return freecad_property("Shape", "PartShape", f'<Part file="{name}.Shape.brp"/>')


@pytest.mark.parametrize("swap", [False, True])
def test_roller_on_a_plane_that_looks_like_two_planes(swap: bool, tmp_path: Path) -> None:
    """Two cylinders whose frames lie in one plane: placements alone say planes, shapes do not."""
    data = Builder().add("base", "Part::Feature", placed(np.eye(4)), stored("base"))
    data.add("arm", "Part::Feature", placed(MOVE), stored("arm")).ground("base")
    first, second = transform(None, [0, 0, 0]), transform(None, [0.012, 0.016, 0.0])
    sides = (("base.Face2", first), ("arm.Face1", inverse(MOVE) @ second))
    data.joint("J", "Distance", sides[::-1] if swap else sides, number("Distance", 4.0))
    arm = brep([CYLINDER], [], [face(1), group("So", 2)])
    mechanism = load(tmp_path, with_shapes(data.save(), base=shape(), arm=arm))
    joint = mechanism.joint("J")
    assert (joint.kind, joint.freedoms) == ("composite", 3)
    assert mechanism.findings == ()
    turns = joint.screws[3:].any(axis=0)
    assert turns.sum() == 2  # about either axis, at 20 mm from each other
    arm_length = np.abs(joint.screws[:3, turns]).max()
    assert arm_length == pytest.approx(0.02)
    assert math.isclose(float(joint.screws[2, ~turns].item()), 1.0)


@pytest.mark.parametrize("damage", ["absent", "cut", "binary"])
def test_placements_decide_where_the_shape_cannot_be_read(damage: str, tmp_path: Path) -> None:
    data = Builder().add("base", "Part::Feature", placed(np.eye(4)), stored("base"))
    kept = stored("arm").replace(".brp", ".bin") if damage == "binary" else stored("arm")
    data.add("arm", "Part::Feature", placed(MOVE), kept).ground("base")
    second = inverse(MOVE) @ transform(None, [0.012, 0.016, 0.004])
    sides = (("base.Face1", np.eye(4)), ("arm.Face1", second))
    data.joint("J", "Distance", sides, number("Distance", 4.0))
    shapes = {"base": shape()} if damage == "absent" else {"base": shape(), "arm": shape()[:300]}
    mechanism = load(tmp_path, with_shapes(data.save(), **shapes))
    assert mechanism.joint("J").kind == "planar"
    (finding,) = mechanism.findings
    assert "shapes that are not stored as text" in finding.message
