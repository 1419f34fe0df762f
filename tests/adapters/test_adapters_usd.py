import math
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from screws import body_poses
from simulation_cases import CORPUS, read

import regularize as rg
from regularize.adapters import detect

pytest.importorskip("pxr")

FILES = sorted((CORPUS / "usd").glob("*/*.usda"))
#: Kind that the file name promises; the generic joints of those files lock one axis at a time.
KINDS = {"cartesian": "composite", "6dof": "composite"}
KINDS |= {k: k for k in ("cylindrical", "fixed", "prismatic", "revolute", "spherical", "universal")}
BODY = """
def Xform "{0}" (prepend apiSchemas = ["PhysicsRigidBodyAPI", "PhysicsMassAPI"])
{{
    {1}
}}
"""
A, B = BODY.format("a", ""), BODY.format("b", "")
MOVED = """double3 xformOp:translate = ({0})
    uniform token[] xformOpOrder = ["xformOp:translate"]"""


def stage(tmp_path: Path, *prims: Any, header: Any = 'metersPerUnit = 1\nupAxis = "Z"') -> Any:
    path = tmp_path / "stage.usda"
    path.write_text(f"#usda 1.0\n(\n{header}\n)\n" + "\n".join(prims))
    return read(path)


def joint(
    name: Any,
    kind: Any = "Revolute",
    body0: Any = "",
    body1: Any = "b",
    inside: Any = "",
    schemas: Any = "",
) -> Any:
    apis = f"(prepend apiSchemas = [{schemas}])" if schemas else ""
    first = f"rel physics:body0 = </{body0}>" if body0 else ""
    return f"""def Physics{kind}Joint "{name}" {apis}
{{
    {first}
    rel physics:body1 = </{body1}>
    {inside}
}}"""


@pytest.mark.parametrize("path", FILES, ids=lambda p: p.name)
def test_real_file_is_read_and_analysed(path: Path) -> None:
    mechanism = read(path)
    reduction = rg.reduce(mechanism)
    assert reduction.certificate.holds
    assert detect(path).name == "usd"
    if path.parent.name != "newton_kamino_joints":
        return
    words = path.stem.removeprefix("test_joint_").removeprefix("d6_").split("_")
    joints = [j for j in mechanism.joints if not j.name.startswith("floating_base")]
    assert [j.kind for j in joints] == [KINDS[words[0]]]
    if "actuated" in words or "passive" in words:
        assert joints[0].actuated == ("actuated" in words)


def test_four_bar_of_newton_floats_with_three_redundant_rows() -> None:
    path = CORPUS / "usd/newton_kamino_basics/boxes_fourbar.usda"
    if not path.exists():
        pytest.skip("no corpus")
    mechanism = read(path)
    reduction = rg.reduce(mechanism)
    assert (reduction.equations, reduction.rank, reduction.redundant) == (6, 3, 3)
    assert (reduction.mobility, reduction.finite_mobility) == (7, 7)
    assert max(reduction.assembly.worst_before) < 1e-8
    assert mechanism.gravity.tolist() == pytest.approx([0, 0, -9.8067])
    assert mechanism.body("body_1").geometry[0].size == pytest.approx([0.1, 0.01, 0.01])
    assert mechanism.joint("joint_1").limits == pytest.approx(np.radians([[-45, 45]]))


def test_units_scale_and_up_axis(tmp_path: Path) -> None:
    body = BODY.format(
        "b",
        """double3 xformOp:translate = (100, 0, 0)
    float3 xformOp:scale = (2, 2, 2)
    uniform token[] xformOpOrder = ["xformOp:translate", "xformOp:scale"]
    float physics:mass = 3
    point3f physics:centerOfMass = (10, 0, 0)
    float3 physics:diagonalInertia = (10000, 10000, 10000)""",
    )
    inside = "point3f physics:localPos0 = (120, 0, 0)\npoint3f physics:localPos1 = (10, 0, 0)"
    header = 'metersPerUnit = 0.01\nkilogramsPerUnit = 2\nupAxis = "Y"'
    mechanism = stage(tmp_path, body, joint("j", inside=inside), header=header)
    j = mechanism.joint("j")
    np.testing.assert_allclose(j.T_parent_joint[:3, 3], [1.2, 0, 0])
    np.testing.assert_allclose(j.T_child_joint[:3, 3], [0.2, 0, 0])  # the scale counts
    np.testing.assert_allclose(mechanism.gravity, [0, -9.81, 0])
    inertia = mechanism.body("b").inertia
    assert inertia.mass == 6
    np.testing.assert_allclose(inertia.center, [0.2, 0, 0])
    np.testing.assert_allclose(inertia.matrix, 2 * np.eye(3))
    assert [f.code for f in mechanism.findings] == ["REG012", "REG012"]


