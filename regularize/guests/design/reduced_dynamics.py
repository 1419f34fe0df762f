r"""Reduced models of mechanisms: actuator coordinates, and elastic ones that follow these.

Elastic coordinates e that follow the inputs :math:`\theta` are in balance with all forces but those
of inertia: the equilibrium :math:`p_e(\theta, e) = 0` makes e a function of :math:`\theta`, where
it is stable. Motions are those along it: with :math:`S = (1; e_\theta)` and
:math:`e_{\theta\theta}` all twists and accelerations are linear in the inputs' rates and their
products again, so that H, D, p and C follow as those of a rigid mechanism, and a metamodel has as
few inputs. The slope of p is exact but for differences of joint forces at given screws;
:math:`e_{\theta\theta}` is a difference of slopes.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike
from scipy.linalg import qr

from regularize import validation
from regularize.dynamics.simulation.fixed_coordinates import with_passive_freedoms_fixed
from regularize.dynamics.simulation.loads import BodyLoad
from regularize.errors import ModelError, NotClosed, SingularInputs
from regularize.guests.design.actuator_dynamics import (
    ActuatedLoops,
    ReachedConfigurations,
    ReducedModel,
    ReducedMotion,
    joint_forces,
)
from regularize.guests.design.equation_of_motion import mirror, pairs, symmetric_products
from regularize.guests.design.moving_masses import MovingMasses
from regularize.lie import screw
from regularize.lie.arrays import Array, Coordinates, read_only
from regularize.loops.assembly import assemble
from regularize.loops.kinematics import State, sized_loops
from regularize.mechanism.body import Inertia
from regularize.mechanism.diagnostic import Diagnostic
from regularize.mechanism.elastic import loads_on_segments, segment_at, segments, spring_joints
from regularize.mechanism.graph import ColumnId, actuated_coordinates, columns_of, coordinate_names
from regularize.mechanism.mechanism import Model, as_mechanism, has_elastic
from regularize.reduction.cuts import ReducedLoops, outside
from regularize.reduction.reduce import Reduction, as_reduction
from regularize.reduction.reduce import reduce as reduce_loops
from regularize.repair.statics.passive_joints import PassiveJoints


@validation.validated(
    inputs=validation.NAMES,
    start=validation.named(validation.NUMBER),
    closed=validation.FLAG,
    payloads=validation.named(validation.instance(Inertia)),
    wrenches=validation.named(validation.ARRAY),
    loads=validation.named(validation.ARRAY | validation.instance(BodyLoad)),
    forces=validation.named(validation.FUNCTION),
    motors=validation.NAMES,
)
def reduced_model(
    model: Model,
    inputs: Sequence[str] | None = None,
    *,
    start: Mapping[str, float] | None = None,
    closed: bool = True,
    payloads: Mapping[str, Inertia] | None = None,
    wrenches: Mapping[str, ArrayLike] | None = None,
    loads: Mapping[str, ArrayLike | BodyLoad] | None = None,
    forces: Mapping[str, Callable[[Array], ArrayLike]] | None = None,
    motors: Sequence[str] | None = None,
) -> ReducedModel:
    """The dynamics of a mechanism in the coordinates of its actuators.

    Args:
        model: The mechanism, or what ``reduce`` made of it.
        inputs: Names of the actuated coordinates: a joint, or ``joint[1]`` for one of several
            freedoms. As many as the mechanism has freedoms, passive ones aside: bodies that can
            spin between two spherical joints are held, and named in ``findings``. By default those
            of the joints that the model says are actuated, and of the springs of elastic bodies as
            many as are independent. Where inputs are named and none of these springs, these follow
            quasi-statically: in balance with gravity, springs and loads, without inertia of theirs.
        start: Values of some joint coordinates from which the loops are closed; they choose the
            branch and need not be met exactly. By default the model's own.
        closed: Use the closed form of the configurations where there is one; otherwise paths are
            followed by Newton corrections, which takes longer.
        payloads: Mass properties in the body's frame that bodies carry beside their own, by name.
        wrenches: Constant wrenches on bodies by name, at the origin of the body, ground axes,
            force in N first, moment in N m.
        loads: The same as ``simulate`` takes them: six such numbers, or a ``BodyLoad``, which may
            act at a point and turn with the body.
        forces: Forces in N or N m along coordinates, named as inputs are, as functions of their
            values: one that gets the values at N configurations, shape (N,), and gives as many.
        motors: Coordinates on which motors act where these are not the inputs: more than there
            are freedoms, fewer, or others. ``motor_efforts`` shares efforts out among them.

    Raises:
        ModelError: An input is unknown, repeated or not a coordinate of its own, or the number of
            inputs differs from the mobility.
        NotClosed: The loops cannot be closed.
        SingularConfiguration: The inputs do not determine the motion where the branch begins.
    """
    rigid = as_mechanism(model)
    reduction = reduce_loops(segments(rigid)) if has_elastic(rigid) else as_reduction(model)
    acting: list[tuple[str, BodyLoad]] = []
    for wanted in (wrenches or {}, loads or {}):
        acting += loads_on_segments(rigid, {n: _load(n, w) for n, w in wanted.items()}).items()
    payloads = {segment_at(rigid, n, i.center): i for n, i in (payloads or {}).items()}
    findings: tuple[Diagnostic, ...] = ()
    if inputs is None:
        inputs = actuated_coordinates(reduction.mechanism)
        inputs = given = _with_springs(reduction, inputs, spring_joints(rigid))
        if not inputs:
            raise ModelError("the model does not say which joints are actuated; name the inputs")
    else:
        springs, given = spring_joints(rigid), tuple(inputs)
        if not any(name.partition("[")[0] in springs for name in inputs):
            inputs = _with_springs(reduction, inputs, springs)
    if len(inputs) < reduction.mobility:
        mechanism, findings = with_passive_freedoms_fixed(reduction)
        if findings:
            reduction = reduce_loops(mechanism, rtol=reduction.rtol, seed=reduction.seed)
    columns = _columns(reduction, inputs)
    if len(columns) != reduction.mobility:
        raise ModelError(
            f"the mechanism has {reduction.mobility} freedoms, and {len(columns)} inputs are "
            f"named: {list(inputs)}; name one joint coordinate per freedom"
        )
    graph = reduction.coupled
    assembly = reduction.assembly
    if start is not None:  # values that need not be met exactly
        q = np.array(reduction.q)
        q[columns_of(coordinate_names(reduction.mechanism), start)] = list(start.values())
        assembly = assemble(reduction.graph, q)
    q = assembly.q
    loops = sized_loops(graph, q, tree=reduction.tree)
    reduced = ReducedLoops(loops, reduction.cuts)
    if not assembly.closed:
        gap = max(assembly.after, key=lambda gap: (gap.translation, gap.rotation))
        raise NotClosed(gap.joint, gap.translation, gap.rotation)
    tolerances = reduction.tolerances
    equations = ActuatedLoops(loops, reduced, columns, q, search=closed, tolerances=tolerances)
    if equations.clearance(q[None])[0] < tolerances.rank:
        joints = equations.moving_joints(q[None])
        raise SingularInputs(inputs, q[columns].tolist(), q[columns].tolist(), joints)
    masses = MovingMasses.of(loops, payloads)
    for name in masses.missing:
        words = f"body `{name}` states no mass properties and moves without mass"
        source = graph.mechanism.body(name).source
        findings += (Diagnostic("REG303", "note", words, source=source),)
    rough = [joint for joint in graph.mechanism.joints if np.any(joint.dynamics.friction)]
    if rough:
        named, source = tuple(joint.name for joint in rough), rough[0].source
        words = (
            f"dry friction of {', '.join(f'`{name}`' for name in named)} is not in the reduced "
            "model, whose forces are linear in the rates and their products"
        )
        help = ("simulate the mechanism itself, which regularises dry friction",)
        told = Diagnostic("REG325", "warning", words, joints=named, source=source, help=help)
        findings += (told,)
    forces = forces or {}
    made = ReducedModel(
        tuple(inputs),
        equations,
        masses,
        read_only(graph.mechanism.gravity),
        PassiveJoints.of(graph),
        tuple((reduction.mechanism.body(name).name, load) for name, load in acting),
        findings,
        tuple(_columns(reduction, motors or ())),
        tuple(zip(_columns(reduction, [*forces]), forces.values(), strict=True)),
    )
    if len(given) == len(inputs):
        return made
    balanced = {"inputs": tuple(given), "equations": BalancedLoops(made, len(given))}
    return QuasiStaticModel(**{**vars(made), **balanced})


def _load(name: str, value: ArrayLike | BodyLoad) -> BodyLoad:
    """Make a ``BodyLoad`` of six numbers, force first; raises ``ModelError`` for another shape."""
    if isinstance(value, BodyLoad):
        return value
    wrench = read_only(value)
    if wrench.shape != (6,):
        raise ModelError(f"the wrench on body {name!r} has shape {wrench.shape}, not (6,)")
    return BodyLoad(*np.reshape(wrench, (2, 3)))


def _with_springs(
    reduction: Reduction, inputs: Sequence[str], springs: Sequence[str]
) -> tuple[str, ...]:
    """Append the spring coordinates that the closed loops leave independent to the inputs."""
    if not springs:
        return tuple(inputs)
    names = coordinate_names(reduction.mechanism)
    elastic = [k for k, name in enumerate(names) if name.rpartition("[")[0] in springs]
    elastic += [k for k, name in enumerate(names) if name in springs]
    rows = reduction.loops.jacobian(reduction.reference)[0]
    rigid = [k for k in range(len(names)) if k not in elastic and names[k] not in inputs]
    dependent: list[int] = []
    # Springs are inputs wherever they can be: others are taken first to close the loops.
    for among in (rigid, elastic):
        others = outside(rows[:, dependent].T, rows[:, among].T).T
        _, R, order = qr(others, mode="economic", pivoting=True)
        size = np.abs(np.diag(R))
        dependent += [among[k] for k in order[: int(np.sum(size > 1e-9))]]
    free = [k for k in sorted(elastic) if k not in dependent]
    return (*inputs, *(names[k] for k in free))


def _columns(reduction: Reduction, inputs: Sequence[str]) -> list[ColumnId]:
    """Return columns of coordinates by name; refuse joints such as balls, and repeated names."""
    names = coordinate_names(reduction.mechanism)
    column_of = {name: ColumnId(i) for i, name in enumerate(names)}
    grouped = {c: e.joint for e in reduction.graph.edges if e.group for c in e.columns}
    columns = []
    for name in inputs:
        if name not in column_of:
            joint = reduction.mechanism.joint(name)
            raise ModelError(
                f"joint {name!r} has {joint.freedoms} freedoms; name one of them: {name}[0]"
            )
        if column_of[name] in grouped:
            joint = grouped[column_of[name]]
            raise ModelError(
                f"joint {joint.name!r} is {joint.kind}: its freedoms have no coordinates that an "
                "actuator could hold one by one; actuate other joints"
            )
        columns.append(column_of[name])
    if len(set(columns)) != len(columns):
        raise ModelError(f"an input is named twice: {list(inputs)}")
    return columns


#: Steps of Newton's method to an equilibrium; near it each squares the error.
STEPS = 20
#: Largest correction, radians or lengths, that is one of rounding.
BALANCED = 1e-10
#: Changes of coordinates over which forces and slopes are compared: rounding and the third
#: derivative are then equally far below 1e-6.
FORCES, SLOPES = 1e-5, 1e-3


class BalancedLoops(ActuatedLoops):
    """Closed loops with the first inputs of a full model, its other ones in equilibrium."""

    def __init__(self, full: ReducedModel, inputs: int) -> None:
        loops = full.equations
        same = loops.loops, loops.reduced, loops.inputs[:inputs], loops.q
        super().__init__(*same, search=False, tolerances=loops.tolerances)
        self.full = full

    def clearance(self, q: Coordinates) -> Array:
        """Return the distance from singularity of the full model, springs counted as inputs."""
        return self.full.equations.clearance(q)

    def moving_joints(self, q: Coordinates) -> list[str]:
        """Name the coordinates that can move with inputs and springs locked."""
        return self.full.equations.moving_joints(q)

    def solve(self, theta: Array, shortest: float = 1e-7) -> ReachedConfigurations:
        """Find configurations in stable equilibrium at inputs (N, s), as ``ActuatedLoops`` does."""
        full, s = self.full.equations, len(self.inputs)
        straight = np.broadcast_to(full.theta[s:], (len(theta), len(full.inputs) - s))
        start = full.solve(np.hstack([theta, straight]), shortest)
        q, reached, units = start.q, start.reached, self.loops.units[full.inputs[s:]]
        active = np.flatnonzero(reached)
        for _ in range(STEPS):
            if not len(active):
                break
            motion = self.full._motion(q[active])
            elastic = np.swapaxes(motion.q_theta[..., s:], 1, 2)
            force = elastic @ joint_forces(self.full, motion.state)[..., None]
            stiffness = -slopes(self.full, motion)[:, s:, s:]
            both = stiffness + np.swapaxes(stiffness, 1, 2)
            stable = np.linalg.eigvalsh(both)[:, 0] > 0.0
            reached[active[~stable]] = False
            active = active[stable]
            step = np.linalg.solve(stiffness[stable], force[stable])[..., 0]
            goal = q[active][:, full.inputs]
            goal[:, s:] += step / np.maximum(1.0, np.abs(step / units).max(axis=1))[:, None]
            moved = full.driven(q[active], full.inputs, goal)
            q[active[moved.good]] = moved.q[moved.good]
            reached[active[~moved.good]] = False
            active = active[moved.good & (np.abs(step / units).max(axis=1) > BALANCED)]
        reached[active] = False
        return ReachedConfigurations(q, reached, stopped=q[:, self.inputs])


@dataclass(frozen=True, eq=False, repr=False)
class QuasiStaticModel(ReducedModel):
    """A reduced model whose elastic coordinates follow its inputs."""

    equations: BalancedLoops

    def _velocities(self, q: Coordinates) -> tuple[State, Array, Array]:
        """Return state, rows and velocities by the inputs' rates, springs in equilibrium."""
        motion = self.equations.full._motion(q)
        along = motion.q_theta @ self._along(motion)
        return motion.state, self.equations.rows(motion.state), along

    def _motion(self, q: Coordinates) -> ReducedMotion:
        """Return joint rates and accelerations per input rate, springs in equilibrium."""
        full, loops, s = self.equations.full, self.equations.full.equations, len(self.inputs)
        motion = full._motion(q)
        V, units = motion.q_theta, loops.loops.units
        S = self._along(motion)
        changes = np.zeros((*S[:, s:].shape, s))
        for j in range(s):
            direction = S[:, None, :, j]
            h = SLOPES / np.abs((V @ S[:, :, [j]])[..., 0] / units).max(axis=1)[:, None]
            for step in (h, -h):
                goal = q[:, loops.inputs] + step * direction[:, 0]
                moved = full._motion(loops.driven(q, loops.inputs, goal).q)
                changes[..., j] += self._along(moved)[:, s:] / (2 * step)[..., None]
        one, two = pairs(len(loops.inputs))
        products = symmetric_products(S[:, one, :, None] * S[:, two, None, :])
        B = motion.B @ products + V[..., s:] @ symmetric_products(changes)
        return ReducedMotion(motion.state, V @ S, motion.rates @ products[:, None], B)

    def _along(self, motion: ReducedMotion) -> Array:
        """Return rates of inputs and springs per input rate, shape (N, s + e, s)."""
        s = len(self.inputs)
        slope = slopes(self.equations.full, motion)
        follow = -np.linalg.solve(slope[:, s:, s:], slope[:, s:, :s])
        return np.concatenate([np.broadcast_to(np.eye(s), (len(slope), s, s)), follow], axis=1)


