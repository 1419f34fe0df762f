"""The page in a browser: pointing, highlighting, moving, and that nothing covers anything."""

from __future__ import annotations

import json
import re
import shutil
import subprocess
from html import unescape
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import regularize as rg
from regularize.render.html import render

BROWSER = next(
    filter(None, map(shutil.which, ("chromium", "chromium-browser", "google-chrome"))), None
)
pytestmark = [
    pytest.mark.slow,
    pytest.mark.skipif(BROWSER is None, reason="no Chromium is installed"),
]
#: Begins before the page's own scripts: frames are not painted while a page is dumped, so they are
#: driven by the clock; and pointers that a script makes cannot be captured.
BEFORE = """<script>
window.requestAnimationFrame = (draw) => setTimeout(() => draw(performance.now()), 16);
HTMLElement.prototype.setPointerCapture = () => {};
addEventListener("error", (e) => document.body.dataset.error = e.message);
</script>"""
#: What every page is asked.
PROBE = f"<script>{(Path(__file__).parent / 'page_probe.js').read_text()}</script>"


def browse(page: Path, folder: Path, *options: str) -> subprocess.CompletedProcess[str]:
    """Run a headless browser on a page; no host name can be resolved."""
    assert BROWSER is not None
    return subprocess.run(
        [
            BROWSER,
            "--headless",
            "--no-sandbox",
            "--disable-gpu",
            "--enable-unsafe-swiftshader",
            "--no-first-run",
            "--disable-background-networking",
            "--disable-component-update",
            "--disable-sync",
            "--hide-scrollbars",
            f"--user-data-dir={folder / 'profile'}",
            "--host-resolver-rules=MAP * ~NOTFOUND",
            "--enable-logging=stderr",
            "--virtual-time-budget=6000",
            *options,
            page.as_uri(),
        ],
        capture_output=True,
        text=True,
        timeout=120,
        check=True,
    )


def complaints(errors: str) -> list[str]:
    """What the page wrote to the console, without the driver's remarks about reading pixels."""
    return [line for line in errors.splitlines() if ":CONSOLE" in line and "ReadPixels" not in line]


def probed(text: str, folder: Path, probe: str, size: str = "1280,860") -> dict[str, Any]:
    """What a script finds on a page."""
    page = folder / "page.html"
    text = text.replace("</head>", f"{BEFORE}</head>").replace("</body>", f"{probe}</body>")
    page.write_text(text, encoding="utf-8")
    done = browse(page, folder, f"--window-size={size}", "--dump-dom")
    assert complaints(done.stderr) == []
    assert not (error := re.search(r'data-error="([^"]*)"', done.stdout)), error
    found = re.search(r'data-result="([^"]*)"', done.stdout)
    assert found is not None, done.stdout[-2000:]
    result: dict[str, Any] = json.loads(unescape(found[1]))
    return result


def check_layout(result: dict[str, Any]) -> None:
    """Names within the picture, on nothing else; glyphs apart from each other and visible."""
    width, height = result["size"]
    labels, discs = result["labels"], result["discs"]
    for i, (left, top, right, bottom) in enumerate(labels):
        assert left >= 0 and top >= 0 and right <= width and bottom <= height
        for a, b, c, d in labels[:i] + result["taken"]:
            assert right <= a or c <= left or bottom <= b or d <= top
        for x, y, r in discs:
            nearest = np.clip((x, y), (left, top), (right, bottom))
            assert np.hypot(*(nearest - (x, y))) >= r - 0.1
    for i, (x, y, r) in enumerate(discs):
        assert all(np.hypot(x - a, y - b) > 0.9 * (r + s) for a, b, s in discs[:i])
    assert all(count > 12 for count in result["crimson"])
    assert all(share >= 0.6 for share in result["filled"].values()), result["filled"]
    assert result["fetched"] == 0 and not result["wide"]


@pytest.mark.parametrize(
    ("name", "size"),
    [
        ("planar_fourbar", "1280,860"),
        ("gripper", "390,844"),
        ("walker", "1280,860"),
        ("spherical_9r", "1280,860"),
    ],
)
def test_the_page_can_be_pointed_at_and_moved(
    name: str, size: str, assets: Path, tmp_path: Path
) -> None:
    report = rg.check(rg.load(assets / f"{name}.urdf"))
    result = probed(render(report), tmp_path, PROBE, size)
    check_layout(result)
    assert result["unreached"] == 0 and result["rowless"] == 0
    assert result["redundant"] == result["cut"]
    hovered, under, rows = result["hovered"]
    assert hovered == under and rows >= 1
    chosen, rows, card = result["chosen"]
    assert chosen == under and rows >= 1 and "redundant" in card
    assert result["highlighted"] > 0.002
    assert len(result["bodies"]) >= 3
    assert result["loop_hovered"] == result["loop_chosen"] == "l0"
    assert result["loop_touches"] >= 1 + 4 + 4
    r = report.reduction
    poses = r.loops.state(0.1 * np.arange(1, len(r.q) + 1)).T_world_node[0, :, :3]
    assert np.allclose(np.array(result["poses"]).reshape(poses.shape), poses, atol=1e-9)
    assert len(result["moves"]) == r.mobility
    for move in result["moves"]:
        assert move["error"] < 1e-8 and move["way"] > 0.05
    assert all(error < 1e-8 for error in result["ways"])
    assert result["image"] == "data:image/png;base64,"


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_screenshots_show_the_mechanism(scheme: str, assets: Path, tmp_path: Path) -> None:
    image = pytest.importorskip("PIL.Image")
    page, out = tmp_path / "page.html", tmp_path / "page.png"
    text = render(rg.check(rg.load(assets / "planar_fourbar.urdf")))
    page.write_text(text, encoding="utf-8")
    dark = ["--force-dark-mode"] if scheme == "dark" else []
    browse(page, tmp_path, "--window-size=900,800", f"--screenshot={out}", *dark)
    pixels = np.asarray(image.open(out).convert("RGB")) / 255
    assert (np.median(pixels) > 0.8) == (scheme == "light")
    # The coupler is orange, the crank blue.
    red, green, blue = (pixels[..., i] for i in range(3))
    assert np.sum((red - blue > 0.35) & (green - blue > 0.2)) > 500
    assert np.sum(blue - red > 0.3) > 300
