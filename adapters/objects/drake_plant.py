"""Reader of Drake's ``MultibodyPlant``; what pydrake does not tell is passed in again."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import numpy as np

from regularize.adapters.common.draft import WORLD, Draft
from regularize.adapters.common.pairs import distance_joint
from regularize.adapters.common.values import FilePlace
from regularize.errors import ReadError
from regularize.escape import listed, unique
from regularize.lie.arrays import Array
from regularize.lie.screw import IDENTITY, inverse, log, log_rotation, transform
from regularize.mechanism.body import Body, Inertia
from regularize.mechanism.joint import Joint, JointDynamics, JointLimits, relative_pose
from regularize.mechanism.joint_kinds import joint_screws
from regularize.mechanism.mechanism import Actuator, ActuatorGains, Mechanism

LABEL = "<MultibodyPlant>"
#: Joint kind of this project for each joint type of Drake.
KINDS = {
    **{"revolute": "revolute", "prismatic": "prismatic", "ball_rpy": "spherical"},
    **{"universal": "universal", "planar": "planar", "screw": "helical", "weld": "fixed"},
    **{"quaternion_floating": "free", "rpy_floating": "free"},
}
#: Kinds whose coordinates are those of Drake.
COORDINATES = ("revolute", "prismatic", "helical", "universal", "planar")
#: Methods that return stiffness and rest position of those force elements that are joint springs.
SPRINGS = {
    "RevoluteSpring": {"stiffness": "default_stiffness", "rest_position": "default_nominal_angle"},
    "PrismaticSpring": {"stiffness": "stiffness", "rest_position": "nominal_position"},
}
GRAVITY = "UniformGravityFieldElement"
#: Method of Drake's joint that returns the axis, for kinds of one freedom.
AXES = {"revolute": "revolute_axis", "prismatic": "translation_axis", "helical": "screw_axis"}


def read(plant: Any, *, constraints: Iterable[tuple[Any, ...]] = ()) -> Mechanism:
    """Read a ``pydrake.multibody.plant.MultibodyPlant``, finalized or not."""
    reading, arguments = _Reading(plant), [*constraints]
    rods = plant.GetDefaultDistanceConstraintParams()
    missing = plant.num_constraints() - len(rods) - len(arguments)
    if missing > 0:
        raise ReadError(
            LABEL,
            f"has balls, welds or couplers ({missing}) that pydrake does not tell the places of: "
            "load(plant, constraints=[(body_A, p_AP, body_B, p_BQ), …]) takes them as they were "
            "added; or load the file that the plant was parsed from",
        )
    for index in plant.GetJointIndices():
        reading.join(plant.get_joint(index))
    reading.ground_parts(reading.pose, usual=True)
    places = reading.places()
    reading.report_unread()
    for number, rod in enumerate(rods.values()):
        reading.keep_apart(f"distance_{number}", rod, places)
    for number, one in enumerate(arguments):
        reading.constrain(f"constraint_{number}", tuple(one), places)
    return reading.mechanism("drake", np.array(plant.gravity_field().gravity_vector()))


class _Reading(Draft):
    """The mechanism under construction while a plant is read."""

    def __init__(self, plant: Any) -> None:
        super().__init__(None, "plant")
        from pydrake.multibody.tree import BodyIndex, ForceElementIndex  # a plant comes from Drake

        bodies = [plant.get_body(BodyIndex(i)) for i in range(plant.num_bodies())]
        plain_names = [body.name() for body in bodies]
        self.plant, self._names, self._bodies = plant, dict[int, str](), dict[str, Any]()
        self._joint_names = dict[int, str]()  # by index in the plant
        self._motors = dict[int, list[Any]]()  # by index of their joint
        for motor in map(plant.get_joint_actuator, plant.GetJointActuatorIndices()):
            self._motors.setdefault(int(motor.joint().index()), []).append(motor)
        self._springs = dict[int, Any]()
        for index in range(plant.num_force_elements()):
            force = plant.get_force_element(ForceElementIndex(index))
            if type(force).__name__ in SPRINGS:
                self._springs[int(force.joint().index())] = force
            elif type(force).__name__ != GRAVITY:
                name = f"{type(force).__name__} {int(force.index())}"
                self.skip(
                    f"`{name}` is a force that is not read", FilePlace(LABEL, name, None).source
                )
        for body in bodies:
            alone = plain_names.count(body.name()) == 1 or int(body.index()) == 0
            name = body.name() if alone else self.scoped(body)
            name = WORLD if int(body.index()) == 0 else unique(name, {WORLD, *self.bodies})
            self._names[int(body.index())] = name
            self._bodies[name] = body
            inertia = None if name == WORLD else _inertia(body.default_spatial_inertia())
            self.bodies[name] = Body(name, inertia, source=self.place("body", body).source)

    def scoped(self, element: Any) -> str:
        """Return the name of an element behind that of its model instance."""
        return f"{self.plant.GetModelInstanceName(element.model_instance())}::{element.name()}"

    def place(self, what: str, element: Any) -> FilePlace:
        """Return the place in a finding for an element of the plant."""
        return FilePlace(LABEL, f"{what}[{self.scoped(element)!r}]", None)

    def pose(self, name: str) -> Array:
        """Return the default pose of a free-floating body in the world."""
        pose = self.plant.GetDefaultFloatingBaseBodyPose(self._bodies[name])
        return np.array(pose.GetAsMatrix4())

    def join(self, joint: Any) -> None:
        """Add a joint; it closes a loop where another joint already leads to its child."""
        kind = KINDS.get(joint.type_name())
        if kind is None:
            self.unread(f"joint `{joint.name()}` is of a type that is not read")
            return
        where = self.place("joint", joint)
        parent, child = (
            self._names[int(b.index())] for b in (joint.parent_body(), joint.child_body())
        )
        T_parent, T_child = (
            np.array(frame.GetFixedPoseInBodyFrame().GetAsMatrix4())
            for frame in (joint.frame_on_parent(), joint.frame_on_child())
        )
        if kind == "fixed":
            T_parent = T_parent @ joint.X_FM().GetAsMatrix4()
        screws, q = _motion(joint, kind)
        motors = self._motors.get(int(joint.index()), [])
        name = self._joint_names[int(joint.index())] = self.joint_name(joint.name())
        made = Joint(
            *(name, parent, child, kind, screws, T_parent, T_child),
            position=q,
            limits=self._limits(joint, kind, motors, where),
            dynamics=self._dynamics(joint, kind, motors),
            actuated=bool(motors) if self._motors else None,
            closure=any(each.child == child for each in self.joints.values()),
            source=where.source,
        )
        self.add_joint(made, where)
        for motor in motors:
            self._add_motor(motor, name)

    def _limits(
        self, joint: Any, kind: str, motors: list[Any], where: FilePlace
    ) -> JointLimits | None:
        """Return bounds, rates and the efforts of the motors; report those that are not read."""
        ends = [np.array(x) for x in (joint.position_lower_limits(), joint.position_upper_limits())]
        slowest, rate = joint.velocity_lower_limits(), joint.velocity_upper_limits()
        rate = np.maximum(-np.array(slowest), np.array(rate))
        accelerations = [joint.acceleration_lower_limits(), joint.acceleration_upper_limits()]
        unread: dict[str, list[Any]] = {"acceleration": accelerations}
        if kind not in COORDINATES:
            unread |= {"position": ends, "velocity": [rate]}
        odd = [f"{k} limits" for k, bounds in unread.items() if np.isfinite(np.array(bounds)).any()]
        if odd:
            self.skip(f"{listed(odd)} of joint `{joint.name()}` are not read", where.source)
        if kind not in COORDINATES:
            return None
        effort = np.full(len(rate), sum(motor.effort_limit() for motor in motors) or np.inf)
        rated = {"velocity": rate, "effort": effort}
        rated = {key: values for key, values in rated.items() if np.isfinite(values).any()}
        limits = JointLimits(*ends, **rated)
        return limits if limits.bounded or rated else None

    def _dynamics(self, joint: Any, kind: str, motors: list[Any]) -> JointDynamics:
        """Return damping, the spring, and the rotors of the motors."""
        values = {} if kind == "free" else {"damping": np.array(joint.default_damping_vector())}
        values["armature"] = np.array([sum(motor.default_reflected_inertia() for motor in motors)])
        spring = self._springs.get(int(joint.index()))
        if spring is not None:
            for key, method in SPRINGS[type(spring).__name__].items():
                values[key] = np.array([getattr(spring, method)()])
        stated = {k: v for k, v in values.items() if np.any(v) or k == "rest_position"}
        return JointDynamics(**stated)

    def _add_motor(self, motor: Any, joint: str) -> None:
        """Add a motor with its largest force and the gains of its controller."""
        effort, gains = float(motor.effort_limit()), None
        if motor.has_controller():
            pd = motor.get_controller_gains()
            gains = ActuatorGains(float(pd.p), float(pd.p), float(pd.d))
        made = Actuator(
            unique(motor.name(), {actuator.name for actuator in self.actuators}),
            *(joint, 0, "motor" if gains is None else "position"),
            force_range=(-effort, effort) if np.isfinite(effort) else None,
            gains=gains,
            source=self.place("actuator", motor).source,
        )
        self.actuators.append(made)

    def report_unread(self) -> None:
        """Report shapes, deformable bodies and models without gravity, which are not read."""
        from pydrake.multibody.tree import ModelInstanceIndex  # as above

        plant, unread = self.plant, list[str]()
        if plant.geometry_source_is_registered() and plant.num_collision_geometries():
            unread.append(f"{plant.num_collision_geometries()} shapes for collisions")
        if deformable := plant.deformable_model().num_bodies():
            unread.append(f"{deformable} deformable bodies")
        for index in range(plant.num_model_instances()):
            instance = ModelInstanceIndex(index)
            if not plant.is_gravity_enabled(instance):
                unread.append(f"that `{plant.GetModelInstanceName(instance)}` has no gravity")
        if unread:
            self.skip(f"not read: {listed(unread)}")

    def places(self) -> dict[str, Array]:
        """Return the pose of each body in the world at the default positions."""
        poses = {WORLD: IDENTITY}
        tree = [joint for joint in self.joints.values() if not joint.closure]
        while new := [j for j in tree if (j.parent in poses) != (j.child in poses)]:
            for joint in new:
                T = relative_pose(joint, joint.position)
                if joint.parent in poses:
                    poses[joint.child] = poses[joint.parent] @ T
                else:
                    poses[joint.parent] = poses[joint.child] @ inverse(T)
        return poses

    def keep_apart(self, name: str, rod: Any, places: dict[str, Array]) -> None:
        """Add a rigid distance constraint as a rod; report one with a finite stiffness."""
        where = FilePlace(LABEL, name, None)
        first, second = (self._names[int(body)] for body in (rod.bodyA(), rod.bodyB()))
        if np.isfinite(rod.stiffness()):
            self.skip(f"the spring between `{first}` and `{second}` is not read", where.source)
            return
        sides = [
            (body, transform(translation=point))
            for body, point in ((first, rod.p_AP()), (second, rod.p_BQ()))
        ]
        T = inverse(places[first]) @ places[second]
        name = self.joint_name(name)
        made = distance_joint(name, sides[0], sides[1], T, rod.distance(), where.source)
        self.add_joint(made, where)

    def constrain(self, name: str, arguments: tuple[Any, ...], places: dict[str, Array]) -> None:
        """Add a ball, weld or coupler from the arguments that it was added to the plant with."""
        where = FilePlace(LABEL, name, None)
        try:
            first, other, second, last = (*arguments, None) if len(arguments) == 3 else arguments
            if isinstance(second, (int, float)):
                index = self._joint_names
                names = [x if isinstance(x, str) else index[int(x.index())] for x in (first, other)]
                ends = [(self.joint_named(x, where).name, 0) for x in names]
                terms = (*ends[0], 1.0), (*ends[1], -float(second))
                self.couple(name, "gear", terms, float(last or 0.0), where.source)
                return
            bodies = [
                self.body_named(x if isinstance(x, str) else self._names[int(x.index())], where)
                for x in (first, second)
            ]
            T_a, weld = _frame(other)
            if last is None:  # where they meet by default, as Drake takes it
                T = inverse(places[bodies[1]]) @ places[bodies[0]] @ T_a
                T_b, same = transform(translation=T[:3, 3]), not weld
            else:
                T_b, same = _frame(last)[0], _frame(last)[1] == weld
        except (TypeError, ValueError, AttributeError, KeyError):
            same = False
        if not same:
            raise ReadError(
                LABEL,
                "takes (body_A, p_AP, body_B, p_BQ) for a ball, (body_A, X_AP, body_B, X_BQ) for a "
                "weld, (joint_0, joint_1, gear_ratio, offset) for a coupler",
                element=name,
            )
        kind = "fixed" if weld else "spherical"
        self.close(where, self.joint_name(name), kind, (bodies[0], T_a), (bodies[1], T_b))


def _frame(at: Any) -> tuple[Array, bool]:
    """Return a point or a pose as a frame (4, 4), and whether it is a pose."""
    if hasattr(at, "GetAsMatrix4"):
        return np.array(at.GetAsMatrix4()), True
    return transform(translation=np.asarray(at, dtype=float).reshape(3)), False


def _motion(joint: Any, kind: str) -> tuple[Array, Array]:
    """Return the screws of a joint in its frame, and its coordinates at the default positions."""
    q = np.array(joint.default_positions())
    if kind in AXES:
        pitch = joint.screw_pitch() / (2 * np.pi) if kind == "helical" else 0.0
        return joint_screws(kind, getattr(joint, AXES[kind])(), pitch=pitch), q
    if kind == "universal":
        return joint_screws(kind, (1, 0, 0), (0, 1, 0)), q
    if kind == "planar":  # x, y and the angle about z
        return np.eye(6)[:, [0, 1, 5]], q
    if kind == "fixed":
        return joint_screws(kind), np.zeros(0)
    if kind == "free":
        return np.eye(6), log(np.array(joint.GetDefaultPose().GetAsMatrix4()))
    from pydrake.math import RollPitchYaw  # as above

    return joint_screws(kind), log_rotation(np.array(RollPitchYaw(q).ToRotationMatrix().matrix()))


def _inertia(spatial: Any) -> Inertia | None:
    """Return mass properties of a ``SpatialInertia``; None where Drake has NaN for none."""
    mass = float(spatial.get_mass())
    if not mass > 0.0:
        return None
    central = spatial.Shift(spatial.get_com()).CalcRotationalInertia().CopyToFullMatrix3()
    return Inertia(mass, np.array(spatial.get_com()), np.array(central))
