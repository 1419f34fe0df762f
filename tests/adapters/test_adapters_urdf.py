import re
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import pinocchio as pin
import pytest
import screws
import yaml

import regularize as rg
from regularize.adapters import read

CORPUS = Path(__file__).resolve().parents[3] / "shared" / "corpus"
needs_corpus = pytest.mark.skipif(not CORPUS.exists(), reason="the model collection is not here")

Model = Callable[..., rg.Mechanism]
LINKS = "".join(f'<link name="{name}"/>\n' for name in "abcd")


@pytest.fixture
def model(tmp_path: Path) -> Model:
    """Read a robot of four links a, b, c, d (or others) and the XML given."""

    def build(xml: str, links: str = LINKS, **options: Any) -> rg.Mechanism:
        path = tmp_path / "m.urdf"
        path.write_text(f'<robot name="m">\n{links}{xml}\n</robot>', encoding="utf-8")
        return read(path, **options)

    return build


def joint(name: str, parent: str, child: str, inner: str = "", **attributes: str) -> str:
    attributes = {"type": "revolute", **attributes}
    written = " ".join(f'{key}="{value}"' for key, value in attributes.items())
    return (
        f'<joint name="{name}" {written}><parent link="{parent}"/><child link="{child}"/>'
        f"{inner}</joint>\n"
    )


CHAIN = joint("j1", "a", "b") + joint("j2", "b", "c") + joint("j3", "c", "d")


def findings(mechanism: rg.Mechanism, code: str) -> list[Any]:
    return [finding for finding in mechanism.findings if finding.code == code]


def fails(build: Callable[[], object], *parts: str) -> str:
    """The message of a ``ReadError``, which is one line with all the parts."""
    with pytest.raises(rg.ReadError) as caught:
        build()
    message = str(caught.value)
    assert "\n" not in message
    assert re.match(r".+:\d+: \w", message), message
    for part in parts:
        assert part in message
    return message


EXTENDED = ("spherical", "ball", "cylindrical")


@pytest.mark.parametrize(
    ("written", "kind", "freedoms"),
    [
        ("revolute", "revolute", 1),
        ("continuous", "revolute", 1),
        ("prismatic", "prismatic", 1),
        ("fixed", "fixed", 0),
        ("planar", "planar", 3),
        ("floating", "free", 6),
        ("spherical", "spherical", 3),
        ("ball", "spherical", 3),
        ("cylindrical", "cylindrical", 2),
    ],
)
def test_types_of_joints_and_loops(model: Model, written: str, kind: str, freedoms: int) -> None:
    links = LINKS + '<link name="e"/>'
    mechanism = model(CHAIN + joint("j", "d", "e", type=written), links)
    read_ = mechanism.joint("j")
    said = [f.message for f in findings(mechanism, "REG013")]
    words = f"joint `j` is of type {written}, which plain URDF does not know: read as"
    assert [m.startswith(words) for m in said] == [True] * (written in EXTENDED)
    assert (read_.kind, read_.freedoms, read_.closure) == (kind, freedoms, False)
    if written == "floating":
        fails(lambda: model(CHAIN + loop(ENDS, type=written)), "'floating' is unknown")
        return
    closing = model(CHAIN + loop(ENDS, type=written)).joint("L")
    assert (closing.kind, closing.freedoms, closing.closure) == (kind, freedoms, True)


def test_axis_default_and_length(model: Model) -> None:
    inner = '<axis xyz="0 3 4"/>'
    mechanism = model(joint("j1", "a", "b") + joint("j2", "b", "c", inner))
    np.testing.assert_allclose(mechanism.joint("j1").screws[:, 0], [0, 0, 0, 1, 0, 0])
    np.testing.assert_allclose(mechanism.joint("j2").screws[:, 0], [0, 0, 0, 0, 0.6, 0.8])


def test_origin_by_quaternion(model: Model) -> None:
    quaternion = pin.Quaternion(0.4, 0.1, -0.5, 0.2).normalized()
    text = " ".join(str(2 * value) for value in quaternion.coeffs())
    T = model(joint("j", "a", "b", f'<origin quat_xyzw="{text}"/>')).joint("j").T_parent_joint
    np.testing.assert_allclose(T[:3, :3], quaternion.matrix(), atol=1e-15)


