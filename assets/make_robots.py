"""Writes the robots of ``assets/robots``: drives through loops as humanoids and hands are built.

Run ``python assets/make_robots.py``: two-rod ankles, knee four-bars, a waist on two rods, legs on
struts, and hands with linkages, in MJCF with their servos, in URDF and in SDF.
"""

from __future__ import annotations

from pathlib import Path

import numpy as np

import regularize as rg

# Models stand as they are written, on long lines.
# ruff: noqa: E501
ROBOTS = Path(__file__).resolve().parent / "robots"
X, Y, Z = np.eye(3)
SERVO = '<position name="{0}" joint="{0}" kp="{1}" kv="{2}" forcerange="-{3} {3}"/>'
MOTOR = '<motor name="{0}" joint="{0}" gear="{1}" ctrlrange="-{2} {2}"/>'


class Parts:
    """What a robot of MJCF has beside its bodies."""

    def __init__(self) -> None:
        self.closures: list[str] = []
        self.motors: list[str] = []

    def joined(self, one: str, two: str) -> None:
        """Close a loop at two sites."""
        self.closures.append(f'<connect site1="{one}" site2="{two}" solref=".004 1"/>')

    def file(self, name: str, bodies: str, damping: str = ".02") -> None:
        """Write the robot."""
        text = f"""<mujoco model="{name}">
  <compiler angle="radian"/>
  <option timestep=".001" integrator="implicitfast"/>
  <default><geom contype="0" conaffinity="0"/><joint damping="{damping}"/></default>
  <worldbody>
    {bodies}
  </worldbody>
  <equality>
    {(chr(10) + "    ").join(self.closures)}
  </equality>
  <actuator>
    {(chr(10) + "    ").join(self.motors)}
  </actuator>
</mujoco>
"""
        (ROBOTS / f"{name}.xml").write_text(text, encoding="utf-8")


def hinge(name: str, axis: str, ends: str = "", more: str = "") -> str:
    """A hinge of MJCF."""
    return (
        f'<joint name="{name}" axis="{axis}"' + (f' range="{ends}"' if ends else "") + f"{more}/>"
    )


def two_rods(parts: Parts, name: str, cranks: tuple, lugs: tuple, motor: str) -> tuple[str, str]:
    """Cranks and rods on a body, and the lugs of the body that they move; places in one frame."""
    links, ends = "", ""
    for k, (crank, lug) in enumerate(zip(cranks, lugs, strict=True), 1):
        at, pin, end = (np.round(p, 6) for p in (crank[0], crank[1] - crank[0], lug[0]))
        rod = np.round(end - crank[1], 6)
        there, arm, tip = (" ".join(f"{x:g}" for x in p) for p in (at, pin, rod))
        links += f"""<body name="{name}_crank{k}" pos="{there}">
        {hinge(f"{name}_m{k}", "0 1 0", "-.8 .8", ' armature=".004"')}
        <geom type="capsule" fromto="0 0 0 {arm}" size=".01" mass=".08"/>
        <body name="{name}_rod{k}" pos="{arm}"><joint name="{name}_ball{k}" type="ball"/>
        <geom type="capsule" fromto="0 0 0 {tip}" size=".008" mass=".04"/><site name="{name}_end{k}" pos="{tip}"/>
        </body></body>"""
        own = " ".join(f"{x:g}" for x in np.round(lug[1], 6))
        ends += f'<site name="{name}_lug{k}" pos="{own}"/>'
        parts.joined(f"{name}_end{k}", f"{name}_lug{k}")
        parts.motors.append(motor.format(f"{name}_m{k}"))
    return links, ends


def ankle(parts: Parts, side: str, motor: str) -> str:
    """What hangs on a shank: two motors, rods, and a foot that pitches and rolls."""
    cranks = [
        (np.array([-0.05, y, z]), np.array([-0.1, y, z])) for y, z in ((0.04, -0.1), (-0.04, -0.16))
    ]
    lugs = [(np.array([-0.1, y, -0.4]), np.array([-0.1, y, 0.0])) for y in (0.04, -0.04)]
    links, ends = two_rods(parts, f"{side}_ankle", cranks, lugs, motor)
    return f"""{links}<body name="{side}_cross" pos="0 0 -.4">
      {hinge(f"{side}_ankle_pitch", "0 1 0", "-.7 .7")}
      <inertial pos="0 0 0" mass=".05" diaginertia="1e-4 1e-4 1e-4"/>
      <body name="{side}_foot">{hinge(f"{side}_ankle_roll", "1 0 0", "-.4 .4")}
      <geom type="box" size=".12 .05 .015" pos=".03 0 -.05" mass=".9" contype="1" conaffinity="1"/>{ends}</body></body>"""


