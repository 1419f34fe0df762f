"""Kinds of joints that `fix` writes into files of every format: what changes, and what refuses."""

from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from screws import exp
from test_adapter_contract import write_fixture
from test_fix import SITES, changes, robot

import regularize as rg
from regularize.adapters import adapters
from regularize.adapters.common import edits
from regularize.adapters.common.edits import EditedText, MovedJoint, SlackLinks, WantedSlack
from regularize.adapters.mjcf.patch import MjcfPatcher
from regularize.adapters.native import NativePatcher
from regularize.adapters.urdf import sidecar_patch
from regularize.adapters.urdf.patch import UrdfPatcher
from regularize.adapters.usd.patch import UsdPlaces

BARS = SITES.split("  <keyframe>")[0] + "</mujoco>\n"
SLIDE = '<joint name="rocker_joint_slide" type="slide" axis="0 1 0"/>'
HINGE_B = '<joint name="B" axis="0 1 0"/>'
SIDES = """  <link name="one"/><link name="two"/>
  <joint name="f1" type="fixed"><parent link="rocker"/><child link="one"/>
    <origin xyz="-0.3 0 -0.9"/></joint>
  <joint name="f2" type="fixed"><parent link="ground"/><child link="two"/>
    <origin xyz="1.2 0 0"/></joint>
"""


HINGE_C = 'def PhysicsRevoluteJoint "C"'


@pytest.fixture
def stage(tmp_path: Path) -> Path:
    return write_fixture("usd", "planar_four_bar", tmp_path)


def annotate(stage: Path, name: str, metadata: str) -> None:
    hinge = f'def PhysicsRevoluteJoint "{name}"'
    stage.write_text(stage.read_text().replace(hinge, f"{hinge} ({metadata})"))


@pytest.mark.slow
@pytest.mark.parametrize(
    ("kind", "freedoms"), [("fixed", 0), ("prismatic", 1), ("spherical", 3), ("planar", 3)]
)
def test_a_hinge_of_a_stage(kind: str, freedoms: int, stage: Path) -> None:
    fix = rg.fix(stage, {"C": kind})
    old, new, *limits = changes(fix.diff)
    assert old == '-def PhysicsRevoluteJoint "C"'
    assert new.startswith('+def PhysicsJoint "C"') == bool(limits)
    joint = fix.mechanism.joint("C")
    assert joint.freedoms == freedoms
    assert len(limits) in (0, 14)  # low and high of every axis, for Newton infinite ones too


@pytest.mark.slow
def test_what_drove_a_hinge_of_a_stage_is_named(stage: Path) -> None:
    annotate(stage, "B", 'prepend apiSchemas = ["PhysicsDriveAPI:angular"]')
    fix = rg.fix(stage, {"B": "spherical"})
    assert "drive of joint `B` means nothing to a spherical joint" in fix.findings[0].message
    changed = rg.fix(stage, {"B": "cylindrical"}).diff
    assert 'prepend apiSchemas = ["PhysicsLimitAPI:transX", "PhysicsLimitAPI:transY", ' in changed


@pytest.mark.slow
def test_a_ball_of_a_stage_gets_the_axis_of_its_frame(stage: Path) -> None:
    text = stage.read_text()
    stage.write_text(text.replace('PhysicsRevoluteJoint "C"', 'PhysicsSphericalJoint "C"'))
    fix = rg.fix(stage, {"C": "revolute"})
    assert changes(fix.diff)[1:] == [
        '+def PhysicsRevoluteJoint "C"',
        '+uniform token physics:axis = "Z"',
    ]
    assert fix.mechanism.joint("C").kind == "revolute"
    assert rg.fix(stage, {"C": "universal"}).mechanism.joint("C").freedoms == 2


@pytest.mark.slow
@pytest.mark.parametrize(
    ("kind", "opened", "closed"), [("spherical", 2, 1), ("revolute", 0, 1), ("planar", 2, 1)]
)
def test_bounds_of_a_generic_joint_are_opened_and_closed(
    kind: str, opened: int, closed: int, stage: Path
) -> None:
    rg.fix(stage, {"C": "cylindrical"}).write(stage)
    assert 'def PhysicsJoint "C"' in stage.read_text()
    fix = rg.fix(stage, {"C": kind})
    assert fix.mechanism.joint("C").kind == kind
    added = [line for line in changes(fix.diff) if line[0] == "+"]
    assert sum(line.endswith("physics:low = -inf") for line in added) == opened
    assert sum(line.endswith("physics:low = 1") for line in added) == closed
    if kind == "revolute":
        fix.write(stage)
        again = changes(rg.fix(stage, {"C": "cylindrical"}).diff)
        assert [line for line in again if line[0] == "+"] == [
            "+float limit:transX:physics:low = -inf",
            "+float limit:transX:physics:high = inf",
        ]