def test_stage_without_unit_is_suspected_aloud(tmp_path: Path) -> None:
    mechanism = stage(tmp_path, B, joint("j"), header='upAxis = "Z"')
    assert next((f.code, f.severity) for f in mechanism.findings) == ("REG012", "warning")


def test_positions_follow_from_the_poses(tmp_path: Path) -> None:
    turned = """quatf xformOp:orient = (0.8, 0, 0, 0.6)
    uniform token[] xformOpOrder = ["xformOp:orient"]"""
    mechanism = stage(
        tmp_path, BODY.format("b", turned), joint("j", inside='uniform token physics:axis = "Z"')
    )
    angle = 2 * np.arctan2(0.6, 0.8)
    assert mechanism.joint("j").position == pytest.approx([angle], abs=1e-7)
    T = body_poses(mechanism)["b"]
    np.testing.assert_allclose(T[:3, 0], [np.cos(angle), np.sin(angle), 0], atol=1e-7)


def test_target_below_a_body_belongs_to_it(tmp_path: Path) -> None:
    inside = f'def Xform "tip"\n{{\n{MOVED.format("0, 0, 5")}\n}}'
    mechanism = stage(tmp_path, BODY.format("b", inside), joint("j", body1="b/tip"))
    assert mechanism.joint("j").child == "b"
    np.testing.assert_allclose(mechanism.joint("j").T_child_joint[:3, 3], [0, 0, 5])


def test_bodies_of_one_name_are_called_by_their_paths(tmp_path: Path) -> None:
    sides = [f'def Xform "{side}"\n{{\n{B}\n}}' for side in ("left", "right")]
    mechanism = stage(tmp_path, *sides, joint("j", body1="left/b"))
    assert {body.name for body in mechanism.bodies} >= {"left/b", "right/b"}
    assert mechanism.joint("j").child == "left/b"


def test_disabled_excluded_and_distance_joints(tmp_path: Path) -> None:
    mechanism = stage(
        tmp_path,
        A,
        B,
        joint("off", body0="a", inside="bool physics:jointEnabled = false"),
        joint("loop", body0="a", inside="bool physics:excludeFromArticulation = true"),
        joint(
            "rod",
            "Distance",
            "a",
            inside="float physics:minDistance = 2\nfloat physics:maxDistance = 2\n"
            "point3f physics:localPos1 = (2, 0, 0)",
        ),
        joint("rope", "Distance", "a", inside="float physics:maxDistance = 2"),
    )
    assert [j.name for j in mechanism.joints[:2]] == ["loop", "rod"]
    assert mechanism.joint("loop").closure
    assert (mechanism.joint("rod").kind, mechanism.joint("rod").freedoms) == ("composite", 5)
    messages = " ".join(f.message for f in mechanism.findings)
    assert "`off` is disabled" in messages
    assert "`rope` bounds the distance" in messages


def test_generic_joint_is_locked_by_crossed_bounds_and_by_zeros(tmp_path: Path) -> None:
    bounds = {"transX": (1, -1), "transY": (0, 0), "transZ": (0, 0), "rotX": (1, -1)}
    inside = "\n".join(
        f"float limit:{name}:physics:low = {low}\nfloat limit:{name}:physics:high = {high}"
        for name, (low, high) in {**bounds, "rotY": (-30, 30)}.items()
    )
    schemas = ", ".join(f'"PhysicsLimitAPI:{name}"' for name in [*bounds, "rotY"])
    mechanism = stage(tmp_path, A, B, joint("d6", "", "a", inside=inside, schemas=schemas))
    d6 = mechanism.joint("d6")
    assert (d6.kind, d6.freedoms) == ("universal", 2)
    np.testing.assert_allclose(d6.screws[3:], [[0, 0], [1, 0], [0, 1]])
    np.testing.assert_allclose(d6.limits, [[-math.pi / 6, math.pi / 6], [-np.inf, np.inf]])


