import re
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from simulation_cases import CORPUS, read

import regularize as rg

FILES = sorted((CORPUS / "sdf").glob("*/*.sdf"))
#: Known first-order results: loop equations (couplings included), redundant, mobility.
KNOWN = {
    "cassie_v2.sdf": (24, 2, 18),
    "cassie_wo_gearbox_spring.sdf": (24, 2, 13),
    "four_bar_loop.sdf": (6, 3, 1),
    "four_bar_weld.sdf": (6, 3, 1),
    "biglide_closed.sdf": (6, 3, 2),
}
LINK = """<link name="{0}"><pose{2}>{1}</pose><inertial><mass>1</mass>
<inertia><ixx>1</ixx><iyy>1</iyy><izz>1</izz></inertia></inertial></link>"""


def link(name: Any, pose: Any = "0 0 0 0 0 0", attributes: Any = "") -> Any:
    return LINK.format(name, pose, attributes)


def joint(
    name: Any,
    parent: Any,
    child: Any,
    kind: Any = "revolute",
    inside: Any = "<axis><xyz>0 0 1</xyz></axis>",
    pose: Any = "",
) -> Any:
    pose = f"<pose>{pose}</pose>" if pose else ""
    return (
        f'<joint name="{name}" type="{kind}">{pose}<parent>{parent}</parent>'
        f"<child>{child}</child>{inside}</joint>"
    )


def model(tmp_path: Path, *parts: Any, version: Any = "1.7", attributes: Any = "") -> Any:
    path = tmp_path / "model.sdf"
    inside = "".join(parts)
    path.write_text(f'<sdf version="{version}"><model name="m"{attributes}>{inside}</model></sdf>')
    return read(path)


def world_axis(mechanism: Any, name: Any) -> Any:
    """Direction of a joint's axis in the world at zero coordinates (parent is the world)."""
    j = mechanism.joint(name)
    assert j.parent == "world"
    return j.T_parent_joint[:3, :3] @ j.screws[3:, 0]


@pytest.mark.slow
@pytest.mark.parametrize("path", FILES, ids=lambda p: p.name)
def test_real_file_is_read_and_analysed(path: Path) -> None:
    reduction = rg.reduce(read(path))
    assert reduction.certificate.holds
    if path.name in KNOWN:
        counts = (reduction.equations, reduction.redundant, reduction.mobility)
        assert counts == KNOWN[path.name]


def test_gearboxes_of_cassie_are_couplings() -> None:
    path = CORPUS / "sdf/cassie/cassie.sdf"
    if not path.exists():
        pytest.skip("no corpus")
    mechanism = read(path)
    assert len(mechanism.couplings) == 10
    assert {c.kind for c in mechanism.couplings} == {"gear"}
    # theta_2 = -ratio theta_1 about axes that point the same way.
    row = next(c for c in mechanism.couplings if c.name == "left-roll-joint")
    assert row.terms == (("left-roll-ip", 0, 0.04), ("left-roll-op", 0, 1.0))
    masses = [float(mass) for mass in re.findall(r"<mass>(.*?)</mass>", path.read_text())]
    assert sum(b.inertia.mass for b in mechanism.bodies[1:]) == pytest.approx(sum(masses))


TURN = "0 0 0 0 0 1.5707963267948966"  # X to Y


@pytest.mark.parametrize(
    ("version", "axis", "expected"),
    [
        ("1.4", "<xyz>1 0 0</xyz>", [1, 0, 0]),
        ("1.5", "<xyz>1 0 0</xyz>", [-1, 0, 0]),
        ("1.6", "<xyz>1 0 0</xyz><use_parent_model_frame>1</use_parent_model_frame>", [1, 0, 0]),
        ("1.7", "<xyz>1 0 0</xyz>", [-1, 0, 0]),
        ("1.7", '<xyz expressed_in="__model__">1 0 0</xyz>', [1, 0, 0]),
        ("1.12", '<xyz expressed_in="a">1 0 0</xyz>', [0, 1, 0]),
        ("1.7", "", [0, 0, 1]),
    ],
)
def test_axis_is_in_the_frame_of_the_version(
    version: str, axis: str, expected: Any, tmp_path: Path
) -> None:
    # The link is turned by 90 degrees in the model, the joint by another 90 in the link.
    inside = f"<axis>{axis}</axis>"
    mechanism = model(
        tmp_path,
        link("a", TURN),
        joint("j", "world", "a", inside=inside, pose=TURN),
        version=version,
    )
    np.testing.assert_allclose(world_axis(mechanism, "j"), expected, atol=1e-12)


