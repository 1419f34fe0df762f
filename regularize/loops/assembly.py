"""Closing the loops of a model that was saved open.

Nonlinear least squares on the closure errors of all loops, from the stored coordinates first, then
from seeded perturbations of them (singular starting values are left that way), then loop after
loop, then by continuation. Coordinates that the user fixes are held; where they cannot be reached
at once, they are moved there step by step from a configuration in which the loops are closed.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from types import MappingProxyType
from typing import TYPE_CHECKING, Any

import numpy as np

from regularize.errors import ModelError
from regularize.lie.arrays import Array, read_only
from regularize.loops.gaps import (
    CLOSED,
    Gap,
    chords_fitted,
    closure_errors,
    gaps,
)
from regularize.loops.kinematics import sized_loops
from regularize.mechanism.graph import Graph, coordinate_names
from regularize.mechanism.mechanism import Mechanism
from regularize.mechanism.named_columns import ShortRepr
from regularize.mechanism.source import Model, as_graph
from regularize.tolerances import EXACT
from regularize.validation import ARRAY, NAMES, NUMBER, WHOLE, named, validated

if TYPE_CHECKING:
    from regularize.loops.search import Obstacle


@dataclass(frozen=True, eq=False, repr=False)
class Assembly(ShortRepr):
    """A configuration in which the loops are closed as far as they can be.

    Attributes:
        q: Coordinates of all joints, shape (n,).
        closed: Whether every loop is closed within ``CLOSED``.
        before: Gap of every loop at the stored coordinates.
        after: Gap of every loop at ``q``.
        starts: Number of starting points tried for the most stubborn part.
        obstacles: Loops that keep the mechanism open; empty where it is closed.
        reached: Where fixed values cannot be reached: the nearest values on the way to them at
            which the loops could still be closed, by joint name.
        elsewhere: Whether loops that stay open near the start close at another pose.
    """

    q: Array
    closed: bool
    before: tuple[Gap, ...]
    after: tuple[Gap, ...]
    starts: int
    obstacles: tuple[Obstacle, ...] = ()
    reached: Mapping[str, float] = field(default_factory=lambda: MappingProxyType({}))
    elsewhere: bool = False

    def __getstate__(self) -> dict[str, Any]:
        """Views of dictionaries cannot be pickled; the dictionary can."""
        return {**self.__dict__, "reached": dict(self.reached)}

    @property
    def worst_before(self) -> tuple[float, float]:
        """Largest gap in metres and largest angle in radians before closing."""
        return _worst(self.before)

    @property
    def worst_after(self) -> tuple[float, float]:
        """Largest gap in metres and largest angle in radians after closing."""
        return _worst(self.after)

    residual_before, residual_after = worst_before, worst_after  #: As in the JSON report.


def _worst(open_gaps: tuple[Gap, ...]) -> tuple[float, float]:
    return (
        max((gap.translation for gap in open_gaps), default=0.0),
        max((gap.rotation for gap in open_gaps), default=0.0),
    )


@validated(q0=ARRAY, fixed=named(NUMBER) | NAMES, seed=WHOLE, starts=WHOLE)
def assemble(
    model: Model | Graph,
    q0: Array | None = None,
    fixed: Mapping[str, float] | Iterable[str] | None = None,
    *,
    seed: int = 0,
    starts: int = 8,
) -> Assembly:
    """Close all loops of a mechanism.

    Args:
        model: The mechanism, or its graph.
        q0: Starting coordinates of all joints, shape (n,); by default those of the file.
        fixed: Coordinates to hold, by the name of their joint (``joint[1]`` for one of several
            freedoms); radians or metres. Names alone are held where they start.
        seed: Seed of the perturbed starting points.
        starts: Number of starting points before continuation is tried.

    Raises:
        ModelError: ``fixed`` names an unknown joint or one with several freedoms, or ``q0`` does
            not have one entry per freedom.
    """
    graph = as_graph(model)
    q = np.array(graph.position if q0 is None else q0, dtype=np.float64)
    if q.shape != (graph.freedoms,):
        raise ModelError(f"q0 needs one entry per joint freedom, {graph.freedoms}, got {q.shape=}")
    held = held_columns(graph, fixed, q)
    stored = q.copy()
    q[list(held)] = list(held.values())
    free = np.ones(graph.freedoms, dtype=bool)
    free[list(held)] = False
    tree = graph.tree
    before: list[Gap] = []
    after: list[Gap] = []
    obstacles: list[Obstacle] = []
    reached: dict[str, float] = {}
    closed, most_starts, elsewhere = True, 1, False
    for cell in graph.cells:
        loops = sized_loops(graph, q, cell, tree)
        solution = q[loops.columns]
        errors = closure_errors(loops, solution)
        if np.max(np.abs(errors), initial=0.0) > 0.1 * EXACT.closed:
            solution = chords_fitted(loops, solution, free[loops.columns])
            errors = closure_errors(loops, solution)
        own = gaps(loops, errors)
        before += own
        if np.max(np.abs(errors), initial=0.0) > EXACT.closed:
            from regularize.loops.search import Search  # needed where a file is open

            rng = np.random.default_rng(seed)
            search = Search(loops, stored, q, solution, free, rng, starts)
            solution = search.run()
            obstacles += search.obstacles
            reached |= search.reached
            elsewhere |= search.elsewhere
            most_starts = max(most_starts, search.tried)
            errors = closure_errors(loops, solution)
            own = gaps(loops, errors)
        q[loops.columns] = solution
        after += own
        closed &= bool(np.max(np.abs(errors), initial=0.0) <= CLOSED)
    return Assembly(
        read_only(q),
        closed,
        tuple(before),
        tuple(after),
        most_starts,
        tuple(obstacles),
        MappingProxyType(reached),
        elsewhere,
    )


def with_coordinates(mechanism: Mechanism, q: Array) -> Mechanism:
    """The mechanism with other stored coordinates, those of all joints in order, shape (n,)."""
    parts = np.split(q, np.cumsum([joint.freedoms for joint in mechanism.joints]))
    return mechanism.with_positions(
        {joint.name: part for joint, part in zip(mechanism.joints, parts, strict=False)}
    )


def held_columns(
    graph: Graph, fixed: Mapping[str, float] | Iterable[str] | None, q: Array
) -> dict[int, float]:
    """Values of the held coordinates by column.

    Raises:
        ModelError: A name is unknown or stands for several freedoms.
    """
    if not fixed:
        return {}
    known = {name: c for c, name in enumerate(coordinate_names(graph.mechanism))}
    values: dict[int, float] = {}
    for name in fixed or ():
        if name not in known:
            joint = graph.mechanism.joint(name)
            raise ModelError(
                f"joint {name!r} has {joint.freedoms} freedoms and cannot be fixed as a whole; "
                f"name one of them: {name}[0]"
            )
        column = known[name]
        values[column] = float(fixed[name]) if isinstance(fixed, Mapping) else float(q[column])
        if not np.isfinite(values[column]):
            raise ModelError(f"joint {name!r} cannot be fixed at {values[column]}")
    return values
