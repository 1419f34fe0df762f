"""Pictures of metamodels and of maps, and maps as files."""

from __future__ import annotations

import csv
import io
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from regularize.adapters.common.output_files import write_bytes
from regularize.errors import MissingExtra, ModelError, RegularizeError
from regularize.guests.design.actuator_dynamics import ReducedModel
from regularize.guests.design.equation_of_motion import groups, pairs
from regularize.guests.design.interpolation import Interpolation
from regularize.guests.design.tree import between
from regularize.lie.arrays import Array

#: More entries than this are drawn without a legend.
LEGEND = 6


def new_figure(width: float, height: float) -> Any:
    """An empty matplotlib figure, sizes in inches."""
    try:
        from matplotlib.figure import Figure
    except ImportError as error:
        raise MissingExtra("drawing", "matplotlib", "viz") from error
    return Figure(figsize=(width, height), layout="constrained")


def figure(model: Interpolation, reduced: ReducedModel, points: int = 801) -> Any:
    """A matplotlib figure: full model, metamodel and relative error of H, D and p in columns."""
    theta = between(model.lower, model.upper, np.linspace(0.0, 1.0, points)[:, None])
    label = model.inputs[0] + (" along the diagonal" if len(model.inputs) > 1 else "")
    covered = model.covers(theta)
    truth = reduced.sample(theta)
    fitted = np.full_like(truth, np.nan)
    fitted[covered] = model.coefficients(theta[covered])
    errors = model.relative_errors(theta, truth)
    result = new_figure(12, 9)
    places = groups(len(model.inputs), truth.shape[1])
    axes = result.subplots(3, len(places), sharex=True)
    for column, (name, place) in enumerate(places.items()):
        legends = _entries(name, model.inputs)
        for row, rows in enumerate((truth, fitted)):
            lines = axes[row, column].plot(theta[:, 0], rows[:, place], linewidth=1.0)
            if len(lines) <= LEGEND and row == 0 and len(lines) > 1:
                axes[row, column].legend(lines, legends, fontsize="small")
        axes[2, column].plot(theta[:, 0], 100.0 * errors[:, column], color="black", linewidth=1.0)
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


_TITLES = {
    "inverse": "inverse: platform at rest",
    "forward": "forward: motors locked",
    "constraint": "constraint: a freedom gained",
    "limits": "joint limits",
}


def map_figure(
    axes: Sequence[tuple[str, str, Array]], measures: Mapping[str, Array], held: Mapping[str, float]
) -> Any:
    """A matplotlib figure of a map over one or two inputs, each with name, unit and values."""
    if len(axes) > 2:
        raise ModelError("a picture has one or two axes; hold the others, or save .npz or .csv")
    result = new_figure(4.6 * max(1, len(measures)), 4.4)
    panels = result.subplots(1, max(1, len(measures)), squeeze=False)[0]
    for panel, (name, values) in zip(panels, measures.items(), strict=False):
        panel.set_title(_TITLES[name])
        panel.set_xlabel(f"{axes[0][0]} [{axes[0][1]}]")
        if len(axes) == 1:
            panel.plot(axes[0][2], values, linewidth=1.2)
            panel.axhline(0.0, color="black", linewidth=0.6)
            panel.grid(alpha=0.3)
            continue
        picture = _drawn(panel, axes[0][2], axes[1][2], values, measures.get("limits"))
        result.colorbar(picture, ax=panel, shrink=0.85)
        panel.set_ylabel(f"{axes[1][0]} [{axes[1][1]}]")
        if axes[0][1] == axes[1][1]:
            panel.set_aspect("equal")
    others = ", ".join(f"{name} = {value:.4g}" for name, value in held.items())
    result.suptitle(others and f"at {others}", fontsize="small")
    return result


def _drawn(panel: Any, x: Array, y: Array, values: Array, limits: Array | None) -> Any:
    """Colours of a measure over two inputs, grey where it is not known, limits as a red line."""
    panel.set_facecolor("0.85")
    finite = np.where(np.isfinite(values), values, np.nan)
    if limits is not None and np.any(limits < 0.0):
        finite_limits = np.ma.masked_invalid(limits)
        panel.contour(x, y, finite_limits.T, levels=[0.0], colors="crimson")
    return panel.pcolormesh(x, y, finite.T, shading="nearest", cmap="viridis", vmin=0.0)


PICTURES = (".svg", ".png", ".pdf")
SUFFIXES = (".npz", ".csv", *PICTURES)


def checked(path: Path) -> Path:
    """The path, if its ending is known."""
    if path.suffix.lower() not in SUFFIXES:
        raise RegularizeError(
            f"{path}: unknown kind of file {path.suffix!r} (known: {', '.join(SUFFIXES)})"
        )
    return path


def saved(columns: Mapping[str, NDArray[Any]], figure: Callable[[], Any], path: Path) -> Path:
    """Write columns, or the figure of them, to a file whose ending says what it is."""
    kind = checked(path).suffix.lower()
    data = io.BytesIO()
    if kind == ".npz":
        np.savez_compressed(data, **columns)  # type: ignore[arg-type]
        write_bytes(path, data.getvalue())
    elif kind == ".csv":
        text = io.StringIO(newline="")
        writer = csv.writer(text)
        writer.writerow(columns)
        writer.writerows(
            zip(*(values.ravel().tolist() for values in columns.values()), strict=True)
        )
        write_bytes(path, text.getvalue().encode("utf-8"))
    else:
        figure().savefig(data, format=kind[1:])
        write_bytes(path, data.getvalue())
    return path
