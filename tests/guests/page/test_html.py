"""The HTML report: what it holds, and that it is valid and offline."""

from __future__ import annotations

import base64
import hashlib
import json
import re
from collections import Counter
from dataclasses import replace
from html.parser import HTMLParser
from pathlib import Path
from urllib.parse import unquote

import numpy as np
import pytest
import trimesh

import regularize as rg
from regularize.guests.page.animation import branch_numbers
from regularize.guests.page.html import index, render
from regularize.guests.page.page_data import kinematics_data
from regularize.mechanism.body import Geometry
from regularize.mechanism.diagnostic import Diagnostic
from regularize.report.listing import line_of

VOID = {"meta", "link", "input", "br"}


class Page(HTMLParser):
    """Elements, identifiers and text of a page; complains about elements left open."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.elements: list[tuple[str, dict[str, str | None]]] = []
        self.open: list[str] = []
        self.scripts: dict[str, str] = {}
        self.words: list[str] = []
        self.feed(text)
        self.close()
        assert self.open == [], f"never closed: {self.open}"

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.elements.append((tag, dict(attrs)))
        if tag not in VOID:
            self.open.append(tag)

    def handle_startendtag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.elements.append((tag, dict(attrs)))

    def handle_endtag(self, tag: str) -> None:
        assert self.open.pop() == tag

    def handle_data(self, data: str) -> None:
        if self.open and self.open[-1] == "script":
            self.scripts[self.elements[-1][1].get("id") or ""] = data
        else:
            self.words.append(data)


@pytest.fixture(scope="module")
def fourbar(assets: Path) -> rg.Report:
    return rg.check(rg.load(assets / "planar_fourbar.urdf"))


@pytest.fixture(scope="module")
def text(fourbar: rg.Report) -> str:
    return render(fourbar)


@pytest.mark.slow
def test_page_is_well_formed_and_says_what_it_is(text: str) -> None:
    page = Page(text)
    tags = Counter(tag for tag, _ in page.elements)
    assert tags["h1"] == tags["main"] == tags["header"] == tags["footer"] == 1
    assert next(attrs for tag, attrs in page.elements if tag == "html")["lang"] == "en"
    said = " ".join(page.words)
    for words in ("True mobility 1", "REG201", "What moves", "Reactions that cannot be trusted"):
        assert words in said


@pytest.mark.slow
def test_no_line_ends_within_an_option_of_a_command(assets: Path) -> None:
    close = ("close all: regularize check model.urdf --close '*_1=*_2:ball'",)
    finding = Diagnostic("REG019", "note", "frames are named in pairs", help=close)
    mechanism = replace(rg.load(assets / "planar_fourbar.urdf"), findings=(finding,))
    text = render(rg.check(mechanism))
    commands = re.findall("<p>→ [^<]*: <code>(regularize .*?)</code>", text)
    assert commands
    for command in commands:
        plain = re.sub('<span class="option">.*?</span>', "", command)
        assert not re.search(r"(?<!\S)-", plain), command
    assert re.search(r"code \.option \{ white-space: nowrap", text)


@pytest.mark.slow
def test_nothing_is_fetched(text: str) -> None:
    assert not re.search(r"""(?:src|href)\s*=\s*["']?(?:https?:|//)""", text)
    assert not re.search(r"@import|url\(|\bfetch\(|XMLHttpRequest|import\(|WebSocket", text)
    assert len(text) < 300_000


def test_a_page_runs_its_own_scripts_and_no_others(text: str) -> None:
    """Whatever else may get onto a page is not run: handlers, addresses, scripts."""
    (policy,) = re.findall('<meta http-equiv="Content-Security-Policy" content="([^"]*)">', text)
    rules = dict(rule.strip().split(" ", 1) for rule in policy.split(";"))
    own = re.findall(r"<script>(.*?)</script>", text, re.S)
    digests = [base64.b64encode(hashlib.sha256(each.encode()).digest()).decode() for each in own]
    assert rules["script-src"] == " ".join(f"'sha256-{digest}'" for digest in digests)
    assert rules["default-src"] == rules["connect-src"] == "'none'"


