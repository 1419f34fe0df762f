"""Figures in the prose of README and handbook: where they stand, and what computes them.

Figures of time and of other programs come from the scripts that the pages name beside them. What is
quoted from the tables of ``speed.md`` elsewhere is read there.
"""

from __future__ import annotations

import inspect
import json
import re
from collections.abc import Callable, Iterator
from functools import cache
from pathlib import Path

import regularize as rg
from regularize.dynamics.pinocchio import generated
from regularize.dynamics.tape import backends
from regularize.dynamics.tape.program import Program
from regularize.guests.actuation import twin
from regularize.proofs import verifier

ROOT = Path(__file__).resolve().parents[1]
Figures = tuple[object, ...]


@cache
def reduction(name: str, groups: bool = True) -> rg.Reduction:
    """The reduction of an example."""
    return rg.reduce(ROOT / "assets" / f"{name}.urdf", configurations=0, groups=groups)


def equations(name: str) -> Figures:
    """All equations of an example and those that are kept."""
    return reduction(name).constraints, reduction(name).kept


def checker() -> Figures:
    """Lines of the checker of proofs."""
    return (len(Path(verifier.__file__).read_text(encoding="utf-8").splitlines()),)


def delta() -> Figures:
    """Rows of a Delta that go without groups and parallelograms, and all redundant ones."""
    name = "delta_parallelograms"
    return reduction(name, groups=False).removed, reduction(name).redundant


def closed_delta() -> Figures:
    """Equations of a Delta that matter, and those of Pinocchio's constraints at its joints."""
    robot = rg.to_pinocchio(reduction("delta_parallelograms"), style="legacy")
    return rg.to_pinocchio(reduction("delta_parallelograms")).rank, robot.rows


def stewart() -> Figures:
    """Branches of the inverse kinematics of a Stewart platform."""
    return (len(rg.closed_form(ROOT / "assets/stewart_6ups.urdf", pose="platform").branches),)


def connects() -> Figures:
    """Rows of the connects of the gripper, two for each hinge, and those that matter."""
    found = reduction("gripper")
    return 6 * len(found.cuts), found.kept


def cranks() -> Figures:
    """Redundant equations of three cranks."""
    return (reduction("three_cranks").redundant,)


def mobility() -> Figures:
    """Mechanisms of the literature."""
    return (len([*(ROOT / "assets" / "mobility").glob("*.urdf")]),)


def samples() -> Figures:
    """Configurations of a check."""
    return (inspect.signature(rg.reduce).parameters["configurations"].default,)


def longest() -> Figures:
    """Operations beyond which tables compute."""
    return (f"{generated._LONGEST:,}",)


@cache
def walker() -> Program:
    """The program of the walker's acceleration."""
    program: Program = rg.to_pinocchio(reduction("walker")).programs.dynamics
    return program


def assignments() -> Figures:
    """Assignments of the walker's program."""
    given = ("constant", "variable")
    return (f"{sum(each.operation not in given for each in walker().lines):,}",)


def arithmetic() -> Figures:
    """Additions, multiplications and divisions of the walker's program, to hundreds."""
    kinds = ("add", "subtract", "multiply", "divide")
    return (f"{round(sum(each.operation in kinds for each in walker().lines), -2):,}",)


def rounds() -> Figures:
    """Rounds of JAX's loop for the walker."""
    return (len(backends._strips(walker())[1]),)


def versions() -> Figures:
    """Versions of the engines that the table was measured on."""
    path = Path(rg.__file__).parent / "repair" / "engines" / "table.json"
    of = {entry["name"]: entry["measured"] for entry in json.loads(path.read_text("utf-8"))}
    return (*(of[name] for name in ("newton", "kamino", "steel")), of["mjlab"])


