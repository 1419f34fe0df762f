r"""Charts: motors and joints of one subsystem as formulas of the same few coordinates.

What drives a joint through a loop is a formula of the motors, or the motors are formulas of the
joints, or both are formulas of others; seldom is there more than one of them. With such coordinates
:math:`z`, a chart is :math:`\theta(z)` and :math:`q(z)`, and the map is one through the inverse of
the other.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import combinations

import numpy as np

from regularize.actuation.formulas import (
    Program,
    compiled,
    copied,
    derivatives,
    total,
)
from regularize.errors import ModelError
from regularize.lie.screw import Array, read_only
from regularize.loops.kinematics import sized_loops
from regularize.loops.projection import project
from regularize.mechanism.graph import Graph, coordinate_names
from regularize.modes.closed_form.elementary import Code, Line
from regularize.modes.closed_form.operations import Lowering
from regularize.modes.closed_form.solver import ClosedForm, closed_form
from regularize.modes.inputs import index_of, turning_of
from regularize.tolerances import EXACT, ROUNDING

TURN = 2.0 * np.pi
#: Other coordinates are tried as parameters in so many ways at most.
TRIES = 12
#: Two ways to close each of more steps than these are more branches than are looked at.
STEPS = 14


@dataclass(frozen=True, eq=False)
class Chart:
    """Formulas of a subsystem.

    Attributes:
        names: The coordinates that all is a formula of.
        code: The formulas' code; its variables are ``z0``, ``z1`` …
        parameters: These variables.
        motors: Formulas of the motors.
        joints: Formulas of the joints.
        bounded: Formulas of coordinates that have limits.
        bounds: Their lower and upper limits, shape (bounded, 2).
        margins: Scaled discriminants: positive where the branch exists.
        start: Parameters at the stored pose, shape (k,).
    """

    names: tuple[str, ...]
    code: Code
    parameters: tuple[Line, ...]
    motors: tuple[Line, ...]
    joints: tuple[Line, ...]
    bounded: tuple[Line, ...]
    bounds: Array
    margins: tuple[Line, ...]
    start: Array

    @cached_property
    def given(self) -> list[str]:
        """Names of the variables."""
        return [line.name for line in self.parameters]

    def first(self, lines: Sequence[Line]) -> list[list[Line]]:
        """Formulas of derivatives by the parameters."""
        return derivatives(lines, self.parameters)

    @cached_property
    def values(self) -> Program:
        """Motors, joints, and margins."""
        return self.program([*self.motors, *self.joints, *self.margins])

    @cached_property
    def slopes(self) -> Program:
        """Derivatives of motors and of joints by the parameters, row by row."""
        rows = self.first([*self.motors, *self.joints])
        return self.program([x for row in rows for x in row])

    @cached_property
    def curvatures(self) -> Program:
        """Second derivatives of motors and of joints by the parameters."""
        rows = self.first([*self.motors, *self.joints])
        return self.program([y for row in rows for each in self.first(row) for y in each])

    def program(self, lines: Sequence[Line]) -> Program:
        """A function of the parameters that gives some formulas."""
        return compiled(lines, self.given)

    def arrays(self, program: Program, z: Array) -> Array:
        """What a program gives at parameters (N, k), shape (N, results)."""
        with np.errstate(invalid="ignore", divide="ignore", over="ignore"):
            found = program(*np.ascontiguousarray(z.T))
        return np.stack([np.broadcast_to(x, len(z)) for x in found], axis=-1)


def stored_configuration(graph: Graph) -> Array:
    """The closed configuration nearest to the stored one, shape (n,).

    Raises:
        ModelError: The loops do not close there.
    """
    found = project(sized_loops(graph, graph.position), graph.position[None], damped=True)
    if not found.error[0] <= 1e3 * EXACT.closed:
        raise ModelError("the loops do not close near the stored pose; see regularize check")
    return np.asarray(found.q[0])


def chart_of(
    graph: Graph, motors: Sequence[str], joints: Sequence[str], branch: int | None = None
) -> Chart | None:
    """Formulas of motors and joints by as many coordinates as there are of each.

    Args:
        graph: The subsystem alone.
        motors: Coordinates of the motors.
        joints: Coordinates of the joints, as many.
        branch: Index of the branch of ``rg.closed_form`` of the motors, or of the joints where
            motors have none; by default the one on which the mechanism stands as stored.
    """
    return next(_charts(graph, motors, joints, _candidates(graph, motors, joints), branch), None)


def chart_by(
    graph: Graph, motors: Sequence[str], joints: Sequence[str], names: Sequence[str]
) -> Chart | None:
    """Formulas of motors and joints by given coordinates, on the branch of the stored pose."""
    return next(_charts(graph, motors, joints, [tuple(names)], None), None)


def _charts(
    graph: Graph,
    motors: Sequence[str],
    joints: Sequence[str],
    candidates: Iterable[tuple[str, ...]],
    branch: int | None,
) -> Iterator[Chart]:
    """Those of some coordinates that there are."""
    q = stored_configuration(graph)
    for inputs in candidates:
        try:
            solution = closed_form(graph, inputs)
        except ModelError:
            continue  # these coordinates depend on each other
        known = solution.plan.known.coordinates
        names = coordinate_names(graph.mechanism)
        wanted = [names.index(name) for name in (*motors, *joints)]
        if set(wanted) <= known.keys() and (solution.solved or solution.unknowns):
            found = _chart(solution, wanted, q, branch)
            if found is not None:
                yield found


def _candidates(
    graph: Graph, motors: Sequence[str], joints: Sequence[str]
) -> Iterator[tuple[str, ...]]:
    """Sets of coordinates that all might be formulas of, the best first."""
    k, both = len(motors), list(dict.fromkeys([*motors, *joints]))
    single = [e for e in graph.edges if not e.group]
    names = coordinate_names(graph.mechanism)
    others = [names[c] for e in single for c in e.columns if names[c] not in both]
    first = [tuple(motors), tuple(joints)]
    rest = [c for c in combinations([*both, *others], k) if c not in first]
    yield from dict.fromkeys([*first, *rest[:TRIES]])


def _chart(
    solution: ClosedForm, wanted: Sequence[int], q: Array, branch: int | None
) -> Chart | None:
    """The chart of a closed form on one branch; None where the stored pose is on none."""
    graph, plan = solution.graph, solution.plan
    steps, tape, known = plan.choices, plan.tape, plan.known.coordinates
    if len(steps) > STEPS:
        return None
    alone = [c for e in graph.edges if not e.group for c in e.columns if c in known]
    limits = limits_of(graph)
    driven = {*wanted[: len(wanted) // 2]}
    limited = [c for c in alone if c not in driven and np.isfinite(limits[c]).any()]
    lowering = Lowering(careful=False)
    margins = [s.discriminant * (1.0 / s.size) for s in steps if s.discriminant is not None]
    results = [known[c] for c in (*wanted, *limited, *alone)]
    raw, discriminants = lowering.lines(tape, results), lowering.lines(tape, margins)
    z = q[list(solution.columns)]
    signs = _stored_signs(solution, raw[len(raw) - len(alone) :], q[alone], z)
    if branch is not None:
        signs = np.array(
            solution.branches[
                index_of(branch, (len(steps) and 2 ** len(steps)) or 1, "branch")
            ].signs,
            dtype=float,
        )
    if signs is None:
        return None
    code = Code()
    parameters = [code.variable(f"z{i}") for i in range(len(z))]
    given = {f"x{i}": line for i, line in enumerate(parameters)}
    given |= {f"s{i}": code.scalar(float(s)) for i, s in enumerate(signs)}
    lines = copied([*raw[: len(raw) - len(alone)], *discriminants], code, given)
    turning = turning_of(graph)
    for place, c in enumerate([*wanted, *limited]):
        if turning[c] and lines[place].operation not in ("variable", "constant"):
            middle = np.mean(limits[c]) if np.isfinite(limits[c]).all() else q[c]
            away = total(lines[place], code.scalar(float(middle)), -1.0)
            turned = code.enter("remainder", away, code.scalar(TURN))
            lines[place] = total(turned, code.scalar(float(middle)))
    k, n = len(wanted) // 2, len(wanted) + len(limited)
    return Chart(
        solution.inputs,
        code,
        tuple(parameters),
        tuple(lines[:k]),
        tuple(lines[k : 2 * k]),
        tuple(lines[2 * k : n]),
        read_only(limits[limited]).reshape(-1, 2),
        tuple(lines[n:]),
        read_only(z),
    )


def _stored_signs(solution: ClosedForm, lines: Sequence[Line], q: Array, z: Array) -> Array | None:
    """Signs of the branch on which coordinates are those stored; None where they are on none."""
    count = solution.plan.tape.signs
    bits = np.arange(2**count)[:, None] >> np.arange(count)[::-1] & 1
    every = np.asarray(1.0 - 2.0 * bits, dtype=np.float64)
    if not lines:
        return np.asarray(every[0])
    given = [*(f"x{i}" for i in range(len(z))), *(f"s{i}" for i in range(count))]
    with np.errstate(invalid="ignore", divide="ignore", over="ignore"):
        found = compiled(lines, given)(*map(np.float64, z), *every.T)
    away = np.stack([np.broadcast_to(x, len(every)) for x in found], axis=-1) - q
    away = np.abs(away - TURN * np.round(away / TURN)).max(axis=1)
    if not np.isfinite(away).any():
        return None
    best = int(np.nanargmin(away))
    return np.asarray(every[best]) if away[best] <= EXACT.apart + ROUNDING else None


def limits_of(graph: Graph) -> Array:
    """Lower and upper limit of every coordinate, infinite where there is none, shape (n, 2)."""
    rows = [np.zeros((0, 2))]
    for joint in graph.mechanism.joints:
        none = np.full((joint.freedoms, 2), np.inf) * [-1.0, 1.0]
        rows.append(none if joint.limits is None else np.asarray(joint.limits).reshape(-1, 2))
    return np.concatenate(rows)
