"""Simscape Multibody import files: instances, joints, mates, masses, faults."""

from pathlib import Path

import cad_fixtures as cad
import numpy as np
import pytest
import screws
import yaml
from scipy.spatial.transform import Rotation
from screws import inverse, transform

import regularize as rg
from regularize.adapters import read

MOVE = transform(Rotation.from_rotvec([-0.2, 0.6, 0.1]).as_matrix(), [-0.1, 0.05, 0.02])
INNER = transform(Rotation.from_rotvec([0.4, 0.1, 0.9]).as_matrix(), [0.3, -0.1, 0.2])
GROUNDED = 'grounded="true"'


def load(tmp_path: Path, text: str) -> rg.Mechanism:
    path = tmp_path / "assembly.xml"
    path.write_text(text)
    return read(path)


def toy(joints: str = "", mates: str = "") -> str:
    """A grounded base and a part."""
    instances = cad.simscape_instance(cad.BASE, np.eye(4), attributes=GROUNDED)
    instances += cad.simscape_instance("arm", MOVE)
    return cad.simscape_document("toy", instances, joints, mates)


def joint(name: str, kind: str, T: np.ndarray) -> str:
    return cad.simscape_joint(name, kind, [([cad.BASE], T), (["arm"], inverse(MOVE) @ T)])


def mate(
    name: str, kind: str, first: tuple[str, np.ndarray], second: tuple[str, np.ndarray]
) -> str:
    """A mate of geometries given by frames in the world."""
    (one, T_one), (two, T_two) = first, second
    ends = [(one, [cad.BASE], T_one), (two, ["arm"], inverse(MOVE) @ T_two)]
    return cad.simscape_mate(name, kind, ends)


JOINTS = {
    **{"Weld": 0, "Revolute": 1, "Prismatic": 1, "Cylindrical": 2, "PinSlot": 2, "Spherical": 3},
    **{"Planar": 3, "Cartesian": 3, "Bearing": 4, "SixDof": 6},
}


@pytest.mark.parametrize(("kind", "freedoms"), JOINTS.items())
def test_joint_types(tmp_path: Path, kind: str, freedoms: int) -> None:
    mechanism = load(tmp_path, toy(joint("J", kind, cad.frame((0.1, 0, 0), (0, 1, 1)))))
    assert mechanism.joint("J").freedoms == freedoms
    assert mechanism.findings == ()


def test_mass_properties_in_the_units_of_the_file(tmp_path: Path) -> None:
    inertia = load(tmp_path, toy(joint("J", "Revolute", np.eye(4)))).body("arm").inertia
    assert inertia.mass == 0.5
    np.testing.assert_allclose(inertia.center, [0.01, 0.02, 0.03])
    expected = 1e-6 * np.array([[100, 1, 2], [1, 200, 3], [2, 3, 250]])
    np.testing.assert_allclose(inertia.matrix, expected)


def test_mates_at_one_point_are_one_joint_in_whichever_units(tmp_path: Path) -> None:
    """What differs by rounding alone is no length; older exports have units of the model alone."""
    mates = mate("Bore", "Concentric", *2 * [("cylinder", AXIS)])
    mates += mate("Rim", "Coincident", ("plane", AXIS), ("circle", AXIS))
    text = toy(mates=mates)
    older = text.replace('<ModelUnits mass="kg" length="m"/><DataUnits', "<ModelUnits", 1)
    for written in (text, older):
        mechanism = load(tmp_path, written)
        assert [j.kind for j in mechanism.joints] == ["fixed", "revolute"]
        assert np.linalg.norm(mechanism.body("arm").inertia.center) < 0.1


@pytest.mark.parametrize(
    ("length", "mass", "metres", "kilograms"),
    [
        ("meter", "kilogram", 1.0, 1.0),
        ("millimeter", "gram", 1e-3, 1e-3),
        ("inch", "pound", 0.0254, 0.45359237),
        ("ft", "slug", 0.3048, 14.593902937),
    ],
)
def test_units_are_words_or_symbols(
    tmp_path: Path, length: str, mass: str, metres: float, kilograms: float
) -> None:
    """The exporter for Onshape writes words, the plug-ins of other CAD systems write symbols."""
    text = toy(joint("J", "Revolute", np.eye(4)))
    old = '<DataUnits mass="kg" length="mm"/>'
    assert old in text
    mechanism = load(tmp_path, text.replace(old, f'<DataUnits mass="{mass}" length="{length}"/>'))
    inertia = mechanism.body("arm").inertia
    assert inertia.mass == pytest.approx(0.5 * kilograms)
    np.testing.assert_allclose(inertia.center, metres * np.array([10, 20, 30]))