def speeds(first: str) -> Iterator[list[str]]:
    """Cells of the rows of ``speed.md`` that begin with a name."""
    for line in (ROOT / "assets/handbook/speed.md").read_text(encoding="utf-8").splitlines():
        if line.startswith(f"| {first}"):
            yield [cell.strip(" *") for cell in line.strip("|").split("|")]


def bricard() -> Figures:
    """Milliseconds of Bricard's motion, and how much longer MuJoCo takes."""
    (row,) = speeds("Bricard, 10 s")
    return row[2], row[3]


def first_calls() -> Figures:
    """Seconds of the first call of the quickest and the slowest robot."""
    ends = [[*speeds(name)][-1] for name in ("four-bar", "walker")]
    return tuple(row[6].removesuffix(" s") for row in ends)


def code() -> Figures:
    """How much quicker code is than tables, at least and at most, in steps of many robots."""
    rows = [[*speeds(n)][-1] for n in ("four-bar", "legged robot's knee", "walker", "5 windows")]
    ratios = [float(row[4]) / float(row[5]) for row in rows]
    return f"{min(ratios):.0f}", f"{max(ratios):.0f}"


def trust() -> Figures:
    """What was removed and proved of all examples; see ``trust.py``."""
    from trust import sentence

    return tuple(re.findall(r"\d+", sentence())[:3])


#: The page, words with a group for each figure, and what computes them.
FIGURES: tuple[tuple[str, str, Callable[[], Figures]], ...] = (
    ("README.md", r"all (\d+) equations .* from (\d+) example.*? of (\d+) lines", trust),
    ("README.md", r"many robots at once, (\d+) to (\d+) times as quick", code),
    ("how-it-works.md", r"from (\d+) rows to the (\d+)", lambda: equations("three_prrr")),
    ("how-it-works.md", r"at (\d+) random configurations", samples),
    ("how-it-works.md", r"one file of (\d+) lines", checker),
    ("how-it-works.md", r"holds (\d+) such mechanisms", mobility),
    ("proofs.md", r"(\d+) of (\d+) redundant rows are removed", delta),
    ("mujoco-and-isaac.md", r"(\d+) rows, of which (\d+) matter", connects),
    ("pink.md", r"\| (\d+) equations \| (\d+) equations \|", closed_delta),
    ("parallel-robots.md", r"makes (\d+) branches", stewart),
    ("my-cad-assembly.md", r"(\d+) equations are redundant", cranks),
    ("control.md", r"takes ([\d.]+) ms, MuJoCo (\d+) times as long", bricard),
    ("many-robots.md", r"takes ([\d.]+) s \(four-bar\) to ([\d.]+) s \(walker\)", first_calls),
    ("many-robots.md", r"more than ([\d,]+) operations", longest),
    ("many-robots.md", r"operations, (\d+) side by side", lambda: (backends.WIDTH,)),
    ("many-robots.md", r"walker's ([\d,]+) assignments", assignments),
    ("many-robots.md", r"about ([\d,]+) additions", arithmetic),
    ("many-robots.md", r"walker's (\d+) rounds", rounds),
    ("parallel-ankles.md", r"at most, at (\d+) states", lambda: (twin.SAMPLES,)),
    (
        "newton-and-isaac-lab.md",
        r"`newton` \| [^|]* \| (\S+) \|.*`kamino` \| [^|]* \| (\S+) \|.*`steel` \| [^|]* \| (\S+)"
        r" \|.*\| MuJoCo (\S+) \|",
        versions,
    ),
    ("speed.md", r"beyond ([\d,]+) operations", longest),
)


def filled(page: str, text: str) -> str:
    """The text of a page with its figures computed anew; raises ``LookupError``."""
    for _, words, figures in (entry for entry in FIGURES if entry[0] == page):
        found = re.search(words, text, re.S)
        if found is None:
            raise LookupError(f"{page}: no {words!r}")
        for k, value in reversed([*enumerate(figures(), 1)]):
            text = text[: found.start(k)] + str(value) + text[found.end(k) :]
    return text
