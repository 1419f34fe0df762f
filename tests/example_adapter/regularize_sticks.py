"""An example adapter: planar linkages as a list of hinges, one ``name parent child x y`` a line.

The first line is ``sticks 1``. It shows all that an adapter of another distribution needs.
"""

from __future__ import annotations

from regularize.adapters import Adapter
from regularize.errors import ReadError
from regularize.mechanism.mechanism import Mechanism, joint_in_world, mechanism_of


def read(path: str) -> Mechanism:
    """Read a file of hinges about Z.

    Raises:
        ReadError: A line does not have five words, or a coordinate is not a number.
    """
    with open(path, encoding="utf-8") as file:
        lines = file.read().splitlines()
    joints = []
    for number, line in enumerate(lines[1:], start=2):
        words = line.split()
        try:
            name, parent, child, x, y = words
            point = (float(x), float(y), 0.0)
        except ValueError as error:
            raise ReadError(path, "expected: name parent child x y", line=number) from error
        joints.append(joint_in_world(name, parent, child, "revolute", point=point))
    if not joints:
        raise ReadError(path, "no hinges; write one per line", line=1)
    return mechanism_of("sticks", joints, path=path, format="sticks")


def is_sticks(head: bytes) -> bool:
    """Whether a file starts as one of this format does."""
    return head.startswith(b"sticks 1")


ADAPTER = Adapter(
    name="sticks",
    title="Planar linkages as a list of hinges",
    suffixes=(".sticks",),
    reader="regularize_sticks:read",
    sniff=is_sticks,
)

__all__ = ["ADAPTER", "read"]
