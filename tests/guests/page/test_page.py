"""The page in a browser: pointing, highlighting, moving, and that nothing covers anything."""

from __future__ import annotations

import json
import re
import shutil
import subprocess
from collections.abc import Sequence
from html import escape, unescape
from pathlib import Path
from typing import Any
from xml.sax.saxutils import quoteattr

import numpy as np
import pytest
from mesh_gripper import mesh_gripper
from report_pages import page_of

import regularize as rg

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
PROBE = f"<script>{Path(__file__).with_name('page_probe.js').read_text()}</script>"


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


#: Waits for what all frames of a page have found.
TOGETHER = """<script>
const frames = [...document.querySelectorAll("iframe")], wait = setInterval(() => {
  const found = frames.map((frame) => frame.contentDocument?.body?.dataset || {});
  const broken = found.find((data) => data.error);
  if (broken) document.body.dataset.error = broken.error;
  if (!found.every((data) => data.result || data.error)) return;
  clearInterval(wait);
  const all = found.map((data) => JSON.parse(data.result || "0"));
  document.body.dataset.result = JSON.stringify(all);
}, 50);
</script>"""


def probed(texts: Sequence[str], folder: Path, sizes: Sequence[tuple[int, int]]) -> list[Any]:
    """What the probe finds on some pages, each of its own size, in one browser."""
    frames = []
    for text, (width, height) in zip(texts, sizes, strict=True):
        text = re.sub('<meta http-equiv="Content-Security-Policy"[^>]*>', "", text)
        text = text.replace("</head>", f"{BEFORE}</head>").replace("</body>", f"{PROBE}</body>")
        inside = escape(text, quote=True)
        frames.append(f'<iframe width="{width}" height="{height}" srcdoc="{inside}"></iframe>')
    page = folder / "page.html"
    body = "".join(frames)
    head = '<link rel="icon" href="data:,"><meta charset="utf-8">'
    page.write_text(f"<!DOCTYPE html>{head}<body>{body}{TOGETHER}</body>", encoding="utf-8")
    done = browse(page, folder, "--window-size=1300,900", "--dump-dom")
    assert complaints(done.stderr) == []
    # The frames' own texts are part of the page: what the page itself says stands in its body.
    found = re.search(r'<body [^>]*data-result="([^"]*)"', done.stdout)
    assert found is not None, re.findall(r'<body [^>]*data-error="([^"]*)"', done.stdout)
    results: list[Any] = json.loads(unescape(found[1]))
    return results


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


DESKTOP, PHONE = (1280, 860), (390, 844)


def check_hands(result: dict[str, Any], report: rg.Report) -> None:
    """Everything can be pointed at, lights up in both places, and moves with its loops closed."""
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
    assert result["dragged"]["error"] < 1e-8 and result["dragged"]["way"] > 1e-3
    assert result["gains"] > 0 and result["ghosts"][0] < 1e-9 and result["ghosts"][1] > 1e-3
    # A graphics context that is lost leaves the flat picture, and comes back as it was.
    assert result["lost"] == [True, False]
    *back, differ = result["restored"]
    assert back == [False, True] and differ < 0.01


@pytest.mark.parametrize(
    "cases",
    [
        {"planar_fourbar": DESKTOP, "gripper": PHONE, "delta_parallelograms": DESKTOP},
        {"slider_crank": PHONE, "walker": DESKTOP, "spherical_9r": DESKTOP},
    ],
    ids="-".join,
)
def test_pages_can_be_pointed_at_and_moved(
    cases: dict[str, tuple[int, int]], assets: Path, tmp_path: Path
) -> None:
    reports = [rg.check(rg.load(assets / f"{name}.urdf")) for name in cases]
    results = probed([page_of(each) for each in reports], tmp_path, list(cases.values()))
    for result, report in zip(results, reports, strict=True):
        check_layout(result)
        check_hands(result, report)


@pytest.mark.formats("freecad")
def test_shapes_of_cad_and_meshes_are_shown(assets: Path, tmp_path: Path) -> None:
    pytest.importorskip("OCP")
    pytest.importorskip("mujoco")
    cad = rg.check(rg.load(assets / "crank_slider.FCStd"))
    fingers = rg.check(rg.load(mesh_gripper(tmp_path)))
    results = probed([page_of(cad), page_of(fingers)], tmp_path, [DESKTOP, PHONE])
    for result, report in zip(results, (cad, fingers), strict=True):
        check_layout(result)
        check_hands(result, report)


#: What a model may call its parts to get a script onto the page that shows them.
SMUGGLED = (
    "</script><img src=x onerror=parent.smuggled=1>",
    "'\"><svg onload=parent.smuggled=2>",
    "<!--<script>parent.smuggled=3</script>",
    "`${parent.smuggled=4}` a\\b",
)


def hostile(assets: Path, folder: Path) -> Path:
    """A slider-crank whose joints and bodies have such names."""
    text = (assets / "slider_crank.urdf").read_text()
    for old, new in zip(
        (*"ABCD", "crank", "rod", "slider", "slider_crank"), SMUGGLED * 2, strict=True
    ):
        text = text.replace(f'"{old}"', quoteattr(new + old))
    path = folder / "hostile.urdf"
    path.write_text(text)
    return path


def test_names_are_words_and_no_scripts(assets: Path, tmp_path: Path) -> None:
    report = rg.check(rg.load(hostile(assets, tmp_path)))
    assert all(joint.name.startswith(SMUGGLED) for joint in report.mechanism.joints)
    (result,) = probed([page_of(report)], tmp_path, [DESKTOP])
    assert "smuggled" not in result["globals"]
    check_hands(result, report)


def test_dark_pages_show_the_mechanism(assets: Path, tmp_path: Path) -> None:
    image = pytest.importorskip("PIL.Image")
    page, out = tmp_path / "page.html", tmp_path / "page.png"
    text = page_of(rg.check(rg.load(assets / "planar_fourbar.urdf")))
    page.write_text(text, encoding="utf-8")
    browse(page, tmp_path, "--window-size=900,800", f"--screenshot={out}", "--force-dark-mode")
    with image.open(out) as shot:
        pixels = np.asarray(shot.convert("RGB")) / 255
    assert np.median(pixels) < 0.2
    # The coupler is orange, the crank blue.
    red, green, blue = (pixels[..., i] for i in range(3))
    assert np.sum((red - blue > 0.35) & (green - blue > 0.2)) > 500
    assert np.sum(blue - red > 0.3) > 300