def test_zero_axis_matters_only_where_it_turns(model: Model) -> None:
    inner = '<axis xyz="0 0 0"/>'
    for kind in ("fixed", "floating", "ball"):
        model(joint("j", "a", "b", inner, type=kind))
    for kind in ("revolute", "prismatic", "planar"):
        xml = joint("j", "a", "b", inner, type=kind)
        fails(partial(model, xml), "axis has no length")


def test_limits(model: Model) -> None:
    def bounds(inner: str, type: str = "revolute") -> list[list[float]] | None:
        limits = model(joint("j", "a", "b", inner, type=type)).joint("j").limits
        return None if limits is None else limits.tolist()

    assert bounds("") is None
    assert bounds('<limit effort="1" velocity="2"/>') == [[-np.inf, np.inf]]
    assert bounds('<limit lower="-1" upper="2"/>') == [[-1, 2]]
    assert bounds('<limit upper="2"/>', "prismatic") == [[0, 2]]
    assert bounds('<limit lower="-inf" upper="inf"/>') == [[-np.inf, np.inf]]
    assert bounds('<limit lower="-1" upper="2"/>', "continuous") is None
    fails(lambda: bounds('<limit lower="nan"/>'), "not finite")


def test_limits_without_bounds_are_said_to_lock_elsewhere(model: Model) -> None:
    silent, stated = '<limit effort="1" velocity="2"/>', '<limit lower="-1" effort="1"/>'
    mechanism = model(
        joint("j", "a", "b", silent, type="revolute")
        + joint("k", "b", "c", stated, type="prismatic")
        + joint("l", "c", "d", silent, type="continuous")
    )
    [finding] = [f for f in mechanism.findings if "neither lower nor upper" in f.message]
    assert finding.code == "REG013" and finding.joints == ("j",) and "lock" in finding.message
    assert finding.help[0].startswith("write lower and upper")
    silent_, stated_, turning = (mechanism.joint(name).limits for name in "jkl")
    assert silent_ is not None and silent_.lower is silent_.upper is None and not silent_.bounded
    assert (silent_.effort, silent_.velocity) == ([1], [2])
    assert stated_ is not None and stated_.tolist() == [[-1, 0]]
    assert turning is not None and turning.lower == [-np.inf]


def test_one_motor_per_joint(model: Model) -> None:
    mechanism = model(
        joint("j", "a", "b", type="revolute")
        + joint("k", "b", "c", type="prismatic")
        + """<transmission name="t"><joint name="j"><hardwareInterface>
        hardware_interface/EffortJointInterface</hardwareInterface></joint><actuator name="m">
        <mechanicalReduction>50</mechanicalReduction></actuator></transmission>
        <ros2_control name="r" type="system"><joint name="k"><command_interface name="position">
        <param name="initial_value">0.5</param><param name="min">-1</param>
        <param name="max">2</param></command_interface>
        <state_interface name="position"/></joint></ros2_control>"""
    )
    first, second = mechanism.actuators
    assert (first.name, first.joint, first.kind, first.gear) == ("m", "j", "motor", 50)
    assert (second.name, second.kind, second.control_range) == ("k", "position", (-1, 2))
    assert all(mechanism.joint(a.joint).actuated for a in mechanism.actuators)


def test_independent_and_motors(model: Model) -> None:
    xml = (
        joint("j1", "a", "b", independent="True")
        + joint("j2", "b", "c", independent="false")
        + joint("j3", "c", "d")
    )
    assert [j.actuated for j in model(xml).joints] == [True, False, None]
    driven = '<transmission name="t"><joint name="j3"/><joint name="gone"/></transmission>'
    assert [j.actuated for j in model(xml + driven).joints] == [True, False, True]
    control = (
        '<ros2_control><joint name="j2"><command_interface name="effort"/></joint>'
        '<joint name="j3"><state_interface name="position"/></joint></ros2_control>'
    )
    assert [j.actuated for j in model(xml + control).joints] == [True, True, None]


def link(inner: str) -> str:
    return f'<link name="a">{inner}</link>'


INERTIA = '<inertia ixx="1" iyy="2" izz="2.5" ixy="0.1" ixz="0.2" iyz="0.3"/>'


