"""FreeCAD documents: joints of 1.0 and 1.1, links, sub-assemblies, other files, faults."""

from __future__ import annotations

import math
from pathlib import Path

import cad_fixtures as cad
import numpy as np
import pytest
from cad_fixtures import freecad_joint, freecad_object, freecad_placement, freecad_property
from scipy.spatial.transform import Rotation
from screws import inverse, transform

import regularize as rg
from regularize.adapters import read

CORPUS = Path(__file__).resolve().parents[3] / "shared" / "corpus" / "fcstd"
TILT = transform(Rotation.from_rotvec([0.3, -0.5, 0.8]).as_matrix(), [0.04, 0.02, -0.03])
MOVE = transform(Rotation.from_rotvec([-0.2, 0.6, 0.1]).as_matrix(), [-0.1, 0.05, 0.02])

T = cad.frame((0.1, 0, 0), (0, 1, 1))
FREEDOMS = {
    **{"Fixed": 0, "Revolute": 1, "Slider": 1, "Cylindrical": 2, "Ball": 3, "Parallel": 4},
    "Perpendicular": 5,
}
Ends = tuple[tuple[str, np.ndarray], tuple[str, np.ndarray]]


def save(path: Path, data: bytes) -> Path:
    path.write_bytes(data)
    return path


def load(tmp_path: Path, data: bytes, **options: str) -> rg.Mechanism:
    return read(save(tmp_path / "model.FCStd", data), **options)


def placed(T: np.ndarray, name: str = "Placement") -> str:
    return freecad_property(name, "Placement", freecad_placement(T))


def number(name: str, value: float, kind: str = "Float") -> str:
    return freecad_property(name, kind, f'<Float value="{value!r}"/>')


def flag(name: str, value: bool) -> str:
    return freecad_property(name, "Bool", f'<Bool value="{str(value).lower()}"/>')


def link_to(name: str, file: str = "") -> str:
    return freecad_property("LinkedObject", "XLink", f'<XLink file="{file}" name="{name}"/>')


def grounded(name: str, sub: bool = False) -> str:
    inner = f'<Link value="{name}"/>'
    if sub:
        inner = f'<LinkSub value="Assembly" count="1"><Sub value="{name}."/></LinkSub>'
    return freecad_object("Ground", "Ground", freecad_property("ObjectToGround", "Link", inner))


class Builder:
    """A document object by object; the assembly and its folder of joints come first."""

    def __init__(self) -> None:
        self.types: dict[str, str] = {"Assembly": "Assembly::AssemblyObject"}
        self.data: list[str] = []
        self.group: list[str] = []

    def add(self, name: str, type: str, *properties: str, top: bool = True) -> Builder:
        self.types[name] = type
        self.data.append(freecad_object(name, name, *properties))
        self.group += [name] if top else []
        return self

    def ground(self, name: str, sub: bool = False) -> Builder:
        self.types["Ground"] = "App::FeaturePython"
        self.data.append(grounded(name, sub))
        self.group.append("Ground")
        return self

    def joint(
        self, name: str, kind: str, ends: Ends, *properties: str, top: bool = True
    ) -> Builder:
        self.types[name] = "App::FeaturePython"
        self.data.append(freecad_joint(name, kind, ends, *properties))
        self.group += [name] if top else []
        return self

    def save(self) -> bytes:
        assembly = freecad_object(
            "Assembly", "Assembly", cad.freecad_links("Group", self.group), placed(TILT)
        )
        return cad.freecad_document(self.types, [assembly, *self.data])


def based() -> Builder:
    return Builder().add("base", "Part::Feature", placed(np.eye(4))).ground("base")


def two_parts(T: np.ndarray = MOVE) -> Builder:
    builder = Builder().add("base", "Part::Feature", placed(np.eye(4)))
    return builder.add("arm", "Part::Feature", placed(T)).ground("base")


def ends(T_world: np.ndarray, first: str = "base.Edge1", second: str = "arm.Edge2") -> Ends:
    return ((first, T_world), (second, inverse(MOVE) @ T_world))


