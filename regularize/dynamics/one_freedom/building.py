"""Computing the path of a mechanism with one freedom."""

from __future__ import annotations

import numpy as np

from regularize.dynamics.loads import style_with_rotors
from regularize.dynamics.one_freedom.bifurcations import bifurcations
from regularize.dynamics.one_freedom.collocation_nodes import (
    MOST,
    TAIL,
    Nodes,
    Unresolved,
    nodes_on,
)
from regularize.dynamics.one_freedom.continuation import once_around
from regularize.dynamics.one_freedom.curve import Curve, SingularPath
from regularize.dynamics.one_freedom.functions import PathFunctions
from regularize.dynamics.one_freedom.path import Path
from regularize.dynamics.one_freedom.states import States
from regularize.dynamics.one_freedom.table import PIECES, ROUND, Table, table_of, tail
from regularize.errors import ModelError, NotClosed
from regularize.lie.screw import Array, read_only
from regularize.model.diagnostic import Diagnostic
from regularize.model.graph import coordinate_names
from regularize.model.massless import no_inertia
from regularize.model.mechanism import Mechanism
from regularize.pinocchio_model.exporting import to_pinocchio
from regularize.pinocchio_model.robot import Robot
from regularize.reduction.idle_held import held
from regularize.reduction.reduce import Reduction
from regularize.reduction.reduce import reduce as reduce_loops
from regularize.reduction.steadied import steadied

#: Strides that are tried one after another, lengths scaled: where curves all but meet, long ones
#: step from one onto the other.
STRIDES = (0.8, 0.2, 0.05, 0.0125)
#: Points at which the tables are compared with the mechanism itself.
CHECKS = 61


def path(model: Mechanism | Reduction | Robot, *, through: bool = False) -> Path:
    """The path of a mechanism with one freedom, from its assembled configuration all around.

    Args:
        model: A mechanism, its reduction or its robot. Bodies that can spin idly between two
            spherical joints are held, which is named in ``findings``.
        through: Whether the path goes straight on at singular configurations where the motion may
            branch, such as the flat pose of a parallelogram; they are named in ``findings``.

    Raises:
        ModelError: The mechanism has another number of freedoms.
        NotClosed: The loops are open.
        SingularPath: The curve of configurations runs through a singular one.
        OpenPath: It never comes back.
        NoInertia: The mechanism can move without moving any mass.
    """
    reduction, robot = _reduced(model)
    assembly = reduction.assembly
    if not assembly.closed:
        worst = max(assembly.after, key=lambda gap: gap.translation + gap.rotation)
        raise NotClosed(worst.joint, worst.translation, worst.rotation)
    findings: tuple[Diagnostic, ...] = ()
    still = steadied(reduction)
    if still is not reduction:
        reduction, robot = still, None
    if reduction.mobility > 1:
        mechanism, findings = held(reduction)
        if findings:
            reduction = reduce_loops(mechanism, rtol=reduction.rtol, seed=reduction.seed)
            robot = None
    if reduction.mobility != 1:
        raise ModelError(
            f"the mechanism has {reduction.mobility} freedoms, and only one with a single freedom "
            'moves along a path; simulate it in other coordinates: coordinates="minimal" or "all"'
        )
    if robot is None:
        robot = to_pinocchio(reduction)
        style = style_with_rotors(robot)
        robot = robot if style == robot.style else to_pinocchio(reduction, style)
    curve, states = Curve(reduction), States(robot)
    nodes = _nodes(curve, np.array(reduction.q))
    places = [curve.place(q) for q in bifurcations(curve, nodes)]
    if places and not through:
        raise SingularPath(f"it runs through a singular configuration at {places[0]}")
    findings += tuple(
        Diagnostic(
            "REG313",
            "warning",
            f"the path goes straight on at a singular configuration ({place}), where the "
            "motion may branch off",
            source=reduction.mechanism.joints[0].source,
            help=("stay away from it, or add a part that leads the mechanism through",),
        )
        for place in places
    )
    functions = _functions(curve, states, nodes)
    names = coordinate_names(reduction.mechanism)
    tables = PathFunctions(robot, curve, names, states, functions, nodes.shape, nodes.rates)
    return Path(
        **vars(tables),
        turns=read_only(nodes.turns),
        error=_error(tables),
        samples=functions.coefficients.shape[1] // PIECES,
        findings=findings,
    )


def _nodes(curve: Curve, q: Array) -> Nodes:
    """Points once around, from shorter strides where longer ones lead to nothing."""
    for stride in STRIDES[:-1]:
        try:
            return nodes_on(curve, once_around(curve, q, stride))
        except Unresolved:
            continue
    return nodes_on(curve, once_around(curve, q, STRIDES[-1]))


def _reduced(model: Mechanism | Reduction | Robot) -> tuple[Reduction, Robot | None]:
    if isinstance(model, Robot):
        return model.reduction, model if model.style == "rows" else None
    return (reduce_loops(model) if isinstance(model, Mechanism) else model), None


def _functions(curve: Curve, states: States, nodes: Nodes) -> Table:
    """What decides the motion, from as many samples as it needs; see ``Path.functions``."""
    plain = len(curve.plain)
    count = len(nodes.points.q)
    while True:
        s = ROUND * np.arange(count) / count
        embedded = nodes.shape(s)
        inertia = states.inertia(curve.restored(embedded), nodes.rates(s))
        scale = np.append(inertia[:, 0].max(), np.repeat(np.max(np.abs(inertia[:, 1:])), 3))
        if not inertia[:, 0].min() > 1e-10 * scale[0]:
            raise no_inertia(curve.reduction.mechanism, ())
        if tail(inertia / np.maximum(scale, 1e-300)) < TAIL or count > MOST:
            break
        count *= 2
    # Group joints have no coordinates that could do work one by one.
    single = np.zeros((count, curve.n))
    single[:, curve.plain] = (embedded - np.outer(s / ROUND, nodes.shape.growth))[:, :plain]
    return table_of(np.hstack([single, inertia]), np.append(nodes.turns, np.zeros(4)))


def _error(path: PathFunctions) -> float:
    """Largest error at points between the samples."""
    curve = path.curve
    # Steps of the golden section: never near the samples all at once.
    s = ROUND * np.modf(np.arange(1, CHECKS + 1) * 0.6180339887498949)[0]
    q, v = path.configuration(s), path.velocity(s)
    points = curve.points(q, v)
    scaled = v / curve.units
    speed = np.linalg.norm(scaled, axis=1, keepdims=True)
    exact = path.states.inertia(q, speed * points.tangent * curve.units)[:, 0]
    return float(
        max(
            np.max(np.abs(points.correction)),
            np.max(np.abs(scaled / speed - points.tangent)),
            np.max(np.abs(path.mass(s) / exact - 1.0)),
        )
    )
