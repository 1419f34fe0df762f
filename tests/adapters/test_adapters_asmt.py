"""ASMT files: every joint type, units, couplings, faults, and the samples of the solver."""

import math
from pathlib import Path
from typing import Any

import cad_fixtures as cad
import numpy as np
import pinocchio as pin
import pytest
from scipy.spatial.transform import Rotation
from screws import transform
from test_adapter_contract import write_fixture
from test_fix import changes

import regularize as rg
from regularize.adapters import read

Row = tuple[str, str, str, str, dict[str, float]]  # a joint: type, name, markers, values
HINGE: Row = ("RevoluteJoint", "J", "M", "P/M", {})
CORPUS = Path(__file__).resolve().parents[3] / "shared" / "corpus" / "asmt" / "ondsel_testapp"
#: Freedoms of each type, and where the types that keep a value have it.
TYPES: dict[str, tuple[int, str]] = {
    **{"FixedJoint": (0, ""), "RevoluteJoint": (1, ""), "CylindricalJoint": (2, "")},
    **{"TranslationalJoint": (1, ""), "SphericalJoint": (3, ""), "AtPointJoint": (3, "")},
    **{"UniversalJoint": (2, ""), "ConstantVelocityJoint": (2, ""), "NoRotationJoint": (3, "")},
    **{"ParallelAxesJoint": (4, ""), "PerpendicularJoint": (5, ""), "AngleJoint": (5, "theIzJz")},
    **{"PointInLineJoint": (4, ""), "InLineJoint": (4, ""), "PlanarJoint": (3, "offset")},
    **{"PointInPlaneJoint": (5, "offset"), "LineInPlaneJoint": (4, "offset")},
    **{"SphSphJoint": (5, "distanceIJ"), "CylSphJoint": (5, "distanceIJ")},
    **{"RevCylJoint": (3, "distanceIJ"), "RevRevJoint": (2, "distanceIJ")},
}


def load(tmp_path: Path, text: str, **options: str) -> rg.Mechanism:
    path = tmp_path / "model.asmt"
    path.write_text(text, encoding="latin-1")
    return read(path, format="asmt", **options)


@pytest.mark.slow
@pytest.mark.parametrize("name", cad.SKELETONS)
def test_one_loop_mechanisms(tmp_path: Path, name: str) -> None:
    mechanism = load(tmp_path, cad.asmt(cad.SKELETONS[name](), scale=1e-3))
    assert [j.name for j in mechanism.joints] == ["GroundedJoint", "A", "B", "C", "D"]
    reduction = rg.reduce(mechanism)
    assert (reduction.redundant, reduction.mobility, reduction.remaining) == (3, 1, 0)
    assert max(reduction.assembly.worst_before) < 1e-12
    assert "REG012" in {finding.code for finding in mechanism.findings}


def test_units_may_be_given(tmp_path: Path) -> None:
    text = cad.asmt(cad.planar_four_bar(), scale=1e-3)
    (note,) = (f for f in load(tmp_path, text).findings if f.code == "REG012")
    assert note.severity == "note"
    suspicious = load(tmp_path, text, units="m")
    assert [f.severity for f in suspicious.findings if f.code == "REG012"] == ["warning"]
    assert load(tmp_path, text, units="mm").joint("A").name == "A"
    with pytest.raises(rg.ReadError, match="unit of length 'inch' is unknown; known are mm, m"):
        load(tmp_path, text, units="inch")


def one_part(*joints: Row, T: np.ndarray | None = None, **options: Any) -> str:
    """A part with a marker on the ground with one."""
    parts = {"P": (np.eye(4) if T is None else T, {"M": np.eye(4), "N": np.eye(4)})}
    return cad.asmt_text("A", {"M": np.eye(4)}, parts, [*joints], **options)


@pytest.mark.parametrize("kind", TYPES)
def test_joint_type_leaves_its_freedoms(tmp_path: Path, kind: str) -> None:
    T = transform(Rotation.from_rotvec([0.3, 0.2, 0.6]).as_matrix(), [0.1, 0.2, 0.3])
    freedoms, value = TYPES[kind]
    for name in (kind, f"{kind[4:]}E"):  # as FreeCAD writes it on Linux
        text = one_part((name, "J", "M", "P/M", {value: 0.2} if value else {}), T=T)
        mechanism = load(tmp_path, text)
        assert rg.reduce(mechanism).mobility == freedoms and mechanism.complete


