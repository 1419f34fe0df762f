"""Draws all pictures of the README and the handbook.

Run ``python assets/make_pictures.py`` from anywhere; it writes ``assets/pictures/*.png``, the film
``assets/pictures/planar_fourbar.gif`` and, with three lines for each mechanism of the gallery,
``assets/handbook/gallery.md``. The same versions of everything draw the same bytes. Needed are
``pip install 'pin-regularize[brep,viz]'`` and, for the picture of a page, Chromium.
"""

from __future__ import annotations

import io
import os
import re
import shutil
import subprocess
import tempfile
from pathlib import Path
from typing import Any

import numpy as np
from PIL import Image

import regularize as rg
from regularize.checking import Report
from regularize.guests.page import html
from regularize.guests.page.artist import draw
from regularize.guests.page.movie import movie, swing
from regularize.guests.page.picture import Painter, ghost_poses, picture, saved
from regularize.report import view
from regularize.words import counted, listed

ASSETS = Path(__file__).resolve().parent
PICTURES = ASSETS / "pictures"
#: The mechanism of the first screen.
FILM = "planar_fourbar"
#: File, heading, number of faint poses, and where in the first motion the pose shown lies.
GALLERY = (
    ("planar_fourbar", "Planar four-bar", 4, 0.0),
    ("bennett", "Bennett linkage", 3, 0.5),
    ("spherical_9r", "Agile Eye (spherical 3-RRR)", 2, 0.0),
    ("walker", "Walker with eight-bar legs", 1, 0.0),
    ("gripper", "Gripper", 2, 0.0),
)
#: File, and number of faint poses, of the pictures in the handbook alone.
HANDBOOK = (
    *(("crank_slider.FCStd", 0), ("knee_leg.urdf", 2), ("delta_parallelograms.urdf", 1)),
    *(("sarrus.urdf", 1), ("three_prrr.urdf", 1), ("bricard.urdf", 2)),
    *(("schoenflies_four_legs.urdf", 1), ("robots/humanoid_rods.xml", 0)),
)
#: The robot whose torques and speeds are shown.
PEAKS = "robots/leg_struts.urdf"
#: Motions of the leg, by the name of their picture: coordinates of its motors at both ends.
MOTIONS = {
    "leg_swing": {"hip_pitch": (0.0, -1.6), "knee_front": (0.0, 0.8)},
    "leg_squat": {
        "hip_pitch": (-0.3, -0.75),
        "knee_front": (0.6, 1.4),
        "ankle_pitch": (-0.3, -0.65),
    },
}
#: The mechanism whose page is shown.
PAGE = "slider_crank"


def painted(figure: Any, scale: float) -> Image.Image:
    """A picture as an image."""
    return Image.open(io.BytesIO(saved(figure, "png", scale)))


def save(image: Image.Image, name: str) -> None:
    """Write a picture in so few colours that it is small and nobody sees it."""
    few = image.convert("RGB").quantize(128, dither=Image.Dither.NONE)
    few.save(PICTURES / f"{name}.png", optimize=True)
    print(name)


def shot(text: str, size: str, name: str) -> None:
    """A page as Chromium shows it."""
    found = map(shutil.which, ("chromium", "chromium-browser", "google-chrome"))
    browser = next(filter(None, found), None)
    if browser is None:
        print(f"{name}: there is no Chromium, the picture stays as it is")
        return
    with tempfile.TemporaryDirectory() as made:
        folder = Path(made)
        (folder / "page.html").write_text(text, encoding="utf-8")
        options = ["--headless", "--no-sandbox", "--disable-gpu", "--enable-unsafe-swiftshader"]
        options += ["--hide-scrollbars", "--virtual-time-budget=6000", f"--window-size={size}"]
        options += [f"--user-data-dir={folder / 'profile'}", f"--screenshot={folder / 'page.png'}"]
        command = [browser, *options, (folder / "page.html").as_uri()]
        subprocess.run(command, check=True, capture_output=True)
        with Image.open(folder / "page.png") as taken:
            save(taken, name)


