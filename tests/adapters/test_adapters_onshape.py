"""Onshape assembly definitions: mates, groups, sub-assemblies, relations, faults."""

import json
import math
from pathlib import Path
from typing import Any

import cad_fixtures as cad
import numpy as np
import pytest
from scipy.spatial.transform import Rotation
from screws import inverse, transform
from test_adapter_contract import write_fixture

import regularize as rg
from regularize.adapters import read

ASSETS = Path(__file__).resolve().parents[2] / "assets"
CORPUS = Path(__file__).resolve().parents[3] / "shared" / "corpus" / "onshape_json"
MOVE = transform(Rotation.from_rotvec([-0.2, 0.6, 0.1]).as_matrix(), [-0.1, 0.05, 0.02])
INNER = transform(Rotation.from_rotvec([0.4, 0.1, 0.9]).as_matrix(), [0.3, -0.1, 0.2])


def load(tmp_path: Path, document: Any) -> rg.Mechanism:
    path = tmp_path / "assembly.json"
    path.write_text(document if isinstance(document, str) else json.dumps(document))
    return read(path)


def mate(name: str, kind: str, T: np.ndarray, *, child: str = "arm") -> dict[str, Any]:
    """A mate of a part at ``MOVE`` with the base, at a frame in the world."""
    return cad.onshape_mate(name, kind, [([child], inverse(MOVE) @ T), ([cad.BASE], T)])


def document(*features: dict[str, Any]) -> dict[str, Any]:
    return cad.onshape_document("toy", {cad.BASE: np.eye(4), "arm": MOVE}, list(features))


MATES = {
    **{"FASTENED": 0, "REVOLUTE": 1, "SLIDER": 1, "CYLINDRICAL": 2, "PIN_SLOT": 2, "PLANAR": 3},
    **{"BALL": 3, "PARALLEL": 4},
}


@pytest.mark.parametrize(("kind", "freedoms"), MATES.items())
def test_mate_types(tmp_path: Path, kind: str, freedoms: int) -> None:
    mechanism = load(tmp_path, document(mate("M", kind, cad.frame((0.1, 0, 0), (0, 1, 1)))))
    assert mechanism.joint("M").freedoms == freedoms
    assert mechanism.findings == ()
    assert rg.reduce(mechanism).mobility == freedoms


def test_slot_is_on_the_part_where_the_saved_pose_fits_it(tmp_path: Path) -> None:
    slot = cad.frame((0, 0, 0))
    pin = slot @ transform(Rotation.from_rotvec([0, 0, 0.8]).as_matrix(), [0.05, 0, 0])
    for first in (True, False):
        ends = [
            (["arm"], inverse(MOVE) @ (pin if first else slot)),
            ([cad.BASE], slot if first else pin),
        ]
        mechanism = load(tmp_path, document(cad.onshape_mate("M", "PIN_SLOT", ends)))
        assert mechanism.findings == ()
        assert mechanism.joint("M").parent == (cad.BASE if first else "arm")
        np.testing.assert_allclose(mechanism.joint("M").position[0], 0.05)


def nested(rigid: bool, *features: dict[str, Any]) -> dict[str, Any]:
    """A base and a sub-assembly of two parts with a hinge, mated by its second part."""
    hinge = cad.frame((0.02, 0, 0), (0, 1, 1))
    sub = {
        "documentId": "d",
        "elementId": "sub",
        "instances": [{"id": name, "name": name, "type": "Part"} for name in ("one", "two")],
        "features": [
            cad.onshape_mate(
                "hinge", "REVOLUTE", [(["one"], hinge), (["two"], inverse(MOVE) @ hinge)]
            )
        ],
    }
    poses = {("s",): INNER, ("s", "one"): INNER, ("s", "two"): INNER @ MOVE}
    whole = cad.onshape_document("toy", {cad.BASE: np.eye(4)}, list(features))
    root = whole["rootAssembly"]
    of = {"documentId": "d", "elementId": "sub"}
    root["instances"].append(
        {"id": "s", "name": "Sub <1>", "type": "Assembly", "isRigid": rigid, **of}
    )
    root["occurrences"] += [
        {"path": list(path), "transform": T.reshape(-1).tolist(), "fixed": False}
        for path, T in poses.items()
    ]
    whole["subAssemblies"].append(sub)
    return whole


def test_flexible_and_rigid_sub_assemblies(tmp_path: Path) -> None:
    T = cad.frame((0.1, 0, 0))
    outer = cad.onshape_mate(
        "outer", "REVOLUTE", [(["s", "two"], inverse(INNER @ MOVE) @ T), ([cad.BASE], T)]
    )
    flexible = load(tmp_path, nested(False, outer))
    assert flexible.findings == ()
    assert {j.name for j in flexible.joints} == {"fixed base", "outer", "Sub <1>/hinge"}
    assert [b.name for b in flexible.bodies] == ["toy", "base", "Sub <1>/one", "Sub <1>/two"]
    assert rg.reduce(flexible).mobility == 2
    rigid = load(tmp_path, nested(True, outer))
    assert {j.kind for j in rigid.joints} == {"fixed", "revolute"}
    assert rg.reduce(rigid).mobility == 1