def test_frames_and_relative_poses(tmp_path: Path) -> None:
    mechanism = model(
        tmp_path,
        link("a", "1 0 0 0 0 0"),
        link("b", "0 2 0 0 0 90", ' relative_to="f" degrees="true"'),
        '<frame name="f" attached_to="a"><pose>0 0 3 0 0 0</pose></frame>',
        '<frame name="g" attached_to="f"><pose relative_to="__model__">5 5 5 0 0 0</pose></frame>',
        joint("j", "world", "a"),
        joint("k", "g", "b", pose="5 5 5 0 0 0").replace(
            "<pose>", '<pose relative_to="__model__">'
        ),
    )
    k = mechanism.joint("k")
    assert (k.parent, k.child) == ("a", "b")
    assert (k.source.line, mechanism.ground) == (3, "world")
    np.testing.assert_allclose(k.T_parent_joint[:3, 3], [4, 5, 5])
    T_world_b = np.eye(4)
    T_world_b[:3, :3] = [[0, -1, 0], [1, 0, 0], [0, 0, 1]]
    T_world_b[:3, 3] = [1, 2, 3]
    np.testing.assert_allclose(
        T_world_b @ k.T_child_joint,
        [[1, 0, 0, 5], [0, 1, 0, 5], [0, 0, 1, 5], [0, 0, 0, 1]],
        atol=1e-12,
    )


def test_quaternion_pose(tmp_path: Path) -> None:
    attributes = ' rotation_format="quat_xyzw"'
    mechanism = model(
        tmp_path, link("a", "1 2 3 0 0 1 0", attributes), joint("j", "world", "a"), version="1.9"
    )
    np.testing.assert_allclose(
        mechanism.joint("j").T_parent_joint[:3],
        [[-1, 0, 0, 1], [0, -1, 0, 2], [0, 0, 1, 3]],
        atol=1e-12,
    )


def test_nested_models_and_placement_frame(tmp_path: Path) -> None:
    inner = (
        '<model name="hand" placement_frame="grip"><pose>0 0 7 0 0 0</pose>'
        + link("palm")
        + '<frame name="grip" attached_to="palm"><pose>0 0 2 0 0 0</pose></frame></model>'
    )
    mechanism = model(
        tmp_path, link("arm"), inner, joint("wrist", "arm", "hand::palm"), version="1.8"
    )
    wrist = mechanism.joint("wrist")
    assert (wrist.parent, wrist.child) == ("arm", "hand::palm")
    np.testing.assert_allclose(wrist.T_parent_joint[:3, 3], [0, 0, 5])


def test_world_with_several_models_gravity_and_static(tmp_path: Path) -> None:
    path = tmp_path / "w.world"
    path.write_text(
        f"""<sdf version="1.7"><world name="w"><gravity>0 0 -1.6</gravity>
        <model name="one"><pose>1 0 0 0 0 0</pose><static>true</static>{link("a")}</model>
        <model name="two"><pose>0 4 0 0 0 0</pose>{link("a")}</model></world></sdf>"""
    )
    mechanism = read(path)
    assert mechanism.gravity.tolist() == [0, 0, -1.6]
    assert [b.name for b in mechanism.bodies] == ["world", "one::a", "two::a"]
    assert [(j.child, j.kind) for j in mechanism.joints] == [
        ("one::a", "fixed"),
        ("two::a", "free"),
    ]
    np.testing.assert_allclose(mechanism.joints[1].T_parent_joint[:3, 3], [0, 4, 0])
    assert [f.code for f in mechanism.findings] == ["REG103"]


