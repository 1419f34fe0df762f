"""Misfit in redundant directions, in words and as bars."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import numpy as np

from regularize.report.analysis import Analysis
from regularize.report.misfit import RedundantDirection
from regularize.report.words import degrees, millimetres

#: Pixels of the bars: width of the whole, width of the names, height of a line.
SIZES = (720, 300, 20)


def title(report: Analysis) -> str:
    """What the section is about."""
    forces = report.misfit is not None and report.misfit.loads
    return f"Misfit of redundant directions{', and what closing it takes' if forces else ''}"


def rows(report: Analysis) -> list[tuple[str, str]]:
    """Every redundant direction with its misfit, and the joints that misfit loads most."""
    found = report.misfit
    if found is None:
        return []
    total = sum(entry.energy or 0.0 for entry in found.entries)
    pairs = []
    for entry in found.entries:
        size = degrees if entry.angular else millimetres
        words = f"{size(entry.std)} (1σ), at most {size(entry.worst)}"
        if entry.force_std is not None and entry.force_worst is not None:
            unit = "N m" if entry.angular else "N"
            force, most = _three(entry.force_std), _three(entry.force_worst)
            words += f"; {force} {unit}, at most {most} {unit}"
            words += f"; {max(entry.energy or 0.0, 0.0) / (total or 1.0):.0%} of the energy"
        pairs.append((f"{entry.label} at {entry.joint} ({entry.loop})", words))
    for load in found.loads[:3]:
        force, moment, most_force, most_moment = map(_three, load.wrench)
        words = f"{force} N and {moment} N m (1σ), at most {most_force} N and {most_moment} N m"
        pairs.append((f"joint {load.joint} then bears", words))
    return pairs


def _three(value: float) -> str:
    """Three digits, in full where they are few."""
    return f"{float(f'{value:.3g}'):g}"


def bars(report: Analysis) -> str:
    """Bars of all directions as an SVG picture, solid to the deviation, faint to the worst."""
    found = report.misfit
    if found is None or not found.entries:
        return ""
    from html import escape  # with a table of all entities

    groups: list[tuple[str, list[tuple[str, float, float]]]] = [
        ("misfit, mm", _bars(found.entries, angular=False)),
        ("misfit, degrees", _bars(found.entries, angular=True)),
        ("closing force, N", _forces(found.entries, angular=False)),
        ("closing moment, N m", _forces(found.entries, angular=True)),
    ]
    width, names, line = SIZES
    parts, y = [], line
    for words, lines in groups:
        if not lines:
            continue
        longest = max((worst for *_, worst in lines), default=0.0) or 1.0
        parts.append(
            f'<text x="0" y="{y}" font-weight="600">{words}; the longest bar is '
            f"{_three(longest)}</text>"
        )
        scale = (width - names) / longest
        for name, std, worst in lines:
            y += line
            parts.append(f'<text x="0" y="{y}">{escape(name)}</text>')
            for size, opacity in ((worst, 0.3), (std, 1.0)):
                parts.append(
                    f'<rect x="{names}" y="{y - 0.6 * line:g}" width="{scale * size:.1f}" '
                    f'height="{0.6 * line:g}" fill="#cc1448" opacity="{opacity}">'
                    f"<title>{size:.3g}</title></rect>"
                )
        y += 2 * line
    return (
        f'<figure><svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width} {y}" role="img" '
        f'font-size="13" fill="currentColor"><title>{escape(title(report))}</title>'
        f"{''.join(parts)}</svg><figcaption>Solid to one standard deviation, faint to the worst "
        "that the tolerances allow.</figcaption></figure>"
    )


def _bars(
    entries: Sequence[RedundantDirection], *, angular: bool
) -> list[tuple[str, float, float]]:
    factor = 180 / np.pi if angular else 1e3
    return [(_name(e), factor * e.std, factor * e.worst) for e in _of(entries, angular)]


def _forces(
    entries: Sequence[RedundantDirection], *, angular: bool
) -> list[tuple[str, float, float]]:
    return [
        (_name(e), e.force_std, e.force_worst)
        for e in _of(entries, angular)
        if e.force_std is not None and e.force_worst is not None
    ]


def _of(entries: Sequence[RedundantDirection], angular: bool) -> Iterator[RedundantDirection]:
    return (entry for entry in entries if entry.angular == angular)


def _name(entry: RedundantDirection) -> str:
    return f"{entry.joint}: {entry.label}"
