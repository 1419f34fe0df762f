"""Maps drawn: joints as surfaces over motors, or curves, with the domain and singularities."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace
from html import escape
from itertools import permutations

import numpy as np
from scipy.ndimage import label

from regularize.dynamics.tape.languages import columns
from regularize.errors import RegularizeError
from regularize.guests.actuation.boxes import inverses
from regularize.guests.actuation.chart import Chart, chart_of
from regularize.guests.actuation.prover import FoundDomain, found_domain
from regularize.guests.actuation.subsystems import (
    driven_joints,
    limits_of_motors,
    motor_range,
    motors_of,
    subsystems,
)
from regularize.guests.modes.inputs import inputs_of
from regularize.lie.arrays import Array
from regularize.mechanism.graph import coordinate_names
from regularize.mechanism.graph_building import build
from regularize.mechanism.mechanism import Mechanism
from regularize.tolerances import NEGLIGIBLE

#: Subsystems that are drawn at most, and loops of each: their formulas take a second.
MOST, LOOPS = 4, 3
#: Lines of a surface by each motor, points of a curve, and by which part the search for
#: singularities goes beyond the domain, on how many places of each parameter.
MESH, POINTS, BEYOND, PLACES = 16, 200, 0.6, 61
#: How often edges of its grid are halved, and how far beyond the frame they are drawn.
HALVES, ASIDE = 10, 0.15
#: Places of the domain at which polygons of torques and speeds are drawn.
PEAKS = 40
#: Size of a picture, the place of its origin and of its axes, in pixels.
WIDTH, HEIGHT, LEFT, RIGHT, UP = 340, 300, (-110.0, 75.0), (150.0, 52.0), 120.0
#: Colours from the least value to the largest.
COLORS = np.array([[47, 90, 170], [60, 170, 150], [245, 200, 75]])


def figures(mechanism: Mechanism) -> Iterator[str]:
    """Yield HTML figures of what one or two of the model's motors drive through loops."""
    try:
        graph = build(replace(mechanism, actuators=(), motions=()))
        if not any(len(cell) for cell in graph.cells):
            return
        motors = motors_of(graph)
        given = inputs_of(graph, motors), inputs_of(graph, driven_joints(graph, motors))
        parts = [*subsystems(graph, *(each.columns for each in given))]
    except RegularizeError:  # no motors, or the report says what is wrong
        return
    for part, own in parts[:MOST]:
        names = [[each.names[i] for i in places] for each, places in zip(given, own, strict=True)]
        if len(names[0]) > 2 or not 0 < part.loops <= LOOPS:
            continue
        try:
            chart = chart_of(part, names[0], names[1])
            if chart is None or chart.closures:
                continue
            bounds = motor_range(part, names[0], chart)
            found = found_domain(chart, bounds, sampled=len(names[0]) > 1)
        except RegularizeError:
            continue
        if (found.owner >= 0).any():
            columns = [coordinate_names(part.mechanism).index(n) for each in names for n in each]
            turns = part.turning[columns].tolist()
            yield _figure(found, names, turns)
            yield from _peaks(found, names, turns, limits_of_motors(mechanism, names[0]))


def _figure(found: FoundDomain, names: Sequence[Sequence[str]], turns: Sequence[bool]) -> str:
    """Return the pictures of all joints of a subsystem as one figure."""
    (motors, joints), domain = names, found.domain
    units = [(180.0 / np.pi, "°") if turn else (1000.0, " mm") for turn in turns]
    singular, axes = _singular(found), list[str]()
    for name, bounds, unit in zip(motors, domain.bounds, units, strict=False):
        axes.append(f"{escape(name)} {_range(bounds, unit)}")
    draw = _curve if len(motors) == 1 else _surface
    parts = []
    for i, name in enumerate(joints):
        if name in motors:
            continue
        picture = draw(found, i, singular, units[len(motors) + i], axes)
        by = escape(", ".join(motors))
        parts.append(f"<div><strong>{escape(name)}</strong> by {by}{picture}</div>")
    how = "proved" if domain.proved else "followed numerically, not proved"
    told = f"Grey: where the map holds ({how}). "
    told += "Red: singularities." if singular else "No singularity was found about it."
    body = f"<div>{''.join(parts)}</div><figcaption>{told}</figcaption>"
    return f'<figure class="map">{body}</figure>'


