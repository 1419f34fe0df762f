"""A Pinocchio model with its constraint models: read as one, and made anew with other joints."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from regularize.adapters.common.edits import Patch, WantedKind
from regularize.adapters.common.patching import Patcher
from regularize.dynamics.pinocchio import pin
from regularize.dynamics.pinocchio.importing import Closure, from_pinocchio
from regularize.dynamics.pinocchio.spanning_tree import aligned
from regularize.dynamics.pinocchio.stop_constraints import is_stop
from regularize.errors import ModelError
from regularize.lie import screw
from regularize.lie.arrays import Array
from regularize.lie.screw import IDENTITY
from regularize.mechanism.diagnostic import Source
from regularize.mechanism.joint import Joint
from regularize.mechanism.mechanism import Mechanism
from regularize.tolerances import NEGLIGIBLE

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
    found, frames = from_pinocchio(model, constraints, q=q), {frame.name for frame in model.frames}
    label, closing = f"<pinocchio {found.name}>", iter(_closing(constraints))
    bodies = tuple(
        replace(b, source=Source(label, None, f"frames[{b.name!r}]")) if b.name in frames else b
        for b in found.bodies
    )
    placed = []
    for joint in found.joints:
        where = f"joints[{joint.name!r}]"
        if joint.closure:
            where = f"constraint_models[{next(closing)}]"
        placed.append(replace(joint, source=Source(label, None, where)))
    return replace(found, bodies=bodies, joints=tuple(placed))


def parted(source: Any) -> tuple[Any, list[Any]]:
    """The model and its constraint models."""
    model, *lists = source if isinstance(source, tuple) else (source,)
    return model, [constraint for each in lists for constraint in each]


def _closing(constraints: Sequence[Any]) -> list[int]:
    """Which of the constraint models close loops."""
    return [k for k, each in enumerate(constraints) if not is_stop(each)]


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
        """Balls in the place of welds; of joints in the tree and closures what is freer."""
        if not joint.closure:
            return WIDER.get(joint.kind, ()) if joint.name in self._tree and joint.freedoms else ()
        if isinstance(self._constraints[joint.name], Closure):
            return WIDER.get(joint.kind, ())
        return ("spherical",) if joint.kind == "fixed" else ()

    def patch(self, wanted: Sequence[WantedKind]) -> Patch:
        """Refused: there is no file."""
        raise ModelError("a Pinocchio model stands in no file that could be edited")

    def changed(self, wanted: Sequence[WantedKind]) -> Any:
        """A new model, or a new pair."""
        for each in wanted:
            if each.kind not in (held := self.kinds(each.joint)):
                raise self.refuse(each, held)
        new = {each.joint.name: each.replacement for each in wanted}
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
        """A constraint model of the new model, between the same bodies."""
        ends = [self._names.index(name) for name in (joint.parent, joint.child)]
        T = [
            shifts.get(i, IDENTITY) @ place
            for i, place in zip(ends, (joint.T_parent_joint, joint.T_child_joint), strict=True)
        ]
        if isinstance(old, Closure):
            turning = [c[3:] for c in joint.screws.T if np.any(c[3:])]
            axes = {"axis": turning[0]} if turning else {}
            if joint.kind == "universal":
                axes["axis2"] = turning[1]
            if joint.kind == old.kind:
                axes = {}
            return replace(
                old,
                joint1=ends[0],
                placement1=T[0],
                joint2=ends[1],
                placement2=T[1],
                kind=joint.kind,
                frames=False,
                **axes,
            )
        places = (ends[0], pin.SE3(T[0]), ends[1], pin.SE3(T[1]))
        inner = old if getattr(old, "extract", None) is None else old.extract()
        if type(inner).__name__ == "RigidConstraintModel":
            point = joint.kind == "spherical"
            kind = pin.ContactType.CONTACT_3D if point else pin.ContactType.CONTACT_6D
            made = pin.RigidConstraintModel(kind, model, *places, inner.reference_frame)
        else:
            anchor = "Point" if joint.kind == "spherical" else "Frame"
            made = getattr(pin, f"{anchor}AnchorConstraintModel")(model, *places)
        made.name = inner.name
        # Compliances cannot be set from Python: the new one is rigid, as they are made.
        stabilized = "baumgarte_corrector_parameters"
        stabilized = stabilized if hasattr(inner, stabilized) else "m_baumgarte_parameters"
        made.setBaumgarteCorrectorParameters(getattr(inner, stabilized))
        return made if inner is old else type(old)(made)


def _rebuilt(model: Any, new: Mapping[str, Joint]) -> tuple[Any, dict[int, Array]]:
    """A copy of a model with some joints replaced, and where the frames of bodies behind these are."""
    if not new:
        return pin.Model(model), {}
    made, shifts = pin.Model(), dict[int, Array]()
    made.name, made.gravity = model.name, model.gravity
    for i in range(1, model.njoints):
        name, parent = str(model.names[i]), int(model.parents[i])
        joint, T = model.joints[i], model.jointPlacements[i].homogeneous
        if name in new:
            joint, end = _joint_model(new[name])
            T = new[name].T_parent_joint
            shifts[i] = end @ screw.inverse(new[name].T_child_joint)
        T = shifts.get(parent, IDENTITY) @ T
        made.addJoint(parent, joint, pin.SE3(T), name)
        made.inertias[i] = pin.SE3(shifts.get(i, IDENTITY)).act(model.inertias[i])
    for frame in [*model.frames][1:]:
        T = shifts.get(int(frame.parentJoint), IDENTITY) @ frame.placement.homogeneous
        again = pin.Frame(
            frame.name, frame.parentJoint, frame.parentFrame, pin.SE3(T), frame.type, frame.inertia
        )
        made.addFrame(again, False)
    _copy_values(model, made, {i for i in range(model.njoints) if str(model.names[i]) in new})
    return made, shifts


def _joint_model(joint: Joint) -> tuple[Any, Array]:
    """Pinocchio's joint model, and the placement that is left over behind it."""
    if joint.kind == "spherical":
        return pin.JointModelSpherical(), IDENTITY
    composite, before = pin.JointModelComposite(), IDENTITY
    for column in joint.screws.T:
        direction, point, pitch = screw.axis_of(column)
        to_axis = screw.transform(None, point)
        letter = "P" if pitch is None else "R" if abs(pitch) < NEGLIGIBLE else "H"
        part = aligned(letter, direction, pitch or 0.0)
        composite.addJoint(part, pin.SE3(before @ to_axis))
        before = screw.inverse(to_axis)
    return composite, before


def _copy_values(old: Any, new: Any, replaced: Collection[int]) -> None:
    """Limits, friction, armature and the like of joints that stay, and named configurations."""
    kept = [i for i in range(1, old.njoints) if i not in replaced]

    def moved(value: Array, start: Array) -> Array:
        coordinates = len(start) == new.nq
        for i in kept:
            one, other = old.joints[i], new.joints[i]
            at, to = (j.idx_q if coordinates else j.idx_v for j in (one, other))
            count = one.nq if coordinates else one.nv
            start[to : to + count] = value[at : at + count]
        return start

    for name in dir(new):
        value = None if name.startswith(("_", "gravity")) else getattr(old, name)
        if isinstance(value, np.ndarray) and value.ndim == 1 and len(value) in (old.nq, old.nv):
            setattr(new, name, moved(value, np.array(getattr(new, name))))
    for entry in old.referenceConfigurations:
        q = moved(np.array(entry.data()), pin.neutral(new))
        new.referenceConfigurations[entry.key()] = q
