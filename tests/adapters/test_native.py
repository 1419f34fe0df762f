import json
from dataclasses import fields, is_dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from screws import exp, joint_screws
from simulation_cases import Body, Inertia, Joint, Mechanism, read
from simulation_fixtures import MECHANISMS, native

import regularize
import regularize as rg
from regularize.adapters import adapters
from regularize.adapters.native import as_dict
from regularize.mechanism.body import Geometry
from regularize.mechanism.diagnostic import Diagnostic, Source
from regularize.mechanism.joint import JointDynamics, JointLimits
from regularize.mechanism.mechanism import Actuator, ActuatorGains, PrescribedMotion

SCHEMA = Path(regularize.__file__).parent / "schema" / "mechanism-1.json"


def everything() -> Any:
    """A mechanism in which every field has a value of its own."""
    rng = np.random.default_rng(0)
    source = Source("robot.urdf", 12, "robot/link[@name='a']")
    shape = Geometry(
        "mesh", [1, 1, 2], rng.normal(size=(4, 4)), "a.stl", (0.1, 0.2, 1 / 3, 1), True
    )
    half = rng.normal(size=(3, 3))
    inertia = Inertia(0.1 + 0.2, rng.normal(size=3), half @ half.T + 9 * np.eye(3))
    gains = ActuatorGains(0.1, None, 1 / 3)
    joints = (
        Joint(
            "j",
            "w",
            "ä",
            "universal",
            joint_screws("universal"),
            exp(rng.normal(size=6)),
            exp(rng.normal(size=6)),
            [1 / 3, -1e-300],
            True,
            False,
            JointLimits([-np.inf, -2.0], [1.0, np.inf], [np.inf, 1 / 7], [30.0, np.inf]),
            source,
            JointDynamics([0.1, 0.0], None, [2 / 3, 1e15], [-0.5, 0.5], [0.0, 1e-9]),
            (1 / 3e4, 1e-3),
            2,
        ),
        Joint(
            "k",
            "w",
            "ä",
            "revolute",
            rng.normal(size=(6, 1)),
            closure=True,
            limits=JointLimits(None, None, [1 / 7], [2.0]),
        ),
    )
    return Mechanism(
        "all",
        (Body("w"), Body("ä", inertia, (shape,), source)),
        joints,
        (rg.Coupling("c", "gear", (("j", 1, 2.5), ("k", 0, -1 / 7)), 0.5, source),),
        "w",
        [0.1, 0, -9.8],
        (Diagnostic("REG013", "note", "what", "loop", ("j",), source, ("do it",)),),
        files=("robot.yaml",),
        motions=(PrescribedMotion("m", "j", "sin(t)", source),),
        actuators=(
            Actuator("a", "j", 1, "position", 25.0, (-1.0, 1 / 3), (-np.inf, 2.0), gains, source),
            Actuator("b", "k"),
        ),
    )


def assert_identical(one: Any, other: Any, where: Any = "mechanism") -> None:
    if isinstance(one, np.ndarray):
        assert one.shape == other.shape, where
        assert one.tobytes() == other.tobytes(), where
    elif is_dataclass(one):
        assert type(one) is type(other), where
        for f in fields(one):
            if (type(one), f.name) not in ((Mechanism, "path"), (Mechanism, "format")):
                assert_identical(getattr(one, f.name), getattr(other, f.name), f"{where}.{f.name}")
    elif isinstance(one, tuple):
        assert len(one) == len(other), where
        for i, (a, b) in enumerate(zip(one, other, strict=True)):
            assert_identical(a, b, f"{where}[{i}]")
    else:
        assert one == other, where


def test_every_field_is_kept_bit_for_bit(tmp_path: Path) -> None:
    path = tmp_path / "all.json"
    assert adapters()["json"].load_writer()(everything(), path) == ()
    other = read(path)
    # How precisely a file is written is a fact of each file.
    assert_identical(everything(), replace(other, reading=None))
    assert (str(other.path), other.format) == (str(path), "json")


