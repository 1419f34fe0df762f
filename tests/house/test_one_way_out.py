"""Files are written through one door, which leaves the old or the new: nothing else opens any."""

import ast
from collections.abc import Iterator

import pytest
from test_layout import modules

WRITE = {"write_text", "write_bytes", "savetxt", "tofile", "copyfile", "copytree", "symlink_to"}
#: Into folders that nobody else sees: libraries that take no stream, links of a mirror.
OWN = {
    ("regularize.adapters.usd.patch", "layer.Export"),
    ("regularize.adapters.usd.read", "self._stage.Flatten().Export"),
    ("regularize.guests.editor.analysed", "(target / entry).symlink_to"),
}


def writes(tree: ast.AST) -> Iterator[str]:
    """What is called where files are opened for writing, streams in memory apart."""
    for node in (node for node in ast.walk(tree) if isinstance(node, ast.Call)):
        called, whole = ast.unparse(node.func), ast.unparse(node)
        on, _, name = called.rpartition(".")
        words = [*node.args[:2], *(word.value for word in node.keywords if word.arg == "mode")]
        modes = [str(word.value) for word in words if isinstance(word, ast.Constant)]
        opens = any({*mode} & {*"wax+"} for mode in modes[-1:]) or "os.O_" in whole
        opens = opens and name in ("open", "fdopen") and "os.dup(" not in whole
        streams = (on in ("np", "numpy") and name.startswith("save")) or name in (
            "savefig",
            "Export",
        )
        path = not node.args or ast.unparse(node.args[0]) not in ("stream", "data")
        if (opens and "devnull" not in whole) or (on and name in WRITE) or (streams and path):
            yield called


def test_files_are_written_through_one_door() -> None:
    trees = {module: ast.parse(path.read_text()) for module, path in modules().items()}
    found = {(module, called) for module, tree in trees.items() for called in writes(tree)}
    assert {pair for pair in found if pair[0] != "regularize.output_files"} == OWN


@pytest.mark.parametrize("line", ["open(p, 'w')", "p.open(mode='ab')", "p.write_text(t)"])
def test_every_other_way_is_seen(line: str) -> None:
    assert [*writes(ast.parse(line))]
