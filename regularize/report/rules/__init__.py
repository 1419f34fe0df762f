"""The diagnostic codes: one Markdown file a code says what it means, why it matters and what helps.

Codes are stable and never used twice: REG0xx reading, 1xx loops, 2xx redundancy, 3xx export. Behind
the heading of a file come ``_SECTIONS``, then ``Bad`` and ``Good`` with a block for each dialect.
"""

from __future__ import annotations

import ast
import inspect
import re
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import cast

from regularize.mechanism.diagnostic import Severity

#: Titles of the sections, by the field of ``Rule`` that holds them.
_SECTIONS = {
    "what": "What it is",
    "why": "Why it matters",
    "example": "Example",
    "fix": "What to do",
    "reference": "Reference",
    "theorem": "The theorem",
}
#: What is said above a piece of a model.
TITLES = {
    "urdf": "URDF",
    "sdf": "SDF",
    "mjcf": "MJCF",
    "usd": "USD",
    "cad": "the CAD assembly",
    "json": "JSON",
    "shell": "the terminal",
    "python": "Python",
}
#: The dialect in which pieces of models for a format are written.
DIALECT_OF = {
    **{dialect: dialect for dialect in TITLES},
    **dict.fromkeys(("urdf+", "xacro"), "urdf"),
    **dict.fromkeys(("freecad", "asmt", "mbdyn", "onshape", "simscape"), "cad"),
}


@dataclass(frozen=True)
class Rule:
    """A kind of finding: its code, name, severity and explanation."""

    code: str
    name: str
    severity: Severity
    what: str
    why: str
    example: str
    fix: str
    bad: Mapping[str, str]
    good: Mapping[str, str]
    reference: str = ""
    theorem: str = ""

    @property
    def sections(self) -> dict[str, str]:
        """Return the texts under their titles, in the order in which they are read."""
        found = {title: str(getattr(self, field)) for field, title in _SECTIONS.items()}
        if self.theorem:
            found["The theorem"] = theorem(*self.theorem.split("; "))
        return {title: text for title, text in found.items() if text}


def theorem(*names: str) -> str:
    """Return paragraphs of the proof checker's own text, by their headings."""
    from regularize.proofs import verifier  # few rules need its text

    found = []
    text = ast.get_docstring(ast.parse(inspect.getsource(verifier))) or ""  # -OO drops ``__doc__``
    for paragraph in text.split("\n**"):
        heading, _, text = paragraph.partition(".**")
        if text and (not names or heading in names):
            items = f"{heading}. {text.strip()}".split("\n- ")
            found += [" ".join(item.replace("*", "").split()) for item in items]
    return "\n".join(found)


def in_dialect(pieces: Mapping[str, str], dialect: str) -> tuple[str, str]:
    """Return an example in a dialect, or in the first that has one, and that dialect."""
    used = dialect if dialect in pieces else next(iter(pieces))
    return pieces[used], used


@cache
def codes() -> tuple[str, ...]:
    """Return all codes in order."""
    return tuple(sorted(path.stem for path in Path(__file__).parent.glob("REG*.md")))


def all_rules() -> tuple[Rule, ...]:
    """Return all rules in the order of their codes."""
    return tuple(map(_read, codes()))


def rule(code: str) -> Rule | None:
    """Return the rule of a code or name, or None."""
    if code.upper() in codes():
        return _read(code.upper())
    return next((each for each in all_rules() if each.name == code.lower()), None)


@cache
def _read(code: str) -> Rule:
    """Read the file of a code."""
    text = (Path(__file__).parent / f"{code}.md").read_text(encoding="utf-8")
    head, *parts = re.split(r"^## (.+)\n", text, flags=re.M)
    found = dict(zip(parts[::2], parts[1::2], strict=True))
    _, _, name, severity = head.split()
    return Rule(
        code,
        name,
        cast("Severity", severity.strip("()")),
        bad=_blocks(found["Bad"]),
        good=_blocks(found["Good"]),
        **{field: " ".join(found.get(title, "").split()) for field, title in _SECTIONS.items()},
    )


def _blocks(text: str) -> dict[str, str]:
    """Return the code blocks of a Markdown text by language."""
    return dict(re.findall(r"^```(\w+)\n(.*?)\n```$", text, re.M | re.S))
