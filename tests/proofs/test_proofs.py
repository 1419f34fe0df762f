"""Proofs of reductions, their independent checker, and changed proofs that it must not accept."""

from __future__ import annotations

import copy
import json
import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from random_mechanisms import random_network

import regularize as rg
from regularize.cli import main
from regularize.proofs.verifier import fingerprint

ASSETS = sorted((Path(__file__).resolve().parents[2] / "assets").glob("*.urdf"))
TRAPS = sorted((Path(__file__).resolve().parents[3] / "shared/corpus/traps").glob("*.urdf"))
CHANGED = (
    "planar_fourbar",
    "three_leg_sarrus",
    "walker",
    "braced_fourbar",
    "delta_parallelograms",
    "quadrupteron",
)


def proof_of(path: Path) -> Any:
    return json.loads(json.dumps(rg.prove(rg.reduce(rg.load(path)))))


@pytest.mark.slow
@pytest.mark.parametrize("path", [*ASSETS, *TRAPS], ids=lambda path: path.stem)
def test_every_removed_row_is_proved(path: Path) -> None:
    reduction = rg.reduce(rg.load(path))
    document = json.loads(json.dumps(rg.prove(reduction)))
    verdict = rg.verify(document)
    assert verdict.holds, verdict.reason
    assert document["undecided"] == []
    assert sum(p["conclusion"]["removed"] for p in document["parts"]) == reduction.removed
    assert all(j["distance"] < 1e-8 for part in document["parts"] for j in part["joints"])


FAMILIES = {
    "mobility/altmann_6r": "line-symmetric Bricard",
    "mobility/bricard_line_symmetric": "line-symmetric Bricard",
    "mobility/bricard_octahedron_1": "none with a name",
    "mobility/bricard_octahedron_2": "none with a name",
    "mobility/dixon_second": "parallelograms",
    "mobility/kaleidocycle_6": "plane-symmetric Bricard",
    "mobility/miura_fold": "none with a name",
    "mobility/myard_5r": "Goldberg 5R",
    "bennett": "Bennett",
    "braced_fourbar": "none with a name",
    "bricard": "plane-symmetric Bricard",
    "focal_mechanism": "focal mechanism",
    "goldberg_5r": "Goldberg 5R",
    "goldberg_6r": "Goldberg 6R",
    "roberval_balance": "parallelograms",
    "schatz": "Schatz",
    "three_cranks": "parallelograms",
    "waldron_6r": "Waldron 6R",
}


@pytest.mark.slow
@pytest.mark.parametrize("name", FAMILIES)
def test_what_special_lengths_make_redundant_is_proved_by_its_motion(name: str) -> None:
    reduction = rg.reduce(rg.load(ASSETS[0].parent / f"{name}.urdf"), numerical="anyway")
    document = json.loads(json.dumps(rg.prove(reduction)))
    verdict = rg.verify(document)
    assert verdict.holds, verdict.reason
    assert document["undecided"] == [] and reduction.remaining == 0
    assert "no more than 0" not in verdict.claims[-1]
    assert sum(p["conclusion"]["removed"] for p in document["parts"]) == reduction.removed
    steps = [step for part in document["parts"] for step in part["steps"]]
    assert [step["family"] for step in steps if step["because"] == "motion"] == [FAMILIES[name]]
    assert any("lose their rank" in claim for claim in verdict.claims)
    assert all(j["distance"] < 1e-8 for part in document["parts"] for j in part["joints"])


@pytest.mark.slow
@pytest.mark.parametrize("name", ["mobility/wunderlich_12_bar", "shaky_7r"])
def test_what_was_only_seen_is_not_proved(name: str) -> None:
    """What the motion spaces prove of such a part stays proved."""
    mechanism = rg.load(ASSETS[0].parent / f"{name}.urdf")
    seen, proved = rg.reduce(mechanism, numerical="anyway"), rg.reduce(mechanism)
    document = rg.prove(seen)
    assert rg.verify(document).holds
    assert sum(p["conclusion"]["removed"] for p in document["parts"]) == proved.removed
    assert len(document["undecided"]) == (seen.removed > proved.removed)


@pytest.mark.slow
@pytest.mark.parametrize("first", range(0, 60, 20))
def test_random_networks_are_proved(first: int) -> None:
    for seed in range(first, first + 20):
        reduction = rg.reduce(random_network(np.random.default_rng(seed)))
        document = rg.prove(reduction)
        assert rg.verify(document).holds
        assert sum(p["conclusion"]["removed"] for p in document["parts"]) == reduction.removed