@pytest.mark.slow
def test_bounds_of_a_hinge_stay_those_of_its_freedom(stage: Path) -> None:
    head, tail = stage.read_text().split(HINGE_C)
    stage.write_text(
        f"{head}{HINGE_C}" + tail.replace('"X"', '"X"\n        float physics:lowerLimit = -30', 1)
    )
    fix = rg.fix(stage, {"C": "cylindrical"})
    assert "+float limit:rotX:physics:low = -30" in changes(fix.diff)
    fix.write(stage)
    fix = rg.fix(stage, {"C": "spherical"})
    assert not any("rotX" in line for line in changes(fix.diff) if "apiSchemas" not in line)
    # A bound with nothing opposite holds nothing; it is closed by both.
    text = stage.read_text()
    stage.write_text(text.replace("        float limit:transY:physics:high = -1\n", "", 1))
    assert "+float limit:transY:physics:high = -1" in changes(rg.fix(stage, {"C": "revolute"}).diff)


@pytest.mark.slow
def test_the_layer_that_defines_a_joint_is_edited(stage: Path, tmp_path: Path) -> None:
    text = stage.read_text()
    inside = """{
    def "Notes"
    {
    }
    custom asset picture = @textures/steel.png@
    custom asset site = @https://a.b/c.png@
    float wear.timeSamples = {
        0: 1,
    }
"""
    stage.write_text(text.replace("{", inside, 1))
    over = tmp_path / "over.usda"
    over.write_text(
        f"#usda 1.0\n(\n    subLayers = [@{stage.name}@]\n)\n"
        'over "M"\n{\n    over "C"\n    {\n        float physics:breakForce = 9\n    }\n}\n'
    )
    fix = rg.fix(over, {"C": "spherical"})
    assert fix.diff.startswith(f"--- {stage}")
    assert len(changes(fix.diff)) == 2
    written = fix.write(tmp_path / "new" / "over.usda")
    assert rg.load(written).joint("C").kind == "spherical"


@pytest.mark.slow
def test_kinds_that_a_stage_cannot_hold(stage: Path) -> None:
    with pytest.raises(rg.ModelError, match="cannot become helical in this file; usd holds there"):
        rg.fix(stage, {"C": "helical:0.01"})
    package = stage.with_suffix(".usdz")
    utils = pytest.importorskip("pxr.UsdUtils")
    assert utils.CreateNewUsdzPackage(str(stage), str(package))
    with pytest.raises(rg.ModelError, match="is a package; unpack it with usdzip"):
        rg.fix(package)
    head, tail = stage.read_text().split(HINGE_C)
    rod = "float physics:minDistance = 2\nfloat physics:maxDistance = 2\n"
    stage.write_text(f'{head}def PhysicsDistanceJoint "C"' + tail.replace("{", "{" + rod, 1))
    with pytest.raises(rg.ModelError, match=r"cannot become spherical .*; usd holds there: none"):
        rg.fix(stage, {"C": "spherical"})


def test_equalities_of_mujoco_on_a_stage_stay_as_they_are(stage: Path) -> None:
    annotate(stage, "C", 'prepend apiSchemas = ["MjcEqualityConnectAPI"]')
    with pytest.raises(rg.ModelError, match="`C` is an equality of MuJoCo"):
        rg.fix(stage, {"C": "spherical"})


@pytest.mark.slow
def test_schemas_are_added_to_the_metadata_of_a_prim(stage: Path) -> None:
    annotate(stage, "C", 'doc = "a hinge"')
    fix = rg.fix(stage, {"C": "cylindrical"})
    assert any(
        line.startswith('+prepend apiSchemas = ["PhysicsLimit') for line in changes(fix.diff)
    )
    assert fix.mechanism.joint("C").kind == "cylindrical"


def test_braces_and_words_of_a_stage() -> None:
    with pytest.raises(rg.RegularizeError, match=r"a\.usda: braces do not match; correct them"):
        UsdPlaces(EditedText("a.usda", 'def Xform "A" { } }', "utf-8"))
    text = 'def Xform "A"\n{\n    custom int class = 5\n}\n'
    [prim] = UsdPlaces(EditedText("a.usda", text, "utf-8")).prims.values()
    assert (prim.path, text[slice(*prim.body)].strip()) == ("/A", "custom int class = 5")


