"""Edits of texts, and the model that comes of them against what was meant."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from test_adapter_contract import write_fixture

import regularize as rg
from regularize.adapters.common.edits import EditedText
from regularize.adapters.common.slack_links import hung
from regularize.adapters.common.xml_places import XmlPlaces
from regularize.errors import ModelError, RegularizeError, UnsupportedExport
from regularize.fixing.comparison import unwanted
from regularize.fixing.plan import FixPlan
from regularize.model.body import Inertia
from regularize.model.diagnostic import Source
from regularize.model.mechanism import Mechanism, joint_in_world, mechanism_of

ASSETS = Path(__file__).resolve().parents[1] / "assets"
Y = (0, 1, 0)


def places(text: str) -> XmlPlaces:
    return XmlPlaces(EditedText("a.xml", text, "utf-8"))


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


# -- what cannot be fixed in a file


def test_open_loops_are_not_fixed(tmp_path: Path) -> None:
    mechanism = rg.load(ASSETS / "planar_fourbar.urdf")
    closing = next(joint for joint in mechanism.joints if joint.closure)
    shift = np.eye(4)
    shift[0, 3] = 50.0
    far = replace(closing, T_parent_joint=closing.T_parent_joint @ shift)
    joints = tuple(far if joint is closing else joint for joint in mechanism.joints)
    path = tmp_path / "far.json"
    rg.save(replace(mechanism, joints=joints), path)
    with pytest.raises(UnsupportedExport, match="the loops are open"):
        rg.fix(path)


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
