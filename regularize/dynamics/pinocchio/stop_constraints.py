"""Pinocchio's constraint models that bound and brake joints, as their limits and dry friction."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from regularize.dynamics.pinocchio import pin
from regularize.errors import ModelError

#: Constraint models that bound and brake joints.
STOPS = ("JointLimitConstraintModel", "JointFrictionConstraintModel")


def inner_of(constraint: Any) -> Any:
    """A constraint model, or what one of no particular type holds."""
    extract = getattr(constraint, "extract", None)
    return constraint if extract is None else extract()


def is_stop(constraint: Any) -> bool:
    """Whether a constraint model bounds or brakes joints, and closes no loop."""
    return type(inner_of(constraint)).__name__ in STOPS


def with_stops(model: Any, constraints: Sequence[Any]) -> Any:
    """A copy of a model with the bounds and the dry friction of constraint models."""
    found = [(k, inner_of(each)) for k, each in enumerate(constraints) if is_stop(each)]
    model = pin.Model(model) if found else model
    for k, each in found:
        if type(each).__name__ == "JointFrictionConstraintModel":
            least, most = (
                np.array([*limit])
                for limit in (each.getFrictionLowerLimit(), each.getFrictionUpperLimit())
            )
            if np.any(least != -most):
                raise ModelError(
                    f"constraint {each.name or k!r}: friction of joints is the same both ways "
                    f"here, and is between {least.tolist()} and {most.tolist()}"
                )
            model.friction[[*each.getActiveDofs()]] = most
            continue
        selected = [int(i) for i in each.getSelectedJoints()]
        places = [int(model.idx_qs[i]) + np.arange(int(model.nqs[i])) for i in selected]
        at = np.concatenate([np.zeros(0, dtype=int), *places])
        bounds = np.array([*each.getActivablePositionLimit()])
        known = np.concatenate([model.lowerPositionLimit[at], model.upperPositionLimit[at]])
        known = known[np.abs(known) < np.finfo(np.float64).max]
        if len(bounds) == 2 * len(at):
            model.lowerPositionLimit[at], model.upperPositionLimit[at] = np.split(bounds, 2)
        elif not np.array_equal(bounds, known):
            raise ModelError(
                f"constraint {each.name or k!r}: which of its {len(bounds)} bounds are of which "
                f"coordinates of {', '.join(str(model.names[i]) for i in selected)} is not told; "
                "state them in the model: lowerPositionLimit, upperPositionLimit"
            )
    return model