def test_slack_links_and_closures_that_a_file_does_not_hold(tmp_path: Path) -> None:
    mechanism = rg.load(robot(tmp_path))
    closing = mechanism.joint("D")
    links = SlackLinks(closing, closing, "rocker", (), ())
    stranger = replace(closing, source=None)
    with pytest.raises(rg.UnsupportedExport, match="are not put into urdf files"):
        NativePatcher(mechanism).slack(WantedSlack((links,)))
    with pytest.raises(rg.UnsupportedExport, match=r"joint `D` is not written out in .*urdf"):
        UrdfPatcher(mechanism).slack(WantedSlack((replace(links, joint=stranger),)))
    bodies = tuple(replace(body, source=None) for body in mechanism.bodies)
    with pytest.raises(rg.UnsupportedExport, match=r"body `crank` is not written out in .*urdf"):
        UrdfPatcher(replace(mechanism, bodies=bodies)).slack(WantedSlack(shares={"crank": 0.5}))
    old = hung(tmp_path)
    old.write_text(old.read_text().replace('version="1.9"', 'version="1.4"'))
    with pytest.raises(rg.UnsupportedExport, match=r"need SDF 1\.5 or later; this is 1\.4"):
        patcher_of(rg.load(old)).slack(WantedSlack())
    engine = MjcfPatcher(rg.load(written(tmp_path, BARS)))
    with pytest.raises(rg.UnsupportedExport, match="closing joint `D` has no element to take out"):
        engine.slack(WantedSlack(removed=(stranger,)))


@pytest.mark.slow
def test_a_joint_that_is_gone_is_not_patched(stage: Path, tmp_path: Path) -> None:
    mechanism = rg.load(write_fixture("json", "planar_four_bar", tmp_path))
    gone = replace(mechanism.joint("C"), name="gone")
    with pytest.raises(rg.ModelError, match=r"\.json: joint 'gone' is not found again"):
        NativePatcher(mechanism).patch([edits.WantedKind(gone, "spherical", gone)])
    # What stands in a variant has a path that the text does not show.
    text = stage.read_text()
    start = text.index(HINGE_C)
    end = text.index("}", start) + 1
    inside = 'variantSet "v" = {\n"a" {\n' + text[start:end] + "\n}\n}\n"
    text = text[:start] + inside + text[end:]
    top = text.index("def Xform")
    brace = text.index("{", top)
    paren = text.find("(", top, brace)
    chosen = 'variants = {string v = "a"}\nprepend variantSets = "v"\n'
    at, added = (brace, f"({chosen})") if paren < 0 else (paren + 1, chosen)
    stage.write_text(text[:at] + added + text[at:])
    with pytest.raises(rg.ModelError, match=r"C is not found again in the text"):
        rg.fix(stage, {"C": "spherical"})


def test_a_joint_of_the_tree_does_not_move_to_a_slack_link_elsewhere(tmp_path: Path) -> None:
    mechanism = rg.load(robot(tmp_path))
    hinge = mechanism.joint("C")
    slack = rg.Joint.in_world("s", "rocker", "rocker_slack", "revolute", (0, 1, 0), (1, 0, 0))
    body = rg.Body("rocker_slack", mechanism.body("rocker").inertia)
    moved = replace(hinge, child="rocker_slack")
    wanted = WantedSlack((SlackLinks(hinge, moved, "rocker", (body,), (slack,)),))
    words = "<joint> cannot say where joint `C` is on a slack"
    with pytest.raises(rg.UnsupportedExport, match=words):
        UrdfPatcher(mechanism).slack(wanted)
    # A joint of another kind is written anew, and names the link itself.
    turned = replace(wanted.links[0], joint=replace(hinge, kind="composite"), bodies=(), joints=())
    assert UrdfPatcher(mechanism).slack(WantedSlack((turned,))).edits == []


def written(folder: Path, text: str) -> Path:
    path = folder / "bars.xml"
    path.write_text(text)
    return path


@pytest.mark.slow
@pytest.mark.parametrize(
    ("joint", "kind", "line", "qpos"),
    [
        ("A", "universal", '<joint name="A_turn" type="hinge" axis="0 0 1"/>', [0.1, 0, 0.2, 0.3]),
        ("A", "slotted", '<joint name="A_slide" type="slide" axis="0 0 1"/>', [0, 0.1, 0.2, 0.3]),
        ("rocker_joint", "cylindrical", SLIDE, [0.1, 0.2, 0.3, 0]),
    ],
)
def test_a_second_axis_beside_a_hinge_of_mujoco(
    joint: str, kind: str, line: str, qpos: list[float], tmp_path: Path
) -> None:
    mujoco = pytest.importorskip("mujoco")
    path = written(tmp_path, SITES)
    fix = rg.fix(path, {joint: kind}, keyframe=False)
    assert f"+{line}" in changes(fix.diff)
    fix.write(path)
    model = mujoco.MjModel.from_xml_path(str(path))
    assert model.njnt == 4
    np.testing.assert_array_equal(model.key_qpos, [qpos])


