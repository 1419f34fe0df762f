"""FreeCAD documents changed by `fix`: one number in one member of an archive."""

import io
import zipfile
from dataclasses import replace
from pathlib import Path

import cad_fixtures
import numpy as np
import pytest
from test_adapter_contract import write_fixture
from test_adapters_freecad import Builder, link_to, placed
from test_patching import SHIFT, patcher_of

import regularize as rg
from regularize.adapters.common.edits import SlackLinks, WantedKind, WantedSlack
from regularize.adapters.common.patching import Patcher
from regularize.adapters.freecad.patch import with_member
from regularize.cli import main

ASSETS = Path(__file__).resolve().parents[3] / "assets"


@pytest.mark.slow
def test_named_joints_become_what_is_said_and_nothing_else_changes(tmp_path: Path) -> None:
    path = write_fixture("freecad", "slider_crank", tmp_path)
    reduction = rg.reduce(rg.load(path))
    fix = rg.fix(path, {"B": "spherical"})
    assert [(change.joint.name, change.kind) for change in fix.changes] == [("B", "spherical")]
    assert fix.reduction.redundant == reduction.redundant - 2
    assert rg.fix(path, {"B": "revolute"}).diff == ""
    cure = rg.cures(reduction, limit=1)[0]
    written = rg.fix(path, cure).write(tmp_path / "cured.FCStd")
    assert rg.reduce(rg.load(written)).redundant == 0


@pytest.mark.slow
def test_other_members_of_a_freecad_document_stay_to_the_byte(tmp_path: Path) -> None:
    plain = cad_fixtures.freecad(cad_fixtures.SKELETONS["slider_crank"]())
    path, content = tmp_path / "slider.FCStd", io.BytesIO()
    with zipfile.ZipFile(io.BytesIO(plain)) as old, zipfile.ZipFile(content, "w") as new:
        new.comment = "by hand é".encode()
        new.writestr(
            zipfile.ZipInfo("Document.xml", (2020, 1, 2, 3, 4, 6)), old.read("Document.xml")
        )
        for name, method in (("PartShape.brp", 8), ("GuiDocument.xml", 0)):
            info = zipfile.ZipInfo(name, (2021, 5, 6, 7, 8, 10))
            info.compress_type, info.external_attr = method, 0o640 << 16
            new.writestr(info, name * 500)
    path.write_bytes(content.getvalue())
    fix = rg.fix(path)
    assert f"+++ {path}:Document.xml" in fix.diff
    fix.write(path)
    assert rg.reduce(rg.load(path)).redundant == 0
    with zipfile.ZipFile(content) as old, zipfile.ZipFile(path) as new:
        assert new.testzip() is None
        assert new.comment == old.comment
        for one, two in zip(old.infolist(), new.infolist(), strict=True):
            for attribute in ("filename", "date_time", "compress_type", "external_attr", "extra"):
                assert getattr(one, attribute) == getattr(two, attribute)
            if one.filename != "Document.xml":
                start, end = one.header_offset, two.header_offset
                size = 30 + len(one.filename) + one.compress_size
                assert (
                    content.getvalue()[start : start + size] == path.read_bytes()[end : end + size]
                )


@pytest.mark.slow
def test_a_freecad_slider_crank_checked_fixed_and_checked_again(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = ASSETS / "crank_slider.FCStd"
    assert main(["check", str(path)]) == 1
    report = capsys.readouterr().out
    command = next(line for line in report.splitlines() if "regularize fix" in line)
    arguments = command.split()[1:]
    arguments[arguments.index("-o") + 1] = str(tmp_path / "fixed") + "/"
    assert main(arguments) == 0
    assert main(["check", str(tmp_path / "fixed" / path.name), "--output", "concise"]) == 0


class Pipe(io.BytesIO):
    """Takes bytes one after another, so that sizes stand behind members."""

    def seekable(self) -> bool:
        return False


@pytest.mark.parametrize("stream", [io.BytesIO, Pipe])
@pytest.mark.parametrize("name", ["a", "b", "c"])
def test_one_member_of_an_archive_changes(stream: type[io.BytesIO], name: str) -> None:
    packed = stream()
    with zipfile.ZipFile(packed, "w") as archive:
        for each in "abc":
            archive.writestr(each, each * 1000)
    data = packed.getvalue().replace(b"ccc", b"c?c")  # a checksum is wrong, and stays so
    changed = with_member(data, name, b"other" * 99, "x.FCStd")
    with zipfile.ZipFile(io.BytesIO(changed)) as archive:
        assert archive.testzip() == (None if name == "c" else "c")
        assert (archive.namelist(), archive.read(name)) == ([*"abc"], b"other" * 99)
    assert all((x * 1000).encode().replace(b"ccc", b"c?c") in changed for x in {*"abc"} - {name})


def hinged(folder: Path, *, listed: bool = True) -> Path:
    """Two parts, the second one linked from another document, with a hinge between them."""
    data = Builder().add("base", "Part::Feature", placed(np.eye(4))).ground("base")
    data.add("arm", "App::Link", link_to("Frame", "parts/frame.FCStd"), placed(np.eye(4)))
    data.joint("J", "Revolute", (("base.Edge1", SHIFT), ("arm.Edge1", SHIFT)))
    if not listed:
        head, _, rest = data.data[-1].partition("<CustomEnumList")
        data.data[-1] = head + rest.partition("</CustomEnumList>")[2]
    path = folder / "model.FCStd"
    path.write_bytes(data.save())
    return path


@pytest.mark.parametrize("listed", [True, False])
def test_types_of_freecad_are_numbers_in_a_list(listed: bool, tmp_path: Path) -> None:
    mechanism = rg.load(hinged(tmp_path, listed=listed))
    patcher, joint = patcher_of(mechanism), mechanism.joint("J")
    assert set(patcher.kinds(joint)) == {"cylindrical", "spherical", "parallel"}
    (edit,) = patcher.patch([WantedKind(joint, "spherical", joint)]).edits
    assert edit.text == "4"
    with pytest.raises(rg.ModelError, match="cannot become universal in this file"):
        patcher.patch([WantedKind(joint, "universal", joint)])
    assert patcher.kinds(replace(joint, source=None)) == ()
    text = patcher.text(mechanism.path)
    assert {each.path for each in patcher.references(text)} == {"parts/frame.FCStd"}


def test_slack_that_no_file_of_a_format_holds(tmp_path: Path) -> None:
    mechanism = rg.load(hinged(tmp_path))
    patcher, joint = patcher_of(mechanism), replace(mechanism.joint("J"), source=None)
    links = SlackLinks(joint, joint, "arm", (), ())
    with pytest.raises(rg.UnsupportedExport, match="are not put into freecad files"):
        patcher.slack(WantedSlack((links,)))
    with pytest.raises(rg.UnsupportedExport, match="joint `J` cannot be suppressed in this file"):
        patcher.slack(WantedSlack(removed=(joint,)))
    with pytest.raises(
        rg.UnsupportedExport, match="are not taken out of freecad files: take out `J`"
    ):
        Patcher.slack(patcher, WantedSlack(removed=(joint,)))


def test_archives_of_very_many_members_are_refused(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("regularize.adapters.freecad.document.MOST_MEMBERS", 500)
    path = tmp_path / "many.FCStd"
    members = {"Document.xml": "<Document/>"} | {str(k): "" for k in range(500)}
    path.write_bytes(cad_fixtures.archive(members))
    with pytest.raises(rg.ReadError, match="more than 500 members"):
        rg.load(path)
