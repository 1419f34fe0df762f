"""Programs as functions of JAX: lines of one kind that can be computed at once are one operation.

Compilers of JAX take longer for thousands of scalar operations than for some hundred of vectors.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from regularize.tape.graph import StraightLine

Places = NDArray[np.int32]
#: Which lines are made at once: sums and differences by their signs are one kind.
_KINDS = {"add": "sum", "subtract": "sum", "negative": "sum"}


@dataclass(frozen=True, eq=False, repr=False)
class LineGroup:
    """Lines of one kind that do not need each other.

    Attributes:
        kind: ``sum`` or the name of an operation.
        first: Places of their first arguments.
        second: Places of their second arguments; none of functions of one argument.
        signs: What the arguments of sums are multiplied by, shape (2, n).
    """

    kind: str
    first: Places
    second: Places
    signs: NDArray[np.float64]


@dataclass(frozen=True, eq=False, repr=False)
class GroupedLines:
    """A program in groups.

    Attributes:
        constants: What stands behind the inputs: the constants, the first of which is zero.
        groups: The groups, in order.
        outputs: Places of the results.
    """

    constants: NDArray[np.float64]
    groups: tuple[LineGroup, ...]
    outputs: Places

    @classmethod
    def of(cls, program: StraightLine) -> GroupedLines:
        """Group a program: of the kinds of which some lines are ready, that with most of them."""
        lines, place = program.lines, dict[int, int]()
        values = [0.0]
        for k, line in enumerate(lines):
            if line.name == "input":
                place[k] = int(line.data)
            elif line.name == "constant":
                place[k] = program.inputs + len(values)
                values.append(line.data)
        waits = {k: {i for i in line.arguments if i not in place} for k, line in enumerate(lines)}
        users: dict[int, list[int]] = {}
        for k, needed in waits.items():
            for i in needed:
                users.setdefault(i, []).append(k)
        ready: dict[str, list[int]] = {}
        for k, needed in waits.items():
            if not needed and k not in place:
                ready.setdefault(_KINDS.get(lines[k].name, lines[k].name), []).append(k)
        zero, groups, end = program.inputs, list[LineGroup](), program.inputs + len(values)
        while ready:
            kind = max(ready, key=lambda name: (len(ready[name]), name))
            chosen = ready.pop(kind)
            pairs = [[place[i] for i in lines[k].arguments] for k in chosen]
            signs = np.ones((2, len(chosen)))
            for n, k in enumerate(chosen):
                place[k] = end + n
                if lines[k].name == "subtract":
                    signs[1, n] = -1.0
                elif lines[k].name == "negative":
                    signs[0, n] = -1.0
                    pairs[n].append(zero)
            end += len(chosen)
            both = np.array(pairs, dtype=np.int32).reshape(len(chosen), -1)
            second = both[:, 1] if both.shape[1] > 1 else both[:, :0].ravel()
            groups.append(LineGroup(kind, both[:, 0], second, signs))
            for k in chosen:
                for user in users.get(k, ()):
                    waits[user].discard(k)
                    if not waits[user]:
                        name = _KINDS.get(lines[user].name, lines[user].name)
                        ready.setdefault(name, []).append(user)
        outputs = np.array([place[k] for k in program.outputs], dtype=np.int32)
        return cls(np.array(values), tuple(groups), outputs)


def to_jax(program: StraightLine, parts: Sequence[int]) -> Callable[..., Any]:
    """A pure function of arrays of so many inputs each, one behind the other."""
    import jax.numpy as jnp  # an extra

    grouped = GroupedLines.of(program)
    functions = {
        "sin": jnp.sin, "cos": jnp.cos, "sqrt": jnp.sqrt, "absolute": jnp.abs,
        "minimum": jnp.minimum, "maximum": jnp.maximum, "atan2": jnp.arctan2,
        "multiply": jnp.multiply, "divide": jnp.divide,
    }  # fmt: skip
    lengths = [program.inputs, len(grouped.constants), *(len(g.first) for g in grouped.groups)]
    begins = np.cumsum([0, *lengths])

    def taken(found: Sequence[Any], places: Places) -> Any:
        """Numbers at some places of all that is found, from the vectors that have them."""
        owners = np.searchsorted(begins, places, side="right") - 1
        used = np.unique(owners)
        at = np.cumsum([0, *(lengths[k] for k in used)])[np.searchsorted(used, owners)]
        several = [found[k] for k in used]
        joined = several[0] if len(several) == 1 else jnp.concatenate(several)
        return joined[at + places - begins[owners]]

    def function(*arrays: Any) -> Any:
        for array, length in zip(arrays, parts, strict=True):
            if jnp.shape(array) != (length,):
                raise TypeError(
                    f"arrays have shapes {[(n,) for n in parts]}; got {jnp.shape(array)}: use vmap"
                )
        given = jnp.concatenate([jnp.asarray(x) for x in arrays])
        kind = jnp.result_type(given, jnp.float32)
        found = [given.astype(kind), jnp.asarray(grouped.constants, kind)]
        for group in grouped.groups:
            a = taken(found, group.first)
            if group.kind == "sum":
                first, second = (jnp.asarray(x, kind) for x in group.signs)
                found.append(first * a + second * taken(found, group.second))
            elif len(group.second):
                found.append(functions[group.kind](a, taken(found, group.second)))
            else:
                found.append(functions[group.kind](a))
        return taken(found, grouped.outputs)

    return function