@pytest.mark.slow
@pytest.mark.parametrize("name", cad.SKELETONS)
def test_one_loop_mechanisms(tmp_path: Path, name: str) -> None:
    mechanism = load(tmp_path, cad.freecad(cad.SKELETONS[name](), modern=True))
    assert [j.name for j in mechanism.joints] == ["GroundedJoint", "A", "B", "C", "D"]
    assert mechanism.findings == ()
    reduction = rg.reduce(mechanism)
    assert (reduction.redundant, reduction.mobility, reduction.remaining) == (3, 1, 0)
    assert max(reduction.assembly.worst_before) < 1e-12


def test_misfit_of_saved_placements_is_reported_in_mm_and_degrees(tmp_path: Path) -> None:
    skeleton = cad.planar_four_bar()
    askew = skeleton.parts["crank"].copy()
    askew[:3, :3] = Rotation.from_rotvec([math.radians(1.2), 0, 0]).as_matrix() @ askew[:3, :3]
    data = Builder()
    for part, T in skeleton.parts.items():
        data.add(part, "Part::Feature", placed(askew if part == "crank" else T))
    data.ground("base")
    for joint in skeleton.joints:
        sides = [
            (f"{part}.Edge1", skeleton.on_part(part, joint.T_world_joint))
            for part in (joint.parent, joint.child)
        ]
        data.joint(joint.name, "Revolute", (sides[0], sides[1]))
    mechanism = load(tmp_path, data.save())
    (finding,) = mechanism.findings
    assert finding.code == "REG017"
    assert "1.2 degrees" in finding.message
    reduction = rg.reduce(mechanism)
    assert reduction.assembly.closed
    assert reduction.redundant == 3


@pytest.mark.parametrize("kind", FREEDOMS)
def test_joint_types(tmp_path: Path, kind: str) -> None:
    sides = ends(T)
    if kind == "Perpendicular":
        sides = (sides[0], (sides[1][0], sides[1][1] @ cad.frame((0, 0, 0), (1, 0, 0))))
    mechanism = load(tmp_path, two_parts().joint("J", kind, sides).save())
    assert mechanism.joint("J").freedoms == FREEDOMS[kind]
    assert mechanism.findings == ()
    assert mechanism.body("arm").inertia is None


@pytest.mark.parametrize("name", ["Distance", "Angle"])
def test_angle_in_both_spellings(tmp_path: Path, name: str) -> None:
    T = cad.frame((0, 0, 0))
    turned = T @ transform(Rotation.from_rotvec([math.radians(30), 0, 0]).as_matrix())
    sides = (("base.Edge1", T), ("arm.Edge1", inverse(MOVE) @ turned))
    data = two_parts().joint("J", "Angle", sides, number(name, 30.0)).save()
    mechanism = load(tmp_path, data)
    assert mechanism.joint("J").freedoms == 5
    assert mechanism.findings == ()


def test_limits_and_signs(tmp_path: Path) -> None:
    turn = T @ transform(Rotation.from_rotvec([0, 0, 0.5]).as_matrix(), [0, 0, 0.007])
    sides = (("base.Edge1", T), ("arm.Edge1", inverse(MOVE) @ turn))
    limits = (
        *(flag(f"Enable{n}", True) for n in ("AngleMin", "AngleMax", "LengthMax")),
        flag("EnableLengthMin", False),
        *(number("AngleMin", -30.0), number("AngleMax", 90.0), number("LengthMax", 12.0)),
    )
    mechanism = load(tmp_path, two_parts().joint("J", "Cylindrical", sides, *limits).save())
    joint = mechanism.joint("J")
    np.testing.assert_allclose(joint.position, [0.007, 0.5])
    np.testing.assert_allclose(joint.limits, [[-np.inf, 0.012], [-math.pi / 6, math.pi / 2]])


def test_suppressed_and_inactive_joints_are_left_out_aloud(tmp_path: Path) -> None:
    T = cad.frame((0.1, 0, 0))
    data = two_parts().joint("J", "Revolute", ends(T))
    data.joint("K", "Fixed", ends(T), flag("Suppressed", True))
    mechanism = load(tmp_path, data.save())
    assert [joint.name for joint in mechanism.joints] == ["Ground", "J"]
    assert "suppressed joints are left out: `K`" in mechanism.findings[0].message