def test_forces_without_a_unit_are_said(tmp_path: Path) -> None:
    inside = """uniform token drive:angular:physics:type = "acceleration"
    float drive:angular:physics:stiffness = 20
    float drive:angular:physics:maxForce = 3
    custom float physxJoint:jointFriction = 0.5"""
    hinge = joint("j", inside=inside, schemas='"PhysicsDriveAPI:angular"')
    mechanism = stage(tmp_path, B, hinge)
    [motor] = mechanism.actuators
    assert (motor.gains, motor.force_range) == (None, (-3.0, 3.0))
    messages = [f.message for f in mechanism.findings]
    for words in (
        "the drive of joint `j` has gains per unit of inertia: only its kind and its largest force",
        "friction of joint `j` is a coefficient without a unit (physxJoint:jointFriction)",
    ):
        assert any(words in message for message in messages)


def test_an_actuator_of_no_joint_is_said(tmp_path: Path) -> None:
    motor = 'def MjcActuator "m"\n{\n    rel mjc:target = </b>\n}\n'
    mechanism = stage(tmp_path, B, joint("j"), motor)
    assert mechanism.actuators == ()
    found = [f for f in mechanism.findings if "actuator `m` moves no joint: not read" in f.message]
    assert [f.source.element for f in found if f.source] == ["/m"]


def test_a_mirrored_body_and_a_cylinder_that_is_none(tmp_path: Path) -> None:
    oval = """double3 xformOp:scale = (1, 1, 2)
    uniform token[] xformOpOrder = ["xformOp:scale"]
    def Cylinder "oval"
    {
        double3 xformOp:scale = (1, 3, 1)
        uniform token[] xformOpOrder = ["xformOp:scale"]
    }
    def Cylinder "round"
    {
    }"""
    mirrored = f"""def Xform "mirror"
{{
    double3 xformOp:scale = (-1, 1, 1)
    uniform token[] xformOpOrder = ["xformOp:scale"]
    {BODY.format("b", oval)}
}}"""
    for text in (mirrored, mirrored.replace("(1, 1, 2)", "(-1, -1, 2)")):
        mechanism = stage(tmp_path, text)
        [shape] = mechanism.body("b").geometry
        assert shape.kind == "cylinder"
        np.testing.assert_allclose(shape.size, [1.0, 4.0])
        T = body_poses(mechanism)["b"]
        assert np.linalg.det(T[:3, :3]) == pytest.approx(1.0)


def test_drives_and_rotors_in_degrees_and_centimetres(tmp_path: Path) -> None:
    inside = """float drive:angular:physics:stiffness = 20
    float drive:angular:physics:damping = 2
    float drive:angular:physics:maxForce = 5e5
    float physxJoint:armature = 100
    float physxJoint:maxJointVelocity = 90
    double mjc:frictionloss = 3000"""
    slide = "float drive:linear:physics:damping = 4\nfloat physxJoint:maxJointVelocity = 50"
    mechanism = stage(
        tmp_path,
        A,
        B,
        joint("j", "Revolute", "", "a", inside, '"PhysicsDriveAPI:angular"'),
        joint("k", "Prismatic", "a", "b", slide, '"PhysicsDriveAPI:linear"'),
        header='metersPerUnit = 0.01\nupAxis = "Z"',
    )
    servo, brake = mechanism.actuators
    degree = math.pi / 180.0
    assert (servo.joint, servo.kind, brake.kind) == ("j", "position", "velocity")
    assert servo.force_range == pytest.approx((-50.0, 50.0))
    assert servo.gains.position == pytest.approx(20e-4 / degree)
    assert servo.gains.velocity == pytest.approx(2e-4 / degree)
    assert brake.gains.velocity == pytest.approx(4.0)
    found = mechanism.joint("j")
    assert found.limits.velocity == pytest.approx([math.pi / 2])
    assert found.limits.effort == pytest.approx([50.0])
    assert found.dynamics.armature == pytest.approx([0.01])
    assert found.dynamics.friction == pytest.approx([0.3])
    assert found.dynamics.damping is None
    assert mechanism.joint("k").limits.velocity == pytest.approx([0.5])