def test_inertia_is_turned_into_the_axes_of_the_link(model: Model) -> None:
    origin = '<origin xyz="1 2 3" rpy="0.3 -0.5 0.7"/>'
    mechanism = model("", link(f'<inertial>{origin}<mass value="4"/>{INERTIA}</inertial>'))
    inertia = mechanism.body("a").inertia
    R = pin.rpy.rpyToMatrix(0.3, -0.5, 0.7)
    matrix = np.array([[1, 0.1, 0.2], [0.1, 2, 0.3], [0.2, 0.3, 2.5]])
    assert inertia.mass == 4
    np.testing.assert_allclose(inertia.center, [1, 2, 3])
    np.testing.assert_allclose(inertia.matrix, R @ matrix @ R.T)
    assert mechanism.findings == ()


def test_mass_is_never_invented(model: Model) -> None:
    assert model("", link("")).body("a").inertia is None
    for inner, missing in (('<mass value="1"/>', "inertia"), (INERTIA, "mass")):
        mechanism = model("", link(f"<inertial>{inner}</inertial>"))
        assert mechanism.body("a").inertia is None
        (warning,) = mechanism.findings
        assert (warning.code, warning.severity) == ("REG014", "warning")
        assert f"without <{missing}>" in warning.message


@pytest.mark.parametrize(
    ("mass", "moments", "severity"),
    [
        ("0", "0 0 0", "note"),
        ("0", "1 1 1", "note"),
        ("1", "0 0 1", "note"),
        ("1", "1 1 0", "note"),
        ("-1", "1 1 1", "warning"),
        ("1", "1 1 -1", "warning"),
        ("1", "1 1 1", None),
    ],
)
def test_doubtful_mass_is_a_finding(
    model: Model, mass: str, moments: str, severity: str | None
) -> None:
    xx, yy, zz = moments.split()
    inertia = f'<inertia ixx="{xx}" iyy="{yy}" izz="{zz}" ixy="0" ixz="0" iyz="0"/>'
    mechanism = model("", link(f'<inertial><mass value="{mass}"/>{inertia}</inertial>'))
    assert mechanism.body("a").inertia is not None
    assert [d.severity for d in findings(mechanism, "REG014")] == [severity] * (
        severity is not None
    )


def test_shapes_and_colours(model: Model) -> None:
    inner = (
        '<visual><origin xyz="0 0 1"/><geometry><box size="1 2 3"/></geometry>'
        '<material name="red"/></visual>'
        '<visual><geometry><cylinder radius="1" length="2"/></geometry>'
        '<material name="mine"><color rgba="0 0 1 0.5"/></material></visual>'
        '<visual><geometry><mesh filename="package://x/y.stl" scale="1 1 2"/></geometry></visual>'
        '<collision><geometry><sphere radius="3"/></geometry></collision>'
        '<collision><geometry><capsule radius="1" length="4"/></geometry></collision>'
        "<collision/><visual><geometry/></visual>"
        "<visual><geometry><torus/></geometry></visual>"
    )
    red = '<material name="red"><color rgba="1 0 0 1"/></material>'
    mechanism = model(red, link(inner))
    shapes = mechanism.body("a").geometry
    assert [shape.kind for shape in shapes] == ["box", "cylinder", "mesh", "sphere", "capsule"]
    assert [shape.size.tolist() for shape in shapes] == [[1, 2, 3], [1, 2], [1, 1, 2], [3], [1, 4]]
    assert [shape.collision for shape in shapes] == [False, False, False, True, True]
    assert [shape.color for shape in shapes] == [(1, 0, 0, 1), (0, 0, 1, 0.5), None, None, None]
    assert shapes[2].uri == "package://x/y.stl"
    assert shapes[0].T_body_geometry[2, 3] == 1
    (note,) = mechanism.findings
    assert note.message == "element <torus> ignored: it is not a part of URDF"


def test_floating_base(model: Model) -> None:
    mechanism = model(CHAIN, floating=True)
    base = mechanism.joints[0]
    expected = ("floating_base", "free", "world", "a")
    assert (base.name, base.kind, base.parent, base.child) == expected
    assert (mechanism.ground, len(mechanism.bodies)) == ("world", 5)
    links = '<link name="world"/><link name="b"/>'
    mechanism = model(joint("floating_base", "world", "b"), links, floating=True)
    assert (mechanism.ground, mechanism.joints[0].name) == ("world_2", "floating_base_2")


