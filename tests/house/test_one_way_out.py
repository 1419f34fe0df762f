"""Files are written through one door, which leaves the old or the new: nothing else opens any."""

import ast
from collections.abc import Iterator

import pytest
from test_layout import modules

#: Calls that write to a path, and what they are called on where the name alone says too little.
WRITE = {"write_text", "write_bytes", "savetxt", "tofile", "copyfile", "copytree", "symlink_to"}
NUMPY = {"save", "savez", "savez_compressed"}
#: Into folders that nobody else sees: libraries that take no stream, links of a mirror, a cache.
OWN = {
    ("regularize.adapters.usd.patch", "layer.Export"),
    ("regularize.adapters.usd.read", "self._stage.Flatten().Export"),
    ("regularize.guests.editor.analysed", "(target / entry).symlink_to"),
}


def writes(tree: ast.AST) -> Iterator[str]:
    """What is called where files are opened for writing, streams in memory apart."""
    for node in ast.walk(tree):
        if not isinstance(node, ast.Call):
            continue
        called, whole = ast.unparse(node.func), ast.unparse(node)
        on, _, name = called.rpartition(".")
        path = not node.args or ast.unparse(node.args[0]) not in ("stream", "data")
        words = [*node.args[:2], *(word.value for word in node.keywords if word.arg == "mode")]
        modes = [word.value for word in words if isinstance(word, ast.Constant)]
        opens = any(set(str(mode)) & {*"wax+"} for mode in modes[-1:]) or "os.O_" in whole
        opens = opens and name in ("open", "fdopen") and "devnull" not in whole
        streams = (name in NUMPY and on in ("np", "numpy")) or name in ("savefig", "Export")
        if (opens and "os.dup(" not in whole) or (on and name in WRITE) or (streams and path):
            yield called


def test_files_are_written_through_one_door() -> None:
    found = {
        (module, called)
        for module, path in modules().items()
        if module != "regularize.output_files"
        for called in writes(ast.parse(path.read_text()))
    }
    assert found == OWN


@pytest.mark.parametrize(
    "line", ["open(p, 'w')", "p.open(mode='ab')", "p.write_text(t)", "np.save(p, a)"]
)
def test_every_other_way_is_seen(line: str) -> None:
    assert [*writes(ast.parse(line))]
