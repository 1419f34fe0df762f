"""Mechanisms from Pinocchio models, their constraint models, and closures as users write them."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from regularize.dynamics.pinocchio import pin
from regularize.dynamics.pinocchio.coordinates import HELD
from regularize.dynamics.pinocchio.multibody_reading import (
    JointPart,
    MimicJoint,
    mimic_of,
    movement,
    parts_of,
)
from regularize.errors import ModelError, NotTaken
from regularize.lie import screw
from regularize.lie.arrays import Array, Configuration
from regularize.lie.screw import IDENTITY
from regularize.mechanism.body import Body, Inertia
from regularize.mechanism.diagnostic import Diagnostic
from regularize.mechanism.joint import Joint, JointDynamics, JointLimits
from regularize.mechanism.joint_kinds import KINDS, joint_screws, kind_of
from regularize.mechanism.mechanism import Coupling, Mechanism
from regularize.tolerances import NEGLIGIBLE
from regularize.validation import ARRAY, LIST, validated


@dataclass(frozen=True, eq=False)
class Closure:
    """Two frames of a Pinocchio model that a joint keeps together.

    Attributes:
        joint1: Joint or frame on one side, by name or id; 0 is the world.
        placement1: The closing joint's frame, seen from that joint or frame: ``pinocchio.SE3`` or
            shape (4, 4).
        joint2: Joint or frame on the other side.
        placement2: The closing joint's frame on that side.
        kind: ``revolute``, ``prismatic``, ``helical``, ``universal``, ``cylindrical``,
            ``spherical``, ``planar`` or ``fixed``.
        axis: Axis of the closing joint in its own frame; of a planar joint the normal.
        axis2: Second axis of a universal joint, fixed on the second side.
        pitch: Of a helical joint, metres per radian.
        name: What reports call it; by default ``closure`` and its number.
        frames: Whether ids are those of frames of the model, not those of joints.
    """

    joint1: int | str
    placement1: Any
    joint2: int | str
    placement2: Any
    kind: str = "revolute"
    axis: ArrayLike = (0, 1, 0)
    axis2: ArrayLike = (0, 0, 1)
    pitch: float = 0.0
    name: str = ""
    frames: bool = False

    def __post_init__(self) -> None:
        object.__setattr__(self, "kind", kind_of(self.kind))
        if self.kind not in KINDS or self.kind in ("composite", "free"):
            known = ", ".join(kind for kind in KINDS if kind not in ("composite", "free"))
            raise ModelError(f"a closure cannot be of the kind {self.kind!r}; known: {known}")

    def __repr__(self) -> str:
        name = f" {self.name!r}" if self.name else ""
        return f"<Closure{name}: {self.kind} between {self.joint1!r} and {self.joint2!r}>"

    def joint(self, model: Any, names: Sequence[str], number: int) -> Joint:
        """The joint that closes the loop; ``names`` are those of the bodies behind all joints."""
        name = self.name or f"closure {number}"
        first, T_first = self._place(model, self.joint1, self.placement1, name)
        second, T_second = self._place(model, self.joint2, self.placement2, name)
        try:
            screws = joint_screws(self.kind, self.axis, self.axis2, self.pitch)
        except ValueError as error:
            raise ModelError(f"{name!r}: {error}") from None
        ends = names[first], names[second]
        return Joint(name, *ends, self.kind, screws, T_first, T_second, closure=True)

    def _place(self, model: Any, where: int | str, placement: Any, name: str) -> tuple[int, Array]:
        """Return the joint of the model, and the placement seen from it."""
        T = np.asarray(getattr(placement, "homogeneous", placement), dtype=np.float64)
        if T.shape != (4, 4):
            raise ModelError(f"{name!r}: a placement has shape {T.shape}; pass SE3 or (4, 4)")
        if isinstance(where, str) and model.existJointName(where):
            return int(model.getJointId(where)), T
        if isinstance(where, str):
            if not model.existFrame(where):
                known = ", ".join(list(model.names)[:20])
                raise ModelError(
                    f"{name!r}: the model has no joint and no frame {where!r}; joints: {known}"
                )
            where = int(model.getFrameId(where))
        elif not self.frames:
            if not 0 <= where < model.njoints:
                raise ModelError(f"{name!r}: the model has no joint {where} of {model.njoints}")
            return int(where), T
        if not 0 <= where < model.nframes:
            raise ModelError(f"{name!r}: the model has no frame {where} of {model.nframes}")
        frame = model.frames[where]
        return int(frame.parentJoint), np.asarray(frame.placement.homogeneous @ T)


GROUND = "universe"
#: Joint models whose coordinates are those of one exponential: no part of a series of screws.
WHOLE = ("Spherical", "FreeFlyer")
#: Constraint models that are read, and the joint that stands for each.
CLOSURES = {"PointAnchorConstraintModel": "spherical", "FrameAnchorConstraintModel": "fixed"}


@validated(constraint_models=LIST, q=ARRAY)
def from_pinocchio(
    model: Any, constraint_models: Iterable[Any] = (), q: Array | None = None
) -> Mechanism:
    """The mechanism of a Pinocchio model with its loops.

    Every joint of the model becomes a joint with a body behind it; a constraint model becomes a
    weld (six rows) or a ball joint (three rows) that closes a loop, or bounds and dry friction of
    joints. A mimic joint becomes a joint with a coupling; a composite joint that turns about a
    point inside becomes a series of joints.

    Args:
        model: A ``pinocchio.Model``.
        constraint_models: ``regularize.Closure`` entries, ``RigidConstraintModel``,
            ``PointAnchorConstraintModel``, ``FrameAnchorConstraintModel``,
            ``JointLimitConstraintModel`` and ``JointFrictionConstraintModel`` entries, or
            ``ConstraintModel`` around the latter four.
        q: Configuration to start from, shape (nq,); by default the neutral one.

    Raises:
        ModelError: A joint or a constraint is of a type that has no counterpart.
        NotTaken: It is no ``pinocchio.Model``.
    """
    if not isinstance(model, pin.Model):
        raise NotTaken(
            "takes a pinocchio.Model, and `load` and `to_pinocchio` take what else can be a model; "
            f"got an object of type {type(model).__name__!r}"
        )
    q = pin.neutral(model) if q is None else np.array(q, dtype=np.float64)
    if q.shape != (model.nq,):
        raise ModelError(f"q has shape {q.shape}, but the model needs ({model.nq},)")
    model = with_stops(model, constraints := [*constraint_models])
    names = body_names(model)
    bodies, joints, couplings = [Body(names[0])], [], []
    first: dict[int, Joint] = {}
    for i in range(1, model.njoints):
        if model.joints[i].shortname() == "JointModelMimic":
            mimic = mimic_of(model, i)
            joint, follows = _mimicking(model, i, names, first[mimic.primary], mimic)
            added = [joint]
            couplings += follows
        else:
            added = list(_joints(model, i, names, q))
            first[i] = added[0]
        bodies += [Body(joint.child) for joint in added[:-1]]
        bodies.append(Body(names[i], _inertia(model.inertias[i])))
        joints += added
    joints += [_closure(model, c, k, names) for k, c in enumerate(constraints) if not is_stop(c)]
    return Mechanism(
        name=str(model.name) or "pinocchio",
        bodies=tuple(bodies),
        joints=tuple(_unique(joints)),
        couplings=tuple(couplings),
        ground=names[0],
        gravity=np.array(model.gravity.linear),
        findings=tuple(_unread(model)),
        format="pinocchio",
    )


def _unread(model: Any) -> Iterator[Diagnostic]:
    """Yield findings on what the model says of joints that a mechanism has no place for."""
    unread = {
        "rotorInertia and rotorGearRatio (put rotors into armature)": model.rotorInertia != 0.0
    }
    for word in ("EffortLimit", "VelocityLimit", "DryFrictionLimit"):
        lower, upper = (np.array(getattr(model, side + word)) for side in ("lower", "upper"))
        unread[f"lower{word} where it is not -upper{word}"] = np.isfinite(lower) & (
            abs(lower) != abs(upper)
        )
    for words, places in unread.items():
        if np.any(places):
            yield Diagnostic("REG013", "note", f"not read: {words}")


def body_names(model: Any) -> list[str]:
    """Return the name of the body behind each joint: its first body frame's, or the joint's own."""
    names = [GROUND, *(f"{name} link" for name in list(model.names)[1:])]
    for frame in reversed([*model.frames]):
        if frame.type == pin.FrameType.BODY and frame.parentJoint > 0:
            names[int(frame.parentJoint)] = str(frame.name)
    for i, name in enumerate(names):
        names[i] = name if name not in names[:i] else f"{name} {i}"
    return names


def _unique(joints: Iterable[Joint]) -> list[Joint]:
    """Return joints with numbers appended to names that occur twice."""
    taken: set[str] = set()
    result = []
    for joint in joints:
        name, k = joint.name, 2
        while name in taken:
            name, k = f"{joint.name} {k}", k + 1
        taken.add(name)
        result.append(replace(joint, name=name))
    return result


def _inertia(inertia: Any) -> Inertia | None:
    """Return mass properties, None for a body without any."""
    if inertia.mass == 0.0 and not np.any(inertia.inertia):
        return None
    return Inertia(float(inertia.mass), np.array(inertia.lever), np.array(inertia.inertia))


def _joints(model: Any, index: int, names: list[str], q: Configuration) -> Iterator[Joint]:
    """Yield the joints that stand for one of the model: several if it is a series with balls."""
    name, T = str(model.names[index]), model.jointPlacements[index].homogeneous
    joint, parent = model.joints[index], names[int(model.parents[index])]
    parts = parts_of(joint)
    if len(parts) > 1 and any(part.short in WHOLE for part in parts):
        for k, part in enumerate(parts, start=1):
            child = names[index] if k == len(parts) else f"{name}/{k} link"
            kind, screws, position = movement(part, name, q)
            T = T @ part.placement
            values = {"position": position, **_values(model, part)}
            yield Joint(f"{name}/{k}", parent, child, kind, screws, T, **values)
            parent, T = child, IDENTITY
        return
    moved, columns, coordinates = IDENTITY, [], []
    for part in parts:
        kind, screws, position = movement(part, name, q)
        moved = moved @ part.placement
        columns.append(screw.adjoint(moved) @ screws)
        coordinates.append(position)
    if len(parts) > 1:
        kind, screws, position = "composite", np.hstack(columns), np.concatenate(coordinates)
    whole = JointPart(joint, T, int(joint.idx_q), int(joint.idx_v))
    values = {"position": position, **_values(model, whole)}
    # What the placements of the parts amount to lies behind the motion of all of them.
    yield Joint(name, parent, names[index], kind, screws, T, screw.inverse(moved), **values)


def _mimicking(
    model: Any, index: int, names: list[str], primary: Joint, mimic: MimicJoint
) -> tuple[Joint, list[Coupling]]:
    """Return a mimic joint as a joint of its own, and its coupling to the joint it follows."""
    name, T = str(model.names[index]), model.jointPlacements[index].homogeneous
    ends = (names[int(model.parents[index])], names[index])
    if mimic.screw is None:
        return Joint(name, *ends, "fixed", joint_screws("fixed"), mimic.rest), []
    _, _, pitch = screw.axis_of(mimic.screw)
    kind = "prismatic" if pitch is None else "helical" if abs(pitch) > NEGLIGIBLE else "revolute"
    position = mimic.scaling * primary.position + mimic.offset
    joint = Joint(name, *ends, kind, mimic.screw[:, None], T, position=position)
    terms = ((name, 0, 1.0), (primary.name, 0, -mimic.scaling))
    return joint, [Coupling(f"mimic {name}", "mimic", terms, mimic.offset)]


def _values(model: Any, joint: JointPart) -> dict[str, Any]:
    """Return limits, damping and friction of a joint; quaternions have no limits."""
    nq, nv = int(joint.model.nq), int(joint.model.nv)
    q, v = slice(joint.idx_q, joint.idx_q + nq), slice(joint.idx_v, joint.idx_v + nv)
    lower, upper = np.full((2, nv), [[-np.inf], [np.inf]])
    if nq == nv:
        lower, upper = _open(model.lowerPositionLimit[q]), _open(model.upperPositionLimit[q])
    rated = {"velocity": _open(model.velocityLimit[v]), "effort": _open(model.effortLimit[v])}
    rated = {key: bounds for key, bounds in rated.items() if np.any(np.isfinite(bounds))}
    limits = JointLimits(lower, upper, **rated)
    values = {key: np.array(getattr(model, key)[v]) for key in HELD}
    dynamics = JointDynamics(**{key: value for key, value in values.items() if np.any(value)})
    return {"limits": limits if limits.bounded or rated else None, "dynamics": dynamics}


def _open(bounds: Array) -> Array:
    """Return bounds with infinity in place of the largest float, Pinocchio's sign for no bound."""
    largest = np.finfo(np.float64).max
    return np.where(np.abs(bounds) >= largest, np.copysign(np.inf, bounds), bounds)


