"""`regularize explain`: what a diagnostic code means and what to do about it."""

from __future__ import annotations

import argparse
import sys

from regularize.commands.options import listed_in_columns, option, width, wrapped
from regularize.errors import ReadError, RegularizeError
from regularize.escape import did_you_mean
from regularize.report import rules


def add(parser: argparse.ArgumentParser) -> None:
    """Add the options of the verb."""
    option(parser, "code", "for example REG201, or its name; without it all are listed", nargs="?")
    option(parser, "model MODEL", "your model: examples are in its format", nargs="?")
    words = "format of the examples, or a model (urdf)"
    option(parser, "--in FORMAT", words, dest="dialect")


def run(arguments: argparse.Namespace) -> int:
    """Print the explanation of one code, or the list of all."""
    if arguments.code is None:
        entries = [(f"{r.code}  {r.severity:<8}", r.name) for r in rules.all_rules()]
        sys.stdout.writelines(f"{line}\n" for line in listed_in_columns(entries, gap=1))
        return 0
    found = rules.rule(arguments.code)
    if found is None:
        known = [name for entry in rules.all_rules() for name in (entry.name, entry.code)]
        near = did_you_mean(arguments.code, known).partition(";")[0]
        sys.stderr.write(
            f"regularize: no code {arguments.code!r}{near}; `regularize explain` lists all codes\n"
        )
        return 2
    if arguments.dialect is not None and arguments.model is not None:
        raise RegularizeError(
            f"--in {arguments.dialect} and {arguments.model} both name the format of the examples; "
            "leave one out"
        )
    dialect = dialect_of(arguments.dialect or arguments.model or "urdf")
    sys.stdout.write(wrapped(f"{found.code} {found.name} ({found.severity})") + "\n")
    for title, text in found.sections.items():
        sys.stdout.write(f"\n{title}\n{wrapped(text, indent='  ')}\n")
        if title == "What to do":
            sys.stdout.writelines(_snippets(found, dialect))
    return 0


def _snippets(rule: rules.Rule, dialect: str) -> list[str]:
    """Return the bad and the good piece of a model."""
    lines = []
    for title, pieces in (("Bad", rule.bad), ("Good", rule.good)):
        text, used = rules.in_dialect(pieces, dialect)
        lines.append(f"\n{title}, in {rules.TITLES[used]}\n")
        lines += [f"  {line}\n" for each in text.split("\n") for line in folded(each, width() - 2)]
    return lines


def folded(line: str, most: int) -> list[str]:
    """Break a line of code into pieces that fit, the later ones indented."""
    indent = len(line) - len(line.lstrip()) + 4
    found = []
    while len(line) > most and (cut := line.rfind(" ", indent, most)) > 0:
        found.append(line[:cut])
        line = " " * indent + line[cut + 1 :]
    return [*found, line]


def dialect_of(name: str) -> str:
    """Return the dialect of a format's name, or of a model file."""
    if name.lower() in rules.DIALECT_OF:
        return rules.DIALECT_OF[name.lower()]
    from regularize.adapters.reading import by_content, detect, model_file

    found = detect(name)
    if found.sniff is not None and found not in by_content(model_file(name)):
        raise ReadError(name, f"does not begin as {found.title} does; name a model, or a format")
    return rules.DIALECT_OF.get(found.name, "urdf")
