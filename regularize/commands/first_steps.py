"""What `regularize` says without arguments: what people do first."""

from __future__ import annotations

from collections.abc import Iterator

from regularize.commands.columns import listed_in_columns, wrapped

#: What people come for, and what they type.
STEPS = (
    ("look at a model: what is redundant, what moves", "regularize check MODEL"),
    ("see it move, as a page that needs no network", "regularize show MODEL -o model.html"),
    ("your own file made isostatic, nothing else changed", "regularize fix MODEL --diff"),
    ("the words behind a finding, in your file's dialect", "regularize explain REG201 MODEL"),
    ("let it move, without drift or tuning", "regularize simulate MODEL --duration 5s"),
    ("a platform's reach and singularities", "regularize workspace MODEL --pose BODY --over x,y"),
    ("another format, read back and compared", "regularize export MODEL --to mjcf -o model.xml"),
)


def first_steps(verbs: list[tuple[str, str]]) -> Iterator[str]:
    """Lines that fit the terminal: the first steps, then all verbs.

    Args:
        verbs: Each with what it does.
    """
    yield wrapped("regularize finds, explains and removes redundant constraints of loops.")
    yield ""
    yield wrapped("What people do first, with any MODEL (URDF, SDF, MJCF, USD, FreeCAD …):")
    yield ""
    for words, line in STEPS:
        yield f"  {line}"
        yield f"      {words}"
    yield ""
    yield "In Python:"
    yield "  import regularize as rg"
    yield "  print(rg.check('MODEL'))"
    yield ""
    yield "All verbs; `regularize VERB --help` has their options:"
    yield ""
    yield from listed_in_columns([(f"  {name}", words) for name, words in verbs])
