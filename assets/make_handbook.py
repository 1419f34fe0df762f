#!/usr/bin/env python3
"""Writes the pages of the handbook that follow from the code, and notebooks from its pages.

    python assets/make_handbook.py

``codes.md`` comes from the rules, ``api.md`` from the docstrings of the public names,
``assets/examples/*.ipynb`` from pages that are as good to run as to read, and from the scripts that
stand beside them, and ``package-page.md`` from the README, for places where its links lead nowhere.
"""

from __future__ import annotations

import ast
import inspect
import json
import re
import sys
import textwrap
from collections.abc import Iterator
from pathlib import Path

import regularize as rg
from regularize.report.rules import TITLES, all_rules, in_dialect

if sys.version_info >= (3, 11):
    import tomllib
else:
    import tomli as tomllib

HANDBOOK = Path(__file__).resolve().parent / "handbook"
EXAMPLES = HANDBOOK.parent / "examples"
#: Pages that are notebooks as well.
NOTEBOOKS = ("first-hour", "four-bar-in-pinocchio", "parallel-robots")
#: Scripts that are notebooks as well.
SCRIPTS = tuple(sorted(path.stem for path in EXAMPLES.glob("*.py")))
_MADE = "<!-- Written by assets/make_handbook.py. -->"
_START = 'import os\n\nwhile not os.path.isdir("assets"):\n    os.chdir("..")'
_SECTIONS = ("Args", "Attributes", "Returns", "Yields", "Raises")


def codes() -> str:
    """What the codes mean."""
    lines = [
        "# What the codes mean",
        "",
        _MADE,
        "",
        "Every finding has a code that is never used for anything else. `regularize explain CODE "
        "MODEL` prints what stands here with its piece of a model in your own format; here it is "
        "URDF. Accepted findings are written down with a reason: [Models in continuous "
        "integration](continuous-integration.md).",
    ]
    for rule in all_rules():
        lines += ["", f"## {rule.code} {rule.name}", ""]
        lines += [*_filled(f"*{rule.severity}* — {rule.what} {rule.why}"), ""]
        lines += [*_filled(f"For example: {rule.example}"), ""]
        lines += [*_filled(f"What to do: {rule.fix}"), ""]
        for title, pieces in (("Bad", rule.bad), ("Good", rule.good)):
            text, dialect = in_dialect(pieces, "urdf")
            lines += [f"{title}, in {TITLES[dialect]}:", "", "```text", text, "```", ""]
        lines.pop()
    return "\n".join(lines) + "\n"


def api() -> str:
    """The public names."""
    lines = [
        "# Python reference",
        "",
        _MADE,
        "",
        "`import regularize as rg`. Functions take a path, a `Mechanism`, a `Reduction` or a "
        "`Report` first, wherever one follows from the other; SI units, radians.",
    ]
    objects = {name: getattr(rg, name) for name in rg.__all__ if name != "__version__"}
    kinds = (
        ("Functions", {k: v for k, v in objects.items() if inspect.isfunction(v)}),
        ("Values", {k: v for k, v in objects.items() if inspect.isclass(v) and not _error(v)}),
        ("Errors", {k: v for k, v in objects.items() if inspect.isclass(v) and _error(v)}),
    )
    for title, entries in kinds:
        lines += ["", f"## {title}"]
        for name, entry in entries.items():
            lines += ["", f"### {name}", ""]
            if title == "Functions":
                lines += [*_filled(f"`rg.{name}({_arguments(entry)})`"), ""]
            lines += _documented(entry)
            if title == "Values":
                lines += _members(entry)
    return "\n".join(lines) + "\n"


#: The texts by the first letters of their rows, and the programs and pages that belong to them.
_TEXTS = {
    "A": "Müller 2004, *Elimination of redundant cut joint constraints* (abstract)",
    "M": "Müller 2014, *Implementation of a geometric constraint regularization*",
    "P": "Paul 2020, thesis on redundant constraints in Robotran; models in `assets/thesis`",
    "K": "Klein Breteler and Kecskeméthy 1998, closed-form loops (SYMKIN, MoLoop)",
    "B": "Brüls, Duysinx and Golinval 2003, model reduction; models in `assets/metamodel`",
    "H": "Hervé 1978, groups of motions, as these texts cite him",
    "D": "The tools around them",
}


