"""Whether the lengths of a model can be metres."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

import numpy as np

from regularize.model.diagnostic import Diagnostic, Source
from regularize.model.mechanism import Body, Joint

#: No mechanism that people model is larger, in metres.
LARGEST = 50.0
#: Above this size in metres, the mean density decides.
LARGE = 3.0
#: Mass per cube of the largest link below which a machine would be thinner than air, kg/m³.
THINNEST = 1e-3
#: No mechanism that people model in CAD is smaller, in metres.
SMALLEST = 1e-4


def size(joints: Iterable[Joint]) -> float:
    """Largest distance between two joints of one body, in metres; 0 if no body has two."""
    origins: dict[str, list[np.ndarray]] = {}
    for joint in joints:
        if joint.kind == "free":
            continue
        origins.setdefault(joint.parent, []).append(joint.T_parent_joint[:3, 3])
        origins.setdefault(joint.child, []).append(joint.T_child_joint[:3, 3])
    spans = [np.ptp(np.array(points), axis=0) for points in origins.values()]
    return max((float(np.linalg.norm(span)) for span in spans), default=0.0)


def suspect(
    bodies: Sequence[Body], joints: Sequence[Joint], source: Source | None = None
) -> list[Diagnostic]:
    """A warning (REG012) if the lengths of a model look like millimetres, or far too small.

    What speaks for millimetres: a link longer than 50 m, or one longer than 3 m while all bodies
    together weigh less than a gram per cubic metre of it.
    """
    length = size(joints)
    masses = [body.inertia.mass for body in bodies if body.inertia is not None]
    thin = length > LARGE and 0.0 < sum(masses) < THINNEST * length**3
    if length > LARGEST or thin:
        why = f" and weighs {sum(masses):.3g} kg in all" if thin else ""
        message = f"a link is {length:.4g} m long{why}: the lengths look like millimetres"
        way = "write the lengths in metres, or declare the unit where the format allows it"
    elif 0.0 < length < SMALLEST:
        message = f"the longest link is {length * 1e3:.3g} mm long: the lengths look too small"
        way = "check the unit of length and the scale of the model"
    else:
        return []
    return [Diagnostic("REG012", "warning", message, source=source, help=(way,))]