@pytest.mark.slow
def test_the_checker_needs_the_standard_library_alone(tmp_path: Path) -> None:
    file = tmp_path / "proof.json"
    file.write_text(json.dumps(proof_of(ASSETS[0])), encoding="utf-8")
    source = (Path(rg.__file__).parent / "proofs" / "verifier.py").read_text(encoding="utf-8")
    assert len(source.splitlines()) <= 550
    alone = tmp_path / "alone.py"
    alone.write_text(source, encoding="utf-8")
    command = [sys.executable, "-I", "-S", str(alone), str(file)]
    done = subprocess.run(command, capture_output=True, text=True)
    assert (done.returncode, done.stdout.split("\n")[0]) == (0, "holds")
    assert "at least" in done.stdout and "no more than" in done.stdout
    document = json.loads(file.read_text(encoding="utf-8"))
    document["bounds"][0]["off"] = 1.0
    file.write_text(json.dumps(document | {"fingerprint": fingerprint(document)}), encoding="utf-8")
    done = subprocess.run(command, capture_output=True, text=True)
    assert (done.returncode, done.stdout.split("\n")[0]) == (1, "does not hold")


def motions(names: tuple[str, ...]) -> list[Any]:
    folder = ASSETS[0].parent
    some = (rg.reduce(rg.load(folder / f"{name}.urdf"), numerical="anyway") for name in names)
    return [json.loads(json.dumps(rg.prove(reduction))) for reduction in some]


def spaces(document: Any) -> list[Any]:
    """Every non-empty matrix of a document's steps."""
    found = []
    for part in document["parts"]:
        for entry in part["steps"]:
            for key in ("space", "kept", "removed", "rows"):
                if entry.get(key):
                    value = entry[key]
                    found += (
                        [m for m in value.values() if m] if isinstance(value, dict) else [value]
                    )
    return found


def change_number(document: Any, rng: np.random.Generator) -> None:
    matrices = spaces(document)
    matrix = matrices[rng.integers(len(matrices))]
    row = matrix[rng.integers(len(matrix))]
    at = int(rng.integers(6))
    row[at] = str(int(row[at]) + int(rng.choice([-1, 1, 2])))


def change_order(document: Any, rng: np.random.Generator) -> None:
    steps = document["parts"][rng.integers(len(document["parts"]))]["steps"]
    one, two = rng.choice(len(steps), size=2, replace=False)
    steps[one], steps[two] = steps[two], steps[one]


def change_premise(document: Any, rng: np.random.Generator) -> None:
    steps = [step for part in document["parts"] for step in part["steps"] if step.get("of")]
    step = steps[rng.integers(len(steps))]
    at = int(rng.integers(len(step["of"])))
    if isinstance(step["of"][at], list):
        step["of"].pop(at)
    elif step["of"][at] is None:
        step["of"][at] = int(rng.integers(len(steps)))
    else:
        step["of"][at] += int(rng.choice([-1, 1]))


def change_motion(document: Any, rng: np.random.Generator) -> None:
    """Another motion, or one of other joints, loops and rows."""
    part = document["parts"][0]
    step = next(step for step in part["steps"] if step["because"] == "motion")
    names = sorted(step["moves"])
    name = names[rng.integers(len(names))]
    kind = rng.integers(8)
    terms = (step["curve"] if step["curve"] and kind >= 3 else step["moves"][name])[rng.integers(2)]
    # A single term of a relation times a number would be the same curve.
    if kind < 4 and (kind < 3 or len(terms) > 1):
        at = sorted(terms)[rng.integers(len(terms))]
        terms[at] = str(int(terms[at]) + int(rng.choice([-2, 1, 3])))
    elif kind == 4:
        del step["moves"][name]
    elif kind == 5:
        cut = sorted(step["kept"])[rng.integers(len(step["kept"]))]
        step["kept"][cut].append(["0", "0", "0", "0", "0", "1"])
    elif kind == 6:
        loop = step["loops"][sorted(step["loops"])[0]]
        loop[0], loop[1] = loop[1], loop[0]
    else:
        joint = next(joint for joint in part["joints"] if joint["name"] == name)
        joint["space"][0][0] = str(int(joint["space"][0][0]) + 1)


@pytest.mark.slow
def test_no_changed_motion_is_accepted() -> None:
    rng = np.random.default_rng(3)
    planar, others = ("three_cranks", "roberval_balance"), ("goldberg_5r", "schatz", "waldron_6r")
    documents = motions((*planar, "bennett", "bricard", *others))
    assert all(rg.verify(document).holds for document in documents)
    for k in range(210):
        document = copy.deepcopy(documents[k % len(documents)])
        change_motion(document, rng)
        document["fingerprint"] = fingerprint(document)
        assert not rg.verify(document).holds, k