def test_angle_of_zero_is_read_as_parallel_axes_aloud(tmp_path: Path) -> None:
    mechanism = load(tmp_path, one_part(("AngleJoint", "J", "M", "P/M", {"theIzJz": 0.0})))
    assert mechanism.joint("J").freedoms == 4
    assert "joint `J` keeps axes parallel: read as 2 equations" in mechanism.findings[0].message


def test_constant_velocity_joint_passes_the_speed_on(tmp_path: Path) -> None:
    bend = Rotation.from_rotvec([0, 0.6, 0]).as_matrix()
    center = np.array([0.0, 0.0, 0.3])
    out = transform(bend, center)
    parts = {
        "in": (np.eye(4), {"hinge": np.eye(4), "joint": transform(None, center)}),
        "out": (out, {"joint": transform(np.diag([1.0, -1, -1])), "hinge": np.eye(4)}),
    }
    joints: list[Row] = [
        ("RevoluteJoint", "drive", "Z", "in/hinge", {}),
        ("ConstantVelocityJoint", "knuckle", "in/joint", "out/joint", {}),
        ("RevoluteJoint", "output", "far", "out/hinge", {}),
    ]
    ground = {"Z": np.eye(4), "far": out}
    mechanism = load(tmp_path, cad.asmt_text("Assembly1", ground, parts, joints))
    reduction = rg.reduce(mechanism)
    assert reduction.mobility == 1
    assert max(reduction.assembly.worst_before) < 1e-12
    columns = {name: k for k, name in enumerate(["drive", *"abc", "output"])}
    (cell,) = reduction.cells
    moved = cell.configurations - reduction.q
    drive, output = moved[:, columns["drive"]], moved[:, columns["output"]]
    np.testing.assert_allclose(np.sin(drive), np.sin(output), atol=1e-6)
    np.testing.assert_allclose(np.cos(drive), np.cos(output), atol=1e-6)


def drive_file(scale: float) -> str:
    """A wheel that turns a second one, a rack and, through the rack, a screw."""
    across = cad.frame((0, 0, 0), (1, 0, 0))
    parts = {
        "wheel": (np.eye(4), {"axis": np.eye(4)}),
        "second": (transform(None, [0.3, 0, 0]), {"axis": np.eye(4)}),
        "rack": (
            transform(None, [0, -0.1, 0]),
            {"slide": across, "teeth": np.eye(4), "nut": across},
        ),
        "bolt": (transform(None, [0.5, -0.1, 0]), {"axis": across}),
    }
    ground = {
        "O": np.eye(4),
        "P": transform(None, [0.3, 0, 0]),
        "S": cad.frame((0, -0.1, 0), (1, 0, 0)),
        "T": cad.frame((0.5, -0.1, 0), (1, 0, 0)),
    }
    radii = {"radiusI": 0.1 / scale, "radiusJ": 0.2 / scale}
    joints: list[Row] = [
        ("RevoluteJoint", "turn", "O", "wheel/axis", {}),
        ("RevoluteJoint", "turn2", "P", "second/axis", {}),
        ("TranslationalJoint", "slide", "S", "rack/slide", {}),
        ("RevoluteJoint", "spin", "T", "bolt/axis", {}),
        ("GearJoint", "gears", "wheel/axis", "second/axis", radii),
        ("RackPinionJoint", "rack", "rack/teeth", "wheel/axis", {"pitchRadius": 0.1 / scale}),
        ("ScrewJoint", "screw", "rack/nut", "bolt/axis", {"pitch": 0.1 / scale}),
    ]
    motion = (
        *("\t\tMotions", "\t\t\tRotationalMotion", "\t\t\t\tName", "\t\t\t\t\tdrive"),
        *("\t\t\t\tMotionJoint", "\t\t\t\t\t/Assembly1/turn"),
        *("\t\t\t\tRotationZ", "\t\t\t\t\t2*pi*time"),
    )
    return cad.asmt_text("Assembly1", ground, parts, joints, scale=scale, more=motion)