def test_mimic_of_physx_is_a_row(tmp_path: Path) -> None:
    inside = """rel physxMimicJoint:rotX:referenceJoint = </i>
    float physxMimicJoint:rotX:gearing = -2
    float physxMimicJoint:rotX:offset = 90"""
    mechanism = stage(
        tmp_path,
        A,
        B,
        joint("i", body1="a"),
        joint("j", body1="b", inside=inside, schemas='"PhysxMimicJointAPI:rotX"'),
    )
    [row] = mechanism.couplings
    assert row.terms == (("j", 0, 1.0), ("i", 0, -2.0))
    assert row.offset == pytest.approx(-np.pi / 2)


@pytest.mark.parametrize("higher", [0.0, 0.5])
def test_the_mimic_of_newton_is_a_row_and_goes_before_that_of_physx(
    tmp_path: Path, higher: float
) -> None:
    inside = f"""rel newton:mimicJoint = </i>
    float newton:mimicCoef0 = 90
    float newton:mimicCoef1 = 2
    float mjc:coef2 = {higher}
    rel physxMimicJoint:rotX:referenceJoint = </i>"""
    schemas = '"PhysxMimicJointAPI:rotX", "NewtonMimicAPI"'
    follower = joint("j", body1="b", inside=inside, schemas=schemas)
    bodies = A, B, joint("i", body1="a")
    [row] = stage(tmp_path, *bodies, follower).couplings
    if higher:
        assert row.coefficients == pytest.approx((np.pi / 2, 2.0, higher, 0.0, 0.0))
    else:
        assert row.terms == (("j", 0, 1.0), ("i", 0, -2.0))
        assert row.offset == pytest.approx(np.pi / 2)
    follower = follower.replace("rel newton", "bool newton:mimicEnabled = false\n    rel newton", 1)
    assert stage(tmp_path, *bodies, follower).couplings == ()


def gear_joint(kind: Any, inside: Any) -> str:
    return f"""def PhysxPhysics{kind}Joint "mesh"
{{
    {inside}
}}"""


def rig(tmp_path: Path, gear: str) -> Any:
    """Two wheels that turn about Z at 1 m from each other, and a slide along X below the first."""
    turned = 'uniform token physics:axis = "Z"\n'
    return stage(
        tmp_path,
        A,
        BODY.format("b", MOVED.format("1, 0, 0")),
        BODY.format("c", MOVED.format("0, -0.2, 0")),
        joint("p", body1="a", inside=turned),
        joint("q", body1="b", inside=turned + "point3f physics:localPos0 = (1, 0, 0)"),
        joint(
            "s",
            "Prismatic",
            body1="c",
            inside='uniform token physics:axis = "X"\npoint3f physics:localPos0 = (0, -0.2, 0)',
        ),
        gear,
    )


#: Turns X into Z.
UP = "(0.70710678, 0, -0.70710678, 0)"
GEARS = f"""rel physics:body0 = </a>
    rel physics:body1 = </b>
    rel physics:hinge0 = </p>
    rel physics:hinge1 = </q>
    quatf physics:localRot0 = {UP}
    quatf physics:localRot1 = {UP}
    float physics:gearRatio = 2.5"""


def test_gears_of_physx_are_rows(tmp_path: Path) -> None:
    [row] = rig(tmp_path, gear_joint("Gear", GEARS)).couplings
    assert (row.kind, row.terms) == ("gear", (("p", 0, 2.5), ("q", 0, 1.0)))
    # The axis of one gear turned over, its sign turns.
    over = GEARS.replace(f"localRot1 = {UP}", f"localRot1 = {UP.replace('-', '')}")
    [row] = rig(tmp_path, gear_joint("Gear", over)).couplings
    assert row.terms == (("p", 0, 2.5), ("q", 0, -1.0))