def test_distance_of_a_vertex_and_a_face_in_either_order(tmp_path: Path) -> None:
    plane, point = cad.frame((0, 0, 0)), cad.frame((0.1, 0.2, 0.05), (0, 1, 1))
    picked = (("Face1", plane), ("Vertex1", point))
    for first in (True, False):
        (one, T_one), (two, T_two) = picked if first else picked[::-1]
        sides = ((f"base.{one}", T_one), (f"arm.{two}", inverse(MOVE) @ T_two))
        data = two_parts().joint("J", "Distance", sides, number("Distance", 50.0)).save()
        mechanism = load(tmp_path, data)
        joint = mechanism.joint("J")
        assert (joint.freedoms, joint.parent) == (5, "base" if first else "arm")
        assert [f.code for f in mechanism.findings] == ["REG013"]


def test_placement_of_links_and_what_they_link_to(tmp_path: Path) -> None:
    for follows in (False, True):
        data = based()
        data.add("prototype", "Part::Feature", placed(TILT), top=False)
        place = (placed(MOVE, "LinkPlacement"), flag("LinkTransform", follows))
        data.add("arm", "App::Link", link_to("prototype"), *place)
        where = MOVE @ TILT if follows else MOVE
        sides = (("base.Edge1", T), ("arm.Edge2", inverse(where) @ T))
        mechanism = load(tmp_path, data.joint("J", "Revolute", sides).save())
        assert mechanism.findings == ()
        np.testing.assert_allclose(mechanism.joint("J").position, [0.0], atol=1e-9)


def test_folders_link_groups_and_parts_inside_parts(tmp_path: Path) -> None:
    data = Builder().add("base", "Part::Feature", placed(np.eye(4))).ground("base", sub=True)
    data.add("folder", "App::DocumentObjectGroup", cad.freecad_links("Group", ["bundle"]))
    elements = cad.freecad_links("ElementList", ["arm"])
    data.add("bundle", "App::LinkGroup", elements, placed(TILT), top=False)
    data.add("arm", "App::Part", cad.freecad_links("Group", ["body"]), placed(MOVE), top=False)
    inside = cad.freecad_links("Group", ["pad", "datum"])
    data.add("body", "PartDesign::Body", inside, placed(MOVE), top=False)
    data.add("pad", "PartDesign::Pad", placed(TILT), top=False)
    data.add("datum", "PartDesign::Plane", placed(TILT), top=False)
    body = TILT @ MOVE @ MOVE
    for path, where in (("pad.Face3", body), ("datum.", body @ TILT), ("Edge1", body)):
        sides = (("base.Edge1", T), (f"folder.bundle.arm.body.{path}", inverse(where) @ T))
        copy = Builder()
        copy.types, copy.data, copy.group = dict(data.types), [*data.data], [*data.group]
        mechanism = load(tmp_path, copy.joint("J", "Revolute", sides).save())
        assert [b.name for b in mechanism.bodies] == ["Assembly", "base", "arm"]
        assert mechanism.findings == ()


def test_reference_to_the_part_itself_and_to_the_origin(tmp_path: Path) -> None:
    data = Builder().add("base", "Part::Feature", placed(np.eye(4)))
    data.add("Origin", "App::Origin", cad.freecad_links("OriginFeatures", ["X_Axis"]))
    sides = (("Origin.X_Axis.", T), ("base.Edge1", T))
    mechanism = load(tmp_path, data.joint("J", "Revolute", sides).save())
    assert mechanism.joint("J").parent == mechanism.ground == "Assembly"
    direct = Builder().add("base", "Part::Feature", placed(np.eye(4)))
    direct.add("arm", "Part::Feature", placed(MOVE)).ground("base")
    direct.types["J"] = "App::FeaturePython"
    text = freecad_joint("J", "Revolute", ends(T, "Edge1", "Edge1"))
    for number_, part in ((1, "base"), (2, "arm")):
        head, rest = text.split(f'<Property name="Reference{number_}"')
        text = f'{head}<Property name="Reference{number_}"' + rest.replace("Assembly", part, 1)
    direct.data.append(text)
    direct.group.append("J")
    assert load(tmp_path, direct.save()).findings == ()


