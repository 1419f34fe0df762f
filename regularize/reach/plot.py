"""Pictures of a map: reach, clearance from each kind of singularity, and from joint limits."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from regularize.errors import MissingExtra, ModelError
from regularize.lie.screw import Array

_TITLES = {
    "inverse": "inverse: platform at rest",
    "forward": "forward: motors locked",
    "constraint": "constraint: a freedom gained",
    "limits": "joint limits",
}


def figure(
    axes: Sequence[tuple[str, str, Array]], measures: Mapping[str, Array], held: Mapping[str, float]
) -> Any:
    """A matplotlib figure of a map over one or two inputs.

    Args:
        axes: Name, unit and values of each input that is varied.
        measures: What is drawn, by name, arrays of the shape of the grid.
        held: Values of the other inputs.

    Raises:
        MissingExtra: matplotlib is not installed.
        ModelError: There are more than two axes.
    """
    try:
        from matplotlib.figure import Figure
    except ImportError as error:
        raise MissingExtra("drawing", "matplotlib", "viz") from error
    if len(axes) > 2:
        raise ModelError("a picture has one or two axes; hold the others, or save .npz or .csv")
    result = Figure(figsize=(4.6 * max(1, len(measures)), 4.4), layout="constrained")
    panels = result.subplots(1, max(1, len(measures)), squeeze=False)[0]
    for panel, (name, values) in zip(panels, measures.items(), strict=False):
        panel.set_title(_TITLES[name])
        panel.set_xlabel(f"{axes[0][0]} [{axes[0][1]}]")
        if len(axes) == 1:
            panel.plot(axes[0][2], values, linewidth=1.2)
            panel.axhline(0.0, color="black", linewidth=0.6)
            panel.grid(alpha=0.3)
            continue
        picture = _map(panel, axes[0][2], axes[1][2], values, measures.get("limits"))
        result.colorbar(picture, ax=panel, shrink=0.85)
        panel.set_ylabel(f"{axes[1][0]} [{axes[1][1]}]")
        if axes[0][1] == axes[1][1]:
            panel.set_aspect("equal")
    told = ", ".join(f"{name} = {value:.4g}" for name, value in held.items())
    result.suptitle(told and f"at {told}", fontsize="small")
    return result


def _map(panel: Any, x: Array, y: Array, values: Array, limits: Array | None) -> Any:
    """Colours of a measure over two inputs, grey where it is not known, limits as a red line."""
    panel.set_facecolor("0.85")
    finite = np.where(np.isfinite(values), values, np.nan)
    if limits is not None and np.any(limits < 0.0):
        finite_limits = np.ma.masked_invalid(limits)
        panel.contour(x, y, finite_limits.T, levels=[0.0], colors="crimson")
    return panel.pcolormesh(x, y, finite.T, shading="nearest", cmap="viridis", vmin=0.0)
