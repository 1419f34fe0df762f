"""Degrees of freedom by this project and by its peers, on the same files, and why they differ.

Usage: ``python peers_table.py FOLDER``. A peer counts coordinates less the rank of its rows
in the one pose where the model stands; the report's mobility is that of the motions. MuJoCo reads
MJCF itself; to Pinocchio and EXUDYN the mechanism is handed over, as loops of six rows and as
bodies with joints. OndselSolver gives no count, and Drake refuses loops of SDF.

A difference has a reason where figures show it: the peer counts as many velocities as the report
does in this pose; or it comes to our count where its ranks are taken with another tolerance; or the
loops do not close, so that rows depend on the end of the gap where they are taken. The exit status
is 1 where one has none.
"""

from __future__ import annotations

import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np

import regularize as rg
from regularize.mechanism.joint import motion, relative_pose

SUFFIXES = {".urdf", ".sdf", ".xml", ".usda", ".fcstd", ".asmt"}
#: Findings that say why a pose has other velocities than the motions through it.
REASONS = {
    "REG203": "singular",
    "REG208": "shaky",
    "REG221": "branches of different dimension meet",
    "REG318": "velocities that end at second order",
}
#: Free axes of EXUDYN's generic joint by kind, its frame's z being that of the joint.
FREE = {
    "fixed": (),
    "revolute": (5,),
    "prismatic": (2,),
    "cylindrical": (2, 5),
    "spherical": (3, 4, 5),
    "planar": (0, 1, 5),
}
#: Kinds that EXUDYN gets as single freedoms between bodies of their own.
SERIES = {"universal", "composite"}
#: Singular values that count as rows, where nothing else is said, and what else is tried.
TOLERANCE = 1e-6
OTHERS = (1e-5, 1e-7, 1e-4, 1e-8, 1e-3, 1e-9)
#: A peer's count, of a file and its report, with ranks by a tolerance or as the peer takes them.
Peer = Callable[[Path, Any, float | None], "int | None"]


def mujoco(path: Path, report: Any, tolerance: float | None = None) -> int | None:
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
    return int(model.nv - _rank(rows, tolerance))


def pinocchio(path: Path, report: Any, tolerance: float | None = None) -> int | None:
    """Velocities less the rank of closures of six rows."""
    try:
        robot = rg.to_pinocchio(report.reduction, "legacy")
    except rg.RegularizeError:
        return None
    return int(robot.model.nv - _rank(robot.jacobian(robot.q0), tolerance))


def exudyn(path: Path, report: Any, tolerance: float | None = None) -> int | None:
    """What EXUDYN computes of bodies with six coordinates each and joints of its own."""
    import exudyn as engine
    from exudyn.rigidBodyUtilities import RigidBodyInertia

    mechanism, graph = report.mechanism, report.reduction.graph
    if mechanism.couplings:
        return None
    columns: dict[str, list[int]] = {}
    for edge in graph.edges:  # one joint may have several
        columns.setdefault(edge.joint.name, []).extend(edge.columns)
    places = _places(mechanism, columns, report.reduction.q)
    if len(places) < len(mechanism.bodies):
        return None
    system = engine.SystemContainer().AddSystem()
    unit = RigidBodyInertia(mass=1.0, inertiaTensor=np.eye(3))

    def rigid(T: Any) -> Any:
        return system.CreateRigidBody(
            referencePosition=T[:3, 3], referenceRotationMatrix=T[:3, :3], inertia=unit
        )

    def joined(one: Any, two: Any, T: Any, free: tuple[int, ...]) -> None:
        system.CreateGenericJoint(
            itemNumbers=[one, two],
            position=T[:3, 3],
            rotationMatrixAxes=T[:3, :3],
            constrainedAxes=[int(k not in free) for k in range(6)],
            useGlobalFrame=True,
        )

    items = {
        name: system.CreateGround() if name == mechanism.ground else rigid(T)
        for name, T in places.items()
    }
    for joint in mechanism.joints:
        begin, end = items[joint.parent], items[joint.child]
        T = places[joint.parent] @ joint.T_parent_joint
        if joint.kind in FREE:
            free = FREE[joint.kind]
            joined(begin, end, T @ _to_axis(joint.screws[:, -1:]) if len(free) < 3 else T, free)
        elif joint.kind in SERIES and all(map(_plain, joint.screws.T)):
            q = _position(joint, columns, report.reduction.q)
            for k, screw in enumerate(joint.screws.T):
                moved = T @ motion(joint, q, k)
                last = k == joint.freedoms - 1
                following = end if last else rigid(moved)
                free = FREE["revolute" if np.any(screw[3:]) else "prismatic"]
                joined(begin, following, moved @ _to_axis(screw), free)
                begin = following
        elif joint.kind != "free":
            return None
    system.Assemble()
    own = {} if tolerance is None else {"useSVD": True, "threshold": tolerance}
    return int(system.ComputeSystemDegreeOfFreedom(**own)["degreeOfFreedom"])