@pytest.mark.parametrize("shared_names", [False, True])
def test_nested_instances_repeat_their_joints(tmp_path: Path, shared_names: bool) -> None:
    hinge = cad.frame((0.02, 0, 0), (0, 1, 1))
    inner = cad.simscape_instance("one", np.eye(4)) + cad.simscape_instance("two", MOVE)
    subs = [cad.simscape_instance(n, T, "sub", inner) for n, T in (("s", INNER), ("t", MOVE))]
    definition = (
        '<Assembly name="sub" uid="sub"><Joints>'
        + cad.simscape_joint(
            "hinge", "Revolute", [(["one"], hinge), (["two"], inverse(MOVE) @ hinge)]
        )
        + "</Joints></Assembly>"
    )
    T = cad.frame((0.1, 0, 0))
    ends = [([], T), (["s", "two"], inverse(INNER @ MOVE) @ T)]
    outer = cad.simscape_joint("outer", "Revolute", ends)
    text = cad.simscape_document("toy", "".join(subs), outer, assemblies=definition)
    if shared_names:
        text = text.replace('name="two"', 'name="one"')
    mechanism = load(tmp_path, text)
    names = [j.name for j in mechanism.joints]
    assert names[:3] == ["outer", "s/hinge", "t/hinge"]
    assert [f.code for f in mechanism.findings] == ["REG103"]
    assert rg.reduce(mechanism).mobility == 2 + 1 + 6


def test_rigid_sub_assemblies_and_groups(tmp_path: Path) -> None:
    inner = cad.simscape_instance("one", np.eye(4)) + cad.simscape_instance("two", MOVE)
    sub = cad.simscape_instance("s", INNER, "sub", inner, 'rigid="true"')
    grouped = "".join(cad.simscape_instance(n, MOVE, attributes='rigidGroup="g"') for n in "ab")
    ground = cad.simscape_instance(cad.BASE, np.eye(4), attributes=GROUNDED)
    definition = '<Assembly name="sub" uid="sub"/>'
    mechanism = load(
        tmp_path, cad.simscape_document("toy", ground + sub + grouped, assemblies=definition)
    )
    fixed = sorted(j.name for j in mechanism.joints if j.kind == "fixed")
    assert fixed == ["grounded base", "rigid g", "rigid s"]
    assert rg.reduce(mechanism).mobility == 12


AXIS = cad.frame((0.1, 0, 0.3), (0, 1, 1))
FACE = cad.frame(AXIS[:3, 3] + 0.02 * AXIS[:3, 0], (0, 1, 1))


def test_three_mates_of_a_hinge(tmp_path: Path) -> None:
    mates = mate("Concentric1", "Concentric", ("cylinder", AXIS), ("cylinder", AXIS))
    mates += mate("Coincident1", "Coincident", ("plane", FACE), ("plane", FACE))
    mates += mate("Parallel1", "Parallel", ("plane", FACE), ("plane", AXIS))
    mechanism = load(tmp_path, toy(mates=mates))
    assert [j.kind for j in mechanism.joints] == ["fixed", "revolute"]
    (finding,) = mechanism.findings
    assert finding.code == "REG212"
    assert finding.message == (
        "the three mates `Concentric1`, `Coincident1`, `Parallel1` between `base` and `arm` "
        "amount to one revolute joint: 4 of their 9 equations are written twice"
    )
    assert finding.source is not None and finding.source.line is not None


def test_four_bar_by_mates(tmp_path: Path) -> None:
    skeleton = cad.planar_four_bar()
    instances = "".join(
        cad.simscape_instance(p, T, attributes=GROUNDED if p == cad.BASE else "")
        for p, T in skeleton.parts.items()
    )
    mates = ""
    for link in skeleton.joints:
        for kind, geometry in (("Concentric", "cylinder"), ("Coincident", "plane")):
            ends = [
                (geometry, [p], skeleton.on_part(p, link.T_world_joint))
                for p in (link.parent, link.child)
            ]
            mates += cad.simscape_mate(f"{link.name}_{kind}", kind, ends)
    mechanism = load(tmp_path, cad.simscape_document("toy", instances, constraints=mates))
    assert [f.code for f in mechanism.findings] == ["REG212"] * 4
    report = rg.check(mechanism).as_dict()  # each hinge is written by 7 equations
    assert report["mobility"]["redundant"] == 3 + 4 * 2 and report["mobility"]["actual"] == 1
    assert (report["redundancy"]["trivial"], report["redundancy"]["repeated"]) == (3, 8)


MATES = yaml.safe_load(Path(__file__).with_name("mates.yaml").read_bytes())["simscape"]


@pytest.mark.parametrize(("kind", "first", "second", "turn", "freedoms"), MATES)
def test_mates_hold_as_saved(
    tmp_path: Path, kind: str, first: str, second: str, turn: int, freedoms: int
) -> None:
    one = cad.frame((0.1, 0, 0), (0, 1, 1))
    aside = transform(None, [0.03, 0.02, 0.05]) if kind in ("Distance", "Tangent") else np.eye(4)
    two = one @ aside @ transform(Rotation.from_euler("x", turn, degrees=True).as_matrix())
    ends = (first, one), (second, two)
    for mates in (mate("M", kind, *ends), mate("M", kind, *ends[::-1])):
        mechanism = load(tmp_path, toy(mates=mates))
        assert mechanism.joint("M").freedoms == freedoms
        assert mechanism.findings == ()


