"""Screenshots of pages, to be looked at: ``python tests/page_screenshots.py FOLDER [MODEL…]``.

Each model is shown on a desktop, on a phone and in dark colours; without models those of the
README, a FreeCAD assembly with its shapes and a MuJoCo gripper with its meshes. Chromium is needed.
"""

from __future__ import annotations

import sys
import tempfile
from pathlib import Path

from mesh_gripper import mesh_gripper
from test_page import browse

from regularize.cli import main as regularize

ASSETS = Path(__file__).resolve().parents[1] / "assets"
MODELS = (
    *("slider_crank.urdf", "planar_fourbar.urdf", "spherical_9r.urdf", "walker.urdf"),
    *("delta_parallelograms.urdf", "crank_slider.FCStd"),
)
#: Window and options of each screenshot. Chromium's windows are no narrower than 500 pixels.
SCREENS = {
    "desktop": ("1400,900",),
    "phone": ("500,900",),
    "dark": ("1400,900", "--force-dark-mode"),
}


def main(folder: Path, models: list[Path]) -> None:
    """Write ``NAME-desktop.png``, ``NAME-phone.png`` and ``NAME-dark.png`` for every model."""
    folder.mkdir(parents=True, exist_ok=True)
    for model in models:
        with tempfile.TemporaryDirectory() as name:
            page = Path(name) / "page.html"
            regularize(["check", str(model), "--output", "html", "-o", str(page)])
            for screen, (size, *options) in SCREENS.items():
                out = folder / f"{model.stem}-{screen}.png"
                options += [f"--window-size={size}", f"--screenshot={out.resolve()}"]
                browse(page, page.parent, *options)
                print(out)


if __name__ == "__main__":
    if len(sys.argv) < 2:
        sys.exit(__doc__)
    with tempfile.TemporaryDirectory() as made:
        given = [Path(name) for name in sys.argv[2:]]
        main(
            Path(sys.argv[1]),
            given or [*(ASSETS / name for name in MODELS), mesh_gripper(Path(made))],
        )
