"""Edits of texts, and the model that comes of them against what was meant."""

from __future__ import annotations

import io
import zipfile
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
from test_adapter_contract import write_fixture

import regularize as rg
from regularize.adapters.common.edits import EditedText
from regularize.adapters.common.slack_links import hung
from regularize.adapters.common.xml_places import XmlPlaces
from regularize.adapters.freecad.archive import with_member
from regularize.adapters.usd.text_places import UsdPlaces
from regularize.errors import ModelError, RegularizeError, UnsupportedExport
from regularize.fixing.comparison import unwanted
from regularize.fixing.moving import closed_in_file
from regularize.fixing.plan import FixPlan, named_kinds
from regularize.model.body import Inertia
from regularize.model.diagnostic import Source
from regularize.model.mechanism import Mechanism, joint_in_world, mechanism_of

ASSETS = Path(__file__).resolve().parents[1] / "assets"
Y = (0, 1, 0)


def places(text: str) -> XmlPlaces:
    return XmlPlaces(EditedText("a.xml", text, "utf-8"))


def torn() -> Mechanism:
    """A four-bar whose closing joint is 50 m away from where its loop could be closed."""
    mechanism = rg.load(ASSETS / "planar_fourbar.urdf")
    shift = np.eye(4)
    shift[0, 3] = 50.0
    joints = [
        replace(joint, T_parent_joint=joint.T_parent_joint @ shift) if joint.closure else joint
        for joint in mechanism.joints
    ]
    return replace(mechanism, joints=tuple(joints))


@pytest.mark.parametrize(
    ("text", "after"),
    [
        ("<a><b/></a>", '<a><b x="1"/></a>'),
        ("<a><b /></a>", '<a><b x="1" /></a>'),
        ("<a><b y='2' ></b></a>", "<a><b y='2' x=\"1\" ></b></a>"),
        ("<a><b x='2'/></a>", "<a><b x='1'/></a>"),
    ],
)
def test_an_attribute_is_put_where_the_others_end(text: str, after: str) -> None:
    edit = places(text).root.children[0].with_attribute("x", "1")
    assert text[: edit.start] + edit.text + text[edit.end :] == after


@pytest.mark.parametrize(
    ("text", "after"),
    [("<a><b/></a>", "<a><b><c/></b></a>"), ("<a><b><d/></b></a>", "<a><b><c/><d/></b></a>")],
)
def test_an_element_is_put_first_inside(text: str, after: str) -> None:
    edit = places(text).root.children[0].inside("<c/>")
    assert text[: edit.start] + edit.text + text[edit.end :] == after


def test_an_element_goes_with_the_line_that_it_leaves_empty() -> None:
    for text, after in (("<a>\n  <b/>\n</a>", "<a>\n</a>"), ("<a>\n  <b/> </a>", "<a>\n   </a>")):
        edit = places(text).root.children[0].removed()
        assert text[: edit.start] + edit.text + text[edit.end :] == after


def test_texts_that_are_no_xml_and_elements_that_are_gone() -> None:
    for text in ("<a><b></a></b>", "</a>"):
        with pytest.raises(RegularizeError, match="tags do not match"):
            places(text)
    with pytest.raises(RegularizeError, match="holds no XML element"):
        places("nothing")
    with pytest.raises(RegularizeError, match="a/c is not found again in the text"):
        places("<a><b/></a>").at(Source("a.xml", 1, "a/c"))


def test_the_first_element_is_the_root_and_edits_do_not_meet() -> None:
    document = places("<a><b/></a><c/>")
    assert document.root.tag == "a"
    [child] = document.root.children
    with pytest.raises(RegularizeError, match=r"a\.xml: two changes meet at one place"):
        document.source.with_edits([document.root.removed(), child.removed()])


def test_a_link_that_an_element_names_twice_is_not_replaced() -> None:
    text = "<robot>\n<joint><parent link='a'/><child link='a'/></joint>\n</robot>"
    place = places(text).root.children[0]
    with pytest.raises(UnsupportedExport, match="<joint> on line 2 does not name link `a` once"):
        hung(place, "a", "b")
    once = places(text.replace("child link='a'", "child link='c'"))
    edit = hung(once.root.children[0], "a", "b")
    assert once.source.with_edits([edit]).text == once.text.replace("'a'", "'b'")


# -- the changed model


@pytest.fixture(scope="module")
def bars() -> Mechanism:
    mechanism = rg.load(ASSETS / "planar_fourbar.urdf")
    weighed = Inertia(1.0, np.zeros(3), np.eye(3))
    bodies = [
        replace(body, inertia=None if body.name == mechanism.ground else weighed)
        for body in mechanism.bodies
    ]
    return replace(mechanism, bodies=tuple(bodies))


