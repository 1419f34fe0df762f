from __future__ import annotations

import os
import shutil
import subprocess
import sys
from collections.abc import Iterator
from importlib.metadata import EntryPoint
from pathlib import Path
from typing import Any

import pytest

import regularize as rg
from regularize.adapters import Adapter, adapters, detect, has_root, read, root_tag
from regularize.cli import main

ASSETS = Path(__file__).resolve().parents[2] / "assets"
GUESTS = {"asmt", "freecad", "mbdyn", "onshape", "simscape"}
ROBOT = "<robot name='r'><link name='a'/></robot>"


@pytest.fixture
def installed(monkeypatch: pytest.MonkeyPatch) -> Iterator[dict[str, Any]]:
    """Entry points of other packages, by name; values are what loading them gives."""
    values: dict[str, Any] = {}

    class Point(EntryPoint):
        def load(self) -> Any:
            value = values[self.name]
            if isinstance(value, Exception):
                raise value
            return value

    def found(group: str) -> list[EntryPoint]:
        assert group == "regularize.adapters"
        return [Point(name, f"package:{name}", group) for name in values]

    monkeypatch.setattr("importlib.metadata.entry_points", found)
    adapters.cache_clear()
    yield values
    monkeypatch.undo()
    adapters.cache_clear()


def test_adapters_are_read_only_and_cached() -> None:
    assert adapters() is adapters()
    assert "urdf" in adapters()
    with pytest.raises(TypeError):
        adapters()["x"] = adapters()["urdf"]  # type: ignore[index]


def test_builtin_readers_exist_and_are_installed() -> None:
    for adapter in adapters().values():
        if adapter.reader is not None and adapter.installed:
            assert callable(adapter.load_reader())


def test_entry_point_is_added_and_used(installed: dict[str, Any], tmp_path: Path) -> None:
    installed["toy"] = Adapter(
        "toy", "A toy", (".toy",), "regularize.adapters.urdf.read:read", sniff=has_root("toy")
    )
    path = tmp_path / "a.xyz"
    path.write_text("<toy/>")
    assert detect(path).name == "toy"


def test_second_adapter_of_one_name_is_an_error(installed: dict[str, Any]) -> None:
    installed["urdf"] = Adapter("urdf", "Another URDF")
    with pytest.raises(rg.RegularizeError, match="two adapters are named 'urdf'"):
        adapters()


@pytest.mark.parametrize("value", [ImportError("broken"), 3])
def test_broken_entry_point_warns_and_leaves_the_others(
    installed: dict[str, Any], value: object
) -> None:
    installed["broken"] = value
    with pytest.warns(UserWarning, match="package:broken"):
        assert "urdf" in adapters()


def test_record_checks_itself() -> None:
    with pytest.raises(ValueError, match="extra and module"):
        Adapter("x", "X", extra="usd")
    with pytest.raises(ValueError, match="module:function"):
        Adapter("x", "X", reader="module.function")


def test_missing_module_names_the_extra(installed: dict[str, Any], tmp_path: Path) -> None:
    target = "regularize.adapters.urdf.read:read"
    for name, module in (("one", "no_such_module_here"), ("two", "no_such_package_here.part")):
        installed[name] = Adapter(
            name, name, reader=target, writer=target, extra="mujoco", module=module
        )
    path = tmp_path / "a.xml"
    path.write_text("<x/>")
    for name in ("one", "two"):
        assert not adapters()[name].installed
        with pytest.raises(rg.MissingExtra, match=r"pip install 'pin-regularize\[mujoco\]'"):
            read(path, format=name)
        with pytest.raises(rg.MissingExtra):
            adapters()[name].load_writer()


def test_format_that_only_writes(installed: dict[str, Any], tmp_path: Path) -> None:
    installed["out"] = Adapter("out", "Only written", (".out",), writer="json:dumps")
    path = tmp_path / "a.out"
    path.write_text("<x/>")
    assert callable(adapters()["out"].load_writer())
    with pytest.raises(rg.UnknownFormat):
        read(path, format="out")
    with pytest.raises(rg.UnknownFormat):
        detect(path)
    with pytest.raises(rg.UnknownFormat, match=r"known: .*out"):
        Adapter("in", "Only read", reader="json:loads").load_writer()


