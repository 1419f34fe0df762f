#!/usr/bin/env python3
"""Draws the charts, diagrams and terminals of the handbook, from its own tables and commands.

    python assets/make_charts.py

A chart of figures is read from the table beside it, so that both say the same; curves are computed
by the code of their chapter; a terminal shows what the command prints. It writes
``assets/pictures/*.png`` and ``*.svg``. Needed is ``pip install '.[viz]'``, in a checkout.
"""

from __future__ import annotations

import io
import os
import re
from collections.abc import Iterator
from contextlib import redirect_stderr, redirect_stdout
from pathlib import Path
from typing import Any

import matplotlib as mpl
import matplotlib.pyplot as plt
import numpy as np
import pinocchio as pin
from PIL import Image
from rich import _export_format
from rich.console import Console
from rich.text import Text

import regularize as rg
from regularize.cli import main as command_line

ASSETS = Path(__file__).resolve().parent
PICTURES, HANDBOOK = ASSETS / "pictures", ASSETS / "handbook"
BLUE, ORANGE, GREEN, CRIMSON, GREY = "#0072b2", "#e69f00", "#009e73", "#a3123a", "#777777"
#: Terminals: the name of the picture, what is typed, and the most lines that are shown.
TERMINALS = (
    ("check", "regularize check assets/slider_crank.urdf --fail-on error", 34),
    ("explain", "regularize explain REG201", 24),
    ("fix", "regularize fix assets/slider_crank.urdf --diff", 24),
    ("many", "regularize check 'assets/three_*.urdf' --jobs 1 --fail-on error", 24),
)
mpl.rcParams |= {"font.size": 9, "axes.spines.top": False, "axes.spines.right": False}


def save(figure: Any, name: str) -> None:
    """Write a figure in few colours."""
    buffer = io.BytesIO()
    figure.savefig(buffer, dpi=120, metadata={"Software": None})
    plt.close(figure)
    with Image.open(buffer) as image:
        few = image.convert("RGB").quantize(64, dither=Image.Dither.NONE)
    few.save(PICTURES / f"{name}.png", optimize=True)
    print(name)


def table(page: str, first: str) -> Iterator[list[str]]:
    """Rows of the table of a page whose head begins with the given words."""
    lines = (HANDBOOK / f"{page}.md").read_text(encoding="utf-8").splitlines()
    start = next(k for k, line in enumerate(lines) if line.startswith(f"| {first} |"))
    for line in lines[start + 2 :]:
        if not line.startswith("|"):
            return
        yield [cell.strip(" *") for cell in line.strip("|").split("|")]


def number(cell: str) -> float:
    """The first number of a cell, or NaN."""
    found = re.match(r"[\d.]+(?:e-?\d+)?", cell)
    return float(found[0]) if found else np.nan


def bars(name: str, groups: list[str], series: dict[str, tuple[str, list[float]]], x: str) -> None:
    """Bars beside each other on a logarithmic scale."""
    figure, axes = plt.subplots(figsize=(6.4, 0.6 + 0.13 * len(groups) * (0.6 + len(series))))
    step = 0.8 / len(series)
    for k, (title, (color, values)) in enumerate(series.items()):
        places = np.arange(len(groups)) + (k - 0.5 * (len(series) - 1)) * step
        axes.barh(places, values, 0.9 * step, color=color, label=title)
        for place, value in zip(places, values, strict=True):
            axes.text(value * 1.05, place, f"{value:g}", va="center", fontsize=7, color=GREY)
    axes.set(xscale="log", xlabel=x, yticks=range(len(groups)), yticklabels=groups)
    axes.invert_yaxis()
    if len(series) > 1:
        axes.legend(frameon=False, fontsize=8)
    figure.tight_layout()
    save(figure, name)


