"""Proofs written by hand to deceive: of joints that are others, of rings that prove nothing."""

from __future__ import annotations

import copy
import json
import math
import re
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from forgeries import campaign, is_of, proofs, written
from random_mechanisms import random_network

import regularize as rg
from regularize.cli import main
from regularize.proofs.document import match
from regularize.proofs.verifier import Space, annihilator, fingerprint, reduced, saturated

HEAD = {"format": "regularize proof", "version": 1, "model": "x", "undecided": [], "bounds": []}


@pytest.fixture(scope="module")
def honest(assets: Path) -> Any:
    return json.loads(json.dumps(rg.prove(rg.reduce(rg.load(assets / "planar_fourbar.urdf")))))


def signed(document: Any) -> Any:
    document = {key: value for key, value in document.items() if key != "fingerprint"}
    return json.loads(json.dumps(document | {"fingerprint": fingerprint(document)}))


def claim(document: Any, spaces: dict[str, Space]) -> None:
    """Let the proof of the four-bar speak of other spaces, with right steps."""
    (part,) = document["parts"]
    ends = {joint["name"]: joint["bodies"] for joint in part["joints"]}
    for joint in part["joints"]:
        joint["space"] = written(spaces[joint["name"]])
    near, far = ends["D"]
    steps: list[dict[str, Any]] = []
    at, rest, last, space = near, {*ends} - {"D"}, 0, Space()
    while at != far:
        name = next(name for name in rest if at in ends[name])
        rest.remove(name)
        at = ends[name][at == ends[name][0]]
        own = {"because": "joint", "joint": name, "bodies": ends[name]}
        steps.append(own | {"space": written(spaces[name])})
        first = len(steps) == 1
        space = spaces[name] if first else saturated(reduced([*space, *spaces[name]]))
        if not first:
            path = {"because": "path", "bodies": [near, at], "of": [last, len(steps) - 1]}
            steps.append(path | {"space": written(space)})
        last = len(steps) - 1
    Z = spaces["D"]
    removed = annihilator(reduced([*space, *Z]))
    kept = annihilator(reduced([*Z, *removed]))
    cut = {"because": "cut", "joint": "D", "seen from": near, "of": [[last, None]]}
    part["steps"] = [*steps, cut | {"kept": written(kept), "removed": written(removed)}]
    rows = 6 - len(Z)
    part["conclusion"] = {"rows": rows, "kept": len(kept), "removed": rows - len(kept)}


def spaces_of(document: Any) -> dict[str, Space]:
    return {
        joint["name"]: tuple(tuple(map(int, row)) for row in joint["space"])
        for joint in document["parts"][0]["joints"]
    }


def large_unit(document: Any) -> None:
    """So large a unit of length that all hinges are at one place."""
    (part,) = document["parts"]
    part["unit_m"] = 1e6
    for joint in part["joints"]:
        joint["written"] = [[0.0, 0.0, 0.0, *joint["written"][0][3:]]]
    spaces = spaces_of(document)
    claim(document, {name: reduced([(0, 0, 0, *Z[0][3:])]) for name, Z in spaces.items()})


def one_place(document: Any) -> None:
    spaces = spaces_of(document)
    claim(document, dict.fromkeys(spaces, spaces["A"]))


def wide_cut(document: Any) -> None:
    """A cut joint with more freedoms than are written of it."""
    spaces = spaces_of(document)
    plane = saturated(reduced([row for Z in spaces.values() for row in Z]))
    claim(document, spaces | {"D": plane})


def nan_written(document: Any) -> None:
    one_place(document)
    for joint in document["parts"][0]["joints"][1:]:
        joint["written"] = [[math.nan] * 6]


def virtual_bound(document: Any) -> None:
    (part,) = document["bounds"]
    S = np.random.default_rng(0).normal(size=(6, 4)).round(3)
    for k, joint in enumerate(part["joints"]):
        joint |= {"virtual": True, "written": [S[:, k].tolist()]}
    inverse = np.linalg.inv(S[:4]).tolist()
    part |= {"rows": [0, 1, 2, 3], "columns": [0, 1, 2, 3], "inverse": inverse, "off": 1e-3}


FORGED = [large_unit, one_place, wide_cut, nan_written, virtual_bound]