def test_every_part_has_a_path_to_ground(model: Model) -> None:
    mechanism = model(joint("j1", "a", "b") + joint("j2", "d", "c"))
    base = mechanism.joints[-1]
    assert (base.name, base.kind, base.parent, base.child) == ("floating_base_d", "free", "a", "d")
    (warning,) = mechanism.findings
    assert (warning.code, warning.severity) == ("REG103", "warning")
    assert warning.joints == ("floating_base_d",)
    assert warning.message == (
        "the part of 2 bodies `c`, `d` is not connected to the ground `a`: it gets the 6-freedom "
        "base joint `floating_base_d`"
    )


def test_cycle_without_a_root(model: Model) -> None:
    mechanism = model(CHAIN + joint("j4", "d", "a"))
    assert mechanism.ground == "a"
    assert [j.name for j in mechanism.joints if j.closure] == ["j4"]
    (warning,) = mechanism.findings
    assert (warning.code, warning.severity) == ("REG102", "warning")
    assert warning.message.startswith("every link has a parent joint, so none is the ground: `a`")


def test_implicit_world(model: Model) -> None:
    mechanism = model(joint("weld", "world", "a", type="fixed") + CHAIN)
    assert mechanism.ground == "world"
    assert len(mechanism.bodies) == 5
    (note,) = mechanism.findings
    assert (note.code, note.severity) == ("REG102", "note")
    assert note.message == "`world` is not a link of the file: read as the ground, as Drake does"
    fails(
        lambda: model(joint("weld", "world", "a", type="fixed") + CHAIN, floating=True),
        "cannot float",
    )


def test_second_parent_closes_a_loop(model: Model) -> None:
    mechanism = model(
        joint("j1", "a", "b")
        + joint("j2", "b", "c")
        + joint("j3", "a", "d")
        + joint("j4", "d", "c", '<origin xyz="0 0 2"/>')
    )
    assert [j.name for j in mechanism.joints if j.closure] == ["j4"]
    np.testing.assert_allclose(mechanism.joint("j4").T_parent_joint[:3, 3], [0, 0, 2])
    (warning,) = mechanism.findings
    assert (warning.code, warning.severity) == ("REG010", "warning")
    assert warning.message == (
        "link `c` has two parent joints `j2` and `j4`: plain URDF cannot express loops; read as a "
        "loop closed by `j4`"
    )
    assert warning.joints == ("j2", "j4")
    assert (warning.source.line, warning.source.element) == (9, "robot/joint[@name='j4']")
    assert warning.help


def test_second_parent_that_comes_first_in_the_file(model: Model) -> None:
    mechanism = model(joint("j0", "b", "c") + joint("j1", "c", "b") + joint("j2", "a", "b"))
    assert [j.name for j in mechanism.joints if j.closure] == ["j1"]
    assert mechanism.ground == "a"
    (warning,) = findings(mechanism, "REG010")
    assert "`j1` and `j2`" in warning.message
    assert "closed by `j1`" in warning.message


def test_three_parents(model: Model) -> None:
    mechanism = model(joint("j1", "a", "d") + joint("j2", "b", "d") + joint("j3", "c", "d"))
    assert [d.joints for d in findings(mechanism, "REG010")] == [("j1", "j2"), ("j1", "j3")]
    assert sum(j.closure for j in mechanism.joints) == 2
    assert findings(mechanism, "REG103") == []


def loop(inner: str, tag: str = "loop", **attributes: str) -> str:
    attributes = {"name": "L", "type": "revolute", **attributes}
    written = " ".join(f'{key}="{value}"' for key, value in attributes.items())
    return f"<{tag} {written}>{inner}</{tag}>\n"


ENDS = (
    '<predecessor link="d"><origin xyz="0 0 1" rpy="0 0 0.5"/></predecessor>'
    '<successor link="a"><origin xyz="2 0 0"/></successor>'
)
SPELLINGS = {
    "loop": ENDS,
    "constraint": (
        '<parent link="d"/><parent_origin xyz="0 0 1" rpy="0 0 0.5"/>'
        '<child link="a"/><child_origin xyz="2 0 0"/>'
    ),
    "loop_joint": (
        '<link1 link="d" xyz="0 0 1" rpy="0 0 0.5"/><link2 link="a" xyz="2 0 0" rpy="0 0 0"/>'
    ),
}


