"""`regularize explain`, `formats` and `completion`: reference on the program itself."""

from __future__ import annotations

import argparse
import sys

from regularize.commands.options import listed_in_columns, option, width, wrapped
from regularize.errors import MissingExtra, ReadError, RegularizeError, install_words
from regularize.escape import did_you_mean
from regularize.report import rules


def add_explain(parser: argparse.ArgumentParser) -> None:
    """Add the options of `explain`."""
    option(parser, "code", "for example REG201, or its name; without it all are listed", nargs="?")
    option(parser, "model MODEL", "your model: examples are in its format", nargs="?")
    words = "format of the examples, or a model (urdf)"
    option(parser, "--in FORMAT", words, dest="dialect")


def run_explain(arguments: argparse.Namespace) -> int:
    """Print the explanation of one code, or the list of all."""
    every = rules.all_rules()
    if arguments.code is None:
        entries = [(f"{rule.code}  {rule.severity:<8}", rule.name) for rule in every]
        sys.stdout.writelines(f"{line}\n" for line in listed_in_columns(entries, gap=1))
        return 0
    found = rules.rule(arguments.code)
    if found is None:
        known = [name for rule in every for name in (rule.name, rule.code)]
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
        if title != "What to do":
            continue
        for label, pieces in (("Bad", found.bad), ("Good", found.good)):
            piece, used = rules.in_dialect(pieces, dialect)
            sys.stdout.write(f"\n{label}, in {rules.TITLES[used]}\n")
            for line in piece.split("\n"):
                sys.stdout.writelines(f"  {part}\n" for part in _folded(line, width() - 2))
    return 0


def _folded(line: str, most: int) -> list[str]:
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


def add_formats(parser: argparse.ArgumentParser) -> None:
    """Add nothing: `formats` has no options."""


def run_formats(arguments: argparse.Namespace) -> int:
    """Print each format in two lines: name and abilities, then its title."""
    from regularize.adapters import adapters
    from regularize.dynamics.step.compiled import which
    from regularize.dynamics.tape.jit import available

    formats = adapters().values()
    most = max(len(adapter.name) for adapter in formats) + 2
    for adapter in formats:
        verbs = [word for word, has in (("read", adapter.reader), ("write", adapter.writer)) if has]
        parts = [
            f"{' and '.join(verbs):<14}",
            " ".join(adapter.suffixes) or ("by content" if adapter.sniff is not None else ""),
        ]
        if adapter.extra:
            state = "installed" if adapter.installed else "not installed"
            parts.append(f"needs [{adapter.extra}], {state}")
        first = f"{adapter.name:<{most}}{'  '.join(part for part in parts if part)}".rstrip()
        for text in (first, adapter.title):
            sys.stdout.write(f"{wrapped(text, ' ' * most)}\n")
    sys.stdout.write(wrapped(f"\nneeds [NAME]: {install_words('NAME')}") + "\n")
    many = ", many states LLVM" if which() == "compiled" and available() else ""
    sys.stdout.write(f"dynamics: {which()}{many}\n")
    return 0


def add_completion(parser: argparse.ArgumentParser) -> None:
    """Add the options of `completion`."""
    parser.epilog = (
        "bash: regularize completion bash > ~/.local/share/bash-completion/completions/regularize; "
        "zsh: regularize completion zsh > FOLDER/_regularize, FOLDER in $fpath"
    )
    parser.add_argument("shell", choices=("bash", "zsh", "tcsh"))


def run_completion(arguments: argparse.Namespace) -> int:
    """Print the completion script of a shell."""
    try:
        import shtab
    except ImportError as error:
        raise MissingExtra("completion", "shtab", "completion") from error
    sys.stdout.write(shtab.complete(arguments.whole, arguments.shell) + "\n")
    return 0
