"""The benchmark problems in Drake, which has no joints that close loops.

Two ways remain. With fixed steps the contact solver SAP holds points together, one in a plane and
two on the axis else, as MuJoCo does; other thresholds of near-rigidness change no digit. Without
steps of its own the plant takes bushings, stiff and damped springs between the two halves of a
hinge, which its documentation names for closed chains, and Radau's implicit method goes through
them; explicit methods were tried, and are slower at equal error. CENIC wants a geometry port.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from time import process_time
from typing import Any

import numpy as np
from trajectory_peers import Poses, Problem, Run, begun

#: Seconds after which a run is given up, and the longest step of integrators that choose theirs.
PATIENCE, LONGEST = 20.0, 0.1
#: What Radau's method is asked for.
ACCURACIES = (1e-4, 1e-6, 1e-7)


def _plant(problem: Problem, step: float, stiffness: float) -> Any:
    """The tree of hinges, and what closes the loops: points, or bushings where no step is given."""
    from pydrake.math import RigidTransform
    from pydrake.multibody import plant as plants
    from pydrake.multibody import tree

    mechanism = problem.mechanism
    plant = plants.MultibodyPlant(step)
    if step:
        plant.set_discrete_contact_approximation(plants.DiscreteContactApproximation.kSap)
    plant.mutable_gravity_field().set_gravity_vector(mechanism.gravity)
    # Points held to the world itself end the process; a body that is welded to it bears them.
    unit = tree.SpatialInertia.MakeFromCentralInertia(
        1.0, np.zeros(3), tree.RotationalInertia(1.0, 1.0, 1.0)
    )
    bodies = {mechanism.ground: plant.AddRigidBody(mechanism.ground, unit)}
    plant.WeldFrames(plant.world_frame(), bodies[mechanism.ground].body_frame())
    pivots = {mechanism.ground: np.zeros(3)}
    for joint in problem.tree():
        inertia = problem.inertia(joint.child)
        m, pivot = inertia.matrix, joint.T_parent_joint[:3, 3]
        entries = tree.RotationalInertia(m[0, 0], m[1, 1], m[2, 2], m[0, 1], m[0, 2], m[1, 2])
        spatial = tree.SpatialInertia.MakeFromCentralInertia(
            inertia.mass, inertia.center - pivot, entries
        )
        pivots[joint.child] = pivot
        bodies[joint.child] = plant.AddRigidBody(joint.child, spatial)
        hinge = tree.RevoluteJoint(
            joint.name,
            plant.AddFrame(
                tree.FixedOffsetFrame(
                    f"{joint.name} at",
                    bodies[joint.parent],
                    RigidTransform(pivot - pivots[joint.parent]),
                )
            ),
            bodies[joint.child].body_frame(),
            joint.screws[3:, 0],
        )
        plant.AddJoint(hinge)
    for joint in mechanism.joints:
        if joint.closure:
            ends = [(bodies[name], pivots[name]) for name in (joint.parent, joint.child)]
            if step:
                _points(plant, joint, ends, problem.planar)
            else:
                _bushing(plant, joint, ends, problem.planar, stiffness)
    if problem.spring is not None:
        body, point, fixed, constant, rest = problem.spring
        spring = tree.LinearSpringDamper(
            bodies[mechanism.ground], fixed, bodies[body], point - pivots[body], rest, constant, 0.0
        )
        plant.AddForceElement(spring)
    plant.Finalize()
    return plant


def _points(plant: Any, joint: Any, ends: Any, planar: bool) -> None:
    """Points that stay together."""
    (one, first), (two, second) = ends
    for shift in (0.0,) if planar else (0.0, 1.0):
        at = joint.T_parent_joint[:3, 3] + shift * joint.screws[3:, 0]
        plant.AddBallConstraint(one, at - first, two, at - second)


def _bushing(plant: Any, joint: Any, ends: Any, planar: bool, stiffness: float) -> None:
    """A spring in the directions that a hinge holds, damped critically for a mass of one."""
    from pydrake.math import RigidTransform, RotationMatrix
    from pydrake.multibody import tree

    R = RotationMatrix.MakeFromOneVector(joint.screws[3:, 0], 2)
    frames = [
        plant.AddFrame(
            tree.FixedOffsetFrame(
                f"{joint.name} end {k}",
                body,
                RigidTransform(R, joint.T_parent_joint[:3, 3] - pivot),
            )
        )
        for k, (body, pivot) in enumerate(ends)
    ]
    pushed = np.array([1.0, 1.0, 0.0 if planar else 1.0])
    turned = np.array([0.0, 0.0, 0.0]) if planar else np.array([1.0, 1.0, 0.0])
    damping = 2.0 * np.sqrt(stiffness)
    plant.AddForceElement(
        tree.LinearBushingRollPitchYaw(
            *frames, stiffness * turned, damping * turned, stiffness * pushed, damping * pushed
        )
    )


def _run(problem: Problem, plant: Any, rates: Any, accuracy: float) -> Run:
    """What runs a plant, to an accuracy where it has no steps of its own."""
    from pydrake.systems import analysis
    from pydrake.systems.framework import EventStatus

    names = problem.moving()
    bodies = {name: plant.GetBodyByName(name) for name in names}
    arms = {}
    context = plant.CreateDefaultContext()
    for name in names:
        start = plant.EvalBodyPoseInWorld(context, bodies[name])
        arms[name] = start.inverse() @ problem.reference(name)
    torques = np.zeros(plant.num_velocities())
    for name, torque in problem.torques.items():
        torques[plant.GetJointByName(name).velocity_start()] = torque

    def run() -> list[Poses]:
        simulator = analysis.Simulator(plant)
        context = simulator.get_mutable_context()
        plant.get_applied_generalized_force_input_port().FixValue(context, torques)
        for name, rate in rates.items():
            plant.GetJointByName(name).set_angular_rate(context, rate)
        if not plant.time_step():
            integrator = analysis.ResetIntegratorFromFlags(simulator, "radau3", LONGEST)
            integrator.set_target_accuracy(accuracy)
        started, found = process_time(), []

        def patient(_: Any) -> Any:
            hopeless = process_time() - started > PATIENCE
            return (
                EventStatus.ReachedTermination(None, "") if hopeless else EventStatus.DidNothing()
            )

        simulator.set_monitor(patient)
        for time in problem.times:
            try:
                simulator.AdvanceTo(time)
            except RuntimeError:  # no step is short enough
                return []
            if context.get_time() < time:
                return []
            poses = {name: plant.EvalBodyPoseInWorld(context, bodies[name]) for name in names}
            found.append(
                Poses(
                    {name: X @ arms[name] for name, X in poses.items()},
                    {name: X.rotation().matrix() for name, X in poses.items()},
                )
            )
        return found

    return run


def of_drake(
    problem: Problem, steps: Sequence[float], stiffness: Sequence[float]
) -> Iterator[tuple[str, float, Callable[[], Run]]]:
    """Steps in seconds from long to short; accuracies with stiffnesses of bushings."""
    rates = begun(problem)
    for step in steps:

        def stepped(step: float = step) -> Run:
            return _run(problem, _plant(problem, step, 0.0), rates, 0.0)

        yield "SAP", step, stepped
    for accuracy in ACCURACIES:
        for k in stiffness:

            def free(accuracy: float = accuracy, k: float = k) -> Run:
                return _run(problem, _plant(problem, 0.0, k), rates, accuracy)

            yield f"bushings, Radau to {accuracy:g}", k, free
