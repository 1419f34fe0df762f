"""Models moved in Drake, as discrete plants with its convex solver, which closes loops.

A constraint that Drake cannot hold may end the process, so that this runs in one of its own.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np

from regularize.errors import UnsupportedExport
from regularize.lie.arrays import Array
from regularize.mechanism.mechanism import Mechanism
from regularize.repair.engines.in_mujoco import SMALL
from regularize.repair.engines.motion import DURATION, MOMENTS, EngineMotion, load

STEP = 1e-3  # seconds
#: Directions of motion that a closure takes away, of angular and linear velocity, by its kind.
HELD = {"spherical": slice(3, 6), "fixed": slice(0, 6)}


def record(source: str, drive: str, strength: float, mechanism: Mechanism) -> EngineMotion:
    """Move a file in Drake; ``drive`` is alone, motors, or loads."""
    from pydrake.multibody import math, parsing, tree
    from pydrake.multibody import plant as plants
    from pydrake.systems.analysis import Simulator

    plant = plants.MultibodyPlant(STEP)
    plant.set_discrete_contact_approximation(plants.DiscreteContactApproximation.kSap)
    try:
        parsing.Parser(plant).AddModels(Path(source))
        plant.Finalize()
        simulator = Simulator(plant)
        context = simulator.get_mutable_context()
        bodies = [plant.get_body(tree.BodyIndex(i)) for i in range(1, plant.num_bodies())]
        frames, loads = [], []
        for body in bodies if drive == "loads" else ():
            inertia = body.default_rotational_inertia().CopyToFullMatrix3()
            force = load(body.name(), body.default_mass(), float(np.trace(inertia)))
            loads.append(plants.ExternallyAppliedSpatialForce())
            loads[-1].body_index = body.index()
            loads[-1].F_Bq_W = math.SpatialForce(force[3:], force[:3])
        plant.get_applied_spatial_force_input_port().FixValue(context, loads)
        for moment in range(MOMENTS + 1):
            frames.append([plant.EvalBodyPoseInWorld(context, b).GetAsMatrix4() for b in bodies])
            if plant.num_actuators():
                share = strength * np.sin(2.0 * np.pi * moment / MOMENTS)
                effort = share * _efforts(plant) if drive == "motors" else 0.0
                values = np.broadcast_to(effort, plant.num_actuators())
                plant.get_actuation_input_port().FixValue(context, values)
            simulator.AdvanceTo(DURATION * (moment + 1) / MOMENTS)
    except RuntimeError as error:
        told = " ".join(str(error).split())[:300]
        raise UnsupportedExport(f"Drake refuses it: {told}") from error
    poses = np.array(frames).reshape(len(frames), len(bodies), 4, 4)
    freedoms = int(plant.num_velocities()) - _rank(plant, context, mechanism)
    masses = {body.name(): float(body.default_mass()) for body in bodies}
    paths = {body.name(): poses[:, i] for i, body in enumerate(bodies)}
    return EngineMotion(freedoms, int(plant.num_actuators()), {}, masses, paths)


def _efforts(plant: Any) -> Array:
    """Return the effort limits of all actuators; unlimited ones get the plant's weight."""
    limits = [plant.get_joint_actuator(i).effort_limit() for i in plant.GetJointActuatorIndices()]
    weight = 9.81 * plant.CalcTotalMass(plant.CreateDefaultContext())
    return np.array([value if np.isfinite(value) else weight for value in limits])


def _rank(plant: Any, context: Any, mechanism: Mechanism) -> int:
    """Return the rank of the closures that the plant has constraints for."""
    from pydrake.multibody.tree import JacobianWrtVariable

    closures = [joint for joint in mechanism.joints if joint.closure]
    if plant.num_constraints() < len(closures):
        raise UnsupportedExport(
            f"Drake has {plant.num_constraints()} constraints for {len(closures)} closing joints"
        )
    world, rows = plant.world_frame(), [np.zeros((0, plant.num_velocities()))]
    for joint in closures:
        sides = []
        for name, T in ((joint.parent, joint.T_parent_joint), (joint.child, joint.T_child_joint)):
            ground = name == mechanism.ground and not plant.HasBodyNamed(name)
            frame = world if ground else plant.GetBodyByName(name).body_frame()
            asked = context, JacobianWrtVariable.kV, frame, T[:3, 3], world, world
            sides.append(plant.CalcJacobianSpatialVelocity(*asked))
        rows.append((sides[1] - sides[0])[HELD.get(joint.kind, slice(0, 6))])
        if joint.kind == "revolute":
            pose = plant.CalcRelativeTransform(context, world, frame).rotation().matrix()
            across = np.linalg.svd(pose @ joint.T_child_joint[:3, :3] @ joint.screws[3:])[0][:, 1:]
            rows[-1] = np.vstack([across.T @ rows[-1][:3], rows[-1][3:]])
    return int(np.linalg.matrix_rank(np.vstack(rows), rtol=SMALL)) if closures else 0
