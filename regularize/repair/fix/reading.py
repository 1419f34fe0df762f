"""How a model is read again as it was: its file, and the options of the command line."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np

from regularize.adapters import adapter_named, read
from regularize.errors import RegularizeError
from regularize.escape import displayed
from regularize.mechanism.mechanism import Mechanism


def read_again(mechanism: Mechanism) -> tuple[Mechanism, list[str]] | None:
    """Read a mechanism anew, with the words of a command line that does; None without any."""
    if mechanism.path is None or adapter_named(mechanism.format) is None:
        return None
    for words, options in _ways(mechanism):
        try:
            again = read(mechanism.path, **options)
        except RegularizeError:  # the file is another one by now
            continue
        if _same(again, mechanism):
            return again, [displayed(mechanism.path), *words]
    return None


def reading_words(mechanism: Mechanism) -> list[str]:
    """Return the file of a mechanism, and the options with which it was read."""
    plain = [displayed(mechanism.path or "MODEL")]
    if mechanism.format not in ("urdf", "xacro"):
        return plain
    found = read_again(mechanism)
    return plain if found is None else found[1]


def _ways(mechanism: Mechanism) -> Iterator[tuple[list[str], dict[str, Any]]]:
    """Yield options of the command line, and of the reader, that may read a mechanism as it was."""
    yield [], {}
    if mechanism.format in ("urdf", "xacro"):
        yield ["--floating"], {"floating": True}
        for file in mechanism.files[:1]:
            yield ["--loops", displayed(file)], {"loops": file}
            yield ["--loops", displayed(file), "--floating"], {"loops": file, "floating": True}


def _same(one: Mechanism, other: Mechanism) -> bool:
    """Say whether two mechanisms have the same joints at the same places."""

    def key(mechanism: Mechanism) -> list[object]:
        return [(j.name, j.kind, j.parent, j.child) for j in mechanism.joints]

    return key(one) == key(other) and all(
        np.array_equal(a.T_parent_joint, b.T_parent_joint)
        and np.array_equal(a.T_child_joint, b.T_child_joint)
        and np.array_equal(a.position, b.position)
        for a, b in zip(one.joints, other.joints, strict=True)
    )
