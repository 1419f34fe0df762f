"""Pictures of metamodels and of measures over a grid, and tables as files."""

from __future__ import annotations

import csv
import io
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from regularize.errors import MissingExtra, ModelError, RegularizeError
from regularize.guests.design.actuator_dynamics import ReducedModel
from regularize.guests.design.equation_of_motion import Interpolation, groups, pairs
from regularize.guests.design.tree import between
from regularize.lie.arrays import Array
from regularize.output_files import write_file, write_made

#: More entries than this are drawn without a legend.
LEGEND = 6
#: Points of the curves of a metamodel.
POINTS = 801
#: Titles of measures that have no name of their own.
TITLES = {
    "inverse": "inverse: platform at rest",
    "forward": "forward: motors locked",
    "constraint": "constraint: a freedom gained",
    "limits": "joint limits",
}
PICTURES = (".svg", ".png", ".pdf")
SUFFIXES = (".npz", ".csv", *PICTURES)


def _new_figure(width: float, height: float) -> Any:
    """Make an empty matplotlib figure, sizes in inches."""
    try:
        from matplotlib.figure import Figure
    except ImportError as error:
        raise MissingExtra("drawing", "matplotlib", "viz") from error
    return Figure(figsize=(width, height), layout="constrained")


def metamodel_figure(model: Interpolation, reduced: ReducedModel) -> Any:
    """Draw full model, metamodel and relative error of H, D and p in columns."""
    theta = between(model.lower, model.upper, np.linspace(0.0, 1.0, POINTS)[:, None])
    label = model.inputs[0] + (" along the diagonal" if len(model.inputs) > 1 else "")
    covered = model.covers(theta)
    truth = reduced.sample(theta)
    fitted = np.full_like(truth, np.nan)
    fitted[covered] = model.coefficients(theta[covered])
    errors = model.relative_errors(theta, truth)
    figure = _new_figure(12, 9)
    places = groups(len(model.inputs), truth.shape[1])
    axes = figure.subplots(3, len(places), sharex=True)
    for column, (name, place) in enumerate(places.items()):
        for row, rows in enumerate((truth, fitted)):
            lines = axes[row, column].plot(theta[:, 0], rows[:, place], linewidth=1.0)
            if row == 0 and 1 < len(lines) <= LEGEND:
                axes[row, column].legend(lines, _entries(name, model.inputs), fontsize="small")
        axes[2, column].plot(theta[:, 0], 100.0 * errors[:, column], color="black", linewidth=1.0)
        axes[2, column].set_yscale("symlog", linthresh=1e-3)
        axes[0, column].set_title(name)
        axes[2, column].set_xlabel(label)
        axes[1, column].set_ylim(axes[0, column].get_ylim())
        for row in range(3):
            axes[row, column].grid(alpha=0.3)
    for row, text in enumerate(("reduced model", "metamodel", "relative error, %")):
        axes[row, 0].set_ylabel(text)
    figure.suptitle(
        f"{model.samples} samples, largest errors at {model.accuracy.points} random points: "
        + ", ".join(f"{key} {100 * value:.3g} %" for key, value in model.accuracy.maximal.items())
    )
    return figure


def _entries(name: str, inputs: tuple[str, ...]) -> list[str]:
    """Name the entries of H, D or p."""
    together = [f"{inputs[i]} {inputs[j]}" for i, j in zip(*pairs(len(inputs)), strict=True)]
    if name == "p":
        return [f"p {i}" for i in inputs]
    if name == "H":
        return [f"H {pair}" for pair in together]
    return [f"D {i}, {pair}" for i in inputs for pair in together]


def grid_figure(
    labels: Sequence[str],
    values: Sequence[Array],
    measures: Mapping[str, Array],
    *,
    title: str = "",
    equal: bool = False,
) -> Any:
    """Draw measures over a grid of one or two axes; a measure ``limits`` is a red line at zero."""
    if len(values) > 2:
        raise ModelError("a picture has one or two axes; hold the others, or save .npz or .csv")
    figure = _new_figure(4.6 * max(1, len(measures)), 4.4)
    panels = figure.subplots(1, max(1, len(measures)), squeeze=False)[0]
    limits = measures.get("limits")
    for panel, (name, measure) in zip(panels, measures.items(), strict=False):
        panel.set_title(TITLES.get(name, name))
        panel.set_xlabel(labels[0])
        if len(values) == 1:
            panel.plot(values[0], measure, ".-", markersize=3, linewidth=1.2)
            panel.axhline(0.0, color="black", linewidth=0.6)
            panel.grid(alpha=0.3)
            continue
        panel.set_ylabel(labels[1])
        panel.set_facecolor("0.85")
        if limits is not None and np.any(limits < 0.0):
            panel.contour(*values, np.ma.masked_invalid(limits).T, levels=[0.0], colors="crimson")
        finite = np.where(np.isfinite(measure), measure, np.nan)
        drawn = panel.pcolormesh(*values, finite.T, shading="nearest", cmap="viridis", vmin=0.0)
        figure.colorbar(drawn, ax=panel, shrink=0.85)
        if equal:
            panel.set_aspect("equal")
    figure.suptitle(title, fontsize="small")
    return figure


def checked(path: Path) -> Path:
    """Return the path if its ending is known, else refuse it."""
    if path.suffix.lower() not in SUFFIXES:
        raise RegularizeError(
            f"{path}: unknown kind of file {path.suffix!r} (known: {', '.join(SUFFIXES)})"
        )
    return path


def saved(columns: Mapping[str, NDArray[Any]], figure: Callable[[], Any], path: Path) -> Path:
    """Write columns, or a figure of them, to a file in the format of its ending."""
    kind = checked(path).suffix.lower()
    if kind == ".npz":
        write_made(path, lambda stream: np.savez_compressed(stream, **columns))  # type: ignore[arg-type]
    elif kind == ".csv":
        text = io.StringIO(newline="")
        writer = csv.writer(text)
        writer.writerow(columns)
        writer.writerows(
            zip(*(values.ravel().tolist() for values in columns.values()), strict=True)
        )
        write_file(path, text.getvalue())
    else:
        write_made(path, lambda stream: figure().savefig(stream, format=kind[1:]))
    return path