def test_included_models_are_read_and_missing_ones_named(tmp_path: Path) -> None:
    (tmp_path / "arm").mkdir()
    (tmp_path / "arm/model.sdf").write_text(
        f'<sdf version="1.7"><model name="arm">{link("a")}</model></sdf>'
    )
    path = tmp_path / "w.sdf"
    path.write_text(
        """<sdf version="1.7"><world name="w">
        <include><uri>model://arm</uri><name>left</name><pose>1 0 0 0 0 0</pose></include>
        <include><uri>model://sun_that_is_not_there</uri></include></world></sdf>"""
    )
    mechanism = read(path)
    assert [b.name for b in mechanism.bodies] == ["world", "left::a"]
    assert mechanism.files == (str(tmp_path / "arm/model.sdf"),)
    assert any("sun_that_is_not_there" in f.message for f in mechanism.findings)


def test_screw_pitch(tmp_path: Path) -> None:
    for pitch, expected in (
        ("<screw_thread_pitch>0.002</screw_thread_pitch>", 0.002 / (2 * np.pi)),
        ("<thread_pitch>-500</thread_pitch>", 0.002),
    ):
        screw = joint("j", "world", "a", "screw", f"<axis><xyz>0 0 1</xyz></axis>{pitch}")
        screws = model(tmp_path, link("a"), screw).joint("j").screws
        np.testing.assert_allclose(screws[:, 0], [0, 0, expected, 0, 0, 1])


def test_universal_ball_and_limits(tmp_path: Path) -> None:
    two = (
        "<axis><xyz>1 0 0</xyz><limit><lower>-1</lower><upper>2</upper></limit></axis>"
        "<axis2><xyz>0 1 0</xyz></axis2>"
    )
    mechanism = model(
        tmp_path,
        link("a"),
        link("b"),
        link("c"),
        joint("u", "world", "a", "universal", two),
        joint("v", "a", "b", "revolute2", two),
        joint("s", "b", "c", "ball", ""),
    )
    for name in "uv":
        assert mechanism.joint(name).kind == "universal"
        np.testing.assert_allclose(mechanism.joint(name).screws[3:], [[1, 0], [0, 1], [0, 0]])
        assert mechanism.joint(name).limits.tolist() == [[-1, 2], [-np.inf, np.inf]]
    assert mechanism.joint("s").kind == "spherical"


def test_each_axis_has_its_own_limits_and_dynamics(tmp_path: Path) -> None:
    two = (
        "<axis><xyz>1 0 0</xyz><limit><effort>30</effort><velocity>-1</velocity></limit><dynamics>"
        "<damping>0.5</damping><friction>0.2</friction></dynamics></axis>"
        "<axis2><xyz>0 1 0</xyz><dynamics><spring_stiffness>7</spring_stiffness><damping>0.1"
        "</damping><spring_reference>0.3</spring_reference></dynamics></axis2>"
    )
    mechanism = model(tmp_path, link("a"), joint("u", "world", "a", "universal", two))
    found = mechanism.joint("u")
    stated = {key: value.tolist() for key, value in found.dynamics.stated().items()}
    assert stated == {
        "damping": [0.5, 0.1],
        "friction": [0.2, 0.0],
        "stiffness": [0.0, 7.0],
        "rest_position": [0.0, 0.3],
    }
    assert found.limits.effort.tolist() == [30, np.inf]
    assert found.limits.velocity is None and not found.limits.bounded


def test_empty_elements_mean_what_absent_ones_do(tmp_path: Path) -> None:
    empty = ("<xyz/>", "<effort/><velocity></velocity>", "<dynamics><damping/></dynamics>")
    axes = [
        "<axis>{}<limit><upper>1</upper>{}</limit>{}</axis>".format(*e) for e in (empty, [""] * 3)
    ]
    one, other = (
        model(tmp_path, link("a"), joint("j", "world", "a", "revolute", axis)).joint("j")
        for axis in axes
    )
    np.testing.assert_array_equal(one.limits, other.limits)
    np.testing.assert_array_equal(one.screws, other.screws)
    assert one.limits.effort is other.limits.effort is None
    assert one.dynamics.stated() == other.dynamics.stated() == {}


def test_revolute_with_zero_limits_is_fixed_and_said_so(tmp_path: Path) -> None:
    inside = "<axis><limit><lower>0</lower><upper>0</upper></limit></axis>"
    mechanism = model(tmp_path, link("a"), joint("j", "world", "a", inside=inside))
    assert mechanism.joint("j").kind == "fixed"
    assert [f.code for f in mechanism.findings] == ["REG015"]