def test_a_mate_of_a_whole_sub_assembly_with_the_origin(tmp_path: Path) -> None:
    T = cad.frame((0.1, 0, 0))
    whole = cad.onshape_mate("outer", "REVOLUTE", [(["s"], inverse(INNER) @ T), ([], T)])
    mechanism = load(tmp_path, nested(True, whole))
    assert mechanism.findings == ()
    assert mechanism.joint("outer").parent == mechanism.ground
    assert mechanism.joint("outer").child == "Sub <1>/one"
    (finding,) = load(tmp_path, nested(False, whole)).findings
    assert (finding.code, finding.severity) == ("REG013", "warning")
    assert "the sub-assembly `Sub <1>` as a whole" in finding.message
    assert "`Sub <1>/one` is taken" in finding.message


def group(*parts: str) -> dict[str, Any]:
    data = {"name": "G", "occurrences": [{"occurrence": [part]} for part in parts]}
    return {"id": "G", "featureType": "mateGroup", "featureData": data}


def test_mate_groups_fasten_their_parts(tmp_path: Path) -> None:
    mechanism = load(tmp_path, document(group(cad.BASE, "arm")))
    assert (mechanism.joint("G").kind, mechanism.findings) == ("fixed", ())
    assert rg.reduce(mechanism).mobility == 0


def relation(kind: str, mates: list[str], **values: Any) -> dict[str, Any]:
    data = {"name": kind, "relationType": kind, **values}
    data["mates"] = [{"featureId": name, "occurrence": []} for name in mates]
    return {"id": kind, "featureType": "mateRelation", "suppressed": False, "featureData": data}


def test_relations_couple_mates(tmp_path: Path) -> None:
    parts = {cad.BASE: np.eye(4)}
    features = []
    kinds = ["REVOLUTE", "REVOLUTE", "SLIDER", "SLIDER", "CYLINDRICAL", "PLANAR", "PARALLEL"]
    for k, kind in enumerate(kinds):
        name, T = f"P{k}", transform(None, [0.1 * k, 0, 0])
        parts[name] = T
        ends = [([name], np.eye(4)), ([cad.BASE], T)]
        features.append(cad.onshape_mate(f"M{k}", kind, ends))
    features += [
        relation("GEAR", ["M0", "M1"], relationRatio=3.0, reverseDirection=True),
        relation("RACK_AND_PINION", ["M2", "M1"], relationLength=0.02),
        relation("LINEAR", ["M2", "M3"], relationRatio=0.5),
        relation("SCREW", ["M4"], relationLength=0.004),
        relation("GEAR", ["M0", "M3"], relationRatio=1.0),
        relation("LINEAR", ["M2", "M5"], relationRatio=1.0),
        relation("GEAR", ["M5", "M6"], relationRatio=2.0),
    ]
    mechanism = load(tmp_path, cad.onshape_document("toy", parts, features))
    gear, rack, linear, screw, planet = mechanism.couplings
    # Gears and pistons run against each other unless the relation is reversed.
    assert gear.terms == (("M1", 0, 1.0), ("M0", 0, -3.0))
    assert planet.terms == (("M6", 3, 1.0), ("M5", 2, 2.0))
    assert rack.terms == (("M2", 0, 1.0), ("M1", 0, -0.02 / (2 * math.pi)))
    assert linear.terms == (("M3", 0, 1.0), ("M2", 0, 0.5))
    assert screw.terms == (("M4", 0, 1.0), ("M4", 1, -0.004 / (2 * math.pi)))
    (finding,) = mechanism.findings
    assert (finding.code, finding.severity) == ("REG013", "warning")
    assert "features not read: `GEAR`, `LINEAR`" in finding.message
    assert rg.reduce(mechanism).mobility == 6 + 3 + 4 - 5


def test_what_is_not_read_is_said(tmp_path: Path) -> None:
    T = cad.frame((0.1, 0, 0))
    tangent = {"id": "t", "featureType": "tangentMate", "featureData": {"name": "Tangent 1"}}
    whole = document(mate("M", "REVOLUTE", T), tangent)
    whole["rootAssembly"]["patterns"] = [{"seedToPatternInstances": {}}]
    mechanism = load(tmp_path, whole)
    messages = [f.message for f in mechanism.findings]
    assert "patterns are not read" in messages[0]
    assert "features not read: `Tangent 1`" in messages[1]


def test_mates_and_relations_that_join_nothing(tmp_path: Path) -> None:
    own = cad.onshape_mate("own", "REVOLUTE", [(["arm"], np.eye(4)), (["arm"], np.eye(4))])
    hinge = mate("hinge", "REVOLUTE", np.eye(4))
    unknown = relation("CAM", ["hinge", "hinge"])
    lost = relation("GEAR", ["own", "hinge"], relationRatio=2.0)
    mechanism = load(tmp_path, document(own, hinge, unknown, lost))
    assert [joint.name for joint in mechanism.joints] == ["fixed base", "hinge"]
    assert mechanism.couplings == ()
    messages = [finding.message for finding in mechanism.findings]
    assert "joint `own` connects `arm` to itself: left out" in messages[0]
    assert "features not read: `CAM`, `GEAR`" in messages[1]


