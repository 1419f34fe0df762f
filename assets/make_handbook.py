#!/usr/bin/env python3
"""Writes the pages of the handbook that follow from the code, and notebooks from its pages.

    python assets/make_handbook.py

``codes.md`` comes from the rules, ``api.md`` and its topics from the docstrings of the public
names, figures in prose from what computes them (``figures.py``), ``assets/examples/*.ipynb`` from
pages that are as good to run as to read, and from the scripts that stand beside them, and
``package-page.md`` from the README, for places where its links lead nowhere.
"""

from __future__ import annotations

import ast
import importlib
import inspect
import json
import re
import sys
import textwrap
from collections.abc import Iterator
from pathlib import Path

import regularize as rg

sys.path.insert(0, str(Path(__file__).resolve().parent))
from figures import FIGURES, filled  # beside this file

from regularize.report.rules import TITLES, all_rules, in_dialect

if sys.version_info >= (3, 11):
    import tomllib
else:
    import tomli as tomllib

ROOT = Path(__file__).resolve().parents[1]
HANDBOOK = ROOT / "assets" / "handbook"
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
        "integration](continuous-integration.md). A link to `codes.md#REG201` leads to that code.",
        "",
        "![A finding, as the terminal shows it](../pictures/check.svg)",
        "",
        "| code | name | severity |",
        "|---|---|---|",
    ]
    lines += [f"| [{r.code}](#{r.code}) | {r.name} | {r.severity} |" for r in all_rules()]
    for rule in all_rules():
        lines += ["", f'<a id="{rule.code}"></a>', "", f"## {rule.code} {rule.name}", ""]
        lines += [*_filled(f"*{rule.severity}* — {rule.what} {rule.why}"), ""]
        lines += [*_filled(f"For example: {rule.example}"), ""]
        lines += [*_filled(f"What to do: {rule.fix}"), ""]
        for title, pieces in (("Bad", rule.bad), ("Good", rule.good)):
            text, dialect = in_dialect(pieces, "urdf")
            lines += [f"{title}, in {TITLES[dialect]}:", "", "```text", text, "```", ""]
        lines.pop()
    return "\n".join(lines) + "\n"


#: Pages of the reference: their titles, and the modules or the topic that their names come from.
_PAGES = {
    "models": ("Models and reports", "assembly_builder checking files mechanism reduction repair"),
    "robots": ("Robots and motion", "dynamics"),
    "motors": ("Motors that drive joints through loops", "guests.actuation"),
    "pictures": ("Pictures", "guests.page"),
    "groups": ("Groups of motions, `rg.groups`", "groups"),
    "design": ("Design, `rg.design`", "design"),
    "study": ("Study, `rg.study`", "study"),
    "errors": ("Errors", "errors"),
}


def named() -> dict[str, dict[str, object]]:
    """The public names of each page of the reference: functions, classes, errors."""
    found: dict[str, dict[str, object]] = {page: {} for page in _PAGES}
    rows = (Path(rg.__file__).parent / "names.csv").read_text("utf-8").splitlines()[1:]
    for home, topic, names in (row.split(",") for row in rows):
        places = (
            p for p, (_, own) in _PAGES.items() if (topic or home).startswith((*own.split(),))
        )
        found[next(places)] |= {name: getattr(rg, name) for name in names.split()}
    for page, names in found.items():
        found[page] = dict(sorted(names.items(), key=lambda n: (inspect.isclass(n[1]), n[0])))
    return found


