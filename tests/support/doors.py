"""Doors by which models come in, and what of their data arrives: `doors.yaml` says which there are.

``python tests/support/doors.py`` writes the page of the handbook anew.
"""

from __future__ import annotations

import math
import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import yaml
from cad_fixtures import archive

import regularize as rg

TABLE = yaml.safe_load(Path(__file__).with_suffix(".yaml").read_text(encoding="utf-8"))
DATA, DOORS = TABLE["data"], TABLE["doors"]
PAGE = Path(__file__).resolve().parents[2] / "assets" / "handbook" / "doors.md"
BASE = {name: float(datum["values"][0]) for name, datum in DATA.items()}


def text_of(name: str, **changed: float) -> str:
    """The text of a file with one datum changed."""
    door, numbers = DOORS[name], {**vars(math), **BASE, **changed}
    text = door["text"]
    for hole, piece in door.get("insert", {}).items():
        text = text.replace(hole, piece)
    return re.sub(r"<<(.+?)>>", lambda hole: repr(float(eval(hole[1], {}, numbers))), text)


def data_of(name: str) -> list[str]:
    """The data that the peer of a door can state."""
    if "set" in DOORS[name]:
        return [*DOORS[name]["set"]]
    holes = re.findall(r"<<(.+?)>>", DOORS[name]["text"] + str(DOORS[name].get("insert", "")))
    return [datum for datum in DATA if any(re.search(rf"\b{datum}\b", hole) for hole in holes)]


def written(name: str, folder: Path, **changed: float) -> Path:
    path = folder / f"door{DOORS[name]['suffix']}"
    path.write_text(text_of(name, **changed), encoding="utf-8")
    if path.suffix == ".FCStd":
        path.write_bytes(archive({"Document.xml": path.read_text(encoding="utf-8")}))
    return path


def loaded(name: str, folder: Path, **changed: float) -> rg.Mechanism:
    """The mechanism that comes in by a door, with one datum changed."""
    if "set" not in DOORS[name]:
        return rg.load(written(name, folder, **changed))
    names = MAKERS[name](folder)
    for datum, x in changed.items():
        exec(DOORS[name]["set"][datum], {"np": np, "pi": math.pi, "x": x, **names}, names)
    return rg.load(names.get("pair", names["o"]))


def arrived(mechanism: rg.Mechanism, datum: str) -> float | None:
    """What a mechanism has of a datum; None where it has no such thing."""
    j = next(joint for joint in mechanism.joints if joint.name.endswith("hinge"))
    body = mechanism.body(j.child)
    names = {"np": np, "m": mechanism, "j": j, "b": body.inertia, "shape": body.geometry[:1]}
    names |= {"slope": _slope, "follower": _follower, "closing": _closing}
    try:
        return float(eval(DATA[datum]["read"], names))
    except (KeyError, TypeError, AttributeError, IndexError, ValueError):
        return None


def _slope(joint: rg.Joint) -> float:
    axis = joint.T_parent_joint[:3, :3] @ joint.screws[3:, 0]
    return float(np.min(np.abs(axis[1:])) / np.max(np.abs(axis[1:])))


def _follower(mechanism: rg.Mechanism) -> tuple[float, float]:
    coupling = mechanism.couplings[0]
    if coupling.coefficients:
        return coupling.coefficients[1], coupling.coefficients[0]
    of = {name.rpartition(":")[2]: c for name, _, c in coupling.terms}
    return of["hinge"] / of["slide"], coupling.offset / of["slide"]


def _closing(mechanism: rg.Mechanism) -> float:
    joint = next(j for j in mechanism.joints if j.closure or j.name.endswith("close"))
    return max(abs(T[0, 3]) for T in (joint.T_parent_joint, joint.T_child_joint))


def outcome(name: str, datum: str) -> str:
    """What the table says of a datum at a door."""
    return "said" if datum in DOORS[name].get("said", {}) else "read"


def cell(name: str, datum: str, folder: Path) -> str:
    """What becomes of a datum at a door: ``read``, ``said``, or how it is lost."""
    values = DATA[datum]["values"]
    mechanism = loaded(name, folder, **{datum: values[1]})
    found = arrived(loaded(name, folder), datum), arrived(mechanism, datum)
    if None not in found and np.allclose(found, values, rtol=1e-5, atol=1e-9):
        return "read"
    words = DOORS[name].get("said", {}).get(datum)
    if words and any(words in finding.message for finding in mechanism.findings):
        return "said"
    return f"{found} in the place of {values}, and no finding says so"