def page() -> None:
    """The page of a mechanism, and what it shows of torques and speeds at the joints of a leg."""
    shot(html.render(rg.check(f"assets/{PAGE}.urdf")), "1280,800", "page")
    text = html.render(rg.check(f"assets/{PEAKS}"))
    style = "".join(re.findall("<style>.*?</style>", text, re.DOTALL))
    figures = re.findall('<figure class="map peaks">.*?</figure>', text, re.DOTALL)
    shot(f'{style}<body style="padding: 0">{figures[-1]}</body>', "760,420", "torques_and_speeds")


def workspace() -> None:
    """The map of the chapter on parallel robots."""
    strokes = {f"P{k}": (-0.1, 0.1) for k in range(1, 7)}
    point = rg.BodyPose("platform", point=(0.0, 0.0, 0.4))
    over = {"x": (-0.3, 0.3, 61), "y": (-0.3, 0.3, 61)}
    found = rg.workspace("assets/stewart_6ups.urdf", over, pose=point, limits=strokes)
    with tempfile.TemporaryDirectory() as folder:
        found.save(Path(folder) / "map.png")
        with Image.open(Path(folder) / "map.png") as drawn:
            save(drawn.resize((1288, 308)), "stewart_workspace")


def legs() -> None:
    """The leg of several chapters on its way."""
    report = rg.check("assets/knee_leg.urdf")
    for name, ends in MOTIONS.items():
        way = [report.reduction.q]
        for share in (0.0, 0.25, 0.5, 0.75, 1.0):
            fixed = {joint: a + share * (b - a) for joint, (a, b) in ends.items()}
            way.append(rg.study.assemble(report.mechanism, way[-1], fixed).q)
        drawn = Painter(draw(report), within=np.array(way[1:])).paint(way[-1], way[1:-1])
        save(painted(drawn, 1.2), name)


def lines(report: Report) -> list[str]:
    """Three lines: what it is, what is redundant, what moves."""
    r = report.reduction
    kinds: dict[str, int] = {}
    for loop in report.loops:
        kind = "spatial" if loop.motion.dimension == 6 else loop.motion.name
        kinds[kind] = kinds.get(kind, 0) + 1
    loops = listed([counted(number, f"{kind} loop") for kind, number in kinds.items()])
    bodies = [f"{names} {words}" for names, words in view.moves(report, most=2)]
    _, sentence = view.verdict(report)
    return [
        f"{loops}; {view.counts(report)[0].lower()}{view.counts(report)[1:]}",
        f"{sentence} Constraint equations: {r.constraints}, kept: {r.kept}.",
        f"What moves: {'; '.join(bodies[:3])}{' …' if len(bodies) > 3 else ''}.",
    ]


def main() -> None:
    """Draw everything."""
    PICTURES.mkdir(exist_ok=True)
    text: list[str] = []
    os.chdir(ASSETS.parent)  # paths are shown as a reader types them
    for name, heading, ghosts, along in GALLERY:
        report = rg.check(f"assets/{name}.urdf")
        r = report.reduction
        q = swing(r, 60)[int(60 * along)] if along else r.q
        drawn = Painter(draw(report)).paint(q, ghost_poses(r, ghosts))
        save(painted(drawn, 1.5), name)
        said = "\n".join(f"- {line}" for line in lines(report))
        text.append(f"## {heading}\n\n![{drawn.get_label()}](../pictures/{name}.png)\n\n{said}\n")
        if name == FILM:
            movie(report, PICTURES / f"{name}.gif", frames=48)
    for file, ghosts in HANDBOOK:
        save(painted(picture(rg.check(f"assets/{file}"), ghosts=ghosts), 1.2), Path(file).stem)
    legs()
    workspace()
    page()
    text = [
        "# Gallery\n",
        *text,
        "All pictures and verdicts are made by `assets/make_pictures.py`.\n",
    ]
    (ASSETS / "handbook" / "gallery.md").write_text("\n".join(text), encoding="utf-8")


if __name__ == "__main__":
    main()
