"""A Pinocchio model with its constraint models: read as one, and made anew with other joints."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from regularize.adapters.common.edits import Patch, WantedKind
from regularize.adapters.common.patching import Patcher
from regularize.dynamics.pinocchio import pin
from regularize.dynamics.pinocchio.importing import Closure, from_pinocchio, inner_of, is_stop
from regularize.dynamics.pinocchio.spanning_tree import aligned
from regularize.errors import ModelError
from regularize.escape import FileText
from regularize.lie import screw
from regularize.lie.arrays import Array
from regularize.lie.screw import IDENTITY
from regularize.mechanism.diagnostic import Source
from regularize.mechanism.joint import Joint
from regularize.mechanism.mechanism import Mechanism

#: What a joint can become, by its kind, in the tree and where it is written as a ``Closure``.
WIDER = {
    "revolute": ("universal", "cylindrical", "spherical"),
    "prismatic": ("cylindrical",),
    "universal": ("spherical",),
    "fixed": ("revolute", "universal", "spherical"),
}


def read(source: Any, *, q: Array | None = None) -> Mechanism:
    """Read a ``pinocchio.Model``, or one with a list of constraint models."""
    model, constraints = parted(source)
    mechanism = from_pinocchio(model, constraints, q=q)
    frames, closing = {frame.name for frame in model.frames}, iter(_closing(constraints))

    def placed(where: str) -> Source:
        return Source(f"<pinocchio {mechanism.name}>", None, FileText(where))

    bodies = [
        replace(b, source=placed(f"frames[{b.name!r}]")) if b.name in frames else b
        for b in mechanism.bodies
    ]
    joints = []
    for joint in mechanism.joints:
        closed_by = f"constraint_models[{next(closing)}]" if joint.closure else ""
        joints.append(replace(joint, source=placed(closed_by or f"joints[{joint.name!r}]")))
    return replace(mechanism, bodies=tuple(bodies), joints=tuple(joints))


def parted(source: Any) -> tuple[Any, list[Any]]:
    """Return the model and its constraint models."""
    model, *lists = source if isinstance(source, tuple) else (source,)
    return model, [constraint for constraints in lists for constraint in constraints]


def _closing(constraints: Sequence[Any]) -> list[int]:
    """Return the numbers of the constraint models that close loops."""
    return [k for k, constraint in enumerate(constraints) if not is_stop(constraint)]


class PairPatcher(Patcher):
    """Makes another model and other constraint models; the given ones stay as they are."""

    def __init__(self, mechanism: Mechanism, source: Any) -> None:
        super().__init__(mechanism)
        self._alone = not isinstance(source, tuple)
        self._model, self._all = parted(source)
        names = [joint.name for joint in mechanism.joints if joint.closure]
        self._numbers = dict(zip(names, _closing(self._all), strict=True))
        self._constraints = {name: self._all[k] for name, k in self._numbers.items()}
        mimics = any(joint.shortname() == "JointModelMimic" for joint in self._model.joints)
        self._tree = () if mimics else [*self._model.names][1:]
        self._names = [mechanism.ground]
        for name in [*self._model.names][1:]:
            self._names.append(next((j.child for j in mechanism.joints if j.name == name), ""))

    def kinds(self, joint: Joint) -> Collection[str]:
        """Return the kinds that a joint can become: freer ones, and a ball for a weld."""
        if not joint.closure:
            return WIDER.get(joint.kind, ()) if joint.name in self._tree and joint.freedoms else ()
        if isinstance(self._constraints[joint.name], Closure):
            return WIDER.get(joint.kind, ())
        return ("spherical",) if joint.kind == "fixed" else ()

    def patch(self, wanted: Sequence[WantedKind]) -> Patch:
        """Raise the error that an object in memory has no file to edit."""
        raise ModelError("a Pinocchio model stands in no file that could be edited")

    def changed(self, wanted: Sequence[WantedKind]) -> Any:
        """Return a new model, or a new pair."""
        for change in wanted:
            if change.kind not in (possible := self.kinds(change.joint)):
                raise self.refuse(change, possible)
        new = {change.joint.name: change.replacement for change in wanted}
        model, shifts = _rebuilt(self._model, {k: v for k, v in new.items() if not v.closure})
        if not model.check(model.createData()):
            raise ModelError("Pinocchio refuses the model with these joints")
        if shifts and len(self._all) > len(self._numbers):
            raise ModelError(
                "limit and friction constraints are of the joints as they were: leave them out, "
                "and make them of the new model"
            )
        constraints = [*self._all]
        for name, k in self._numbers.items():
            joint = new.get(name, self.mechanism.joint(name))
            constraints[k] = self._constraint(model, self._all[k], joint, shifts)
        return model if self._alone else (model, constraints)

    def _constraint(self, model: Any, old: Any, joint: Joint, shifts: Mapping[int, Array]) -> Any:
        """Return a constraint model of the new model, between the same bodies."""
        ends = [self._names.index(name) for name in (joint.parent, joint.child)]
        T = [
            shifts.get(i, IDENTITY) @ place
            for i, place in zip(ends, (joint.T_parent_joint, joint.T_child_joint), strict=True)
        ]
        if isinstance(old, Closure):
            turning = [c[3:] for c in joint.screws.T if np.any(c[3:])]
            names = ("axis", "axis2") if joint.kind == "universal" else ("axis",)
            axes = dict(zip(names if joint.kind != old.kind else (), turning, strict=False))
            moved = replace(old, joint1=ends[0], placement1=T[0], joint2=ends[1], placement2=T[1])
            return replace(moved, kind=joint.kind, frames=False, **axes)
        places = (ends[0], pin.SE3(T[0]), ends[1], pin.SE3(T[1]))
        inner = inner_of(old)
        if type(inner).__name__ == "RigidConstraintModel":
            point = joint.kind == "spherical"
            kind = pin.ContactType.CONTACT_3D if point else pin.ContactType.CONTACT_6D
            replacement = pin.RigidConstraintModel(kind, model, *places, inner.reference_frame)
        else:
            anchor = "Point" if joint.kind == "spherical" else "Frame"
            replacement = getattr(pin, f"{anchor}AnchorConstraintModel")(model, *places)
        replacement.name = inner.name
        # Compliances cannot be set from Python: the new one is rigid, as they are made.
        stabilized = "baumgarte_corrector_parameters"
        stabilized = stabilized if hasattr(inner, stabilized) else "m_baumgarte_parameters"
        replacement.setBaumgarteCorrectorParameters(getattr(inner, stabilized))
        return replacement if inner is old else type(old)(replacement)


def _rebuilt(model: Any, new: Mapping[str, Joint]) -> tuple[Any, dict[int, Array]]:
    """Return a copy of a model with some joints replaced, and how frames behind them move."""
    if not new:
        return pin.Model(model), {}
    copy, shifts = pin.Model(), dict[int, Array]()
    copy.name, copy.gravity = model.name, model.gravity
    for i in range(1, model.njoints):
        name, parent = str(model.names[i]), int(model.parents[i])
        joint, T = model.joints[i], model.jointPlacements[i].homogeneous
        if name in new:
            joint, end = _joint_model(new[name])
            T = new[name].T_parent_joint
            shifts[i] = end @ screw.inverse(new[name].T_child_joint)
        T = shifts.get(parent, IDENTITY) @ T
        copy.addJoint(parent, joint, pin.SE3(T), name)
        copy.inertias[i] = pin.SE3(shifts.get(i, IDENTITY)).act(model.inertias[i])
    for frame in [*model.frames][1:]:
        T = shifts.get(int(frame.parentJoint), IDENTITY) @ frame.placement.homogeneous
        again = pin.Frame(
            frame.name, frame.parentJoint, frame.parentFrame, pin.SE3(T), frame.type, frame.inertia
        )
        copy.addFrame(again, False)
    _copy_values(model, copy, {i for i in range(model.njoints) if str(model.names[i]) in new})
    return copy, shifts


def _joint_model(joint: Joint) -> tuple[Any, Array]:
    """Return Pinocchio's model of a joint and the placement of the body behind it."""
    if joint.kind == "spherical":
        return pin.JointModelSpherical(), IDENTITY
    composite, before = pin.JointModelComposite(), IDENTITY
    for column in joint.screws.T:
        direction, point, pitch = screw.axis_of(column)
        to_axis = screw.transform(None, point)
        composite.addJoint(aligned(direction, pitch), pin.SE3(before @ to_axis))
        before = screw.inverse(to_axis)
    return composite, before


def _copy_values(old: Any, new: Any, replaced: Collection[int]) -> None:
    """Copy limits, friction, armature and the like of joints that stay, and configurations."""
    kept = [i for i in range(1, old.njoints) if i not in replaced]

    def moved(value: Array, start: Array) -> Array:
        coordinates = len(start) == new.nq
        for joint, copied in ((old.joints[i], new.joints[i]) for i in kept):
            begin, to = (j.idx_q if coordinates else j.idx_v for j in (joint, copied))
            count = joint.nq if coordinates else joint.nv
            start[to : to + count] = value[begin : begin + count]
        return start

    for name in dir(new):
        value = None if name.startswith(("_", "gravity")) else getattr(old, name)
        if isinstance(value, np.ndarray) and value.ndim == 1 and len(value) in (old.nq, old.nv):
            setattr(new, name, moved(value, np.array(getattr(new, name))))
    for entry in old.referenceConfigurations:
        q = moved(np.array(entry.data()), pin.neutral(new))
        new.referenceConfigurations[entry.key()] = q
