"""The same three mechanisms in every simulation format, as text.

Each builder returns the text of a file. All files of one mechanism have the same joint names and
axes at the pose of the file, in a world whose Z axis points up:

* ``planar_four_bar``: ground, crank, coupler, rocker; hinges A, B, C, D along Y;
* ``slider_crank``: ground, crank, coupler, slider; hinges A, B, C along Y; D slides along X;
* ``spherical_four_bar``: hinges A, B, C, D through the origin.
"""

import json
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

BODIES = ("ground", "crank", "coupler", "rocker")
CHAIN = (("A", "ground", "crank"), ("B", "crank", "coupler"), ("C", "coupler", "rocker"))
LAST = ("D", "ground", "rocker")


@dataclass(frozen=True)
class Axis:
    """A joint axis in the world at the pose of the file."""

    kind: str
    point: tuple[float, float, float]
    direction: tuple[float, float, float]


Y = (0.0, 1.0, 0.0)
MECHANISMS: dict[str, dict[str, Axis]] = {
    "planar_four_bar": {
        "A": Axis("revolute", (0.0, 0.0, 0.0), Y),
        "B": Axis("revolute", (0.3, 0.0, 0.4), Y),
        "C": Axis("revolute", (1.5, 0.0, 0.9), Y),
        "D": Axis("revolute", (1.2, 0.0, 0.0), Y),
    },
    "slider_crank": {
        "A": Axis("revolute", (0.0, 0.0, 0.0), Y),
        "B": Axis("revolute", (0.3, 0.0, 0.4), Y),
        "C": Axis("revolute", (1.5, 0.0, 0.0), Y),
        "D": Axis("prismatic", (1.5, 0.0, 0.0), (1.0, 0.0, 0.0)),
    },
    "spherical_four_bar": {
        "A": Axis("revolute", (0.0, 0.0, 0.0), (0.0, 0.0, 1.0)),
        "B": Axis("revolute", (0.0, 0.0, 0.0), (0.6, 0.0, 0.8)),
        "C": Axis("revolute", (0.0, 0.0, 0.0), (0.48, 0.64, 0.6)),
        "D": Axis("revolute", (0.0, 0.0, 0.0), (0.0, 0.96, 0.28)),
    },
}


def words(values: Any) -> str:
    """Numbers as XML formats write them."""
    return " ".join(f"{float(value):.17g}" for value in values)


def inertial_point(name: str, axes: dict[str, Axis]) -> np.ndarray:
    """A centre of mass for each body: between its joints, off any axis."""
    ends = {"crank": "AB", "coupler": "BC", "rocker": "CD"}[name]
    middle = 0.5 * (np.array(axes[ends[0]].point) + axes[ends[1]].point)
    return np.asarray(middle + np.array([0.01, 0.02, 0.03]))


def sdf(mechanism: str) -> str:
    """All links at the origin; joints placed by their poses in the child."""
    axes = MECHANISMS[mechanism]
    links = "".join(
        f"""
    <link name="{name}">
      <inertial><pose>{words(inertial_point(name, axes))} 0 0 0</pose><mass>2</mass>
        <inertia><ixx>0.02</ixx><iyy>0.03</iyy><izz>0.04</izz>
          <ixy>0.001</ixy><ixz>0</ixz><iyz>0</iyz></inertia></inertial>
    </link>"""
        for name in BODIES[1:]
    )
    joints = "".join(
        f"""
    <joint name="{name}" type="{axes[name].kind}">
      <pose>{words(axes[name].point)} 0 0 0</pose>
      <parent>{"world" if parent == "ground" else parent}</parent><child>{child}</child>
      <axis><xyz>{words(axes[name].direction)}</xyz></axis>
    </joint>"""
        for name, parent, child in (*CHAIN, LAST)
    )
    return f'<?xml version="1.0"?>\n<sdf version="1.7">\n  <model name="{mechanism}">' + (
        f"{links}{joints}\n  </model>\n</sdf>\n"
    )


