"""Names of slack joints, by which they are known again in whatever format they were written."""

from __future__ import annotations

import re

#: What a slack joint frees, by the half of the twist.
WORDS = ("translation", "rotation")


def slack_name(joint: str, axis: int) -> str:
    """Name of the slack joint beside a joint.

    Args:
        joint: Name of the joint.
        axis: Which component of the twist it frees, counted from 0.
    """
    return f"{joint}_slack_{WORDS[axis // 3]}_{'xyz'[axis % 3]}"


def is_slack(name: str) -> bool:
    """Whether a joint is a slack joint by its name."""
    return re.search(rf"_slack_({'|'.join(WORDS)})_[xyz](_\d+)?$", name) is not None