@pytest.mark.slow
def test_hinges_and_slides_of_mujoco_change_places(tmp_path: Path) -> None:
    path = written(tmp_path, BARS)
    fix = rg.fix(path, {"A": "prismatic"}, as_is=True)
    assert changes(fix.diff)[1] == '+<joint name="A" axis="0 1 0" damping="0.1" type="slide"/>'
    slide = written(tmp_path, BARS.replace(HINGE_B, HINGE_B.replace("/>", ' type="slide"/>')))
    fix = rg.fix(slide, {"B": "cylindrical"}, as_is=True)
    assert changes(fix.diff) == ['+<joint name="B_turn" type="hinge" axis="0 1 0"/>']
    moved = BARS.replace(HINGE_B, '<joint name="B" pos="0.01 0 0" axis="0 1 0"/>')
    fix = rg.fix(written(tmp_path, moved), {"B": "universal"}, as_is=True)
    assert changes(fix.diff) == ['+<joint name="B_turn" type="hinge" pos="0.01 0 0" axis="0 0 1"/>']


@pytest.mark.slow
@pytest.mark.parametrize(
    ("motors", "kinds"),
    [
        ("AB", {"C": "spherical", "D": "cylindrical"}),
        ("ABCD", {"B": "universal", "C": "universal", "D": "cylindrical"}),
    ],
)
def test_a_chain_that_a_weld_closes_gives_way_where_nothing_drives_it(
    motors: str, kinds: dict[str, str], tmp_path: Path
) -> None:
    mujoco = pytest.importorskip("mujoco")
    bodies = "".join(
        f'<body name="{name}" pos="{place}"><joint name="{joint}" axis="0 1 0"/>'
        '<inertial pos="0.1 0 0.1" mass="1" diaginertia="0.01 0.01 0.01"/>'
        for name, joint, place in (
            *(("crank", "A", "0 0 0"), ("rod", "B", "0.2 0 0.5")),
            *(("rocker", "C", "0.7 0 0.2"), ("foot", "D", "0.3 0 -0.7")),
        )
    )
    driven = "".join(f'<motor joint="{joint}"/>' for joint in motors)
    text = f"<mujoco><worldbody>{bodies}{'</body>' * 4}</worldbody><equality>"
    text += f'<weld name="W" body1="foot"/></equality><actuator>{driven}</actuator></mujoco>'
    fix = rg.fix(written(tmp_path, text), as_is=True)
    assert {change.joint.name: change.kind for change in fix.changes} == kinds
    reduction = rg.reduce(fix.write(tmp_path / "new.xml"), configurations=2)
    assert (reduction.mobility, reduction.finite_mobility, reduction.redundant) == (1, 1, 0)
    assert mujoco.MjModel.from_xml_path(str(tmp_path / "new.xml")).nv == 7
    with pytest.raises(rg.UnsupportedExport, match=r"and none is divided in MJCF; by hand: put a"):
        link = SlackLinks(fix.mechanism.joint("W"), fix.mechanism.joint("W"), "foot", (), ())
        MjcfPatcher(rg.load(tmp_path / "bars.xml")).slack(WantedSlack((link,)))


@pytest.mark.slow
def test_an_added_joint_of_mujoco_takes_nothing_from_defaults(tmp_path: Path) -> None:
    mujoco = pytest.importorskip("mujoco")
    default = '<joint pos="0 0 0.1" damping="0.3" range="-90 90" actuatorfrcrange="-5 5"/>'
    text = BARS.replace("<mujoco>", f"<mujoco><default>{default}</default>")
    fix = rg.fix(written(tmp_path, text), {"A": "cylindrical"}, as_is=True)
    (line,) = changes(fix.diff)
    assert line.startswith('+<joint name="A_slide" type="slide" axis="0 1 0" damping="0"')
    model = mujoco.MjModel.from_xml_path(str(fix.write(tmp_path / "new.xml")))
    added = model.joint("A_slide").id
    assert not model.jnt_limited[added] and not model.jnt_actfrclimited[added]
    assert not model.dof_damping[model.jnt_dofadr[added]]
    turning = text.replace(HINGE_B, '<joint name="B" type="slide" pos="0 0 0" axis="1 0 0"/>')
    fix = rg.fix(written(tmp_path, turning), {"B": "cylindrical"}, as_is=True)
    (line,) = changes(fix.diff)
    assert line.startswith('+<joint name="B_turn" type="hinge" pos="0 0 0" axis="1 0 0"')


