"""Drake's ``MultibodyPlant``: bodies, joints, and constraints as far as Python is told of them.

pydrake tells where distance constraints are. Of balls, welds and couplers it tells how many there
are, so they are given once more, with the arguments that they were added with; a plant that has
more of them than were given is refused.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import numpy as np

from regularize.adapters.common.draft import WORLD, Draft
from regularize.adapters.common.pairs import distance_joint
from regularize.adapters.common.values import FilePlace
from regularize.errors import ReadError
from regularize.escape import unique
from regularize.lie.arrays import Array
from regularize.lie.screw import IDENTITY, inverse, log, log_rotation, transform
from regularize.mechanism.body import Body, Inertia
from regularize.mechanism.joint import Joint, JointDynamics, JointLimits, relative_pose
from regularize.mechanism.joint_kinds import joint_screws
from regularize.mechanism.mechanism import Mechanism

LABEL = "<MultibodyPlant>"
#: Kinds by Drake's types.
KINDS = {
    "revolute": "revolute",
    "prismatic": "prismatic",
    "ball_rpy": "spherical",
    "universal": "universal",
    "planar": "planar",
    "screw": "helical",
    "weld": "fixed",
    "quaternion_floating": "free",
    "rpy_floating": "free",
}
#: What gives the axis of a joint of one freedom.
AXES = {"revolute": "revolute_axis", "prismatic": "translation_axis", "helical": "screw_axis"}


def read(plant: Any, *, constraints: Iterable[tuple[Any, ...]] = ()) -> Mechanism:
    """Read a ``pydrake.multibody.plant.MultibodyPlant``, finalized or not."""
    reading, given = _Reading(plant), [*constraints]
    rods = plant.GetDefaultDistanceConstraintParams()
    missing = plant.num_constraints() - len(rods) - len(given)
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
    for number, rod in enumerate(rods.values()):
        reading.keep_apart(f"distance_{number}", rod, places)
    for number, each in enumerate(given):
        reading.constrain(f"constraint_{number}", tuple(each), places)
    return reading.mechanism("drake", np.array(plant.gravity_field().gravity_vector()))


class _Reading(Draft):
    """A plant while it is being read."""

    def __init__(self, plant: Any) -> None:
        super().__init__(None, "plant")
        from pydrake.multibody.tree import BodyIndex  # where there is a plant, there is Drake

        bodies = [plant.get_body(BodyIndex(i)) for i in range(plant.num_bodies())]
        short = [body.name() for body in bodies]
        self.plant, self._names, self._bodies = plant, dict[int, str](), dict[str, Any]()
        self._joined = dict[int, str]()
        self._motors = {
            int(plant.get_joint_actuator(each).joint().index())
            for each in plant.GetJointActuatorIndices()
        }
        for body in bodies:
            alone = short.count(body.name()) == 1 or int(body.index()) == 0
            name = body.name() if alone else self.scoped(body)
            name = WORLD if int(body.index()) == 0 else unique(name, {WORLD, *self.bodies})
            self._names[int(body.index())] = name
            self._bodies[name] = body
            inertia = None if name == WORLD else _inertia(body.default_spatial_inertia())
            self.bodies[name] = Body(name, inertia, source=self.place("body", body).source)

    def scoped(self, element: Any) -> str:
        """Name of an element with its model instance."""
        return f"{self.plant.GetModelInstanceName(element.model_instance())}::{element.name()}"

    def place(self, what: str, element: Any) -> FilePlace:
        """Return the place in a finding for an element of the plant."""
        return FilePlace(LABEL, f"{what}[{self.scoped(element)!r}]", None)

    def pose(self, name: str) -> Array:
        """Return the default pose of a free-floating body in the world."""
        pose = self.plant.GetDefaultFloatingBaseBodyPose(self._bodies[name])
        return np.array(pose.GetAsMatrix4())

    def join(self, joint: Any) -> None:
        """Add a joint, closed where another one leads to its child already."""
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
        limits, dynamics = None, JointDynamics()
        if kind in AXES:
            ends = joint.position_lower_limits(), joint.position_upper_limits()
            limits = JointLimits(*map(np.array, ends))
            damping = np.array(joint.default_damping_vector())
            dynamics = JointDynamics(damping=damping) if np.any(damping) else dynamics
        name = self._joined[int(joint.index())] = self.joint_name(joint.name())
        made = Joint(
            name,
            parent,
            child,
            kind,
            screws,
            T_parent,
            T_child,
            position=q,
            limits=limits if limits is not None and limits.bounded else None,
            dynamics=dynamics,
            actuated=int(joint.index()) in self._motors if self._motors else None,
            closure=any(each.child == child for each in self.joints.values()),
            source=where.source,
        )
        self.add_joint(made, where)

    def places(self) -> dict[str, Array]:
        """Return the pose of each body in the world at the default positions."""
        found = {WORLD: IDENTITY}
        tree = [joint for joint in self.joints.values() if not joint.closure]
        while new := [j for j in tree if (j.parent in found) != (j.child in found)]:
            for joint in new:
                T = relative_pose(joint, joint.position)
                if joint.parent in found:
                    found[joint.child] = found[joint.parent] @ T
                else:
                    found[joint.parent] = found[joint.child] @ inverse(T)
        return found

    def keep_apart(self, name: str, rod: Any, places: dict[str, Array]) -> None:
        """Add a distance constraint, unless it is a spring."""
        where = FilePlace(LABEL, name, None)
        first, second = (self._names[int(each)] for each in (rod.bodyA(), rod.bodyB()))
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

    def constrain(self, name: str, given: tuple[Any, ...], places: dict[str, Array]) -> None:
        """Add a ball, a weld or a coupler, as it was added to the plant."""
        where = FilePlace(LABEL, name, None)
        try:
            first, other, second, last = (*given, None) if len(given) == 3 else given
            if isinstance(second, (int, float)):
                names = [
                    x if isinstance(x, str) else self._joined[int(x.index())]
                    for x in (first, other)
                ]
                ends = [(self.joint_named(x, where).name, 0) for x in names]
                terms = (*ends[0], 1.0), (*ends[1], -float(second))
                self.couple(name, "gear", terms, float(last or 0.0), where.source)
                return
            known = [
                self.body_named(x if isinstance(x, str) else self._names[int(x.index())], where)
                for x in (first, second)
            ]
            T_a, weld = _frame(other)
            if last is None:  # where they meet by default, as Drake takes it
                T = inverse(places[known[1]]) @ places[known[0]] @ T_a
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
        self.close(where, self.joint_name(name), kind, (known[0], T_a), (known[1], T_b))


def _frame(at: Any) -> tuple[Array, bool]:
    """A point or a pose as a frame, and whether it is a pose."""
    if hasattr(at, "GetAsMatrix4"):
        return np.array(at.GetAsMatrix4()), True
    return transform(translation=np.asarray(at, dtype=float).reshape(3)), False


def _motion(joint: Any, kind: str) -> tuple[Array, Array]:
    """Screws of a joint in its frame, and its coordinates at the default positions."""
    q = np.array(joint.default_positions())
    if kind in AXES:
        pitch = joint.screw_pitch() / (2 * np.pi) if kind == "helical" else 0.0
        return joint_screws(kind, getattr(joint, AXES[kind])(), pitch=pitch), q
    if kind == "universal":
        return joint_screws(kind, (1, 0, 0), (0, 1, 0)), q
    if kind == "planar":  # x, y and the angle about z
        screws = np.zeros((6, 3))
        screws[0, 0] = screws[1, 1] = screws[5, 2] = 1.0
        return screws, q
    if kind == "fixed":
        return joint_screws(kind), np.zeros(0)
    if kind == "free":
        return np.eye(6), log(np.array(joint.GetDefaultPose().GetAsMatrix4()))
    from pydrake.math import RollPitchYaw  # as above

    return joint_screws(kind), log_rotation(np.array(RollPitchYaw(q).ToRotationMatrix().matrix()))


def _inertia(spatial: Any) -> Inertia | None:
    """Mass properties; bodies that state none have NaN."""
    mass = float(spatial.get_mass())
    if not mass > 0.0:
        return None
    central = spatial.Shift(spatial.get_com()).CalcRotationalInertia().CopyToFullMatrix3()
    return Inertia(mass, np.array(spatial.get_com()), np.array(central))
