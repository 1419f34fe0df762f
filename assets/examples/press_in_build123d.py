"""A press with four columns, designed in Python: checked, repaired, simulated, exported.

Four round columns guide the ram, each by a bore with a bush; a crank drives it by a rod. Counting
gives 31 constraint equations for three moving bodies, of which 17 would do: 14 are redundant, and
the ram jams where columns are not parallel.
"""

import sys
from pathlib import Path

from build123d import (
    Axis,
    Box,
    Compound,
    Cylinder,
    CylindricalJoint,
    Location,
    RevoluteJoint,
    RigidJoint,
    export_step,
)

import regularize as rg

STEEL, CRANK, ROD, DEPTH = 7850.0, 60.0, 250.0, 40.0  # kg/m³, mm
HEIGHT = ROD + CRANK  # of the shaft above the wrist, the crank turned downwards
CORNERS = {
    f"column_{k + 1}": (x, y)
    for k, (x, y) in enumerate([(-150, -100), (150, -100), (150, 100), (-150, 100)])
}


def press() -> tuple[rg.Mechanism, Compound]:
    """The mechanism, and its parts as drawn."""
    ram = Box(400, 300, DEPTH)
    frame = Box(400, 300, 60).moved(Location((0, 0, -500)))
    for x, y in CORNERS.values():
        frame += Cylinder(20, 900).moved(Location((x, y, 0)))
        ram -= Cylinder(20, 2 * DEPTH).moved(Location((x, y, 0)))
    crank = Box(30, 20, CRANK).moved(Location((0, 0, HEIGHT - CRANK / 2)))
    rod = Box(20, 20, ROD).moved(Location((0, 30, ROD / 2)))
    ram.label, frame.label, crank.label, rod.label = "ram", "frame", "crank", "rod"
    for name, (x, y) in CORNERS.items():
        RigidJoint(name, frame, Location((x, y, 0)))
        CylindricalJoint(name, ram, Axis((x, y, 0), (0, 0, 1)))
    pin, shaft = Axis((0, 0, ROD), (0, 1, 0)), Axis((0, 0, HEIGHT), (0, 1, 0))
    (
        RevoluteJoint("wrist", ram, Axis((0, 0, 0), (0, 1, 0))),
        RevoluteJoint("wrist", rod, Axis((0, 0, 0), (0, 1, 0))),
    )
    RevoluteJoint("pin", rod, pin), RevoluteJoint("pin", crank, pin)
    RevoluteJoint("shaft", crank, shaft), RevoluteJoint("shaft", frame, shaft)

    a = rg.assembly("press")
    for part in (crank, rod, ram):
        a.part(part, STEEL)
    a.mate("shaft", frame.joints["shaft"], crank.joints["shaft"], actuated=True)
    a.mate("pin", crank.joints["pin"], rod.joints["pin"])
    a.mate("wrist", rod.joints["wrist"], ram.joints["wrist"])
    for name in CORNERS:
        a.mate(name, frame.joints[name], ram.joints[name])
    return a.mechanism(), Compound(label="press", children=[frame, ram, crank, rod])


if __name__ == "__main__":
    folder = Path(sys.argv[1] if len(sys.argv) > 1 else ".")
    mechanism, parts = press()
    print(rg.check(mechanism))
    print(rg.simulate(mechanism, duration=0.5))
    export_step(parts, str(folder / "press.step"))
    rg.save(mechanism, folder / "press.xml")
    repaired = rg.fix(folder / "press.xml")
    print(repaired, repaired.diff, sep="\n")
    repaired.write(folder / "press_isostatic.xml")
