"""Forges proofs by what they mean, and counts how many of them the checker accepts.

Usage: ``python forgeries.py [COUNT [SEED]]``. Each forgery states, in a document of the right
form and with a right fingerprint, what does not follow: other axes with all steps derived anew and
the old claims, smaller groups, one row more, other curves, other bounds, other names. What is
accepted all the same is walked: where the rows that are kept imply all rows at configurations that
are far from the pose it is true, in other words, and no forgery. Prints how many of each kind there
are, and every false one that was accepted; the exit status is their number.
"""

from __future__ import annotations

import contextlib
import copy
import io
import json
import runpy
import sys
import tempfile
from collections import Counter
from collections.abc import Callable, Iterator
from functools import cache, partial
from pathlib import Path
from typing import Any

import rooms  # noqa: F401

import numpy as np
from literature import MECHANISMS
from random_mechanisms import random_network
from screws import adjoint, exp, log

import regularize as rg
from regularize.cli import main

#: The checker as one file: nothing else of the library judges by itself.
CHECKER = runpy.run_path(str(Path(rg.__file__).parent / "proofs" / "verifier.py"))
Space = tuple[tuple[int, ...], ...]
EVERY, annihilator, arcs, directions, fingerprint, meet, reduced, saturated, verify = (
    CHECKER[name]
    for name in (
        *("EVERY", "annihilator", "arcs", "directions", "fingerprint", "meet", "reduced"),
        *("saturated", "verify"),
    )
)
ASSETS = Path(__file__).resolve().parents[2] / "assets"
#: One and more for each theorem of the checker.
MODELS = ["planar_fourbar", "sarrus", "three_leg_sarrus", "braced_fourbar", "delta_parallelograms"]
MODELS += ["quadrupteron", "spherical_fourbar", "bennett", "goldberg_5r", "schatz", "bricard"]
MODELS += ["three_cranks", "mobility/kaleidocycle_6"]
FACTS = ("joint", "path", "meet", "walk", "locked", "parallelogram")
MOTIONS = ("rigid", "motion", "stress")
Rng = np.random.Generator


class NothingToForge(Exception):
    """A document has nothing of the kind."""


@cache
def proofs() -> tuple[tuple[str, Any], ...]:
    """Files, or names, and proofs of mechanisms."""
    models: dict[str, Any] = {str(ASSETS / f"{name}.urdf"): None for name in MODELS}
    models |= {name: MECHANISMS[name]() for name in ("six legs on conics", "coincident_arms")}
    models["locked network"] = random_network(np.random.default_rng(60004))
    made = (
        (name, rg.prove(rg.reduce(m or name, numerical="anyway", configurations=1)))
        for name, m in models.items()
    )
    return tuple((name, json.loads(json.dumps(proof))) for name, proof in made)


def exact(rows: Any) -> Space:
    return reduced(tuple(map(int, row)) for row in rows)


def written(space: Space) -> list[list[str]]:
    return [[*map(str, row)] for row in space]


def one_of(things: Any, rng: Rng) -> Any:
    if not (things := [*things]):
        raise NothingToForge
    return things[rng.integers(len(things))]


def steps_of(part: Any, *kinds: str) -> list[Any]:
    return [step for step in part["steps"] if step["because"] in kinds]


def derive(part: Any, said: Callable[[Any, Space], Space] = lambda _, space: space) -> None:
    """Say of every step what follows from the joints, or what is said instead."""
    spaces = {joint["name"]: exact(joint["space"]) for joint in part["joints"]}
    facts: list[Space] = []
    for step in part["steps"]:
        why, of = step["because"], step.get("of", [])
        A, B = (facts[n] if type(n) is int else () for n in [*of, None, None][:2])
        space: Space = ()
        if why == "joint":
            space = spaces[step["joint"]]
        elif why == "path":
            space = saturated(reduced([*A, *B]))
        elif why == "meet":
            space = meet(A, B)
        elif why == "walk":
            space = reduced([*saturated(A, B), *B])
        elif why == "parallelogram":
            try:
                space = arcs([spaces[name] for name in step["loop"]])
            except ValueError:
                space = exact(step["space"])
        elif why == "cut":
            Z, D = spaces[step["joint"]], EVERY
            for here, there in of:
                P, Q = (() if n is None else facts[n] for n in (here, there))
                D = meet(D, reduced([*P, *saturated(Q, Z), *Z]))
            state(step, Z, said(step, annihilator(D)))
        if why in FACTS:
            step["space"] = written(space := said(step, space))
        facts.append(space)


