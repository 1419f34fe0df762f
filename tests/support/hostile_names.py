"""Names that try to be code: each in every place of a model, in everything that is written of it.

``python hostile_names.py 5000`` tries that many cases, and says what failed.

A case is a name, the place where it stands, and an output, judged by what reads such outputs: a
preprocessor and a compiler, Python's and XML's parsers, a browser's tags, a terminal. What is code
must be, without its comments, what it is for a name that is a plain word.
"""

import ast
import contextlib
import importlib.util
import io
import itertools
import json
import os
import pickle
import re
import subprocess
import sys
import tempfile
from collections import Counter
from collections.abc import Callable, Iterator
from functools import cache
from pathlib import Path
from typing import Any

import lxml.etree
import lxml.html
from markdown_it import MarkdownIt

import regularize as rg
from regularize.cli import main
from regularize.dynamics.tape.backends import warp_source
from regularize.dynamics.tape.program import Program

ROOT = Path(__file__).resolve().parents[2]
#: Names that would be code in C, Python, pages, XML, terminals, workflow commands and USD.
NAMES: list[str] = json.loads(Path(__file__).with_suffix(".json").read_bytes())
PLACES = ("robot", "body", "joint", "loop", "file")


def model(name: str, place: str, folder: Path) -> Path:
    data = json.loads(_fourbar())
    file = "model"
    ends = [joint["name"] for joint in data["joints"]]
    old = {
        "robot": data["name"],
        "body": next(body["name"] for body in data["bodies"] if body["name"] != data["ground"]),
        "joint": ends[0],
        "loop": ends[-1],
        "file": None,
    }[place]
    if place == "file":
        shown = name.encode("utf-8", "ignore").decode().replace("\0", "").replace("/", "∕")
        file = shown[:60] + "x"
    return _written(_renamed(data, old, name), folder / f"{file}.json")


def _written(data: Any, path: Path) -> Path:
    path.write_text(json.dumps(data), encoding="utf-8")
    return path


def _renamed(data: Any, old: str | None, new: str) -> Any:
    if isinstance(data, dict):
        return {key: _renamed(value, old, new) for key, value in data.items()}
    if isinstance(data, list):
        return [_renamed(value, old, new) for value in data]
    return new if data == old and old is not None else data


@cache
def _fourbar() -> str:
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "m.json"
        rg.save(rg.load(ROOT / "assets" / "metamodel" / "swinging_fourbar.urdf"), path)
        data = json.loads(path.read_text("utf-8"))
        data["joints"][0]["limits"] = [[-0.2, 0.2]]  # maps of a whole turn take their time
        return json.dumps(data)


def terminal(text: str) -> None:
    wrong = {c for c in text if not c.isprintable() and c != "\n"}
    assert not wrong, f"characters {wrong} are shown"


def c(text: str) -> str:
    """A preprocessor that knows trigraphs: the code without its comments."""
    command = ["gcc", "-std=c99", "-E", "-P", "-x", "c", "-"]
    found = subprocess.run(command, input=text, capture_output=True, text=True, check=True)
    return found.stdout


def symbols(text: str) -> str:
    """What an object has: its symbols, and sections, such as constructors'."""
    with tempfile.TemporaryDirectory() as folder:
        flags = ["-std=c99", "-O0", "-x", "c", "-", "-o", f"{folder}/o.o", "-c"]
        subprocess.run(["gcc", *flags], input=text, capture_output=True, text=True, check=True)
        seen = [
            subprocess.run([*command, f"{folder}/o.o"], capture_output=True, text=True, check=True)
            for command in (["nm", "-a"], ["size", "-A"])
        ]
        return "\n".join(each.stdout.replace(folder, "") for each in seen)


def python(text: str) -> str:
    """Python's parser: everything but docstrings."""
    tree = ast.parse(text)
    for node in ast.walk(tree):
        documented = isinstance(node, ast.FunctionDef | ast.Module)
        if documented and ast.get_docstring(node) is not None:
            del node.body[0]
    assert "pwned" not in ast.dump(tree)
    return ast.dump(tree)


def script(text: str) -> str:
    """Python's parser, of a script that holds names: everything but what stands in quotes."""
    tree = ast.parse(text)
    for node in ast.walk(tree):
        if isinstance(node, ast.Constant) and isinstance(node.value, str):
            node.value = ""
    return ast.dump(tree)