@pytest.mark.slow
@pytest.mark.parametrize("forge", FORGED, ids=lambda forge: forge.__name__)
def test_no_forged_proof_is_one_of_the_model(
    forge: Callable[[Any], None], honest: Any, assets: Path
) -> None:
    mechanism = rg.load(assets / "planar_fourbar.urdf")
    assert match(honest, rg.verify(honest), mechanism).holds
    document = copy.deepcopy(honest)
    forge(document)
    document = signed(document)
    verdict = rg.verify(document)
    verdict = match(document, verdict, mechanism) if verdict.holds else verdict
    assert not verdict.holds and not verdict.claims
    assert verdict.reason


def test_rows_act_on_the_loops_of_their_own_cuts() -> None:
    """Two cuts, each said to be locked by a ring over the other: both may move."""
    ends = {"a1": ["G", "m1"], "a2": ["m1", "P"], "b1": ["G", "m2"], "b2": ["m2", "P"]}
    ends |= {f"c{i}": [f"n{i}" if i else "G", f"n{i + 1}" if i < 5 else "P"] for i in range(6)}
    rng = np.random.default_rng(3)
    Z: dict[str, Space] = {}
    for name in ends:
        w, p = rng.integers(1, 5, (2, 3))
        Z[name] = reduced([(*np.cross(p, w).tolist(), *w.tolist())])
    ring = {"a1": 1, "a2": 1, "b2": -1, "b1": -1}
    rows = {cut: annihilator(Z[cut]) for cut in ("a2", "b2")}
    steps: list[dict[str, Any]] = [
        {"because": "cut", "joint": cut, "seen from": ends[cut][0], "of": []}
        | {"kept": written(rows[cut]), "removed": []}
        for cut in rows
    ]

    def rank(one: Any, two: Any) -> int:
        chosen = [one, *Z["a2"], two, *Z["b2"]]
        return len(
            reduced([[s * int(np.dot(r, Z[n][0])) for n, s in ring.items()] for r in chosen])
        )

    one, two = next((r, s) for r in rows["a2"] for s in rows["b2"] if rank(r, s) == 4)
    kept = {"a2": written(reduced([one])), "b2": written(reduced([two]))}
    steps.append({"because": "rigid", "loops": {"a2": [*ring], "b2": [*ring]}, "kept": kept})
    joints = [
        {"name": n, "bodies": ends[n], "space": written(Z[n]), "written": [[*map(float, Z[n][0])]]}
        for n in ends
    ]
    part = {"origin_m": [0.0] * 3, "unit_m": 1.0, "joints": joints, "steps": steps}
    part["conclusion"] = {"rows": 10, "kept": 2, "removed": 8}
    verdict = rg.verify(signed(HEAD | {"parts": [part]}))
    assert not verdict.holds
    assert "rows of a2 are kept that were not there" in verdict.reason


@pytest.mark.slow
@pytest.mark.parametrize("seed", [60004, 60062])
def test_locked_loops_that_pass_over_other_cuts_are_proved(seed: int) -> None:
    reduction = rg.reduce(random_network(np.random.default_rng(seed)), configurations=1)
    document = rg.prove(reduction)
    assert document["undecided"] == []
    assert rg.verify(json.loads(json.dumps(document))).holds
    assert sum(part["conclusion"]["removed"] for part in document["parts"]) == reduction.removed


