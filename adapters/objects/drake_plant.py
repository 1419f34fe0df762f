"""Drake's ``MultibodyPlant``: bodies, joints, and constraints as far as Python is told of them.

pydrake has no way to ask a plant where its ball, weld and coupler constraints are. They are given
once more, with the arguments that they were added with; what is not given is a warning.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import numpy as np

from regularize.adapters.common.draft import WORLD, Draft
from regularize.adapters.common.located import FilePlace
from regularize.adapters.common.names import unique
from regularize.errors import ReadError
from regularize.lie.screw import Array, log, log_rotation, transform
from regularize.mechanism.body import Body, Inertia
from regularize.mechanism.joint import Joint, joint_screws
from regularize.mechanism.joint_limits import JointDynamics, JointLimits
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


def read(plant: Any, *, constraints: Iterable[tuple[Any, Any, Any, Any]] = ()) -> Mechanism:
    """Read a ``pydrake.multibody.plant.MultibodyPlant``, finalized or not.

    Before it is finalized, joints may close loops, which Drake would refuse or cut.

    Args:
        plant: The plant, which is left as it is; its default positions are the reference pose.
        constraints: Arguments of the plant's ``AddBallConstraint`` and ``AddWeldConstraint``:
            ``(body_A, p_AP, body_B, p_BQ)`` or ``(body_A, X_AP, body_B, X_BQ)``; bodies may be
            names.

    Raises:
        ReadError: A body is unknown, or a constraint is none of these.
    """
    reading = _Reading(plant)
    for index in plant.GetJointIndices():
        reading.join(plant.get_joint(index))
    given = [*constraints]
    for number, each in enumerate(given):
        reading.constrain(f"constraint_{number}", *each)
    missing = plant.num_constraints() - len(given)
    if missing > 0:
        reading.unread(
            f"{missing} constraints of the plant are not read, for Drake does not tell Python "
            "where they are: the mechanism has fewer joints than the plant",
            None,
            "load(plant, constraints=[(body_A, p_AP, body_B, p_BQ), …]), as they were added; or "
            "the file that the plant was parsed from",
        )
    reading.ground_parts(reading.pose, usual=True)
    gravity = np.array(plant.gravity_field().gravity_vector())
    return reading.mechanism("drake", gravity)


class _Reading(Draft):
    """A plant while it is being read."""

    def __init__(self, plant: Any) -> None:
        super().__init__(None, "plant")
        from pydrake.multibody.tree import BodyIndex  # where there is a plant, there is Drake

        bodies = [plant.get_body(BodyIndex(i)) for i in range(plant.num_bodies())]
        short = [body.name() for body in bodies]
        self.plant, self._names, self._bodies = plant, dict[int, str](), dict[str, Any]()
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
        """Where a finding about an element of the plant points to."""
        return FilePlace(LABEL, f"{what}[{self.scoped(element)!r}]", None)

    def pose(self, name: str) -> Array:
        """Where a body that nothing holds floats by default."""
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
        one = kind in ("revolute", "prismatic", "helical")
        limits = (
            JointLimits(
                *(np.array(f()) for f in (joint.position_lower_limits, joint.position_upper_limits))
            )
            if one
            else None
        )
        damping = joint.default_damping_vector() if one else np.zeros(1)
        name = self.joint_name(joint.name())
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
            dynamics=JointDynamics(damping=np.array(damping))
            if np.any(damping)
            else JointDynamics(),
            actuated=int(joint.index()) in self._motors if self._motors else None,
            closure=any(each.child == child for each in self.joints.values()),
            source=where.source,
        )
        self.add_joint(made, where)

    def constrain(self, name: str, first: Any, at_first: Any, second: Any, at_second: Any) -> None:
        """Add a ball or a weld."""
        where = FilePlace(LABEL, name, None)
        ends = []
        for body, at in ((first, at_first), (second, at_second)):
            known = body if isinstance(body, str) else self._names.get(int(body.index()), "")
            weld = hasattr(at, "GetAsMatrix4")
            T = at.GetAsMatrix4() if weld else transform(translation=np.asarray(at, dtype=float))
            ends.append((self.body_named(known, where), np.array(T), weld))
        if ends[0][2] != ends[1][2]:
            raise ReadError(
                LABEL, "takes two points for a ball, two poses for a weld", element=name
            )
        self.close(where, name, "fixed" if ends[0][2] else "spherical", ends[0][:2], ends[1][:2])


def _motion(joint: Any, kind: str) -> tuple[Array, Array]:
    """Screws of a joint in its frame, and its coordinates at the default positions."""
    q = np.array(joint.default_positions())
    if kind == "revolute":
        return joint_screws(kind, joint.revolute_axis()), q
    if kind == "prismatic":
        return joint_screws(kind, joint.translation_axis()), q
    if kind == "helical":
        return joint_screws(kind, joint.screw_axis(), pitch=joint.screw_pitch() / (2 * np.pi)), q
    if kind == "universal":
        return joint_screws(kind, (1, 0, 0), (0, 1, 0)), q
    if kind == "planar":  # x, y and the angle about z
        screws = np.zeros((6, 3))
        screws[0, 0] = screws[1, 1] = screws[5, 2] = 1.0
        return screws, q
    if kind == "fixed":
        return joint_screws(kind), np.zeros(0)
    T = np.array(joint.GetDefaultPose().GetAsMatrix4()) if kind == "free" else None
    if T is not None:
        return np.eye(6), log(T)
    from pydrake.math import RollPitchYaw  # as above

    return joint_screws(kind), log_rotation(RollPitchYaw(q).ToRotationMatrix().matrix())


def _inertia(spatial: Any) -> Inertia | None:
    """Mass properties; bodies that state none have NaN."""
    mass = float(spatial.get_mass())
    if not mass > 0.0:
        return None
    central = spatial.Shift(spatial.get_com()).CalcRotationalInertia().CopyToFullMatrix3()
    return Inertia(mass, np.array(spatial.get_com()), np.array(central))