def test_rack_of_physx_is_a_row_in_degrees_per_length(tmp_path: Path) -> None:
    inside = f"""rel physics:body0 = </a>
    rel physics:body1 = </c>
    rel physics:hinge = </p>
    rel physics:prismatic = </s>
    quatf physics:localRot0 = {UP}
    float physics:ratio = 286.4788975654116"""
    mechanism = rig(tmp_path, gear_joint("RackAndPinion", inside))
    [row] = mechanism.couplings
    (p, _, one), (s, _, two) = row.terms
    # The rack below the wheel rolls off without slip: x = 0.2 m * angle.
    assert (row.kind, p, s, one) == ("rack", "p", "s", 1.0)
    assert two == pytest.approx(-1 / 0.2)


@pytest.mark.parametrize(
    ("gear", "words"),
    [
        # Its joint moves another body, or turns about another axis, or none is named.
        (gear_joint("Gear", GEARS.replace("body1 = </b>", "body1 = </c>")), "it does not couple"),
        (
            gear_joint("Gear", GEARS.replace(f"localRot1 = {UP}", "localRot1 = (1, 0, 0, 0)")),
            "it does not couple",
        ),
        (gear_joint("Gear", "rel physics:body0 = </a>"), "it does not couple"),
        (gear_joint("Rope", ""), "Rope"),
    ],
)
def test_gears_that_couple_nothing_are_said(gear: str, words: str, tmp_path: Path) -> None:
    mechanism = rig(tmp_path, gear)
    assert mechanism.couplings == ()
    [said] = [f for f in mechanism.findings if "`mesh`" in f.message]
    assert "is not read" in said.message and words in said.message
    assert said.severity == "warning"


def test_missing_mass_and_kinematic_bodies_are_said(tmp_path: Path) -> None:
    mechanism = stage(
        tmp_path, BODY.format("b", "bool physics:kinematicEnabled = true"), BODY.format("c", "")
    )
    assert mechanism.body("c").inertia is None
    assert [(j.child, j.kind) for j in mechanism.joints] == [("b", "fixed"), ("c", "free")]
    assert {f.code for f in mechanism.findings} == {"REG013", "REG014", "REG103"}


HUGE = """double3 xformOp:scale = (1e200, 1e200, 1e200)
    uniform token[] xformOpOrder = ["xformOp:scale"]"""
MIMIC, MIMIC_SCHEMA = "float physxMimicJoint:rotX:gearing = -2", '"PhysxMimicJointAPI:rotX"'


@pytest.mark.parametrize(
    ("text", "words", "line"),
    [
        ('#usda 1.0\ndef Xform "b"\n{\n  float a = (1,\n', "USD cannot read it", 5),
        ('#usda 1.0\n(metersPerUnit = 1)\ndef Xform "b" {}\n', "no rigid body", None),
        (
            "#usda 1.0\n" + BODY.format("b", MOVED.format("0, inf, 0")),
            "/b.xformOp:translate: its value is not finite; correct it",
            None,
        ),
        (
            "#usda 1.0\n" + BODY.format("b", f"{HUGE}\n{BODY.format('c', HUGE)}"),
            "/b/c: its place is not finite; correct its transform",
            None,
        ),
        (
            "#usda 1.0\n" + B + joint("j", inside=MIMIC, schemas=MIMIC_SCHEMA),
            "/j: physxMimicJoint:rotX:referenceJoint names no joint of the stage",
            None,
        ),
        ("#usda 1.0\n" + B + joint("j", body1="none"), "/none, which does not exist", None),
    ],
)
def test_faults_are_one_line(text: str, words: str, line: Any, tmp_path: Path) -> None:
    path = tmp_path / "stage.usda"
    path.write_text(text)
    with pytest.raises(rg.ReadError, match=words) as caught:
        read(path)
    assert "\n" not in str(caught.value)
    assert caught.value.line == line
