"""Findings about the user's model."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from typing import Any, Literal

from regularize.escape import FileText, displayed, displayed_name

Severity = Literal["error", "warning", "note"]
SEVERITIES: tuple[Severity, ...] = ("error", "warning", "note")


@dataclass(frozen=True)
class Source:
    """Where in the user's files something stands.

    Attributes:
        path: The file as the user named it.
        line: Line number, counted from 1, or None where the format has no lines.
        element: The element, as a path such as ``robot/joint[@name='j1']``.
    """

    path: str
    line: int | None = None
    element: FileText | None = None

    def __post_init__(self) -> None:
        """Escape the element, whoever tells it."""
        if self.element is not None:
            object.__setattr__(self, "element", FileText(self.element))

    def __str__(self) -> str:
        """``path:line``, the form that editors and terminals open."""
        path = displayed(self.path)
        return path if self.line is None else f"{path}:{self.line}"


@dataclass(frozen=True)
class Diagnostic:
    """One finding about the model, in the user's own names.

    Attributes:
        code: Stable code, ``REG0xx`` reading, ``1xx`` loops, ``2xx`` redundancy, ``3xx`` export.
        severity: ``error``, ``warning`` or ``note``.
        message: One sentence, starting in lower case, without a full stop.
        loop: Name of the loop concerned, if there is one.
        joints: Names of the joints concerned.
        source: Where in the files, if known.
        help: What to do, one entry per way out.
        unread: Whether a joint, closure or coupling is missing in what was read.
    """

    code: str
    severity: Severity
    message: str
    loop: str | None = None
    joints: tuple[str, ...] = ()
    source: Source | None = None
    help: tuple[str, ...] = ()
    unread: bool = False

    def __post_init__(self) -> None:
        """Escape words of files: what a finding says can be shown, whoever says it."""
        words = {"message": FileText(self.message), "loop": self.loop and displayed_name(self.loop)}
        lists = {
            "help": tuple(map(FileText, self.help)),
            "joints": tuple(map(displayed_name, self.joints)),
        }
        self.__dict__.update(words | lists)

    def as_dict(self) -> dict[str, Any]:
        """The entry of ``diagnostics`` in the JSON report."""
        return {
            "code": self.code,
            "severity": self.severity,
            "message": self.message,
            "loop": self.loop,
            "joints": list(self.joints),
            "location": None if self.source is None else asdict(self.source),
            "help": list(self.help),
        }
