"""Equations that are said twice, between the same two bodies and among fixed joints."""

from __future__ import annotations

from pathlib import Path

import cad_fixtures as cad
import numpy as np
import pytest
from cad_fixtures import freecad_joint, freecad_object, freecad_placement, freecad_property
from screws import transform

import regularize as rg
from regularize.cli import main

#: Mates of two parts of FreeCAD: type, axis of the frame, and how many equations are said twice.
MATES = {
    "three faces": ([("Distance", axis) for axis in np.eye(3)], 3, 0),
    "plane twice": ([("Distance", np.eye(3)[2])] * 2, 3, 3),
    "plane and parallel": ([("Distance", np.eye(3)[2]), ("Parallel", np.eye(3)[2])], 2, 3),
    "axis and face": ([("Cylindrical", np.eye(3)[2]), ("Distance", np.eye(3)[2])], 2, 1),
    "two hinges": ([("Revolute", np.eye(3)[2])] * 2, 5, 1),
}


def along(x: float) -> np.ndarray:
    """The shift by a length along X, shape (4, 4)."""
    return transform(np.eye(3), [x, 0.0, 0.0])


def document(parts: dict[str, float], joints: list[str], grounded: str = "a") -> bytes:
    """A FreeCAD assembly of parts at places along X, in metres, some of which are grounded."""
    types, data = {"Assembly": "Assembly::AssemblyObject"}, []
    for name, x in parts.items():
        types[name] = "Part::Feature"
        T = freecad_placement(along(x))
        data.append(freecad_object(name, name, freecad_property("Placement", "Placement", T)))
    for name in grounded:
        types[f"G{name}"] = "App::FeaturePython"
        link = freecad_property("ObjectToGround", "Link", f'<Link value="{name}"/>')
        data.append(freecad_object(f"G{name}", f"G{name}", link))
    types |= {f"J{k}": "App::FeaturePython" for k in range(len(joints))}
    group = cad.freecad_links("Group", [name for name in types if name != "Assembly"])
    return cad.freecad_document(
        types, [freecad_object("Assembly", "Assembly", group), *data, *joints]
    )


def welds(*offsets: tuple[str, str, float]) -> list[str]:
    """Fixed joints of two parts, and how far the second is from the first along X, in metres."""
    return [
        freecad_joint(f"J{k}", "Fixed", ((f"{one}.", along(x)), (f"{two}.", np.eye(4))))
        for k, (one, two, x) in enumerate(offsets)
    ]


def report(path: Path) -> rg.Report:
    return rg.check(rg.load(path), trials=False)


def mated(case: str, path: Path) -> Path:
    """The file of two parts of FreeCAD and the mates of a case."""
    mates, _, _ = MATES[case]
    joints = []
    for k, (kind, axis) in enumerate(mates):
        T = cad.frame((0.0, 0.0, 0.1 * k if kind == "Revolute" else 0.0), axis)
        ends = (("a.Face1", T), ("b.Face2", along(-0.1) @ T))
        zero = freecad_property("Distance", "Float", '<Float value="0.0"/>')
        joints.append(freecad_joint(f"J{k}", kind, ends, zero))
    path.write_bytes(document({"a": 0.0, "b": 0.1}, joints))
    return path


@pytest.mark.parametrize("case", MATES)
def test_equations_between_two_parts_of_freecad(case: str, tmp_path: Path) -> None:
    _, count, mobility = MATES[case]
    found = report(mated(case, tmp_path / "m.FCStd"))
    said = found.as_dict()
    assert (said["mobility"]["redundant"], said["mobility"]["actual"]) == (count, mobility)
    assert said["mobility"]["gruebler"] == mobility - count
    assert said["redundancy"]["repeated"] == sum(said["redundancy"].values()) == count
    assert f"{count} equations between `a` and `b` are said twice" in " ".join(str(found).split())
    rg.save(found.mechanism, tmp_path / "m.json")
    assert report(tmp_path / "m.json").as_dict()["redundancy"] == said["redundancy"]
    assert rg.isostatic(found.mechanism).equivalent


def triangle(shift: float = 0.0) -> rg.Mechanism:
    """Three bodies on a hinge and welded to each other, the last weld off by a shift along X."""
    made = rg.assembly("triangle")
    for name in "pqr":
        made.body(name, mass=1.0, com=(0, 0, 0), inertia=np.eye(3))
    made.hinge("H", "ground", "p", at=(0, 0, 0), axis=(0, 0, 1))
    places = {"p": np.eye(4), "q": along(0.1), "r": along(0.2)}
    model = made.mechanism()
    fixed = [
        rg.Joint(f"F{k}", a, b, "fixed", np.zeros((6, 0)), np.linalg.inv(places[a]) @ places[b])
        for k, (a, b) in enumerate(("pq", "qr", "pr"))
    ]
    off = rg.Joint("F2", "p", "r", "fixed", np.zeros((6, 0)), along(0.2 + shift))
    joints = (*model.joints, *fixed[:2], off)
    return rg.Mechanism("triangle", model.bodies, joints, ground=model.ground)


@pytest.mark.parametrize("name", ["m.json", "m.sdf", "m.urdf", "m.xml", "m.usda"])
def test_welds_in_a_ring_count_alike_in_every_format(name: str, tmp_path: Path) -> None:
    if name == "m.usda":
        pytest.importorskip("pxr")
    rg.save(triangle(), tmp_path / name)
    found = report(tmp_path / name)
    said = found.as_dict()
    assert (said["mobility"]["redundant"], said["redundancy"]["repeated"]) == (6, 6)
    assert said["mobility"]["actual"] == 1
    assert [d.code for d in found.diagnostics if d.severity == "warning"] == ["REG216"]