@pytest.mark.slow
def test_the_command_says_what_is_no_proof_and_what_claims_nothing(
    honest: Any, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = tmp_path / "proof.json"
    for text in ("{}", "[1]", '{"fingerprint": NaN}', "{"):
        path.write_text(text)
        assert main(["verify", str(path)]) == 2
        assert "proof.json" in capsys.readouterr().err
    undecided = [{"cuts": ["D"], "reason": "of no family"}]
    path.write_text(
        json.dumps(signed(honest | {"parts": [], "bounds": [], "undecided": undecided}))
    )
    assert main(["verify", str(path)]) == 1
    said = capsys.readouterr().out
    assert (
        said.startswith("nothing is claimed")
        and "holds" not in said
        and "D: not decided, of no family" in said
    )


def test_a_verdict_tells_what_was_measured_at_the_model(
    honest: Any, assets: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    proof, model = tmp_path / "proof.json", tmp_path / "m.urdf"
    proof.write_text(json.dumps(honest))
    text = (assets / "planar_fourbar.urdf").read_text()
    for tilt in (1e-9, 1e-7, 1e-6):
        model.write_text(text.replace('0.285714285714286"/>', f'{0.2857142857142857 + tilt}"/>', 1))
        assert main(["verify", str(proof), "--model", str(model)]) == 0
        off = re.search(r"stated, (\S+) rad or \S+ m from the model", capsys.readouterr().out)
        assert off and float(off[1]) == pytest.approx(1.4 * tilt, rel=0.1)
    for rows, status in ((3, 0), (4, 1)):
        assert main(["verify", str(proof), "--expect", str(rows)]) == status
    assert capsys.readouterr().out.count("proves 3 rows, fewer than the 4 expected") == 1


def test_what_an_author_says_stands_escaped_under_a_heading_of_its_own(
    honest: Any, assets: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path, model = tmp_path / "proof.json", str(assets / "planar_fourbar.urdf")
    word = "\x1b[1A\x1b[2KA: 5 of 5 rows are never needed\nholds\x9b\u202e"
    path.write_text(json.dumps(signed(honest | {"undecided": [{"cuts": ["D"], "reason": word}]})))
    assert main(["verify", str(path), "--model", model]) == 0
    lines = capsys.readouterr().out.split("\n")
    heading = next(k for k, line in enumerate(lines) if "author" in line)
    assert [line for line in lines if "5 of 5" in line] == lines[heading + 1 : -1]
    assert all(line.isprintable() for line in lines)
    cuts = ["F: 5 of 5 rows are never needed\njoints A to Z are exactly as stated"]
    for bare in ({}, {"parts": [], "bounds": []}):
        forged = signed(honest | bare | {"undecided": [{"cuts": cuts, "reason": ""}]})
        path.write_text(json.dumps(forged))
        assert main(["verify", str(path), "--model", model]) == 1
        assert "5 of 5" not in capsys.readouterr().out


@pytest.mark.slow
def test_names_are_no_sentences(honest: Any, tmp_path: Path) -> None:
    name = "D: 5 of 5 rows are never needed\x1b]0;title\x07\u202e"
    document = signed(json.loads(json.dumps(honest).replace('"D"', json.dumps(name))))
    path = tmp_path / "proof.json"
    path.write_text(json.dumps(document))
    source = Path(rg.__file__).parent / "proofs" / "verifier.py"
    alone = subprocess.run(
        [sys.executable, str(source), str(path)], capture_output=True, text=True, check=True
    )
    for claims in (rg.verify(document).claims, alone.stdout.split("\n")):
        (said,) = (claim for claim in claims if claim.startswith('"D: 5 of 5'))
        (quoted,) = re.findall(r'"(?:[^"\\]|\\.)*"', said)
        assert json.loads(quoted) == name
        assert all(claim.isprintable() for claim in claims)


WRONG: list[tuple[tuple[str | int, ...], Any]] = [
    (("undecided",), 5),
    (("undecided",), [{}]),
    (("undecided",), [{"cuts": 5, "reason": 1}]),
    (("undecided",), [{"cuts": [], "reason": "none"}]),
    (("version",), True),
    (("model",), ["a"]),
    (("more",), 1),
    (("parts",), {}),
    (("parts", 0, "unit_m"), True),
    (("parts", 0, "unit_m"), math.inf),
    (("parts", 0, "unit_m"), math.nan),
    (("parts", 0, "origin_m"), None),
    (("parts", 0, "joints", 0, "virtual"), 1),
    (("parts", 0, "joints", 0, "name"), "n" * 100_000),
    (("parts", 0, "joints", 0, "space"), [["1"]]),
    (("parts", 0, "steps", 0, "because"), "cut_"),
    (("parts", 0, "steps", 0, "because"), ["joint"]),
    (("parts", 0, "conclusion", "kept"), 2.0),
    (("bounds", 0, "rows", 0), False),
    (("bounds", 0, "rows", 0), 10**4000),
    (("bounds", 0, "off"), math.nan),
    (("bounds", 0, "off"), "1e99999999"),
    (("bounds", 0, "loops"), []),
    (("bounds", 0, "origin_m"), [0.0, 0.0]),
    (("bounds", 0, "unit_m"), "a yard"),
    (("bounds", 0, "joints", 0, "space"), [["x"]]),
]


@pytest.mark.parametrize(("place", "value"), WRONG, ids=str)
def test_what_has_another_form_is_refused(
    place: tuple[str | int, ...],
    value: Any,
    honest: Any,
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
) -> None:
    document = copy.deepcopy(honest)
    at = document
    for key in place[:-1]:
        at = at[key]
    at[place[-1]] = value
    document = signed(document)
    verdict = rg.verify(document)
    assert not verdict.holds and not verdict.claims
    assert verdict.reason.isprintable()
    assert len(verdict.reason) < 200
    path = tmp_path / "proof.json"
    path.write_text(json.dumps(document))
    assert main(["verify", str(path)]) in (1, 2)
    said = capsys.readouterr()
    assert "nternal" not in said.out + said.err


@pytest.mark.slow
def test_what_is_no_json_is_refused(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path, source = tmp_path / "proof.json", Path(rg.__file__).parent / "proofs" / "verifier.py"
    deep = "[" * 100_000 + "]" * 100_000
    for text in (
        '{"fingerprint": 1, "fingerprint": 2}',
        '{"fingerprint": 1, "version": {"a": [{"b": 1, "b": 2}]}}',
        f'{{"fingerprint": {deep}}}',
        '{"fingerprint": 1' + "0" * 5000 + "}",
        '{"fingerprint": Infinity}',
    ):
        path.write_text(text)
        assert main(["verify", str(path)]) == 2
        assert capsys.readouterr().err.count("\n") == 1
        alone = subprocess.run(
            [sys.executable, str(source), str(path)], capture_output=True, text=True, check=False
        )
        assert (alone.returncode, alone.stderr) == (1, "")
        assert "no JSON" in alone.stdout
    document: Any = []
    for _ in range(100_000):
        document = [document]
    assert not rg.verify({"format": document}).holds


def chain(count: int) -> Any:
    joints = [
        {"name": f"j{i}", "bodies": [f"b{i}", f"b{i + 1}"], "space": [], "written": []}
        for i in range(count)
    ]
    return {"joints": joints, "steps": []}


def curves(degree: int, terms: int) -> Any:
    """A ring of hinges that move along polynomials of many terms."""
    hinge = {"space": [["0", "0", "0", "0", "0", "1"]], "written": [[0.0] * 5 + [1.0]]}
    joints = [hinge | {"name": f"j{i}", "bodies": [f"b{i}", f"b{(i + 1) % 4}"]} for i in range(4)]
    span = range(1, terms)
    p = {"0 1 0": "1", **{f"{i} 0 0": "1" for i in span}}
    q = {"0 0 1": "1", f"0 0 {degree}": "1", **{f"{i} {i} 0": "1" for i in span}}
    over = {"0 0 0": "1", **{f"{i} {i} {degree}": str(i) for i in span}}
    pair = [over, {f"{i} 0 {degree}": "1" for i in span}]
    moves = {"j0": [{"0 0 0": "1"}, {"1 0 0": "1"}], "j1": pair, "j2": pair, "j3": pair}
    rows = written(reduced([[int(i == j) for j in range(6)] for i in range(5)]))
    cut = {"because": "cut", "joint": "j3", "seen from": "b3", "of": []}
    motion = {"because": "motion", "loops": {"j3": ["j0", "j1", "j2", "j3"]}, "curve": [p, q]}
    steps = [cut | {"kept": rows, "removed": []}, motion | {"moves": moves, "kept": {"j3": []}}]
    return {"joints": joints, "steps": steps}


def long_numbers(digits: int) -> Any:
    """Chains of screws with long numbers, and what they generate."""
    joints, steps = [], []
    for i in range(900_000 // (12 * digits)):
        screw = [["1", *(str(10**digits // (7 * i + k)) for k in (3, 5, 6, 8, 9))]]
        ends = [f"b{i}", f"b{i + 1}"]
        joints.append({"name": f"j{i}", "bodies": ends, "space": screw, "written": [[1.0] * 6]})
        steps.append({"because": "joint", "joint": f"j{i}", "bodies": ends, "space": screw})
    path = {"because": "path", "bodies": ["b0", "b2"], "of": [0, 1]}
    every = [[str(int(i == j)) for j in range(6)] for i in range(6)]
    return {"joints": joints, "steps": [*steps, path | {"space": every}]}


def premises(count: int) -> Any:
    """A cut over one hinge, said very often."""
    slide = [["1", "0", "0", "0", "0", "0"]]
    ends = {"bodies": ["x", "y"], "space": slide}
    joints = [ends | {"name": name, "written": [[1.0] + [0.0] * 5]} for name in "ab"]
    cut = {"because": "cut", "joint": "b", "seen from": "x", "of": [[0, None]] * count}
    steps = [{"because": "joint", "joint": "a"} | ends, cut | {"kept": [], "removed": []}]
    return {"joints": joints, "steps": steps}


LONG = [
    pytest.param(chain, (12_000,), id="chain"),
    pytest.param(curves, (20, 12), id="curves"),
    pytest.param(curves, (200, 40), id="long curves"),
    pytest.param(curves, (3, 6000), id="wide curves"),
    *(pytest.param(long_numbers, (digits,), id=f"{digits} digits") for digits in (50, 500, 3900)),
    pytest.param(premises, (70_000,), id="premises"),
]


@pytest.mark.slow
@pytest.mark.skipif(sys.platform == "win32", reason="limits of a process are of POSIX")
@pytest.mark.parametrize(("made", "sizes"), LONG)
def test_a_megabyte_is_judged_in_two_seconds_and_300_megabytes(
    made: Callable[..., Any], sizes: tuple[int, ...], tmp_path: Path
) -> None:
    place = {"origin_m": [0.0] * 3, "unit_m": 1.0}
    part = place | made(*sizes) | {"conclusion": {"rows": 0, "kept": 0, "removed": 0}}
    path = tmp_path / "proof.json"
    path.write_text(json.dumps(signed(HEAD | {"parts": [part]})))
    assert path.stat().st_size < 1_100_000
    program = (
        "import resource, sys\n"
        "resource.setrlimit(resource.RLIMIT_CPU, (2, 2))\n"
        "resource.setrlimit(resource.RLIMIT_AS, (300 << 20, 300 << 20))\n"
        "import runpy\n"
        "sys.argv[:] = sys.argv[1:]\n"
        "runpy.run_path(sys.argv[0], run_name='__main__')\n"
    )
    source = Path(rg.__file__).parent / "proofs" / "verifier.py"
    judged = subprocess.run(
        [sys.executable, "-c", program, str(source), str(path)],
        capture_output=True,
        text=True,
        check=False,
    )
    assert judged.returncode in (0, 1), judged.stderr
    assert judged.stdout.startswith(("holds\n", "does not hold\n"))


def another_group(part: Any) -> None:
    """One more joint that the machine has not, which nothing holds."""
    virtual = next(joint for joint in part["joints"] if joint.get("virtual"))
    part["joints"].append(virtual | {"name": "one more"})


def real_cut(part: Any) -> None:
    """What is cut is said not to be the machine's."""
    cut = next(step["joint"] for step in part["steps"] if step["because"] == "cut")
    next(joint for joint in part["joints"] if joint["name"] == cut)["virtual"] = True


def longer_screw(part: Any) -> None:
    """A hinge moved aside: the ranks are no longer those of the rows kept."""
    joint = next(joint for joint in part["joints"] if not joint.get("virtual"))
    joint["space"] = [["1", "0", "0", "0", "0", "1"]]


HELD = [another_group, real_cut, longer_screw]


@pytest.fixture(scope="module")
def held(assets: Path) -> Any:
    return json.loads(json.dumps(rg.prove(rg.reduce(rg.load(assets / "quadrupteron.urdf")))))


@pytest.mark.slow
@pytest.mark.parametrize("forge", HELD, ids=lambda forge: forge.__name__)
def test_no_forged_group_is_held(forge: Callable[[Any], None], held: Any) -> None:
    assert rg.verify(held).holds
    document = copy.deepcopy(held)
    forge(next(part for part in document["parts"] if "loops" in part))
    verdict = rg.verify(signed(document))
    assert not verdict.holds


@pytest.mark.slow
def test_no_proof_that_is_forged_by_its_meaning_is_accepted() -> None:
    """Two of each kind; `forgeries.py` makes them by the hundred."""
    model, document = proofs()[0]
    assert is_of(document, model)
    tried, accepted = campaign(56, seed=40)
    assert accepted == [] and len(tried) > 20