def sub_assembly(rigid: bool, file: str = "") -> Builder:
    """A linked sub-assembly of two parts and a hinge, on a grounded base."""
    data = based()
    group = cad.freecad_links("Group", ["one", "two", "SubJoints"])
    inner = (link_to("Inner", file), flag("Rigid", rigid), placed(TILT), group)
    data.add("sub", "Assembly::AssemblyLink", *inner)
    for name, where in (("one", np.eye(4)), ("two", MOVE)):
        data.add(name, "App::Link", link_to(f"{name}_shape", file), placed(where), top=False)
    if not rigid:
        sides = (("sub.one.Edge1", T), ("sub.two.Edge1", inverse(MOVE) @ T))
        data.joint("inner", "Revolute", sides, top=False)
    joints = cad.freecad_links("Group", [] if rigid else ["inner"])
    data.add("SubJoints", "Assembly::JointGroup", joints, top=False)
    where = TILT if rigid else TILT @ MOVE
    path = "sub.Edge1" if rigid else "sub.two.Edge1"
    return data.joint("outer", "Revolute", (("base.Edge1", T), (path, inverse(where) @ T)))


@pytest.mark.parametrize(
    ("rigid", "bodies", "joints"),
    [(False, ["one", "two"], {"inner", "outer"}), (True, ["sub"], {"outer"})],
)
def test_only_flexible_sub_assemblies_show_their_joints(
    tmp_path: Path, rigid: bool, bodies: list[str], joints: set[str]
) -> None:
    mechanism = load(tmp_path, sub_assembly(rigid).save())
    assert [b.name for b in mechanism.bodies] == ["Assembly", "base", *bodies]
    assert {j.name for j in mechanism.joints} == {"Ground", *joints}
    assert mechanism.findings == ()
    assert rg.reduce(mechanism).mobility == len(joints)


def test_placements_in_another_file(tmp_path: Path) -> None:
    other = Builder().add("Frame", "App::Part", cad.freecad_links("Group", ["plate"]), placed(TILT))
    other.add("plate", "Part::Feature", placed(MOVE))
    data = based()
    data.add("arm", "App::Link", link_to("Frame", "parts/frame.FCStd"), placed(MOVE))
    sides = (("base.Edge1", T), ("arm.plate.Edge1", inverse(MOVE @ MOVE) @ T))
    data.joint("J", "Revolute", sides)
    without = load(tmp_path, data.save())
    (tmp_path / "parts").mkdir()
    save(tmp_path / "parts" / "frame.FCStd", other.save())
    mechanism = load(tmp_path, data.save())
    assert mechanism.findings == ()
    assert [Path(file).name for file in mechanism.files] == ["frame.FCStd"]
    # Without the document the frame is where the one at the other end is, and both are named.
    missing, taken = sorted(without.findings, key=lambda finding: finding.code, reverse=True)
    assert missing.code == "REG014" and "parts/frame.FCStd', which is absent" in missing.message
    assert taken.code == "REG013" and "`J`: its frame on `arm`" in taken.message
    full, alone = mechanism.joint("J"), without.joint("J")
    np.testing.assert_allclose(alone.T_parent_joint, full.T_parent_joint, atol=1e-12)
    np.testing.assert_allclose(alone.T_child_joint, full.T_child_joint, atol=1e-12)


def test_a_mate_with_an_absent_part_is_refused(tmp_path: Path) -> None:
    data = based()
    data.add("arm", "App::Link", link_to("Frame", "parts/frame.FCStd"), placed(MOVE))
    sides = (("base.Face1", np.eye(4)), ("arm.plate.Face1", np.eye(4)))
    data.joint("J", "Distance", sides)
    words = "known to a document only that is absent; put it beside"
    with pytest.raises(rg.ReadError, match=words):
        load(tmp_path, data.save())


def machine(*relations: tuple[str, Ends, tuple[float, float]]) -> bytes:
    """A wheel, a second one, a slide and a bolt on one base, and relations between them."""
    across = cad.frame((0, 0, 0), (1, 0, 0))
    data = based()
    for name, x in (("wheel", 0.0), ("second", 0.3), ("slide", 0.6), ("bolt", 0.9)):
        data.add(name, "Part::Feature", placed(transform(None, [x, 0, 0])))
        frame = np.eye(4) if x < 0.5 else across
        kind = "Slider" if name == "slide" else "Revolute"
        on_base = transform(None, [x, 0, 0]) @ frame
        data.joint(f"{name}_joint", kind, (("base.Edge1", on_base), (f"{name}.Edge1", frame)))
    for k, (kind, sides, (one, two)) in enumerate(relations):
        data.joint(f"R{k}", kind, sides, number("Distance", one), number("Distance2", two))
    return data.save()