def _peaks(
    found: FoundDomain,
    names: Sequence[Sequence[str]],
    turns: Sequence[bool],
    rated: tuple[Array, Array],
) -> Iterator[str]:
    """Yield a figure of the torques and speeds at the joints that the motors are rated for."""
    (motors, joints), chart, k = names, found.prover.chart, len(names[0])
    theta, z = found.samples(PEAKS if k > 1 else POINTS, np.random.default_rng(0))
    z = np.vstack([chart.start, z[np.argsort(theta[:, 0])]])
    rates, parts = chart.rates(z), list[str]()
    J = rates[1] @ inverses(rates[0])
    signs = np.array([(1, 1), (1, -1), (-1, -1), (-1, 1)])[:, :k]
    for what, most, A in (
        ("torque", rated[0], np.swapaxes(inverses(J), 1, 2)),
        ("speed", rated[1], J),
    ):
        reached = np.einsum("nij,cj->nci", A, signs * most)
        size = np.abs(reached).max(axis=(0, 1))
        if not np.isfinite(size).all():
            continue
        units = ("N", "N m") if what == "torque" else ("m/s", "rad/s")
        pairs = zip(joints, size, turns[k:], strict=True)
        told = [f"{escape(n)} ±{x:.3g} {units[turn]}" for n, x, turn in pairs]
        if k > 1:
            lines, along = [*(reached / size * [130.0, -110.0])], told[0]
            drawn = [_path(line, "beyond", closed=True) for line in lines[1:]]
            drawn += [_path(lines[0], "joint", closed=True)]
        else:
            (low, high), along = found.domain.bounds[0], f"by {escape(motors[0])}"
            x = 300.0 * ((columns(chart.values, z)[1:, 0] - low) / (high - low) - 0.5)
            y = 115.0 - 230.0 * np.abs(reached[1:, 0, 0]) / size[0]
            drawn = [_path(np.stack([x, y], axis=1), "joint")]
            drawn += [_path(np.array([(-150, 115), (150, 115)]), "frame")]
        drawn += [f'<text y="-132">{told[-1]}</text>', f'<text y="140">{along}</text>']
        picture = _svg(f"the most {what} at the joints", drawn)
        parts.append(f"<div><strong>{what}</strong>{picture}</div>")
    where = ": thick at the stored pose, thin at others of the domain" if k > 1 else ""
    words = f"<figcaption>The most that the motors allow at the joints{where}.</figcaption>"
    if parts:
        yield f'<figure class="map peaks"><div>{"".join(parts)}</div>{words}</figure>'


def _range(bounds: Iterable[float], unit: tuple[float, str]) -> str:
    low, high = (f"{unit[0] * x:.3g}{unit[1]}" for x in bounds)
    return f"{low} to {high}"


def _svg(label: str, parts: Iterable[str]) -> str:
    head = f'<svg viewBox="{-WIDTH / 2:g} -150 {WIDTH} {HEIGHT}" role="img" aria-label="{label}">'
    return f"{head}{''.join(parts)}</svg>"


def _path(points: Array, kind: str, *, closed: bool = False, color: str = "") -> str:
    d = "L".join(f"{x:.1f} {y:.1f}" for x, y in points)
    fill = f' fill="{color}"' if color else ""
    return f'<path class="{kind}" d="M{d}{"Z" if closed else ""}"{fill}/>'


def _placed(found: FoundDomain, theta: Array, height: Array | float) -> Array:
    """Return pixels (N, 2) of motor values (N, 2) at heights from 0 to 1 in the picture."""
    low, high = found.domain.bounds.T
    x, y = ((theta - low) / (high - low)).T
    up = 20.0 + UP * np.asarray(height) * np.ones(len(theta))
    return np.stack([LEFT[0] * x + RIGHT[0] * y, LEFT[1] * x + RIGHT[1] * y - up], axis=1)


