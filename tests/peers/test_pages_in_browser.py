"""Pages of models of every size, graded by ``page_grades.py``."""

from __future__ import annotations

from pathlib import Path

import pytest
from page_grades import BROWSER, OPTIONS, SCREENS, built, grade, line, passes
from simulation_cases import CORPUS

playwright = pytest.importorskip("playwright.sync_api")
pytestmark = pytest.mark.skipif(BROWSER is None, reason="no Chromium is installed")


@pytest.mark.parametrize(
    "name",
    [
        "assets/walker.urdf",
        "mjcf/menagerie_agility_cassie/cassie.xml",
        "asmt/ondsel_testapp/fourbar.asmt",
    ],
)
def test_what_moves_fills_the_frame_and_no_name_covers_another(
    name: str, assets: Path, tmp_path: Path
) -> None:
    model = assets.parent / name if name.startswith("assets") else CORPUS / name
    if not model.exists():
        pytest.skip("the model collection is not here")
    page = tmp_path / "page.html"
    page.write_text(built(model), encoding="utf-8")
    with playwright.sync_playwright() as driver:
        browser = driver.chromium.launch(executable_path=BROWSER, args=OPTIONS)
        for size in SCREENS.values():
            found = grade(browser, page, None, size)
            assert passes(found) and found["shares"] is not None, line(found)
        browser.close()