def _mujoco(compiled: bool) -> Callable[[Path], dict[str, Any]]:
    def make(folder: Path) -> dict[str, Any]:
        spec = pytest.importorskip("mujoco").MjSpec.from_string(text_of("MJCF"))
        return {"o": spec.compile() if compiled else spec}

    return make


def _stage(folder: Path) -> dict[str, Any]:
    stage = pytest.importorskip("pxr.Usd").Stage.Open(str(written("USD, `mjc:`", folder)))

    def put(prim: str, attribute: str, value: Any) -> None:
        stage.GetPrimAtPath(prim).GetAttribute(attribute).Set(value)

    return {"o": stage, "put": put}


def _newton(folder: Path) -> dict[str, Any]:
    newton, v = pytest.importorskip("newton"), BASE
    builder, mode = newton.ModelBuilder(), newton.JointTargetMode.POSITION
    inertia = np.diag([0.03, 0.03, v["inertia"]])
    mass = {"mass": v["mass"], "com": (v["center"], 0, 0), "inertia": inertia}
    arm, tip = builder.add_link(label="arm", **mass), builder.add_link(label="tip", mass=1.0)
    cfg = newton.ModelBuilder.ShapeConfig(density=0.0, mu=v["contact"])
    builder.add_shape_box(arm, hx=v["size"] / 2, hy=0.05, hz=0.05, cfg=cfg)
    given = {key: v[key] for key in ("damping", "friction", "armature", "stiffness")}
    given |= {"rest_q": v["rest"], "limit_lower": v["lower"], "limit_upper": v["upper"]}
    given |= {"velocity_limit": v["velocity"], "effort_limit": v["effort"], "actuator_mode": mode}
    given |= {"target_ke": v["kp"], "target_kd": v["kd"], "target_q": v["target"]}
    wp = pytest.importorskip("warp")
    at = [wp.transform((v[key], 0, 0), wp.quat_identity()) for key in ("place", "closure")]
    hinge = builder.add_joint_revolute(
        -1, arm, axis=(0, 1, 0), parent_xform=at[0], label="hinge", **given
    )
    slide = builder.add_joint_prismatic(arm, tip, label="slide")
    builder.add_articulation([hinge, slide])
    builder.add_joint_ball(-1, tip, parent_xform=at[1], child_xform=at[1], label="close")
    builder.add_constraint_mimic(slide, hinge, v["offset"], v["ratio"])
    builder.gravity = (0, 0, -v["gravity"])
    return {"o": builder, "wp": wp}


def _drake(folder: Path) -> dict[str, Any]:
    tree = pytest.importorskip("pydrake.multibody.tree")
    from pydrake.math import RigidTransform
    from pydrake.multibody.plant import MultibodyPlant

    names: dict[str, Any] = {"PdControllerGains": tree.PdControllerGains}

    def make(**changed: float) -> None:
        v = {**BASE, **changed}
        plant, com = MultibodyPlant(0.001), [v["center"], 0, 0]
        central = tree.UnitInertia(*(np.array([0.03, 0.03, v["inertia"]]) / v["mass"]))
        unit = central.ShiftFromCenterOfMass(com)
        arm = plant.AddRigidBody("arm", tree.SpatialInertia(v["mass"], com, unit))
        place = RigidTransform([v["place"], 0, 0])
        ends = [
            plant.AddFrame(tree.FixedOffsetFrame(f"f{k}", body.body_frame(), place))
            for k, body in enumerate((plant.world_body(), arm))
        ]
        axis = np.array([0, 1, v["axis"]]) / np.hypot(1, v["axis"])
        hinge = plant.AddJoint(tree.RevoluteJoint("hinge", *ends, axis, -1.5, 1.4, v["damping"]))
        hinge.set_velocity_limits([-v["velocity"]], [v["velocity"]])
        motor = plant.AddJointActuator("motor", hinge, v["effort"])
        motor.set_default_rotor_inertia(v["armature"])
        motor.set_controller_gains(tree.PdControllerGains(p=v["kp"], d=v["kd"]))
        plant.AddForceElement(tree.RevoluteSpring(hinge, v["rest"], v["stiffness"]))
        points = (plant.world_body(), np.zeros(3), arm, np.ones(3))
        plant.AddForceElement(tree.LinearSpringDamper(*points, 1.0, v["spring"], 0.0))
        plant.mutable_gravity_field().set_gravity_vector([0, 0, -v["gravity"]])
        names.update(o=plant, h=hinge, a=motor)

    make()
    names["make"] = make
    return names


