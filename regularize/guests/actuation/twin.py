"""Serial twins: the model without loops, its joints driven in place of the motors."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np

from regularize.errors import ModelError, RegularizeError
from regularize.guests.actuation.chart import stored_configuration
from regularize.guests.actuation.map import ActuationMap, actuation_map
from regularize.guests.actuation.subsystems import base_of, gains_of_servos
from regularize.lie.arrays import Array
from regularize.lie.screw import IDENTITY, inverse
from regularize.mechanism.body import Body, Inertia
from regularize.mechanism.graph import EdgeId, Graph, NodeId, coordinate_names, nodes_of
from regularize.mechanism.graph_building import build
from regularize.mechanism.joint import Joint, JointLimits, motion, relative_pose
from regularize.mechanism.mechanism import Actuator, ActuatorGains, Mechanism, Model, as_mechanism
from regularize.repair.statics.passive_joints import ranges_of

#: States at which inertias are compared, and by how much the largest difference is widened.
SAMPLES, WIDER = 500, 1.1
#: What motors lose of their forces.
LOSSES = ("damping", "friction")
#: Lower and upper limit, rate and torque of what nothing bounds.
UNBOUNDED = -np.inf, np.inf, np.inf, np.inf
#: How far joints that no motor drives are moved where they have no limits, rad and m.
REACH = 0.5


@dataclass(frozen=True, eq=False)
class SerialTwin:
    """Model without loops, whose joints stand for motors that drive them through loops.

    Attributes:
        mechanism: The tree: cranks and rods are part of the bodies that they are next to.
        map: The map between its joints and the motors.
        error: By which part its joint-space inertia is off, 2-norm, at most: the largest of
            hundreds of states all over the domain, a tenth wider. Sampled, not proved. NaN where
            some moving body has no mass properties.
    """

    mechanism: Mechanism
    map: ActuationMap
    error: float

    def __repr__(self) -> str:
        off = f"inertia within {100 * self.error:.3g} %"
        return (
            f"<SerialTwin {self.mechanism.name!r:.60}: {len(self.map.joint_names)} joints, {off}>"
        )


def serial_twin(
    model: Model, motors: Sequence[str] | None = None, joints: Sequence[str] | None = None
) -> SerialTwin:
    """Return the model without its loops, whose joints are driven in place of the motors.

    Bodies of the loops that the joints do not carry become part of the nearest one that they do.
    What joints have from rods, cranks and rotors is their armature: the number that is nearest to
    it all over the domain, in parts of the inertia.
    Limits, speeds and torques are those that the motors allow anywhere in the domain.

    Args:
        model: The model.
        motors: As of ``rg.actuation_map``.
        joints: Joints that stay: chains from the base of each subsystem.

    Raises:
        ModelError: Joints are no chains from the base, or other loops are left.
    """
    mechanism = as_mechanism(model)
    graph, m = build(mechanism), actuation_map(mechanism, motors, joints)
    kept = _kept(graph, m)
    bodies, tree = _tree(graph, kept)
    names = {joint.name for joint in tree}
    free = names - {*kept.values()}
    outside = [a for a in mechanism.actuators if a.joint in free]
    halved = {a.motor for a in mechanism.actuators if a not in outside}
    actuators = tuple(a for a in outside if a.motor is None or a.motor not in halved)
    couplings = tuple(c for c in mechanism.couplings if {n for n, *_ in c.terms} <= free)
    plain = replace(mechanism, couplings=couplings, actuators=actuators, motions=())
    twin = replace(plain, name=f"{mechanism.name}_twin", bodies=tuple(bodies), joints=tuple(tree))
    left_over = build(twin)
    if left_over.blocks:
        left = sorted({left_over.edges[e].joint.name for b in left_over.blocks for e in b})
        raise ModelError(
            f"loops of {', '.join(left[:6])} are left: name their motors and joints too"
        )
    theta = m.samples(SAMPLES)
    q = m.joints(theta)
    twin = _driven(twin, m, theta, q)
    twin = _with_servos(twin, m, mechanism)
    return _compared(mechanism, twin, m, theta, q)


def _kept(graph: Graph, m: ActuationMap) -> dict[EdgeId, str]:
    """Return edges of loops that the twin keeps, and the names of their joints."""
    names = coordinate_names(graph.mechanism)
    columns = {names.index(name) for name in m.joint_names}
    loops = {e for cell in graph.cells for e in cell}
    moved = [e for e in graph.edges if e.index in loops and columns & {*e.columns}]
    return {e.index: e.joint.name for e in moved}


def _tree(graph: Graph, kept: Mapping[EdgeId, str]) -> tuple[list[Body], list[Joint]]:
    """Return bodies and joints of the tree that is left when loops are cut to kept joints."""
    mechanism, names = graph.mechanism, {*kept.values()}
    cells = [cell for cell in graph.cells if {*cell} & kept.keys()]
    driven = {e for cell in cells for e in cell}
    bases = {base_of(graph, cell) for cell in cells}
    # A base that other loops move is carried where joints that stay lead to it.
    carried = bases - {n for c in cells for n in nodes_of(graph, c) if n != base_of(graph, c)}
    stiff = {e for e in driven if not graph.edges[e].freedoms}
    while True:  # joints that stay carry bodies from the base on, and so do welds
        new = {
            n: e
            for e in (*stiff, *kept)
            for a, n in [_ends(graph, e), _ends(graph, e)[::-1]]
            if a in carried and n not in carried
        }
        if not new:
            break
        carried |= new.keys()
        names |= {graph.edges[e].joint.name for e in new.values()}
    loose = [name for e, name in kept.items() if not {*_ends(graph, e)} <= carried]
    if loose:
        base = ", ".join(sorted(graph.nodes[n] for n in bases))
        raise ModelError(
            f"joint {loose[0]!r} is not carried by the base ({base}) through joints that stay; "
            "name a chain of joints from there"
        )
    for node in {n for e in driven for n in _ends(graph, e)} - carried:
        for e in {*graph.adjacency[node]} - driven:
            raise ModelError(
                f"{graph.edges[e].joint.name!r} hangs on {graph.nodes[node]!r}, which more joints "
                f"move than there are motors: no tree of {', '.join(sorted(kept.values()))} "
                "carries it; keep its loops, or name other joints"
            )
    home = _homes(graph, driven - kept.keys(), bases, carried)
    bodies = _lumped(graph, home)
    left = {body.name for body in bodies}
    gone = {graph.edges[e].joint.name for e in driven} - names
    joints = [j for j in mechanism.joints if j.name not in gone and {j.parent, j.child} <= left]
    return bodies, [replace(j, closure=False) for j in joints]


def _ends(graph: Graph, e: EdgeId) -> tuple[NodeId, NodeId]:
    return graph.edges[e].parent, graph.edges[e].child


def _homes(
    graph: Graph, edges: set[EdgeId], bases: set[NodeId], carried: set[NodeId]
) -> dict[NodeId, tuple[NodeId, Array]]:
    """Return for each dropped node the nearest kept node, and its stored pose relative to it."""
    q = stored_configuration(graph)
    # By the base first: armature can stand for what moves, and for nothing that does not.
    home = {node: (node, IDENTITY) for node in bases}
    while True:
        reached = {}
        for e in sorted(edges):
            edge = graph.edges[e]
            for a, b, back in ((edge.parent, edge.child, False), (edge.child, edge.parent, True)):
                if a in home and b not in home and b not in reached and b not in carried:
                    moved = motion(edge, q[list(edge.columns)])
                    T = edge.T_parent @ moved @ inverse(edge.T_child)
                    node, at = home[a]
                    reached[b] = node, at @ (inverse(T) if back else T)
        if not reached:
            break
        home |= reached
    return {node: entry for node, entry in home.items() if node not in carried}


def _lumped(graph: Graph, home: Mapping[NodeId, tuple[NodeId, Array]]) -> list[Body]:
    """Return kept bodies, with mass and shapes of the dropped ones added."""
    mechanism = graph.mechanism
    added: dict[str, list[tuple[Body, Array]]] = {}
    names = {name for node in home for name in graph.members[node]}
    ends = [{j.parent, j.child} for j in mechanism.joints]
    near = {name for pair in ends if pair & names for name in pair}
    for node, (owner, T) in home.items():
        target = next((n for n in graph.members[owner] if n in near), graph.members[owner][0])
        for name in graph.members[node]:
            at = inverse(graph.T_node_body[target]) @ T @ graph.T_node_body[name]
            added.setdefault(target, []).append((mechanism.body(name), at))
    bodies = []
    for body in (body for body in mechanism.bodies if body.name not in names):
        parts = added.get(body.name, [])
        inertias = [body.inertia] if body.inertia is not None else []
        inertias += [b.inertia.transformed(T) for b, T in parts if b.inertia is not None]
        shapes = tuple(
            replace(g, T_body_geometry=T @ g.T_body_geometry) for b, T in parts for g in b.geometry
        )
        inertia = Inertia.total(inertias) if parts and inertias else body.inertia
        grounded = body.name == mechanism.ground and body.inertia is None
        inertia = None if grounded else inertia
        bodies.append(replace(body, inertia=inertia, geometry=body.geometry + shapes))
    return bodies


def _driven(twin: Mechanism, m: ActuationMap, theta: Array, q: Array) -> Mechanism:
    """Return the twin with limits of its driven joints from those of the motors."""
    torque, rate = m.peaks(theta)  # the most that one joint can have is at least this everywhere
    values = {
        name: (q[:, i].min(), q[:, i].max(), rate[:, i].min(), torque[:, i].min())
        for i, name in enumerate(m.joint_names)
    }
    joints = []
    for joint in twin.joints:
        names = _coordinates(joint)
        if not names or names[0] not in values:
            joints.append(joint)
            continue
        low, high, v, tau = np.array([values.get(n, UNBOUNDED) for n in names]).T
        if joint.limits is not None:
            bounds = np.asarray(joint.limits).T
            low, high = np.maximum(low, bounds[0]), np.minimum(high, bounds[1])
        v, tau = (x if np.isfinite(x).all() else None for x in (v, tau))
        limits = JointLimits(low, high, velocity=v, effort=tau)
        joints.append(replace(joint, actuated=True, limits=limits, closure=False))
    return replace(twin, joints=tuple(joints))


def _with_servos(twin: Mechanism, m: ActuationMap, mechanism: Mechanism) -> Mechanism:
    """Return the twin with the motors' damping, friction and servos as of the stored pose."""
    theta, gains = m.stored, gains_of_servos(mechanism, m.motor_names)
    motors = [mechanism.joint(name.partition("[")[0]) for name in m.motor_names]
    stated = [joint.dynamics.stated() if joint.freedoms == 1 else {} for joint in motors]
    losses = [[float(d[key][0]) if key in d else 0.0 for d in stated] for key in LOSSES]
    K, D = (np.diag(x) for x in m.joint_gains(theta, *gains, strict=False))
    damping = np.diag(m.joint_gains(theta, gains[0], losses[0], strict=False)[1])
    friction = m.reflected_friction(theta, losses[1], strict=False)
    if not np.isfinite([K, D, damping, friction]).all():
        return twin
    driven = {name: i for i, name in enumerate(m.joint_names)}
    held = {i for d in m.drives if gains[0][list(d.motors)].all() for i in d.joints}
    joints, actuators = [], [*twin.actuators]
    for joint in twin.joints:
        if joint.name in driven:
            i = driven[joint.name]
            own = joint.dynamics.stated()
            added = {"damping": damping[i], "friction": friction[i]}
            more = {key: own.get(key, 0.0) + value for key, value in added.items() if value}
            joint = replace(joint, dynamics=replace(joint.dynamics, **more))
            if i in held:
                effort = None if joint.limits is None else joint.limits.effort
                force = None if effort is None else (-float(effort[0]), float(effort[0]))
                law = ActuatorGains(float(K[i]), float(K[i]), float(D[i]))
                servo = Actuator(joint.name, joint.name, kind="position", gains=law)
                actuators.append(replace(servo, force_range=force))
        joints.append(joint)
    return replace(twin, joints=tuple(joints), actuators=tuple(actuators))


