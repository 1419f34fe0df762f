"""Programs as functions of JAX: lines of one kind that can be computed at once are one operation.

Compilers of JAX take minutes for thousands of scalar operations: the program is a table that one
loop goes through, strip by strip, each of which makes as many numbers.

Programs as kernels of NVIDIA Warp, one thread a state, on processors and graphics cards.
"""

from __future__ import annotations

import importlib.util
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from regularize.dynamics.tape.languages import WARP, array_functions
from regularize.dynamics.tape.libraries import kept
from regularize.dynamics.tape.program import ARITHMETIC, Number, Program

Places = NDArray[np.int32]
#: How many lines are made at once.
WIDTH = 16


@dataclass(frozen=True, eq=False, repr=False)
class LineGroup:
    """Lines of one kind that do not need each other."""

    kind: str
    first: Places
    second: Places
    signs: NDArray[np.float64]

    def strips(self, kind: int) -> Iterator[tuple[Any, ...]]:
        """Of some lines at a time: a kind, how many there are, arguments and signs, all alike long."""
        second = self.second if len(self.second) else self.first
        for begin in range(0, len(self.first), WIDTH):
            length = min(WIDTH, len(self.first) - begin)
            at = begin + np.minimum(np.arange(WIDTH), length - 1)
            yield kind, length, self.first[at], second[at], self.signs[:, at]


@dataclass(frozen=True, eq=False, repr=False)
class GroupedLines:
    """A program in groups."""

    constants: NDArray[np.float64]
    groups: tuple[LineGroup, ...]
    outputs: Places

    @classmethod
    def of(cls, program: Program) -> GroupedLines:
        """Group a program: of the kinds of which some lines are ready, that with most of them."""
        lines = {x.index: x for x in program.lines}
        place = {x.index: i for i, x in enumerate(program.variables)}
        zero, values = len(place), [0.0]
        for k, x in lines.items():
            if x.constant is not None:
                place[k] = zero + len(values)
                values.append(x.constant)
        waits = {k: {i for i in x.arguments if i not in place} for k, x in lines.items()}
        users: dict[int, list[int]] = {}
        for k, needed in waits.items():
            for i in needed:
                users.setdefault(i, []).append(k)
        ready: dict[str, list[int]] = {}
        for k, needed in waits.items():
            if not needed and k not in place:
                ready.setdefault(_kind(lines[k]), []).append(k)
        groups, end = list[LineGroup](), zero + len(values)
        while ready:
            kind = max(ready, key=lambda name: (len(ready[name]), name))
            chosen = ready.pop(kind)
            pairs = [[place[i] for i in lines[k].arguments] for k in chosen]
            signs = np.ones((2, len(chosen)))
            for n, k in enumerate(chosen):
                place[k] = end + n
                if lines[k].operation == "subtract":
                    signs[1, n] = -1.0
                elif lines[k].operation == "negative":
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
                        ready.setdefault(_kind(lines[user]), []).append(user)
        outputs = np.array([place[x.index] for x in program.results], dtype=np.int32)
        return cls(np.array(values), tuple(groups), outputs)


def _kind(x: Number) -> str:
    """Return which lines are made at once: sums and differences by their signs are one kind."""
    return "sum" if x.operation in ("add", "subtract", "negative") else x.operation


def to_jax(program: Program, parts: Sequence[int]) -> Callable[..., Any]:
    """A pure function of arrays of so many inputs each, one behind the other."""
    import jax.numpy as jnp  # an extra
    from jax import lax

    def applied(name: str) -> Callable[..., Any]:
        if name == "sum":
            return lambda a, b, signs: signs[0] * a + signs[1] * b
        function = functions[name]
        if name in ("sin", "cos", "root", "absolute"):
            return lambda a, b, signs: function(a)
        return lambda a, b, signs: function(a, b)

    functions = {**ARITHMETIC, **array_functions(jnp)}
    grouped = GroupedLines.of(program)
    kinds = sorted({group.kind for group in grouped.groups})
    constants = grouped.constants
    behind = len(program.variables) + len(constants)
    strips = [strip for group in grouped.groups for strip in group.strips(kinds.index(group.kind))]
    lengths = np.array([length for _, length, *_ in strips], dtype=np.int32)
    begins = behind + np.cumsum([0, *lengths[:-1]], dtype=np.int32)
    numbers = [np.array(x) for x in zip(*((k, *rest) for k, _, *rest in strips), strict=True)]
    end = behind + int(lengths.sum()) + WIDTH

    def function(*arrays: Any) -> Any:
        for array, length in zip(arrays, parts, strict=True):
            if jnp.shape(array) != (length,):
                raise TypeError(
                    f"arrays have shapes {[(n,) for n in parts]}; got {jnp.shape(array)}: use vmap"
                )
        given = jnp.concatenate([jnp.asarray(x) for x in arrays])
        kind = jnp.result_type(given, jnp.float32)
        known = jnp.concatenate([given.astype(kind), jnp.asarray(constants, kind)])

        def compute(found: Any, strip: Any) -> tuple[Any, None]:
            begin, of, first, second, signs = strip
            made = lax.switch(of, ops, found[first], found[second], signs.astype(kind))
            return lax.dynamic_update_slice(found, made, (begin,)), None

        ops = [applied(name) for name in kinds]
        begun = jnp.zeros(end, kind).at[:behind].set(known)
        strips = tuple(jnp.asarray(x) for x in (begins, *numbers))
        return lax.scan(compute, begun, strips)[0][grouped.outputs]

    return function


_HEAD = """\
import warp as wp

wp.set_module_options({{"enable_backward": {backward}, "max_unroll": 1}})


@wp.kernel
def forward_dynamics(
    q: wp.array2d(dtype=wp.float64),
    v: wp.array2d(dtype=wp.float64),
    tau: wp.array2d(dtype=wp.float64),
    a: wp.array2d(dtype=wp.float64),
):
    n = wp.tid()
"""


def warp_source(program: Program, nq: int, nv: int, *, backward: bool) -> str:
    """Return the source of a kernel of the acceleration."""
    places = [
        f"{name}[n, {k}]" for name, n in (("q", nq), ("v", nv), ("tau", nv)) for k in range(n)
    ]
    given = zip(program.variables, places, strict=True)
    lines = [f"{WARP.name(x)} = {place}" for x, place in given]
    lines += WARP.assignments(program.lines)
    lines += [f"a[n, {k}] = {WARP.name(x)}" for k, x in enumerate(program.results)]
    return _HEAD.format(backward=backward) + "".join(f"    {line}\n" for line in lines)


def to_warp(program: Program, nq: int, nv: int, *, backward: bool) -> Callable[..., Any]:
    """A function of arrays (N, nq), (N, nv) and (N, nv) with values (N, nv), where these lie."""
    import warp as wp  # an extra

    path = kept(warp_source(program, nq, nv, backward=backward), ".py")
    spec = importlib.util.spec_from_file_location(f"regularize_generated_{path.stem}", path)
    assert spec is not None and spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    kernel = module.forward_dynamics

    def forward_dynamics(q: Any, v: Any, tau: Any) -> Any:
        follow = any(x.requires_grad for x in (q, v, tau))
        a = wp.empty((q.shape[0], nv), dtype=wp.float64, device=q.device, requires_grad=follow)
        wp.launch(kernel, dim=q.shape[0], inputs=[q, v, tau], outputs=[a], device=q.device)
        return a

    forward_dynamics.kernel = kernel  # type: ignore[attr-defined]
    return forward_dynamics