def _closure(model: Any, constraint: Any, number: int, names: list[str]) -> Joint:
    """Return the closure that one of Pinocchio's constraint models stands for."""
    if isinstance(constraint, Closure):
        return constraint.joint(model, names, number)
    inner = inner_of(constraint)
    name = str(getattr(constraint, "name", "")) or str(getattr(inner, "name", ""))
    of_type = type(inner).__name__
    if of_type not in (*CLOSURES, "RigidConstraintModel"):
        pushes = of_type == "PointContactConstraintModel"
        reason = "pushes and slides against friction" if pushes else "is not known here"
        raise ModelError(
            f"constraint {name or number!r}: {of_type} {reason}, and closes no loop; pass rigid, "
            "anchor, limit and friction constraints, and give others to Pinocchio's solver beside "
            "those of the robot, or stand it on the ground: simulate(…, contacts=[rg.Ground()])"
        )
    if of_type == "RigidConstraintModel":
        point = inner.type == pin.ContactType.CONTACT_3D
        of_type = "PointAnchorConstraintModel" if point else "FrameAnchorConstraintModel"
    kind = CLOSURES[of_type]
    return Joint(
        name or f"closure {number}",
        names[int(inner.joint1_id)],
        names[int(inner.joint2_id)],
        kind,
        joint_screws(kind),
        inner.joint1_placement.homogeneous,
        inner.joint2_placement.homogeneous,
        closure=True,
    )