@pytest.mark.parametrize(
    ("tag", "ends"),
    [
        *SPELLINGS.items(),
        ("constraint", ENDS),
        ("loop_joint", SPELLINGS["constraint"]),
        ("loop_joint", SPELLINGS["loop_joint"].replace("link2", "link1")),
    ],
)
def test_spellings_of_a_loop(model: Model, tag: str, ends: str) -> None:
    axes = '<axis xyz="0 2 0"/><limit lower="-1" upper="1"/>'
    mechanism = model(CHAIN + loop(ends + axes, tag))
    closing = mechanism.joint("L")
    assert (closing.parent, closing.child, closing.kind) == ("d", "a", "revolute")
    assert closing.closure
    np.testing.assert_allclose(closing.screws[:, 0], [0, 0, 0, 0, 1, 0])
    np.testing.assert_allclose(closing.T_parent_joint[:3, 3], [0, 0, 1])
    np.testing.assert_allclose(closing.T_parent_joint[0, :2], [np.cos(0.5), -np.sin(0.5)])
    np.testing.assert_allclose(closing.T_child_joint, screws.transform(None, [2, 0, 0]))
    assert closing.limits is not None
    assert mechanism.findings == ()
    assert mechanism.ground == "a"


def test_universal_loop_has_two_axes(model: Model) -> None:
    for axes in (
        '<axis xyz="0 0 1"/><axis xyz="1 0 0"/>',
        '<parent_axis xyz="0 0 1"/><child_axis xyz="1 0 0"/>',
    ):
        closing = model(CHAIN + loop(ENDS + axes, "constraint", type="universal")).joint("L")
        np.testing.assert_allclose(closing.screws.T, [[0, 0, 0, 0, 0, 1], [0, 0, 0, 1, 0, 0]])
    fails(lambda: model(CHAIN + loop(ENDS, type="universal")), "add a second <axis>")


@pytest.mark.parametrize("other", ["0 1 0", "0.5 -0.2 1", "0 0 -1", "0 0 1"])
def test_axis_on_the_child_is_turned_into_the_axis_on_the_parent(model: Model, other: str) -> None:
    axes = f'<parent_axis xyz="0 0 1"/><child_axis xyz="{other}"/>'
    closing = model(CHAIN + loop(SPELLINGS["constraint"] + axes, "constraint")).joint("L")
    R = closing.T_child_joint[:3, :3]
    np.testing.assert_allclose(R @ R.T, np.eye(3), atol=1e-12)
    assert np.linalg.det(R) == pytest.approx(1)
    np.testing.assert_allclose(
        R @ closing.screws[3:, 0], screws.unit([float(x) for x in other.split()]), atol=1e-12
    )


def test_names_of_loops(model: Model) -> None:
    unnamed = loop(ENDS).replace('name="L" ', "")
    assert [j.name for j in model(CHAIN + unnamed + unnamed).joints[3:]] == ["loop", "loop_2"]


def closed(rpy: str, xyz: str = "0 0 0", type: str = "revolute") -> str:
    """A loop between b and c, both at a's frame, whose successor frame is turned."""
    return (
        joint("j1", "a", "b")
        + joint("j2", "a", "c", '<origin xyz="0 0 0" rpy="0 0 0"/>')
        + loop(
            f'<predecessor link="b"/><successor link="c"><origin xyz="{xyz}" rpy="{rpy}"/>'
            '</successor><axis xyz="0 0 1"/>',
            type=type,
        )
    )


def test_orientation_that_disagrees_in_a_closed_file_is_turned_back(model: Model) -> None:
    mechanism = model(closed("1.2 0 0.4"))
    np.testing.assert_allclose(mechanism.joint("L").T_child_joint, np.eye(4), atol=1e-15)
    (note,) = findings(mechanism, "REG015")
    assert note.severity == "note"
    assert note.joints == ("L",)
    assert note.message.startswith(
        "the frames of loop `L` coincide at zero coordinates but are turned by 72° against"
    )