def test_welds_in_a_ring_are_no_burden_to_motions(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    robot = rg.to_pinocchio(rg.reduce(triangle()))
    assert (robot.nv, len(robot.constraint_models)) == (1, 0)
    rg.save(triangle(), tmp_path / "m.sdf")
    files = [str(tmp_path / "m.sdf"), "--to", "sdf", "-o", str(tmp_path / "x")]
    assert main(["reduce", *files, "--fail-on", "never"]) == 0
    assert "6 before, 0 after" in capsys.readouterr().out
    assert report(tmp_path / "x" / "m.sdf").reduction.redundant == 0


@pytest.mark.parametrize("name", ["m.json", "m.FCStd", "m.urdf"])
def test_welds_that_contradict_are_said_in_millimetres(name: str, tmp_path: Path) -> None:
    path = tmp_path / name
    if name == "m.FCStd":  # whose placements were saved askew
        ring = welds(("a", "b", 0.01), ("b", "c", 0.01), ("a", "c", 0.021))
        path.write_bytes(document({"a": 0.0, "b": 0.013, "c": 0.02}, ring))
    elif name == "m.json":
        rg.save(triangle(0.001), path)
    else:
        text = "".join(f'<link name="{n}"/>' for n in "abc")
        text += '<joint name="F" type="fixed"><parent link="a"/><child link="b"/></joint>'
        text += '<joint name="G" type="fixed"><parent link="b"/><child link="c"/></joint>'
        text += '<loop name="L" type="fixed"><predecessor link="a"><origin xyz="0.001 0 0"/>'
        path.write_text(f'<robot name="m">{text}</predecessor><successor link="c"/></loop></robot>')
    found = report(path)
    (error,) = (d for d in found.diagnostics if d.severity == "error")
    assert "1 mm stay open" in error.message and "1 mm along X" in error.help[0]
    advice = " ".join(line for finding in found.diagnostics for line in finding.help)
    assert "solve the assembly" not in advice and "are said twice" not in str(found)


def test_parts_that_are_both_grounded_are_named(tmp_path: Path) -> None:
    hinge = freecad_joint("J0", "Revolute", (("a.", along(0.1)), ("b.", np.eye(4))))
    (tmp_path / "m.FCStd").write_bytes(document({"a": 0.0, "b": 0.1}, [hinge], "ab"))
    found = report(tmp_path / "m.FCStd")
    (finding,) = (d for d in found.diagnostics if d.code == "REG216")
    assert "`J0` joins two parts that are both grounded, `a` and `b`" in finding.message
    assert finding.help[0] == "ground one part only: leave `Ga` or `Gb` out"
    assert found.reduction.redundant == 5 and not found.cures
    with pytest.raises(rg.UnsupportedExport, match="what `J0` said twice"):
        rg.fix(tmp_path / "m.FCStd")
    assert rg.fix(tmp_path / "m.FCStd", remove=True).reduction.redundant == 0


@pytest.mark.parametrize("case", ["plane twice", "plane and parallel", "ring"])
def test_what_is_said_twice_is_suppressed_in_freecad(case: str, tmp_path: Path) -> None:
    path = tmp_path / "m.FCStd"
    if case == "ring":
        ring = welds(("a", "b", 0.01), ("b", "c", 0.01), ("a", "c", 0.02))
        path.write_bytes(document({"a": 0.0, "b": 0.01, "c": 0.02}, ring))
    else:
        mated(case, path)
    trials = rg.check(path, trials=True).trials
    assert trials is not None and trials.taken_out.command.endswith("m.FCStd -o fixed/")
    fixed = rg.fix(path)
    after = rg.reduce(fixed.write(tmp_path / "fixed.FCStd"))
    assert (after.redundant, after.mobility) == (0, rg.reduce(path).mobility)
    assert len(fixed.slack.removed) == 1


def test_parts_that_are_fixed_together_keep_their_names(tmp_path: Path) -> None:
    ends = ((("a.Face1", 0.0), ("c.Face1", 0.0)), (("b.Face1", 0.3), ("d.Face1", 0.3)))
    hinges = [
        freecad_joint(f"J{k}", "Revolute", [(at, cad.frame((0, 0, z))) for at, z in pair])
        for k, pair in enumerate(ends, 2)
    ]
    joints = [*welds(("a", "b", 0.0), ("c", "d", 0.0)), *hinges]
    (tmp_path / "m.FCStd").write_bytes(document(dict.fromkeys("abcd", 0.0), joints))
    text = " ".join(str(report(tmp_path / "m.FCStd")).split())
    assert "2 bodies of 4 parts" in text and "a+b ─J2─ c+d ═J3═ a+b" in text
    assert "c and d rotate about J2" in text


def test_what_no_mate_alone_says_stays_and_is_named(tmp_path: Path) -> None:
    with pytest.raises(rg.UnsupportedExport, match=r"`J0[+]J1[+]J2` said twice.*make mates one"):
        rg.fix(mated("three faces", tmp_path / "m.FCStd"))
    page = str(tmp_path / "m.html")  # of one body
    assert main(["show", str(tmp_path / "m.FCStd"), "-o", page]) == 0