BOUNDED = BARS.replace(HINGE_B, '<joint name="B" axis="0 1 0" range="-60 60"/>')
DRIVEN = BARS.replace("</mujoco>", '<actuator><motor joint="B"/></actuator></mujoco>')
SENSED = BARS.replace("</mujoco>", '<sensor><jointpos joint="B"/></sensor></mujoco>')
FRAMED = BARS.replace(HINGE_B, f"<frame>{HINGE_B}</frame>")
NAMELESS = BARS.replace('<body name="rocker"', "<body")


@pytest.mark.slow
@pytest.mark.parametrize(
    ("text", "joint", "kind", "words"),
    [
        (SITES, "B", "fixed", "cannot become fixed in this file; mjcf holds there: `cylindrical`"),
        (SITES, "B", "spherical", "the keyframes of the model hold its one coordinate"),
        (BOUNDED, "B", "spherical", "the range bounds its one coordinate; delete that first"),
        (DRIVEN, "B", "spherical", "the motors drive its one coordinate; delete that first"),
        (SENSED, "B", "spherical", "the sensors or couplings name its one coordinate; delete"),
        (FRAMED, "B", "universal", "stands in a <frame>, in which a second axis is not written"),
        (NAMELESS, "body_3_joint", "cylindrical", "mjcf holds there: none other"),
        (BARS, "closing_D", "cylindrical", "mjcf holds there: `spherical`"),
    ],
)
def test_what_a_file_of_mujoco_cannot_hold(
    text: str, joint: str, kind: str, words: str, tmp_path: Path
) -> None:
    with pytest.raises(rg.ModelError, match=words):
        rg.fix(written(tmp_path, text), {joint: kind}, keyframe=False)


@pytest.mark.slow
def test_a_second_axis_within_a_frame_of_mujoco(tmp_path: Path) -> None:
    frame = '<frame pos="0 0 0.1"><joint axis="0 1 0"/></frame>'
    text = BARS.replace('<joint axis="0 1 0"/>', frame)
    fix = rg.fix(written(tmp_path, text), {"rocker_joint": "cylindrical"})
    assert f"{SLIDE}</frame>" in fix.diff
    axes = [joint.screws for joint in fix.mechanism.joints if joint.name.startswith("rocker_")]
    np.testing.assert_allclose(axes[0][3:], axes[1][:3])


@pytest.fixture
def sdf(tmp_path: Path) -> Path:
    return write_fixture("sdf", "planar_four_bar", tmp_path)


@pytest.mark.slow
@pytest.mark.parametrize("kind", ["prismatic", "fixed", "universal", "spherical"])
def test_a_hinge_of_sdf(kind: str, sdf: Path) -> None:
    fix = rg.fix(sdf, {"B": kind})
    assert fix.mechanism.joint("B").kind == kind
    assert changes(fix.diff)[0][0] == "-"
    words = "cannot become cylindrical in this file; sdf holds there"
    with pytest.raises(rg.ModelError, match=words):
        rg.fix(sdf, {"B": "cylindrical"})


@pytest.mark.slow
def test_a_ball_of_sdf_gets_an_axis(sdf: Path) -> None:
    rg.fix(sdf, {"B": "spherical"}).write(sdf)
    text = sdf.read_text()
    start = text.index("<axis>", text.index('name="B"'))
    sdf.write_text(text[:start] + text[text.index("</axis>", start) + 7 :])
    assert rg.load(sdf).joint("B").kind == "spherical"
    fix = rg.fix(sdf, {"B": "revolute"})
    assert any("<axis><xyz>0 0 1</xyz></axis>" in line for line in changes(fix.diff))
    assert fix.mechanism.joint("B").kind == "revolute"
    screw = rg.fix(sdf, {"B": "helical:0.01"})
    assert any("<thread_pitch>-" in line for line in changes(screw.diff))
    assert screw.mechanism.joint("B").kind == "helical"


@pytest.mark.slow
def test_a_second_axis_of_sdf_stands_in_the_frame_of_the_first(sdf: Path) -> None:
    text = sdf.read_text()
    start = text.index("<xyz", text.index('name="B"'))
    end = text.index("</xyz>", start) + 6
    sdf.write_text(f'{text[:start]}<xyz expressed_in="__model__">0 1 0</xyz>{text[end:]}')
    fix = rg.fix(sdf, {"B": "universal"})
    assert any('<axis2><xyz expressed_in="__model__">' in line for line in changes(fix.diff))
    first, second = fix.mechanism.joint("B").screws[3:].T
    assert abs(first @ second) < 1e-9


def beside(folder: Path, sidecar: str, name: str = "robot.yaml", more: str = SIDES) -> Path:
    (folder / name).write_text(sidecar)
    return robot(folder, more)


