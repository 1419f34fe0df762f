"""Programs as kernels of NVIDIA Warp, one thread a state, on processors and graphics cards."""

from __future__ import annotations

import importlib.util
from collections.abc import Callable
from typing import Any

from regularize.tape.graph import StraightLine
from regularize.tape.libraries import kept
from regularize.tape.printers import statements

_FUNCTIONS = {
    "sin": "wp.sin",
    "cos": "wp.cos",
    "sqrt": "wp.sqrt",
    "absolute": "wp.abs",
    "minimum": "wp.min",
    "maximum": "wp.max",
    "atan2": "wp.atan2",
}
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


def warp_source(program: StraightLine, nq: int, nv: int, *, backward: bool) -> str:
    """Source of a kernel of the acceleration."""

    def place(i: int) -> str:
        if i < nq:
            return f"q[n, {i}]"
        i -= nq
        return f"v[n, {i}]" if i < nv else f"tau[n, {i - nv}]"

    def constant(value: float) -> str:
        return f"wp.float64({value!r})"

    lines, found = statements(program, place, constant, _FUNCTIONS, "    x{} = {}")
    lines += [f"    a[n, {k}] = {x}" for k, x in enumerate(found)]
    return _HEAD.format(backward=backward) + "\n".join(lines) + "\n"


def to_warp(program: StraightLine, nq: int, nv: int, *, backward: bool) -> Callable[..., Any]:
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