def _pinocchio(folder: Path) -> dict[str, Any]:
    pin, v = pytest.importorskip("pinocchio"), BASE
    model = pin.Model()
    place = pin.SE3(np.eye(3), np.array([v["place"], 0, 0]))
    bounds = [np.array([v[key]]) for key in ("effort", "velocity", "lower", "upper")]
    hinge = model.addJoint(0, pin.JointModelRY(), place, "hinge", *bounds)
    inertia = np.diag([0.03, 0.03, v["inertia"]])
    model.appendBodyToJoint(
        hinge, pin.Inertia(v["mass"], np.array([v["center"], 0, 0]), inertia), pin.SE3.Identity()
    )
    for name, key in zip(
        ("damping", "friction", "armature", "rotorGearRatio"),
        ("damping", "friction", "armature", "gear"),
        strict=True,
    ):
        getattr(model, name)[0] = v[key]
    model.gravity.linear, model.rotorInertia[0] = np.array([0, 0, -v["gravity"]]), 1e-4
    at = pin.SE3(np.eye(3), np.array([v["closure"], 0, 0]))
    closure = pin.RigidConstraintModel(pin.ContactType.CONTACT_3D, model, hinge, at, 0, at)
    return {"o": model, "c": closure, "pair": (model, [closure]), "pin": pin}


def _parsed(parser: str) -> Callable[[Path], dict[str, Any]]:
    def make(folder: Path) -> dict[str, Any]:
        path = written("URDF", folder)
        path.write_text(re.sub(r"(?s)<loop.*?</loop>", "", path.read_text()))
        robot = pytest.importorskip(parser).URDF.load(str(path))
        inner = getattr(robot, "robot", robot)
        joints, links = ({x.name: x for x in each} for each in (inner.joints, inner.links))
        return {"o": robot, "h": joints["hinge"], "s": joints["slide"], "k": links["arm"]}

    return make


MAKERS: dict[str, Callable[[Path], dict[str, Any]]] = {
    "MjSpec": _mujoco(False),
    "MjModel": _mujoco(True),
    "Usd.Stage": _stage,
    "Newton `ModelBuilder`": _newton,
    "Drake `MultibodyPlant`": _drake,
    "`pinocchio.Model`": _pinocchio,
    "yourdfpy": _parsed("yourdfpy"),
    "urchin": _parsed("urchin"),
}

INTRO = """# What comes in by each door

<!-- Written by tests/support/doors.py. -->

Every file format and every object of another library is a door. Of each datum that it can state,
one value was changed in the peer's own file or object, by itself: ✓ says that the loaded model
changed by just that, *said* that a finding names what is not read (`regularize check` shows it). An
empty cell is a datum that the door has no place for. None is silent: `tests/adapters/test_doors.py`
repeats all of it.

What is not read of joints, closures and couplings makes a model incomplete: the headline says it
first, and the JSON report has `model.complete`.

![Formats and objects that are read, and what is made of the mechanism](../pictures/formats.png)
"""


def page() -> str:
    """The page of the handbook: a table of data and doors for files, and one for objects."""
    parts = [INTRO]
    for title, objects in (("Files", False), ("Objects in memory", True)):
        names = [name for name in DOORS if ("set" in DOORS[name]) == objects]
        parts.append(f"## {title}\n\n| | {' | '.join(names)} |\n|---|{'---|' * len(names)}\n")
        for datum, entry in DATA.items():
            marks = ["✓" if o == "read" else o for o in (_mark(name, datum) for name in names)]
            if any(marks):
                parts[-1] += re.sub(
                    r"(?<=\|)  (?=\|)", " ", f"| {entry['title']} | {' | '.join(marks)} |\n"
                )
    return "\n".join(parts)


def _mark(name: str, datum: str) -> str:
    return outcome(name, datum) if datum in data_of(name) else ""


if __name__ == "__main__":
    PAGE.write_text(page(), encoding="utf-8")