def tables() -> None:
    """Charts of what stands in tables."""
    rows = [*table("speed", "mechanism")]
    rows = [row for row in rows if len(row) == 6]
    beside = {"": (BLUE, [number(row[2]) for row in rows])}
    words = "how many times as quick as Pinocchio's aba of the open tree"
    bars("speed", [row[0] for row in rows], beside, words)
    lines = (HANDBOOK / "speed.md").read_text(encoding="utf-8").partition("## Many robots")[2]
    found = re.findall(r"^\| ([\w' -]+) \|(.*)\|$", lines.partition("## ")[0], re.M)
    many = [(title, [number(c.strip()) for c in rest.split("|")]) for title, rest in found[1:]]
    series = {
        "MuJoCo": (GREY, [values[6] for _, values in many]),
        "tables": (ORANGE, [values[3] for _, values in many]),
        "code": (BLUE, [values[4] for _, values in many]),
    }
    bars("many_robots", [title for title, _ in many], series, "ns for a step of one robot of 4096")
    rows = [*table("elastic-links", "elastic mechanism of his text")]
    columns = ("full model", "coordinates as inputs", "quasi-static")
    colors = (GREY, ORANGE, BLUE)
    series = {
        column: (color, [number(row[1 + k]) for row in rows])
        for k, (column, color) in enumerate(zip(columns, colors, strict=True))
    }
    bars("elastic", [row[0].partition(",")[0] for row in rows], series, "operations")
    rows = [*table("robots-that-stand", "step")]
    figure, axes = plt.subplots(figsize=(6.4, 2.8))
    for k, (title, color) in enumerate((("MuJoCo", GREY), ("here", BLUE)), 1):
        points = [(number(r[0]), number(r[k])) for r in rows if re.fullmatch(r"[\d.]+", r[k])]
        axes.plot(*zip(*points, strict=True), "o-", color=color, label=title)
    axes.set(xscale="log", xlabel="length of a step, ms", ylabel="left foot after 10 s, mm")
    axes.invert_xaxis()
    axes.legend(frameon=False)
    figure.tight_layout()
    save(figure, "steps")


def drift() -> None:
    """How far loops open: nothing done, Baumgarte's terms, projection."""
    robot = rg.build_model("assets/knee_leg.urdf")
    model, tau, h = robot.model, np.zeros(robot.model.nv), 1e-3
    figure, axes = plt.subplots(figsize=(6.4, 2.8))
    for title, color in (("nothing", CRIMSON), ("Baumgarte", ORANGE), ("projection", BLUE)):
        q, v, errors = robot.q0, np.zeros(robot.model.nv), []
        for _ in range(400):
            if title == "Baumgarte":
                v = v + h * robot.stabilized_dynamics(q, v, tau, frequency=100.0)
            else:
                v = v + h * robot.forward_dynamics(q, v, tau)
            q = pin.integrate(model, q, h * v)
            if title == "projection":
                q = robot.project(q)
                v = robot.project_velocity(q, v)
            errors.append(max(float(np.abs(robot.residual(q)).max()), 1e-16))
        axes.semilogy(h * np.arange(1, 401), errors, color=color, label=title)
    axes.set(xlabel="time, s", ylabel="closure error")
    axes.legend(frameon=False, loc="center right")
    figure.tight_layout()
    save(figure, "drift")


def ankle() -> None:
    """The map of the leg in the chapter on ankles: pitch and roll over both motors."""
    text = (HANDBOOK / "parallel-ankles.md").read_text(encoding="utf-8")
    names: dict[str, Any] = {}
    exec(re.findall(r"^```python\n(.*?)^```", text, re.S | re.M)[0], names)
    found = rg.actuation_map(names["model"], ["m1", "m2"], ["pitch", "roll"])
    one, two = np.meshgrid(*2 * [np.linspace(-0.7, 0.7, 81)])
    q = found.joints(np.stack([one.ravel(), two.ravel()], 1), strict=False)
    figure, axes = plt.subplots(figsize=(4.6, 4.2))
    for k, (color, title) in enumerate(((BLUE, "pitch"), (ORANGE, "roll"))):
        lines = axes.contour(one, two, np.degrees(q[:, k].reshape(one.shape)), 9, colors=color)
        axes.clabel(lines, fmt="%g°", fontsize=7)
        axes.plot([], [], color=color, label=title)
    axes.set(xlabel="motor m1, rad", ylabel="motor m2, rad", aspect="equal")
    axes.legend(frameon=False, loc="upper right")
    figure.tight_layout()
    save(figure, "ankle_map")