@pytest.mark.slow
def test_a_motion_of_joints_that_are_not_in_the_loops_says_nothing() -> None:
    """The joint of the parameter has to turn in one of them, or all of them could stand still."""
    (document,) = motions(("three_cranks",))
    step = document["parts"][0]["steps"][-1]
    one, x = {"0 0 0": "1"}, {"1 0 0": "1"}
    step["moves"] = {name: [one, {}] for name in step["moves"]} | {"X": [one, x]}
    document["fingerprint"] = fingerprint(document)
    assert not rg.verify(document).holds


@pytest.mark.slow
def test_a_motion_that_takes_too_much_work_to_check_is_refused() -> None:
    """Division by x + y replaces the powers of y one by one."""
    (document,) = motions(("three_cranks",))
    step = document["parts"][0]["steps"][-1]
    step["curve"], moves = [{"1 0": "1", "0 1": "1"}], step["moves"]
    for name, pair in moves.items():
        moves[name] = [{f"{at} 0": c for at, c in f.items()} for f in pair]
    moves[max(moves)][0] = {"0 0": "1", "0 3001": "1"}
    document["fingerprint"] = fingerprint(document)
    assert not rg.verify(document).holds


@pytest.mark.slow
def test_ranks_are_bounded_where_the_exact_joints_are_not_known() -> None:
    """Of six equations of the linkage of Schatz at least five are independent, as near as 1e-3."""
    schatz, rods = (
        rg.prove(rg.reduce(rg.load(ASSETS[0].parent / f"{name}.urdf"), numerical="anyway"))
        for name in ("schatz", "stewart_6ups")
    )
    claims = rg.verify(schatz).claims
    assert "at least 5" in claims[-1] and "no more than 1 redundant" in claims[-1]
    assert "no more than 0 redundant" in rg.verify(rods).claims[-1]
    assert float(schatz["bounds"][0]["off"]) >= 1e-3


CHANGES = (change_number, change_order, change_premise)


@pytest.mark.slow
@pytest.mark.parametrize("change", CHANGES, ids=lambda change: change.__name__)
def test_no_changed_proof_is_accepted(change: Callable[[Any, np.random.Generator], None]) -> None:
    rng = np.random.default_rng(7)
    documents = [proof_of(path) for path in ASSETS if path.stem in CHANGED]
    for k in range(40):
        document = copy.deepcopy(documents[k % len(documents)])
        change(document, rng)
        assert not rg.verify(document).holds
        document["fingerprint"] = fingerprint(document)
        assert not rg.verify(document).holds, (change.__name__, k)


@pytest.mark.parametrize("document", [None, [], {}, {"format": "regularize proof", "version": 1}])
def test_what_is_no_proof_is_refused(document: Any) -> None:
    assert not rg.verify(document).holds


@pytest.mark.slow
def test_commands(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    walker, bench = (
        str(ASSETS[0].parent / name) for name in ("walker.urdf", "planar_fourbar.urdf")
    )
    proof = str(tmp_path / "proof.json")
    assert main(["check", walker, "--proof", proof, "--fail-on", "never", "-q"]) == 0
    assert main(["verify", proof]) == main(["verify", proof, "--model", walker]) == 0
    assert capsys.readouterr().out.count("rows are never needed") == 24
    assert main(["verify", proof, "--model", bench]) == 1
    assert main(["verify", walker]) == 2
    assert main(["check", walker, bench, "--proof", proof]) == 2


#: Kernels of OpenBLAS that every processor of the last ten years can run; the others need AVX-512.
CORES = ("Prescott", "Nehalem", "Sandybridge", "Haswell")


@pytest.mark.slow
def test_proofs_are_the_same_to_the_byte_on_every_processor(assets: Path) -> None:
    """Kernels of other processors add in another order; where proofs hung on it they differed."""
    names = ("planar_fourbar", "orthoglide", "spherical_9r", "thesis/three_bar", "bennett")
    program = "import sys, json, regularize as rg\nfor path in sys.argv[1:]:\n"
    program += "    print(json.dumps(rg.prove(rg.load(path))))"
    command = [sys.executable, "-c", program, *(str(assets / f"{name}.urdf") for name in names)]
    found = []
    for core in CORES:
        # NumPy's own kernels differ as well.
        older = {"NPY_DISABLE_CPU_FEATURES": "X86_V3" if core != CORES[-1] else ""}
        environment = os.environ | older | {"OPENBLAS_CORETYPE": core}
        ran = subprocess.run(command, env=environment, capture_output=True, check=True)
        found.append(ran.stdout)
    assert len(found[0].splitlines()) == len(names) and {*found} == {found[0]}