def numbers(program: Program) -> None:
    """A tape, of which functions for JAX, CasADi and SymPy are made: no text of the model."""
    assert b"pwned" not in pickle.dumps(program)


def markdown(text: str) -> list[str]:
    """What an editor shows: tables and bold words, no element, link or picture."""
    every = MarkdownIt("commonmark").enable("table").parse(text)
    every += [child for token in every for child in token.children or ()]
    kinds = [token.type for token in every if token.type != "text"]
    assert not [k for k in kinds if k.startswith(("html", "link", "image", "fence", "code"))], kinds
    terminal(text)
    return kinds


def browser(text: str) -> list[Any]:
    """A browser: the elements that run or load something, and how many others there are."""
    tree = lxml.html.document_fromstring(text)
    every = [element for element in tree.iter() if isinstance(element.tag, str)]
    names = {name for element in every for name in element.attrib}
    assert not [name for name in names if name.startswith("on")], names
    # Commands are not offered for names that no shell can be told as they are shown.
    return sorted(Counter(e.tag for e in every if e.tag not in ("code", "pre")).items())


def xml(text: str) -> list[Any]:
    parser = lxml.etree.XMLParser(resolve_entities=False, no_network=True)
    tree = lxml.etree.fromstring(text.encode(), parser)
    comments = [each for each in tree.iter() if not isinstance(each.tag, str)]
    every = Counter(each.tag for each in tree.iter() if isinstance(each.tag, str))
    return [len(comments), sorted(every.items())]


def drawing(text: str) -> None:
    """A browser that shows SVG: no element runs or loads anything."""
    tree = lxml.etree.fromstring(text.encode())
    names = [name for each in tree.iter() for name in each.attrib]
    links = [each.get("{http://www.w3.org/1999/xlink}href", "#") for each in tree.iter()]
    assert not [name for name in names if name.startswith("on")]
    assert all(link.startswith("#") for link in links), links
    tags = {lxml.etree.QName(each).localname for each in tree.iter() if isinstance(each.tag, str)}
    assert not tags & {"a", "animate", "foreignObject", "image", "script", "set"}, tags


def usd(text: str) -> list[Any]:
    """The parser of USD: paths of one depth, and no other layer."""
    from pxr import Sdf

    layer = Sdf.Layer.CreateAnonymous(".usda")
    assert layer.ImportFromString(text)
    assert not layer.GetExternalReferences(), layer.GetExternalReferences()
    depths: list[int] = []
    layer.Traverse("/", lambda path: depths.append(path.pathElementCount))
    return sorted(depths)


def jsons(text: str) -> None:
    json.loads(text)
    terminal(text)


def commands(text: str) -> list[str]:
    """Workflow commands of GitHub: what is commanded, line by line."""
    terminal(text)
    found = [re.fullmatch(r"::(\w+) ([^:]*)::(.*)", line) for line in text.splitlines()]
    assert all(found), text
    keys = [re.findall(r"(?:^|,)(\w+)=", each[2]) for each in found if each]
    return [f"{each[1]} {key}" for each, key in zip(found, keys, strict=True) if each]


def said(*arguments: str | Path) -> tuple[int, str]:
    out = io.StringIO()
    with contextlib.redirect_stdout(out), contextlib.redirect_stderr(out):
        try:
            status = main([str(argument) for argument in arguments])
        except SystemExit as refused:  # what is no option
            status = int(refused.code or 0)
    assert status in (0, 1, 2), status
    assert "nternal error" not in out.getvalue(), out.getvalue()
    return status, out.getvalue()


Output = tuple[str, Callable[[Any], Any], Any]


def written(*files: tuple[str, Callable[[Any], Any], Path]) -> Iterator[Output]:
    """Those outputs that are files, if a command has written them."""
    for what, reader, file in files:
        if file.exists():
            yield what, reader, file.read_text("utf-8")