MIMIC = '<axis><mimic joint="i"><multiplier>2</multiplier><offset>3</offset>{}</mimic></axis>'
DRAKE = '<drake:mimic xmlns:drake="d" joint="i" multiplier="2" offset="3"/>'


@pytest.mark.parametrize(
    ("inside", "offset"),
    [
        (MIMIC.format("<reference>0.5</reference>"), 2.0),  # j = 2 (i - 0.5) + 3
        (DRAKE, 3.0),
        (MIMIC.format("") + DRAKE, 3.0),
    ],
)
def test_mimics_are_one_row(inside: str, offset: float, tmp_path: Path) -> None:
    parts = (
        link("a"),
        link("b"),
        joint("i", "world", "a"),
        joint("j", "world", "b", inside=inside),
    )
    [row] = model(tmp_path, *parts, version="1.11").couplings
    assert (row.terms, row.offset) == ((("j", 0, 1.0), ("i", 0, -2.0)), offset)


def test_followers_and_screws_are_written_for_older_readers_too(tmp_path: Path) -> None:
    path, made = tmp_path / "model.sdf", rg.assembly("press")
    made.body("wheel")
    made.body("ram")
    made.hinge("A", "ground", "wheel", at=(0, 0, 0), axis=(0, 0, 1))
    made.screw("S", "ground", "ram", at=(1, 0, 0), axis=(0, 0, 1), pitch=0.01)
    rg.save(made.mechanism(), path)
    assert 'version="1.7"' in path.read_text()
    assert "<thread_pitch>-100</thread_pitch>" in path.read_text()
    made.coupling("belt", {"S": 1.0, "A": -2.0}, 0.1)
    assert any("1.11" in f.message and "`S`" in f.message for f in rg.save(made.mechanism(), path))
    assert '<drake:mimic joint="A" multiplier="2" offset="0.1"/>' in path.read_text()
    assert len(rg.load(path).couplings) == 1


def test_bounds_that_drake_refuses_are_named(tmp_path: Path) -> None:
    made = rg.assembly("door")
    made.body("leaf")
    made.hinge("A", "ground", "leaf", at=(0, 0, 0), axis=(0, 0, 1), limits=(0.5, -0.5))
    findings = rg.save(made.mechanism(), tmp_path / "model.sdf")
    assert any("lower bounds exceed" in f.message and "`A`" in f.message for f in findings)


def gearbox(tmp_path: Path, axis2: Any = "0 0 1", reference: Any = "case") -> Any:
    gear = joint(
        "g",
        "in",
        "out",
        "gearbox",
        f"<axis><xyz>0 0 1</xyz></axis><axis2><xyz>{axis2}</xyz></axis2><gearbox_ratio>5"
        f"</gearbox_ratio><gearbox_reference_body>{reference}</gearbox_reference_body>",
    )
    return model(
        tmp_path,
        link("case"),
        link("in"),
        link("out"),
        joint("f", "world", "case", "fixed", ""),
        joint("p", "case", "in"),
        joint("q", "out", "case"),  # from the gear to the case: the angle counts backwards
        gear,
    )


def test_gearbox_counts_angles_from_its_reference_body(tmp_path: Path) -> None:
    mechanism = gearbox(tmp_path)
    assert [j.name for j in mechanism.joints] == ["f", "p", "q"]
    [row] = mechanism.couplings
    assert row.terms == (("p", 0, 5.0), ("q", 0, -1.0))
    assert rg.reduce(mechanism).mobility == 1
    [row] = gearbox(tmp_path, axis2="0 0 -1").couplings
    assert row.terms == (("p", 0, 5.0), ("q", 0, 1.0))


def test_gearbox_without_parallel_hinges_is_not_read_silently(tmp_path: Path) -> None:
    mechanism = gearbox(tmp_path, axis2="1 0 0")
    assert mechanism.couplings == ()
    assert [(f.code, f.severity) for f in mechanism.findings] == [("REG302", "warning")]


