"""What a reader notices on its way, noted down on the model under construction."""

from __future__ import annotations

from regularize.model.diagnostic import Diagnostic, Severity, Source


class Notes:
    """Base of models under construction.

    Attributes:
        findings: What was noticed.
    """

    findings: list[Diagnostic]

    @property
    def whole(self) -> Source | None:
        """What findings are about that name no place of their own."""
        return None

    def note(
        self,
        code: str,
        severity: Severity,
        message: str,
        source: Source | None = None,
        *help: str,
        joints: tuple[str, ...] = (),
    ) -> None:
        """Add a finding."""
        where = source or self.whole
        self.findings.append(
            Diagnostic(code, severity, message, joints=joints, source=where, help=help)
        )