def outputs(path: Path, name: str, folder: Path) -> Iterator[Output]:
    """All that is written of a model: what it is, its reader, the text."""
    quick = ("--configurations", "1")
    for form, reader in (
        ("text", terminal),
        ("json", jsons),
        ("jsonl", jsons),
        ("sarif", jsons),
        ("github", commands),
        ("concise", terminal),
        ("html", browser),
    ):
        yield form, reader, said("check", path, "--output", form, *quick)[1]
    yield "text -v", terminal, said("check", path, "-v", *quick)[1]
    yield "table", terminal, said("check", path, path, *quick)[1]
    proof = folder / "proof.json"
    yield "check --proof", terminal, said("check", path, "--proof", proof, *quick)[1]
    if proof.exists():
        yield "proof", jsons, proof.read_text("utf-8")
        status, text = said("verify", proof, "--model", path)
        assert status == 0, text
        yield "verify", terminal, text
        document = json.loads(proof.read_text("utf-8"))
        yield "claims", terminal, "\n".join(rg.verify(document).claims)
    for ending, to, reader in (
        ("urdf", "urdf", xml),
        ("sdf", "sdf", xml),
        ("xml", "mjcf", xml),
        ("usda", "usd", usd),
        ("json", "json", jsons),
        ("xml", "drake", xml),
    ):
        target = folder / to
        yield f"reduce to {to}", terminal, said("reduce", path, "--to", to, "-o", target)[1]
        for file in sorted(target.glob(f"*.{ending}")):
            yield f"{to} {file.suffix}", reader, file.read_text("utf-8")
    target = folder / "dynamics.c"
    yield "export", terminal, said("export", path, "--to", "c", "-o", target)[1]
    yield from written(("export c", c, target), ("export h", c, target.with_suffix(".h")))
    script_file = folder / "absolute.py"
    yield "export py", terminal, said("export", path, "--to", "exudyn", "-o", script_file)[1]
    yield from written(("exudyn", script, script_file))
    yield from _generated(path, folder)
    yield "unknown input", terminal, said("solve", path, f"--inputs={name}?")[1]
    driven = rg.load(path).joints[0].name
    sources = folder / "solution.py", folder / "solution.c"
    asked = (f"--inputs={driven}", "--python", sources[0], "--c", sources[1])
    yield "solve", terminal, said("solve", path, *asked)[1]
    yield from written(("solve .py", python, sources[0]), ("solve .c", c, sources[1]))
    yield "solve object", symbols, sources[1].read_text("utf-8")
    yield from _metamodel(name, folder)
    others = [joint.name for joint in rg.load(path).joints if joint.name != driven]
    mapped = rg.actuation_map(rg.load(path), motors=[driven], joints=others[-1:])
    yield "map c", c, mapped.to_c()
    yield "map py", python, mapped.to_python()
    yield "map", terminal, repr(mapped)
    yield from _twin(path, driven, others[-1], folder)
    yield from typed(path, folder)
    picture = folder / "picture.svg"
    yield "show", terminal, said("show", path, "-o", picture)[1]
    yield from written(("svg", drawing, picture))
    page = folder / "page.html"
    yield "show page", terminal, said("show", path, "-o", page)[1]
    yield from written(("page", browser, page))
    for each in (rg.check(path, configurations=1), rg.load(path)):
        yield f"{type(each).__name__} in a notebook", browser, each._repr_html_()


def _generated(path: Path, folder: Path) -> Iterator[Output]:
    """Straight-line code: C for several states side by side, Warp, and the tape of all others."""
    robot = rg.to_pinocchio(rg.load(path))
    source = robot.to_c(folder / "lanes.c", lanes=2)
    yield "lanes c", c, source.read_text("utf-8")
    yield "lanes h", c, source.with_suffix(".h").read_text("utf-8")
    program = robot.programs.dynamics
    yield "warp", python, warp_source(program, robot.nq, robot.nv, backward=False)
    yield "tape", numbers, program
    if importlib.util.find_spec("sympy"):
        lines, results = robot.to_sympy()
        yield "sympy", terminal, "\n".join(f"{a} = {b}" for a, b in [*lines, ("a", results)])


def _twin(path: Path, motor: str, joint: str, folder: Path) -> Iterator[Output]:
    try:
        twin = rg.serial_twin(rg.load(path), motors=[motor], joints=[joint])
    except rg.RegularizeError as error:
        yield "no twin", terminal, str(error)
        return
    yield "twin", terminal, repr(twin)
    for ending in ("urdf", "xml"):
        file = folder / f"twin.{ending}"
        try:
            rg.save(twin.mechanism, file)
        except rg.RegularizeError as error:
            yield f"no twin {ending}", terminal, str(error)
        else:
            yield f"twin {ending}", xml, file.read_text("utf-8")


