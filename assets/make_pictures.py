"""Draws the pictures of the README: one that moves, and a gallery with three lines for each.

Run ``python assets/make_pictures.py`` from anywhere; it writes ``assets/pictures/*.png``, the film
``assets/pictures/planar_fourbar.gif`` and ``assets/pictures/gallery.md``. Pillow is needed:
``pip install 'pin-regularize[viz]'``.
"""

from __future__ import annotations

from pathlib import Path

import regularize as rg
from regularize.checking import Report
from regularize.render import view
from regularize.render.artist import draw
from regularize.render.movie import movie, swing
from regularize.render.painter import Painter
from regularize.render.picture import png
from regularize.render.scene import ghost_poses
from regularize.report.words import counted, listed

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
    text = []
    for name, heading, ghosts, along in GALLERY:
        report = rg.check(rg.load(ASSETS / f"{name}.urdf"))
        r = report.reduction
        q = swing(r, 60)[int(60 * along)] if along else r.q
        drawn = Painter(draw(report)).paint(q, ghost_poses(r, ghosts))
        (PICTURES / f"{name}.png").write_bytes(png(drawn, scale=1.5))
        said = "\n".join(f"- {line}" for line in lines(report))
        text.append(f"#### {heading}\n\n![{drawn.title}](assets/pictures/{name}.png)\n\n{said}\n")
        if name == FILM:
            movie(report, PICTURES / f"{name}.gif", frames=48)
        print(f"{name}: {report.seconds:.2f} s")
    (PICTURES / "gallery.md").write_text("\n".join(text), encoding="utf-8")


if __name__ == "__main__":
    main()