@pytest.mark.parametrize(
    ("head", "tag"),
    [
        (b"<robot/>", "robot"),
        (b"\xef\xbb\xbf<?xml version='1.0'?>\n<!-- <sdf> -- --><robot>", "robot"),
        (b"<!DOCTYPE robot [<!ELEMENT a ANY>]>\n<sdf version='1.6'>", "sdf"),
        ("<?xml version='1.0' encoding='utf-16'?><mujoco>".encode("utf-16"), "mujoco"),
        (b"<drake:model>", "drake:model"),
        (b"PK\x03\x04", None),
        (b"plain text", None),
        (b"", None),
    ],
)
def test_root_tag(head: bytes, tag: str | None) -> None:
    assert root_tag(head) == tag


def test_content_decides_and_the_suffix_breaks_ties(
    installed: dict[str, Any], tmp_path: Path
) -> None:
    installed["toy"] = Adapter(
        "toy", "Toy", (".toy",), "regularize.adapters.urdf.read:read", sniff=has_root("robot")
    )
    for name, found in (("a.toy", "toy"), ("a.urdf", "urdf"), ("A.URDF", "urdf")):
        (tmp_path / name).write_text(ROBOT)
        assert detect(tmp_path / name).name == found
    (tmp_path / "a.xml").write_text(ROBOT)
    with pytest.raises(rg.UnknownFormat, match="urdf, "):
        detect(tmp_path / "a.xml")


def test_unknown_content_and_unknown_name(tmp_path: Path) -> None:
    path = tmp_path / "notes.txt"
    path.write_text("hello")
    with pytest.raises(rg.UnknownFormat, match="known: urdf"):
        read(path)
    with pytest.raises(rg.UnknownFormat, match=r"^stl: no known model format"):
        read(path, format="stl")


def test_unrecognised_content_goes_to_the_reader_of_the_suffix(tmp_path: Path) -> None:
    path = tmp_path / "a.urdf"
    path.write_text("hello")
    with pytest.raises(rg.ReadError, match=r"a\.urdf:1: not well-formed XML"):
        read(path)


def test_file_faults_are_one_line_errors(tmp_path: Path) -> None:
    (tmp_path / "empty.urdf").write_text(" \n")
    faults = {
        tmp_path / "none.urdf": "there is no such file",
        tmp_path / "empty.urdf": "the file is empty",
    }
    for path, reason in faults.items():
        with pytest.raises(rg.ReadError, match=reason) as caught:
            read(path)
        assert str(caught.value).startswith(str(path))
        assert "\n" not in str(caught.value)


@pytest.mark.skipif(os.geteuid() == 0, reason="root may read everything")
def test_unreadable_file(tmp_path: Path) -> None:
    path = tmp_path / "a.urdf"
    path.write_text(ROBOT)
    path.chmod(0)
    with pytest.raises(rg.ReadError, match="cannot be opened"):
        read(path)


def test_joints_that_their_bounds_hold_are_named(tmp_path: Path) -> None:
    """Exporters that leave bounds out as zeros must not stop a robot, nor pass in silence."""
    joints = "".join(
        f'<joint name="{name}" type="revolute"><parent link="a"/><child link="{name}l"/>'
        f'<limit lower="{low}" upper="0.0" effort="1" velocity="1"/></joint><link name="{name}l"/>'
        for name, low in (("j", 0), ("k", -1), ("l", -0.0), ("m", 1))
    )
    path = tmp_path / "a.urdf"
    path.write_text(f'<robot name="r"><link name="a"/>{joints}</robot>')
    mechanism = read(path)
    finding, crossed = mechanism.findings
    assert (finding.code, finding.severity, finding.joints) == ("REG013", "note", ("j", "l"))
    assert finding.source is not None and finding.source.line == 1
    assert crossed.joints == ("m",) and "lower bounds exceed" in crossed.message
    assert all(joint.freedoms == 1 for joint in mechanism.joints)
    adapters()["json"].load_writer()(mechanism, tmp_path / "a.json")
    assert read(tmp_path / "a.json").findings == mechanism.findings