def leg(parts: Parts, side: str, y: float) -> str:
    """Three hinges at the hip, a knee on a four-bar, and an ankle on two rods."""
    direct = SERVO.format("{0}", 300, 15, 120)
    for joint in ("yaw", "roll", "pitch"):
        parts.motors.append(direct.format(f"{side}_hip_{joint}"))
    parts.motors.append(direct.format(f"{side}_knee_m"))
    parts.joined(f"{side}_knee_end", f"{side}_knee_lug")
    return f"""<body name="{side}_hip1" pos="0 {y} -.05">{hinge(f"{side}_hip_yaw", "0 0 1", "-.6 .6")}
    <geom size=".04" mass=".8"/><body name="{side}_hip2">{hinge(f"{side}_hip_roll", "1 0 0", "-.5 .5")}
    <geom size=".04" mass=".8"/><body name="{side}_thigh">
    {hinge(f"{side}_hip_pitch", "0 1 0", "-1 1")}<geom type="capsule" fromto="0 0 -.05 0 0 -.35" size=".05" mass="3"/>
    <body name="{side}_knee_crank" pos="0 .05 -.06">
      {hinge(f"{side}_knee_m", "0 1 0", "-.5 .9", ' armature=".01"')}
      <geom type="capsule" fromto="0 0 0 -.05 0 0" size=".012" mass=".15"/>
      <body name="{side}_knee_rod" pos="-.05 0 0">{hinge(f"{side}_knee_pin", "0 1 0")}
      <geom type="capsule" fromto="0 0 0 .006 0 -.335" size=".01" mass=".1"/><site name="{side}_knee_end" pos=".006 0 -.335"/></body></body>
    <body name="{side}_shank" pos="0 0 -.4">{hinge(f"{side}_knee", "0 1 0", "-.6 1.1")}
    <geom type="capsule" fromto="0 0 -.05 0 0 -.3" size=".04" mass="2"/>
    <site name="{side}_knee_lug" pos="-.044 .05 .005"/>
    {ankle(parts, side, SERVO.format("{0}", 150, 6, 60))}</body></body></body></body>"""


def humanoid() -> None:
    """Two legs, a waist on two rods, arms: 18 motors, 8 of them through loops."""
    parts = Parts()
    cranks = [(np.array([-0.05, y, -0.05]), np.array([-0.11, y, -0.05])) for y in (0.07, -0.07)]
    lugs = [(np.array([-0.11, y, 0.1]), np.array([-0.11, y, 0.0])) for y in (0.07, -0.07)]
    legs = leg(parts, "left", 0.1) + leg(parts, "right", -0.1)
    links, ends = two_rods(parts, "waist", cranks, lugs, SERVO.format("{0}", 300, 15, 90))
    arms = ""
    for side, y in (("left", 0.2), ("right", -0.2)):
        for joint in ("shoulder", "elbow"):
            parts.motors.append(MOTOR.format(f"{side}_{joint}", 20, 1.5))
        arms += f"""<body name="{side}_arm" pos="0 {y} .35">{hinge(f"{side}_shoulder", "0 1 0", "-2 2")}
        <geom type="capsule" fromto="0 0 0 0 0 -.25" size=".03" mass="1.5"/>
        <body name="{side}_forearm" pos="0 0 -.28">{hinge(f"{side}_elbow", "0 1 0", "-2 0")}
        <geom type="capsule" fromto="0 0 0 0 0 -.25" size=".03" mass="1"/></body></body>"""
    bodies = f"""<geom name="floor" type="plane" size="5 5 .1" contype="1" conaffinity="1"/>
    <body name="pelvis" pos="0 0 .92"><freejoint name="root"/>
    <geom type="box" size=".08 .1 .05" mass="6"/>{links}{legs}
    <body name="waist_cross" pos="0 0 .1">{hinge("waist_pitch", "0 1 0", "-.6 .6")}
      <inertial pos="0 0 0" mass=".1" diaginertia="1e-3 1e-3 1e-3"/>
      <body name="torso">{hinge("waist_roll", "1 0 0", "-.5 .5")}
      <geom type="box" size=".08 .15 .18" pos="0 0 .22" mass="12"/>{ends}{arms}</body></body></body>"""
    parts.file("humanoid_rods", bodies)


