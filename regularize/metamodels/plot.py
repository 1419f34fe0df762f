"""Pictures of a metamodel beside the reduced model, as figures 3 and 5 of Brüls (2003)."""

from __future__ import annotations

from typing import Any

import numpy as np

from regularize.errors import MissingExtra
from regularize.lie.screw import Array
from regularize.metamodels.actuator_dynamics import ReducedModel
from regularize.metamodels.equation_of_motion import groups, pairs
from regularize.metamodels.interpolation import Interpolation
from regularize.metamodels.tree import between

#: More entries than this are drawn without a legend.
LEGEND = 6


def along(model: Interpolation, points: int = 801) -> tuple[Array, Array, str]:
    """Inputs on the diagonal of the workspace, the abscissa, and what the abscissa is.

    Returns:
        Inputs, shape (N, s); the first input's values, shape (N,); a label.
    """
    theta = between(model.lower, model.upper, np.linspace(0.0, 1.0, points)[:, None])
    one = len(model.inputs) == 1
    label = model.inputs[0] if one else f"{model.inputs[0]} along the diagonal"
    return theta, theta[:, 0], label


def figure(model: Interpolation, reduced: ReducedModel) -> Any:
    """A matplotlib figure: full model, metamodel and relative error of H, D and p in columns.

    Raises:
        MissingExtra: matplotlib is not installed.
    """
    try:
        from matplotlib.figure import Figure
    except ImportError as error:
        raise MissingExtra("drawing", "matplotlib", "viz") from error
    theta, x, label = along(model)
    covered = model.covers(theta)
    truth = reduced.sample(theta)
    fitted = np.full_like(truth, np.nan)
    fitted[covered] = model.coefficients(theta[covered])
    errors = model.relative_errors(theta, truth)
    result = Figure(figsize=(12, 9), layout="constrained")
    places = groups(len(model.inputs), truth.shape[1])
    axes = result.subplots(3, len(places), sharex=True)
    for column, (name, place) in enumerate(places.items()):
        legends = _entries(name, model.inputs)
        for row, rows in enumerate((truth, fitted)):
            lines = axes[row, column].plot(x, rows[:, place], linewidth=1.0)
            if len(lines) <= LEGEND and row == 0 and len(lines) > 1:
                axes[row, column].legend(lines, legends, fontsize="small")
        axes[2, column].plot(x, 100.0 * errors[:, column], color="black", linewidth=1.0)
        axes[2, column].set_yscale("symlog", linthresh=1e-3)
        axes[0, column].set_title(name)
        axes[2, column].set_xlabel(label)
        axes[1, column].set_ylim(axes[0, column].get_ylim())
        for row in range(3):
            axes[row, column].grid(alpha=0.3)
    for row, text in enumerate(("reduced model", "metamodel", "relative error, %")):
        axes[row, 0].set_ylabel(text)
    result.suptitle(
        f"{model.samples} samples, largest errors at {model.accuracy.points} random points: "
        + ", ".join(f"{key} {100 * value:.3g} %" for key, value in model.accuracy.maximal.items())
    )
    return result


def _entries(name: str, inputs: tuple[str, ...]) -> list[str]:
    """Names of the entries of H, D or p."""
    first, second = pairs(len(inputs))
    if name == "p":
        return [f"p {i}" for i in inputs]
    together = [f"{inputs[i]} {inputs[j]}" for i, j in zip(first, second, strict=True)]
    if name == "H":
        return [f"H {pair}" for pair in together]
    return [f"D {i}, {pair}" for i in inputs for pair in together]
