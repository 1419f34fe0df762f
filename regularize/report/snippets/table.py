"""The snippets by code."""

from __future__ import annotations

from regularize.report.snippets.elements import (
    BodyPiece,
    DialectText,
    JointPiece,
    Snippet,
    closing,
    hinge,
    pair,
    python,
    shell,
)

_FREE_ROD = (
    JointPiece("S", "spherical", "crank", "rod", loop=True),
    JointPiece("T", "spherical", "rod", "rocker", loop=True),
)
_HELD_ROD = (
    JointPiece("S", "universal", "crank", "rod", loop=True),
    JointPiece("T", "spherical", "rod", "rocker", loop=True),
)
_ALL_ROWS, _EVIDENCE = (
    "reduction = rg.reduce(model)",
    "reduction = rg.reduce(model, numerical=True)  # on this assembly mode",
)
_TO_URDF, _TO_JSON = (
    "regularize export MODEL --to urdf -o robot.urdf",
    "regularize export MODEL --to json -o robot.json",
)
_ROWS = 'robot = rg.to_pinocchio(model)  # style="rows"'
_FIX = "regularize fix MODEL -o better/"

SNIPPETS: dict[str, Snippet] = {
    "REG010": pair(
        (hinge("C", "coupler", "rocker"), hinge("D", "base", "rocker")),
        (hinge("C", "coupler", "rocker"), closing("revolute")),
    ),
    "REG012": pair(closing("revolute", "300 0 0"), closing("revolute", "0.3 0 0")),
    "REG013": pair(
        DialectText({"urdf": '<sensor name="imu"/>', "sdf": '<sensor name="imu" type="imu"/>'}),
        closing("revolute"),
    ),
    "REG014": pair(BodyPiece("rod", "1.0", "-0.001"), BodyPiece("rod", "1.0", "0.001")),
    "REG015": pair(closing("revolute"), closing("revolute", turned="0 0 1.5707963267949")),
    "REG016": shell("regularize check MODEL", "regularize check MODEL --keyframe home"),
    "REG017": pair(
        hinge("A", "base", "crank", "0 0.9998 0.0209"), hinge("A", "base", "crank", "0 1 0")
    ),
    "REG018": pair(
        BodyPiece("rod", shape='<box size="0.1 0.02 0.02"/>'),
        BodyPiece("rod", "0.108", "0.0001", '<box size="0.1 0.02 0.02"/>'),
    ),
    "REG019": pair(
        (BodyPiece("link_3_cl1_1", "0"), BodyPiece("link_5_cl1_2", "0")),
        JointPiece("cl1", "revolute", "link_3", "link_5", loop=True),
    ),
    "REG020": pair(
        DialectText(
            {
                "urdf": "<!-- regularize: ignore REG201 -->",
                "usd": "# regularize: ignore REG201",
            }
        ),
        DialectText(
            {
                "urdf": "<!-- regularize: ignore REG201 meant to be stiff -->",
                "usd": "# regularize: ignore REG201 meant to be stiff",
            }
        ),
    ),
    "REG021": pair(
        DialectText(
            {
                "urdf": '<mesh filename="/elsewhere/part.stl"/>',
                "sdf": "<include><uri>../../elsewhere/part.sdf</uri></include>",
            }
        ),
        DialectText(
            {
                "urdf": '<mesh filename="meshes/part.stl"/>',
                "sdf": "<include><uri>part.sdf</uri></include>",
            }
        ),
    ),
    "REG101": pair(closing("revolute", "3 0 0"), closing("revolute", "0.3 0 0")),
    "REG102": shell("regularize check MODEL", "regularize check MODEL --floating"),
    "REG103": pair(
        BodyPiece("gear", "0.2"), (BodyPiece("gear", "0.2"), hinge("G", "base", "gear"))
    ),
    "REG104": shell("regularize check MODEL", "regularize reduce MODEL -o assembled/"),
    "REG201": pair(closing("revolute"), closing("spherical")),
    "REG202": python(_ALL_ROWS, _EVIDENCE),
    "REG203": python(
        "rg.simulate(model, duration=1.0)  # from the flat pose",
        'rg.simulate(model, duration=1.0, rates={"A": 0.5}, branch=1)',
    ),
    "REG204": pair(closing("revolute", axis="0.0005 1 0"), closing("revolute", axis="0 1 0")),
    "REG205": pair(closing("revolute", turned="0.0175 0 0"), closing("revolute")),
    "REG206": pair(hinge("B", "bar_1", "bar_2"), JointPiece("B", "fixed", "bar_1", "bar_2")),
    "REG207": pair(_FREE_ROD, _HELD_ROD),
    "REG208": pair(
        JointPiece("S", "spherical", "crank", "rod", at="0.1 0 0", loop=True),
        JointPiece("S", "spherical", "crank", "rod", at="0.1 0.05 0", loop=True),
    ),
    "REG209": pair(closing("revolute", axis="0 1 0.01"), closing("revolute", axis="0 1 0")),
    "REG210": python(_ALL_ROWS, _EVIDENCE),
    "REG211": pair(closing("revolute"), closing("spherical")),
    "REG212": pair(
        (closing("cylindrical"), closing("planar"), closing("revolute")), closing("revolute")
    ),
    "REG213": shell(
        "regularize simulate MODEL --duration 2s",
        "regularize simulate MODEL --duration 2s --branch 1",
    ),
    "REG214": pair(
        closing("revolute", turned="0 0 1.5708"),
        closing("revolute", turned="0 0 1.570796326794897"),
    ),
    "REG215": shell("regularize check MODEL --rtol 1e-2", "regularize check MODEL"),
    "REG216": pair(
        (
            JointPiece("W", "fixed", "left", "right", loop=True),
            JointPiece("V", "fixed", "left", "right", loop=True),
        ),
        JointPiece("W", "fixed", "left", "right", loop=True),
    ),
    "REG217": pair(closing("revolute", "0.3 0 0"), closing("revolute", "0.301 0 0")),
    "REG218": pair(closing("fixed"), closing("revolute")),
    "REG219": pair(
        closing("revolute", "0.300001 0 0"),
        closing("revolute", "0.3 0 0"),
    ),
    "REG220": pair(closing("revolute"), closing("spherical")),
    "REG221": shell("regularize check MODEL", "regularize check MODEL --branch 2"),
    "REG223": pair(closing("revolute", axis="0.0087 1 0"), closing("revolute", axis="0 1 0")),
    "REG224": shell("regularize check MODEL --as-designed", "regularize check MODEL"),
    "REG225": pair(closing("revolute", "0.3 0.002 0"), closing("revolute", "0.3 0 0")),
    "REG226": pair(closing("revolute", "3 0 0"), closing("revolute", "0.3 0 0")),
    "REG227": python('rg.to_pinocchio(model, style="anchors")  # all rows of the cuts', _ROWS),
    "REG228": python(
        "rg.simulate(reduction, duration=10.0)  # passes the pose",
        "rg.simulate(reduction, duration=1.0)  # stays on this side",
    ),
    "REG229": pair(closing("revolute", "0.3 0.002 0"), closing("revolute", "0.3 0 0")),
    "REG230": python(_ALL_ROWS, _EVIDENCE),
    "REG233": python(
        _EVIDENCE, 'robot = rg.to_pinocchio(model, style="anchors")  # all rows, with damping'
    ),
    "REG234": pair(
        hinge("C", "rod", "platform", "0.7071 0.7071 0"),
        hinge("C", "rod", "platform", "0.707106781186548 0.707106781186548 0"),
    ),
    "REG301": pair(closing("helical"), JointPiece("D", "helical", "base", "screw")),
    "REG302": shell(_TO_URDF, _TO_JSON),
    "REG303": pair(BodyPiece("rod"), BodyPiece("rod", "0.1")),
    "REG304": python('rg.to_pinocchio(rg.reduce(model), style="anchors")', _EVIDENCE),
    "REG305": python('rg.to_pinocchio(model, style="anchors")  # with a mimic joint', _ROWS),
    "REG306": pair(BodyPiece("tool"), BodyPiece("tool", "0.05")),
    "REG307": python(_EVIDENCE, _ALL_ROWS),
    "REG308": shell("regularize reduce MODEL --to sdf -o out/", "regularize reduce MODEL -o out/"),
    "REG309": pair(closing("revolute"), closing("spherical")),
    "REG310": shell(
        "regularize metamodel MODEL --inputs A --bounds -180deg 180deg -o model.npz",
        "regularize metamodel MODEL --inputs A --bounds -60deg 60deg -o model.npz",
    ),
    "REG311": pair(_FREE_ROD, _HELD_ROD),
    "REG312": shell(
        "regularize metamodel MODEL --inputs A --bounds -1 1 -o model.npz",
        "regularize metamodel MODEL --inputs A --bounds -1 1 --clearance 0.05 -o model.npz",
    ),
    "REG313": shell(
        "regularize simulate MODEL --coordinates path --through",
        "regularize simulate MODEL --coordinates all",
    ),
    "REG314": pair(
        hinge("B", "crank", "rod", limit="-3 3"), hinge("B", "crank", "rod", limit="-1 1")
    ),
    "REG315": shell(
        "regularize simulate MODEL --coordinates minimal --rtol 1e-4",
        "regularize simulate MODEL --coordinates all --rtol 1e-9",
    ),
    "REG316": python(
        "rg.simulate(model, duration=5.0)  # swings past its stop",
        "rg.simulate(model, duration=5.0, forces=stops)  # your own forces at the stops",
    ),
    "REG317": shell(
        "regularize simulate MODEL --slip 1e-2", "regularize simulate MODEL --slip 1e-4"
    ),
    "REG318": pair(
        JointPiece("B", "revolute", "left", "right", at="0.5 0 0", loop=True),
        JointPiece("B", "revolute", "left", "right", at="0.5 0 0.05", loop=True),
    ),
    "REG320": shell(_TO_URDF, _TO_JSON),
    "REG321": pair(
        (BodyPiece("arm", "1.0"), hinge("arm", "base", "arm")),
        (BodyPiece("arm", "1.0"), hinge("arm_joint", "base", "arm")),
    ),
    "REG322": pair(BodyPiece("rod", "0"), BodyPiece("rod", "0.1")),
    "REG323": shell(_TO_URDF, "regularize export MODEL --to mjcf -o robot.xml"),
    "REG324": pair(closing("revolute", limit="-1 1"), hinge("B", "crank", "rod", limit="-1 1")),
    "REG325": shell(_TO_URDF, "regularize export MODEL --to mjcf -o robot.xml"),
    "REG326": shell("regularize export MODEL --to sdf -o robot.sdf", _TO_JSON),
    "REG327": shell(_TO_URDF, _TO_JSON),
    "REG328": shell(_TO_URDF, "regularize export MODEL --to mjcf -o robot.xml"),
    "REG329": shell(_TO_URDF, _FIX),
    "REG330": python('rg.to_pinocchio(model, style="legacy")', _ROWS),
    "REG331": python(
        "rg.minimal_dynamics(model)",
        'rg.minimal_dynamics(model, independent=["A"])  # the motor\'s joint, at a better pose',
    ),
}
