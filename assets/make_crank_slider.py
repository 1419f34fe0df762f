"""Write ``crank_slider.FCStd``: a FreeCAD assembly of four steel parts, shapes by OpenCASCADE.

A crank of 100 mm and a rod of 250 mm drive a block along the X axis; all hinges are along Y. Run it
as ``python assets/make_crank_slider.py``.
"""

from __future__ import annotations

import io
import math
import zipfile
from pathlib import Path
from typing import Any

from OCP.BRepAlgoAPI import BRepAlgoAPI_Cut
from OCP.BRepPrimAPI import BRepPrimAPI_MakeBox, BRepPrimAPI_MakeCylinder
from OCP.BRepTools import BRepTools
from OCP.gp import gp_Ax2, gp_Dir, gp_Pnt

CRANK, ROD, ANGLE = 100.0, 250.0, math.radians(60.0)  # mm, mm, and the crank's angle from X to Z
THICK, HOLE = 10.0, 6.0  # mm: thickness of bars, radius of their holes
TYPES = ("Fixed", "Revolute", "Cylindrical", "Slider", "Ball", "Distance", "Parallel")


def box(x: tuple[float, float], y: tuple[float, float], z: tuple[float, float]) -> Any:
    """A box between two values along each axis."""
    low, high = (gp_Pnt(*(pair[k] for pair in (x, y, z))) for k in (0, 1))
    return BRepPrimAPI_MakeBox(low, high).Shape()


def drilled(shape: Any, *places: float) -> Any:
    """A shape with holes along Y at places on the X axis."""
    for x in places:
        axis = gp_Ax2(gp_Pnt(x, -THICK, 0.0), gp_Dir(0.0, 1.0, 0.0))
        shape = BRepAlgoAPI_Cut(shape, BRepPrimAPI_MakeCylinder(axis, HOLE, 3 * THICK).Shape())
        shape = shape.Shape()
    return shape


def bar(length: float) -> Any:
    """A bar along X from one hole to another, 20 mm beyond each."""
    sides = (-20.0, length + 20.0), (-THICK / 2, THICK / 2), (-15.0, 15.0)
    return drilled(box(*sides), 0.0, length)


def placement(x: float, y: float, z: float, angle: float, tag: str = "PropertyPlacement") -> str:
    """A placement turned about Y."""
    turn = f'Q0="0" Q1="{math.sin(angle / 2)!r}" Q2="0" Q3="{math.cos(angle / 2)!r}"'
    return f'<{tag} Px="{x!r}" Py="{y!r}" Pz="{z!r}" {turn}/>'


def prop(name: str, kind: str, inner: str) -> str:
    """A property of an object."""
    return f'<Property name="{name}" type="{kind}">{inner}</Property>'


def links(name: str, *targets: str) -> str:
    """A property that lists objects."""
    inner = "".join(f'<Link value="{target}"/>' for target in targets)
    return prop(
        name, "App::PropertyLinkList", f'<LinkList count="{len(targets)}">{inner}</LinkList>'
    )


def joint(kind: str, ends: tuple[tuple[str, str], tuple[str, str]]) -> list[str]:
    """Properties of a joint between two parts with a frame on each."""
    entries = "".join(f'<Enum value="{entry}"/>' for entry in TYPES)
    found = [
        prop(
            "JointType",
            "App::PropertyEnumeration",
            f'<Integer value="{TYPES.index(kind)}" CustomEnum="true"/>'
            f'<CustomEnumList count="{len(TYPES)}">{entries}</CustomEnumList>',
        ),
        prop("Suppressed", "App::PropertyBool", '<Bool value="false"/>'),
    ]
    for number, (part, frame) in enumerate(ends, start=1):
        link = f'<XLink file="" stamp="" name="Assembly" sub="{part}.{part}_shape.Edge1"/>'
        found.append(prop(f"Reference{number}", "App::PropertyXLinkSubHidden", link))
        found.append(prop(f"Placement{number}", "App::PropertyPlacement", frame))
    return found