def api() -> dict[str, str]:
    """The public names: a page of all, and one for each topic with types and members."""
    lines = [
        "# Python reference",
        "",
        _MADE,
        "",
        "`import regularize as rg`. Functions take a path, a `Mechanism`, a `Reduction` or a "
        "`Report` first, wherever one follows from the other; SI units, radians. What each name "
        "takes and gives, with types, stands on the page of its topic.",
        "",
        "![What is made of what, from a file to a motion](../pictures/calls.png)",
    ]
    pages, used = {}, ""
    for page, entries in named().items():
        title, _ = _PAGES[page]
        whole = [f"# {title}", "", _MADE, "", "[All names](api.md), [types](api.md#types)."]
        lines += ["", f"## {title}"]
        for name, entry in entries.items():
            told, _, _ = inspect.cleandoc(entry.__doc__ or "").partition("\n\n")
            link = f"[More](api-{page}.md#{name.lower()})."
            lines += ["", f"### {name}", "", *_filled(f"{_plain(told)} {link}")]
            whole += ["", f"## {name}", ""]
            if inspect.isfunction(entry):
                whole += ["```py", signature(f"rg.{name}", entry), "```", ""]
            whole += _documented(entry)
            if inspect.isclass(entry) and page != "errors":
                whole += _members(entry)
        for name, entry in results(entries).items():
            whole += ["", f"## {name}", "", *_documented(entry), *_members(entry)]
        pages[f"api-{page}.md"] = re.sub(r"\n{3,}", "\n\n", "\n".join(whole).rstrip() + "\n")
        used += " ".join(re.findall(r"```py\n[^`]*```|`[^`]+`", pages[f"api-{page}.md"]))
    lines += ["", "## Types", ""]
    for name, words in sorted(types().items()):
        if re.search(rf"(?:: |> |\[|\| |, |\(`){name}\b", used):
            lines += _filled(f"- `{name}`: {words}", "  ")
    return {"api.md": "\n".join(lines) + "\n", **pages}


def results(entries: dict[str, object]) -> dict[str, type]:
    """What functions give that has no public name of its own."""
    functions = [entry for entry in entries.values() if inspect.isfunction(entry)]
    words = " ".join(str(inspect.signature(f).return_annotation) for f in functions)
    found = {}
    for path in sorted(Path(rg.__file__).parent.rglob("*.py")):
        module = ".".join(("regularize", *path.relative_to(Path(rg.__file__).parent).parts))[:-3]
        for name in re.findall(r"^class (\w+)", path.read_text("utf-8"), re.M):
            if name not in rg.__all__ and re.search(rf"\b{name}\b", words):
                found[name] = getattr(importlib.import_module(module), name)
    return dict(sorted(found.items()))


def signature(called: str, function: object, bound: bool = False) -> str:
    """A call with the types of what it takes and gives, on a line or a line for each argument."""
    found = inspect.signature(function)  # type: ignore[arg-type]
    words, kinds = [], [p.kind for p in found.parameters.values()]
    for number, p in enumerate([*found.parameters.values()][bound:], bound):
        if p.kind == p.KEYWORD_ONLY and not {p.VAR_POSITIONAL, p.KEYWORD_ONLY} & {*kinds[:number]}:
            words.append("*")
        star = {p.VAR_POSITIONAL: "*", p.VAR_KEYWORD: "**"}.get(p.kind, "")
        word = f"{star}{p.name}" + (
            f": {_type(p.annotation)}" if p.annotation is not p.empty else ""
        )
        value = getattr(p.default, "tolist", lambda p=p: p.default)()
        words.append(word if p.default is p.empty else f"{word} = {value!r}")
    gives = f" -> {_type(found.return_annotation)}"
    line = f"{called}({', '.join(words)}){gives}"
    if len(line) <= 76 or bound:
        return line
    return f"{called}(\n" + "".join(f"    {word},\n" for word in words) + f"){gives}"


def types() -> dict[str, str]:
    """What types that have names of their own stand for, as the sources say it."""
    found = {"Array": "numbers of float64, an array of NumPy.", "ArrayLike": "what NumPy takes."}
    for path in sorted(Path(rg.__file__).parent.rglob("*.py")):
        text = path.read_text("utf-8")
        for note, name, value in re.findall(
            r"^((?:#: .*\n)+)([A-Z]\w+)(?:: TypeAlias)? = (.*)$", text, re.M
        ):
            words = " ".join(note.replace("#: ", "").split()).replace("``", "`")
            if any(mark in value for mark in ("[", "|")) and not value.startswith(("[", "(")):
                value = (
                    f"`{value.strip(chr(34))}`. " if value.count("[") == value.count("]") else ""
                )
                found.setdefault(name, f"{value}{words}")
        for name, body in re.findall(
            r'^class (\w+)\(TypedDict, total=False\):\n    """.*?"""\n\n((?:    \w+: .*\n)+)',
            text,
            re.M,
        ):
            told = ", ".join(f"`{line.strip()}`" for line in body.splitlines())
            found.setdefault(name, f"{told}, all by keyword.")
    return found


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
        "",
        "![Bricard's mechanism, the paradoxical linkage of Müller's figure 2b, and where it goes]"
        "(../pictures/bricard.png)",
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
        "![Four legs of Schoenflies type; their platform moves in what all of them allow]"
        "(../pictures/schoenflies_four_legs.png)",
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


