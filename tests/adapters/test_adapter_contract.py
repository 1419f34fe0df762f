"""What every format promises: the same mechanism, the same findings; bad input, one clear line."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import cad_fixtures
import pytest
import simulation_fixtures
import yaml
from pinocchio_cases import massive

import regularize as rg
from regularize.adapters import adapters

MECHANISMS = ("planar_four_bar", "slider_crank", "spherical_four_bar")
WRITERS = {
    "urdf": ".urdf",
    "urdf+": ".urdf",
    "sdf": ".sdf",
    "mjcf": ".xml",
    "usd": ".usda",
    "json": ".json",
}


def write_fixture(format: str, mechanism: str, folder: Path) -> Path:
    """One of the three mechanisms in a format, from the hand-written fixtures."""
    if format in simulation_fixtures.BUILDERS:
        suffix, build = simulation_fixtures.BUILDERS[format]
        content: str | bytes = build(mechanism)
    else:
        suffix, cad = cad_fixtures.BUILDERS[format]
        content = cad(cad_fixtures.SKELETONS[mechanism]())
    path = folder / f"{mechanism}{suffix}"
    path.write_bytes(content.encode() if isinstance(content, str) else content)
    return path


def essence(path: Path) -> dict[str, Any]:
    """The part of a report that does not depend on the format."""
    report = rg.check(rg.load(path)).as_dict()
    (loop,) = report["loops"]
    return {
        "counts": {key: report["model"][key] for key in ("bodies", "joints", "loops", "couplings")},
        "mobility": report["mobility"],
        "redundancy": report["redundancy"],
        "reduction": {
            key: report["reduction"][key]
            for key in ("kept", "removed", "constraints", "remaining_redundant")
        },
        "class": loop["class"],
        "motion": (loop["motion_algebra"]["type"], loop["motion_algebra"]["dimension"]),
        "closed": report["assembly"]["closed"],
        "unique": [reaction["unique"] for reaction in report["reactions"]],
    }


EXPECTED_MOTION = {
    "planar_four_bar": ("planar", 3),
    "slider_crank": ("planar", 3),
    "spherical_four_bar": ("spherical", 3),
}
FORMATS = sorted({*simulation_fixtures.BUILDERS, *cad_fixtures.BUILDERS} & {*adapters()})


def expected(mechanism: str) -> dict[str, Any]:
    return {
        "counts": {"bodies": 4, "joints": 4, "loops": 1, "couplings": 0},
        "mobility": {
            "gruebler": -2,
            "actual": 1,
            "finite": 1,
            "redundant": 3,
            "consistent": True,
            "here": {"mobility": 1, "redundant": 3, "singular": False},
            "finite_evidence": "counted",
            "components_complete": True,
            "components": [
                {"mobility": 1, "rank": 3, "redundant": 3, "removed": 3, "remaining": 0}
            ],
            "kinematotropic": False,
            "shaky": False,
            "passive": 0,
        },
        "redundancy": {"trivial": 3, "exceptional": 0, "topological": 0, "paradoxical": 0},
        "reduction": {"kept": 2, "removed": 3, "constraints": 5, "remaining_redundant": 0},
        "class": "trivial",
        "motion": EXPECTED_MOTION[mechanism],
        "closed": True,
        "unique": [False] * 4,
    }


@pytest.mark.slow
@pytest.mark.parametrize("mechanism", MECHANISMS)
@pytest.mark.parametrize("format", FORMATS)
def test_every_reader_finds_the_same(format, mechanism, tmp_path):
    assert essence(write_fixture(format, mechanism, tmp_path)) == expected(mechanism)


@pytest.mark.slow
@pytest.mark.parametrize("mechanism", MECHANISMS)
@pytest.mark.parametrize("format", WRITERS)
def test_every_writer_is_read_back_with_the_same_findings(format, mechanism, tmp_path):
    original = rg.load(write_fixture("json", mechanism, tmp_path))
    path = tmp_path / "written" / f"model{WRITERS[format]}"
    path.parent.mkdir()
    if format == "mjcf":
        with pytest.raises(rg.UnsupportedExport, match="moves no bodies without mass"):
            rg.save(original, path, format=format)
        assert [*path.parent.iterdir()] == []
        original = massive(original)
    rg.save(original, path, format=format)
    found, wanted = essence(path), expected(mechanism)
    if format == "urdf":
        # Gepetto's YAML knows points and welds only: a hinge becomes a half link and a weld.
        wanted["counts"] |= {"bodies": 5, "joints": 5}
        wanted["unique"] = [False] * 5
    assert found == wanted


def test_every_format_is_covered():
    read = {name for name, adapter in adapters().items() if adapter.reader and adapter.of_files}
    assert read - set(FORMATS) <= {"urdf", "xacro"}
    written = {name for name, adapter in adapters().items() if adapter.writer and adapter.of_files}
    assert written == set(WRITERS)  # what Drake reads is MJCF, and is read back as such


@pytest.mark.parametrize("fault", ["empty", "truncated", "garbage", "wrong root"])
@pytest.mark.parametrize("format", [*FORMATS, "urdf"])
def test_bad_files_give_one_clear_line(format, fault, tmp_path):
    source = write_fixture(format if format != "urdf" else "json", "planar_four_bar", tmp_path)
    if format == "urdf":
        path = tmp_path / "model.urdf"
        rg.save(rg.load(source), path, format="urdf+")
        source = path
    content = source.read_bytes()
    faults = {
        "empty": b"",
        "truncated": content[: len(content) // 2],
        "garbage": bytes(range(256)) * 8,
        "wrong root": b'<?xml version="1.0"?>\n<something/>\n',
    }
    broken = tmp_path / f"broken{source.suffix}"
    broken.write_bytes(faults[fault])
    with pytest.raises(rg.RegularizeError) as caught:
        rg.load(broken, format=format)
    message = str(caught.value)
    assert "\n" not in message and broken.name in message and len(message) < 400


FAULTS = yaml.safe_load(Path(__file__).with_name("faults.yaml").read_bytes())


@pytest.mark.parametrize(
    ("format", "fault"), [(name, fault) for name in ("mjcf", "sdf") for fault in FAULTS[name]]
)
def test_faults_are_one_line_with_their_place(format, fault, tmp_path):
    path = tmp_path / ("model.sdf" if format == "sdf" else "model.xml")
    path.write_text(fault["text"])
    with pytest.raises(rg.ReadError, match=fault["says"]) as caught:
        rg.load(path, format=format)
    assert "\n" not in str(caught.value) and str(caught.value).startswith(str(path))
    assert format == "mjcf" or caught.value.line is not None


# MuJoCo and OpenUSD choose their own parsers by the name of the file.
@pytest.mark.parametrize("format", sorted({*FORMATS} - {"mjcf", "usd"}))
def test_the_content_decides_and_not_the_name(format, tmp_path):
    source = write_fixture(format, "planar_four_bar", tmp_path)
    disguised = tmp_path / "model.dat"
    disguised.write_bytes(source.read_bytes())
    assert rg.load(disguised).format == format
