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


def test_a_joint_is_changed_saved_and_changed_back(
    page: playwright.Page, crank: Path, tmp_path: Path
) -> None:
    written = crank.read_text()
    counts(page, 3)
    page.evaluate("regularize.page.stage.camera.scale = 321.5")

    page.select_option("[data-change=D]", "cylindrical")
    counts(page, 2)
    assert "+++" in page.inner_text("#diff")
    assert page.evaluate("regularize.page.stage.camera.scale") == 321.5  # as it was looked at
    page.click("[data-act=undo]")
    counts(page, 3)
    page.click("[data-act=isostatic]")
    counts(page, 0)
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


def test_a_proposal_that_the_file_cannot_hold_is_seen_all_the_same(page: playwright.Page) -> None:
    page.click("[data-act=cure] >> nth=0")
    counts(page, 0)
    assert "The file cannot hold this" in page.inner_text("#bench")
    assert page.is_disabled("[data-act=save]")
    page.click("[data-act=reset]")
    counts(page, 3)