@pytest.mark.parametrize(
    "xml",
    [
        closed("0 0 1.2"),  # about the axis: the joint allows it
        closed("1.2 0 0", xyz="0 0 0.1"),  # stored open
        closed("0.0005 0 0"),  # rounding of the file
        closed("1.2 0 0", type="spherical"),
        closed("0 0 0", xyz="0 0 0.1", type="prismatic"),
        closed("1.2 0 0").replace("predecessor", "parent").replace("successor", "child"),
    ],
)
def test_frames_are_kept_otherwise(model: Model, xml: str) -> None:
    assert findings(model(xml), "REG015") == []


BALL = (
    "<drake:ball_constraint>"
    '<drake:ball_constraint_body_A name="d"/><drake:ball_constraint_p_AP value="1 2 3"/>'
    '<drake:ball_constraint_body_B name="a"/><drake:ball_constraint_p_BQ value="4 5 6"/>'
    "</drake:ball_constraint>"
)


def test_drake_ball_constraint(model: Model) -> None:
    mechanism = model(CHAIN + BALL + BALL.replace('"a"', '"world"'))
    first, second = mechanism.joints[3:5]
    assert (first.name, first.kind, first.closure) == ("d-a", "spherical", True)
    assert first.T_parent_joint[:3, 3].tolist() == [1, 2, 3]
    assert first.T_child_joint[:3, 3].tolist() == [4, 5, 6]
    assert (second.name, second.child) == ("d-world", "world")
    assert mechanism.ground == "world"
    assert [j.name for j in model(CHAIN + BALL + BALL).joints[3:]] == ["d-a", "d-a_2"]


def test_drake_weld_constraint(model: Model) -> None:
    weld = (
        '<frame name="f" link="d" xyz="0 0 1" rpy="0 0 0"/>'
        '<drake:weld_constraint><drake:parent frame="f"/><drake:child link="a"/>'
        "</drake:weld_constraint>"
    )
    closing = model(CHAIN + weld).joint("d-a")
    assert (closing.kind, closing.parent, closing.child) == ("fixed", "d", "a")
    assert closing.T_parent_joint[2, 3] == 1
    text = "<drake:weld_constraint><parent>d</parent><child>a</child></drake:weld_constraint>"
    assert model(CHAIN + text).joint("d-a").kind == "fixed"
    fails(lambda: model(CHAIN + text.replace(">a<", ">x<")), "no link `x`")
    fails(lambda: model(CHAIN + "<drake:weld_constraint/>"), "has no <parent>")


def test_coupling(model: Model) -> None:
    """Gear between c (down the chain a, b, c) and d (on a): the shared joints drop out."""
    links = LINKS + '<link name="e"/>'
    xml = (
        joint("j0", "a", "b")
        + joint("j1", "b", "c")
        + joint("j2", "c", "d")
        + joint("weld", "b", "e", type="fixed")
    )
    xml += joint("j3", "e", "f")
    coupling = (
        '<coupling name="K" type="rolling"><predecessor link="d"/><successor link="f"/>'
        '<ratio value="6"/></coupling>'
    )
    (read_,) = model(xml + coupling, links + '<link name="f"/>').couplings
    assert (read_.name, read_.kind, read_.offset) == ("K", "rolling", 0.0)
    assert read_.terms == (("j1", 0, 6.0), ("j2", 0, 6.0), ("j3", 0, -1.0))
    plain = coupling.replace(' type="rolling"', "").replace(' name="K"', "")
    (read_,) = model(xml + plain, links + '<link name="f"/>').couplings
    assert (read_.name, read_.kind) == ("d-f", "gear")
    written = coupling.replace("coupling", "constraint")
    assert model(xml + written, links + '<link name="f"/>').couplings[0].kind == "rolling"


DATA = yaml.safe_load(Path(__file__).with_name("faults.yaml").read_bytes())


@pytest.mark.parametrize("fault", DATA["urdf"], ids=lambda fault: fault["says"][0])
def test_faults_are_named_with_their_line(model: Model, fault: dict[str, Any]) -> None:
    fails(lambda: model(fault["text"].replace("LINKS\n", LINKS), ""), *fault["says"])


