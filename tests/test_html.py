"""The HTML report: what it holds, that it is valid and offline, and that it works in a browser."""

from __future__ import annotations

import io
import json
import re
import shutil
import subprocess
from collections import Counter
from html.parser import HTMLParser
from pathlib import Path

import numpy as np
import pytest

import regularize as rg
from regularize.checking import Report
from regularize.render.html import index, render
from regularize.render.summary import line_of

VOID = {"meta", "link", "input", "br"}


class Page(HTMLParser):
    """Elements, identifiers and text of a page; complains about elements left open."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.elements: list[tuple[str, dict[str, str | None]]] = []
        self.open: list[str] = []
        self.scripts: dict[str, str] = {}
        self.words: list[str] = []
        self.feed(text)
        self.close()
        assert self.open == [], f"never closed: {self.open}"

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.elements.append((tag, dict(attrs)))
        if tag not in VOID:
            self.open.append(tag)

    def handle_startendtag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.elements.append((tag, dict(attrs)))

    def handle_endtag(self, tag: str) -> None:
        assert self.open.pop() == tag

    def handle_data(self, data: str) -> None:
        if self.open and self.open[-1] == "script":
            self.scripts[self.elements[-1][1].get("id") or ""] = data
        else:
            self.words.append(data)


@pytest.fixture(scope="module")
def fourbar(assets: Path) -> Report:
    return rg.check(rg.load(assets / "planar_fourbar.urdf"))


@pytest.fixture(scope="module")
def text(fourbar: Report) -> str:
    return render(fourbar)


def test_page_is_well_formed_and_says_what_it_is(text: str) -> None:
    page = Page(text)
    tags = Counter(tag for tag, _ in page.elements)
    assert tags["h1"] == tags["main"] == tags["header"] == tags["footer"] == 1
    assert next(attrs for tag, attrs in page.elements if tag == "html")["lang"] == "en"
    said = " ".join(page.words)
    for words in ("True mobility 1", "REG201", "What moves", "Reactions that cannot be trusted"):
        assert words in said


def test_nothing_is_fetched(text: str) -> None:
    assert not re.search(r"""(?:src|href)\s*=\s*["']?(?:https?:|//)""", text)
    assert not re.search(r"@import|url\(|\bfetch\(|XMLHttpRequest|import\(|WebSocket", text)
    assert len(text) < 600_000


def test_identifiers_are_unique_and_controls_have_names(text: str) -> None:
    page = Page(text)
    ids = [attrs["id"] for _, attrs in page.elements if attrs.get("id")]
    assert len(ids) == len(set(ids))
    for tag in ("input", "select"):
        assert text.count(f"<{tag}") == sum(1 for t, _ in page.elements if t == tag)
        # Every control stands in the label that names it.
        for match in re.finditer(f"<{tag}", text):
            before = text[: match.start()]
            assert before.rfind("<label") > before.rfind("</label")
    assert all(attrs.get("scope") for tag, attrs in page.elements if tag == "th")


def test_the_json_report_is_embedded(text: str, fourbar: Report) -> None:
    embedded = json.loads(Page(text).scripts["report"])
    assert embedded == json.loads(json.dumps(fourbar.as_dict()))


def test_names_cannot_break_out(assets: Path, tmp_path: Path) -> None:
    evil = "</script><b onload=x>&amp;"
    from xml.sax.saxutils import quoteattr

    source = (assets / "planar_fourbar.urdf").read_text()
    path = tmp_path / "evil.urdf"
    path.write_text(source.replace('"coupler"', quoteattr(evil)))
    text = render(rg.check(rg.load(path)))
    page = Page(text)
    assert "b" not in {tag for tag, _ in page.elements}
    bodies = [body["body"] for body in json.loads(page.scripts["report"])["moving"]]
    assert evil in bodies


def test_scene_data_is_complete(text: str) -> None:
    scene = json.loads(Page(text).scripts["scene"])
    (motion,) = scene["motions"]
    assert motion["name"] == "A" and motion["cyclic"] and motion["unit"] == "°"
    frames = np.array(motion["frames"])
    assert frames.shape == (len(motion["values"]), len(motion["nodes"]), 7)
    assert np.allclose(np.linalg.norm(frames[..., :4], axis=-1), 1.0, atol=1e-4)
    assert {piece["layer"] for piece in scene["pieces"]} == {"bodies", "joints", "redundant"}
    for piece in scene["pieces"]:
        assert piece["node"] < len(scene["poses"])