def mjcf(mechanism: str) -> str:
    """Hinge D is closed by two connects; a slide has to be in the tree, so C is closed there."""
    axes = MECHANISMS[mechanism]
    closing = "D" if axes["D"].kind == "revolute" else "C"

    def joint(name: str) -> str:
        axis = axes[name]
        kind = {"revolute": "hinge", "prismatic": "slide"}[axis.kind]
        return (
            f'<joint name="{name}" type="{kind}" pos="{words(axis.point)}" '
            f'axis="{words(axis.direction)}"/>'
        )

    def inertial(name: str) -> str:
        return (
            f'<inertial pos="{words(inertial_point(name, axes))}" mass="2" '
            'fullinertia="0.02 0.03 0.04 0.001 0 0"/>'
        )

    point = np.array(axes[closing].point)
    second = point + 0.1 * np.array(axes[closing].direction)
    rocker = (
        f'<body name="rocker">{inertial("rocker")}{joint("C" if closing == "D" else "D")}</body>'
    )
    inside, beside = (rocker, "") if closing == "D" else ("", rocker)
    ends = 'body1="rocker"' if closing == "D" else 'body1="coupler" body2="rocker"'
    return f"""<mujoco model="{mechanism}">
  <worldbody>
    <body name="crank">{inertial("crank")}{joint("A")}
      <body name="coupler">{inertial("coupler")}{joint("B")}{inside}</body>
    </body>
    {beside}
  </worldbody>
  <equality>
    <connect name="{closing}" {ends} anchor="{words(point)}"/>
    <connect name="{closing}_z" {ends} anchor="{words(second)}"/>
  </equality>
</mujoco>
"""


def usd(mechanism: str) -> str:
    """Joints along X of a frame that is turned into their axis."""
    axes = MECHANISMS[mechanism]
    prims = ""
    for name in BODIES[1:]:
        x, y, z = (float(value) for value in inertial_point(name, axes))
        prims += f"""
    def Xform "{name}" (prepend apiSchemas = ["PhysicsRigidBodyAPI", "PhysicsMassAPI"])
    {{
        float physics:mass = 2
        point3f physics:centerOfMass = ({x!r}, {y!r}, {z!r})
        float3 physics:diagonalInertia = (0.02, 0.03, 0.04)
        quatf physics:principalAxes = (1, 0, 0, 0)
    }}"""
    for name, parent, child in (*CHAIN, LAST):
        axis = axes[name]
        e = np.array(axis.direction)
        # Half way between X and the axis, turned by half a turn: X goes to the axis.
        half = e + np.array([1.0, 0.0, 0.0])
        x, y, z = (float(value) for value in half / np.linalg.norm(half))
        kind = {"revolute": "Revolute", "prismatic": "Prismatic"}[axis.kind]
        first = "" if parent == "ground" else f"\n        rel physics:body0 = </M/{parent}>"
        prims += f"""
    def Physics{kind}Joint "{name}"
    {{
        uniform token physics:axis = "X"{first}
        rel physics:body1 = </M/{child}>
        point3f physics:localPos0 = {axis.point}
        point3f physics:localPos1 = {axis.point}
        quatf physics:localRot0 = (0, {x!r}, {y!r}, {z!r})
        quatf physics:localRot1 = (0, {x!r}, {y!r}, {z!r})
    }}"""
    return f"""#usda 1.0
(
    defaultPrim = "M"
    metersPerUnit = 1
    kilogramsPerUnit = 1
    upAxis = "Z"
)
def Xform "M"
{{{prims}
}}
"""


def native(mechanism: str) -> str:
    """The smallest file of the project's own format: what has a default is left out."""
    axes = MECHANISMS[mechanism]
    joints = []
    for name, parent, child in (*CHAIN, LAST):
        axis = axes[name]
        T = np.eye(4)
        T[:3, 3] = axis.point
        zero = (0.0, 0.0, 0.0)
        linear, angular = (
            (zero, axis.direction) if axis.kind == "revolute" else (axis.direction, zero)
        )
        joints.append(
            {
                "name": name,
                "parent": parent,
                "child": child,
                "kind": axis.kind,
                "screws": [[*linear, *angular]],
                "T_parent_joint": T.tolist(),
                "T_child_joint": T.tolist(),
            }
        )
    return json.dumps(
        {
            "format": "regularize-mechanism",
            "version": 1,
            "name": mechanism,
            "ground": "ground",
            "gravity": [0, 0, -9.81],
            "bodies": [{"name": name} for name in BODIES],
            "joints": joints,
        }
    )


#: Format name: file suffix and builder.
BUILDERS: dict[str, tuple[str, Callable[[str], str]]] = {
    "sdf": (".sdf", sdf),
    "mjcf": (".xml", mjcf),
    "usd": (".usda", usd),
    "json": (".json", native),
}