def test_missing_mass_is_not_invented(tmp_path: Path) -> None:
    mechanism = model(tmp_path, '<link name="a"/>', joint("j", "world", "a"))
    assert mechanism.body("a").inertia is None
    [finding] = mechanism.findings
    assert (finding.code, finding.severity) == ("REG014", "note")


def test_inertia_is_turned_and_moved_into_the_link(tmp_path: Path) -> None:
    inertial = (
        f"<inertial><pose>{TURN.replace('0 0 0', '1 2 3', 1)}</pose><mass>2</mass><inertia>"
        "<ixx>1</ixx><iyy>2</iyy><izz>3</izz><ixy>0.1</ixy></inertia></inertial>"
    )
    shapes = (
        '<visual name="v"><geometry><mesh><uri>x.stl</uri><scale>2 2 2</scale></mesh></geometry>'
        "<material><diffuse>1 0 0 1</diffuse></material></visual>"
        '<collision name="c"><geometry><box><size>1 2 3</size></box></geometry></collision>'
    )
    mechanism = model(tmp_path, f'<link name="a">{inertial}{shapes}</link>')
    body = mechanism.body("a")
    assert body.inertia.center.tolist() == [1, 2, 3]
    np.testing.assert_allclose(
        body.inertia.matrix, np.array([[2, -0.1, 0], [-0.1, 1, 0], [0, 0, 3]]), atol=1e-12
    )
    assert [(g.kind, g.collision) for g in body.geometry] == [("mesh", False), ("box", True)]
    assert body.geometry[0].color == (1, 0, 0, 1)


def points(kind: str, height: int) -> str:
    """The points of a constraint of Drake, that on the first body so high."""
    stem = f"drake:{kind}_constraint"
    entries = {"body_A": "a", "p_AP": f"0 0 {height}", "body_B": "b", "p_BQ": "0 0 1"}
    return "".join(f"<{stem}_{key}>{text}</{stem}_{key}>" for key, text in entries.items())


LENGTH = "<drake:distance_constraint_distance>1</drake:distance_constraint_distance>"


@pytest.mark.parametrize(
    ("tag", "inside", "kind", "freedoms"),
    [
        ("weld", "<parent>f</parent><child>b</child>", "fixed", 0),
        ("ball", points("ball", 1), "spherical", 3),
        ("distance", points("distance", 0) + LENGTH, "composite", 5),
    ],
)
def test_constraints_of_drake(
    tag: str, inside: str, kind: str, freedoms: Any, tmp_path: Path
) -> None:
    mechanism = model(
        tmp_path,
        link("a"),
        link("b"),
        '<frame name="f" attached_to="a"/>',
        f"<drake:{tag}_constraint>{inside}</drake:{tag}_constraint>",
    )
    closing = mechanism.joints[0]
    assert (closing.kind, closing.freedoms, closing.closure) == (kind, freedoms, True)
    reduction = rg.reduce(mechanism)
    assert reduction.mobility == 6 + freedoms
    assert reduction.assembly.worst_before == pytest.approx((0, 0), abs=1e-12)


def test_frames_apart_are_an_open_model(tmp_path: Path) -> None:
    parts = (link("a"), '<frame name="far" attached_to="world"><pose>3 0 0 0 0 0</pose></frame>')
    mechanism = model(tmp_path, *parts, joint("j", "far", "a"))
    np.testing.assert_allclose(mechanism.joint("j").T_parent_joint[:3, 3], [3, 0, 0])
    assert [f.code for f in mechanism.findings] == ["REG015"]
    # With a <pose> the joint is where the file says, and the model is assembled.
    mechanism = model(tmp_path, *parts, joint("j", "far", "a", pose="1 0 0 0 0 0"))
    np.testing.assert_allclose(mechanism.joint("j").T_parent_joint[:3, 3], [1, 0, 0])
    assert mechanism.findings == ()


def test_elements_that_are_not_read_are_named(tmp_path: Path) -> None:
    bushing = "<drake:linear_bushing_rpy/>"
    more = "<self_driving>true</self_driving>"
    mechanism = model(tmp_path, link("a"), bushing, more, joint("j", "world", "a"))
    messages = [finding.message for finding in mechanism.findings]
    assert any("<drake:linear_bushing_rpy> joins links" in message for message in messages)
    assert any("<self_driving>" in message for message in messages)


