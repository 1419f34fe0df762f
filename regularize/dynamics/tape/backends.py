"""Programs compiled by others: as functions of JAX, and as kernels of NVIDIA Warp.

Compilers of JAX take minutes for thousands of scalar operations: the program is a table that one
loop goes through, strip by strip, each of which makes as many numbers. Warp has one thread a state,
on processors and graphics cards.
"""

from __future__ import annotations

import importlib.util
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from regularize.dynamics.tape.kept import place_of, write_at_once
from regularize.dynamics.tape.languages import WARP, array_functions
from regularize.dynamics.tape.program import ARITHMETIC, Number, Program

Places = NDArray[np.int32]
#: Kind of numbers, where the first one goes, places of their arguments, and signs: (2, WIDTH).
Strip = tuple[str, int, Places, NDArray[np.float64]]
#: How many numbers are computed at once.
WIDTH = 16


def _kind(x: Number) -> str:
    """Return the kind of numbers computed at once: sums and differences by signs are one."""
    return "sum" if x.operation in ("add", "subtract", "negative") else x.operation


def _operands(x: Number, place: dict[int, int], zero: int) -> tuple[list[int], list[float]]:
    """Return places of two arguments of a number, and the signs of these in sums."""
    places = [place[i] for i in x.arguments]
    if x.operation == "negative":
        return [*places, zero], [-1.0, 1.0]
    return [places[0], places[-1]], [1.0, -1.0 if x.operation == "subtract" else 1.0]


def _strips(program: Program) -> tuple[NDArray[np.float64], list[Strip], Places]:
    """Return constants, strips of numbers that need no other, and places of the results."""
    lines = {x.index: x for x in program.lines}
    place = {x.index: i for i, x in enumerate(program.variables)}
    zero, constants = len(place), [0.0]
    for k, x in lines.items():
        if x.constant is not None:
            place[k] = zero + len(constants)
            constants.append(x.constant)
    waits = {k: {i for i in x.arguments if i not in place} for k, x in lines.items()}
    users: dict[int, list[int]] = {}
    ready: dict[str, list[int]] = {}
    for k, arguments in waits.items():
        for i in arguments:
            users.setdefault(i, []).append(k)
        if not arguments and k not in place:
            ready.setdefault(_kind(lines[k]), []).append(k)
    strips, end = list[Strip](), zero + len(constants)
    while ready:
        kind = max(ready, key=lambda name: (len(ready[name]), name))
        chosen = ready.pop(kind)
        for begin in range(0, len(chosen), WIDTH):
            strip = chosen[begin : begin + WIDTH]
            # Short strips repeat their last number, whose value and derivatives there are; the
            # next strip overwrites that.
            padded = [*strip, *[strip[-1]] * (WIDTH - len(strip))]
            places, signs = zip(*(_operands(lines[k], place, zero) for k in padded), strict=True)
            strips.append((kind, end, np.array(places, dtype=np.int32).T, np.array(signs).T))
            place |= {k: end + n for n, k in enumerate(strip)}
            end += len(strip)
        for k in chosen:
            for user in users.get(k, ()):
                waits[user].discard(k)
                if not waits[user]:
                    ready.setdefault(_kind(lines[user]), []).append(user)
    return np.array(constants), strips, np.array([place[x.index] for x in program.results])


def to_jax(program: Program, parts: Sequence[int]) -> Callable[..., Any]:
    """Return a pure function of arrays of so many variables each, one behind the other."""
    import jax.numpy as jnp  # an extra
    from jax import lax

    def applied(name: str) -> Callable[..., Any]:
        if name == "sum":
            return lambda x, signs: signs[0] * x[0] + signs[1] * x[1]
        function = functions[name]
        if name in ("sin", "cos", "root", "absolute"):
            return lambda x, signs: function(x[0])
        return lambda x, signs: function(x[0], x[1])

    functions = {**ARITHMETIC, **array_functions(jnp)}
    constants, strips, results = _strips(program)
    kinds = sorted({kind for kind, *_ in strips})
    operations, behind = [applied(name) for name in kinds], len(program.variables) + len(constants)
    end = max((begin for _, begin, *_ in strips), default=behind) + WIDTH
    table = [(kinds.index(kind), *rest) for kind, *rest in strips]

    def function(*arrays: Any) -> Any:
        for array, length in zip(arrays, parts, strict=True):
            if jnp.shape(array) != (length,):
                raise TypeError(
                    f"arrays have shapes {[(n,) for n in parts]}; got {jnp.shape(array)}: use vmap"
                )
        given = jnp.concatenate([jnp.asarray(x) for x in arrays])
        dtype = jnp.result_type(given, jnp.float32)
        known = jnp.concatenate([given.astype(dtype), jnp.asarray(constants, dtype)])

        def compute(values: Any, strip: Any) -> tuple[Any, None]:
            kind, begin, places, signs = strip
            made = lax.switch(kind, operations, values[places], signs.astype(dtype))
            return lax.dynamic_update_slice(values, made, (begin,)), None

        begun = jnp.zeros(end, dtype).at[:behind].set(known)
        columns = tuple(jnp.asarray(np.array(x)) for x in zip(*table, strict=True))
        return lax.scan(compute, begun, columns)[0][results]

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
    """Return the source of a Warp kernel of the acceleration."""
    places = [
        f"{name}[n, {k}]" for name, n in (("q", nq), ("v", nv), ("tau", nv)) for k in range(n)
    ]
    given = zip(program.variables, places, strict=True)
    lines = [f"{WARP.name(x)} = {place}" for x, place in given]
    lines += WARP.assignments(program.lines)
    lines += [f"a[n, {k}] = {WARP.name(x)}" for k, x in enumerate(program.results)]
    return _HEAD.format(backward=backward) + "".join(f"    {line}\n" for line in lines)


def to_warp(program: Program, nq: int, nv: int, *, backward: bool) -> Callable[..., Any]:
    """Return a function of Warp arrays (N, nq), (N, nv), (N, nv) to (N, nv), on their device."""
    import warp as wp  # an extra

    source = warp_source(program, nq, nv, backward=backward)
    path = place_of(source, ".py")
    if not path.exists():
        write_at_once(path, source.encode())
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