def slopes(full: ReducedModel, motion: ReducedMotion) -> Array:
    """Return the derivative of p, by rows, along the inputs, by columns, shape (N, s, s)."""
    loops, state, V = full.equations.loops, motion.state, motion.q_theta
    s, tau = V.shape[-1], joint_forces(full, motion.state)
    curved = (motion.B * np.where(np.equal(*pairs(s)), 1.0, 0.5))[..., mirror(s)]
    result = np.einsum("nk,nkij->nij", tau, curved)
    for edge in loops.graph.edges:
        if edge.group:  # twists in the moving frame: their derivatives are not symmetric
            k = list(edge.columns)
            twists = np.swapaxes(V[:, k], 1, 2) @ edge.screws.T
            turned = screw.bracket(twists[:, :, None], twists[:, None])
            rates = turned @ np.linalg.pinv(edge.screws).T
            result += 0.5 * (rates @ tau[:, None, k, None])[..., 0]
    for j in range(s):
        step = FORCES / np.abs(V[..., j] / loops.units).max(axis=1, keepdims=True)
        ends = [loops.integrate(state.q, h * V[..., j]) for h in (step, -step)]
        forward, back = (joint_forces(full, loops.state(end)) for end in ends)
        result[:, :, j] += np.einsum("nki,nk->ni", V, (forward - back) / (2 * step))
    return np.asarray(result)