def texts() -> str:
    """The texts row by row."""
    rows = tomllib.loads((HANDBOOK.parent / "texts.toml").read_text("utf-8"))
    lines = [
        "# The texts",
        "",
        _MADE,
        "",
        "Five texts are implemented here. A line for each method, figure and example, under the "
        "name that its author has for it: what to call, on which example, the number that is "
        "printed or follows from the text, our own, and how far they may be apart. Müller's "
        "*selection matrix* and *preconditioning matrix* Ū (by SVD) are "
        "`reduction.cuts[i].rows`, Paul's *coordinate partitioning* is `rg.partition` and "
        "`rg.minimal_dynamics`, Kecskeméthy's *echelon form* of geometric projections is "
        "`rg.closed_form`, Brüls' *reduced model* and *metamodel* are `rg.reduced_model` and "
        "`rg.metamodel`. Rows without numbers are statements.",
    ]
    columns = "place", "name", "call", "asset", "printed", "own", "tolerance"
    for letter, title in _TEXTS.items():
        lines += ["", f"## {title}", ""]
        lines += ["| in the text | what | call | example | printed | here | ± |"]
        lines += ["|---" * len(columns) + "|"]
        for row in (row for name, row in rows.items() if name[0] == letter):
            cells = [row.get(column, "–") for column in columns]
            cells = [c if isinstance(c, str) else f"{c:.7g}" for c in cells]
            cells[2:4] = (f"`{cell}`" if cell else "" for cell in cells[2:4])
            lines += ["| " + " | ".join(cells) + " |"]
    return "\n".join(lines) + "\n"


#: The groups of the tables; the first of two has the axis z through the origin.
_GROUPS = (
    *("translation", "revolute", "helical", "translations in a plane", "cylindrical"),
    *("spatial translations", "planar", "planar with pitch", "spherical", "Schoenflies"),
)
#: Where the second group stands: its direction and its point.
_PLACES = {
    "on the same axis": ((0, 0, 1), (0, 0, 0)),
    "with a parallel axis": ((0, 0, 1), (1, 0, 0)),
    "with an axis at right angles, through the same point": ((1, 0, 0), (0, 0, 0)),
    "with an axis at right angles that passes it by": ((1, 0, 0), (0, 1, 0)),
}


def groups() -> str:
    """Tables of compositions and intersections of motion groups."""
    lines = [
        "# Groups of motions: tables of composition and intersection",
        "",
        _MADE,
        "",
        "Hervé (1978) classifies chains by the groups in which they move. A chain of two joints "
        "moves in the product of their groups; `rg.compose` is the smallest group that contains it."
        " Two chains side by side leave the motions that both allow: `rg.meet`. The tables are "
        "computed by these two functions; the first group has the axis z through the origin (of a "
        "plane the normal, of a ball joint the centre), and pitches are 1 m/rad.",
        "",
        "```python",
        "import regularize as rg",
        "",
        'planar, ball = rg.motion_group("planar"), rg.motion_group("spherical", point=(1, 0, 0))',
        "print(rg.meet(planar, ball).name, rg.compose(planar, ball).name)  # revolute full",
        "```",
    ]
    for title, operation in (("Composition", rg.compose), ("Intersection", rg.meet)):
        for words, (direction, point) in _PLACES.items():
            lines += ["", f"## {title}, the second {words}", ""]
            lines += ["| | " + " | ".join(_GROUPS) + " |", "|---" * (len(_GROUPS) + 1) + "|"]
            for first in _GROUPS:
                a = rg.motion_group(first)
                found = (
                    operation(a, rg.motion_group(second, direction, point)) for second in _GROUPS
                )
                cells = " | ".join(f"{each.name} ({each.dimension})" for each in found)
                lines.append(f"| **{first}** | {cells} |")
    return "\n".join(lines) + "\n"


def package_page() -> str:
    """The README without pictures and without links into the repository."""
    text = (HANDBOOK.parents[1] / "README.md").read_text(encoding="utf-8")
    text = re.sub(r"^(!\[[^\]]*\]\((?!https?:)[^)]*\)|<img [^>]*>)\n\n", "", text, flags=re.M)
    return re.sub(r"\[([^\]]+)\]\((?!https?:)[^)]*\)", r"\1", text)


def notebook(page: str) -> str:
    """A page as a notebook: its text and its blocks of code, in order."""
    text = (HANDBOOK / f"{page}.md").read_text(encoding="utf-8")
    cells = []
    for part in re.split(r"^(```(?:python|bash)\n.*?^```)$", text, flags=re.S | re.M):
        block = re.fullmatch(r"```(python|bash)\n(.*?)\n?```", part, re.S)
        if block is not None:
            code = block[2]
            if block[1] == "bash":
                code = "\n".join(f"!{line}" for line in code.splitlines() if line)
            cells.append(_cell("code", code))
        elif part.strip():
            cells.append(_cell("markdown", part.strip()))
    return _notebook(cells)


def script_notebook(script: str) -> str:
    """A script as a notebook: its words, its definitions one by one, and what its `main` does."""
    text = (EXAMPLES / f"{script}.py").read_text(encoding="utf-8")
    tree = ast.parse(text)
    lines, words = text.splitlines(), (ast.get_docstring(tree) or "").split("\n")
    told = [line for line in words[1:] if not line.startswith("    ")]
    cells = [_cell("markdown", f"# {words[0].rstrip('.')}\n\n" + "\n".join(told).strip())]
    ends = [node.end_lineno or 0 for node in tree.body]
    pieces: list[list[str]] = [[]]
    for node, start, end in zip(tree.body[1:-1], ends, ends[1:], strict=False):
        if isinstance(node, ast.FunctionDef) and node.name == "main":
            pieces.append(
                textwrap.dedent("\n".join(lines[node.body[0].end_lineno : end])).split("\n")
            )
            continue
        if isinstance(node, (ast.FunctionDef, ast.ClassDef)):
            pieces.append([])
        pieces[-1] += lines[start:end]
    for piece in pieces:
        code = (
            "\n".join(piece)
            .strip()
            .replace("Path(__file__).resolve().parents[1]", 'Path("assets")')
        )
        cells.append(_cell("code", code.replace("from __future__ import annotations\n\n", "")))
    return _notebook(cells)