def _surface(
    found: FoundDomain,
    joint: int,
    singular: Sequence[Array],
    unit: tuple[float, str],
    axes: Sequence[str],
) -> str:
    """Return the SVG surface of a joint over two motors, painted from the farthest face on."""
    (low, high), n = found.domain.bounds.T, MESH + 1
    steps = np.linspace(1e-6, 1.0 - 1e-6, n)
    grid = np.stack(np.meshgrid(steps, steps, indexing="ij"), -1).reshape(-1, 2)
    theta = low + (high - low) * grid
    chart = found.prover.chart
    q = columns(chart.values, found.parameters(theta))[:, len(chart.parameters) + joint]
    least, most = float(np.nanmin(q)), float(np.nanmax(q))
    level = (q - least) / max(most - least, NEGLIGIBLE)
    seen, level = _placed(found, theta, 0.25 + 0.75 * level).reshape(n, n, 2), level.reshape(n, n)
    parts = []
    for a, b in zip(found.domain.lower, found.domain.upper, strict=True):
        corners = np.array([[a[0], a[1]], [b[0], a[1]], [b[0], b[1]], [a[0], b[1]]])
        parts.append(_path(_placed(found, corners, 0.0), "domain", closed=True))
    parts += [_path(_placed(found, line, 0.0), "singular") for line in singular]
    corners = np.array([[low[0], low[1]], [high[0], low[1]], high, [low[0], high[1]]])
    parts.append(_path(_placed(found, corners, 0.0), "frame", closed=True))
    for i, j in sorted(np.ndindex(n - 1, n - 1), key=sum):
        face = level[i : i + 2, j : j + 2]
        if np.isfinite(face).all():
            corner = seen[[i, i + 1, i + 1, i], [j, j, j + 1, j + 1]]
            tint = [np.interp(float(face.mean()), (0.0, 0.5, 1.0), c) for c in COLORS.T]
            color = "#" + "".join(f"{round(x):02x}" for x in tint)
            parts.append(_path(corner, "face", closed=True, color=color))
    parts.append(f'<text y="-136">{_range((least, most), unit)}</text>')
    for (x, y), text in zip(((-90, 120), (75, 140)), axes, strict=True):
        parts.append(f'<text x="{x}" y="{y}">{text}</text>')
    return _svg("a surface over two motors", parts)


def _curve(
    found: FoundDomain,
    _: int,
    singular: Sequence[Array],
    unit: tuple[float, str],
    axes: Sequence[str],
) -> str:
    """Return the SVG curve of a joint by its motor, thick in the domain and thin beyond."""
    chart, domain = found.prover.chart, found.domain
    x0, x1 = (float(x) for x in domain.bounds[0])
    theta = np.linspace(x0, x1, POINTS + 1)[:, None]
    inner = columns(chart.values, found.parameters(theta))[:, :2]
    outer = columns(chart.values, _about(found, POINTS))[:, :2]
    outer[(outer[:, 0] < x0) | (outer[:, 0] > x1)] = np.nan
    every = np.concatenate([inner[:, 1], outer[:, 1]])
    least, most = float(np.nanmin(every)), float(np.nanmax(every))

    def seen(points: Array) -> Array:
        x = (points[:, 0] - x0) / (x1 - x0) - 0.5
        y = (points[:, 1] - least) / max(most - least, NEGLIGIBLE) - 0.5
        return np.stack([300.0 * x, -230.0 * y], axis=1)

    parts = []
    for a, b in zip(domain.lower[:, 0], domain.upper[:, 0], strict=True):
        box = np.array([[a, least], [b, least], [b, most], [a, most]])
        parts.append(_path(seen(box), "domain", closed=True))
    for line in singular:
        at = np.array([[line[0, 0], least], [line[0, 0], most]])
        parts.append(_path(seen(at), "singular"))
    for points, kind in ((outer, "beyond"), (inner, "joint")):
        turned = np.abs(np.diff(points[:, 1], append=points[-1, 1])) > np.pi
        ends = np.flatnonzero(~np.isfinite(points).all(axis=1) | turned)
        for piece in np.split(points, ends + 1):
            piece = piece[np.isfinite(piece).all(axis=1)]
            if len(piece) > 1:
                parts.append(_path(seen(piece), kind))
    parts.append(f'<text y="-132">{_range((least, most), unit)}</text>')
    parts.append(f'<text y="140">{axes[0]}</text>')
    return _svg("a curve over one motor", parts)