def test_index_links_every_model(fourbar: Report) -> None:
    page = Page(index({"a.html": line_of("a.urdf", fourbar), "b.html": line_of("b", fourbar)}))
    assert [a["href"] for tag, a in page.elements if tag == "a"] == ["a.html", "b.html"]


def test_a_model_without_loops_has_a_page() -> None:
    from regularize.model.mechanism import joint_in_world, mechanism_of

    arm = mechanism_of("arm", [joint_in_world("A", "ground", "arm", "revolute", (0, 0, 1))])
    assert "No kinematic loops" in render(rg.check(arm))


BROWSER = next(
    filter(None, map(shutil.which, ("chromium", "chromium-browser", "google-chrome"))), None
)
PROBE = """
<script>
// Frames are not painted while a page is dumped, so they are driven by the clock.
window.requestAnimationFrame = (draw) => setTimeout(() => draw(performance.now()), 16);
addEventListener("error", (e) => document.body.dataset.error = e.message);
setTimeout(() => {
  const canvas = document.querySelector("canvas"), slider = document.getElementById("time");
  const pixels = () => {
    const gl = canvas.getContext("webgl2"), w = canvas.width, h = canvas.height;
    const all = new Uint8Array(4 * w * h);
    gl.readPixels(0, 0, w, h, gl.RGBA, gl.UNSIGNED_BYTE, all);
    return all;
  };
  const first = pixels();
  slider.value = String(slider.max / 3);
  slider.dispatchEvent(new Event("input"));
  setTimeout(() => {
    const second = pixels();
    let drawn = 0, changed = 0;
    for (let i = 0; i < first.length; i += 4) {
      if (first[i + 3]) drawn++;
      if (first[i] !== second[i] || first[i + 1] !== second[i + 1]) changed++;
    }
    document.body.dataset.result = JSON.stringify({
      live: document.getElementById("stage").classList.contains("live"),
      drawn, changed, total: first.length / 4,
      fetched: performance.getEntriesByType("resource").length,
      value: document.getElementById("value").textContent,
      names: document.querySelectorAll(".names span").length,
      wide: document.documentElement.scrollWidth > innerWidth,
    });
  }, 300);
}, 300);
</script>"""


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
            "--virtual-time-budget=5000",
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


@pytest.mark.slow
@pytest.mark.skipif(BROWSER is None, reason="no Chromium is installed")
@pytest.mark.parametrize("name", ["planar_fourbar", "gripper", "three_prrr"])
def test_the_page_works_in_a_browser(name: str, assets: Path, tmp_path: Path) -> None:
    text = render(rg.check(rg.load(assets / f"{name}.urdf")))
    page = tmp_path / "page.html"
    page.write_text(text.replace("</head>", f"{PROBE}</head>"), encoding="utf-8")
    done = browse(page, tmp_path, "--window-size=900,700", "--dump-dom")
    assert complaints(done.stderr) == []
    assert "data-error" not in done.stdout
    found = re.search(r'data-result="([^"]*)"', done.stdout)
    assert found is not None
    result = json.loads(found[1].replace("&quot;", '"'))
    assert result["live"] and result["fetched"] == 0 and not result["wide"]
    assert result["drawn"] > 0.005 * result["total"]
    assert result["changed"] > 0.002 * result["total"]
    assert result["names"] >= 4
    assert not result["value"].startswith("0.0")


@pytest.mark.slow
@pytest.mark.skipif(BROWSER is None, reason="no Chromium is installed")
@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_screenshots_show_the_mechanism(scheme: str, text: str, tmp_path: Path) -> None:
    image = pytest.importorskip("matplotlib.image")
    page, out = tmp_path / "page.html", tmp_path / "page.png"
    page.write_text(text, encoding="utf-8")
    dark = ["--force-dark-mode"] if scheme == "dark" else []
    browse(page, tmp_path, "--window-size=900,800", f"--screenshot={out}", *dark)
    pixels = image.imread(io.BytesIO(out.read_bytes()))[..., :3]
    assert (np.median(pixels) > 0.8) == (scheme == "light")
    # The coupler is orange, the crank blue.
    red, green, blue = (pixels[..., i] for i in range(3))
    assert np.sum((red - blue > 0.35) & (green - blue > 0.2)) > 500
    assert np.sum(blue - red > 0.3) > 300
