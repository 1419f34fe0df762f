#!/usr/bin/env python3
"""Lays out the pages of the site: the handbook by doors, and the live page of each example.

    python assets/make_site.py build/pages && mkdocs build --strict -f build/pages/mkdocs.yml

The site asks nothing of a network: fonts are the reader's own, search is in the pages. The page
that checks a reader's file in the browser is the exception: numpy, scipy and lxml for WebAssembly
come from where Pyodide publishes them, since no index of packages has them. Tried with Pyodide
314.0.7 in Chromium: the core starts under the page's policy, the wheels made here load, and what is
missing is named. The page's Python was run by CPython on the same wheel, where no thread and no
process can be started. A whole check in a browser was not tried.
"""

from __future__ import annotations

import json
import os
import re
import shutil
import subprocess
import sys
from functools import cache
from pathlib import Path

import regularize as rg
from regularize.guests.page import html

ROOT = Path(__file__).resolve().parents[1]
ASSETS = ROOT / "assets"
#: Chapters by door, in the order in which they are read; a page of no door is an error.
PARTS = {
    "Begin": ["first-hour", "gallery"],
    "Pinocchio": [
        *("four-bar-in-pinocchio", "legged-robots", "control", "pink", "crocoddyl"),
        "robots-that-stand",
    ],
    "Learning: MuJoCo, Isaac, Newton": [
        "mujoco-and-isaac",
        "newton-and-isaac-lab",
        "drake",
        "parallel-ankles",
        "many-robots",
    ],
    "CAD": ["my-cad-assembly", "fixing", "objects-and-editors"],
    "Continuous integration": ["continuous-integration"],
    "Parallel robots": ["parallel-robots"],
    "How sure": ["how-it-works", "proofs", "texts", "doors", "speed"],
    "Reference": ["commands", "codes", "formats", "adding-a-format", "vocabulary"],
    "Python reference": [
        "api",
        *("api-models", "api-robots", "api-motors", "api-pictures"),
        *("api-groups", "api-design", "api-study", "api-errors"),
    ],
    "Background": ["motion-groups", "elastic-links", "absolute-coordinates", "own-integrator"],
}
#: Terms of the vocabulary that are linked where a page first uses them, beside those of two words
#: and more.
TERMS = {
    *("screw", "twist", "wrench", "kinematotropic", "saturation", "shaky", "isostatic", "mobility"),
    *("paradoxical", "self-stress", "residual", "coupling", "metamodel", "workspace", "Δ"),
}
#: What is no prose: code, links, pictures, tags and addresses.
APART = re.compile(r"(`[^`]*`|!?\[[^\]]*\]\([^)]*\)|<[^>]*>|https?://\S+)")
#: Packages without compiled code that the page in the browser takes beside ours.
IN_BROWSER = ["networkx", "rich", "markdown-it-py", "mdurl", "pygments", "trimesh"]
CONFIGURATION = """\
site_name: regularize
docs_dir: pages
theme:
  name: material
  font: false
  features: [navigation.sections, navigation.top, search.highlight, content.code.copy]
plugins: [search]
markdown_extensions: [attr_list, toc, admonition, pymdownx.superfences]
validation: {links: {anchors: warn, not_found: warn, unrecognized_links: warn}}
nav:
"""


def page(path: Path, target: Path) -> None:
    """A page with its links led to where things are on the site."""
    text = path.read_text(encoding="utf-8")
    text = re.sub(r"\]\((?:\.\./)+README\.md(#[^)]*)?\)", "](index.md)", text)
    text = re.sub(r"\]\(assets/handbook/", "](", text)
    text = re.sub(r"\]\((?:assets/|\.\./)pictures/", "](pictures/", text)
    text = re.sub(r'src="assets/pictures/', 'src="pictures/', text)
    text = text.replace("](.github/VOCABULARY.md)", "](vocabulary.md)")
    # What lies beside the pages in a checkout has no place on the site.
    text = re.sub(r"\[([^\]]+)\]\((?!https?:|pictures/|#)([^)#]*)(#[^)]*)?\)", kept, text)
    if target.name == "vocabulary.md":
        text = re.sub(r"^\| ([^|]+) \|", anchored, text, flags=re.M)
    elif not target.name.startswith(("index", "api", "texts")):
        text = linked(text, codes=target.name != "codes.md")
    target.write_text(text, encoding="utf-8")


def slug(term: str) -> str:
    """The anchor of a term."""
    return re.sub(r"\W+", "-", term.lower()).strip("-")


def anchored(row: re.Match[str]) -> str:
    """A row of the vocabulary with an anchor for each of its terms."""
    names = row[1].split(", ")
    return "| " + "".join(f'<a id="{slug(n)}"></a>' for n in names) + f"{row[1]} |"


@cache
def terms() -> re.Pattern[str]:
    """The terms of the vocabulary that are linked."""
    text = (ROOT / ".github" / "VOCABULARY.md").read_text(encoding="utf-8")
    rows = re.findall(r"^\| ([^|]+) \|", text, re.M)
    names = {n for row in rows for n in row.split(", ") if n in TERMS or " " in n} - {
        "similar triangles"
    }
    longest = sorted((n for n in names if "(" not in n), key=len, reverse=True)
    return re.compile(rf"\b({'|'.join(map(re.escape, longest))})(?=e?s?\b)", re.I)