GROWN = "joint_name: [C", "\njoint_type: [SPHERICAL"
LINES = "joint_name:\n- C\n", "joint_type:\n- SPHERICAL\n"


@pytest.mark.slow
@pytest.mark.parametrize(
    ("before", "after"),
    [
        ("", "joint_name: ['B']\njoint_type: ['UJOINT_YX']\n"),
        ("joint_name: []\njoint_type: []\n", "joint_name: ['B']\njoint_type: ['UJOINT_YX']\n"),
        (f"{GROWN[0]}]{GROWN[1]}]\n", f"{GROWN[0]}, 'B']{GROWN[1]}, 'UJOINT_YX']\n"),
        (f"{LINES[0]}{LINES[1]}", f"{LINES[0]}- 'B'\n{LINES[1]}- 'UJOINT_YX'\n"),
    ],
)
def test_lists_of_a_gepetto_file_grow(before: str, after: str, tmp_path: Path) -> None:
    head = "closed_loop: [['one', 'two']]\ntype: [6d]\n"
    path = beside(tmp_path, head + before)
    fix = rg.fix(path, {"B": "universal", "one-two": "spherical"})
    fix.write(path)
    text = (tmp_path / "robot.yaml").read_text()
    assert text.replace("UJOINT_YZ", "UJOINT_YX") == head.replace("6d", "3d") + after
    after_it = rg.load(path)
    assert after_it.joint("B").kind == "universal"
    assert after_it.joint("one-two").kind == "spherical"


@pytest.mark.slow
@pytest.mark.parametrize("closure", ["6d", "3d"])
def test_of_hinges_askew_only_balls_are_offered(closure: str, tmp_path: Path) -> None:
    """Gepetto has no word for a universal joint about axes that are not X, Y or Z."""
    path = beside(tmp_path, f"closed_loop: [['one', 'two']]\ntype: [{closure}]\n")
    path.write_bytes(path.read_bytes().replace(b'<axis xyz="0 1 0"', b'<axis xyz="0 0.96 0.28"'))
    assert list(UrdfPatcher(rg.load(path)).kinds(rg.load(path).joint("B"))) == ["spherical"]
    if closure == "3d":
        with pytest.raises(rg.UnsupportedExport, match="makes the model isostatic; in the"):
            rg.fix(path)
        return
    fix = rg.fix(path)
    assert [(change.joint.name, change.kind) for change in fix.changes] == [("C", "spherical")]
    assert fix.reduction.redundant == 1 < rg.reduce(path).redundant


WELDED = "closed_loop: [[one, two]]\ntype: [6d]\n"
ENTRY = """closing_joints:
  - name: D
    type: revolute
    parent: ground
    child: rocker
    origin_xyz_m: [1.2, 0, 0]
    axis: [0, 1, 0]
"""


@pytest.mark.slow
def test_a_closing_joint_of_an_exporter(tmp_path: Path) -> None:
    path = beside(tmp_path, ENTRY, "robot_data.yaml", "")
    fix = rg.fix(path, {"D": "spherical"})
    assert changes(fix.diff) == ["-type: revolute", "+type: spherical"]
    assert fix.mechanism.joint("D").kind == "spherical"
    with pytest.raises(rg.ModelError, match="this file knows `revolute`, `prismatic`"):
        rg.fix(path, {"D": "universal"})


def test_entries_that_a_slack_link_takes_no_place_in(tmp_path: Path) -> None:
    path = robot(tmp_path, "")
    pins = "pin_loops:\n- parent: rocker\n  parent_xyz:\n  - -0.3\n  - 0\n  - -0.9\n"
    sidecar = tmp_path / "loop_closures.yaml"
    sidecar.write_text(pins + "  child: ground\n  child_xyz: [1.2, 0, 0]\n  axis: [0, 1, 0]\n")
    joint = next(joint for joint in rg.load(path).joints if joint.closure)
    text = EditedText.of(sidecar.read_bytes(), str(sidecar))
    words = r"loop_closures.yaml:\d+: the entry of joint .* names no link"
    with pytest.raises(rg.UnsupportedExport, match=words):
        [*sidecar_patch.hung(joint, text, "crank", "slack", np.zeros(3))]
    with pytest.raises(rg.UnsupportedExport, match=words):  # a point in lines of its own
        [*sidecar_patch.hung(joint, text, "rocker", "slack", np.ones(3))]
    edits = [*sidecar_patch.hung(joint, text, "ground", "slack", np.array([0.2, 0, 0]))]
    assert "child: slack\n  child_xyz: [1" in text.with_edits(edits).text


