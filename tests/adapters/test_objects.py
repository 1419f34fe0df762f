"""Objects of URDF parsers: the same mechanism as from the file, and nothing invented."""

from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
from on_demand import OnDemand, needs

import regularize as rg

pytestmark = needs("urchin", "yourdfpy")
urchin: Any = OnDemand("urchin")
yourdfpy: Any = OnDemand("yourdfpy")


@pytest.fixture
def arm() -> Path:
    return Path(__file__).with_name("arm.urdf")


@pytest.mark.parametrize("parser", [urchin, yourdfpy], ids=["urchin", "yourdfpy"])
@pytest.mark.filterwarnings("ignore")
def test_same_mechanism_as_from_the_file(arm: Path, parser: Any) -> None:
    expected = rg.load(arm)
    found = rg.load(parser.URDF.load(str(arm)))
    assert [b.name for b in found.bodies] == [b.name for b in expected.bodies]
    assert found.ground == expected.ground and found.name == "arm"
    for one, two in zip(found.joints, expected.joints, strict=True):  # numbers: test_doors.py
        named = [(j.name, j.parent, j.child, j.kind, j.limits is None) for j in (one, two)]
        assert named[0] == named[1]
        assert np.allclose(one.T_parent_joint, two.T_parent_joint, atol=1e-12)
    for first, second in zip(found.bodies, expected.bodies, strict=True):
        assert (first.inertia is None) == (second.inertia is None), first.name
        kinds = sorted((g.kind, g.collision, tuple(g.size)) for g in first.geometry)
        assert kinds == sorted((g.kind, g.collision, tuple(g.size)) for g in second.geometry)
    if parser is urchin:  # the other one drops transmissions
        motors = [[(a.name, a.joint, a.gear) for a in m.actuators] for m in (found, expected)]
        assert motors[0] == motors[1] == [("m", "shoulder", 1.0)]
    assert found.couplings[0].terms == expected.couplings[0].terms
    assert found.couplings[0].offset == expected.couplings[0].offset


@pytest.mark.filterwarnings("ignore")
def test_inventions_are_recognised(arm: Path) -> None:
    parsed = urchin.URDF.load(str(arm))
    assert parsed.link_map["base"].inertial.mass == 1.0
    found = rg.load(parsed)
    assert found.body("base").inertia is None and found.body("lower").inertia is not None
    (note,) = [f for f in found.findings if f.code == "REG014"]
    assert "base" in note.message and "tool" in note.message
    assert found.joint("shoulder").actuated


@pytest.mark.filterwarnings("ignore")
def test_floating_base(arm: Path) -> None:
    found = rg.load(urchin.URDF.load(str(arm)), floating=True)
    assert found.ground == "world"
    assert found.joint("floating_base").freedoms == 6


def link(name: str, *shapes: Any) -> Any:
    visuals = [SimpleNamespace(geometry=shape, origin=None) for shape in shapes]
    return SimpleNamespace(name=name, inertial=None, visuals=visuals, collisions=None)


def hinge(name: str, kind: str = "revolute", **more: Any) -> Any:
    given = {"parent": "a", "child": "b", "origin": None, "axis": None, "mimic": None, **more}
    return SimpleNamespace(name=name, joint_type=kind, **{"limit": None, **given})


def robot(links: list[Any], joints: list[Any]) -> Any:
    return SimpleNamespace(name="r", links=links, joints=joints)


@pytest.mark.parametrize(
    ("links", "joints", "words"),
    [
        ([], [], "has no <link>; a model needs at least one"),
        ([link("a"), link("a")], [], "the link name `a` is taken"),
        ([link("a"), link("b")], [hinge("j"), hinge("j")], "the joint name `j` is taken"),
        ([link("a"), link("b")], [hinge("j", "hinge")], "type 'hinge' is unknown; expected one of"),
    ],
)
def test_objects_that_contradict_themselves(links: Any, joints: Any, words: str) -> None:
    with pytest.raises(rg.ModelError, match=words):
        rg.load(robot(links, joints))


def test_what_objects_leave_out_stays_unknown() -> None:
    mesh = SimpleNamespace(mesh=SimpleNamespace(filename="a.stl", scale=None))
    rated = SimpleNamespace(lower=None, upper=None, effort=3.0, velocity=None)
    limited = SimpleNamespace(lower=-1.0, upper=None, effort=None, velocity=None)
    links = [link("a", mesh, None, SimpleNamespace()), link("b"), link("c"), link("d")]
    joints = [
        hinge("j", limit=rated, dynamics=SimpleNamespace(damping=0.5, friction=None)),
        hinge("k", "continuous", child="c", limit=rated),
        hinge("l", child="d", limit=limited),
    ]
    found = rg.load(robot(links, joints))
    (shape,) = found.body("a").geometry
    assert (shape.kind, shape.uri, list(shape.size)) == ("mesh", "a.stl", [1.0, 1.0, 1.0])
    j, k, l_ = (found.joint(name) for name in "jkl")
    assert j.limits is not None and j.limits.lower is None and j.limits.effort == [3.0]
    assert j.dynamics.damping == [0.5] and j.dynamics.friction is None
    assert k.limits is not None and k.limits.lower == [-np.inf] and k.limits.effort == [3.0]
    assert l_.limits is not None and (l_.limits.lower, l_.limits.upper) == ([-1.0], [0.0])


def test_other_objects_are_refused() -> None:
    with pytest.raises(rg.ModelError, match="type 'dict'"):
        rg.load({"links": []})