def test_included_models_may_be_merged_and_placed_by_who_includes_them(tmp_path: Path) -> None:
    (tmp_path / "arm").mkdir()
    (tmp_path / "arm/model.sdf").write_text(
        f'<sdf version="1.9"><model name="arm">{link("b", "0 0 1 0 0 0")}</model></sdf>'
    )
    including = (
        "<include {}><uri>model://arm</uri><name>left</name><pose>5 0 0 0 0 0</pose>{}</include>"
    )
    for more, child, place in (
        (('merge="true"', ""), "b", [5, 0, 1]),
        (("", "<placement_frame>b</placement_frame>"), "left::b", [5, 0, 0]),
    ):
        parts = link("a"), including.format(*more), joint("j", "a", child)
        found = model(tmp_path, *parts, version="1.9").joint("j")
        assert found.child == child
        np.testing.assert_allclose(found.T_parent_joint[:3, 3], place)
    (tmp_path / "arm/model.sdf").write_text('<sdf version="1.9"/>')
    with pytest.raises(rg.ReadError, match="has no <model>; include another one"):
        model(tmp_path, link("a"), including.format("", ""), version="1.9")


def test_files_of_several_models_or_worlds(tmp_path: Path) -> None:
    path = tmp_path / "model.sdf"
    models = "".join(f'<model name="{name}">{link("a")}</model>' for name in ("one", "two"))
    path.write_text(f'<sdf version="1.7">{models}</sdf>')
    assert [body.name for body in read(path).bodies] == ["world", "one::a", "two::a"]
    worlds = f'<world name="v">{models}</world><world name="w">{models}</world>'
    path.write_text(f'<sdf version="1.20">{worlds}</sdf>')
    mechanism = read(path)
    assert len(mechanism.bodies) == 3
    messages = [finding.message for finding in mechanism.findings]
    assert "only the first <world> is read" in messages
    assert "version 1.20 is newer than those known (1.12): read as 1.12" in messages


def test_a_static_link_that_is_fixed_already_is_fixed_once(tmp_path: Path) -> None:
    held = joint("j", "world", "a", "fixed", "")
    mechanism = model(tmp_path, "<static>true</static>", link("a"), link("b"), held)
    assert [(each.name, each.child) for each in mechanism.joints] == [("j", "a"), ("b_static", "b")]


@pytest.mark.slow
@pytest.mark.parametrize("points", [("0 0 0",), ("0 0 0", "0 .1 0")], ids=["ball", "hinge"])
def test_the_world_is_nobodys_child(points: tuple[str, ...], tmp_path: Path) -> None:
    pytest.importorskip("mujoco")
    geom = '<geom type="capsule" fromto="0 0 0 1 0 0" size=".1" mass="1"/>'
    rows = "".join(f'<connect body1="rod" anchor="{point}"/>' for point in points)
    (tmp_path / "m.xml").write_text(
        f'<mujoco><worldbody><body name="rod"><freejoint name="F"/>{geom}<body name="bob" '
        f'pos="1 0 0"><joint name="K" axis="0 1 0"/>{geom}</body></body></worldbody>'
        f"<equality>{rows}</equality></mujoco>"
    )
    mechanism = rg.load(tmp_path / "m.xml")
    assert any(joint.child == "world" for joint in mechanism.joints)
    found = rg.save(mechanism, tmp_path / "m.sdf")
    assert [each.code for each in found if each.severity != "note"] == []
    assert "<child>world</child>" not in (tmp_path / "m.sdf").read_text()
    assert rg.reduce(tmp_path / "m.sdf").mobility == rg.reduce(mechanism).mobility


def test_moments_that_readers_refuse_are_named(tmp_path: Path) -> None:
    a = rg.assembly("plates")
    for name, moments in (("flat", (1.0, 1, 2)), ("flatter", (1.0, 1, 2.1))):
        a.body(name, mass=1.0, com=(0, 0, 0), inertia=np.diag(moments))
        a.hinge(f"J_{name}", "ground", name, at=(0, 0, 0), axis=(0, 0, 1))
    (said,) = (each.message for each in rg.save(a.mechanism(), tmp_path / "m.sdf"))
    assert "exceeds" in said and "`flatter`" in said and "`flat`" not in said