def ratio(mechanism: rg.Mechanism, numerator: str, denominator: str, k: int = 0) -> float:
    c = {name.removesuffix("_joint"): value for name, _, value in mechanism.couplings[k].terms}
    return c[numerator] / c[denominator]


def test_gears_belts_racks_and_screws(tmp_path: Path) -> None:
    axis, across = np.eye(4), cad.frame((0, 0, 0), (1, 0, 0))
    wheels: Ends = (("wheel.Edge1", axis), ("second.Edge1", axis))
    rack: Ends = (("wheel.Edge1", axis), ("slide.Edge1", across))
    thread: Ends = (("slide.Edge1", across), ("bolt.Edge1", across))
    data = machine(
        ("Gears", wheels, (20.0, 50.0)),
        ("RackPinion", rack, (15.0, 0.0)),
        ("Screw", thread, (3.0, 0.0)),
    )
    mechanism = load(tmp_path, data)
    assert [c.kind for c in mechanism.couplings] == ["gear", "rack", "screw"]
    assert ratio(mechanism, "second", "wheel") == pytest.approx(2.5)
    assert abs(ratio(mechanism, "wheel", "slide", 1)) == pytest.approx(0.015)
    assert abs(ratio(mechanism, "bolt", "slide", 2)) == pytest.approx(0.003 / (2 * math.pi))
    assert rg.reduce(mechanism).mobility == 1
    belt = load(tmp_path, machine(("Belt", wheels, (20.0, 50.0))))
    assert ratio(belt, "second", "wheel") == pytest.approx(-2.5)
    swapped = load(tmp_path, machine(("RackPinion", rack[::-1], (15.0, 0.0))))
    assert abs(ratio(swapped, "wheel", "slide")) == pytest.approx(0.015)


@pytest.mark.parametrize("kind", ["Screw", "RackPinion"])
def test_screws_and_racks_do_nothing_without_a_slider(tmp_path: Path, kind: str) -> None:
    across = cad.frame((0, 0, 0), (1, 0, 0))
    sides: Ends = (("wheel.Edge1", np.eye(4)), ("bolt.Edge1", across))
    mechanism = load(tmp_path, machine((kind, sides, (3.0, 0.0))))
    assert mechanism.couplings == ()
    (finding,) = mechanism.findings
    assert (finding.code, finding.severity, finding.joints) == ("REG013", "warning", ("R0",))
    assert f"{kind} joint `R0` has no effect" in finding.message


def motion_of(joint: str, formula: str, kind: int = 0) -> tuple[str, ...]:
    return (
        freecad_property("MotionType", "Enumeration", f'<Integer value="{kind}"/>'),
        freecad_property("Joint", "XLinkSubHidden", f'<XLink file="" name="{joint}" sub=""/>'),
        freecad_property("Formula", "String", f'<String value="{formula}"/>'),
    )


def test_motions_mark_driven_joints(tmp_path: Path) -> None:
    data = two_parts().joint("J", "Revolute", ends(cad.frame((0.1, 0, 0))))
    motion = motion_of("J", "2.0d*pi*time^2")
    mechanism = load(tmp_path, data.add("Motion", "App::FeaturePython", *motion).save())
    assert mechanism.joint("J").actuated
    assert [f.code for f in mechanism.findings] == ["REG013"]
    (offered,) = mechanism.motions
    assert (offered.joint, offered.expression) == ("J", "2.0*pi*t**2")


def test_assembly_is_chosen_by_name(tmp_path: Path) -> None:
    data = two_parts()
    data.add("Second", "Assembly::AssemblyObject", top=False)
    with pytest.raises(rg.ReadError, match=r"has 2 assemblies \(Assembly, Second\); name one"):
        load(tmp_path, data.save())
    assert len(load(tmp_path, data.save(), assembly="Assembly").bodies) == 3
    with pytest.raises(rg.ReadError, match="has no assembly 'Third'; there is: Assembly, Second"):
        load(tmp_path, data.save(), assembly="Third")