def test_unknown_elements_are_noted_once_each(model: Model) -> None:
    mechanism = model(CHAIN + "<foo/><bar/><foo/><gazebo reference='a'/><sensor name='s'/>")
    assert [d.message for d in mechanism.findings] == [
        "element <foo> ignored (2 times): it is not a part of URDF",
        "element <bar> ignored: it is not a part of URDF",
    ]
    (warning,) = model(CHAIN + "<drake:tendon_constraint/>").findings
    assert (warning.code, warning.severity) == ("REG013", "warning")
    assert "joins links but is not read" in warning.message


def test_xacro(model: Model) -> None:
    assert model(CHAIN + "<xacro:property name='x' value='1'/>").findings == ()
    fails(lambda: model(CHAIN + "<xacro:leg side='l'/>"), "<xacro:leg> is not expanded")
    fails(lambda: model("", link("<xacro:box_inertia/>")), "m.urdf:2: ", "is not expanded")
    fails(lambda: model(joint("j", "a", "leg") + "<xacro:leg/>"), "is not expanded")


def test_lines_and_elements(model: Model) -> None:
    mechanism = model(
        '<joint\n  name="j"\n  type="fixed">\n<parent link="a"/>\n<child link="b"/></joint>'
    )
    source = mechanism.joint("j").source
    assert (source.line, source.element) == (6, "robot/joint[@name='j']")
    fails(
        lambda: model("", link("<visual/><visual><geometry><box/></geometry></visual>")),
        "robot/link[@name='a']/visual[2]/geometry/box: <box> has no 'size'",
    )


@pytest.mark.parametrize(
    "text",
    [
        "<!-- a -- b\n--->\n<?xml version='1.0'?>\n<robot><link name='a'/>{}</robot>",
        "\n\n<?xml version='1.0' encoding='utf-8'?>\n<robot><link name='a'/>{}</robot>",
        "<!DOCTYPE robot>\n\n\n<robot><link name='a'/>{}</robot>",
        "<robot>\n\n\n<?php <link ?><![CDATA[ <link> ]]><link name='a'/>{}</robot>",
        "<robot xmlns='urn:x' xmlns:drake='http://drake.mit.edu'>\n\n\n<link name='a'/>{}</robot>",
        "<robot>\n\n\n<link name='a'/>{}<!-- \u2160 --></robot>",
    ],
)
def test_tolerated_xml_keeps_its_lines(tmp_path: Path, text: str) -> None:
    path = tmp_path / "m.urdf"
    path.write_text(text.format("<drake:x/><x:y z:w='1'/>"), encoding="utf-8")
    mechanism = read(path)
    (body,) = mechanism.bodies
    assert body.source.line == 4
    assert mechanism.name == "m"
    assert [d.message.split()[1] for d in mechanism.findings] == ["<drake:x>", "<x:y>"]


@pytest.mark.parametrize(
    ("data", "part"),
    [
        (b"<robot>\n<link name='a'>", "not well-formed XML"),
        (b"<robot>\n<link name='a'/>\n&foo;<a b=&foo;/></robot>", "not well-formed XML"),
        (b"<!DOCTYPE r [\n<!ENTITY a 'b'>]><robot>&a;</robot>", "declares XML entities"),
        (b"<robot>\n<link name='\xff'/></robot>", "is not UTF-8; save the file as UTF-8"),
        (b"<?xml version='1.0' encoding='klingon'?><robot/>", "unknown encoding 'klingon'"),
        (b"<robot/>", "has no <link>"),
        (b"<robot name='a'>" + b"<a>" * 300 + b"</a>" * 300 + b"</robot>", "not well-formed"),
        (b"<sdf version='1.6'/>", "the root element is <sdf>, expected <robot>"),
        (b"\x00\x01\x02", "not well-formed XML"),
    ],
)
def test_xml_faults(tmp_path: Path, data: bytes, part: str) -> None:
    path = tmp_path / "m.urdf"
    path.write_bytes(data)
    with pytest.raises(rg.ReadError, match=re.escape(part)) as caught:
        read(path, format="urdf")
    assert "\n" not in str(caught.value)
    assert str(caught.value).startswith(f"{path}:")


