"""Write ``crank_slider.FCStd``: an assembly of four steel parts, by FreeCAD 1.0 itself.

A crank of 100 mm and a rod of 250 mm drive a block along the X axis; all hinges are along Y. Run it
as ``freecadcmd assets/make_crank_slider.py``.
"""

from __future__ import annotations

import math
import sys
from pathlib import Path
from typing import Any

import FreeCAD
import Part

sys.path.append(str(Path(FreeCAD.getHomePath()) / "Mod" / "Assembly"))
import JointObject

CRANK, ROD, ANGLE = 100.0, 250.0, math.radians(60.0)  # mm, mm, and the crank's angle from X to Z
THICK, HOLE = 10.0, 6.0  # mm: thickness of bars, radius of their holes
Y = FreeCAD.Vector(0, 1, 0)


def box(x: tuple[float, float], y: tuple[float, float], z: tuple[float, float]) -> Any:
    """A box between two values along each axis."""
    sizes = [high - low for low, high in (x, y, z)]
    return Part.makeBox(*sizes, FreeCAD.Vector(x[0], y[0], z[0]))


def drilled(shape: Any, *places: float) -> Any:
    """A shape with holes along Y at places on the X axis."""
    for x in places:
        shape = shape.cut(Part.makeCylinder(HOLE, 3 * THICK, FreeCAD.Vector(x, -THICK, 0), Y))
    return shape


def bar(length: float) -> Any:
    """A bar along X from one hole to another, 20 mm beyond each."""
    sides = (-20.0, length + 20.0), (-THICK / 2, THICK / 2), (-15.0, 15.0)
    return drilled(box(*sides), 0.0, length)


def placement(x: float, y: float, z: float, axis: Any = Y, angle: float = 0.0) -> Any:
    """A place, turned about an axis."""
    turn = FreeCAD.Rotation(FreeCAD.Vector(*axis), math.degrees(angle))
    return FreeCAD.Placement(FreeCAD.Vector(x, y, z), turn)


def hinge(x: float = 0.0, y: float = 0.0) -> Any:
    """A frame on a part whose Z is the part's Y."""
    return placement(x, y, 0.0, (1, 0, 0), -math.pi / 2)


def main() -> None:
    """Write the file beside this one."""
    tilt = math.asin(CRANK * math.sin(ANGLE) / ROD)
    pin = (CRANK * math.cos(ANGLE), CRANK * math.sin(ANGLE))
    slide = pin[0] + ROD * math.cos(tilt)
    parts = {
        "base": (drilled(box((-50, 450), (-30, -15), (-40, 40)), 0.0), placement(0, 0, 0)),
        "crank": (bar(CRANK), placement(0, 0, 0, Y, -ANGLE)),
        "rod": (bar(ROD), placement(pin[0], 12, pin[1], Y, tilt)),
        "slider": (
            drilled(box((-30, 30), (-THICK / 2, THICK / 2), (-20, 20)), 0.0),
            placement(slide, 0, 0),
        ),
    }
    along = placement(0, 0, 0, Y, math.pi / 2)
    joints = {
        "A": ("Revolute", ("base", hinge()), ("crank", hinge())),
        "B": ("Revolute", ("crank", hinge(CRANK, 12.0)), ("rod", hinge())),
        "C": ("Revolute", ("rod", hinge(ROD)), ("slider", hinge(0.0, 12.0))),
        "D": ("Slider", ("base", along), ("slider", along)),
    }
    document = FreeCAD.newDocument("crank_slider")
    assembly = document.addObject("Assembly::AssemblyObject", "Assembly")
    group = assembly.newObject("Assembly::JointGroup", "Joints")
    steel = document.addObject("App::MaterialObjectPython", "Steel")
    steel.Material = {"Name": "Steel", "Density": "7850 kg/m^3"}
    for name, (shape, place) in parts.items():
        part = assembly.newObject("App::Part", name)
        part.newObject("Part::Feature", f"{name}_shape").Shape = shape
        part.Material, part.Placement = steel, place
    ground = group.newObject("App::FeaturePython", "Ground")
    JointObject.GroundedJoint(ground, document.getObject("base"))
    for name, (kind, *ends) in joints.items():
        joint = group.newObject("App::FeaturePython", name)
        JointObject.Joint(joint, JointObject.JointTypes.index(kind))
        joint.Detach1 = joint.Detach2 = True  # the frames stay where they are put
        joint.Reference1, joint.Reference2 = (
            [assembly, [f"{part}.{part}_shape.Edge1", f"{part}.{part}_shape.Vertex1"]]
            for part, _ in ends
        )
        joint.Placement1, joint.Placement2 = (frame for _, frame in ends)
    for name, (_, place) in parts.items():  # each new joint has moved them
        document.getObject(name).Placement = place
    document.recompute()
    assert assembly.solve() == 0
    document.saveAs(str(Path(__file__).with_name("crank_slider.FCStd")))


main()
