"""Draws the gallery of the README: one picture and three lines for each of five mechanisms.

Run ``python assets/make_pictures.py`` from anywhere; it writes ``assets/pictures/*.png`` and
``assets/pictures/gallery.md``. matplotlib is needed: ``pip install 'pin-regularize[viz]'``.
"""

from __future__ import annotations

from pathlib import Path

from regularize.report.report import Report

import regularize as rg
from regularize.render import view
from regularize.render.animation import motions
from regularize.render.picture import Sheet, picture, png
from regularize.report.words import counted, listed

ASSETS = Path(__file__).resolve().parent
PICTURES = ASSETS / "pictures"
#: File, heading, number of faint poses, and where in the first motion the pose shown lies.
GALLERY = (
    ("planar_fourbar", "Planar four-bar", 4, 0.0),
    ("bennett", "Bennett linkage", 3, 0.3),
    ("spherical_9r", "Agile Eye (spherical 3-RRR)", 2, 0.0),
    ("walker", "Walker with eight-bar legs", 1, 0.0),
    ("gripper", "Gripper", 2, 0.0),
)


def lines(report: Report) -> list[str]:
    """Three lines: what it is, what is redundant, what moves."""
    r = report.reduction
    kinds: dict[str, int] = {}
    for loop in report.loops:
        kind = "spatial" if loop.motion.dimension == 6 else loop.motion.name
        kinds[kind] = kinds.get(kind, 0) + 1
    loops = listed([counted(number, f"{kind} loop") for kind, number in kinds.items()])
    bodies = [f"{listed(names, most=2)} {words}" for words, names in view.moves(report)]
    _, sentence = view.verdict(report)
    return [
        f"{loops}; {view.counts(report)[0].lower()}{view.counts(report)[1:]}",
        f"{sentence} Constraint equations: {r.constraints}, kept: {r.kept}.",
        f"What moves: {'; '.join(bodies[:3])}{' …' if len(bodies) > 3 else ''}.",
    ]


def main() -> None:
    """Draw everything."""
    PICTURES.mkdir(exist_ok=True)
    text = []
    for name, heading, ghosts, along in GALLERY:
        report = rg.check(rg.load(ASSETS / f"{name}.urdf"))
        q = None
        if along:
            motion = motions(report.reduction, most=1)[0]
            q = motion.q[int(along * len(motion.q))]
        drawn = picture(report, q, ghosts=ghosts, sheet=Sheet(640, 420))
        (PICTURES / f"{name}.png").write_bytes(png(drawn, scale=2.0))
        said = "\n".join(f"- {line}" for line in lines(report))
        text.append(f"### {heading}\n\n![{drawn.title}](assets/pictures/{name}.png)\n\n{said}\n")
        print(f"{name}: {report.seconds:.2f} s")
    (PICTURES / "gallery.md").write_text("\n".join(text), encoding="utf-8")


if __name__ == "__main__":
    main()
