"""The bench in a real browser: joints changed, proposals tried, the file saved and watched."""

from __future__ import annotations

import contextlib
import shutil
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

playwright = pytest.importorskip("playwright.sync_api")
BROWSER = next(
    filter(None, map(shutil.which, ("chromium", "chromium-browser", "google-chrome"))), None
)
pytestmark = pytest.mark.skipif(BROWSER is None, reason="no Chromium is installed")
#: Milliseconds after which a page is given up.
PATIENCE = 120_000
OPTIONS = ("--no-sandbox", "--disable-gpu", "--enable-unsafe-swiftshader")


@pytest.fixture
def crank(assets: Path, tmp_path: Path) -> Path:
    return Path(shutil.copy(assets / "slider_crank.urdf", tmp_path / "slider_crank.urdf"))


@pytest.fixture
def address(crank: Path) -> Iterator[str]:
    """The address of a bench that runs as its user starts it."""
    command = [sys.executable, "-m", "regularize", "bench", str(crank), "--no-browser"]
    quiet = subprocess.DEVNULL
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=quiet, text=True) as bench:
        assert bench.stdout is not None
        yield bench.stdout.readline().strip()
        bench.terminate()


@pytest.fixture
def page(address: str) -> Iterator[playwright.Page]:
    with playwright.sync_playwright() as driver, contextlib.ExitStack() as stack:
        browser = driver.chromium.launch(executable_path=BROWSER, args=OPTIONS)
        stack.callback(browser.close)
        page = browser.new_page(viewport={"width": 1200, "height": 900})
        page.set_default_timeout(PATIENCE)
        complaints: list[str] = []
        page.on("pageerror", lambda error: complaints.append(str(error)))
        page.goto(address)
        yield page
        assert complaints == []


def counts(page: playwright.Page, redundant: int) -> None:
    """Wait until the page says so many redundant equations of what is tried."""
    cell = "#comparison tbody tr:nth-child(2) td:last-child"
    playwright.expect(page.locator(cell)).to_have_text(str(redundant), timeout=PATIENCE)


def moves_and_can_be_pointed_at(page: playwright.Page, glyphs: int) -> None:
    """The same page with other data: it is drawn, moves closed, and lights up in both places."""
    found = page.evaluate("""() => {
      const { page } = regularize, { stage, motion } = page, [freedom] = motion.freedoms;
      freedom.input.value = String(Number(freedom.input.value) + 0.3 * freedom.size);
      freedom.input.dispatchEvent(new Event("input"));
      const error = motion.kinematics.error(motion.state);
      page.select("j0");
      const rows = document.querySelectorAll("main .chosen").length;
      page.select(null);
      stage.draw();
      return {
        error, rows, freedoms: motion.freedoms.length, turned: motion.state.q[0],
        same: window.same === document.querySelector("canvas"),
        glyphs: stage.data.redundant.flatMap((entry) => entry.shapes).length,
        rest: document.querySelectorAll("main [data-refs]:not([tabindex])").length,
        title: document.title,
      };
    }""")
    assert found["same"] and found["freedoms"] == 1 and found["rest"] == 0
    assert found["error"] < 1e-8 and abs(found["turned"]) > 0.2 and found["rows"] >= 1
    assert found["glyphs"] == glyphs
    assert found["title"].startswith("slider_crank.urdf: ")


def test_a_joint_is_changed_saved_and_changed_back(
    page: playwright.Page, crank: Path, tmp_path: Path
) -> None:
    written = crank.read_text()
    counts(page, 3)
    page.evaluate("regularize.page.stage.camera.scale = 321.5")
    page.evaluate("window.same = document.querySelector('canvas')")

    page.select_option("[data-change=D]", "cylindrical")
    counts(page, 2)
    moves_and_can_be_pointed_at(page, glyphs=2)
    assert "+++" in page.inner_text("#diff")
    assert page.evaluate("regularize.page.stage.camera.scale") == 321.5  # as it was looked at
    page.click("[data-act=undo]")
    counts(page, 3)
    moves_and_can_be_pointed_at(page, glyphs=3)
    page.click("[data-act=isostatic]")
    counts(page, 0)
    moves_and_can_be_pointed_at(page, glyphs=0)
    assert "line_in_plane" in page.inner_text("#diff")
    assert crank.read_text() == written
    page.screenshot(path=tmp_path / "bench.png")
    assert (tmp_path / "bench.png").stat().st_size > 20_000

    page.click("[data-act=save]")
    playwright.expect(page.locator("#bench-status")).to_contain_text("wrote", timeout=PATIENCE)
    assert "line_in_plane" in crank.read_text()
    cell = "#comparison tbody tr:nth-child(2) td:nth-child(2)"
    playwright.expect(page.locator(cell)).to_have_text("0", timeout=PATIENCE)

    crank.write_text(written)  # in another program
    playwright.expect(page.locator(cell)).to_have_text("3", timeout=PATIENCE)


def test_a_kind_that_the_file_cannot_hold_is_seen_all_the_same(page: playwright.Page) -> None:
    page.click("[data-act=cure] >> nth=0")  # proposals are what the file holds
    counts(page, 0)
    assert "The file cannot hold this" not in page.inner_text("#bench")
    page.click("[data-act=reset]")
    counts(page, 3)
    page.select_option("[data-change=B]", "spherical")
    counts(page, 1)
    assert "The file cannot hold this" in page.inner_text("#bench")
    assert page.is_disabled("[data-act=save]")
    page.click("[data-act=reset]")
    counts(page, 3)
