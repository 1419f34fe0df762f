"""The caller's own Pinocchio model, as it goes to copies and to other processes."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pickle import PicklingError
from typing import Any

import pinocchio as pin

from regularize.lie import screw
from regularize.pinocchio_model.joint_reading import MimicJoint, mimic_of
from regularize.pinocchio_model.joints import aligned


@dataclass(frozen=True, eq=False)
class CallersModel:
    """A model that may be copied and pickled, mimic joints included.

    Attributes:
        model: The ``pinocchio.Model``.
    """

    model: Any

    def __deepcopy__(self, memo: Any) -> CallersModel:
        """Another model; Pinocchio copies all types of joints."""
        return CallersModel(self.model.copy())

    def __reduce__(self) -> tuple[Callable[..., CallersModel], tuple[Any, ...]]:
        """A pickled model loses what mimics, so that goes along.

        Raises:
            PicklingError: A mimic joint does not move, so that its kind cannot be told.
        """
        mimics = {int(i): mimic_of(self.model, int(i)) for i in self.model.mimicking_joints}
        for i, mimic in mimics.items():
            if mimic.screw is None:
                raise PicklingError(f"joint {self.model.names[i]!r} mimics with a scaling of zero")
        return restored, (self.model, mimics)


def restored(model: Any, mimics: Mapping[int, MimicJoint]) -> CallersModel:
    """The model that was pickled.

    Args:
        model: The model without what mimics.
        mimics: What its mimic joints do, by their index.
    """
    tree = pin.Model()
    for i in range(1, model.njoints):
        joint = model.joints[i] if i not in mimics else _moving(mimics[i])
        tree.addJoint(model.parents[i], joint, model.jointPlacements[i], model.names[i])
    for i, mimic in mimics.items():
        tree = pin.transformJointIntoMimic(tree, mimic.primary, i, mimic.scaling, mimic.offset)
    for i in mimics:
        model.joints[i] = tree.joints[i]
    return CallersModel(model)


def _moving(mimic: MimicJoint) -> Any:
    """The joint model that a mimic joint moves by."""
    assert mimic.screw is not None, "checked when it was pickled"
    axis, _, pitch = screw.axis_of(mimic.screw)
    letter = "P" if pitch is None else "H" if abs(pitch) > 1e-12 else "R"
    return aligned(letter, axis, pitch or 0.0)
