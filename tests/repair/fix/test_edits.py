"""Edits of texts, and the model that comes of them against what was meant."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
from pinocchio_cases import massive
from screws import transform
from test_absorb import off
from test_fix import FRAMES, LOOP, PIN, robot

import regularize as rg
from regularize.adapters.common.edits import EditedText, WantedSlack
from regularize.adapters.common.patching import hung
from regularize.adapters.common.xml import XmlDocument
from regularize.adapters.urdf.patch import UrdfPatcher
from regularize.adapters.usd.patch import UsdPlaces
from regularize.mechanism.diagnostic import Source
from regularize.repair.fix.changed_files import unwanted
from regularize.repair.fix.fix import closed_in_file
from regularize.repair.fix.plan import FixPlan, named_kinds

ASSETS = Path(__file__).resolve().parents[3] / "assets"
Y = (0, 1, 0)


def places(text: str) -> XmlDocument:
    return XmlDocument(EditedText("a.xml", text, "utf-8"))


def torn() -> rg.Mechanism:
    """A four-bar whose closing joint is 50 m away from where its loop could be closed."""
    mechanism = rg.load(ASSETS / "planar_fourbar.urdf")
    [closing] = (joint for joint in mechanism.joints if joint.closure)
    return off(mechanism, closing.name, (50.0, 0.0, 0.0))


@pytest.mark.parametrize(
    ("change", "text", "after"),
    [
        ("with_attribute", "<a><b/></a>", '<a><b x="1"/></a>'),
        ("with_attribute", "<a><b /></a>", '<a><b x="1" /></a>'),
        ("with_attribute", "<a><b y='2' ></b></a>", "<a><b y='2' x=\"1\" ></b></a>"),
        ("with_attribute", "<a><b x='2'/></a>", "<a><b x='1'/></a>"),
        ("inside", "<a><b/></a>", "<a><b><c/></b></a>"),
        ("inside", "<a><b><d/></b></a>", "<a><b><c/><d/></b></a>"),
        ("removed", "<a>\n  <b/>\n</a>", "<a>\n</a>"),
        ("removed", "<a>\n  <b/> </a>", "<a>\n   </a>"),
    ],
)
def test_edits_of_an_element(change: str, text: str, after: str) -> None:
    """Attributes after the others, elements first inside; with one goes a line it leaves empty."""
    document = places(text)
    given = {"with_attribute": ("x", "1"), "inside": ("<c/>",), "removed": ()}[change]
    edit = getattr(document.root.nodes[0], change)(*given)
    assert text[: edit.start] + edit.text + text[edit.end :] == after
    with pytest.raises(rg.RegularizeError, match=r"a\.xml: two changes meet at one place"):
        document.source.with_edits([document.root.removed(), document.root.nodes[0].removed()])


def test_texts_that_are_no_xml_and_elements_that_are_gone() -> None:
    for text in ("<a><b></a></b>", "</a>"):
        with pytest.raises(rg.RegularizeError, match="not well-formed"):
            places(text)
    with pytest.raises(rg.RegularizeError, match="not well-formed"):
        places("nothing")
    with pytest.raises(rg.RegularizeError, match="a/c is not found again in the text"):
        places("<a><b/></a>").at(Source("a.xml", 1, "a/c"))


def test_a_link_that_an_element_names_twice_is_not_replaced() -> None:
    text = "<robot>\n<joint><parent link='a'/><child link='a'/></joint>\n</robot>"
    place = places(text).root.nodes[0]
    with pytest.raises(rg.UnsupportedExport, match="<joint> on line 2 does not name link `a` once"):
        hung(place, "a", "b")
    once = places(text.replace("child link='a'", "child link='c'"))
    edit = hung(once.root.nodes[0], "a", "b")
    assert once.source.with_edits([edit]).text == once.text.replace("'a'", "'b'")


# -- the changed model


@pytest.fixture(scope="module")
def bars() -> rg.Mechanism:
    mechanism = rg.load(ASSETS / "planar_fourbar.urdf")
    return massive(mechanism)


@pytest.mark.slow
def test_what_nobody_wanted_is_told(bars: rg.Mechanism) -> None:
    before = rg.reduce(bars)
    planned = FixPlan(before, (), isostatic=False)
    assert unwanted(bars, bars, planned, before) == []
    body, (joint, *others) = bars.bodies[-1], bars.joints

    def told(after: rg.Mechanism) -> str:
        return "; ".join(unwanted(bars, after, planned, before))

    def with_inertia(inertia: rg.Inertia | None) -> rg.Mechanism:
        changed = [replace(b, inertia=inertia) if b is body else b for b in bars.bodies]
        return replace(bars, bodies=tuple(changed))

    assert f"body `{body.name}` gained or lost its mass" in told(with_inertia(None))
    heavy = rg.Inertia(9.0, np.zeros(3), np.eye(3))
    assert f"body `{body.name}` has other mass properties" in told(with_inertia(heavy))
    turned = replace(joint, parent=joint.child, child=joint.parent)
    moved = replace(joint, T_parent_joint=joint.T_parent_joint @ transform(None, (0, 1e-3, 0)))
    for other, words in (
        (turned, "is revolute between other bodies"),
        (moved, "stands or points elsewhere"),
    ):
        assert f"joint `{joint.name}` {words}" in told(replace(bars, joints=(other, *others)))


def test_an_isostatic_plan_leaves_nothing_redundant_and_the_motion_as_it_was(
    bars: rg.Mechanism,
) -> None:
    before = rg.reduce(bars)
    planned = FixPlan(before, (), isostatic=True)
    assert unwanted(bars, bars, planned, before) == ["3 constraint equations stay redundant"]
    held = rg.reduce(
        rg.Mechanism.of_joints("pin", [rg.Joint.in_world("A", "ground", "a", "fixed")])
    )
    assert unwanted(bars, bars, planned, held) == ["the mobility is 0 instead of 1"]
    shaky: Any = SimpleNamespace(redundant=0, mobility=before.mobility, finite_mobility=0)
    (told,) = unwanted(bars, bars, planned, shaky)
    assert told == "the mobility by finite motions is 0 instead of 1"
    wanted = named_kinds(before, {"D": "spherical"})
    (told,) = unwanted(bars, bars, FixPlan(before, wanted, isostatic=False), before)
    assert told == "joint `D` has 1 freedoms and is not spherical"


# -- what cannot be fixed in a file


@pytest.mark.slow
def test_open_loops_are_not_fixed(tmp_path: Path) -> None:
    path = tmp_path / "far.json"
    rg.save(torn(), path)
    with pytest.raises(rg.UnsupportedExport, match="the loops are open"):
        rg.fix(path)


@pytest.mark.slow
def test_gaps_that_no_frame_closes_are_not_blamed_on_the_file() -> None:
    patcher: Any = SimpleNamespace(movable=lambda joint: (False, False))
    with pytest.raises(rg.UnsupportedExport, match="and no change of joint frames as small as the"):
        closed_in_file(torn(), patcher)


@pytest.mark.slow
def test_the_file_of_closing_joints_may_be_named(tmp_path: Path) -> None:
    text = (ASSETS / "planar_fourbar.urdf").read_text()
    start = text.index("<loop")
    open_ = text[:start] + text[text.index("</loop>") + 7 :]
    (tmp_path / "bars.urdf").write_text(open_)
    loops = tmp_path / "closed_by.yaml"
    joint = next(j for j in rg.load(ASSETS / "planar_fourbar.urdf").joints if j.closure)
    point = ", ".join(repr(float(x)) for x in joint.T_parent_joint[:3, 3])
    loops.write_text(
        "closing_joints:\n  - name: D\n    type: revolute\n"
        f"    parent: {joint.parent}\n    child: {joint.child}\n"
        f"    origin_xyz_m: [{point}]\n    axis: [0, 1, 0]\n"
    )
    fix = rg.fix(tmp_path / "bars.urdf", {"D": "spherical"}, loops=str(loops))
    assert fix.mechanism.joint("D").kind == "spherical"
    with pytest.raises(rg.ModelError, match="there is no joint 'E'"):
        rg.fix(tmp_path / "bars.urdf", {"E": "spherical"}, loops=str(loops))


# -- layers


def layer(text: str) -> UsdPlaces:
    return UsdPlaces(EditedText("a.usda", text, "utf-8"))


def test_layers_that_are_cut_off() -> None:
    with pytest.raises(rg.RegularizeError, match=r"a\.usda: braces do not match; correct them"):
        layer("}")
    assert layer("def Xform").prims == {}
    assert layer("over ) { }").prims == {}
    assert [*layer('def Xform "a" ( kind = "x"').prims] == ["/a"]


@pytest.mark.parametrize(
    ("text", "after"),
    [
        ('def "a"\n{\n}\n', 'def "a" (\n    prepend apiSchemas = ["S"]\n)\n{\n}\n'),
        (
            'def "a" (\n    kind = "x"\n)\n{\n}\n',
            'def "a" (\n    prepend apiSchemas = ["S"]\n    kind = "x"\n)\n{\n}\n',
        ),
        (
            'def "a" (\n    prepend apiSchemas = ["R"]\n)\n{\n}\n',
            'def "a" (\n    prepend apiSchemas = ["S", "R"]\n)\n{\n}\n',
        ),
    ],
)
def test_schemas_are_put_before_others(text: str, after: str) -> None:
    places = layer(text)
    edit = places.with_schemas(places.prims["/a"], ["S"])
    assert text[: edit.start] + edit.text + text[edit.end :] == after


@pytest.mark.parametrize(
    ("name", "sidecar"),
    [
        ("loop_closures.yaml", f"ball_loops: [{PIN}}}]\n"),
        ("robot.yaml", "closed_loop: [[one, two]]\ntype: [3d]\n"),
    ],
)
def test_an_implied_closure_on_a_line_with_others_is_refused(
    name: str, sidecar: str, tmp_path: Path
) -> None:
    sides = FRAMES.replace("closing_x_1", "one").replace("closing_x_2", "two")
    path = robot(tmp_path, LOOP if "loop_" in name else sides + LOOP)
    (tmp_path / name).write_text(sidecar)
    mechanism = rg.load(path)
    joint = next(joint for joint in mechanism.joints if joint.closure and joint.name != "D")
    with pytest.raises(
        rg.UnsupportedExport, match=r"yaml:\d+: .* is written on a line with others"
    ):
        UrdfPatcher(mechanism).slack(WantedSlack(removed=(joint,)))
