"""What a command writes never takes the place of what it reads, or of something else it writes."""

from __future__ import annotations

import json
import os
import shutil
from dataclasses import replace
from pathlib import Path

import mechanisms
import pytest
import yaml

import regularize as rg
from regularize.cli import main

REFUSED = yaml.safe_load(Path(__file__).with_name("refused.yaml").read_bytes())
BOUNDS = ["--inputs", "A", "--bounds", "-1", "1"]


@pytest.fixture
def model(assets: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    for name in ("m.urdf", "other.urdf"):
        shutil.copy(assets / "slider_crank.urdf", name)
    Path("motion.csv").write_text("0,0\n1,1\n")
    Path("c.toml").write_text("")
    Path("link.urdf").symlink_to("m.urdf")
    os.link("m.urdf", "hard.urdf")
    return tmp_path


def refused(arguments: list[str], capsys: pytest.CaptureFixture[str]) -> str:
    """The words in which a command is refused, while every file stays as it was."""
    before = {path: path.read_bytes() for path in Path().rglob("*") if path.is_file()}
    assert main(arguments) == 2
    after = {path: path.read_bytes() for path in Path().rglob("*") if path.is_file()}
    assert before == after
    out, err = capsys.readouterr()
    assert out == "" and err.count("\n") == 1
    return err


@pytest.mark.parametrize(("command", "words"), REFUSED["lost"])
def test_nothing_that_is_read_or_written_is_lost(
    command: str, words: str, model: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    more = BOUNDS if command.startswith("metamodel") else []
    assert words in refused([*command.split(), *more], capsys)


@pytest.mark.slow
@pytest.mark.parametrize("verb", ["check", "export"])
def test_what_a_model_includes_is_not_lost(
    verb: str, assets: Path, model: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """A sidecar is found beside the model, and meshes as the model names them."""
    mesh = '<visual><geometry><mesh filename="bar.stl"/></geometry></visual></link>'
    text = (assets / "slider_crank.urdf").read_text()
    Path("robot.urdf").write_text(text.replace("</link>", mesh, 1))
    Path("bar.stl").write_text("solid bar\nendsolid bar\n")
    to = ["--to", "json"] if verb == "export" else []
    assert "-o bar.stl: is read" in refused([verb, "robot.urdf", *to, "-o", "bar.stl"], capsys)
    if verb == "check":
        for jobs in ("1", "2"):
            both = ["check", "m.urdf", "robot.urdf", "-j", jobs, "-o", "bar.stl"]
            assert "-o bar.stl: is read" in refused(both, capsys)
    itself = refused([verb, "robot.urdf", *to, "-o", "robot.urdf"], capsys)
    assert "-o robot.urdf: is read" in itself


@pytest.mark.slow
def test_reports_and_baselines_are_brought_up_to_date_in_their_place(
    model: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    known = ["--write-baseline", "known.json", "-o", "report.json", "--output", "json"]
    for more in ([], ["--baseline", "known.json"]):
        assert main(["check", "m.urdf", *known, *more]) in (0, 1)
    assert main(["export", "m.urdf", "--to", "urdf+", "-o", "other.urdf"]) in (0, 1)
    assert "D" in Path("report.json").read_text()
    assert all(line.startswith("note[") for line in capsys.readouterr().err.splitlines())


def test_a_suffix_of_no_format_is_answered_in_the_words_of_the_call(assets: Path) -> None:
    with pytest.raises(rg.UnknownFormat, match="name it with format="):
        rg.save(rg.load(assets / "slider_crank.urdf"), "s.foo")


@pytest.mark.slow
def test_many_models_of_one_name_have_pages_of_their_own(model: Path) -> None:
    Path("more").mkdir()
    shutil.copy("other.urdf", "more/other.urdf")
    assert main(["check", "other.urdf", "more/other.urdf", "--output", "html", "-o", "pages"]) == 1
    names = {path.name for path in Path("pages").glob("*.html")}
    assert {"other.html", "other-2.html"} <= names
    out = "lines.jsonl"
    assert main(["check", "other.urdf", "more/other.urdf", "--output", "jsonl", "-o", out]) == 1
    lines = [json.loads(line) for line in Path(out).read_text().splitlines()]
    assert len(lines) == 2


def test_lines_for_pull_requests_of_one_model(
    model: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["check", "other.urdf", "--output", "github"]) == 1
    out = capsys.readouterr().out
    assert out.startswith("::warning title=REG201 redundant-subgroup,file=other.urdf,line=")


def side_by_side(count: int) -> rg.Mechanism:
    """Planar four-bars that share the ground alone; the cranks of the first two are geared."""
    one = mechanisms.planar_fourbar()

    def name(body: str, k: int) -> str:
        return body if body == one.ground else f"{body} {k}"

    bodies = {body.name: body for body in one.bodies}
    bodies |= {
        name(b, k): replace(bodies[b], name=name(b, k)) for k in range(count) for b in bodies
    }
    joints = [
        replace(j, name=f"{j.name}{k}", parent=name(j.parent, k), child=name(j.child, k))
        for k in range(count)
        for j in one.joints
    ]
    used = {end for joint in joints for end in (joint.parent, joint.child)}
    gear = rg.Coupling("gear", "gear", (("A0", 0, 1.0), ("A1", 0, -1.0)))
    kept = tuple(body for body in bodies.values() if body.name in used)
    return replace(one, bodies=kept, joints=tuple(joints), couplings=(gear,))