def linked(text: str, *, codes: bool) -> str:
    """A page whose codes lead to what they mean, and whose terms lead to the vocabulary, once."""
    said: set[str] = set()

    def term(found: re.Match[str]) -> str:
        name = slug(found[1])
        if name in said:
            return found[0]
        said.add(name)
        return f"[{found[0]}](vocabulary.md#{name})"

    lines, code = [], False
    for line in text.split("\n"):
        code ^= line.startswith("```")
        parts = APART.split(line) if not (code or line.startswith(("#", "```", "> "))) else []
        for k in range(0, len(parts), 2):
            pieces = re.split(r"(REG\d{3})", parts[k]) if codes else [parts[k]]
            pieces[1::2] = [f"[{each}](codes.md#{each})" for each in pieces[1::2]]
            pieces[::2] = [terms().sub(term, each) for each in pieces[::2]]
            parts[k] = "".join(pieces)
        lines.append("".join(parts) if parts else line)
    return "\n".join(lines)


def kept(link: re.Match[str]) -> str:
    """A link if it leads to a page, else its words."""
    name = link[2]
    page = "/" not in name and (ASSETS / "handbook" / name).is_file()
    return link[0] if page or name in ("index.md", "vocabulary.md") else link[1]


def examples(folder: Path) -> None:
    """The live page of each example, and a page with all of them."""
    (folder / "live").mkdir()
    lines = ["# Live pages\n", "Point at joints, move every freedom, read why.\n"]
    for path in sorted(ASSETS.glob("*.urdf")):
        report = rg.check(str(path.relative_to(ROOT)))
        (folder / "live" / f"{path.stem}.html").write_text(html.render(report), encoding="utf-8")
        found = report.as_dict()["mobility"]
        said = f"mobility {found['actual']}, {found['redundant']} redundant"
        source = f"../live/{path.stem}.html"
        lines.append(
            f"<details><summary>{path.stem}: {said}</summary>"
            f'<iframe src="{source}" title="{path.stem}" loading="lazy" '
            'style="width:100%;height:80vh;border:0"></iframe>'
            f'<p><a href="{source}">The page alone</a></p></details>\n'
        )
    (folder / "live.md").write_text("\n".join(lines) + "\n", encoding="utf-8")


def browser(folder: Path) -> None:
    """The page that checks a file where its reader is, and the wheels that it loads."""
    shutil.copytree(ASSETS / "browser", folder / "browser")
    shutil.rmtree(ROOT / "build" / "lib", ignore_errors=True)  # modules of an older build
    pip = [sys.executable, "-m", "pip", "wheel", "--quiet", "--no-deps", "--no-build-isolation"]
    done = subprocess.run(
        [*pip, "--wheel-dir", str(folder / "browser"), str(ROOT), *IN_BROWSER],
        env={**os.environ, "REGULARIZE_PURE": "1"},
        capture_output=True,
        text=True,
    )
    if done.returncode:
        sys.exit(done.stderr)
    names = sorted(path.name for path in (folder / "browser").glob("*.whl"))
    (folder / "browser" / "wheels.json").write_text(json.dumps(names), encoding="utf-8")
    lines = [
        "# Check a model in the browser\n",
        '<a href="../browser/check.html">The page</a> reads a file and checks it there:',
        "the file is sent nowhere. It takes a network once, for Python and its packages.\n",
    ]
    (folder / "in-browser.md").write_text("\n".join(lines), encoding="utf-8")


def main(target: str) -> None:
    """Write pages and configuration below a folder, which is made anew."""
    folder = Path(target) / "pages"
    shutil.rmtree(target, ignore_errors=True)
    folder.mkdir(parents=True)
    shutil.copytree(ASSETS / "pictures", folder / "pictures")
    page(ROOT / "README.md", folder / "index.md")
    titles = {}
    chapters = [*sorted((ASSETS / "handbook").glob("*.md")), ROOT / ".github" / "VOCABULARY.md"]
    for path in chapters:
        name = path.name.lower()
        page(path, folder / name)
        titles[name[:-3]] = path.read_text(encoding="utf-8").split("\n", 1)[0].strip("# ")
    examples(folder)
    browser(folder)
    if homeless := {*titles} - {stem for part in PARTS.values() for stem in part}:
        sys.exit(f"name the door of {', '.join(sorted(homeless))} in PARTS")
    text = CONFIGURATION + "  - regularize: index.md\n"
    for title, stems in PARTS.items():
        text += f'  - "{title}":\n' + "".join(f'    - "{titles[s]}": {s}.md\n' for s in stems)
        if title == "Begin":
            text += "    - Live pages: live.md\n    - In the browser: in-browser.md\n"
    (Path(target) / "mkdocs.yml").write_text(text, encoding="utf-8")


if __name__ == "__main__":
    main(*sys.argv[1:])