def test_directory_stands_for_its_model(tmp_path: Path) -> None:
    with pytest.raises(rg.ReadError, match="is a directory with no URDF file"):
        read(tmp_path)
    (tmp_path / "arm.urdf").write_text(ROBOT)
    assert read(tmp_path).path == str(tmp_path / "arm.urdf")
    (tmp_path / "hand.urdf").write_text(ROBOT)
    with pytest.raises(rg.ReadError, match=r"arm\.urdf, hand\.urdf"):
        read(tmp_path)
    (tmp_path / "robot.urdf").write_text(ROBOT)
    assert read(tmp_path).path == str(tmp_path / "robot.urdf")


def test_inconsistent_model_is_a_read_error(installed: dict[str, Any], tmp_path: Path) -> None:
    installed["bad"] = Adapter(
        "bad", "Bad", reader="regularize.mechanism.mechanism:unique_names", sniff=has_root("bad")
    )
    path = tmp_path / "a.bad"
    path.write_text("<bad/>")
    with pytest.raises(rg.ReadError, match="inconsistent: two"):
        read(path, names=["x", "x"])


@pytest.mark.slow
def test_import_is_light() -> None:
    program = (
        "import sys, regularize.adapters as a; a.adapters();"
        "print([m for m in ('lxml', 'yaml', 'pinocchio', 'trimesh', 'mujoco', 'pxr')"
        " if m in sys.modules])"
    )
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True)
    assert done.stdout.strip() == "[]", done.stderr


@pytest.mark.slow
@pytest.mark.parametrize(("folder", "gone"), [("freecad", {"freecad"}), ("cad", GUESTS)])
def test_a_guest_that_is_deleted_is_not_listed(folder: str, gone: set[str], tmp_path: Path) -> None:
    """Nor is a guest without what all guests share; the other formats are read as before."""
    package = Path(rg.__file__).parent
    shutil.copytree(package, tmp_path / "regularize", ignore=shutil.ignore_patterns("__pycache__"))
    shutil.rmtree(tmp_path / "regularize" / "adapters" / folder, ignore_errors=True)
    model = tmp_path / "model.urdf"
    model.write_text(ROBOT)
    code = (
        "import regularize, sys; from regularize.adapters import adapters; "
        "print(*adapters()); print(regularize.load(sys.argv[1]).format)"
    )
    run = subprocess.run(
        [sys.executable, "-c", code, str(model)],
        capture_output=True,
        text=True,
        check=True,
        cwd=tmp_path,
        env={**os.environ, "PYTHONPATH": str(tmp_path)},
    )
    names, format = run.stdout.splitlines()
    assert {*names.split()} == {*adapters()} - gone
    assert format == "urdf"


@pytest.mark.parametrize("verb", ["check", "reduce", "fix"])
def test_what_was_not_read_leads_the_headline_and_fails(
    verb: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """A joint that is unread makes every count one of a part of the model, in every verb."""
    whole = (ASSETS / "planar_fourbar.urdf").read_text()
    path = tmp_path / "part.urdf"
    path.write_text(whole.replace("</robot>", "<drake:tendon_constraint/></robot>"))
    report = rg.check(path)
    assert report.as_dict()["model"]["complete"] is False
    assert rg.check(whole).as_dict()["model"]["complete"] is True
    _, _, sentences = " ".join(str(report).split()).partition(" · 1 loop ")
    assert sentences.startswith("Not read whole: <drake:tendon_constraint> joins links but is not")
    assert "Mobility of what was read: 1" in sentences
    out = [] if verb == "check" else ["-o", str(tmp_path / "out")]
    assert main([verb, str(path), *out]) == 1
    said = capsys.readouterr()
    assert "joins links but is not read" in said.out + said.err
    rg.save(path, tmp_path / "kept.json")
    assert not rg.load(tmp_path / "kept.json").complete