def _compared(
    mechanism: Mechanism, twin: Mechanism, m: ActuationMap, theta: Array, q: Array
) -> SerialTwin:
    """Return the twin with its armature, and the largest error of its inertia."""
    from regularize.guests.design.reduced_dynamics import reduced_model  # a guest of its own

    graph, names = build(twin), coordinate_names(twin)
    base = {c for e in graph.edges if e.joint.kind == "free" for c in e.columns}
    moving = [c for c in range(len(names)) if c not in base]
    low, high = ranges_of(twin)[moving].T
    stored, size = graph.position[moving], (len(q), len(moving))
    ends = np.sort([np.maximum(low, stored - REACH), np.minimum(high, stored + REACH)], axis=0)
    x = ends[0] + (ends[1] - ends[0]) * np.random.default_rng(0).uniform(size=size)
    driven = [moving.index(names.index(name)) for name in m.joint_names]
    x[:, driven] = q
    fixed = [_without_base(each) for each in (mechanism, twin)]
    try:
        with np.errstate(all="ignore"):
            wanted, have = (reduced_model(each, [names[c] for c in moving]).H(x) for each in fixed)
    except RegularizeError:
        return SerialTwin(twin, m, float("nan"))
    good = np.isfinite(wanted - have).all(axis=(1, 2))
    if not good.any():
        return SerialTwin(twin, m, float("nan"))
    lacks, sizes = (wanted - have)[good], np.linalg.norm(wanted[good], 2, axis=(1, 2))
    armature = [_constant(lacks[:, i, i], sizes) for i in driven]
    added = dict(zip(m.joint_names, armature, strict=True))
    twin = replace(twin, joints=tuple(_with_armature(joint, added) for joint in twin.joints))
    lacks[:, driven, driven] -= armature
    off = np.linalg.norm(lacks, 2, axis=(1, 2)) / sizes
    return SerialTwin(twin, m, float(WIDER * off.max() + 1e-9))