@pytest.mark.slow
@pytest.mark.parametrize(
    ("sidecar", "joint", "kind", "words"),
    [
        ("closed_loop: [[one, two]]\n", "one-two", "spherical", "has no 'type'; add it"),
        (WELDED, "one-two", "revolute", "file knows .*spherical"),
        (f"{WELDED}joint_name: [B]\njoint_type: [SPHERICAL]\n", "B", "universal", "cannot become"),
        (WELDED, "B", "cylindrical", "cannot become cylindr"),
    ],
)
def test_what_a_gepetto_file_cannot_hold(
    sidecar: str, joint: str, kind: str, words: str, tmp_path: Path
) -> None:
    with pytest.raises((rg.ModelError, rg.UnsupportedExport), match=words):
        rg.fix(beside(tmp_path, sidecar), {joint: kind})


SHIFT = exp(np.array([0.02, -0.01, 0.03, 0.0, 0.0, 0.0]))
TURN = exp(np.array([0.02, -0.01, 0.03, 0.3, -0.2, 0.5]))


def patcher_of(mechanism: rg.Mechanism) -> Any:
    made = adapters()[mechanism.format].load_patcher()
    assert made is not None
    return made(mechanism)


def shifted(mechanism: rg.Mechanism, name: str, *shifts: np.ndarray | None) -> MovedJoint:
    joint = mechanism.joint(name)
    one, other = (np.eye(4) if each is None else each for each in (*shifts, None)[:2])
    places = {
        "T_parent_joint": joint.T_parent_joint @ one,
        "T_child_joint": joint.T_child_joint @ other,
    }
    return MovedJoint(joint, replace(joint, **places))


def assert_held(path: Path, wanted: MovedJoint, **options: Any) -> str:
    """The file with the edits has the joint where it is wanted; gives the text."""
    patcher = patcher_of(rg.load(path, **options))
    text = patcher.text(str(path)).with_edits(patcher.moved([wanted])).text
    path.write_text(text)
    found = rg.load(path, **options).joint(wanted.after.name)
    np.testing.assert_allclose(found.T_parent_joint, wanted.after.T_parent_joint, atol=1e-12)
    np.testing.assert_allclose(found.T_child_joint, wanted.after.T_child_joint, atol=1e-12)
    return text


OPEN = """<robot name="r"><link name="a"/><link name="b"/><link name="c"/>
<joint name="A" type="revolute"><parent link="a"/><child link="b"/>{0}<axis xyz="0 0 1"/>
  <limit effort="1" velocity="1" lower="-1" upper="1"/></joint>
<joint name="B" type="continuous"><parent link="a"/><child link="c"/><axis xyz="0 0 1"/></joint>
{1}</robot>"""
WORDS = 'xyz="0.1 0.2 0.3" rpy="0.1 0.2 0.3"'
FUSION = f"""<loop_joint name="D" type="spherical"><link1 link="b" {WORDS}/>
<link1 link="c" {WORDS}/></loop_joint>"""
PROPOSED = """<loop name="D" type="spherical"><parent link="b"/><parent_origin xyz="0 0 0.1"/>
<child link="c"/></loop>"""
TURNED = f"""<loop name="D" type="spherical"><successor link="c"/>
<predecessor link="b"><origin {WORDS}/></predecessor></loop>"""


@pytest.mark.parametrize("shift", [SHIFT, TURN], ids=["shifted", "turned"])
@pytest.mark.parametrize(
    ("origin", "loop", "name"),
    [
        ("", "", "A"),
        (f"<origin {WORDS}/>", "", "A"),
        ('<origin quat_xyzw="0.5 0.5 0.5 0.5"/>', "", "A"),
        ("", FUSION, "D"),
        ("", PROPOSED, "D"),
        ("", TURNED, "D"),
    ],
)
def test_origins_of_urdf(
    origin: str, loop: str, name: str, shift: np.ndarray, tmp_path: Path
) -> None:
    path = tmp_path / "robot.urdf"
    path.write_text(OPEN.format(origin, loop))
    both = (shift, TURN) if loop else (shift,)
    text = assert_held(path, shifted(rg.load(path), name, *both))
    assert ("rpy" in text) == bool(loop or WORDS in origin or (shift is TURN and not origin))


HUNG = """<sdf version="1.9">{0}<model name="m">{1}
  <link name="a"/><link name="b"><pose>0 0 1 0 0 0</pose></link><link name="c">{2}</link>
  <frame name="tip" attached_to="b">{3}</frame>
  <frame name="end" attached_to="c"/>
  <joint name="B" type="{4}"><parent>{5}</parent><child>{6}</child>{7}</joint>
  <joint name="A" type="revolute"><parent>a</parent><child>b</child>
    <axis><xyz>0 0 1</xyz></axis></joint>
  <joint name="W" type="fixed"><parent>world</parent><child>a</child></joint>
</model></sdf>"""
AXIS = "<axis><xyz>0 0 1</xyz></axis>"