def test_files_follow_the_schema(tmp_path: Path) -> None:
    jsonschema = pytest.importorskip("jsonschema")
    schema = json.loads(SCHEMA.read_text())
    jsonschema.Draft202012Validator.check_schema(schema)
    validator = jsonschema.Draft202012Validator(schema)
    validator.validate(as_dict(everything()))
    for name in MECHANISMS:
        validator.validate(json.loads(native(name)))
    broken = as_dict(everything())
    broken["joints"][0]["kind"] = "hinge"
    assert not validator.is_valid(broken)


def test_schema_names_every_field() -> None:
    """A field added to the model without a place in the file would be lost."""
    schema = json.loads(SCHEMA.read_text())
    model = everything()
    beam = rg.Beam(1.0, 1e-4, (1e-9, 1e-9), 2e11, 8e10, 7800.0)
    ground, bent, *others = model.bodies
    written = as_dict(replace(model, bodies=(ground, replace(bent, elastic=beam), *others)))
    for entry, kind in ((written["bodies"][1], "body"), (written["joints"][0], "joint")):
        assert set(entry) == set(schema["$defs"][kind]["properties"])
        record = {"body": Body, "joint": Joint}[kind]
        assert set(entry) == {f.name for f in fields(record)}
    assert set(written) == set(schema["properties"])


def edited(change: Any) -> Any:
    data = as_dict(replace(everything(), findings=()))
    change(data)
    return json.dumps(data)


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ('{"format": "regularize-mechanism", "version": 1,\n', r":2: not well-formed JSON"),
        ("[" * 100_000, "not well-formed JSON|nested too deeply"),
        ('{"format": "other"}', "another kind of JSON"),
        (edited(lambda d: d.update(version=2)), "version 2 is unknown; version 1 is read"),
        (edited(lambda d: d.pop("joints")), "has no 'joints'"),
        (edited(lambda d: d["joints"][0].pop("screws")), r"joints\[0\]: has no 'screws'"),
        (
            edited(lambda d: d["joints"][0].update(position=[1])),
            r"joints\[0\]/position: expected 2 entries, found 1",
        ),
        (
            edited(lambda d: d.update(gravity=[0, 0, float("nan")])),
            r"gravity\[2\]: expected a finite number, found nan",
        ),
        (edited(lambda d: d["gravity"].__setitem__(0, 10**400)), "finite number"),
        (edited(lambda d: d["joints"][0].update(parent="z")), "unknown body 'z'"),
        (edited(lambda d: d["joints"][0].update(kind="hinge")), "unknown kind 'hinge'"),
        (
            edited(lambda d: d["joints"][0].update(limits=[[0, 1, 2]])),
            r"joints\[0\]/limits\[0\]: expected a lower and an upper bound, or .*found 3 entries",
        ),
        (
            edited(lambda d: d["actuators"][0].update(freedom=0.5)),
            r"actuators\[0\]/freedom: expected a whole number, found 0.5",
        ),
        (
            edited(lambda d: d.update(findings=[{"code": "REG014", "severity": "grave"}])),
            r"findings\[0\]/severity: severity 'grave' is unknown; expected one of",
        ),
        (edited(lambda d: d.update(bodies={})), r"bodies: expected a list"),
    ],
)
def test_faults_name_their_place(text: str, words: str, tmp_path: Path) -> None:
    path = tmp_path / "model.json"
    path.write_text(text)
    with pytest.raises(rg.ReadError, match=words) as caught:
        read(path, format="json")
    assert str(caught.value).startswith(str(path))
    assert "\n" not in str(caught.value)


def test_rounding_in_the_last_row_of_a_frame_is_none(tmp_path: Path) -> None:
    mechanism = rg.load(Path(__file__).parents[2] / "assets" / "planar_fourbar.urdf")
    first, *others = mechanism.joints
    frame = np.array(first.T_parent_joint)
    frame[3, 0] = 1e-17
    rounded = replace(mechanism, joints=(replace(first, T_parent_joint=frame), *others))
    rg.save(rounded, tmp_path / "model.json")
    (read, *_) = rg.load(tmp_path / "model.json").joints
    np.testing.assert_array_equal(read.T_parent_joint[3], (0.0, 0.0, 0.0, 1.0))