#: Constraint models that bound and brake joints.
STOPS = ("JointLimitConstraintModel", "JointFrictionConstraintModel")


def inner_of(constraint: Any) -> Any:
    """Return the constraint model of its particular type, unwrapped from the variant."""
    extract = getattr(constraint, "extract", None)
    return constraint if extract is None else extract()


def is_stop(constraint: Any) -> bool:
    """Whether a constraint model bounds or brakes joints, and closes no loop."""
    return type(inner_of(constraint)).__name__ in STOPS


def with_stops(model: Any, constraints: Sequence[Any]) -> Any:
    """Return a copy of a model with the bounds and dry friction that constraint models set."""
    stops = [(k, inner_of(x)) for k, x in enumerate(constraints) if is_stop(x)]
    model = pin.Model(model) if stops else model
    for k, stop in stops:
        name = stop.name or k
        if type(stop).__name__ == "JointFrictionConstraintModel":
            limits = stop.getFrictionLowerLimit(), stop.getFrictionUpperLimit()
            least, most = (np.array([*limit]) for limit in limits)
            if np.any(least != -most):
                raise ModelError(
                    f"constraint {name!r}: friction of joints is the same both ways "
                    f"here, and is between {least.tolist()} and {most.tolist()}"
                )
            model.friction[[*stop.getActiveDofs()]] = most
            continue
        joints = [int(i) for i in stop.getSelectedJoints()]
        parts = (int(model.idx_qs[i]) + np.arange(int(model.nqs[i])) for i in joints)
        places = np.concatenate([np.zeros(0, dtype=int), *parts])
        bounds = np.array([*stop.getActivablePositionLimit()])
        stated = np.concatenate(
            [model.lowerPositionLimit[places], model.upperPositionLimit[places]]
        )
        stated = stated[np.abs(stated) < np.finfo(np.float64).max]
        if len(bounds) == 2 * len(places):
            model.lowerPositionLimit[places], model.upperPositionLimit[places] = np.split(bounds, 2)
        elif not np.array_equal(bounds, stated):
            raise ModelError(
                f"constraint {name!r}: which of its {len(bounds)} bounds are of which "
                f"coordinates of {', '.join(str(model.names[i]) for i in joints)} is not told; "
                "state them in the model: lowerPositionLimit, upperPositionLimit"
            )
    return model