def hung(folder: Path, *, tip: str = "", ends: tuple[str, str] = ("b", "c"), **more: str) -> Path:
    path = folder / "model.sdf"
    texts = [more.get(name, "") for name in ("world", "model", "link")]
    joint = more.get("type", "revolute"), *ends, more.get("joint", AXIS)
    path.write_text(HUNG.format(*texts, tip, *joint))
    return path


@pytest.mark.parametrize("pose", ["", "<pose>0.1 0 0.2 0.3 0.2 0.1</pose>"])
def test_frames_of_sdf_that_joints_name(pose: str, tmp_path: Path) -> None:
    path = hung(tmp_path, tip=pose, ends=("tip", "end"))
    mechanism = rg.load(path)
    assert patcher_of(mechanism).movable(mechanism.joint("B")) == (True, True)
    text = assert_held(path, shifted(mechanism, "B", TURN))
    assert '<frame name="end" attached_to="c"/>' in text


@pytest.mark.parametrize(
    ("tip", "more", "movable"),
    [
        ('<pose degrees="true">0 0 0 0 0 90</pose>', "", (False, True)),
        ("", "<pose>0 0 0 0 0 0</pose>", (False, False)),
    ],
)
def test_frames_of_sdf_that_stay(
    tip: str, more: str, movable: tuple[bool, bool], tmp_path: Path
) -> None:
    mechanism = rg.load(hung(tmp_path, tip=tip, ends=("tip", "end"), joint=more + AXIS))
    assert patcher_of(mechanism).movable(mechanism.joint("B")) == movable


@pytest.mark.parametrize("ends", [("b", "c"), ("c", "b")])
@pytest.mark.parametrize("pose", ["", "<pose>0.1 0 0.2 0.3 0.2 0.1</pose>"])
@pytest.mark.parametrize("axis", ["<xyz>", '<xyz expressed_in="__model__">'])
def test_links_of_sdf_are_placed(
    ends: tuple[str, str], pose: str, axis: str, tmp_path: Path
) -> None:
    path = hung(tmp_path, link=f"{pose}<inertial/>", ends=ends, joint=AXIS.replace("<xyz>", axis))
    mechanism = rg.load(path)
    wanted = shifted(mechanism, "B", TURN)
    assert_held(path, wanted)
    found = rg.load(path).joint("B")
    np.testing.assert_allclose(found.screws, wanted.after.screws, atol=1e-12)


@pytest.mark.parametrize(
    "more",
    [{"model": "<pose>0 0 1 0 0 0</pose>"}, {"link": '<pose relative_to="b">0 0 1 0 0 0</pose>'}],
)
def test_links_of_sdf_in_other_frames_are_not_placed(more: dict[str, str], tmp_path: Path) -> None:
    mechanism = rg.load(hung(tmp_path, **more))
    with pytest.raises(rg.UnsupportedExport, match="is placed in a frame that is not edited"):
        patcher_of(mechanism).moved([shifted(mechanism, "B", TURN)])
    bare = {joint.name: replace(joint, source=None) for joint in mechanism.joints}
    unknown = replace(mechanism, joints=tuple(bare.values()))
    with pytest.raises(rg.UnsupportedExport, match="is placed in a frame that is not edited"):
        patcher_of(unknown).moved([MovedJoint(bare["B"], bare["B"]), shifted(unknown, "A", TURN)])


WELD = SITES.replace("<connect name", "<weld name", 1).split('    <connect name="closing_D_z"')[0]
WELD += "  </equality>\n</mujoco>\n"


@pytest.mark.slow
def test_a_weld_of_mujoco_becomes_a_hinge_of_two_connects(tmp_path: Path) -> None:
    path = written(tmp_path, WELD)
    assert rg.load(path).joint("closing_D").kind == "fixed"
    fix = rg.fix(path, {"closing_D": "revolute:0,1,0"})
    assert [line.split(" anchor")[0] for line in changes(fix.diff) if line[0] == "+"] == [
        '+<connect name="closing_D" solref="0.01 1" body1="rocker"',
        '+<connect name="closing_D_z" solref="0.01 1" body1="rocker"',
    ]
    assert fix.mechanism.joint("closing_D").kind == "revolute"
    assert (fix.reduction.mobility, fix.reduction.redundant) == (1, 3)
    path.write_text(WELD.replace('<body name="rocker"', "<body"))
    with pytest.raises(rg.ModelError, match="names its bodies; give"):
        rg.fix(path, {"closing_D": "revolute:0,1,0"})