@pytest.mark.parametrize("encoding", ["utf-8-sig", "utf-16", "latin-1"])
def test_encodings(tmp_path: Path, encoding: str) -> None:
    path = tmp_path / "m.urdf"
    declared = "" if encoding == "utf-8-sig" else f"<?xml version='1.0' encoding='{encoding}'?>"
    path.write_bytes(f"{declared}<robot><link name='b\u00e4r'/></robot>".encode(encoding))
    assert read(path).ground == "b\u00e4r"


@pytest.mark.slow
@needs_corpus
def test_files_of_others_are_read_whole_or_not_at_all() -> None:
    """Benchmarks state their number of loops and couplings; all their frames agree as written."""
    known = {name: each.split() for name, each in DATA["corpus_read"].items()}
    for path in (CORPUS / "urdf_plus").glob("bench_*/**/*.urdf"):
        counts = [path.read_text().count(f"<{each} ") for each in ("joint", "loop", "coupling")]
        bodies = path.read_text().count("<link ")
        known[str(path.relative_to(CORPUS))[:-5]] = [
            *map(str, (bodies, sum(counts[:2]), *counts[1:]))
        ]
    for name, expected in known.items():
        m = read(CORPUS / f"{name}.urdf")
        closures = sum(j.closure for j in m.joints)
        found = (len(m.bodies), len(m.joints), closures, len(m.couplings))
        codes = [f.code for f in m.findings if f.severity != "note" or "plus" not in name]
        codes = [code for code in codes if code != "REG022"]  # inertias that are too flat
        assert [*map(str, found), *codes] == expected, name
    for name, part in DATA["corpus_broken"].items():
        file, line = name.split(":")
        path = CORPUS / "urdf_malformed" / f"{file}.urdf"
        fails(partial(read, path, format="urdf"), f"{path}:{line}: ", part)
    small = {path.stem for path in (CORPUS / "urdf_malformed").glob("*.urdf")}
    assert small == {n.split(":")[0] for n in DATA["corpus_broken"]} | {
        Path(n).name for n in known if "malformed" in n
    }


TREES = [
    "urdf_malformed/nonunit_axis.urdf",
    "urdf_malformed/floating.urdf",
    "urdf_plus/tello_humanoid/tello_humanoid.urdf",
    "urdf_plus/mini_cheetah/mini_cheetah.urdf",
    "urdf_plus/four_bar/four_bar.urdf",
    "gepetto_yaml/robot_delta/robot.urdf",
    "gepetto_yaml/digit_like_2legs/robot.urdf",
    "gepetto_yaml/kangaroo_like_2leg/robot.urdf",
    "gepetto_yaml/true_talos_2_legs/talos_full_v2.urdf",
]


@pytest.mark.slow
@needs_corpus
@pytest.mark.parametrize("name", TREES)
def test_poses_and_masses_agree_with_pinocchio(name: str) -> None:
    mechanism = read(CORPUS / name, loops=False)
    model = pin.buildModelFromUrdf(str(CORPUS / name))
    data = model.createData()
    v = np.random.default_rng(1).uniform(-1, 1, model.nv)
    pin.framesForwardKinematics(model, data, pin.integrate(model, pin.neutral(model), v))
    first = {
        j.name: model.joints[model.getJointId(j.name)].idx_v
        for j in mechanism.joints
        if j.freedoms and not j.closure
    }
    moved = {j.name: v[first[j.name] :][: j.freedoms] for j in mechanism.joints if j.name in first}
    poses = screws.body_poses(mechanism.with_positions(moved))
    parts: dict[int, list[rg.Inertia]] = {}
    for body in mechanism.bodies:
        index = model.getFrameId(body.name, pin.FrameType.BODY)
        np.testing.assert_allclose(poses[body.name], data.oMf[index].homogeneous, atol=1e-11)
        frame = model.frames[index]
        if body.inertia is not None and frame.parentJoint != 0:
            placed = body.inertia.transformed(frame.placement.homogeneous)
            parts.setdefault(frame.parentJoint, []).append(placed)
    assert parts
    for number, pieces in parts.items():
        total, expected = rg.Inertia.total(pieces), model.inertias[number]
        assert total.mass == pytest.approx(expected.mass, abs=1e-12)
        if expected.mass > 0:
            np.testing.assert_allclose(total.center, expected.lever, atol=1e-10)
            np.testing.assert_allclose(total.matrix, expected.inertia, atol=1e-10)