def typed(path: Path, folder: Path) -> Iterator[Output]:
    """What an editor shows of the model as a URDF that is typed: findings, tables, the repair."""
    file = folder / "typed" / "typed.urdf"
    file.parent.mkdir()
    try:
        rg.save(rg.load(path), file, format="urdf+")
    except rg.RegularizeError as error:
        yield "not typed", terminal, str(error)
        return
    from regularize.guests.editor.analysed import Analysed, Mirror  # a guest

    mirror = Mirror(file)
    found = Analysed(file.read_text("utf-8"), "urdf", mirror)
    yield "problems", terminal, "\n".join(each.message for each in found.problems)
    yield "lens", terminal, found.lens
    yield "hover", markdown, found.hover(found.root)
    for joint in found.mechanism.joints:
        yield f"hover {joint.kind}", markdown, found.hover(found._line(joint.source))
    repair = found.fixed
    yield "repair", terminal, "" if repair is None else repair.title
    text = found.text
    for _, start, end, new in sorted(repair.edits if repair else (), key=lambda e: -e[1]):
        text = text[:start] + new + text[end:]
    yield "repaired", xml, text
    mirror.close()


def _metamodel(name: str, folder: Path) -> Iterator[Output]:
    path = folder / "metamodel.npz"
    path.write_bytes(_archive(name))
    model = rg.Metamodel.load(path)
    yield "metamodel c", c, model.to_c()
    yield "metamodel object", symbols, model.to_c()
    yield "metamodel", terminal, repr(model)


@cache
def _plain() -> rg.Metamodel:
    mechanism = rg.load(ROOT / "assets" / "metamodel" / "swinging_fourbar.urdf")
    reduced = rg.reduced_model(mechanism, ["A"])
    return rg.metamodel(reduced, [-0.1, 0.1], size=1.0, held_out=5)


def _archive(name: str) -> bytes:
    """A metamodel in a file by whose word an input has a name."""
    import numpy as np

    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "m.npz"
        _plain().save(path)
        with np.load(path) as archive:
            arrays = {key: archive[key] for key in archive.files}
    header = json.loads(str(arrays["header"]))
    arrays["header"] = np.array(json.dumps(header | {"inputs": [name]}))
    stream = io.BytesIO()
    np.savez(stream, **arrays)
    return stream.getvalue()


def judged(name: str, place: str) -> Iterator[tuple[str, str | None, Any]]:
    """Every output of a model with a name: what it is, what is wrong, what its reader found."""
    with tempfile.TemporaryDirectory() as temporary:
        folder = Path(temporary)
        path = model(name, place, folder)
        (folder / "out").mkdir()
        for output, reader, text in outputs(path, name, folder / "out"):
            try:
                yield output, None, reader(text)
            except Exception as error:
                yield output, f"{type(error).__name__}: {error}"[:300], None


@cache
def plain(place: str, name: str) -> dict[str, Any]:
    """What readers find where the name is a plain word, or two lines that no command can hold."""
    return {output: found for output, _, found in judged(name, place)}


def failures(name: str, place: str) -> tuple[int, list[str]]:
    count, wrong = 0, []
    for output, reason, found in judged(name, place):
        count += 1
        expected = plain(place, "plain").get(output)
        if reason is None and found != expected and output not in ("text", "github"):
            expected = plain(place, "pl\nain").get(output)
        if reason is None and found != expected and output not in ("text", "github"):
            reason = f"other code than for a plain name: {found!r:.200} {expected!r:.200}"
        if reason is not None:
            wrong.append(f"{name!r:.60} as {place} in {output}: {reason}")
    return count, wrong


if __name__ == "__main__":
    wanted, count, wrong = int(sys.argv[1]), 0, []
    os.environ.setdefault("MPLBACKEND", "agg")
    for name, place in itertools.product(NAMES, PLACES):
        if count >= wanted:
            break
        more, found = failures(name, place)
        count, wrong = count + more, wrong + found
        sys.stdout.write("".join(f"{line}\n" for line in found))
        sys.stdout.flush()
    sys.stdout.write(f"{count} cases, {len(wrong)} failures\n")
    sys.exit(bool(wrong))
