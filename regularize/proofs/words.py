"""The words of the theorem that the checker states, by paragraph."""

from __future__ import annotations

from regularize.proofs import verifier


def theorem(*names: str) -> str:
    """Paragraphs of the checker's own text by their headings, in its order; all without names.

    Example:
        >>> theorem("Rigid").split(".")[0]
        'Rigid'
    """
    found = []
    for paragraph in (verifier.__doc__ or "").split("\n**"):
        heading, _, text = paragraph.partition(".**")
        if text and (not names or heading in names):
            items = f"{heading}. {text.strip()}".split("\n- ")
            found += [" ".join(item.replace("*", "").split()) for item in items]
    return "\n".join(found)
