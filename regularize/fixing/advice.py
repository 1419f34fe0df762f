"""The changes that a model's own file can hold, for reports to name."""

from __future__ import annotations

from regularize.adapters import adapters
from regularize.errors import RegularizeError
from regularize.fixing.plan import smallest, wanted_kinds
from regularize.reduction.reduce import Reduction
from regularize.statics.cure import Cure


def own_cure(reduction: Reduction) -> Cure | None:
    """Joint changes that make a model isostatic and that its file can hold; None without any."""
    mechanism = reduction.mechanism
    adapter = adapters().get(mechanism.format)
    if mechanism.path is None or adapter is None or not adapter.installed:
        return None
    made = adapter.load_patcher()
    if made is None:
        return None
    try:
        patcher = made(mechanism)
        found = smallest(reduction, {j.name: tuple(patcher.kinds(j)) for j in mechanism.joints})
        if found is not None:
            patcher.patch(wanted_kinds(mechanism, found.changes))
    except RegularizeError:  # the file has gone since, or changed
        return None
    return found