@pytest.mark.parametrize(
    ("motion", "driven"),
    [
        (motion_of("K", "time"), False),
        (motion_of("J", ""), True),
        (motion_of("J", "time", kind=1), True),
    ],
    ids=["of a suppressed joint", "without a formula", "along a hinge"],
)
def test_motions_that_nothing_can_follow(
    tmp_path: Path, motion: tuple[str, ...], driven: bool
) -> None:
    T = cad.frame((0.1, 0, 0))
    data = two_parts().joint("J", "Revolute", ends(T))
    data.joint("K", "Revolute", ends(T), flag("Suppressed", True))
    mechanism = load(tmp_path, data.add("Motion", "App::FeaturePython", *motion).save())
    assert bool(mechanism.joint("J").actuated) == driven
    assert mechanism.motions == ()


def test_a_ground_that_names_nothing_holds_nothing(tmp_path: Path) -> None:
    data = Builder().add("base", "Part::Feature", placed(np.eye(4)))
    data.add("arm", "Part::Feature", placed(MOVE)).ground("")
    mechanism = load(tmp_path, data.joint("J", "Revolute", ends(np.eye(4))).save())
    assert [joint.name for joint in mechanism.joints if joint.kind == "fixed"] == []


def test_a_rack_slides_across_the_axis_of_its_pinion(tmp_path: Path) -> None:
    across = cad.frame((0, 0, 0), (1, 0, 0))
    along: Ends = (("slide.Edge1", across), ("bolt.Edge1", across))
    rack: Ends = (("slide.Edge1", np.eye(4)), ("wheel.Edge1", np.eye(4)))
    for sides, words in ((along, "is not linear in the joints"), (rack, "`R0` has no effect")):
        mechanism = load(tmp_path, machine(("RackPinion", sides, (15.0, 0.0))))
        assert mechanism.couplings == ()
        assert words in mechanism.findings[0].message


def test_a_link_to_a_link_that_keeps_its_own_placement(tmp_path: Path) -> None:
    data = based()
    data.add("prototype", "Part::Feature", placed(TILT @ TILT), top=False)
    data.add("copy", "App::Link", link_to("prototype"), placed(TILT), top=False)
    follows = flag("LinkTransform", True)
    data.add("arm", "App::Link", link_to("copy", "model.FCStd"), placed(MOVE), follows)
    data.add("loose", "App::Link", placed(MOVE), follows)
    sides = (("base.Edge1", T), ("arm.Edge2", inverse(MOVE @ TILT) @ T))
    data.joint("J", "Revolute", sides)
    loose = (("base.Edge1", T), ("loose.", inverse(MOVE) @ T))
    mechanism = load(tmp_path, data.joint("K", "Revolute", loose).save())
    for name in "JK":
        np.testing.assert_allclose(mechanism.joint(name).position, [0.0], atol=1e-9)


@pytest.mark.parametrize("path", ["body.Edge1", "Nothing.Edge1"])
def test_what_no_placement_of_its_own_has_lies_in_the_part(tmp_path: Path, path: str) -> None:
    data = two_parts().add("body", "Part::Feature", placed(TILT), top=False)
    mechanism = load(tmp_path, data.joint("J", "Revolute", ends(T, second=f"arm.{path}")).save())
    assert mechanism.findings == ()
    np.testing.assert_allclose(mechanism.joint("J").position, [0.0], atol=1e-9)


def test_the_assembly_itself_is_where_joints_end_too(tmp_path: Path) -> None:
    data = two_parts()
    data.joint("J", "Distance", ends(TILT, first="Edge1"), number("Distance", 0.0))
    mechanism = load(tmp_path, data.save())
    assert mechanism.ground in (mechanism.joint("J").parent, mechanism.joint("J").child)
    assert "told by shapes, and there is none" in mechanism.findings[0].message


def test_a_turn_about_no_axis_is_written_by_the_quaternion(tmp_path: Path) -> None:
    plain = two_parts().joint("J", "Revolute", ends(TILT)).save()
    data = two_parts(MOVE)
    data.data = [text.replace(' Q0="', ' A="1.0" Ox="0" Oy="0" Oz="0" Q0="') for text in data.data]
    mechanism = load(tmp_path, data.joint("J", "Revolute", ends(TILT)).save())
    expected = load(tmp_path, plain)
    np.testing.assert_array_equal(mechanism.joint("J").position, expected.joint("J").position)