def main() -> None:
    """Write the file beside this one."""
    tilt = math.asin(CRANK * math.sin(ANGLE) / ROD)
    pin = (CRANK * math.cos(ANGLE), CRANK * math.sin(ANGLE))
    slide = pin[0] + ROD * math.cos(tilt)
    shapes = {
        "base": drilled(box((-50.0, 450.0), (-30.0, -15.0), (-40.0, 40.0)), 0.0),
        "crank": bar(CRANK),
        "rod": bar(ROD),
        "slider": drilled(box((-30.0, 30.0), (-THICK / 2, THICK / 2), (-20.0, 20.0)), 0.0),
    }
    places = {
        "base": (0.0, 0.0, 0.0, 0.0),
        "crank": (0.0, 0.0, 0.0, -ANGLE),
        "rod": (pin[0], 12.0, pin[1], tilt),
        "slider": (slide, 0.0, 0.0, 0.0),
    }
    q = math.sqrt(0.5)

    def hinge(x: float = 0.0, y: float = 0.0) -> str:
        """A frame on a part whose Z is the part's Y."""
        turn = f'Q0="{-q!r}" Q1="0" Q2="0" Q3="{q!r}"'
        return f'<PropertyPlacement Px="{x!r}" Py="{y!r}" Pz="0" {turn}/>'

    along = f'<PropertyPlacement Px="0" Py="0" Pz="0" Q0="0" Q1="{q!r}" Q2="0" Q3="{q!r}"/>'
    joints = {
        "A": ("Revolute", (("base", hinge()), ("crank", hinge()))),
        "B": ("Revolute", (("crank", hinge(CRANK, 12.0)), ("rod", hinge()))),
        "C": ("Revolute", (("rod", hinge(ROD)), ("slider", hinge(0.0, 12.0)))),
        "D": ("Slider", (("base", along), ("slider", along))),
    }
    objects: dict[str, tuple[str, list[str]]] = {
        "Assembly": ("Assembly::AssemblyObject", [links("Group", "Joints", *shapes)]),
        "Joints": ("Assembly::JointGroup", [links("Group", "Ground", *joints)]),
        "Steel": (
            "App::MaterialObjectPython",
            [
                prop(
                    "Material",
                    "App::PropertyMap",
                    '<Map count="2"><Item key="Name" value="Steel"/>'
                    '<Item key="Density" value="7850 kg/m^3"/></Map>',
                )
            ],
        ),
    }
    for name in shapes:
        place = prop("Placement", "App::PropertyPlacement", placement(*places[name]))
        material = prop("Material", "App::PropertyLink", '<Link value="Steel"/>')
        shape = f"{name}_shape"
        objects[name] = ("App::Part", [links("Group", shape), material, place])
        stored = prop("Shape", "Part::PropertyPartShape", f'<Part file="{shape}.Shape.brp"/>')
        objects[shape] = ("Part::Feature", [stored])
    ground = prop("ObjectToGround", "App::PropertyLink", '<Link value="base"/>')
    objects["Ground"] = ("App::FeaturePython", [ground])
    for name, (kind, ends) in joints.items():
        objects[name] = ("App::FeaturePython", joint(kind, ends))
    heads = "\n".join(
        f'<Object type="{kind}" name="{name}" id="{k}"/>'
        for k, (name, (kind, _)) in enumerate(objects.items(), start=1)
    )
    bodies = "\n".join(
        f'<Object name="{name}"><Properties Count="{len(found) + 1}">\n'
        + "\n".join([prop("Label", "App::PropertyString", f'<String value="{name}"/>'), *found])
        + "\n</Properties></Object>"
        for name, (_, found) in objects.items()
    )
    members = {
        "Document.xml": "<?xml version='1.0' encoding='utf-8'?>\n"
        f'<Document SchemaVersion="4" ProgramVersion="1.0.0" FileVersion="1">\n'
        f'<Objects Count="{len(objects)}">\n{heads}\n</Objects>\n'
        f'<ObjectData Count="{len(objects)}">\n{bodies}\n</ObjectData>\n</Document>\n'
    }
    for name, shape in shapes.items():
        stream = io.BytesIO()
        BRepTools.Write_s(shape, stream)
        members[f"{name}_shape.Shape.brp"] = stream.getvalue().decode()
    path = Path(__file__).with_name("crank_slider.FCStd")
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, text in members.items():
            entry = zipfile.ZipInfo(name, (2020, 1, 1, 0, 0, 0))
            entry.compress_type = zipfile.ZIP_DEFLATED
            archive.writestr(entry, text)


if __name__ == "__main__":
    main()
