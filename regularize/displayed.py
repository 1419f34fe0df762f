"""Words of strangers, made safe to show on one line of any terminal, log or page."""

from __future__ import annotations

import re

#: Characters that move a cursor, break a line, turn the direction of writing, or are none.
_UNSAFE = re.compile(
    "[\x00-\x1f\x7f-\x9f\u061c\u200b\u200e\u200f\u2028-\u202e\u2060-\u2069\ufeff\ufff9-\ufffb"
    "\ud800-\udfff]"
)
#: Longest name that is shown whole.
LONGEST_NAME = 200


def displayed(text: str) -> str:
    """The text with every unsafe character written as its escape, of a backslash and its code."""
    return _UNSAFE.sub(lambda found: _escape(ord(found[0])), text)


def displayed_name(name: str) -> str:
    """The name under which a body, joint or coupling is known: displayed, and not endless.

    It is a function of the name as written, so a name is found again by what the file says.
    Names beyond ``LONGEST_NAME`` characters keep their beginning and a digest of the whole.
    """
    text = displayed(name)
    if len(text) <= LONGEST_NAME:
        return text
    import hashlib

    digest = hashlib.sha256(text.encode()).hexdigest()[:8]
    return f"{text[: LONGEST_NAME - len(digest) - 1]}…{digest}"


def _escape(code: int) -> str:
    return f"\\x{code:02x}" if code < 0x100 else f"\\u{code:04x}"