def _about(found: FoundDomain, count: int) -> Array:
    """Return a grid of chart parameters that is wider than the domain's, (count^k, k)."""
    _, z = found.samples(500, np.random.default_rng(0))
    low, high = np.nanmin(z, axis=0), np.nanmax(z, axis=0)
    more = BEYOND * (high - low)
    axes = [np.linspace(a - m, b + m, count) for a, b, m in zip(low, high, more, strict=True)]
    return np.stack(np.meshgrid(*axes, indexing="ij"), axis=-1).reshape(-1, len(low))


def _singular(found: FoundDomain) -> list[Array]:
    """Return segments of the singular curves near the domain, motor values (k, k) each."""
    chart, bounds = found.prover.chart, found.domain.bounds
    k = len(bounds)
    shape = (POINTS if k == 1 else PLACES,) * k
    z = _about(found, shape[0])
    signs = _signed(chart, z)[1].reshape(*shape, -1)
    home = int(np.argmin(np.abs(z - chart.start).sum(axis=1)))
    sheet, _ = label((signs * _signed(chart, chart.start[None])[1][0] > 0.0).all(axis=-1))
    own, places = sheet == sheet.flat[home], z.reshape(*shape, k)
    ends = []
    for column, function in enumerate(np.moveaxis(signs, -1, 0)):
        for corners in _simplices(function):
            f, x = function[corners], places[corners]
            crossed = [
                (x[a], x[b], column)
                for a, b in permutations(range(len(f)), 2)
                if f[a] * f[b] < 0.0 and own[corners][a]
            ]
            ends += crossed[:k] if len(crossed) >= k else []
    if not ends:
        return []
    inner, outer, which = (np.array(each) for each in zip(*ends, strict=True))
    rows = np.arange(len(which))
    sign = np.sign(_signed(chart, inner)[1][rows, which])
    for _ in range(HALVES):
        middle = 0.5 * (inner + outer)
        same = (_signed(chart, middle)[1][rows, which] * sign > 0.0)[:, None]
        inner, outer = np.where(same, middle, inner), np.where(same, outer, middle)
    theta = _signed(chart, inner)[0].reshape(-1, k, k)
    slack = ASIDE * np.ptp(bounds, axis=1)
    inside = (theta >= bounds[:, 0] - slack) & (theta <= bounds[:, 1] + slack)
    return [piece for piece, good in zip(theta, inside.all(axis=(1, 2)), strict=True) if good]


def _signed(chart: Chart, z: Array) -> tuple[Array, Array]:
    """Return motor values (N, k) and functions (N, m) that vanish at singularities."""
    k = z.shape[1]
    values = columns(chart.values, z)
    with np.errstate(invalid="ignore"):
        sizes = np.linalg.det(columns(chart.slopes, z).reshape(len(z), 2, k, k))
    return values[:, :k], np.column_stack([sizes, values[:, 2 * k :]])


def _simplices(function: Array) -> Iterator[tuple[Array, ...]]:
    """Yield edges, or triangles, of a grid on which a function changes sign, as indices."""
    if function.ndim == 1:
        for i in np.flatnonzero(function[:-1] * function[1:] < 0.0):
            yield (np.array([i, i + 1]),)
        return
    n = len(function) - 1
    corners = [function[a : a + n, b : b + n] for a in (0, 1) for b in (0, 1)]
    low, high = np.minimum.reduce(corners), np.maximum.reduce(corners)
    for i, j in np.argwhere((low < 0.0) & (high > 0.0)):
        yield np.array([i, i + 1, i]), np.array([j, j, j + 1])
        yield np.array([i + 1, i + 1, i]), np.array([j, j + 1, j + 1])
