"""Assemblies built by FreeCAD's own joint code: does its solver drop as many equations as we name?

Usage: ``python freecad_table.py [FOLDER]``; ``freecadcmd`` is on the path, see ``freecad.sh``. The
textbook's overconstraints and every example whose joints FreeCAD has are built there, each part
of circles where its joints are; then each is fixed, opened and solved there again. Files stay in
FOLDER, by default a temporary one.
"""

from __future__ import annotations

import json
import os
import re
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Any

import numpy as np

import regularize as rg

ROOT = Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "tests" / "repair" / "fix"))
TYPES = {
    "revolute": "Revolute",
    "cylindrical": "Cylindrical",
    "prismatic": "Slider",
    "spherical": "Ball",
    "fixed": "Fixed",
}
HEAD = """
import json, sys, FreeCAD as App, Part
sys.path.append(App.getHomePath() + "Mod/Assembly")
import JointObject
"""
#: Runs inside of FreeCAD: documents from descriptions, each saved as FOLDER/NAME.FCStd.
BUILD = """
new = int(App.Version()[0]) > 1 or int(App.Version()[1]) > 0
for model in json.load(open({file!r})):
    document = App.newDocument(model["name"])
    document.saveAs({folder!r} + "/" + model["name"] + ".FCStd")
    assembly = document.addObject("Assembly::AssemblyObject", "Assembly")
    group = assembly.newObject("Assembly::JointGroup", "Joints")
    parts = {{}}
    for body, circles in model["bodies"].items():
        part = assembly.newObject("Part::Feature", "p" + str(len(parts)))
        part.Shape = Part.makeCompound([
            Part.makeCircle(5, App.Vector(*p), App.Vector(*axis)) for p, axis in circles
        ])
        parts[body] = part
    ground = group.newObject("App::FeaturePython", "GroundedJoint")
    JointObject.GroundedJoint(ground, parts[model["ground"]])
    for name, kind, ends in model["joints"]:
        joint = group.newObject("App::FeaturePython", name)
        JointObject.Joint(joint, JointObject.JointTypes.index(kind))
        places = []
        for body, edge in ends:
            edge = "Edge" + str(edge)
            if new:
                places.append([parts[body], [edge, edge]])
            else:
                places.append([assembly, [parts[body].Name + "." + edge] * 2])
        joint.Proxy.setJointConnectors(joint, places)
    document.recompute()
    document.save()
    App.closeDocument(document.Name)
"""
#: Runs inside of FreeCAD: what its solver drops of each file.
SOLVE = """
for path in {paths!r}:
    document = App.openDocument(path)
    print("@@@ " + path, flush=True)
    assembly = [each for each in document.Objects if each.TypeId == "Assembly::AssemblyObject"][0]
    print("@@@ solved", assembly.solve(), flush=True)
    App.closeDocument(document.Name)
"""


def described(name: str, mechanism: rg.Mechanism) -> dict[str, Any] | None:
    """A mechanism for the script inside of FreeCAD, in mm; None where FreeCAD lacks a joint."""
    reduction = rg.reduce(mechanism)
    kinds = {joint.kind for joint in mechanism.joints}
    if mechanism.couplings or not kinds <= {*TYPES} or not reduction.assembly.closed:
        return None
    poses = reduction.reference.T_world_node[0]
    graph, loops = reduction.graph, reduction.loops
    bodies: dict[str, list[Any]] = {body.name: [] for body in mechanism.bodies}
    joints = []
    for k, joint in enumerate(mechanism.joints):
        place = poses[loops.row(graph.node_of[joint.parent])] @ graph.T_node_body[joint.parent]
        place = place @ joint.T_parent_joint
        screws = joint.screws
        axis = np.eye(3)[2]
        if joint.freedoms and joint.kind != "spherical":
            column = next((c for c in screws.T if np.any(c[3:])), screws[:, 0])
            axis = column[3:] if np.any(column[3:]) else column[:3]
        circle = ((1e3 * place[:3, 3]).tolist(), (place[:3, :3] @ axis).tolist())
        ends = []
        for body in (joint.parent, joint.child):
            bodies[body].append(circle)
            ends.append((body, len(bodies[body])))
        joints.append((f"J{k}", TYPES[joint.kind], ends))
    return {"name": name, "ground": mechanism.ground, "bodies": bodies, "joints": joints}


def inside(script: str, folder: Path) -> str:
    """What FreeCAD prints while it runs a script."""
    file = folder / "script.py"
    file.write_text(HEAD + script)
    kept = {name: value for name, value in os.environ.items() if not name.startswith("PYTHON")}
    run = subprocess.run(["freecadcmd", str(file)], capture_output=True, env=kept, check=False)
    return run.stdout.decode(errors="replace") + run.stderr.decode(errors="replace")


def dropped(paths: list[Path], folder: Path) -> dict[str, int]:
    """How many equations FreeCAD's solver drops of each file, by its last word on each joint."""
    text = inside(SOLVE.format(paths=[str(path) for path in paths]), folder)
    counts = {}
    for piece in text.split("@@@ /")[1:]:
        name = Path("/" + piece.splitlines()[0]).stem
        last = piece.split("@@@ solved")[0].split("Checking for redundant constraints.")[-1]
        counts[name] = len(re.findall(r"RedundantConstraint\w+", last))
    return counts


def main() -> None:
    """Print a line for each assembly."""
    from test_arrangements import ROWS, assembly

    if shutil.which("freecadcmd") is None:
        raise SystemExit("freecadcmd is not on the path: see tests/support/freecad.sh")
    folder = Path(sys.argv[1] if len(sys.argv) > 1 else tempfile.mkdtemp())
    folder.mkdir(exist_ok=True, parents=True)
    models = {row["name"].replace(" ", "_"): assembly(row["joints"]) for row in ROWS}
    for path in sorted((ROOT / "assets").glob("*.urdf")):
        models[path.stem] = rg.load(path)
    entries = [entry for name, model in models.items() if (entry := described(name, model))]
    (folder / "models.json").write_text(json.dumps(entries))
    inside(BUILD.format(file=str(folder / "models.json"), folder=str(folder)), folder)
    paths = [folder / f"{entry['name']}.FCStd" for entry in entries]
    there = dropped(paths, folder)
    fixed = {}
    for path in paths:
        try:
            place = folder / "fixed" / path.name
            fixed[path.stem] = rg.fix(path, remove=True), place
            fixed[path.stem][0].write(place)
        except rg.RegularizeError as error:
            print(f"{path.stem}: {str(error)[:150]}")
    again = dropped([place for _, place in fixed.values()], folder)
    same = 0
    for path in paths:
        ours = rg.reduce(path).redundant
        after = fixed[path.stem][0].reduction.redundant if path.stem in fixed else None
        agree = ours == there.get(path.stem) and (after is None or after == again.get(path.stem))
        same += agree
        row = (path.stem, ours, there.get(path.stem), after, again.get(path.stem))
        print("" if agree else "DIFFERENT", *row)
    print(f"{same} of {len(paths)} alike")


if __name__ == "__main__":
    main()