@pytest.mark.parametrize("scale", [1.0, 1e-3])
def test_gears_racks_and_screws_are_couplings(tmp_path: Path, scale: float) -> None:
    units = "m" if scale == 1.0 else "mm"
    text = drive_file(scale)
    if units == "m":  # the names of types that FreeCAD writes on Linux
        for name in ("RotationalMotion", "GearJoint", "RackPinionJoint", "ScrewJoint"):
            text = text.replace(name, f"{name[4:]}E")
    mechanism = load(tmp_path, text, units=units)
    (motion,) = mechanism.motions
    assert (motion.name, motion.joint, motion.expression) == ("drive", "turn", "2*pi*t")
    gears, rack, screw = mechanism.couplings
    assert (gears.kind, rack.kind, screw.kind) == ("gear", "rack", "screw")
    ratios = {name: c for name, _, c in gears.terms}
    assert ratios["turn2"] / ratios["turn"] == pytest.approx(2.0)
    travel = {name: c for name, _, c in rack.terms}
    assert travel["turn"] / travel["slide"] == pytest.approx(-0.1)
    thread = {name: c for name, _, c in screw.terms}
    assert abs(thread["spin"] / thread["slide"]) == pytest.approx(0.1 / (2 * math.pi))
    reduction = rg.reduce(mechanism)
    assert (reduction.mobility, reduction.redundant) == (1, 0)
    assert mechanism.joint("turn").actuated


@pytest.mark.slow
def test_couplings_hold_in_the_motion_that_the_solver_finds(tmp_path: Path) -> None:
    solver = pytest.importorskip("pyondsel.asmt_solver")
    text = drive_file(1.0)
    simulation = (
        "\tSimulationParameters\n\t\ttstart\n\t\t\t0.0\n\t\ttend\n\t\t\t0.2\n\t\thmin\n\t\t\t1e-9\n"
        "\t\thmax\n\t\t\t1.0\n\t\thout\n\t\t\t0.02\n\t\terrorTol\n\t\t\t1e-9\n"
        "\tAnimationParameters\n\t\tnframe\n\t\t\t100\n\t\ticurrent\n\t\t\t1\n\t\tistart\n\t\t\t1\n"
        "\t\tiend\n\t\t\t100\n\t\tisForward\n\t\t\ttrue\n\t\tframesPerSecond\n\t\t\t30\n"
    )
    solved = solver.AsmtSolver().solve(text + simulation)
    mechanism = load(tmp_path, text)
    poses = {name.rsplit("/", 1)[-1]: part for name, part in solved.parts.items()}
    moved = {}
    for joint in mechanism.joints:
        part = poses[joint.child]
        q = []
        for position, angles in zip(part.positions, part.bryant_angles, strict=True):
            T = transform(Rotation.from_euler("XYZ", angles).as_matrix(), position)
            M = np.linalg.inv(joint.T_parent_joint) @ T @ joint.T_child_joint
            turning = joint.kind == "revolute"
            q.append(math.atan2(M[1, 0], M[0, 0]) if turning else M[2, 3])
        moved[joint.name] = np.unwrap(q) if joint.kind == "revolute" else np.array(q)
    assert np.ptp(moved["turn"]) > 1.0
    for coupling in mechanism.couplings:
        total = sum(c * moved[name] for name, _, c in coupling.terms)
        np.testing.assert_allclose(total, coupling.offset, atol=1e-9)


@pytest.mark.parametrize(
    ("kind", "parent", "marker"),
    [
        ("TranslationalJoint", "axis", "axis"),  # it does not turn
        ("RevoluteJoint", "axis", "side"),  # about another axis than the gear's
        ("RevoluteJoint", "mid/axis", "axis"),  # on a third hinge in the chain
    ],
)
def test_gears_off_their_hinges_are_left_out_aloud(
    kind: str, parent: str, marker: str, tmp_path: Path
) -> None:
    side = cad.frame((0, 0, 0), (1, 0, 0))
    parts = {name: (np.eye(4), {"axis": np.eye(4), "side": side}) for name in ("one", "two", "mid")}
    joints: list[Row] = [
        ("RevoluteJoint", "A", "axis", "one/axis", {}),
        ("RevoluteJoint", "M", "axis", "mid/axis", {}),
        (kind, "B", parent, "two/axis", {}),
        ("GearJoint", "gears", "one/axis", f"two/{marker}", {"radiusI": 1.0, "radiusJ": 1.0}),
    ]
    mechanism = load(tmp_path, cad.asmt_text("A", {"axis": np.eye(4)}, parts, joints))
    assert mechanism.couplings == ()
    assert any("gear relation `gears`" in f.message for f in mechanism.findings)


def test_a_distance_that_is_left_out_is_none(tmp_path: Path) -> None:
    rod: Row = ("SphSphJoint", "R", "M", "P/M", {})
    mechanism = load(tmp_path, one_part(rod))
    assert mechanism.joint("R").kind == "spherical"
    words = "MarkerI names no marker `/A/M`; there are `/A/P/MassMarker`"
    with pytest.raises(rg.ReadError, match=words):
        load(tmp_path, cad.asmt_text("A", {}, {"P": (np.eye(4), {})}, [rod]))


