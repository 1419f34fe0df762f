"""Grades of pages in a browser: how much of the frame moves, which names cover each other.

Playwright and Chromium are needed.
"""

from __future__ import annotations

import shutil
from pathlib import Path
from typing import Any

from report_pages import page_of

import regularize as rg

BROWSER = next(
    filter(None, map(shutil.which, ("chromium", "chromium-browser", "google-chrome"))), None
)
OPTIONS = ("--no-sandbox", "--disable-gpu", "--enable-unsafe-swiftshader")
SCREENS = {"desktop": (1400, 900), "phone": (390, 844)}
#: Least share of the frame's width or height that the moving bodies take.
SHARE = 0.4
#: Milliseconds after which a page is given up.
PATIENCE = 120_000
#: Corners of what moves, as drawn, and boxes of names as the browser has laid them out. Then the
#: same with the first freedom a quarter on.
GRADE = """() => {
  const { page } = window.regularize, { stage, motion } = page, frame = stage.element;
  const placed = (T, p) => [0, 4, 8].map((i) =>
    T[i] * p[0] + T[i + 1] * p[1] + T[i + 2] * p[2] + T[i + 3]);
  const shares = () => {
    const seen = [], { ground } = page.data;
    for (const piece of stage.scene.pieces) {
      if (piece.layer !== "bodies" || piece.node === ground || piece.vast) continue;
      const values = Uint8Array.from(atob(piece.vertices), (c) => c.charCodeAt(0));
      const at = new Uint16Array(values.buffer);
      for (let i = 0; i + 2 < at.length; i += 3)
        seen.push(stage.camera.project(placed(stage.poses[piece.node],
          [0, 1, 2].map((k) => piece.low[k] + piece.size[k] * at[i + k] / 65535))));
    }
    if (!seen.length) return null;
    const ends = (i) => {
      let [low, high] = [Infinity, -Infinity];
      for (const s of seen) { low = Math.min(low, s[i]); high = Math.max(high, s[i]); }
      return [low, high];
    };
    const size = [frame.clientWidth, frame.clientHeight], spans = [ends(0), ends(1)];
    return {
      wide: (spans[0][1] - spans[0][0]) / size[0], tall: (spans[1][1] - spans[1][0]) / size[1],
      inside: spans.every(([low, high], i) => low >= -1 && high <= size[i] + 1),
    };
  };
  const overlaps = () => {
    const seen = (e) => getComputedStyle(e).visibility === "visible" && e.offsetWidth > 0;
    const names = [...stage.layer.children].filter(seen).map((e) => e.getBoundingClientRect());
    const others = [...document.querySelectorAll("#stage .tools, #stage .card")]
      .map((e) => e.getBoundingClientRect()).filter((box) => box.width);
    const meet = (a, b) => Math.min(a.right, b.right) - Math.max(a.left, b.left) > 0.5
      && Math.min(a.bottom, b.bottom) - Math.max(a.top, b.top) > 0.5;
    let count = 0;
    names.forEach((a, i) => {
      for (const b of [...names.slice(0, i), ...others]) count += meet(a, b);
    });
    return [count, names.length];
  };
  stage.draw();
  const found = { shares: shares(), overlaps: overlaps(), freedoms: motion.freedoms.length };
  const first = motion.freedoms[0];
  if (first) {
    const [low, high] = first.range;
    first.input.value = String((low + 0.75 * (high - low)) * first.size);
    first.input.dispatchEvent(new Event("input"));
    stage.draw();
    found.moved = overlaps();
    found.error = motion.kinematics.error(motion.state);
    page.pose(page.data.kinematics.q);
  }
  found.wide = document.documentElement.scrollWidth > innerWidth;
  return found;
}"""


def built(path: Path) -> str:
    """The page of a model; empty where it cannot be read, or nothing of it moves."""
    try:
        report = rg.check(path)
    except rg.RegularizeError:
        return ""
    return page_of(report) if report.reduction.graph.edges else ""


def grade(browser: Any, page: Path, shot: Path | None, size: tuple[int, int]) -> dict[str, Any]:
    """What the browser finds on a page."""
    complaints: list[str] = []
    tab = browser.new_page(viewport=dict(zip(("width", "height"), size, strict=True)))
    tab.set_default_timeout(PATIENCE)
    tab.on("pageerror", lambda error: complaints.append(str(error)))
    tab.on("console", lambda said: complaints.extend([said.text] * (said.type == "error")))
    try:
        tab.goto(page.as_uri())
        tab.wait_for_function("window.regularize && window.regularize.page")
        tab.wait_for_timeout(300)
        found: dict[str, Any] = tab.evaluate(GRADE)
        if shot is not None:
            tab.wait_for_timeout(100)
            tab.screenshot(path=shot)
    finally:
        tab.close()
    return {**found, "complaints": complaints}


def names_that_cover(found: dict[str, Any]) -> int:
    """How many names cover others or buttons, at the first pose and at another."""
    return int(found["overlaps"][0] + found.get("moved", (0,))[0])


def passes(found: dict[str, Any]) -> bool:
    """Whether what moves is seen, no name covers another, and nothing went wrong."""
    shares = found["shares"]
    good = names_that_cover(found) == 0 and not found["complaints"] and not found["wide"]
    return good and (shares is None or max(shares["wide"], shares["tall"]) >= SHARE)


def line(found: dict[str, Any]) -> str:
    """What one page comes to."""
    shares = found["shares"]
    words = "nothing drawn moves" if shares is None else ""
    if shares is not None:
        area = shares["wide"] * shares["tall"]
        words = f"{shares['wide']:4.0%} x {shares['tall']:4.0%} = {area:4.0%} of the frame"
    covers, said = names_that_cover(found), found["complaints"] or "quiet"
    return f"{words}, {found['overlaps'][1]} names, {covers} cover, {said}"