def _constant(values: Array, sizes: Array) -> float:
    """Return the number c >= 0 with the least maximum of |value - c| / size."""
    none, every = 0.0, float(np.max(np.abs(values) / sizes))
    for _ in range(50):
        part = 0.5 * (none + every)
        met = np.max(values - part * sizes) <= np.min(values + part * sizes)
        none, every = (none, part) if met else (part, every)
    return max(0.0, 0.5 * float(np.max(values - every * sizes) + np.min(values + every * sizes)))


def _without_base(mechanism: Mechanism) -> Mechanism:
    """Return the mechanism with its floating base fixed and without actuators."""
    free = next((j for j in mechanism.joints if j.kind == "free"), None)
    if free is None:
        return mechanism
    pose = relative_pose(free, free.position)
    fixed = Joint(free.name, free.parent, free.child, "fixed", np.zeros((6, 0)), pose)
    joints = tuple(fixed if j is free else j for j in mechanism.joints)
    return replace(mechanism, joints=joints, actuators=(), motions=())


def _with_armature(joint: Joint, added: Mapping[str, float]) -> Joint:
    """Return the joint with armature by coordinate name."""
    if not added.keys() & {*(names := _coordinates(joint))}:
        return joint
    values = np.array([added.get(name, 0.0) for name in names])
    return replace(joint, dynamics=replace(joint.dynamics, armature=values))


def _coordinates(joint: Joint) -> list[str]:
    """Return the names of a joint's coordinates."""
    single = joint.freedoms == 1
    return [joint.name if single else f"{joint.name}[{i}]" for i in range(joint.freedoms)]