def test_placeholder_masses_are_left_out_and_real_ones_kept(tmp_path: Path) -> None:
    skeleton = cad.planar_four_bar()
    assert all(body.inertia is None for body in load(tmp_path, cad.asmt(skeleton)).bodies)
    text = one_part(HINGE, mass=(2.0, (3e6, 4e6, 5e6)), scale=1e-3)
    mechanism = load(tmp_path, text, units="mm")
    inertia = mechanism.body("P").inertia
    np.testing.assert_allclose(inertia.center, [0.01, 0.02, 0.03])
    np.testing.assert_allclose(inertia.matrix, np.diag([3.0, 4.0, 5.0]))
    np.testing.assert_allclose(mechanism.gravity, [0, -9.81e-3, 0])


def test_motions_drive_joints_and_limits_bound_them(tmp_path: Path) -> None:
    more = (
        "\t\tMotions", "\t\t\tRotationalMotion", "\t\t\t\tName", "\t\t\t\t\tspin",
        "\t\t\t\tMotionJoint", "\t\t\t\t\t/A/J", "\t\tLimits",
        "\t\t\tRotationLimit", "\t\t\t\tMotionJoint", "\t\t\t\t\t/A/J",
        "\t\t\t\tLimit", "\t\t\t\t\t-30.0*pi/180.0", "\t\t\t\tType", "\t\t\t\t\t=>",
        "\t\t\tRotationLimit", "\t\t\t\tMarkerI", "\t\t\t\t\t/A/M",
        "\t\t\t\tMarkerJ", "\t\t\t\t\t/A/P/M", "\t\t\t\tLimit",
        "\t\t\t\t\t1.5", "\t\t\t\tType", "\t\t\t\t\t=<",
        "\t\t\tTranslationLimit", "\t\t\t\tName", "\t\t\t\t\todd",
        "\t\t\t\tMotionJoint", "\t\t\t\t\t/A/J",
    )  # fmt: skip
    mechanism = load(tmp_path, one_part(HINGE, more=more))
    joint = mechanism.joint("J")
    assert joint.actuated
    assert mechanism.motions == ()  # it has no expression
    np.testing.assert_allclose(joint.limits, [[-math.pi / 6, 1.5]])
    assert [f.message for f in mechanism.findings if "limits" in f.message] == [
        "limits not read: `odd`"
    ]
    assert rg.reduce(mechanism).mobility == 1


def test_a_joint_of_a_part_with_itself_and_a_negative_distance(tmp_path: Path) -> None:
    mechanism = load(tmp_path, one_part(HINGE, ("RevoluteJoint", "K", "P/M", "P/N", {})))
    assert [joint.name for joint in mechanism.joints] == ["J"]
    assert "joint `K` connects `P` to itself: left out" in mechanism.findings[0].message
    words = r"model\.asmt:\d+: .*distanceIJ is negative; a distance"
    with pytest.raises(rg.ReadError, match=words):
        load(tmp_path, one_part(("SphSphJoint", "R", "M", "P/M", {"distanceIJ": -1.0})))


def test_markers_may_lie_on_curves_and_names_may_be_empty(tmp_path: Path) -> None:
    text = cad.asmt(cad.planar_four_bar())
    text = text.replace("\t\t\tRefPoints", "\t\t\tRefCurves").replace(
        "\t\t\t\t\tB\n\t\t\t\tMarkerI", "\t\t\t\t\t\n\t\t\t\tMarkerI"
    )
    mechanism = load(tmp_path, text)
    assert [j.name for j in mechanism.joints] == ["GroundedJoint", "A", "B", "C", "D"]


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (lambda t: "hello\n" + t, "does not begin with"),
        (lambda t: t.replace("/crank/A", "/crank/X"), r":\d+: RevoluteJoint.*names no marker"),
        (lambda t: t.replace("\tParts", "\tPants"), "has no Parts"),
        (lambda t: t.replace("\tConstraintSets", "\tX"), "has no ConstraintSets"),
        (lambda t: t.replace("-9.81", "much"), "is not a row of numbers"),
        (lambda t: t.replace("0.0\t-9.81\t0.0", "1.0 2.0"), "has 2 numbers, expected 3"),
        (lambda t: t.replace("-9.81", "nan"), "finite"),
        (lambda t: t.replace("1.0\t0.0\t0.0", "2.0\t0.0\t0.0"), "is no rotation"),
        (lambda t: t + "\t" * 60 + "deep\n", "nested deeper than 40 levels"),
        (lambda t: t + "\t\t\tstray\n\t\t\t\t\t\t\tlost\n", "indented under no heading"),
        (lambda t: t[: t.index("\tParts")], "has no Parts"),
    ],
)
def test_faults_name_the_line(tmp_path: Path, change: object, message: str) -> None:
    assert callable(change)
    with pytest.raises(rg.ReadError, match=message) as error:
        load(tmp_path, change(cad.asmt(cad.planar_four_bar())))
    assert "\n" not in str(error.value)


