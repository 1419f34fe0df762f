"""Degrees of freedom by this project and by its peers, on the same files, and why they differ.

Usage: ``python tests/peers_table.py FOLDER``. A peer counts coordinates less the rank of its rows
in the one pose where the model stands; the report's mobility is that of the motions. MuJoCo reads
MJCF itself; to Pinocchio and EXUDYN the mechanism is handed over, as loops of six rows and as
bodies with joints. OndselSolver gives no count, and Drake refuses loops of SDF. The exit status is
1 where a difference has no reason.
"""

from __future__ import annotations

import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np

import regularize as rg
from regularize.errors import RegularizeError
from regularize.model.joint_motion import relative_pose

SUFFIXES = {".urdf", ".sdf", ".xml", ".usda", ".fcstd", ".asmt"}
#: Findings that say why a count in one pose is not the mobility of the motions.
REASONS = {
    "REG101": "loops do not close",
    "REG205": "loops contradict each other",
    "REG203": "more velocities in this pose than motions",
    "REG204": "nearly redundant: the peer takes noise for a row",
    "REG208": "shaky: velocities without motion",
    "REG214": "ranks are not clear",
    "REG217": "mobility undecided",
    "REG221": "branches of different dimension",
    "REG234": "rows depend on each other within the noise of the file's digits",
    "REG318": "velocities that end at second order",
}
#: Free axes of EXUDYN's generic joint by kind, its frame's z being that of the joint.
FREE = {
    "fixed": (),
    "revolute": (5,),
    "prismatic": (2,),
    "cylindrical": (2, 5),
    "spherical": (3, 4, 5),
}


def mujoco(path: Path, report: Any) -> int | None:
    """Freedoms less the rank of the equality rows, of an MJCF file."""
    import mujoco as engine

    if report.mechanism.format != "mjcf":
        return None
    from regularize.adapters.mjcf.compiled import compiled

    model = compiled(str(path)).model  # by MuJoCo, without meshes that are not there
    off = engine.mjtDisableBit
    model.opt.disableflags |= off.mjDSBL_CONTACT | off.mjDSBL_LIMIT | off.mjDSBL_FRICTIONLOSS
    model.opt.jacobian = engine.mjtJacobian.mjJAC_DENSE
    data = engine.MjData(model)
    engine.mj_forward(model, data)
    rows = np.ravel(data.efc_J)[: data.nefc * model.nv].reshape(data.nefc, model.nv)
    return int(model.nv - _rank(rows))


def pinocchio(path: Path, report: Any) -> int | None:
    """Velocities less the rank of closures of six rows."""
    try:
        robot = rg.to_pinocchio(report.reduction, "legacy")
    except RegularizeError:
        return None
    return int(robot.model.nv - _rank(robot.jacobian(robot.q0)))


def exudyn(path: Path, report: Any) -> int | None:
    """What EXUDYN computes of bodies with six coordinates each and joints of its own."""
    import exudyn as engine
    from exudyn.rigidBodyUtilities import RigidBodyInertia

    mechanism, graph = report.mechanism, report.reduction.graph
    if mechanism.couplings or any(joint.kind not in FREE for joint in mechanism.joints):
        return None
    places = _places(mechanism, {e.joint.name: e.columns for e in graph.edges}, report.reduction.q)
    if len(places) < len(mechanism.bodies):
        return None
    system = engine.SystemContainer().AddSystem()
    unit = RigidBodyInertia(mass=1.0, inertiaTensor=np.eye(3))
    items = {}
    for name, T in places.items():
        items[name] = (
            system.CreateGround()
            if name == mechanism.ground
            else system.CreateRigidBody(
                referencePosition=T[:3, 3], referenceRotationMatrix=T[:3, :3], inertia=unit
            )
        )
    for joint in mechanism.joints:
        T = places[joint.parent] @ joint.T_parent_joint @ _to_axis(joint)
        system.CreateGenericJoint(
            itemNumbers=[items[joint.parent], items[joint.child]],
            position=T[:3, 3],
            rotationMatrixAxes=T[:3, :3],
            constrainedAxes=[int(k not in FREE[joint.kind]) for k in range(6)],
            useGlobalFrame=True,
        )
    system.Assemble()
    return int(system.ComputeSystemDegreeOfFreedom()["degreeOfFreedom"])


PEERS: dict[str, Callable[[Path, Any], int | None]] = {
    "MuJoCo": mujoco,
    "Pinocchio": pinocchio,
    "EXUDYN": exudyn,
}


def _rank(rows: Any) -> int:
    return int(np.linalg.matrix_rank(rows, tol=1e-6)) if len(rows) else 0


def _places(mechanism: Any, columns: Any, q: Any) -> dict[str, Any]:
    """Pose of every body that joints lead to from the ground."""
    places = {mechanism.ground: np.eye(4)}
    for _ in mechanism.bodies:
        for joint in mechanism.joints:
            own = q[list(columns[joint.name])] if joint.name in columns else joint.position
            T = relative_pose(joint, own)
            if joint.parent in places and joint.child not in places:
                places[joint.child] = places[joint.parent] @ T
            elif joint.child in places and joint.parent not in places:
                places[joint.parent] = places[joint.child] @ np.linalg.inv(T)
    return places


def _to_axis(joint: Any) -> Any:
    """The frame on the joint's axis whose z is that axis."""
    T = np.eye(4)
    if joint.kind in ("fixed", "spherical"):
        return T
    s = joint.screws[:, -1]
    z = s[3:] if np.any(s[3:]) else s[:3]
    x = np.cross(z, np.eye(3)[int(np.argmin(np.abs(z)))])
    x /= np.linalg.norm(x)
    T[:3, :3] = np.column_stack([x, np.cross(z, x), z])
    if np.any(s[3:]):
        T[:3, 3] = np.cross(s[3:], s[:3])
    return T


def line(path: Path) -> tuple[str, bool]:
    """The counts of one file, and whether each difference has a reason."""
    report = rg.check(path, configurations=5)
    ours = report.as_dict()["mobility"]["finite"]
    counts = {name: count(path, report) for name, count in PEERS.items()}
    codes = {finding.code for finding in report.diagnostics}
    why = [words for code, words in REASONS.items() if code in codes]
    differ = [name for name, count in counts.items() if count is not None and count != ours]
    cells = "".join(f"{name} {'-' if n is None else n!s:>3}  " for name, n in counts.items())
    said = "; ".join(why) if differ and why else "NO REASON" if differ else ""
    return f"ours {ours:>3}  {cells}{said}", bool(why) or not differ


def main(folder: Path) -> int:
    """Print the table; returns the exit status."""
    unexplained = 0
    for path in sorted(each for each in folder.rglob("*") if each.suffix.lower() in SUFFIXES):
        try:
            text, explained = line(path)
        except RegularizeError:
            continue
        unexplained += not explained
        print(f"{path.name[:40]:<40}  {text}", flush=True)
    print(f"{unexplained} differences without a reason")
    return int(unexplained > 0)


if __name__ == "__main__":
    sys.exit(main(Path(sys.argv[1])))
