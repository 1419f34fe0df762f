"""How many digits the numbers of a text are written with."""

from __future__ import annotations

import re
from collections import Counter

# Numbers with a fraction, without sign and exponent, and not inside words.
_NUMBER = re.compile(rb"(?<![\w.])\d*\.\d+(?![\w.]*[A-DF-Za-df-z_])")


def significant_digits(data: bytes) -> int | None:
    """Significant digits of the numbers in a text, where they are rounded; else None.

    Numbers of few digits were chosen, not rounded; and those of twelve or more are as exact as the
    arithmetic, nearly. A number or two that is longer than the others is no rule.

    Args:
        data: The bytes of the file.
    """
    counts = Counter(
        len(number.replace(b".", b"").lstrip(b"0")) for number in _NUMBER.findall(data)
    )
    longest = max((digits for digits, count in counts.items() if count > 2), default=0)
    return longest if 6 <= longest < 12 and max(counts) < 12 else None