#: Redundant equations and mobility of the solver's samples.
SAMPLES: dict[str, tuple[int, int]] = {
    **{"CylSphJt": (0, 5), "Gears": (0, 1), "RevCylJt": (0, 3), "RevRevJt": (0, 2)},
    **{"SphSphJt": (0, 5), "anglejoint": (0, 4), "camfollower": (0, 2), "circular": (0, 2)},
    **{"circularPendulum": (0, 3), "crank_slider": (2, 1), "fixplnplnpln": (9, 0)},
    **{"fourbar": (3, 1), "gyro": (0, 3), "limits": (0, 2), "piston": (2, 1)},
    **{"pistonAllowZRotation": (2, 1), "planarbug": (0, 3), "rackPinion": (0, 3)},
    **{"rackscrew": (0, 1), "robot": (0, 16), "runPreDragBackhoe1": (8, 3), "wobpump": (0, 1)},
}
#: Cannot be assembled as saved: the shafts of its constant-velocity joint do not meet.
OPEN = {"constvel"}
#: Saved far from assembled, and rank-deficient only nearly.
DELICATE = {"Schmidt_Coupling_Ass_1a"}


@pytest.mark.slow
@pytest.mark.parametrize("name", [*SAMPLES, *OPEN, *DELICATE])
def test_samples_of_the_solver(name: str) -> None:
    path = CORPUS / f"{name}.asmt"
    if not path.exists():
        pytest.skip("the corpus is not here")
    reduction = rg.reduce(read(path))
    if name in OPEN:
        assert not reduction.assembly.closed
    elif name in DELICATE:
        assert reduction.redundant in (11, 12)
    else:
        assert (reduction.redundant, reduction.mobility) == SAMPLES[name]
        assert reduction.remaining == 0


def test_no_sample_is_forgotten() -> None:
    if not CORPUS.exists():
        pytest.skip("the corpus is not here")
    assert {p.stem for p in CORPUS.glob("*.asmt")} <= {*SAMPLES, *OPEN, *DELICATE}


@pytest.mark.slow
def test_values_of_joints_of_the_ondsel_solver(tmp_path: Path) -> None:
    path = write_fixture("asmt", "planar_four_bar", tmp_path)
    fix = rg.fix(path, {"C": "planar"})
    assert changes(fix.diff) == ["-RevoluteJoint", "+PlanarJoint", "+offset", "+0.0"]
    fix.write(path)
    assert rg.load(path).joint("C").kind == "planar"
    assert changes(rg.fix(path, {"C": "planar"}).diff) == []
    fix = rg.fix(path, {"C": "spherical"})
    assert changes(fix.diff) == ["-PlanarJoint", "+SphericalJoint", "-offset", "-0.0"]
    with pytest.raises(rg.ModelError, match="cannot become slotted in this file; asmt holds there"):
        rg.fix(path, {"B": "slotted"})


CRANK_SLIDER = CORPUS / "crank_slider.asmt"


@pytest.mark.skipif(not CRANK_SLIDER.exists(), reason="the corpus is not here")
def test_the_motion_of_an_asmt_file_is_the_one_that_its_own_solver_recorded() -> None:
    mechanism = rg.load(CRANK_SLIDER)
    (offered,) = mechanism.motions
    drive, times = {offered.joint: offered.expression}, np.linspace(0.0, 1.0, 11)
    motion = rg.simulate(mechanism, duration=1.0, drive=drive, times=times)
    lines = CRANK_SLIDER.read_text(encoding="utf-8").splitlines()
    model, data = motion.robot.model, motion.robot.data
    for part in ("Part2", "Part3"):
        start = next(i for i, x in enumerate(lines) if x == f"PartSeries /Assembly1/{part}")
        recorded = [
            np.array(x.split("\t")[2:103], dtype=float) for x in lines[start + 1 : start + 4]
        ]
        for k, q in enumerate(motion.q):
            pin.framesForwardKinematics(model, data, q)
            place = data.oMf[model.getFrameId(part)].translation
            np.testing.assert_allclose(place, [x[10 * k] for x in recorded], atol=1e-6)