def one_leg() -> None:
    """A leg whose pelvis is held, its motors with gears and control ranges."""
    parts = Parts()
    parts.motors.append(MOTOR.format("left_hip", 30, 3))
    shank = ankle(parts, "left", MOTOR.format("{0}", 30, 2))
    parts.file(
        "leg_two_rods",
        f"""<body name="left_shank" pos="0 0 .6">{hinge("left_hip", "0 1 0", "-1 1")}
        <geom type="capsule" fromto="0 0 0 0 0 -.35" size=".04" mass="3"/>{shank}</body>""",
    )


def hand_rods() -> None:
    """Three fingers and a thumb, each flexed and spread by two servos and two rods."""
    parts, bodies = Parts(), ""
    for name, y, turn in (
        ("index", 0.03, 0.0),
        ("middle", 0.0, 0.0),
        ("ring", -0.03, 0.0),
        ("thumb", 0.06, 0.9),
    ):
        cranks = [
            (np.array([-0.012, s * 0.008, -0.03]), np.array([-0.024, s * 0.008, -0.03]))
            for s in (1, -1)
        ]
        lugs = [
            (np.array([-0.012, s * 0.008, 0.0]), np.array([-0.012, s * 0.008, 0.0]))
            for s in (1, -1)
        ]
        links, ends = two_rods(parts, name, cranks, lugs, SERVO.format("{0}", 2, 0.02, 0.5))
        links = links.replace('armature=".004"', 'armature="1e-6"').replace(
            'mass=".08"', 'mass=".002"'
        )
        links = (
            links.replace('mass=".04"', 'mass=".001"')
            .replace('size=".01"', 'size=".002"')
            .replace('size=".008"', 'size=".002"')
        )
        bodies += f"""<body name="{name}_base" pos="0 {y} .05" euler="{turn} 0 0">
        <geom type="box" size=".008 .01 .02" pos="0 0 -.03" mass=".02"/>{links}
        <body name="{name}_knuckle">{hinge(f"{name}_flexion", "0 1 0", "-.5 .9", ' damping=".001"')}
        <inertial pos="0 0 0" mass=".003" diaginertia="1e-7 1e-7 1e-7"/>
        <body name="{name}_finger">{hinge(f"{name}_spread", "1 0 0", "-.3 .3", ' damping=".001"')}
        <geom type="capsule" fromto="0 0 .005 0 0 .07" size=".007" mass=".03"/>{ends}</body></body></body>"""
    palm = '<body name="palm" pos="0 0 .2"><geom type="box" size=".01 .045 .04" mass=".3"/>'
    parts.file("hand_two_rods", f"{palm}{bodies}</body>", "1e-6")


def hand_linkage() -> None:
    """Fingers whose linear motors bend the knuckle, and a four-bar the next joint with it."""
    parts, bodies = Parts(), ""
    for name, y in (("index", 0.025), ("middle", 0.0), ("ring", -0.025)):
        parts.motors.append(SERVO.format(f"{name}_m", 2000, 20, 40))
        parts.joined(f"{name}_push_end", f"{name}_push_lug")
        parts.joined(f"{name}_link_end", f"{name}_link_lug")
        bodies += f"""<body name="{name}_nut" pos="-.012 {y} -.02">
        <joint name="{name}_m" type="slide" axis="0 0 1" range="-.006 .008"/><geom size=".003" mass=".005"/>
        <body name="{name}_push">{hinge(f"{name}_push_pin", "0 1 0")}<geom size=".002" pos="0 0 .01" mass=".002"/>
        <site name="{name}_push_end" pos="-.001 0 .022"/></body></body>
        <body name="{name}_link" pos=".006 {y} .004">{hinge(f"{name}_link_pin", "0 1 0")}
        <geom size=".002" pos="-.005 0 .02" mass=".002"/><site name="{name}_link_end" pos="-.012 0 .036"/></body>
        <body name="{name}_proximal" pos="0 {y} 0">{hinge(f"{name}_knuckle", "0 1 0", "-.6 .9")}
        <geom type="capsule" fromto="0 0 .005 0 0 .035" size=".006" mass=".02"/>
        <site name="{name}_push_lug" pos="-.013 0 .002"/>
        <body name="{name}_middle" pos="0 0 .042">{hinge(f"{name}_next", "0 1 0")}
        <geom type="capsule" fromto="0 0 .004 0 0 .03" size=".005" mass=".008"/>
        <site name="{name}_link_lug" pos="-.006 0 -.002"/></body></body>"""
    parts.file(
        "hand_linkage",
        f'<body name="palm" pos="0 0 .2"><geom type="box" size=".01 .04 .04" pos="0 0 -.05" mass=".3"/>{bodies}</body>',
        "1e-6",
    )