PEERS: dict[str, Peer] = {"MuJoCo": mujoco, "Pinocchio": pinocchio, "EXUDYN": exudyn}


def _rank(rows: Any, tolerance: float | None) -> int:
    return int(np.linalg.matrix_rank(rows, tol=tolerance or TOLERANCE)) if len(rows) else 0


def _plain(screw: Any) -> bool:
    """Whether a screw is a rotation or a translation."""
    return abs(float(screw[:3] @ screw[3:])) < 1e-12


def _position(joint: Any, columns: Any, q: Any) -> Any:
    return q[columns[joint.name]] if joint.name in columns else joint.position


def _places(mechanism: Any, columns: Any, q: Any) -> dict[str, Any]:
    """Pose of every body that joints lead to from the ground."""
    places = {mechanism.ground: np.eye(4)}
    for _ in mechanism.bodies:
        for joint in mechanism.joints:
            T = relative_pose(joint, _position(joint, columns, q))
            if joint.parent in places and joint.child not in places:
                places[joint.child] = places[joint.parent] @ T
            elif joint.child in places and joint.parent not in places:
                places[joint.parent] = places[joint.child] @ np.linalg.inv(T)
    return places


def _to_axis(screw: Any) -> Any:
    """The frame on a screw's axis whose z is that axis."""
    T = np.eye(4)
    s = np.ravel(screw)
    if not len(s):
        return T
    z = s[3:] if np.any(s[3:]) else s[:3]
    z = z / np.linalg.norm(z)
    x = np.cross(z, np.eye(3)[int(np.argmin(np.abs(z)))])
    x /= np.linalg.norm(x)
    T[:3, :3] = np.column_stack([x, np.cross(z, x), z])
    if np.any(s[3:]):
        T[:3, 3] = np.cross(s[3:], s[:3])
    return T


def reason(path: Path, report: Any, peer: Peer, count: int) -> str:
    """Why a peer counts so many, by figures; empty where they show nothing."""
    mobility, codes = report.as_dict()["mobility"], {each.code for each in report.diagnostics}
    finite, here = mobility["finite"], mobility["here"]["mobility"]
    if count == here != finite:
        kinds = ", ".join(words for code, words in REASONS.items() if code in codes)
        return f"{here} velocities in this pose, {finite} motions ({kinds or 'no finding'})"
    if not mobility["consistent"]:
        return "the loops do not close"
    for tolerance in OTHERS:
        again = peer(path, report, tolerance)
        if again in (here, finite):
            return f"{again} where singular values below {tolerance:g} are no rows"
    return ""


def line(path: Path) -> tuple[str, bool]:
    """The counts of one file, and whether each difference has a reason."""
    report = rg.check(path, configurations=5)
    ours = report.as_dict()["mobility"]["finite"]
    counts = {name: count(path, report, None) for name, count in PEERS.items()}
    why = {
        name: reason(path, report, PEERS[name], count)
        for name, count in counts.items()
        if count is not None and count != ours
    }
    cells = "".join(f"{name} {'-' if n is None else n!s:>3}  " for name, n in counts.items())
    said = "; ".join(f"{name}: {words or 'NO REASON'}" for name, words in why.items())
    return f"ours {ours:>3}  {cells}{said}".rstrip(), all(why.values())


def main(folder: Path) -> int:
    """Print the table; returns the exit status."""
    unexplained = 0
    for path in sorted(each for each in folder.rglob("*") if each.suffix.lower() in SUFFIXES):
        try:
            text, explained = line(path)
        except rg.RegularizeError:
            continue
        unexplained += not explained
        print(f"{path.name[:40]:<40}  {text}", flush=True)
    print(f"{unexplained} differences without a reason")
    return int(unexplained > 0)


if __name__ == "__main__":
    sys.exit(main(Path(sys.argv[1])))