def _notebook(cells: list[dict[str, object]]) -> str:
    """Cells as a notebook, which begins where the models are."""
    cells.insert(0, _cell("code", _START))
    for number, cell in enumerate(cells):
        cell["id"] = f"cell-{number}"
    kernel = {"display_name": "Python 3", "language": "python", "name": "python3"}
    whole = {"cells": cells, "metadata": {"kernelspec": kernel}, "nbformat": 4, "nbformat_minor": 5}
    return json.dumps(whole, indent=1, ensure_ascii=False) + "\n"


def made() -> dict[Path, str]:
    """All files and what belongs in them."""
    return {
        HANDBOOK.parent / "package-page.md": package_page(),
        HANDBOOK / "codes.md": codes(),
        HANDBOOK / "api.md": api(),
        HANDBOOK / "motion-groups.md": groups(),
        HANDBOOK / "texts.md": texts(),
        **{EXAMPLES / f"{page}.ipynb": notebook(page) for page in NOTEBOOKS},
        **{EXAMPLES / f"{script}.ipynb": script_notebook(script) for script in SCRIPTS},
    }


def _cell(kind: str, source: str) -> dict[str, object]:
    lines = [f"{line}\n" for line in source.split("\n")]
    lines[-1] = lines[-1].rstrip("\n")
    cell: dict[str, object] = {"cell_type": kind, "metadata": {}, "source": lines}
    return cell | ({"execution_count": None, "outputs": []} if kind == "code" else {})


def _error(entry: type) -> bool:
    return issubclass(entry, Exception)


def _arguments(function: object) -> str:
    """Names and defaults of the arguments of a function."""
    signature = inspect.signature(function)  # type: ignore[arg-type]
    bare = [p.replace(annotation=p.empty) for p in signature.parameters.values()]
    return str(signature.replace(parameters=bare, return_annotation=signature.empty))[1:-1]


def _documented(entry: object) -> Iterator[str]:
    """A docstring in Markdown: its words, then lists of its sections."""
    text = inspect.cleandoc(getattr(entry, "__doc__", None) or "")
    parts = re.split(rf"^({'|'.join(_SECTIONS)}|Example|Examples):\n", text, flags=re.M)
    for paragraph in parts[0].strip().split("\n\n"):
        yield from _filled(" ".join(paragraph.split()).replace("``", "`"))
        yield ""
    for title, body in zip(parts[1::2], parts[2::2], strict=True):
        if title not in _SECTIONS:
            if isinstance(entry, type) and "rg." in body:
                code = re.findall(r"^ *(?:>>>|\.\.\.) ?(.*)$", body, flags=re.M)
                yield from ["```python", "import regularize as rg", "", *code, "```", ""]
            continue
        yield f"{title}:"
        yield ""
        for item in re.split(r"\n(?=    \S)", body.rstrip()):
            words = " ".join(item.split()).replace("``", "`")
            name, colon, rest = words.partition(": ")
            told = f"`{name}`: {rest}" if colon and re.fullmatch(r"[\w*, ]+", name) else words
            yield from _filled(f"- {told}", "  ")
        yield ""


def _members(entry: type) -> Iterator[str]:
    """Methods and properties that belong to users, each with its first sentence."""
    found = []
    for name in sorted(dir(entry)):
        if name.startswith("_"):
            continue
        member = inspect.getattr_static(entry, name)
        words = getattr(getattr(member, "func", member), "__doc__", None)
        home = getattr(
            getattr(member, "fget", None) or getattr(member, "func", member), "__module__", ""
        )
        if words and str(home).startswith("regularize"):
            call = "()" if inspect.isfunction(member) else ""
            first = " ".join(inspect.cleandoc(words).split("\n\n")[0].split()).replace("``", "`")
            found += [*_filled(f"- `.{name}{call}`: {first}", "  ")]
    if found:
        yield from ["Members:", "", *found]


def _escaped(text: str) -> str:
    """Words in which nothing is taken for a tag, but for what stands in backquotes."""
    parts = text.split("`")
    return "`".join(p if i % 2 else p.replace("<", "\\<") for i, p in enumerate(parts))


def _filled(text: str, indent: str = "") -> list[str]:
    return textwrap.wrap(
        _escaped(text),
        140,
        subsequent_indent=indent,
        break_long_words=False,
        break_on_hyphens=False,
    )


def main() -> None:
    """Write all files."""
    for path, text in made().items():
        path.write_text(text, encoding="utf-8")


if __name__ == "__main__":
    main()