def circular() -> bytes:
    data = based()
    for name, other in (("a", "b"), ("b", "a")):
        data.add(name, "App::Link", link_to(other), flag("LinkTransform", True), placed(MOVE))
    return data.save()


def damaged() -> bytes:
    data = bytearray(cad.freecad(cad.planar_four_bar()))
    data[60:400] = bytes(340)
    return bytes(data)


def nested(depth: int) -> bytes:
    data = Builder().add("0", "App::DocumentObjectGroup", cad.freecad_links("Group", ["1"]))
    for k in range(1, depth):
        inner = cad.freecad_links("Group", [str(k + 1)])
        data.add(str(k), "App::DocumentObjectGroup", inner, top=False)
    return data.save()


def of_text(text: str) -> bytes:
    return cad.archive({"Document.xml": text})


def of_type(index: int) -> bytes:
    kind = freecad_property("JointType", "Enumeration", f'<Integer value="{index}"/>')
    return two_parts().add("J", "App::FeaturePython", kind).save()


FAULTS = {
    "no zip": (b"PK\x03\x04 not a zip", "is no readable zip archive"),
    "damaged": (damaged(), "is no readable zip archive"),
    "circular links": (circular(), "are they circular"),
    "no document": (cad.archive({"Other.xml": "<x/>"}), "has no member Document.xml"),
    "wrong root": (of_text("<Sheet/>"), "expected <Document>"),
    "cut off": (of_text("<Document><Objects>"), r"Document\.xml:1: not well-formed XML"),
    "entities": (of_text('<!DOCTYPE a [<!ENTITY b "c">]><Document/>'), "declares XML entities"),
    "deep": (of_text(f"<Document>{'<a>' * 5000}{'</a>' * 5000}</Document>"), "depth"),
    "no assembly": (cad.freecad_document({}, []), "holds no assembly"),
    "no reference": (of_type(1), "has no Reference1"),
    "unknown part": (
        two_parts().joint("J", "Revolute", ends(np.eye(4), second="leg.Edge1")).save(),
        r"J \(J\): refers to 'leg', which is no part",
    ),
    "deep folders": (nested(70), "is nested deeper than 64 levels; not read for safety"),
    "long reference": (
        two_parts()
        .add("bin", "App::Part", placed(MOVE))
        .joint("J", "Revolute", ends(np.eye(4), second=f"{'bin.' * 70}Edge1"))
        .save(),
        "refers through more than 64 objects",
    ),
    "unknown ground": (two_parts().ground("leg").save(), "grounds 'leg.', which is no part"),
    "not listed": (
        cad.freecad_document({}, [freecad_object("arm", "arm")]),
        "object 'arm' is not listed under <Objects>; the file is damaged",
    ),
    "bad enumeration": (of_type(77), "value 77 is not one of the 13 entries"),
}


@pytest.mark.parametrize("fault", FAULTS)
def test_faults(tmp_path: Path, fault: str) -> None:
    data, message = FAULTS[fault]
    path = save(tmp_path / "model.FCStd", data)
    with pytest.raises(rg.ReadError, match=message) as error:
        read(path, format="freecad")
    assert "\n" not in str(error.value)


@pytest.mark.slow
def test_zip_bomb_is_refused_with_the_limit(tmp_path: Path) -> None:
    data = cad.archive({"Document.xml": "<Document>" + " " * 2**27})
    assert len(data) < 200_000
    with pytest.raises(rg.ReadError, match=f"unpacks to more than {2**27} bytes"):
        load(tmp_path, data)


@pytest.mark.slow
@pytest.mark.parametrize(
    ("name", "mobility"),
    [
        ("universal_joint/universal_joint_assembly", 3),
        ("cadmpeg_product_assembly/product_assembly", 19),
    ],
)
def test_samples(name: str, mobility: int) -> None:
    path = CORPUS / f"{name}.FCStd"
    if not path.exists():
        pytest.skip("the corpus is not here")
    reduction = rg.reduce(read(path))
    assert (reduction.mobility, reduction.redundant) == (mobility, 0)