def test_identifiers_are_unique_and_controls_have_names(text: str) -> None:
    page = Page(text)
    ids = [attrs["id"] for _, attrs in page.elements if attrs.get("id")]
    assert len(ids) == len(set(ids))
    for tag in ("input", "select"):
        assert text.count(f"<{tag}") == sum(1 for t, _ in page.elements if t == tag)
        # Every control stands in the label that names it.
        for match in re.finditer(f"<{tag}", text):
            before = text[: match.start()]
            assert before.rfind("<label") > before.rfind("</label")
    assert all(attrs.get("scope") for tag, attrs in page.elements if tag == "th")


def test_the_json_report_is_embedded(text: str, fourbar: rg.Report) -> None:
    embedded = json.loads(Page(text).scripts["report"])
    whole = json.dumps(fourbar.as_dict())
    folder = str(Path(fourbar.mechanism.path or "").parent)
    assert folder in whole and folder not in text  # a page is made to be sent
    assert embedded == json.loads(whole.replace(f"{folder}/", ""))


def test_scene_data_is_complete(text: str, fourbar: rg.Report) -> None:
    scene = json.loads(Page(text).scripts["scene"])
    assert {piece["layer"] for piece in scene["pieces"]} == {"bodies", "joints", "axes"}
    names = {"j": "joints", "b": "bodies", "l": "loops", "f": "findings"}
    for piece in scene["pieces"]:
        assert piece["node"] < len(scene["poses"])
        assert int(piece["ref"][1:]) < len(scene[names[piece["ref"][0]]])
        corners = np.frombuffer(base64.b64decode(piece["vertices"]), "<u2").reshape(-1, 3)
        faces = np.frombuffer(base64.b64decode(piece["faces"]), "<u2")
        assert len(faces) == piece["count"] and faces.max() < len(corners)
    (entry,) = scene["redundant"]
    assert scene["joints"][int(entry["ref"][1:])]["name"] == "D" and entry["loop"] == "l0"
    assert Counter(s["shape"] for s in entry["shapes"]) == {"force": 1, "moment": 2}
    assert scene["branches"] == [] and scene["trajectory"] is None
    # The other way to assemble a four-bar is its mirror image about the diagonal.
    (mode,) = scene["modes"]
    r = fourbar.reduction
    q = np.array(mode["q"])
    assert np.max(np.abs(r.loops.residual(r.loops.state(q)))) < 1e-9
    assert q[0] == pytest.approx(r.q[0]) and abs(q[1] - r.q[1]) > 0.1


@pytest.mark.slow
@pytest.mark.parametrize("name", ["planar_fourbar", "three_prrr", "stewart_6ups"])
def test_the_page_moves_by_the_kept_rows(name: str, assets: Path) -> None:
    """Five and two for the four-bar, ten and seven for the 3-PRRR."""
    reduction = rg.reduce(rg.load(assets / f"{name}.urdf"), configurations=0)
    data = kinematics_data(reduction, 1.0)
    assert sum(len(loop["kept"]) for loop in data["loops"]) == reduction.kept
    assert sum(len(loop["implied"]) for loop in data["loops"]) == reduction.removed
    assert all(sum(len(loop[k]) for k in ("kept", "own", "implied")) == 6 for loop in data["loops"])
    assert len(data["freedoms"]) == reduction.mobility
    assert len(data["tree"]) == data["nodes"] - 1
    for freedom in data["freedoms"]:
        assert freedom["column"] not in freedom["held"]
    assert json.loads(json.dumps(data, allow_nan=False)) == json.loads(json.dumps(data))