def state(step: Any, Z: Space, removed: Space) -> None:
    """State which rows of a cut are never needed."""
    step["removed"] = written(removed)
    step["kept"] = written(annihilator(reduced([*Z, *removed])))


def conclude(part: Any) -> None:
    """Count rows as the steps state them."""
    spaces = {joint["name"]: exact(joint["space"]) for joint in part["joints"]}
    kept = {step["joint"]: len(step["kept"]) for step in steps_of(part, "cut")}
    for step in steps_of(part, *MOTIONS):
        kept |= {cut: len(rows) for cut, rows in step["kept"].items()}
    held = {step["instead of"]: len(step["rows"]) for step in steps_of(part, "held")}
    rows = sum(6 - len(spaces[cut]) for cut in kept.keys() - held.keys())
    total = sum(kept[cut] for cut in kept.keys() - held.keys()) + sum(held.values())
    part["conclusion"] = {"rows": rows, "kept": total, "removed": rows - total}


# --- lies about joints: everything is derived anew, and the rows are those of before -------------


def moved(row: np.ndarray, kind: str, rng: Rng) -> np.ndarray:
    v, w = row[:3], row[3:]
    some = rng.integers(1, 4, 3).astype(object)
    if kind == "parallel instead of the same axis":
        return np.concatenate([v + np.cross(some, w), w])
    if kind == "turned":
        return np.concatenate([v, w + some * max(1, abs(w).max() // 7)])
    if kind == "with a pitch":
        return np.concatenate([v + w, w])
    if kind == "mirrored":
        return row * [1, 1, -1, -1, -1, 1]
    return np.concatenate([w, 0 * w])  # a slide for a hinge


def joints_moved(document: Any, rng: Rng, kind: str) -> None:
    part = one_of((p for p in document["parts"] if p["conclusion"]["removed"]), rng)
    turning = [j for j in part["joints"] if len(j["space"]) == 1 and j.get("virtual") is None]
    joint = one_of((j for j in turning if any(int(x) for x in j["space"][0][3:])), rng)
    row = moved(np.array([int(x) for x in joint["space"][0]], dtype=object), kind, rng)
    space = reduced([tuple(map(int, row))])
    if written(space) == joint["space"]:
        raise NothingToForge
    joint["space"] = written(space)
    joint["written"] = [[x / max(map(abs, space[0])) for x in space[0]]]
    before = {step["joint"]: exact(step["removed"]) for step in steps_of(part, "cut")}
    fewer = []

    def said(step: Any, space: Space) -> Space:
        if step["because"] != "cut":
            return space
        old = before[step["joint"]]
        fewer.append(len(old) > len(space))
        return old if len(old) > len(space) else space

    derive(part, said)
    if not any(fewer) and not steps_of(part, *MOTIONS, "held"):
        one_row_more(document, rng)
    else:
        conclude(part)


# --- lies about groups and rows -------------------------------------------------------------------


def smaller_group(document: Any, rng: Rng) -> None:
    """A group or seen space without one dimension, and all that would follow."""
    part = one_of(document["parts"], rng)
    lie = one_of((s for s in steps_of(part, "path", "meet", "walk") if len(s["space"]) > 1), rng)
    at = int(rng.integers(len(lie["space"])))
    derive(
        part, lambda step, space: reduced(space[:at] + space[at + 1 :]) if step is lie else space
    )
    conclude(part)


def walk_for_path(document: Any, rng: Rng) -> None:
    """A sum of spaces for the group that they generate."""
    part = one_of(document["parts"], rng)
    lie = one_of((s for s in steps_of(part, "path") if None not in s["of"]), rng)
    spaces = [exact(part["steps"][n]["space"]) for n in lie["of"]]
    derive(part, lambda step, space: reduced(sum(spaces, ())) if step is lie else space)
    conclude(part)
    if lie["space"] == written(saturated(exact(lie["space"]))):
        raise NothingToForge


def locked(document: Any, rng: Rng) -> None:
    """A joint that moves is said to be locked by what it rests on."""
    part = one_of(document["parts"], rng)
    at = int(rng.integers(len(part["steps"])))
    lie = part["steps"][at]
    if lie["because"] != "joint" or not lie["space"]:
        raise NothingToForge
    lie |= {"because": "locked", "of": [one_of(range(at), rng) if at else None, None]}
    derive(part)
    conclude(part)


def one_row_more(document: Any, rng: Rng) -> None:
    part = one_of(document["parts"], rng)
    cut = one_of((s for s in steps_of(part, "cut") if s["kept"]), rng)
    Z = next(exact(j["space"]) for j in part["joints"] if j["name"] == cut["joint"])
    state(cut, Z, reduced([*exact(cut["removed"]), one_of(exact(cut["kept"]), rng)]))
    conclude(part)


def rows_swapped(document: Any, rng: Rng) -> None:
    """A row that is needed for one that is not."""
    part = one_of(document["parts"], rng)
    cut = one_of((s for s in steps_of(part, "cut") if s["kept"] and s["removed"]), rng)
    Z = next(exact(j["space"]) for j in part["joints"] if j["name"] == cut["joint"])
    rest = exact(cut["removed"])[1:]
    state(cut, Z, reduced([*rest, one_of(exact(cut["kept"]), rng)]))


def fewer_kept(document: Any, rng: Rng) -> None:
    """One row less beside a motion, a stress or what cannot move."""
    part = one_of(document["parts"], rng)
    step = one_of(steps_of(part, *MOTIONS), rng)
    cut = one_of((c for c, rows in step["kept"].items() if rows), rng)
    step["kept"][cut].pop(int(rng.integers(len(step["kept"][cut]))))
    conclude(part)


def rigid_without_reason(document: Any, rng: Rng) -> None:
    """A loop that moves is said to be rigid: all rows of its cut that its joints do not need go."""
    part = one_of(document["parts"], rng)
    cut = one_of((s for s in steps_of(part, "cut") if s["kept"]), rng)
    cuts = {s["joint"] for s in steps_of(part, "cut")}
    ends = {j["name"]: tuple(j["bodies"]) for j in part["joints"]}
    tree = {name: both for name, both in ends.items() if name not in cuts}
    loop = [cut["joint"], *ring(tree, ends[cut["joint"]])[::-1]]
    kept = cut["kept"][1:]
    part["steps"].append(
        {"because": "rigid", "loops": {cut["joint"]: loop}, "kept": {cut["joint"]: kept}}
    )
    conclude(part)


# --- lies about motions ---------------------------------------------------------------------------


def motion_of(document: Any, rng: Rng, *kinds: str) -> tuple[Any, Any]:
    part = one_of((p for p in document["parts"] if steps_of(p, *kinds)), rng)
    return part, one_of(steps_of(part, *kinds), rng)


def curve_changed(document: Any, rng: Rng) -> None:
    """Another coefficient, degree or sign in one relation, as of another square root."""
    _, step = motion_of(document, rng, "motion")
    q = one_of((q for q in step["curve"] if len(q) > 1), rng)
    at = one_of(sorted(q), rng)
    q[at] = (
        str(int(q[at]) + int(rng.choice([-2, 1, 3]))) if rng.random() < 0.5 else str(-int(q[at]))
    )


def curve_left_out(document: Any, rng: Rng) -> None:
    """One relation less: its variable would be free."""
    _, step = motion_of(document, rng, "motion")
    step["curve"].remove(one_of(step["curve"], rng))


def curve_divided(document: Any, rng: Rng) -> None:
    """A relation times one that is empty at the pose: what holds on a part of it is no motion."""
    _, step = motion_of(document, rng, "motion")
    k = int(rng.integers(len(step["curve"]))) if step["curve"] else one_of((), rng)
    factor = int(rng.integers(len(next(iter(step["curve"][k])).split())))
    step["curve"][k] = {
        " ".join(str(int(x) + (i == factor)) for i, x in enumerate(e.split())): c
        for e, c in step["curve"][k].items()
    }


def joint_reparametrised(document: Any, rng: Rng) -> None:
    """One joint twice as fast, backwards, or not at all."""
    _, step = motion_of(document, rng, "motion")
    _, *more = step["moves"][one_of(sorted(step["moves"]), rng)]
    b, factor = one_of((b for b in more if b), rng), int(rng.choice([-1, 0, 2]))
    for at in [*b]:
        b[at] = str(factor * int(b[at]))
    if not factor:
        b.clear()


def another_leg(document: Any, rng: Rng) -> None:
    """A leg of another foot, twice, or of a force through infinity."""
    _, step = motion_of(document, rng, "stress")
    leg, kind = one_of(step["legs"], rng), rng.integers(4)
    if kind == 0:
        leg["ends"][rng.integers(2)][rng.integers(3)] += "1"
    elif kind == 1:
        step["legs"].append(copy.deepcopy(leg))
    elif kind == 2:
        leg["ends"][rng.integers(2)][3] = "0"
    else:
        other = one_of((each for each in step["legs"] if each is not leg), rng)
        leg["joints"], other["joints"] = other["joints"], leg["joints"]


# --- lies about groups that are held, bounds and models -------------------------------------------


def held_by_nothing(document: Any, rng: Rng) -> None:
    """Other relations of joints, or in other loops, or one less."""
    part, step = motion_of(document, rng, "held")
    kind = rng.integers(4)
    if kind == 0 and step["rows"]:
        step["rows"].pop()
    elif kind == 1:
        spaces = {joint["name"]: joint["space"] for joint in part["joints"]}
        rows = annihilator(exact([z for name in step["loop"] for z in spaces[name]]))
        step["rows"] = written(rows[: len(step["rows"])])
    elif kind == 2:
        one, two = [*part["loops"]][:2]
        part["loops"][one] = part["loops"][two]
    else:
        virtual = next(joint for joint in part["joints"] if joint.get("virtual"))
        virtual["space"] = written(reduced(exact(virtual["space"])[1:]))
        derive(part)
    conclude(part)


def another_bound(document: Any, rng: Rng) -> None:
    """A rank that is larger, of fewer joints or loops, or farther from the pose."""
    bound, kind = one_of((b for b in document["bounds"] if b["rows"]), rng), rng.integers(6)
    if kind == 0:
        bound["off"] = float(rng.choice([-10.0, 1000.0])) * (bound["off"] or 1.0)
    elif kind == 1:
        rest = set(range(6 * len(bound["loops"]))) - set(bound["rows"])
        bound["rows"].append(one_of(sorted(rest), rng))
        bound["inverse"] = [[*row, 0.0] for row in bound["inverse"]]
        bound["inverse"].append([0.0] * len(bound["rows"]))
        bound["columns"].append(bound["columns"][0])
    elif kind == 2:
        bound["loops"].pop()
    elif kind == 3:
        bound["loops"].append(bound["loops"][0])
    elif kind == 4:
        bound["columns"].pop()
    else:
        bound["inverse"] = [[0.0 * x for x in row] for row in bound["inverse"]]


def fewer_joints(document: Any, rng: Rng) -> None:
    """The bound of one of several loops for that of all."""
    bound = one_of((b for b in document["bounds"] if len(b["loops"]) > 1), rng)
    loop = one_of(bound["loops"], rng)
    joints = {j["name"]: j for j in bound["joints"] if j["name"] in loop}
    signs = directions(loop, {name: tuple(j["bodies"]) for name, j in joints.items()})
    J = np.array([signs[n] * np.array(z) for n in sorted(joints) for z in joints[n]["written"]]).T
    rank, rows, columns = np.linalg.matrix_rank(J), list[int](), list[int]()
    for k in range(6):
        if np.linalg.matrix_rank(J[[*rows, k]]) > len(rows):
            rows.append(k)
    for k in range(J.shape[1]):
        if np.linalg.matrix_rank(J[np.ix_(rows, [*columns, k])]) > len(columns):
            columns.append(k)
    inverse = np.linalg.inv(J[np.ix_(rows, columns)]).tolist()
    bound |= {"joints": [*joints.values()], "loops": [loop], "rows": rows, "columns": columns}
    bound |= {"inverse": inverse, "off": 1e-9}
    document |= {"parts": [], "undecided": []}
    assert rank == len(columns)


def names_exchanged(document: Any, rng: Rng) -> None:
    part = one_of(document["parts"], rng)
    names = [j["name"] for j in part["joints"] if not j.get("virtual")]
    one, two = one_of(names, rng), one_of(names, rng)
    new = {one: two, two: one}
    if one == two:
        raise NothingToForge

    def renamed(value: Any, key: str = "") -> Any:
        if isinstance(value, dict):
            by_name = key in ("loops", "kept", "moves")
            named = {new.get(n, n) if by_name else n: v for n, v in value.items()}
            return {n: renamed(v, key if by_name else n) for n, v in named.items()}
        if isinstance(value, list):
            return [renamed(each, key) for each in value]
        names = ("name", "joint", "instead of", "loop", "loops", "joints")
        return new.get(value, value) if key in names else value

    part |= renamed(part)
    document |= {"bounds": [], "undecided": []}


def joint_left_out(document: Any, rng: Rng) -> None:
    """A joint is taken for rigid: its two bodies are one."""
    part = one_of(document["parts"], rng)
    tree = {s["joint"] for s in steps_of(part, "joint")} - {
        s["joint"] for s in steps_of(part, "cut")
    }
    name = one_of(sorted(tree), rng)
    joint = next(j for j in part["joints"] if j["name"] == name)
    joint |= {"space": [], "written": []}
    derive(part)
    conclude(part)
    document |= {"bounds": [], "undecided": []}


def elsewhere(document: Any, rng: Rng) -> None:
    part = one_of(document["parts"], rng)
    if rng.random() < 0.5:
        part["origin_m"] = [x + k for x, k in zip(part["origin_m"], (0.1, 0.2, 0.3), strict=True)]
    else:
        part["unit_m"] *= 1.5
    document |= {"bounds": [], "undecided": []}


# --- is it true all the same? ---------------------------------------------------------------------


def ring(tree: dict[str, Any], ends: tuple[str, str]) -> list[str]:
    paths: dict[str, list[str]] = {ends[0]: []}
    while ends[1] not in paths:
        for name, (one, two) in tree.items():
            for here, there in ((one, two), (two, one)):
                if here in paths and there not in paths:
                    paths[there] = [*paths[here], name]
    return paths[ends[1]]


def orthonormal(rows: Any) -> np.ndarray:
    """Columns that span the same as some rows of long integers."""
    scaled = [[int(x) / max(map(abs, map(int, row))) for x in row] for row in rows]
    return np.linalg.qr(np.array(scaled).reshape(-1, 6).T)[0]


def true(part: Any, rng: Rng, steps: int = 12) -> bool:
    """Whether the rows that are kept imply all of them at configurations that the part reaches."""
    ends = {joint["name"]: tuple(joint["bodies"]) for joint in part["joints"]}
    real = [joint["name"] for joint in part["joints"] if not joint.get("virtual")]
    screws = {j["name"]: orthonormal(j["space"]) for j in part["joints"] if j["name"] in real}
    held = {s["instead of"]: s for s in steps_of(part, "held")}
    cuts = {s["joint"]: (s["seen from"], s["kept"]) for s in steps_of(part, "cut")}
    cuts = {cut: pair for cut, pair in cuts.items() if cut not in held}
    for step in steps_of(part, *MOTIONS):
        cuts |= {cut: (cuts[cut][0], rows) for cut, rows in step["kept"].items()}
    tree = {name: ends[name] for name in real if name not in cuts}
    rings = {cut: [*ring(tree, ends[cut]), cut] for cut in cuts}
    stops = np.cumsum([0, *(S.shape[1] for S in screws.values())])
    own = {n: slice(*stops[k : k + 2]) for k, n in enumerate(screws)}
    g = {name: np.eye(4) for name in screws}
    relations = [np.zeros((0, stops[-1]))]
    for step in held.values():
        rows, signs = orthonormal(step["rows"]).T, directions(step["loop"], ends)
        relations.append(np.zeros((len(rows), stops[-1])))
        for name in signs.keys() & screws.keys():
            relations[-1][:, own[name]] = signs[name] * rows @ screws[name]

    def rank(J: np.ndarray) -> int:
        return int(np.linalg.matrix_rank(J, tol=1e-7))

    def closed() -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """Gaps of all loops, and what all rows and those that are kept say of the joints' rates."""
        gaps, every, few = [np.zeros(0)], [np.zeros((0, stops[-1]))], [*relations]
        for cut, loop in rings.items():
            T, J, (body, rows), there = np.eye(4), np.zeros((6, stops[-1])), cuts[cut], np.eye(4)
            at = ends[cut][0]
            for name in loop:
                forward = ends[name][0] == at
                at = ends[name][forward]
                after = T @ (g[name] if forward else np.linalg.inv(g[name]))
                sign, where = (1, T) if forward else (-1, after)
                J[:, own[name]] = sign * adjoint(where) @ screws[name]
                T = after
                there = T if at == body else there
            gaps, every = [*gaps, log(T)], [*every, J]
            few.append(np.vstack([orthonormal(rows).T, screws[cut].T]))
            few[-1] = few[-1] @ adjoint(np.linalg.inv(there)) @ J
        return np.concatenate(gaps), np.vstack(every), np.vstack(few)

    for _ in range(steps):
        _, J, few = closed()
        if rank(few) < rank(J):
            return False
        free = np.linalg.svd(J)[2][rank(J) :].T
        if not free.shape[1]:
            return True
        rates = free @ rng.normal(size=free.shape[1])
        rates *= 0.1 / np.linalg.norm(rates)
        for _ in range(8):
            for name, S in screws.items():
                g[name] = g[name] @ exp(S @ rates[own[name]])
            gaps, J, _ = closed()
            if np.abs(gaps).max(initial=0.0) < 1e-12:
                break
            rates = -np.linalg.lstsq(J, gaps, rcond=1e-6)[0]
        else:
            return True  # it does not move there, and no other configuration is at hand
    return True


# --- the campaign ---------------------------------------------------------------------------------

#: Forgers of a document by itself, and of one that is about another mechanism than is said.
OF_ITSELF: tuple[Callable[[Any, Rng], None], ...] = (
    smaller_group,
    walk_for_path,
    locked,
    one_row_more,
    rows_swapped,
    fewer_kept,
    rigid_without_reason,
    curve_changed,
    curve_left_out,
    curve_divided,
    joint_reparametrised,
    another_leg,
    held_by_nothing,
    another_bound,
)
OF_THE_MODEL = (names_exchanged, joint_left_out, elsewhere, fewer_joints)
JOINTS = ("parallel instead of the same axis", "turned", "with a pitch", "mirrored", "a slide")


def forged(seed: int) -> Iterator[tuple[str, str, Any, bool]]:
    """Kind, model, document, and whether it lies about the model, endlessly."""
    kinds: list[tuple[str, Callable[[Any, Rng], None]]]
    kinds = [(forge.__name__, forge) for forge in (*OF_ITSELF, *OF_THE_MODEL)]
    kinds += [(kind, partial(joints_moved, kind=kind)) for kind in JOINTS]
    rng = np.random.default_rng(seed)
    while True:
        for name, forge in kinds:
            for k in rng.permutation(len(MODELS if forge in OF_THE_MODEL else proofs())):
                model, before = proofs()[k]
                document = copy.deepcopy(before)
                try:
                    forge(document, rng)
                except NothingToForge:
                    continue
                if document != before:
                    document["fingerprint"] = fingerprint(document)
                    yield name, model, document, forge in OF_THE_MODEL
                    break


def is_of(document: Any, model: str) -> bool:
    with tempfile.TemporaryDirectory() as folder, contextlib.redirect_stdout(io.StringIO()):
        proof = Path(folder) / "proof.json"
        proof.write_text(json.dumps(document), encoding="utf-8")
        return main(["verify", str(proof), "--model", model]) == 0


def campaign(count: int, seed: int) -> tuple[Counter[str], list[str]]:
    """So many forgeries: how many there are of each kind, and the false ones that are accepted."""
    tried, accepted = Counter[str](), list[str]()
    for kind, model, document, of_the_model in forged(seed):
        verdict = verify(document)
        if verdict.holds and of_the_model:
            verdict = verdict._replace(holds=is_of(document, model))
        if verdict.holds and not of_the_model and kind != "another_bound":
            rng = np.random.default_rng(0)
            if all(true(part, rng) for part in document["parts"]):
                tried["true in other words"] += 1
                continue
        tried[kind] += 1
        accepted += [f"{kind}: {model}"] * verdict.holds
        if tried.total() - tried["true in other words"] >= count:
            return tried, accepted
    raise AssertionError


if __name__ == "__main__":
    wanted, first = (int(x) for x in [*sys.argv[1:], "500", "0"][:2])
    kinds, false = campaign(wanted, first)
    for kind, number in sorted(kinds.items()):
        print(f"{number:5} {kind}")
    print("\n".join([*false, f"{len(false)} of {wanted} accepted, seed {first}"]))
    sys.exit(len(false))