def test_what_is_not_read_is_said(tmp_path: Path) -> None:
    mates = mate("Gear1", "GearMate", ("line", AXIS), ("line", AXIS))
    mates += mate("Odd", "Coincident", ("nurbs", AXIS), ("line", AXIS))
    mechanism = load(tmp_path, toy(joint("C", "PointOnCurve", AXIS), mates))
    (finding,) = (f for f in mechanism.findings if f.code == "REG013")
    assert "joints or mates not read: `C`, `Gear1`, `Odd`" in finding.message
    assert finding.severity == "warning"


FAULTS = yaml.safe_load(Path(__file__).with_name("faults.yaml").read_bytes())["simscape"]


@pytest.mark.parametrize(("old", "new", "message"), [[*fault.values()] for fault in FAULTS])
def test_faults_name_the_line(tmp_path: Path, old: str, new: str, message: str) -> None:
    text = toy(joint("J", "Revolute", np.eye(4)))
    assert old in text
    path = tmp_path / "assembly.xml"
    path.write_text(text.replace(old, new))
    with pytest.raises(rg.ReadError, match=message) as error:
        read(path, format="simscape")
    assert "\n" not in str(error.value)


def test_control_characters_of_a_plug_in_are_read_over(tmp_path: Path) -> None:
    text = toy(joint("J", "Revolute", np.eye(4)))
    mechanism = load(tmp_path, text.replace('name="arm"', 'name="arm\x01\x08"'))
    assert [b.name.strip() for b in mechanism.bodies] == ["toy", "base", "arm"]
    assert load(tmp_path, text.replace("base", "ba\x0bse")).joint("J").kind == "revolute"


def test_what_a_part_or_an_instance_leaves_out(tmp_path: Path) -> None:
    inner = cad.simscape_instance("arm", np.eye(4))
    group = cad.simscape_instance("group", INNER, "unlisted", inner)
    empty = cad.simscape_instance("empty", MOVE, "sub", attributes='rigid="true"')
    text = cad.simscape_document(
        "toy", group + empty, assemblies='<Assembly name="sub" uid="sub"/>'
    ).replace(cad.simscape_transform(np.eye(4)), "")
    mechanism = load(tmp_path, text)
    assert [body.name for body in mechanism.bodies] == ["toy", "group/arm"]
    (joint,) = mechanism.joints
    np.testing.assert_allclose(joint.T_parent_joint @ inverse(joint.T_child_joint), INNER)
    start, end = text.index("<MassProperties>"), text.index("</Part>")
    for other in (text[:start] + text[end:], text.replace("<Mass>0.5", "<Mass>0")):
        assert load(tmp_path, other).body("group/arm").inertia is None
    assert mechanism.body("group/arm").inertia is not None


def test_distance_joints_and_points_keep_what_is_saved(tmp_path: Path) -> None:
    ends = [([cad.BASE], np.eye(4)), (["arm"], np.eye(4))]
    rod = load(tmp_path, toy(cad.simscape_joint("rod", "Distance", ends))).joint("rod")
    assert rod.freedoms == 5
    place = screws.relative_pose(rod)[:3, 3]
    assert np.linalg.norm(place) == pytest.approx(np.linalg.norm(MOVE[:3, 3]))
    points = mate("P", "Coincident", ("point", AXIS), ("point", AXIS))
    start, end = points.index("<Axis>"), points.index("</Axis>") + len("</Axis>")
    mechanism = load(tmp_path, toy(mates=points.replace(points[start:end], "")))
    assert (mechanism.joint("P").kind, mechanism.findings) == ("spherical", ())


def test_deep_nesting_and_zero_axes_are_refused(tmp_path: Path) -> None:
    inner = ""
    for k in range(70):
        inner = cad.simscape_instance(f"n{k}", np.eye(4), "sub", inner)
    text = cad.simscape_document("toy", inner, assemblies='<Assembly name="sub" uid="sub"/>')
    with pytest.raises(rg.ReadError, match="nested deeper than 64 levels"):
        load(tmp_path, text)
    mates = mate("M", "Concentric", ("line", AXIS), ("line", AXIS))
    axis = mates[mates.index("<Axis>") : mates.index("</Axis>")]
    with pytest.raises(rg.ReadError, match="the axis has no length"):
        load(tmp_path, toy(mates=mates.replace(axis, "<Axis>0 0 0")))
    with pytest.raises(rg.ReadError, match="has no instance of a part"):
        load(tmp_path, cad.simscape_document("toy", ""))