def with_figures() -> dict[Path, str]:
    """The README and the pages that have figures in their prose."""
    pages = dict.fromkeys(page for page, _, _ in FIGURES)
    paths = {page: (HANDBOOK if page != "README.md" else ROOT) / page for page in pages}
    return {path: filled(page, path.read_text(encoding="utf-8")) for page, path in paths.items()}


def package_page() -> str:
    """The README without pictures and without links into the repository."""
    text = (ROOT / "README.md").read_text(encoding="utf-8")
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
        **with_figures(),
        HANDBOOK.parent / "package-page.md": package_page(),
        HANDBOOK / "codes.md": codes(),
        **{HANDBOOK / name: text for name, text in api().items()},
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


def _type(annotation: object) -> str:
    return re.sub(r"<class '(?:[\w.]+\.)?(\w+)'>|typing\.|numpy\.", r"\1", str(annotation))


def _plain(text: str) -> str:
    return " ".join(text.split()).replace("``", "`")


def _documented(entry: object) -> Iterator[str]:
    """A docstring in Markdown: its words, then lists of its sections, with types."""
    text = inspect.cleandoc(getattr(entry, "__doc__", None) or "")
    parts = re.split(rf"^({'|'.join(_SECTIONS)}|Example|Examples):\n", text, flags=re.M)
    typed: dict[str, object] = {}
    for home in reversed(inspect.getmro(entry) if isinstance(entry, type) else (entry,)):
        typed |= getattr(home, "__annotations__", {})
    for paragraph in parts[0].strip().split("\n\n"):
        yield from _filled(_plain(paragraph))
        yield ""
    for title, body in zip(parts[1::2], parts[2::2], strict=True):
        if title not in _SECTIONS:
            if isinstance(entry, type) and "rg." in body:
                code = re.findall(r"^ *(?:>>>|\.\.\.) ?(.*)$", body, flags=re.M)
                yield from ["```python", "import regularize as rg", "", *code, "```", ""]
            continue
        if title in ("Returns", "Yields"):
            yield from _filled(f"{title}: {_plain(body)}")
            yield ""
            continue
        yield from (f"{title}:", "")
        for item in re.split(r"\n(?=    \S)", body.rstrip()):
            words = _plain(item)
            name, colon, rest = words.partition(": ")
            if colon and re.fullmatch(r"[\w*, ]+", name):
                kind = f" (`{_type(typed[name])}`)" if name in typed and title != "Args" else ""
                words = f"`{name}`{kind}: {rest}"
            yield from _filled(f"- {words}", "  ")
        yield ""


def _members(entry: type) -> Iterator[str]:
    """Methods and properties that belong to users, with types, each with its first sentence."""
    found = []
    for name in sorted(dir(entry)):
        if name.startswith("_"):
            continue
        member = inspect.getattr_static(entry, name)
        getter = getattr(member, "fget", None) or getattr(member, "func", member)
        made = isinstance(member, (staticmethod, classmethod))
        getter = getattr(getter, "__func__", getter)
        words = getattr(getter, "__doc__", None)
        if words and str(getattr(getter, "__module__", "")).startswith("regularize"):
            call = f".{name}"
            if inspect.isfunction(member) or made:
                call = signature(call, getter, bound=not isinstance(member, staticmethod))
            elif inspect.isfunction(getter):
                call += f": {_type(inspect.signature(getter).return_annotation)}"
            first = _plain(inspect.cleandoc(words).split("\n\n")[0])
            found += [*_filled(f"- `{call}`: {first}", "  ")]
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
    for make in (with_figures, made):  # notebooks are made of pages with their figures
        for path, text in make().items():
            path.write_text(text, encoding="utf-8")


if __name__ == "__main__":
    main()