def diagram(name: str, columns: list[list[str]], arrows: list[tuple[str, str, str]]) -> None:
    """Boxes in columns and arrows between them, with the call that leads along."""
    rows = max(map(len, columns))
    figure, axes = plt.subplots(figsize=(7.2, 0.3 + 0.42 * rows))
    places, boxes = {}, {}
    for x, column in enumerate(columns):
        for y, text in enumerate(column):
            places[text] = (x, -(y + 0.5 * (rows - len(column))))
            box = {"boxstyle": "round,pad=0.4", "facecolor": "#eef4f8", "edgecolor": BLUE}
            words = axes.text(*places[text], text, ha="center", va="center", fontsize=8, bbox=box)
            boxes[text] = words.get_bbox_patch()
    for start, end, call in arrows:
        (x, y), (a, b) = places[start], places[end]
        ends = {"patchA": boxes[start], "patchB": boxes[end]}
        axes.annotate("", (a, b), (x, y), arrowprops={"arrowstyle": "->", "color": GREY, **ends})
        at = (0.5 * (x + a), 0.5 * (y + b) + 0.2)
        axes.text(*at, call, ha="center", fontsize=7, family="monospace", color=GREY)
    axes.set(xlim=(-0.5, len(columns) - 0.5), ylim=(-rows + 0.4, 0.6))
    axes.set_axis_off()
    figure.tight_layout(pad=0.2)
    save(figure, name)


def diagrams() -> None:
    """What is made of what."""
    diagram(
        "calls",
        [
            ["file, object"],
            ["Mechanism"],
            ["Report", "Reduction", "Fix"],
            ["Robot", "file"],
            ["Simulation"],
        ],
        [
            ("file, object", "Mechanism", "load"),
            ("Mechanism", "Report", "check"),
            ("Mechanism", "Reduction", "reduce"),
            ("Mechanism", "Fix", "fix"),
            ("Reduction", "Robot", "to_pinocchio"),
            ("Fix", "file", "write"),
            ("Robot", "Simulation", "simulate"),
        ],
    )
    read = ["URDF, xacro", "SDF", "MJCF", "USD", "FreeCAD, ASMT", "Onshape, Simscape", "objects"]
    made = ["report, page", "proof", "your own file", "URDF, SDF, MJCF, USD", "Pinocchio", "C"]
    lines = [(each, "Mechanism", "") for each in read] + [("Mechanism", each, "") for each in made]
    diagram("formats", [read, ["Mechanism"], made], lines)


def terminals() -> None:
    """What commands print, in the colours of a terminal."""
    frame = re.sub(r"@font-face \{\{.*?\}\}\s*", "", _export_format.CONSOLE_SVG_FORMAT, flags=re.S)
    frame = frame.replace("Fira Code, monospace", "monospace")
    os.environ |= {"FORCE_COLOR": "1", "COLUMNS": "100"}
    for name, typed, most in TERMINALS:
        out = io.StringIO()
        with redirect_stdout(out), redirect_stderr(out):
            command_line(re.sub("'", "", typed).split()[1:])
        lines = out.getvalue().rstrip("\n").split("\n")
        lines = [f"$ {typed}", *(lines if len(lines) <= most else [*lines[:most], "…"])]
        console = Console(record=True, file=io.StringIO(), width=100, force_terminal=True)
        for line in lines:
            console.print(Text.from_ansi(line), soft_wrap=True, highlight=False)
        svg = console.export_svg(title="", code_format=frame, unique_id=name)
        (PICTURES / f"{name}.svg").write_text(svg, encoding="utf-8")
        print(name)


def main() -> None:
    """Draw everything."""
    os.chdir(ASSETS.parent)  # paths are shown as a reader types them
    tables()
    drift()
    ankle()
    diagrams()
    terminals()


if __name__ == "__main__":
    main()