def test_what_nobody_wanted_is_told(bars: Mechanism) -> None:
    before = rg.reduce(bars)
    planned = FixPlan(before, (), isostatic=False)
    assert unwanted(bars, bars, planned, before) == []
    body, joint = bars.bodies[-1], bars.joints[0]

    def told(after: Mechanism) -> str:
        return "; ".join(unwanted(bars, after, planned, before))

    def with_inertia(inertia: Inertia | None) -> Mechanism:
        changed = [replace(b, inertia=inertia) if b is body else b for b in bars.bodies]
        return replace(bars, bodies=tuple(changed))

    assert f"body `{body.name}` gained or lost its mass" in told(with_inertia(None))
    heavy = Inertia(9.0, np.zeros(3), np.eye(3))
    assert f"body `{body.name}` has other mass properties" in told(with_inertia(heavy))
    turned = replace(joint, parent=joint.child, child=joint.parent)
    others = bars.joints[1:]
    assert f"joint `{joint.name}` is revolute between other bodies" in told(
        replace(bars, joints=(turned, *others))
    )
    shift = np.eye(4)
    shift[1, 3] = 1e-3
    moved = replace(joint, T_parent_joint=joint.T_parent_joint @ shift)
    assert f"joint `{joint.name}` stands or points elsewhere" in told(
        replace(bars, joints=(moved, *others))
    )


def test_an_isostatic_plan_leaves_nothing_redundant_and_the_motion_as_it_was(
    bars: Mechanism,
) -> None:
    before = rg.reduce(bars)
    planned = FixPlan(before, (), isostatic=True)
    assert unwanted(bars, bars, planned, before) == ["3 constraint equations stay redundant"]
    held = rg.reduce(mechanism_of("pin", [joint_in_world("A", "ground", "a", "fixed")]))
    (told,) = unwanted(bars, bars, planned, held)
    assert told == "the mobility is 0 instead of 1"


def test_freedoms_that_are_wanted_and_finite_motions_that_are_lost(bars: Mechanism) -> None:
    before = rg.reduce(bars)
    wanted = named_kinds(before, {"D": "spherical"})
    (told,) = unwanted(bars, bars, FixPlan(before, wanted, isostatic=False), before)
    assert told == "joint `D` has 1 freedoms and is not spherical"
    shaky: Any = SimpleNamespace(redundant=0, mobility=before.mobility, finite_mobility=0)
    (told,) = unwanted(bars, bars, FixPlan(before, (), isostatic=True), shaky)
    assert told == "the mobility by finite motions is 0 instead of 1"


# -- what cannot be fixed in a file


def test_open_loops_are_not_fixed(tmp_path: Path) -> None:
    path = tmp_path / "far.json"
    rg.save(torn(), path)
    with pytest.raises(UnsupportedExport, match="the loops are open"):
        rg.fix(path)


def test_gaps_that_no_frame_closes_are_not_blamed_on_the_file() -> None:
    patcher: Any = SimpleNamespace(movable=lambda joint: (False, False))
    with pytest.raises(UnsupportedExport, match="and no change of joint frames as small as the"):
        closed_in_file(torn(), patcher)


def test_formats_that_are_not_edited_say_what_to_do(tmp_path: Path) -> None:
    solver = write_fixture("mbdyn", "planar_four_bar", tmp_path)
    with pytest.raises(UnsupportedExport, match="cannot be edited in place; write it anew"):
        rg.fix(solver)
    export = write_fixture("onshape", "planar_four_bar", tmp_path)
    with pytest.raises(UnsupportedExport, match="make joint `B` spherical in Onshape and export"):
        rg.fix(export, {"B": "spherical"})
    isostatic = rg.load(write_fixture("json", "planar_four_bar", tmp_path))
    fixed = rg.fix(isostatic)
    assert fixed.diff and fixed.reduction.redundant == 0


def test_what_to_change_elsewhere_and_directions_that_are_none(tmp_path: Path) -> None:
    export = write_fixture("onshape", "planar_four_bar", tmp_path)
    with pytest.raises(UnsupportedExport, match="change the joints in Onshape and export it again"):
        rg.fix(export, {})
    with pytest.raises(ModelError, match="nonsense"):
        rg.fix(ASSETS / "planar_fourbar.urdf", {"D": "universal:nonsense"})


def test_loops_that_cannot_be_closed_are_not_written(tmp_path: Path) -> None:
    with pytest.raises(UnsupportedExport, match="SDF holds no open loops, and those of the model"):
        rg.save(torn(), tmp_path / "far.sdf")


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
    with pytest.raises(ModelError, match="there is no joint 'E'"):
        rg.fix(tmp_path / "bars.urdf", {"E": "spherical"}, loops=str(loops))


# -- archives and layers


class Pipe(io.BytesIO):
    """Takes bytes one after another, so that sizes stand behind members."""

    def seekable(self) -> bool:
        return False


@pytest.mark.parametrize("stream", [io.BytesIO, Pipe])
@pytest.mark.parametrize("name", ["a", "b", "c"])
def test_one_member_of_an_archive_changes(stream: type[io.BytesIO], name: str) -> None:
    packed = stream()
    with zipfile.ZipFile(packed, "w", zipfile.ZIP_DEFLATED) as archive:
        for each in "abc":
            archive.writestr(each, each * 1000)
    changed = with_member(packed.getvalue(), name, b"other" * 99, "x.FCStd")
    with zipfile.ZipFile(io.BytesIO(changed)) as archive:
        assert archive.testzip() is None
        found = {each: archive.read(each) for each in archive.namelist()}
    wanted = {each: each.encode() * 1000 for each in "abc"}
    assert found == {**wanted, name: b"other" * 99}


def layer(text: str) -> UsdPlaces:
    return UsdPlaces(EditedText("a.usda", text, "utf-8"))


def test_layers_that_are_cut_off() -> None:
    with pytest.raises(RegularizeError, match=r"a\.usda: braces do not match; correct them"):
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