@pytest.mark.slow
def test_branches_are_named_where_each_cell_has_its_own(assets: Path) -> None:
    """Two windows that are flat: four branches, of which pages name those of one cell at a time."""
    report = rg.check(rg.load(assets / "mobility" / "two_windows_flat.urdf"), configurations=5)
    reduction = report.reduction
    numbers = branch_numbers(reduction)
    assert numbers and numbers[0] == 1 and len(numbers) == len(set(numbers))
    data = json.loads(Page(render(report)).scripts["scene"])
    assert [branch["number"] for branch in data["branches"]] == numbers
    for branch in data["branches"]:
        mobility, _ = reduction.components[branch["number"] - 1]
        assert branch["name"] == f"branch {branch['number']}: mobility {mobility}"
        state = reduction.loops.state(np.array(branch["q"]))
        assert np.max(np.abs(reduction.loops.residual(state))) < 1e-7
    assert {f["branch"] for f in data["kinematics"]["freedoms"]} <= {0, *numbers}


@pytest.mark.slow
def test_shaky_mechanisms_come_with_their_way(assets: Path) -> None:
    """Their velocities do not tell where they go; the page is given closed configurations."""
    reduction = rg.reduce(rg.load(assets / "shaky_7r.urdf"), configurations=0)
    (freedom,) = kinematics_data(reduction, 1.0)["freedoms"]
    way = np.array(freedom["path"])
    assert len(way) >= 3 and np.ptp(way[:, freedom["column"]]) > 0.02
    residual = reduction.loops.residual(reduction.loops.state(way))
    assert np.max(np.abs(residual)) < 1e-6
    fourbar = rg.reduce(rg.load(assets / "planar_fourbar.urdf"), configurations=0)
    assert kinematics_data(fourbar, 1.0)["freedoms"][0]["path"] is None


def test_joints_that_are_split_are_known_by_their_whole() -> None:
    """A loop that is closed by a universal joint: its parts have no body of their own between."""
    points = [(0, 0, 0), (0, 0.3, 0), (0.4, 0.3, 0)]
    joints = [
        rg.Joint.in_world("A", "ground", "crank", "universal", (0, 0, 1), point=points[0]),
        rg.Joint.in_world("B", "crank", "rod", "spherical", point=points[1]),
        rg.Joint.in_world(
            "C", "rod", "ground", "universal", (0, 0, 1), point=points[2], closure=True
        ),
    ]
    scene = json.loads(
        Page(render(rg.check(rg.Mechanism.of_joints("split", joints)))).scripts["scene"]
    )
    assert [joint["name"] for joint in scene["joints"]] == ["A", "B", "C"]
    assert set(scene["loops"][0]["refs"]) == {"j0", "j1", "j2", "b0", "b1", "b2"}


@pytest.mark.slow
def test_shapes_keep_to_their_budget(tmp_path: Path) -> None:
    ball = trimesh.creation.icosphere(subdivisions=5, radius=0.1)  # 20480 triangles
    ball.export(tmp_path / "ball.stl")
    base = rg.Mechanism.of_joints(
        "m", [rg.Joint.in_world("A", "ground", "link", "revolute", (0, 0, 1))]
    )
    shape = Geometry("mesh", np.array([1.0]), uri="ball.stl")
    missing = Geometry("mesh", np.array([1.0]), uri="nowhere.stl")
    bodies = (rg.Body("ground", geometry=(missing,)), rg.Body("link", geometry=(shape,)))
    report = rg.check(replace(base, bodies=bodies, path=str(tmp_path / "model.urdf")))
    whole, small = (render(report, budget=budget) for budget in (3_000_000, 40_000))
    none = render(report, meshes=False)
    assert len(whole) - len(none) > 200_000 > 60_000 > len(small) - len(none)
    assert "nowhere.stl" in small and "Shapes that are not shown" in small
    assert "Shapes that are not shown" not in none


def test_index_links_every_model(fourbar: rg.Report) -> None:
    names = ["a.html", "b.html", "javascript:alert(1).html", "a b#c?d.html"]
    page = Page(index({name: line_of("a.urdf", fourbar) for name in names}))
    links = [a["href"] or "" for tag, a in page.elements if tag == "a"]
    assert links[:3] == ["a.html", "b.html", "javascript%3Aalert%281%29.html"]
    assert [unquote(link) for link in links] == names