def test_a_group_of_suppressed_parts_fastens_nothing(tmp_path: Path) -> None:
    whole = document(group("arm"))
    whole["rootAssembly"]["instances"][1]["suppressed"] = True
    mechanism = load(tmp_path, whole)
    assert [joint.name for joint in mechanism.joints] == ["fixed base"]
    assert mechanism.findings == ()


def test_suppressed_things_take_no_part(tmp_path: Path) -> None:
    whole = document(mate("M", "REVOLUTE", np.eye(4)), mate("N", "FASTENED", np.eye(4)))
    whole["rootAssembly"]["features"][1]["suppressed"] = True
    assert [j.name for j in load(tmp_path, whole).joints] == ["fixed base", "M"]
    whole["rootAssembly"]["instances"][1]["suppressed"] = True
    mechanism = load(tmp_path, whole)
    assert [b.name for b in mechanism.bodies] == ["toy", "base"]


def edit(whole: dict[str, Any], keys: list[Any], value: Any) -> str:
    target: Any = whole
    for key in keys[:-1]:
        target = target[key]
    target[keys[-1]] = value
    return json.dumps(whole)


CS = ["rootAssembly", "features", 0, "featureData", "matedEntities", 0, "matedCS"]
ENTITY = CS[:-1]


@pytest.mark.parametrize(
    ("keys", "value", "message"),
    [
        ([*CS, "zAxis"], [0, 0, 0], r"features\[0\].*matedCS: is no rotation"),
        ([*CS, "origin"], [0, 0], "origin: expected 3 entries, found 2"),
        ([*CS, "origin"], [0, 0, "x"], r"origin\[2\]: expected a finite number, found 'x'"),
        ([*ENTITY, "matedOccurrence"], ["leg"], r"matedEntities\[0\]: there is no instance `leg`"),
        ([*ENTITY, "matedOccurrence"], "arm", r"matedOccurrence: expected a list"),
        (["rootAssembly", "instances"], [], "has no parts"),
        (["rootAssembly", "instances"], {}, "instances: expected a list"),
        (["rootAssembly", "occurrences"], [], "has no entry among the occurrences"),
        (["rootAssembly", "occurrences", 0, "transform"], [1.0] * 16, "is no rotation"),
        (["rootAssembly", "instances", 0, "type"], "Assembly", "is not among `subAssemblies`"),
        (["rootAssembly", "features", 0, "featureType"], 3, "expected a string, found 3"),
        (["rootAssembly"], [], "this is no Onshape assembly definition"),
    ],
)
def test_faults_name_the_place(tmp_path: Path, keys: list[Any], value: Any, message: str) -> None:
    text = edit(document(mate("M", "REVOLUTE", np.eye(4))), keys, value)
    with pytest.raises(rg.ReadError, match=message) as error:
        load(tmp_path, text)
    assert "\n" not in str(error.value)


def test_circular_sub_assemblies_are_refused(tmp_path: Path) -> None:
    whole = nested(False)
    sub = whole["subAssemblies"][0]
    sub["instances"] = [{"id": "s", "type": "Assembly", "documentId": "d", "elementId": "sub"}]
    with pytest.raises(rg.ReadError, match="nested deeper than 64 levels; is it circular"):
        load(tmp_path, whole)


def test_damaged_deep_and_large_files(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    text = cad.onshape(cad.planar_four_bar())
    with pytest.raises(rg.ReadError, match=r"assembly\.json:1: not well-formed JSON .* cut off"):
        load(tmp_path, text[:-20])
    with pytest.raises(rg.ReadError, match="nested too deeply"):
        load(tmp_path, '{"rootAssembly":' + "[" * 200_000)
    with open(tmp_path / "huge.json", "w") as file:
        file.write(text)
        file.truncate(2**29)
    with pytest.raises(rg.ReadError, match=f"has {2**29} bytes, more than the"):
        read(tmp_path / "huge.json")


def test_sample() -> None:
    """A robot with two legs, saved where its mates are fulfilled: an open tree of eight hinges."""
    path = CORPUS / "neurobionics_toolkit_test" / "assembly.json"
    if not path.exists():
        pytest.skip("the corpus is not here")
    mechanism = read(path)
    assert mechanism.findings == ()
    reduction = rg.reduce(mechanism)
    assert (reduction.mobility, reduction.graph.loops) == (8, 0)


@pytest.mark.slow
def test_exports_of_cad_systems_name_the_change_to_make_there(tmp_path: Path) -> None:
    path = write_fixture("onshape", "planar_four_bar", tmp_path)
    words = r"make joint `C` spherical .* in Onshape and export"
    with pytest.raises(rg.UnsupportedExport, match=words):
        rg.fix(path)
    with pytest.raises(rg.UnsupportedExport, match="change the joints in Onshape and export it"):
        rg.fix(path, {})


def test_a_direction_that_is_none_is_refused() -> None:
    with pytest.raises(rg.ModelError, match="nonsense"):
        rg.fix(ASSETS / "planar_fourbar.urdf", {"D": "universal:nonsense"})