def struts() -> rg.Mechanism:
    """A leg with a linear motor behind the knee, and two beside the shank that move the foot."""
    a = rg.assembly("leg_struts")
    a.body("thigh", mass=4.0, com=(0, 0, -0.2), inertia=0.05 * np.eye(3))
    a.body("shank", mass=2.5, com=(0, 0, -0.6), inertia=0.03 * np.eye(3))
    a.body("cross", mass=0.05, com=(0, 0, -0.8), inertia=1e-4 * np.eye(3))
    a.body("foot", mass=0.9, com=(0.04, 0, -0.85), inertia=0.004 * np.eye(3))
    rated = {"actuated": True, "effort": 1500.0, "velocity": 0.4}
    a.hinge(
        "hip",
        "ground",
        "thigh",
        at=(0, 0, 0),
        axis=Y,
        actuated=True,
        effort=120.0,
        velocity=12.0,
        limits=[-1.0, 1.0],
    )
    a.hinge("knee", "thigh", "shank", at=(0, 0, -0.4), axis=Y, limits=[-0.6, 0.9])
    a.hinge("ankle_pitch", "shank", "cross", at=(0, 0, -0.8), axis=Y, limits=[-0.6, 0.6])
    a.hinge("ankle_roll", "cross", "foot", at=(0, 0, -0.8), axis=X, limits=[-0.3, 0.3])
    places = {
        "knee": (0.0, -0.05, -0.05, -0.06, -0.43),
        "left": (0.045, -0.05, -0.5, -0.07, -0.79),
        "right": (-0.045, -0.05, -0.5, -0.07, -0.79),
    }
    for name, (y, x0, z0, x1, z1) in places.items():
        top, end = np.array([x0, y, z0]), np.array([x1, y, z1])
        for part, share in (("case", 0.3), ("piston", 0.7)):
            a.body(
                f"{name}_{part}",
                mass=0.15 if part == "case" else 0.03,
                com=top + share * (end - top),
                inertia=1e-4 * np.eye(3),
            )
        upper, lower = ("thigh", "shank") if name == "knee" else ("shank", "foot")
        if name == "knee":
            a.hinge("knee_top", upper, "knee_case", at=top, axis=Y)
            a.hinge("knee_end", "knee_piston", lower, at=end, axis=Y)
        else:
            a.universal(f"{name}_top", upper, f"{name}_case", at=top, axes=(X, Y))
            a.ball(f"{name}_end", f"{name}_piston", lower, at=end)
        a.slider(
            f"{name}_motor",
            f"{name}_case",
            f"{name}_piston",
            at=0.5 * (top + end),
            axis=end - top,
            limits=[-0.03, 0.03],
            **rated,
        )
    return a.mechanism()


def waist() -> rg.Mechanism:
    """A torso on two cranks with rods (2-RSU)."""
    a = rg.assembly("waist_two_rods")
    a.body("cross", mass=0.1, com=(0, 0, 0.1), inertia=1e-3 * np.eye(3))
    a.body("torso", mass=14.0, com=(0, 0, 0.35), inertia=np.diag([0.4, 0.3, 0.2]))
    a.hinge("pitch", "ground", "cross", at=(0, 0, 0.1), axis=Y, limits=[-0.5, 0.5])
    a.hinge("roll", "cross", "torso", at=(0, 0, 0.1), axis=X, limits=[-0.4, 0.4])
    for name, y in (("left", 0.08), ("right", -0.08)):
        at, pin, end = (
            np.array([-0.05, y, -0.05]),
            np.array([-0.11, y, -0.05]),
            np.array([-0.11, y, 0.11]),
        )
        a.body(f"{name}_crank", mass=0.15, com=0.5 * (at + pin), inertia=1e-4 * np.eye(3))
        a.body(f"{name}_rod", mass=0.08, com=0.5 * (pin + end), inertia=1e-4 * np.eye(3))
        a.hinge(
            f"{name}_motor",
            "ground",
            f"{name}_crank",
            at=at,
            axis=Y,
            actuated=True,
            effort=90.0,
            velocity=8.0,
            limits=[-0.7, 0.7],
        )
        a.ball(f"{name}_pin", f"{name}_crank", f"{name}_rod", at=pin)
        a.universal(f"{name}_end", f"{name}_rod", "torso", at=end, axes=(X, Y))
    return a.mechanism()


def main() -> None:
    """Write everything."""
    ROBOTS.mkdir(exist_ok=True)
    for write in (humanoid, one_leg, hand_rods, hand_linkage):
        write()
    for ending in ("urdf", "xml"):
        rg.save(struts(), ROBOTS / f"leg_struts.{ending}")
    rg.save(waist(), ROBOTS / "waist_two_rods.sdf")


if __name__ == "__main__":
    main()
