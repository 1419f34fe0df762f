r"""Charts: motors and joints of one subsystem as formulas of the same few coordinates.

What drives a joint through a loop is a formula of the motors, or the motors are formulas of the
joints, or both are formulas of others; seldom is there more than one of them. With such coordinates
:math:`z`, a chart is :math:`\theta(z)` and :math:`q(z)`, and the map is one through the inverse of
the other.

Where no coordinates that are as few have formulas of all, charts have more of them, and closure
equations :math:`c(z) = 0` that hold among them. Together with these, motors and joints are as many
as coordinates again; all of them are solved by Newton's method, and proved, as one.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import combinations, islice

import numpy as np
from scipy.linalg import null_space, qr

from regularize.dynamics.tape.derivatives import copied, derivatives
from regularize.dynamics.tape.languages import Compiled, columns, compiled
from regularize.dynamics.tape.program import Number, Recording
from regularize.errors import ModelError
from regularize.guests.modes.closed_form.branches import Branches
from regularize.guests.modes.closed_form.operations import Lowering
from regularize.guests.modes.closed_form.planner import Plan, Planner
from regularize.guests.modes.closed_form.solver import closed_form
from regularize.guests.modes.inputs import Inputs, index_of, inputs_of
from regularize.lie.arrays import Array, read_only
from regularize.loops.kinematics import sized_loops
from regularize.loops.projection import project
from regularize.mechanism.graph import Graph, coordinate_names
from regularize.repair.statics.passive_joints import ranges_of
from regularize.tolerances import EXACT, ROUNDING

TURN = 2.0 * np.pi
#: Other coordinates are tried as parameters in so many ways at most.
TRIES = 12
#: Two ways to close each of more steps than these are more branches than are looked at.
STEPS = 14
#: So many coordinates more than motors may be parameters, and angles below which axes are parallel.
MORE, PRECISION = 3, 1e-9
#: Closures whose derivatives are smaller beside the largest follow from the others.
DEPENDENT = 1e-7
#: Of so many charts with closures the one is taken that is farthest from where its formulas fail.
CHARTS = 4
#: How far closures are followed to see whether all vanish where some do, radians and metres.
NUDGE = 1e-2


@dataclass(frozen=True, eq=False)
class Chart:
    """Formulas of k motors and k joints of a subsystem by n parameters, on one branch.

    There are n - k closures: scaled formulas that vanish where the loops are closed. ``bounds`` are
    the limits (b, 2) of the b formulas in ``bounded``, ``margins`` are scaled discriminants,
    positive where the branch exists, and ``start`` are the parameters at the stored pose, (n,).
    ``passive`` are the other joints of one freedom, by their names.
    """

    names: tuple[str, ...]
    code: Recording
    parameters: tuple[Number, ...]
    motors: tuple[Number, ...]
    joints: tuple[Number, ...]
    closures: tuple[Number, ...]
    bounded: tuple[Number, ...]
    bounds: Array
    margins: tuple[Number, ...]
    start: Array
    passive: Mapping[str, Number]

    @cached_property
    def given(self) -> list[str]:
        """Names of the parameters in the formulas, ``z0``, ``z1`` and so on."""
        return [str(x.data) for x in self.parameters]

    def first(self, lines: Sequence[Number]) -> list[list[Number]]:
        """Return derivatives of formulas by the parameters, a row for each formula."""
        return derivatives(lines, self.parameters)

    def side(self, back: bool) -> list[Number]:
        """Return the formulas of motors (``back``: joints), then of the closures, (n,)."""
        return [*(self.joints if back else self.motors), *self.closures]

    @cached_property
    def values(self) -> Compiled:
        """Program of motors and closures, joints and closures, and margins."""
        return self.program([*self.side(False), *self.side(True), *self.margins])

    @cached_property
    def slopes(self) -> Compiled:
        """Program of the derivatives of both sides by the parameters, row by row."""
        rows = self.first([*self.side(False), *self.side(True)])
        return self.program([x for row in rows for x in row])

    def rates(self, z: Array) -> tuple[Array, Array]:
        """Return derivatives of motors and joints, each with closures, at (N, n), (N, n, n)."""
        n = z.shape[1]
        found = columns(self.slopes, z).reshape(len(z), 2, n, n)
        return found[:, 0], found[:, 1]

    @cached_property
    def curvatures(self) -> Compiled:
        """Program of the second derivatives of both sides by the parameters."""
        rows = self.first([*self.side(False), *self.side(True)])
        return self.program([y for row in rows for each in self.first(row) for y in each])

    def program(self, lines: Sequence[Number]) -> Compiled:
        """Return the compiled program from the parameters to some formulas."""
        return compiled(lines, self.parameters)


def stored_configuration(graph: Graph) -> Array:
    """Return the closed configuration nearest to the stored one, shape (n,)."""
    found = project(sized_loops(graph, graph.position), graph.position[None], damped=True)
    if not found.error[0] <= 1e3 * EXACT.closed:
        raise ModelError("the loops do not close near the stored pose; see regularize check")
    return np.asarray(found.q[0])


def chart_of(
    graph: Graph, motors: Sequence[str], joints: Sequence[str], branch: int | None = None
) -> Chart | None:
    """Return formulas of motors and joints by as many coordinates, or a few more and closures.

    ``branch`` counts those of ``rg.closed_form`` of the motors, or of the joints if they have none.
    """
    known = stored_configuration(graph)
    closed = _charts(graph, motors, joints, _candidates(graph, motors, joints), branch, known)
    found = next(closed, None)
    if found is not None:
        return found
    some = [*islice(_open_charts(graph, motors, joints, branch, known), CHARTS)]
    return max((c for c in some if len(c.names) == len(some[0].names)), key=_regular, default=None)


def _regular(chart: Chart) -> float:
    """Return how regular a chart is at the stored pose: 0 (singular) to 1, -1 if undefined."""
    margins = columns(chart.values, chart.start[None])[0, 2 * len(chart.parameters) :]
    slopes = columns(chart.slopes, chart.start[None]).reshape(2, len(chart.start), -1)
    if not (np.isfinite(slopes).all() and np.isfinite(margins).all()):
        return -1.0
    return float(np.min([*margins, *(1.0 / np.linalg.cond(slopes))]))


def chart_by(
    graph: Graph, motors: Sequence[str], joints: Sequence[str], names: Sequence[str]
) -> Chart | None:
    """Return the chart whose parameters are the coordinates ``names``, on the stored branch."""
    known = stored_configuration(graph)
    return next(_charts(graph, motors, joints, [tuple(names)], None, known), None)


def _charts(
    graph: Graph,
    motors: Sequence[str],
    joints: Sequence[str],
    candidates: Iterable[tuple[str, ...]],
    branch: int | None,
    q: Array,
) -> Iterator[Chart]:
    """Yield charts without closures, one for each candidate set of coordinates that works."""
    for inputs in candidates:
        try:
            solution = closed_form(graph, inputs)
        except ModelError:
            continue  # these coordinates depend on each other
        if len(solution.plan.choices) > STEPS:
            return  # the loops are as many, whatever they are formulas of
        known = solution.plan.known.coordinates
        names = coordinate_names(graph.mechanism)
        wanted = [names.index(name) for name in (*motors, *joints)]
        if set(wanted) <= known.keys() and (solution.solved or solution.unknowns):
            chart = _chart(graph, solution.given, solution.plan, wanted, q, branch)
            if chart is not None:
                yield chart


def _open_charts(
    graph: Graph, motors: Sequence[str], joints: Sequence[str], branch: int | None, q: Array
) -> Iterator[Chart]:
    """Yield charts with closures: by the motors, or the joints, and a few coordinates more."""
    names = coordinate_names(graph.mechanism)
    wanted = [names.index(name) for name in (*motors, *joints)]
    single = [names[c] for e in graph.edges if not e.group for c in e.columns]
    for more in range(1, MORE + 1):
        sides = [side for side in (tuple(motors), tuple(joints)) if {*side} <= {*single}]
        for side_names in dict.fromkeys(sides):
            others = [name for name in single if name not in side_names]
            for added in islice(combinations(others, more), TRIES):
                given = inputs_of(graph, (*side_names, *added))
                plan = Planner(graph, given.columns, PRECISION).plan()
                if len(plan.choices) > STEPS:
                    return
                if {*wanted} <= plan.known.coordinates.keys() and len(plan.gaps) >= more:
                    chart = _chart(graph, given, plan, wanted, q, branch)
                    if chart is not None:
                        yield chart


def _candidates(
    graph: Graph, motors: Sequence[str], joints: Sequence[str]
) -> Iterator[tuple[str, ...]]:
    """Yield sets of as many coordinates as motors that may determine all others, best first."""
    k, both = len(motors), list(dict.fromkeys([*motors, *joints]))
    single = [e for e in graph.edges if not e.group]
    names = coordinate_names(graph.mechanism)
    others = [names[c] for e in single for c in e.columns if names[c] not in both]
    first = [tuple(motors), tuple(joints)]
    rest = (c for c in combinations([*both, *others], k) if c not in first)
    yield from dict.fromkeys([*first, *islice(rest, TRIES)])


def _chart(
    graph: Graph, given: Inputs, plan: Plan, wanted: Sequence[int], q: Array, branch: int | None
) -> Chart | None:
    """Return the chart of a plan on one branch; None where the stored pose is on none."""
    steps, tape, known = plan.choices, plan.tape, plan.known.coordinates
    names, k = coordinate_names(graph.mechanism), len(wanted) // 2
    alone = [c for e in graph.edges if not e.group for c in e.columns if c in known]
    limits = ranges_of(graph.mechanism)
    limited = [c for c in alone if c not in wanted[:k] and np.isfinite(limits[c]).any()]
    n = len(wanted) + len(limited)
    lowering = Lowering(careful=False)
    margins = [s.discriminant * (1.0 / s.size) for s in steps if s.discriminant is not None]
    results = [known[c] for c in (*wanted, *limited, *alone)]
    more = len(given.columns) - k
    gaps = lowering.lines(tape, plan.gaps) if more else []
    raw, discriminants = lowering.lines(tape, results), lowering.lines(tape, margins)
    z = q[list(given.columns)]
    signs = _stored_signs(plan, raw[n:], q[alone], z)
    if branch is not None:
        every = Branches(steps)
        signs = np.array(every[index_of(branch, len(every), "branch")].signs, dtype=float)
    if signs is None:
        return None
    code = Recording()
    parameters = [code.variable(f"z{i}") for i in range(len(z))]
    values = {f"x{i}": line for i, line in enumerate(parameters)}
    values |= {f"s{i}": code.number(float(s)) for i, s in enumerate(signs)}
    others = {c: x for c, x in zip(alone, raw[n:], strict=True) if c not in wanted}
    own = [*raw[:n], *discriminants, *gaps, *others.values()]
    lines = copied(own, code, values)
    for place, c in enumerate([*wanted, *limited]):
        if graph.turning[c] and lines[place].operation not in ("variable", "constant"):
            middle = np.mean(limits[c]) if np.isfinite(limits[c]).all() else q[c]
            away = lines[place] - float(middle)
            lines[place] = code.function("remainder", away, code.number(TURN)) + float(middle)
    last = n + len(discriminants)
    rest = last + len(gaps)
    closures = _independent(lines[last:rest], parameters, z, more)
    if closures is None:
        return None
    sides = tuple(lines[:k]), tuple(lines[k : 2 * k])
    bounded, bounds = tuple(lines[2 * k : n]), read_only(limits[limited]).reshape(-1, 2)
    there = tuple(lines[n:last]), read_only(z)
    passive = {names[c]: x for c, x in zip(others, lines[rest:], strict=True)}
    z_of = given.names, code, tuple(parameters)
    return Chart(*z_of, *sides, closures, bounded, bounds, *there, passive)


def _independent(
    gaps: Sequence[Number], parameters: Sequence[Number], z: Array, count: int
) -> tuple[Number, ...] | None:
    """Return ``count`` closure equations that imply all others; None where there are fewer."""
    if not count:
        return ()
    rows = derivatives(gaps, parameters)
    program = compiled([*gaps, *(x for row in rows for x in row)], parameters)

    def at(place: Array) -> tuple[Array, Array]:
        flat = columns(program, place[None])[0]
        return flat[: len(gaps)], flat[len(gaps) :].reshape(len(gaps), len(z))

    slopes = at(z)[1]
    if not np.isfinite(slopes).all():
        return None
    _, triangle, order = qr(slopes.T, mode="economic", pivoting=True)
    sizes = np.abs(np.diag(triangle))
    if int((sizes > DEPENDENT * max(float(sizes[0]), 1.0)).sum()) != count:
        return None
    chosen = sorted(order[:count].tolist())
    moved = z + NUDGE * null_space(slopes[order[:count]])[:, 0]
    for _ in range(8):
        values, slopes = at(moved)
        if not (np.isfinite(values).all() and np.isfinite(slopes).all()):
            return None
        moved = moved - np.linalg.lstsq(slopes[chosen], values[chosen], rcond=None)[0]
    if not np.abs(at(moved)[0]).max() <= EXACT.same:
        return None
    return tuple(gaps[i] for i in chosen)


def _stored_signs(plan: Plan, lines: Sequence[Number], q: Array, z: Array) -> Array | None:
    """Return the branch's signs that give the stored coordinates q; None if no branch does."""
    count = plan.tape.signs
    bits = np.arange(2**count)[:, None] >> np.arange(count)[::-1] & 1
    every = np.asarray(1.0 - 2.0 * bits, dtype=np.float64)
    if not lines:
        return np.asarray(every[0])
    given = [*(f"x{i}" for i in range(len(z))), *(f"s{i}" for i in range(count))]
    inputs = np.concatenate([np.broadcast_to(z, (len(every), len(z))), every], axis=1)
    away = columns(compiled(lines, given), inputs) - q
    away = np.abs(away - TURN * np.round(away / TURN)).max(axis=1)
    if not np.isfinite(away).any():
        return None
    best = int(np.nanargmin(away))
    return np.asarray(every[best]) if away[best] <= EXACT.apart + ROUNDING else None
